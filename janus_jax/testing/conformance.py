"""The laws of :mod:`janus_jax.interface` as tests, against a slow and obvious reference.

The reference works one permutation and one example at a time, in Python integers, and shares
nothing with the backends but the random words of :mod:`janus_jax.streams`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from janus_jax import joint, streams
from janus_jax.decide import Decided, Lookup, Rules, decide
from janus_jax.interface import (
    Backend,
    DecidesReplays,
    Description,
    Ids,
    Problem,
    SharesShuffles,
    Tables,
    Tally,
    tally_counts,
)

# Out of order, with gaps, a repeat, and both ends of the range; more than one batch of LANES.
IDS: Final[Ids] = np.array(
    [3, 0, 1, 2, 4_000_000_000, 17, 5, 2**32 - 1, 2**31, 6, 3, 2**31 - 1], np.uint32
)
LANES: Final = 7


class Reference:
    """What the integers are, computed the long way."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        strata = range(problem.pool.shape[1])
        codes = problem.strata.tolist()
        self.blocks = [[row for row, code in enumerate(codes) if code == s] for s in strata]
        self.need = [sum(bool(problem.errors[row]) for row in block) for block in self.blocks]

    def _words(self, stream: int, i: int, count: int) -> list[int]:
        key = streams.fold_in(streams.stream_key(self.problem.seed, stream), i)
        return [int(word) for word in streams.words(key, count)]

    def _labels(self, stream: int, i: int, need: Sequence[int]) -> list[int]:
        labels = [0] * len(self.problem.errors)
        words = iter(self._words(stream, i, len(labels)))
        for block, wanted in zip(self.blocks, need, strict=True):
            left = wanted
            for place, row in enumerate(block):
                labels[row] = int(next(words) * (len(block) - place) >> 32 < left)
                left -= labels[row]
        return labels

    def shuffle(self, i: int) -> list[int]:
        """Labels of permutation i, in row order."""
        if self.problem.clusters is None:
            return self._labels(streams.PERMUTATIONS, i, self.need)
        labels = [0] * len(self.problem.errors)
        units = [unit for block in self.exchanged() for unit in block]
        words = iter(self._words(streams.PERMUTATIONS, i, len(units)))
        for block in self.exchanged():
            # Patterns not yet dealt, an error first: the draw is a place in this list.
            left = sorted((self.pattern(unit) for unit in block), reverse=True)
            for unit in block:
                pattern = left.pop(next(words) * len(left) >> 32)
                for row, label in zip(unit, pattern, strict=True):
                    labels[row] = label
        return labels

    def pattern(self, unit: Sequence[int]) -> tuple[int, ...]:
        """The observed errors of these rows."""
        return tuple(int(self.problem.errors[row]) for row in unit)

    def exchanged(self) -> list[list[list[int]]]:
        """Blocks of units that exchange patterns, each unit a list of rows."""
        assert self.problem.clusters is not None
        units: dict[int, list[int]] = {}
        for row, code in enumerate(self.problem.clusters.tolist()):
            units.setdefault(code, []).append(row)
        blocks: dict[tuple[int, int], list[list[int]]] = {}
        for unit in units.values():  # by first row
            blocks.setdefault((int(self.problem.strata[unit[0]]), len(unit)), []).append(unit)
        return [blocks[key] for key in sorted(blocks)]

    def counts(self, i: int) -> list[int]:
        """Errors on each descriptor in permutation i."""
        labels = self.shuffle(i)
        return [
            sum(label for label, on in zip(labels, member, strict=True) if on)
            for member in self.problem.memberships.tolist()
        ]

    def decoy(self, k: int) -> tuple[int, int]:
        """Source of decoy k, and errors on its label."""
        (word,) = self._words(streams.SOURCES, k, 1)
        source = word * len(self.problem.pool) >> 32
        labels = self._labels(streams.DECOYS, k, self.problem.pool[source].tolist())
        errors = self.problem.errors.tolist()
        return source, sum(label for label, wrong in zip(labels, errors, strict=True) if wrong)

    def tally(self, ids: Ids, tables: Tables) -> Tally:
        """The sums over these permutations, each from its definition."""
        own = tables.own.tolist()
        everyone = range(len(own))
        maxima, total = [0] * (tables.levels + 1), [0] * (tables.levels + 1)
        exceed, step_down = [0] * len(own), [0] * len(own)
        for i in ids.tolist():
            ranks = [int(tables.rank[g, a]) for g, a in enumerate(self.counts(i))]
            maxima[max(ranks, default=0)] += 1
            for g in everyone:
                total[ranks[g]] += 1
                exceed[g] += ranks[g] >= own[g]
                step_down[g] += any(ranks[h] >= own[g] for h in everyone if own[h] <= own[g])
        sums = (np.array(part, np.int64) for part in (maxima, exceed, step_down, total))
        return Tally(len(ids), *sums)


def make_problem(
    sizes: Sequence[int],
    errors: Sequence[int],
    *,
    descriptors: int = 5,
    pool: int = 3,
    seed: int = 20260524,
    clusters: Sequence[int] | None = None,
) -> Problem:
    """A problem with so many rows and errors in each stratum, rows mixed; arrays are read-only.

    ``clusters`` are the sizes of clusters, each inside a stratum, in the strata's order; a problem
    with clusters has no decoys.
    """
    draw = np.random.default_rng(len(sizes) + sum(sizes))
    n = sum(sizes)
    mixed = draw.permutation(n)
    strata = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    wrong = [
        place < many for size, many in zip(sizes, errors, strict=True) for place in range(size)
    ]
    memberships = draw.random((descriptors, n)) < 0.5
    # The ends: a descriptor that holds on every example, and one that holds on none.
    memberships[-1:] = True
    memberships[3:4] = False
    upper = np.array(sizes) + 1
    units = None
    if clusters is not None:
        pool = 0
        # Codes in no order, and with gaps.
        codes = 3 * draw.permutation(len(clusters)).astype(np.int32) - 5
        units = np.repeat(codes, clusters)[mixed]
        units.flags.writeable = False
        # Not the first rows of a stratum, which would make whole clusters wrong.
        ends = np.cumsum(sizes)
        wrong = [w for part in np.split(wrong, ends[:-1]) for w in draw.permutation(part).tolist()]
    problem = Problem(
        memberships=memberships,
        errors=np.array(wrong, np.bool_)[mixed],
        strata=strata[mixed],
        pool=draw.integers(0, upper, (pool, len(sizes))).astype(np.int32),
        seed=seed,
        clusters=units,
    )
    for array in (problem.memberships, problem.errors, problem.strata, problem.pool):
        array.flags.writeable = False
    return problem


def with_others(problem: Problem, others: int) -> Problem:
    """The problem with so many more outcomes.

    They are drawn, but for the first four: the errors again, their complement, one that is the same
    for all rows of a stratum, and one that every row has.
    """
    draw = np.random.default_rng(others)
    errors = problem.errors
    every = [errors, ~errors, problem.strata % 2 == 0, np.ones_like(errors)][:others]
    while len(every) < others:
        every.append(draw.random(len(errors)) < 0.4)
    return replace(problem, others=np.stack(every))


def make_tables(problem: Problem, levels: int = 4) -> Tables:
    """Rank tables of no statistic in particular, with ties among the own ranks."""
    draw = np.random.default_rng(levels)
    descriptors, n = problem.memberships.shape
    rank = draw.integers(0, levels + 1, (descriptors, n + 2)).astype(np.int32)
    own = draw.integers(1, levels, descriptors, np.int32, endpoint=True)
    for array in (rank, own):
        array.flags.writeable = False
    return Tables(rank, own, levels)


def _make_lookup(draw: np.random.Generator, library: int, counts: int) -> tuple[Lookup, int]:
    """Where a table keeps the counts of descriptors, some of which share a row; and its size."""
    rows = draw.integers(0, max(1, library - 1), library)
    low = draw.integers(0, 3, library)[rows]
    high = low + draw.integers(0, counts, library)[rows]
    starts = rows * (counts + 3)
    found = Lookup(*(part.astype(np.int32) for part in (starts - low, low, high)))
    return found, (library + 1) * (counts + 3)


def make_rules(
    library: int, *, holdout: bool = True, grid: Sequence[int] = (1, 3, 33, 300), seed: int = 1
) -> Rules:
    """Rules of a replay by no statistic in particular, for counts of any size."""
    draw = np.random.default_rng(seed)
    discovery, size = _make_lookup(draw, library, 9)
    held, held_size = _make_lookup(draw, library, 6)
    # Few values, so that there are ties; and the ends: never reached, and by almost every word.
    cuts = draw.choice(np.array([0, 1, 2**28, 2**30, 2**31, 2**32 - 1], np.uint32), (2, size))
    allowed = np.sort(draw.integers(0, 30, (3, len(grid), library + 1)), axis=2)
    allowed[..., 0] = -1
    allowed[2] -= 15  # a rule that needs several descriptors before any decoy is allowed
    return Rules(
        discovery=discovery,
        needs=draw.integers(1, library + 2, (4, size)).astype(np.int32),
        cuts=cuts if grid else cuts[:0],
        signs=draw.integers(-1, 2, size).astype(np.int8),
        holdout=held if holdout else None,
        gate=draw.integers(-1, 2, held_size if holdout else 0).astype(np.int8),
        grid=tuple(grid),
        allowed=np.maximum(allowed, -1).astype(np.int32)[:, :, : library + 1],
        decoys=streams.fold_in(streams.stream_key(seed, streams.REPLAYS), 2),
    )


def assert_decided(left: Decided, right: Decided) -> None:
    """Fail unless two sums over replays are the same."""
    assert left.replays == right.replays
    assert_array(left.sums, np.int64, right.sums.shape)
    np.testing.assert_array_equal(left.sums, right.sums)


# Most have one shape, so that a compiling backend compiles once for them.
_SIZES: Final = (9, 1, 4, 9)
CASES: Final[dict[str, Problem]] = {
    "strata": make_problem(_SIZES, (4, 1, 2, 3)),
    "strata without and full of errors": make_problem(_SIZES, (0, 0, 4, 5)),
    "no errors": make_problem(_SIZES, (0, 0, 0, 0)),
    "nothing but errors": make_problem(_SIZES, _SIZES),
    "largest seed": make_problem(_SIZES, (4, 1, 2, 3), seed=2**64 - 1),
    "upper half of the seed": make_problem(_SIZES, (4, 1, 2, 3), seed=20260524 + 2**32),
    "one stratum": make_problem((23,), (8,)),
    "one descriptor": make_problem((23,), (8,), descriptors=1),
    "no decoys": make_problem((23,), (8,), pool=0),
    "one row": make_problem((1,), (1,), descriptors=1),
    "long": make_problem((700, 3, 398), (300, 2, 100), descriptors=2),
    "a stratum with no rows": make_problem((9, 0, 14), (4, 0, 5)),
    "clusters": make_problem((36, 12), (15, 6), clusters=(2, 3, 1) * 6 + (4, 4, 2, 2)),
    "clusters of one row": make_problem(_SIZES, (4, 1, 2, 3), clusters=(1,) * 23),
    "one cluster": make_problem((5,), (2,), clusters=(5,)),
    "clusters without and full of errors": make_problem((8, 8), (0, 8), clusters=(2,) * 8),
}


# How many outcomes there are beside the errors.
_OTHERS: Final = {
    "strata": 5,
    "strata without and full of errors": 2,
    "no errors": 1,
    "upper half of the seed": 6,
    "one stratum": 4,
    "one descriptor": 2,
    "one row": 3,
    "long": 9,
    "a stratum with no rows": 5,
    "clusters": 5,
    "clusters of one row": 5,
    "one cluster": 2,
}
SEVERAL: Final[dict[str, Problem]] = {
    name: with_others(CASES[name], others) for name, others in _OTHERS.items()
}
SEVERAL["errors without errors in common"] = replace(
    CASES["one stratum"], others=~CASES["one stratum"].errors[None]
)


def assert_same(left: Tally, right: Tally) -> None:
    """Fail unless two tallies hold the same integers."""
    assert left.permutations == right.permutations
    for name in ("maxima", "exceed", "step_down", "total"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


def assert_array(array: NDArray[Any], dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    """Fail unless this is a NumPy array of exactly this type and shape."""
    assert isinstance(array, np.ndarray)
    assert array.dtype == dtype
    assert array.shape == shape


def _verbs(backend: Backend, state: Any, tables: Tables) -> dict[str, Callable[[Ids], Any]]:
    return {
        "shuffles": lambda ids: backend.shuffles(state, ids),
        "counts": lambda ids: backend.counts(state, ids),
        "sources": lambda ids: backend.decoys(state, ids)[0],
        "decoys": lambda ids: backend.decoys(state, ids)[1],
        "total": lambda ids: backend.tally(state, ids, tables).total,
    }


every_case = pytest.mark.parametrize("case", CASES)

# Discovery and holdout; the library is the same in both.
REPLAYED: Final[dict[str, tuple[str, str | None]]] = {
    "strata": ("strata", "one stratum"),
    "no holdout": ("strata", None),
    "one descriptor": ("one descriptor", "one row"),
    "no errors": ("no errors", "nothing but errors"),
    "clusters": ("clusters", "clusters without and full of errors"),
    "long": ("long", None),
}


def _replayed(backend: Backend, case: str, lanes: int = LANES) -> tuple[Any, Any, int]:
    """States of both splits, and the size of the library."""
    first, second = REPLAYED[case]
    held = None if second is None else backend.prepare(CASES[second], lanes)
    return backend.prepare(CASES[first], lanes), held, len(CASES[first].memberships)


def _deciding(backend: Backend) -> DecidesReplays:
    """The backend, if it decides replays itself: it need not."""
    if not isinstance(backend, DecidesReplays):
        pytest.skip("this backend leaves the replays to the core")
    return backend


def _sharing(backend: Backend) -> SharesShuffles:
    """The backend, if one shuffle of its own serves several outcomes: it need not."""
    if not isinstance(backend, SharesShuffles):
        pytest.skip("this backend is given several outcomes stacked")
    return backend


def _several_tables(problem: Problem) -> list[Tables]:
    """Tables of every outcome, with other numbers of levels, some of them int16."""
    outcomes = len(joint.apart(problem))
    tables = [make_tables(problem, 4 + m % 3 * 9) for m in range(outcomes)]
    tables[-1] = replace(tables[-1], rank=tables[-1].rank.astype(np.int16))
    return tables


class BackendConformance:
    """Subclass it, give it a ``backend`` fixture, and every law is tested."""

    @pytest.fixture
    def backend(self) -> Backend:
        """The backend under test."""
        raise NotImplementedError("override the fixture `backend` to return the backend to test")

    def test_it_has_the_members_of_the_contract(self, backend: Backend) -> None:
        assert isinstance(backend, Backend)
        description = backend.describe()
        assert isinstance(description, Description)
        assert all((description.name, description.version, description.device))

    @every_case
    def test_a_permutation_costs_bytes(self, backend: Backend, case: str) -> None:
        size = backend.bytes_per_permutation(CASES[case])
        assert isinstance(size, int)
        assert size > 0

    @every_case
    def test_shuffles(self, backend: Backend, case: str) -> None:
        problem = CASES[case]
        result = backend.shuffles(backend.prepare(problem, LANES), IDS)
        assert_array(result, np.int8, (len(IDS), len(problem.errors)))
        expected = [Reference(problem).shuffle(i) for i in IDS.tolist()]
        np.testing.assert_array_equal(result, expected)

    @every_case
    def test_counts(self, backend: Backend, case: str) -> None:
        problem = CASES[case]
        result = backend.counts(backend.prepare(problem, LANES), IDS)
        assert_array(result, np.int32, (len(IDS), len(problem.memberships)))
        expected = [Reference(problem).counts(i) for i in IDS.tolist()]
        np.testing.assert_array_equal(result, expected)

    @every_case
    def test_decoys(self, backend: Backend, case: str) -> None:
        problem = CASES[case]
        state = backend.prepare(problem, LANES)
        ids = IDS if len(problem.pool) else IDS[:0]
        sources, counts = backend.decoys(state, ids)
        assert_array(sources, np.int32, (len(ids),))
        assert_array(counts, np.int32, (len(ids),))
        expected = [Reference(problem).decoy(k) for k in ids.tolist()]
        assert list(zip(sources.tolist(), counts.tolist(), strict=True)) == expected

    @every_case
    def test_tally(self, backend: Backend, case: str) -> None:
        problem = CASES[case]
        tables = make_tables(problem)
        result = backend.tally(backend.prepare(problem, LANES), IDS, tables)
        descriptors = len(problem.memberships)
        assert_array(result.maxima, np.int64, (tables.levels + 1,))
        assert_array(result.exceed, np.int64, (descriptors,))
        assert_array(result.step_down, np.int64, (descriptors,))
        assert_array(result.total, np.int64, (tables.levels + 1,))
        assert_same(result, Reference(problem).tally(IDS, tables))

    @every_case
    def test_law_reduce(self, backend: Backend, case: str) -> None:
        problem = CASES[case]
        state, tables = backend.prepare(problem, LANES), make_tables(problem)
        assert_same(
            backend.tally(state, IDS, tables), tally_counts(backend.counts(state, IDS), tables)
        )

    def test_law_pure(self, backend: Backend) -> None:
        problem = CASES["strata"]
        state, tables = backend.prepare(problem, LANES), make_tables(problem)
        verbs = _verbs(backend, state, tables)
        before = {name: verb(IDS) for name, verb in verbs.items()}
        for name, verb in reversed(verbs.items()):
            verb(IDS[:4])
            np.testing.assert_array_equal(verb(IDS), before[name], err_msg=name)
            if name != "total":
                np.testing.assert_array_equal(verb(IDS[::-1]), before[name][::-1], err_msg=name)

    def test_law_pure_over_tables(self, backend: Backend) -> None:
        problem = CASES["strata"]
        state = backend.prepare(problem, LANES)
        first, second = make_tables(problem, 4), make_tables(problem, 5)
        results = [backend.tally(state, IDS, tables) for tables in (first, second, first)]
        for result, tables in zip(results, (first, second, first), strict=True):
            assert_same(result, Reference(problem).tally(IDS, tables))

    @pytest.mark.parametrize("cuts", [(0,), (1,), (5, 6), (LANES,), tuple(range(len(IDS)))])
    def test_law_chunk(self, backend: Backend, cuts: tuple[int, ...]) -> None:
        problem = CASES["strata"]
        state, tables = backend.prepare(problem, LANES), make_tables(problem)
        parts = np.split(IDS, cuts)
        for name, verb in _verbs(backend, state, tables).items():
            pieces = [verb(part) for part in parts]
            whole = sum(pieces) if name == "total" else np.concatenate(pieces)
            np.testing.assert_array_equal(whole, verb(IDS), err_msg=name)
        tallies = [backend.tally(state, part, tables) for part in parts]
        added = sum(tallies[1:], start=tallies[0])
        assert_same(added, backend.tally(state, IDS, tables))

    @pytest.mark.parametrize("lanes", [1, LANES, 64])
    def test_law_lanes(self, backend: Backend, lanes: int) -> None:
        problem = CASES["strata"]
        reference, tables = Reference(problem), make_tables(problem)
        state = backend.prepare(problem, lanes)
        ids = IDS.tolist()
        shuffles, counts = backend.shuffles(state, IDS), backend.counts(state, IDS)
        np.testing.assert_array_equal(shuffles, [reference.shuffle(i) for i in ids])
        np.testing.assert_array_equal(counts, [reference.counts(i) for i in ids])
        decoys = np.stack(backend.decoys(state, IDS), axis=1)
        np.testing.assert_array_equal(decoys, [reference.decoy(k) for k in ids])
        assert_same(backend.tally(state, IDS, tables), reference.tally(IDS, tables))

    def test_errors_stay_in_their_stratum(self, backend: Backend) -> None:
        problem = CASES["strata"]
        shuffles = backend.shuffles(backend.prepare(problem, LANES), IDS)
        for code in range(problem.pool.shape[1]):
            inside = problem.strata == code
            assert (shuffles[:, inside].sum(axis=1) == problem.errors[inside].sum()).all()

    def test_clusters_of_one_row_are_rows(self, backend: Backend) -> None:
        plain, clustered = CASES["strata"], CASES["clusters of one row"]
        shuffles = [backend.shuffles(backend.prepare(p, LANES), IDS) for p in (plain, clustered)]
        np.testing.assert_array_equal(shuffles[0], shuffles[1])

    def test_patterns_stay_whole(self, backend: Backend) -> None:
        problem = CASES["clusters"]
        shuffles = backend.shuffles(backend.prepare(problem, LANES), IDS)
        reference = Reference(problem)
        moved = 0
        for block in reference.exchanged():
            observed = sorted(reference.pattern(unit) for unit in block)
            for labels in shuffles.tolist():
                patterns = [tuple(labels[row] for row in unit) for unit in block]
                assert sorted(patterns) == observed
                moved += patterns != [reference.pattern(unit) for unit in block]
        assert moved

    def test_streams_of_permutations_and_decoys_differ(self, backend: Backend) -> None:
        problem = CASES["one stratum"]
        # Were decoys to reuse the keys of the shuffles, their labels would be these shuffles.
        only = Problem(
            problem.errors[None, :], problem.errors, problem.strata,
            np.array([[problem.errors.sum()]], np.int32), problem.seed,
        )  # fmt: skip
        state = backend.prepare(only, 64)
        ids = np.arange(64, dtype=np.uint32)
        _, decoys = backend.decoys(state, ids)
        assert (decoys != backend.counts(state, ids)[:, 0]).any()

    # What a backend may have besides

    @pytest.mark.parametrize("case", REPLAYED)
    def test_replays_are_decided_as_their_counts(self, backend: Backend, case: str) -> None:
        deciding = _deciding(backend)
        discovery, holdout, library = _replayed(backend, case)
        counts = backend.counts(discovery, IDS)
        held = None if holdout is None else backend.counts(holdout, IDS)
        rules = make_rules(library, holdout=holdout is not None)
        expected = decide(counts, held, IDS, rules)
        assert_decided(deciding.replays(discovery, holdout, IDS, rules), expected)

    def test_replays_without_decoys(self, backend: Backend) -> None:
        deciding = _deciding(backend)
        discovery, holdout, library = _replayed(backend, "clusters")
        rules = make_rules(library, grid=())
        counts = backend.counts(discovery, IDS), backend.counts(holdout, IDS)
        decided = deciding.replays(discovery, holdout, IDS, rules)
        assert_decided(decided, decide(*counts, IDS, rules))

    def test_replays_without_a_holdout_confirm_nothing(self, backend: Backend) -> None:
        deciding = _deciding(backend)
        discovery, _, library = _replayed(backend, "strata")
        # The rules know of a holdout, but it has no examples.
        decided = deciding.replays(discovery, None, IDS, make_rules(library))
        assert decided.sums[0].any()
        assert not decided.sums[[1, 3]].any()

    @pytest.mark.parametrize("cuts", [(0,), (5, 6), (LANES,), tuple(range(len(IDS)))])
    def test_replays_add(self, backend: Backend, cuts: tuple[int, ...]) -> None:
        deciding = _deciding(backend)
        discovery, holdout, library = _replayed(backend, "strata")
        rules = make_rules(library)
        parts = [deciding.replays(discovery, holdout, ids, rules) for ids in np.split(IDS, cuts)]
        whole = deciding.replays(discovery, holdout, IDS, rules)
        assert_decided(sum(parts[1:], start=parts[0]), whole)

    def test_replays_are_pure_over_rules_and_lanes(self, backend: Backend) -> None:
        deciding = _deciding(backend)
        some = [make_rules(5, seed=seed) for seed in (1, 2, 1)]
        results: list[list[Decided]] = []
        for lanes in (1, LANES, 64):
            discovery, holdout, _ = _replayed(backend, "strata", lanes)
            results.append([deciding.replays(discovery, holdout, IDS, rules) for rules in some])
        for row in results:
            for left, right in zip(row, results[0], strict=True):
                assert_decided(left, right)
            assert_decided(row[0], row[2])
        assert (results[0][0].sums != results[0][1].sums).any()

    # Several outcomes

    @pytest.mark.parametrize("case", SEVERAL)
    def test_outcomes_that_move_together(self, backend: Backend, case: str) -> None:
        """Asked through the core, so that a backend without the verb is tested as well."""
        problem = SEVERAL[case]
        tables = _several_tables(problem)
        state = backend.prepare(joint.drawn_as(backend, problem), LANES)
        results = joint.tallies(backend, state, IDS, tables, LANES)
        assert len(results) == len(tables)
        stacked, size = joint.stacked(problem), len(problem.memberships)
        for m, (result, own) in enumerate(zip(results, tables, strict=True)):
            members = stacked.memberships[m * size : (m + 1) * size]
            reference = Reference(replace(stacked, memberships=members))
            assert_array(result.maxima, np.int64, (own.levels + 1,))
            assert_array(result.step_down, np.int64, (size,))
            assert_same(result, reference.tally(IDS, own))

    @pytest.mark.parametrize("case", SEVERAL)
    def test_several_outcomes_cost_bytes(self, backend: Backend, case: str) -> None:
        _sharing(backend)
        size = backend.bytes_per_permutation(SEVERAL[case])
        assert isinstance(size, int)
        assert size > 0

    @pytest.mark.parametrize("case", ["strata", "one stratum", "long", "clusters of one row"])
    def test_the_first_outcome_moves_as_it_does_alone(self, backend: Backend, case: str) -> None:
        problem = SEVERAL[case]
        tables = _several_tables(problem)
        together = _sharing(backend).tallies(backend.prepare(problem, LANES), IDS, tables)
        alone = backend.tally(backend.prepare(CASES[case], LANES), IDS, tables[0])
        assert_same(together[0], alone)

    @pytest.mark.parametrize("case", ["strata", "clusters"])
    @pytest.mark.parametrize("lanes", [1, LANES, 64])
    def test_several_outcomes_add_whatever_the_lanes(
        self, backend: Backend, case: str, lanes: int
    ) -> None:
        sharing, problem = _sharing(backend), SEVERAL[case]
        tables, state = _several_tables(problem), backend.prepare(problem, lanes)
        whole = sharing.tallies(backend.prepare(problem, LANES), IDS, tables)
        parts = [sharing.tallies(state, ids, tables) for ids in np.split(IDS, (0, 5, 6))]
        for m, expected in enumerate(whole):
            own = [part[m] for part in parts]
            assert_same(sum(own[1:], start=own[0]), expected)

    def test_several_outcomes_are_pure_over_tables(self, backend: Backend) -> None:
        sharing, problem = _sharing(backend), SEVERAL["one stratum"]
        first, state = _several_tables(problem), backend.prepare(problem, LANES)
        second = first[::-1]
        before, other, after = (sharing.tallies(state, IDS, own) for own in (first, second, first))
        for left, right in zip(before, after, strict=True):
            assert_same(left, right)
        fresh = sharing.tallies(backend.prepare(problem, LANES), IDS, second)
        for left, right in zip(other, fresh, strict=True):
            assert_same(left, right)
