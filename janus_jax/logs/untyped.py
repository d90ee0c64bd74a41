"""JSON values of a shape that is hoped for: logs are written by many hands."""

from __future__ import annotations

from typing import Any, TypeGuard, cast


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def mapping(value: object) -> dict[str, Any]:
    """A JSON object as it is, anything else as an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """A JSON array as it is, anything else as an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text(value: object) -> str | None:
    """A string that is not blank, else None."""
    return value if isinstance(value, str) and value.strip() else None
