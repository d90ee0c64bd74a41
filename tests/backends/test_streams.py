"""The random words: published vectors, an independent cipher in Python integers, pinned values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from janus_jax import streams

word = st.integers(0, 2**32 - 1)
MASK = 2**32 - 1


def cipher(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    """Threefry-2x32-20 from the paper (its section 3), in Python integers."""
    schedule = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x = (counter[0] + key[0]) & MASK
    y = (counter[1] + key[1]) & MASK
    for step in range(20):
        distance = (13, 15, 26, 6, 17, 29, 16, 24)[step % 8]
        x = (x + y) & MASK
        y = ((y << distance | y >> (32 - distance)) & MASK) ^ x
        if step % 4 == 3:
            injection = step // 4 + 1
            x = (x + schedule[injection % 3]) & MASK
            y = (y + schedule[(injection + 1) % 3] + injection) & MASK
    return x, y


# From kat_vectors of Random123, the reference implementation.
PUBLISHED = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((MASK, MASK), (MASK, MASK), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "counter", "expected"), PUBLISHED)
def test_published_vectors(
    key: tuple[int, int], counter: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert tuple(int(part) for part in streams.threefry2x32(*key, *counter)) == expected
    assert cipher(key, counter) == expected


@given(word, word, st.lists(st.tuples(word, word), min_size=1, max_size=4))
def test_threefry_over_arrays_is_the_cipher(
    k0: int, k1: int, counters: list[tuple[int, int]]
) -> None:
    x0, x1 = np.array(counters, np.uint32).T
    a, b = streams.threefry2x32(k0, k1, x0, x1)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == [cipher((k0, k1), c) for c in counters]


def test_threefry_broadcasts_keys_against_counters_and_writes_where_told() -> None:
    keys = np.array([1, 2, 3], np.uint32)
    counters = np.array([[7], [8]], np.uint32)
    out = (np.empty((2, 3), np.uint32), np.empty((2, 3), np.uint32))
    result = streams.threefry2x32(
        keys, 9, 1, counters, out=out, scratch=np.empty((2, 3), np.uint32)
    )
    assert result[0] is out[0]
    assert result[1] is out[1]
    expected = [[cipher((k, 9), (1, c)) for k in (1, 2, 3)] for c in (7, 8)]
    np.testing.assert_array_equal(np.stack(out, axis=-1), expected)
    np.testing.assert_array_equal(keys, [1, 2, 3])
    np.testing.assert_array_equal(counters, [[7], [8]])


@given(st.integers(0, 2**64 - 1))
def test_all_64_bits_of_a_seed_are_its_key(seed: int) -> None:
    upper, lower = streams.key_of_seed(seed)
    assert int(upper) << 32 | int(lower) == seed


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match=r"use an integer from 0 to 2\*\*64 - 1"):
        streams.key_of_seed(seed)


@given(word, word, word)
def test_fold_in_is_the_cipher_of_tag_0(k0: int, k1: int, i: int) -> None:
    child = streams.fold_in((np.asarray(k0, np.uint32), np.asarray(k1, np.uint32)), i)
    assert tuple(int(part) for part in child) == cipher((k0, k1), (0, i))


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_words_are_the_cipher_of_tag_1_in_pairs(count: int) -> None:
    pairs = [cipher((11, 12), (1, m)) for m in range(3)]
    expected = [half for pair in pairs for half in pair][:count]
    key = (np.asarray(11, np.uint32), np.asarray(12, np.uint32))
    assert streams.words(key, count).tolist() == expected


def test_words_of_a_vector_of_keys_are_lanes_last() -> None:
    keys = streams.fold_in(streams.stream_key(3, streams.REPLAYS), np.arange(5, dtype=np.uint32))
    block = streams.words(keys, 7)
    assert block.shape == (7, 5)
    for lane in range(5):
        alone = streams.words((keys[0][lane], keys[1][lane]), 7)
        np.testing.assert_array_equal(block[:, lane], alone)


@pytest.mark.parametrize(("lanes", "count"), [(3, 40_001), (20_000, 5), (9_000, 8)])
def test_blocks_of_words_join_to_the_words(lanes: int, count: int) -> None:
    keys = streams.fold_in(streams.stream_key(3, streams.DECOYS), np.arange(lanes, dtype=np.uint32))
    last = (count - 1, lanes - 1)
    pair = cipher((int(keys[0][-1]), int(keys[1][-1])), (1, last[0] // 2))
    assert int(streams.words(keys, count)[last]) == pair[last[0] % 2]
    starts = [(start, len(block)) for start, block in streams.word_blocks(keys, count)]
    assert len(starts) > 1
    assert [start for start, _ in starts] == np.cumsum([0, *(n for _, n in starts[:-1])]).tolist()


@given(word, word)
def test_mulhi_is_the_upper_half_of_the_product(w: int, m: int) -> None:
    assert streams.mulhi(np.array([w], np.uint32), m).tolist() == [w * m >> 32]


def test_streams_differ() -> None:
    numbers = (
        streams.PERMUTATIONS,
        streams.DECOYS,
        streams.SOURCES,
        streams.STABILITY,
        streams.REPLAYS,
    )
    assert numbers == (1, 2, 3, 4, 5)
    keys = {tuple(int(part) for part in streams.stream_key(0, stream)) for stream in numbers}
    assert len(keys) == 5


def test_pinned_words() -> None:
    # These decide every result ever published: a change here changes them all.
    key = streams.fold_in(streams.stream_key(20260524, streams.PERMUTATIONS), 7)
    assert [int(part) for part in key] == [0x473C77BE, 0x7165B4FC]
    assert streams.words(key, 4).tolist() == [0xB100F576, 0xEF54D2FB, 0xD29ACEE1, 0x6FA00FF7]
