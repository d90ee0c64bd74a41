"""Values as they stand in a sentence or in a cell of a table."""

from __future__ import annotations

import re
from typing import Final

SHOWN_FROM: Final = 2.31e-308
"""Smaller p-values leave the range of floats (the smallest normal one is 2.2e-308)."""

# Control characters, and the Unicode marks that reorder or break lines.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def printable(text: str) -> str:
    """Text without terminal escapes, line breaks or invisible marks: each is shown as \\uXXXX."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def shortened(text: str, most: int) -> str:
    """Text of at most so many characters: the middle of a longer one gives way to an ellipsis."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}\u2026{text[-tail:]}"


IN_PROSE: Final = 80
IN_TABLE: Final = 120
"""Characters of a name that a sentence, and a cell of a table, show; files for programs keep it."""


def called(name: str, most: int = IN_PROSE) -> str:
    """A name of the data in a sentence (or, with ``IN_TABLE``, in a cell): printable, not endless.

    Examples
    --------
    >>> called("long " * 100, 20)
    'long long lon\u2026 long '
    """
    return shortened(printable(name), most)


def in_list(name: str) -> str:
    """A name among other words: in quotes where it could be taken for them, or would lose blanks.

    Examples
    --------
    >>> ", ".join(in_list(name) for name in ("gpt4", "all", "a wrong, b right", "pad "))
    "gpt4, 'all', 'a wrong, b right', 'pad '"
    """
    plain = name not in ("all", "none", "both", "either") and "," not in name
    return name if plain and name == name.strip() else f"'{name}'"


def number(value: float | None, style: str = "+.3f") -> str:
    """A number for a table; a dash when it is undefined, and no minus sign before a zero."""
    if value is None:
        return "-"
    text = format(value, style)
    return text if text.strip("+-0.") else text.replace("-", "+")


def floored(p: float | None) -> bool:
    """Whether a p-value left the range of floats, so that it only bounds what it stands for."""
    return p is not None and p < SHOWN_FROM


def p_text(value: float | None, *, bound: bool = False) -> str:
    """A p-value: never shown as 0, and "<" before one that only bounds it.

    Parameters
    ----------
    value
        The p-value.
    bound
        It was made of one that is floored.

    Examples
    --------
    >>> p_text(0.0314), p_text(2.44e-36), p_text(2.3e-308), p_text(4.5e-308, bound=True)
    ('0.0314', '2.4e-36', '<2.3e-308', '<4.5e-308')
    """
    if value is None:
        return "-"
    if bound or floored(value):
        return f"<{max(value, SHOWN_FROM):.1e}"
    return f"{value:.4f}" if value >= 0.001 else f"{value:.1e}"
