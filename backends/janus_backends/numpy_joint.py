"""Several outcomes of single rows by one shuffle in NumPy: a word of positions at a time.

A row gets the first pattern whose cumulative remaining count exceeds its draw, so for each of the
C - 1 counts that can differ from the whole there is one bit: whether the draw is below it. Words of
these bits are made for thousands of permutations at once; an outcome's labels are then exclusive
ors of them, one for each place in the list of patterns where the outcome changes, and counts are
population counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from janus_jax import streams
from janus_jax.interface import Problem
from janus_jax.layout import row_patterns

Words = NDArray[Any]
"""uint16 or uint32: as many positions as bits, the first in the highest."""

# Descriptors x lanes counted together: what stays in cache.
_CELLS: Final = 1 << 16
# Words until a sum of population counts of bytes could pass 255.
_SUMMED: Final = 31


@dataclass(frozen=True, slots=True)
class Joint:
    """How several outcomes of n rows move together.

    Attributes
    ----------
    members
        Words, shape (W, L): memberships by position.
    remaining
        uint64, shape (n, 1): rows left in the stratum, this one included.
    starts
        For the first position of each stratum that has rows, its number.
    cumulative
        Words, shape (S, C - 1, 1): rows with one of the first patterns, the first two, ...
    changes
        For each outcome the places in the list of patterns after which it changes.
    last
        For each outcome, whether the last pattern has it.
    """

    members: Words
    remaining: NDArray[np.uint64]
    starts: dict[int, int]
    cumulative: Words
    changes: list[NDArray[np.intp]]
    last: list[bool]


def make_joint(problem: Problem, rows: NDArray[np.intp]) -> Joint:
    """Lay out a problem whose rows stand in the order ``rows``, stratum by stratum."""
    patterns, counts = row_patterns(problem)
    sizes = counts.sum(axis=1)
    # Differences of two counts must leave the highest bit for their sign.
    kind = np.uint16 if sizes.max() < 1 << 15 else np.uint32
    size = np.dtype(kind).itemsize
    packed = np.packbits(problem.memberships[:, rows], axis=1)
    packed = np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % size))))
    first = np.cumsum(sizes) - sizes
    codes = problem.strata[rows]
    left = (first + sizes)[codes] - np.arange(len(rows))
    return Joint(
        members=np.ascontiguousarray(packed.view(f">u{size}").astype(kind).T),
        remaining=left.astype(np.uint64)[:, None],
        starts={int(first[s]): s for s in np.flatnonzero(sizes).tolist()},
        cumulative=np.cumsum(counts, axis=1)[:, :-1, None].astype(kind),
        changes=[np.flatnonzero(np.diff(outcome)) for outcome in patterns.T],
        last=[bool(label) for label in patterns[-1]],
    )


def bytes_of(problem: Problem) -> int:
    """Bytes that one permutation in flight costs :func:`counts`: see the backend."""
    patterns, per_stratum = row_patterns(problem)
    many, outcomes = patterns.shape
    size = 2 if per_stratum.sum(axis=1).max() < 1 << 15 else 4
    descriptors = len(problem.memberships)
    return (4 * many + outcomes) * size + outcomes * descriptors * (4 + size) + 8 * descriptors


def counts(joint: Joint, keys: streams.Key) -> NDArray[np.int32]:
    """Labels of each outcome on each descriptor: shape (M, L, lanes)."""
    lanes, descriptors = keys[0].size, joint.members.shape[1]
    size = joint.members.itemsize
    total = np.zeros((len(joint.last), descriptors, lanes), np.int32)
    # Bytes are counted apart and added up before one of them could be too many.
    partial = np.zeros((*total.shape[:2], lanes * size), np.uint8)
    step = max(1, _CELLS // max(lanes, 1))
    both = np.empty((step, lanes), joint.members.dtype)
    ones = np.empty((step, lanes * size), np.uint8)
    last = len(joint.members) - 1
    for word, bits in enumerate(_words(joint, keys)):
        for outcome, sums in enumerate(partial):
            labels = _labels(joint, bits, outcome)
            for g in range(0, descriptors, step):
                part = joint.members[word, g : g + step, None]
                here = both[: len(part)]
                np.bitwise_and(part, labels, out=here)
                np.bitwise_count(here.view(np.uint8), out=ones[: len(part)])
                np.add(sums[g : g + step], ones[: len(part)], out=sums[g : g + step])
        if word == last or word % _SUMMED == _SUMMED - 1:
            for sums, counted in zip(total, partial, strict=True):
                sums += counted.reshape(*sums.shape, size).sum(axis=-1, dtype=np.int32)
            partial[:] = 0
    return total


def _labels(joint: Joint, bits: Words, outcome: int) -> Words:
    """One outcome's labels of a word of positions: shape (lanes,)."""
    labels = np.bitwise_xor.reduce(bits[joint.changes[outcome]], axis=0)
    return np.invert(labels) if joint.last[outcome] else labels


def _words(joint: Joint, keys: streams.Key) -> Iterator[Words]:
    """Yield, a word of positions at a time, whether draws are below each count: (C - 1, lanes).

    Each overwrites the last. What is beyond the last position belongs to no descriptor.
    """
    n, lanes = len(joint.remaining), keys[0].size
    kind = joint.cumulative.dtype
    width = 8 * kind.itemsize
    sign = kind.type(width - 1)
    left, below, bits = np.zeros((3, joint.cumulative.shape[1], lanes), kind)
    for start, block in streams.word_blocks(keys, n):
        draws = streams.mulhi(block, joint.remaining[start : start + len(block)]).astype(kind)
        for position, draw in enumerate(draws, start):
            if position in joint.starts:
                left[:] = joint.cumulative[joint.starts[position]]
            # The sign of the difference: far quicker than to compare, and to subtract the result.
            np.subtract(draw, left, out=below)
            np.right_shift(below, sign, out=below)
            np.subtract(left, below, out=left)
            np.add(bits, bits, out=bits)
            np.bitwise_or(bits, below, out=bits)
            if position % width == width - 1:
                yield bits
    if n % width:
        np.left_shift(bits, kind.type(width - n % width), out=bits)
        yield bits
