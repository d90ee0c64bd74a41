"""``janus-jax sensitivity``: how often each rule is confirmed over repeated splits."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TextIO

from janus_jax.commands.common import (
    PROGRAM,
    Commands,
    add_backend_options,
    add_plan_options,
    add_reading_options,
    add_results,
    plan_of,
    reading_of,
    warn,
    whole,
)
from janus_jax.output import check_targets, publish_document

_EPILOG = """\
Split s is dealt with seed FIRST + 1009 s, strata in the order of their names; medians, levels and
eligibility are made anew in each, and the plan's --rule and gate are applied. Recurrence is counted
by rule ("q_words above its discovery median"), and splits in which a rule is not eligible stay in
the denominator. Splits overlap, so the shares are no p-values. --seed is that of the audit whose
verdicts are shown beside; --permutations is 9999 in each split by default, for the rules that need
them. Exit status: 0 the splits ran, 2 wrong usage or input, 3 the named backend cannot run here,
130 interrupted.
"""
_SHOWN: Final = 40  # rules listed before "... more"
_HEADER: Final = (
    "rule",
    "confirmed",
    "share",
    "selected",
    "eligible",
    "discovery lift",
    "holdout lift",
    "same sign",
    "audit",
)
_LEFT_OUT: Final = (
    "eligible",
    "same sign",
    "selected",
    "audit",
    "confirmed",
    "discovery lift",
    "holdout lift",
)


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "sensitivity",
        allow_abbrev=False,
        help="split the same outcomes again and again: how often is each rule confirmed?",
        description="Repeat the audit over random splits and count what is confirmed.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=_sensitivity)
    add_results(parser)
    group = parser.add_argument_group("repeated splits")
    group.add_argument("--splits", metavar="N", help="how many splits (default 200)")
    group.add_argument(
        "--first-seed",
        metavar="FIRST",
        help="seed of the first; the others follow in steps of 1009 (default 20260524)",
    )
    add_plan_options(parser, permutations="drawn anew in each split; default 9999")
    add_backend_options(parser)
    group = add_reading_options(parser)
    group.add_argument(
        "--json", metavar="FILE", help="write the result there; - prints it and nothing else"
    )
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _sensitivity(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    plan = plan_of(options)
    splits = whole("--splits", options.splits)
    first_seed = whole("--first-seed", options.first_seed, least=0)
    check_targets(options.results, None, options.json, None)

    from janus_jax.behaviour.sensitivity import (
        FIRST_SEED,
        SPLITS,
        run_sensitivity,
        with_default_permutations,
    )
    from janus_jax.progress import reporting
    from janus_jax.stopping import terminable

    with (
        terminable("nothing was written; fewer --splits take less time"),
        reporting(sys.stderr, PROGRAM, quiet=options.quiet, what="splits") as progress,
    ):
        result = run_sensitivity(
            options.results,
            with_default_permutations(plan) if options.permutations is None else plan,
            splits=SPLITS if splits is None else splits,
            first_seed=FIRST_SEED if first_seed is None else first_seed,
            backend=options.backend,
            progress=progress,
            reading=reading_of(options),
            warn=warn,
            command=shlex.join([PROGRAM, *arguments]),
        )
    publish_document(result, options.json, lambda stream: show(result.to_dict(), stream))
    return 0


def show(document: Mapping[str, Any], stream: TextIO) -> None:
    """Print the result: the answer, how often each rule recurs, the splits together, the notes."""
    from janus_jax.behaviour.sensitivity import answer
    from janus_jax.behaviour.wording import percent
    from janus_jax.cells import number, printable
    from janus_jax.report import STATUS_WORDS, ran_on, rule_words
    from janus_jax.terminal import console_for, print_answer, print_table

    console = console_for(stream)
    print_answer(console, printable(answer(document)))
    data, overall = document["data"], document["overall"]
    console.print(
        f"{data['examples']} examples, {data['errors']} errors; rule: {rule_words(document)}"
    )
    for warning in document["warnings"]:
        console.print(f"Warning: {printable(warning)}", style="yellow")
    rows = [row for row in document["rules"] if row["eligible"]]
    if rows:
        print_table(
            console,
            _HEADER,
            [
                [
                    printable(row["rule"]),
                    str(row["confirmed"]),
                    percent(row["share_confirmed"]),
                    str(row["selected"]),
                    str(row["eligible"]),
                    number(row["lift_discovery"]),
                    number(row["lift_holdout"]),
                    percent(row["share_same_sign"]),
                    STATUS_WORDS.get(row["audit"], "-"),
                ]
                for row in rows[:_SHOWN]
            ],
            leave_out=_LEFT_OUT,
        )
    if len(rows) > _SHOWN:
        console.print(f"... and {len(rows) - _SHOWN} more; --json FILE lists them all")
    never = [printable(row["rule"]) for row in document["rules"] if not row["eligible"]]
    if never:
        listed = ", ".join(never[:_SHOWN]) + (", ..." if len(never) > _SHOWN else "")
        console.print(f"Never eligible ({len(never)}): {listed}")
    console.print()
    sizes = ", ".join(
        f"{it['confirmed']} in {it['splits']}" for it in overall["confirmed_per_split"]
    )
    last = "" if document["splits"]["count"] == 1 else "s"
    console.print(f"Rules confirmed in a split: {sizes} split{last}")
    jaccard, stability = overall["jaccard"]["mean"], overall["stability"]["value"]
    console.print(
        f"How alike the confirmed sets are: mean Jaccard {number(jaccard, '.2f')}; beyond chance "
        f"(Nogueira, Sechidis and Brown 2018) {number(stability, '.2f')}"
    )
    console.print()
    for note in document["notes"]:
        console.print(f"- {printable(note)}", style="dim")
    console.print(ran_on(document), style="dim")
