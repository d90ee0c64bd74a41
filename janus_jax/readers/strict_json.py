"""JSON in which no object holds a key twice: which of the values was meant cannot be known."""

from __future__ import annotations

import json
from typing import Any, Final


class RepeatedKey(ValueError):
    """A key that an object holds more than once."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise RepeatedKey(f"key {repeated!r} occurs {names.count(repeated)} times in one object")
    return record


STRICT: Final = json.JSONDecoder(object_pairs_hook=_unique)
"""Raises :class:`RepeatedKey`; NaN and Infinity are numbers, and integers have all their digits."""
