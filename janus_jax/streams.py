"""The random words that every backend must reproduce, bit for bit.

Words come from Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random
numbers: as easy as 1, 2, 3", SC 2011), defined here in full so that no library's change of mind can
change a result. It is a function of a key and a counter and nothing else: word ``j`` of permutation
``i`` depends on the seed, the stream, ``i`` and ``j``, never on a batch, a device or a process.

::

    seed --key_of_seed--> key --fold_in(stream)--> stream key --fold_in(i)--> key of i --> words

Each step is one call of the block cipher. The first half of the counter is a domain tag that keeps
the steps apart: 0 makes keys (``fold_in``), 1 makes words (``words``), so no word of a key is ever
half of a key made from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Words = NDArray[np.uint32]
Key = tuple[Words, Words]
"""Two halves of a key; arrays of one shape are a vector of keys."""

PERMUTATIONS: Final = 1
"""Shuffles of the errors, shared by all descriptors."""
DECOYS: Final = 2
"""Shuffles of decoy labels."""
SOURCES: Final = 3
"""Which descriptor a decoy is made from."""
STABILITY: Final = 4
"""Redraws of the decoys for the stability shown beside a verdict."""
REPLAYS: Final = 5
"""Replays of the procedure under the complete null."""
POWER: Final = 6
"""Repetitions of a power simulation."""

KEYS_TAG: Final = 0
"""First half of the counter when a key is made."""
WORDS_TAG: Final = 1
"""First half of the counter when words are made."""

PARITY: Final = 0x1BD11BDA
"""The constant that closes Threefry's key schedule."""
ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
"""Rotation distances: even groups of four rounds use the first row, odd ones the second."""
GROUPS: Final = 5
"""Groups of four rounds: 20 rounds."""

# About this many elements of three uint32 arrays stay in a core's second-level cache.
_BLOCK: Final = 1 << 14


def threefry2x32(
    k0: ArrayLike,
    k1: ArrayLike,
    x0: ArrayLike,
    x1: ArrayLike,
    *,
    out: tuple[Words, Words] | None = None,
    scratch: Words | None = None,
) -> tuple[Words, Words]:
    """Encrypt the counter ``(x0, x1)`` under the key ``(k0, k1)``; the arguments broadcast.

    Parameters
    ----------
    k0, k1, x0, x1
        uint32 arrays, or integers from 0 to 2**32 - 1.
    out
        Two arrays of the broadcast shape that receive the result (made when not given).
    scratch
        An array of the same shape that may be overwritten (made when not given).

    Returns
    -------
    tuple of uint32 arrays
        The two output words.

    Notes
    -----
    Everything after the first addition happens in place: three arrays are live whatever the shape.
    Callers with much to do pass ``out`` and ``scratch`` of a size that a cache can hold.
    """
    key0, key1, left, right = (np.asarray(part, dtype=np.uint32) for part in (k0, k1, x0, x1))
    if out is None:
        shape = np.broadcast_shapes(key0.shape, key1.shape, left.shape, right.shape)
        out = (np.empty(shape, np.uint32), np.empty(shape, np.uint32))
    a, b = out
    spare = np.empty_like(b) if scratch is None else scratch
    schedule = (key0, key1, np.bitwise_xor(np.bitwise_xor(key0, key1), np.uint32(PARITY)))
    np.add(left, schedule[0], out=a)
    np.add(right, schedule[1], out=b)
    for group in range(GROUPS):
        for distance in ROTATIONS[group % 2]:
            np.add(a, b, out=a)
            np.right_shift(b, np.uint32(32 - distance), out=spare)
            np.left_shift(b, np.uint32(distance), out=b)
            np.bitwise_or(b, spare, out=b)
            np.bitwise_xor(a, b, out=b)
        np.add(a, schedule[(group + 1) % 3], out=a)
        np.add(b, np.add(schedule[(group + 2) % 3], np.uint32(group + 1)), out=b)
    return a, b


def key_of_seed(seed: int) -> Key:
    """Split a seed into a key: its upper and lower 32 bits.

    Parameters
    ----------
    seed
        0 to 2**64 - 1; all 64 bits count.

    Raises
    ------
    ValueError
        If the seed is out of range.
    """
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed {seed} is out of range: use an integer from 0 to 2**64 - 1")
    return np.asarray(seed >> 32, np.uint32), np.asarray(seed & 0xFFFF_FFFF, np.uint32)


def fold_in(key: Key, i: ArrayLike) -> Key:
    """Make the key of child ``i``: ``threefry2x32`` of the counter ``(0, i)`` under ``key``.

    Parameters
    ----------
    key
        One key, or a vector of them that broadcasts with ``i``.
    i
        0 to 2**32 - 1, or a uint32 array of such numbers.
    """
    return threefry2x32(*key, KEYS_TAG, i)


def stream_key(seed: int, stream: int) -> Key:
    """Make the key of one of the seed's streams, such as :data:`PERMUTATIONS`."""
    return fold_in(key_of_seed(seed), stream)


def word_blocks(key: Key, count: int) -> Iterator[tuple[int, Words]]:
    """Yield ``(start, block)``: words ``start``, ``start + 1``, ... of :func:`words`, in order.

    A block is small enough to stay in cache, holds an even number of words per key, save at the
    end, and is overwritten when the next one is asked for.
    """
    key0, key1 = key
    lanes = key0.shape
    width = max(1, key0.size)
    room = max(1, min(_BLOCK // width, (count + 1) // 2))
    block = np.empty((room, 2, *lanes), np.uint32)
    a, b, scratch = (np.empty((room, *lanes), np.uint32) for _ in range(3))
    counters = np.arange((count + 1) // 2, dtype=np.uint32).reshape(-1, *(1 for _ in lanes))
    for first in range(0, len(counters), room):
        part = counters[first : first + room]
        size = len(part)
        threefry2x32(key0, key1, WORDS_TAG, part, out=(a[:size], b[:size]), scratch=scratch[:size])
        block[:size, 0], block[:size, 1] = a[:size], b[:size]
        yield 2 * first, block[:size].reshape(2 * size, *lanes)[: count - 2 * first]


def words(key: Key, count: int) -> Words:
    """Draw the first ``count`` words of a key.

    Words ``2m`` and ``2m + 1`` are the two outputs for the counter ``(1, m)``.

    Parameters
    ----------
    key
        One key, or a vector of ``lanes`` keys.
    count
        How many words; at most 2**33.

    Returns
    -------
    uint32 array
        Shape (count,) for one key, (count, lanes) for a vector of keys.
    """
    result = np.empty((count, *key[0].shape), np.uint32)
    for start, block in word_blocks(key, count):
        result[start : start + len(block)] = block
    return result


def mulhi(words: Words, m: ArrayLike) -> Words:
    """Map words to 0..m-1: ``floor(word * m / 2**32)``, exactly.

    Parameters
    ----------
    words
        uint32 array.
    m
        0 to 2**32 - 1, or an array of such numbers that broadcasts with ``words``.

    Notes
    -----
    Over all words each result has probability ``1/m`` up to ``2**-32``.
    """
    product = words.astype(np.uint64)
    product = product * np.asarray(m, dtype=np.uint64)
    return (product >> np.uint64(32)).astype(np.uint32)
