"""Packets for a model of one's own, and the audit of its replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from janus_jax import auditing
from janus_jax.paper import reproduce as paper
from janus_jax.paper.controlled import audit_replies, replies_frame
from janus_jax.paper.packets import json_lines, packets
from janus_jax.paper.replies import read_replies
from tests.audits import cli

NUMPY = ("--backend", "numpy")


@pytest.fixture(autouse=True)
def no_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "reproduce", lambda **_: pytest.fail("the paper is recomputed"))


def asked() -> list[dict[str, Any]]:
    return [json.loads(line) for line in json_lines(packets()).splitlines()]


def replies_file(path: Path, replies: list[Any]) -> Path:
    path.write_text("".join(json.dumps(reply) + "\n" for reply in replies), encoding="utf-8")
    return path


def right() -> list[dict[str, Any]]:
    return [{"id": packet["id"], "reply": packet["answer"]} for packet in asked()]


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    """A "model" that is wrong where the chain is long and the format flat: 40 of 160, in disorder.

    Ten of the wrong replies are sentences that hold the answer.
    """
    said: list[dict[str, Any]] = []
    for packet in asked():
        answer, wrong = packet["answer"], packet["long_chain"] and packet["flat_format"]
        spoilt = f"It is {answer}" if packet["id"].endswith(("0", "4")) else "no idea"
        said.append({"id": packet["id"], "reply": spoilt if wrong else f"**{answer}**.", "n": 1})
    return replies_file(tmp_path / "replies.jsonl", said[::-1])


def test_packets_are_written(tmp_path: Path) -> None:
    path = tmp_path / "packets.jsonl"
    run = cli.call("reproduce", "--packets", path)
    assert (run.status, run.out, run.err) == (0, f"160 packets written to {path}\n", "")
    assert path.read_bytes().decode() == json_lines(packets())
    assert cli.call("reproduce", "--packets", path).status == 0  # the same again


def test_packets_are_printed_and_nothing_else() -> None:
    run = cli.call("reproduce", "--packets", "-", "--seed", "7")
    assert (run.status, run.out, run.err) == (0, json_lines(packets(seed=7)), "")


def test_packets_replace_nothing_else(replies: Path) -> None:
    before = replies.read_bytes()
    run = cli.call("reproduce", "--packets", replies)
    assert (run.status, run.out) == (2, "")
    assert "exists and holds something else" in cli.one_message(run.err)
    assert replies.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--packets", ""), "--packets is empty: name a file"),
        (("--replies", ""), "--replies is empty: name a file"),
        (("--packets", "a", "--replies", "b"), "--replies does not go with --packets"),
        (("--packets", "a", "--json", "b"), "--json does not go with --packets"),
        (("--packets", "a", "--out", "b"), "--out does not go with --packets"),
        (("--packets", "a", "--replays", "9"), "--replays does not go with --packets"),
        (("--packets", "absent/a"), "cannot write absent/a: not writable, or no such folder"),
        (("--packets", "-", "--seed", str(2**64)), "must be an integer from 0 to 2**64 - 1"),
        (("--replies", "b", "--repetitions", "9"), "--repetitions is for the paper's numbers"),
        (("--replies", "absent.jsonl"), "absent.jsonl: no such file; check the name"),
        (("--replies", "."), ".: is a directory"),
    ],
)
def test_wrong_use(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = cli.call("reproduce", *words)
    assert (run.status, run.out) == (2, "")
    assert message in cli.one_message(run.err)
    assert not any(tmp_path.iterdir())


def test_replies_are_audited_and_nothing_else(replies: Path) -> None:
    run = cli.call("reproduce", *NUMPY, "--quiet", "--replies", replies)
    assert run.status == 0, run.err
    first, second, answer, *_ = run.out.splitlines()
    assert first == "120 of 160 replies are right"
    # Cells with a long chain and a flat format: 8, and two of five tasks of each.
    assert second.startswith("16 of the 40 wrong replies hold the answer, but not alone")
    assert "descriptors selected on discovery" in answer
    assert "flat_x_long" in answer
    assert "Procedure A, K literal decoys *" in run.out  # the methods side by side, as of an audit
    assert "verdict" not in run.out


def test_the_documents_are_the_audits(replies: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = cli.call("reproduce", *NUMPY, "--replies", replies, "--json", "-", "--out", out)
    assert run.status == 0, run.err
    document = cli.parse(run.out)
    assert document["schema"] == "janus-jax/audit/1"
    assert cli.one(document, "flat_x_long")["status"] == "confirmed"
    assert document["run"]["command"].startswith("janus-jax reproduce")
    assert "janus-jax: 120 of 160 replies are right\n" in run.err
    assert sorted(path.name for path in out.iterdir()) == [
        "findings.csv",
        "report.html",
        "report.md",
        "result.json",
    ]
    assert json.loads((out / "result.json").read_text(encoding="utf-8")) == document
    made = packets()
    alike = audit_replies(replies_frame(made, read_replies(replies, made)), backend="numpy")
    assert cli.without_run(alike.document) == cli.without_run(document)


def test_a_table_of_the_same_replies_gives_the_same_audit(replies: Path, tmp_path: Path) -> None:
    made = packets()
    table = tmp_path / "table.csv"
    replies_frame(made, read_replies(replies, made)).to_csv(table, index=False)
    run = cli.call("reproduce", *NUMPY, "--quiet", "--replies", replies, "--json", "-")
    audit = cli.audit(
        table, "--error", "wrong", "--preset", "controlled", "--seed", "11", *NUMPY, "--quiet"
    )
    assert cli.parse(run.out)["descriptors"] == audit["descriptors"]


def test_the_replies_are_not_overwritten(replies: Path) -> None:
    before = replies.read_bytes()
    run = cli.call("reproduce", *NUMPY, "--replies", replies, "--json", replies)
    assert (run.status, run.out) == (2, "")
    assert "is an input" in cli.one_message(run.err)
    assert replies.read_bytes() == before


def test_replies_to_packets_of_another_seed_are_refused(replies: Path) -> None:
    run = cli.call("reproduce", *NUMPY, "--replies", replies, "--seed", "1")
    assert (run.status, run.out) == (2, "")
    said = cli.one_message(run.err)
    assert "'seed0-cell31-task4' is no packet's id, such as 'seed1-cell00-task0'" in said
    assert "give the same --seed as for --packets" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r[1:], "no reply to 1 of 160 packets, the first 'seed0-cell00-task0'"),
        (lambda r: [*r, r[0]], "line 161: a second reply to 'seed0-cell00-task0'"),
        (lambda r: [{**r[0], "id": "nobody"}, *r[1:]], "line 1: 'nobody' is no packet's id"),
        (lambda r: [{"id": r[0]["id"], "reply": 7}, *r[1:]], "line 1: expected"),
        (lambda r: [["id"], *r[1:]], "line 1: expected"),
        (lambda r: [], "the file is empty"),
        (lambda r: r, "all 160 replies are right, so there are no errors to audit"),
        (lambda r: [{**it, "reply": "?"} for it in r], "all 160 replies are wrong, so there is"),
        (
            lambda r: [{**it, "reply": f"It is {it['reply']}"} for it in r],
            "all 160 replies are wrong (160 of them hold the answer, but not alone",
        ),
    ],
)
def test_replies_that_do_not_fit_are_refused(tmp_path: Path, change: Any, words: str) -> None:
    path = replies_file(tmp_path / "replies.jsonl", change(right()))
    run = cli.call("reproduce", *NUMPY, "--replies", path)
    assert (run.status, run.out) == (2, "")
    assert words in cli.one_message(run.err)
    assert "column" not in run.err


def test_broken_json_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('\n{"id": "seed0-cell00-task0", "rep', encoding="utf-8")
    run = cli.call("reproduce", *NUMPY, "--replies", path)
    assert (run.status, run.out) == (2, "")
    assert f"{path} line 2: " in cli.one_message(run.err)


def test_an_interrupted_audit_of_replies_says_so(
    replies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(auditing, "run_audit", interrupted)
    run = cli.call("reproduce", *NUMPY, "--replies", replies)
    assert (run.status, run.out) == (130, "")
    assert run.err == "janus-jax: interrupted: nothing was written\n"
