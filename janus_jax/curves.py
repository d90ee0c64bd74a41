"""The screen along all its thresholds: what estimated FDPs are made of, and how values spread."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from janus_jax.library import Counts
from janus_jax.prepare import Prepared
from janus_jax.screen import Screened

BINS: Final = 40
"""Bins of the histogram."""


def size(counts: Counts) -> float:
    """The statistic that is ranked, as a float to show: |lift| or |z|."""
    if counts.margins.statistic == "lift":
        return abs(float(counts.lift))
    return abs(counts.margins.z(counts.errors_on))


def threshold(prepared: Prepared, screened: Screened, index: int) -> float:
    """A threshold as a |lift| or |z|: that of a descriptor which stands exactly on it."""
    position = int((screened.thresholds.own == index + 1).argmax())
    return size(prepared.discovery[prepared.eligible[position]])


def curve(prepared: Prepared, screened: Screened) -> dict[str, Any]:
    """What each of the J thresholds lets through, of the library and of chance.

    Returns
    -------
    dict
        Lists of length J, thresholds ascending: ``threshold`` as |lift| or |z|; ``R`` descriptors
        that reach it; ``D`` literal decoys and ``expected_exceedances`` of decoys in the exact
        limit, both null with clusters and without a decoy source; ``mean_count``, descriptors that
        reach it when errors are shuffled, on average over the shared permutations.
    """
    eligible, closed = prepared.eligible, screened.closed
    # Every rank has a descriptor of its own, since thresholds are observed values.
    on_it: list[int] = np.unique(screened.thresholds.own, return_index=True)[1].tolist()
    decoys = closed.decoys if closed else None
    total = screened.permuted.tally.permutations
    return {
        "threshold": [size(prepared.discovery[eligible[position]]) for position in on_it],
        "R": screened.thresholds.reached.tolist(),
        "D": decoys.exceedances.tolist() if decoys else None,
        "expected_exceedances": closed.expected.tolist() if closed and decoys else None,
        "mean_count": [count / total for count in screened.mean_totals.tolist()],
    }


def histogram(prepared: Prepared, screened: Screened) -> dict[str, Any]:
    """How the statistic spreads over the library and over the literal decoys.

    Bin i holds ``i * width <= value < (i + 1) * width``, the last one also its end, which is the
    largest value of all (1 when every value is 0). Values are binned by their exact keys.

    Returns
    -------
    dict
        ``width``; ``descriptors`` and ``decoys``, counts of :data:`BINS` bins; ``decoys`` is null
        with clusters and without a decoy source.
    """
    library = [prepared.discovery[g] for g in prepared.eligible]
    decoys = screened.closed.decoys if screened.closed else None
    drawn = [(Counts(*pair), times) for pair, times in decoys.drawn.items()] if decoys else []
    largest = max((*library, *(counts for counts, _ in drawn)), key=_key)
    top = _key(largest)
    return {
        "width": (size(largest) if top else 1.0) / BINS,
        "descriptors": _binned([(counts, 1) for counts in library], top),
        "decoys": _binned(drawn, top) if decoys else None,
    }


def _key(counts: Counts) -> Fraction:
    return counts.margins.key(counts.errors_on)


def _binned(values: Iterable[tuple[Counts, int]], top: Fraction) -> list[int]:
    """Count values by bin, each as often as is said; ``top`` is the largest key.

    Keys of one split are proportional to |lift|, or to z squared: there the integer square root of
    a ratio's integer part is that of the ratio itself.
    """
    bins = [0] * BINS
    for counts, times in values:
        if not top:
            place = 0
        elif counts.margins.statistic == "lift":
            place = _key(counts) * BINS // top
        else:
            place = math.isqrt(_key(counts) * BINS**2 // top)
        bins[min(place, BINS - 1)] += times
    return bins
