"""MuSiQue's recipe: descriptors by hand, files in, table out, and the audit of the table."""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.audits import cli
from tests.examples.made import EXAMPLES, module, musique_record, replies, write_lines

musique = module("musique")
table = module("benchmark_table")


def facts(tmp_path: Path, **fields: Any) -> dict[str, Any]:
    """The columns of one record."""
    path = write_lines(tmp_path / "dev.jsonl", [musique_record("one", **fields)])
    return musique.facts(musique.read_examples(str(path))["one"])


def test_counts(tmp_path: Path) -> None:
    found = facts(
        tmp_path,
        support=(3, 4, 11),
        hops=4,
        aliases=("x", "y"),
        question="Who, in  the\nend, won?",
    )
    assert found == {
        "num_support": 3,
        "num_hops": 4,
        "support_distance": 8,
        "answer_para_late": False,
        "distractor_count": 17,
        "answer_alias_count": 2,
        "question_words": 5,
        "support_nonadjacent": True,
    }


@pytest.mark.parametrize(
    ("support", "paragraphs", "late"),
    [
        ((0, 13), 20, False),
        ((0, 14), 20, True),  # 14/20 is 70%
        ((14, 0), 20, True),
        ((6,), 10, False),
        ((7,), 10, True),
        ((4,), 7, False),  # 4.9 is the bound
        ((5,), 7, True),
        ((0,), 1, False),
    ],
)
def test_late(tmp_path: Path, support: tuple[int, ...], paragraphs: int, late: bool) -> None:
    assert facts(tmp_path, support=support, paragraphs=paragraphs)["answer_para_late"] is late


@pytest.mark.parametrize(
    ("support", "distance", "nonadjacent"),
    [
        ((4,), 0, False),
        ((4, 5), 1, False),
        ((4, 5, 6), 2, False),
        ((4, 6), 2, True),
        ((4, 5, 7), 3, True),
        ((0, 19), 19, True),
    ],
)
def test_distance(
    tmp_path: Path, support: tuple[int, ...], distance: int, nonadjacent: bool
) -> None:
    found = facts(tmp_path, support=support)
    assert (found["support_distance"], found["support_nonadjacent"]) == (distance, nonadjacent)


def files(tmp_path: Path, count: int = 160) -> tuple[Path, Path]:
    """Examples of two and three hops; replies to the latter are mostly wrong, others right."""
    records = [
        musique_record(
            f"{2 + i % 2}hop__{i}",
            answer=f"Person {i}",
            hops=2 + i % 2,
            support=(i % 5, 6 + i % 7, 14 + i % 3)[: 2 + i % 2],
            aliases=("Somebody",) if i % 3 == 0 else (),
            question="Who " + "really " * (i % 4) + "did it?",
        )
        for i in range(count)
    ]
    said = {
        record["id"]: f"It was Person {i}" if i % 2 == 0 or i % 10 == 1 else "nobody"
        for i, record in enumerate(records)
    }
    return (
        write_lines(tmp_path / "dev.jsonl", records),
        replies(tmp_path / "replies.jsonl", said),
    )


def test_from_files_to_findings(tmp_path: Path) -> None:
    dev, said = files(tmp_path)
    out = tmp_path / "table of facts.csv"
    words = [sys.executable, EXAMPLES / "musique.py", dev, said, "--out", out]
    run = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stderr == ""
    first, left_out, _, command = run.stdout.splitlines()
    assert first == f"{out}: 160 of the 160 examples of {dev}, 64 of them wrong"
    assert left_out == "left out: none"

    with open(out, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows[:3]] == ["2hop__0", "3hop__1", "2hop__2"]
    assert [row["wrong"] for row in rows[:4]] == ["false", "false", "false", "true"]

    program, *rest = shlex.split(command)
    assert program == "janus-jax"
    result = cli.audit(*rest[1:], "--backend", "numpy", "--permutations", "99")
    assert (rest[0], result["plan"]["preset"], result["plan"]["seed"]) == ("audit", "musique", 7)
    assert result["data"]["discovery"]["n"] == 80
    hops = cli.one(result, "num_hops > 2")
    assert hops["status"] == "confirmed"
    # 0 or 1 aliases are a count, not yes/no; a count that is the same everywhere gives nothing.
    assert "answer_alias_count > 0" in cli.by_name(result)
    assert {d.split(" > ")[0] for d in cli.by_name(result)} <= {
        *musique.NUMERIC,
        "answer_para_late",
        "support_nonadjacent",
    }


def test_what_is_left_out_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dev = write_lines(
        tmp_path / "dev.jsonl",
        [
            musique_record("kept", answer="x"),
            musique_record("blank", answer="x"),
            musique_record("silent", answer="x"),
            musique_record("open", answerable=False, support=()),
            musique_record("signs", answer="The ..."),
        ],
    )
    said = replies(
        tmp_path / "replies.jsonl",
        {"signs": "the", "open": "x", "blank": " ", "kept": "X"},
    )
    out = tmp_path / "m.csv"
    assert table.run(musique.RECIPE, musique.__doc__, [str(dev), str(said), "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "2 of the 5 examples" in lines[0]
    assert "1 of them wrong" in lines[0]
    assert lines[1] == (
        "left out: 1 without a reply, 1 not answerable, "
        "1 with an answer of articles and signs alone"
    )
    assert lines[2] == "counted as wrong: 1 blank"
    header, *rows = out.read_text(encoding="utf-8").splitlines()
    assert header.split(",") == [
        "id",
        *("num_support", "num_hops", "support_distance", "answer_para_late", "distractor_count"),
        *("answer_alias_count", "question_words", "support_nonadjacent", "wrong"),
    ]
    assert rows == ["kept,2,2,3,false,18,0,8,true,false", "blank,2,2,3,false,18,0,8,true,true"]


def broken(**fields: object) -> str:
    """A record as JSON with some fields replaced; None drops the field."""
    record = {**musique_record("one"), **fields}
    return json.dumps({key: value for key, value in record.items() if value is not None})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "dev.jsonl line 2: not JSON in UTF-8: Expecting property name"),
        ("[1]", "dev.jsonl line 2: expected an object, found [1]"),
        (broken(id=7), "dev.jsonl line 2: 'id' must be text, found 7"),
        (broken(id=" "), "dev.jsonl line 2: the id is blank"),
        (broken(id="good"), "dev.jsonl line 2: a second record of id 'good'; keep one of them"),
        (broken(answer=None), "dev.jsonl line 2: 'answer' must be text, found no such field"),
        (broken(answerable=1), "dev.jsonl line 2: 'answerable' must be true or false, found 1"),
        (broken(paragraphs="x"), "dev.jsonl line 2: 'paragraphs' must be a list, found \"x\""),
        (broken(paragraphs=[3]), "dev.jsonl line 2: expected an object, found 3"),
        (broken(paragraphs=[]), "dev.jsonl line 2: no paragraph is supporting"),
        (broken(paragraphs=[{}]), "'is_supporting' must be true or false, found no such field"),
        (broken(answer_aliases=["x", 1]), "dev.jsonl line 2: 'answer_aliases' must all be text"),
        (broken(question_decomposition={}), "'question_decomposition' must be a list, found {}"),
    ],
)
def test_a_bad_record_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    dev = tmp_path / "dev.jsonl"
    dev.write_text(json.dumps(musique_record("good")) + "\n" + line + "\n", encoding="utf-8")
    said = replies(tmp_path / "replies.jsonl", {"good": "x"})
    assert message in refused(capsys, dev, said, tmp_path / "m.csv")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "good"}', "replies.jsonl line 3: 'reply' must be text, found no such field"),
        ('{"id": "good", "reply": null}', "line 3: 'reply' must be text, found null"),
        ('{"id": "good", "reply": "y"}', "line 3: a second record of id 'good'; keep one of them"),
        ('{"id": "gone", "reply": "y"}', "dev.jsonl has no example 'gone'; is it the right file?"),
        ('{"id": "good", "reply": "\xe9"}', "line 3: not JSON in UTF-8: 'utf-8' codec"),
    ],
)
def test_a_bad_reply_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    dev = write_lines(tmp_path / "dev.jsonl", [musique_record("good")])
    said = tmp_path / "replies.jsonl"
    said.write_bytes(b'{"id": "good", "reply": "x\xe2\x80\xa8y"}\n\n' + line.encode("latin-1"))
    assert message in refused(capsys, dev, said, tmp_path / "m.csv")


def test_files_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dev, said = files(tmp_path, 4)
    absent, out = tmp_path / "absent", tmp_path / "m.csv"
    empty = write_lines(tmp_path / "empty.jsonl", [])
    assert "cannot read" in refused(capsys, absent, said, out)
    assert "No such file" in refused(capsys, dev, absent, out)
    assert "name a file in a folder that exists" in refused(capsys, dev, said, absent / "m.csv")
    assert "name a file in a folder that exists" in refused(capsys, dev, said, tmp_path)
    assert "writing the table would destroy it" in refused(capsys, dev, said, said)
    assert "none of the 4 examples of" in refused(capsys, dev, empty, out)
    assert not out.exists()


def refused(capsys: pytest.CaptureFixture[str], dev: Path, said: Path, out: Path) -> str:
    """The one line of a refusal."""
    status = table.run(musique.RECIPE, musique.__doc__, [str(dev), str(said), "--out", str(out)])
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert printed.err.count("\n") == 1
    assert ": error: " in printed.err
    return printed.err
