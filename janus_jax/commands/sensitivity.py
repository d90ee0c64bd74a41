"""``janus-jax sensitivity``: how often each rule is confirmed over repeated splits."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence

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
    from janus_jax.behaviour.sensitivity_report import print_splits
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
    publish_document(result, options.json, lambda stream: print_splits(result.document, stream))
    return 0
