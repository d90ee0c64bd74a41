"""Text and tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from janus_jax.cells import printable


def escaped(text: object) -> str:
    """Text that Markdown shows as it is, also within a cell of a table."""
    plain = printable(str(text)).replace("\\", "\\\\").replace("|", "\\|")
    return re.sub(r"([*_`\[\]<>&])", r"\\\1", plain)


def sentence(text: str) -> str:
    """Text as a sentence: its first letter large, a full stop after it."""
    return f"{escaped(text[:1].upper() + text[1:])}."


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| " + " | ".join(map(escaped, header)) + " |"
    yield "|" + " --- |" * len(header)
    for row in rows:
        yield "| " + " | ".join(map(escaped, row)) + " |"
