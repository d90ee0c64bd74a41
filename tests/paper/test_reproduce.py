"""The numbers of the paper, and a model's replies to the packets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.audits import cli

QUICK = ("--repetitions", "2000", "--replays", "4000", "--backend", "numpy", "--quiet")


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    run = cli.call("reproduce", *QUICK, "--json", "-")
    assert run.status == 0, run.err
    document = cli.parse(run.out)
    assert document["schema"] == "janus-jax/reproduce/1"
    return {row["what"]: row for row in document["rows"]}


def test_nothing_differs(rows: dict[str, dict[str, Any]]) -> None:
    assert [row["what"] for row in rows.values() if row["verdict"] == "differs"] == []
    assert (
        sum(row["verdict"] in ("equal", "agrees", "same direction") for row in rows.values()) > 30
    )


def test_exact_values_are_those_of_the_paper(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["its exact p-value"]["ours"] == pytest.approx(0.00825004, abs=5e-9)
    assert rows["BH-adjusted over 34 descriptors"]["ours"] == pytest.approx(0.2805012, abs=5e-8)
    assert rows["fixed decoy floor, n = 57, K = 200"]["ours"] == pytest.approx(0.322252, abs=5e-7)


@pytest.mark.parametrize("name", ["any selection", "any confirmation"])
def test_false_reports_fall_with_k_in_a_sawtooth(
    rows: dict[str, dict[str, Any]], name: str
) -> None:
    def ours(count: int) -> float:
        return rows[f"{name}, K = {count}"]["ours"]

    assert ours(100) > 1.5 * ours(1000)
    # floor(0.1 K / 41) rises from 0 to 1 at K = 410 and from 1 to 2 at 820.
    assert ours(410) > 1.2 * ours(409)
    assert ours(820) > 1.1 * ours(819)
    assert ours(100) > ours(200) > ours(409)
    exact = rows[f"{name}, exact limit"]["ours"]
    assert abs(ours(1000) - exact) < abs(ours(100) - exact)


def test_the_planted_pattern_is_recovered(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["long_chain confirmed (1 = yes)"]["ours"] == 1
    for factor in ("indirect_query", "collision_distractors", "target_late", "flat_format"):
        assert rows[f"{factor} confirmed (1 = yes)"]["ours"] == 0


def test_the_correlated_library_has_41_different_eligible_descriptors() -> None:
    from janus_jax.paper.correlated import correlated_frame

    frame = correlated_frame()
    columns = [name for name in frame.columns if name not in ("id", "split", "wrong")]
    assert len(columns) == 41
    assert len({tuple(frame[name]) for name in columns}) == 41
    assert frame["split"].value_counts().to_dict() == {"holdout": 60, "discovery": 55}
    together = frame[columns].astype(float).corr().to_numpy()
    assert (abs(together) > 0.3).sum() > 4 * 41  # descriptors of one table go together
    on = frame.groupby("split")[columns].sum()
    assert (on >= 3).all().all()
    assert (on.sum() >= 8).all()


def written(tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    path = tmp_path / "packets.jsonl"
    assert cli.call("reproduce", "--packets", path).status == 0
    return path, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def replies_file(path: Path, replies: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(reply) + "\n" for reply in replies), encoding="utf-8")
    return path


def test_a_models_replies_are_audited(tmp_path: Path) -> None:
    _, packets = written(tmp_path)
    assert len(packets) == 160
    # A "model" that is wrong just where the chain is long and the format flat.
    replies = [
        {
            "id": packet["id"],
            "reply": "no idea"
            if packet["long_chain"] and packet["flat_format"]
            else packet["answer"],
        }
        for packet in packets
    ]
    path = replies_file(tmp_path / "replies.jsonl", replies[::-1])
    run = cli.call("reproduce", *QUICK, "--replies", path, "--json", "-")
    assert run.status == 0, run.err
    ours = {row["what"]: row["ours"] for row in cli.parse(run.out)["rows"]}
    assert ours["error rate, long_chain on (paper: its own reader)"] == 0.5
    assert ours["error rate, long_chain off (paper: its own reader)"] == 0.0
    assert ours["flat_x_long confirmed (1 = yes)"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r[1:], "no reply to 1 of 160 packets, the first 'cell00-task0'"),
        (lambda r: [*r, r[0]], "a second reply to 'cell00-task0'"),
        (lambda r: [{**r[0], "id": "nobody"}, *r[1:]], "line 1: 'nobody' is no packet's id"),
        (lambda r: [{"id": r[0]["id"], "reply": 7}, *r[1:]], "line 1: expected"),
        (lambda r: [["id"], *r[1:]], "line 1: expected"),
    ],
)
def test_replies_that_do_not_fit_are_refused(tmp_path: Path, change: Any, words: str) -> None:
    _, packets = written(tmp_path)
    replies = [{"id": packet["id"], "reply": packet["answer"]} for packet in packets]
    path = replies_file(tmp_path / "replies.jsonl", change(replies))
    run = cli.call("reproduce", *QUICK, "--replies", path)
    assert run.status == 2
    assert run.out == ""
    assert words in cli.one_message(run.err)


def test_broken_json_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('\n{"id": "cell00-task0", "rep', encoding="utf-8")
    run = cli.call("reproduce", *QUICK, "--replies", path)
    assert run.status == 2
    assert "line 2: not a JSON object" in cli.one_message(run.err)


@pytest.mark.parametrize(
    "words",
    [
        ("--replays", "0"),
        ("--repetitions", "x"),
        ("--replies", "absent.jsonl"),
        ("--packets", "a", "--replies", "b"),
    ],
)
def test_wrong_use(words: tuple[str, ...]) -> None:
    run = cli.call("reproduce", "--quiet", *words)
    assert run.status == 2
    cli.one_message(run.err)
