"""The simulated reader: right when nothing is lost, lost the sooner the more it looks up."""

from __future__ import annotations

import inspect
from collections import defaultdict

import pytest
from scipy import stats

from janus_jax import InputError
from janus_jax.paper.packets import Packet, packets
from janus_jax.paper.reader import NOT_FOUND, SimulatedReader, tables_of

RULED = """\
Words before the tables.

STAFF
| badge | person  | status |
| ----- | ------- | ------ |
| B-1   | Ann Lee | ended  |
| B-1   | Ann Fox | active |
| B-2   | Ann Lee | active |

ASSIGNMENT
| person  | project | status |
| ------- | ------- | ------ |
| Ann Lee | AA-0001 | active |
| Bob Cox | AA-0002 | active |
| Ann Fox | AA-0003 | active |

CROSSWALK
| old code | new code |
| -------- | -------- |
| AA-0003  | CC-7777  |
| AA-0002  | BB-0002  |
| BB-0002  | AA-0002  |

REGISTRY
| code    | cabinet |
| ------- | ------- |
| AA-0001 | one     |
| ZZ-0000 | two     |
| AA-0011 | three   |
| CC-7777 | four    |"""

FLAT = """\
STAFF
BADGE: B-1; PERSON: Ann Lee; STATUS: ended
BADGE: B-1; PERSON: Ann Fox; STATUS: active
BADGE: B-2; PERSON: Ann Lee; STATUS: active

ASSIGNMENT
PERSON: Ann Lee; PROJECT: AA-0001; STATUS: active
PERSON: Bob Cox; PROJECT: AA-0002; STATUS: active
PERSON: Ann Fox; PROJECT: AA-0003; STATUS: active

CROSSWALK
OLD CODE: AA-0003; NEW CODE: CC-7777
OLD CODE: AA-0002; NEW CODE: BB-0002
OLD CODE: BB-0002; NEW CODE: AA-0002

REGISTRY
CODE: AA-0001; CABINET: one
CODE: ZZ-0000; CABINET: two
CODE: AA-0011; CABINET: three
CODE: CC-7777; CABINET: four"""


def asks(who: str) -> str:
    return f"Which cabinet holds the file of the project that {who} works on?"


@pytest.fixture(scope="module")
def many() -> list[Packet]:
    return [packet for seed in range(8) for packet in packets(5, seed)]


def test_both_formats_are_read_alike() -> None:
    assert tables_of(RULED) == tables_of(FLAT)
    assert tables_of(FLAT)["REGISTRY"][2] == {"code": "AA-0011", "cabinet": "three"}


@pytest.mark.parametrize("text", [RULED, FLAT])
@pytest.mark.parametrize(
    ("who", "reply", "look_ups"),
    [
        ("Ann Lee", "one", 2),
        ("the holder of badge B-2", "one", 3),
        ("Ann Fox", "four", 4),
        ("the holder of badge B-1", "four", 5),
        ("Eve Day", NOT_FOUND, 1),
        ("the holder of badge B-9", NOT_FOUND, 1),
        ("Bob Cox", NOT_FOUND, 1 + 2 * 4),  # round in a circle: no more than 3 rows, plus 1
    ],
)
def test_a_reader_that_never_loses_the_thread(
    text: str, who: str, reply: str, look_ups: int
) -> None:
    assert SimulatedReader(span=None).read(text, asks(who)) == (reply, look_ups)


def test_a_reader_that_always_loses_it_takes_look_alikes() -> None:
    # Ann Fox for Ann Lee, who shares a name with her though Bob Cox is nearer; AA-0001 is the code
    # most like Ann Fox's AA-0003.
    reader = SimulatedReader(span=1)
    assert reader.read(RULED, asks("Ann Lee")) == ("one", 2)
    # Both rows of badge B-2's look-alike B-1 are equally alike: the nearest, Ann Fox, whose own
    # look-alike is Ann Lee, whose code has the look-alike AA-0011.
    assert reader.read(RULED, asks("the holder of badge B-2")) == ("three", 3)


def test_without_losses_every_packet_is_answered(many: list[Packet]) -> None:
    perfect = SimulatedReader(span=None)
    for packet in many:
        reply, look_ups = perfect.read(packet.text, packet.question)
        long, indirect = packet.factors[:2]
        assert reply == packet.answer, packet.id
        assert look_ups == 2 + indirect + 8 * long


def test_it_is_a_function_of_text_and_question(many: list[Packet]) -> None:
    assert list(inspect.signature(SimulatedReader.__call__).parameters) == [
        "self",
        "text",
        "question",
    ]
    for packet in many[:160:7]:
        replies = {SimulatedReader()(packet.text, packet.question) for _ in range(2)}
        assert len(replies) == 1
        assert replies <= {
            NOT_FOUND,
            *(row["cabinet"] for row in tables_of(packet.text)["REGISTRY"]),
        }


def test_errors_grow_with_the_look_ups_as_the_mechanism_says(many: list[Packet]) -> None:
    reader, perfect = SimulatedReader(), SimulatedReader(span=None)
    wrong: dict[int, list[bool]] = defaultdict(list)
    for packet in many:
        _, needed = perfect.read(packet.text, packet.question)
        wrong[needed].append(reader(packet.text, packet.question) != packet.answer)
    assert sorted(wrong) == [2, 3, 10, 11]
    kept, expected = 1.0, {}
    for k in range(1, 12):
        kept *= 1 - k / 50
        expected[k] = 1 - kept
    rates = {needed: sum(flags) / len(flags) for needed, flags in wrong.items()}
    assert rates[2] < rates[3] < rates[10] < rates[11]
    for needed, flags in wrong.items():
        # A lost thread may be found again by luck, the more often the longer the way: the rate may
        # stay below the probability of losing it, by a tenth of it, but not above.
        above = stats.binomtest(sum(flags), len(flags), expected[needed], "greater").pvalue
        below = stats.binomtest(sum(flags), len(flags), 0.9 * expected[needed], "less").pvalue
        assert min(above, below) > 0.01, (needed, rates[needed], expected[needed])


@pytest.mark.parametrize("title", ["STAFF", "ASSIGNMENT", "CROSSWALK", "REGISTRY"])
def test_a_missing_table_is_named(title: str) -> None:
    with pytest.raises(InputError, match=f"no table {title} whose rows give"):
        SimulatedReader()(RULED.replace(f"{title}\n", "OTHER\n"), asks("Ann Lee"))


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InputError, match="no table REGISTRY whose rows give cabinet, code"):
        SimulatedReader()(RULED.replace("cabinet", "drawer"), asks("Ann Lee"))


def test_a_question_it_cannot_follow_is_refused() -> None:
    with pytest.raises(InputError, match="names neither a person nor a badge"):
        SimulatedReader()(RULED, "Where is the file?")


@pytest.mark.parametrize("span", [0, -1, 2**32])
def test_a_span_out_of_range_is_refused(span: int) -> None:
    with pytest.raises(InputError, match=r"must be from 1 to 2\*\*32 - 1, or None"):
        SimulatedReader(span=span)
