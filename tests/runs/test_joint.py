"""Several outcomes share the sampled permutations: whoever draws them, in whatever pieces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from janus_backends.numpy_backend import NumpyBackend
from janus_jax import checkpoint, joint
from janus_jax.checkpoint import Checkpoint
from janus_jax.errors import InputError
from janus_jax.interface import Problem, SharesShuffles, Tables, Tally
from janus_jax.layout import every_labelling
from janus_jax.library import Counts
from janus_jax.permutations import Permuted, Running, make_ready, permute
from janus_jax.plan import Plan
from janus_jax.processes import ALONE, Processes
from janus_jax.screen import Screened, screen, screen_several
from janus_jax.statistic import Margins
from janus_jax.testing.conformance import assert_same

pytestmark = pytest.mark.long  # the conformance suite runs on the wheel

COUNT = 3001


class WithoutTheVerb:
    """A backend that has the members of the contract and nothing besides."""

    def __init__(self) -> None:
        inner = NumpyBackend()
        self.describe, self.bytes_per_permutation = inner.describe, inner.bytes_per_permutation
        self.prepare, self.shuffles, self.counts = inner.prepare, inner.shuffles, inner.counts
        self.tally, self.decoys = inner.tally, inner.decoys


def make_problem(clusters: bool = False) -> Problem:
    """60 rows, 5 descriptors; four outcomes, of which the second is wrong only once."""
    draw = np.random.default_rng(4)
    n = 60
    others = draw.random((3, n)) < np.array([[0.0], [0.4], [0.6]])
    others[0, 7] = True
    return Problem(
        memberships=draw.random((5, n)) < 0.4,
        errors=draw.random(n) < 0.3,
        strata=np.zeros(n, np.int32),
        pool=np.zeros((0, 1), np.int32),
        seed=9,
        clusters=np.arange(n, dtype=np.int32) // 2 if clusters else None,
        others=others,
    )


def make_tables() -> list[Tables]:
    draw = np.random.default_rng(5)
    return [
        Tables(
            draw.integers(0, levels + 1, (5, 61)).astype(np.int32),
            draw.integers(1, levels, 5, np.int32, endpoint=True),
            levels,
        )
        for levels in (3, 4, 5, 3)
    ]


def permuted(
    problem: Problem | None = None, backend: Any = None, running: Running | None = None
) -> list[Permuted]:
    return permute(
        backend or NumpyBackend(),
        problem or make_problem(),
        make_tables(),
        COUNT,
        running or Running(),
    )


def assert_all_same(left: list[Permuted], right: list[Permuted]) -> None:
    for one, other in zip(left, right, strict=True):
        assert (one.enumerated, one.labellings, one.movable) == (
            *(other.enumerated, other.labellings, other.movable),
        )
        assert_same(one.tally, other.tally)


def test_each_outcome_is_enumerated_or_sampled() -> None:
    problem, found = make_problem(), permuted()
    assert [each.enumerated for each in found] == [False, True, False, False]
    assert found[1].labellings == found[1].tally.permutations == 60
    assert [each.tally.permutations for each in found[2:]] == [COUNT, COUNT]
    # The one that is enumerated takes no part in the draw.
    outcomes, tables = joint.apart(problem), make_tables()
    rest = joint.together([outcomes[m] for m in (0, 2, 3)])
    state = NumpyBackend().prepare(rest, 64)
    ids = np.arange(COUNT, dtype=np.uint32)
    tallies = NumpyBackend().tallies(state, ids, [tables[m] for m in (0, 2, 3)])
    for m, tally in zip((0, 2, 3), tallies, strict=True):
        assert_same(found[m].tally, tally)
    # The first moves as it does alone, and the enumerated as alone too.
    for m in (0, 1):
        assert_all_same(
            permute(NumpyBackend(), outcomes[m], [tables[m]], COUNT, Running()), [found[m]]
        )


def test_all_outcomes_enumerated() -> None:
    problem = replace(make_problem(), others=np.eye(3, 60, dtype=np.bool_))
    outcomes = joint.apart(problem)[1:]
    found = permuted(joint.together([outcomes[0], *outcomes]))
    assert [each.enumerated for each in found] == [True] * 4
    labels = np.concatenate(list(every_labelling(outcomes[0])))
    counts = labels.astype(np.int64) @ problem.memberships.T
    own = make_tables()[0]
    ranks = own.rank[np.arange(5), counts]
    np.testing.assert_array_equal(found[0].tally.exceed, (ranks >= own.own).sum(axis=0))


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("batch", [7, 50, 4000])
def test_batches_and_a_backend_without_the_verb(clusters: bool, batch: int) -> None:
    problem, plain = make_problem(clusters), WithoutTheVerb()
    assert not isinstance(plain, SharesShuffles)
    expected, running = permuted(problem), Running(batch=batch)
    assert_all_same(permuted(problem, running=running), expected)
    assert_all_same(permuted(problem, backend=plain, running=running), expected)


def test_what_is_at_hand_is_used_where_all_are_sampled() -> None:
    problem = replace(make_problem(), others=make_problem().others[1:])  # pyright: ignore[reportOptionalSubscript]
    tables = [make_tables()[m] for m in (0, 2, 3)]
    backend, running = NumpyBackend(), Running()
    ready = make_ready(backend, problem, COUNT, running)
    backend.prepare = None  # pyright: ignore[reportAttributeAccessIssue]
    found = permute(backend, problem, tables, COUNT, running, ready)
    assert_all_same(found, permute(NumpyBackend(), problem, tables, COUNT, running))


class Stop(Exception):
    """The run was cut off."""


def test_cut_off_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "FIRST_AFTER", 0.0)
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    told: list[tuple[int, int]] = []

    def progress(done: int, wanted: int) -> None:
        told.append((done, wanted))
        if cut and done > 1000:
            raise Stop

    def running(*, resume: bool) -> Running:
        file = Checkpoint(tmp_path / "c", resume=resume, processes=ALONE)
        return Running(batch=100, progress=progress, checkpoint=file)

    cut = True
    with pytest.raises(Stop):
        permuted(running=running(resume=False))
    kept = told[-2][0]
    assert 0 < kept <= 1000
    cut = False
    told.clear()
    assert_all_same(permuted(running=running(resume=True)), permuted())
    assert told[0] == (kept, COUNT)
    assert told[-1] == (COUNT, COUNT)
    # Not of this run: other outcomes, or another order.
    others = make_problem().others
    assert others is not None
    for problem in (
        replace(make_problem(), others=np.roll(others, 1, axis=1)),
        replace(make_problem(), others=others[[0, 2, 1]]),
    ):
        with pytest.raises(InputError, match="other data"):
            permuted(problem, running=running(resume=True))


def test_shares_of_several_processes_add(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of three processes tallies its share; what they exchange is put together here."""
    parts: list[list[Tally]] = []

    def kept(self: Processes, tallies: list[Tally]) -> list[Tally]:
        parts.append(tallies)
        return tallies

    def agree(self: Processes, what: object, *, ready: bool = True) -> None:
        assert ready

    monkeypatch.setattr(Processes, "add", kept)
    monkeypatch.setattr(Processes, "check_same", agree)
    for index in range(3):
        permuted(running=Running(processes=Processes(index, 3)))
    assert sum(part[0].permutations for part in parts) == COUNT
    monkeypatch.undo()
    sampled = [each for each in permuted() if not each.enumerated]
    for m, expected in enumerate(sampled):
        shares = [part[m] for part in parts]
        assert_same(sum(shares[1:], start=shares[0]), expected.tally)


# The screen


def counted(problem: Problem) -> list[Counts]:
    n, wrong = len(problem.errors), int(problem.errors.sum())
    return [
        Counts(Margins((n,), (int(on.sum()),), (wrong,), "lift"), int(on[problem.errors].sum()))
        for on in problem.memberships
    ]


def screened(problem: Problem, running: Running | None = None) -> list[Screened]:
    bare = replace(problem, memberships=problem.memberships[:0])
    libraries = [counted(outcome) for outcome in joint.apart(problem)]
    plan = Plan(permutations=COUNT, decoys=300, seed=9)
    arguments = (plan, NumpyBackend(), running or Running())
    if problem.others is None:
        (library,) = libraries
        return [screen(bare, problem.memberships, library, library, *arguments)]
    return screen_several(bare, problem.memberships, libraries, libraries, *arguments)


def test_each_outcome_is_screened_as_if_alone() -> None:
    problem = make_problem()
    together = screened(problem)
    alone = [screened(outcome)[0] for outcome in joint.apart(problem)]
    for m, (one, other) in enumerate(zip(together, alone, strict=True)):
        assert one.closed is not None
        assert other.closed is not None
        assert one.closed.p_exact == other.closed.p_exact
        assert one.closed.chosen == other.closed.chosen
        assert one.closed.decoys is not None
        assert other.closed.decoys is not None
        assert one.closed.decoys.drawn == other.closed.decoys.drawn
        np.testing.assert_array_equal(one.p_bh, other.p_bh)
        sampled = ("max_t", "max_t_step_down", "mean_count")
        for method in one.selected:
            if m < 2 or method not in sampled:  # the first is the same draw, the second exact
                assert one.selected[method] == other.selected[method]
        if m < 2:
            np.testing.assert_array_equal(one.p_max_t, other.p_max_t)
            np.testing.assert_array_equal(one.mean_totals, other.mean_totals)
        else:
            assert (one.p_max_t != other.p_max_t).any()
            np.testing.assert_allclose(one.p_max_t, other.p_max_t, atol=0.05)


def test_a_clustered_screen_has_no_closed_form() -> None:
    problem = make_problem(clusters=True)
    for one in screened(problem):
        assert one.closed is None
        assert one.permuted.movable == 60


def test_states_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """One state is alive at a time, whatever the number of outcomes."""
    alive: list[int] = []
    inner = NumpyBackend.prepare

    class Held:
        def __init__(self, state: Any) -> None:
            self.state = state
            alive.append(1)
            assert len(alive) == 1

        def __del__(self) -> None:
            alive.pop()

    def prepare(self: NumpyBackend, problem: Problem, lanes: int) -> Held:
        return Held(inner(self, problem, lanes))

    def opened(name: str) -> Any:
        verb = getattr(NumpyBackend, name)
        return lambda self, state, *rest: verb(self, state.state, *rest)

    for name in ("decoys", "tally", "tallies"):
        monkeypatch.setattr(NumpyBackend, name, opened(name))
    monkeypatch.setattr(NumpyBackend, "prepare", prepare)
    assert len(screened(make_problem())) == 4
    assert not alive
