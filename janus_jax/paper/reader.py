"""A simulated reader of packets, which loses the thread the sooner the more it has to look up.

It sees the text of a packet and its question and nothing else: it takes the tables apart and
follows them look-up by look-up, as a person would. At look-up k it loses the thread with
probability k/50: what has to be kept in mind grows with every step. Then it takes another row than
the right one, the one whose key looks most alike, and goes on from there without noticing.

The number of look-ups alone decides how likely the thread is lost. A direct question about a code
in use takes two of them (ASSIGNMENT, REGISTRY), a badge one more (STAFF), each renaming two more
(the code is not in REGISTRY, CROSSWALK has the next one). The thread is kept through n of them with
probability (1 - 1/50)(1 - 2/50)...(1 - n/50): 0.94 for 2, 0.88 for 3, 0.31 for 10, 0.24 for 11.
Where a row stands and how its table is laid out play no part. Look-alikes only decide which wrong
row is taken; now and then one leads back to the right way, so replies are wrong a little less often
than the thread is lost.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from janus_jax import streams
from janus_jax.errors import InputError

READER: Final = 102
"""Stream of the words that decide whether the thread is lost."""

NOT_FOUND: Final = "not found"
"""The reply when the tables end before a cabinet is reached."""

_BADGE = re.compile(r"\bholder of badge (\S+)")
_PERSON = re.compile(r"\bproject that (.+) works on\b")
_COLUMNS = {
    "STAFF": {"badge", "person", "status"},
    "ASSIGNMENT": {"person", "project", "status"},
    "CROSSWALK": {"old code", "new code"},
    "REGISTRY": {"code", "cabinet"},
}

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SimulatedReader:
    """Answers the question of a packet; equal texts get equal replies.

    Attributes
    ----------
    span
        At look-up k the thread is lost with probability k/span (certainly from k = span on).
        None never loses it.

    Examples
    --------
    >>> from janus_jax.paper.packets import packets
    >>> first = packets()[0]
    >>> SimulatedReader(span=None)(first.text, first.question) == first.answer
    True
    """

    span: int | None = 50

    def __post_init__(self) -> None:
        """Check the span."""
        if self.span is not None and not 1 <= self.span < 1 << 32:
            raise InputError(f"span is {self.span}, but it must be from 1 to 2**32 - 1, or None")

    def __call__(self, text: str, question: str) -> str:
        """Reply to a question about a packet.

        Parameters
        ----------
        text, question
            Of one packet.

        Returns
        -------
        str
            The cabinet it arrives at, or :data:`NOT_FOUND`.

        Raises
        ------
        InputError
            A table is missing, or the question names neither a person nor a badge.
        """
        return self.read(text, question)[0]

    def read(self, text: str, question: str) -> tuple[str, int]:
        """The reply, and the number of look-ups made on the way to it."""
        digest = hashlib.sha256(f"{text}\n{question}".encode()).digest()
        key = streams.stream_key(int.from_bytes(digest[:8], "big"), READER)
        reading = _Reading(tables_of(text), key, self.span)
        return reading.cabinet(question), reading.made


def tables_of(text: str) -> dict[str, list[Row]]:
    """The four tables of a packet, ruled or flat.

    Returns
    -------
    dict
        Title to rows, each a mapping of the column's name in lower case to the value.

    Raises
    ------
    InputError
        A table, or a column that is looked at, is missing.
    """
    tables: dict[str, list[Row]] = {}
    for part in text.split("\n\n"):
        title, *lines = part.split("\n")
        if title in _COLUMNS:
            tables[title] = _ruled(lines) if "\n|" in part else _flat(lines)
    for title, columns in _COLUMNS.items():
        rows = tables.get(title, [])
        if not rows or not all(columns <= row.keys() for row in rows):
            raise InputError(
                f"the text has no table {title} whose rows give {', '.join(sorted(columns))}; give "
                "the text of a packet unchanged"
            )
    return tables


def _ruled(lines: Sequence[str]) -> list[Row]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=False)) for row in cells[2:]]  # [1] is the rule


def _flat(lines: Sequence[str]) -> list[Row]:
    fields = [[field.partition(": ") for field in line.split("; ")] for line in lines]
    return [{name.lower(): value for name, _, value in line} for line in fields]


class _Reading:
    """One walk through the tables; ``made`` counts the look-ups."""

    def __init__(
        self, tables: Mapping[str, Sequence[Row]], key: streams.Key, span: int | None
    ) -> None:
        self._tables, self._span = tables, span
        self.made = 0
        # After more renamings than CROSSWALK has rows the reader has gone round in a circle.
        self._renamings = len(tables["CROSSWALK"]) + 1
        self._words = streams.words(key, 2 + 2 * self._renamings)

    def cabinet(self, question: str) -> str:
        person = self._person(question)
        assigned = None if person is None else self._look_up("ASSIGNMENT", "person", person)
        if assigned is None:
            return NOT_FOUND
        code = assigned["project"]
        for _ in range(self._renamings):
            found = self._look_up("REGISTRY", "code", code)
            if found is not None:
                return found["cabinet"]
            renamed = self._look_up("CROSSWALK", "old code", code)
            if renamed is None:
                break
            code = renamed["new code"]
        return NOT_FOUND

    def _person(self, question: str) -> str | None:
        if badge := _BADGE.search(question):
            holder = self._look_up("STAFF", "badge", badge[1])
            return None if holder is None else holder["person"]
        if person := _PERSON.search(question):
            return person[1]
        raise InputError(
            f"the question {question!r} names neither a person nor a badge; give the question of a "
            "packet unchanged"
        )

    def _look_up(self, title: str, column: str, key: str) -> Row | None:
        """The active row with this key, None if there is none; or a wrong row."""
        self.made += 1
        rows = self._tables[title]
        right = next(
            (
                place
                for place, row in enumerate(rows)
                if row[column] == key and row.get("status", "active") == "active"
            ),
            None,
        )
        if self._loses_thread():
            return _look_alike(rows, column, key, right)
        return None if right is None else rows[right]

    def _loses_thread(self) -> bool:
        if self._span is None:
            return False
        word = self._words[self.made - 1 : self.made]
        return int(streams.mulhi(word, self._span)[0]) < self.made


def _look_alike(rows: Sequence[Row], column: str, key: str, right: int | None) -> Row | None:
    """The row, other than the right one, whose key is most like this one; the nearest of equals."""
    near = 0 if right is None else right
    places = [place for place in range(len(rows)) if place != right]
    if not places:
        return None
    best = max(places, key=lambda at: (_likeness(rows[at][column], key), -abs(at - near), -at))
    return rows[best]


def _likeness(text: str, key: str) -> tuple[int, int]:
    """Words in common, then equal signs at equal places."""
    words = len(set(text.split()) & set(key.split()))
    return words, sum(a == b for a, b in zip(text, key, strict=False))
