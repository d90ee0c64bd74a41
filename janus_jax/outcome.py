"""Right or wrong, one value per example: the outcome column, missing outcomes, repeated examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.plan import Plan
from janus_jax.table import Column, Table
from janus_jax.values import as_boolean, as_numbers, as_text, number_report

_SHOWN = 10  # examples listed in a message before "..."


@dataclass(frozen=True, slots=True)
class Examples:
    """One row per example.

    Attributes
    ----------
    table
        The table, reduced to one row per example.
    errors
        int8, shape (n,): 1 wrong, 0 right, -1 no outcome (the row leaves every count).
    ids
        How each example is called.
    missing
        Rows without an outcome.
    notes
        What a reader of the report should know about how outcomes were read.
    """

    table: Table
    errors: NDArray[np.int8]
    ids: tuple[str, ...]
    missing: int
    notes: tuple[str, ...]


def read_examples(table: Table, plan: Plan, facts: Sequence[str]) -> Examples:
    """Read outcomes and ids, and reduce repeats as the plan says.

    Parameters
    ----------
    facts
        Columns that must agree between repeats of one example: those that are used.

    Raises
    ------
    InputError
        Outcomes that are not binary, missing or constant; repeated ids with no reduction chosen.
    """
    column = table.columns[plan.outcome_column]
    errors, notes = _outcomes(table, column, plan)
    missing = np.flatnonzero(errors < 0)
    id_columns = plan.id or (("id",) if "id" in table.columns else ())
    groups, names = _identify(table, id_columns)
    if len(missing):
        notes.append(_missing_outcomes(table, column.name, missing, names, plan, len(errors)))
        if plan.missing_outcome == "wrong":
            errors[missing] = 1
    unnamed = sum(name is None for name in names)
    if unnamed:
        notes.append(f"{unnamed} of {table.n} rows have no id; they are called by row number")
    first = _first_rows(groups)
    if len(first) < table.n:
        if plan.repeats == "refuse":
            raise _repeated(table, id_columns, groups, names)
        _check_facts(table, facts, groups, first, names)
        notes.append(
            f"{table.n} rows reduced to {len(first)} examples by --repeats {plan.repeats}"
        )
        if plan.repeats == "majority":
            errors = _majority(errors, groups, len(first), names, first)
        else:
            errors = errors[first]
        table = table.take(first)
        names = [names[row] for row in first]
    _check_both_outcomes(errors, column.name)
    return Examples(
        table=table,
        errors=errors,
        ids=tuple(f"row {row + 1}" if name is None else name for row, name in enumerate(names)),
        missing=len(missing),
        notes=tuple(notes),
    )


def _outcomes(table: Table, column: Column, plan: Plan) -> tuple[NDArray[np.int8], list[str]]:
    na = frozenset(plan.na)
    labels = as_text(column)
    if plan.pass_at is None:
        truth = as_boolean(column, na)
        if truth is None:
            some = ", ".join(repr(label) for label in labels[:5])
            raise InputError(
                f"outcome column {column.name!r} is not true/false, yes/no or 0/1: it holds {some}"
                f"{', ...' if len(labels) > 5 else ''} (the first in {_first(table, column, 0)}); "
                f"for a graded score use --score {column.name} --pass-at X"
            )
        wrong = truth if plan.error else np.where(truth < 0, truth, 1 - truth)
        words = {
            side: [label for label, value in zip(labels, wrong.tolist(), strict=True) if value == v]
            for side, v in (("wrong", 1), ("right", 0))
        }
        said = "; ".join(
            f"{', '.join(map(repr, found))} = {side}" for side, found in words.items() if found
        )
        notes = [f"outcome column {column.name!r} read as {said}"]
    else:
        numbers = as_numbers(column, na)
        if numbers is None:
            raise InputError(
                f"--score {column.name}: {number_report(column, table, na) or 'not numbers'}; name "
                "words that mean missing with --na WORD"
            )
        values, absent = numbers
        passed = values >= float(plan.pass_at)
        wrong = np.where(absent, -1, np.where(passed, 0, 1))
        notes = []
    errors = np.append(wrong, -1).astype(np.int8)[column.codes]  # code -1 finds the appended -1
    if plan.pass_at is not None:
        right, bad = int((errors == 0).sum()), int((errors == 1).sum())
        notes.append(
            f"score column {column.name!r}: at least {plan.pass_at} is right (exactly "
            f"{plan.pass_at} included): {right} right, {bad} wrong, "
            f"{len(errors) - right - bad} missing"
        )
    return errors, notes


def _first(table: Table, column: Column, level: int) -> str:
    rows = np.flatnonzero(column.codes == level)
    return table.where(int(rows[0])) if len(rows) else table.source[0]


def _missing_outcomes(
    table: Table,
    name: str,
    missing: NDArray[np.intp],
    names: Sequence[str | None],
    plan: Plan,
    rows: int,
) -> str:
    shown = missing[:_SHOWN].tolist()
    more = ", ..." if len(missing) > _SHOWN else ""
    ids = ", ".join(names[row] or f"row {row + 1}" for row in shown)
    places = _places(table, shown)
    count = f"{len(missing)} missing value{'s' if len(missing) > 1 else ''}"
    if plan.missing_outcome == "refuse":
        raise InputError(
            f"outcome column {name!r} has {count} in {rows} rows: ids {ids}{more} "
            f"({places}{more}); choose --missing-outcome drop (leave them out of all counts) or "
            "--missing-outcome wrong (count them as errors)"
        )
    if plan.missing_outcome == "drop":
        return f"outcome column {name!r} has {count}; {rows - len(missing)} of {rows} rows used"
    return f"outcome column {name!r} has {count}, counted as wrong (--missing-outcome wrong)"


def _places(table: Table, rows: Sequence[int]) -> str:
    by_file: dict[int, list[str]] = {}
    for row in rows:
        by_file.setdefault(int(table.files[row]), []).append(str(int(table.lines[row])))
    return "; ".join(
        f"{table.source[f]} {table.line_word[f]}{'s' if len(lines) > 1 else ''} {', '.join(lines)}"
        for f, lines in by_file.items()
    )


def _identify(
    table: Table, id_columns: Sequence[str]
) -> tuple[NDArray[np.int64], list[str | None]]:
    """Group number of each row (rows without an id are groups of their own), and its name."""
    if not id_columns:
        return np.arange(table.n), [f"row {row + 1}" for row in range(table.n)]
    columns = [table.columns[name] for name in id_columns]
    codes = np.stack([column.codes for column in columns])
    _, groups = np.unique(codes, axis=1, return_inverse=True)
    groups = groups.astype(np.int64).ravel()
    absent = (codes < 0).any(axis=0)
    groups[absent] = groups.max(initial=0) + 1 + np.arange(absent.sum())
    labels = [as_text(column) for column in columns]
    names: list[str | None] = [
        None if absent[row] else " / ".join(
            text[code] for text, code in zip(labels, codes[:, row].tolist(), strict=True)
        )
        for row in range(table.n)
    ]
    return groups, names


def _first_rows(groups: NDArray[np.int64]) -> NDArray[np.intp]:
    _, first = np.unique(groups, return_index=True)
    return np.sort(first)


def _repeated(
    table: Table,
    id_columns: Sequence[str],
    groups: NDArray[np.int64],
    names: Sequence[str | None],
) -> InputError:
    _, first, count = np.unique(groups, return_index=True, return_counts=True)
    row = int(first[count > 1].min())
    lines = _places(table, np.flatnonzero(groups == groups[row])[:_SHOWN].tolist())
    key = ",".join(id_columns)
    return InputError(
        f"id column {key!r} repeats: {len(first)} ids in {table.n} rows ({names[row]!r} in "
        f"{lines}). Repeats of one example are not independent: reduce them with --repeats "
        f"majority or --repeats first, or name the whole key (--id {key},OTHER) and keep its rows "
        f"together with --cluster"
    )


def _check_facts(
    table: Table,
    facts: Sequence[str],
    groups: NDArray[np.int64],
    first: NDArray[np.intp],
    names: Sequence[str | None],
) -> None:
    row_of_group = dict(zip(groups[first].tolist(), first.tolist(), strict=True))
    reference = np.array([row_of_group[group] for group in groups.tolist()])
    for name in facts:
        codes = table.columns[name].codes
        differ = np.flatnonzero(codes != codes[reference])
        if len(differ):
            row = int(differ[0])
            raise InputError(
                f"column {name!r} differs between repeats of example {names[row]!r}: "
                f"{table.where(int(reference[row]))} and {table.where(row)}; it is not a fact of "
                f"the example, so leave it out with --exclude {name}"
            )


def _majority(
    errors: NDArray[np.int8],
    groups: NDArray[np.int64],
    size: int,
    names: Sequence[str | None],
    first: NDArray[np.intp],
) -> NDArray[np.int8]:
    _, dense = np.unique(groups, return_inverse=True)
    wrong = np.bincount(dense, weights=errors == 1, minlength=size).astype(np.int64)
    right = np.bincount(dense, weights=errors == 0, minlength=size).astype(np.int64)
    outcome = np.where(wrong > right, 1, 0)
    outcome[(wrong == 0) & (right == 0)] = -1
    dense_of_first = dense[first]
    tied = np.flatnonzero(((wrong == right) & (wrong > 0))[dense_of_first])
    if len(tied):
        row = int(first[tied[0]])
        raise InputError(
            f"--repeats majority: {len(tied)} examples are right as often as wrong, the first "
            f"{names[row]!r}; use --repeats first, or keep all rows with --cluster"
        )
    return outcome[dense_of_first].astype(np.int8)


def _check_both_outcomes(errors: NDArray[np.int8], name: str) -> None:
    known = errors[errors >= 0]
    if not len(known):
        raise InputError(f"outcome column {name!r} has no value in any row")
    if (known == known[0]).all():
        side = "wrong" if known[0] else "right"
        raise InputError(
            f"outcome column {name!r} has a single value: all {len(known)} examples are {side}, so "
            "there is nothing to compare"
        )
