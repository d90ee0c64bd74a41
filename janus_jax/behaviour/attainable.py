"""Every value that the statistic of a library can take in a split, in exact order.

A screen needs only the order of its few observed values (:class:`janus_jax.statistic.Thresholds`).
What a rule would do with *any* errors of the same number needs the order of all attainable ones:
one for each descriptor and error count. Floats sort them, integers settle what floats cannot tell
apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from janus_jax.statistic import FILTER, Margins, Ranks


class Attainable:
    """The distinct attainable values of the statistic, ascending: levels 1 to J.

    Parameters
    ----------
    margins
        Of the descriptors, in one split.
    every
        Rank every attainable count. Otherwise those whose probability under the shuffles floats
        cannot tell from 0 (below 1e-307) share the level of the nearest count that has one.

    Attributes
    ----------
    ranks
        For each distinct margins the level of each count, from ``span[0]`` up.
    levels
        J.
    """

    def __init__(self, margins: Iterable[Margins], *, every: bool = False) -> None:
        self._margins: list[Margins] = list(dict.fromkeys(margins))
        self.kept = {m: kept_counts(m, every=every) for m in self._margins}
        lengths = [len(span) for span in self.kept.values()]
        self._owner: NDArray[np.intp] = np.repeat(np.arange(len(lengths)), lengths)
        self._count: NDArray[np.int64] = np.concatenate(
            [np.arange(s.start, s.stop) for s in self.kept.values()]
        )
        value, line = self._values()
        self._order = np.argsort(value, kind="stable")
        step = self._steps(value, line)
        self._first = np.flatnonzero(step)
        self.levels = len(self._first)
        level = np.empty(len(value), np.int32)
        level[self._order] = np.cumsum(step)
        cuts = np.cumsum(lengths)[:-1]
        self.ranks: Ranks = {
            m: _padded(part, m, self.kept[m])
            for m, part in zip(self._margins, np.split(level, cuts), strict=True)
        }

    def key(self, level: int) -> Fraction:
        """The value at a level, as :meth:`janus_jax.statistic.Margins.key` gives it."""
        return self._key(int(self._order[self._first[level - 1]]))

    def _key(self, index: int) -> Fraction:
        return self._margins[int(self._owner[index])].key(int(self._count[index]))

    def _values(self) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Each value as a float, and what identifies it: (distance, kind of margins)."""
        values: list[NDArray[np.float64]] = []
        lines: list[NDArray[Any]] = []
        kinds: dict[tuple[int, int], int] = {}
        for m, span in self.kept.items():
            distances = m.distances(span.start, span.stop - 1)
            numerator, denominator = m.key_parts(1)
            if not denominator:
                distances = np.zeros(len(span), np.int64)
            scale = numerator / denominator if denominator else 0.0
            size = distances.astype(np.float64)
            values.append((size if m.statistic == "lift" else size * size) * scale)
            kind = kinds.setdefault((numerator, denominator), len(kinds) + 1)
            lines.append(np.stack([distances, np.where(distances == 0, 0, kind)]))
        return np.concatenate(values), np.concatenate(lines, axis=1)

    def _steps(self, value: NDArray[np.float64], line: NDArray[Any]) -> NDArray[np.bool_]:
        """Where, in ascending order, a value is larger than the one before; settles the order."""
        v, same = value[self._order], line[:, self._order]
        close = np.zeros(len(v), np.bool_)
        close[1:] = v[1:] - v[:-1] <= FILTER * v[1:]
        equal = np.zeros(len(v), np.bool_)
        equal[1:] = (same[:, 1:] == same[:, :-1]).all(axis=0)
        step = ~(close & equal)
        begins = np.flatnonzero(~close)
        run = np.cumsum(~close) - 1
        for which in np.unique(run[close & ~equal]).tolist():
            end = begins[which + 1] if which + 1 < len(begins) else len(v)
            here = slice(int(begins[which]), int(end))
            keyed = sorted((self._key(i), i) for i in self._order[here].tolist())
            self._order[here] = [i for _, i in keyed]
            step[here] = [True] + [a[0] != b[0] for a, b in itertools.pairwise(keyed)]
        return step


def kept_counts(margins: Margins, *, every: bool) -> range:
    """The counts that are told apart: all attainable ones, or those with a probability."""
    low, high = margins.span
    if every:
        return range(low, high + 1)
    first, chances = margins.probabilities
    return range(first, first + len(chances))


def _padded(levels: NDArray[np.int32], margins: Margins, kept: range) -> NDArray[np.int32]:
    low, high = margins.span
    return np.pad(levels, (kept.start - low, high + 1 - kept.stop), mode="edge")
