"""Attempts into columns, one at a time: only distinct values are kept."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, cast

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Attempt, Status
from janus_jax.logs.text_features import text_features
from janus_jax.readers.growing import GrowingColumn, flattened
from janus_jax.readers.part import escape_surrogates
from janus_jax.readers.scalar import Unusable

LONGEST: Final = 500
"""Longer strings are texts, of which no level is made."""
MOST_COLUMNS: Final = 5_000

STATUSES: Final[tuple[Status, ...]] = ("ok", "unscored", "error", "not_run")

Kind = Literal["coordinates", "scores", "facts", "derived", "post"]
_PLACE: Final = re.compile(r" (line|sample|result|request) [\d,]+$")
_KINDS: Final[tuple[Kind, ...]] = ("coordinates", "scores", "facts", "derived", "post")


class NoAttempts(InputError):
    """A log is complete and holds no attempt: a folder of logs can do without it.

    Attributes
    ----------
    what
        The file and what it lacks; the message adds the remedy.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what


class Gathered:
    """What a log holds, attempt by attempt.

    Attributes
    ----------
    n
        Attempts so far.
    examples
        The example of each.
    columns
        For each kind, name to column. Nested facts have dotted names, lists become ``name.length``.
    statuses, files, lines
        One per attempt: index into :data:`STATUSES`, number of the source, line there.
    words
        Number of a source to what its lines are: "line", "sample", "record" ...
    texts
        Names of the texts that were seen.
    """

    def __init__(self, texts: Collection[str]) -> None:
        self.n = 0
        self.examples = GrowingColumn()
        self.columns: dict[Kind, dict[str, GrowingColumn]] = {kind: {} for kind in _KINDS}
        self.statuses = array("b")
        self.files = array("i")
        self.lines = array("q")
        self.words: dict[int, str] = {}
        self.texts: dict[str, None] = {}
        self._wanted = frozenset(texts)
        self._paths: dict[tuple[Kind, str], tuple[str, ...]] = {}

    def add(self, attempt: Attempt, file: int) -> None:
        """Take an attempt of this source."""
        self.examples.put(self.n, attempt.example)
        self.statuses.append(STATUSES.index(attempt.status))
        self.files.append(file)
        self.lines.append(attempt.line)
        if file not in self.words:
            place = _PLACE.search(attempt.where)
            self.words[file] = place[1] if place else "record"
        for kind in _KINDS:
            self._add(kind, getattr(attempt, kind), attempt.where)
        for name, text in attempt.texts.items():
            self.texts[name] = None
            if name in self._wanted:
                counts = {f"{name}.{what}": many for what, many in text_features(text).items()}
                self._add("facts", counts, attempt.where)
        self.n += 1

    def _add(self, kind: Kind, values: Mapping[str, Any], where: str) -> None:
        fields = self.columns[kind]
        for path, found in flattened(values):
            value: object = found
            name = escape_surrogates(".".join(path))
            if isinstance(found, list) and kind != "scores":
                many = len(cast("list[object]", found))
                name, path, value = f"{name}.length", (*path, "length"), many
            if self._paths.setdefault((kind, name), path) != path:
                raise InputError(
                    f"{where}: the name {name!r} stands for two different keys (a nested one and "
                    "one with a dot in it); rename one of them"
                )
            field = fields.get(name)
            if field is None:
                if len(fields) >= MOST_COLUMNS:
                    raise InputError(
                        f"{where}: more than {MOST_COLUMNS:,} different {kind}: are their names "
                        "data? Reduce the log to what describes an example"
                    )
                field = fields[name] = GrowingColumn()
            field.put(self.n, _bounded(value))


def _bounded(value: object) -> object:
    if isinstance(value, str) and len(value) > LONGEST:
        return Unusable("a long text")
    return value
