"""The Markdown pages of the project, taken apart: blocks of code, links, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]


@cache
def pages() -> tuple[Path, ...]:
    """The pages that people read, from the root; none where the tests stand alone."""
    if not (ROOT / "docs").exists():
        return ()
    named = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    folders = (ROOT / "docs", ROOT / "examples")
    found = sorted(path for folder in folders for path in folder.rglob("*.md"))
    return tuple(path.relative_to(ROOT) for path in (*named, *found))


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its attributes, its text and where it begins."""

    page: Path
    line: int
    language: str
    attributes: dict[str, str] = field(hash=False)
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def tokens(page: Path) -> list[Token]:
    """The page as markdown-it sees it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return MarkdownIt("commonmark").enable("table").parse(text)


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    for token in tokens(page):
        if token.type != "fence":
            continue
        language, _, rest = token.info.strip().partition(" ")
        attributes = dict(re.findall(r'([a-z-]+)="([^"]*)"', rest))
        line = (token.map or [0])[0] + 1
        found.append(Block(page, line, language, attributes, token.content))
    return found


def _inline(page: Path) -> Iterator[Token]:
    for token in tokens(page):
        yield from token.children or ()


def links(page: Path) -> list[str]:
    """Where the links and pictures of a page lead, in order."""
    found = [token.attrGet("href") or token.attrGet("src") for token in _inline(page)]
    return [str(target) for target in found if target]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    found: set[str] = set()
    parsed = tokens(page)
    for place, token in enumerate(parsed):
        if token.type == "heading_open":
            words = parsed[place + 1].children or []
            text = "".join(word.content for word in words if word.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            number = 1
            made = slug
            while made in found:
                made, number = f"{slug}-{number}", number + 1
            found.add(made)
    return found
