"""From a row for each example and model to one for each example, with every model's outcome."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from janus_jax.columns import find_column
from janus_jax.errors import InputError
from janus_jax.outcome import example_of_row, id_columns
from janus_jax.plan import Plan
from janus_jax.several.outcomes import marked
from janus_jax.split import complete_codes
from janus_jax.table import Column, Table
from janus_jax.values import as_text


@dataclass(frozen=True, slots=True)
class _Places:
    """Where each row of the long table goes.

    Attributes
    ----------
    model
        intp, shape (n,): number of the row's model, in order of first appearance.
    names
        The models.
    place
        intp, shape (n,): the row of the new table.
    first
        intp, shape (N,): the first row that goes to each place.
    """

    model: NDArray[np.intp]
    names: list[str]
    place: NDArray[np.intp]
    first: NDArray[np.intp]


def spread(table: Table, plan: Plan, column: str) -> Table:
    """Put the rows of one example side by side.

    The r-th row that a model has for an example meets the r-th row of every other model, so repeats
    stay repeats (``--repeats`` reduces them for each model). A column that differs between the
    models for one example is no fact of the example: it is kept out of the descriptors, and cannot
    be named as one.

    Parameters
    ----------
    table
        A row for each example and model (and repeat).
    plan
        Names the outcome and the ids.
    column
        Says whose answer a row is.

    Returns
    -------
    Table
        The outcome column is replaced by one for each model, called as the model is, or
        ``column=model`` where another column has that name. A model that has no row for an example
        has no outcome there.

    Raises
    ------
    InputError
        There is no id, a row has no id or no model, there is one model only, or the plan names a
        column that differs between models.
    """
    find_column(table, column, "--model-column")
    outcome = find_column(table, plan.outcome_column, f"--{plan.outcome_kind}")
    _check_ids(table, plan)
    places = _places(table, plan, column)
    if len(places.names) < 2:
        raise InputError(
            f"--model-column {column}: every row is of {places.names[0]!r}; with one model leave "
            "the option out"
        )
    base = table.take(places.first)
    varying = _varying(table, places, {column, outcome.name})
    _check_facts(table, plan, places, varying)
    columns: dict[str, Column] = {}
    names: list[str] = []
    for name, old in base.columns.items():
        if name == outcome.name:
            for number, model in enumerate(places.names):
                called = model if _free(model, table, (column, name)) else f"{column}={model}"
                names.append(called)
                columns[called] = _outcome_of(outcome, called, places, number)
        elif name != column:
            columns[name] = replace(old, origin="varies") if name in varying else old
    kept = f"{table.n} rows of {len(names)} models are {base.n} examples side by side"
    made = replace(base, columns=columns, notes=(*base.notes, kept))
    return marked(made, plan, names)


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
    found, first_seen, model = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first_seen)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    model = number[model]
    texts = as_text(table.columns[column])
    example = example_of_row(table, plan)
    # The how-manieth row of its model and example each row is.
    pair = example * len(found) + model
    by_pair = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.diff(pair[by_pair], prepend=-1))
    sizes = np.diff(starts, append=len(pair))
    repeat = np.empty(len(pair), np.intp)
    repeat[by_pair] = np.arange(len(pair)) - np.repeat(starts, sizes)
    key = example * (int(repeat.max()) + 1) + repeat
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return _Places(model, [texts[int(found[m])] for m in order], place, first)


def _free(name: str, table: Table, going: tuple[str, str]) -> bool:
    return name not in table.columns or name in going


def _outcome_of(outcome: Column, name: str, places: _Places, number: int) -> Column:
    rows = np.flatnonzero(places.model == number)
    codes = np.full(len(places.first), -1, outcome.codes.dtype)
    codes[places.place[rows]] = outcome.codes[rows]
    return replace(outcome, name=name, codes=codes)


def _varying(table: Table, places: _Places, going: set[str]) -> dict[str, int]:
    """Columns that differ within an example, each with the first row that does."""
    reference = places.first[places.place]
    found: dict[str, int] = {}
    for name, column in table.columns.items():
        if name not in going:
            differ = np.flatnonzero(column.codes != column.codes[reference])
            if len(differ):
                found[name] = int(differ[0])
    return found


def _check_facts(table: Table, plan: Plan, places: _Places, varying: dict[str, int]) -> None:
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
                row = varying[name]
                other = int(places.first[places.place[row]])
                raise InputError(
                    f"{option} {name}: it differs between the models for one example "
                    f"({table.where(other)} and {table.where(row)}), so it is no fact of the "
                    "example that models could be compared by"
                )
