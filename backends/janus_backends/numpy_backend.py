"""The NumPy backend: no compiler, no accelerator, the same integers.

Permutations are lanes: every operation works on a row of thousands of them at once, so the Python
interpreter walks over positions and descriptors, never over permutations. Words are made in blocks
that stay in cache, the walk turns each block into labels, and a float32 matrix product counts
errors a tile of positions at a time. A tile is far shorter than 2**24 positions, so its counts are
exact in float32 however the product is ordered; tiles are added as integers. Memberships rest
packed, a bit each, and are unpacked a tile at a time. Several outcomes of single rows are counted
by :mod:`janus_backends.numpy_joint` instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from janus_backends import numpy_joint
from janus_jax import layout, streams
from janus_jax.interface import Description, Ids, Problem, Tables, Tally

# Lanes worked on together: rows long enough to hide the interpreter, short enough for the cache.
_LANES: Final = 1 << 13
# Positions counted by one matrix product.
_TILE: Final = 512
# Up to so many descriptors set bits are counted instead: a product so small takes longer to hand to
# the threads of a BLAS than to do.
_FEW: Final = 64

Need = NDArray[np.uint32]
"""Labels to place in each stratum: shape (S,), or (S, lanes) when lanes differ."""

Packed = list[NDArray[np.uint8]]
"""Rows by position, cut into tiles and packed: see :class:`State`."""


@dataclass(frozen=True, slots=True)
class State:
    """A problem with its rows in position order: stratum by stratum, or unit by unit.

    Attributes
    ----------
    rows
        intp, shape (n,): the row at each position.
    members
        One uint8 array for each tile of positions, shape (L, tile / 8): memberships, a bit each.
    errors
        The same of the observed errors, shape (1, tile / 8).
    remaining
        uint64, shape (units,): units left in the stratum (or block of clusters), this one included.
    stratum
        intp, shape (units,): stratum code (or number of the block) if the unit is the first of it,
        else -1.
    blocks
        The blocks of clusters; empty when every row is its own unit.
    outcomes
        How many outcomes move together.
    joint
        How they do when every row is its own unit; None with one outcome, and with clusters.
    need
        uint32, shape (S,): errors in each stratum.
    pool
        uint32, shape (S, P): the contract's pool, transposed.
    seed
        The seed.
    lanes
        Permutations worked on together.
    """

    rows: NDArray[np.intp]
    members: Packed
    errors: Packed
    remaining: NDArray[np.uint64]
    stratum: NDArray[np.intp]
    blocks: list[layout.Block]
    outcomes: int
    joint: numpy_joint.Joint | None
    need: Need
    pool: Need
    seed: int
    lanes: int


class NumpyBackend:
    """Permutations in plain NumPy; see :class:`janus_jax.interface.Backend`."""

    def describe(self) -> Description:
        """Name, version and device, in words."""
        return Description("numpy", np.__version__, "cpu")

    def bytes_per_permutation(self, problem: Problem) -> int:
        """Peak extra bytes of one permutation in flight.

        With ``t = min(n, 512)`` positions to a tile and L descriptors: ``5 t`` for the tile's
        labels (a byte, then a float32), ``8 L`` for its counts (float32 and int32) and 128 for keys
        and rows of the walk; clusters add ``5 C + 2 m`` for C patterns of m rows. ``shuffles`` and
        ``counts`` add the row that they return. Beside that, ``5 t L`` bytes hold the tile's
        memberships, the packed ones take ``n L / 8``, and the words a fixed megabyte.

        M outcomes of clusters take ``(M + 4) t``, ``4 L (M + 1)`` and ``5 C + 2 m M`` instead. When
        every row is its own unit, there are no tiles but ``s (4 C + M)`` for C patterns, and
        ``(4 + s) L M + 8 L`` for counts, with words of s = 2 bytes, or 4 in a stratum of 2**15 rows
        or more.
        """
        descriptors, n = problem.memberships.shape
        outcomes = _outcomes(problem)
        if problem.clusters is None and problem.others is not None:
            return numpy_joint.bytes_of(problem) + 128
        size = (outcomes + 4) * min(n, _TILE) + 4 * descriptors * (outcomes + 1) + 128
        if problem.clusters is None:
            return size
        shapes = [block.patterns.shape for block in layout.blocks(problem)]
        return size + max(5 * patterns + 2 * rows for patterns, rows in shapes)

    def prepare(self, problem: Problem, lanes: int) -> State:
        """Put the rows in position order; more than 8,192 lanes are taken in turns."""
        strata = problem.pool.shape[1]
        blocks = [] if problem.clusters is None else layout.blocks(problem)
        if blocks:
            rows = np.concatenate([block.rows.ravel() for block in blocks])
            sizes = np.array([len(block.rows) for block in blocks])
            codes = np.repeat(np.arange(len(blocks)), sizes)
        else:
            rows = np.argsort(problem.strata, kind="stable")
            codes = problem.strata[rows].astype(np.intp)
            sizes = np.bincount(codes, minlength=strata)
        turns = max(1, -(-lanes // _LANES))
        within = np.arange(len(codes)) - (np.cumsum(sizes) - sizes)[codes]
        return State(
            rows=rows,
            members=_packed(problem.memberships, rows),
            errors=_packed(problem.errors[None, :], rows),
            remaining=(sizes[codes] - within).astype(np.uint64),
            stratum=np.where(within == 0, codes, -1),
            blocks=blocks,
            outcomes=_outcomes(problem),
            joint=None
            if blocks or problem.others is None
            else numpy_joint.make_joint(problem, rows),
            need=np.bincount(problem.strata[problem.errors], minlength=strata).astype(np.uint32),
            pool=np.ascontiguousarray(problem.pool.T).astype(np.uint32),
            seed=problem.seed,
            lanes=max(1, -(-lanes // turns)),
        )

    def shuffles(self, state: State, ids: Ids) -> NDArray[np.int8]:
        """The shuffled errors of these permutations: 0/1, shape (k, n), columns in row order."""
        result = np.zeros((len(ids), len(state.rows)), np.int8)
        for part, keys in _batches(state, ids, streams.PERMUTATIONS):
            for start, labels in _labels(state, keys, state.need):
                result[part, state.rows[start : start + len(labels)]] = labels.T
        return result

    def counts(self, state: State, ids: Ids) -> NDArray[np.int32]:
        """Errors on each descriptor in each of these permutations: shape (k, L)."""
        result = np.zeros((len(ids), len(state.members[0])), np.int32)
        for part, keys in _batches(state, ids, streams.PERMUTATIONS):
            result[part] = _count(state, state.members, keys, state.need).T
        return result

    def tally(self, state: State, ids: Ids, tables: Tables) -> Tally:
        """Draw, count and reduce; no more than ``lanes`` x L counts exist at once."""
        total = _nothing(len(state.members[0]), tables.levels)
        for _, keys in _batches(state, ids, streams.PERMUTATIONS):
            total += _reduce(_count(state, state.members, keys, state.need), tables)
        return total

    def tallies(self, state: State, ids: Ids, tables: Sequence[Tables]) -> list[Tally]:
        """Draw once for all outcomes, then count and reduce each."""
        totals = [_nothing(len(state.members[0]), each.levels) for each in tables]
        for _, keys in _batches(state, ids, streams.PERMUTATIONS):
            counts = _count_each(state, keys)
            reduced = [_reduce(part, each) for part, each in zip(counts, tables, strict=True)]
            totals = [a + b for a, b in zip(totals, reduced, strict=True)]
        return totals

    def decoys(self, state: State, ids: Ids) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source (index into the pool) and errors on the shuffled label, each of shape (k,)."""
        sources = np.zeros(len(ids), np.int32)
        counts = np.zeros(len(ids), np.int32)
        for part, keys in _batches(state, ids, streams.SOURCES):
            sources[part] = streams.mulhi(streams.words(keys, 1)[0], state.pool.shape[1])
        for part, keys in _batches(state, ids, streams.DECOYS):
            need = state.pool[:, sources[part]]
            counts[part] = _count(state, state.errors, keys, need)[0]
        return sources, counts


def _outcomes(problem: Problem) -> int:
    return 1 if problem.others is None else 1 + len(problem.others)


def _packed(rows: NDArray[np.bool_], order: NDArray[np.intp]) -> Packed:
    cuts = range(0, len(order), _TILE)
    return [np.packbits(rows[:, order[cut : cut + _TILE]], axis=1) for cut in cuts]


def _batches(state: State, ids: Ids, stream: int) -> Iterator[tuple[slice, streams.Key]]:
    """Yield the ids a batch at a time: where they stand, and their keys."""
    parent = streams.stream_key(state.seed, stream)
    for start in range(0, len(ids), state.lanes):
        part = slice(start, min(start + state.lanes, len(ids)))
        yield part, streams.fold_in(parent, ids[part])


def _labels(state: State, keys: streams.Key, need: Need) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield ``(start, labels)``: labels of a run of positions, shape (run, lanes).

    Algorithm S: position j is on when ``mulhi(word, positions left) < labels left``. No lane has
    labels left at the end of a stratum, so a stratum begins by setting what is left to its need.
    """
    if state.blocks:
        yield from _dealt(state, keys)
        return
    left = np.zeros(keys[0].shape, np.uint32)
    for start, block in streams.word_blocks(keys, len(state.rows)):
        ranks = streams.mulhi(block, state.remaining[start : start + len(block), None])
        labels = np.empty(block.shape, np.bool_)
        for offset, rank in enumerate(ranks):
            if (stratum := state.stratum[start + offset]) >= 0:
                left[:] = need[stratum]
            np.less(rank, left, out=labels[offset])
            np.subtract(left, labels[offset], out=left)
        yield start, labels


def _dealt(state: State, keys: streams.Key) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """The same a unit at a time, when whole patterns are dealt to units.

    Of a block's patterns the cumulative remaining counts are kept: the draw is below those of the
    unit's own pattern and of all later ones, and just those fall by one. Of several outcomes each
    has a label at every position, and these stand side by side.
    """
    at = 0
    left, patterns = np.zeros((0, 0), np.uint32), np.zeros((0, 0), np.bool_)
    for start, block in streams.word_blocks(keys, len(state.remaining)):
        ranks = streams.mulhi(block, state.remaining[start : start + len(block), None])
        for unit, rank in enumerate(ranks, start):
            if (number := state.stratum[unit]) >= 0:
                dealt: layout.Block = state.blocks[int(number)]
                counts = np.cumsum(dealt.counts).astype(np.uint32)
                left = np.repeat(counts[:, None], rank.size, axis=1)
                patterns = dealt.patterns.T.astype(np.bool_)
            on = rank < left
            np.subtract(left, on, out=left)
            labels = np.take(patterns, len(left) - np.count_nonzero(on, axis=0), axis=1)
            yield at, labels
            at += len(labels)


def _tiles(state: State, keys: streams.Key, need: Need) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Gather :func:`_labels` into tiles worth a matrix product; each overwrites the last."""
    n, lanes = len(state.rows) * state.outcomes, keys[0].size
    tile = np.empty((min(n, _TILE * state.outcomes), lanes), np.bool_)
    begin = 0
    for start, labels in _labels(state, keys, need):
        for row, label in enumerate(labels, start):
            tile[row - begin] = label
            if row + 1 - begin == len(tile) or row + 1 == n:
                yield begin, tile[: row + 1 - begin]
                begin = row + 1


def _count(state: State, members: Packed, keys: streams.Key, need: Need) -> NDArray[np.int32]:
    """Labels on each row of ``members``: shape (rows of members, lanes)."""
    counts = np.zeros((len(members[0]), keys[0].size), np.int32)
    for (_, tile), packed in zip(_tiles(state, keys, need), members, strict=True):
        _add_tile(counts, packed, tile)
    return counts


def _count_each(state: State, keys: streams.Key) -> NDArray[np.int32]:
    """Labels of each outcome on each descriptor: shape (M, L, lanes)."""
    if state.joint is not None:
        return numpy_joint.counts(state.joint, keys)
    counts = np.zeros((state.outcomes, len(state.members[0]), keys[0].size), np.int32)
    for (_, tile), packed in zip(_tiles(state, keys, state.need), state.members, strict=True):
        for outcome, part in enumerate(counts):
            _add_tile(part, packed, tile[outcome :: state.outcomes])
    return counts


def _add_tile(
    counts: NDArray[np.int32], packed: NDArray[np.uint8], tile: NDArray[np.bool_]
) -> None:
    """Add a tile's labels on each row of its packed memberships."""
    if len(packed) <= _FEW:
        for on, labels in zip(packed.T, np.packbits(tile, axis=0), strict=True):
            counts += np.bitwise_count(on[:, None] & labels)
    else:
        part = np.unpackbits(packed, axis=1, count=len(tile)).astype(np.float32)
        counts += (part @ tile.astype(np.float32)).astype(np.int32)


def _nothing(descriptors: int, levels: int) -> Tally:
    """The tally of no permutations."""

    def zeros(size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    return Tally(0, zeros(levels + 1), zeros(descriptors), zeros(descriptors), zeros(levels + 1))


def _reduce(counts: NDArray[np.int32], tables: Tables) -> Tally:
    """Reduce counts of shape (L, lanes), one descriptor at a time, in the order of own ranks."""
    descriptors, lanes = counts.shape
    tally = _nothing(descriptors, tables.levels)
    maximum = np.zeros(lanes, tables.rank.dtype)
    for tied in _ties(tables.own):
        for g in tied:
            table = tables.rank[g]
            histogram = np.bincount(counts[g], minlength=len(table))
            seen = np.flatnonzero(histogram)
            ranks, times = table[seen], histogram[seen]
            np.add.at(tally.total, ranks, times)
            tally.exceed[g] = times[ranks >= tables.own[g]].sum()
            np.maximum(maximum, table[counts[g]], out=maximum)
        # Tied descriptors share one successive maximum, the one over all of them.
        tally.step_down[tied] = np.count_nonzero(maximum >= tables.own[tied[0]])
    maxima = np.bincount(maximum, minlength=tables.levels + 1).astype(np.int64)
    return Tally(lanes, maxima, tally.exceed, tally.step_down, tally.total)


def _ties(own: NDArray[np.int32]) -> list[NDArray[np.intp]]:
    """Descriptors in groups of one own rank, lowest first."""
    if len(own) == 0:
        return []
    order = np.argsort(own, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(own[order])) + 1)
