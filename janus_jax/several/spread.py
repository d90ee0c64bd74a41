"""From a row for each example and model to one for each example, with every model's outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from janus_jax.columns import differing_rows, find_column
from janus_jax.errors import InputError
from janus_jax.outcome import example_of_row, id_columns, row_of_each
from janus_jax.plan import Plan
from janus_jax.readers.part import missing_column
from janus_jax.several.outcomes import marked
from janus_jax.split import complete_codes
from janus_jax.table import Column, Table
from janus_jax.values import as_text

_SHOWN: Final = 10  # examples listed in a message before "..."


@dataclass(frozen=True, slots=True)
class _Places:
    """Where each row of the long table goes.

    Attributes
    ----------
    models
        For each model, in order of first appearance, its name and its rows.
    example
        intp, shape (n,): the row of the new table that each row belongs to.
    first
        intp, shape (N,): the first row of each example, ascending.
    """

    models: list[tuple[str, NDArray[np.intp]]]
    example: NDArray[np.intp]
    first: NDArray[np.intp]


def spread(table: Table, plan: Plan, column: str, *, unread: bool = False) -> Table:
    """Put the rows of one example side by side: one row, with an outcome for each model.

    Repeats are reduced for each model by itself first, as ``--repeats`` says, so that models may
    have unequal numbers of them. A column that differs between the rows of one example is no fact
    of the example: it is kept out of the descriptors, and cannot be named as one.

    Parameters
    ----------
    table
        A row for each example and model (and repeat).
    plan
        Names the outcome and the ids.
    column
        Says whose answer a row is.
    unread
        The outcome is not to be looked at, and need not be there.

    Returns
    -------
    Table
        The outcome column is replaced by one for each model, called as the model is, or
        ``column=model`` where another column has that name. A model that has no row for an example
        has no outcome there.

    Raises
    ------
    InputError
        There is no id, a row has no id or no model, there is one model only, a model has repeats or
        lacks an example and the plan does not say what to do, or the plan names a column that
        differs within an example.
    """
    find_column(table, column, "--model-column")
    outcome = _outcome(table, plan, unread)
    _check_ids(table, plan)
    places = _places(table, plan, column)
    if len(places.models) < 2:
        raise InputError(
            f"--model-column {column}: every row is of {places.models[0][0]!r}; with one model "
            "leave the option out"
        )
    varying = _varying(table, plan, places, {column, outcome.name})
    _check_facts(table, plan, places, varying)
    notes = [*table.notes, *_alike([model for model, _ in places.models])]
    made: list[Column] = []
    for model, rows in places.models:
        called = _called(model, table, column, outcome.name)
        speaking = rows[_row_of_each(table.take(rows), plan, model, unread)]
        if len(speaking) < len(rows):
            notes.append(
                f"{model}: {len(rows)} rows reduced to {len(speaking)} examples by --repeats "
                f"{plan.repeats}"
            )
        notes += _absent(table, plan, places, model, places.example[speaking])
        codes = np.full(len(places.first), -1, outcome.codes.dtype)
        codes[places.example[speaking]] = outcome.codes[speaking]
        made.append(replace(outcome, name=called, codes=codes))
    base = table.take(places.first)
    columns: dict[str, Column] = {}
    for name, old in base.columns.items():
        if name == outcome.name:
            columns |= {new.name: new for new in made}
        elif name != column:
            columns[name] = (
                replace(old, origin="varies", unusable=_no_fact(table, plan, places, varying[name]))
                if name in varying
                else old
            )
    columns |= {new.name: new for new in made}  # a plan's outcome may not be there yet
    names = [new.name for new in made]
    notes.append(f"{table.n} rows of {len(names)} models are {base.n} examples side by side")
    side_by_side = replace(base, columns=columns, notes=tuple(notes), stacked=outcome.name)
    return marked(side_by_side, plan, names)


def _outcome(table: Table, plan: Plan, unread: bool) -> Column:
    if unread and plan.outcome_column not in table.columns:
        return missing_column(plan.outcome_column, table.n)
    return find_column(table, plan.outcome_column, f"--{plan.outcome_kind}")


def _check_ids(table: Table, plan: Plan) -> None:
    named = id_columns(table, plan)
    if not named:
        raise InputError(
            f"--model-column {plan.model_column or 'model'} needs --id COL: the rows of one "
            "example are known by it"
        )
    for name in named:
        codes = find_column(table, name, "--id").codes
        absent = np.flatnonzero(codes < 0)
        if len(absent):
            raise InputError(
                f"id column {name!r} is empty in {len(absent)} rows, the first in "
                f"{table.where(int(absent[0]))}; the rows of one example are known by their id, so "
                "every row needs one"
            )


def _places(table: Table, plan: Plan, column: str) -> _Places:
    codes = complete_codes(table, column, "--model-column")
    texts = as_text(table.columns[column])
    found, first_seen = np.unique(codes, return_index=True)
    models = [
        (texts[int(code)], np.flatnonzero(codes == code)) for code in found[np.argsort(first_seen)]
    ]
    example = example_of_row(table, plan)
    return _Places(models, example, np.unique(example, return_index=True)[1])


def _called(model: str, table: Table, column: str, outcome: str) -> str:
    taken = table.columns.keys() - {column, outcome}
    if model not in taken:
        return model
    called = f"{column}={model}"
    if called in taken:
        raise InputError(
            f"--model-column {column}: the outcome of {model!r} can be called neither {model!r} "
            f"nor {called!r}, since there are columns of these names; rename one"
        )
    return called


def _alike(models: Sequence[str]) -> Iterator[str]:
    """What to say of models that are perhaps one, spelled in several ways."""
    spelled: dict[str, list[str]] = {}
    for model in models:
        spelled.setdefault("".join(model.split()).casefold(), []).append(model)
    for same in spelled.values():
        if len(same) > 1:
            yield (
                f"models {', '.join(map(repr, same))} differ in blanks or case alone; they are "
                "taken as different models"
            )


def _row_of_each(table: Table, plan: Plan, model: str, unread: bool) -> NDArray[np.intp]:
    """The rows of one model's table that speak for its examples."""
    try:
        return row_of_each(table, plan, unread=unread)
    except InputError as error:
        raise InputError(f"model {model!r}: {error}") from error


def _absent(
    table: Table, plan: Plan, places: _Places, model: str, having: NDArray[np.intp]
) -> list[str]:
    """What to say of the examples that a model has no row for."""
    lacking = np.setdiff1d(np.arange(len(places.first)), having)
    if not len(lacking):
        return []
    shown = ", ".join(_id(table, plan, row) for row in places.first[lacking[:_SHOWN]].tolist())
    more = ", ..." if len(lacking) > _SHOWN else ""
    said = f"{model} has no row for {len(lacking)} of {len(places.first)} examples: {shown}{more}"
    if plan.missing_outcome == "refuse":
        raise InputError(
            f"{said}; choose --missing-outcome drop (leave these examples out for all models) or "
            "--missing-outcome wrong (count them as its errors)"
        )
    dropped = plan.missing_outcome == "drop"
    return [f"{said}; {'left out for all models' if dropped else 'counted as its errors'}"]


def _id(table: Table, plan: Plan, row: int) -> str:
    columns = [table.columns[name] for name in id_columns(table, plan)]
    return " / ".join(as_text(column)[int(column.codes[row])] for column in columns)


def _varying(
    table: Table, plan: Plan, places: _Places, going: set[str]
) -> dict[str, NDArray[np.intp]]:
    """Columns that differ within an example, each with the rows that differ from its first."""
    reference = places.first[places.example]
    found: dict[str, NDArray[np.intp]] = {}
    for name in table.columns:
        if name not in going:
            differ = differing_rows(table, plan, name, reference)
            if len(differ):
                found[name] = differ
    return found


def _no_fact(table: Table, plan: Plan, places: _Places, differ: NDArray[np.intp]) -> str:
    row = int(differ[0])
    many = len(np.unique(places.example[differ]))
    rows = f"{_id(table, plan, row)!r}, {_both(table, places, row)}"
    return (
        f"differs between the rows of one example, so it is no fact of the example: in {many} of "
        f"{len(places.first)} examples, the first {rows}"
    )


def _both(table: Table, places: _Places, row: int) -> str:
    """Where the first row of an example and another one stand."""
    return f"{table.where(int(places.first[places.example[row]]))} and {table.where(row)}"


def _check_facts(
    table: Table, plan: Plan, places: _Places, varying: dict[str, NDArray[np.intp]]
) -> None:
    roles = {
        "--split-column": (plan.split_column,),
        "--stratify": (plan.stratify,),
        "--strata": (plan.strata,),
        "--cluster": (plan.cluster,),
        "--descriptor": plan.descriptor,
        "--include": plan.include,
        "--categorical": plan.categorical,
        "--numeric": plan.numeric,
    }
    for option, names in roles.items():
        for name in names:
            if name in varying:
                row = int(varying[name][0])
                raise InputError(
                    f"{option} {name}: it differs between the rows of example "
                    f"{_id(table, plan, row)!r} ({_both(table, places, row)}), so it is no fact of "
                    "the example that models could be compared by"
                )
