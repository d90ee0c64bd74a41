"""The best slices so far: exact order, ties kept, one entry for each set of examples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax.mining.members import Members
from janus_jax.mining.score import Counts, Score

Terms = tuple[int, ...]
"""The base descriptors of a conjunction, ascending; a single one is a descriptor by itself."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One set of examples.

    Attributes
    ----------
    terms
        The conjunction that describes it in the fewest terms, then the first in library order.
    aliases
        The other conjunctions that hold for just the same examples, fewest terms first.
    size, errors
        Its examples, and the errors among them.
    score
        SliceLine's score.
    """

    terms: Terms
    aliases: tuple[Terms, ...]
    size: int
    errors: int
    score: Fraction


@dataclass(slots=True)
class _Entry:
    order: Fraction
    size: int
    errors: int
    names: list[Terms]


class Best:
    """Keeps the ``top`` best sets of examples, and every one that ties with the last of them.

    Parameters
    ----------
    members, score
        What is searched, and the score that ranks.
    top
        How many to keep, at least 1.
    accept
        Whether a conjunction may be kept, asked of those that would be; None: all may.
    """

    def __init__(
        self,
        members: Members,
        score: Score,
        top: int,
        accept: Callable[[Terms], bool] | None = None,
    ) -> None:
        self._members, self._score, self._top, self._accept = members, score, top, accept
        self._entries: dict[bytes, _Entry] = {}
        self._refused: dict[bytes, Fraction] = {}
        self.limit = -math.inf
        """What :meth:`Score.order` must reach to matter still."""

    def offer(self, terms: NDArray[np.intp], sizes: Counts, errors: Counts) -> None:
        """Look at slices with enough examples.

        Parameters
        ----------
        terms
            Shape (m, level), each row ascending.
        sizes, errors
            Shape (m,).
        """
        order = self._score.order(sizes, errors)
        kept = np.flatnonzero(self._score.positive(sizes, errors) & (order >= self.limit))
        kept = kept[np.argsort(-order[kept], kind="stable")]
        new = 0
        for group in self._ties(kept, order, sizes, errors):
            # Better than all of these there are already `top` new ones: they can't matter.
            if new >= self._top:
                break
            new += sum(self._add(terms[at], int(sizes[at]), int(errors[at])) for at in group)
        self._trim()

    def _ties(
        self,
        kept: NDArray[np.intp],
        order: NDArray[np.float64],
        sizes: Counts,
        errors: Counts,
    ) -> Iterator[list[int]]:
        """The slices in groups of equal score, best first."""

        def exact(at: int) -> Fraction:
            return self._score.exact_order(int(sizes[at]), int(errors[at]))

        for _, same in itertools.groupby(kept.tolist(), key=lambda at: float(order[at])):
            by_value = sorted(same, key=exact, reverse=True)
            for _, group in itertools.groupby(by_value, key=exact):
                yield list(group)

    def _add(self, terms: NDArray[np.intp], size: int, errors: int) -> bool:
        """Add a name; whether it stands for a set of examples that was not there."""
        name: Terms = tuple(terms.tolist())
        key = np.packbits(self._members.holds(name)).tobytes()
        if self._accept is not None and not self._accept(name):
            self._refused[key] = self._score.exact_order(size, errors)
            return False
        entry = self._entries.get(key)
        if entry is not None:
            entry.names.append(name)
            return False
        self._entries[key] = _Entry(self._score.exact_order(size, errors), size, errors, [name])
        return True

    def _trim(self) -> None:
        if len(self._entries) < self._top:
            return
        orders = sorted((entry.order for entry in self._entries.values()), reverse=True)
        last = orders[self._top - 1]
        self._entries = {k: entry for k, entry in self._entries.items() if entry.order >= last}
        self.limit = float(last)

    @property
    def passed_over(self) -> int:
        """Sets of examples that would be among the best under a name that is accepted."""
        if len(self._entries) < self._top:
            last = None
        else:
            last = min(entry.order for entry in self._entries.values())
        return sum(
            key not in self._entries and (last is None or order >= last)
            for key, order in self._refused.items()
        )

    def slices(self) -> list[Slice]:
        """The best first; equal scores in library order: single descriptors, pairs, triples."""
        found: list[Slice] = []
        for entry in self._entries.values():
            first, *others = sorted(entry.names, key=lambda name: (len(name), name))
            value = self._score.value(entry.size, entry.errors)
            found.append(Slice(first, tuple(others), entry.size, entry.errors, value))
        return sorted(found, key=lambda it: (-it.score, len(it.terms), it.terms))
