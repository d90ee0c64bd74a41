"""pandas DataFrames, column by column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from janus_jax.readers.part import (
    Part,
    bool_column,
    column_names,
    number_column,
    rows_part,
    text_column,
    unusable_column,
)
from janus_jax.readers.scalar import Unusable, scalar_text
from janus_jax.table import Column

if TYPE_CHECKING:
    import pandas as pd


def read_frame(frame: pd.DataFrame) -> Part:
    """Read a DataFrame. The index is never a column; one that has a name is noted."""
    source = "DataFrame"
    names = column_names([str(label) for label in frame.columns], source)
    columns = [_column(name, frame.iloc[:, index]) for index, name in enumerate(names)]
    return rows_part(source, columns, len(frame), _index_notes(frame))


def _index_notes(frame: pd.DataFrame) -> list[str]:
    named = [repr(str(name)) for name in frame.index.names if name is not None]
    if not named:
        return []
    return [
        f"DataFrame: the index {', '.join(named)} is not read; reset_index() makes it a column."
    ]


def _column(name: str, series: pd.Series[Any]) -> Column:
    import pandas as pd

    dtype: Any = series.dtype
    if isinstance(dtype, pd.ArrowDtype):
        from janus_jax.readers.arrow import arrow_column

        return arrow_column(name, series.array.__arrow_array__(), "DataFrame")
    if isinstance(dtype, pd.SparseDtype):
        return _column(name, series.sparse.to_dense())
    if isinstance(dtype, pd.CategoricalDtype):
        codes, levels = _factorize(series)
        return replace(_objects(name, [*levels, None], codes), categorical=True)
    if isinstance(dtype, pd.StringDtype):
        codes, levels = _factorize(series)
        return text_column(name, codes, list(levels))
    if dtype.kind in "mM" or isinstance(dtype, pd.PeriodDtype):
        codes, levels = _factorize(series)
        column = text_column(name, codes, [str(level) for level in levels])
        return Column(name, column.codes, column.levels, unusable="a date")
    if dtype.kind == "b":
        codes, levels = _factorize(series)
        return bool_column(name, codes, np.asarray(levels, dtype=np.bool_))
    if dtype.kind in "iuf":
        return _numbers(name, series)
    if isinstance(dtype, pd.IntervalDtype):
        return unusable_column(name, np.asarray(series.notna()), "an interval")
    values: list[object] = series.to_numpy(dtype=object).tolist()
    return _objects(name, values, None)


def _factorize(series: pd.Series[Any]) -> tuple[NDArray[np.int32], Any]:
    """Codes (-1 for missing) and distinct values in order of first appearance."""
    import pandas as pd

    factorize = cast("Any", pd.factorize)
    codes, levels = factorize(series.array, sort=False, use_na_sentinel=True)
    return np.asarray(codes, dtype=np.int32), levels


def _numbers(name: str, series: pd.Series[Any]) -> Column:
    codes, levels = _factorize(series)
    if series.dtype.kind == "f":
        plain = isinstance(levels, np.ndarray)
        floats = cast("NDArray[Any]", levels if plain else levels.to_numpy(np.float64))
        return number_column(name, codes, floats, np.float64)
    whole = np.asarray(levels)
    if len(whole) and int(whole.max()) > np.iinfo(np.int64).max:
        # Beyond int64 the digits are kept as text: exact as an id, a float as a number.
        return text_column(name, codes, map(str, whole.tolist()))
    return number_column(name, codes, whole, np.int64)


def _objects(name: str, values: list[object], codes: NDArray[np.int32] | None) -> Column:
    """Any Python values, as JSON Lines would have them; ``codes`` index them, if given."""
    levels: dict[str | None, int] = {}
    unusable: str | None = None
    own: list[int] = []
    for value in values:
        text = value if type(value) is str else scalar_text(value)
        if isinstance(text, Unusable):
            unusable = unusable or text.reason
            text = text.reason
        own.append(levels.setdefault(text, len(levels)))
    found = np.array(own, dtype=np.int32)
    column = text_column(name, found if codes is None else found[codes], levels)
    if unusable is None:
        return column
    return unusable_column(name, column.codes >= 0, unusable)
