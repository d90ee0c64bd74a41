"""``janus-jax replay``: how often this audit's rule reports something where there is nothing."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence

from janus_jax.commands.common import (
    PROGRAM,
    Commands,
    add_backend_options,
    add_plan_file,
    add_plan_options,
    add_reading_options,
    add_results,
    add_running_options,
    plan_or_file,
    reading_of,
    warn,
    whole,
)
from janus_jax.errors import InputError
from janus_jax.output import check_targets, publish_document


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "replay",
        allow_abbrev=False,
        help="how often an audit's rule reports something where there is nothing",
        description=(
            "Complete-null replays of an audit's own design: shuffle the errors of both splits, "
            "draw fresh decoys, apply every rule, many times."
        ),
    )
    parser.set_defaults(handler=_replay)
    add_results(parser)
    group = parser.add_argument_group("replays")
    group.add_argument("--replays", metavar="N", help="how many (default 50000)")
    group.add_argument(
        "--decoy-grid",
        metavar="K,K,...",
        help="numbers of literal decoys to compare (default 100,200,500,1000 and --decoys)",
    )
    group.add_argument(
        "--plus-one",
        action="store_true",
        help="also Procedure A with (L/K)(D + 1)/max(1, R), beside the published rule",
    )
    add_plan_file(parser)
    add_plan_options(parser)
    add_running_options(add_backend_options(parser))
    group = add_reading_options(parser)
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group.add_argument(
        "--json", metavar="FILE", help="write the result there; - prints it and nothing else"
    )


def _replay(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    plan, planned = plan_or_file(options)
    replays = whole("--replays", options.replays)
    grid = _grid(options.decoy_grid)
    batch, memory = whole("--batch", options.batch), whole("--memory", options.memory)
    check_targets([*options.results, *filter(None, [options.plan])], None, options.json)

    from janus_jax.behaviour.replay import REPLAYS, run_replay
    from janus_jax.behaviour.replay_report import print_replays
    from janus_jax.permutations import DEFAULT_MEMORY, Running
    from janus_jax.progress import reporting
    from janus_jax.stopping import terminable

    with (
        terminable("nothing was written; fewer --replays take less time"),
        reporting(sys.stderr, PROGRAM, quiet=options.quiet, what="replays") as progress,
    ):
        result = run_replay(
            options.results,
            plan,
            planned=planned,
            replays=REPLAYS if replays is None else replays,
            decoy_grid=grid,
            plus_one=options.plus_one,
            backend=options.backend,
            running=Running(
                memory=DEFAULT_MEMORY if memory is None else memory * 2**20,
                batch=batch,
                progress=progress,
            ),
            reading=reading_of(options),
            warn=warn,
            command=shlex.join([PROGRAM, *arguments]),
        )
    publish_document(result, options.json, lambda stream: print_replays(result.document, stream))
    return 0


def _grid(text: str | None) -> list[int] | None:
    if text is None:
        return None
    counts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in counts):
        raise InputError(
            f"--decoy-grid is {text!r}, but it must be whole numbers and commas, such as 100,1000"
        )
    return [int(part) for part in counts]
