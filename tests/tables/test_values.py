"""What a value means: boolean, number, text, date, row number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from janus_jax.table import Column, Table
from janus_jax.values import (
    MISSING_WORDS,
    as_boolean,
    as_numbers,
    as_text,
    first_non_number,
    first_row_of,
    is_index_name,
    is_near_unique,
    is_row_number,
    looks_like_date,
    missing_levels,
    number_report,
    number_text,
)


def column(*values, unusable=None):
    """A text column of these values, None where missing."""
    levels = tuple(dict.fromkeys(value for value in values if value is not None))
    codes = [-1 if value is None else levels.index(value) for value in values]
    return Column("v", np.array(codes, dtype=np.int32), levels, unusable)


def typed(levels):
    return Column("v", np.arange(len(levels), dtype=np.int32), np.array(levels))


def table(made, files=None):
    n = len(made.codes)
    files = np.zeros(n, dtype=np.int32) if files is None else np.array(files, dtype=np.int32)
    names = tuple(f"f{i}.csv" for i in range(files.max() + 1))
    lines = np.arange(2, n + 2, dtype=np.int64)
    return Table({"v": made}, n, names, "", files, lines, ("line",) * len(names))


def numbers(*texts, na=frozenset()):
    found = as_numbers(column(*texts), na)
    return None if found is None else (found[0].dtype.name, found[0].tolist(), found[1].tolist())


# --- booleans -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "meaning"),
    [
        *((word, 1) for word in ("true", "TRUE", "Yes", "y", "T", "1", " 1.0 ", "+1", "1e0", "01")),
        *((word, 0) for word in ("false", "No", "N", "f", "0", "0.0", "-0", "0e5", " no\t")),
        *((word, -1) for word in ("nan", "NaN", "NA", "na", "null", "NONE", " None ")),
        *((word, None) for word in ("2", "-1", "0.5", "1.0000000000000000001", "n/a", "ja", "tru")),
        *((word, None) for word in ("1e-400", "on", "inf", "0x1", "1_0")),
    ],
)
def test_boolean_words(label, meaning):
    found = as_boolean(column("yes", label))
    assert (None if found is None else found.tolist()) == (
        None if meaning is None else [1, meaning]
    )


def test_a_boolean_column_knows_something():
    assert as_boolean(column("nan", "NA")) is None
    assert as_boolean(column(None, None)) is None
    assert as_boolean(column("no")).tolist() == [0]
    assert as_boolean(column("no")).dtype == np.int8


def test_extra_words_are_missing_in_booleans():
    assert as_boolean(column("yes", "N/A")) is None
    assert as_boolean(column("yes", "N/A"), frozenset({" n/a"})).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([True, False], [1, 0]),
        ([1, 0], [1, 0]),
        ([0.0, 1.0], [0, 1]),
        ([0, 2], None),
        ([0.5], None),
    ],
)
def test_typed_booleans(levels, expected):
    found = as_boolean(typed(levels))
    assert (None if found is None else found.tolist()) == expected


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "-2", "+3", "007"], ("int64", [1, -2, 3, 7])),
        (["9223372036854775807", "-9223372036854775808"], ("int64", [2**63 - 1, -(2**63)])),
        (["9223372036854775808"], ("float64", [2.0**63])),
        (["9007199254740993", "10.0", "1e3"], ("int64", [2**53 + 1, 10, 1000])),
        (["9007199254740993", "0.5"], ("float64", [2.0**53, 0.5])),
        (["9007199254740993.5"], ("float64", [9007199254740994.0])),
        ([".5", "5.", "1E-2"], ("float64", [0.5, 5.0, 0.01])),
        (["inf", "-Infinity", "+INF"], ("float64", [np.inf, -np.inf, np.inf])),
        (["1e400", "1e-400", "-1e999999999"], ("float64", [np.inf, 0.0, -np.inf])),
        (["1", "0e999999999"], ("int64", [1, 0])),
        (["9" * 5000], ("float64", [np.inf])),
        ([" 4 "], ("int64", [4])),
        (["1" * 19, "2"], ("int64", [int("1" * 19), 2])),
    ],
)
def test_numbers_are_read_exactly(texts, expected):
    assert numbers(*texts) == (*expected, [False] * len(texts))


@pytest.mark.parametrize(
    "text",
    [
        "1_000",
        "1,000",
        "1,5",
        "0x10",
        "1e",
        "e5",
        "--1",
        "1 2",
        "\u0661",
        "1\n2",
        "\u00bd",
        ".",
        "True",
        "n/a",
    ],
)
def test_what_is_no_number(text):
    assert numbers("1", text) is None


def test_missing_words_among_numbers():
    for word in (*MISSING_WORDS, "NaN", "-nan", " NA "):
        assert numbers("7", word) == ("int64", [7, 0], [False, True])
    assert numbers("7", "unknown", na=frozenset({"UNKNOWN"})) == ("int64", [7, 0], [False, True])
    assert numbers("7", "unknown", na=frozenset({"unknow"})) is None
    assert numbers("0.5", "null") == ("float64", [0.5, 0.0], [False, True])


def test_nothing_known_is_vacuously_numeric():
    assert numbers("nan", "NA") == ("int64", [0, 0], [True, True])
    assert numbers() == ("int64", [], [])


def test_typed_numbers_stay_as_they_are():
    values, missing = as_numbers(typed([2**62, -1]), frozenset({"-1"}))
    assert (values.dtype, values.tolist(), missing.tolist()) == (
        np.int64,
        [2**62, 0],
        [False, True],
    )
    values, missing = as_numbers(typed([1.0, np.nan, np.inf]))
    assert (values.dtype, values.tolist()) == (np.float64, [1.0, 0.0, np.inf])
    assert missing.tolist() == [False, True, False]


def test_unusable_columns_mean_nothing():
    made = column("1", "0", unusable="a date")
    assert as_numbers(made) is None
    assert as_boolean(made) is None
    assert looks_like_date(made)
    assert not looks_like_date(column("1", unusable="a list"))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, unique=True))
def test_every_int64_survives_text(values):
    assert numbers(*map(str, values)) == ("int64", values, [False] * len(values))


@given(st.floats(allow_nan=False))
def test_every_float_survives_its_label(value):
    text = number_text(value)
    assert float(text) == value
    assert not text.endswith(".0")
    found = as_numbers(column(text))
    assert found[0].tolist() == [value]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10.0, "10"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e22, "1e+22"),
        (np.inf, "inf"),
        (2**70, str(2**70)),
    ],
)
def test_shortest_labels(value, text):
    assert number_text(value) == text


def test_labels_by_type():
    assert as_text(column(" A", "1.0")) == (" A", "1.0")
    assert as_text(typed([1.0, 2.5])) == ("1", "2.5")
    assert as_text(typed([True, False])) == ("true", "false")
    assert as_text(typed([2**62])) == (str(2**62),)


# --- where ----------------------------------------------------------------------------------------


def test_the_first_row_of_a_level():
    made = column("a", None, "b", "a")
    assert [first_row_of(made, level) for level in (0, 1)] == [0, 2]
    with pytest.raises(ValueError, match="no row holds level 2"):
        first_row_of(made, 2)


def test_the_first_value_that_is_no_number():
    made = column("1", "NA", None, "nan", "x", "2", "y", "1")
    found = first_non_number(made)
    assert (found.numbers, found.known, found.row, found.text) == (3, 5, 4, "x")
    assert number_report(made, table(made)) == (
        "v: 3 of 5 values are numbers; the first that is not is 'x' (f0.csv line 6)"
    )
    again = first_non_number(made, frozenset({"x"}))
    assert (again.numbers, again.known, again.row, again.text) == (3, 4, 6, "y")


def test_no_report_when_all_or_none_are_numbers():
    assert first_non_number(column("1", "NA", "inf")) is None
    assert number_report(column("1", "NA"), table(column("1", "NA"))) is None
    assert number_report(column("a", "b"), table(column("a", "b"))) is None


def test_words_the_user_names_are_missing_in_text():
    made = column("NA", "Unknown", "x")
    assert missing_levels(made).tolist() == [False, False, False]
    assert missing_levels(made, frozenset({"unknown"})).tolist() == [False, True, False]


# --- what describes no example --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        *(
            (text, True)
            for text in ("2024-01-31", "2024/01/31", "2024-01-31T10:00", " 2024-01-31 ")
        ),
        *((text, True) for text in ("2024-01-31 10:00:59.123Z", "2024-01-31T10:00:00+02:00")),
        *((text, True) for text in ("10:00:59", "2024-01-31 10:00:00 UTC")),
        *((text, False) for text in ("2024", "20240131", "3:10", "2024-01-31x", "1-2-3", "x")),
    ],
)
def test_dates(text, is_date):
    assert looks_like_date(column("2024-01-01", text, None)) is is_date
    assert looks_like_date(column(text, "nan")) is is_date


def test_no_date_without_a_value():
    assert not looks_like_date(column("nan"))
    assert not looks_like_date(typed([20240131]))


@pytest.mark.parametrize(
    ("values", "files", "counts"),
    [
        (["0", "1", "2"], None, True),
        (["3", "1", "2"], None, True),
        (["1.0", "2.0", "3.0"], None, True),
        (["0", "1"], None, False),  # a flag
        (["0", "1", "3"], None, False),
        (["2", "3", "4"], None, False),
        (["0", "1", "1"], None, False),
        (["0", "1", "2", None], None, False),
        (["0", "1", "2", "nan"], None, False),
        (["0.5", "1.5", "2.5"], None, False),
        (["0", "1", "2", "0", "1", "2"], [0, 0, 0, 1, 1, 1], True),
        (["0", "1", "2", "1", "2", "3"], [0, 0, 0, 1, 1, 1], True),
        (["0", "1", "2", "3", "4", "5"], [0, 0, 0, 1, 1, 1], True),
        (["0", "1", "2", "0", "1", "3"], [0, 0, 0, 1, 1, 1], False),
        (["a", "b", "c"], None, False),
    ],
)
def test_row_numbers(values, files, counts):
    made = column(*values)
    assert is_row_number(made, table(made, files)) is counts


def test_typed_row_numbers():
    assert is_row_number(typed([0, 1, 2]), table(typed([0, 1, 2])))
    assert is_row_number(typed([2.0, 1.0, 3.0]), table(typed([2.0, 1.0, 3.0])))
    assert not is_row_number(typed([np.inf, 1.0, 2.0]), table(typed([np.inf, 1.0, 2.0])))


@pytest.mark.parametrize(
    ("distinct", "repeats", "missing", "unique"),
    [(10, 0, 0, True), (9, 1, 5, True), (8, 2, 0, False), (9, 0, 3, False), (90, 10, 0, True)],
)
def test_near_unique(distinct, repeats, missing, unique):
    values = [f"q{i}" for i in range(distinct)] + ["q0"] * repeats + [None] * missing
    assert is_near_unique(column(*values)) is unique


@pytest.mark.parametrize(
    ("name", "is_index"),
    [
        ("Unnamed: 0", True),
        ("Unnamed: 12.1", True),
        ("__index_level_0__", True),
        ("Unnamed", False),
        ("index", False),
        ("unnamed: 0x", False),
    ],
)
def test_index_names(name, is_index):
    assert is_index_name(name) is is_index
