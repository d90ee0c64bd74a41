"""The permutation distribution of an error count, in floating point for showing and in integers
for deciding.

Shuffle labels (or errors) within strata with all margins fixed: the number of errors that fall on a
descriptor is a sum of independent hypergeometric counts, one per stratum. Floating-point values use
only correctly rounded + - x / in a fixed order, so that they are the same on every machine; their
relative error is below 1e-12. Where a decision is closer than that, the exact weights are used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Block = tuple[int, int, int]
"""One stratum as (examples n, examples the descriptor is on for n1, errors E)."""


def support(blocks: Iterable[Block]) -> tuple[int, int]:
    """Smallest and largest attainable error count.

    Examples
    --------
    >>> support([(6, 3, 3)])
    (0, 3)
    """
    low = high = 0
    for n, n1, errors in blocks:
        low += max(0, n1 + errors - n)
        high += min(n1, errors)
    return low, high


def nonzero_probabilities(blocks: Sequence[Block]) -> tuple[int, NDArray[np.float64]]:
    """The probabilities that floats can tell from zero: the first count that has one, and they.

    In a large table most attainable counts are so far from the mode that their probability is 0 in
    floating point; there is no need to keep those.
    """
    every = probabilities(blocks)
    positive = np.flatnonzero(every)
    first, last = int(positive[0]), int(positive[-1])
    return support(blocks)[0] + first, every[first : last + 1].copy()


def probabilities(blocks: Sequence[Block]) -> NDArray[np.float64]:
    """Probability of every attainable error count, from the smallest to the largest.

    Within a stratum the ratios of neighbouring hypergeometric probabilities are multiplied from the
    mode outwards and the result is divided by its own sum: no factorial, no logarithm. Strata are
    combined by convolution.

    Parameters
    ----------
    blocks
        One ``(n, n1, E)`` per stratum.

    Returns
    -------
    ndarray
        float64, shape (high - low + 1,), non-negative, summing to 1 up to rounding.

    Examples
    --------
    >>> probabilities([(6, 3, 3)]).round(3).tolist()
    [0.05, 0.45, 0.45, 0.05]
    """
    result = np.ones(1)
    for block in blocks:
        factor = _one_stratum(*block)
        if len(factor) > 1:
            result = _convolve(result, factor)
    return result


def _one_stratum(n: int, n1: int, errors: int) -> NDArray[np.float64]:
    # A descriptor and its complement are one test: mirrored distributions, to the last bit.
    if 2 * n1 > n:
        return _one_stratum(n, n - n1, errors)[::-1]
    weights = _from_the_mode(n, n1, errors)
    return (weights + weights[::-1]) / 2 if 2 * n1 == n else weights


def _from_the_mode(n: int, n1: int, errors: int) -> NDArray[np.float64]:
    low, high = support([(n, n1, errors)])
    mode = (n1 + 1) * (errors + 1) // (n + 2)
    mode = min(max(mode, low), high)
    up = np.arange(mode, high, dtype=np.float64)  # a -> a + 1, for a = mode .. high - 1
    rising = (n1 - up) * (errors - up) / ((up + 1) * (n - n1 - errors + up + 1))
    down = np.arange(mode, low, -1, dtype=np.float64)  # a -> a - 1, for a = mode .. low + 1
    falling = down * (n - n1 - errors + down) / ((n1 - down + 1) * (errors - down + 1))
    lower: NDArray[np.float64] = np.cumprod(falling, dtype=np.float64)[::-1]
    upper: NDArray[np.float64] = np.cumprod(rising, dtype=np.float64)
    return np.concatenate([lower, [1.0], upper]) / (sum_up(lower) + 1.0 + sum_up(upper[::-1]))


def sum_up(ascending: NDArray[np.float64]) -> float:
    """Add from the first to the last, one by one: the same bits on every machine.

    ``np.sum`` may add in another order where vector registers are wider. Given the small terms
    first, the rounding errors stay far below 1e-12.
    """
    return float(np.cumsum(ascending)[-1]) if len(ascending) else 0.0


def _convolve(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    # Not np.convolve: it may call a BLAS whose order of summation differs between machines.
    if len(a) < len(b):
        a, b = b, a
    out = np.zeros(len(a) + len(b) - 1)
    for shift, weight in enumerate(b.tolist()):
        out[shift : shift + len(a)] += weight * a
    return out


def exact_weights(blocks: Sequence[Block]) -> tuple[list[int], int]:
    """Number of labellings that give every attainable error count, and their total.

    The same distribution as :func:`probabilities`, in integers.

    Examples
    --------
    >>> exact_weights([(6, 3, 3)])
    ([1, 9, 9, 1], 20)
    """
    result, total = [1], 1
    for block in blocks:
        weights = list(_stratum_weights(*block))
        total *= math.comb(block[0], block[2])
        if len(weights) == 1:
            result = [weights[0] * w for w in result]
            continue
        product = [0] * (len(result) + len(weights) - 1)
        for i, x in enumerate(result):
            for j, y in enumerate(weights):
                product[i + j] += x * y
        result = product
    return result, total


def _stratum_weights(n: int, n1: int, errors: int) -> Iterator[int]:
    low, high = support([(n, n1, errors)])
    weight = math.comb(n1, low) * math.comb(n - n1, errors - low)
    yield weight
    for a in range(low, high):
        step = weight * (n1 - a) * (errors - a)
        weight = step // ((a + 1) * (n - n1 - errors + a + 1))
        yield weight


def exact_share(blocks: Sequence[Block], chosen: NDArray[np.bool_]) -> Fraction:
    """Share of all labellings whose error count is among the chosen ones, as a rational.

    Parameters
    ----------
    blocks
        One ``(n, n1, E)`` per stratum.
    chosen
        bool, shape (high - low + 1,): which attainable counts, from the smallest up.

    Examples
    --------
    >>> exact_share([(6, 3, 3)], np.array([True, False, False, True]))
    Fraction(1, 10)
    """
    if len(blocks) == 1:
        # One by one: the weights of a large table would not fit in memory together.
        n, _, errors = blocks[0]
        picked = itertools.compress(_stratum_weights(*blocks[0]), chosen.tolist())
        return Fraction(sum(picked), math.comb(n, errors))
    weights, total = exact_weights(blocks)
    return Fraction(sum(itertools.compress(weights, chosen.tolist())), total)
