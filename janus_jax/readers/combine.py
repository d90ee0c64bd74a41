"""Several parts into one table, in the order given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from janus_jax.readers.part import Part, listing, missing_column
from janus_jax.table import Column, Table
from janus_jax.values import as_text


def combine(parts: Sequence[Part], sha256: str) -> Table:
    """Put parts together; a column that one of them lacks is missing there, and a note says so."""
    names = list(dict.fromkeys(name for part in parts for name in part.columns))
    columns = {name: _joined(name, parts) for name in names}
    return Table(
        columns=columns,
        n=sum(part.n for part in parts),
        source=tuple(part.source for part in parts),
        sha256=sha256,
        files=np.repeat(np.arange(len(parts), dtype=np.int32), [part.n for part in parts]),
        lines=np.concatenate([part.lines for part in parts]),
        line_word=tuple(part.line_word for part in parts),
        notes=(*(note for part in parts for note in part.notes), *_absences(names, parts)),
    )


def _absences(names: list[str], parts: Sequence[Part]) -> list[str]:
    notes: list[str] = []
    for name in names:
        lacking = [part.source for part in parts if name not in part.columns]
        if lacking:
            notes.append(f"Column {name!r} is absent from {listing(lacking)}: missing there.")
    return notes


def _joined(name: str, parts: Sequence[Part]) -> Column:
    pieces = [part.columns.get(name) or missing_column(name, part.n) for part in parts]
    if len(pieces) == 1:
        return pieces[0]
    # An all-missing piece has no type to object with.
    kinds = {_kind(piece) for piece in pieces if len(piece.levels)}
    unusable = next((piece.unusable for piece in pieces if piece.unusable is not None), None)
    number: dict[object, int] = {}
    codes = [np.empty(0, dtype=np.int32)]
    for piece in pieces:
        # Sources of different types meet as text, where 10 and 10.0 still read as one number.
        levels = as_text(piece) if len(kinds) > 1 else tuple(_listed(piece))
        lookup = [number.setdefault(level, len(number)) for level in levels]
        codes.append(np.array([*lookup, -1], dtype=np.int32)[piece.codes])
    kind = kinds.pop() if len(kinds) == 1 else "text"
    levels = tuple(number) if kind == "text" else np.array(list(number), dtype=kind)
    return Column(name, np.concatenate(codes), levels, unusable)  # pyright: ignore[reportArgumentType]


def _kind(column: Column) -> str:
    return "text" if isinstance(column.levels, tuple) else column.levels.dtype.name


def _listed(column: Column) -> Sequence[object]:
    return column.levels if isinstance(column.levels, tuple) else column.levels.tolist()
