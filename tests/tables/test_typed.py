"""Typed sources: DataFrames, Parquet, Arrow and polars tables."""

from __future__ import annotations

import datetime
import decimal
import hashlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from janus_jax.errors import InputError
from janus_jax.readers import read
from janus_jax.values import as_boolean, as_numbers, as_text

BIG = 2**63 - 1


def refused(source):
    with pytest.raises(InputError) as caught:
        read(source)
    return str(caught.value)


@pytest.fixture(params=["pandas", "arrow", "polars", "parquet"])
def typed(request, tmp_path):
    """Make a table of one column, from Python values, in each typed format."""

    def made(values, kind=None):
        array = pa.array(values, type=kind)
        table = pa.table({"v": array})
        if request.param == "pandas":
            return read(table.to_pandas(types_mapper=pd.ArrowDtype)).columns["v"]
        if request.param == "polars":
            return read(pl.from_arrow(table)).columns["v"]
        if request.param == "parquet":
            path = tmp_path / "t.parquet"
            pq.write_table(table, path)
            return read(path).columns["v"]
        return read(table).columns["v"]

    return made


def test_integers_are_exact(typed, cells):
    column = typed([BIG, None, -BIG - 1, 2**53 + 1, BIG])
    assert column.levels.dtype == np.int64
    assert cells(column) == [BIG, None, -BIG - 1, 2**53 + 1, BIG]
    assert column.codes.tolist() == [0, -1, 1, 2, 0]


def test_small_unsigned_integers_are_int64(typed, cells):
    column = typed([255, 0, None], pa.uint8())
    assert column.levels.dtype == np.int64
    assert cells(column) == [255, 0, None]


def test_unsigned_integers_beyond_int64_keep_their_digits(typed):
    column = typed([2**64 - 1, 7, None], pa.uint64())
    assert column.levels == ("18446744073709551615", "7")
    assert column.codes.tolist() == [0, 1, -1]
    assert as_numbers(column)[0].tolist() == [float(2**64), 7.0]


def test_floats_keep_infinities_and_lose_nan(typed, cells):
    column = typed([0.1, float("nan"), float("inf"), None, -0.0, 0.0, float("-inf")])
    assert column.levels.dtype == np.float64
    assert cells(column) == [0.1, None, float("inf"), None, 0.0, 0.0, float("-inf")]
    assert as_text(column) == ("0.1", "inf", "0", "-inf")
    assert np.signbit(column.levels).tolist() == [False, False, False, True]


def test_float32_becomes_the_float64_of_the_same_value(typed):
    column = typed([0.1, 16777217.0], pa.float32())
    assert column.levels.tolist() == [float(np.float32(0.1)), 16777216.0]


def test_booleans_with_gaps(typed, cells):
    column = typed([True, None, False, True])
    assert column.levels.dtype == np.bool_
    assert cells(column) == [True, None, False, True]
    assert as_boolean(column).tolist() == [1, 0]
    assert as_numbers(column) is None
    assert as_text(column) == ("true", "false")


def test_text_is_verbatim_and_blanks_are_missing(typed, cells):
    column = typed(["NA", " ", None, "x\n", "", "NA"])
    assert column.levels == ("NA", "x\n")
    assert cells(column) == ["NA", None, None, "x\n", None, "NA"]


def test_nothing_at_all(typed):
    column = typed([None, None], pa.string())
    assert (column.levels, column.codes.tolist()) == ((), [-1, -1])


@pytest.mark.parametrize(
    ("values", "kind", "text"),
    [
        ([datetime.date(2024, 1, 2), None], pa.date32(), "2024-01-02"),
        ([datetime.datetime(2024, 1, 2, 3, 4, 5), None], pa.timestamp("us"), "2024-01-02"),
        ([datetime.timedelta(seconds=1), None], pa.duration("us"), None),
    ],
)
def test_dates_are_unusable_but_tell_apart(typed, values, kind, text):
    column = typed(values, kind)
    assert column.unusable == "a date"
    assert column.codes.tolist() == [0, -1]
    assert as_numbers(column) is None
    if text:
        assert column.levels[0].startswith(text)


@pytest.mark.parametrize(
    ("values", "kind", "reason"),
    [
        ([[1], None, []], pa.list_(pa.int64()), "a list"),
        ([{"a": 1}, None, {"a": 2}], pa.struct([("a", pa.int64())]), "a struct"),
        ([b"x", None, b""], pa.binary(), "binary data"),
    ],
)
def test_nested_and_binary_values_are_unusable(typed, values, kind, reason):
    column = typed(values, kind)
    assert column.unusable == reason
    assert column.codes.tolist() == [0, -1, 0]


def test_decimals_are_their_digits(typed):
    column = typed([decimal.Decimal("1.50"), None, decimal.Decimal("2.00")])
    assert column.levels == ("1.50", "2.00")
    assert as_numbers(column)[0].tolist() == [1.5, 2.0]


def test_dictionaries_are_their_text(cells):
    values = pa.array(["b", None, "a", "b"]).dictionary_encode()
    chunked = pa.chunked_array([values, pa.array(["c", "a"]).dictionary_encode()])
    column = read(pa.table({"v": chunked})).columns["v"]
    assert column.levels == ("b", "a", "c")
    assert cells(column) == ["b", None, "a", "b", "c", "a"]
    polars = read(pl.DataFrame({"v": pl.Series(["b", None, "a"], dtype=pl.Categorical)}))
    assert polars.columns["v"].levels == ("b", "a")


def test_chunks_share_their_levels():
    chunked = pa.chunked_array([[3, 1], [1, None, 2], []], type=pa.int16())
    column = read(pa.table({"v": chunked})).columns["v"]
    assert column.levels.tolist() == [3, 1, 2]
    assert column.codes.tolist() == [0, 1, 1, -1, 2]


def test_one_batch_and_a_stream_of_them():
    batch = pa.record_batch({"v": [3, 1]})
    assert read(batch).columns["v"].levels.tolist() == [3, 1]
    assert read(pa.table({"v": [3, 1]}).to_reader()).source == ("RecordBatchReader",)


# --- pandas ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("series", "dtype", "expected"),
    [
        (pd.Series([2**53 + 1, None], dtype="Int64"), np.int64, [2**53 + 1, None]),
        (pd.Series([True, None, False], dtype="boolean"), np.bool_, [True, None, False]),
        (pd.Series([0.5, None], dtype="Float64"), np.float64, [0.5, None]),
        (pd.Series([1.0, np.nan]), np.float64, [1.0, None]),
        (pd.Series([3, 1, 3], dtype="uint16"), np.int64, [3, 1, 3]),
        (pd.Series([True, False]), np.bool_, [True, False]),
        (pd.Series([0.5, 0.0], dtype="Sparse[float]"), np.float64, [0.5, 0.0]),
    ],
)
def test_pandas_number_types(cells, series, dtype, expected):
    column = read(pd.DataFrame({"v": series})).columns["v"]
    assert column.levels.dtype == dtype
    assert cells(column) == expected


def test_pandas_unsigned_integers_beyond_int64():
    column = read(pd.DataFrame({"v": pd.Series([2**64 - 1], dtype="uint64")})).columns["v"]
    assert column.levels == ("18446744073709551615",)


def test_pandas_objects_are_read_as_json_lines_has_them(cells):
    values = [True, 1, 1.0, "1", np.float32(2), np.int8(3), np.bool_(False), None, np.nan, pd.NA]
    values += [pd.NaT, "", 2**70, decimal.Decimal("1.5"), np.str_("s")]
    column = read(pd.DataFrame({"v": pd.Series(values, dtype=object)})).columns["v"]
    assert cells(column) == [
        *("true", "1", "1", "1", "2", "3", "false", None, None, None),
        *(None, None, str(2**70), "1.5", "s"),
    ]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([1], "a list"),
        ({1}, "a list"),
        ({"a": 1}, "a dictionary"),
        (datetime.date(2024, 1, 1), "a date"),
        (pd.Timestamp(0), "a date"),
        (b"x", "binary data"),
        (1j, "a complex number"),
        (range(2), "a Python range"),
    ],
)
def test_pandas_objects_that_are_no_scalars(value, reason):
    frame = pd.DataFrame({"v": pd.Series(["x", value, None], dtype=object)})
    column = read(frame).columns["v"]
    assert column.unusable == reason
    assert column.codes.tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    ("series", "reason"),
    [
        (pd.to_datetime(pd.Series(["2024-01-01", None])), "a date"),
        (pd.to_datetime(pd.Series(["2024-01-01", None])).dt.tz_localize("UTC"), "a date"),
        (pd.to_timedelta(pd.Series([1, None], dtype="Int64"), unit="s"), "a date"),
        (pd.Series(pd.PeriodIndex(["2024-01", None], freq="M")), "a date"),
        (pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), None])), "an interval"),
    ],
)
def test_pandas_dates_and_intervals(series, reason):
    column = read(pd.DataFrame({"v": series})).columns["v"]
    assert column.unusable == reason
    assert column.codes.tolist() == [0, -1]


def test_pandas_categories_stand_in_order_of_appearance(cells):
    frame = pd.DataFrame(
        {
            "t": pd.Categorical(["b", None, "a"], categories=["unused", "a", "b"]),
            "n": pd.Categorical([10, 2, None]),
        }
    )
    table = read(frame)
    assert table.columns["t"].levels == ("b", "a")
    assert cells(table.columns["t"]) == ["b", None, "a"]
    assert table.columns["n"].levels == ("10", "2")


def test_the_index_is_not_read():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 7], name="example"))
    table = read(frame)
    assert list(table.columns) == ["a"]
    assert table.notes == (
        "DataFrame: the index 'example' is not read; reset_index() makes it a column.",
    )
    assert read(frame.reset_index(drop=True)).notes == ()
    assert read(pd.DataFrame({"a": [1, 2]}, index=[5, 3])).notes == ()


def test_column_names_of_any_type():
    table = read(pd.DataFrame([[1, 2, 3]], columns=[0, ("a", "b"), ""]))
    assert list(table.columns) == ["0", "('a', 'b')", "Unnamed: 2"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a", "b", "a"], "column name 'a' occurs 2 times (columns 1 and 3)"),
        ([1, "x", "1"], "column name '1' occurs 2 times (columns 1 and 3)"),
    ],
)
def test_repeated_names(names, words):
    message = refused(pd.DataFrame([[1, 2, 3]], columns=names))
    assert message.startswith("DataFrame: " + words)


def test_repeated_names_in_arrow(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "Table: column name 'a' occurs 2 times (columns 1 and 2)" in refused(table)
    pq.write_table(table, tmp_path / "t.parquet")
    assert "'a' occurs 2 times" in refused(tmp_path / "t.parquet")


# --- whole tables ---------------------------------------------------------------------------------


def test_rows_are_counted_from_one(tmp_path):
    table = pa.table({"a": [5, 6]})
    pq.write_table(table, tmp_path / "t.parquet")
    made = read(tmp_path / "t.parquet")
    assert made.where(1) == f"{tmp_path / 't.parquet'} row 2"
    assert made.sha256 == hashlib.sha256((tmp_path / "t.parquet").read_bytes()).hexdigest()
    assert read(table.to_pandas()).where(0) == "DataFrame row 1"


def test_parquet_is_known_by_its_content(tmp_path):
    path = tmp_path / "results"
    pq.write_table(pa.table({"a": [5]}), path)
    assert read(path).columns["a"].levels.tolist() == [5]
    (tmp_path / "t.parquet").write_text("a,b\n1,2\n")
    assert "is not Parquet, whatever its name says" in refused(tmp_path / "t.parquet")


def test_a_truncated_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), path)
    path.write_bytes(path.read_bytes()[:-20])
    assert refused(path).startswith(f"{path}: cannot be read as Parquet (")
    assert "Write it again" in refused(path)


@pytest.mark.parametrize(
    "source", [pd.DataFrame({"a": []}), pa.table({"a": pa.array([], pa.int8())})]
)
def test_no_rows(source):
    assert "has columns but no rows; nothing can be audited" in refused(source)


@pytest.mark.parametrize("source", [pd.DataFrame(index=[1, 2]), pl.DataFrame()])
def test_no_columns(source):
    assert refused(source) == "DataFrame: the table has no columns; nothing can be audited"


def test_what_is_no_table():
    assert refused(pd.Series([1])).startswith("Series: is not a table of columns (")
    assert "a int cannot be read; give a path" in refused(3)


def test_the_hash_of_an_object_is_of_its_content():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    same = read(frame.copy()).sha256
    assert read(frame).sha256 == same
    changed = [
        frame.assign(a=[1, 3]),
        frame.assign(a=[2, 1]),
        frame.assign(b=["x", "y"]),
        frame.rename(columns={"a": "c"}),
        frame[["b", "a"]],
        frame.astype({"a": float}),
    ]
    hashes = {read(other).sha256 for other in changed}
    assert len(hashes) == len(changed)
    assert same not in hashes


def test_parquet_files_of_different_types_meet_as_text(tmp_path, cells):
    for name, values in (("a", [1, 2]), ("b", [1.0, 2.5]), ("c", ["x", None])):
        pq.write_table(pa.table({"v": values}), tmp_path / f"{name}.parquet")
    table = read([tmp_path / f"{name}.parquet" for name in "abc"])
    assert cells(table.columns["v"]) == ["1", "2", "1", "2.5", "x", None]
    ints = read([tmp_path / "a.parquet", tmp_path / "b.parquet"]).columns["v"]
    assert as_numbers(ints)[0].tolist() == [1.0, 2.0, 2.5]


def test_parquet_files_of_one_type_keep_it(tmp_path):
    for name, values in (("a", [BIG, 2]), ("b", [None, 2, 7])):
        pq.write_table(pa.table({"v": pa.array(values, pa.int64())}), tmp_path / f"{name}.parquet")
    pq.write_table(pa.table({"v": pa.array([None], pa.null())}), tmp_path / "c.parquet")
    column = read([tmp_path / f"{name}.parquet" for name in "cab"]).columns["v"]
    assert column.levels.dtype == np.int64
    assert column.levels.tolist() == [BIG, 2, 7]
    assert column.codes.tolist() == [-1, 0, 1, -1, 1, 2]
