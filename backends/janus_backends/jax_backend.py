"""The JAX backend: one jitted kernel for CPUs, GPUs and TPUs, the same integers.

Draw, count and reduce share one ``jit``, so no array of lanes x examples or lanes x descriptors
reaches the host, and labels of all examples never exist at once: the kernel scans over blocks of
positions, and a block's labels are counted and forgotten.

Shapes are fixed when the problem is prepared (the ids are padded to ``lanes``, the padding masked)
and everything about strata, errors and decoys is data, so a run traces each kernel once.

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
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.extend.random import define_prng_impl
from numpy.typing import ArrayLike, NDArray

from janus_jax import streams
from janus_jax.errors import BackendUnavailable
from janus_jax.interface import Description, Ids, Problem, Tables, Tally

# Draws in a block at most, lanes x positions: more leave a CPU's cache; an accelerator wants them.
_DRAWS_CPU: Final = 1 << 21
_DRAWS: Final = 1 << 25
# Positions to a block: a longer one repays the addition of its counts, a shorter one stays cached.
_BLOCK: Final = 512
# Pairs of positions to a step of the walk. On a CPU XLA's code for unrolled steps is slower; an
# accelerator pays for each step's launch.
_UNROLL_CPU: Final = 1
_UNROLL: Final = 8


# The generator


def threefry2x32(k0: Array, k1: Array, x0: Array, x1: Array) -> tuple[Array, Array]:
    """:func:`janus_jax.streams.threefry2x32` with the rounds unrolled, so that XLA can fuse it."""
    schedule = (k0, k1, k0 ^ k1 ^ jnp.uint32(streams.PARITY))
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for group in range(streams.GROUPS):
        for distance in streams.ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << jnp.uint32(distance)) | (x1 >> jnp.uint32(32 - distance))
            x1 = x1 ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + jnp.uint32(group + 1)
    return x0, x1


def mulhi(words: Array, m: Array, *, small: bool = False) -> Array:
    """``floor(words * m / 2**32)`` in uint32 halves, exact; ``small`` promises m < 2**16."""
    half, low = jnp.uint32(16), jnp.uint32(0xFFFF)
    upper, lower = words >> half, words & low
    if small:
        return (upper * m + ((lower * m) >> half)) >> half
    m_upper, m_lower = m >> half, m & low
    cross, other = upper * m_lower, lower * m_upper
    carry = ((lower * m_lower) >> half) + (cross & low) + (other & low)
    return upper * m_upper + (cross >> half) + (other >> half) + (carry >> half)


def _fold_in(key: Array, data: ArrayLike) -> Array:
    tag = jnp.uint32(streams.KEYS_TAG)
    return jnp.stack(threefry2x32(key[0], key[1], tag, jnp.asarray(data, jnp.uint32)))


def _random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    if bit_width != 32:
        raise NotImplementedError(f"janus keys give words of 32 bits, not {bit_width}")
    size = int(np.prod(shape))
    counters = lax.iota(jnp.uint32, (size + 1) // 2)
    pairs = threefry2x32(key[0], key[1], jnp.uint32(streams.WORDS_TAG), counters)
    return jnp.stack(pairs, axis=1).reshape(-1)[:size].reshape(shape)


def _seed(seed: Array) -> Array:
    # Without 64-bit types a traced seed has 32 bits; full seeds come in as key data.
    return jnp.stack([jnp.uint32(0), seed.astype(jnp.uint32)])


def _split(key: Array, shape: tuple[int, ...]) -> Array:
    children = lax.iota(jnp.uint32, int(np.prod(shape)))
    return jax.vmap(_fold_in, in_axes=(None, 0))(key, children).reshape(*shape, 2)


THREEFRY: Final = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="janus_threefry",
    tag="jth",
)
"""Implementation of typed keys: pass it as ``impl`` to ``jax.random.wrap_key_data``."""


# Prepared problems


@dataclass(frozen=True, slots=True)
class Plan:
    """What is compiled in: ``lanes``, ``unroll`` (see ``_UNROLL``) and ``small`` (n < 2**16)."""

    lanes: int
    unroll: int
    small: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """The positions, padded to whole blocks; padding is never labelled, nor in any descriptor.

    Attributes
    ----------
    remaining
        uint32, shape (blocks, pairs, 2): positions left in the stratum, this one included.
    start
        int32, shape (blocks, pairs, 2): stratum code if the position is the first of its stratum,
        else S, the number of strata.
    """

    remaining: Array
    start: Array


jax.tree_util.register_dataclass(Walk, ["remaining", "start"], [])


@dataclass(slots=True)
class State:
    """A problem on the device.

    Attributes
    ----------
    plan, walk
        See there.
    members
        int8, shape (blocks, L, block): memberships; in a block first the even positions, then the
        odd ones, which is the order the walk leaves labels in.
    errors
        int8, shape (blocks, 1, block): observed errors in the same order.
    need
        uint32, shape (S + 1, 1): errors of each stratum, and a zero.
    pool
        uint32, shape (S + 1, P): the contract's pool transposed, and a row of zeros.
    columns
        int32, shape (n,): the position of each row.
    seed
        The seed.
    tables
        The last tables used and their copy on the device.
    """

    plan: Plan
    walk: Walk
    members: Array
    errors: Array
    need: Array
    pool: Array
    columns: Array
    seed: int
    tables: tuple[Tables, Reducer] | None = field(default=None)


@dataclass(frozen=True, slots=True)
class Reducer:
    """:class:`janus_jax.interface.Tables` on the device, with the order of own ranks."""

    rank: Array
    own: Array
    order: Array


jax.tree_util.register_dataclass(Reducer, ["rank", "own", "order"], [])


def _block_size(n: int) -> int:
    """Positions to a block: even, and near ``_BLOCK`` without much padding at the end."""
    blocks = max(1, -(-n // _BLOCK))
    return max(8, -(-n // (blocks * 8)) * 8)


def _blocked(rows: NDArray[np.int8], block: int) -> NDArray[np.int8]:
    """Cut (R, n) by position into (blocks, R, block), even positions of a block before odd ones."""
    count, n = rows.shape
    blocks = max(1, -(-n // block))
    padded = np.zeros((count, blocks * block), np.int8)
    padded[:, :n] = rows
    pairs = padded.reshape(count, blocks, block // 2, 2)
    return np.ascontiguousarray(pairs.transpose(1, 0, 3, 2)).reshape(blocks, count, block)


def _walk(codes: NDArray[np.int32], sizes: NDArray[np.intp], block: int) -> Walk:
    n, strata = len(codes), len(sizes)
    within = np.arange(n) - (np.cumsum(sizes) - sizes)[codes]
    padded = max(1, -(-n // block)) * block
    remaining = np.zeros(padded, np.uint32)
    remaining[:n] = sizes[codes] - within
    start = np.full(padded, strata, np.int32)
    start[:n] = np.where(within == 0, codes, strata)
    shape = (-1, block // 2, 2)
    return Walk(jnp.asarray(remaining.reshape(shape)), jnp.asarray(start.reshape(shape)))


# Kernels


def _labels(
    plan: Plan, keys: tuple[Array, Array], need: Array, left: Array, block: Array, walk: Walk
) -> tuple[Array, Array]:
    """Label one block of positions by Algorithm S: labels left to place, and labels (block, lanes).

    Position j is on when ``mulhi(word, positions left) < labels left``. A stratum always ends with
    no labels left, so to start one is to add its need; elsewhere zero is added.
    """
    pairs = walk.remaining.shape[0]
    counters = lax.broadcasted_iota(jnp.uint32, (pairs, plan.lanes), 0)
    counters = counters + block * jnp.uint32(pairs)
    words = threefry2x32(keys[0][None], keys[1][None], jnp.uint32(streams.WORDS_TAG), counters)
    draws = tuple(
        mulhi(word, walk.remaining[:, side, None], small=plan.small)
        for side, word in enumerate(words)
    )
    # Otherwise XLA makes the words again inside the walk, a row at a time, ten times slower.
    draws = lax.optimization_barrier(draws)

    def step(
        left: Array, pair: tuple[tuple[Array, Array], Array]
    ) -> tuple[Array, tuple[Array, ...]]:
        labels: list[Array] = []
        for draw, start in zip(pair[0], pair[1], strict=True):
            left = left + need[start]
            on = draw < left
            left = left - on.astype(jnp.uint32)
            labels.append(on.astype(jnp.int8))
        return left, tuple(labels)

    left, sides = lax.scan(step, left, (draws, walk.start), unroll=plan.unroll)
    return left, lax.optimization_barrier(jnp.concatenate(sides, axis=0))


def _count(plan: Plan, keys: tuple[Array, Array], need: Array, walk: Walk, rows: Array) -> Array:
    """Labels on each of the rows (blocks, R, block): int32, shape (R, lanes)."""

    def step(
        carry: tuple[Array, Array], block: tuple[Array, Walk, Array]
    ) -> tuple[tuple[Array, Array], None]:
        left, counts = carry
        index, walk, part = block
        left, labels = _labels(plan, keys, need, left, index, walk)
        # int8 operands meet their own matrix units; the sums are int32, so they cannot wrap.
        product = lax.dot_general(
            part, labels, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32
        )
        return (left, counts + product), None

    blocks = lax.iota(jnp.uint32, rows.shape[0])
    begin = (jnp.zeros(plan.lanes, jnp.uint32), jnp.zeros((rows.shape[1], plan.lanes), jnp.int32))
    (_, counts), _ = lax.scan(step, begin, (blocks, walk, rows))
    return lax.optimization_barrier(counts)


def _reduce(
    counts: Array, used: Array, tables: Reducer, levels: int
) -> tuple[Array, Array, Array, Array]:
    """Walk the descriptors in the order of own ranks; only the first ``used`` lanes count.

    Returns the histogram of maxima, exceedances and successive maxima (both in own-rank order, ties
    not yet shared) and the histogram of all ranks.
    """
    valid = lax.iota(jnp.int32, counts.shape[1]) < used
    weight = valid.astype(jnp.int32)

    def reached(ranks: Array, own: Array) -> Array:
        return jnp.sum((ranks >= own) & valid, dtype=jnp.int32)

    def step(
        carry: tuple[Array, Array], descriptor: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        maximum, total = carry
        g, own = descriptor
        ranks = tables.rank[g].at[counts[g]].get(mode="promise_in_bounds")
        maximum = jnp.maximum(maximum, ranks)
        total = total.at[ranks].add(weight, mode="promise_in_bounds")
        return (maximum, total), (reached(ranks, own), reached(maximum, own))

    nothing = jnp.zeros(levels + 1, jnp.int32)
    begin = (jnp.zeros(counts.shape[1], jnp.int32), nothing)
    (maximum, total), (exceed, successive) = lax.scan(step, begin, (tables.order, tables.own))
    maxima = nothing.at[maximum].add(weight, mode="promise_in_bounds")
    return maxima, exceed, successive, total


def _keys(parent: Array, ids: Array) -> tuple[Array, Array]:
    """Key words of the ids, lanes last."""
    return threefry2x32(parent[0], parent[1], jnp.uint32(streams.KEYS_TAG), ids)


@partial(jax.jit, static_argnames="plan")
def count_kernel(
    plan: Plan, parent: Array, ids: Array, need: Array, walk: Walk, members: Array
) -> Array:
    """Counts of a batch, shape (L, lanes); ``parent`` holds the words of the stream's key."""
    return _count(plan, _keys(parent, ids), need, walk, members)


@partial(jax.jit, static_argnames=("plan", "levels"))
def tally_kernel(
    plan: Plan,
    levels: int,
    parent: Array,
    ids: Array,
    used: Array,
    need: Array,
    walk: Walk,
    members: Array,
    tables: Reducer,
) -> tuple[Array, Array, Array, Array]:
    """Draw, count and reduce a batch; see :func:`_reduce` for what comes back."""
    counts = _count(plan, _keys(parent, ids), need, walk, members)
    return _reduce(counts, used, tables, levels)


@partial(jax.jit, static_argnames="plan")
def decoy_kernel(
    plan: Plan, parents: tuple[Array, Array], ids: Array, pool: Array, walk: Walk, errors: Array
) -> tuple[Array, Array]:
    """Sources and counts of a batch of decoys; ``parents`` are the keys of sources and labels."""
    tag, first = jnp.uint32(streams.WORDS_TAG), jnp.uint32(0)
    words, _ = threefry2x32(*_keys(parents[0], ids), tag, first)
    sources = mulhi(words, jnp.uint32(pool.shape[1])).astype(jnp.int32)
    need = lax.optimization_barrier(jnp.take(pool, sources, axis=1, mode="clip"))
    return sources, _count(plan, _keys(parents[1], ids), need, walk, errors)[0]


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


# The backend


class JaxBackend:
    """Permutations on JAX's default device; see :class:`janus_jax.interface.Backend`."""

    def __init__(self) -> None:
        try:
            (self._device,) = jax.device_put(np.uint32(0)).devices()
        except Exception as error:  # RuntimeError, or a bare AssertionError when a plugin is absent
            platforms = os.environ.get("JAX_PLATFORMS")
            asked = f" for JAX_PLATFORMS={platforms}" if platforms else ""
            raise BackendUnavailable(
                f"backend 'jax' cannot run here: JAX finds no device{asked}; install JAX's build "
                "for that platform, or unset JAX_PLATFORMS"
            ) from error

    def describe(self) -> Description:
        """Name, version and device, in words."""
        device = f"{self._device.platform}:{self._device.id}"
        if self._device.platform != "cpu":
            device += f" ({self._device.device_kind})"
        return Description("jax", jax.__version__, device)

    def bytes_per_permutation(self, problem: Problem) -> int:
        """Peak extra bytes of one permutation in flight.

        With b = min(n, about 512) positions to a block and L descriptors: ``4 b`` for the draws of
        a block, ``2 b`` for its labels, ``8 L`` for counts and the product added to them, and 64
        for keys and the walk. ``counts`` adds the row that it returns and ``shuffles`` ``9 n``;
        memberships take ``n L`` bytes on the device however many permutations there are.
        """
        descriptors, n = problem.memberships.shape
        return 6 * _block_size(n) + 8 * descriptors + 64

    def prepare(self, problem: Problem, lanes: int) -> State:
        """Put the rows in position order on the device.

        Of ``lanes`` no more run side by side than pay on the device (about 2 million draws to a
        block on a CPU, 32 million elsewhere), nor so many that an int32 sum over lanes x
        descriptors could wrap.
        """
        descriptors, n = problem.memberships.shape
        rows = np.argsort(problem.strata, kind="stable")
        codes, errors = problem.strata[rows], problem.errors[rows]
        strata = problem.pool.shape[1]
        sizes = np.bincount(codes, minlength=strata)
        need = np.zeros((strata + 1, 1), np.uint32)
        need[:strata, 0] = np.bincount(codes[errors], minlength=strata)
        pool = np.zeros((strata + 1, len(problem.pool)), np.uint32)
        pool[:strata] = problem.pool.T
        columns = np.empty(n, np.int32)
        columns[rows] = np.arange(n, dtype=np.int32)
        block = _block_size(n)
        return State(
            plan=self._plan(n, descriptors, lanes),
            walk=_walk(codes, sizes, block),
            members=jnp.asarray(_blocked(problem.memberships[:, rows].view(np.int8), block)),
            errors=jnp.asarray(_blocked(errors[None, :].view(np.int8), block)),
            need=jnp.asarray(need),
            pool=jnp.asarray(pool),
            columns=jnp.asarray(columns),
            seed=problem.seed,
        )

    def _plan(self, n: int, descriptors: int, lanes: int) -> Plan:
        on_cpu = self._device.platform == "cpu"
        pays = (_DRAWS_CPU if on_cpu else _DRAWS) // _block_size(n)
        most = max(1, min(pays, (2**31 - 1) // max(1, descriptors)))
        turns = max(1, -(-lanes // most))
        return Plan(
            lanes=max(1, -(-lanes // turns)),
            unroll=_UNROLL_CPU if on_cpu else _UNROLL,
            small=n < 1 << 16,
        )

    def shuffles(self, state: State, ids: Ids) -> NDArray[np.int8]:
        """The shuffled errors of these permutations: 0/1, shape (k, n), columns in row order."""
        result = np.zeros((len(ids), len(state.columns)), np.int8)
        words = _parent(state, streams.PERMUTATIONS)
        for part, batch in _batches(state, ids):
            key = jax.random.wrap_key_data(jnp.asarray(words), impl=THREEFRY)
            labels = shuffle_kernel(state.plan, key, batch, state.need, state.walk, state.columns)
            result[part] = np.asarray(labels)[: part.stop - part.start]
        return result

    def counts(self, state: State, ids: Ids) -> NDArray[np.int32]:
        """Errors on each descriptor in each of these permutations: shape (k, L)."""
        result = np.zeros((len(ids), state.members.shape[1]), np.int32)
        parent = _parent(state, streams.PERMUTATIONS)
        for part, batch in _batches(state, ids):
            counts = count_kernel(state.plan, parent, batch, state.need, state.walk, state.members)
            result[part] = np.asarray(counts)[:, : part.stop - part.start].T
        return result

    def tally(self, state: State, ids: Ids, tables: Tables) -> Tally:
        """Draw, count and reduce on the device; four short arrays come back for each batch."""
        reducer = _reducer(state, tables)
        parent = _parent(state, streams.PERMUTATIONS)
        sums = _Sums(tables)
        for part, batch in _batches(state, ids):
            used = part.stop - part.start
            sums.add(
                used,
                tally_kernel(
                    state.plan,
                    tables.levels,
                    parent,
                    batch,
                    np.int32(used),
                    state.need,
                    state.walk,
                    state.members,
                    reducer,
                ),
            )
        return sums.tally()

    def decoys(self, state: State, ids: Ids) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source (index into the pool) and errors on the shuffled label, each of shape (k,)."""
        sources = np.zeros(len(ids), np.int32)
        counts = np.zeros(len(ids), np.int32)
        parents = (_parent(state, streams.SOURCES), _parent(state, streams.DECOYS))
        for part, batch in _batches(state, ids):
            drawn = decoy_kernel(state.plan, parents, batch, state.pool, state.walk, state.errors)
            used = part.stop - part.start
            sources[part], counts[part] = (np.asarray(array)[:used] for array in drawn)
        return sources, counts


class _Sums:
    """Running int64 sums over batches; a batch is fetched once the next has been handed out."""

    def __init__(self, tables: Tables) -> None:
        descriptors = len(tables.own)
        self._own = tables.own
        self._used = 0
        self._sums = [
            np.zeros(size, np.int64)
            for size in (tables.levels + 1, descriptors, descriptors, tables.levels + 1)
        ]
        self._pending: tuple[Array, ...] = ()

    def add(self, used: int, batch: tuple[Array, ...]) -> None:
        self._used += used
        self._settle()
        self._pending = batch

    def _settle(self) -> None:
        for total, part in zip(self._sums, self._pending, strict=bool(self._pending)):
            total += np.asarray(part)
        self._pending = ()

    def tally(self) -> Tally:
        self._settle()
        maxima, exceed_sorted, successive, total = self._sums
        order = np.argsort(self._own, kind="stable")
        own = self._own[order]
        # Tied descriptors share the maximum over all of them: the last place of their run.
        last = np.searchsorted(own, own, side="right") - 1
        exceed, step_down = np.empty_like(exceed_sorted), np.empty_like(successive)
        exceed[order], step_down[order] = exceed_sorted, successive[last]
        return Tally(self._used, maxima, exceed, step_down, total)


def _parent(state: State, stream: int) -> NDArray[np.uint32]:
    """Words of a stream's key; made on the host, so that all 64 bits of the seed count."""
    return np.stack(streams.stream_key(state.seed, stream))


def _reducer(state: State, tables: Tables) -> Reducer:
    """The tables on the device, moved once for a run of calls with the same ones."""
    if state.tables is None or state.tables[0] is not tables:
        order = np.argsort(tables.own, kind="stable")
        moved = Reducer(
            rank=jnp.asarray(tables.rank),
            own=jnp.asarray(tables.own[order]),
            order=jnp.asarray(order.astype(np.int32)),
        )
        state.tables = (tables, moved)
    return state.tables[1]


def _batches(state: State, ids: Ids) -> Iterator[tuple[slice, NDArray[np.uint32]]]:
    """Yield the ids a batch at a time: where they stand, and ``lanes`` of them, zeros to fill."""
    lanes = state.plan.lanes
    for start in range(0, len(ids), lanes):
        part = slice(start, min(start + lanes, len(ids)))
        batch = np.zeros(lanes, np.uint32)
        batch[: part.stop - start] = ids[part]
        yield part, batch
