"""Literal decoys: descriptors with shuffled labels, and what redrawing them changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax import streams
from janus_jax.interface import Backend
from janus_jax.rules import allowed_exceedances, percentile_95
from janus_jax.statistic import Margins, Ranks, Thresholds, at_least

_WORK = 20_000_000  # decoys redrawn in all when measuring stability
_CELLS = 4_000_000  # random words held at once


@dataclass(frozen=True, slots=True)
class Decoys:
    """K decoys, as (source in the pool, errors on the shuffled label).

    Attributes
    ----------
    exceedances
        int64, shape (J,): D(t), decoys that reach each threshold.
    floor
        95th percentile of their |lift|.
    drawn
        How often each pair of a source's margins and an error count was drawn; K in all.
    """

    exceedances: NDArray[np.int64]
    floor: Fraction
    drawn: Mapping[tuple[Margins, int], int]


def draw_decoys(
    backend: Backend, state: object, count: int, pool: Sequence[Margins], ranks: Ranks, levels: int
) -> Decoys:
    """Draw decoys 0 .. count - 1 and compare them with the ``levels`` thresholds."""
    sources, errors_on = backend.decoys(state, np.arange(count, dtype=np.uint32))
    drawn: list[tuple[int, int]] = np.stack([sources, errors_on], axis=1).tolist()
    # Sources with equal margins give equal lifts: reduce before making fractions.
    pairs = Counter((pool[source], errors) for source, errors in drawn)
    histogram = np.zeros(levels + 1, dtype=np.int64)
    sizes: Counter[Fraction] = Counter()
    for (margins, errors), times in pairs.items():
        histogram[ranks[margins][errors - margins.span[0]]] += times
        sizes[abs(margins.lift(errors))] += times
    return Decoys(at_least(histogram), percentile_95(sizes), pairs)


@dataclass(frozen=True, slots=True)
class Stability:
    """How much the verdict of K literal decoys owes to their seed.

    Attributes
    ----------
    selected
        float64, shape (L,): share of redraws in which Procedure A selects each descriptor.
    redraws
        How many redraws were made.
    """

    selected: NDArray[np.float64]
    redraws: int


def decoy_stability(
    tails: NDArray[np.float64], thresholds: Thresholds, count: int, q: Fraction, seed: int
) -> Stability:
    """Redraw the K decoys many times and apply Procedure A to each draw.

    A decoy's statistic is an independent draw from the mixture of the pool's permutation
    distributions, so a decoy is one uniform 64-bit number compared with ``tails``, its chances to
    reach each threshold: nothing is shuffled. 1,000 redraws, fewer for more than 20,000 decoys (20
    million decoys in all, at least 100 redraws).
    """
    levels, library = len(thresholds), len(thresholds.own)
    # u < tail as integers; the tails fall as the threshold rises, so they are reversed to search.
    cuts = np.array([min(int(tail * 2**64), 2**64 - 1) for tail in tails[::-1]], dtype=np.uint64)
    allowed = np.array(allowed_exceedances(thresholds.reached.tolist(), library, count, q))
    redraws = max(100, min(1000, _WORK // count))
    key = streams.stream_key(seed, streams.STABILITY)
    chosen = np.zeros(levels + 1, dtype=np.int64)  # redraws by index of the threshold chosen
    block = max(1, _CELLS // (2 * count))
    for start in range(0, redraws, block):
        lanes = np.arange(start, min(start + block, redraws), dtype=np.uint32)
        words = streams.words(streams.fold_in(key, lanes), 2 * count)
        uniform = (words[0::2].astype(np.uint64) << np.uint64(32)) | words[1::2]
        ranks = levels - np.searchsorted(cuts, uniform.ravel(), side="right").reshape(uniform.shape)
        ranks += np.arange(len(lanes)) * (levels + 1)
        histogram = np.bincount(ranks.ravel(), minlength=len(lanes) * (levels + 1))
        reached = np.cumsum(histogram.reshape(len(lanes), -1)[:, ::-1], axis=1)[:, ::-1][:, 1:]
        passing = reached <= allowed
        first = np.where(passing.any(axis=1), passing.argmax(axis=1), levels)
        chosen += np.bincount(first, minlength=levels + 1)
    # Selected when the threshold chosen is at or below the descriptor's own.
    share = np.cumsum(chosen)[thresholds.own - 1] / redraws
    return Stability(share, redraws)
