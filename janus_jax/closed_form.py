"""What the margins alone decide, with no permutation drawn: exact p-values, decoys and their limit.

All of it rests on errors being exchangeable row by row within strata. Where whole clusters are
exchanged no such form exists, and a screen does without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax.decoys import Decoys, Stability, decoy_stability, draw_decoys
from janus_jax.interface import Backend
from janus_jax.library import Counts
from janus_jax.plan import Plan
from janus_jax.rules import procedure_a, procedure_a_exact
from janus_jax.statistic import Ranks, Thresholds, exact_exceedances, expected_exceedances


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """Exact quantities of a library of L descriptors at its J thresholds.

    Attributes
    ----------
    p_exact
        Exact permutation p-value of each descriptor.
    expected
        float64, shape (J,): L times the probability that a decoy reaches each threshold (the exact
        limit of Procedure A).
    mean_expected
        float64, shape (J,): descriptors of the library expected at each threshold when errors are
        shuffled; the same as ``expected`` when the decoys' source is the library.
    decoys
        The literal decoys; None when no descriptor qualifies as a source.
    stability
        Of the literal rule; None as well.
    chosen
        For each threshold rule: index of the threshold chosen, or None.
    """

    p_exact: Sequence[float]
    expected: NDArray[np.float64]
    mean_expected: NDArray[np.float64]
    decoys: Decoys | None
    stability: Stability | None
    chosen: Mapping[str, int | None]


def closed_form(
    library: Sequence[Counts],
    pool: Sequence[Counts],
    thresholds: Thresholds,
    ranks: Ranks,
    plan: Plan,
    backend: Backend,
    state: object,
) -> ClosedForm:
    """Compute them; the literal decoys are drawn by the backend.

    Parameters
    ----------
    library, pool
        Counts of the L descriptors and of the decoy sources, in library order.
    thresholds
        The library's observed values.
    ranks
        Ranks of the margins of both.
    state
        What the backend made of the problem.
    """
    margins = [counts.margins for counts in library]
    sources = [counts.margins for counts in pool]
    levels, reached, q = len(thresholds), thresholds.reached.tolist(), Fraction(plan.q)
    mean_expected = expected_exceedances(margins, ranks, levels)
    scale = Fraction(len(library), len(sources)) if sources else Fraction(0)
    same = sources == margins  # the usual case: decoys are made of the library
    expected = (
        mean_expected if same else expected_exceedances(sources, ranks, levels) * float(scale)
    )
    decoys = stability = None
    if sources:
        decoys = draw_decoys(backend, state, plan.decoys, sources, ranks, levels)
        tails = expected / len(library)
        stability = decoy_stability(tails, thresholds, plan.decoys, q, plan.seed)
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
        "mean_count_exact": procedure_a_exact(
            mean_expected.tolist(),
            reached,
            q,
            lambda j: exact_exceedances(margins, thresholds.keys[j]),
        ),
    }
    return ClosedForm(
        p_exact=[counts.margins.p_value(counts.errors_on) for counts in library],
        expected=expected,
        mean_expected=mean_expected,
        decoys=decoys,
        stability=stability,
        chosen=chosen,
    )
