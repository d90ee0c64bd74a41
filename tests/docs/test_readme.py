"""The README's session and its Python block, run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.audits import cli

ROOT = Path(__file__).resolve().parents[2]


def blocks(language: str) -> list[str]:
    """The fenced blocks of this language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (ROOT / "README.md").exists():
        pytest.skip("the README is not here (the wheel is tested away from the tree)")
    monkeypatch.chdir(ROOT)


def test_the_session_prints_what_it_shows() -> None:
    (session,) = blocks("console")
    command, *shown = session.splitlines()
    words = shlex.split(command.removeprefix("$ janus-jax "))
    run = cli.call(*words)
    assert run.status == 0
    printed = iter(run.out.splitlines())
    for line in shown:
        if line != "...":  # in this order, with nothing changed
            assert any(line == text.rstrip() for text in printed), line


def test_the_python_block_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = blocks("python")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "difficulty = easy" in out
    assert (tmp_path / "out" / "livecodebench" / "report.md").exists()


def test_every_option_that_the_readme_names_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    options = set(re.findall(r"--[a-z][a-z-]*", text))
    help_text = cli.call("audit", "--help").out
    assert options
    for option in options:
        assert option in help_text, option
