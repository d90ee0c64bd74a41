"""Stability of the literal decoys against literal redraws; decoys against their exact mixture."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats

from janus_jax import registry
from janus_jax.decoys import decoy_stability, draw_decoys
from janus_jax.interface import Problem
from janus_jax.rules import procedure_a
from janus_jax.statistic import Margins, Thresholds, expected_exceedances, rank_all

N, ERRORS = 40, 14
ON = (9, 14, 14, 20, 26)
OBSERVED = (6, 6, 3, 10, 11)
K, Q = 60, Fraction("0.10")

margins = [Margins((N,), (n1,), (ERRORS,), "lift") for n1 in ON]
thresholds = Thresholds([m.key(a) for m, a in zip(margins, OBSERVED, strict=True)])
ranks = rank_all(margins, thresholds)
tails = expected_exceedances(margins, ranks, len(thresholds)) / len(margins)


def problem(seed: int) -> Problem:
    return Problem(
        memberships=np.zeros((1, N), dtype=np.bool_),
        errors=np.arange(N) < ERRORS,
        strata=np.zeros(N, dtype=np.int32),
        pool=np.array(ON, dtype=np.int32)[:, None],
        seed=seed,
    )


def literal_selections(redraws: int) -> np.ndarray:
    """Procedure A on freshly shuffled labels, in plain NumPy: nothing of ours draws here."""
    generator = np.random.default_rng(20260524)
    errors = np.arange(N) < ERRORS

    def size(n1: int, a: int) -> Fraction:
        return abs(Fraction(a, n1) - Fraction(ERRORS - a, N - n1))

    real = [size(n1, a) for n1, a in zip(ON, OBSERVED, strict=True)]
    selected = np.zeros(len(ON), dtype=np.int64)
    for _ in range(redraws):
        decoys = [
            size(n1, int(errors[generator.permutation(N)[:n1]].sum()))
            for n1 in generator.choice(ON, size=K)
        ]
        for t in sorted(set(real)):
            reached = sum(r >= t for r in real)
            if Fraction(len(ON), K) * sum(d >= t for d in decoys) / max(1, reached) <= Q:
                selected += [r >= t for r in real]
                break
    return selected


def test_stability_is_the_share_of_redraws_that_select() -> None:
    redraws = 600
    found = decoy_stability(tails, thresholds, K, Q, seed=3)
    assert found.redraws == 1000
    literal = literal_selections(redraws)
    assert 0 < literal.max() < redraws  # a design where the seed decides
    for ours, theirs in zip((found.selected * 1000).round().astype(int), literal, strict=True):
        table = [[ours, 1000 - ours], [theirs, redraws - theirs]]
        assert stats.fisher_exact(table).pvalue > 1e-6


def test_decoys_of_many_seeds_follow_the_mixture() -> None:
    backend = registry.get("numpy")
    total = np.zeros(len(thresholds), dtype=np.int64)
    seeds, count = 20, 500
    for seed in range(seeds):
        state = backend.prepare(problem(seed), 512)
        total += draw_decoys(backend, state, count, margins, ranks, len(thresholds)).exceedances
    for hits, share in zip(total, tails, strict=True):
        assert stats.binomtest(int(hits), seeds * count, float(share)).pvalue > 1e-6


def test_the_floor_and_the_counts_are_those_of_the_draws() -> None:
    backend = registry.get("numpy")
    state = backend.prepare(problem(1), 256)
    sources, errors_on = backend.decoys(state, np.arange(200, dtype=np.uint32))
    sizes = [
        abs(Fraction(int(a), ON[s]) - Fraction(ERRORS - int(a), N - ON[s]))
        for s, a in zip(sources, errors_on, strict=True)
    ]
    drawn = draw_decoys(backend, state, 200, margins, ranks, len(thresholds))
    observed = sorted(
        {
            abs(Fraction(a, n1) - Fraction(ERRORS - a, N - n1))
            for n1, a in zip(ON, OBSERVED, strict=True)
        }
    )
    assert drawn.exceedances.tolist() == [sum(s >= t for s in sizes) for t in observed]
    ordered = sorted(sizes)
    expected = ordered[189] * Fraction("0.95") + ordered[190] * Fraction("0.05")
    assert drawn.floor == expected  # position 0.95 * 199 = 189.05
    reached = thresholds.reached.tolist()
    chosen = procedure_a(drawn.exceedances.tolist(), reached, len(ON), 200, Q)
    fdp = [Fraction(5, 200) * d / r for d, r in zip(drawn.exceedances, reached, strict=True)]
    assert chosen == next((i for i, x in enumerate(fdp) if x <= Q), None)
