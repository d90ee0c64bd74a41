"""The statistic of a descriptor, |lift| or |z|, and the exact order of its attainable values.

With the margins of a split fixed, a descriptor's statistic depends on one integer, the number ``a``
of errors that fall on it. With one stratum of n examples and E errors, and a descriptor on for n1
and off for n0 of them::

    lift = a / n1 - (E - a) / n0 = (a n - E n1) / (n1 n0)
    z    = (a - E n1 / n) / sd,   sd the hypergeometric standard deviation

With strata (sizes n_s, errors E_s, on-counts n1_s) the lift is stratum-adjusted,
``(a - mu) n / (n1 n0)`` with ``mu = sum of E_s n1_s / n_s``, and sd is the exact stratified one.
Writing Q for the least common multiple of the n_s, ``|a Q - mu Q|`` is an integer, the *distance*;
|lift| orders like distance / (n1 n0) and z**2 like distance**2 / variance. Those ratios of integers
are what is compared: equal values compare equal and different ones different, which neither float32
nor float64 gives. Floats are only a filter that leaves the close calls to the integers.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from janus_jax.hypergeometric import Block, exact_share, nonzero_probabilities, sum_up, support
from janus_jax.plan import StatisticName

FILTER = 16 * sys.float_info.epsilon
"""A quotient of two integers below 2**53 times a few roundings is off by less than 4 units in the
last place; values closer than this are compared in integers."""

# Up to so many examples the exact ratio is as quick: p-values such as 1/10 are shown as that.
_SMALL = 64

# Below the smallest normal float a probability would lose digits and then print as zero.
SMALLEST_P = sys.float_info.min


@dataclass(frozen=True)
class Margins:
    """What of a descriptor stays fixed when labels are shuffled in one split.

    Attributes
    ----------
    sizes, on, errors
        Examples, examples the descriptor is on for, and errors, per stratum.
    statistic
        "lift" or "z".
    """

    sizes: tuple[int, ...]
    on: tuple[int, ...]
    errors: tuple[int, ...]
    statistic: StatisticName

    @property
    def _blocks(self) -> list[Block]:
        return list(zip(self.sizes, self.on, self.errors, strict=True))

    @cached_property
    def _scale(self) -> int:
        return math.lcm(*self.sizes)

    @cached_property
    def _centre(self) -> int:
        return sum(e * k * (self._scale // n) for n, k, e in self._blocks)

    @cached_property
    def variance(self) -> Fraction:
        """Variance of the error count under the shuffles."""
        return sum(
            (
                Fraction(k * (n - k) * e * (n - e), n * n * (n - 1))
                for n, k, e in self._blocks
                if n > 1
            ),
            Fraction(0),
        )

    @cached_property
    def span(self) -> tuple[int, int]:
        """Smallest and largest attainable error count."""
        return support(self._blocks)

    @property
    def on_off(self) -> int:
        """n1 n0."""
        n1 = sum(self.on)
        return n1 * (sum(self.sizes) - n1)

    def signed_distance(self, count: int) -> int:
        """``(count - mu) * Q``: its sign is the sign of the lift."""
        return count * self._scale - self._centre

    def lift(self, count: int) -> Fraction:
        """The (stratum-adjusted) lift at this error count; 0 where there is no contrast."""
        if not self.on_off:
            return Fraction(0)
        n = sum(self.sizes)
        return Fraction(self.signed_distance(count) * n, self._scale * self.on_off)

    def z(self, count: int) -> float:
        """The standardised lift at this error count, for showing."""
        if not self.variance:
            return 0.0
        distance = self.signed_distance(count)
        square = Fraction(distance * distance, self._scale * self._scale) / self.variance
        return math.copysign(math.sqrt(square), distance) if distance else 0.0

    def key(self, count: int) -> Fraction:
        """The statistic at this error count, as a rational that orders |lift| (or z**2) exactly.

        Keys of descriptors of the same split compare with each other; those of different splits
        don't.
        """
        numerator, denominator = self.key_parts(abs(self.signed_distance(count)))
        return Fraction(numerator, denominator) if denominator else Fraction(0)

    def key_parts(self, distance: int) -> tuple[int, int]:
        """Numerator and denominator of the key at this distance; 0 below without a contrast."""
        if self.statistic == "lift":
            return distance, self.on_off
        variance = self.variance
        return distance * distance * variance.denominator, variance.numerator

    def distances(self, low: int, high: int) -> NDArray[np.int64] | NDArray[np.object_]:
        """Distances of the counts from ``low`` to ``high``."""
        if self._scale * (high + 1) < 2**52 and self._centre < 2**52:
            counts = np.arange(low, high + 1, dtype=np.int64)
        else:  # many strata of unlike sizes: Python integers
            counts = np.array(range(low, high + 1), dtype=object)
        distances: NDArray[np.int64] | NDArray[np.object_] = np.abs(
            counts * self._scale - self._centre
        )
        return distances

    @cached_property
    def probabilities(self) -> tuple[int, NDArray[np.float64]]:
        """The first count whose probability under the shuffles is not 0, and the probabilities."""
        return nonzero_probabilities(self._blocks)

    def p_value(self, count: int) -> float:
        """Exact permutation p-value: share of labellings whose |lift| is at least as large.

        Two tails cut at the same distance from the centre (not Fisher's rule of "no more probable",
        not a doubled tail). Never 0: below the smallest normal float, that float is shown.
        """
        if sum(self.sizes) <= _SMALL:
            return float(self.exact_p_value(count))
        first, chances = self.probabilities
        distances = self.distances(first, first + len(chances) - 1)
        between = np.flatnonzero(distances < abs(self.signed_distance(count)))
        if not len(between):  # no count is nearer the centre
            return 1.0
        left, right = chances[: between[0]], chances[between[-1] + 1 :]
        return min(max(sum_up(left) + sum_up(right[::-1]), SMALLEST_P), 1.0)

    def exact_p_value(self, count: int) -> Fraction:
        """The same p-value as a ratio of integers: for decisions closer than floats can tell."""
        reached = self.distances(*self.span) >= abs(self.signed_distance(count))
        return exact_share(self._blocks, reached.astype(np.bool_))

    def exact_tail(self, threshold: Fraction) -> Fraction:
        """P(statistic >= threshold) as a ratio of integers."""
        low, high = self.span
        reached = [self.key(count) >= threshold for count in range(low, high + 1)]
        return exact_share(self._blocks, np.array(reached))

    def ranks(self, thresholds: Thresholds) -> NDArray[np.int32]:
        """How many of the thresholds each attainable count reaches, from ``span[0]`` up."""
        distances = self.distances(*self.span)
        numerator, denominator = self.key_parts(1)
        if not denominator:
            return np.full(len(distances), thresholds.rank(Fraction(0)), dtype=np.int32)
        power = 1 if self.statistic == "lift" else 2
        size = distances.astype(np.float64)
        value = (size if power == 1 else size * size) * (numerator / denominator)
        least = np.searchsorted(thresholds.floats, value * (1 - FILTER), side="right")
        most = np.searchsorted(thresholds.floats, value * (1 + FILTER), side="right")
        for i in np.flatnonzero(least != most).tolist():
            distance = int(distances[i])
            least[i] = thresholds.rank(Fraction(numerator * distance**power, denominator))
        return least.astype(np.int32)


class Thresholds:
    """The distinct observed values of the statistic over the library, in ascending order.

    Parameters
    ----------
    keys
        ``Margins.key`` of every descriptor of the library at its observed count.

    Attributes
    ----------
    keys
        The J distinct keys, ascending.
    own
        int32, shape (L,): for each descriptor the rank of its own value, 1 to J.
    reached
        int64, shape (J,): R(t), how many descriptors reach each threshold.
    """

    def __init__(self, keys: Sequence[Fraction]) -> None:
        self.keys: list[Fraction] = sorted(set(keys))
        position = {key: rank for rank, key in enumerate(self.keys, start=1)}
        self.own: NDArray[np.int32] = np.array([position[key] for key in keys], dtype=np.int32)
        self.floats: NDArray[np.float64] = np.array([float(key) for key in self.keys])
        self.reached: NDArray[np.int64] = at_least(np.bincount(self.own, minlength=len(self) + 1))

    def __len__(self) -> int:
        return len(self.keys)

    def rank(self, key: Fraction) -> int:
        """How many thresholds this value reaches."""
        return bisect_right(self.keys, key)


def at_least(histogram: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn a histogram over ranks 0..J into counts of "rank at least j" for j = 1..J."""
    return np.cumsum(histogram[::-1])[::-1][1:].astype(np.int64)


Ranks = Mapping[Margins, NDArray[np.int32] | NDArray[np.int16]]
"""For each distinct margins, how many thresholds each attainable count reaches, smallest first."""


def rank_all(margins: Iterable[Margins], thresholds: Thresholds) -> Ranks:
    """Rank the attainable counts of every distinct margins once; int16 where J allows."""
    distinct = dict.fromkeys(margins)
    if len(thresholds) < 2**15:
        return {margin: margin.ranks(thresholds).astype(np.int16) for margin in distinct}
    return {margin: margin.ranks(thresholds) for margin in distinct}


def rank_table(margins: Sequence[Margins], ranks: Ranks) -> NDArray[np.int32] | NDArray[np.int16]:
    """``table[g, a]``: how many thresholds descriptor g reaches with ``a`` errors on it.

    Shape (len(margins), 1 + largest attainable count); 0 where a count is not attainable.
    """
    width = 1 + max((m.span[1] for m in margins), default=0)
    narrow = all(row.dtype == np.int16 for row in ranks.values())
    shape = (len(margins), width)
    table = np.zeros(shape, dtype=np.int16) if narrow else np.zeros(shape, dtype=np.int32)
    for row, margin in zip(table, margins, strict=True):
        low, high = margin.span
        row[low : high + 1] = ranks[margin]
    return table


def expected_exceedances(
    margins: Sequence[Margins], ranks: Ranks, levels: int
) -> NDArray[np.float64]:
    """Sum over descriptors of P(statistic >= t), for each of the thresholds: shape (levels,)."""
    total = np.zeros(levels + 1)
    for margin, times in _distinct(margins):
        first, chances = margin.probabilities
        start = first - margin.span[0]
        reached = ranks[margin][start : start + len(chances)]
        total += times * np.bincount(reached, weights=chances, minlength=levels + 1)
    # From the rare end, so that small tails are not lost under large ones.
    return np.cumsum(total[::-1])[::-1][1:]


def exact_exceedances(margins: Sequence[Margins], threshold: Fraction) -> Fraction:
    """The same sum at one threshold, as a ratio of integers."""
    return sum(
        (times * margin.exact_tail(threshold) for margin, times in _distinct(margins)), Fraction(0)
    )


def _distinct(margins: Sequence[Margins]) -> list[tuple[Margins, int]]:
    """Each distinct margin with its count, in an order that does not depend on the library's."""
    return sorted(Counter(margins).items(), key=lambda item: item[0].on)
