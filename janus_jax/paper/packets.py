"""The controlled audit's tasks: packets of four tables and a question that joins them.

A packet is plain text: STAFF (who holds a badge), ASSIGNMENT (who works on which project),
CROSSWALK (which code replaced an older one) and REGISTRY (where a code's file is kept). Its
question names a person or a badge and asks for a cabinet. Five facts about a packet are its
*factors*, each on in one half of the packets, fully crossed:

* ``long_chain``: the project's code was renamed four times, so the way to REGISTRY leads through
  CROSSWALK; otherwise the code is in use as it stands;
* ``indirect_query``: the question names a badge, whose holder STAFF gives; otherwise the person;
* ``collision_distractors``: other rows look like the needed ones: a colleague of the same surname
  in another unit with a badge and a project whose codes differ in a sign or two, an ended
  assignment of the same person, an earlier holder of the same badge; otherwise no two surnames are
  equal and any two codes differ in three places or more;
* ``target_late``: the needed rows stand in the last third of their tables; otherwise in the first;
* ``flat_format``: each row is a line of ``KEY: value; KEY: value``; otherwise a ruled table.

Tables have the same number of rows whatever the factors: distractors take the place of other rows.
Packets come from random words alone (:mod:`janus_jax.streams`), the same on every machine.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import ne
from typing import Any, Final, NamedTuple, TypeVar

from janus_jax import streams
from janus_jax.errors import InputError

PACKETS: Final = 101
"""The stream of a seed that packets are made from; the audit's own streams have other numbers."""

ROWS: Final = 18
"""Rows of each table."""
RENAMES: Final = 4
"""How often the code of a long chain was renamed."""
APART: Final = 3
"""Places in which two codes differ that are not made to collide."""

_THIRD = ROWS // 3
_BLOCK = 512  # words made at once; another number would make other packets

_UNITS = ("Archives", "Geology", "Hydrology", "Mapping", "Metering", "Surveys", "Transport")
_SITES = ("Alder House", "Dock Annex", "Hill Depot", "Mill Court", "North Wing", "Quay Store")
_FIRST_NAMES = (
    "Adela", "Bruno", "Carmen", "Dmitri", "Esther", "Farid", "Greta", "Hiro", "Ines", "Jonas",
    "Keiko", "Lamar", "Mirela", "Nadia", "Oscar", "Priya", "Quentin", "Rosa", "Samir", "Tamsin",
)  # fmt: skip
_SURNAMES = (
    "Abara", "Bianchi", "Castell", "Dvorak", "Eklund", "Fontaine", "Garside", "Hoekstra", "Ivanov",
    "Jansen", "Kowalski", "Lindqvist", "Moreau", "Nakata", "Okafor", "Petrov", "Quiroga", "Rossi",
    "Sandoval", "Tanaka", "Umarov", "Varga", "Whitlock", "Yilmaz",
)  # fmt: skip
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_PROJECT_CODE = "LL-DDDD"
_BADGE = "B-DDDDD"

_RULES = (
    "Only rows whose status is active count.",
    "STAFF says who holds a badge, ASSIGNMENT which project a person works on.",
    "REGISTRY says where the file of a project is kept, under the code in use today.",
    "A code that is not in REGISTRY was replaced: CROSSWALK gives the new code, which may have "
    "been replaced again.",
)
_HOW_TO_ANSWER = "Reply with the cabinet alone, as it stands in REGISTRY: no other words or signs."

Row = Mapping[str, str]
"""One row of a table: column to value, in column order."""
T = TypeVar("T")


class Factors(NamedTuple):
    """The five facts about a packet; each is on or off, see the module's description."""

    long_chain: bool
    indirect_query: bool
    collision_distractors: bool
    target_late: bool
    flat_format: bool


@dataclass(frozen=True, slots=True)
class Packet:
    """One task.

    Attributes
    ----------
    id
        The seed of the packets, its cell, 0 to 31, and its number in the cell:
        ``seed0-cell07-task3``. Packets of different seeds are different questions, and no two have
        the same id.
    factors
        What was varied; a reader never sees it.
    text
        The rules in words and the four tables.
    question
        One sentence.
    answer
        The cabinet, as it stands in REGISTRY.
    """

    id: str
    factors: Factors
    text: str
    question: str
    answer: str

    @property
    def prompt(self) -> str:
        """What a model is given: the text, the question and how to answer."""
        return f"{self.text}\n\nQuestion: {self.question}\n{_HOW_TO_ANSWER}"


def packets(tasks_per_cell: int = 5, seed: int = 0) -> list[Packet]:
    """Make the packets of all 32 cells of the five factors.

    Parameters
    ----------
    tasks_per_cell
        Packets of each cell, at least 1. The paper's audit has 5: 160 packets.
    seed
        0 to 2**64 - 1. Packet j of a cell depends on the seed, the cell and j alone.

    Returns
    -------
    list of Packet
        Length 32 * tasks_per_cell, cell by cell. Each factor is on in half of them, each pair of
        factors in a quarter, and so on.

    Raises
    ------
    InputError
        A number is out of range.
    """
    if tasks_per_cell < 1:
        raise InputError(f"tasks_per_cell is {tasks_per_cell}, but it must be at least 1")
    if not 0 <= seed < 1 << 64:
        raise InputError(f"seed is {seed}, but it must be an integer from 0 to 2**64 - 1")
    return list(_packets(tasks_per_cell, seed))


@lru_cache(maxsize=4)  # a second is spent on them, and whoever audits replies asks for them again
def _packets(tasks_per_cell: int, seed: int) -> tuple[Packet, ...]:
    stream = streams.stream_key(seed, PACKETS)
    made: list[Packet] = []
    for cell, levels in enumerate(itertools.product((False, True), repeat=len(Factors._fields))):
        key = streams.fold_in(stream, cell)
        made.extend(
            _make(
                f"seed{seed}-cell{cell:02d}-task{task}",
                Factors(*levels),
                streams.fold_in(key, task),
            )
            for task in range(tasks_per_cell)
        )
    return tuple(made)


def record(packet: Packet) -> dict[str, Any]:
    """A packet as JSON values: ``id``, the five factors, ``prompt``, ``answer``."""
    return {
        "id": packet.id,
        **packet.factors._asdict(),
        "prompt": packet.prompt,
        "answer": packet.answer,
    }


def json_lines(made: Iterable[Packet]) -> str:
    """One JSON object per packet and line, to give to a model; see :func:`record`."""
    return "".join(json.dumps(record(packet)) + "\n" for packet in made)


class _Draws:
    """Random choices from the words of one key."""

    def __init__(self, key: streams.Key) -> None:
        self._words = self._all_words(key)

    @staticmethod
    def _all_words(key: streams.Key) -> Iterator[int]:
        for block in itertools.count():
            yield from streams.words(streams.fold_in(key, block), _BLOCK).tolist()

    def below(self, m: int) -> int:
        """0 to m - 1, as :func:`janus_jax.streams.mulhi` maps a word."""
        return next(self._words) * m >> 32

    def one_of(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def shuffled(self, items: Iterable[T]) -> list[T]:
        """The items in random order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order


class _Codes:
    """Codes of one pattern (L a letter, D a digit): far from each other, or near on purpose."""

    def __init__(self, pattern: str, draws: _Draws) -> None:
        self._pattern, self._draws = pattern, draws
        self._taken: list[str] = []

    def fresh(self) -> str:
        """A code that differs from all others in at least :data:`APART` places."""
        while True:
            code = "".join(self._sign(part) for part in self._pattern)
            if self._is_apart(code, self._taken):
                self._taken.append(code)
                return code

    def near(self, code: str) -> str:
        """A code with one digit of this one changed, or two neighbouring digits swapped."""
        others = [other for other in self._taken if other != code]
        digits = [at for at, part in enumerate(self._pattern) if part == "D"]
        while True:
            signs, at = list(code), self._draws.one_of(digits[:-1])
            if self._draws.below(2):
                signs[at], signs[at + 1] = signs[at + 1], signs[at]
            else:
                signs[at] = self._sign("D")
            made = "".join(signs)
            if made != code and self._is_apart(made, others):
                self._taken.append(made)
                return made

    def _sign(self, part: str) -> str:
        choices = {"L": _LETTERS, "D": "0123456789"}.get(part, part)
        return self._draws.one_of(choices)

    @staticmethod
    def _is_apart(code: str, others: Iterable[str]) -> bool:
        return all(sum(map(ne, code, other)) >= APART for other in others)


@dataclass(frozen=True, slots=True)
class _Person:
    name: str
    unit: str
    badge: str


class _Table:
    """Rows of a table before they are placed: the needed ones, and the others."""

    def __init__(self) -> None:
        self.needed: list[Row] = []
        self.others: list[Row] = []

    def add(self, row: Row, *, needed: bool = False) -> None:
        (self.needed if needed else self.others).append(row)

    def placed(self, draws: _Draws, *, late: bool) -> list[Row]:
        """All rows in random order, save that the needed ones stand in one third."""
        first = ROWS - _THIRD if late else 0
        spots = draws.shuffled(range(first, first + _THIRD))[: len(self.needed)]
        rows = draws.shuffled(self.others)
        for spot, row in sorted(zip(spots, self.needed, strict=True), key=lambda pair: pair[0]):
            rows.insert(spot, row)
        return rows


def _make(name: str, factors: Factors, key: streams.Key) -> Packet:
    draws = _Draws(key)
    people = _people(factors, draws)
    chains = _chains(factors, draws)
    cabinets = [f"C-{number}" for number in draws.shuffled(range(100, 1000))[:ROWS]]
    tables = {
        "STAFF": _staff(people, factors, draws),
        "ASSIGNMENT": _assignment(people, chains, factors, draws),
        "CROSSWALK": _crosswalk(chains),
        "REGISTRY": _registry(chains, cabinets, draws),
    }
    write = _flat if factors.flat_format else _ruled
    parts = ["\n".join(_RULES)]
    for title, table in tables.items():
        parts.append("\n".join([title, *write(table.placed(draws, late=factors.target_late))]))
    who = f"the holder of badge {people[0].badge}" if factors.indirect_query else people[0].name
    question = f"Which cabinet holds the file of the project that {who} works on?"
    return Packet(name, factors, "\n\n".join(parts), question, cabinets[0])


def _people(factors: Factors, draws: _Draws) -> list[_Person]:
    """The person asked about, then (with collisions) one easily taken for them, then others."""
    badges = _Codes(_BADGE, draws)
    surnames = draws.shuffled(_SURNAMES)
    people = [
        _Person(f"{draws.one_of(_FIRST_NAMES)} {surname}", draws.one_of(_UNITS), badges.fresh())
        for surname in surnames[:ROWS]
    ]
    if factors.collision_distractors:
        asked = people[0]
        first, surname = asked.name.split()
        people[1] = _Person(
            f"{draws.one_of([name for name in _FIRST_NAMES if name != first])} {surname}",
            draws.one_of([unit for unit in _UNITS if unit != asked.unit]),
            badges.near(asked.badge),
        )
    return people


def _chains(factors: Factors, draws: _Draws) -> list[list[str]]:
    """Per project its codes, oldest first; shape (ROWS, renames of the project + 1).

    The first is the one asked about; with collisions, the second looks like it code by code.
    """
    codes = _Codes(_PROJECT_CODE, draws)
    chains = [[codes.fresh() for _ in range(RENAMES * factors.long_chain + 1)]]
    if factors.collision_distractors:
        chains.append([codes.near(code) for code in chains[0]])
    left = ROWS - sum(len(chain) - 1 for chain in chains)  # rows of CROSSWALK not yet used
    while len(chains) < ROWS:
        renames = min(left, 1 + draws.below(RENAMES))
        left -= renames
        chains.append([codes.fresh() for _ in range(renames + 1)])
    return chains


def _staff(people: Sequence[_Person], factors: Factors, draws: _Draws) -> _Table:
    table = _Table()
    for place, person in enumerate(people):
        badge, status = person.badge, _status(draws)
        if place == 0 or (place == 1 and factors.collision_distractors):
            status = "active"
        elif place == 2 and factors.collision_distractors:
            badge, status = people[0].badge, "ended"  # an earlier holder of the badge asked about
        row = {"badge": badge, "person": person.name, "unit": person.unit, "status": status}
        table.add(row, needed=place == 0)
    return table


def _assignment(
    people: Sequence[_Person], chains: Sequence[Sequence[str]], factors: Factors, draws: _Draws
) -> _Table:
    table = _Table()
    for place, (person, chain) in enumerate(zip(people, chains, strict=True)):
        who, status = person, _status(draws)
        if place == 0 or (place == 1 and factors.collision_distractors):
            status = "active"
        elif place == 2 and factors.collision_distractors:
            who, status = people[0], "ended"  # what the person asked about worked on before
        row = {"person": who.name, "unit": who.unit, "project": chain[0], "status": status}
        table.add(row, needed=place == 0)
    return table


def _status(draws: _Draws) -> str:
    """One other row in six no longer counts, with or without collisions."""
    return "active" if draws.below(6) else "ended"


def _crosswalk(chains: Sequence[Sequence[str]]) -> _Table:
    table = _Table()
    for place, chain in enumerate(chains):
        for old, new in itertools.pairwise(chain):
            table.add({"old code": old, "new code": new}, needed=place == 0)
    return table


def _registry(chains: Sequence[Sequence[str]], cabinets: Sequence[str], draws: _Draws) -> _Table:
    table = _Table()
    for place, (chain, cabinet) in enumerate(zip(chains, cabinets, strict=True)):
        room = str(1 + draws.below(40))
        row = {"code": chain[-1], "site": draws.one_of(_SITES), "room": room, "cabinet": cabinet}
        table.add(row, needed=place == 0)
    return table


def _ruled(rows: Sequence[Row]) -> list[str]:
    columns = list(rows[0])
    cells = [columns, *([row[column] for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "| " + " | ".join(map(str.ljust, line, widths)) + " |"
        for line in (columns, ["-" * width for width in widths], *cells[1:])
    ]


def _flat(rows: Sequence[Row]) -> list[str]:
    return ["; ".join(f"{name.upper()}: {value}" for name, value in row.items()) for row in rows]
