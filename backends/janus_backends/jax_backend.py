"""The JAX backend: one jitted kernel for CPUs, GPUs and TPUs, the same integers.

Draw, count and reduce share one ``jit``, so no array of lanes x descriptors reaches the host, and
what of a batch must exist at once is packed: memberships and labels are bits, 32 positions to a
word. The walk makes one word of labels at a step, random words and all, for every lane; counts come
a tile of descriptors at a time, and are reduced and forgotten before the next.

Shapes are fixed when the problem is prepared (ids are padded to ``lanes``, descriptors to whole
tiles, the tables to powers of two, the padding never counted) and everything about strata, errors
and decoys is data, so a run traces each kernel once, and so do audits of one shape.

The lanes of a batch are spread over all local devices; each returns sums of its own.

Keys are ordinary typed keys of our own implementation, :data:`THREEFRY`:
``jax.random.bits(key, (n,), jnp.uint32)`` gives the words of :func:`janus_jax.streams.words`. The
hot kernels take the two key words as plain arrays instead, lanes last: a ``vmap`` over keys puts
lanes first, and the walk over positions would then stride through memory.

64-bit types are not needed: sums are int32 within a batch, which ``prepare`` keeps short enough not
to wrap, and int64 on the host.
"""

# The signatures of jax are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

# Read when JAX first meets a device: take memory as it is needed, not the whole card.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from janus_backends import jax_joint, jax_replays
from janus_backends.jax_streams import THREEFRY, keys_of, mulhi, threefry2x32
from janus_jax import layout, streams
from janus_jax.decide import Decided, Rules
from janus_jax.errors import BackendUnavailable
from janus_jax.interface import Description, Ids, Problem, Tables, Tally

# Positions to a word of labels.
_BITS: Final = 32
# Positions to a step of the walk: half a word. Whole words take twice as long to compile and spill
# registers; quarters take more steps.
_STEP: Final = 16
# Words to a chunk, counted in one step. Measured on a CPU: with 16 the sum of population counts is
# vectorised over lanes (330e9 positions x lanes a second and core), with 12 or fewer not (70e9).
_CHUNK: Final = 16
# Descriptors to a tile.
_TILE: Final = 256
# Lanes of a device: beyond these a chunk's labels and a tile's counts, or the counts of patterns
# that several outcomes walk with, leave a CPU's cache ...
_CELLS_CPU: Final = 1 << 20
_CELLS_JOINT: Final = 1 << 17
_CELLS_REPLAY: Final = 1 << 18
# ... and an accelerator gains nothing more.
_LANES: Final = 1 << 16

# Entries of the rank tables at least, so that small audits of one shape compile once.
_LEAST_RANKS: Final = 1 << 14

_LANES_AXIS: Final = "lanes"
_Bytes = NDArray[np.uint32]


# Prepared problems


@dataclass(frozen=True, slots=True)
class Plan:
    """What is compiled in.

    Attributes
    ----------
    mesh
        The devices that share a batch.
    lanes
        Permutations in flight on each device.
    small
        Fewer than 2**16 units: a shorter ``mulhi``.
    bits
        Count by population counts of packed words, the faster way on a CPU, instead of an int8
        matrix product, which has its own units on an accelerator.
    """

    mesh: Mesh
    lanes: int
    small: bool
    bits: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """The positions, 16 to a step; padding is never labelled, nor in any descriptor.

    Attributes
    ----------
    remaining
        uint32, shape (steps, 16): positions left in the stratum, this one included.
    start
        int32, shape (steps, 16): stratum code if the position is the first of its stratum, else S,
        the number of strata.
    """

    remaining: Array
    start: Array


@dataclass(frozen=True, slots=True)
class Deal:
    """How whole patterns are dealt to units, and what that makes of the rows.

    Attributes
    ----------
    remaining
        uint32, shape (V, 32): units left in the block, this one included.
    start
        int32, shape (V, 32): block number if the unit is the first of its block, else -1.
    cumulative
        uint32, shape (blocks, C): units with one of the first patterns, the first two, ...; beyond
        a block's last pattern all its units.
    unit, base, stride
        int32, shape (W, 32): for each position its unit, the place of the first pattern's label for
        it in ``labels``, and how far the next pattern's is from there.
    labels
        uint32, shape (M, P): the labels of all patterns for each outcome; the first is 0, for
        padding.
    """

    remaining: Array
    start: Array
    cumulative: Array
    unit: Array
    base: Array
    stride: Array
    labels: Array


@dataclass(frozen=True, slots=True)
class Reducer:
    """:class:`janus_jax.interface.Tables` on the device, descriptors in the order of own ranks.

    Those of several outcomes have one more axis, the first.

    A row of the rank table keeps the counts between which the rank changes; beyond them it is that
    of the last one kept.

    Attributes
    ----------
    members
        As in :class:`State`.
    rank
        int16 or int32: the rows, one after another.
    base, low, high
        int32, shape (tiles, tile): the rank at count ``a`` is ``rank[base + clip(a, low, high)]``.
    own
        int32, shape (tiles, tile): own ranks; for padding one that is never reached.
    """

    members: Array
    rank: Array
    base: Array
    low: Array
    high: Array
    own: Array


for _pytree in (Walk, Deal, Reducer):
    jax.tree_util.register_dataclass(_pytree, list(_pytree.__slots__), [])


@dataclass(slots=True)
class State:
    """A problem on the devices.

    Attributes
    ----------
    plan, walk
        See there.
    deal
        See there; None when every row is its own unit.
    joint
        See there; only with several outcomes, and where these have no ``deal``.
    members
        uint32, shape (tiles, chunks, tile, words): memberships, a bit for each position.
    errors
        uint32, shape (1, chunks, 2, words): observed errors, likewise.
    descriptors
        L, without the padding.
    spans
        int32, shape (M, 2, L): fewest and most of each outcome's that can fall on each descriptor.
    need
        uint32, shape (S + 1, 1): errors of each stratum, and a zero.
    pool
        uint32, shape (S + 1, P): the contract's pool transposed, and a row of zeros.
    columns
        int32, shape (n,): the position of each row.
    seed
        The seed.
    rules, tables
        The last ones used and what was made of them.
    """

    plan: Plan
    walk: Walk
    deal: Deal | None
    joint: jax_joint.Joint | None
    members: Array
    errors: Array
    descriptors: int
    spans: NDArray[np.int32]
    need: Array
    pool: Array
    columns: Array
    seed: int
    rules: tuple[Rules, jax_replays.Tables] | None = field(default=None)
    tables: tuple[Sequence[Tables], Reducer] | None = field(default=None)


def _shape(descriptors: int, n: int) -> tuple[int, int, int, int]:
    """Tiles, chunks, descriptors to a tile and words to a chunk: little of it padding."""
    words = max(1, -(-n // _BITS))
    chunks = -(-words // _CHUNK)
    tiles = max(1, -(-descriptors // _TILE))
    # Tiles of an even size: they are looked up in halves.
    return tiles, chunks, 2 * max(1, -(-descriptors // (2 * tiles))), -(-words // chunks)


def _packed(rows: NDArray[np.bool_], order: NDArray[np.intp] | None) -> NDArray[np.uint32]:
    """Pack (R, n) by position to (tiles, chunks, tile, words), a tile at a time."""
    count, n = rows.shape
    tiles, chunks, tile, words = _shape(count, n)
    result = np.zeros((tiles, chunks, tile, words), np.dtype("<u4"))
    flat = np.zeros((tile, chunks * words * _BITS // 8), np.uint8)
    for t in range(tiles):
        part = rows[t * tile : (t + 1) * tile]
        packed = np.packbits(part if order is None else part[:, order], axis=1, bitorder="little")
        flat[:] = 0
        flat[: len(part), : packed.shape[1]] = packed
        result[t] = flat.view("<u4").reshape(tile, chunks, words).transpose(1, 0, 2)
    return result.astype(np.uint32, copy=False)


def _packed_joint(
    rows: NDArray[np.bool_], order: NDArray[np.intp], places: NDArray[np.intp]
) -> NDArray[np.uint32]:
    """The same with the position ``places[b]`` at bit b; those beyond the last hold nothing."""
    held = places < len(order)
    packed = _packed(rows, order[np.where(held, places, 0)])
    return packed & np.packbits(held, bitorder="little").view("<u4").reshape(
        packed.shape[1], 1, packed.shape[3]
    )


def _by_position(
    values: NDArray[Any], words: int, fill: int, dtype: Any, step: int = _BITS
) -> NDArray[Any]:
    padded = np.full(words * _BITS, fill, dtype)
    padded[: len(values)] = values
    return padded.reshape(-1, step)


def _walk(codes: NDArray[np.int32], sizes: NDArray[np.intp], words: int) -> Walk:
    strata = len(sizes)
    within = np.arange(len(codes)) - (np.cumsum(sizes) - sizes)[codes]
    start = np.where(within == 0, codes, strata)
    return Walk(  # pyright: ignore[reportArgumentType]
        _by_position(sizes[codes] - within, words, 0, np.uint32, _STEP),  # pyright: ignore[reportArgumentType]
        _by_position(start, words, strata, np.int32, _STEP),  # pyright: ignore[reportArgumentType]
    )


def _deal(problem: Problem, words: int) -> Deal:
    """Lay the blocks of units out; positions are rows in their order."""
    blocks = layout.blocks(problem)
    sizes = [len(block.rows) for block in blocks]
    most = max(len(block.counts) for block in blocks)
    cumulative = np.array(
        [
            np.pad(np.cumsum(block.counts), (0, most - len(block.counts)), mode="edge")
            for block in blocks
        ],
        np.uint32,
    )
    remaining = np.concatenate([np.arange(size, 0, -1) for size in sizes])
    start = np.concatenate([np.where(np.arange(s) == 0, b, -1) for b, s in enumerate(sizes)])
    unit, base, stride = np.zeros((3, len(problem.errors)), np.int32)
    outcomes = range(len(_outcomes(problem)))
    labels = [[np.zeros(1, np.int8)] for _ in outcomes]
    first, place = 0, 1
    for block in blocks:
        units, size = block.rows.shape
        unit[block.rows] = first + np.arange(units)[:, None]
        base[block.rows] = place + np.arange(size)
        stride[block.rows] = size
        for outcome in outcomes:
            labels[outcome].append(block.of(outcome).ravel())
        first, place = first + units, place + len(block.patterns) * size
    units = max(1, -(-first // _BITS))
    return Deal(
        remaining=_by_position(remaining, units, 0, np.uint32),  # pyright: ignore[reportArgumentType]
        start=_by_position(start, units, -1, np.int32),  # pyright: ignore[reportArgumentType]
        cumulative=cumulative,  # pyright: ignore[reportArgumentType]
        unit=_by_position(unit, words, 0, np.int32),  # pyright: ignore[reportArgumentType]
        base=_by_position(base, words, 0, np.int32),  # pyright: ignore[reportArgumentType]
        stride=_by_position(stride, words, 0, np.int32),  # pyright: ignore[reportArgumentType]
        labels=np.stack([np.concatenate(own) for own in labels]).astype(np.uint32),  # pyright: ignore[reportArgumentType]
    )


def _outcomes(problem: Problem) -> list[NDArray[np.bool_]]:
    return [problem.errors, *([] if problem.others is None else problem.others)]


def _spans(problem: Problem) -> NDArray[np.int32]:
    """Fewest and most of each outcome's that can fall on each descriptor: shape (M, 2, L)."""
    strata = problem.pool.shape[1]
    sizes = np.bincount(problem.strata, minlength=strata)
    if strata == 1:
        on = np.count_nonzero(problem.memberships, axis=1)[:, None]
    else:
        each = [np.bincount(problem.strata[m], minlength=strata) for m in problem.memberships]
        on = np.array(each, np.int64).reshape(-1, strata)
    spans: list[list[NDArray[np.int64]]] = []
    for outcome in _outcomes(problem):
        errors = np.bincount(problem.strata[outcome], minlength=strata)
        low, high = np.maximum(0, on + errors - sizes), np.minimum(on, errors)
        spans.append([low.sum(axis=1), high.sum(axis=1)])
    return np.array(spans, np.int32)


# Kernels


def _half_word(
    plan: Plan, keys: tuple[Array, Array], step: Array, part: Walk, left: Array, added: Array
) -> Array:
    """Labels of 16 positions by Algorithm S, position j in bit j: uint32, shape (lanes,).

    Position j is on when ``mulhi(word, positions left) < labels left``. A stratum always ends with
    no labels left, so to start one is to add its need; elsewhere zero is added.
    """
    result = jnp.zeros_like(keys[0])
    for j in range(0, _STEP, 2):
        counter = step * jnp.uint32(_STEP // 2) + jnp.uint32(j // 2)
        pair = threefry2x32(*keys, jnp.uint32(streams.WORDS_TAG), counter)
        for position, word in enumerate(pair, j):
            left = left + added[position]
            draw = mulhi(word, part.remaining[position], small=plan.small)
            on = (draw < left).astype(jnp.uint32)
            left = left - on
            result = result | (on << jnp.uint32(position))
    return result


def _words(plan: Plan, keys: tuple[Array, Array], need: Array, walk: Walk) -> Array:
    """Labels of all positions: uint32, shape (W, lanes)."""

    def step(carry: tuple[Array, Array], row: tuple[Array, Walk]) -> tuple[Any, Array]:
        left, last = carry
        index, part = row
        # Labels are settled a step later than made: XLA would make them twice there, once for the
        # labels left and once for the result.
        left = left - lax.population_count(last)
        added = need[part.start]
        made = _half_word(plan, keys, index, part, left, added)
        return (left + added.sum(axis=0, dtype=jnp.uint32), made), last.astype(jnp.uint16)

    steps = walk.remaining.shape[0]
    none = jnp.zeros_like(keys[0])
    (_, last), halves = lax.scan(step, (none, none), (lax.iota(jnp.uint32, steps), walk))
    # The first half is the nothing before the walk.
    odd = halves.reshape(steps // 2, 2, -1)[1:, 0]
    upper = jnp.concatenate([odd, last[None].astype(jnp.uint16)]).astype(jnp.uint32)
    return halves.reshape(steps // 2, 2, -1)[:, 1].astype(jnp.uint32) | (upper << jnp.uint32(_STEP))


def _patterns(plan: Plan, keys: tuple[Array, Array], deal: Deal) -> Array:
    """The pattern of each unit, when whole patterns are dealt: int32, shape (units, lanes).

    Of each unit's patterns the cumulative remaining counts are kept: the draw is below those of its
    own pattern and of all later ones, and just those fall by one.
    """
    most = deal.cumulative.shape[1]

    def chunk(left: Array, row: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        index, remaining, start = row
        pairs = _BITS // 2
        counters = index * jnp.uint32(pairs) + lax.iota(jnp.uint32, pairs)[:, None]
        words = threefry2x32(keys[0][None], keys[1][None], jnp.uint32(streams.WORDS_TAG), counters)
        words = jnp.stack(words, axis=1).reshape(_BITS, -1)
        draws = mulhi(words, remaining[:, None], small=plan.small)
        return lax.scan(unit, left, (draws, start))

    def unit(left: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        draw, start = row
        fresh = deal.cumulative[jnp.maximum(start, 0)][:, None]
        left = jnp.where(start < 0, left, fresh)
        on = (draw[None] < left).astype(jnp.uint32)
        return left - on, most - on.sum(axis=0, dtype=jnp.uint32).astype(jnp.int32)

    lanes = keys[0].shape[0]
    rows = (lax.iota(jnp.uint32, deal.remaining.shape[0]), deal.remaining, deal.start)
    _, patterns = lax.scan(chunk, jnp.zeros((most, lanes), jnp.uint32), rows)
    return lax.optimization_barrier(patterns.reshape(-1, lanes))


def _dealt(deal: Deal, patterns: Array, labels: Array) -> Array:
    """One outcome's labels of all positions: as :func:`_words`."""
    lanes = patterns.shape[1]

    def word(_: None, row: tuple[Array, Array, Array]) -> tuple[None, Array]:
        unit, base, stride = row
        # One position after another: as one array XLA would look up lane by lane.
        result = jnp.zeros(lanes, jnp.uint32)
        for j in range(_BITS):
            places = base[j] + patterns[unit[j]] * stride[j]
            label = labels.at[places].get(mode="promise_in_bounds")
            result = result | (label << jnp.uint32(j))
        return None, result

    return lax.scan(word, None, (deal.unit, deal.base, deal.stride))[1]


def _labels(
    plan: Plan, keys: tuple[Array, Array], need: Array, walk: Walk, deal: Deal | None
) -> Array:
    if deal is None:
        words = _words(plan, keys, need, walk)
    else:
        words = _dealt(deal, _patterns(plan, keys, deal), deal.labels[0])
    return lax.optimization_barrier(words)


def _joint_labels(
    plan: Plan, keys: tuple[Array, Array], joint: jax_joint.Joint | None, deal: Deal | None
) -> Array:
    """Labels of all positions for each of several outcomes: uint32, shape (M, W, lanes)."""
    if deal is not None:
        patterns = _patterns(plan, keys, deal)
        words = lax.map(partial(_dealt, deal, patterns), deal.labels)
    else:
        assert joint is not None  # one of the two lays several outcomes out
        words = jax_joint.walk(joint, keys, small=plan.small)
    return lax.optimization_barrier(words)


def _bits(words: Array, axis: int) -> Array:
    """Unpack along ``axis``: int8, 32 times as long there."""
    axis = axis % words.ndim
    shifts = lax.broadcasted_iota(
        jnp.uint32, (*(1 for _ in range(axis + 1)), _BITS, *(1 for _ in words.shape[axis + 1 :])),
        axis + 1,
    )  # fmt: skip
    bits = (jnp.expand_dims(words, axis + 1) >> shifts) & jnp.uint32(1)
    shape = (*words.shape[:axis], words.shape[axis] * _BITS, *words.shape[axis + 1 :])
    return bits.astype(jnp.int8).reshape(shape)


def _count(plan: Plan, words: Array, members: Array) -> Array:
    """Labels on each row of a tile (chunks, tile, words): int32, shape (tile, lanes)."""
    chunks, tile, width = members.shape
    lanes = words.shape[1]

    def step(counts: Array, chunk: tuple[Array, Array]) -> tuple[Array, None]:
        part, labels = chunk
        if plan.bits:
            for k in range(width):
                both = part[:, k, None] & labels[k]
                counts = counts + lax.population_count(both).astype(jnp.int32)
            return counts, None
        # int8 operands meet their own matrix units; the sums are int32, so they cannot wrap.
        product = lax.dot_general(
            _bits(part, 1), _bits(labels, 0), (((1,), (0,)), ((), ())),
            preferred_element_type=jnp.int32,
        )  # fmt: skip
        return counts + product, None

    start = jnp.zeros((tile, lanes), jnp.int32)
    counts, _ = lax.scan(step, start, (members, words.reshape(chunks, width, lanes)))
    return lax.optimization_barrier(counts)


def _tally(
    plan: Plan,
    levels: int,
    parent: Array,
    ids: Array,
    weight: Array,
    need: Array,
    walk: Walk,
    deal: Deal | None,
    tables: Reducer,
) -> tuple[Array, Array, Array, Array]:
    words = _labels(plan, keys_of(parent, ids), need, walk, deal)
    sums = _reduced(plan, levels, words, weight, tables)
    # A leading axis for the devices: the host adds them up.
    return tuple(part[None] for part in sums)  # pyright: ignore[reportReturnType]


def _tallies(
    plan: Plan,
    levels: int,
    parent: Array,
    ids: Array,
    weight: Array,
    joint: jax_joint.Joint | None,
    deal: Deal | None,
    tables: Reducer,
) -> tuple[Array, Array, Array, Array]:
    words = _joint_labels(plan, keys_of(parent, ids), joint, deal)

    def outcome(part: tuple[Array, Reducer]) -> tuple[Array, Array, Array, Array]:
        return _reduced(plan, levels, part[0], weight, part[1])

    sums = lax.map(outcome, (words, tables))
    return tuple(part[None] for part in sums)  # pyright: ignore[reportReturnType]


def _reduced(
    plan: Plan, levels: int, words: Array, weight: Array, tables: Reducer
) -> tuple[Array, Array, Array, Array]:
    """Count the labels of a batch and reduce the counts: see :func:`tally_kernel`."""
    valid = weight > 0

    def tile(carry: tuple[Array, Array], part: Reducer) -> tuple[Any, tuple[Array, Array]]:
        maximum, total = carry
        counts = _count(plan, words, part.members)
        # In a loop of its own, and not of one turn: XLA would count within the look-up.
        halves = (counts, part.base, part.low, part.high)
        halves = (half.reshape(2, -1, *half.shape[1:]) for half in halves)
        ranks = lax.map(look_up, tuple(halves)).reshape(counts.shape)
        total = total.at[ranks].add(weight[None], mode="promise_in_bounds")
        exceed = jnp.sum((ranks >= part.own[:, None]) & valid, axis=1, dtype=jnp.int32)
        maximum, successive = lax.scan(row, maximum, (ranks, part.own))
        return (maximum, total), (exceed, successive)

    def look_up(part: tuple[Array, ...]) -> Array:
        counts, base, low, high = part
        places = base[:, None] + jnp.clip(counts, low[:, None], high[:, None])
        return tables.rank.at[places].get(mode="promise_in_bounds").astype(jnp.int32)

    def row(maximum: Array, descriptor: tuple[Array, Array]) -> tuple[Array, Array]:
        ranks, own = descriptor
        maximum = jnp.maximum(maximum, ranks)
        return maximum, jnp.sum((maximum >= own) & valid, dtype=jnp.int32)

    nothing = jnp.zeros(levels, jnp.int32)
    begin = (jnp.zeros(weight.shape, jnp.int32), nothing)

    def step(carry: Any, part: tuple[Array, ...]) -> Any:
        members, base, low, high, own = part
        return tile(carry, Reducer(members, tables.rank, base, low, high, own))

    (maximum, total), (exceed, successive) = lax.scan(
        step, begin, (tables.members, tables.base, tables.low, tables.high, tables.own)
    )
    maxima = nothing.at[maximum].add(weight, mode="promise_in_bounds")
    return maxima, exceed.reshape(-1), successive.reshape(-1), total


def _counts(
    plan: Plan,
    parent: Array,
    ids: Array,
    need: Array,
    walk: Walk,
    deal: Deal | None,
    members: Array,
) -> Array:
    words = _labels(plan, keys_of(parent, ids), need, walk, deal)
    counts = lax.map(partial(_count, plan, words), members)
    return counts.reshape(-1, ids.shape[0])


_LANES_ALONG: Final = PartitionSpec(_LANES_AXIS)
_EVERYWHERE: Final = PartitionSpec()


def _spread(plan: Plan, kernel: Callable[..., Any], specs: tuple[Any, ...], out: Any) -> Any:
    """The kernel with its lanes spread over the devices of the mesh."""
    if plan.mesh.size == 1:
        return kernel
    # Nothing is exchanged between devices, so there is nothing for the check of replication.
    return jax.shard_map(kernel, mesh=plan.mesh, in_specs=specs, out_specs=out, check_vma=False)


@partial(jax.jit, static_argnames="plan")
def count_kernel(
    plan: Plan,
    parent: Array,
    ids: Array,
    need: Array,
    walk: Walk,
    deal: Deal | None,
    members: Array,
) -> Array:
    """Counts of a batch, shape (L, lanes); ``parent`` holds the words of the stream's key."""
    specs = (_EVERYWHERE, _LANES_ALONG, *(_EVERYWHERE,) * 4)
    spread = _spread(plan, partial(_counts, plan), specs, PartitionSpec(None, _LANES_AXIS))
    return spread(parent, ids, need, walk, deal, members)


@partial(jax.jit, static_argnames=("plan", "levels"))
def tally_kernel(
    plan: Plan,
    levels: int,
    parent: Array,
    ids: Array,
    weight: Array,
    need: Array,
    walk: Walk,
    deal: Deal | None,
    tables: Reducer,
) -> tuple[Array, Array, Array, Array]:
    """Draw, count and reduce a batch; lanes of weight 0 do not count.

    Returns the histogram of maxima, exceedances and successive maxima (both in own-rank order, ties
    not yet shared) and the histogram of all ranks, each with an axis for the devices before it.
    """
    specs = (_EVERYWHERE, _LANES_ALONG, _LANES_ALONG, *(_EVERYWHERE,) * 4)
    spread = _spread(plan, partial(_tally, plan, levels), specs, _LANES_ALONG)
    return spread(parent, ids, weight, need, walk, deal, tables)


@partial(jax.jit, static_argnames=("plan", "levels"))
def tallies_kernel(
    plan: Plan,
    levels: int,
    parent: Array,
    ids: Array,
    weight: Array,
    joint: jax_joint.Joint | None,
    deal: Deal | None,
    tables: Reducer,
) -> tuple[Array, Array, Array, Array]:
    """Draw once, count and reduce each outcome: :func:`tally_kernel` with an axis for outcomes."""
    specs = (_EVERYWHERE, _LANES_ALONG, _LANES_ALONG, *(_EVERYWHERE,) * 3)
    spread = _spread(plan, partial(_tallies, plan, levels), specs, _LANES_ALONG)
    return spread(parent, ids, weight, joint, deal, tables)


@partial(jax.jit, static_argnames=("plan", "grid"))
def replay_kernel(
    plan: Plan,
    grid: tuple[int, ...],
    ids: Array,
    weight: Array,
    discovery: Array,
    holdout: Array | None,
    tables: jax_replays.Tables,
) -> Array:
    """Apply the rules of a replay to the counts of a batch: see :func:`jax_replays.decided`."""
    by_lane = PartitionSpec(None, _LANES_AXIS)
    specs = (_LANES_ALONG, _LANES_ALONG, by_lane, by_lane, _EVERYWHERE)
    spread = _spread(plan, partial(jax_replays.decided, grid), specs, _LANES_ALONG)
    return spread(ids, weight, discovery, holdout, tables)


@partial(jax.jit, static_argnames="plan")
def decoy_kernel(
    plan: Plan, parents: tuple[Array, Array], ids: Array, pool: Array, walk: Walk, errors: Array
) -> tuple[Array, Array]:
    """Sources and counts of a batch of decoys; ``parents`` are the keys of sources and labels."""
    tag, first = jnp.uint32(streams.WORDS_TAG), jnp.uint32(0)
    words, _ = threefry2x32(*keys_of(parents[0], ids), tag, first)
    sources = mulhi(words, jnp.uint32(pool.shape[1])).astype(jnp.int32)
    need = lax.optimization_barrier(jnp.take(pool, sources, axis=1, mode="clip"))
    labels = _labels(plan, keys_of(parents[1], ids), need, walk, None)
    return sources, _count(plan, labels, errors[0])[0]


@partial(jax.jit, static_argnames="plan")
def shuffle_kernel(
    plan: Plan, parent: Array, ids: Array, need: Array, walk: Walk, columns: Array
) -> Array:
    """Labels of a batch in row order, shape (lanes, n); ``parent`` is a typed key."""
    keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(parent, ids)
    return jax.vmap(_shuffle, in_axes=(None, 0, None, None, None))(plan, keys, need, walk, columns)


def _shuffle(plan: Plan, key: Array, need: Array, walk: Walk, columns: Array) -> Array:
    """One permutation, position by position: what the kernels do many abreast."""
    remaining, start = walk.remaining.reshape(-1), walk.start.reshape(-1)
    words = jax.random.bits(key, remaining.shape, jnp.uint32)
    draws = mulhi(words, remaining, small=plan.small)

    def step(left: Array, position: tuple[Array, Array]) -> tuple[Array, Array]:
        draw, start = position
        left = left + need[start, 0]
        on = draw < left
        return left - on.astype(jnp.uint32), on.astype(jnp.int8)

    _, labels = lax.scan(step, jnp.uint32(0), (draws, start))
    return labels[columns]


@partial(jax.jit, static_argnames="plan")
def deal_kernel(plan: Plan, parent: Array, ids: Array, deal: Deal, columns: Array) -> Array:
    """The same when whole patterns are dealt; ``parent`` holds the words of the stream's key."""
    words = _dealt(deal, _patterns(plan, keys_of(parent, ids), deal), deal.labels[0])
    return _bits(words, 0)[columns].T


# The backend


class JaxBackend:
    """Permutations on all of JAX's local devices; see :class:`janus_jax.interface.Backend`."""

    def __init__(self) -> None:
        try:
            (device,) = jax.device_put(np.uint32(0)).devices()
            self._devices = _peers(device)
        except Exception as error:  # RuntimeError, or a bare AssertionError when a plugin is absent
            platforms = os.environ.get("JAX_PLATFORMS")
            asked = f" for JAX_PLATFORMS={platforms}" if platforms else ""
            raise BackendUnavailable(
                f"backend 'jax' cannot run here: JAX finds no device{asked}; install JAX's build "
                "for that platform, or unset JAX_PLATFORMS"
            ) from error

    def describe(self) -> Description:
        """Name, version and devices, in words."""
        first = self._devices[0]
        device = f"{first.platform}:{first.id}"
        if len(self._devices) > 1:
            device += f" x{len(self._devices)}"
        if first.platform != "cpu":
            device += f" ({first.device_kind})"
        return Description("jax", jax.__version__, device)

    def bytes_per_permutation(self, problem: Problem) -> int:
        """Peak extra bytes of one permutation in flight.

        ``n / 4`` for the labels of all positions (packed, twice while they are put together), ``24
        t`` for counts, ranks and their places in the histogram, with t = min(L, 256) descriptors to
        a tile, and 64 for keys and the walk. Clusters add ``8`` a unit for the patterns, and
        512 for 32 positions' labels. ``counts`` adds ``8 L`` for the rows that it returns, and
        ``shuffles`` ``9 n``; memberships take ``n L / 4`` bytes on each device, and the rank tables
        at most what they take on the host, however many permutations there are.

        M outcomes have M times the labels. When every row is its own unit and there are at most 32
        patterns C, the walk adds ``12 C`` for their counts and ``5 n / 4`` for codes and bit planes
        (``21 n / 8`` with more than 8 patterns). Memberships are kept once more for each outcome.
        """
        _, chunks, tile, words = _shape(*problem.memberships.shape)
        outcomes = len(_outcomes(problem))
        size = 8 * chunks * words * outcomes + 24 * tile + 64
        if problem.clusters is None:
            if problem.others is None:
                return size
            many = len(layout.row_patterns(problem)[0])
            if many <= jax_joint.MOST:
                return size + 12 * many + (40 if many <= 8 else 84) * chunks * words
        blocks = layout.blocks(problem)
        most = max(len(block.counts) for block in blocks)
        return size + 8 * sum(len(block.rows) for block in blocks) + 12 * most + 512

    def prepare(self, problem: Problem, lanes: int) -> State:
        """Put the rows in position order on the devices, a bit each.

        Of ``lanes`` no more run side by side than pay on the devices, nor so many that an int32 sum
        over lanes x descriptors could wrap.
        """
        descriptors, n = problem.memberships.shape
        _, chunks, _, words = _shape(descriptors, n)
        joint = dealt = None
        if problem.clusters is None and problem.others is not None:
            joint = jax_joint.make_joint(problem, chunks * words)
        if problem.clusters is not None or (problem.others is not None and joint is None):
            dealt = _deal(problem, chunks * words)
        sorted_already = dealt is not None or bool((np.diff(problem.strata) >= 0).all())
        rows = np.arange(n) if sorted_already else np.argsort(problem.strata, kind="stable")
        order = None if sorted_already else rows
        strata = problem.pool.shape[1]
        sizes = np.bincount(problem.strata, minlength=strata)
        need = np.zeros((strata + 1, 1), np.uint32)
        need[:strata, 0] = np.bincount(problem.strata[problem.errors], minlength=strata)
        pool = np.zeros((strata + 1, len(problem.pool)), np.uint32)
        pool[:strata] = problem.pool.T
        columns = np.empty(n, np.int32)
        columns[rows] = np.arange(n, dtype=np.int32)
        plan = self._plan(n, descriptors, lanes)
        if joint is not None and plan.bits:
            most = max(1024, _CELLS_JOINT // joint.need.shape[1])
            plan = replace(plan, lanes=min(plan.lanes, most))
        put = partial(jax.device_put, device=NamedSharding(plan.mesh, _EVERYWHERE))
        if joint is None:
            members = _packed(problem.memberships, order)
        else:
            members = _packed_joint(problem.memberships, rows, jax_joint.places(joint))
        return State(
            plan=plan,
            walk=put(_walk(np.sort(problem.strata), sizes, chunks * words)),
            deal=put(dealt),
            joint=put(joint),
            members=put(members),
            errors=put(_packed(problem.errors[None], order)),
            descriptors=descriptors,
            spans=_spans(problem),
            need=put(need),
            pool=put(pool),
            columns=put(columns),
            seed=problem.seed,
        )

    def _plan(self, n: int, descriptors: int, lanes: int) -> Plan:
        on_cpu = self._devices[0].platform == "cpu"
        tile = _shape(descriptors, n)[2]
        most = _LANES
        if on_cpu:
            most = max(1024, min(1 << 14, _CELLS_CPU // max(tile, _BITS)))
        most = max(1, min(most, (2**31 - 1) // max(1, descriptors + tile)))
        here = -(-lanes // len(self._devices))
        turns = max(1, -(-here // most))
        mesh = Mesh(np.array(self._devices), (_LANES_AXIS,))
        return Plan(mesh, max(1, -(-here // turns)), small=n < 1 << 16, bits=on_cpu)

    def shuffles(self, state: State, ids: Ids) -> NDArray[np.int8]:
        """The shuffled errors of these permutations: 0/1, shape (k, n), columns in row order."""
        result = np.zeros((len(ids), len(state.columns)), np.int8)
        words = _parent(state, streams.PERMUTATIONS)

        def run(batch: _Bytes, _: NDArray[np.int32]) -> Array:
            if state.deal is not None:
                return deal_kernel(state.plan, words, batch, state.deal, state.columns)
            key = jax.random.wrap_key_data(jnp.asarray(words), impl=THREEFRY)
            return shuffle_kernel(state.plan, key, batch, state.need, state.walk, state.columns)

        for part, labels in _batches(state, ids, run):
            result[part] = labels[: part.stop - part.start]
        return result

    def counts(self, state: State, ids: Ids) -> NDArray[np.int32]:
        """Errors on each descriptor in each of these permutations: shape (k, L)."""
        result = np.zeros((len(ids), state.descriptors), np.int32)
        parent = _parent(state, streams.PERMUTATIONS)

        def run(batch: _Bytes, _: NDArray[np.int32]) -> Array:
            return count_kernel(
                state.plan, parent, batch, state.need, state.walk, state.deal, state.members
            )

        for part, counts in _batches(state, ids, run):
            result[part] = counts[: state.descriptors, : part.stop - part.start].T
        return result

    def tally(self, state: State, ids: Ids, tables: Tables) -> Tally:
        """Draw, count and reduce on the devices; four short arrays come back for each batch."""
        reducer = _reducer(state, [tables])
        parent = _parent(state, streams.PERMUTATIONS)
        levels = _power(tables.levels + 1)

        def run(batch: _Bytes, weight: NDArray[np.int32]) -> tuple[Array, ...]:
            return tally_kernel(
                state.plan,
                levels,
                parent,
                batch,
                weight,
                state.need,
                state.walk,
                state.deal,
                reducer,
            )

        padded = reducer.own.size
        sums = [np.zeros(size, np.int64) for size in (levels, padded, padded, levels)]
        for _, batch in _batches(state, ids, run):
            for total, part in zip(sums, batch, strict=True):
                total += part.sum(axis=0, dtype=np.int64)
        return _finished(sums, len(ids), tables)

    def tallies(self, state: State, ids: Ids, tables: Sequence[Tables]) -> list[Tally]:
        """Draw once for all outcomes, then count and reduce each on the devices."""
        reducer = _reducer(state, tables)
        parent = _parent(state, streams.PERMUTATIONS)
        levels = _power(max(each.levels for each in tables) + 1)

        def run(batch: _Bytes, weight: NDArray[np.int32]) -> tuple[Array, ...]:
            return tallies_kernel(
                state.plan, levels, parent, batch, weight, state.joint, state.deal, reducer
            )

        outcomes, padded = len(tables), reducer.own[0].size
        sizes = (levels, padded, padded, levels)
        sums = [np.zeros((outcomes, size), np.int64) for size in sizes]
        for _, batch in _batches(state, ids, run):
            for total, part in zip(sums, batch, strict=True):
                total += part.sum(axis=0, dtype=np.int64)
        return [_finished([part[m] for part in sums], len(ids), t) for m, t in enumerate(tables)]

    def decoys(self, state: State, ids: Ids) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source (index into the pool) and errors on the shuffled label, each of shape (k,)."""
        sources = np.zeros(len(ids), np.int32)
        counts = np.zeros(len(ids), np.int32)
        parents = (_parent(state, streams.SOURCES), _parent(state, streams.DECOYS))

        def run(batch: _Bytes, _: NDArray[np.int32]) -> tuple[Array, Array]:
            return decoy_kernel(state.plan, parents, batch, state.pool, state.walk, state.errors)

        for part, drawn in _batches(state, ids, run):
            used = part.stop - part.start
            sources[part], counts[part] = (array[:used] for array in drawn)
        return sources, counts

    def replays(self, discovery: State, holdout: State | None, ids: Ids, rules: Rules) -> Decided:
        """Shuffle both splits and apply the rules on the devices; four sums a rule come back."""
        plan = discovery.plan
        if discovery.rules is None or discovery.rules[0] is not rules:
            put = partial(jax.device_put, device=NamedSharding(plan.mesh, _EVERYWHERE))
            discovery.rules = (rules, jax_replays.moved(rules, put))
        tables = discovery.rules[1]
        cells = max(1, len(rules.cuts)) * rules.library
        # As many lanes as keep thresholds and what reached them in a CPU's cache, and no int32 sum
        # over lanes and descriptors from wrapping.
        most = _CELLS_REPLAY // cells if plan.bits else (2**31 - 1) // rules.library
        lanes = max(1, min(plan.lanes, max(most, 64)))
        # Equal plans and shapes compile once.
        parts = [
            replace(part, plan=replace(part.plan, lanes=lanes))
            for part in (discovery, holdout)
            if part is not None
        ]
        state = parts[0]
        parents = [_parent(part, streams.PERMUTATIONS) for part in parts]

        def run(batch: _Bytes, weight: NDArray[np.int32]) -> Array:
            counts = [
                count_kernel(p.plan, key, batch, p.need, p.walk, p.deal, p.members)
                for p, key in zip(parts, parents, strict=True)
            ]
            held = counts[1] if holdout is not None else None
            return replay_kernel(state.plan, rules.grid, batch, weight, counts[0], held, tables)

        sums = np.zeros((4, rules.count), np.int64)
        for _, part in _batches(state, ids, run):
            sums += part.sum(axis=0, dtype=np.int64)
        return Decided(len(ids), sums)


def _peers(device: Any) -> list[Any]:
    """The devices to share a batch: all local ones, unless the user chose one as the default."""
    chosen: object = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return [device] if chosen is not None else jax.local_devices(backend=device.platform)


def _power(size: int) -> int:
    """The least power of two that is not smaller: sizes that differ a little compile once."""
    return 1 << max(0, size - 1).bit_length()


def _finished(sums: list[NDArray[np.int64]], used: int, tables: Tables) -> Tally:
    """A tally of the kernels' sums: padding dropped, descriptors in their order, ties shared."""
    maxima, exceed_sorted, successive, total = sums
    order = np.argsort(tables.own, kind="stable")
    own = tables.own[order]
    # Tied descriptors share the maximum over all of them: the last place of their run.
    last = np.searchsorted(own, own, side="right") - 1
    exceed, step_down = np.empty((2, len(order)), np.int64)
    exceed[order], step_down[order] = exceed_sorted[: len(order)], successive[last]
    # Padding has rank 0 in every permutation.
    total[0] -= used * (len(exceed_sorted) - len(order))
    kept = slice(tables.levels + 1)
    return Tally(used, maxima[kept], exceed, step_down, total[kept])


def _parent(state: State, stream: int) -> NDArray[np.uint32]:
    """Words of a stream's key; made on the host, so that all 64 bits of the seed count."""
    return np.stack(streams.stream_key(state.seed, stream))


def _reducer(state: State, tables: Sequence[Tables]) -> Reducer:
    """The tables on the device, moved once for a run of calls with the same ones."""
    last = [] if state.tables is None else state.tables[0]
    if [id(each) for each in last] != [id(each) for each in tables]:
        state.tables = None  # the last ones make room
        put = partial(jax.device_put, device=NamedSharding(state.plan.mesh, _EVERYWHERE))
        made = [_laid_out(state, each, own) for each, own in zip(tables, state.spans, strict=True)]
        state.tables = (list(tables), put(made[0] if len(made) == 1 else _side_by_side(made)))
    assert state.tables is not None
    return state.tables[1]


def _side_by_side(made: Sequence[Reducer]) -> Reducer:
    """The tables of several outcomes as one, with an axis for them before the others."""
    entries = max(len(each.rank) for each in made)
    padded = [
        replace(each, rank=np.pad(np.asarray(each.rank), (0, entries - len(each.rank))))
        for each in made
    ]
    return jax.tree.map(lambda *parts: np.stack(parts), *padded)


def _laid_out(state: State, tables: Tables, spans: NDArray[np.int32]) -> Reducer:
    tiles, _, tile, _ = state.members.shape
    order = np.argsort(tables.own, kind="stable")
    kept: list[NDArray[Any]] = [np.zeros(1, tables.rank.dtype)]
    # Padding reads the zero at the start whatever its count.
    base, low, high = np.zeros((3, tiles * tile), np.int32)
    own = np.full(tiles * tile, np.iinfo(np.int32).max, np.int32)
    own[: len(order)] = tables.own[order]
    end = 1
    for place, g in enumerate(order.tolist()):
        first, last = spans[:, g].tolist()
        row = tables.rank[g, first : last + 1]
        changes = np.flatnonzero(row[1:] != row[:-1])
        inner = slice(int(changes[0]), int(changes[-1]) + 2) if len(changes) else slice(0, 1)
        kept.append(row[inner])
        low[place], high[place] = first + inner.start, first + inner.stop - 1
        base[place] = end - low[place]
        end += inner.stop - inner.start
    if end >= 1 << 31:
        raise ValueError("the rank tables have 2**31 entries or more: test fewer descriptors")
    kind = np.int16 if tables.levels < 1 << 15 else np.int32
    rank = np.zeros(max(_power(end), _LEAST_RANKS), kind)
    np.concatenate(kept, out=rank[:end], casting="same_kind")
    shape = (tiles, tile)
    return Reducer(
        members=_ordered(state.members, order),  # pyright: ignore[reportArgumentType]
        rank=rank,  # pyright: ignore[reportArgumentType]
        base=base.reshape(shape),  # pyright: ignore[reportArgumentType]
        low=low.reshape(shape),  # pyright: ignore[reportArgumentType]
        high=high.reshape(shape),  # pyright: ignore[reportArgumentType]
        own=own.reshape(shape),  # pyright: ignore[reportArgumentType]
    )


def _ordered(members: Array, order: NDArray[np.intp]) -> NDArray[np.uint32]:
    """The packed memberships with their descriptors in another order, padding last."""
    tiles, chunks, tile, words = members.shape
    rows = np.asarray(members).transpose(0, 2, 1, 3).reshape(tiles * tile, chunks, words)
    every = np.arange(tiles * tile)
    every[: len(order)] = order
    result = rows[every].reshape(tiles, tile, chunks, words)
    return np.ascontiguousarray(result.transpose(0, 2, 1, 3))


def _batches(
    state: State, ids: Ids, run: Callable[[NDArray[np.uint32], NDArray[np.int32]], Any]
) -> Iterator[tuple[slice, Any]]:
    """Run the ids a batch at a time; yield where they stand and what came back, on the host.

    A batch is fetched once the next has been handed out. ``run`` gets as many ids as the devices
    have lanes, zeros to fill, and their weights. When a device has no memory for a batch, the lanes
    are halved, and the batches not yet fetched run again.
    """
    pending: deque[tuple[slice, Any]] = deque()
    start = 0
    while start < len(ids) or pending:
        try:
            if start < len(ids):
                part = slice(start, min(start + state.plan.lanes * state.plan.mesh.size, len(ids)))
                pending.append((part, run(*_padded(state, ids[part]))))
                start = part.stop
                if len(pending) < 2 and start < len(ids):
                    continue
            part, result = pending[0]
            fetched = jax.tree.map(np.asarray, result)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error) or state.plan.lanes == 1:
                raise
            start = pending[0][0].start if pending else start
            pending.clear()
            state.plan = replace(state.plan, lanes=state.plan.lanes // 2)
            warnings.warn(
                f"the device has no memory for {2 * state.plan.lanes} permutations side by side; "
                f"going on with {state.plan.lanes} (results do not change)",
                stacklevel=3,
            )
            continue
        pending.popleft()
        yield part, fetched


def _padded(state: State, ids: Ids) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    lanes = state.plan.lanes * state.plan.mesh.size
    batch, weight = np.zeros(lanes, np.uint32), np.zeros(lanes, np.int32)
    batch[: len(ids)], weight[: len(ids)] = ids, 1
    return batch, weight
