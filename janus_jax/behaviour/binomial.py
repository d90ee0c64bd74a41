"""Binomial probabilities, in floating point for showing and in integers for deciding.

Floating-point values use only correctly rounded + - x / in a fixed order, so that they are the same
on every machine; their relative error is below 1e-12. Where a decision is closer than that, the
exact weights are used.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax.hypergeometric import sum_up


def probabilities(n: int, p: Fraction) -> NDArray[np.float64]:
    """Probability of 0, 1, ... n successes in n trials.

    The ratios of neighbouring probabilities are multiplied from the mode outwards and the result is
    divided by its own sum: no factorial, no logarithm, no power.

    Parameters
    ----------
    n
        Trials, 0 or more.
    p
        Chance of a success, 0 to 1.

    Returns
    -------
    ndarray
        float64, shape (n + 1,), non-negative, summing to 1 up to rounding.

    Examples
    --------
    >>> probabilities(3, Fraction(1, 2)).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """
    # Successes and failures are one distribution: mirrored, to the last bit.
    if 2 * p > 1:
        return probabilities(n, 1 - p)[::-1]
    weights = _from_the_mode(n, p)
    return (weights + weights[::-1]) / 2 if 2 * p == 1 else weights


def _from_the_mode(n: int, p: Fraction) -> NDArray[np.float64]:
    odds = float(p / (1 - p))
    if not odds:  # p is 0, or too small for a float
        return np.concatenate([[1.0], np.zeros(n)])
    mode = min(math.floor((n + 1) * p), n)
    up = np.arange(mode, n, dtype=np.float64)  # k -> k + 1, for k = mode .. n - 1
    rising = (n - up) / (up + 1) * odds
    down = np.arange(mode, 0, -1, dtype=np.float64)  # k -> k - 1, for k = mode .. 1
    falling = down / ((n - down + 1) * odds)
    lower: NDArray[np.float64] = np.cumprod(falling, dtype=np.float64)[::-1]
    upper: NDArray[np.float64] = np.cumprod(rising, dtype=np.float64)
    return np.concatenate([lower, [1.0], upper]) / (sum_up(lower) + 1.0 + sum_up(upper[::-1]))


def nonzero_probabilities(n: int, p: Fraction) -> tuple[int, NDArray[np.float64]]:
    """The probabilities that floats can tell from zero: the first count that has one, and they."""
    every = probabilities(n, p)
    positive = np.flatnonzero(every)
    first, last = int(positive[0]), int(positive[-1])
    return first, every[first : last + 1].copy()


def exact_weights(n: int, p: Fraction) -> tuple[list[int], int]:
    """The probabilities of 0, 1, ... n successes as integers, and what they sum to.

    Examples
    --------
    >>> exact_weights(2, Fraction(1, 3))
    ([4, 4, 1], 9)
    """
    yes, no = p.numerator, p.denominator - p.numerator
    weights = [math.comb(n, k) * yes**k * no ** (n - k) for k in range(n + 1)]
    return weights, p.denominator**n
