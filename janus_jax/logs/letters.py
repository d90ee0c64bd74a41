"""Inspect AI's letters for how right an answer is."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from janus_jax.table import Column

FORMAT: Final = "inspect"
"""The only format whose letters mean this; those of other graders are choices between answers."""

PARTIAL: Final = "P"
"""Partial credit, which is neither right nor wrong until someone says so."""

_VALUES: Final[Mapping[str, str]] = {"C": "1", "I": "0", "N": "0", PARTIAL: "0.5"}
"""Correct; incorrect; no answer; partial: what Inspect's own ``value_to_float`` makes of them."""

_OTHER: Final = re.compile(r"true|false|[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
"""What may stand beside letters, where a scorer gives both."""


def letters_of(column: Column) -> tuple[str, ...]:
    """The letters among a score's levels; none where it holds anything that is no such score."""
    levels = [str(level) for level in column.levels]
    if column.unusable or not all(level in _VALUES or _OTHER.fullmatch(level) for level in levels):
        return ()
    return tuple(letter for letter in _VALUES if letter in levels)


def named(letters: Collection[str], words: Collection[str]) -> tuple[str, ...]:
    """The letters that are among these words, whatever their case."""
    folded = {word.strip().casefold() for word in words}
    return tuple(letter for letter in letters if letter.casefold() in folded)


def as_values(column: Column, letters: Collection[str]) -> tuple[Column, str]:
    """The score as numbers, and how it was read."""
    values = [_VALUES.get(str(level), str(level)) for level in column.levels]
    distinct = tuple(dict.fromkeys(values))
    lookup = np.array([*(distinct.index(value) for value in values), -1], np.int32)
    said = ", ".join(f"{letter} = {_VALUES[letter]}" for letter in letters)
    return replace(column, codes=lookup[column.codes], levels=distinct), f"read as {said}"
