"""``janus-jax power``: how large an effect, or how many examples, an audit needs to be found."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from janus_jax.commands.common import (
    PROGRAM,
    Commands,
    add_plan_file,
    add_plan_options,
    add_reading_options,
    plan_or_file,
    reading_of,
    warn,
)
from janus_jax.errors import InputError
from janus_jax.output import check_targets, publish_document
from janus_jax.plan import PLAN_OPTIONS

if TYPE_CHECKING:
    from janus_jax.behaviour.power_design import Design

_EPILOG = """\
A design comes from a --preset of the paper, from --n-discovery, --n-holdout and --library, or from
the audit of RESULTS with the audit's own options; then p0 is its overall error rate and every
descriptor gets the median prevalence of its library. Of the audit options, --preset, --min-support,
the prevalences, --statistic, --rule (decoys or decoys_exact), --decoys, --q, --min-holdout-lift and
--seed also go with the first two. Exit status: 0 the simulation ran, 2 wrong usage or input, 130
interrupted.
"""
_SIZES: Final = ("n_discovery", "n_holdout", "library")
_RATES: Final = ("base_error", "prevalence")


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "power",
        usage="%(prog)s [RESULTS ...] [options]",
        allow_abbrev=False,
        help="how large an effect, or how many examples, an audit needs to be found",
        description=(
            "Simulate an audit of a given design many times: how often is a descriptor confirmed "
            "whose examples are wrong more often by delta?"
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=_power)
    # "+", yet not required: "*" would take nothing before the options and miss what follows them.
    parser.add_argument(
        "results",
        nargs="+",
        metavar="RESULTS",
        help="optional: files or logs as for audit, whose design is taken with the audit options",
    ).required = False
    group = parser.add_argument_group("what is asked")
    group.add_argument(
        "--delta",
        action="append",
        metavar="D[,D...]",
        help="added to the error rate inside the slice (repeatable; default 0.05, 0.10, ... 0.60)",
    )
    group.add_argument(
        "--n",
        action="append",
        metavar="N[,N...]",
        help="examples in all, half of them discovery, in place of the design's (repeatable)",
    )
    group.add_argument(
        "--target",
        metavar="P",
        help="look for the smallest delta with this power, and with --delta for the smallest n",
    )
    group.add_argument("--repetitions", metavar="N", help="of each cell (default 10000)")
    group = parser.add_argument_group("design")
    group.add_argument(
        "--from-audit",
        nargs="+",
        metavar="RESULTS",
        help="the same as RESULTS",
    )
    group.add_argument("--n-discovery", metavar="N", help="discovery examples")
    group.add_argument("--n-holdout", metavar="N", help="holdout examples")
    group.add_argument("--library", metavar="L", help="descriptors")
    group.add_argument(
        "--base-error", metavar="P0", help="error rate outside the slice (default 0.40)"
    )
    group.add_argument("--prevalence", metavar="SHARE", help="share of examples on (default 0.5)")
    add_plan_file(parser)
    add_plan_options(parser)
    group = add_reading_options(parser)
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")
    group.add_argument(
        "--json", metavar="FILE", help="write the result there; - prints it and nothing else"
    )


def _power(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    from janus_jax.behaviour.power import design_warnings, make_study, run_study
    from janus_jax.behaviour.power_report import print_power
    from janus_jax.progress import reporting
    from janus_jax.stopping import terminable

    if options.results and options.from_audit:
        raise InputError("--from-audit means the same as RESULTS: give the files once")
    results: list[str] = options.results or options.from_audit or []
    check_targets([*results, *filter(None, [options.plan])], None, options.json)
    n = _listed(options.n)
    design, seed = _design(options, results, n)
    study = make_study(
        design,
        delta=_listed(options.delta),
        n=n,
        target=options.target,
        repetitions=options.repetitions,
        seed=seed,
    )
    for text in design_warnings(study):
        warn(text)
    with (
        terminable("nothing was written; fewer --repetitions take less time"),
        reporting(
            sys.stderr,
            PROGRAM,
            quiet=options.quiet,
            what="repetitions",
            searching=study.target is not None,
        ) as progress,
    ):
        result = run_study(study, progress=progress, command=shlex.join([PROGRAM, *arguments]))
    publish_document(result, options.json, lambda stream: print_power(result.document, stream))
    return 0


def _listed(given: list[str] | None) -> list[str] | None:
    """Repeated and comma-separated values as one list."""
    if given is None:
        return None
    return [part.strip() for text in given for part in text.split(",")]


def _design(
    options: argparse.Namespace, results: list[str], n: list[str] | None
) -> tuple[Design, Any]:
    """The design, and the seed if one was given."""
    from janus_jax.behaviour.power import sized
    from janus_jax.behaviour.power_design import NO_PART, PLAN_WORDS, make_design

    own = {name: getattr(options, name) for name in (*_SIZES, *_RATES)}
    if not results:
        for name in ("plan", *PLAN_OPTIONS):
            if name not in (*PLAN_WORDS, "seed") and getattr(options, name) is not None:
                raise InputError(
                    f"--{name} has no part in power, which simulates Procedure A; leave it out"
                    if name in NO_PART
                    else f"--{name.replace('_', '-')} describes an audit; it goes with "
                    "--from-audit RESULTS"
                )
        described = own | {name: getattr(options, name) for name in PLAN_WORDS}
        return make_design(sized(described, n)), options.seed
    for name in _SIZES:
        if own[name] is not None:
            raise InputError(
                f"--{name.replace('_', '-')} does not go with RESULTS, whose audit has its own; "
                "--n changes the number of examples"
            )
    plan, planned = plan_or_file(options)
    if planned is not None:
        from janus_jax.plans.verifying import remarks

        for text in remarks(planned):
            warn(text)

    from janus_jax.behaviour.power_audit import read_design

    design = read_design(
        results,
        plan,
        reading_of(options),
        planned=planned,
        rates={name: own[name] for name in _RATES},
        given=vars(options),
    )
    return design, plan.seed
