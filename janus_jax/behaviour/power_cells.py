"""Simulate one cell of a power study: one design, one delta, many repetitions.

Only counts matter, so only counts are drawn. Given the number E of discovery errors, the errors on
every other descriptor are a binomial of E, its other examples one of n - E, and the errors on a
decoy a hypergeometric of (n, n1 of its source, E): nobody shuffles labels. The draws are inverted
from tables of integers (:mod:`janus_jax.behaviour.inverse`: a bias of at most 2**-32 per value),
and the statistics are compared as exact rationals.

Everything is a look-up in small integer tables, for many repetitions with the same E at once. NumPy
does that well, on the host; no backend takes part, so the result depends on none.

Repetition i is a function of the seed, i and the cell alone. Its words do not depend on delta or on
the sizes, and larger words draw larger counts, so that neighbouring cells see the same luck: the
curves are smooth, and differences between cells are known better than the cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from janus_jax import streams
from janus_jax.behaviour.inverse import (
    binomial_cuts,
    draw_binomials,
    hypergeometric_cuts,
    row_bases,
)
from janus_jax.behaviour.power_design import Design, Limits
from janus_jax.hypergeometric import exact_share, nonzero_probabilities, support
from janus_jax.plan import StatisticName
from janus_jax.rules import at_most

Keys = NDArray[np.float64 | np.complex128]
"""Values of the statistic in their exact order; complex numbers are ordered by their real parts,
then by their imaginary ones."""

# Children of a repetition's key.
_DESIGNATED: Final = 0
_LIBRARY: Final = 1
_DECOYS: Final = 2

_CELLS = 1 << 19  # words in flight; a few arrays of 8 bytes for each of them
_TAIL_CELLS = 1 << 22  # tail probabilities kept: 64 MB
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened to the designated descriptor, in how many repetitions.

    Attributes
    ----------
    repetitions
        N.
    ineligible, selected, confirmed
        Of them: not in the library, selected by the rule, and also confirmed by the gate.
    """

    repetitions: int
    ineligible: int
    selected: int
    confirmed: int


def simulate(
    design: Design,
    delta: str,
    repetitions: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Tally:
    """Simulate repetitions 0 .. ``repetitions - 1`` of a cell.

    Parameters
    ----------
    delta
        What the designated slice adds to the error rate.
    progress
        Called with the repetitions done, now and then.
    """
    fate = simulate_each(design, delta, np.arange(repetitions, dtype=np.uint32), seed, progress)
    return Tally(
        repetitions,
        repetitions - int(fate.eligible.sum()),
        int(fate.selected.sum()),
        int((fate.selected & fate.passed).sum()),
    )


@dataclass(frozen=True, slots=True)
class Fate:
    """The designated descriptor in each repetition: bool arrays, one entry a repetition.

    Attributes
    ----------
    eligible, selected
        In the library; selected by the rule.
    passed
        Whether holdout would confirm it, if it were selected.
    """

    eligible: NDArray[np.bool_]
    selected: NDArray[np.bool_]
    passed: NDArray[np.bool_]


def simulate_each(
    design: Design,
    delta: str,
    ids: NDArray[np.uint32],
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Fate:
    """Simulate the repetitions of these numbers, in any order."""
    limits = design.limits
    keys = streams.fold_in(streams.stream_key(seed, streams.POWER), ids)
    words = streams.words(streams.fold_in(keys, _DESIGNATED), 6)
    rates = design.on_rate, design.error_rate(delta), design.p0
    discovery = _designated(design.n_discovery, rates, words[:3])
    holdout = _designated(design.n_holdout, rates, words[3:])
    eligible = limits.admit(discovery.on, holdout.on)
    passed = _passes(discovery, holdout, Fraction(design.min_holdout_lift))
    selected = np.zeros(len(ids), dtype=np.bool_)
    screen = _Screen(design, limits)
    room = max(1, _CELLS // screen.words)
    done = len(ids) - int(eligible.sum())
    order = np.flatnonzero(eligible)
    order = order[np.argsort(discovery.errors[order], kind="stable")]
    totals, starts = np.unique(discovery.errors[order], return_index=True)
    bounds = [*starts.tolist(), len(order)]
    for errors, begin, end in zip(totals.tolist(), bounds, bounds[1:], strict=False):
        for start in range(begin, end, room):
            lanes = order[start : min(start + room, end)]
            selected[lanes] = screen.select(
                errors, discovery.on[lanes], discovery.errors_on[lanes], _lanes(keys, lanes)
            )
            done += len(lanes)
            if progress:
                progress(done)
    return Fate(eligible, selected, passed)


def _lanes(keys: streams.Key, lanes: NDArray[np.intp]) -> streams.Key:
    return keys[0][lanes], keys[1][lanes]


@dataclass(frozen=True, slots=True)
class _Slice:
    """The designated descriptor in one split: int64, one entry a repetition."""

    n: int
    on: NDArray[np.int64]
    errors_on: NDArray[np.int64]
    errors: NDArray[np.int64]

    @property
    def signed_distance(self) -> NDArray[np.int64]:
        """a n - E n1: the lift times n1 n0."""
        return self.errors_on * self.n - self.errors * self.on

    @property
    def on_off(self) -> NDArray[np.int64]:
        """n1 n0."""
        return self.on * (self.n - self.on)


def _designated(n: int, rates: tuple[Fraction, Fraction, Fraction], words: streams.Words) -> _Slice:
    on_rate, inside, outside = rates
    on = binomial_cuts(n, on_rate).draw(words[0])
    errors_on = draw_binomials(on, inside, words[1])
    errors = errors_on + draw_binomials(n - on, outside, words[2])
    return _Slice(n, on, errors_on, errors)


def _passes(discovery: _Slice, holdout: _Slice, c: Fraction) -> NDArray[np.bool_]:
    """The gate: observed signs agree and the holdout |lift| is at least c, in integers."""
    first, second = discovery.signed_distance, holdout.signed_distance
    agree = np.sign(first) * np.sign(second) > 0
    return agree & (np.abs(second) * c.denominator >= c.numerator * holdout.on_off)


def statistic_keys(
    distance: NDArray[np.int64], on_off: NDArray[np.int64], statistic: StatisticName
) -> Keys:
    """Values of the statistic that compare exactly, for the descriptors of one split.

    ``distance`` is |a n - E n1| and ``on_off`` n1 n0 > 0. |lift| orders like their ratio. Two
    different ratios of a split of n examples differ by at least ``16 / n**4``, more than floats
    below 1 are apart up to n = 10,000, so that one correctly rounded division keeps equal ratios
    equal and different ones different. With E fixed z**2 orders like ``distance**2 / on_off``,
    which is too large for that: its whole part and the rest are kept apart.
    """
    if statistic == "lift":
        return distance / on_off
    whole, rest = np.divmod(distance * distance, on_off)
    keys = np.empty(whole.shape, dtype=np.complex128)
    keys.real, keys.imag = whole, rest / on_off
    return keys


class _Screen:
    """The screen of one design, for repetitions that have the same number of errors."""

    def __init__(self, design: Design, limits: Limits) -> None:
        self._design = design
        self._limits = limits
        self._literal = design.rule == "decoys"
        self.words = 3 * design.library + (2 * design.decoys if self._literal else 0)
        self._tails = _Tails(design.n_discovery)

    def select(
        self,
        errors: int,
        on: NDArray[np.int64],
        errors_on: NDArray[np.int64],
        keys: streams.Key,
    ) -> NDArray[np.bool_]:
        """Whether the designated descriptor is selected.

        Parameters
        ----------
        errors
            E.
        on, errors_on
            int64, shape (m,): the designated descriptor's, which is eligible.
        keys
            Of the m repetitions.
        """
        library = _Library(self._design, self._limits, errors, on, errors_on, keys)
        reach = (
            _LiteralDecoys(self._design, errors, library, keys)
            if self._literal
            else _ExactDecoys(self._design, errors, library, self._tails)
        )
        # Procedure A selects the descriptor if some observed t up to its own value qualifies. Start
        # at its own. Where D(t) is too large for R(t), a smaller t has no fewer exceedances and
        # needs at least the R that would do for these: go to the largest t that has it.
        column = np.flatnonzero(library.source_count)  # without a source there is no screen
        place = library.place_of_designated[column]
        selected = np.zeros(len(on), dtype=np.bool_)
        while len(column):
            reached = library.reached(column, place)
            qualifies, least = reach.decide(column, place, reached)
            selected[column[qualifies]] = True
            on_way = ~qualifies & (least <= library.size[column])
            column, least = column[on_way], least[on_way]
            place = len(library.keys) - least
        return selected


class _Library:
    """The library's descriptors of m repetitions, by ascending statistic.

    Attributes
    ----------
    on, distance
        int64, shape (L, m).
    keys
        The statistic, shape (L, m); -1 for the ineligible, which come first.
    size
        int64, shape (m,): how many are eligible.
    place_of_designated
        Its row.
    sources, source_count
        On-counts of the decoy sources, in the first rows of shape (L, m), and how many there are.
    """

    def __init__(
        self,
        design: Design,
        limits: Limits,
        errors: int,
        on: NDArray[np.int64],
        errors_on: NDArray[np.int64],
        keys: streams.Key,
    ) -> None:
        n, rate = design.n_discovery, design.on_rate
        others = design.library - 1
        words = streams.words(streams.fold_in(keys, _LIBRARY), 3 * others)
        words = words.reshape(others, 3, len(on))
        wrong = np.vstack([errors_on[None], binomial_cuts(errors, rate).draw(words[:, 0])])
        right = binomial_cuts(n - errors, rate).draw(words[:, 1])
        ons = np.vstack([on[None], wrong[1:] + right])
        in_holdout = binomial_cuts(design.n_holdout, rate).draw(words[:, 2])
        eligible = np.vstack(
            [np.ones((1, len(on)), dtype=np.bool_), limits.admit(ons[1:], in_holdout)]
        )
        distance = np.abs(wrong * n - errors * ons)
        statistic = statistic_keys(
            distance, np.where(eligible, ons * (n - ons), 1), design.statistic
        )
        statistic[~eligible] = -1
        order = np.argsort(statistic, axis=0, kind="stable")
        self.keys: Keys = np.take_along_axis(statistic, order, axis=0)
        self.on = np.take_along_axis(ons, order, axis=0)
        self.distance = np.take_along_axis(distance, order, axis=0)
        self.size = eligible.sum(axis=0)
        self.place_of_designated = (order == 0).argmax(axis=0)
        is_source = eligible & limits.admit_sources(ons)
        self.source_count = is_source.sum(axis=0)
        first = np.argsort(~is_source, axis=0, kind="stable")
        # Rows that stand for no source hold the designated descriptor's count, which has tables.
        used = np.arange(design.library)[:, None] < self.source_count
        self.sources = np.where(used, np.take_along_axis(ons, first, axis=0), on)

    def values(self, column: NDArray[np.intp], place: NDArray[np.intp]) -> Keys:
        """The statistic of one descriptor of each of some repetitions."""
        return self.keys[place, column]

    def reached(self, column: NDArray[np.intp], place: NDArray[np.intp]) -> NDArray[np.int64]:
        """R(t) for those values."""
        return (self.keys[:, column] >= self.values(column, place)).sum(axis=0)


class _LiteralDecoys:
    """K decoys for each of m repetitions."""

    def __init__(self, design: Design, errors: int, library: _Library, keys: streams.Key) -> None:
        self._q, self._decoys, self._library = Fraction(design.q), design.decoys, library
        n = design.n_discovery
        words = streams.words(streams.fold_in(keys, _DECOYS), 2 * design.decoys)
        words = words.reshape(design.decoys, 2, len(library.size))
        distinct, bases, rows = row_bases(
            library.sources, lambda on: hypergeometric_cuts(n, on, errors)
        )
        drawn = streams.mulhi(words[:, 0], library.source_count).astype(np.intp)
        places = rows.places(np.take_along_axis(bases, drawn, axis=0), words[:, 1])
        on = np.repeat(distinct, rows.lengths)
        distance = np.abs(rows.values * n - errors * on)
        self._keys = statistic_keys(distance, on * (n - on), design.statistic)[places]

    def decide(
        self, column: NDArray[np.intp], place: NDArray[np.intp], reached: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Whether (L / K) D(t) <= q R(t), and the least R for which that many decoys would do."""
        values = self._library.values(column, place)
        d = (self._keys[:, column] >= values).sum(axis=0)
        # As rules.allowed_exceedances, solved for R: ceil(D L / (q K)).
        top = d * self._library.size[column] * self._q.denominator
        least = -(-top // (self._q.numerator * self._decoys))
        return least <= reached, least


class _ExactDecoys:
    """The limit of infinitely many decoys for each of m repetitions."""

    def __init__(self, design: Design, errors: int, library: _Library, tails: _Tails) -> None:
        self._n, self._errors, self._library = design.n_discovery, errors, library
        self._statistic: StatisticName = design.statistic
        self._q = Fraction(design.q)
        self._used = np.arange(len(library.sources))[:, None] < library.source_count
        distinct = np.unique(library.sources)
        rows = [tails.row(errors, on) for on in distinct.tolist()]
        lengths = np.array([len(row.lower) for row in rows])
        starts = np.cumsum(lengths) - lengths
        row = np.searchsorted(distinct, library.sources)
        self._start = starts[row]
        self._first = np.array([row.first for row in rows])[row]
        self._last = (lengths - 1)[row]
        self._lower = np.concatenate([row.lower for row in rows])
        self._upper = np.concatenate([row.upper for row in rows])

    def decide(
        self, column: NDArray[np.intp], place: NDArray[np.intp], reached: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Whether sum P(T_g >= t) <= q R(t), and an R below which no such sum would do."""
        least_distance = self._least_distance(column, place)
        centre = self._errors * self._library.sources[:, column]
        # Counts from `high` up and from `low` down are at least as far from the centre.
        high = -((-centre - least_distance) // self._n) - self._first[:, column]
        low = (centre - least_distance) // self._n - self._first[:, column] + 1
        start, last = self._start[:, column], self._last[:, column]
        tails = self._upper[start + np.clip(high, 0, last)]
        tails += self._lower[start + np.clip(low, 0, last)]
        tails[least_distance == 0] = 1.0
        scale = self._library.size[column] / self._library.source_count[column]
        expected = (tails * self._used[:, column]).sum(axis=0) * scale
        bound = float(self._q) * reached
        qualifies = expected < bound
        for i in np.flatnonzero(np.abs(expected - bound) <= _CLOSE * bound).tolist():
            lane = int(column[i])
            qualifies[i] = at_most(
                float(expected[i]),
                self._q * int(reached[i]),
                lambda lane=lane, i=i: self._exact(lane, least_distance[:, i].tolist()),
            )
        least = np.ceil(expected * (1 - _CLOSE) / float(self._q))
        # Beyond L + 1 it makes no difference, and a float may be too large for an integer.
        least = np.minimum(least, len(self._library.keys) + 1).astype(np.int64)
        return qualifies, np.maximum(least, reached + 1)

    def _least_distance(
        self, column: NDArray[np.intp], place: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        """For each source, the least |a n - E n1| whose statistic is at least t: integers only."""
        on, distance = self._library.on[place, column], self._library.distance[place, column]
        on_off = on * (self._n - on)
        theirs = self._library.sources[:, column]
        theirs = theirs * (self._n - theirs)
        if self._statistic == "lift":
            return -(-distance * theirs // on_off)
        # distance**2 * theirs does not fit in 64 bits; its quotient by on_off does.
        whole, rest = np.divmod(distance * distance, on_off)
        return _root_up(whole * theirs - (-rest * theirs // on_off))

    def _exact(self, lane: int, least_distance: list[int]) -> Fraction:
        """The sum for one repetition, as a ratio of integers."""
        count = int(self._library.source_count[lane])
        sources = self._library.sources[:count, lane].tolist()
        total = sum(
            (
                _exact_tail(self._n, on, self._errors, least)
                for on, least in zip(sources, least_distance, strict=False)
            ),
            Fraction(0),
        )
        return total * int(self._library.size[lane]) / count


def _root_up(square: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least integer whose square is at least this one, which is below 2**52."""
    root = np.ceil(np.sqrt(square)).astype(np.int64)
    root -= (root > 0) & ((root - 1) ** 2 >= square)
    return root + (root**2 < square)


@lru_cache(maxsize=1 << 14)
def _exact_tail(n: int, on: int, errors: int, least_distance: int) -> Fraction:
    low, high = support([(n, on, errors)])
    distance = np.abs(np.arange(low, high + 1) * n - errors * on)
    return exact_share([(n, on, errors)], distance >= least_distance)


@dataclass(frozen=True, slots=True)
class _TailRow:
    """Both tails of the error count on a shuffled label.

    Attributes
    ----------
    first
        The smallest count kept.
    lower, upper
        P(count < first + j) and P(count >= first + j), for j = 0 .. W with W counts kept.
    """

    first: int
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class _Tails:
    """The rows that were needed so far, forgotten when they are too many."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._rows: dict[tuple[int, int], _TailRow] = {}
        self._cells = 0

    def row(self, errors: int, on: int) -> _TailRow:
        """The tails for a label that is on for so many examples."""
        found = self._rows.get((errors, on))
        if found is None:
            first, chances = nonzero_probabilities([(self._n, on, errors)])
            lower = np.concatenate([[0.0], np.cumsum(chances)])
            upper = np.concatenate([np.cumsum(chances[::-1])[::-1], [0.0]])
            if self._cells > _TAIL_CELLS:
                self._rows.clear()
                self._cells = 0
            found = self._rows[errors, on] = _TailRow(first, lower, upper)
            self._cells += len(lower)
        return found
