"""Several outcomes share one shuffle: as the definition says, with the right distribution."""

# The signatures of scipy are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from janus_backends import jax_joint
from janus_backends.jax_backend import JaxBackend
from janus_backends.numpy_backend import NumpyBackend
from janus_jax import joint, layout
from janus_jax.interface import Problem, Tables, Tally, tally_counts
from janus_jax.testing.conformance import CASES, SEVERAL, assert_same

pytestmark = pytest.mark.long  # the conformance suite runs on the wheel

BACKENDS: dict[str, type[Any]] = {"numpy": NumpyBackend, "jax": JaxBackend}
# Seeds are fixed: a test passes or fails for good, and a right draw fails with this probability.
ALPHA = 1e-3


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Any:
    return BACKENDS[request.param]()


def virtual_rows(problem: Problem) -> Problem:
    """The definition, a row and an outcome at a time."""
    assert problem.others is not None
    outcomes = [problem.errors.tolist(), *problem.others.tolist()]
    strata, errors, clusters = [], [], []
    members = [[] for _ in range(len(outcomes) * len(problem.memberships))]
    for row, stratum in enumerate(problem.strata.tolist()):
        for m, outcome in enumerate(outcomes):
            strata.append(stratum)
            errors.append(outcome[row])
            clusters.append(row if problem.clusters is None else int(problem.clusters[row]))
            for place, on in enumerate(members):
                which, g = divmod(place, len(problem.memberships))
                on.append(which == m and bool(problem.memberships[g, row]))
    return Problem(
        memberships=np.array(members, np.bool_),
        errors=np.array(errors, np.bool_),
        strata=np.array(strata, np.int32),
        pool=np.zeros((0, problem.pool.shape[1]), np.int32),
        seed=problem.seed,
        clusters=np.array(clusters, np.int32),
    )


@pytest.mark.parametrize("case", SEVERAL)
def test_stacked_is_the_definition(case: str) -> None:
    found, expected = joint.stacked(SEVERAL[case]), virtual_rows(SEVERAL[case])
    for name in ("memberships", "errors", "strata", "pool", "clusters"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert found.seed == expected.seed
    assert found.others is None


def test_outcomes_apart_and_together() -> None:
    problem = SEVERAL["strata"]
    outcomes = joint.apart(problem)
    assert [outcome.others for outcome in outcomes] == [None] * 6
    np.testing.assert_array_equal(outcomes[2].errors, ~problem.errors)
    again = joint.together(outcomes)
    np.testing.assert_array_equal(again.errors, problem.errors)
    np.testing.assert_array_equal(again.others, problem.others)
    assert joint.together(outcomes[:1]).others is None
    assert joint.stacked(CASES["strata"]) is CASES["strata"]


KINDS = ("drawn", "equal", "complementary", "constant within strata")


def draw_problem(draw: np.random.Generator, n: int, others: int, clusters: bool) -> Problem:
    """Two strata; each outcome is of a kind of its own, drawn with the rest."""
    errors = draw.random(n) < draw.random()
    strata = draw.integers(0, 2, n).astype(np.int32)
    made = {
        "drawn": draw.random(n) < draw.random(),
        "equal": errors,
        "complementary": ~errors,
        "constant within strata": strata == draw.integers(0, 2),
    }
    units = strata * n + draw.integers(0, n // 3, n).astype(np.int32)
    return Problem(
        memberships=draw.random((6, n)) < 0.4,
        errors=errors,
        strata=strata,
        pool=np.zeros((0, 2), np.int32),
        seed=int(draw.integers(0, 2**64, dtype=np.uint64)),
        clusters=units.astype(np.int32) if clusters else None,
        others=np.array([made[kind] for kind in draw.choice(KINDS, others)], np.bool_),
    )


def draw_tables(draw: np.random.Generator, problem: Problem) -> list[Tables]:
    outcomes, (descriptors, n) = joint.apart(problem), problem.memberships.shape
    found: list[Tables] = []
    for _ in outcomes:
        levels = int(draw.integers(1, 9))
        rank = draw.integers(0, levels + 1, (descriptors, n + 1)).astype(np.int32)
        own = draw.integers(1, levels, descriptors, np.int32, endpoint=True)
        found.append(Tables(rank, own, levels))
    return found


def stacked_tallies(problem: Problem, ids: NDArray[np.uint32], tables: list[Tables]) -> list[Tally]:
    """What the definition gives, by the counts of one longer problem."""
    backend, stacked = NumpyBackend(), virtual_rows(problem)
    counts = np.split(backend.counts(backend.prepare(stacked, 64), ids), len(tables), axis=1)
    return [tally_counts(part, own) for part, own in zip(counts, tables, strict=True)]


def assert_all_same(left: list[Tally], right: list[Tally]) -> None:
    for one, other in zip(left, right, strict=True):
        assert_same(one, other)


# JAX compiles anew for each; how many outcomes there are and how rows hang together are unrelated.
@pytest.mark.parametrize(("others", "clusters"), [(1, False), (2, True), (3, False), (4, True)])
@settings(max_examples=4, deadline=None, derandomize=True)
@given(entropy=st.integers(0, 2**32))
def test_both_backends_give_the_integers_of_the_definition(
    others: int, clusters: bool, entropy: int
) -> None:
    draw = np.random.default_rng(entropy)
    problem = draw_problem(draw, 70, others, clusters)
    tables = draw_tables(draw, problem)
    ids = draw.integers(0, 2**32, 40, np.uint32)
    expected = stacked_tallies(problem, ids, tables)
    lanes = (7, 64)[others % 2]  # a kernel is compiled for each number of them
    for backend in (NumpyBackend(), JaxBackend()):
        assert_all_same(backend.tallies(backend.prepare(problem, lanes), ids, tables), expected)


@pytest.mark.parametrize(
    ("many", "fast"), [(2, True), (8, True), (9, True), (32, True), (33, False), (200, False)]
)
def test_any_number_of_patterns(many: int, fast: bool) -> None:
    """Whatever way a backend has for few of them, and for more."""
    draw = np.random.default_rng(many)
    n = 2 * many + 100
    codes = np.concatenate([np.arange(many), draw.integers(0, many, n - many)])
    bits = (draw.permutation(codes)[None] >> np.arange(8)[:, None]) % 2 == 1
    problem = replace(draw_problem(draw, n, 1, clusters=False), errors=bits[0], others=bits[1:])
    assert len(layout.row_patterns(problem)[0]) == many
    assert (jax_joint.make_joint(problem, -(-n // 32)) is not None) == fast
    tables, ids = draw_tables(draw, problem), np.arange(30, dtype=np.uint32)
    expected = stacked_tallies(problem, ids, tables)
    for backend in (NumpyBackend(), JaxBackend()):
        assert_all_same(backend.tallies(backend.prepare(problem, 16), ids, tables), expected)


def test_strata_too_large_for_half_words(backend: Any) -> None:
    """One of 2**15 rows and one of 2**16: a unit left is no longer told by 15, or 16, bits."""
    draw = np.random.default_rng(3)
    ids = np.array([0, 5, 2**32 - 1], np.uint32)
    for n in (1 << 15, (1 << 16) + 3):
        drawn = draw.random((3, n)) < 0.5
        problem = Problem(
            memberships=draw.random((2, n)) < 0.5,
            errors=drawn[0],
            strata=np.zeros(n, np.int32),
            pool=np.zeros((0, 1), np.int32),
            seed=8,
            others=drawn[1:],
        )
        rank = np.arange(n + 1, dtype=np.int32) // 64 % 7 + np.zeros((2, 1), np.int32)
        tables = [Tables(rank, np.array([3, 5], np.int32), 6)] * 3
        stacked = joint.stacked(problem)
        reference = NumpyBackend()
        counts = np.split(reference.counts(reference.prepare(stacked, 4), ids), 3, axis=1)
        expected = [tally_counts(part, tables[0]) for part in counts]
        assert_all_same(backend.tallies(backend.prepare(problem, 4), ids, tables), expected)


# Two strata of 5 and 4 rows, three outcomes: few enough labellings to count each.
TINY = Problem(
    # Each descriptor is one row, so the counts of a permutation are its labels.
    memberships=np.eye(9, dtype=np.bool_),
    errors=np.array([1, 1, 0, 0, 0, 1, 0, 0, 0], np.bool_),
    strata=np.array([0, 0, 0, 0, 0, 1, 1, 1, 1], np.int32),
    pool=np.zeros((0, 2), np.int32),
    seed=12,
    others=np.array([[1, 0, 1, 1, 0, 0, 0, 1, 1], [1, 0, 0, 0, 0, 1, 1, 0, 1]], np.bool_),
)


def labels(backend: Any, problem: Problem, ids: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Each outcome's label of each row in each permutation, shape (k, M, n), from tallies alone."""
    assert problem.others is not None
    n, outcomes = len(problem.errors), 1 + len(problem.others)
    # A descriptor of one row reaches its rank where the label is 1.
    rank = np.tile(np.array([0, 1] + [0] * (n - 1), np.int32), (n, 1))
    tables = [Tables(rank, np.ones(n, np.int32), 1)] * outcomes
    state = backend.prepare(problem, 1)
    each = [backend.tallies(state, ids[i : i + 1], tables) for i in range(len(ids))]
    return np.array([[tally.exceed for tally in tallies] for tallies in each])


def test_errors_in_common_stay_in_common(backend: Any) -> None:
    ids = np.arange(200, dtype=np.uint32)
    found = labels(backend, TINY, ids)
    assert TINY.others is not None
    outcomes = np.concatenate([TINY.errors[None], TINY.others]).astype(np.int64)
    for stratum in (0, 1):
        inside = TINY.strata == stratum
        expected = outcomes[:, inside] @ outcomes[:, inside].T
        moved = found[:, :, inside]
        together = np.einsum("kan,kbn->kab", moved, moved)
        assert (together == expected).all()
    assert len({row.tobytes() for row in found}) > 50
    # The errors move as they do alone.
    alone = backend.shuffles(backend.prepare(replace(TINY, others=None), 64), ids)
    np.testing.assert_array_equal(found[:, 0], alone)


@pytest.mark.parametrize("rows", [(0, 1, 5), (0, 2, 4, 6, 8), (3, 4, 5, 6, 7, 8), (7,)])
def test_each_outcome_is_shuffled_as_if_alone(backend: Any, rows: tuple[int, ...]) -> None:
    """The counts of each have the frequencies of its own labellings, every one listed."""
    on = np.isin(np.arange(9), rows)
    problem = replace(TINY, memberships=on[None])
    draws = 20_000
    # The rank is the count, so the histogram of maxima is that of counts.
    tables = Tables(np.arange(10, dtype=np.int32)[None], np.ones(1, np.int32), 9)
    state = backend.prepare(problem, 4096)
    tallies = backend.tallies(state, np.arange(draws, dtype=np.uint32), [tables] * 3)
    assert TINY.others is not None
    for outcome, tally in zip((TINY.errors, *TINY.others), tallies, strict=True):
        sets = [
            itertools.combinations(np.flatnonzero(inside).tolist(), int(outcome[inside].sum()))
            for inside in (TINY.strata == 0, TINY.strata == 1)
        ]
        every = Counter(sum(on[[*a, *b]].tolist()) for a, b in itertools.product(*sets))
        counts = sorted(every)
        assert not np.delete(tally.maxima, counts).any()
        share = draws / every.total()
        expected = [every[count] * share for count in counts]
        assert chisquare(tally.maxima[counts], expected).pvalue > ALPHA


@pytest.mark.parametrize(
    ("n", "descriptors", "clusters"), [(659, 16, 0), (659, 90, 0), (300, 16, 2)]
)
def test_the_stated_memory_is_what_numpy_takes(n: int, descriptors: int, clusters: int) -> None:
    draw, lanes = np.random.default_rng(2), 4096
    problem = Problem(
        memberships=draw.random((descriptors, n)) < 0.4,
        errors=draw.random(n) < 0.4,
        strata=np.zeros(n, np.int32),
        pool=np.zeros((0, 1), np.int32),
        seed=1,
        clusters=np.arange(n, dtype=np.int32) // clusters if clusters else None,
        others=draw.random((2, n)) < 0.4,
    )
    backend, tables = NumpyBackend(), draw_tables(draw, problem)
    state = backend.prepare(problem, lanes)
    ids = np.arange(lanes, dtype=np.uint32)
    tracemalloc.start()
    backend.tallies(state, ids, tables)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    stated = backend.bytes_per_permutation(problem)
    # Beside what grows with the lanes there are the words of a block, about a megabyte.
    assert (peak - (1 << 20)) / lanes <= stated <= 3 * peak / lanes
