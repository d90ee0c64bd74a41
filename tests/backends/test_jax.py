"""The JAX backend keeps the laws, compiles once, and lowers for every platform."""

# The signatures of jax are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from janus_backends import jax_backend, jax_replays
from janus_backends.jax_backend import THREEFRY, JaxBackend, State
from janus_backends.numpy_backend import NumpyBackend
from janus_jax import joint, streams
from janus_jax.decide import decide
from janus_jax.interface import Problem, Tables, tally_counts
from janus_jax.testing import BackendConformance
from janus_jax.testing.conformance import (
    CASES,
    IDS,
    SEVERAL,
    Reference,
    assert_decided,
    assert_same,
    make_problem,
    make_rules,
    make_tables,
    with_others,
)

ROOT = Path(__file__).parents[2]


class TestJaxBackend(BackendConformance):
    @pytest.fixture
    def backend(self) -> JaxBackend:
        return JaxBackend()


@pytest.fixture
def backend() -> JaxBackend:
    return JaxBackend()


# Keys


def test_typed_keys_give_the_words_of_streams() -> None:
    words = np.stack(streams.stream_key(2**40 + 3, streams.PERMUTATIONS))
    parent = jax.random.wrap_key_data(jnp.asarray(words), impl=THREEFRY)
    for i in (0, 1, 2**32 - 1):
        child = jax.random.fold_in(parent, np.uint32(i))
        for count in (0, 1, 4, 7):
            expected = streams.words(streams.fold_in((words[0], words[1]), i), count)
            np.testing.assert_array_equal(jax.random.bits(child, (count,)), expected)


def test_a_word_of_another_width_is_refused() -> None:
    key = jax.random.key(1, impl=THREEFRY)
    with pytest.raises(NotImplementedError, match="32 bits, not 8"):
        jax.random.bits(key, (4,), np.uint8)


def test_split_makes_the_first_children() -> None:
    key = jax.random.key(5, impl=THREEFRY)
    children = [jax.random.key_data(jax.random.fold_in(key, i)) for i in range(6)]
    split = jax.random.key_data(jax.random.split(jax.random.clone(key), (2, 3)))
    np.testing.assert_array_equal(split.reshape(6, 2), children)
    np.testing.assert_array_equal(jax.random.key_data(key), [0, 5])


def test_every_verb_passes_the_check_of_key_reuse(backend: JaxBackend) -> None:
    problem = make_problem((6, 5), (3, 1), descriptors=3)
    tables = make_tables(problem)
    with jax.debug_key_reuse(True):
        state = backend.prepare(problem, 5)
        shuffles = backend.shuffles(state, IDS)
        backend.counts(state, IDS)
        backend.decoys(state, IDS)
        backend.tally(state, IDS, tables)
        backend.replays(state, state, IDS, make_rules(3))
    np.testing.assert_array_equal(shuffles, [Reference(problem).shuffle(i) for i in IDS.tolist()])


def test_the_check_of_key_reuse_sees_our_keys() -> None:
    key = jax.random.key(5, impl=THREEFRY)
    with jax.debug_key_reuse(True):
        jax.random.bits(key, (3,))
        with pytest.raises(jax.errors.KeyReuseError):
            jax.random.bits(key, (3,))


# Integers


@pytest.mark.parametrize("small", [True, False])
def test_mulhi_is_exact(small: bool) -> None:
    draw = np.random.default_rng(1)
    ends = np.array([0, 1, 2**16 - 1, 2**16, 2**31, 2**32 - 1], np.uint32)
    words = np.concatenate([ends, draw.integers(0, 2**32, 4000, np.uint32)])
    most = 2**16 - 1 if small else 2**31
    edge = np.array([0, 1, 2, 3, most - 1, most], np.uint32)
    m = np.concatenate([edge, draw.integers(0, most, 30, np.uint32, endpoint=True)])
    result = jax_backend.mulhi(jnp.asarray(words)[:, None], jnp.asarray(m)[None], small=small)
    expected = [[w * b >> 32 for b in m.tolist()] for w in words.tolist()]
    np.testing.assert_array_equal(result, expected)


def test_positions_beyond_65536(backend: JaxBackend) -> None:
    problem = make_problem((70_001,), (30_000,), descriptors=1, pool=1)
    ids = IDS[:2]
    reference = Reference(problem)
    state = backend.prepare(problem, 2)
    shuffles = [reference.shuffle(i) for i in ids.tolist()]
    np.testing.assert_array_equal(backend.shuffles(state, ids), shuffles)
    counts = [reference.counts(i) for i in ids.tolist()]
    np.testing.assert_array_equal(backend.counts(state, ids), counts)


def test_small_integers_do_not_wrap(backend: JaxBackend) -> None:
    # 150 errors in one slice: an int8 accumulator would say -106 (jax issue 4465).
    members = np.ones((1, 200), np.bool_)
    errors = np.arange(200) < 150
    problem = Problem(members, errors, np.zeros(200, np.int32), np.array([[200]], np.int32), seed=1)
    state = backend.prepare(problem, 4)
    ids = np.arange(6, dtype=np.uint32)
    assert (backend.counts(state, ids) == 150).all()
    assert (backend.decoys(state, ids)[1] == 150).all()


def test_lanes_times_descriptors_stay_below_int32(backend: JaxBackend) -> None:
    problem = Problem(
        memberships=np.zeros((1 << 20, 1), np.bool_),
        errors=np.ones(1, np.bool_),
        strata=np.zeros(1, np.int32),
        pool=np.zeros((0, 1), np.int32),
        seed=1,
    )
    plan = backend.prepare(problem, 1 << 16).plan
    assert 1024 < plan.lanes < 2048


@pytest.fixture
def x64() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.usefixtures("x64")
def test_64_bit_types_change_nothing(backend: JaxBackend) -> None:
    problem = CASES["strata"]
    tables = make_tables(problem)
    state = backend.prepare(problem, 7)
    tally, decoys = backend.tally(state, IDS, tables), backend.decoys(state, IDS)
    counts, shuffles = backend.counts(state, IDS), backend.shuffles(state, IDS)
    reference = Reference(problem)
    ids = IDS.tolist()
    assert_same(tally, reference.tally(IDS, tables))
    np.testing.assert_array_equal(np.stack(decoys, 1), [reference.decoy(k) for k in ids])
    np.testing.assert_array_equal(counts, [reference.counts(i) for i in ids])
    np.testing.assert_array_equal(shuffles, [reference.shuffle(i) for i in ids])


@pytest.mark.usefixtures("x64")
def test_64_bit_types_change_no_replay(backend: JaxBackend) -> None:
    problem = CASES["strata"]
    state, rules = backend.prepare(problem, 7), make_rules(len(problem.memberships))
    counts = np.array([Reference(problem).counts(i) for i in IDS.tolist()], np.int32)
    assert_decided(backend.replays(state, state, IDS, rules), decide(counts, counts, IDS, rules))


# Compilation


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of the inner functions of the kernels, one for each time one of them is traced."""
    seen: list[str] = []

    def watch(name: str) -> None:
        inner: Callable[..., Any] = getattr(jax_backend, name)

        def watched(*args: Any, **options: Any) -> Any:
            seen.append(name)
            return inner(*args, **options)

        monkeypatch.setattr(jax_backend, name, watched)

    watch("_count")
    watch("_shuffle")
    yield seen
    # What was traced here calls the watched functions: leave none of it behind.
    jax.clear_caches()


def test_a_run_traces_each_kernel_once(backend: JaxBackend, traces: list[str]) -> None:
    jax.clear_caches()
    problem = make_problem((9, 4), (3, 2))
    tables = make_tables(problem)
    state = backend.prepare(problem, 6)
    for size in (1, 5, 6, 7, 12, 40):
        backend.tally(state, np.arange(size, dtype=np.uint32), tables)
    assert traces == ["_count"]
    for size in (3, 6, 20):
        backend.counts(state, np.arange(size, dtype=np.uint32))
        backend.decoys(state, np.arange(size, dtype=np.uint32))
        backend.shuffles(state, np.arange(size, dtype=np.uint32))
    assert sorted(traces) == ["_count", "_count", "_count", "_shuffle"]


def test_replays_trace_each_kernel_once(
    backend: JaxBackend, traces: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    jax.clear_caches()
    inner = jax_replays.decided

    def watched(*args: Any) -> Any:
        traces.append("decided")
        return inner(*args)

    monkeypatch.setattr(jax_replays, "decided", watched)
    states = [
        backend.prepare(make_problem(*sizes), 6) for sizes in (((9, 4), (3, 2)), ((8,), (3,)))
    ]
    # Other tables of the same size, and batches of any size.
    for size, seed in ((1, 1), (5, 1), (6, 2), (7, 1), (40, 3)):
        rules = make_rules(5, seed=seed)
        backend.replays(states[0], states[1], np.arange(size, dtype=np.uint32), rules)
    assert sorted(traces) == ["_count", "_count", "decided"]


def test_another_problem_of_the_same_shape_is_not_traced_again(
    backend: JaxBackend, traces: list[str]
) -> None:
    jax.clear_caches()
    for sizes, errors, seed in (((9, 4), (3, 2), 1), ((2, 11), (0, 11), 2**63)):
        problem = make_problem(sizes, errors, seed=seed)
        backend.tally(backend.prepare(problem, 6), IDS, make_tables(problem))
    assert traces == ["_count"]


def _tallies(state: State, tables: Sequence[Tables]) -> tuple[Any, tuple[Any, ...]]:
    lanes = state.plan.lanes * state.plan.mesh.size
    ids, weight = np.zeros(lanes, np.uint32), np.ones(lanes, np.int32)
    reducer = jax_backend._reducer(state, tables)  # pyright: ignore[reportPrivateUsage]
    arguments = (np.zeros(2, np.uint32), ids, weight, state.joint, state.deal, reducer)
    return jax_backend.tallies_kernel, (state.plan, 8, *arguments)


def _lowerable(
    backend: JaxBackend, state: State, problem: Problem
) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    words = np.zeros(2, np.uint32)
    key = jax.random.wrap_key_data(jnp.asarray(words), impl=THREEFRY)
    lanes = state.plan.lanes * state.plan.mesh.size
    ids, weight = np.zeros(lanes, np.uint32), np.ones(lanes, np.int32)
    tables = make_tables(problem)
    reducer = jax_backend._reducer(state, [tables])  # pyright: ignore[reportPrivateUsage]
    plan, walk, need, deal = state.plan, state.walk, state.need, state.deal
    rules = make_rules(len(problem.memberships), grid=(3, 100))
    counts = np.zeros((state.members.shape[0] * state.members.shape[2], lanes), np.int32)
    moved = jax_replays.moved(rules, jnp.asarray)
    every = {
        "replay": (
            jax_backend.replay_kernel,
            (plan, rules.grid, ids, weight, counts, counts, moved),
        ),
        "count": (jax_backend.count_kernel, (plan, words, ids, need, walk, deal, state.members)),
        "tally": (
            jax_backend.tally_kernel,
            (plan, 8, words, ids, weight, need, walk, deal, reducer),
        ),
    }
    every["tallies"] = _tallies(backend.prepare(with_others(problem, 2), 6), [tables] * 3)
    if deal is not None:
        return every | {"deal": (jax_backend.deal_kernel, (plan, words, ids, deal, state.columns))}
    return every | {
        "decoy": (
            jax_backend.decoy_kernel,
            (plan, (words, words), ids, state.pool, walk, state.errors),
        ),
        "shuffle": (jax_backend.shuffle_kernel, (plan, key, ids, need, walk, state.columns)),
    }


@pytest.fixture
def by_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count by the matrix product that accelerators use."""
    plan = JaxBackend._plan  # pyright: ignore[reportPrivateUsage]

    def changed(self: JaxBackend, n: int, descriptors: int, lanes: int) -> Any:
        return dataclasses.replace(plan(self, n, descriptors, lanes), bits=False)

    monkeypatch.setattr(JaxBackend, "_plan", changed)


@pytest.mark.usefixtures("by_product")
@pytest.mark.parametrize(
    ("kernel", "clusters"),
    [
        ("count", False), ("decoy", False), ("shuffle", False), ("tally", False), ("replay", False),
        ("count", True), ("deal", True), ("tally", True), ("replay", True),
        ("tallies", False), ("tallies", True),
    ],
)  # fmt: skip
def test_the_kernels_lower_for_accelerators(
    backend: JaxBackend, kernel: str, clusters: bool
) -> None:
    problem = make_problem((8, 4), (3, 2), clusters=(2,) * 6 if clusters else None)
    function, arguments = _lowerable(backend, backend.prepare(problem, 6), problem)[kernel]
    lowered = function.trace(*arguments).lower(lowering_platforms=("cuda", "rocm", "tpu"))
    text = lowered.as_text()
    assert "stablehlo.while" in text
    # Nothing decides in floating point, and nothing calls back to the host.
    assert not re.search(r"[x<]b?f\d|callback", text)


@pytest.mark.usefixtures("by_product")
@pytest.mark.parametrize("case", ["strata", "clusters"])
def test_the_matrix_product_gives_the_same_counts(backend: JaxBackend, case: str) -> None:
    problem = CASES[case]
    counts = backend.counts(backend.prepare(problem, 7), IDS)
    np.testing.assert_array_equal(counts, [Reference(problem).counts(i) for i in IDS.tolist()])


@pytest.mark.usefixtures("by_product")
@pytest.mark.parametrize("case", ["strata", "clusters"])
def test_the_matrix_product_gives_the_same_tallies(backend: JaxBackend, case: str) -> None:
    problem = SEVERAL[case]
    tables = [make_tables(problem) for _ in joint.apart(problem)]
    expected = NumpyBackend().tallies(NumpyBackend().prepare(problem, 64), IDS, tables)
    found = backend.tallies(backend.prepare(problem, 7), IDS, tables)
    for left, right in zip(found, expected, strict=True):
        assert_same(left, right)


def test_several_outcomes_trace_once(backend: JaxBackend, traces: list[str]) -> None:
    """Other patterns, as many of them, are data; so are the batches."""
    jax.clear_caches()
    for seed, others in ((1, (0, 1)), (2, (1, 0))):
        problem = make_problem((9, 4), (3, 2), seed=seed)
        rows = np.arange(13) % 3
        problem = dataclasses.replace(
            problem, errors=rows == 2, others=np.stack([rows == which for which in others])
        )
        state, tables = backend.prepare(problem, 6), [make_tables(problem) for _ in range(3)]
        for size in (1, 5, 6, 7, 40):
            backend.tallies(state, np.arange(size, dtype=np.uint32), tables)
    assert traces == ["_count"]


def test_500_slice_sizes_are_traced_once(backend: JaxBackend, traces: list[str]) -> None:
    jax.clear_caches()
    n = 600
    errors, strata = np.arange(n) % 3 == 0, np.zeros(n, np.int32)
    pool = np.zeros((0, 1), np.int32)
    for size in range(1, 501, 25):
        members = np.arange(n)[None] < size + np.arange(25)[:, None]
        problem = Problem(members, errors, strata, pool, seed=1)
        tables = make_tables(problem, levels=4)
        backend.tally(backend.prepare(problem, 6), IDS[:2], tables)
    assert traces == ["_count"]


# Large problems


def test_many_tiles_of_descriptors(backend: JaxBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    # 5 descriptors in tiles of 2: the last one is padding, and must not count.
    monkeypatch.setattr(jax_backend, "_TILE", 2)
    problem = CASES["long"]
    problem = dataclasses.replace(problem, memberships=np.repeat(problem.memberships, 3, 0)[:5])
    state, tables = backend.prepare(problem, 7), make_tables(problem)
    reference = Reference(problem)
    counts = [reference.counts(i) for i in IDS.tolist()]
    np.testing.assert_array_equal(backend.counts(state, IDS), counts)
    assert_same(backend.tally(state, IDS, tables), tally_counts(np.array(counts), tables))


def test_narrow_tables_are_taken(backend: JaxBackend) -> None:
    problem = CASES["strata"]
    wide = make_tables(problem)
    narrow = Tables(wide.rank.astype(np.int16), wide.own, wide.levels)
    state = backend.prepare(problem, 7)
    assert_same(backend.tally(state, IDS, narrow), backend.tally(state, IDS, wide))


def test_a_device_without_memory_gets_fewer_lanes(
    backend: JaxBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = jax_backend.tally_kernel
    tried: list[int] = []

    def full(plan: jax_backend.Plan, *rest: Any) -> Any:
        tried.append(plan.lanes)
        if plan.lanes > 2:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")
        return kernel(plan, *rest)

    problem = CASES["strata"]
    state, tables = backend.prepare(problem, 8), make_tables(problem)
    monkeypatch.setattr(jax_backend, "tally_kernel", full)
    with pytest.warns(UserWarning, match="no memory for . permutations side by side; going on"):
        result = backend.tally(state, IDS, tables)
    assert tried == [8, 4, *[2] * 6]
    assert_same(result, Reference(problem).tally(IDS, tables))


def test_another_failure_of_a_device_is_not_swallowed(
    backend: JaxBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise jax.errors.JaxRuntimeError("INTERNAL: a fault")

    state = backend.prepare(CASES["strata"], 8)
    monkeypatch.setattr(jax_backend, "count_kernel", broken)
    with pytest.raises(jax.errors.JaxRuntimeError, match="a fault"):
        backend.counts(state, IDS)


# Several devices

DEVICES = """
import json
from janus_backends.jax_backend import JaxBackend
from janus_jax.testing.conformance import CASES, IDS, SEVERAL, make_tables

backend = JaxBackend()
assert backend.describe().device == "cpu:0 x8"
said = {}
for case in ("strata", "clusters"):
    problem = CASES[case]
    state = backend.prepare(problem, 9)
    tally = backend.tally(state, IDS, make_tables(problem))
    said[case] = [
        backend.counts(state, IDS).tolist(),
        *(part.tolist() for part in (tally.maxima, tally.exceed, tally.step_down, tally.total)),
    ]
state = backend.prepare(CASES["strata"], 9)
said["decoys"] = [part.tolist() for part in backend.decoys(state, IDS)]
said["shuffles"] = backend.shuffles(state, IDS).tolist()
for case in ("strata", "clusters"):
    tables = make_tables(SEVERAL[case])
    several = backend.tallies(backend.prepare(SEVERAL[case], 9), IDS, [tables] * 6)
    said["several " + case] = [[t.total.tolist(), t.step_down.tolist()] for t in several]
print(json.dumps(said))
"""


def test_eight_devices_give_the_same_as_one(backend: JaxBackend) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "backends")]),
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
    }
    done = subprocess.run(
        [sys.executable, "-c", DEVICES], stdout=subprocess.PIPE, text=True, check=True,
        env=environment,
    )  # fmt: skip
    eight: dict[str, Any] = json.loads(done.stdout)
    state = backend.prepare(CASES["strata"], 7)
    assert eight.pop("decoys") == [part.tolist() for part in backend.decoys(state, IDS)]
    assert eight.pop("shuffles") == backend.shuffles(state, IDS).tolist()
    for case in ("strata", "clusters"):
        tables = make_tables(SEVERAL[case])
        several = backend.tallies(backend.prepare(SEVERAL[case], 7), IDS, [tables] * 6)
        sums = [[t.total.tolist(), t.step_down.tolist()] for t in several]
        assert eight.pop(f"several {case}") == sums
    for case, (counts, *sums) in eight.items():
        problem = CASES[case]
        state = backend.prepare(problem, 7)
        tally = backend.tally(state, IDS, make_tables(problem))
        assert counts == backend.counts(state, IDS).tolist()
        parts = (tally.maxima, tally.exceed, tally.step_down, tally.total)
        assert sums == [part.tolist() for part in parts]


@pytest.mark.parametrize(("n", "descriptors"), [(80, 10), (1000, 3), (600, 400)])
def test_the_stated_memory_is_what_the_compiler_takes(
    backend: JaxBackend, n: int, descriptors: int
) -> None:
    problem = make_problem((n,), (n // 3,), descriptors=descriptors, pool=1)
    state = backend.prepare(problem, 1024)
    function, arguments = _lowerable(backend, state, problem)["tally"]
    memory = function.lower(*arguments).compile().memory_analysis()
    taken = memory.temp_size_in_bytes / state.plan.lanes
    stated = backend.bytes_per_permutation(problem)
    assert taken <= stated <= 3 * taken


@pytest.mark.parametrize(
    ("n", "descriptors", "others", "clusters"),
    [(659, 16, 2, None), (659, 16, 6, None), (300, 90, 3, None), (300, 20, 3, (2,) * 150)],
)
def test_the_stated_memory_of_several_outcomes(
    backend: JaxBackend, n: int, descriptors: int, others: int, clusters: tuple[int, ...] | None
) -> None:
    problem = make_problem((n,), (n // 3,), descriptors=descriptors, pool=0, clusters=clusters)
    drawn = np.random.default_rng(1).random((others, n)) < 0.4
    problem = dataclasses.replace(problem, others=drawn)
    state = backend.prepare(problem, 1024)
    function, arguments = _tallies(state, [make_tables(problem)] * (others + 1))
    memory = function.lower(*arguments).compile().memory_analysis()
    taken = memory.temp_size_in_bytes / state.plan.lanes
    stated = backend.bytes_per_permutation(problem)
    assert taken <= stated <= 3 * taken
