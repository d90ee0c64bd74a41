"""The chosen attempts as a table, like any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from janus_jax.logs.attempt import Status
from janus_jax.logs.choose import REPEATS, Chosen, letters
from janus_jax.logs.gather import STATUSES, Gathered, Kind
from janus_jax.readers.growing import GrowingColumn
from janus_jax.table import STATUS_WORDS, Column, LogInfo, Table
from janus_jax.values import as_text

_ORIGINS: Final[tuple[tuple[Kind, Literal["post", "derived"] | None], ...]] = (
    ("facts", None),
    ("derived", "derived"),
    ("post", "post"),
)


def tabulate(
    gathered: Gathered,
    chosen: Chosen,
    *,
    format: str,
    sources: Sequence[str],
    sha256: str,
    notes: Sequence[str],
) -> Table:
    """Make the table: id, outcome, coordinates that still differ, facts.

    An attempt that is not "ok" has no outcome. Facts called like one of the first columns get the
    prefix ``fact.``.
    """
    rows = chosen.rows
    statuses = np.frombuffer(gathered.statuses, np.int8)[rows]
    said = list(notes)
    columns: dict[str, Column] = {"id": _ids(gathered, chosen)}
    outcome = _outcome(gathered.columns["scores"][chosen.score], gathered.n, chosen.score, said)
    codes = np.where(statuses == STATUSES.index("ok"), outcome.codes[rows], -1).astype(np.int32)
    columns[chosen.score] = replace(outcome, codes=codes)
    for name, field in gathered.columns["coordinates"].items():
        if name in chosen.pooled:
            columns[name] = _named(field, name, gathered.n, rows)
        elif name in REPEATS:
            # Not a fact of the example: what tells its repeats apart.
            column = _named(field, name, gathered.n, rows)
            if len(set(column.codes.tolist())) > 1:
                columns[name] = replace(column, origin="post")
    for name, field in gathered.columns["scores"].items():
        if name != chosen.score:
            columns.setdefault(name, replace(_named(field, name, gathered.n, rows), origin="post"))
    for kind, origin in _ORIGINS:
        for name, field in gathered.columns[kind].items():
            free = f"fact.{name}" if name in columns else name
            columns[free] = replace(_named(field, free, gathered.n, rows), origin=origin)
    counts: dict[Status, int] = {
        status: int(np.count_nonzero(statuses == index))
        for index, status in enumerate(STATUSES)
        if status != "ok"
    }
    said += list(_statuses(counts, len(rows)))
    return Table(
        columns=columns,
        n=len(rows),
        source=tuple(sources),
        sha256=sha256,
        files=np.frombuffer(gathered.files, np.int32)[rows],
        lines=np.frombuffer(gathered.lines, np.int64)[rows],
        line_word=tuple("line" for _ in sources),
        notes=tuple(said),
        log=LogInfo(format, chosen.score, chosen.made, {s: c for s, c in counts.items() if c}),
    )


def _named(field: GrowingColumn, name: str, n: int, rows: NDArray[np.intp]) -> Column:
    return field.column(name, n).take(rows)


def _ids(gathered: Gathered, chosen: Chosen) -> Column:
    """The example, with the coordinates that were put together before it."""
    ids = gathered.examples.column("id", gathered.n).take(chosen.rows)
    before = [
        _named(gathered.columns["coordinates"][name], name, gathered.n, chosen.rows)
        for name in chosen.pooled
    ]
    if not before or _told_apart(ids, before):
        return ids
    grown = GrowingColumn()
    texts = [(*as_text(column), "") for column in (*before, ids)]
    codes: list[list[int]] = [column.codes.tolist() for column in (*before, ids)]
    for row in range(len(chosen.rows)):
        grown.put(row, "/".join(t[c[row]] for t, c in zip(texts, codes, strict=True)))
    return grown.column("id", len(chosen.rows))


def _told_apart(ids: Column, before: Sequence[Column]) -> bool:
    """Whether no example's name occurs under two values of the coordinates put together."""
    keys = np.stack([ids.codes.astype(np.int64), *(column.codes for column in before)])
    return np.unique(keys, axis=1).shape[1] == len(np.unique(ids.codes))


def _outcome(field: GrowingColumn, n: int, name: str, said: list[str]) -> Column:
    column = field.column(name, n)
    read = letters(column)
    if read is None:
        return column
    said.append(f"score {name!r} {read[1]}")
    return read[0]


def _statuses(counts: dict[Status, int], n: int) -> Iterator[str]:
    if any(counts.values()):
        listed = ", ".join(
            f"{count} {STATUS_WORDS[status]}" for status, count in counts.items() if count
        )
        yield f"{n} attempts, of them {listed}: these have no outcome"
