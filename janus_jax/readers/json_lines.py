"""JSON Lines: one object a line, nested objects as dotted columns, scalars as their text.

Scalars become text levels, as CSV has them, so that both mean the same (:mod:`janus_jax.values`).
"""

from __future__ import annotations

import json
from typing import Any, cast

import numpy as np

from janus_jax.errors import InputError
from janus_jax.readers import opening
from janus_jax.readers.growing import GrowingColumn
from janus_jax.readers.opening import TextFile, too_long
from janus_jax.readers.part import Part, column_names
from janus_jax.readers.strict_json import STRICT, RepeatedKey
from janus_jax.table import Column

_NOTED = 8  # columns named in a note before "and N more"


def read_json_lines(file: TextFile) -> Part:
    """Read a JSON Lines file.

    Only a line feed ends a line (U+2028 does not). Blank lines are skipped. NaN and Infinity are
    accepted. An absent key is a missing value.

    Raises
    ------
    InputError
        For a line that is not a JSON object (a crashed run leaves half a record), a repeated key,
        or a nested name that collides with another; each names the line.
    """
    records = _Records(file.path)
    lines: list[int] = []
    try:
        for number, line in enumerate(file.text, 1):
            if len(line) > opening.MAX_LINE_BYTES:
                raise too_long(file.path, number)
            text = (line.lstrip("\ufeff") if number == 1 else line).strip(" \t\r\n")
            if text:
                records.add(_object(text, file.path, number), number)
                lines.append(number)
    except UnicodeDecodeError as error:
        raise file.undecodable(error) from None
    if not lines:
        raise InputError(f"{file.path}: the file is empty; it needs one JSON object a line")
    columns = records.columns()
    starts = np.array(lines, dtype=np.int64)
    return Part(file.path, columns, len(lines), starts, "line", records.notes(columns))


def _first(error: Exception) -> str:
    """The first clause of a message: what follows is advice about Python."""
    return str(error).partition(";")[0]


def _object(text: str, path: str, line: int) -> dict[str, Any]:
    where = f"{path} line {line}"
    try:
        value: object = STRICT.decode(text)
    except RepeatedKey as error:
        raise InputError(f"{where}: {error}; keep one of them") from None
    except json.JSONDecodeError as error:
        if text in ("{", "["):
            raise InputError(
                f"{where}: is a JSON document spread over several lines, neither JSON Lines nor an "
                "evaluation log that is recognised; name the log's samples file or its run's "
                "folder, or write one object a line (for example with: jq -c '.[]')"
            ) from None
        raise InputError(
            f"{where}: not a complete JSON object ({error.msg.removesuffix(' at')} at character "
            f"{error.pos + 1}); each line must hold one whole record: repair or remove this line"
        ) from None
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits; deep nesting
        raise InputError(
            f"{where}: cannot be read as JSON ({_first(error)}); repair this line"
        ) from None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    if isinstance(value, list):
        found, remedy = "a list", "; write one object a line (for example with: jq -c '.[]')"
    else:
        found, remedy = f"the value {text[:40]}", ""
    raise InputError(f"{where}: a record must be a JSON object, found {found}{remedy}")


class _Records:
    """Collects records into columns."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.n = 0
        self.fields: dict[str, GrowingColumn] = {}
        self.objects: set[str] = set()  # names that held an object somewhere
        self.origins: dict[str, tuple[str, ...]] = {}

    def add(self, record: dict[str, Any], line: int) -> None:
        self._add(record, (), line)
        self.n += 1

    def _add(self, record: dict[str, Any], path: tuple[str, ...], line: int) -> None:
        for key, value in record.items():
            name = key
            if path or "." in key:
                name = self._dotted((*path, key), line)
            if isinstance(value, dict):
                self.objects.add(name)
                self._add(cast("dict[str, Any]", value), (*path, key), line)
            else:
                self._put(name, value)

    def _dotted(self, path: tuple[str, ...], line: int) -> str:
        name = ".".join(path)
        if self.origins.setdefault(name, path) != path:
            raise InputError(
                f"{self.path} line {line}: the name {name!r} stands for two different keys (a "
                "nested one and one with a dot in it); rename one of them"
            )
        return name

    def _put(self, name: str, value: object) -> None:
        self.fields.setdefault(name, GrowingColumn()).put(self.n, value)

    def columns(self) -> dict[str, Column]:
        kept = {
            name: field
            for name, field in self.fields.items()
            # `meta` that is null in some records and an object in others is no column of its own.
            if field.levels or name not in self.objects
        }
        names = column_names(list(kept), self.path)
        if not names:
            raise InputError(f"{self.path}: no record has a key; nothing can be audited")
        return {
            name: field.column(name, self.n)
            for name, field in zip(names, kept.values(), strict=True)
        }

    def notes(self, columns: dict[str, Column]) -> tuple[str, ...]:
        notes: list[str] = []
        nested = [name for name in columns if len(self.origins.get(name, ())) > 1]
        if nested:
            notes.append(
                f"{self.path}: nested objects are read as dotted columns: {_some(nested)}."
            )
        absent = [
            f"{name} ({self.n - field.present:,})"
            for name, field in self.fields.items()
            if field.present < self.n and name in columns
        ]
        if absent:
            notes.append(
                f"{self.path}: keys absent from some of the {self.n:,} records, missing there: "
                f"{_some(absent)}."
            )
        return tuple(notes)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_NOTED])
    return shown if len(names) <= _NOTED else f"{shown} and {len(names) - _NOTED} more"
