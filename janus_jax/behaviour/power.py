"""``janus_jax.power``: how large an effect, or how many examples, an audit needs to be found.

The paper's power simulation for any design: the chance that a descriptor whose examples fail more
often by delta is selected on discovery and confirmed on holdout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from janus_jax.behaviour.gate_power import (
    gate_probability,
    nearest_split,
    normal_gate_probability,
    smallest_holdout,
)
from janus_jax.behaviour.given import listed, number
from janus_jax.behaviour.power_design import (
    SPLITS,
    Design,
    PowerRule,
    halves,
    impossible,
    make_design,
)
from janus_jax.behaviour.power_report import USUAL
from janus_jax.behaviour.power_search import (
    CELL_FIELDS,
    MAX_N,
    STEP,
    Cells,
    smallest_delta,
    smallest_n,
)
from janus_jax.behaviour.wording import counted
from janus_jax.errors import InputError
from janus_jax.plan import MAX_SEED, StatisticName, whole_number
from janus_jax.progress import Progress
from janus_jax.record import Stopwatch
from janus_jax.result import Result

if TYPE_CHECKING:
    import pandas as pd

SCHEMA: Final = "janus-jax/power/1"
REPETITIONS: Final = 10_000
MAX_REPETITIONS: Final = 10_000_000
MAX_DRAWS: Final = 10**11
"""Words of one cell: repetitions x (3 L + 2 K). A thousand million of them take about a minute."""
Number = float | str
"""A number as a person writes it; a float counts as its shortest decimal."""


@dataclass(frozen=True, slots=True, repr=False)
class PowerResult(Result):
    """What a power study found: schema ``janus-jax/power/1``."""

    @property
    def cells(self) -> pd.DataFrame:
        """Every cell asked for as one row; columns as in :data:`CELL_FIELDS`."""
        import pandas as pd

        return pd.DataFrame(self.document["cells"], columns=list(CELL_FIELDS))

    @property
    def targets(self) -> list[dict[str, Any]]:
        """The smallest deltas and the smallest n that reach the target."""
        return self.document["targets"]

    def __repr__(self) -> str:
        cells = counted(len(self.document["cells"]), "cell")
        found = ", ".join(
            f"{t['looked_for']} {'not reached' if t['smallest'] is None else t['smallest']}"
            for t in self.targets
        )
        return f"<PowerResult: {cells}{found and f'; smallest {found}'}>"


def power(
    *,
    design: Design | None = None,
    delta: Number | Sequence[Number] | None = None,
    n: int | Sequence[int] | None = None,
    target: Number | None = None,
    repetitions: int = REPETITIONS,
    seed: int = 0,
    preset: str | None = None,
    n_discovery: int | None = None,
    n_holdout: int | None = None,
    library: int | None = None,
    decoys: int | None = None,
    base_error: Number | None = None,
    prevalence: Number | None = None,
    q: Number | None = None,
    min_holdout_lift: Number | None = None,
    min_support: int | None = None,
    min_prevalence: Number | None = None,
    max_prevalence: Number | None = None,
    statistic: StatisticName | None = None,
    rule: PowerRule | None = None,
    progress: Progress | None = None,
) -> PowerResult:
    """Simulate an audit many times and count how often a designated descriptor is confirmed.

    In each repetition L descriptors are on for each example with chance ``prevalence``,
    independently. Examples that the first of them, the designated one, is on for are wrong with
    chance ``base_error + delta``, the others with ``base_error``. The eligible ones are screened by
    the rule, and the designated one is *confirmed* when it is selected, the signs of its discovery
    and holdout lifts agree and its holdout |lift| is at least ``min_holdout_lift``, in either
    direction. When it is not eligible, it is not confirmed.

    Parameters
    ----------
    design
        A design that is ready, such as :func:`janus_jax.behaviour.power_audit.audit_design` takes
        from an audit; or describe one by the options from ``preset`` on.
    delta
        One effect, or several for a curve: differences of error rates. Without it (and without a
        target), 0.05, 0.10, ... as far as an error rate of 1 allows, at most 0.60.
    n
        Examples in all, one number or several for a curve; half of each (rounded down) is
        discovery. Instead of the design's own sizes.
    target
        Look for the smallest delta on a grid of 0.01 that has this power, for each size; and, when
        ``delta`` is given, for the smallest n on a grid of 10 at each delta.
    repetitions
        Of each cell. A power p has the standard error sqrt(p (1 - p) / repetitions).
    seed
        0 to 2**64 - 1. Repetition i is a function of the seed, i and the cell.
    preset
        "controlled", "musique" or "longbench-v2": the sizes and rules of the paper's audits.
    n_discovery, n_holdout, library
        Examples of the splits, and L; required without a preset (L alone when there is ``n``).
    decoys
        K, for ``rule="decoys"`` (default 1000).
    base_error, prevalence
        p0 (default 0.40) and the chance to be on (default 0.5).
    q, min_holdout_lift, min_support, min_prevalence, max_prevalence, statistic
        As for an audit, with its defaults.
    rule
        "decoys_exact" (the default without a preset) or "decoys".
    progress
        Called with repetitions done and wanted; those that a target takes are not known before, so
        that the second number then grows.

    Returns
    -------
    PowerResult

    Raises
    ------
    InputError
        An option is missing or out of range, or the simulation would be too large.

    Notes
    -----
    All cells use common random numbers: neighbouring cells differ by less than their standard
    errors suggest. No backend takes part; the result is the same on every machine.

    References
    ----------
    Janus, arXiv 2606.09046, the power simulation.

    Examples
    --------
    >>> result = power(preset="musique", delta="0.37", repetitions=1000)
    >>> result.document["cells"][0]["n_discovery"]
    75
    """
    described = {
        "preset": preset,
        "n_discovery": n_discovery,
        "n_holdout": n_holdout,
        "library": library,
        "decoys": decoys,
        "base_error": base_error,
        "prevalence": prevalence,
        "q": q,
        "min_holdout_lift": min_holdout_lift,
        "min_support": min_support,
        "min_prevalence": min_prevalence,
        "max_prevalence": max_prevalence,
        "statistic": statistic,
        "rule": rule,
    }
    if design is None:
        design = make_design(sized(described, n))
    elif given := [name for name, value in described.items() if value is not None]:
        raise InputError(f"design already says everything; leave out {given[0]}")
    study = make_study(design, delta=delta, n=n, target=target, repetitions=repetitions, seed=seed)
    return run_study(study, progress=progress)


def sized(described: dict[str, Any], n: Any) -> dict[str, Any]:
    """A description without sizes of its own takes those of the (first) n."""
    sizes = listed(n)
    if not sizes or any(described[name] is not None for name in ("preset", *SPLITS)):
        return described
    return described | dict(zip(SPLITS, halves(total(sizes[0])), strict=True))


def total(n: object) -> int:
    """A number of examples in all, checked."""
    return whole_number("--n", n, 4, MAX_N)


@dataclass(frozen=True, slots=True)
class Study:
    """A checked request: what :func:`run_study` runs.

    Attributes
    ----------
    design
        The design as described.
    sizes
        The designs of the curve: itself, or one for each n.
    deltas
        As text; empty when only a target is asked.
    searched
        Whether the smallest n is looked for at each delta.
    target
        As text, or None.
    repetitions, seed
        As in :func:`power`.
    """

    design: Design
    sizes: tuple[Design, ...]
    deltas: tuple[str, ...]
    searched: bool
    target: str | None
    repetitions: int
    seed: int


def make_study(
    design: Design,
    *,
    delta: Any = None,
    n: Any = None,
    target: Any = None,
    repetitions: Any = None,
    seed: Any = None,
) -> Study:
    """Check what is asked of a design; None takes the default, and nothing is simulated yet."""
    low, high = -design.p0, 1 - design.p0
    deltas = [number("--delta", text, Fraction(-1)) for text in listed(delta)]
    for text in deltas:
        if not low <= Fraction(text) <= high:
            raise InputError(
                f"--delta is {text}, but --base-error {design.base_error} allows "
                f"{float(low):g} to {float(high):g}: error rates lie between 0 and 1"
            )
    totals = [total(size) for size in listed(n)]
    for option, given, values in (("--delta", delta, deltas), ("--n", n, totals)):
        if given is not None and not values:
            raise InputError(f"{option} names no number; leave it out, or give one or more")
    searched = bool(deltas) and target is not None and not totals
    if target is not None:
        target = number("--target", target, Fraction(0), ends=False)
        if high < STEP:
            raise _no_room(design, "delta of 0.01")
    elif delta is None:
        steps = (f"{k * 5 / 100:.2f}" for k in range(1, 13))
        deltas = [text for text in steps if Fraction(text) <= high]
        if not deltas:
            raise _no_room(design, "delta of 0.05")
    study = Study(
        design=design,
        sizes=tuple(design.resized(size) for size in totals) or (design,),
        deltas=tuple(deltas),
        searched=searched,
        target=target,
        repetitions=whole_number(
            "--repetitions", REPETITIONS if repetitions is None else repetitions, 1, MAX_REPETITIONS
        ),
        seed=whole_number("--seed", 0 if seed is None else seed, 0, MAX_SEED),
    )
    draws = 3 * design.library + (2 * design.decoys if design.rule == "decoys" else 0)
    if study.repetitions * draws > MAX_DRAWS:
        raise InputError(
            f"{study.repetitions:,} repetitions of L = {design.library:,} descriptors"
            + (f" and K = {design.decoys:,} decoys" if design.rule == "decoys" else "")
            + f" are too many for one cell; up to {MAX_DRAWS // draws:,} --repetitions work"
            + (", or --rule decoys_exact" if design.rule == "decoys" else "")
        )
    return study


def _no_room(design: Design, what: str) -> InputError:
    return InputError(
        f"--base-error {design.base_error} leaves no room for a {what}, since error rates lie "
        f"between 0 and 1: name deltas from {-float(design.p0):g} to {1 - float(design.p0):g} with "
        "--delta, or assume a smaller --base-error"
    )


def design_warnings(study: Study) -> list[str]:
    """What is wrong with the designs themselves, whatever a simulation says: known beforehand."""
    said = [impossible(design) for design in study.sizes]
    return list(dict.fromkeys(text for text in said if text is not None))


def run_study(
    study: Study, *, progress: Progress | None = None, command: str | None = None
) -> PowerResult:
    """Simulate the cells and look for what was asked.

    Parameters
    ----------
    progress
        Called with repetitions done and wanted so far.
    command
        The command line, for the record.
    """
    clock = Stopwatch()
    curve_cells = {
        (design.n_discovery, design.n_holdout, Fraction(delta))
        for design in study.sizes
        for delta in study.deltas
    }
    cells = Cells(study.repetitions, study.seed, progress, wanted=len(curve_cells))
    curve = [
        cells.estimate(design, delta).to_dict() for design in study.sizes for delta in study.deltas
    ]
    targets: list[dict[str, Any]] = []
    if study.target is not None:
        targets += [smallest_delta(design, cells, study.target) for design in study.sizes]
        if study.searched:
            targets += [
                smallest_n(study.design, delta, cells, study.target) for delta in study.deltas
            ]
    gate = list(_gate_plan(study, targets))
    document = {
        "schema": SCHEMA,
        "design": study.design.to_dict(),
        "asked": {"delta": list(study.deltas), "target": study.target},
        "repetitions": study.repetitions,
        "seed": study.seed,
        "cells": curve,
        "targets": targets,
        "gate": gate,
        "warnings": design_warnings(study),
        "notes": list(_notes(study, gate)),
        "run": clock.record(command),
    }
    return PowerResult(document)


def _gate_plan(study: Study, targets: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The gate given a holdout whose split is nearest to the prevalence, and the one it needs.

    A row for each size, and each delta that was asked or found for it.
    """
    for design in study.sizes:
        found = [
            str(it["smallest"])
            for it in targets
            if it["looked_for"] == "delta"
            and it["smallest"] is not None
            and (it["n_discovery"], it["n_holdout"]) == (design.n_discovery, design.n_holdout)
        ]
        for text in {Fraction(text): text for text in (*study.deltas, *found)}.values():
            yield _gate_row(design, Fraction(text), Fraction(study.target or USUAL))


def _gate_row(design: Design, delta: Fraction, wanted: Fraction) -> dict[str, Any]:
    rules, c = design.eligibility, Fraction(design.min_holdout_lift)
    least_on, least_off = max(rules.min_on or 1, 1), max(rules.min_off or 1, 1)
    on, off = nearest_split(design.n_holdout, design.on_rate)
    supported = on >= least_on and off >= least_off
    size = smallest_holdout(
        delta, design.p0, design.on_rate, c, wanted, min_on=least_on, min_off=least_off
    )
    return {
        "delta": float(delta),
        "n_holdout": design.n_holdout,
        "n_on": on,
        "n_off": off,
        # The gate asks for support too.
        "passes": gate_probability(delta, design.p0, on, off, c) if supported else 0.0,
        "passes_normal": (
            normal_gate_probability(delta, design.p0, on, off, c) if supported else None
        ),
        "wanted": float(wanted),
        "smallest_holdout": size and size.n,
        "smallest_on": size and size.n_on,
        "smallest_off": size and size.n_off,
        "probability": size and size.probability,
        "probability_one_less": size and size.one_less,
        "smallest_holdout_normal": size and size.normal_n,
    }


def _notes(study: Study, gate: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    design = study.design
    yield from design.simplified
    yield (
        "memberships are drawn independently with one prevalence; a real library has correlated "
        "descriptors of different prevalence"
    )
    yield (
        "power is the chance of a confirmation, in either direction; an ineligible designated "
        "descriptor counts as not confirmed"
    )
    yield (
        "gate alone is the chance to be eligible and pass the gate, over the on and off counts "
        "that chance gives the descriptor; the lower table takes those counts as given, as near "
        "to the prevalence as whole numbers come"
    )
    if any(row["passes_normal"] is None for row in gate):
        yield (
            "the gate passes with probability 0 where the counts nearest to the prevalence are "
            "fewer than the support it asks for"
        )
    yield (
        "all cells use common random numbers: differences between cells are known better than the "
        "cells"
    )
    if design.rule == "decoys":
        allowed = int(Fraction(design.q) * design.decoys / design.library)
        if allowed < 5:
            yield (
                f"a descriptor that stands alone is selected when at most {allowed} of "
                f"K = {design.decoys} decoys reach it: that owes much to the decoys' luck; "
                "--rule decoys_exact has none"
            )
