"""Several outcomes of single rows by one shuffle in JAX.

A row gets the first pattern whose cumulative remaining count exceeds its draw. Of the C - 1 counts
that can differ from the whole, as many exceed it as patterns follow the row's own: that number is
the row's *code*, and the walk makes one word of codes at a step, for every lane. An outcome is a
Boolean function of the code's bits, so its labels are made for 32 rows at once, by exclusive ors of
products of their bit planes (the function's Reed-Muller form); what patterns there are, and which
outcomes, is data.
"""

# The signatures of jax are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from janus_backends.jax_streams import mulhi, threefry2x32
from janus_jax import streams
from janus_jax.interface import Problem
from janus_jax.layout import row_patterns

MOST: Final = 32
"""Patterns that this walk can tell apart: it holds a count for each."""

_BITS: Final = 32
_HALF: Final = 16


@dataclass(frozen=True, slots=True)
class Joint:
    """How several outcomes move together, when every row is its own unit.

    With fields of f bits a step takes q = 32 / f positions, and f steps make a word of labels:
    position ``32 w + q s + p`` is bit ``f p + s`` of word w.

    Attributes
    ----------
    remaining
        uint32, shape (steps, q): positions left in the stratum, this one included.
    start
        int32, shape (steps, q): stratum code if the position is the first of its stratum, else S,
        the number of strata.
    need
        uint32, shape (S + 1, C - 1): rows with one of the first patterns, the first two, ...; and a
        row of zeros.
    coefficients
        uint32, shape (M, 2**b) for codes of b bits: for each outcome and product of bit planes,
        all ones if it takes part.
    fields
        f, in bits: 4, or 8 for more than 8 patterns.
    one_stratum
        Nothing begins on the way.
    """

    remaining: Array
    start: Array
    need: Array
    coefficients: Array
    fields: int = field(metadata={"static": True})
    one_stratum: bool = field(metadata={"static": True})


jax.tree_util.register_dataclass(
    Joint, ["remaining", "start", "need", "coefficients"], ["fields", "one_stratum"]
)


def make_joint(problem: Problem, words: int) -> Joint | None:
    """Lay a problem out, padded to so many words; None where there are too many patterns."""
    patterns, counts = row_patterns(problem)
    if len(patterns) == 1:  # rows all alike: a second pattern that none has
        patterns, counts = np.repeat(patterns, 2, axis=0), np.pad(counts, ((0, 0), (0, 1)))
    many = len(patterns)
    if many > MOST:
        return None
    fields = 4 if many <= 8 else 8
    sizes = counts.sum(axis=1)
    strata = len(sizes)
    n, padded = int(sizes.sum()), words * _BITS
    first = np.cumsum(sizes) - sizes
    remaining = np.zeros(padded, np.uint32)
    remaining[:n] = np.repeat(first + sizes, sizes) - np.arange(n)
    start = np.full(padded, strata, np.int32)
    start[first[sizes > 0]] = np.flatnonzero(sizes)
    need = np.zeros((strata + 1, many - 1), np.uint32)
    need[:strata] = np.cumsum(counts, axis=1)[:, :-1]
    step = _BITS // fields
    return Joint(  # pyright: ignore[reportArgumentType]
        remaining=remaining.reshape(-1, step),  # pyright: ignore[reportArgumentType]
        start=start.reshape(-1, step),  # pyright: ignore[reportArgumentType]
        need=need,  # pyright: ignore[reportArgumentType]
        coefficients=_coefficients(patterns),  # pyright: ignore[reportArgumentType]
        fields=fields,
        one_stratum=strata == 1,
    )


def _coefficients(patterns: NDArray[np.int8]) -> NDArray[np.uint32]:
    """Reed-Muller coefficients of each outcome as a function of the code."""
    many, outcomes = patterns.shape
    bits = (many - 1).bit_length()
    values = np.zeros((outcomes, 1 << bits), np.int8)
    values[:, :many] = patterns[::-1].T  # the last pattern has code 0
    for bit in range(bits):
        pairs = values.reshape(outcomes, -1, 2, 1 << bit)
        pairs[:, :, 1] ^= pairs[:, :, 0]
    return np.where(values, np.uint32(0xFFFF_FFFF), np.uint32(0)).astype(np.uint32)


def places(joint: Joint) -> NDArray[np.intp]:
    """The position at each bit of each word, in order: see :class:`Joint`."""
    steps, step = joint.remaining.shape
    positions = np.arange(steps * step).reshape(-1, joint.fields, step)
    return positions.transpose(0, 2, 1).ravel()


def walk(joint: Joint, keys: tuple[Array, Array], *, small: bool) -> Array:
    """Labels of all positions for each outcome: uint32, shape (M, W, lanes)."""
    codes = lax.optimization_barrier(_codes(joint, keys, small=small))
    steps, lanes = codes.shape
    codes = codes.reshape(steps // joint.fields, joint.fields, lanes)
    mask = _each_field(1, joint.fields)
    planes: list[Array] = []
    for bit in range((joint.coefficients.shape[1] - 1).bit_length()):
        plane = jnp.zeros_like(codes[:, 0])
        for s in range(joint.fields):
            plane = plane | (((codes[:, s] >> jnp.uint32(bit)) & mask) << jnp.uint32(s))
        planes.append(plane)
    planes = lax.optimization_barrier(planes)
    products = [jnp.full_like(planes[0], 0xFFFF_FFFF)]
    for plane in planes:
        products += [product & plane for product in products]
    labels = jnp.zeros((len(joint.coefficients), *planes[0].shape), jnp.uint32)
    for number, product in enumerate(products):
        labels = labels ^ (product[None] & joint.coefficients[:, number, None, None])
    return labels


def _each_field(value: int, fields: int) -> Array:
    return jnp.uint32(sum(value << place for place in range(0, _BITS, fields)))


def _codes(joint: Joint, keys: tuple[Array, Array], *, small: bool) -> Array:
    """The code of every position, in fields: uint32, shape (steps, lanes)."""
    counts, (steps, _) = joint.need.shape[1], joint.remaining.shape
    # Added to a field, they carry into its highest bit where the code says "below this count".
    reach = [
        _each_field((1 << joint.fields - 1) - (counts - c), joint.fields) for c in range(counts)
    ]
    highest = _each_field(1 << joint.fields - 1, joint.fields)
    make = _small_step if small else _large_step

    def step(carry: tuple[Array, Array], row: tuple[Array, Array, Array]) -> tuple[Any, Array]:
        left, last = carry
        index, remaining, start = row
        # Settled a step later than made: XLA would make the codes again for each count.
        below = (last[None] + jnp.stack(reach)[:, None]) & highest
        left = left - lax.population_count(below)
        added = None if joint.one_stratum else joint.need[start]
        code = make(joint, keys, index, remaining, left, added)
        if added is not None:
            left = left + added.sum(axis=0, dtype=jnp.uint32)[:, None]
        return (left, code), last

    none = jnp.zeros_like(keys[0])
    begin = jnp.zeros((counts, *none.shape), jnp.uint32)
    if joint.one_stratum:
        begin = begin + joint.need[0][:, None]
    rows = (lax.iota(jnp.uint32, steps), joint.remaining, joint.start)
    (_, last), codes = lax.scan(step, (begin, none), rows)
    # The first is the nothing before the walk.
    return jnp.concatenate([codes[1:], last[None]])


def _draws(joint: Joint, keys: tuple[Array, Array], index: Array) -> list[Array]:
    """The words of a step's positions."""
    pairs = joint.remaining.shape[1] // 2
    words: list[Array] = []
    for pair in range(pairs):
        counter = index * jnp.uint32(pairs) + jnp.uint32(pair)
        words += threefry2x32(*keys, jnp.uint32(streams.WORDS_TAG), counter)
    return words


def _large_step(
    joint: Joint,
    keys: tuple[Array, Array],
    index: Array,
    remaining: Array,
    left: Array,
    added: Array | None,
) -> Array:
    """Codes of a step's positions."""
    counts = list(left)
    code = jnp.zeros_like(keys[0])
    for position, word in enumerate(_draws(joint, keys, index)):
        draw = mulhi(word, remaining[position])
        for c, count in enumerate(counts):
            now = count if added is None else count + added[position, c]
            below = (draw < now).astype(jnp.uint32)
            counts[c] = now - below
            code = code + (below << jnp.uint32(joint.fields * position))
    return code


def _small_step(
    joint: Joint,
    keys: tuple[Array, Array],
    index: Array,
    remaining: Array,
    left: Array,
    added: Array | None,
) -> Array:
    """The same for fewer than 2**16 rows: a count in the upper half of a word, codes in the lower.

    A comparison and an addition do for each count: what is added takes one from the count and notes
    it in the position's field. The noted are summed over counts after each half of the step.
    """
    half = jnp.uint32(_HALF)
    counts = [count << half for count in left]
    noted: list[Array] = []
    for position, word in enumerate(_draws(joint, keys, index)):
        place = joint.fields * position % _HALF
        # mulhi before its last shift; what is noted never makes a count larger than it is.
        m = remaining[position]
        draw = (word >> half) * m + (((word & jnp.uint32(0xFFFF)) * m) >> half)
        draw = draw | jnp.uint32(0xFFFF)
        change = jnp.uint32((1 << 32) + (1 << place) - (1 << _HALF))
        for c, count in enumerate(counts):
            now = count if added is None else count + (added[position, c] << half)
            counts[c] = jnp.where(draw < now, now + change, now)
        if place + joint.fields == _HALF:
            total = counts[0]
            for count in counts[1:]:
                total = total + count
            noted.append(total)
    return (noted[0] & jnp.uint32(0xFFFF)) | ((noted[1] - noted[0]) << half)
