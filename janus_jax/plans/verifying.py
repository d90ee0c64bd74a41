"""Whether a table is the one that a plan was made from; what differs is refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax import __version__
from janus_jax.columns import Selection
from janus_jax.errors import InputError
from janus_jax.outcome import id_columns
from janus_jax.plans.fingerprints import (
    ExampleId,
    example_ids,
    groups_hash,
    ids_hash,
    split_hash,
    used_hash,
)
from janus_jax.plans.planned import SPLITS, Planned
from janus_jax.split import split_rows
from janus_jax.table import Table

_SHOWN = 5  # ids listed in a message before "..."
_REMEDY = "an audit by a plan needs the table it was made from; make a new plan for a new table"


def check_columns_exist(planned: Planned, table: Table) -> None:
    """Refuse a table that lacks a column of the plan, before anything is read by it.

    Also a log of which something else was chosen.
    """
    found = table.log.fixed() if table.log else None
    if found != planned.log:
        said = " and ".join(
            "an ordinary table" if log is None else f"a log ({_pairs(log)})"
            for log in (planned.log, found)
        )
        raise InputError(f"{planned.source}: planned and found differ: {said}; {_REMEDY}")
    _check_models(planned, table)
    needed = [*planned.named_by, *(column.name for column in planned.columns)]
    for name in dict.fromkeys(needed):
        if name not in table.columns:
            raise InputError(
                f"{planned.source}: column {name!r} of the plan is not in "
                f"{', '.join(table.source)}; {_REMEDY}"
            )


def _check_models(planned: Planned, table: Table) -> None:
    """Which models have rows is known without a look at an outcome, so it is part of the plan."""
    found = () if table.stacked is None else table.outcomes
    if not planned.models or found == planned.models:
        return
    said = [
        f"{word} {', '.join(map(repr, names))}"
        for word, names in (
            ("it has no row of", [name for name in planned.models if name not in found]),
            ("it has rows of", [name for name in found if name not in planned.models]),
        )
        if names
    ]
    differing = " and ".join(said) or f"they come in another order: {', '.join(map(repr, found))}"
    raise InputError(
        f"{planned.source}: the table's models are not those of the plan "
        f"({', '.join(map(repr, planned.models))}): {differing}; {_REMEDY}"
    )


def _pairs(log: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in log.items())


def remarks(planned: Planned) -> Iterator[str]:
    """What a reader of the result should know about the plan itself."""
    if planned.edited:
        yield (
            f"{planned.source} was edited after planning (it does not hold the hash of its own "
            "content), so nothing says that it was fixed before outcomes were read"
        )
    if planned.version != __version__:
        yield (
            f"{planned.source} was made by version {planned.version} and is followed by version "
            f"{__version__}"
        )


def used_names(planned: Planned) -> frozenset[str]:
    """The columns that descriptors are made of."""
    return frozenset(column.name for column in planned.columns if column.use != "groups")


def planned_split(planned: Planned, table: Table, selection: Selection) -> NDArray[np.int8]:
    """Check examples and columns, and deal the split of the plan.

    Parameters
    ----------
    table
        One row per example.
    selection
        The columns used, chosen with :func:`used_names`.

    Returns
    -------
    int8 array, shape (n,)
        The split of each example.
    """
    ids = example_ids(table, planned.plan)
    _check_ids(planned, table, ids)
    _check_columns(planned, table, selection)
    where = _listed(planned, ids) if planned.split.kind == "listed" else _dealt(planned, table)
    sizes = tuple(int((where == part).sum()) for part in range(len(SPLITS)))
    if sizes != planned.split.sizes or split_hash(ids, where) != planned.split.sha256:
        raise InputError(
            f"{planned.source}: the split differs from the plan's ("
            + ", ".join(f"{n} {name}" for n, name in zip(sizes, SPLITS, strict=True))
            + f" now); its [split] section or seed does not deal the examples as planned; {_REMEDY}"
        )
    return where


def _dealt(planned: Planned, table: Table) -> NDArray[np.int8]:
    return split_rows(table, planned.plan, proposal=Fraction(planned.split.proposal or 0))


def _listed(planned: Planned, ids: Sequence[ExampleId]) -> NDArray[np.int8]:
    place: dict[ExampleId, int] = {}
    for part, listed in enumerate(planned.ids or ()):
        for example in listed:
            if example in place:
                raise InputError(f"{planned.source}: [ids] lists {_name(example)} twice")
            place[example] = part
    absent = [example for example in ids if example not in place]
    if absent:
        raise InputError(f"{planned.source}: [ids] does not list {_named(absent)}")
    return np.array([place[example] for example in ids], dtype=np.int8)


def _check_ids(planned: Planned, table: Table, ids: Sequence[ExampleId]) -> None:
    named_by = id_columns(table, planned.plan)
    if named_by != planned.named_by:
        raise InputError(
            f"{planned.source}: examples were named by {_by(planned.named_by)} when planned, now "
            f"by {_by(named_by)}; {_REMEDY}"
        )
    if len(ids) == planned.rows and ids_hash(ids) == planned.ids_sha256:
        return
    listed = {example for part in planned.ids or () for example in part}
    said: list[str] = []
    if listed:
        new = [example for example in ids if example not in listed]
        gone = sorted(listed.difference(ids), key=_name)
        said += [f"{_count(new)} new: {_named(new)}"] if new else []
        said += [f"{_count(gone)} gone: {_named(gone)}"] if gone else []
        said = said or ["the ids are the same, but the rows stand in another order"]
    elif len(ids) != planned.rows:
        said.append(f"{planned.rows} examples were planned, and there are {len(ids)} now")
    else:
        said.append("the ids, or their order, changed since the plan")
    raise InputError(f"{planned.source}: {'; '.join(said)}; {_REMEDY}")


def _check_columns(planned: Planned, table: Table, selection: Selection) -> None:
    used = {column.name: column for column in selection.used}
    for column in planned.columns:
        if column.use == "groups":
            same = groups_hash(table.columns[column.name]) == column.sha256
        else:
            if column.name not in used:
                raise InputError(
                    f"{planned.source}: column {column.name!r} cannot be used as planned: "
                    f"{selection.not_used.get(column.name, 'it has another part now')}"
                )
            now = used[column.name]
            if now.kind != column.use:
                raise InputError(
                    f"{planned.source}: column {column.name!r} was {column.use} when planned and "
                    f"reads as {now.kind} now; {_REMEDY}"
                )
            same = used_hash(now) == column.sha256
        if not same:
            raise InputError(
                f"{planned.source}: column {column.name!r} changed since the plan; {_REMEDY}"
            )


def _by(columns: Sequence[str]) -> str:
    return " and ".join(map(repr, columns)) if columns else "their row numbers"


def _count(ids: Sequence[ExampleId]) -> str:
    return "1 id is" if len(ids) == 1 else f"{len(ids)} ids are"


def _named(ids: Sequence[ExampleId]) -> str:
    return ", ".join(map(_name, ids[:_SHOWN])) + (", ..." if len(ids) > _SHOWN else "")


def _name(example: ExampleId) -> str:
    return f"row {example}" if isinstance(example, int) else repr(" / ".join(example))
