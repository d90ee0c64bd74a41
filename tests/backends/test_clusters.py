"""Clusters: whole patterns are exchanged, as often as enumeration says, and counted exactly."""

# The signatures of scipy are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from janus_backends.jax_backend import JaxBackend
from janus_backends.numpy_backend import NumpyBackend
from janus_jax import layout
from janus_jax.interface import Backend, Problem, Tables
from janus_jax.testing.conformance import CASES, Reference, assert_same

BACKENDS: dict[str, type[Any]] = {"numpy": NumpyBackend, "jax": JaxBackend}
# Seeds are fixed: a test passes or fails for good, and a right draw fails with this probability.
ALPHA = 1e-3


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    return BACKENDS[request.param]()


def problem_of(
    clusters: list[int], errors: list[int], strata: list[int] | None = None, seed: int = 3
) -> Problem:
    n = len(errors)
    codes = np.array(strata or [0] * n, np.int32)
    return Problem(
        memberships=np.arange(n)[None] % 2 == 0,
        errors=np.array(errors, np.bool_),
        strata=codes,
        pool=np.zeros((0, int(codes.max()) + 1), np.int32),
        seed=seed,
        clusters=np.array(clusters, np.int32),
    )


# Two strata; pairs 11, 10, 01, 10 and singles 1, 0 in one, and in the other triples and a loner.
TINY = problem_of(
    clusters=[7, 2, 7, 4, 9, 4, 2, 9, 5, 6, 30, 31, 30, 31, 30, 31, 40, 40],
    errors=[1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0],
    strata=[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
)


def exchanges(problem: Problem) -> set[bytes]:
    """Every labelling, by the definition: all permutations of each block's patterns."""
    reference = Reference(problem)
    found = {problem.errors.astype(np.int8).tobytes()}
    for block in reference.exchanged():
        patterns = [reference.pattern(unit) for unit in block]
        more: set[bytes] = set()
        for before, deal in itertools.product(found, set(itertools.permutations(patterns))):
            labels = np.frombuffer(before, np.int8).copy()
            for unit, pattern in zip(block, deal, strict=True):
                labels[unit] = pattern
            more.add(labels.tobytes())
        found = more
    return found


def test_every_exchange_is_equally_likely(backend: Backend) -> None:
    every = exchanges(TINY)
    assert len(every) == 12 * 2 * 2
    shuffles = backend.shuffles(backend.prepare(TINY, 4096), np.arange(24_000, dtype=np.uint32))
    seen = Counter(map(bytes, shuffles))
    assert set(seen) == every
    assert chisquare(list(seen.values())).pvalue > ALPHA


def test_counts_and_tally_follow_the_shuffles(backend: Backend) -> None:
    ids = np.arange(50, dtype=np.uint32)
    state = backend.prepare(TINY, 16)
    shuffles = backend.shuffles(state, ids).astype(np.int32)
    counts = backend.counts(state, ids)
    np.testing.assert_array_equal(counts, shuffles @ TINY.memberships.T.astype(np.int32))


def draw_problem(draw: np.random.Generator, units: int, descriptors: int) -> Problem:
    sizes = draw.integers(1, 5, units)
    strata = draw.integers(0, 2, units)
    clusters = np.repeat(draw.permutation(units), sizes).astype(np.int32)
    n = len(clusters)
    mixed = draw.permutation(n)
    return Problem(
        memberships=draw.random((descriptors, n)) < 0.4,
        errors=draw.random(n) < draw.random(),
        strata=np.repeat(strata, sizes).astype(np.int32)[mixed],
        pool=np.zeros((0, 2), np.int32),
        seed=int(draw.integers(0, 2**64, dtype=np.uint64)),
        clusters=clusters[mixed],
    )


@settings(max_examples=4, deadline=None, derandomize=True)
@given(entropy=st.integers(0, 2**32))
def test_numpy_and_jax_give_the_same_integers(entropy: int) -> None:
    draw = np.random.default_rng(entropy)
    problem = draw_problem(draw, units=90, descriptors=6)
    n = len(problem.errors)
    rank = draw.integers(0, 7, (6, n + 1)).astype(np.int32)
    tables = Tables(rank, draw.integers(1, 7, 6).astype(np.int32), 6)
    ids = draw.integers(0, 2**32, 40, np.uint32)
    left, right = NumpyBackend(), JaxBackend()
    first, second = left.prepare(problem, 64), right.prepare(problem, 33)
    np.testing.assert_array_equal(left.shuffles(first, ids), right.shuffles(second, ids))
    assert_same(left.tally(first, ids, tables), right.tally(second, ids, tables))


# The layout


@pytest.mark.parametrize("case", [name for name, p in CASES.items() if p.clusters is not None])
def test_the_blocks_are_those_of_the_definition(case: str) -> None:
    problem, reference = CASES[case], Reference(CASES[case])
    blocks = layout.blocks(problem)
    assert [block.rows.tolist() for block in blocks] == reference.exchanged()
    for block, units in zip(blocks, reference.exchanged(), strict=True):
        patterns = Counter(reference.pattern(unit) for unit in units)
        dealt = dict(zip(map(tuple, block.patterns.tolist()), block.counts.tolist(), strict=True))
        assert dealt == patterns
        assert list(dealt) == sorted(patterns, reverse=True)


def test_blocks_of_rows_are_strata() -> None:
    problem = CASES["strata"]
    blocks = layout.blocks(problem)
    assert [len(block.rows) for block in blocks] == [9, 1, 4, 9]
    categories = [zip(b.patterns[:, 0].tolist(), b.counts.tolist(), strict=True) for b in blocks]
    assert [dict(pairs) for pairs in categories] == [
        {1: 4, 0: 5}, {1: 1}, {1: 2, 0: 2}, {1: 3, 0: 6}
    ]  # fmt: skip


def labellings(problem: Problem) -> list[bytes]:
    parts: list[NDArray[np.int8]] = list(layout.every_labelling(problem))
    assert all(part.dtype == np.int8 for part in parts)
    return [row.tobytes() for part in parts for row in part]


@pytest.mark.parametrize("cells", [1, 40, 1 << 22])
def test_every_labelling_once(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "_CELLS", cells)
    every = labellings(TINY)
    assert len(every) == len(set(every)) == layout.arrangements(TINY, 48)
    assert set(every) == exchanges(TINY)
    assert layout.arrangements(TINY, 47) is None
    rows = CASES["clusters of one row"]
    assert layout.arrangements(rows, 10**9) == 126 * 6 * 84


def test_a_lone_size_does_not_move() -> None:
    # Stratum 1 has two triples and one pair; stratum 0 pairs and singles.
    assert layout.movable_rows(TINY) == 8 + 2 + 6
    assert layout.movable_rows(CASES["one cluster"]) == 0
    assert labellings(CASES["one cluster"]) == [CASES["one cluster"].errors.tobytes()]


def test_arrangements_gives_up_early() -> None:
    n = 1_000_000
    problem = problem_of(list(range(n)), [0, 1] * (n // 2))
    assert layout.arrangements(problem, 10**15) is None


def test_clusters_that_differ_only_in_stratum_order_take_words_by_stratum(
    backend: Backend,
) -> None:
    # The same rows with strata swapped: other words, so other shuffles, but the same blocks.
    problem = problem_of([0, 0, 1, 1, 2, 2, 3, 3], [1, 0, 0, 0, 1, 1, 0, 1], [1] * 4 + [0] * 4)
    ids = np.arange(30, dtype=np.uint32)
    reference = Reference(problem)
    shuffles = backend.shuffles(backend.prepare(problem, 8), ids)
    np.testing.assert_array_equal(shuffles, [reference.shuffle(i) for i in ids.tolist()])
