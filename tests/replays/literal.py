"""Complete-null replays by their definition, in plain NumPy; imports nothing of the project.

Errors are shuffled, decoys are descriptors with shuffled labels, thresholds are compared one with
another as fractions, and every rule follows its own wording. The only short cut is arithmetic: the
value of a descriptor with so many errors on it is looked up in a table of fractions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.bool_]
Marks = NDArray[np.bool_]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """One split: memberships (L, n), errors (n,), strata (n,), all in row order."""

    members: Labels
    errors: Labels
    strata: Whole

    @cached_property
    def blocks(self) -> list[Whole]:
        """Rows of each stratum."""
        return [np.flatnonzero(self.strata == s) for s in sorted(set(self.strata.tolist()))]

    def shuffled(self, times: int, draw: np.random.Generator) -> Labels:
        """The errors shuffled within strata, so many times: (times, n)."""
        return self._shuffle(np.tile(self.errors, (times, 1)), draw)

    def _shuffle(self, labels: Labels, draw: np.random.Generator) -> Labels:
        result = labels.copy()
        for rows in self.blocks:
            result[:, rows] = draw.permuted(labels[:, rows], axis=1)
        return result

    def every(self) -> Labels:
        """Every arrangement of the errors within strata, each once: (arrangements, n)."""
        picks = [
            itertools.combinations(rows.tolist(), int(self.errors[rows].sum()))
            for rows in self.blocks
        ]
        chosen = [list(itertools.chain(*parts)) for parts in itertools.product(*picks)]
        result = np.zeros((len(chosen), len(self.errors)), np.bool_)
        for line, rows in zip(result, chosen, strict=True):
            line[rows] = True
        return result

    def counts(self, errors: Labels) -> Whole:
        """Errors on each descriptor in each arrangement: (arrangements, L)."""
        return errors.astype(np.int64) @ self.members.T.astype(np.int64)

    def decoys(self, errors: Labels, pool: Sequence[int], k: int, draw: np.random.Generator):
        """Draw k decoys for each arrangement: their sources and the errors on them, (times, k)."""
        sources = draw.choice(np.array(pool), (len(errors), k))
        on = np.empty((len(errors), k), np.int64)
        for row, (line, chosen) in enumerate(zip(errors, sources, strict=True)):
            labels = self._shuffle(self.members[chosen], draw)
            on[row] = labels[:, line].sum(axis=1)
        return sources, on

    # The algebra of one descriptor

    def mean(self, g: int) -> Fraction:
        """Errors expected on descriptor g."""
        return sum(
            (
                Fraction(int(self.members[g, rows].sum()) * int(self.errors[rows].sum()), len(rows))
                for rows in self.blocks
            ),
            Fraction(0),
        )

    def variance(self, g: int) -> Fraction:
        """Variance of the errors on descriptor g."""
        total = Fraction(0)
        for rows in self.blocks:
            n, k, e = len(rows), int(self.members[g, rows].sum()), int(self.errors[rows].sum())
            if n > 1:
                total += Fraction(k * (n - k) * e * (n - e), n * n * (n - 1))
        return total

    def lift(self, g: int, a: int) -> Fraction:
        """Stratum-adjusted lift, 0 without a contrast."""
        n, on = len(self.errors), int(self.members[g].sum())
        return (a - self.mean(g)) * Fraction(n, on * (n - on)) if 0 < on < n else Fraction(0)

    def value(self, g: int, a: int, statistic: str) -> Fraction:
        """|lift|, or z squared."""
        if statistic == "lift":
            return abs(self.lift(g, a))
        variance = self.variance(g)
        return (a - self.mean(g)) ** 2 / variance if variance else Fraction(0)

    def weights(self, g: int) -> dict[int, Fraction]:
        """Probability of each number of errors on descriptor g."""
        result = {0: Fraction(1)}
        for rows in self.blocks:
            n, k, e = len(rows), int(self.members[g, rows].sum()), int(self.errors[rows].sum())
            grown: dict[int, Fraction] = {}
            for a in range(max(0, k + e - n), min(k, e) + 1):
                share = Fraction(math.comb(k, a) * math.comb(n - k, e - a), math.comb(n, e))
                for before, chance in result.items():
                    grown[before + a] = grown.get(before + a, Fraction(0)) + chance * share
            result = grown
        return result

    def p_value(self, g: int, a: int) -> Fraction:
        """Share of the arrangements that are at least as far from the mean."""
        far = abs(a - self.mean(g))
        return sum(
            (chance for b, chance in self.weights(g).items() if abs(b - self.mean(g)) >= far),
            Fraction(0),
        )


class Screen:
    """The rules of one discovery split, ranked by one statistic.

    ``pool`` are the decoy sources among all descriptors of ``side``; the library are the first
    ``library`` of them.
    """

    def __init__(
        self, side: Side, statistic: str, q: Fraction, library: int, pool: Sequence[int]
    ) -> None:
        self.side, self.q, self.size, self.pool = side, q, library, list(pool)
        every = {
            (g, a): side.value(g, a, statistic)
            for g in range(len(side.members))
            for a in side.weights(g)
        }
        self.values = sorted(set(every.values()))
        rank = {value: place for place, value in enumerate(self.values)}
        width = 1 + max(a for _, a in every)
        self.rank = np.full((len(side.members), width), -1)
        for (g, a), value in every.items():
            self.rank[g, a] = rank[value]

    def ranks(self, counts: Whole) -> Whole:
        """Place of each library descriptor's value among all attainable ones."""
        return self.rank[np.arange(self.size), counts[:, : self.size]]

    def _procedure_a(self, ranks: Whole, passes: Marks) -> Marks:
        """Smallest observed threshold that passes; everything that reaches it."""
        never = len(self.values)
        chosen = np.where(passes, ranks, never).min(axis=1)
        return ranks >= chosen[:, None]

    def _reached(self, ranks: Whole) -> Whole:
        """R at each descriptor's own value."""
        return (ranks[:, None, :] >= ranks[:, :, None]).sum(axis=2)

    def literal(self, ranks: Whole, decoys: Whole, k: int, more: int = 0) -> Marks:
        """Procedure A with the first k decoys, whose values have these ranks; ``more`` is +1."""
        reach = (decoys[:, None, :k] >= ranks[:, :, None]).sum(axis=2) + more
        bound = self.q.numerator * k * np.maximum(1, self._reached(ranks))
        return self._procedure_a(ranks, self.size * reach * self.q.denominator <= bound)

    def expected(self, pool: Sequence[int]) -> list[Fraction]:
        """Descriptors of a library of this size expected at each value or above."""
        at = [Fraction(0)] * len(self.values)
        for g in pool:
            for a, chance in self.side.weights(g).items():
                at[self.rank[g, a]] += chance * Fraction(self.size, len(pool))
        return list(itertools.accumulate(reversed(at)))[::-1]

    def limit(self, ranks: Whole, pool: Sequence[int] | None = None) -> Marks:
        """Procedure A with infinitely many decoys."""
        expected = self.expected(self.pool if pool is None else pool)
        passes = np.array(
            [[e <= self.q * max(1, r) for r in range(self.size + 1)] for e in expected]
        )
        return self._procedure_a(ranks, passes[ranks, self._reached(ranks)])

    def max_t(self, ranks: Whole, reference: Whole, more: int, alpha: Fraction) -> Marks:
        """(hits + more) / (B + more) <= alpha, by the largest rank of each of B permutations."""
        ordered = np.sort(reference)
        hits = len(ordered) - np.searchsorted(ordered, ranks)
        return (hits + more) * alpha.denominator <= alpha.numerator * (len(ordered) + more)


class Exact:
    """The rules that rank nothing: exact p-values and a fixed lift."""

    def __init__(self, side: Side, library: int) -> None:
        self.size = library
        width = len(side.errors) + 1
        exact = {(g, a): side.p_value(g, a) for g in range(library) for a in side.weights(g)}
        self.values = sorted(set(exact.values()))
        place = {value: rank for rank, value in enumerate(self.values)}
        self.rank = np.full((library, width), -1)
        self.lift = [[Fraction(0)] * width for _ in range(library)]
        for (g, a), value in exact.items():
            self.rank[g, a] = place[value]
            self.lift[g][a] = side.lift(g, a)
        self.sign = np.array([[(v > 0) - (v < 0) for v in row] for row in self.lift])

    def _ranks(self, counts: Whole) -> Whole:
        return self.rank[np.arange(self.size), counts[:, : self.size]]

    def signs(self, counts: Whole) -> Whole:
        """Sign of each lift."""
        return self.sign[np.arange(self.size), counts[:, : self.size]]

    def large(self, counts: Whole, limit: Fraction) -> Marks:
        """|lift| >= limit."""
        table = np.array([[abs(v) >= limit for v in row] for row in self.lift])
        return table[np.arange(self.size), counts[:, : self.size]]

    def unadjusted(self, counts: Whole, alpha: Fraction) -> Marks:
        """p <= alpha."""
        return np.array([p <= alpha for p in self.values])[self._ranks(counts)]

    def benjamini_hochberg(self, counts: Whole, q: Fraction) -> Marks:
        """The largest i with p_(i) L <= q i; the i smallest."""
        ranks = self._ranks(counts)
        ordered = np.sort(ranks, axis=1)
        passes = np.array(
            [[p * self.size <= q * i for i in range(1, self.size + 1)] for p in self.values]
        )[ordered, np.arange(self.size)]
        largest = np.where(passes, ordered, -1).max(axis=1)
        return ranks <= largest[:, None]


def confirmed(
    selected: Marks, discovery: Whole, holdout: Whole, signs: Exact, gate: Exact, c: Fraction
) -> Marks:
    """Selected, of the same sign on holdout, and |lift| >= c there."""
    same = signs.signs(discovery) * gate.signs(holdout) > 0
    return selected & same & gate.large(holdout, c)
