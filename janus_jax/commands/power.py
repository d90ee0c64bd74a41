"""``janus-jax power``: how large an effect, or how many examples, an audit needs to be found."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TextIO

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
the audit that --from-audit RESULTS describes, with the audit's own options; then p0 is its overall
error rate and every descriptor gets the median prevalence of its library. Of the audit options,
--preset, --min-support, the prevalences, --statistic, --rule (decoys or decoys_exact), --decoys,
--q, --min-holdout-lift and --seed also go with the first two. Exit status: 0 the simulation ran, 2
wrong usage or input, 130 interrupted.
"""
_SIZES: Final = ("n_discovery", "n_holdout", "library")
_RATES: Final = ("base_error", "prevalence")
_CELL_HEADER: Final = ("delta", "discovery", "holdout", "power", "s.e.", "selected", "gate alone")
_GATE_HEADER: Final = ("delta", "gate passes", "normal approx.", "holdout needed", "on / off", "p")


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "power",
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
        help="the design of the audit of these files, with the audit options below",
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
    from janus_jax.progress import reporting
    from janus_jax.stopping import Interrupted, terminable

    check_targets([*(options.from_audit or []), *filter(None, [options.plan])], None, options.json)
    n = _listed(options.n)
    design, seed = _design(options, n)
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
    try:
        with (
            terminable(),
            reporting(sys.stderr, PROGRAM, quiet=options.quiet, what="repetitions") as progress,
        ):
            result = run_study(study, progress=progress, command=shlex.join([PROGRAM, *arguments]))
    except KeyboardInterrupt:
        raise Interrupted("nothing was written; fewer --repetitions take less time") from None
    publish_document(result, options.json, lambda stream: show(result.to_dict(), stream))
    return 0


def _listed(given: list[str] | None) -> list[str] | None:
    """Repeated and comma-separated values as one list."""
    if given is None:
        return None
    return [part.strip() for text in given for part in text.split(",")]


def _design(options: argparse.Namespace, n: list[str] | None) -> tuple[Design, Any]:
    """The design, and the seed if one was given."""
    from janus_jax.behaviour.power import sized
    from janus_jax.behaviour.power_design import PLAN_WORDS, design_of_audit, make_design, number

    own = {name: getattr(options, name) for name in (*_SIZES, *_RATES)}
    if options.from_audit is None:
        for name in ("plan", *PLAN_OPTIONS):
            if name not in (*PLAN_WORDS, "seed") and getattr(options, name) is not None:
                raise InputError(
                    f"--{name.replace('_', '-')} describes an audit; it goes with --from-audit "
                    "RESULTS"
                )
        described = own | {name: getattr(options, name) for name in PLAN_WORDS}
        return make_design(sized(described, n)), options.seed
    for name in _SIZES:
        if own[name] is not None:
            raise InputError(
                f"--{name.replace('_', '-')} does not go with --from-audit, which takes it from "
                "the audit; --n changes the number of examples"
            )
    plan, planned = plan_or_file(options)
    if planned is not None:
        from janus_jax.plans.verifying import remarks

        for text in remarks(planned):
            warn(text)

    from janus_jax.prepare import prepare
    from janus_jax.reading import read

    table, plan = read(
        options.from_audit, reading_of(options), plan, planned.log if planned else None
    )
    design = design_of_audit(prepare(table, plan, planned), plan)
    rates = {
        name: number(f"--{name.replace('_', '-')}", own[name], Fraction(0))
        for name in _RATES
        if own[name] is not None
    }
    return replace(design, **rates), plan.seed


def show(document: Mapping[str, Any], stream: TextIO) -> None:
    """Print the result: the answers, the cells, what the gate needs, the notes."""
    from janus_jax.report import printable
    from janus_jax.terminal import console_for, print_answer, print_table

    console = console_for(stream)
    for target in document["targets"]:
        print_answer(console, _verdict(target))
    design = document["design"]
    decoys = "" if design["decoys"] is None else f", K = {design['decoys']}"
    console.print(
        f"L = {design['library']}{decoys}, p0 = {_short(design['base_error'])}, prevalence "
        f"{_short(design['prevalence'])}; rule: {design['rule']} of {design['statistic']}, q = "
        f"{design['q']}, holdout |lift| >= {design['min_holdout_lift']}; "
        f"{document['repetitions']} repetitions a cell"
    )
    for warning in document["warnings"]:
        console.print(f"Warning: {printable(warning)}", style="yellow")
    if rows := _cells(document):
        print_table(console, _CELL_HEADER, rows)
    if document["gate"]:
        wanted = document["gate"][0]["wanted"]
        console.print()
        console.print(
            f"The gate alone, with {design['n_holdout']} holdout examples, and the holdout from "
            f"which on it passes with probability {wanted:g}:"
        )
        print_table(console, _GATE_HEADER, [_gate_row(row) for row in document["gate"]])
    console.print()
    for note in document["notes"]:
        console.print(f"Note: {printable(note)}", style="dim")


def _verdict(target: Mapping[str, Any]) -> str:
    where = (
        f"{target['n_discovery']} discovery and {target['n_holdout']} holdout examples"
        if target["looked_for"] == "delta"
        else f"delta = {target['delta']:g}"
    )
    return f"with {where}, {target['verdict']}"


def _cells(document: Mapping[str, Any]) -> list[list[str]]:
    """The cells asked for, and those around each answer, once each."""
    cells = [*document["cells"]]
    for target in document["targets"]:
        cells += [target[name] for name in ("below", "at", "above") if target[name]]
    rows: dict[tuple[str, ...], list[str]] = {}
    for cell in cells:
        row = [
            f"{cell['delta']:g}",
            str(cell["n_discovery"]),
            str(cell["n_holdout"]),
            f"{cell['power']:.4f}",
            f"{cell['standard_error']:.4f}",
            f"{cell['selected']:.4f}",
            f"{cell['gate']:.4f}",
        ]
        rows.setdefault(tuple(row[:3]), row)
    return list(rows.values())


def _gate_row(row: Mapping[str, Any]) -> list[str]:
    needed, normal = row["smallest_holdout"], row["passes_normal"]
    return [
        f"{row['delta']:g}",
        f"{row['passes']:.4f}",
        "" if normal is None else f"{normal:.4f}",
        "none suffices" if needed is None else str(needed),
        "" if needed is None else f"{row['on']} / {row['off']}",
        "" if needed is None else f"{row['probability']:.4f}",
    ]


def _short(text: str) -> str:
    """A ratio of integers as a decimal too."""
    return f"{text} = {float(Fraction(text)):.4f}" if "/" in text else text
