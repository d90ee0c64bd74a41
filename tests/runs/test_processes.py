"""Several processes on one host: one result, each permutation computed once."""

from __future__ import annotations

import itertools
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from janus_jax import processes
from janus_jax.interface import Tally
from janus_jax.processes import Processes
from tests.audits import cli
from tests.runs import start

pytestmark = pytest.mark.long

pytest.importorskip("jax")

WORDS = ("--error", "error", "--permutations", "6001", "--decoys", "1000", "--batch", "150")


def address() -> str:
    """An address of this host that is free now."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"


def launch(count: int, pause: float, *words: str | Path) -> list[subprocess.Popen[str]]:
    """Start the same command in several processes."""
    where = address()
    return [
        start.program(
            pause,
            *("audit", *words, "--coordinator", where),
            *("--processes", str(count), "--process-id", str(index)),
        )
        for index in range(count)
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("total", [1, 2, 10, 499_999, 2**32 - 1])
def test_shares_are_a_partition(count: int, total: int) -> None:
    shares = [Processes(index, count).share(total) for index in range(count)]
    assert shares[0].start == 0
    assert shares[-1].stop == total
    assert all(a.stop == b.start for a, b in itertools.pairwise(shares))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_sums_beyond_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of 32 bits carry sums of 64: three processes of the same sums."""

    def three(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
        assert words.dtype == np.uint32
        return np.stack([words] * 3)

    monkeypatch.setattr(processes, "_gather", three)
    sizes = {"maxima": 3, "exceed": 2, "step_down": 2, "total": 3}
    arrays = {name: np.arange(size) + 2**40 + len(name) for name, size in sizes.items()}
    wider = {name: np.append(array, 2**34) for name, array in arrays.items()}
    outcomes = [arrays, wider]
    summed = Processes(0, 3).add([Tally(2**33 + 1, **each) for each in outcomes])
    for one, expected in zip(summed, outcomes, strict=True):
        assert one.permutations == 3 * (2**33 + 1)
        for name, array in expected.items():
            np.testing.assert_array_equal(getattr(one, name), 3 * array)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_result(count: int, tmp_path: Path) -> None:
    table = start.table(tmp_path)
    runs = launch(count, 0.0, table, *WORDS, "--json", "-")
    ended = [start.finish(run) for run in runs]
    assert [run.status for run in ended] == [0] * count, ended
    assert [run.out for run in ended[1:]] == [""] * (count - 1)
    got = cli.parse(ended[0].out)  # nothing but JSON, whatever the runtime prints
    assert got["run"]["processes"] == count
    assert cli.without_run(got) == cli.without_run(cli.audit(table, *WORDS, "--backend", "numpy"))


def stop(number: signal.Signals, victims: Sequence[int], *words: str | Path) -> list[cli.Run]:
    """Start two processes, wait for new checkpoints of both, send a signal to some."""
    folder = Path(str(words[0])).parent
    files = [folder / f"sums.{index + 1}of2" for index in range(2)]
    before = [file.stat().st_mtime_ns if file.exists() else 0 for file in files]
    runs = launch(2, 0.2, *words)
    for file, since, run in zip(files, before, runs, strict=True):
        start.wait_for(lambda f=file, s=since: f.exists() and f.stat().st_mtime_ns != s, run)
    for victim in victims:
        runs[victim].send_signal(number)
    if len(victims) < len(runs):
        start.finish(runs[victims[0]])
        for run in runs:  # the peer is aborted by JAX's runtime, sooner or later
            run.kill()
    return [start.finish(run) for run in runs]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_killed_and_stopped_then_resumed(tmp_path: Path) -> None:
    table, got = start.table(tmp_path), tmp_path / "got.json"
    words = (table, *WORDS, "--json", got, "--checkpoint", tmp_path / "sums", "--resume")
    for victim in (1, 0):
        killed = stop(signal.SIGKILL, [victim], *words)
        assert killed[victim].status == -signal.SIGKILL
    stopped = stop(signal.SIGTERM, [0, 1], *words)
    for run in stopped:
        assert run.status == 130, stopped
        assert "interrupted" in run.err
        assert "--resume" in run.err
    assert not got.exists()
    again = [start.finish(run) for run in launch(2, 0.0, *words)]
    assert [run.status for run in again] == [0, 0], again
    assert {path.name for path in tmp_path.iterdir()} == {table.name, got.name}
    assert start.result(got) == cli.without_run(cli.audit(table, *WORDS, "--backend", "numpy"))


def test_different_tasks_are_refused(tmp_path: Path) -> None:
    table, where = start.table(tmp_path), address()
    runs = [
        start.program(
            0.0,
            *("audit", table, *WORDS, "--seed", str(index), "--coordinator", where),
            *("--processes", "2", "--process-id", str(index)),
        )
        for index in range(2)
    ]
    ended = [start.finish(run) for run in runs]
    assert ended[0].status == 2, ended
    assert ended[0].out == ""
    assert "other data or options" in ended[0].err
    assert ended[1].status != 0


def test_a_damaged_checkpoint_stops_everybody(tmp_path: Path) -> None:
    table, sums = start.table(tmp_path), tmp_path / "sums"
    (tmp_path / "sums.2of2").write_bytes(b"")
    runs = launch(2, 0.0, table, *WORDS, "--checkpoint", sums, "--resume")
    ended = [start.finish(run) for run in runs]
    assert ended[0].status == 2, ended
    assert "process 1 cannot start" in ended[0].err
    assert ended[1].status != 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--distributed", "--backend", "numpy"), "numpy"),
        (("--coordinator", "localhost:1"), "--processes"),
        (("--processes", "2", "--process-id", "0"), "--coordinator"),
        (
            ("--coordinator", "localhost:1", "--processes", "2", "--process-id", "2"),
            "--process-id",
        ),
        (
            ("--coordinator", "localhost:1", "--processes", "0", "--process-id", "0"),
            "--processes",
        ),
    ],
    ids=lambda value: "".join(value).lstrip("-") if isinstance(value, tuple) else "",
)
def test_wrong_words(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    assert said in cli.refused(start.table(tmp_path), "--error", "error", *words)


def test_no_cluster_to_detect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "OMPI_MCA_orte_hnp_uri", "COORDINATOR_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    run = start.program(
        0.0, "audit", start.table(tmp_path), "--error", "error", "--distributed", "--json", "-"
    )
    ended = start.finish(run)
    assert ended.status == 2, ended
    assert ended.out == ""
    assert "--coordinator" in cli.one_message(ended.err)
