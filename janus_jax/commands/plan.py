"""``janus-jax plan``: fix an audit before its outcomes are read."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from janus_jax.commands.common import (
    Commands,
    add_plan_options,
    add_reading_options,
    add_results,
    plan_of,
    reading_of,
    warn,
)
from janus_jax.errors import InputError
from janus_jax.files import writing
from janus_jax.output import check_targets

if TYPE_CHECKING:
    from janus_jax.plans.drafting import Draft
    from janus_jax.plans.planned import Planned

_EPILOG = """\
The outcome column is named but not read, and need not be there yet: the plan of a table is the same
whatever its outcomes are. The file holds every rule with its threshold, the columns and levels they
use, the split, and all limits; `janus-jax audit RESULTS --plan FILE` then computes exactly that, or
refuses a table that is not the one planned for. Its hash tells the plan from every other one.
"""
_KINDS = {
    "boolean": ("yes/no column", "yes/no columns"),
    "numeric": ("number above its median", "numbers above their median"),
    "level": ("level", "levels"),
    "missing": ("missing value", "missing values"),
    "conjunction": ("conjunction", "conjunctions"),
}


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "plan",
        allow_abbrev=False,
        help="fix an audit before its outcomes are read",
        description="Write down everything an audit will compute, without reading an outcome.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=_plan)
    add_results(parser)
    add_plan_options(parser)
    parser.add_argument_group("proposal split").add_argument(
        "--proposal",
        metavar="SHARE",
        help="share of a random split set aside first, of which neither screen nor gate sees "
        "anything",
    )
    group = add_reading_options(parser)
    group.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="write the plan there; - prints it and nothing else",
    )


def _plan(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    plan = plan_of(options)
    if not options.out:
        raise InputError("--out is empty: name a file")
    # One file is written, as by the option of other commands that names one.
    check_targets(options.results, None, options.out)

    from janus_jax.plans.drafting import draft_plan, finished, write_plan
    from janus_jax.plans.text import plan_text
    from janus_jax.reading import read

    table, plan = read(options.results, reading_of(options), plan, several=True, unread=True)
    for name in table.outcomes or (plan.outcome_column,):
        if name not in table.columns:
            warn(
                f"there is no column {name!r} yet; --{plan.outcome_kind} names the one that will "
                "hold the outcome"
            )
    draft = draft_plan(table, plan, proposal=options.proposal)
    if options.out == "-":
        text = plan_text(finished(draft))
        with writing("standard output"):
            sys.stdout.write(text)
            sys.stdout.flush()
        return 0
    planned = write_plan(draft, options.out)
    with writing("standard output"):
        _show(draft, planned, sys.stdout)
        sys.stdout.flush()
    return 0


def _show(draft: Draft, planned: Planned, stream: TextIO) -> None:
    """Print what was planned, the hash on a line of its own."""
    from janus_jax.behaviour.wording import counted
    from janus_jax.cells import IN_TABLE, called, printable
    from janus_jax.plans.planned import SPLITS
    from janus_jax.terminal import console_for, print_answer

    console = console_for(stream)
    print_answer(
        console,
        f"planned {counted(len(planned.rules), 'rule')} on {counted(planned.rows, 'example')}",
    )
    sizes = zip(planned.split.sizes, SPLITS, strict=True)
    console.print(", ".join(f"{size} {name}" for size, name in sizes if size))
    counts = Counter(rule.kind for rule in planned.rules)
    console.print(
        ", ".join(
            f"{counts[kind]} {one if counts[kind] == 1 else many}"
            for kind, (one, many) in _KINDS.items()
            if counts[kind]
        )
    )
    for column, reason in (draft.selection.not_used | draft.descriptors.not_used).items():
        console.print(f"not used: {called(column, IN_TABLE)}: {printable(reason)}", style="dim")
    console.print(f"{printable(planned.source)}: sha256 {planned.hash}")
