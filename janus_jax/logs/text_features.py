"""Simple facts of a text, on request: how many words, numbers and sentences it has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_NUMBERS: Final = re.compile(r"\d+(?:[.,]\d+)*")
_SENTENCES: Final = re.compile(r"[.!?]+(?=\s|$)")


def text_features(text: str) -> Mapping[str, int]:
    """Count them.

    Words are runs of characters between white space; numbers are runs of digits, points and commas
    between digits included; sentences end in ``.``, ``!`` or ``?`` before white space or at the
    end, and there is one at least where there are words.

    Examples
    --------
    >>> dict(text_features("Tom has 1,200 apples. He eats 3.5 a day?"))
    {'words': 9, 'numbers': 2, 'sentences': 2}
    """
    words = len(text.split())
    return {
        "words": words,
        "numbers": len(_NUMBERS.findall(text)),
        "sentences": max(len(_SENTENCES.findall(text)), min(words, 1)),
    }
