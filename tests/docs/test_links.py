"""Links inside the project lead somewhere; those that leave it are a list. Nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.docs.markdown import ROOT, anchors, links, pages

OUTSIDE = Path(__file__).with_name("outside.txt")

pytestmark = pytest.mark.skipif(not pages(), reason="the pages stay with the sources")


@pytest.mark.parametrize("page", pages(), ids=str)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = (ROOT / page).parent / parts.path if parts.path else ROOT / page
        assert target.exists(), (str(page), link)
        assert target.resolve().is_relative_to(ROOT), (str(page), link)
        if parts.fragment:
            there = target.resolve().relative_to(ROOT)
            assert parts.fragment in anchors(there), (str(page), link, sorted(anchors(there)))


def test_links_that_leave_the_project_are_listed() -> None:
    listed = OUTSIDE.read_text(encoding="utf-8").split()
    found = {link for page in pages() for link in links(page) if urlsplit(link).scheme}
    assert all(link.startswith("https://") for link in found)
    assert listed == sorted(found), "one line for each in tests/docs/outside.txt"


def test_every_page_can_be_reached_from_the_first() -> None:
    reached: set[Path] = set()
    waiting = [Path("docs/index.md")]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        for link in links(page):
            parts = urlsplit(link)
            target = ((ROOT / page).parent / parts.path).resolve()
            if not parts.scheme and target.suffix == ".md" and target.is_relative_to(ROOT):
                waiting.append(target.relative_to(ROOT))
    wanted = {page for page in pages() if page.parts[0] == "docs"}
    assert Path("docs/index.md") in wanted
    assert wanted <= reached, sorted(map(str, wanted - reached))
