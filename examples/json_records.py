"""Records of JSON files, checked field by field: what is wrong is said with file and place.

The benchmark recipes read through it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar, cast

from janus_jax import InputError

Record = Mapping[str, object]
"""A JSON object."""
T = TypeVar("T")


def json_lines(path: str) -> Iterator[tuple[str, Record]]:
    """The objects of a JSON Lines file, each with the place to name: ``FILE line 3``."""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    where = f"{path} line {number}"
                    yield where, as_object(_parsed(line, where), where)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def json_list(path: str) -> Iterator[tuple[str, Record]]:
    """The objects of a file that is one JSON list, each with its place: ``FILE record 3``."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    value = _parsed(data, path)
    if not isinstance(value, list):
        raise InputError(f"{path}: expected a list of objects, found {_shown(value)}")
    for number, item in enumerate(cast("list[object]", value), start=1):
        where = f"{path} record {number}"
        yield where, as_object(item, where)


def add(found: dict[str, T], name: str, value: T, where: str) -> None:
    """Keep a value under an id that must be new."""
    if not name.strip():
        raise InputError(f"{where}: the id is blank; give every record its own")
    if name in found:
        raise InputError(f"{where}: a second record of id {name!r}; keep one of them")
    found[name] = value


def text(record: Record, key: str, where: str) -> str:
    """A field that must be text."""
    value = record.get(key)
    if not isinstance(value, str):
        raise _unexpected(record, key, "text", where)
    return value


def flag(record: Record, key: str, where: str) -> bool:
    """A field that must be true or false."""
    value = record.get(key)
    if not isinstance(value, bool):
        raise _unexpected(record, key, "true or false", where)
    return value


def items(record: Record, key: str, where: str) -> list[object]:
    """A field that must be a list."""
    value = record.get(key)
    if not isinstance(value, list):
        raise _unexpected(record, key, "a list", where)
    return cast("list[object]", value)


def as_object(value: object, where: str) -> Record:
    """A value that must be a JSON object."""
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object, found {_shown(value)}")
    return cast("Record", value)


def _parsed(data: bytes, where: str) -> object:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON in UTF-8: {error}") from error


def _unexpected(record: Record, key: str, wanted: str, where: str) -> InputError:
    found = _shown(record[key]) if key in record else "no such field"
    return InputError(f"{where}: {key!r} must be {wanted}, found {found}")


def _shown(value: object) -> str:
    whole = json.dumps(value)
    return whole if len(whole) <= 40 else f"{whole[:37]}..."
