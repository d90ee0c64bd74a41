"""A run stopped at any moment goes on to the same bits."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.audits import cli
from tests.runs import start

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

PERMUTATIONS = 3_000
BATCH = 64  # 47 calls of the backend
WORDS = ("--permutations", str(PERMUTATIONS), "--decoys", "100", "--batch", str(BATCH))


def words(path: Path, *more: str | Path) -> tuple[str | Path, ...]:
    return ("audit", path, "--error", "error", *WORDS, *more)


def interrupt(number: signal.Signals, pause: float, *command: str | Path) -> cli.Run:
    """Run, wait for a checkpoint newer than the last, wait a little, send the signal."""
    checkpoint = Path(str(command[command.index("--checkpoint") + 1]))
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    run = start.program(0.05, *command)
    start.wait_for(
        lambda: checkpoint.exists() and checkpoint.stat().st_mtime_ns != before,
        run,
    )
    time.sleep(pause)
    run.send_signal(number)
    return start.finish(run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_five_interruptions(number: signal.Signals, tmp_path: Path) -> None:
    table = start.table(tmp_path)
    whole = tmp_path / "whole.json"
    assert cli.call(*words(table, "--backend", "numpy", "--json", whole)).status == 0
    moments, got = random.Random(int(number)), tmp_path / "got.json"
    command = words(
        *(table, "--backend", "numpy", "--json", got, "--checkpoint", tmp_path / "sums"),
        "--resume",
    )
    for _ in range(5):
        run = interrupt(number, moments.uniform(0, 0.15), *command)
        assert run.out == ""
        assert not got.exists()
        assert (tmp_path / "sums").exists()
        if number == signal.SIGKILL:
            assert run.status == -signal.SIGKILL
            continue
        assert run.status == 130, run
        (said,) = [line for line in run.err.splitlines() if "interrupted" in line]
        assert "--resume" in said
        assert "Traceback" not in run.err
    last = start.finish(start.program(0.0, *command))
    assert last.status == 0, last
    assert start.result(got) == start.result(whole)
    assert {path.name for path in tmp_path.iterdir()} == {table.name, whole.name, got.name}
    first = next(line for line in last.err.splitlines() if "permutations (" in line)
    done = int(first.split()[1].replace(",", ""))
    assert done >= 5 * BATCH  # what was done was not done again


def test_another_backend_and_batch_go_on(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    table, got = start.table(tmp_path), tmp_path / "got.json"
    more = ("--json", got, "--checkpoint", tmp_path / "sums")
    run = interrupt(signal.SIGTERM, 0.1, *words(table, "--backend", "numpy", *more))
    assert run.status == 130
    other = [*words(table, "--backend", "jax", *more, "--resume")]
    other[other.index("--batch") + 1] = "500"
    last = cli.call(*other)
    assert last.status == 0, last.err
    whole = cli.audit(*words(table, "--backend", "numpy")[1:])
    assert start.result(got) == cli.without_run(whole)


def test_a_folder_of_results_holds_the_checkpoint(tmp_path: Path) -> None:
    table, out = start.table(tmp_path), tmp_path / "out"
    run = start.program(0.05, *words(table, "--backend", "numpy", "--out", out))
    start.wait_for((out / "checkpoint").exists, run)
    run.send_signal(signal.SIGTERM)
    stopped = start.finish(run)
    assert stopped.status == 130
    assert str(out / "checkpoint") in stopped.err
    again = cli.call(*words(table, "--backend", "numpy", "--out", out, "--resume"))
    assert again.status == 0, again.err
    assert not (out / "checkpoint").exists()
    whole = cli.audit(*words(table, "--backend", "numpy")[1:])
    assert start.result(out / "result.json") == cli.without_run(whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_checkpoint(number: signal.Signals, tmp_path: Path) -> None:
    run = start.program(0.05, *words(start.table(tmp_path), "--backend", "numpy"))
    assert run.stderr is not None
    assert any("permutations (" in line for line in iter(run.stderr.readline, ""))
    run.send_signal(number)
    stopped = start.finish(run)
    assert stopped.status == 130
    assert stopped.out == ""
    assert "interrupted" in stopped.err
    assert "Traceback" not in stopped.err


@pytest.mark.parametrize("kept", [True, False])
def test_stopped_outside_the_permutations(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said of a checkpoint is true whenever the signal comes."""
    from janus_jax import checkpoint, processes

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "FIRST_AFTER", 0.0 if kept else 60.0)
    monkeypatch.setattr(processes.Processes, "add", interrupted)
    table, sums = start.table(tmp_path), tmp_path / "sums"
    run = cli.call(*words(table, "--backend", "numpy", "--checkpoint", sums))
    assert run.status == 130
    assert sums.exists() == kept
    (said,) = [line for line in run.err.splitlines() if "interrupted" in line]
    expected = (
        f"its sums are kept in {sums}; the same command with --resume goes on"
        if kept
        else f"nothing was kept in {sums} yet"
    )
    assert said == f"janus-jax: interrupted: {expected}"
