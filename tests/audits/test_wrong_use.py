"""Wrong options and wrong input: exit 2, one message on stderr, nothing on stdout."""

from __future__ import annotations

import builtins
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.audits import cli, made
from tests.oracle import tables

TABLE = tables.case(16)  # 150 rows of id, lang, n_tokens, error


@pytest.mark.parametrize(
    "words",
    [
        ("--error", "eror"),
        ("--correct", "eror"),
        ("--score", "eror", "--pass-at", "1"),
        *(
            ("--error", "error", option, "eror")
            for option in (
                *("--id", "--descriptor", "--exclude", "--categorical", "--numeric"),
                *("--stratify", "--strata", "--split-column"),
            )
        ),
        ("--error", "error", "--conjunction", "both = lang = en & eror"),
    ],
    ids=lambda words: words[-2].lstrip("-"),
)
def test_unknown_column(words: tuple[str, ...]) -> None:
    assert "eror" in cli.refused(TABLE, *words)


def test_unknown_column_shows_those_there_are() -> None:
    message = cli.refused(TABLE, "--error", "eror")
    assert re.search(r"\berror\b", message.removeprefix("janus-jax: error: "))


def test_no_outcome() -> None:
    message = cli.refused(TABLE)
    assert "--error" in message
    assert "--correct" in message


@pytest.mark.parametrize(
    "words",
    [
        ("--error", "error", "--correct", "error"),
        ("--error", "error", "--score", "n_tokens", "--pass-at", "1"),
        ("--correct", "error", "--score", "n_tokens", "--pass-at", "1"),
    ],
)
def test_two_outcomes(words: tuple[str, ...]) -> None:
    message = cli.refused(TABLE, *words)
    assert words[0] in message or "one outcome" in message


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("option", ["--error", "--correct"])
def test_all_right_or_all_wrong(value: int, option: str, tmp_path: Path) -> None:
    columns = {"lang": ["en", "de"] * 20, "verdict": [value] * 40}
    path = made.write(tmp_path / "constant.csv", columns)
    message = cli.refused(path, option, "verdict")
    assert "verdict" in message
    assert "single value" in message


@pytest.mark.parametrize("name", ["empty.csv", "empty.tsv", "empty.jsonl", "empty.parquet"])
def test_empty_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"")
    assert name in cli.refused(tmp_path / name, "--error", "error")


def test_header_alone(tmp_path: Path) -> None:
    path = tmp_path / "header.csv"
    path.write_text("id,lang,error\n", encoding="utf-8")
    assert "header.csv" in cli.refused(path, "--error", "error")


@pytest.mark.parametrize("value", [0, 1])
def test_one_row(value: int, tmp_path: Path) -> None:
    path = made.write(tmp_path / "one.csv", {"id": ["a"], "lang": ["en"], "error": [value]})
    cli.refused(path, "--error", "error")


def test_no_file(tmp_path: Path) -> None:
    assert "nowhere.csv" in cli.refused(tmp_path / "nowhere.csv", "--error", "error")


@pytest.mark.parametrize("name", ["folder", "folder.csv", "folder.parquet"])
def test_a_directory(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    message = cli.refused(tmp_path / name, "--error", "error")
    assert name in message
    assert re.search("director|folder", message.replace(name, ""))


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0,
    reason="the superuser may read a file without permissions",
)
def test_no_permission(tmp_path: Path) -> None:
    path = made.write(tmp_path / "locked.csv", {"lang": ["en", "de"], "error": [0, 1]})
    path.chmod(0)
    message = cli.refused(path, "--error", "error")
    assert "locked.csv" in message
    assert "ermission" in message


def test_no_permission_seen_by_anyone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the operating system's answer imitated, so that the superuser tests it too."""
    path = made.write(tmp_path / "locked.csv", {"lang": ["en", "de"], "error": [0, 1]})
    real_open: Any = io.open
    real_os_open: Any = os.open

    def denied(file: Any) -> bool:
        return isinstance(file, str | os.PathLike) and Path(os.fspath(file)) == path

    def deny(file: Any, *args: Any, **kwargs: Any) -> Any:
        if denied(file):
            raise PermissionError(13, "Permission denied", str(file))
        return real_open(file, *args, **kwargs)

    def deny_os(file: Any, *args: Any, **kwargs: Any) -> Any:
        if denied(file):
            raise PermissionError(13, "Permission denied", str(file))
        return real_os_open(file, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", deny)
    monkeypatch.setattr(io, "open", deny)  # pathlib's
    monkeypatch.setattr(os, "open", deny_os)
    message = cli.refused(path, "--error", "error")
    assert "locked.csv" in message
    assert "ermission" in message


LONG_LINE = """
import resource, sys
# Reading the line whole would need several times its size: that fails here, not on the machine.
resource.setrlimit(resource.RLIMIT_DATA, (3 << 29, 3 << 29))
from janus_jax.cli import main
sys.exit(main(["audit", sys.argv[1], "--error", "error", "--backend", "numpy"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs sparse files and a limit on memory")
@pytest.mark.parametrize(
    ("name", "start"),
    [("line.csv", b"id,lang,error\n0,en,0\n1,de,1\n2,"), ("line.jsonl", b'{"error": 1, "lang": "')],
)
def test_a_line_of_two_gigabytes(name: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(start)
    os.truncate(path, 2 << 30)  # sparse: takes no room on the disk
    run = subprocess.run(
        [sys.executable, "-c", LONG_LINE, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 2, run.stderr[-2000:]
    assert run.stdout == ""
    assert name in cli.one_message(run.stderr)


@pytest.mark.parametrize(
    "words",
    [
        *(("--q", value) for value in ("0", "1", "-0.1", "1.5", "nan", "x")),
        *(("--alpha", value) for value in ("-0.1", "1.5", "nan")),
        *(("--min-holdout-lift", value) for value in ("-0.1", "1.5", "nan")),
        *(("--decoys", value) for value in ("0", "-5", "1.5")),
        *(("--permutations", value) for value in ("0", "-5", "1.5")),
        *(("--batch", value) for value in ("0", "-5")),
        *(("--seed", value) for value in ("-1", str(2**64), "1.5")),
        *(("--discovery", value) for value in ("0", "1.5", "-0.5", "nan")),
        *(("--min-support", value) for value in ("-1", "0.5")),
        *(("--min-prevalence", value) for value in ("-0.1", "1.5", "nan")),
        ("--statistic", "t"),
        ("--rule", "nosuch"),
        ("--preset", "nosuch"),
        ("--missing-outcome", "guess"),
        ("--repeats", "mean"),
        ("--nosuchoption", "1"),
    ],
    ids=lambda words: "=".join(words).lstrip("-"),
)
def test_values_out_of_range(words: tuple[str, str]) -> None:
    option, value = words
    message = cli.refused(TABLE, "--error", "error", f"{option}={value}", "--backend", "numpy")
    # The option, or its name in words ("the seed must lie between ...").
    plain = option.lstrip("-").replace("-", "[- _]")
    assert re.search(plain, message), message


def test_prevalence_limits_the_wrong_way_round() -> None:
    message = cli.refused(
        TABLE, "--error", "error", "--min-prevalence", "0.6", "--max-prevalence", "0.4"
    )
    assert "prevalence" in message


def test_an_unknown_backend_lists_those_there_are() -> None:
    run = cli.call("audit", TABLE, "--error", "error", "--backend", "nosuch")
    assert run.status in (2, 3)  # a wrong word, or a backend that cannot run here
    assert run.out == ""
    message = cli.one_message(run.err)
    assert "nosuch" in message
    assert "numpy" in message


def test_nothing_is_written_when_refused(tmp_path: Path) -> None:
    target, folder = tmp_path / "result.json", tmp_path / "out"
    cli.refused(TABLE, "--error", "error", "--q", "0", "--json", target, "--out", folder)
    assert not target.exists()
    assert not folder.exists()


@pytest.mark.parametrize("option", ["--correct", "--q", "--backend", "--out", "--json", "--plan"])
def test_an_option_that_takes_one_value_is_given_once(option: str) -> None:
    run = cli.call("audit", "none.csv", option, "1", option, "2")
    assert run.status == 2
    assert f"{option} is given twice: give one of them" in cli.one_message(run.err)
