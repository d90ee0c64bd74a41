"""The checkpoint file: whose it is, whether it is whole, and who may replace it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import janus_jax
from janus_jax import checkpoint, permutations
from janus_jax.checkpoint import Checkpoint, fingerprint
from janus_jax.errors import InputError
from janus_jax.interface import Problem, Tables, Tally
from janus_jax.processes import ALONE, Processes
from tests.audits import cli
from tests.runs import start

TASK = {"data": "d", "statistic": "s", "seed": 3, "permutations": 10}
SUMS = [
    Tally(
        7,
        np.array([3, 4], dtype=np.int64),
        np.array([2**40 + outcome], dtype=np.int64),
        np.array([5], dtype=np.int64),
        np.array([0, 7], dtype=np.int64),
    )
    for outcome in range(2)
]


def equal(a: Tally, b: Tally) -> bool:
    names = ("maxima", "exceed", "step_down", "total")
    same = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)
    return same and a.permutations == b.permutations


def saved(path: Path, processes: Processes = ALONE) -> Path:
    file = Checkpoint(path, resume=False, processes=processes)
    assert file.begin(TASK) is None
    file.save(SUMS)
    return file.path


def resume(
    path: Path, task: checkpoint.Fingerprint = TASK, of: Processes = ALONE
) -> list[Tally] | None:
    return Checkpoint(path, resume=True, processes=of).begin(task)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    saved(tmp_path / "c")
    found = resume(tmp_path / "c")
    assert found is not None
    assert all(equal(a, b) for a, b in zip(found, SUMS, strict=True))
    assert found[0].exceed.dtype == np.int64
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_nothing_to_resume(tmp_path: Path) -> None:
    assert resume(tmp_path / "c") is None


def test_cut_short_anywhere(tmp_path: Path) -> None:
    path = saved(tmp_path / "c")
    text = path.read_bytes()
    for length in range(len(text)):
        path.write_bytes(text[:length])
        with pytest.raises(InputError, match="without --resume"):
            resume(path)


def test_one_byte_changed_anywhere(tmp_path: Path) -> None:
    path = saved(tmp_path / "c")
    text = path.read_bytes()
    for position in range(0, len(text), 3):
        broken = bytearray(text)
        broken[position] ^= 1
        path.write_bytes(bytes(broken))
        with pytest.raises(InputError):  # damaged, or not a checkpoint at all
            resume(path)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("data", "e", "data"),
        ("statistic", "t", "statistic"),
        ("seed", 4, "seed"),
        ("permutations", 11, "number of permutations"),
    ],
)
def test_another_run_is_named(key: str, value: str | int, said: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "c")
    with pytest.raises(InputError, match=said):
        resume(path, {**TASK, key: value})


def test_another_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "FORMAT", "janus-jax/checkpoint/0")
        path = saved(tmp_path / "c")
    with pytest.raises(InputError, match="version"):
        resume(path)


def test_another_number_of_processes(tmp_path: Path) -> None:
    for index in (0, 1):
        saved(tmp_path / "c", Processes(index, 2))
    assert {path.name for path in tmp_path.iterdir()} == {"c.1of2", "c.2of2"}
    for index in (0, 1):
        assert resume(tmp_path / "c", of=Processes(index, 2)) is not None
    for other in (ALONE, Processes(0, 3)):
        with pytest.raises(InputError, match="number of processes"):
            resume(tmp_path / "c", of=other)
    saved(tmp_path / "d")
    with pytest.raises(InputError, match="number of processes"):
        resume(tmp_path / "d", of=Processes(0, 2))


def test_another_file_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("id,error\n1,0\n", encoding="utf-8")
    with pytest.raises(InputError, match="not a checkpoint"):
        Checkpoint(path, resume=False, processes=ALONE)
    message = cli.refused(start.table(tmp_path / ".."), "--error", "error", "--checkpoint", path)
    assert "not a checkpoint" in message


def test_it_is_removed_only_by_its_own_run(tmp_path: Path) -> None:
    path = saved(tmp_path / "c")
    stranger = Checkpoint(path, resume=False, processes=ALONE)
    assert stranger.left_over
    stranger.begin(TASK)
    stranger.remove()
    assert path.exists()
    owner = Checkpoint(path, resume=True, processes=ALONE)
    assert not owner.left_over
    owner.begin(TASK)
    owner.remove()
    assert not path.exists()


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    file = Checkpoint(tmp_path / "gone" / "c", resume=False, processes=ALONE)
    file.begin(TASK)
    with pytest.raises(InputError, match="cannot write checkpoint"):
        file.save(SUMS)


def make_problem(seed: int = 0) -> Problem:
    return Problem(
        memberships=np.eye(3, 6, dtype=np.bool_),
        errors=np.array([1, 0, 1, 0, 0, 1], dtype=np.bool_),
        strata=np.zeros(6, dtype=np.int32),
        pool=np.ones((3, 1), dtype=np.int32),
        seed=seed,
        others=np.zeros((1, 6), dtype=np.bool_),
    )


def make_tables() -> list[Tables]:
    rank, own = np.ones((3, 4), dtype=np.int32), np.ones(3, dtype=np.int32)
    return [Tables(rank.copy(), own.copy(), 1) for _ in range(2)]


def test_the_fingerprint_sees_every_array() -> None:
    seen = {json.dumps(fingerprint(make_problem(), make_tables(), 10))}
    seen.add(json.dumps(fingerprint(make_problem(1), make_tables(), 10)))
    seen.add(json.dumps(fingerprint(make_problem(), make_tables(), 11)))
    for name in ("memberships", "errors", "strata", "pool", "others"):
        problem = make_problem()
        array = getattr(problem, name)
        array.flat[-1] = not array.flat[-1]
        seen.add(json.dumps(fingerprint(problem, make_tables(), 10)))
    seen.add(json.dumps(fingerprint(replace(make_problem(), others=None), make_tables(), 10)))
    for outcome, name in itertools.product(range(2), ("rank", "own")):
        tables = make_tables()
        getattr(tables[outcome], name).flat[-1] += 1
        seen.add(json.dumps(fingerprint(make_problem(), tables, 10)))
    assert len(seen) == 13
    assert fingerprint(make_problem(), make_tables(), 10) == fingerprint(
        make_problem(), make_tables(), 10
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--seed", "9"), "seed"),
        (("--permutations", "2999"), "permutations"),
        (("--exclude", "g0"), "data"),
    ],
    ids=lambda value: value[0].lstrip("-") if isinstance(value, tuple) else "",
)
def test_resuming_another_command_is_refused(
    more: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint is the one that a run leaves before its result is written."""
    monkeypatch.setattr(checkpoint, "FIRST_AFTER", 0.0)
    monkeypatch.setattr(permutations, "_LONGEST_CALL", 1)
    monkeypatch.setattr(Checkpoint, "remove", lambda self: None)
    words = (start.table(tmp_path), "--error", "error", "--backend", "numpy", "--batch", "500")
    path = ("--checkpoint", tmp_path / "sums")
    cli.audit(*words, "--permutations", "3000", *path)
    wanted = () if "--permutations" in more else ("--permutations", "3000")
    message = cli.refused(*words, *wanted, *more, *path, "--resume")
    assert said in message
    assert "without --resume" in message


def test_replacing_a_checkpoint_is_said(tmp_path: Path) -> None:
    saved(tmp_path / "sums")
    words = (start.table(tmp_path), "--error", "error", "--backend", "numpy", "--json", "-")
    run = cli.call("audit", *words, "--permutations", "999", "--checkpoint", tmp_path / "sums")
    assert run.status == 0
    assert "unfinished run" in run.err
    assert (tmp_path / "sums").exists()  # this run was too short to keep anything


def test_resume_needs_a_file(tmp_path: Path) -> None:
    message = cli.refused(start.table(tmp_path), "--error", "error", "--resume")
    assert "--checkpoint" in message
    assert "--out" in message


def test_python_keeps_and_removes_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutations, "_LONGEST_CALL", 1)
    monkeypatch.setattr(checkpoint, "FIRST_AFTER", 0.0)
    table, path = start.table(tmp_path), tmp_path / "sums"
    seen: list[int] = []

    def stop(done: int, total: int) -> None:
        seen.append(done)
        if len(seen) == 4:
            raise RuntimeError("enough")

    options = {"error": "error", "backend": "numpy", "batch": 100, "permutations": 1_000}
    with pytest.raises(RuntimeError, match="enough"):
        janus_jax.audit(table, **options, checkpoint=path, progress=stop)
    assert path.exists()
    begun: list[int] = []
    result = janus_jax.audit(
        table,
        **options,
        checkpoint=path,
        resume=True,
        progress=lambda done, total: begun.append(done),
    )
    assert begun[0] == 100  # the first save was due at once, the next five seconds later
    assert not path.exists()
    whole = janus_jax.audit(table, **options)
    assert cli.without_run(result.to_dict()) == cli.without_run(whole.to_dict())
    with pytest.raises(InputError, match="checkpoint=FILE"):
        janus_jax.audit(table, **options, resume=True)
