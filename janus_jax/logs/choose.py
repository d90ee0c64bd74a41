"""Which attempts, and which score: where a log leaves a choice, a person makes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.logs.gather import Gathered
from janus_jax.table import LOWER_IS_BETTER, Column

REPEATS: Final = ("epoch", "trial", "repeat")
"""Coordinates that only count repeats of an example."""
POOLED: Final = ("task", "split")
"""Coordinates whose values may stand together (``all``): their examples are different ones."""
MODEL: Final = "model"
"""The coordinate of which several values are compared: each is an outcome of the same examples."""
ALL: Final = "all"
TEXTS: Final = "text_features"
"""Under this name the texts stand among the choices that were made, with commas between them."""

_OPTIONS: Final = ("filter", "model", "task", "run")
_SHOWN: Final = 20


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
    kind
        How the score becomes an outcome: "correct" where true is right, "error" where true is
        wrong, "score" where it is right from ``--pass-at`` up.
    na
        Words of ``--na``.
    """

    format: str | None = None
    score: str | None = None
    coordinates: Mapping[str, str] = field(default_factory=dict[str, str])
    texts: tuple[str, ...] = ()
    kind: Literal["error", "correct", "score"] = "correct"
    na: tuple[str, ...] = ()


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
        Coordinates of which several values stand together: their examples are different ones.
    several
        Attempts of several models stand together: on the same examples.
    made
        Every choice that was made or that left no choice, by name.
    notes
        Which values of a pooled coordinate a choice left nothing of.
    """

    rows: NDArray[np.intp]
    score: str
    pooled: tuple[str, ...]
    made: Mapping[str, str]
    several: bool = False
    notes: tuple[str, ...] = ()


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
    several = False
    made: dict[str, str] = {}
    notes: list[str] = []
    together = [p for p in POOLED if choices.coordinates.get(p) == ALL and p in columns]
    for name, column in columns.items():
        counts = _counts(column, rows)
        without = len(rows) - sum(counts.values())
        wanted = choices.coordinates.get(name)
        if wanted == ALL and name in POOLED:
            pooled += [name] if len(counts) > 1 else []
            made[name] = ALL
        elif (
            name == MODEL
            and wanted is not None
            and wanted not in counts
            and len(counts) > 1
            and (models := _several(wanted, counts, source))
        ):
            rows = rows[np.isin(column.codes[rows], [list(column.levels).index(m) for m in models])]
            several, made[name] = True, wanted
        elif wanted is not None:
            if wanted not in counts:
                raise InputError(
                    f"{source}: {_option(name)}{wanted}: there is no such {name}; there are "
                    f"{_listed(counts)}"
                )
            made[name] = wanted
            kept = rows[column.codes[rows] == list(column.levels).index(wanted)]
            for other in together:
                before, after = (_counts(columns[other], some) for some in (rows, kept))
                lost = {value: before[value] for value in before if value not in after}
                notes += [_left_out(other, lost, name, wanted)] if lost else []
            rows = kept
        elif len(counts) == 1 and not without:
            made[name] = next(iter(counts))
        elif name not in REPEATS and _ambiguous(
            column, [columns[p] for p in (*pooled, *([MODEL] if several else ()))], rows
        ):
            every = f", or {_option(name)}{ALL} for all of them" if name in POOLED else ""
            if name == MODEL:
                every = ", or compare them: --model A,B or --model all"
            none = f", and {_attempts(without)} without one" if without else ""
            values = "1 value" if len(counts) == 1 else f"{len(counts)} values"
            raise InputError(
                f"{source}: {values} of {name}: {_listed(counts)}{none}; choose one with "
                f"{_option(name)}NAME{every}"
            )
    score = _score(gathered, rows, choices, source, option)
    if choices.texts:
        made[TEXTS] = ",".join(choices.texts)
    made[option.removeprefix("--")] = score
    return Chosen(rows, score, tuple(pooled), made, several, tuple(notes))


def _several(wanted: str, counts: Mapping[str, int], source: str) -> list[str]:
    """The models that ``all`` or ``A,B`` means; none when it means one."""
    if wanted == ALL:
        return list(counts)
    names = [name.strip() for name in wanted.split(",")]
    if len(names) < 2:
        return []
    for name in names:
        if name not in counts:
            raise InputError(
                f"{source}: --model {wanted}: there is no model {name!r}; there are "
                f"{_listed(counts)}"
            )
    return names


def _left_out(pooled: str, lost: Mapping[str, int], name: str, wanted: str) -> str:
    """Say of which values of a coordinate that was to be pooled a choice leaves nothing."""
    many = sum(lost.values())
    have, were = ("has", "was") if many == 1 else ("have", "were")
    values = f"1 other {pooled}" if len(lost) == 1 else f"{len(lost)} other {pooled}s"
    more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
    return (
        f"{_attempts(many)} at {values} ({', '.join(list(lost)[:_SHOWN])}{more}) {have} no {name} "
        f"{wanted!r} and {were} left out"
    )


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
    shown = [f"{name!r} ({_attempts(count)})" for name, count in list(counts.items())[:_SHOWN]]
    more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
    return ", ".join(shown) + more


def _attempts(count: int) -> str:
    return "1 attempt" if count == 1 else f"{count} attempts"


def _score(
    gathered: Gathered, rows: NDArray[np.intp], choices: Choices, source: str, option: str
) -> str:
    wanted = choices.score
    columns = {name: f.column(name, gathered.n) for name, f in gathered.columns["scores"].items()}
    known = {
        name: int(np.count_nonzero(column.codes[rows] >= 0)) for name, column in columns.items()
    }
    usable = [name for name, column in columns.items() if known[name] and not column.unusable]
    lists = [name for name, column in columns.items() if known[name] and column.unusable]
    if wanted in lists:
        raise InputError(
            f"{source}: {option} {wanted}: its values are lists, which are no outcome; make a "
            "table with one verdict for each example"
        )
    hold = "holds" if len(lists) == 1 else "hold"
    beside = f"; {', '.join(lists)} {hold} lists, which are no outcome" if lists else ""
    contrary = [name for name in usable if name.endswith(LOWER_IS_BETTER)]
    if wanted in contrary and choices.kind == "error":
        return wanted
    if wanted in contrary or (wanted is None and usable == contrary and contrary):
        name = wanted or contrary[0]
        raise InputError(
            f"{source}: of {name.removesuffix(LOWER_IS_BETTER)} lower values are better, but an "
            f"outcome is right when it is high: if it is only 0 and 1, --error {name} takes 1 as "
            "wrong; else make a table whose score grows with how right an answer is"
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
