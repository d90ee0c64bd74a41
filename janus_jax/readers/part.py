"""One source as read, and what all readers share: column names, encoding of values, the hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.table import Column, Levels


@dataclass(frozen=True, slots=True)
class Part:
    """One source: its columns, and where each of its ``n`` rows starts."""

    source: str
    columns: Mapping[str, Column]
    n: int
    lines: NDArray[np.int64]
    line_word: str
    notes: tuple[str, ...] = field(default=())


def rows_part(source: str, columns: Sequence[Column], n: int, notes: Iterable[str] = ()) -> Part:
    """A part whose rows are counted, not found on lines (an object in memory, Parquet)."""
    if not columns or not n:
        what = "no columns" if not columns else "columns but no rows"
        raise InputError(f"{source}: the table has {what}; nothing can be audited")
    lines = np.arange(1, n + 1, dtype=np.int64)
    named = {column.name: column for column in columns}
    return Part(source, named, n, lines, "row", tuple(notes))


def column_names(names: Sequence[str], source: str) -> list[str]:
    """Check that names are unique, and call the blank ones ``Unnamed: POSITION`` as pandas does.

    Raises
    ------
    InputError
        When a name occurs more than once: which of the copies is meant cannot be known.
    """
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(names, 1):
        if name.strip():
            positions.setdefault(escape_surrogates(name), []).append(position)
    repeated = [
        f"column name {name!r} occurs {len(where)} times (columns {listing(where)})"
        for name, where in positions.items()
        if len(where) > 1
    ]
    if repeated:
        raise InputError(f"{source}: {'; '.join(repeated)}. Rename or remove all copies but one.")
    result: list[str] = []
    taken = set(positions)
    for position, name in enumerate(names):
        chosen = escape_surrogates(name) if name.strip() else _unnamed(position, taken)
        taken.add(chosen)
        result.append(chosen)
    return result


def _unnamed(position: int, taken: set[str]) -> str:
    # A table saved twice with its index has a real column of this name already.
    name = base = f"Unnamed: {position}"
    suffix = 0
    while name in taken:
        suffix += 1
        name = f"{base}.{suffix}"
    return name


def listing(items: Iterable[object]) -> str:
    """``3``, ``3 and 4``, ``3, 4 and 7``."""
    words = [f"{item}" for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def escape_surrogates(text: str) -> str:
    r"""Spell out half an emoji, as a cut log leaves it, as ``\ud83d``: then it can be written."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def text_column(name: str, codes: NDArray[np.int32], levels: Iterable[str | None]) -> Column:
    """A text column; blank levels and None become missing, equal levels one.

    Parameters
    ----------
    name
        The column's name.
    codes
        int32, shape (n,): index into ``levels``; -1 where missing.
    levels
        Texts in order of first appearance.
    """
    final: dict[str, int] = {}
    lookup: list[int] = []
    for level in levels:
        if level is None or not level or level.isspace():
            lookup.append(-1)
        else:
            lookup.append(final.setdefault(escape_surrogates(level), len(final)))
    return Column(name, _look_up(lookup, codes), tuple(final))


def number_column(
    name: str, codes: NDArray[np.int32], levels: NDArray[Any], kind: type[np.int64 | np.float64]
) -> Column:
    """A numeric column; NaN becomes missing, minus zero zero, equal levels one."""
    final: dict[float, int] = {}
    lookup = [
        final.setdefault(level, len(final)) if level == level else -1  # NaN is not itself
        for level in (levels.astype(kind) + kind(0)).tolist()
    ]
    distinct = cast("Levels", np.array(list(final), dtype=kind))
    return Column(name, _look_up(lookup, codes), distinct)


def bool_column(name: str, codes: NDArray[np.int32], levels: NDArray[np.bool_]) -> Column:
    """A boolean column."""
    return Column(name, codes, levels)


def unusable_column(
    name: str, known: NDArray[np.bool_], reason: str, levels: tuple[str, ...] | None = None
) -> Column:
    """A column no descriptor can be made of; it only knows where something is missing."""
    codes = np.where(known, 0, -1).astype(np.int32)
    return Column(name, codes, levels or (reason,), unusable=reason)


def missing_column(name: str, n: int) -> Column:
    """A column without any value."""
    return Column(name, np.full(n, -1, dtype=np.int32), ())


def _look_up(lookup: list[int], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    # Code -1 finds the entry appended at the end, which says "missing".
    return np.array([*lookup, -1], dtype=np.int32)[codes]


def content_hash(columns: Iterable[Column]) -> str:
    """SHA-256 of an object in memory: names, levels and codes, independent of byte order."""
    hasher = hashlib.sha256()
    for column in columns:
        levels = column.levels
        kind = "text" if isinstance(levels, tuple) else levels.dtype.name
        texts = levels if isinstance(levels, tuple) else tuple(map(repr, levels.tolist()))
        for text in (column.name, column.unusable or "", kind, *texts):
            data = text.encode("utf-8", "backslashreplace")
            hasher.update(len(data).to_bytes(8, "little") + data)
        hasher.update(column.codes.astype("<i4").tobytes())
    return hasher.hexdigest()
