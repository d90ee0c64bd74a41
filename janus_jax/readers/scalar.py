"""One Python value as the text of a level: the same words for JSON Lines and for object columns."""

from __future__ import annotations

import datetime
import decimal
import numbers
import sys
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from janus_jax.values import number_text


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a value can be no level ("a list")."""

    reason: str


def scalar_text(value: object) -> str | Unusable | None:
    """The level text of a value; None when it means missing.

    true/false for booleans, integers in full, floats by their shortest decimal without ``.0`` (so
    10 and 10.0 are one level), None and NaN missing, strings verbatim.
    """
    if value is None or isinstance(value, str):
        return None if value is None else str.__str__(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return number_text(value) if value == value else None
    if isinstance(value, (np.number, np.bool_)):
        return scalar_text(cast("object", value.item()))
    if isinstance(value, decimal.Decimal):
        return None if value.is_nan() else str(value).replace("Infinity", "inf")
    return _other(value)


def _other(value: object) -> Unusable | None:
    if _is_pandas_missing(value):
        return None
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        return Unusable("a list")
    if isinstance(value, dict):
        return Unusable("a dictionary")
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return None if bool(np.isnat(cast("Any", value))) else Unusable("a date")
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        return Unusable("a date")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Unusable("binary data")
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        return Unusable("a complex number")
    return Unusable(f"a Python {type(value).__name__}")


def _is_pandas_missing(value: object) -> bool:
    # pandas is asked only where it has already been imported, by whoever made such a value.
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)
