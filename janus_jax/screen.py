"""Screen the library on discovery by every method, and gate what each selects on holdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax.closed_form import ClosedForm, closed_form
from janus_jax.interface import Backend, Problem, Tables
from janus_jax.joint import apart
from janus_jax.library import Counts, holdout_support_reason
from janus_jax.permutations import Permuted, Ready, Running, make_ready, permute
from janus_jax.plan import FIXED_LIFT, METHODS, Method, Plan
from janus_jax.rules import (
    adjust_benjamini_hochberg,
    at_most,
    benjamini_hochberg,
    procedure_a,
)
from janus_jax.statistic import (
    Thresholds,
    at_least,
    rank_all,
    rank_table,
)


@dataclass(frozen=True, slots=True)
class Screened:
    """What discovery shows of a library of L descriptors, thresholds ascending.

    Attributes
    ----------
    thresholds
        The distinct observed values and who reaches them.
    closed
        What the margins alone decide; None when whole clusters are exchanged.
    p_bh
        float64, shape (L,): BH-adjusted, from exact p-values where there are any.
    p_monte_carlo, p_max_t, p_max_t_step_down
        float64, shape (L,).
    mean_totals
        int64, shape (J,): descriptors that reached each threshold, summed over permutations.
    permuted
        The shared permutations.
    chosen
        For the threshold rules: index of the threshold chosen, or None.
    selected
        For every method that is available: bool per descriptor.
    """

    thresholds: Thresholds
    closed: ClosedForm | None
    p_bh: NDArray[np.float64]
    p_monte_carlo: NDArray[np.float64]
    p_max_t: NDArray[np.float64]
    p_max_t_step_down: NDArray[np.float64]
    mean_totals: NDArray[np.int64]
    permuted: Permuted
    chosen: Mapping[str, int | None]
    selected: Mapping[Method, list[bool]]


@dataclass(frozen=True, slots=True)
class _Case:
    """One outcome before any permutation: what is observed, and what the margins alone decide."""

    library: Sequence[Counts]
    thresholds: Thresholds
    tables: Tables
    closed: ClosedForm | None


def screen(
    shuffled: Problem,
    memberships: NDArray[np.bool_],
    library: Sequence[Counts],
    pool: Sequence[Counts],
    plan: Plan,
    backend: Backend,
    running: Running,
) -> Screened:
    """Screen an eligible library on discovery.

    Parameters
    ----------
    shuffled
        The discovery errors and what is exchanged; memberships and pool are filled in here.
    memberships
        bool, shape (L, n).
    library, pool
        Counts of the L descriptors and of the decoy sources, in library order.
    running
        How the permutations are run.
    """
    (screened,) = screen_several(shuffled, memberships, [library], [pool], plan, backend, running)
    return screened


def screen_several(
    shuffled: Problem,
    memberships: NDArray[np.bool_],
    libraries: Sequence[Sequence[Counts]],
    pools: Sequence[Sequence[Counts]],
    plan: Plan,
    backend: Backend,
    running: Running,
) -> list[Screened]:
    """Screen one eligible library on discovery for several outcomes of the same examples.

    The permutations are drawn once and serve every outcome; all else is as if each outcome had been
    screened by itself.

    Parameters
    ----------
    shuffled
        As for :func:`screen`, with the other outcomes as ``others``.
    memberships
        bool, shape (L, n); the same for all.
    libraries, pools
        Counts of the L descriptors and of the decoy sources for each outcome: the errors, then
        ``others``, in order.
    running
        How the permutations are run.

    Returns
    -------
    list
        One for each outcome.
    """
    outcomes = apart(shuffled)
    alone = len(outcomes) == 1
    ready = None
    cases: list[_Case] = []
    for outcome, library, pool in zip(outcomes, libraries, pools, strict=True):
        # Of several, the joint draw has a state of its own, and the decoys of each look at no
        # membership: one stands for all.
        problem = replace(
            outcome,
            memberships=memberships if alone else memberships[:1],
            pool=_pool_sizes(pool, shuffled.pool.shape[1]),
        )
        ready = None  # the state of the last outcome makes room
        if problem.clusters is None:
            wanted = max(plan.permutations, plan.decoys) if alone else plan.decoys
            ready = make_ready(backend, problem, wanted, running)
        cases.append(_before_permutations(library, pool, plan, backend, ready))
    if not alone:
        ready = None
    joint = replace(shuffled, memberships=memberships)
    tables = [case.tables for case in cases]
    every = permute(backend, joint, tables, plan.permutations, running, ready)
    return [_screened(case, permuted, plan) for case, permuted in zip(cases, every, strict=True)]


def _pool_sizes(pool: Sequence[Counts], strata: int) -> NDArray[np.int32]:
    sizes = np.array([counts.margins.on for counts in pool], dtype=np.int32)
    return sizes.reshape(len(pool), strata)  # also with no source


def _before_permutations(
    library: Sequence[Counts],
    pool: Sequence[Counts],
    plan: Plan,
    backend: Backend,
    ready: Ready | None,
) -> _Case:
    """Ranks of one outcome, and its closed form where rows are exchanged."""
    margins = [counts.margins for counts in library]
    thresholds = Thresholds([counts.margins.key(counts.errors_on) for counts in library])
    ranks = rank_all([*margins, *(counts.margins for counts in pool)], thresholds)
    closed = None
    if ready is not None:
        closed = closed_form(library, pool, thresholds, ranks, plan, backend, ready.state)
    tables = Tables(rank_table(margins, ranks), thresholds.own, len(thresholds))
    return _Case(library, thresholds, tables, closed)


def _screened(case: _Case, permuted: Permuted, plan: Plan) -> Screened:
    """Apply every method to one outcome."""
    library, thresholds, closed = case.library, case.thresholds, case.closed
    tally = permuted.tally
    mean_totals = at_least(tally.total)
    maxima = at_least(tally.maxima)[thresholds.own - 1]
    step_down = _step_down(tally.step_down, thresholds)
    p_monte_carlo = permuted.p_values(tally.exceed)

    def exact_p(g: int) -> Fraction:
        if closed is None:
            return permuted.share(int(tally.exceed[g]))
        return library[g].margins.exact_p_value(library[g].errors_on)

    p_values = p_monte_carlo.tolist() if closed is None else closed.p_exact
    reached, q, alpha = thresholds.reached.tolist(), Fraction(plan.q), Fraction(plan.alpha)
    chosen = {
        "mean_count": procedure_a(mean_totals.tolist(), reached, 1, tally.permutations, q),
        **(closed.chosen if closed else {}),
    }
    selected: dict[str, list[bool]] = {
        **{method: _reaching(thresholds, index) for method, index in chosen.items()},
        "unadjusted": [at_most(p, alpha, lambda g=g: exact_p(g)) for g, p in enumerate(p_values)],
        "bh_05": benjamini_hochberg(p_values, Fraction("0.05"), exact_p),
        "bh_10": benjamini_hochberg(p_values, Fraction("0.10"), exact_p),
        "max_t": permuted.within(maxima, alpha),
        "max_t_step_down": permuted.within(step_down, alpha),
        "fixed_lift": [abs(counts.lift) >= FIXED_LIFT for counts in library],
    }
    if closed:
        floor = closed.decoys.floor if closed.decoys else None
        selected["fixed_floor"] = [floor is not None and abs(c.lift) > floor for c in library]
    return Screened(
        thresholds=thresholds,
        closed=closed,
        p_bh=adjust_benjamini_hochberg(p_values),
        p_monte_carlo=p_monte_carlo,
        p_max_t=permuted.p_values(maxima),
        p_max_t_step_down=permuted.p_values(step_down),
        mean_totals=mean_totals,
        permuted=permuted,
        chosen=chosen,
        selected={method: selected[method] for method in METHODS if method in selected},
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
    shown = f"{'' if plan.strata is None else 'adjusted '}holdout lift {float(lift):+.4f}"
    if discovery.lift * lift <= 0:
        return False, f"{shown} has not the sign of discovery's {float(discovery.lift):+.4f}"
    if abs(lift) < Fraction(plan.min_holdout_lift):
        return False, f"{shown} has the same sign but is smaller than {plan.min_holdout_lift}"
    return True, f"{shown} has the same sign and is at least {plan.min_holdout_lift}"


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
