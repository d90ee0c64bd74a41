"""A table of a TOML file, read key by key: a message names the file, the table and the key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast, get_args

from janus_jax.errors import InputError


class Section:
    """A table of the file; what was asked for is ticked off, so that the rest is unknown.

    Every way of asking raises InputError when the value is missing or not what it must be.

    Parameters
    ----------
    source
        What messages call the file.
    name
        What they call the table; "" for the top of the file.
    values
        Its keys, as ``tomllib`` gives them; floats as their text.
    """

    def __init__(self, source: str, name: str, values: Mapping[str, Any]) -> None:
        self.source = source
        self.name = name
        self.values = values
        self.asked: set[str] = set()
        self.sections: dict[str, Section] = {}

    def wrong(self, key: str, said: str) -> InputError:
        """An error about a key."""
        return InputError(f"{self.source}: {f'{self.name} ' if self.name else ''}{key} {said}")

    def get(self, key: str, kind: type | tuple[type, ...], words: str, *, need: bool = True) -> Any:
        """The value of a key, of one of these types; None only when it need not be there."""
        self.asked.add(key)
        value = self.values.get(key)
        if value is None and not need:
            return None
        if value is None:
            raise self.wrong(key, "is missing")
        if isinstance(value, int) and abs(value) >= 2**64:
            raise self.wrong(key, "is too large a number")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(key, f"is {shown(value)}, but it must be {words}")
        return value

    def text(self, key: str) -> str:
        """A text."""
        return self.get(key, str, "text")

    def optional(self, key: str) -> str | None:
        """A text, or None when there is none."""
        return self.get(key, str, "text", need=False)

    def number_text(self, key: str) -> str:
        """A number as its text; it may stand in quotes or not."""
        return str(self.get(key, (str, int), "a number"))

    def whole(self, key: str) -> int:
        """A whole number from 0."""
        value = self.get(key, int, "a whole number")
        if not 0 <= value < 2**63:
            raise self.wrong(key, f"is {value}, but it must be from 0 to {2**63 - 1}")
        return value

    def flag(self, key: str) -> bool:
        """True or false."""
        return self.get(key, bool, "true or false")

    def items(self, key: str) -> list[Any]:
        """An array of anything."""
        return self.get(key, list, "an array")

    def texts(self, key: str) -> tuple[str, ...]:
        """An array of text."""
        items = self.items(key)
        for item in items:
            if not isinstance(item, str):
                raise self.wrong(key, f"holds {shown(item)}, but it must be an array of text")
        return tuple(items)

    def digest(self, key: str) -> str:
        """A SHA-256."""
        text = self.text(key)
        if not re.fullmatch("[0-9a-f]{64}", text):
            raise self.wrong(key, f"is {text!r}, but it must be 64 hexadecimal digits")
        return text

    def choice(self, key: str, choices: Any) -> Any:
        """One of a Literal type's words."""
        text = self.text(key)
        words: tuple[str, ...] = get_args(choices)
        if text not in words:
            raise self.wrong(key, f"is {text!r}, but it must be one of {', '.join(words)}")
        return text

    def section(self, key: str) -> Section:
        """A table within this one; the same object however often it is asked for."""
        if key not in self.sections:
            values = self.get(key, dict, "a section")
            self.sections[key] = Section(self.source, f"[{key}]", values)
        return self.sections[key]

    def tables(self, key: str, called: str) -> Iterator[Section]:
        """The tables of an array, each finished before the next is made."""
        for index, item in enumerate(self.items(key), 1):
            if not isinstance(item, dict):
                raise self.wrong(key, f"holds {shown(item)}, but it must be an array of tables")
            entry = Section(self.source, f"{called} {index}", cast("dict[str, Any]", item))
            yield entry
            entry.finish()

    def finish(self) -> None:
        """Refuse what nobody asked for."""
        unknown = [key for key in self.values if key not in self.asked]
        if unknown:
            raise self.wrong(unknown[0], "is not a key of a plan")
        for section in self.sections.values():
            section.finish()


def shown(value: object) -> str:
    """A value for a message, cut when it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
