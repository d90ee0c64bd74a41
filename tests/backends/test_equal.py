"""The backends agree bit for bit, and what they draw has the right distribution."""

# The signatures of scipy are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import itertools
from collections import Counter
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare, hypergeom

from janus_backends.jax_backend import JaxBackend
from janus_backends.numpy_backend import NumpyBackend
from janus_jax.interface import Backend, Ids, Problem, Tables

BACKENDS: dict[str, type[Any]] = {"numpy": NumpyBackend, "jax": JaxBackend}
# Seeds are fixed: a test passes or fails for good, and a right draw fails with this probability.
ALPHA = 1e-3


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    return BACKENDS[request.param]()


def problem_of(
    draw: np.random.Generator, n: int, descriptors: int, strata: int, sources: int
) -> Problem:
    codes = draw.integers(0, strata, n).astype(np.int32)
    sizes = np.bincount(codes, minlength=strata)
    return Problem(
        memberships=draw.random((descriptors, n)) < draw.random((descriptors, 1)),
        errors=draw.random(n) < draw.random(),
        strata=codes,
        pool=draw.integers(0, sizes + 1, (sources, strata)).astype(np.int32),
        seed=int(draw.integers(0, 2**64, dtype=np.uint64)),
    )


def tables_of(draw: np.random.Generator, problem: Problem, levels: int) -> Tables:
    descriptors, n = problem.memberships.shape
    rank = draw.integers(0, levels + 1, (descriptors, n + 1)).astype(np.int32)
    return Tables(rank, draw.integers(1, levels, descriptors, np.int32, endpoint=True), levels)


def results(
    backend: Backend, problem: Problem, lanes: int, ids: Ids, tables: Tables
) -> dict[str, NDArray[Any]]:
    state = backend.prepare(problem, lanes)
    tally = backend.tally(state, ids, tables)
    sources, decoys = backend.decoys(state, ids)
    return {
        "shuffles": backend.shuffles(state, ids),
        "counts": backend.counts(state, ids),
        "sources": sources,
        "decoys": decoys,
        "maxima": tally.maxima,
        "exceed": tally.exceed,
        "step_down": tally.step_down,
        "total": tally.total,
    }


# A new shape compiles four kernels, so the shapes are few and everything else is drawn.
SHAPES = [(30, 4, 3, 5, 9), (517, 33, 1, 2, 64), (1300, 70, 5, 40, 128)]


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=6, deadline=None, derandomize=True)
@given(entropy=st.integers(0, 2**32), most=st.sampled_from([300, 2**32 - 1]))
def test_numpy_and_jax_give_the_same_integers(
    shape: tuple[int, int, int, int, int], entropy: int, most: int
) -> None:
    n, descriptors, strata, sources, lanes = shape
    draw = np.random.default_rng(entropy)
    problem = problem_of(draw, n, descriptors, strata, sources)
    tables = tables_of(draw, problem, levels=descriptors)
    ids = draw.integers(0, most, 3 * lanes // 2, np.uint32, endpoint=True)
    left = results(NumpyBackend(), problem, lanes, ids, tables)
    right = results(JaxBackend(), problem, lanes + 1, ids, tables)
    for name, array in left.items():
        np.testing.assert_array_equal(array, right[name], err_msg=name)
        assert array.dtype == right[name].dtype


def plain(n: int, wrong: int, seed: int, **parts: Any) -> Problem:
    defaults: dict[str, Any] = {
        "memberships": np.ones((1, n), np.bool_),
        "errors": np.arange(n) < wrong,
        "strata": np.zeros(n, np.int32),
        "pool": np.zeros((0, 1), np.int32),
    }
    return Problem(**(defaults | parts), seed=seed)


def test_a_pinned_shuffle(backend: Backend) -> None:
    # It decides every result ever published: a change here changes them all.
    strata = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0], np.int32)
    problem = plain(12, 5, 20260524, strata=strata, pool=np.zeros((0, 2), np.int32))
    state = backend.prepare(problem, 2)
    shuffles = backend.shuffles(state, np.array([0, 1, 499_998], np.uint32))
    assert ["".join(map(str, row)) for row in shuffles.tolist()] == [
        "011000001101",
        "010110100001",
        "101111000000",
    ]


def test_seeds_that_agree_in_32_bits_differ(backend: Backend) -> None:
    ids = np.arange(4, dtype=np.uint32)
    shuffles = [
        backend.shuffles(backend.prepare(plain(60, 30, seed), 4), ids)
        for seed in (1, 2**32 + 1, 2**63 + 1)
    ]
    for left, right in itertools.combinations(shuffles, 2):
        assert (left != right).any(axis=1).all()


def test_every_set_of_errors_is_equally_likely(backend: Backend) -> None:
    draws = 56_000
    state = backend.prepare(plain(8, 3, seed=1), 4096)
    shuffles = backend.shuffles(state, np.arange(draws, dtype=np.uint32))
    seen = Counter(tuple(np.flatnonzero(row).tolist()) for row in shuffles)
    sets = list(itertools.combinations(range(8), 3))
    assert set(seen) == set(sets)
    assert chisquare([seen[chosen] for chosen in sets]).pvalue > ALPHA


def test_every_pair_of_sets_in_two_strata_is_equally_likely(backend: Backend) -> None:
    strata = np.array([0, 1, 0, 1, 0, 1, 1], np.int32)
    errors = np.array([1, 1, 0, 0, 0, 0, 1], np.bool_)
    problem = plain(7, 0, 5, errors=errors, strata=strata, pool=np.zeros((0, 2), np.int32))
    state = backend.prepare(problem, 4096)
    seen = Counter(map(bytes, backend.shuffles(state, np.arange(18_000, dtype=np.uint32))))
    assert len(seen) == comb(3, 1) * comb(4, 2)
    assert chisquare(list(seen.values())).pvalue > ALPHA


def test_consecutive_permutations_are_independent(backend: Backend) -> None:
    state = backend.prepare(plain(4, 2, seed=3), 4096)
    shuffles = backend.shuffles(state, np.arange(36_001, dtype=np.uint32))
    seen = Counter(zip(map(bytes, shuffles[:-1]), map(bytes, shuffles[1:]), strict=True))
    assert len(seen) == comb(4, 2) ** 2
    assert chisquare(list(seen.values())).pvalue > ALPHA


def test_counts_are_hypergeometric(backend: Backend) -> None:
    n, errors, on = 40, 13, 17
    problem = plain(n, errors, 9, memberships=np.arange(n)[None] >= n - on)
    ids = np.arange(30_000, dtype=np.uint32)
    counts = backend.counts(backend.prepare(problem, 4096), ids)[:, 0]
    assert_hypergeometric(counts, n, errors, on)


def test_decoys_have_uniform_sources_and_hypergeometric_counts(backend: Backend) -> None:
    n, errors, draws = 40, 13, 40_000
    pool = np.array([[5], [11], [20], [33], [40], [0], [11]], np.int32)
    state = backend.prepare(plain(n, errors, 11, pool=pool), 4096)
    sources, counts = backend.decoys(state, np.arange(draws, dtype=np.uint32))
    assert chisquare(np.bincount(sources, minlength=len(pool))).pvalue > ALPHA
    for source, (on,) in enumerate(pool.tolist()):
        assert_hypergeometric(counts[sources == source], n, errors, on)


def test_decoys_keep_the_strata_of_their_source(backend: Backend) -> None:
    # Two of three errors lie in stratum 0, where the only source is on for one example of four.
    strata = np.repeat(np.array([0, 1], np.int32), [4, 6])
    errors = np.array([1, 1, 0, 0, 1, 0, 0, 0, 0, 0], np.bool_)
    problem = plain(10, 0, 2, errors=errors, strata=strata, pool=np.array([[1, 3]], np.int32))
    _, counts = backend.decoys(backend.prepare(problem, 4096), np.arange(20_000, dtype=np.uint32))
    first, second = hypergeom(4, 2, 1).pmf([0, 1]), hypergeom(6, 1, 3).pmf([0, 1])
    expected = np.convolve(first, second) * len(counts)
    assert chisquare(np.bincount(counts, minlength=3), expected).pvalue > ALPHA


def assert_hypergeometric(counts: NDArray[np.int32], n: int, errors: int, on: int) -> None:
    """Chi-square of counts against the law, tails with fewer than five expected joined."""
    support = np.arange(max(0, on + errors - n), min(on, errors) + 1)
    assert set(np.unique(counts)) <= set(support)
    if len(support) == 1:
        return
    expected = hypergeom(n, errors, on).pmf(support) * len(counts)
    inner = np.flatnonzero(expected >= 5)
    cell = np.clip(np.arange(len(support)), inner[0], inner[-1]) - inner[0]
    observed = np.bincount(cell[counts - support[0]], minlength=cell[-1] + 1)
    joined = np.bincount(cell, weights=expected)
    assert chisquare(observed, joined * observed.sum() / joined.sum()).pvalue > ALPHA
