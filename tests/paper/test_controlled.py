"""The controlled audit: its table, and what it finds in the simulated reader's errors."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pandas as pd
import pytest

from janus_jax import InputError
from janus_jax.paper.controlled import (
    DESCRIPTORS,
    audit_replies,
    controlled_audit,
    reader_frame,
    replies_frame,
)
from janus_jax.paper.packets import Packet, packets
from janus_jax.paper.reader import SimulatedReader
from tests.audits import cli

TEN = [
    "long_chain",
    "indirect_query",
    "collision_distractors",
    "target_late",
    "flat_format",
    "long_x_indirect",
    "collision_x_indirect",
    "long_x_collision",
    "hard_join_combo",
    "flat_x_long",
]
# One look-up of eleven at most (indirect), none at all (the others): no pattern to be confirmed.
NO_PATTERN = {"indirect_query", "collision_distractors", "target_late", "flat_format"}


@pytest.fixture(scope="module")
def made() -> list[Packet]:
    return packets()


@pytest.fixture(scope="module")
def frame(made: list[Packet]) -> pd.DataFrame:
    return reader_frame(SimulatedReader(), made)


def test_the_table_holds_the_ten_descriptors(made: list[Packet], frame: pd.DataFrame) -> None:
    assert list(DESCRIPTORS) == TEN
    assert list(frame.columns) == ["id", *TEN, "wrong"]
    assert frame["id"].tolist() == [packet.id for packet in made]
    assert {str(kind) for kind in frame.dtypes.iloc[1:]} == {"bool"}
    for place, name in enumerate(TEN[:5]):
        assert frame[name].tolist() == [packet.factors[place] for packet in made]
    long, indirect, collision, flat = (frame[TEN[place]] for place in (0, 1, 2, 4))
    assert frame["long_x_indirect"].equals(long & indirect)
    assert frame["collision_x_indirect"].equals(collision & indirect)
    assert frame["long_x_collision"].equals(long & collision)
    assert frame["hard_join_combo"].equals(long & indirect & collision)
    assert frame["flat_x_long"].equals(flat & long)
    assert frame[TEN].sum().tolist() == [80, 80, 80, 80, 80, 40, 40, 40, 20, 40]


def test_replies_are_scored_by_exact_match(made: list[Packet]) -> None:
    replies = [f" {packet.answer.lower()} " for packet in made]
    replies[3], replies[5] = "not found", f"It is {made[5].answer}"
    frame = replies_frame(made, replies)
    assert frame.index[frame["wrong"]].tolist() == [3, 5]


def test_a_reply_too_few_is_refused(made: list[Packet]) -> None:
    with pytest.raises(InputError, match="there are 159 replies to 160 packets"):
        replies_frame(made, ["C-100"] * 159)


def test_a_reader_is_given_text_and_question_only(made: list[Packet]) -> None:
    seen: list[tuple[str, ...]] = []

    def reader(*given: str) -> str:
        seen.append(given)
        return "no idea"

    assert reader_frame(reader, made)["wrong"].all()
    assert seen == [(packet.text, packet.question) for packet in made]


def test_long_chains_are_where_the_simulated_reader_errs(frame: pd.DataFrame) -> None:
    result = controlled_audit()
    document = result.to_dict()
    assert (document["rule"], document["screen"]["decoys"]["K"]) == ("decoys", 200)
    assert document["plan"]["seed"] == 11
    by_name = {entry["name"]: entry for entry in document["descriptors"]}
    assert list(by_name) == TEN
    assert "ineligible" not in {entry["status"] for entry in by_name.values()}
    for name, entry in by_name.items():
        parts = entry["discovery"], entry["holdout"]
        assert [part["n"] for part in parts] == [80, 80]
        assert sum(part["errors_on"] for part in parts) == (frame[name] & frame["wrong"]).sum()
        assert sum(part["errors_off"] for part in parts) == (~frame[name] & frame["wrong"]).sum()
    assert "long_chain" in result.confirmed
    # Conjunctions with long_chain repeat it in a part of its slice and may be confirmed as well.
    assert not NO_PATTERN & set(result.confirmed)
    wrong_by_chain = frame.groupby("long_chain")["wrong"].sum()
    # Pinned: the same on every machine. The paper's models: 52 of 80 on, 6 of 80 off.
    assert (wrong_by_chain[True], wrong_by_chain[False]) == (58, 5)


@pytest.mark.long
def test_over_packet_seeds_long_chain_and_no_other_factor_is_confirmed() -> None:
    confirmed: Counter[str] = Counter()
    on = off = 0
    for packet_seed in range(20):
        result = controlled_audit(packet_seed=packet_seed, permutations=99, backend="numpy")
        confirmed.update(result.confirmed)
        row = result.findings.set_index("name").loc["long_chain"]
        on += row["discovery_errors_on"] + row["holdout_errors_on"]
        off += row["discovery_errors_off"] + row["holdout_errors_off"]
    assert confirmed["long_chain"] >= 18  # 20 when this was written
    assert sum(confirmed[name] for name in NO_PATTERN) <= 2  # 0 of 80 then
    # Near the paper's 52 and 6 of 80, and not by choice of a seed.
    assert 48 <= on / 20 <= 56
    assert 5 <= off / 20 <= 10


def test_errors_that_have_nothing_to_do_with_packets_confirm_nothing(made: list[Packet]) -> None:
    answers = {packet.text: packet.answer for packet in made}

    def guesses(text: str, question: str) -> str:
        # Wrong in three of ten cabinets' last digits, which are dealt at random.
        return "C-0" if answers[text][-1] in "258" else answers[text]

    result = controlled_audit(guesses, permutations=99, backend="numpy")
    assert result.confirmed == []


def test_a_reader_without_errors_leaves_nothing_to_audit() -> None:
    with pytest.raises(InputError, match="all 160 replies are right"):
        controlled_audit(SimulatedReader(span=None))


def test_replies_collected_elsewhere_are_audited_alike(made: list[Packet]) -> None:
    reader = SimulatedReader()
    replies = [reader(packet.text, packet.question) for packet in made]
    audited = audit_replies(replies_frame(made, replies), permutations=99, backend="numpy")
    expected = controlled_audit(permutations=99, backend="numpy")
    assert cli.without_run(audited.document) == cli.without_run(expected.document)


def test_replies_that_are_all_wrong_leave_nothing_to_audit(made: list[Packet]) -> None:
    with pytest.raises(InputError, match="all 160 replies are wrong"):
        audit_replies(replies_frame(made, ["no idea"] * 160))


def test_importing_the_modules_imports_neither_jax_nor_pandas() -> None:
    code = (
        "import sys, janus_jax.paper.controlled; "
        "print([m for m in ('jax', 'pandas', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
