"""Screen the library on discovery by every method, and gate what each selects on holdout."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax.decoys import Decoys, Stability, decoy_stability, draw_decoys
from janus_jax.hypergeometric import labellings
from janus_jax.interface import Backend, Problem, Tables, Tally
from janus_jax.library import Counts, Part, holdout_support_reason
from janus_jax.permutations import Progress, enumerated_tally, lanes_for, sampled_tally
from janus_jax.plan import FIXED_LIFT, Method, Plan
from janus_jax.rules import (
    adjust_benjamini_hochberg,
    at_most,
    benjamini_hochberg,
    procedure_a,
    procedure_a_exact,
)
from janus_jax.statistic import (
    Thresholds,
    at_least,
    exact_exceedances,
    expected_exceedances,
    rank_table,
)

_COUNTED_UP_TO = 10**15  # labellings are counted exactly up to here


@dataclass(frozen=True, slots=True)
class Permuted:
    """The shared permutations, sampled or enumerated.

    Attributes
    ----------
    tally
        The sums.
    enumerated
        True when every labelling was counted once; then p-values have no "+1".
    labellings
        How many distinct labellings exist; None when there are more than 10**15.
    """

    tally: Tally
    enumerated: bool
    labellings: int | None

    def p_values(self, hits: NDArray[np.int64]) -> NDArray[np.float64]:
        """(1 + hits) / (B + 1) when sampled, hits / total when enumerated."""
        more = 0 if self.enumerated else 1
        return (hits + more) / (self.tally.permutations + more)

    def within(self, hits: NDArray[np.int64], alpha: Fraction) -> list[bool]:
        """Whether each of those p-values is at most alpha, in integers."""
        more = 0 if self.enumerated else 1
        most = math.floor(alpha * (self.tally.permutations + more)) - more
        return [int(h) <= most for h in hits]


@dataclass(frozen=True, slots=True)
class Screened:
    """What discovery shows of a library of L descriptors, thresholds ascending.

    Attributes
    ----------
    thresholds
        The distinct observed values and who reaches them.
    p_exact, p_bh, p_monte_carlo, p_max_t, p_max_t_step_down
        float64, shape (L,).
    expected
        float64, shape (J,): L times the probability that a decoy reaches each threshold (the exact
        limit of Procedure A).
    mean_expected
        float64, shape (J,): descriptors of the library expected at each threshold when errors are
        shuffled; the same as ``expected`` when the decoys' source is the library.
    mean_totals
        int64, shape (J,): descriptors that reached each threshold, summed over permutations.
    decoys
        The literal decoys; None when no descriptor qualifies as a source.
    stability
        Of the literal rule; None as well.
    permuted
        The shared permutations.
    chosen
        For the threshold rules: index of the threshold chosen, or None.
    selected
        For every method: bool per descriptor.
    """

    thresholds: Thresholds
    p_exact: list[float]
    p_bh: NDArray[np.float64]
    p_monte_carlo: NDArray[np.float64]
    p_max_t: NDArray[np.float64]
    p_max_t_step_down: NDArray[np.float64]
    expected: NDArray[np.float64]
    mean_expected: NDArray[np.float64]
    mean_totals: NDArray[np.int64]
    decoys: Decoys | None
    stability: Stability | None
    permuted: Permuted
    chosen: Mapping[str, int | None]
    selected: Mapping[Method, list[bool]]


def screen(
    part: Part,
    memberships: NDArray[np.bool_],
    library: Sequence[Counts],
    pool: Sequence[Counts],
    plan: Plan,
    backend: Backend,
    *,
    memory: int,
    batch: int | None = None,
    progress: Progress | None = None,
) -> Screened:
    """Screen an eligible library on discovery.

    Parameters
    ----------
    part
        The discovery examples.
    memberships
        bool, shape (L, n).
    library, pool
        Counts of the L descriptors and of the decoy sources, in library order.
    memory
        Bytes the permutations in flight may use.
    batch
        Permutations side by side; None takes what ``memory`` holds. Never changes a result.
    """
    margins = [counts.margins for counts in library]
    sources = [counts.margins for counts in pool]
    thresholds = Thresholds([counts.margins.key(counts.errors_on) for counts in library])
    problem = Problem(
        memberships=memberships,
        errors=part.errors,
        strata=part.strata,
        pool=np.array([m.on for m in sources], dtype=np.int32).reshape(len(sources), -1),
        seed=plan.seed,
    )
    tables = Tables(rank_table(margins, thresholds), thresholds.own, len(thresholds))
    wanted = max(plan.permutations, plan.decoys)
    lanes = batch or lanes_for(backend, problem, wanted, memory)
    state = backend.prepare(problem, lanes)

    decoys = stability = None
    q = Fraction(plan.q)
    if sources:
        decoys = draw_decoys(backend, state, plan.decoys, sources, thresholds)
        stability = decoy_stability(sources, thresholds, plan.decoys, q, plan.seed)
    permuted = _permute(part, problem, tables, plan, backend, state, lanes, progress)

    p_exact = [counts.margins.p_value(counts.errors_on) for counts in library]
    mean_expected = expected_exceedances(margins, thresholds)
    scale = Fraction(len(library), len(sources)) if sources else Fraction(0)
    expected = expected_exceedances(sources, thresholds) * float(scale)
    reached = thresholds.reached.tolist()
    mean_totals = at_least(permuted.tally.total)
    maxima = at_least(permuted.tally.maxima)[thresholds.own - 1]
    step_down = _step_down(permuted.tally.step_down, thresholds)

    def exact_p(g: int) -> Fraction:
        return library[g].margins.exact_p_value(library[g].errors_on)

    chosen: dict[str, int | None] = {
        "decoys": procedure_a(decoys.exceedances.tolist(), reached, len(library), plan.decoys, q)
        if decoys
        else None,
        "decoys_exact": procedure_a_exact(
            expected.tolist(),
            reached,
            q,
            lambda j: scale * exact_exceedances(sources, thresholds.keys[j]),
        )
        if sources
        else None,
        "mean_count": procedure_a(mean_totals.tolist(), reached, 1, permuted.tally.permutations, q),
        "mean_count_exact": procedure_a_exact(
            mean_expected.tolist(),
            reached,
            q,
            lambda j: exact_exceedances(margins, thresholds.keys[j]),
        ),
    }
    lifts = [abs(counts.lift) for counts in library]
    alpha = Fraction(plan.alpha)
    selected: dict[Method, list[bool]] = {
        "decoys": _reaching(thresholds, chosen["decoys"]),
        "decoys_exact": _reaching(thresholds, chosen["decoys_exact"]),
        "unadjusted": [at_most(p, alpha, lambda g=g: exact_p(g)) for g, p in enumerate(p_exact)],
        "bh_05": benjamini_hochberg(p_exact, Fraction("0.05"), exact_p),
        "bh_10": benjamini_hochberg(p_exact, Fraction("0.10"), exact_p),
        "max_t": permuted.within(maxima, alpha),
        "max_t_step_down": permuted.within(step_down, alpha),
        "mean_count": _reaching(thresholds, chosen["mean_count"]),
        "mean_count_exact": _reaching(thresholds, chosen["mean_count_exact"]),
        "fixed_lift": [lift >= FIXED_LIFT for lift in lifts],
        "fixed_floor": [decoys is not None and lift > decoys.floor for lift in lifts],
    }
    return Screened(
        thresholds=thresholds,
        p_exact=p_exact,
        p_bh=adjust_benjamini_hochberg(p_exact),
        p_monte_carlo=permuted.p_values(permuted.tally.exceed),
        p_max_t=permuted.p_values(maxima),
        p_max_t_step_down=permuted.p_values(step_down),
        expected=expected,
        mean_expected=mean_expected,
        mean_totals=mean_totals,
        decoys=decoys,
        stability=stability,
        permuted=permuted,
        chosen=chosen,
        selected=selected,
    )


def gate(discovery: Counts, holdout: Counts, plan: Plan) -> tuple[bool, str]:
    """Whether holdout repeats a selected descriptor, and why or why not.

    Its holdout support suffices, the sign of its lift is the same, and its holdout |lift| is at
    least ``min_holdout_lift``. Not a significance test.
    """
    support = holdout_support_reason(holdout, plan.eligibility)
    if support:
        return False, f"{support}: too few to confirm"
    lift = holdout.lift
    shown = f"holdout lift {float(lift):+.4f}"
    if discovery.lift * lift <= 0:
        return False, f"{shown} has not the sign of discovery's {float(discovery.lift):+.4f}"
    if abs(lift) < Fraction(plan.min_holdout_lift):
        return False, f"{shown} has the same sign but is smaller than {plan.min_holdout_lift}"
    return True, f"{shown} has the same sign and is at least {plan.min_holdout_lift}"


def _permute(
    part: Part,
    problem: Problem,
    tables: Tables,
    plan: Plan,
    backend: Backend,
    state: object,
    lanes: int,
    progress: Progress | None,
) -> Permuted:
    few = labellings(part.stratum_sizes, part.stratum_errors, _COUNTED_UP_TO)
    if few is not None and few <= plan.permutations:
        return Permuted(enumerated_tally(problem, tables), enumerated=True, labellings=few)
    tally = sampled_tally(backend, state, tables, plan.permutations, lanes, progress)
    return Permuted(tally, enumerated=False, labellings=few)


def _reaching(thresholds: Thresholds, index: int | None) -> list[bool]:
    if index is None:
        return [False] * len(thresholds.own)
    return [int(own) > index for own in thresholds.own]


def _step_down(hits: NDArray[np.int64], thresholds: Thresholds) -> NDArray[np.int64]:
    """Step-down adjusted p-values may not fall as the statistic falls: a running maximum."""
    order = np.argsort(-thresholds.own, kind="stable")
    monotone = np.empty_like(hits)
    monotone[order] = np.maximum.accumulate(hits[order])
    return monotone
