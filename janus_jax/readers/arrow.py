"""Arrow tables: Parquet files, and whatever speaks the Arrow C stream (polars, pyarrow, DuckDB)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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

if TYPE_CHECKING:
    import pyarrow as pa


def read_parquet(path: str) -> Part:
    """Read a Parquet file. Column types are kept; a saved pandas index stays a column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
    import pyarrow as pa

    name = type(source).__name__
    try:
        table = source if isinstance(source, pa.Table) else pa.table(source)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{name}: is not a table of columns ({error})") from None
    return arrow_part(table, name)


def arrow_part(table: pa.Table, source: str) -> Part:
    """The columns of an Arrow table."""
    names = column_names(table.column_names, source)
    columns = [arrow_column(name, table.column(index), source) for index, name in enumerate(names)]
    return rows_part(source, columns, table.num_rows)


def arrow_column(name: str, values: pa.ChunkedArray, source: str) -> Column:
    """Encode one Arrow column by its type."""
    import pyarrow as pa
    from pyarrow import types

    kind = values.type
    if types.is_dictionary(kind):
        return arrow_column(name, values.cast(kind.value_type), source)
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
        return number_column(name, codes, np.array(levels.to_pylist(), dtype=np.float64))
    if types.is_decimal(kind):
        codes, levels = _encode(values)
        return text_column(name, codes, [str(level) for level in levels.to_pylist()])
    known = np.asarray(values.is_valid().to_numpy(), dtype=np.bool_)
    if types.is_temporal(kind):
        return _dates(name, values, known)
    return unusable_column(name, known, _reason(kind))


def _encode(values: pa.ChunkedArray) -> tuple[np.ndarray[Any, np.dtype[np.int32]], pa.Array]:
    """Codes (-1 for null) and distinct values in order of first appearance."""
    import pyarrow as pa

    encoded = values.dictionary_encode().unify_dictionaries()
    chunks = encoded.chunks
    if not chunks:
        return np.empty(0, dtype=np.int32), pa.array([], type=values.type)
    codes = np.concatenate(
        [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    )
    return codes.astype(np.int32), chunks[0].dictionary


def _integers(name: str, values: pa.ChunkedArray) -> Column:
    codes, levels = _encode(values)
    numbers = levels.to_pylist()
    if numbers and max(numbers) > np.iinfo(np.int64).max:
        # Beyond int64 the digits are kept as text: exact as an id, a float as a number.
        return text_column(name, codes, map(str, numbers))
    return number_column(name, codes, np.array(numbers, dtype=np.int64))


def _dates(
    name: str, values: pa.ChunkedArray, known: np.ndarray[Any, np.dtype[np.bool_]]
) -> Column:
    """Dates make no descriptor, but keep their text: they may name clusters or strata."""
    import pyarrow as pa

    try:
        column = text_column(name, *_texts(values.cast(pa.string())))
    except (pa.ArrowException, NotImplementedError):
        return unusable_column(name, known, "a date")
    return Column(name, column.codes, column.levels, unusable="a date")


def _texts(values: pa.ChunkedArray) -> tuple[np.ndarray[Any, np.dtype[np.int32]], list[str]]:
    codes, levels = _encode(values)
    return codes, levels.to_pylist()


def _reason(kind: pa.DataType) -> str:
    from pyarrow import types

    if types.is_struct(kind):
        return "a struct"
    if types.is_map(kind):
        return "a map"
    if "binary" in str(kind):
        return "binary data"
    if "list" in str(kind):
        return "a list"
    return f"of type {kind}"
