"""What a value means: boolean, number or text, decided on the distinct values of a column.

Every reader hands over the same dictionary-encoded columns (:mod:`janus_jax.table`); here, and
nowhere else, it is decided whether ``yes`` is a boolean and ``1e3`` a number. So a table means the
same whether it came as CSV, JSON Lines, Parquet or a DataFrame.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax.table import Column, Table

MISSING_WORDS = frozenset({"nan", "na", "null", "none"})
"""Words that mean "no value" in an outcome, boolean or numeric column (compared casefolded, without
surrounding blanks). In a text column they are levels like any other: NA is North America."""

_TRUE = frozenset({"true", "yes", "y", "t", "1"})
_FALSE = frozenset({"false", "no", "n", "f", "0"})

# ASCII digits only, no underscores, no thousands separators, no hex: what `float` takes beyond this
# is Python syntax, not data.
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE | re.ASCII,
)
_INTEGER = re.compile(r"[+-]?[0-9]{1,25}", re.ASCII)
_INTEGERS = re.compile(r"-?[0-9]{1,18}(?:\n-?[0-9]{1,18})*", re.ASCII)
_DATE = re.compile(
    r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?"
    r"(?: ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?)?"
    r"|[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?",
    re.ASCII,
)
_INDEX_NAME = re.compile(r"Unnamed: [0-9]+(?:\.[0-9]+)?|__index_level_[0-9]+__", re.ASCII)

_INT64 = np.iinfo(np.int64)


# --- labels ---------------------------------------------------------------------------------------


def number_text(value: float) -> str:
    """The shortest decimal that reads back as this number, without ``.0``: ``10``, ``0.1``.

    Integers of any size are written in full. Minus zero is zero.
    """
    if isinstance(value, int):
        return str(value)
    text = repr(float(value)).removesuffix(".0")
    return "0" if text == "-0" else text


def as_text(column: Column) -> tuple[str, ...]:
    """The label of every level: text verbatim, numbers as `number_text`, booleans true/false."""
    levels = column.levels
    if isinstance(levels, tuple):
        return levels
    if levels.dtype.kind == "b":
        return tuple("true" if value else "false" for value in levels.tolist())
    return tuple(map(number_text, levels.tolist()))


# --- missing, boolean, number ---------------------------------------------------------------------


def missing_levels(column: Column, na: frozenset[str] = frozenset()) -> NDArray[np.bool_]:
    """Which levels of a *text* column mean "no value": only the words the user named.

    Parameters
    ----------
    column
        A column read as categories.
    na
        Extra words for a missing value, compared casefolded and without surrounding blanks.

    Returns
    -------
    bool array, shape (levels,)
    """
    return _is_word(as_text(column), _folded(na))


def as_boolean(column: Column, na: frozenset[str] = frozenset()) -> NDArray[np.int8] | None:
    """Read the levels as true or false.

    A level is boolean when it is true/false, yes/no, y/n, t/f (any case, surrounding blanks
    ignored) or a number equal to 1 or 0; `MISSING_WORDS` and ``na`` are missing.

    Returns
    -------
    int8 array, shape (levels,)
        1, 0, or -1 for a level that means missing; None when any other level is there, when nothing
        is known, or when the column is unusable.
    """
    if column.unusable is not None:
        return None
    meanings: list[int] = []
    words = MISSING_WORDS | _folded(na)
    for label in as_text(column):
        meaning = _boolean_of(label.strip(), words)
        if meaning is None:
            return None
        meanings.append(meaning)
    result = np.array(meanings, dtype=np.int8)
    return result if bool((result >= 0).any()) else None


def as_numbers(
    column: Column, na: frozenset[str] = frozenset()
) -> tuple[NDArray[np.int64] | NDArray[np.float64], NDArray[np.bool_]] | None:
    """Read the levels as numbers.

    Text must be a plain decimal (``12``, ``-0.5``, ``1e3``, ``inf``, ``-Infinity``): no
    underscores, thousands separators, decimal commas or hex. NaN, `MISSING_WORDS` and ``na`` are
    missing.

    Returns
    -------
    values
        int64, shape (levels,), when every known value of a text or integer column is a whole number
        that fits (``10.0`` and ``1e3`` are whole, up to 2**53), else float64; 0 where missing.
    missing
        bool, shape (levels,).

    None when any level is neither a number nor missing, or the column is boolean-typed or unusable.
    A column without a known value is (vacuously) numeric, with everything missing.
    """
    if column.unusable is not None:
        return None
    levels = column.levels
    if isinstance(levels, tuple):
        return _parse(levels, MISSING_WORDS | _folded(na))
    if levels.dtype.kind == "b":
        return None
    missing = _is_word(as_text(column), _folded(na))
    if levels.dtype.kind == "f":
        missing |= np.isnan(levels)
    values = levels.copy()
    values[missing] = 0
    return values, missing  # pyright: ignore[reportReturnType]  # bool levels left above


def meaning_of_rows(
    column: Column, na: frozenset[str] = frozenset(), *, as_levels: bool = False
) -> NDArray[np.int64]:
    """A number for what each row's value means: equal where the values are read as the same.

    In a numeric column 5 and 5.0 are one value, in a boolean one yes and true.

    Parameters
    ----------
    column
        The column.
    na
        Extra words for a missing value.
    as_levels
        Values are categories or groups, told apart as they are written.

    Returns
    -------
    int64 array, shape (n,)
        -1 where the value is missing.
    """
    meaning = np.arange(len(column.levels))
    truth = None if as_levels else as_boolean(column, na)
    if truth is not None:
        meaning = truth.astype(np.int64)
    elif not as_levels and (numbers := as_numbers(column, na)) is not None:
        values, missing = numbers
        meaning = np.where(missing, -1, np.unique(values, return_inverse=True)[1])
    return np.append(meaning, -1)[column.codes]  # code -1 finds the appended -1


@dataclass(frozen=True, slots=True)
class NonNumber:
    """The first value that keeps a column from being numeric.

    Attributes
    ----------
    numbers
        Rows whose value is a number.
    known
        Rows that hold a value (not blank, not one of the missing words).
    row
        The first row (0-based) whose value is neither a number nor missing.
    text
        That value.
    """

    numbers: int
    known: int
    row: int
    text: str


def first_non_number(column: Column, na: frozenset[str] = frozenset()) -> NonNumber | None:
    """Find the first value that is no number, and count those that are; None when all are."""
    words = MISSING_WORDS | _folded(na)
    labels = as_text(column)
    kinds = np.array([*(_kind(label, words) for label in labels), _MISSING], dtype=np.int8)
    of_row = kinds[column.codes]  # code -1 finds the appended entry
    others = np.flatnonzero(of_row == _OTHER)
    if not len(others):
        return None
    row = int(others[0])
    return NonNumber(
        numbers=int(np.count_nonzero(of_row == _IS_NUMBER)),
        known=int(np.count_nonzero(of_row != _MISSING)),
        row=row,
        text=labels[int(column.codes[row])],
    )


def number_report(column: Column, table: Table, na: frozenset[str] = frozenset()) -> str | None:
    """Say why a column that holds numbers is text; None when it is numeric or holds no number.

    For example ``n_tokens: 249,999 of 250,000 values are numbers; the first that is not is
    'unknown' (late.csv line 249992)``.
    """
    found = first_non_number(column, na)
    if found is None or not found.numbers:
        return None
    return (
        f"{column.name}: {found.numbers:,} of {found.known:,} values are numbers; the first that "
        f"is not is {found.text!r} ({table.where(found.row)})"
    )


def first_row_of(column: Column, level: int) -> int:
    """The first row (0-based) that holds a level.

    Raises
    ------
    ValueError
        When no row holds it.
    """
    rows = np.flatnonzero(column.codes == level)
    if not len(rows):
        raise ValueError(f"column {column.name!r}: no row holds level {level}")
    return int(rows[0])


# --- what should not become a descriptor unasked --------------------------------------------------


def looks_like_date(column: Column) -> bool:
    """Whether every known level is an ISO date, date and time, or time of day."""
    if column.unusable is not None:
        return column.unusable == "a date"
    if not isinstance(column.levels, tuple):
        return False
    known = [label for label in column.levels if label.strip().casefold() not in MISSING_WORDS]
    return bool(known) and all(_DATE.fullmatch(label.strip()) for label in known)


def is_index_name(name: str) -> bool:
    """Whether a column is called what a saved row index is called (``Unnamed: 0`` and the like)."""
    return _INDEX_NAME.fullmatch(name) is not None


def is_row_number(column: Column, table: Table) -> bool:
    """Whether a column just counts the rows: each of 0..n-1 or of 1..n exactly once, in any order.

    Tables put together from several files count if they do so in each file. Two rows or fewer
    prove nothing: there 0 and 1 are more likely a flag.
    """
    numbers = as_numbers(column)
    if numbers is None or table.n <= 2 or bool((column.codes < 0).any()):
        return False
    values, missing = numbers
    if bool(missing[column.codes].any()):
        return False
    rows = values[column.codes]
    if _counts(rows):
        return True
    parts = [rows[table.files == index] for index in range(len(table.source))]
    return len(parts) > 1 and all(_counts(part) for part in parts if len(part))


def is_near_unique(column: Column) -> bool:
    """Whether at least nine in ten known values (of ten or more) are different from all others.

    Such text identifies the example (a question, a hash) instead of describing it.
    """
    known = column.codes[column.codes >= 0]
    distinct = len(np.unique(known))
    return len(known) >= 10 and distinct * 10 >= len(known) * 9


def _counts(rows: NDArray[np.int64] | NDArray[np.float64]) -> bool:
    ordered = np.sort(rows)
    start = ordered[0]
    return bool(start in (0, 1)) and bool((ordered == np.arange(len(rows)) + start).all())


# --- the median -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Threshold:
    """A frozen limit for "strictly above", decided exactly.

    Attributes
    ----------
    text
        Its shortest decimal, ``42``, ``23.5``, ``2147483652.5``; reads back as exactly this limit.
        ``inf``, ``-inf`` or ``undefined`` when it is not a number.
    value
        The same as a JSON number (a float nearest to it when it has a half beyond 2**53); None when
        it is not finite.
    exact
        The limit itself: a Fraction, or an infinite float; None when undefined.
    problem
        Why no useful rule follows ("its median is infinite"), else None.
    """

    text: str
    value: int | float | None
    exact: Fraction | float | None
    problem: str | None = None

    def above(self, values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which values are strictly above the limit; NaN never is, nothing is above undefined."""
        if self.exact is None:
            return np.zeros(len(values), dtype=np.bool_)
        if not isinstance(self.exact, Fraction):
            return values > self.exact
        if values.dtype.kind == "i":
            # x > t is the same as x > floor(t) for whole x; no float takes part.
            floor = math.floor(self.exact)
            if floor < _INT64.min:
                return np.ones(len(values), dtype=np.bool_)
            return values > min(floor, _INT64.max)
        return values > _float_at_or_below(self.exact)

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """The limit that ``text`` was written from (how a frozen plan comes back).

        Raises
        ------
        ValueError
            When the text is not a plain decimal or one of inf, -inf, undefined.
        """
        if text == "undefined":
            return _UNDEFINED
        if not _NUMBER.fullmatch(text) or "nan" in text.casefold():
            raise ValueError(f"{text!r} is not a number")
        if "inf" in text.casefold():
            return _float_threshold(float(text))
        # An exponent, or a fraction other than a half: written from a float, which is the limit.
        if "e" in text.casefold():
            return _float_threshold(float(text))
        exact = Fraction(text)
        if exact.denominator > 2:
            return _float_threshold(float(text))
        return _exact_threshold(exact)


def median(
    values: NDArray[np.int64] | NDArray[np.float64],
    counts: NDArray[np.integer] | None = None,
) -> Threshold:
    """The median of known values: the middle one, or the mean of the middle two.

    Parameters
    ----------
    values
        One value per row; or one per level when ``counts`` is given. No NaN.
    counts
        How many rows hold each value.

    Returns
    -------
    Threshold
        Whole numbers: exact, to the half. Floats: the float64 nearest to the mean of the middle
        two; when that would round up to the upper one, the lower one, so that the upper middle
        value is always above its own median. Nothing overflows.

    Raises
    ------
    ValueError
        When there is no value, or one is NaN.
    """
    if counts is None:
        ordered, repeats = np.unique(values, return_counts=True)
    else:
        order = np.argsort(values, kind="stable")
        ordered, repeats = values[order], counts[order]
    total = int(repeats.sum())
    if not total:
        raise ValueError("the median of no values was asked for")
    ends = np.cumsum(repeats, dtype=np.int64)
    lower = ordered[np.searchsorted(ends, (total - 1) // 2, side="right")].item()
    upper = ordered[np.searchsorted(ends, total // 2, side="right")].item()
    if isinstance(lower, int) and isinstance(upper, int):
        return _exact_threshold(Fraction(lower + upper, 2))
    return _float_median(float(lower), float(upper))


def _float_median(lower: float, upper: float) -> Threshold:
    if math.isnan(lower) or math.isnan(upper):
        raise ValueError("a median of NaN was asked for; leave missing values out first")
    if math.isinf(lower) or math.isinf(upper):
        return _UNDEFINED if lower == -upper else _float_threshold(lower + upper)
    mean = float((Fraction(lower) + Fraction(upper)) / 2)
    return _float_threshold(lower if lower < upper <= mean else mean)


def _float_threshold(value: float) -> Threshold:
    if math.isinf(value):
        return Threshold(number_text(value), None, value, "its median is infinite")
    # Adding zero turns minus zero into zero, which has one spelling.
    return Threshold(number_text(value), value + 0.0, Fraction(value))


def _exact_threshold(exact: Fraction) -> Threshold:
    """A whole number or a half."""
    if exact.denominator == 1:
        return Threshold(str(exact.numerator), exact.numerator, exact)
    sign = "-" if exact < 0 else ""
    return Threshold(f"{sign}{abs(exact.numerator) // 2}.5", float(exact), exact)


_UNDEFINED = Threshold(
    "undefined", None, None, "its median is undefined: it lies between -inf and inf"
)


def _float_at_or_below(exact: Fraction) -> float:
    """The largest float64 not above an exact number t: ``x > t`` is ``x > this`` for floats x."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


# --- parsing --------------------------------------------------------------------------------------

_MISSING, _OTHER, _IS_NUMBER = -1, 0, 1


def _folded(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word.strip().casefold() for word in words)


def _is_word(labels: Sequence[str], words: frozenset[str]) -> NDArray[np.bool_]:
    if not words:
        return np.zeros(len(labels), dtype=np.bool_)
    return np.array([label.strip().casefold() in words for label in labels], dtype=np.bool_)


def _boolean_of(label: str, words: frozenset[str]) -> int | None:
    folded = label.casefold()
    if folded in words:
        return -1
    if folded in _TRUE:
        return 1
    if folded in _FALSE:
        return 0
    if _NUMBER.fullmatch(label):  # 1.0, 0.000, +1: what a 0/1 column with gaps is saved as
        number = _exact_integer(label)
        return number if number in (0, 1) else None
    return None


def _kind(label: str, words: frozenset[str]) -> int:
    stripped = label.strip()
    folded = stripped.casefold()
    if folded in words or folded in ("+nan", "-nan"):
        return _MISSING
    return _IS_NUMBER if _NUMBER.fullmatch(stripped) else _OTHER


def _parse(
    levels: tuple[str, ...], words: frozenset[str]
) -> tuple[NDArray[np.int64] | NDArray[np.float64], NDArray[np.bool_]] | None:
    missing = np.zeros(len(levels), dtype=np.bool_)
    joined = "\n".join(levels)
    if _INTEGERS.fullmatch(joined) and joined.count("\n") == len(levels) - 1:
        return np.array(list(map(int, levels)), dtype=np.int64), missing  # the common case, fast
    texts: list[str] = []
    match = _NUMBER.fullmatch
    for index, level in enumerate(levels):
        text = level.strip()
        if text.casefold() in words:
            missing[index] = True
            text = "0"
        elif not match(text):
            return None
        texts.append(text)
    floats = np.array([float(text) for text in texts], dtype=np.float64)
    missing |= np.isnan(floats)
    floats[missing] = 0.0
    if bool((floats == np.trunc(floats)).all()) and bool(np.isfinite(floats).all()):
        whole = _whole_numbers(texts, missing)
        if whole is not None:
            return whole, missing
    return floats, missing


def _whole_numbers(texts: list[str], missing: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """All texts as int64, or None when one is not whole or does not fit."""
    numbers: list[int] = []
    for text, absent in zip(texts, missing.tolist(), strict=True):
        number = 0 if absent else _exact_integer(text)
        if number is None or not _INT64.min <= number <= _INT64.max:
            return None
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)


def _exact_integer(text: str) -> int | None:
    """The whole number a decimal text stands for; None when it is not whole or is out of reach.

    With a point or an exponent (``10.0``, ``1e3``) only up to 2**53: beyond, such a text is how a
    float64 is written (6.370034570533315e+16), and its digits are not the float's.
    """
    if _INTEGER.fullmatch(text):
        return int(text)
    nearest = float(text)
    if not abs(nearest) <= 2**53:
        return None
    if nearest == 0.0:
        mantissa = re.split("[eE]", text, maxsplit=1)[0]
        return None if re.search("[1-9]", mantissa) else 0
    exact = Decimal(text)
    return int(exact) if exact == exact.to_integral_value() else None
