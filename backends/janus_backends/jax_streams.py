"""The random words of :mod:`janus_jax.streams` in JAX, and typed keys that give them."""

# The signatures of jax are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.extend.random import define_prng_impl
from numpy.typing import ArrayLike

from janus_jax import streams


# A function of its own is traced and lowered once for all calls in a kernel; XLA inlines them.
@jax.jit
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


def keys_of(parent: Array, ids: Array) -> tuple[Array, Array]:
    """Key words of the ids, children of ``parent``; lanes last."""
    return threefry2x32(parent[0], parent[1], jnp.uint32(streams.KEYS_TAG), ids)
