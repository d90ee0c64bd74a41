"""The chosen attempts as a table, like any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.logs import letters
from janus_jax.logs.attempt import Status
from janus_jax.logs.choose import MODEL, REPEATS, Choices, Chosen
from janus_jax.logs.gather import STATUSES, Gathered, Kind
from janus_jax.readers.growing import GrowingColumn
from janus_jax.table import STATUS_WORDS, Column, LogInfo, Table
from janus_jax.values import as_text

_ORIGINS: Final[tuple[tuple[Kind, Literal["post", "derived"] | None], ...]] = (
    ("facts", None),
    ("derived", "derived"),
    ("post", "post"),
)
_SHOWN: Final = 10  # examples listed in a message before "..."


def tabulate(
    gathered: Gathered,
    chosen: Chosen,
    choices: Choices,
    *,
    format: str,
    sources: Sequence[str],
    sha256: str,
    notes: Sequence[str],
) -> Table:
    """Make the table: id, outcome, coordinates that still differ, facts.

    An attempt that is not "ok" has no outcome. Facts called like one of the first columns get the
    prefix ``fact.``; those of which only attempts that were not chosen have a value are left out,
    like the notes about files of which no attempt was chosen.

    Raises
    ------
    InputError
        The score gives partial credit and nobody said what that is.
    """
    said = list(_about(notes, sources, np.frombuffer(gathered.files, np.int32)[chosen.rows]))
    said += chosen.notes
    rows, outcome = _outcome(gathered, chosen, choices, format, said)
    statuses = np.frombuffer(gathered.statuses, np.int8)[rows]
    columns: dict[str, Column] = {"id": _ids(gathered, chosen.pooled, rows)}
    columns[chosen.score] = outcome
    for name, field in gathered.columns["coordinates"].items():
        if name in chosen.pooled or (name == MODEL and chosen.several):
            columns[name] = _taken(field, name, gathered.n, rows)
        elif name in REPEATS:
            # Not a fact of the example: what tells its repeats apart.
            column = _taken(field, name, gathered.n, rows)
            if len(set(column.codes.tolist())) > 1:
                columns[name] = replace(column, origin="post")
    described = [(name, f, "post") for name, f in gathered.columns["scores"].items()]
    described = [(name, f, origin) for name, f, origin in described if name != chosen.score]
    described += [
        (name, field, origin)
        for kind, origin in _ORIGINS
        for name, field in gathered.columns[kind].items()
    ]
    for name, field, origin in described:
        free = name
        while free in columns:
            free = f"fact.{free}"
        column = _taken(field, free, gathered.n, rows)
        if len(column.levels) or not field.levels:
            columns[free] = replace(column, origin=origin)
    counts = _statuses(statuses)
    if counts:
        said.append(f"{len(rows)} attempts, of them {_words(counts)}: these have no outcome")
    return Table(
        columns=columns,
        n=len(rows),
        source=tuple(sources),
        sha256=sha256,
        files=np.frombuffer(gathered.files, np.int32)[rows],
        lines=np.frombuffer(gathered.lines, np.int64)[rows],
        line_word=tuple(gathered.words.get(file, "line") for file in range(len(sources))),
        notes=tuple(said),
        log=LogInfo(format, chosen.score, chosen.made, {**counts}, chosen.several),
    )


def _about(notes: Sequence[str], sources: Sequence[str], files: NDArray[np.int32]) -> Iterator[str]:
    """The notes that are not about a file of which no attempt was chosen."""
    used = set(files.tolist())
    others = [f"{source}: " for number, source in enumerate(sources) if number not in used]
    for note in notes:
        if not note.startswith(tuple(others)):
            yield note


def _taken(field: GrowingColumn, name: str, n: int, rows: NDArray[np.intp]) -> Column:
    """These rows of a column, with the levels that occur in them.

    What the other attempts hold must not decide how a column is read.
    """
    column = field.column(name, n)
    codes = column.codes[rows]
    found, first = np.unique(codes, return_index=True)
    found = found[np.argsort(first)]
    found = found[found >= 0]
    if len(found) == len(column.levels):
        return column.take(rows)
    place = np.full(len(column.levels) + 1, -1, np.int32)
    place[found] = np.arange(len(found))
    texts = as_text(column)
    known: list[int] = found.tolist()
    levels = tuple(texts[code] for code in known)
    return replace(column, codes=place[codes], levels=levels)


def _outcome(
    gathered: Gathered, chosen: Chosen, choices: Choices, format: str, said: list[str]
) -> tuple[NDArray[np.intp], Column]:
    """The rows that stay and their outcome, which is missing where an attempt is not "ok".

    Inspect's letters become numbers. Those that ``--na`` names are left out: an answer that got
    partial credit was given, so it is not missing as one that failed is.
    """
    name, rows = chosen.score, chosen.rows
    ok = np.frombuffer(gathered.statuses, np.int8)[rows] == STATUSES.index("ok")
    field = gathered.columns["scores"][name]
    scored = _taken(field, name, gathered.n, rows[ok])
    found = letters.letters_of(scored) if format == letters.FORMAT else ()
    away = letters.named(found, choices.na)
    if found and choices.kind == "error":
        raise InputError(
            f"--error {name}: its C is right and its I is wrong; choose it with --scorer {name}"
        )
    if letters.PARTIAL in found and not away and choices.kind != "score":
        raise _partial(gathered, rows, scored, found)
    if away:
        keep = np.ones(len(rows), np.bool_)
        keep[ok] = ~np.isin(np.array([*scored.levels, ""])[scored.codes], away)
        many = np.count_nonzero(~keep)
        attempts = "1 attempt is" if many == 1 else f"{many} attempts are"
        said.append(f"{attempts} left out: scored {' or '.join(away)} (--na)")
        rows, ok = rows[keep], ok[keep]
        found = tuple(letter for letter in found if letter not in away)
        if not len(rows):
            raise InputError(f"--na {away[0]} leaves no attempt; nothing can be audited")
    known = _taken(field, name, gathered.n, rows[ok])
    if found:
        known, how = letters.as_values(known, found)
        said.append(f"score {name!r} {how}")
    codes = np.full(len(rows), -1, np.int32)
    codes[ok] = known.codes
    return rows, replace(known, codes=codes)


def _partial(
    gathered: Gathered, rows: NDArray[np.intp], scored: Column, found: Sequence[str]
) -> InputError:
    levels = [str(level) for level in scored.levels]
    many = {letter: int((scored.codes == levels.index(letter)).sum()) for letter in found}
    statuses = np.frombuffer(gathered.statuses, np.int8)[rows]
    without = _statuses(statuses)
    listed = ", ".join(f"{count} {letter}" for letter, count in many.items())
    rest = ""
    if without:
        ids = as_text(gathered.examples.column("id", gathered.n).take(rows))
        codes = gathered.examples.column("id", gathered.n).codes[rows]
        missing = np.flatnonzero(statuses != STATUSES.index("ok"))
        shown = ", ".join(ids[codes[row]] for row in missing[:_SHOWN])
        more = ", ..." if len(missing) > _SHOWN else ""
        listed += f", {_words(without)} (ids {shown}{more})"
        rest = "; choose --missing-outcome drop or wrong for those without a score"
    name = scored.name
    return InputError(
        f"score {name!r}: {len(rows)} attempts, {listed}. P is partial credit, neither right nor "
        f"wrong: choose --pass-at 0.5 (right), --pass-at 1 (wrong) or --na P (left out){rest}"
    )


def _ids(gathered: Gathered, pooled: Sequence[str], rows: NDArray[np.intp]) -> Column:
    """The example, with the coordinates that were put together before it."""
    ids = _taken(gathered.examples, "id", gathered.n, rows)
    coordinates = gathered.columns["coordinates"]
    before = [_taken(coordinates[name], name, gathered.n, rows) for name in pooled]
    if not before or _told_apart(ids, before):
        return ids
    grown = GrowingColumn()
    texts = [(*as_text(column), "") for column in (*before, ids)]
    codes: list[list[int]] = [column.codes.tolist() for column in (*before, ids)]
    for row in range(len(rows)):
        grown.put(row, "/".join(t[c[row]] for t, c in zip(texts, codes, strict=True)))
    return grown.column("id", len(rows))


def _told_apart(ids: Column, before: Sequence[Column]) -> bool:
    """Whether no example's name occurs under two values of the coordinates put together."""
    keys = np.stack([ids.codes.astype(np.int64), *(column.codes for column in before)])
    return np.unique(keys, axis=1).shape[1] == len(np.unique(ids.codes))


def _statuses(statuses: NDArray[np.int8]) -> dict[Status, int]:
    """How many attempts have no outcome, by why."""
    counts: dict[Status, int] = {
        status: int(np.count_nonzero(statuses == index))
        for index, status in enumerate(STATUSES)
        if status != "ok"
    }
    return {status: count for status, count in counts.items() if count}


def _words(counts: Mapping[Status, int]) -> str:
    return ", ".join(f"{count} {STATUS_WORDS[status]}" for status, count in counts.items())
