"""``janus-jax reproduce``: the paper's numbers, with ours beside them; or a model's replies."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TextIO

from janus_jax.commands.common import PROGRAM, Commands, add_backend_options, warn, whole
from janus_jax.errors import InputError
from janus_jax.files import writing
from janus_jax.output import check_targets, publish, publish_document

_HEADER: Final = ("quantity", "expected", "se", "ours", "se", "verdict")
_EPILOG = """\
The controlled audit asks 160 packets of four tables for a cabinet. A simulated reader answers them
here. To ask a model instead:

  janus-jax reproduce --packets packets.jsonl    one JSON object a line: id, prompt, answer, ...
  ...                                            your model answers each prompt
  janus-jax reproduce --replies replies.jsonl    one a line: {"id": "...", "reply": "..."}

The last command audits the replies as `janus-jax audit --preset controlled` does, and computes
nothing else. A reply is right if it is the cabinet and nothing else: upper and lower case, runs of
white space, and quotes, asterisks, backticks and one final full stop around it do not count. Wrong
replies that hold the cabinet among other words are counted and mentioned. From Python:
janus_jax.paper.controlled.audit_replies. Exit status: 0 it ran, 2 wrong usage or input, 3 the named
backend cannot run here, 130 interrupted.
"""


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "reproduce",
        allow_abbrev=False,
        help="compute the numbers of the paper that need no model output",
        description=(
            "The numbers of the paper that need no model output, with ours beside them; or the "
            "controlled audit of a model's own replies."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=_reproduce)
    group = parser.add_argument_group("the paper's numbers")
    group.add_argument(
        "--repetitions", metavar="N", help="of each cell of the power simulation (default 10000)"
    )
    group.add_argument("--replays", metavar="N", help="of the complete null (default 50000)")
    group = parser.add_argument_group("a model of your own")
    group.add_argument(
        "--packets",
        metavar="FILE",
        help="write the packets as JSON Lines, and stop (a file that holds anything else is left "
        "alone); - prints them and nothing else",
    )
    group.add_argument(
        "--replies", metavar="FILE", help="audit these replies to the packets, and nothing else"
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        help="of the packets, and of all that is random but the controlled audit's split (default "
        "0); replies go with the seed of their packets",
    )
    add_backend_options(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out",
        metavar="DIR",
        help="with --replies: write result.json, findings.csv, report.md and report.html there",
    )
    group.add_argument(
        "--json", metavar="FILE", help="write the result there; - prints it and nothing else"
    )
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _reproduce(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    repetitions = whole("--repetitions", options.repetitions)
    replays = whole("--replays", options.replays)
    seed = whole("--seed", options.seed, least=0) or 0
    _check_use(options)
    command = shlex.join([PROGRAM, *arguments])
    if options.packets is not None:
        return _write_packets(options.packets, seed)
    if options.replies is not None:
        return _audit_replies(options, seed, command)
    return _paper(options, repetitions, replays, seed, command)


def _check_use(options: argparse.Namespace) -> None:
    """Refuse options that would be ignored."""
    for name in ("packets", "replies"):
        if getattr(options, name) == "":
            raise InputError(f"--{name} is empty: name a file")

    def refuse(names: Sequence[str], why: str) -> None:
        for name in names:
            if getattr(options, name) is not None:
                raise InputError(f"--{name} {why}")

    numbers = ("repetitions", "replays")
    if options.packets is not None:
        refuse(
            ("replies", "out", "json", *numbers),
            "does not go with --packets, which writes what is to be asked and stops; leave one out",
        )
    elif options.replies is not None:
        refuse(
            numbers,
            "is for the paper's numbers; --replies audits replies and nothing else: leave one out",
        )
    else:
        refuse(("out",), "goes with --replies; the paper's numbers are written by --json FILE")


def _write_packets(target: str, seed: int) -> int:
    check_targets([], None, target)

    from janus_jax.cells import printable
    from janus_jax.paper.packets import json_lines, packets

    made = packets(seed=seed)
    text = json_lines(made)
    if target == "-":
        with writing("standard output"):
            sys.stdout.write(text)
            sys.stdout.flush()
        return 0
    path, data = Path(target), text.encode()
    with writing(target):
        # It may hold replies that somebody paid for.
        if path.is_file() and path.read_bytes() not in (b"", data):
            raise InputError(
                f"{target} exists and holds something else, which would be lost; name another "
                "file, or remove it first"
            )
        path.write_bytes(data)
    with writing("standard output"):
        print(f"{len(made)} packets written to {printable(target)}", flush=True)
    return 0


def _audit_replies(options: argparse.Namespace, seed: int, command: str) -> int:
    check_targets([options.replies], options.out, options.json)

    from janus_jax.auditing import Setting, run_audit
    from janus_jax.paper.controlled import replies_frame, replies_plan
    from janus_jax.paper.grading import grade
    from janus_jax.paper.packets import packets
    from janus_jax.paper.replies import read_replies
    from janus_jax.permutations import Running
    from janus_jax.progress import reporting
    from janus_jax.stopping import terminable
    from janus_jax.terminal import print_result

    made = packets(seed=seed)
    replies = read_replies(options.replies, made)
    grades = grade(made, replies)
    grades.check()
    with (
        terminable("nothing was written"),
        reporting(sys.stderr, PROGRAM, quiet=options.quiet) as progress,
    ):
        result = run_audit(
            replies_frame(made, replies),
            replies_plan(),
            setting=Setting(
                backend=options.backend,
                running=Running(progress=progress),
                warn=warn,
                command=command,
            ),
        )
    if options.json != "-":
        with writing("standard output"):
            sys.stdout.writelines(f"{sentence}\n" for sentence in grades.sentences())
    elif not options.quiet:
        for sentence in grades.sentences():
            _say(sentence)
    publish(result, options.out, options.json, print_result)
    return 0


def _paper(
    options: argparse.Namespace,
    repetitions: int | None,
    replays: int | None,
    seed: int,
    command: str,
) -> int:
    check_targets([], None, options.json)

    from janus_jax.paper.reproduce import REPETITIONS, REPLAYS, reproduce
    from janus_jax.stopping import terminable

    with terminable("nothing was written; fewer --repetitions and --replays take less time"):
        result = reproduce(
            repetitions=REPETITIONS if repetitions is None else repetitions,
            replays=REPLAYS if replays is None else replays,
            seed=seed,
            backend=options.backend,
            progress=None if options.quiet else _say,
            command=command,
        )
    publish_document(result, options.json, lambda stream: _show(result.document, stream))
    return 0


def _say(words: str) -> None:
    print(f"{PROGRAM}: {words}", file=sys.stderr)


def _show(document: Mapping[str, Any], stream: TextIO) -> None:
    from janus_jax.paper.reproduce import answer
    from janus_jax.terminal import console_for, print_answer, print_table

    console = console_for(stream)
    print_answer(console, answer(document))
    for section, rows in groupby(document["rows"], key=lambda row: row["section"]):
        console.print()
        console.print(f"{section[:1].upper()}{section[1:]}", style="bold")
        shown = [_cells(row) for row in rows]
        print_table(console, _HEADER, shown, leave_out=("se", "expected"))
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
