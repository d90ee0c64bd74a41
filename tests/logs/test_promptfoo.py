"""promptfoo results: the same attempts from JSON, JSON Lines, tables and CSV; verdicts as meant."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.promptfoo import FORMAT

DATA = Path(__file__).parents[1] / "data" / "formats" / "promptfoo"
JSON, LINES, CSV = (DATA / f"promptfoo_v0.123.1_output.{kind}" for kind in ("json", "jsonl", "csv"))
CASE = DATA / "failure_vs_error.json"


def read(path: Path) -> tuple[list[Attempt], list[str]]:
    context = Context(hashlib.sha256())
    attempts = list(FORMAT.read(str(path), context))
    assert context.hasher.hexdigest() == hashlib.sha256(path.read_bytes()).hexdigest()
    return attempts, context.notes


def recognised(path: Path) -> bool:
    head = path.read_bytes()[:65536].removeprefix(b"\xef\xbb\xbf")
    return FORMAT.recognises(Probe(str(path), head, frozenset()))


def outcomes(attempts: list[Attempt]) -> Counter[tuple[str, Any]]:
    return Counter((attempt.status, attempt.scores.get("success")) for attempt in attempts)


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LINES.read_text().splitlines()]


def lines_of(tmp_path: Path, results: list[dict[str, Any]]) -> Path:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(result) + "\n" for result in results))
    return path


def document_of(tmp_path: Path, results: Any) -> Path:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": results, "config": {}}, indent=1))
    return path


@pytest.mark.parametrize("path", [JSON, LINES, CSV])
def test_counts_are_promptfoos(path: Path) -> None:
    """15 passed (two of them tests without assertions), 26 failed, 1 error."""
    assert recognised(path)
    attempts, _ = read(path)
    assert outcomes(attempts) == {
        ("ok", True): 13,
        ("unscored", None): 2,
        ("ok", False): 26,
        ("error", None): 1,
    }
    assert len({attempt.example for attempt in attempts}) == 21


def test_all_exports_agree() -> None:
    def told(path: Path) -> dict[Any, Any]:
        return {
            (a.example, a.coordinates["model"], a.coordinates["prompt"]): (
                a.status,
                a.scores.get("success"),
                a.scores.get("namedScores.correct"),
                a.facts["description"],
                a.texts["vars.question"],
                dict(a.derived["vars"]),
            )
            for a in read(path)[0]
        }

    assert told(JSON) == told(LINES) == told(CSV)
    assert len(told(JSON)) == 42


def test_scores_are_the_verdict_the_score_and_each_named_score() -> None:
    first = read(JSON)[0][0]
    assert first.scores == {
        "success": False,
        "score": 0.3333333333333333,
        "namedScores.correct": 0,
        "namedScores.brevity": 1,
    }


def test_providers_that_share_an_id_differ_by_label() -> None:
    """Both are file://provider.js."""
    assert {a.coordinates["model"] for a in read(JSON)[0]} == {
        "openai-6b-verification",
        "openai-175b-verification",
    }


def test_a_provider_without_label_goes_by_its_id(tmp_path: Path) -> None:
    results = rows()[:3]
    results[0]["provider"] = {"id": "openai:gpt-4", "label": ""}
    results[1]["provider"] = "echo"
    del results[2]["provider"]
    attempts, _ = read(lines_of(tmp_path, results))
    assert [a.coordinates.get("model") for a in attempts] == ["openai:gpt-4", "echo", None]


def test_what_is_known_before_and_after_the_model_ran() -> None:
    first = read(JSON)[0][0]
    assert first.facts["metadata"] == {"n_steps": 2, "has_money": True, "topic": "money"}
    assert first.facts["description"] == "gsm8k-0"
    assert first.facts["vars"] == {}  # the question is a text, the gold answer is derived
    assert first.derived == {"vars": {"gold": "18"}}
    assert first.texts["prompt"] == first.texts["vars.question"]
    assert {"latencyMs", "cost", "tokenUsage", "error", "output", "reason"} <= first.post.keys()


def test_what_the_provider_adds_to_the_metadata_is_known_after(tmp_path: Path) -> None:
    results = rows()[:1]
    results[0]["metadata"] |= {"sessionId": "s1"}
    (attempt,) = read(lines_of(tmp_path, results))[0]
    assert "sessionId" not in attempt.facts["metadata"]
    assert "_promptfooFileMetadata" not in attempt.facts["metadata"]
    assert attempt.post["metadata"] == {"sessionId": "s1"}


def test_an_error_text_is_no_evidence_of_an_error() -> None:
    """All 26 failed results have one, as promptfoo copies the failed assertion's reason there."""
    failed = [a for a in read(JSON)[0] if a.status == "ok" and not a.scores["success"]]
    assert len(failed) == sum("error" in a.post for a in failed) == 26


def test_errors_without_failure_reason_have_no_grading_result() -> None:
    assert recognised(CASE)
    attempts, _ = read(CASE)
    assert outcomes(attempts) == {("ok", True): 6, ("ok", False): 4, ("error", None): 2}
    assert [n for n, a in enumerate(attempts) if a.status == "error"] == [4, 7]
    assert attempts[4].scores == {}  # its score of 0.75 does not count
    assert attempts[4].post["error"] == "assertion script raised"


def test_an_error_text_beside_a_grading_result_is_left_and_said(tmp_path: Path) -> None:
    results = rows()
    for result in results:
        del result["failureReason"]
    attempts, notes = read(lines_of(tmp_path, results))
    assert outcomes(attempts) == outcomes(read(LINES)[0])
    assert any("26 failed results have an error text, a grading result" in note for note in notes)


def test_a_failure_without_reason_is_left_and_said(tmp_path: Path) -> None:
    """An empty reply: success false, failureReason 0, error 'No output', nothing graded."""
    results = rows()[:2]
    results[0] |= {"failureReason": 0, "gradingResult": None, "error": "No output"}
    attempts, notes = read(lines_of(tmp_path, results))
    assert outcomes(attempts) == {("ok", False): 1, ("ok", True): 1}
    assert any("1 results failed without a failed assertion" in note for note in notes)


@pytest.mark.parametrize("path", [JSON, LINES, CSV])
def test_tests_without_assertions_are_unscored_and_counted(path: Path) -> None:
    attempts, notes = read(path)
    unscored = [a for a in attempts if a.status == "unscored"]
    assert {a.facts["description"] for a in unscored} == {"no assertions"}
    assert any("2 results of tests without assertions" in note for note in notes)


def test_latency_and_cost_assertions_are_said(tmp_path: Path) -> None:
    results = rows()[:2]
    slow = {"pass": False, "score": 0, "assertion": {"type": "latency", "threshold": 5}}
    cheap = {"pass": True, "score": 1, "assertion": {"type": "cost"}}
    results[0]["gradingResult"]["componentResults"] = [{"componentResults": [slow]}, cheap]
    _, notes = read(lines_of(tmp_path, results))
    assert any(
        "1 results have latency or cost assertions" in n and "; 1 failed" in n for n in notes
    )
    results[0]["gradingResult"]["componentResults"] = [
        slow,
        {"pass": False, "assertion": {"type": "equals"}},
    ]
    _, notes = read(lines_of(tmp_path, results))
    assert any(
        "1 results have latency or cost assertions" in n and "; 0 failed" in n for n in notes
    )


def test_repeats_of_a_test_are_one_example(tmp_path: Path) -> None:
    """promptfoo counts each repeat as a further test: testIdx goes on, the content is the same."""
    results = rows()[:2]
    again = [result | {"testIdx": 1} for result in results]
    attempts, notes = read(lines_of(tmp_path, [*results, *again]))
    assert len({a.example for a in attempts}) == 1
    assert [a.coordinates["repeat"] for a in attempts] == ["0", "0", "1", "1"]
    assert any("1 tests have the content of an earlier one" in note for note in notes)


def test_equal_variables_with_other_assertions_are_other_examples() -> None:
    """The test without assertions has the variables of the first one."""
    by_description = {a.facts["description"]: a.example for a in read(JSON)[0]}
    assert by_description["gsm8k-0"] != by_description["no assertions"]


def test_a_short_question_is_a_text_where_others_are_long(tmp_path: Path) -> None:
    results = rows()[:4]
    for result, topic in zip(results, ("x", "x" * 200, "y", "z"), strict=True):
        result["testCase"]["vars"] = {"story": topic, "kind": "k"}
    attempts, _ = read(lines_of(tmp_path, results))
    assert [a.facts["vars"] for a in attempts] == [{"kind": "k"}] * 4
    assert [a.texts["vars.story"][:1] for a in attempts] == ["x", "x", "y", "z"]


def table_of(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The table of version 2, made of the same results."""
    body: dict[int, dict[str, Any]] = {}
    for result in results:
        row = body.setdefault(
            result["testIdx"],
            {
                "vars": list(result["vars"].values()),
                "test": result["testCase"],
                "outputs": [None, None],
            },
        )
        row["outputs"][result["promptIdx"]] = {
            "pass": result["success"],
            "text": result["response"].get("output", ""),
            "prompt": result["prompt"]["raw"],
        } | {
            key: result[key]
            for key in ("score", "namedScores", "gradingResult", "failureReason", "error")
            if key in result
        }
    prompts = [
        {"provider": label, "label": "{{question}}"}
        for label in ("openai-6b-verification", "openai-175b-verification")
    ]
    return {
        "head": {"prompts": prompts, "vars": ["question", "gold"]},
        "body": [body[test] for test in sorted(body)],
    }


@pytest.mark.parametrize("place", ["results.table", "table", ""])
def test_tables_of_older_exports_are_read(tmp_path: Path, place: str) -> None:
    results = rows()
    table = table_of(results)
    older = [
        {k: v for k, v in r.items() if k not in ("testIdx", "promptIdx", "testCase")}
        for r in results
    ]
    path = tmp_path / "results.json"
    whole: dict[str, Any] = {
        "results.table": {"results": {"version": 2, "results": older, "table": table}},
        "table": {"table": table, "version": 4},
        "": table,
    }[place]
    path.write_text(json.dumps(whole, indent=1))
    assert recognised(path)

    def told(attempts: list[Attempt]) -> dict[Any, Any]:
        return {
            (a.example, *a.coordinates.items()): (a.status, dict(a.scores), dict(a.facts))
            for a in attempts
        }

    assert told(read(path)[0]) == told(read(JSON)[0])


def test_cells_that_were_not_run_are_counted(tmp_path: Path) -> None:
    table = table_of(rows())
    table["body"][0]["outputs"][1] = None
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table))
    attempts, notes = read(path)
    assert len(attempts) == 41
    assert any("1 results are blank" in note for note in notes)


def test_several_providers_without_indices_stop(tmp_path: Path) -> None:
    older = [{k: v for k, v in r.items() if k != "testIdx"} for r in rows()]
    path = document_of(tmp_path, {"version": 2, "results": older})
    assert recognised(path)
    with pytest.raises(InputError, match="several providers or prompts without testIdx"):
        read(path)


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ({"version": 1, "results": [{"success": True, "vars": {}, "namedScores": {}}]}, "older"),
        ([{"success": True, "vars": {}, "namedScores": {}}], "results is a list"),
        ({"version": 9, "results": [], "stats": {}}, "results of version 9"),
        ({"version": 3, "results": [], "stats": {}}, "holds no results"),
        (
            {"version": 2, "results": [], "table": {"head": {"prompts": [], "vars": []}}},
            "holds no results",
        ),
        (
            {
                "version": 2,
                "results": [{"success": True}],
                "table": {"head": {"prompts": [], "vars": []}, "body": [["a"]]},
            },
            "its table holds lists",
        ),
    ],
)
def test_what_cannot_be_read_without_doubt_stops(tmp_path: Path, results: Any, words: str) -> None:
    path = document_of(tmp_path, results)
    assert recognised(path)
    with pytest.raises(InputError, match=words):
        read(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"success": "yes"}, "line 1: success is neither true nor false"),
        ({"failureReason": 7}, "line 1: failureReason is 7"),
        ({"namedScores": [1]}, "no object"),
        ({"testCase": "t"}, "no object"),
    ],
)
def test_damaged_results_stop(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    results = rows()[:2]
    results[0] |= change
    with pytest.raises(InputError, match=words):
        read(lines_of(tmp_path, results))


def test_truncated_files_stop(tmp_path: Path) -> None:
    for path, words in ((JSON, "ends in the middle"), (LINES, "ends in the middle"), (CSV, "CSV")):
        cut = tmp_path / path.name
        cut.write_bytes(path.read_bytes()[:20_000])
        assert recognised(cut)
        with pytest.raises(InputError, match=words):
            read(cut)


def test_a_filtered_export_is_said(tmp_path: Path) -> None:
    whole = json.loads(JSON.read_text())
    whole["results"]["results"] = whole["results"]["results"][:10]
    path = document_of(tmp_path, whole["results"])
    assert any("its stats count 42 results and it holds 10" in note for note in read(path)[1])


# --- CSV ------------------------------------------------------------------------------------------


def csv_of(tmp_path: Path, header: list[str], *lines: list[str]) -> Path:
    text = io.StringIO()
    csv.writer(text).writerows([header, *lines])
    path = tmp_path / "out.csv"
    path.write_text(text.getvalue(), newline="")
    return path


BLOCK = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]


def test_csv_blocks_are_told_apart_by_position(tmp_path: Path) -> None:
    """Providers and prompts may share every name; blocks may have different metrics."""
    path = csv_of(
        tmp_path,
        ["Score", "[p] one", *BLOCK, "[p] one", *BLOCK[:3], "Metric: m", *BLOCK[3:]],
        [
            "7",
            "a",
            "PASS",
            "1.00",
            "",
            "ok",
            "",
            "b",
            "FAIL",
            "0.50",
            '{"m":0.5}',
            "0.50",
            "no",
            "",
        ],
    )
    assert recognised(path)
    attempts, notes = read(path)
    assert [dict(a.coordinates) for a in attempts] == [
        {"model": "p", "prompt": "0", "repeat": "0"},
        {"model": "p", "prompt": "1", "repeat": "0"},
    ]
    assert [dict(a.scores) for a in attempts] == [
        {"success": True, "score": 1.0},
        {"success": False, "score": 0.5, "namedScores.m": 0.5},
    ]
    assert attempts[0].facts["vars"] == {"Score": "7"}
    assert any("rounds the scores" in note for note in notes)


def test_csv_without_variables_provider_or_description(tmp_path: Path) -> None:
    path = csv_of(tmp_path, ["[odd", *BLOCK], ["a", "PASS", "1.00", "", "", ""])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert recognised(path)
    (attempt,) = read(path)[0]
    assert dict(attempt.coordinates) == {"prompt": "0", "repeat": "0"}
    path = csv_of(tmp_path, ["[p] x", *BLOCK], ["a", "PASS", "1.00", "", "", ""])
    assert recognised(path)
    assert read(path)[0][0].coordinates["model"] == "p"


def test_csv_red_team_columns(tmp_path: Path) -> None:
    path = csv_of(
        tmp_path,
        ["v", "[p] x", *BLOCK, "Messages", "pluginId", "strategyId"],
        ["1", "a", "FAIL", "0.00", "", "", "", "hello", "pii", "basic"],
    )
    assert read(path)[0][0].facts["metadata"] == {"pluginId": "pii", "strategyId": "basic"}


def test_csv_blank_blocks_were_not_run(tmp_path: Path) -> None:
    path = csv_of(
        tmp_path,
        ["v", "[p] x", *BLOCK, "[q] x", *BLOCK],
        ["1", "a", "PASS", "1.00", "", "", "", *[""] * 6],
    )
    attempts, notes = read(path)
    assert [a.coordinates["model"] for a in attempts] == ["p"]
    assert any("1 results are blank" in note for note in notes)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["1", "a", "MAYBE", "1.00", "", "", ""], "line 2: Status is 'MAYBE'"),
        (["1", "a", "PASS", "high", "", "", ""], "line 2: Score is 'high'"),
        (["1", "a", "PASS", "1.00", "{", "", ""], "Named Scores"),
        (["1", "a", "PASS", "1.00", "", ""], "line 2: has 6 fields where the header has 7"),
    ],
)
def test_csv_faults_name_the_line(tmp_path: Path, line: list[str], words: str) -> None:
    path = csv_of(tmp_path, ["v", "[p] x", *BLOCK], line)
    with pytest.raises(InputError, match=words):
        read(path)


def test_csv_of_old_versions_stops(tmp_path: Path) -> None:
    path = csv_of(tmp_path, ["v", "[openai:gpt-4] {{v}}"], ["1", "[FAIL] wrong\n---\nthe reply"])
    assert recognised(path)
    with pytest.raises(InputError, match="older CSV export"):
        read(path)


def test_ordinary_tables_are_not_recognised(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for text in ("id,Status,Score\n1,PASS,1\n", "a,b\n1,2\n", "", '{"a": 1}\n', "[1, 2]"):
        path.write_text(text)
        assert not recognised(path)
