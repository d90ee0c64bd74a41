"""Which attempts, and which score: where a log leaves a choice, a person makes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.logs.fields import LOWER_IS_BETTER
from janus_jax.logs.gather import Gathered
from janus_jax.table import Column

REPEATS: Final = ("epoch", "trial", "repeat")
"""Coordinates that only count repeats of an example."""
POOLED: Final = ("task", "split")
"""Coordinates whose values may stand together (``all``): their examples are different ones."""
ALL: Final = "all"

_OPTIONS: Final = ("filter", "model", "task", "run")
_SHOWN: Final = 20
_LETTERS: Final = {"C": "1", "I": "0", "N": "0", "P": "0.5"}


@dataclass(frozen=True, slots=True)
class Choices:
    """What a person chose of logs.

    Attributes
    ----------
    format
        The name of the format; None recognises it by content.
    score
        Metric or scorer.
    coordinates
        Coordinate to the value wanted, or to ``all``.
    texts
        Texts of which simple features are made.
    """

    format: str | None = None
    score: str | None = None
    coordinates: Mapping[str, str] = field(default_factory=dict[str, str])
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows and the score that are left.

    Attributes
    ----------
    rows
        intp: attempts, in order.
    score
        The outcome's name.
    pooled
        Coordinates of which several values stand together.
    made
        Every choice that was made or that left no choice, by name.
    """

    rows: NDArray[np.intp]
    score: str
    pooled: tuple[str, ...]
    made: Mapping[str, str]


def choose(gathered: Gathered, choices: Choices, source: str, option: str) -> Chosen:
    """Narrow attempts down to one model, run, filter ... and one score.

    Parameters
    ----------
    source
        The files, for messages.
    option
        What chooses among scores: ``--metric`` or ``--scorer``.

    Raises
    ------
    InputError
        There are several values and none was chosen, or the one chosen is not there: the message
        lists them with how many attempts each has, and the option that chooses.
    """
    columns = {
        name: f.column(name, gathered.n) for name, f in gathered.columns["coordinates"].items()
    }
    unknown = [name for name in choices.coordinates if name not in columns]
    if unknown:
        raise InputError(
            f"{source}: there is no {unknown[0]} to choose ({_option(unknown[0])}...); attempts "
            f"differ in {', '.join(columns) or 'nothing'}"
        )
    rows = np.arange(gathered.n)
    pooled: list[str] = []
    made: dict[str, str] = {}
    for name, column in columns.items():
        counts = _counts(column, rows)
        wanted = choices.coordinates.get(name)
        if wanted == ALL and name in POOLED:
            pooled += [name] if len(counts) > 1 else []
            made[name] = ALL
        elif wanted is not None:
            if wanted not in counts:
                raise InputError(
                    f"{source}: {_option(name)}{wanted}: there is no such {name}; there are "
                    f"{_listed(counts)}"
                )
            made[name] = wanted
            rows = rows[column.codes[rows] == list(column.levels).index(wanted)]
        elif len(counts) == 1:
            made[name] = next(iter(counts))
        elif name not in REPEATS and _ambiguous(column, [columns[p] for p in pooled], rows):
            every = f", or {_option(name)}{ALL} for all of them" if name in POOLED else ""
            raise InputError(
                f"{source}: {len(counts)} values of {name}: {_listed(counts)}; choose one with "
                f"{_option(name)}NAME{every}"
            )
    score = _score(gathered, rows, choices.score, source, option)
    return Chosen(rows, score, tuple(pooled), {**made, option.removeprefix("--"): score})


def _ambiguous(column: Column, pooled: Sequence[Column], rows: NDArray[np.intp]) -> bool:
    """Whether attempts that stand together otherwise have several values of this coordinate.

    The tasks of a group may have run at different times: each has one run all the same.
    """
    keys = np.stack([np.zeros(len(rows), np.int64), *(p.codes[rows] for p in pooled)])
    both = np.unique(np.vstack([keys, column.codes[rows]]), axis=1)
    return both.shape[1] > np.unique(keys, axis=1).shape[1]


def _option(coordinate: str) -> str:
    return f"--{coordinate} " if coordinate in _OPTIONS else f"--choose {coordinate}="


def _counts(column: Column, rows: NDArray[np.intp]) -> dict[str, int]:
    """Values among these rows, in order of appearance, with how often each occurs."""
    levels = [str(level) for level in column.levels]
    codes: list[int] = column.codes[rows].tolist()
    found = Counter(codes)
    return {levels[code]: found[code] for code in range(len(levels)) if found[code]}


def _listed(counts: Mapping[str, int]) -> str:
    shown = [f"{name!r} ({count} attempts)" for name, count in list(counts.items())[:_SHOWN]]
    more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
    return ", ".join(shown) + more


def _score(
    gathered: Gathered, rows: NDArray[np.intp], wanted: str | None, source: str, option: str
) -> str:
    columns = {name: f.column(name, gathered.n) for name, f in gathered.columns["scores"].items()}
    known = {
        name: int(np.count_nonzero(column.codes[rows] >= 0)) for name, column in columns.items()
    }
    usable = [name for name, column in columns.items() if known[name] and not column.unusable]
    lists = [name for name, column in columns.items() if known[name] and column.unusable]
    beside = f"; {', '.join(lists)} hold lists, which are no outcome" if lists else ""
    contrary = [name for name in usable if name.endswith(LOWER_IS_BETTER)]
    if wanted in contrary or (wanted is None and usable == contrary and contrary):
        name = (wanted or contrary[0]).removesuffix(LOWER_IS_BETTER)
        raise InputError(
            f"{source}: of {name} lower values are better, but an outcome is right from --pass-at "
            "X up: make a table whose score grows with how right an answer is"
        )
    usable = [name for name in usable if name not in contrary]
    described = [f"{name} ({_kind(columns[name], rows)})" for name in usable]
    if wanted is not None:
        if wanted not in usable:
            raise InputError(
                f"{source}: {option} {wanted}: there is no such score; there are "
                f"{', '.join(described) or 'none'}{beside}"
            )
        return wanted
    if len(usable) == 1:
        return usable[0]
    if not usable:
        raise InputError(f"{source}: no attempt has a score{beside}; nothing can be audited")
    raise InputError(
        f"{source}: {len(usable)} scores: {', '.join(described)}; choose one with {option} NAME"
        f"{beside}"
    )


def _kind(column: Column, rows: NDArray[np.intp]) -> str:
    """A score in words: its values when they are few, else their number."""
    counts = _counts(column, rows)
    if len(counts) <= 4:
        return ", ".join(f"{value} {count}" for value, count in counts.items())
    return f"{len(counts)} different values"


def letters(column: Column) -> tuple[Column, str] | None:
    """A score in Inspect's letters as numbers, and how it was read; None when it holds others.

    C is right, I and N (no answer) are wrong, P is partial credit.
    """
    levels = [str(level) for level in column.levels]
    found = [letter for letter in _LETTERS if letter in levels]
    if not found:
        return None
    numbers: Sequence[str] = [_LETTERS.get(level, level) for level in levels]
    distinct = tuple(dict.fromkeys(numbers))
    lookup = np.array([*(distinct.index(number) for number in numbers), -1], np.int32)
    said = ", ".join(f"{letter} = {_LETTERS[letter]}" for letter in found)
    return Column(column.name, lookup[column.codes], distinct), f"read as {said}"
