"""LongBench v2's recipe: who is eligible, what a reply names, the columns, and the audit."""

from __future__ import annotations

import csv
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.audits import cli
from tests.examples.made import EXAMPLES, longbench_record, module, replies, write_list

longbench = module("longbench_v2")
table = module("benchmark_table")


def question(tmp_path: Path, **fields: Any) -> Any:
    """One record, read."""
    path = write_list(tmp_path / "data.json", [longbench_record("one", **fields)])
    return longbench.read_questions(str(path))["one"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"answer": "D"}, None),
        ({"answer": "E"}, "with a gold answer that is none of A to D"),
        ({"answer": "a"}, "with a gold answer that is none of A to D"),
        ({"answer": ""}, "with a gold answer that is none of A to D"),
        ({"answer": "AB"}, "with a gold answer that is none of A to D"),
        ({"options": ("x", "y", "", "z")}, "with an empty option"),
        ({"options": ("x", "y", "z", " \n")}, "with an empty option"),
        ({"context": "w " * 30_000}, None),
        ({"context": "w " * 30_001}, "with more than 30,000 words"),
        ({"context": "w\n\n" * 30_000}, None),
        ({"context": "é" * 120_000}, None),  # characters, not bytes
        ({"context": "é" * 120_001}, "with more than 120,000 characters"),
        ({"context": "abc " * 30_000}, None),  # both bounds at once
        ({"context": "abc " * 29_999 + "abcde"}, "with more than 120,000 characters"),
        ({"context": "abcd " * 30_001}, "with more than 30,000 words"),  # the first reason
        ({"answer": "E", "options": ("", "", "", "")}, "with a gold answer that is none of A to D"),
    ],
)
def test_eligible(tmp_path: Path, fields: dict[str, Any], reason: str | None) -> None:
    assert longbench.unfit(question(tmp_path, **fields)) == reason


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        ("The correct answer is (B)", "B"),
        ("The correct answer is B.", "B"),
        ("Well. **The correct answer is (C)**, as the text says (A).", "C"),
        ("The correct answer is A. No: The correct answer is (B).", "B"),  # brackets come first
        ("The correct answer is (A). No: The correct answer is (B).", "A"),
        ("The correct answer is Denmark", None),
        ("The correct answer is (E)", None),
        ("the correct answer is (B)", None),
        ("B", "B"),
        (" (D). ", "D"),
        ("**A**", "A"),
        ("b", None),
        ("A and B", None),
        ("I think B", None),
        ("", None),
    ],
)
def test_chosen(reply: str, option: str | None) -> None:
    assert longbench.chosen(reply) == option


def test_columns(tmp_path: Path) -> None:
    found = longbench.facts(
        question(
            tmp_path,
            question="In 1999, which of these isn\u2019t said?",
            options=("red cars", "red boats", "Blue cars!", "a long green thing"),
            answer="D",
            # 20 words; York, Ann Lee, (Bob), but not the openers; 3 numbers.
            context="New York is red. It has 1,200 cars and 3.5 boats (Bob said). "
            "There Ann Lee saw 7 blue ones.",
        )
    )
    assert found == {
        "context_words": 20,
        "context_characters": 91,
        "question_words": 7,
        "question_type": "which",
        "question_negated": True,
        "option_words": 10,
        # Pairs: red 1/3, cars 1/3, four times 0.
        "option_overlap": 0.1111,
        # red, cars, boats, blue of red, cars, boats, blue, a, long, green, thing.
        "options_in_context": 0.5,
        "capitalised_per_1000_words": 150.0,
        "numbers_per_1000_words": 150.0,
        "gold_option": "D",
        "gold_is_longest": True,
        "domain": "Single-Document QA",
        "sub_domain": "Financial",
        "difficulty": "easy",
        "length": "short",
    }


@pytest.mark.parametrize(
    ("asked", "kind", "negated"),
    [
        ("What is it?", "what", False),
        ("According to whom did it end, and why?", "whom", False),
        ("Choose one.", "other", False),
        ("All of these are true EXCEPT", "other", True),
        ("Which is not so?", "which", True),
        ("Why can't it?", "why", True),
        ("Somehow, a knot", "other", False),
    ],
)
def test_question_types(tmp_path: Path, asked: str, kind: str, negated: bool) -> None:
    found = longbench.facts(question(tmp_path, question=asked))
    assert (found["question_type"], found["question_negated"]) == (kind, negated)


def test_columns_at_their_ends(tmp_path: Path) -> None:
    found = longbench.facts(question(tmp_path, options=("x", "x", "X", "x."), context=""))
    assert found["option_overlap"] == 1
    assert (found["context_words"], found["numbers_per_1000_words"]) == (0, 0)
    assert found["options_in_context"] == 0
    found = longbench.facts(question(tmp_path, options=("+", "-", "*", "//"), answer="A"))
    assert (found["option_overlap"], found["options_in_context"]) == (0, 0)
    assert found["gold_is_longest"] is False
    tied = longbench.facts(question(tmp_path, options=("xx", "yy", "z", "z"), answer="A"))
    assert tied["gold_is_longest"] is False


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        ("", 0),
        ("Paris", 0),  # it opens a sentence
        ("in Paris", 1),
        ("in New York City, not in Boston", 2),
        ("Then Ann. Bob left! Did Carl?", 2),  # Ann, Carl
        ("he met Ann. Lee left", 1),
        ('she said "Well." Then "Ann" left', 2),  # Well, Ann
    ],
)
def test_capitalised(words: str, runs: int) -> None:
    assert longbench.capitalised(words) == runs


def test_from_files_to_findings(tmp_path: Path) -> None:
    records = [
        longbench_record(
            f"q{i}",
            context="word " * (100 + i) + "12 " * (i % 4),
            sub_domain=("Legal", "Financial", "Academic")[i % 3],
            answer="ABCD"[i % 4],
            options=("red", "green", "blue", "white") if i % 2 else ("red", "red", "blue", "red x"),
        )
        for i in range(150)
    ]
    records.append(longbench_record("long", context="w " * 30_001))
    records.append(longbench_record("silent"))
    # Long contexts go wrong, and so does every tenth of the others.
    said = {
        f"q{i}": "I do not know" if i % 10 == 0 else "E" if i >= 75 else f"({'ABCD'[i % 4]})"
        for i in range(150)
    }
    data = write_list(tmp_path / "data.json", records)
    out = tmp_path / "l.csv"
    words = [
        *(sys.executable, EXAMPLES / "longbench_v2.py", data),
        *(replies(tmp_path / "replies.jsonl", {**said, "long": "A"}), "--out", out),
    ]
    run = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stderr == ""
    first, left_out, remarks, _, command = run.stdout.splitlines()
    assert first == f"{out}: 150 of the 152 examples of {data}, 83 of them wrong"
    assert left_out == "left out: 1 with more than 30,000 words, 1 without a reply"
    assert remarks == "counted as wrong: 83 without an option named"
    with open(out, encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [f"q{i}" for i in range(150)]

    program, name, *rest = shlex.split(command)
    assert (program, name) == ("janus-jax", "audit")
    result = cli.audit(*rest, "--backend", "numpy", "--permutations", "99")
    plan = result["plan"]
    assert (plan["preset"], plan["seed"]) == ("longbench-v2", 42)
    assert plan["split"]["stratify"] == "sub_domain"
    assert result["data"]["discovery"]["n"] == 75
    found = cli.by_name(result)
    (long,) = (found[name] for name in found if name.startswith("context_words > "))
    assert long["status"] == "confirmed"
    assert {"sub_domain = Legal", "gold_option = A"} <= set(found)
    # Whatever is not used is a label that is the same everywhere, or a yes/no that is.
    reasons = cli.not_used(result)
    assert all(reason.startswith("constant") for reason in reasons.values()), reasons


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{]", "data.json: not JSON in UTF-8: Expecting property name enclosed in double quotes"),
        ('{"a": 1}', 'data.json: expected a list of objects, found {"a": 1}'),
        ("[1]", "data.json record 1: expected an object, found 1"),
        ('[{"_id": 3}]', "data.json record 1: '_id' must be text, found 3"),
        ('[{"_id": "x"}]', "data.json record 1: 'question' must be text, found no such field"),
        ("[]", "none of the 0 examples of"),
    ],
)
def test_a_bad_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    data = tmp_path / "data.json"
    data.write_text(content, encoding="utf-8")
    said = replies(tmp_path / "replies.jsonl", {})
    words = [str(data), str(said), "--out", str(tmp_path / "l.csv")]
    assert table.run(longbench.RECIPE, longbench.__doc__, words) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


def test_an_id_twice_is_refused(tmp_path: Path) -> None:
    data = write_list(tmp_path / "data.json", [longbench_record("q"), longbench_record("q")])
    with pytest.raises(ValueError, match="record 2: a second record of id 'q'; keep one of them"):
        longbench.read_questions(str(data))
