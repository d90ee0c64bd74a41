"""Which fields of an example are facts, which are texts, and which give the gold answer away.

A field is a fact or a text in a whole file, whatever a single value of it looks like: a question
that is short in some examples must not become a fact that is missing in the others. So a file is
looked through once (:meth:`Fields.learn`) before its records are divided.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from janus_jax.logs.attempt import Context
from janus_jax.logs.untyped import is_array, is_object, items

LONG: Final = 100
"""Characters beyond which a string is a text, and no level of a category."""

_GOLD: Final = re.compile(
    r"(in)?correct|(answer|gold|golden|ideal|label|reference|solution|target)s?", re.IGNORECASE
)
_TEXT: Final = frozenset(("input", "passage", "problem", "prompt", "query", "question"))
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class _Unhashed:
    """A hasher for a first look at what is hashed when it is read."""

    def update(self, data: bytes, /) -> None:
        """Forget the bytes."""


def first_look() -> Context:
    """A context for looking through a file before it is read: no hash, and notes nobody sees."""
    return Context(_Unhashed())


def gives_the_answer(name: str, also: Collection[str] = ()) -> bool:
    """Whether a field of an example tells its gold answer, going by its name.

    Parameters
    ----------
    name
        Name of the field.
    also
        Names known to (from a template that makes the target, say).

    Examples
    --------
    >>> [gives_the_answer(name) for name in ("answerKey", "mc1_targets", "gold", "subject")]
    [True, True, True, False]
    """
    return name in also or any(_GOLD.fullmatch(word) for word in _WORD.findall(name))


@dataclass(slots=True)
class Parts:
    """An example's fields, divided as an attempt wants them.

    Attributes
    ----------
    facts
        Fields that are no texts. Lists stay, also those whose strings are texts: their length is a
        fact.
    derived
        Fields that give the gold answer away, texts or not.
    texts
        Texts by dotted name; a list of strings is joined by line feeds.
    """

    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    derived: dict[str, Any] = field(default_factory=dict[str, Any])
    texts: dict[str, str] = field(default_factory=dict[str, str])


class Fields:
    """The fields of a file that are texts, learned from all of its records.

    A field is a text if it is called one (``question``, ``passage`` ...), or if any of its values
    is longer than :data:`LONG` characters or has several lines.
    """

    def __init__(self) -> None:
        self._texts: set[tuple[str, ...]] = set()

    def learn(self, record: Mapping[str, Any], at: tuple[str, ...] = ()) -> None:
        """Look at one record."""
        for key, value in record.items():
            path = (*at, key)
            if is_object(value):
                self.learn(value, path)
            elif path not in self._texts and _is_text(key, value):
                self._texts.add(path)

    def divide(
        self, record: Mapping[str, Any], gold: Collection[str] = (), at: tuple[str, ...] = ()
    ) -> Parts:
        """Divide one record.

        Parameters
        ----------
        record
            The fields; may nest.
        gold
            Names of fields that give the gold answer away, beside those that sound like it.
        at
            Where ``record`` stands within the example.
        """
        parts = Parts()
        for key, value in record.items():
            path = (*at, key)
            if gives_the_answer(key, gold):
                parts.derived[key] = value
            elif is_object(value):
                inner = self.divide(value, gold, path)
                parts.facts[key] = inner.facts
                parts.texts |= inner.texts
                if inner.derived:
                    parts.derived[key] = inner.derived
            else:
                text = joined(value) if path in self._texts else None
                if text is not None:
                    parts.texts[".".join(path)] = text
                if text is None or is_array(value):
                    parts.facts[key] = value
        return parts


def joined(value: object) -> str | None:
    """A string, or the strings of a list with line feeds between them; None for anything else."""
    if isinstance(value, str):
        return value
    parts = items(value)
    if not parts or not all(isinstance(part, str) for part in parts):
        return None
    return "\n".join(parts)


def _is_text(name: str, value: object) -> bool:
    text = joined(value)
    if text is None:
        return False
    parts = items(value) or [text]
    return name in _TEXT or len(text) > LONG or any("\n" in part.strip() for part in parts)
