"""``janus-jax propose``: mine conjunctions on a proposal split, write a plan that tests them."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TextIO

from janus_jax.commands.common import (
    PROGRAM,
    Commands,
    add_plan_options,
    add_reading_options,
    add_results,
    plan_of,
    reading_of,
    whole,
)
from janus_jax.errors import InputError
from janus_jax.output import check_targets, publish_document

_EPILOG = """\
Examples are dealt three ways. Conjunctions of the table's own descriptors (never two of one column)
are mined on the proposal split by SliceLine's score (Sagadeeva and Boehm, SIGMOD 2021): many errors
and many examples. The plan freezes the best of them beside the base descriptors, and

  janus-jax audit RESULTS... --plan PLAN

screens them on discovery and confirms them on holdout, whose outcomes this command does not read.
Exit status: 0 the plan was written, 2 wrong usage or input, 130 interrupted.
"""
_HEADER: Final = ("slice", "rank", "errors on", "error rate", "score", "in the plan")


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "propose",
        allow_abbrev=False,
        help="mine conjunctions on a proposal split, and write a plan that tests them on the rest",
        description="Propose slices from examples of their own; an audit of the rest judges them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=_propose)
    add_results(parser)
    group = parser.add_argument_group("mining")
    group.add_argument(
        "--proposal",
        metavar="SHARE",
        help="share dealt to the proposal split (default 0.3); --discovery is of the rest. With "
        "--split-column: its rows that say proposal",
    )
    group.add_argument(
        "--level", metavar="N", help="descriptors that a conjunction joins at most, 1 to 3 (3)"
    )
    group.add_argument("--top", metavar="N", help="how many slices, ties beside (default 10)")
    group.add_argument(
        "--min-slice",
        metavar="ROWS",
        help="proposal rows that a slice needs (default: --min-support, and --min-prevalence of "
        "the proposal split)",
    )
    group.add_argument(
        "--weight",
        metavar="W",
        help="of a slice's error rate against its size in SliceLine's score: its alpha (0.95)",
    )
    add_plan_options(parser)
    group = add_reading_options(parser)
    group.add_argument("--out", required=True, metavar="PLAN", help="the plan file to write")
    group.add_argument(
        "--json", metavar="FILE", help="write what was mined there; - prints it and nothing else"
    )
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _propose(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    if options.out in ("", "-"):
        raise InputError(f"--out is {options.out!r}: name the plan file to write, as in plan.toml")
    plan = plan_of(options)
    numbers = {name: whole(f"--{name}", getattr(options, name)) for name in ("level", "top")}
    min_slice = whole("--min-slice", options.min_slice)
    # The plan is a file among others here: none of the outputs may be the input or one another.
    check_targets(options.results, None, options.out, options.json)

    from janus_jax.mining.proposing import LEVELS, TOP, WEIGHT, Search, run_propose
    from janus_jax.progress import reporting
    from janus_jax.stopping import terminable

    search = Search(
        level=LEVELS if numbers["level"] is None else numbers["level"],
        top=TOP if numbers["top"] is None else numbers["top"],
        min_slice=min_slice,
        weight=WEIGHT if options.weight is None else options.weight,
    )
    with (
        terminable("no plan was written"),
        reporting(sys.stderr, PROGRAM, quiet=options.quiet, what="descriptors") as progress,
    ):
        result = run_propose(
            options.results,
            plan,
            search,
            out=options.out,
            proposal=options.proposal,
            reading=reading_of(options),
            progress=progress,
            command=shlex.join([PROGRAM, *arguments]),
        )
    publish_document(result, options.json, lambda stream: show(result.to_dict(), stream))
    return 0


def show(document: Mapping[str, Any], stream: TextIO) -> None:
    """Print the result: the answer, the slices, what to do next."""
    from janus_jax.cells import IN_TABLE, called, printable
    from janus_jax.mining.proposing import answer
    from janus_jax.terminal import console_for, print_answer, print_table

    console = console_for(stream)
    print_answer(console, printable(answer(document)))
    data, proposed = document["data"], document["proposed"]
    console.print(
        f"proposal {data['proposal']} examples ({proposed['errors']} errors in {proposed['n']}, "
        f"rate {proposed['error_rate']:.3f}), discovery {data['discovery']}, holdout "
        f"{data['holdout']}"
    )
    if proposed["slices"]:
        print_table(
            console,
            _HEADER,
            [
                [
                    called(it["name"], IN_TABLE),
                    str(it["rank"]),
                    f"{it['errors_on']}/{it['on']}",
                    f"{it['error_rate']:.3f}",
                    f"{it['score']:.3f}",
                    "new" if it["new"] else "already there",
                ]
                for it in proposed["slices"]
            ],
            leave_out=("rank", "in the plan", "score", "errors on"),
        )
    for note in document["notes"]:
        console.print(f"- {printable(note)}", style="dim")
    plan = document["plan"]
    console.print(
        f"Plan {plan['hash'][:12]} written to {printable(document['run']['plan_file'])}; next: "
        f"{PROGRAM} audit RESULTS... --plan {printable(document['run']['plan_file'])}"
    )
