"""Replays decided on the devices that drew them: :func:`janus_jax.decide.decide` for JAX.

The tables move once for a run; of a batch only four sums a rule come back. The words of decoys are
made a block at a time behind a barrier, or XLA would make them again for every descriptor.
"""

# The signatures of jax are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from janus_backends.jax_streams import keys_of, threefry2x32
from janus_jax import streams
from janus_jax.decide import Lookup, Rules

# Decoys to a step: enough to pay for reading the thresholds and what has been counted so far.
_BLOCK: Final = 32
_NEVER: Final = np.uint32(0xFFFF_FFFF)  # a word below no threshold


@dataclass(frozen=True, slots=True)
class Tables:
    """:class:`janus_jax.decide.Rules` on the devices; :class:`Places` for its look-ups."""

    discovery: Places
    needs: Array
    cuts: Array
    signs: Array
    holdout: Places | None
    gate: Array
    allowed: Array
    decoys: Array


@dataclass(frozen=True, slots=True)
class Places:
    """:class:`janus_jax.decide.Lookup` on the devices: int32, shape (L, 1) each."""

    base: Array
    low: Array
    high: Array


for _pytree in (Tables, Places):
    jax.tree_util.register_dataclass(_pytree, list(_pytree.__slots__), [])


def moved(rules: Rules, put: Callable[[Any], Any]) -> Tables:
    """The tables on the devices."""
    return Tables(
        discovery=_places(rules.discovery, put),
        needs=put(rules.needs),
        cuts=put(rules.cuts),
        signs=put(rules.signs),
        holdout=None if rules.holdout is None else _places(rules.holdout, put),
        gate=put(rules.gate),
        allowed=put(rules.allowed),
        decoys=put(np.stack(rules.decoys)),
    )


def _places(found: Lookup, put: Callable[[Any], Any]) -> Places:
    return Places(*(put(part[:, None]) for part in (found.base, found.low, found.high)))


def decided(
    grid: tuple[int, ...],
    ids: Array,
    weight: Array,
    discovery: Array,
    holdout: Array | None,
    tables: Tables,
) -> Array:
    """Apply every rule to a batch; lanes of weight 0 do not count.

    Parameters
    ----------
    grid
        Numbers of decoys, ascending.
    ids, weight
        Shape (lanes,).
    discovery, holdout
        int32, shape (at least L, lanes): errors on each descriptor.

    Returns
    -------
    Array
        int32, shape (1, 4, rules): the sums of :class:`janus_jax.decide.Decided`, with an axis for
        the devices before them.
    """
    places = _look_up(tables.discovery, discovery)
    passed = jnp.zeros(places.shape, jnp.bool_)
    if holdout is not None and tables.holdout is not None:
        gate = _take(tables.gate, _look_up(tables.holdout, holdout))
        passed = _take(tables.signs, places) * gate == 1

    def sums(values: Array, limit: Callable[[Array], Array]) -> Array:
        many = _step_up(values, limit)
        within = (values <= limit(many)) & passed
        kept = jnp.sum(within, axis=0, dtype=jnp.int32)
        each = jnp.stack([(many > 0).astype(jnp.int32), (kept > 0).astype(jnp.int32), many, kept])
        return jnp.sum(each * weight, axis=1, dtype=jnp.int32)

    def fixed(_: None, table: Array) -> tuple[None, Array]:
        return None, sums(_take(table, places), lambda many: many)

    _, found = lax.scan(fixed, None, tables.needs)

    if not grid:
        return found.T[None]
    cuts = lax.optimization_barrier(jax.vmap(_take, in_axes=(0, None))(tables.cuts, places))
    keys = keys_of(tables.decoys, ids)

    def literal(allowed: Array, reached: Array) -> Array:
        return jnp.stack([sums(reached, partial(_take, table)) for table in allowed])

    def more(reached: Array, part: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        before, count, allowed = part
        reached = _reached(reached, cuts, keys, before, count)
        return reached, lax.map(partial(literal, allowed), reached)

    # One loop over the grid: its body compiles once.
    parts = (jnp.array((0, *grid[:-1])), jnp.array(grid), jnp.swapaxes(tables.allowed, 0, 1))
    _, each = lax.scan(more, jnp.zeros(cuts.shape, jnp.int32), parts)
    return jnp.concatenate([found, each.reshape(-1, 4)]).T[None]


def _look_up(found: Places, counts: Array) -> Array:
    counts = counts[: found.base.shape[0]]
    return lax.optimization_barrier(found.base + jnp.clip(counts, found.low, found.high))


def _take(table: Array, places: Array) -> Array:
    return table.at[places].get(mode="promise_in_bounds")


def _step_up(values: Array, limit: Callable[[Array], Array]) -> Array:
    """See :func:`janus_jax.decide.decide`: the largest m with m values of at most ``limit(m)``."""

    def unsettled(state: tuple[Array, Array]) -> Array:
        return jnp.any(state[0] != state[1])

    def fewer(state: tuple[Array, Array]) -> tuple[Array, Array]:
        many, _ = state
        return jnp.sum(values <= limit(many), axis=0, dtype=jnp.int32), many

    all_of_them = jnp.full(values.shape[1], values.shape[0], jnp.int32)
    return lax.while_loop(unsettled, fewer, (all_of_them, all_of_them + 1))[0]


def _reached(
    reached: Array, cuts: Array, keys: tuple[Array, Array], before: Array, count: Array
) -> Array:
    """Add decoys ``before`` to ``count - 1`` to those that reach each descriptor's value.

    int32, shape (S, L, lanes).
    """
    pairs = _BLOCK // 2

    def block(index: Array, reached: Array) -> Array:
        counters = index * pairs + lax.iota(jnp.int32, pairs)[:, None]
        tag = jnp.uint32(streams.WORDS_TAG)
        words = threefry2x32(keys[0][None], keys[1][None], tag, counters.astype(jnp.uint32))
        words = jnp.stack(words, axis=1).reshape(_BLOCK, -1)
        number = index * _BLOCK + lax.iota(jnp.int32, _BLOCK)[:, None]
        inside = (number >= before) & (number < count)
        words = lax.optimization_barrier(jnp.where(inside, words, _NEVER))
        for word in words:
            reached = reached + (word < cuts).astype(jnp.int32)
        return reached

    return lax.fori_loop(before // _BLOCK, -(-count // _BLOCK), block, reached)
