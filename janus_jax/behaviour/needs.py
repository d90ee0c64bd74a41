"""The tables of :mod:`janus_jax.decide` for the rules of this project, decided in rationals.

A need is the least number of descriptors R with "estimated FDP at most q" or "p L at most q R": a
float quotient rounded up, and recomputed in integers where it comes within 1e-9 of a whole number.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from janus_jax.behaviour.attainable import Attainable
from janus_jax.decide import Lookup
from janus_jax.plan import FIXED_LIFT
from janus_jax.rules import CLOSE, allowed_exceedances
from janus_jax.statistic import Margins, exact_exceedances, expected_exceedances

Needs = NDArray[np.int32]

_LARGEST: Final = Fraction(sys.float_info.max)

CERTAIN: Final = 2**32 - 1
"""The largest cut: every decoy reaches the value, but for one word of all."""


def limit_needs(values: NDArray[np.float64], size: int, exact: Callable[[int], Fraction]) -> Needs:
    """Round each value up to a whole number from 1 to ``size``, or ``size + 1`` beyond.

    ``exact(i)`` gives value i as a rational; it is asked only close to a whole number.
    """
    bounded = np.minimum(values, size + 1.0)
    needs = np.maximum(np.ceil(bounded), 1.0).astype(np.int32)
    whole = np.rint(bounded)
    # Below a half the answer is 1 however close to 0; at size + 1 it is "never".
    close = (np.abs(values - whole) <= CLOSE * values) & (values >= 0.5) & (values <= size + 0.5)
    for i in np.flatnonzero(close).tolist():
        needs[i] = min(max(math.ceil(exact(i)), 1), size + 1)
    return needs


def scaled(values: NDArray[Any], factor: Fraction) -> NDArray[np.float64]:
    """Values, not negative, times a factor: infinite where that leaves the floats, 0 stays 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = values * (float(factor) if factor < _LARGEST else math.inf)
    return np.where(values == 0, 0.0, product)


def expected_needs(
    attainable: Attainable, sources: Sequence[Margins], library: int, q: Fraction
) -> Needs:
    """Needs of the levels 1 to J by Procedure A in the exact limit (``decoys_exact``).

    Also by the mean-count screen, whose sources are the library.
    """
    scale = Fraction(library, len(sources)) / q
    expected = expected_exceedances(sources, attainable.ranks, attainable.levels)
    return limit_needs(
        scaled(expected, scale),
        library,
        lambda i: exact_exceedances(sources, attainable.key(i + 1)) * scale,
    )


def decoy_cuts(attainable: Attainable, sources: Sequence[Margins]) -> NDArray[np.uint32]:
    """For the levels 1 to J the 32-bit words below which a decoy reaches them."""
    expected = expected_exceedances(sources, attainable.ranks, attainable.levels)
    share = np.minimum(expected / len(sources), 1.0)
    return np.minimum(np.floor(share * 2.0**32), CERTAIN).astype(np.uint32)


def p_values(margins: Margins, kept: range) -> NDArray[np.float64]:
    """Exact p-values (two-sided by |lift|) of the counts kept, within 1e-11 (relative)."""
    first, chances = margins.probabilities
    distances = margins.distances(kept.start, kept.stop - 1)
    weight = np.zeros(len(kept))
    weight[first - kept.start : first - kept.start + len(chances)] = chances
    order = np.argsort(-distances, kind="stable")
    total = np.cumsum(weight[order])
    # Counts at one distance share the sum that includes all of them.
    falling = -distances[order]
    last = np.searchsorted(falling, falling, side="right") - 1
    p = np.empty(len(kept))
    p[order] = np.minimum(total[last], 1.0)
    return p


def step_up_needs(margins: Margins, kept: range, library: int, q: Fraction) -> Needs:
    """Needs by Benjamini-Hochberg at level q: p L <= q R."""
    return limit_needs(
        scaled(p_values(margins, kept), library / q),
        library,
        lambda i: margins.exact_p_value(kept[i]) * library / q,
    )


def level_needs(margins: Margins, kept: range, library: int, alpha: Fraction) -> Needs:
    """Needs by the unadjusted exact p: 1 where p <= alpha, else never."""
    needs = limit_needs(
        scaled(p_values(margins, kept), 1 / alpha),
        1,
        lambda i: margins.exact_p_value(kept[i]) / alpha,
    )
    return np.where(needs == 1, 1, library + 1).astype(np.int32)


def lift_needs(margins: Margins, kept: range, library: int) -> Needs:
    """Needs by the fixed limit on |lift|."""
    large = large_lifts(margins, kept, FIXED_LIFT) != 0
    return np.where(large, 1, library + 1).astype(np.int32)


def large_lifts(margins: Margins, kept: range, limit: Fraction) -> NDArray[np.int8]:
    """The sign of the lift at each count kept if |lift| is at least ``limit``, else 0."""
    if not margins.on_off:
        return np.zeros(len(kept), np.int8)
    at_none = margins.lift(0)
    slope = margins.lift(1) - at_none
    high = math.ceil((limit - at_none) / slope)
    low = math.floor((-limit - at_none) / slope)
    counts = np.arange(kept.start, kept.stop)
    # A lift of 0 is on both sides of a limit of 0, and has no sign.
    signs: NDArray[np.int8] = (counts >= high).astype(np.int8) - (counts <= low).astype(np.int8)
    return signs


def allowed_tables(
    grid: Sequence[int], library: int, q: Fraction, *, plus_one: bool
) -> NDArray[np.int32]:
    """``allowed`` of :class:`janus_jax.decide.Rules`.

    The variant with "+1" estimates (L / K)(D + 1) / max(1, R).
    """
    published = [
        [-1, *allowed_exceedances(range(1, library + 1), library, decoys, q)] for decoys in grid
    ]
    tables = np.array(published, np.int32).reshape(1, len(grid), library + 1)
    if plus_one:
        tables = np.concatenate([tables, np.maximum(tables - 1, -1)])
    return tables


def lookup(
    library: Sequence[Margins], kept: Mapping[Margins, range]
) -> tuple[Lookup, list[Margins]]:
    """Lay the tables out, one row for each distinct margins; returns the rows' order too."""
    rows = list(dict.fromkeys(library))
    starts = np.cumsum([0, *(len(kept[m]) for m in rows)]).tolist()
    place = dict(zip(rows, starts[:-1], strict=True))

    def each(value: Callable[[Margins], int]) -> NDArray[np.int32]:
        return np.array([value(m) for m in library], np.int32)

    found = Lookup(
        base=each(lambda m: place[m] - kept[m].start),
        low=each(lambda m: kept[m].start),
        high=each(lambda m: kept[m].stop - 1),
    )
    return found, rows
