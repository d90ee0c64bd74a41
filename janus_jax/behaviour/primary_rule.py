"""What the primary rule alone selects: for many screens of one table, where nothing else is shown.

An audit applies every method; here only what the plan's primary rule needs is computed. The rules
and the quantities they compare are the audit's own (:mod:`janus_jax.closed_form`,
:mod:`janus_jax.screen`), so the selections are too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from janus_jax.decoys import Decoys, draw_decoys
from janus_jax.exchange import memberships, shuffled_part
from janus_jax.interface import Backend
from janus_jax.library import Counts
from janus_jax.permutations import Running, enough_memory, lanes_for
from janus_jax.plan import FIXED_LIFT, Plan
from janus_jax.prepare import Prepared
from janus_jax.rules import at_most, benjamini_hochberg, procedure_a, procedure_a_exact
from janus_jax.screen import screen
from janus_jax.statistic import (
    Margins,
    Ranks,
    Thresholds,
    exact_exceedances,
    expected_exceedances,
    rank_all,
)

DECOY_RULES: Final = frozenset({"decoys", "fixed_floor"})
"""Rules that look at literal decoys."""

_SHARED: Final = frozenset({"max_t", "max_t_step_down", "mean_count"})


def needs_permutations(plan: Plan) -> bool:
    """Whether the primary rule rests on shared permutations.

    With ``--cluster`` there is no closed form, and every rule but ``fixed_lift`` does.
    """
    return plan.rule in _SHARED or (plan.cluster is not None and plan.rule != "fixed_lift")


def draws(plan: Plan) -> int:
    """How many label vectors the primary rule draws: permutations, decoys, or none."""
    if needs_permutations(plan):
        return plan.permutations
    return plan.decoys if plan.rule in DECOY_RULES else 0


def select(prepared: Prepared, plan: Plan, backend: Backend, running: Running) -> list[bool]:
    """Apply the primary rule to the eligible library.

    Parameters
    ----------
    prepared
        The counts of one split.
    plan
        The plan; its seed is that of the decoys or permutations drawn here.
    backend, running
        What draws them and how; not asked when :func:`draws` is 0.

    Returns
    -------
    list of bool
        One for each of ``prepared.eligible``.
    """
    if not prepared.eligible:
        return []
    library = [prepared.discovery[g] for g in prepared.eligible]
    if plan.rule == "fixed_lift":
        return [abs(counts.lift) >= FIXED_LIFT for counts in library]
    if needs_permutations(plan):
        return _by_permutations(prepared, library, plan, backend, running)
    q = Fraction(plan.q)
    match plan.rule:
        case "unadjusted":
            alpha = Fraction(plan.alpha)
            return [at_most(_p(c), alpha, partial(_exact_p, c)) for c in library]
        case "bh_05" | "bh_10":
            level = Fraction("0.05" if plan.rule == "bh_05" else "0.10")
            return benjamini_hochberg(
                [_p(counts) for counts in library], level, lambda g: _exact_p(library[g])
            )
        case _:
            return _by_threshold(prepared, library, plan, q, backend, running)


def _p(counts: Counts) -> float:
    return counts.margins.p_value(counts.errors_on)


def _exact_p(counts: Counts) -> Fraction:
    return counts.margins.exact_p_value(counts.errors_on)


def _by_threshold(
    prepared: Prepared,
    library: Sequence[Counts],
    plan: Plan,
    q: Fraction,
    backend: Backend,
    running: Running,
) -> list[bool]:
    """Procedure A with literal decoys or in its limit, the exact mean count, the decoy floor."""
    margins = [counts.margins for counts in library]
    sources = [prepared.discovery[g].margins for g in prepared.pool]
    if plan.rule == "mean_count_exact":
        sources = margins
    if not sources:  # nothing to make decoys of: no threshold can qualify
        return [False] * len(library)
    thresholds = Thresholds([counts.margins.key(counts.errors_on) for counts in library])
    ranks = rank_all(sources, thresholds)
    reached: list[int] = thresholds.reached.tolist()
    if plan.rule in DECOY_RULES:
        decoys = _decoys(prepared, plan, sources, ranks, len(thresholds), backend, running)
        if plan.rule == "fixed_floor":
            return [abs(counts.lift) > decoys.floor for counts in library]
        counted: list[int] = decoys.exceedances.tolist()
        index = procedure_a(counted, reached, len(library), plan.decoys, q)
    else:
        scale = Fraction(len(library), len(sources))
        expected: NDArray[np.float64] = expected_exceedances(sources, ranks, len(thresholds))
        index = procedure_a_exact(
            (expected * float(scale)).tolist(),
            reached,
            q,
            lambda j: scale * exact_exceedances(sources, thresholds.keys[j]),
        )
    if index is None:
        return [False] * len(library)
    return [int(own) > index for own in thresholds.own]


def _decoys(
    prepared: Prepared,
    plan: Plan,
    sources: Sequence[Margins],
    ranks: Ranks,
    levels: int,
    backend: Backend,
    running: Running,
) -> Decoys:
    """Draw the literal decoys; they look at the errors and the pool, at no membership."""
    bare = shuffled_part(prepared, plan)
    problem = replace(
        bare,
        memberships=np.zeros((1, len(bare.errors)), dtype=np.bool_),
        pool=np.array([source.on for source in sources], dtype=np.int32),
    )
    lanes = running.batch or lanes_for(backend, problem, plan.decoys, running.memory)
    with enough_memory():
        state = backend.prepare(problem, lanes)
        return draw_decoys(backend, state, plan.decoys, sources, ranks, levels)


def _by_permutations(
    prepared: Prepared,
    library: Sequence[Counts],
    plan: Plan,
    backend: Backend,
    running: Running,
) -> list[bool]:
    screened = screen(
        shuffled_part(prepared, plan),
        memberships(prepared),
        library,
        library[:1],
        # Decoys take no part in these rules: one, from any source, is the least there is.
        replace(plan, decoys=1),
        backend,
        running,
    )
    return screened.selected[plan.rule]
