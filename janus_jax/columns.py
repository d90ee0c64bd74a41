"""Which columns become descriptors, and as what; the others are listed with the reason."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.plan import Plan
from janus_jax.table import Column, Table
from janus_jax.values import (
    as_boolean,
    as_numbers,
    as_text,
    first_non_number,
    is_index_name,
    is_near_unique,
    is_row_number,
    looks_like_date,
    meaning_of_rows,
    missing_levels,
)

Kind = Literal["boolean", "numeric", "categorical"]

MAX_LEVELS = 50
"""A text column with more levels is used only when it is named."""


@dataclass(frozen=True, slots=True)
class UsedColumn:
    """A column that descriptors are made of.

    Attributes
    ----------
    kind
        How its values are read.
    meaning
        Per level: 1/0 for a boolean, the number for a numeric column, the level's own index for a
        categorical one.
    level_known
        bool, per level: the level is a value, not a word for "missing".
    values
        The column itself.
    constant
        The single known value, when there is only one; no descriptor of its values is made.
    """

    kind: Kind
    meaning: NDArray[np.int64] | NDArray[np.float64]
    level_known: NDArray[np.bool_]
    values: Column
    constant: str | None = None

    @property
    def name(self) -> str:
        """The header."""
        return self.values.name

    @property
    def known(self) -> NDArray[np.bool_]:
        """bool, per row: the value is known."""
        return self.of_rows(self.level_known)

    def of_rows(self, per_level: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Look a per-level flag up for every row; False where the value is missing."""
        return np.append(per_level, False)[self.values.codes]


@dataclass(frozen=True, slots=True)
class _Unused:
    """Why a column is not used, and whether its values look like groups of rows."""

    reason: str
    groups: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """The outcome of choosing columns.

    Attributes
    ----------
    used
        In the order named, or in file order.
    not_used
        Column name to the reason, in file order; the outcome, id, split, strata and cluster columns
        are not listed.
    groups
        Those of them that are identifiers whose values repeat: their rows may belong together.
    notes
        What was noticed about the used ones.
    """

    used: tuple[UsedColumn, ...]
    not_used: dict[str, str]
    groups: tuple[str, ...]
    notes: tuple[str, ...]


def select_columns(table: Table, plan: Plan, planned: Collection[str] | None = None) -> Selection:
    """Choose the columns and how each is read; the outcome's values are not looked at.

    Parameters
    ----------
    planned
        The columns that were chosen when the audit was planned: these and no others are used.

    Raises
    ------
    InputError
        A named column does not exist, or cannot be read the way it was named.
    """
    _check_names(table, plan)
    named = dict.fromkeys((*plan.descriptor, *plan.include, *plan.categorical, *plan.numeric))
    candidates = plan.descriptor or table.columns
    used: list[UsedColumn] = []
    not_used: dict[str, _Unused] = {}
    notes: list[str] = []
    roles = _other_roles(plan)
    outcome = table.header_of(plan.outcome_column)
    endings = _model_endings(table, outcome)
    for name in dict.fromkeys((*candidates, *named)):
        column = table.columns[name]
        if name in roles and name not in named:
            continue
        wanted = name in named or (planned is not None and name in planned)
        reason = "excluded" if name in plan.exclude else None
        if reason is None and not wanted:
            reason = _left_out_by_origin(column) or _left_out_by_name(name, outcome, endings)
        made = _Unused(reason) if reason else _read(table, column, plan, named=wanted)
        if planned is not None and name not in planned and isinstance(made, UsedColumn):
            made = _Unused("not in the plan")
        if isinstance(made, _Unused):
            not_used[name] = made
            continue
        used.append(made)
        notes.extend(_remarks(table, made, frozenset(plan.na)))
    derived = [made.name for made in used if made.values.origin == "derived"]
    if derived:
        notes.append(
            f"made from the gold answer, so not known of unlabelled examples: {', '.join(derived)}"
        )
    return Selection(
        used=tuple(used),
        not_used={name: unused.reason for name, unused in not_used.items()},
        groups=tuple(name for name, unused in not_used.items() if unused.groups),
        notes=tuple(notes),
    )


def _left_out_by_origin(column: Column) -> str | None:
    if column.origin == "post":
        return f"known only after the model ran; --include {column.name} uses it"
    if column.origin == "outcome":
        return column.unusable or "the outcome of another model"
    return None


def differing_rows(
    table: Table, plan: Plan, name: str, reference: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Rows that say another thing of a column than the row they are compared with.

    Facts are compared as they would be used; columns that shape the split or the shuffles are told
    apart as they are written. ``reference`` holds a row for each row.
    """
    column = table.columns[name]
    groups = (plan.split_column, plan.stratify, plan.strata, plan.cluster)
    levels = name in plan.categorical or (column.categorical and name not in plan.numeric)
    said = meaning_of_rows(column, frozenset(plan.na), as_levels=levels or name in groups)
    return np.flatnonzero(said != said[reference])


def find_column(table: Table, name: str, option: str) -> Column:
    """The column of this name, or an error that suggests the nearest ones."""
    if name in table.columns:
        return table.columns[name]
    near = difflib.get_close_matches(name, table.columns, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    shown = ", ".join(map(repr, list(table.columns)[:20]))
    more = f", and {len(table.columns) - 20} more" if len(table.columns) > 20 else ""
    only = next(iter(table.columns)) if len(table.columns) == 1 else ""
    separators = [mark for mark in (",", ";", "\t", "|") if mark in only]
    if separators:
        hint = f"the header looks separated by {separators[0]!r} (--delimiter); "
    raise InputError(
        f"{option} {name!r}: no such column in {', '.join(table.source)}; {hint}"
        f"the columns are {shown}{more}"
    )


def _check_names(table: Table, plan: Plan) -> None:
    single = {
        f"--{plan.outcome_kind}": plan.outcome_column,
        "--cluster": plan.cluster,
        "--split-column": plan.split_column,
        "--stratify": plan.stratify,
        "--strata": plan.strata,
    }
    many = {
        "--id": plan.id,
        "--descriptor": plan.descriptor,
        "--include": plan.include,
        "--exclude": plan.exclude,
        "--categorical": plan.categorical,
        "--numeric": plan.numeric,
    }
    for option, name in single.items():
        if name is not None:
            find_column(table, name, option)
    for option, names in many.items():
        for name in names:
            find_column(table, name, option)
    for name in (*plan.descriptor, *plan.include, *plan.categorical, *plan.numeric):
        if name == plan.outcome_column:
            raise InputError(f"column {name!r} is the outcome; it cannot also be a descriptor")
        if name in plan.exclude:
            raise InputError(f"column {name!r} is both named as a descriptor and excluded")


def _other_roles(plan: Plan) -> set[str]:
    """Columns that are something else already; naming one as a descriptor overrides that."""
    named = (plan.outcome_column, plan.split_column, plan.strata, plan.cluster)
    return {name for name in named if name is not None} | set(plan.id or ("id",))


_OUTCOME_WORDS = frozenset(
    [
        "correct",
        "incorrect",
        "correctness",
        "error",
        "errors",
        "wrong",
        "score",
        "scores",
        "scored",
        "pass",
        "passed",
        "passes",
        "passrate",
        "resolved",
        "success",
        "succeeded",
        "fail",
        "failed",
        "failure",
        "accuracy",
        "acc",
        "em",
        "f1",
        "reward",
        "grade",
        "verdict",
    ]
)
_RIGHT_WORDS = frozenset(
    [
        "correct",
        "correctness",
        "pass",
        "passed",
        "passes",
        "resolved",
        "success",
        "succeeded",
        "accuracy",
        "acc",
    ]
)
_WRONG_WORDS = frozenset(("incorrect", "error", "errors", "wrong", "fail", "failed", "failure"))


def contrary_outcome(name: str, kind: str) -> str | None:
    """What to say when an outcome column is named as the opposite of how it is read."""
    against = {"error": (_RIGHT_WORDS, "--correct"), "correct": (_WRONG_WORDS, "--error")}
    words, option = against.get(kind, (frozenset[str](), ""))
    if not words.intersection(_words(name)):
        return None
    return (
        f"outcome column {name!r} is read by --{kind}, but its name says the opposite; if so, use "
        f"{option} {name}"
    )


_RUN_TIME_PREFIXES = ("post_", "resp_", "response_", "tokens_", "judge_", "unparsed_", "cot_")
_RUN_TIME_WORDS = frozenset(("cost", "latency"))
# Prefixes that say what kind of column it is, not which family it belongs to.
_PLAIN_PREFIXES = frozenset(("is", "has", "was", "n", "num", "q", "the", "model"))


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.findall(r"[a-z0-9]+", spaced.casefold())


def _model_endings(table: Table, outcome: str) -> dict[tuple[str, ...], str]:
    """How outcome columns end after their outcome word: ``o1mini`` of ``correct_o1mini``.

    Another column that ends so is likely a fact about that model's answer.
    """
    endings: dict[tuple[str, ...], str] = {}
    # Rows of each model have outcomes that are called as the models are: these names say nothing.
    made = () if table.stacked is None else table.outcomes
    for name in (outcome, *(name for name in table.columns if name not in made)):
        first, *rest = _words(name) or [""]
        if rest and (name == outcome or first in _OUTCOME_WORDS) and first not in _PLAIN_PREFIXES:
            endings.setdefault(tuple(rest), name)
    return endings


def _left_out_by_name(name: str, outcome: str, endings: dict[tuple[str, ...], str]) -> str | None:
    if is_index_name(name):
        return "an unnamed column: a saved row number"
    words, family = _words(name), _words(outcome)
    if _OUTCOME_WORDS.intersection(words):
        return "named like another outcome"
    if (
        len(family) > 1
        and words[:1] == family[:1]
        and len(family[0]) > 1
        and family[0] not in _PLAIN_PREFIXES
    ):
        return f"shares the prefix {family[0]!r} with the outcome: perhaps another outcome"
    if name.casefold().startswith(_RUN_TIME_PREFIXES) or _RUN_TIME_WORDS.intersection(words):
        return "named like a fact known only after the model ran"
    for size in range(1, len(words)):
        if (other := endings.get(tuple(words[-size:]))) is not None:
            return f"ends like {other!r}: perhaps a fact known only after that model ran"
    return None


def _read(table: Table, column: Column, plan: Plan, *, named: bool) -> UsedColumn | _Unused:
    """How the column is used, or why it is not."""
    if column.unusable:
        if named:
            raise InputError(f"column {column.name!r} cannot be a descriptor: {column.unusable}")
        return _Unused(column.unusable)
    na = frozenset(plan.na)
    if column.name in plan.categorical or (
        column.categorical and column.name not in plan.numeric and as_boolean(column, na) is None
    ):
        return _categorical(column, na)
    if column.name in plan.numeric:
        numeric = _numeric(column, na)
        if numeric is None:
            raise InputError(
                f"--numeric {column.name}: {_not_a_number(table, column, na)}; name words that "
                "mean missing with --na WORD"
            )
        return numeric
    truth = as_boolean(column, na)
    if truth is not None:
        made = UsedColumn(
            "boolean", truth.astype(np.int64), truth >= 0, column, _constant(column, truth >= 0)
        )
    else:
        made = _numeric(column, na) or _categorical(column, na)
    if named:
        return made
    return _unfit(table, made, na) or made


def _numeric(column: Column, na: frozenset[str]) -> UsedColumn | None:
    numbers = as_numbers(column, na)
    if numbers is None:
        return None
    values, missing = numbers
    return UsedColumn("numeric", values, ~missing, column, _constant(column, ~missing))


def _categorical(column: Column, na: frozenset[str]) -> UsedColumn:
    index = np.arange(len(column.levels), dtype=np.int64)
    known = ~missing_levels(column, na)
    return UsedColumn("categorical", index, known, column, _constant(column, known))


def _constant(column: Column, level_known: NDArray[np.bool_]) -> str | None:
    present = np.zeros(len(level_known) + 1, dtype=np.bool_)
    present[column.codes] = True
    levels = np.flatnonzero(present[:-1] & level_known)
    return as_text(column)[int(levels[0])] if len(levels) == 1 else None


def _unfit(table: Table, used: UsedColumn, na: frozenset[str]) -> _Unused | None:
    """Why a column that nobody named had better not be used."""
    column = used.values
    known = int(used.known.sum())
    if not known:
        return _Unused(f"no value in any of {table.n} rows")
    if used.constant is not None and known == table.n:
        return _Unused(f"constant: every value is {used.constant!r}")
    if used.kind == "numeric":
        if is_row_number(column, table):
            return _Unused("a row number (consecutive integers)")
        words = _words(column.name)[-1:]
        if words == ["id"] or (words in (["index"], ["idx"]) and is_near_unique(column)):
            return _perhaps_groups(column, "an identifier by its name")
        return None
    if used.kind == "boolean":
        return None
    if looks_like_date(column):
        return _Unused("a date")
    if len(column.levels) > MAX_LEVELS:
        if _mostly_numbers(column, na):
            return _Unused(
                f"mostly numbers but read as text: {_not_a_number(table, column, na)}; use --na "
                f"WORD for words that mean missing, or name it with --categorical {column.name}"
            )
        if is_near_unique(column):
            return _Unused("near-unique text")
        return _perhaps_groups(
            column,
            f"text with {len(column.levels)} levels, more than {MAX_LEVELS}; --include "
            f"{column.name} uses it",
        )
    return None


def _perhaps_groups(column: Column, reason: str) -> _Unused:
    """The reason, with a hint for an identifier whose values repeat."""
    known = column.codes[column.codes >= 0]
    distinct = len(np.unique(known))
    if is_near_unique(column) or distinct == len(known) or _words(column.name)[-1:] != ["id"]:
        return _Unused(reason)
    hint = f"{distinct} values in {len(known)} rows: if they are groups, --cluster {column.name}"
    return _Unused(f"{reason}; {hint}", groups=True)


def _mostly_numbers(column: Column, na: frozenset[str]) -> bool:
    found = first_non_number(column, na)
    return found is not None and 2 * found.numbers > found.known


def _not_a_number(table: Table, column: Column, na: frozenset[str]) -> str:
    found = first_non_number(column, na)
    if found is None:
        return "its values are not numbers"
    return (
        f"{found.numbers:,} of {found.known:,} values are numbers, and the first that is not is "
        f"{found.text!r} ({table.where(found.row)})"
    )


def _remarks(table: Table, used: UsedColumn, na: frozenset[str]) -> Iterable[str]:
    column = used.values
    words = [
        text
        for text, known in zip(as_text(column), used.level_known.tolist(), strict=True)
        if not known
    ]
    if words:
        rows = int(((column.codes >= 0) & ~used.known).sum())
        yield (
            f"column {column.name!r}: {rows} values read as missing "
            f"({', '.join(repr(word) for word in words[:5])})"
        )
    if used.kind == "categorical" and _mostly_numbers(column, na):
        yield f"column {column.name!r} is read as text: {_not_a_number(table, column, na)}"
    if used.constant is not None:
        yield (
            f"column {column.name!r} has a single known value ({used.constant!r}): only whether it "
            "is missing can be tested"
        )
