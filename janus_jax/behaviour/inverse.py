"""Draw counts from 32-bit words by inverting exact distributions: integers decide, not floats.

A distribution becomes a table of integers, ``cuts[j] = round(2**32 P(at most the j-th value))``,
and a word draws the first value whose cut lies above it. So each value keeps its probability up to
2**-32, larger words draw larger values, and equal words draw from neighbouring distributions alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from janus_jax import hypergeometric
from janus_jax.behaviour import binomial
from janus_jax.streams import Words

WORD: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Cuts:
    """One distribution, without the values that no word draws.

    Attributes
    ----------
    first
        The smallest value that is drawn.
    cuts
        uint64, ascending, the last one 2**32: one for each value from ``first`` up.
    """

    first: int
    cuts: NDArray[np.uint64]

    def draw(self, words: Words) -> NDArray[np.int64]:
        """The values that words draw."""
        # All but the last cut fit in a word, and no word reaches the last.
        inner = self.cuts[:-1].astype(np.uint32)
        return np.searchsorted(inner, words, side="right") + self.first


def make_cuts(first: int, chances: NDArray[np.float64]) -> Cuts:
    """Cut the words by the probabilities of ``first``, ``first + 1``, ..."""
    cuts = np.rint(np.minimum(np.cumsum(chances), 1.0) * WORD).astype(np.uint64)
    cuts[-1] = WORD
    low = int(np.searchsorted(cuts, 0, side="right"))
    high = int(np.searchsorted(cuts, WORD, side="left"))
    return Cuts(first + low, cuts[low : high + 1].copy())


# At most about 32 MB each: 16,384 rows of some hundred cuts.
@lru_cache(maxsize=1 << 14)
def binomial_cuts(n: int, p: Fraction) -> Cuts:
    """The number of successes in n trials of chance p."""
    return make_cuts(*binomial.nonzero_probabilities(n, p))


@lru_cache(maxsize=1 << 14)
def hypergeometric_cuts(n: int, on: int, errors: int) -> Cuts:
    """The number of errors on a shuffled label: on for ``on`` of n examples, ``errors`` wrong."""
    return make_cuts(*hypergeometric.nonzero_probabilities([(n, on, errors)]))


class Rows:
    """Several distributions side by side, so that one search draws from all of them.

    Parameters
    ----------
    rows
        The distributions.

    Attributes
    ----------
    values
        int64: the values of all rows, one row after the other; what :meth:`places` points at.
    lengths
        int64, shape (rows,): how many values each row has.
    """

    def __init__(self, rows: Sequence[Cuts]) -> None:
        self.lengths: NDArray[np.int64] = np.array([len(row.cuts) for row in rows], dtype=np.int64)
        firsts = np.array([row.first for row in rows], dtype=np.int64)
        starts = np.cumsum(self.lengths) - self.lengths
        self.values: NDArray[np.int64] = np.arange(self.lengths.sum()) + np.repeat(
            firsts - starts, self.lengths
        )
        base = np.arange(len(rows), dtype=np.uint64) * np.uint64(WORD)
        self._keys = np.concatenate([row.cuts for row in rows]) + np.repeat(base, self.lengths)

    def places(self, bases: NDArray[np.uint64], words: Words) -> NDArray[np.intp]:
        """Where in ``values`` the draws lie; ``bases`` is each draw's row number times 2**32."""
        return np.searchsorted(self._keys, bases | words, side="right")


def row_bases(
    sizes: NDArray[np.int64], make: Callable[[int], Cuts]
) -> tuple[NDArray[np.int64], NDArray[np.uint64], Rows]:
    """A row for each distinct size: the sizes, each element's base, and the rows."""
    distinct = np.flatnonzero(np.bincount(sizes.ravel()))
    position = np.zeros(int(distinct[-1]) + 1, dtype=np.uint64)
    position[distinct] = np.arange(len(distinct), dtype=np.uint64) * np.uint64(WORD)
    return distinct, position[sizes], Rows([make(size) for size in distinct.tolist()])


def draw_binomials(trials: NDArray[np.int64], p: Fraction, words: Words) -> NDArray[np.int64]:
    """Successes in each number of trials, a word each; the shapes agree."""
    _, bases, rows = row_bases(trials, lambda n: binomial_cuts(n, p))
    return rows.values[rows.places(bases, words)]
