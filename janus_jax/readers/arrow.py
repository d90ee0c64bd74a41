"""Arrow tables: Parquet files, and whatever speaks the Arrow C stream (polars, pyarrow, DuckDB)."""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.readers.part import (
    Part,
    bool_column,
    column_names,
    missing_column,
    number_column,
    rows_part,
    text_column,
    unusable_column,
)
from janus_jax.table import Column

_Codes: TypeAlias = NDArray[np.int32]


def _module(name: str) -> Any:
    """Load a module of pyarrow, which has no types, when a source needs it and not before."""
    return importlib.import_module(name)


def read_parquet(path: str) -> Part:
    """Read a Parquet file. Column types are kept; a saved pandas index stays a column."""
    pa, pq = _module("pyarrow"), _module("pyarrow.parquet")

    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{path}: cannot be read as Parquet ({error}); is it complete? Write it again."
        ) from None
    return arrow_part(table, path)


def read_stream(source: Any) -> Part:
    """Read an object that has ``__arrow_c_stream__`` (polars, pyarrow and others)."""
    pa = _module("pyarrow")

    name = type(source).__name__
    try:
        table = source if isinstance(source, pa.Table) else pa.table(source)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{name}: is not a table of columns ({error})") from None
    return arrow_part(table, name)


def arrow_part(table: Any, source: str) -> Part:
    """The columns of an Arrow table."""
    names = column_names(table.column_names, source)
    columns = [arrow_column(name, table.column(index), source) for index, name in enumerate(names)]
    return rows_part(source, columns, table.num_rows)


def arrow_column(name: str, values: Any, source: str) -> Column:
    """Encode one Arrow column by its type."""
    pa, types = _module("pyarrow"), _module("pyarrow.types")

    kind = values.type
    if types.is_dictionary(kind):
        return arrow_column(name, _decoded(values), source)
    if types.is_null(kind):
        return missing_column(name, len(values))
    if isinstance(kind, pa.BaseExtensionType):
        storage = [chunk.storage for chunk in values.chunks]
        return arrow_column(name, pa.chunked_array(storage, type=kind.storage_type), source)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        if not types.is_string(kind):
            values = values.cast(pa.large_string())
        codes, levels = _encode(values)
        try:
            return text_column(name, codes, levels.to_pylist())
        except UnicodeDecodeError:
            raise InputError(
                f"{source}: column {name!r} holds text that is not UTF-8; write the file again"
            ) from None
    if types.is_boolean(kind):
        codes, levels = _encode(values)
        return bool_column(name, codes, np.array(levels.to_pylist(), dtype=np.bool_))
    if types.is_integer(kind):
        return _integers(name, values)
    if types.is_floating(kind):
        values = values.cast(pa.float64())
        codes, levels = _encode(values)
        return number_column(
            name, codes, np.array(levels.to_pylist(), dtype=np.float64), np.float64
        )
    if types.is_decimal(kind):
        codes, levels = _encode(values)
        return text_column(name, codes, [str(level) for level in levels.to_pylist()])
    known = np.asarray(values.is_valid().to_numpy(), dtype=np.bool_)
    if types.is_temporal(kind):
        return _dates(name, values, known)
    return unusable_column(name, known, _reason(kind))


def _encode(values: Any) -> tuple[_Codes, Any]:
    """Codes (-1 for null) and distinct values in order of first appearance."""
    pa = _module("pyarrow")

    encoded = values.dictionary_encode().unify_dictionaries()
    chunks = encoded.chunks
    if not chunks:
        return np.empty(0, dtype=np.int32), pa.array([], type=values.type)
    codes = np.concatenate(
        [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    )
    return codes.astype(np.int32), chunks[0].dictionary


def _decoded(values: Any) -> Any:
    """The values of dictionary-encoded chunks."""
    pa, types = _module("pyarrow"), _module("pyarrow.types")

    kind = values.type.value_type
    if types.is_string_view(kind):  # polars; Arrow cannot decode these as they are
        kind = pa.large_string()
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(kind)).cast(kind)
        for chunk in values.chunks
    ]
    return pa.chunked_array(chunks, type=kind)


def _integers(name: str, values: Any) -> Column:
    codes, levels = _encode(values)
    numbers = levels.to_pylist()
    if numbers and max(numbers) > np.iinfo(np.int64).max:
        # Beyond int64 the digits are kept as text: exact as an id, a float as a number.
        return text_column(name, codes, map(str, numbers))
    return number_column(name, codes, np.array(numbers, dtype=np.int64), np.int64)


def _dates(name: str, values: Any, known: NDArray[np.bool_]) -> Column:
    """Dates make no descriptor, but keep their text: they may name clusters or strata."""
    pa = _module("pyarrow")

    try:
        column = text_column(name, *_texts(values.cast(pa.string())))
    except (pa.ArrowException, NotImplementedError):
        return unusable_column(name, known, "a date")
    return Column(name, column.codes, column.levels, unusable="a date")


def _texts(values: Any) -> tuple[_Codes, list[str | None]]:
    codes, levels = _encode(values)
    return codes, levels.to_pylist()


def _reason(kind: Any) -> str:
    types = _module("pyarrow.types")

    if types.is_struct(kind):
        return "a struct"
    if types.is_map(kind):
        return "a map"
    if "binary" in str(kind):
        return "binary data"
    if "list" in str(kind):
        return "a list"
    return f"of type {kind}"
