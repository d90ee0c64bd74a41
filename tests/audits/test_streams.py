"""Standard output that is closed, full, narrow-minded or gone; targets that are inputs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import janus_jax
from janus_jax.errors import ProcessLost
from janus_jax.output import publish
from janus_jax.processes import Processes
from tests.audits import cli
from tests.oracle import tables

GSM8K = tables.table_of("gsm8k_openai_4models.csv")
WORDS = ("--correct", "correct_175b_verification", "--backend", "numpy", "--permutations", "399")


def shell(tail: str, path: Path = GSM8K, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell with something after it; PIPESTATUS counts, not the tail's."""
    command = f"{sys.executable} -m janus_jax audit '{path}' {' '.join(WORDS)}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} {tail}"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.parametrize("tail", ["| head -1", ">&-", "--json - >&-", "2>&-"])
def test_a_reader_that_went_away_is_no_failure(tail: str) -> None:
    run = shell(tail)
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("command", ["audit", "replay"])
def test_the_result_comes_though_nobody_reads_the_warnings(command: str, tmp_path: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)  # whatever is written there fails
    target = tmp_path / "result.json"
    # Few decoys, which is warned of before anything is computed.
    words = (*WORDS, "--decoys", "20", "--json", str(target))
    more = ("--replays", "200") if command == "replay" else ()
    run = subprocess.run(
        [sys.executable, "-m", "janus_jax", command, str(GSM8K), *words, *more],
        stdout=subprocess.PIPE,
        stderr=writes,
        text=True,
        check=False,
    )
    os.close(writes)
    assert run.returncode == 0
    assert "K = 20 decoys are few" in cli.parse(target.read_text("utf-8"))["warnings"][0]
    assert run.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("tail", "what"),
    [("> /dev/full", "standard output"), ("--json - > /dev/full", "standard output"),
     ("--json /dev/full", "/dev/full")],
)  # fmt: skip
def test_a_full_device_is_one_message(tail: str, what: str) -> None:
    run = shell(tail)
    assert run.returncode == 2
    assert f"cannot write {what}: No space left on device" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("status", "ends"), [(0, 2), (1, 1)])
def test_what_is_still_buffered_at_the_end_fails_like_the_rest(status: int, ends: int) -> None:
    """Not with the interpreter's 120 and a word on an ignored exception."""
    program = (
        "import sys; from janus_jax import cli; "
        f"cli.main = lambda: sys.stdout.write('x') and {status}; cli.run()"
    )
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-c", program],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.returncode == ends
    message = "janus-jax: error: cannot write standard output: No space left on device\n"
    assert run.stderr == (message if not status else "")


def test_an_encoding_that_lacks_a_letter_gets_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    rows = [f"{'größe' if i % 2 else '東京'},{i % 3 % 2}" for i in range(80)]
    path.write_text("ort,correct_175b_verification\n" + "\n".join(rows) + "\n", encoding="utf-8")
    run = shell("", path, PYTHONIOENCODING="ascii")
    assert run.returncode == 0, run.stderr
    assert r"ort = gr\xf6\xdfe" in run.stdout
    assert r"ort = \u6771\u4eac" in run.stdout


def test_an_input_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "findings.csv"
    shutil.copy(GSM8K, path)
    before = path.read_bytes()
    link = tmp_path / "link.json"
    link.symlink_to(path)
    for target in (("--json", path), ("--json", link), ("--out", tmp_path)):
        message = cli.refused(path, *WORDS, *target)
        assert "is an input" in message
    assert path.read_bytes() == before


@pytest.mark.parametrize("option", ["--out", "--json", "--checkpoint"])
def test_an_empty_target_is_a_mistake(option: str) -> None:
    assert f"{option} is empty" in cli.refused(GSM8K, *WORDS, option, "")


def test_two_outputs_on_one_path_are_refused(tmp_path: Path) -> None:
    both = tmp_path / "both"
    for words in (
        ("--json", both, "--checkpoint", both),
        ("--out", tmp_path, "--json", tmp_path / "report.md"),
        ("--out", tmp_path, "--checkpoint", tmp_path / "." / "findings.csv"),
    ):
        assert "written twice" in cli.refused(GSM8K, *WORDS, *words)
    assert not both.exists()


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:abc", "127.0.0.1:99999", ":5000"])
def test_a_coordinator_is_a_host_and_a_port(address: str) -> None:
    words = ("--coordinator", address, "--processes", "2", "--process-id", "0")
    message = cli.refused(GSM8K, "--correct", "correct_175b_verification", *words)
    assert "HOST:PORT" in message
    assert repr(address) in message


@pytest.mark.parametrize(("status", "left_at_once"), [(130, True), (0, False), (2, False)])
def test_an_interrupted_jax_is_left_without_taking_it_apart(
    status: int, left_at_once: bool
) -> None:
    # Its threads may be computing: an ordinary exit, which runs exit handlers, would crash.
    code = (
        "import atexit, sys, types; sys.modules['jax'] = types.ModuleType('jax')\n"
        "atexit.register(lambda: print('taken apart'))\n"
        "import janus_jax.cli as cli\n"
        f"cli.main = lambda: {status}\n"
        "print('said before', end=' '); cli.run()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == status
    assert run.stdout.startswith("said before")
    assert ("taken apart" in run.stdout) != left_at_once


def test_a_lost_process_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    multihost = pytest.importorskip("jax.experimental.multihost_utils")

    def broken(words: object) -> None:
        raise RuntimeError("Connection closed by peer")

    monkeypatch.setattr(multihost, "process_allgather", broken)
    with pytest.raises(ProcessLost, match="--resume goes on") as lost:
        Processes(0, 2).check_same("task")
    assert lost.value.exit_status == 4


def test_sums_are_not_kept_once_the_results_are_written(tmp_path: Path) -> None:
    result = janus_jax.audit(
        str(GSM8K), correct="correct_175b_verification", permutations=99, backend="numpy"
    )
    kept = tmp_path / "checkpoint"
    kept.write_text("sums", "utf-8")

    def gone(document: object, stream: object) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        publish(result, None, None, gone, kept.unlink)
    assert kept.exists()  # nothing was written that could replace them
    with pytest.raises(BrokenPipeError):
        publish(result, str(tmp_path / "out"), None, gone, kept.unlink)
    assert not kept.exists()
    assert (tmp_path / "out" / "report.html").exists()
