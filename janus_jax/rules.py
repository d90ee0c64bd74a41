"""Selection rules: which descriptors a screen reports. Every comparison is decided in rationals.

A rule that needs probabilities gets them as floats and, for comparisons closer than 1e-9, a
callable that returns the exact rational: the float decides nothing on its own near a limit.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

CLOSE = 1e-9
"""Computed probabilities are within 1e-12 (relative) or little more; comparisons closer than this
are made in integers. A margin so wide is still rarely hit."""


def at_most(value: float, limit: Fraction, exact: Callable[[], Fraction]) -> bool:
    """Whether a quantity known as a float is at most ``limit``; near the limit, ask the integers.

    Examples
    --------
    >>> at_most(0.1, Fraction(1, 10), lambda: Fraction(1, 10))
    True
    """
    bound = float(limit)
    if abs(value - bound) > CLOSE * bound:
        return value < bound
    return exact() <= limit


def allowed_exceedances(
    reached: Sequence[int], library: int, decoys: int, q: Fraction
) -> list[int]:
    """The largest D(t) with (L / K) D(t) <= q max(1, R(t)), for each R(t), in integers."""
    return [math.floor(q * decoys * max(1, int(r)) / library) for r in reached]


def procedure_a(
    exceedances: Sequence[int], reached: Sequence[int], library: int, decoys: int, q: Fraction
) -> int | None:
    """Procedure A with K decoys: the smallest threshold whose estimated FDP is at most q.

    FDP(t) = (L / K) D(t) / max(1, R(t)), as published: D has no "+1".

    Parameters
    ----------
    exceedances
        D(t), decoys that reach each threshold, thresholds ascending.
    reached
        R(t), descriptors of the library that reach it.
    library, decoys
        L and K.
    q
        The limit, as the decimal the user wrote.

    Returns
    -------
    int or None
        Index of the chosen threshold; every descriptor that reaches it is selected. None if no
        threshold qualifies.

    References
    ----------
    Janus, arXiv 2606.09046, Procedure A.

    Examples
    --------
    >>> procedure_a([4, 1, 0], [3, 2, 1], library=3, decoys=10, q=Fraction("0.2"))
    1
    """
    allowed = allowed_exceedances(reached, library, decoys, q)
    pairs = enumerate(zip(exceedances, allowed, strict=True))
    return next((index for index, (d, most) in pairs if d <= most), None)


def procedure_a_exact(
    expected: Sequence[float],
    reached: Sequence[int],
    q: Fraction,
    exact: Callable[[int], Fraction],
) -> int | None:
    """Procedure A in the limit of infinitely many decoys.

    ``expected[j]`` is L times the probability that a decoy reaches threshold j, and ``exact(j)``
    the same as a rational.
    """
    for index, (d, r) in enumerate(zip(expected, reached, strict=True)):
        if at_most(float(d), q * max(1, int(r)), lambda index=index: exact(index)):
            return index
    return None


def benjamini_hochberg(
    p_values: Sequence[float], q: Fraction, exact: Callable[[int], Fraction]
) -> list[bool]:
    """Benjamini and Hochberg's step-up at level q: p_(i) L <= q i, in rationals.

    ``exact(g)`` returns p of descriptor g as a rational; it is asked only close to a boundary.
    """
    size = len(p_values)
    # The smallest rank i at which p would pass: i >= p L / q. No sorting, so no ties to break.
    least = [
        _least_rank(p * size / float(q), size, lambda g=g: exact(g) * size / q)
        for g, p in enumerate(p_values)
    ]
    passing = np.cumsum(np.bincount(least, minlength=size + 2))
    cut = max((i for i in range(1, size + 1) if passing[i] >= i), default=0)
    return [rank <= cut for rank in least]


def _least_rank(value: float, size: int, exact: Callable[[], Fraction]) -> int:
    """``value`` rounded up to a rank, 1 to ``size``, or ``size + 1`` when no rank is enough."""
    if value > size + 1:
        return size + 1
    if value < 0.5:  # the first rank, and no boundary near
        return 1
    close = abs(value - round(value)) <= CLOSE * value
    return min(max(math.ceil(exact() if close else value), 1), size + 1)


def adjust_benjamini_hochberg(p_values: Sequence[float]) -> NDArray[np.float64]:
    """BH-adjusted p-values, for showing: min over j >= i of p_(j) L / j, at most 1.

    A running minimum: plateaus are normal, and equal p-values get equal adjusted ones.

    Examples
    --------
    >>> adjust_benjamini_hochberg([0.02, 0.004, 0.02, 0.5]).round(4).tolist()
    [0.0267, 0.016, 0.0267, 0.5]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    raised = p[order] / (np.arange(1, len(p) + 1) / len(p))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return adjusted


def percentile_95(values: Mapping[Fraction, int]) -> Fraction:
    """The 95th percentile by linear interpolation between order statistics, in rationals.

    ``values`` maps each value to how often it occurs.

    Examples
    --------
    >>> percentile_95({Fraction(i): 1 for i in range(11)})
    Fraction(19, 2)
    """
    ordered = sorted(values)
    ends = list(itertools.accumulate(values[value] for value in ordered))
    position = Fraction(95, 100) * (ends[-1] - 1)
    below = math.floor(position)
    low = ordered[bisect_right(ends, below)]
    high = ordered[bisect_right(ends, min(below + 1, ends[-1] - 1))]
    return low + (position - below) * (high - low)
