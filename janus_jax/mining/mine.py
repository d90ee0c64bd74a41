"""Find the conjunctions, of up to three descriptors, where errors concentrate most.

SliceLine's search (Sagadeeva and Boehm, SIGMOD 2021) on exact counts. All pairs are counted by one
product of memberships with memberships; the triples that contain descriptor i by the same product
over its own examples. What cannot reach the best slices so far is left out by the paper's bound: a
slice inside another has no more examples and no more errors than it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.mining.best import Best, Slice, Terms
from janus_jax.mining.members import Members
from janus_jax.mining.score import Score
from janus_jax.progress import Progress

WEIGHT: Final = Fraction("0.95")
"""SliceLine's own recommendation for alpha."""
LEVELS: Final = 3
"""The most descriptors that one conjunction may join."""
MAX_BASE: Final = 4096
"""More base descriptors than this are refused: every pair of them is counted."""


@dataclass(frozen=True, slots=True)
class Mined:
    """What the search found.

    Attributes
    ----------
    slices
        The best first: as many as were asked for and every one that ties with the last, each a
        different set of examples. Fewer, or none, when no more score above 0.
    looked_at
        How many single descriptors, pairs and triples had enough examples to be scored.
    score
        The score that ranked them.
    passed_over
        Sets of examples that would be among them, had a name of theirs been accepted.
    """

    slices: tuple[Slice, ...]
    looked_at: tuple[int, ...]
    score: Score
    passed_over: int = 0


def mine(
    members: Sequence[NDArray[np.bool_]],
    groups: Sequence[Hashable],
    errors: NDArray[np.bool_],
    *,
    top: int,
    min_slice: int,
    level: int = LEVELS,
    weight: Fraction = WEIGHT,
    accept: Callable[[Terms], bool] | None = None,
    progress: Progress | None = None,
) -> Mined:
    """Find the slices of highest score.

    Parameters
    ----------
    members
        bool, shape (n,), for each base descriptor: where it holds.
    groups
        For each base descriptor, its column: two of one column are never joined.
    errors
        bool, shape (n,); one of them at least is true.
    top
        How many slices, at least 1.
    min_slice
        Examples that a slice needs, at least 1.
    level
        Descriptors that a conjunction joins at most, 1 to 3.
    weight
        Of the error rate against the size, above 0 and at most 1.
    accept
        Whether a conjunction, given by its descriptors' numbers, may be among the slices; asked of
        those that would be. None: all may.
    progress
        Called with how many descriptors' triples are counted, and how many descriptors there are.

    Raises
    ------
    InputError
        There are too many base descriptors, or the weight has too many digits.

    Examples
    --------
    >>> a, b = np.array([1, 1, 1, 1, 0, 0] * 2, bool), np.array([1, 1, 0, 0, 1, 1] * 2, bool)
    >>> [found.terms for found in mine([a, b], "ab", a & b, top=2, min_slice=2).slices]
    [(0, 1), (0,), (1,)]
    """
    if len(members) > MAX_BASE:
        raise InputError(
            f"there are {len(members):,} base descriptors, and mining counts every pair of at most "
            f"{MAX_BASE:,}; name the columns to combine with --descriptor, or leave some out with "
            "--exclude"
        )
    score = Score(n=len(errors), errors=int(errors.sum()), weight=weight, least=min_slice)
    if not members:
        return Mined((), (0,) * level, score)
    packed = Members(members, errors)
    best = Best(packed, score, top, accept)
    search = _Search(packed, groups, score, best)
    looked_at = [search.singles()]
    if level > 1:
        looked_at.append(search.pairs())
    if level > 2:
        looked_at.append(search.triples(progress))
    return Mined(tuple(best.slices()), tuple(looked_at), score, best.passed_over)


class _Search:
    """The levels of one search, which must be walked in order."""

    def __init__(
        self, members: Members, groups: Sequence[Hashable], score: Score, best: Best
    ) -> None:
        self.best = best
        self._members, self._score = members, score
        everything = np.arange(members.size)
        self._sizes, self._errors = members.shared(everything)
        codes = {group: code for code, group in enumerate(dict.fromkeys(groups))}
        column = np.array([codes[group] for group in groups])
        # Pairs of a lower and a higher number, each with examples and errors enough.
        enough = (self._sizes >= score.least) & (self._errors > 0)
        ordered = everything[:, None] < everything
        self._open = enough & ordered & (column[:, None] != column)

    def singles(self) -> int:
        """Score every descriptor by itself."""
        sizes, errors = self._sizes.diagonal(), self._errors.diagonal()
        scored = np.flatnonzero((sizes >= self._score.least) & (errors > 0))
        self.best.offer(scored[:, None], sizes[scored], errors[scored])
        return len(scored)

    def pairs(self) -> int:
        """Score every pair, and keep open those inside which a triple may still matter."""
        terms = np.argwhere(self._open)
        sizes, errors = self._sizes[self._open], self._errors[self._open]
        self.best.offer(terms, sizes, errors)
        self._open[self._open] = self._may_matter(sizes, errors)
        return len(terms)

    def triples(self, progress: Progress | None) -> int:
        """Score the triples of three open pairs, first descriptor by first descriptor."""
        looked_at = 0
        for first in range(self._members.size):
            if progress is not None:
                progress(first, self._members.size)
            others = np.flatnonzero(self._open[first])
            local = np.ix_(others, others)
            possible = self._open[local]
            if not possible.any():
                continue
            j, k = np.nonzero(possible)
            pairs = (first, others[j]), (first, others[k]), (others[j], others[k])
            may = self._may_matter(
                np.minimum.reduce([self._sizes[pair] for pair in pairs]),
                np.minimum.reduce([self._errors[pair] for pair in pairs]),
            )
            j, k = j[may], k[may]
            if not len(j):
                continue
            sizes, errors = self._members.shared(
                others, np.flatnonzero(self._members.holds([first]))
            )
            sizes, errors = sizes[j, k], errors[j, k]
            enough = (sizes >= self._score.least) & (errors > 0)
            terms = np.stack([np.full(len(j), first), others[j], others[k]], axis=1)
            self.best.offer(terms[enough], sizes[enough], errors[enough])
            looked_at += int(enough.sum())
        return looked_at

    def _may_matter(self, sizes: NDArray[np.int64], errors: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a slice inside one of these can be among the best."""
        order, positive = self._score.bound(sizes, errors)
        return positive & (order >= self.best.limit)
