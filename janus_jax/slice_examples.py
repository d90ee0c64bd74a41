"""The examples of each selected slice, wrong ones first: what a person reads after the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from janus_jax.columns import find_column
from janus_jax.descriptors import Descriptor
from janus_jax.errors import InputError
from janus_jax.outcome import id_columns
from janus_jax.plan import Plan
from janus_jax.prepare import Prepared
from janus_jax.ranking import SELECTED
from janus_jax.table import Column, Table
from janus_jax.values import as_text

LIMIT: Final = 100
"""Examples shown of one slice."""

SLICES: Final = 200
"""Slices whose examples are shown, the first in rank."""

LONGEST: Final = 2000
"""Characters shown of a cell."""


def check_shown(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """The columns whose cells are shown with the examples, each once, in the order named.

    Any column of the table as it was read will do: also an outcome, also one that no descriptor is
    made of.

    Raises
    ------
    InputError
        There is no such column, or its values were not kept as text.
    """
    for name in dict.fromkeys(names):
        column = find_column(table, name, "--examples")
        if column.origin == "varies":
            raise InputError(f"--examples {name!r}: it {column.unusable}")
        if column.unusable is not None and column.levels == (column.unusable,):
            raise InputError(
                f"--examples {name!r}: each value is {column.unusable}, which is not kept as text; "
                "write the column as text, or name another"
            )
    return tuple(dict.fromkeys(names))


def slice_examples(
    prepared: Prepared, plan: Plan, ranked: Sequence[dict[str, Any]], columns: Sequence[str]
) -> dict[str, Any] | None:
    """List examples of each slice that the primary rule selects; None when it selects nothing.

    Parameters
    ----------
    prepared
        Memberships and errors of both splits.
    ranked
        The descriptors of the result in the order they are shown.
    columns
        Checked by :func:`check_shown`. Of repeats reduced to one example, the cells are those of
        the first.

    Returns
    -------
    dict
        ``id``, the columns that name an example (none: its row in the table as read, as in
        ``row 17``; so is an example without an id); ``columns``; ``limit``, :data:`LIMIT`;
        ``slices``, at most :data:`SLICES`: ``name``, ``wrong`` and ``right`` examples in the slice,
        and ``rows``, wrong before right, holdout before discovery, in file order.
    """
    chosen = [entry["name"] for entry in ranked if entry["status"] in SELECTED][:SLICES]
    if not chosen:
        return None
    table = prepared.examples.table
    ids = id_columns(table, plan)
    cells = _Cells(prepared, [table.columns[name] for name in ids], columns)
    items = {item.name: item for item in prepared.descriptors.items}
    return {
        "id": list(ids),
        "columns": list(columns),
        "limit": LIMIT,
        "slices": [_slice(items[name], prepared, cells) for name in chosen],
    }


class _Cells:
    """The texts of rows."""

    def __init__(self, prepared: Prepared, ids: Sequence[Column], shown: Sequence[str]) -> None:
        table = prepared.examples.table
        self._read_as = prepared.examples.rows
        self._ids = [(column.codes, as_text(column)) for column in ids]
        found = [table.columns[name] for name in shown]
        self._shown = [(column.codes, as_text(column)) for column in found]

    def id(self, row: int) -> str:
        """The id of a row, or its number in the table as read."""
        codes = [int(codes[row]) for codes, _ in self._ids]
        if not codes or min(codes) < 0:
            return f"row {int(self._read_as[row]) + 1}"
        texts = (labels[code] for code, (_, labels) in zip(codes, self._ids, strict=True))
        return _cut(" / ".join(texts))

    def values(self, row: int) -> list[str | None]:
        """The cells that are shown of a row; None where a value is missing."""
        places = [(int(codes[row]), labels) for codes, labels in self._shown]
        return [None if code < 0 else _cut(labels[code]) for code, labels in places]


def _slice(item: Descriptor, prepared: Prepared, cells: _Cells) -> dict[str, Any]:
    members = item.members
    # Holdout first: its errors had no part in choosing the slice.
    splits = list(zip(("discovery", "holdout"), prepared.parts, strict=False))[::-1]
    counts: dict[bool, int] = {}
    rows: list[dict[str, Any]] = []
    for wrong in (True, False):
        inside = [part.rows[members[part.rows] & (part.errors == wrong)] for _, part in splits]
        counts[wrong] = sum(map(len, inside))
        for (split, _), found in zip(splits, inside, strict=True):
            rows += [
                {"id": cells.id(row), "split": split, "wrong": wrong, "values": cells.values(row)}
                for row in found[: LIMIT - len(rows)].tolist()
            ]
    return {"name": item.name, "wrong": counts[True], "right": counts[False], "rows": rows}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\N{HORIZONTAL ELLIPSIS}"
