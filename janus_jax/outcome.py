"""Right or wrong, one value per example: outcomes, missing ones, repeated examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from janus_jax.columns import differing_rows
from janus_jax.errors import InputError
from janus_jax.plan import Plan, Repeats
from janus_jax.table import STATUS_WORDS, Column, Table
from janus_jax.values import as_boolean, as_numbers, as_text, first_row_of, number_report

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
    missing
        Rows without an outcome.
    notes
        What a reader of the report should know about how outcomes were read.
    rows
        intp, shape (n,): where each row stood in the table as it was read.
    models
        Where an error is what one of two models gets wrong and the other right: these two.
    """

    table: Table
    errors: NDArray[np.int8]
    missing: int
    notes: tuple[str, ...]
    rows: NDArray[np.intp]
    models: tuple[str, str] | None = None


def read_examples(
    table: Table, plan: Plan, facts: Sequence[str], *, one_sided: bool = False
) -> Examples:
    """Read outcomes and ids, and reduce repeats as the plan says.

    Parameters
    ----------
    facts
        Columns that must agree between repeats of one example: those that are used.
    one_sided
        All examples may be right, or all wrong.

    Raises
    ------
    InputError
        Outcomes that are not binary, missing or constant; repeated ids with no reduction chosen.
    """
    column = table.columns[plan.outcome_column]
    ids = _Ids(table, id_columns(table, plan))
    errors, missing, notes = _read_outcomes(ids, column, plan)
    if ids.unnamed:
        notes.append(f"{ids.unnamed} of {table.n} rows have no id; they are called by row number")
    first = _one_row_each(ids, plan, facts)
    if len(first) < table.n:
        notes.append(f"{table.n} rows reduced to {len(first)} examples by --repeats {plan.repeats}")
        errors = _reduced(ids, errors, first, plan.repeats)
        table = table.take(first)
    _check_outcomes(errors, _whose(table, column), one_sided=one_sided)
    return Examples(table, errors, missing, tuple(notes), first)


def row_of_each(table: Table, plan: Plan, *, unread: bool = False) -> NDArray[np.intp]:
    """For each example a row that has the outcome to which its repeats are reduced.

    Parameters
    ----------
    unread
        Do not look at the outcome: take the first row of each.

    Returns
    -------
    intp, shape (examples,)

    Raises
    ------
    InputError
        As for :func:`read_examples`, but that all may be right, or wrong.
    """
    ids = _Ids(table, id_columns(table, plan))
    first = _one_row_each(ids, plan, ())
    if unread:
        return first
    errors, _, _ = _read_outcomes(ids, table.columns[plan.outcome_column], plan)
    if len(first) == table.n:
        return first
    _, example = np.unique(ids.groups, return_inverse=True)
    reduced = np.empty(len(first), errors.dtype)
    reduced[example[first]] = _reduced(ids, errors, first, plan.repeats)
    having = np.flatnonzero(errors == reduced[example])
    return having[np.unique(example[having], return_index=True)[1]]


def id_columns(table: Table, plan: Plan) -> tuple[str, ...]:
    """The columns that name an example: those of ``--id``, else ``id`` if there is one, else none.

    Examples without an id are called by their row number.
    """
    default = "id" in table.columns and plan.outcome_column != "id"
    return plan.id or (("id",) if default else ())


def without_repeats(table: Table, plan: Plan, facts: Sequence[str]) -> Table:
    """The table with one row per example; the outcome is not looked at.

    Parameters
    ----------
    facts
        As for :func:`read_examples`, which keeps the same rows.

    Raises
    ------
    InputError
        Repeated ids with no reduction chosen, or facts that differ between repeats.
    """
    first = _one_row_each(_Ids(table, id_columns(table, plan)), plan, facts)
    return table.take(first) if len(first) < table.n else table


def example_of_row(table: Table, plan: Plan) -> NDArray[np.intp]:
    """The number of each row's example, shape (n,): its place in :func:`without_repeats`.

    The outcome is not looked at.
    """
    ids = _Ids(table, id_columns(table, plan))
    _, first, group = np.unique(ids.groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def _one_row_each(ids: _Ids, plan: Plan, facts: Sequence[str]) -> NDArray[np.intp]:
    first = ids.first_rows()
    if len(first) < ids.table.n:
        if plan.repeats == "refuse":
            raise _repeated(ids)
        _check_facts(ids, plan, facts, first)
    return first


class _Ids:
    """Which rows are the same example, and what to call it in a message.

    Attributes
    ----------
    groups
        int64, shape (n,): equal for rows of the same example; a row without an id is alone.
    unnamed
        Rows without an id.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self.table = table
        self.key = ",".join(names)
        self.columns = [table.columns[name] for name in names]
        groups = np.zeros(table.n, dtype=np.int64) if names else np.arange(table.n)
        absent = np.zeros(table.n, dtype=np.bool_)
        for column in self.columns:
            absent |= column.codes < 0
            pairs = groups * (len(column.levels) + 1) + column.codes
            groups = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        self.unnamed = int(np.count_nonzero(absent))
        groups[absent] = table.n + np.arange(self.unnamed)
        self.groups: NDArray[np.int64] = groups

    def name(self, row: int) -> str:
        """The id of a row, or its number."""
        codes = [int(column.codes[row]) for column in self.columns]
        if not codes or min(codes) < 0:
            return f"row {row + 1}"
        return " / ".join(
            as_text(column)[code] for column, code in zip(self.columns, codes, strict=True)
        )

    def first_rows(self) -> NDArray[np.intp]:
        """The first row of each example, ascending."""
        return np.sort(np.unique(self.groups, return_index=True)[1])


def _read_outcomes(
    ids: _Ids, column: Column, plan: Plan
) -> tuple[NDArray[np.int8], int, list[str]]:
    """What each row says, how many say nothing, and the notes on both; repeats are all there."""
    errors, notes = _outcomes(ids.table, column, plan)
    missing = np.flatnonzero(errors < 0)
    if len(missing):
        header = ids.table.header_of(column.name)
        notes.append(_missing_outcomes(ids, header, missing, plan))
        if plan.missing_outcome == "wrong":
            errors[missing] = 1
    return errors, len(missing), notes


def _outcomes(table: Table, column: Column, plan: Plan) -> tuple[NDArray[np.int8], list[str]]:
    na = frozenset(plan.na)
    labels = as_text(column)
    header = table.header_of(column.name)
    if plan.pass_at is None:
        truth = as_boolean(column, na)
        if truth is None and not len(labels):
            raise InputError(f"outcome column {header!r} has no value in any row")
        if truth is None:
            some = ", ".join(repr(label) for label in labels[:5])
            first = table.where(first_row_of(column, 0))
            raise InputError(
                f"outcome column {header!r} is not true/false, yes/no or 0/1: it holds {some}"
                f"{', ...' if len(labels) > 5 else ''} (the first in {first}); "
                f"for a graded score use --score {header} --pass-at X"
            )
        wrong = truth if plan.error else np.where(truth < 0, truth, 1 - truth)
        words = {
            side: [label for label, value in zip(labels, wrong.tolist(), strict=True) if value == v]
            for side, v in (("wrong", 1), ("right", 0))
        }
        said = "; ".join(
            f"{', '.join(map(repr, found))} = {side}" for side, found in words.items() if found
        )
        notes = [f"outcome column {header!r} read as {said}"]
    else:
        numbers = as_numbers(column, na)
        if numbers is None:
            raise InputError(
                f"--score {header}: {number_report(column, table, na) or 'not numbers'}; name "
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
            f"score column {header!r}: a score >= {plan.pass_at} is right: "
            f"{right} right, {bad} wrong, "
            f"{len(errors) - right - bad} missing"
        )
    return errors, notes


def _missing_outcomes(ids: _Ids, name: str, missing: NDArray[np.intp], plan: Plan) -> str:
    table = ids.table
    shown: list[int] = missing[:_SHOWN].tolist()
    more = ", ..." if len(missing) > _SHOWN else ""
    count = f"{len(missing)} missing value{'s' if len(missing) > 1 else ''}"
    if table.log is not None and table.log.statuses and not table.log.several:
        apart = (f"{many} {STATUS_WORDS[status]}" for status, many in table.log.statuses.items())
        count += f" (attempts: {', '.join(apart)})"
    if plan.missing_outcome == "refuse":
        raise InputError(
            f"outcome column {name!r} has {count} in {table.n} rows: ids "
            f"{', '.join(map(ids.name, shown))}{more} ({_places(table, shown)}{more}); choose "
            "--missing-outcome drop (leave them out of all counts) or --missing-outcome wrong "
            "(count them as errors)"
        )
    if plan.missing_outcome == "drop":
        used = table.n - len(missing)
        return f"outcome column {name!r} has {count}; {used} of {table.n} rows used"
    return f"outcome column {name!r} has {count}, counted as wrong (--missing-outcome wrong)"


def _places(table: Table, rows: Sequence[int]) -> str:
    by_file: dict[int, list[str]] = {}
    for row in rows:
        by_file.setdefault(int(table.files[row]), []).append(str(int(table.lines[row])))
    return "; ".join(
        f"{table.source[f]} {table.line_word[f]}{'s' if len(lines) > 1 else ''} {', '.join(lines)}"
        for f, lines in by_file.items()
    )


def _repeated(ids: _Ids) -> InputError:
    _, first, count = np.unique(ids.groups, return_index=True, return_counts=True)
    row = int(first[count > 1].min())
    same: list[int] = np.flatnonzero(ids.groups == ids.groups[row])[:_SHOWN].tolist()
    apart = len(set(ids.table.files[same].tolist())) > 1
    twice = "If these files hold the same run, name one of them. " if apart else ""
    return InputError(
        f"id column {ids.key!r} repeats: {len(first)} ids in {ids.table.n} rows "
        f"({ids.name(row)!r} in {_places(ids.table, same)}). {twice}Repeats of one example are not "
        "independent: reduce them with --repeats majority, first, any or all, or name the whole "
        f"key (--id {ids.key},OTHER) and keep its rows together with --cluster"
    )


def _check_facts(ids: _Ids, plan: Plan, facts: Sequence[str], first: NDArray[np.intp]) -> None:
    row_of_group = dict(zip(ids.groups[first].tolist(), first.tolist(), strict=True))
    reference = np.array([row_of_group[group] for group in ids.groups.tolist()])
    for name in facts:
        differ = differing_rows(ids.table, plan, name, reference)
        if len(differ):
            row = int(differ[0])
            raise InputError(
                f"column {name!r} differs between repeats of example {ids.name(row)!r}: "
                f"{ids.table.where(int(reference[row]))} and {ids.table.where(row)}; it is not a "
                f"fact of the example, so leave it out with --exclude {name}"
            )


def _reduced(
    ids: _Ids, errors: NDArray[np.int8], first: NDArray[np.intp], how: Repeats
) -> NDArray[np.int8]:
    """One outcome per example; repeats without one do not count unless none has one."""
    if how == "first":
        return errors[first]
    if how == "majority":
        return _majority(ids, errors, first)
    _, dense = np.unique(ids.groups, return_inverse=True)
    wrong, right = (
        np.bincount(dense[errors == side], minlength=len(first))[dense[first]] > 0
        for side in (1, 0)
    )
    # Right if any repeat is, or only if all are.
    decided = np.where(right, 0, 1) if how == "any" else np.where(wrong, 1, 0)
    return np.where(wrong | right, decided, -1).astype(np.int8)


def _majority(ids: _Ids, errors: NDArray[np.int8], first: NDArray[np.intp]) -> NDArray[np.int8]:
    _, dense = np.unique(ids.groups, return_inverse=True)
    wrong = np.bincount(dense[errors == 1], minlength=len(first))[dense[first]]
    right = np.bincount(dense[errors == 0], minlength=len(first))[dense[first]]
    tied = np.flatnonzero((wrong == right) & (wrong > 0))
    if len(tied):
        raise InputError(
            f"--repeats majority: {len(tied)} examples are right as often as wrong, the first "
            f"{ids.name(int(first[tied[0]]))!r}; use --repeats first, or keep all rows with "
            "--cluster"
        )
    return np.where(wrong > right, 1, np.where(right > wrong, 0, -1)).astype(np.int8)


def _whose(table: Table, column: Column) -> str:
    """An outcome in a message."""
    if table.stacked is None:
        return f"outcome column {column.name!r}"
    return f"model {column.name!r}: outcome column {table.stacked!r}"


def _check_outcomes(errors: NDArray[np.int8], said: str, *, one_sided: bool) -> None:
    known = errors[errors >= 0]
    if not len(known):
        raise InputError(f"{said} has no value in any row")
    if not one_sided and (known == known[0]).all():
        side = "wrong" if known[0] else "right"
        raise InputError(
            f"{said} has a single value: all {len(known)} examples are {side}, so there is nothing "
            "to compare"
        )
