"""What the README and the pages show is run, and what they say of the program is so."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from tests.audits import cli
from tests.docs.markdown import ROOT, blocks, pages
from tests.docs.running import Page

COMMANDS = ("audit", "replay", "power", "sensitivity", "reproduce", "plan", "propose", "report")
OTHERS_OPTIONS = {
    *("--output", "--predict", "--no-log-samples", "--repeat"),  # of evaluation tools, or begin so
    *("--editable", "--group", "--orders"),  # of pip and of an example
}

needs_pages = pytest.mark.skipif(not pages(), reason="the pages stay with the sources")
every_page = pytest.mark.parametrize("page", pages(), ids=str)


@needs_pages
@every_page
def test_what_a_page_shows_is_what_happens(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("examples", "tests", "janus_jax"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    running = Page()
    for block in blocks(page):
        running.run(block)


@needs_pages
def test_most_blocks_run() -> None:
    found = [block for page in pages() for block in blocks(page)]
    shown = [block for block in found if not block.language.startswith("{")]
    assert len(shown) > 60
    assert sum("not-run" in block.attributes for block in shown) <= 0.2 * len(shown)


@cache
def options() -> str:
    """What the commands' help names."""
    runs = [cli.call(command, "--help") for command in COMMANDS]
    return "".join(run.out for run in runs if run.status == 0)


@needs_pages
@every_page
def test_every_option_that_a_page_names_exists(page: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - OTHERS_OPTIONS:
        assert re.search(rf"{option}\b", options()), option


@needs_pages
@pytest.mark.parametrize(
    "page", [page for page in pages() if page.parent.name == "logs"], ids=lambda page: page.stem
)
def test_every_test_that_a_table_of_traps_names_exists(page: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    if page.stem == "index":
        others = [other for other in pages() if other.parent == page.parent and other != page]
        assert len(others) > 6
        assert all(f"]({other.name})" in text for other in others)
        return
    files = [ROOT / name for name in re.findall(r"`(tests/[a-z_/]+\.py)`", text)]
    there = {
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    named = set(re.findall(r"`(test_\w+)`", text))
    assert text.startswith("# ")
    assert named
    assert named <= there, sorted(named - there)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "`test_" in line]
    assert rows
    assert all(len(re.split(r"(?<!\\)\|", row)) == 5 for row in rows)


@needs_pages
def test_the_reference_covers_everything_public() -> None:
    import janus_jax

    python = (ROOT / "docs/reference/python.rst").read_text(encoding="utf-8")
    for name in janus_jax.__all__:
        assert re.search(rf"^\.\. auto\w+:: {name}$", python, re.MULTILINE), name
    schema = json.loads((ROOT / "janus_jax/schema/audit-1.json").read_text(encoding="utf-8"))
    result = (ROOT / "docs/reference/result.md").read_text(encoding="utf-8")
    for section in schema["properties"]:
        assert f"`{section}`" in result, section


@needs_pages
def test_every_command_has_its_place_in_a_page() -> None:
    commands = re.findall(r"^ {4}([a-z]+)\b", cli.call("--help").out, re.MULTILINE)
    assert "audit" in commands
    text = "".join((ROOT / page).read_text("utf-8") for page in pages() if page.parts[0] == "docs")
    for command in commands:
        assert f"janus-jax {command}" in text, command
