"""``janus-jax reproduce``: the paper's numbers, with ours beside them."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TextIO

from janus_jax.commands.common import PROGRAM, Commands, add_backend_options, whole
from janus_jax.errors import InputError
from janus_jax.output import check_targets, publish_document, writing

_HEADER: Final = ("quantity", "expected", "se", "ours", "se", "verdict")
_EPILOG = """\
The controlled audit asks 160 packets of four tables for a cabinet. A simulated reader answers them
here; to ask a model instead, write them with --packets FILE (id, prompt and answer, one JSON object
a line), collect its answers as {"id": "...", "reply": "..."}, and give them with --replies FILE.
"""


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "reproduce",
        allow_abbrev=False,
        help="compute the numbers of the paper that need no model output",
        description="The numbers of the paper that need no model output, with ours beside them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=_reproduce)
    parser.add_argument(
        "--repetitions", metavar="N", help="of each cell of the power simulation (default 10000)"
    )
    parser.add_argument("--replays", metavar="N", help="of the complete null (default 50000)")
    parser.add_argument("--seed", metavar="N", help="of everything random (default 0)")
    parser.add_argument(
        "--packets", metavar="FILE", help="write the packets as JSON Lines, and stop"
    )
    parser.add_argument(
        "--replies", metavar="FILE", help="audit these replies instead of the simulated reader's"
    )
    add_backend_options(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--json", metavar="FILE", help="write the result there; - prints it and nothing else"
    )
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _reproduce(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    repetitions = whole("--repetitions", options.repetitions)
    replays = whole("--replays", options.replays)
    seed = whole("--seed", options.seed, least=0) or 0
    if options.packets and options.replies:
        raise InputError("--packets writes what is to be asked, --replies reads answers: one each")
    check_targets([options.replies] if options.replies else [], None, options.json)

    from janus_jax.paper.packets import json_lines, packets

    made = packets(seed=seed)
    if options.packets:
        with writing(options.packets):
            Path(options.packets).write_text(json_lines(made), encoding="utf-8")
        return 0

    from janus_jax.paper.replies import read_replies
    from janus_jax.paper.reproduce import REPETITIONS, REPLAYS, reproduce
    from janus_jax.stopping import terminable

    replies = read_replies(options.replies, made) if options.replies else None
    with terminable():
        result = reproduce(
            repetitions=REPETITIONS if repetitions is None else repetitions,
            replays=REPLAYS if replays is None else replays,
            seed=seed,
            replies=replies,
            backend=options.backend,
            progress=None if options.quiet else _say,
            command=shlex.join([PROGRAM, *arguments]),
        )
    publish_document(result, options.json, lambda stream: _show(result.document, stream))
    return 0


def _say(section: str) -> None:
    print(f"{PROGRAM}: {section}", file=sys.stderr)


def _show(document: Mapping[str, Any], stream: TextIO) -> None:
    from janus_jax.paper.reproduce import answer
    from janus_jax.terminal import console_for, print_answer, print_table

    console = console_for(stream)
    print_answer(console, answer(document))
    for section, rows in groupby(document["rows"], key=lambda row: row["section"]):
        console.print()
        console.print(f"{section[:1].upper()}{section[1:]}", style="bold")
        print_table(console, _HEADER, [_cells(row) for row in rows])
    console.print()
    for note in document["notes"]:
        console.print(f"- {note}", style="dim")
    run = document["run"]
    console.print(f"backend {run['backend']}, {run['seconds']:.1f} s", style="dim")


def _cells(row: Mapping[str, Any]) -> list[str]:
    def shown(value: float | None, digits: int) -> str:
        return "-" if value is None else f"{value:.{digits}g}"

    return [
        row["what"],
        shown(row["expected"], 7),
        shown(row["expected_se"], 2),
        shown(row["ours"], 7),
        shown(row["ours_se"], 2),
        row["verdict"],
    ]
