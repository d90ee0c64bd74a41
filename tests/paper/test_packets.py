"""Packets: one right answer each, by a solver of the tests' own; factors as described; balance."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from typing import NamedTuple

import pytest

from janus_jax import InputError
from janus_jax.paper.packets import Factors, Packet, json_lines, packets, record

Table = list[dict[str, str]]

FACTORS = (
    "long_chain",
    "indirect_query",
    "collision_distractors",
    "target_late",
    "flat_format",
)


class Solved(NamedTuple):
    """Every cabinet the text allows, and the places of the rows on the way, by table."""

    cabinets: set[str]
    places: dict[str, set[int]]


def parse(text: str) -> dict[str, Table]:
    """The tables, by their titles in capitals."""
    tables: dict[str, Table] = {}
    for title, body in re.findall(r"^([A-Z]+)\n((?:.+\n?)+)", text, re.MULTILINE):
        lines = body.strip().splitlines()
        if lines[0].startswith("|"):
            head, *rest = [re.findall(r"\| +(.*?) *(?= \|)", line) for line in lines]
            tables[title] = [dict(zip(head, row, strict=True)) for row in rest[1:]]
        else:
            pairs = [re.findall(r"([A-Z ]+): ([^;]+)(?:; |$)", line) for line in lines]
            tables[title] = [{name.lower(): value for name, value in line} for line in pairs]
    return tables


def solve(text: str, question: str) -> Solved:
    """Join everything with everything: all rows that can be reached from the question's words."""
    tables = parse(text)
    active = {
        title: [(at, row) for at, row in enumerate(rows) if row.get("status") in (None, "active")]
        for title, rows in tables.items()
    }
    asked = set(re.findall(r"B-\d+", question))
    people = {row["person"] for _, row in active["STAFF"] if row["badge"] in asked}
    people |= {row["person"] for row in tables["STAFF"] if row["person"] in question}
    codes = {row["project"] for _, row in active["ASSIGNMENT"] if row["person"] in people}
    for _ in tables["CROSSWALK"]:
        codes |= {row["new code"] for row in tables["CROSSWALK"] if row["old code"] in codes}
    keys = {
        "STAFF": ("person", people),
        "ASSIGNMENT": ("person", people),
        "CROSSWALK": ("old code", codes),
        "REGISTRY": ("code", codes),
    }
    places = {
        title: {at for at, row in active[title] if row[column] in wanted}
        for title, (column, wanted) in keys.items()
    }
    return Solved({tables["REGISTRY"][at]["cabinet"] for at in places["REGISTRY"]}, places)


def apart(a: str, b: str) -> int:
    """In how many places two codes differ."""
    return sum(x != y for x, y in zip(a, b, strict=True))


@pytest.fixture(scope="module")
def made() -> list[Packet]:
    return packets()


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_every_packet_has_exactly_one_answer(seed: int) -> None:
    for packet in packets(5, seed):
        solved = solve(packet.text, packet.question)
        assert solved.cabinets == {packet.answer}, packet.id
        assert packet.text.count(packet.answer) == 1
        assert packet.answer not in packet.question


def test_factors_are_fully_crossed(made: list[Packet]) -> None:
    assert Factors._fields == FACTORS
    assert len(made) == 160
    assert len({packet.id for packet in made}) == len({packet.text for packet in made}) == 160
    cells = [packet.factors for packet in made]
    for size, each in ((1, 80), (2, 40), (3, 20), (4, 10), (5, 5)):
        for some in itertools.combinations(range(5), size):
            for levels in itertools.product((False, True), repeat=size):
                assert sum(tuple(c[i] for i in some) == levels for c in cells) == each


def test_long_chains_lead_through_the_crosswalk(made: list[Packet]) -> None:
    for packet in made:
        places = solve(packet.text, packet.question).places
        assert len(places["CROSSWALK"]) == (4 if packet.factors.long_chain else 0)
        assert [len(places[t]) for t in ("STAFF", "ASSIGNMENT", "REGISTRY")] == [1, 1, 1]


def test_indirect_questions_name_a_badge_and_no_person(made: list[Packet]) -> None:
    for packet in made:
        names = [row["person"] for row in parse(packet.text)["STAFF"]]
        named = sum(name in packet.question for name in names)
        badges = len(re.findall(r"B-\d{5}", packet.question))
        assert (named, badges) == ((0, 1) if packet.factors.indirect_query else (1, 0))


def test_late_rows_stand_in_the_last_third(made: list[Packet]) -> None:
    for packet in made:
        places = set().union(*solve(packet.text, packet.question).places.values())
        assert places <= set(range(12, 18) if packet.factors.target_late else range(6))


def test_format_is_ruled_or_flat_and_nothing_else_changes(made: list[Packet]) -> None:
    columns: set[tuple[tuple[str, ...], ...]] = set()
    for packet in made:
        tables = parse(packet.text)
        assert list(tables) == ["STAFF", "ASSIGNMENT", "CROSSWALK", "REGISTRY"]
        assert [len(rows) for rows in tables.values()] == [18] * 4
        columns.add(tuple(tuple(rows[0]) for rows in tables.values()))
        assert ("|" in packet.text) != packet.factors.flat_format
        assert ("BADGE: " in packet.text) == packet.factors.flat_format
    assert len(columns) == 1


def test_collisions_look_like_the_needed_rows_and_are_nowhere_else(made: list[Packet]) -> None:
    for packet in made:
        tables = parse(packet.text)
        places = solve(packet.text, packet.question).places
        keys = {"STAFF": "badge", "CROSSWALK": "old code", "REGISTRY": "code"}
        near = {
            title: [
                sum(at != place and apart(row[key], tables[title][place][key]) <= 2
                    for at, row in enumerate(tables[title]))
                for place in places[title]
            ]
            for title, key in keys.items()
        }  # fmt: skip
        (place,) = places["ASSIGNMENT"]
        needed = tables["ASSIGNMENT"][place]
        others = [row for at, row in enumerate(tables["ASSIGNMENT"]) if at != place]
        colleagues = [
            row
            for row in others
            if row["person"] != needed["person"]
            and row["person"].split()[1] == needed["person"].split()[1]
        ]
        earlier = [row for row in others if row["person"] == needed["person"]]
        if packet.factors.collision_distractors:
            # An earlier holder of the same badge, and the badge of the colleague.
            assert near["STAFF"] == [2]
            assert near["CROSSWALK"] == [1] * len(places["CROSSWALK"])
            assert near["REGISTRY"] == [1]
            (colleague,) = colleagues
            assert colleague["unit"] != needed["unit"]
            assert colleague["status"] == "active"
            assert apart(colleague["project"], needed["project"]) in (1, 2)
            assert [row["status"] for row in earlier] == ["ended"]
        else:
            assert not any(itertools.chain(*near.values()))
            assert not colleagues
            assert not earlier
            surnames = [row["person"].split()[1] for row in tables["STAFF"]]
            assert len(set(surnames)) == 18
            codes = {row[c] for t, c in (("CROSSWALK", "old code"), ("CROSSWALK", "new code"),
                                         ("REGISTRY", "code")) for row in tables[t]}  # fmt: skip
            assert all(apart(a, b) >= 3 for a, b in itertools.combinations(codes, 2))


def test_rows_that_no_longer_count_do_not_give_collisions_away(made: list[Packet]) -> None:
    ended = {
        flag: sum(
            row["status"] == "ended"
            for packet in made
            if packet.factors.collision_distractors == flag
            for row in parse(packet.text)["STAFF"]
        )
        for flag in (False, True)
    }
    # One other row in six, and one of 18 more with collisions.
    assert 0.12 < ended[False] / (80 * 18) < 0.20
    assert 0.16 < ended[True] / (80 * 18) < 0.26


def test_a_packet_depends_on_seed_cell_and_number_alone(made: list[Packet]) -> None:
    some = {packet.id: packet for packet in made}
    assert all(some[packet.id] == packet for packet in packets(2))
    other = packets(5, seed=1)
    assert not {packet.text for packet in other} & {packet.text for packet in made}


def test_ids_name_seed_cell_and_number(made: list[Packet]) -> None:
    assert [made[place].id for place in (0, 7, 159)] == [
        "seed0-cell00-task0",
        "seed0-cell01-task2",
        "seed0-cell31-task4",
    ]
    assert packets(1, seed=2**64 - 1)[31].id == f"seed{2**64 - 1}-cell31-task0"


def test_prompts_ask_for_the_cabinet_alone(made: list[Packet]) -> None:
    for packet in made:
        *_, question, how = packet.prompt.splitlines()
        assert question == f"Question: {packet.question}"
        assert "cabinet alone" in how


def test_pinned_packets(made: list[Packet]) -> None:
    # Replies already given to these packets lose their meaning if this changes.
    digest = hashlib.sha256(json_lines(made).encode()).hexdigest()
    assert digest == "745f807cd00064dc6f68046d5fdb271c3ae49f3daf4dbb8032ffbc68d1710fc3"


def test_json_lines_hold_what_a_model_needs(made: list[Packet]) -> None:
    lines = json_lines(made).splitlines()
    assert len(lines) == 160
    for line, packet in zip(lines, made, strict=True):
        entry = json.loads(line)
        assert entry == record(packet)
        assert list(entry) == ["id", *FACTORS, "prompt", "answer"]
        assert [entry[name] for name in FACTORS] == list(packet.factors)
        assert entry["prompt"].startswith(packet.text)
        assert packet.question in entry["prompt"]
        assert not any(name in entry["prompt"] for name in (packet.id, *FACTORS))


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="tasks_per_cell is 0, but it must be at least 1"):
        packets(0)
    for seed in (-1, 2**64):
        with pytest.raises(InputError, match=r"must be an integer from 0 to 2\*\*64 - 1"):
            packets(seed=seed)
