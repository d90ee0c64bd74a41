"""An independent reference for max-T with exact ties: NumPy alone, with its own shuffles.

Nothing here comes from the project: not the words, nor the shuffle, nor the ranks.

With E errors in n examples, ``a`` of them on a descriptor that is on for n1 and off for n0,

    |lift| = |a n - E n1| / (n1 n0).

Numerator and denominator are integers below 2**53, so the quotient in float64 is the double nearest
to the true ratio: equal lifts give equal doubles, and a larger lift never a smaller double. Two
different lifts differ by at least 1 / (n1 n0 m1 m0) >= 16 / n**4. Where that exceeds the spacing of
doubles at the observed values, which is checked, no other lift shares a double with an observed
one, and comparing quotients with them is comparing lifts exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Statistic = Literal["lift", "z"]

# Labels in a block of shuffles.
_LABELS = 1 << 22


@dataclass(frozen=True, slots=True)
class Hits:
    """How often chance reached each descriptor's observed statistic; counts over B shuffles.

    Attributes
    ----------
    permutations
        B.
    reached, passed
        Shape (L,): shuffles whose maximum over descriptors is at least, and more than, the observed
        value: the two sides of the ties.
    exceed
        Shape (L,): shuffles in which the descriptor itself is at least its observed value.
    step_down
        Shape (L,): shuffles in which the maximum over the descriptors observed at most as large is
        at least the observed value.
    """

    permutations: int
    reached: Integers
    passed: Integers
    exceed: Integers
    step_down: Integers


def statistic(counts: NDArray[np.integer], on: Integers, n: int, wrong: int) -> Floats:
    """|lift| of error counts, shape (..., L): each the double nearest to the exact ratio."""
    distance = np.abs(counts.astype(np.int64) * n - wrong * on)
    return distance / (on * (n - on))


def standardised(counts: NDArray[np.integer], on: Integers, n: int, wrong: int) -> Floats:
    """z**2 up to a factor common to all descriptors; equal values give equal doubles here too."""
    distance = np.abs(counts.astype(np.int64) * n - wrong * on)
    return distance**2 / (on * (n - on))


def reference(
    members: NDArray[np.bool_],
    errors: NDArray[np.bool_],
    permutations: int,
    seed: int,
    which: Statistic = "lift",
) -> Hits:
    """Shuffle the errors with NumPy's generator, and compare with what was observed.

    Parameters
    ----------
    members
        bool, shape (L, n).
    errors
        bool, shape (n,).
    permutations
        B, how many shuffles.
    seed
        For ``numpy.random.default_rng``.
    which
        "lift", or "z" for the tools that standardise.
    """
    descriptors, n = members.shape
    on = members.sum(axis=1, dtype=np.int64)
    wrong = int(errors.sum())
    value = statistic if which == "lift" else standardised
    on_rows = members.T.astype(np.float32)  # sums of at most n < 2**24 ones are exact
    observed = value((errors.astype(np.float32) @ on_rows).astype(np.int64), on, n, wrong)

    if which == "lift" and 16 / n**4 <= np.spacing(observed.max()):
        raise ValueError(f"n = {n} is too large: float64 may not tell two lifts apart")

    order = np.argsort(observed, kind="stable")
    ascending = observed[order]
    last = np.searchsorted(ascending, ascending, side="right") - 1  # last of a run of ties
    maxima = np.empty(permutations)
    exceed, step_down = np.zeros((2, descriptors), np.int64)
    rng = np.random.default_rng(seed)
    block = max(1, _LABELS // max(n, descriptors))
    for start in range(0, permutations, block):
        rows = min(block, permutations - start)
        shuffled = rng.permuted(np.broadcast_to(errors.view(np.int8), (rows, n)), axis=1)
        counts = (shuffled.astype(np.float32) @ on_rows).astype(np.int64)
        values = value(counts, on, n, wrong)
        maxima[start : start + rows] = values.max(axis=1)
        exceed += (values >= observed).sum(axis=0)
        successive = np.maximum.accumulate(values[:, order], axis=1)
        step_down[order] += (successive[:, last] >= ascending).sum(axis=0)
    maxima.sort()
    return Hits(
        permutations=permutations,
        reached=permutations - np.searchsorted(maxima, observed, side="left"),
        passed=permutations - np.searchsorted(maxima, observed, side="right"),
        exceed=exceed,
        step_down=step_down,
    )
