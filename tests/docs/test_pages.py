"""The sessions of the README and of the pages in docs/: run, and compared line by line."""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from pathlib import Path

import pytest

from tests.audits import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/worked-audit.md", "docs/logs.md")
COMMANDS = ("audit", "replay", "power", "sensitivity", "reproduce", "plan", "propose")


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of this language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the repository's root, which commands may write into."""
    if not (ROOT / "README.md").exists():
        pytest.skip("the pages are not here (the wheel is tested away from the tree)")
    made = tmp_path_factory.mktemp("root")
    for name in ("examples", "tests"):
        (made / name).symlink_to(ROOT / name)
    return made


@pytest.fixture(autouse=True)
def _at_the_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@lru_cache
def printed(command: str) -> list[str]:
    """What the command prints, lines without blanks at their ends."""
    run = cli.call(*shlex.split(command.removeprefix("$ janus-jax ")))
    assert run.status == 0, run.err
    return [line.rstrip() for line in run.out.splitlines()]


@pytest.mark.parametrize("page", PAGES)
def test_sessions_print_what_they_show(page: str) -> None:
    sessions = blocks(page, "console")
    assert sessions
    for session in sessions:
        command, *shown = session.splitlines()
        lines = iter(printed(command))
        for line in shown:
            if line != "...":  # in this order, with nothing changed
                assert any(line == text for text in lines), (command, line)


def test_commands_that_stop_say_what_is_shown() -> None:
    stops = [block for block in blocks("docs/logs.md", "text") if block.startswith("$ ")]
    assert len(stops) >= 5
    for stop in stops:
        command, *shown = stop.splitlines()
        run = cli.call(*shlex.split(command.removeprefix("$ janus-jax ")))
        assert run.status == 2, command
        assert cli.one_message(run.err) == " ".join(shown)


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "logs").glob("*.md")), ids=lambda p: p.stem
)
def test_every_test_that_a_table_of_traps_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    files = [ROOT / name for name in re.findall(r"`(tests/[a-z_/]+\.py)`", text)]
    there = {
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.M)
    }
    named = set(re.findall(r"`(test_\w+)`", text))
    assert text.startswith("# ")
    assert named
    assert named <= there, sorted(named - there)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "test" in line]
    assert all(len(re.split(r"(?<!\\)\|", row)) == 5 for row in rows)
    assert f"logs/{page.name}" in (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_option_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    options = set(re.findall(r"--[a-z][a-z-]*", text))
    help_texts = "".join(cli.call(command, "--help").out for command in COMMANDS)
    assert options
    for option in options:
        assert option in help_texts, option


def test_the_readmes_python_block_runs(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (code,) = blocks("README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "difficulty = easy" in out
    assert (folder / "out" / "livecodebench" / "report.md").exists()
