"""One table means the same in every format it can be written in."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from janus_jax.readers import read
from janus_jax.values import as_boolean, as_numbers, as_text, median

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
KINDS = {
    "i": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "f": (pa.float64(), st.floats(allow_nan=False)),
    "b": (pa.bool_(), st.booleans()),
    "t": (pa.string(), TEXT | st.sampled_from(["NA", "null", "yes", "no", "1", "0.5", "1_0"])),
    "z": (pa.int64(), st.sampled_from([0, 1])),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 8))
    return pa.table(
        {
            name: pa.array(draw(st.lists(st.none() | values, min_size=n, max_size=n)), type=kind)
            for name, (kind, values) in KINDS.items()
        }
    )


def spelled(value):
    """How a careful exporter writes a value into CSV."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def written(table, folder):
    """The same table as everything that can be read."""
    rows = table.to_pylist()
    with (folder / "t.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(table.column_names)
        writer.writerows([spelled(value) for value in row.values()] for row in rows)
    (folder / "t.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8", newline="\n"
    )
    pq.write_table(table, folder / "t.parquet")
    yield from (folder / "t.csv", folder / "t.jsonl", folder / "t.parquet")
    yield table
    yield pl.from_arrow(table)
    yield table.to_pandas(types_mapper=pd.ArrowDtype)
    yield pd.DataFrame(
        {
            "i": pd.array(table["i"].to_pylist(), dtype="Int64"),
            "f": table["f"].to_pandas(),
            "b": pd.array(table["b"].to_pylist(), dtype="boolean"),
            "t": pd.array(table["t"].to_pylist(), dtype="str"),
            "z": pd.array(table["z"].to_pylist(), dtype="Int64"),
        }
    )
    yield pd.DataFrame(rows, columns=table.column_names, dtype=object)


def rows_of(codes, meanings):
    return [None if code < 0 else meanings[code] for code in codes.tolist()]


def meaning(column):
    """Booleans, numbers and text of a column, row by row."""
    truth = as_boolean(column)
    found = as_numbers(column)
    numbers = split = None
    if found is not None:
        values, missing = found
        numbers = [
            None if code < 0 or missing[code] else values.tolist()[code]
            for code in column.codes.tolist()
        ]
        known = np.array([v for v in numbers if v is not None], dtype=values.dtype)
        split = median(known).above(known).tolist() if len(known) else []
    return (
        None if truth is None else rows_of(column.codes, truth.tolist()),
        numbers,
        split,
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_the_same_interpretation(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("same")
    source = {name: table[name].to_pylist() for name in table.column_names}
    for form in written(table, folder):
        made = read(form)
        assert list(made.columns) == list(source)
        assert made.n == table.num_rows
        numbers = meaning(made.columns["i"])[1]
        assert numbers == source["i"]
        assert meaning(made.columns["f"])[1] == source["f"]
        flags = [None if v is None else int(v) for v in source["b"]]
        assert meaning(made.columns["b"])[0] == (
            flags if any(v is not None for v in flags) else None
        )
        assert meaning(made.columns["z"])[0] == (
            source["z"] if any(v is not None for v in source["z"]) else None
        )
        text = [None if v is None or not v.strip() else v for v in source["t"]]
        assert rows_of(made.columns["t"].codes, as_text(made.columns["t"])) == text


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_the_same_medians_and_levels(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("same")
    results = []
    for form in written(table, folder):
        columns = read(form).columns
        known = {name: bool(len(column.levels)) for name, column in columns.items()}
        results.append(
            (
                known,
                [meaning(columns[name])[2] for name in "ifz"],
                [meaning(columns["t"])[:2]],
                rows_of(columns["b"].codes, as_text(columns["b"])),
            )
        )
    for result in results[1:]:
        assert result == results[0]
