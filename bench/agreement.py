"""Do two samples of permutations agree? Exact tests on raw counts."""

# What comes from scipy is unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

LEVEL = 1e-6
"""Counts this improbable under agreement are called a disagreement."""


def two_samples(
    hits: NDArray[np.int64], permutations: int, others: NDArray[np.int64], other_permutations: int
) -> NDArray[np.float64]:
    """P-values that both counts are binomial with one common probability.

    Given the sum of two such counts, the first is hypergeometric; twice the smaller tail, at most
    1.
    """
    both = permutations + other_permutations
    first = stats.hypergeom(both, hits + others, permutations)
    return np.minimum(1.0, 2 * np.minimum(first.cdf(hits), first.sf(hits - 1)))


def one_sample(
    hits: NDArray[np.int64], permutations: int, probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P-values that counts are binomial with these known probabilities."""
    known = stats.binom(permutations, probability)
    return np.minimum(1.0, 2 * np.minimum(known.cdf(hits), known.sf(hits - 1)))


def exact_p(members: NDArray[np.bool_], errors: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The exact permutation p-value of each descriptor by itself, to about ten digits."""
    n, wrong = len(errors), int(errors.sum())
    log_factorial = special.gammaln(np.arange(n + 1) + 1.0)

    def log_choose(total: int, taken: NDArray[np.int64] | int) -> NDArray[np.float64]:
        return log_factorial[total] - log_factorial[taken] - log_factorial[total - taken]

    result: list[float] = []
    sizes = members.sum(axis=1, dtype=np.int64).tolist()
    for size, count in zip(sizes, (members & errors).sum(axis=1).tolist(), strict=True):
        counts = np.arange(max(0, size + wrong - n), min(size, wrong) + 1)
        counts = counts[np.abs(counts * n - wrong * size) >= abs(count * n - wrong * size)]
        weights = log_choose(size, counts) + log_choose(n - size, wrong - counts)
        result.append(float(np.exp(weights - log_choose(n, wrong)).sum()))
    return np.minimum(result, 1.0)
