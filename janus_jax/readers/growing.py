"""Columns in the making, for records that come one at a time with keys of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from janus_jax.readers.part import missing_column, text_column, unusable_column
from janus_jax.readers.scalar import Unusable, scalar_text
from janus_jax.table import Column


class GrowingColumn:
    """One column of which only the distinct values are kept.

    Attributes
    ----------
    levels
        Text of each distinct value to its code.
    present
        How many records had the key, null or not.
    """

    __slots__ = ("_codes", "_unusable", "levels", "present")

    def __init__(self) -> None:
        self.levels: dict[str, int] = {}
        self.present = 0
        self._codes: list[int] = []
        self._unusable: str | None = None

    def put(self, row: int, value: object) -> None:
        """Set the value of a row; rows come in ascending order, and those not set are missing."""
        self.present += 1
        text = value if isinstance(value, Unusable) or type(value) is str else scalar_text(value)
        if text is None:
            return
        if isinstance(text, Unusable):
            self._unusable = self._unusable or text.reason
            text = text.reason
        codes = self._codes
        if len(codes) < row:  # absent or null until now
            codes.extend([-1] * (row - len(codes)))
        codes.append(self.levels.setdefault(text, len(self.levels)))

    def column(self, name: str, n: int) -> Column:
        """The column of n rows."""
        if not self.levels:
            return missing_column(name, n)
        codes = np.full(n, -1, dtype=np.int32)
        codes[: len(self._codes)] = self._codes
        if self._unusable is not None:
            return unusable_column(name, codes >= 0, self._unusable)
        return text_column(name, codes, self.levels)


def flattened(
    record: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every value of a nested record that is no object, with the keys that lead to it."""
    for key, value in record.items():
        if isinstance(value, dict):
            yield from flattened(cast("dict[str, Any]", value), (*path, key))
        else:
            yield (*path, key), value
