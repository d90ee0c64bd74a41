"""SHA-256 of what a plan rests on: the examples, their split, and the columns it uses.

What is hashed is what a value *means* for the audit (true, 10, a level), row by row, so that the
same table has the same hashes whether it came as CSV, Parquet or a DataFrame.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from janus_jax.columns import UsedColumn
from janus_jax.outcome import id_columns
from janus_jax.plan import Plan
from janus_jax.table import Column, Table
from janus_jax.values import as_text, number_text

ExampleId: TypeAlias = tuple[str, ...] | int
"""The values of the id columns; the row number, from 1, of an example that has none."""


def example_ids(table: Table, plan: Plan) -> list[ExampleId]:
    """What each example is called.

    Parameters
    ----------
    table
        One row per example.
    """
    columns = [table.columns[name] for name in id_columns(table, plan)]
    if not columns:
        return list(range(1, table.n + 1))
    values = [_of_rows(column) for column in columns]
    return [
        row if None in parts else tuple(map(str, parts))
        for row, parts in enumerate(zip(*values, strict=True), 1)
    ]


def _of_rows(column: Column) -> list[str | None]:
    texts = (*as_text(column), None)  # code -1 finds the None
    codes: list[int] = column.codes.tolist()
    return [texts[code] for code in codes]


def ids_hash(ids: Iterable[ExampleId]) -> str:
    """SHA-256 of the ids, in the order of the rows."""
    hasher = hashlib.sha256()
    for example in ids:
        hasher.update(_id_bytes(example))
    return hasher.hexdigest()


def split_hash(ids: Sequence[ExampleId], where: NDArray[np.int8]) -> str:
    """SHA-256 of which example is in which split.

    Parameters
    ----------
    where
        int8, shape (n,): the split of each example.
    """
    hasher = hashlib.sha256()
    for example, part in zip(ids, where.tolist(), strict=True):
        hasher.update(_id_bytes(example) + bytes([part]))
    return hasher.hexdigest()


def used_hash(used: UsedColumn) -> str:
    """SHA-256 of a column that descriptors are made of, as it is read."""
    if used.kind == "categorical":
        texts = as_text(used.values)
    else:
        texts = tuple(map(number_text, used.meaning.tolist()))
    known = used.level_known.tolist()
    labels = [text if there else None for text, there in zip(texts, known, strict=True)]
    return _hash(used.kind, labels, used.values.codes)


def groups_hash(column: Column) -> str:
    """SHA-256 of a column whose values are only told apart: of splits, strata or clusters."""
    return _hash("groups", as_text(column), column.codes)


def _hash(kind: str, labels: Sequence[str | None], codes: NDArray[np.integer]) -> str:
    """Hash the values of the rows: the distinct ones by first appearance, then which row has which.

    Levels that mean the same are one, and those that no row has do not count.
    """
    number: dict[str | None, int] = {None: -1}
    same = [number.setdefault(label, len(number) - 1) for label in labels]
    rows = np.array([*same, -1], dtype=np.int64)[codes]
    present, first = np.unique(rows, return_index=True)
    order = present[np.argsort(first)]
    order = order[order >= 0]
    renumbered = np.full(len(number), -1, dtype="<i4")  # the last entry is that of -1
    renumbered[order] = np.arange(len(order))
    texts = [text for text in number if text is not None]
    hasher = hashlib.sha256(_length_first(kind))
    hasher.update(len(order).to_bytes(8, "little"))
    labels_in_order: list[int] = order.tolist()
    for label in labels_in_order:
        hasher.update(_length_first(texts[label]))
    hasher.update(renumbered[rows].tobytes())
    return hasher.hexdigest()


def _id_bytes(example: ExampleId) -> bytes:
    if isinstance(example, int):
        return b"r" + example.to_bytes(8, "little")
    return b"i" + bytes([len(example)]) + b"".join(map(_length_first, example))


def _length_first(text: str) -> bytes:
    """A text that no other text can be mistaken for, whatever follows it."""
    data = text.encode("utf-8", "backslashreplace")
    return len(data).to_bytes(8, "little") + data
