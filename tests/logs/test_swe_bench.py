"""SWE-bench reports: every instance by what became of it, and nothing counted twice."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.swe_bench import FORMAT
from janus_jax.readers import read as read_table

DATA = Path(__file__).parents[1] / "data" / "formats" / "swe_bench"
HAIKU = DATA / "swebench_report_haiku45_baseline.json"
RAAID = DATA / "swebench_report_raaid_lite.json"
SB_CLI = DATA / "sbcli_report_polydev_v3.json"
PRO = DATA / "swebench_pro_eval_results_first40.json"
METRICS = DATA / "per_instance_metrics_haiku45_baseline.jsonl"
OTHERS = sorted((DATA.parent / "promptfoo").glob("*.json")) + sorted(
    (DATA.parent / "helm").glob("*/*.json")
)


def read(path: Path) -> tuple[list[Attempt], list[str]]:
    context = Context(hashlib.sha256())
    return list(FORMAT.read(str(path), context)), context.notes


def recognised(path: Path) -> bool:
    return FORMAT.recognises(Probe(str(path), path.read_bytes()[:65536], frozenset()))


def outcomes(attempts: list[Attempt]) -> Counter[tuple[str, Any]]:
    return Counter((attempt.status, attempt.scores.get("resolved")) for attempt in attempts)


def written(tmp_path: Path, **changes: Any) -> Path:
    """The report of 17 submitted instances with fields changed; None takes one away."""
    report = json.loads(RAAID.read_text()) | changes
    path = tmp_path / "model.run.json"
    path.write_text(json.dumps({key: value for key, value in report.items() if value is not None}))
    return path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (HAIKU, {("ok", True): 25, ("ok", False): 15, ("not_run", None): 460}),
        (RAAID, {("ok", True): 10, ("ok", False): 7, ("not_run", None): 283}),
        (SB_CLI, {("ok", True): 6, ("ok", False): 1, ("not_run", None): 493}),
        (PRO, {("ok", True): 30, ("ok", False): 10}),
    ],
)
def test_counts_are_those_of_the_report(path: Path, expected: dict[Any, int]) -> None:
    assert recognised(path)
    attempts, _ = read(path)
    assert outcomes(attempts) == expected
    assert len({attempt.example for attempt in attempts}) == len(attempts)


def test_submitted_instances_come_first_and_lines_count_them() -> None:
    attempts, _ = read(RAAID)
    report = json.loads(RAAID.read_text())
    assert [a.example for a in attempts[:17]] == report["submitted_ids"]
    assert all(a.status == "not_run" for a in attempts[17:])
    assert [a.line for a in attempts] == list(range(1, 301))


def test_an_empty_patch_is_wrong_and_said() -> None:
    attempts, notes = read(RAAID)
    empty = [a for a in attempts if a.post["outcome"] == "empty_patch"]
    assert len(empty) == 2
    assert all(a.status == "ok" and a.scores == {"resolved": False} for a in empty)
    assert any("2 empty patches count as wrong" in note for note in notes)


def test_the_denominator_is_said() -> None:
    _, notes = read(HAIKU)
    assert any("25 resolved of 40 submitted (500 in the data set)" in note for note in notes)
    _, notes = read(PRO)
    assert any("30 resolved of 40 evaluated" in note for note in notes)


def test_errors_and_pending_instances_have_no_verdict(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        error_ids=["a__b-1"],
        error_instances=1,
        failed_ids=["a__b-1", "a__b-2"],
        pending_ids=["a__b-3"],
    )
    attempts, _ = read(path)
    status = {a.example: a.status for a in attempts}
    assert (status["a__b-1"], status["a__b-2"], status["a__b-3"]) == ("error", "error", "not_run")


def test_a_submitted_instance_without_outcome_is_unscored(tmp_path: Path) -> None:
    report = json.loads(RAAID.read_text())
    path = written(
        tmp_path, submitted_ids=[*report["submitted_ids"], "a__b-1"], submitted_instances=18
    )
    (found,) = (a for a in read(path)[0] if a.example == "a__b-1")
    assert (found.status, dict(found.scores)) == ("unscored", {})


def test_infrastructure_failures_keep_their_verdict(tmp_path: Path) -> None:
    unresolved = json.loads(RAAID.read_text())["unresolved_ids"]
    path = written(
        tmp_path,
        infra_failure_ids=unresolved[:1],
        ambiguous_failure_ids=unresolved[1:2],
        failure_reasons={unresolved[0]: "disk full"},
    )
    attempts, notes = read(path)
    assert outcomes(attempts) == outcomes(read(RAAID)[0])
    (found,) = (a for a in attempts if a.example == unresolved[0])
    assert (found.post["failure"], found.post["failure_reason"]) == ("infra_failure", "disk full")
    assert any("2 failures may be the environment's fault" in note for note in notes)


def test_repository_and_number_come_from_both_shapes_of_id(tmp_path: Path) -> None:
    attempts, _ = read(RAAID)
    assert attempts[0].facts == {"repo": "django/django", "number": 10924}
    repositories = Counter(a.facts["repo"] for a in read(PRO)[0])
    assert repositories["internetarchive/openlibrary"] == 16
    assert repositories["element-hq/element-web"] == 1
    report = {"resolved_ids": ["scikit-learn__scikit-learn-12", "odd"], "unresolved_ids": []}
    path = tmp_path / "r.json"
    path.write_text(json.dumps(report))
    attempts, notes = read(path)
    assert attempts[0].facts == {"repo": "scikit-learn/scikit-learn", "number": 12}
    assert attempts[1].facts == {}
    assert any("1 ids (the first: 'odd')" in note for note in notes)


def test_the_run_is_the_name_of_the_file_unless_the_report_says_more(tmp_path: Path) -> None:
    assert read(RAAID)[0][0].coordinates == {"run": "swebench_report_raaid_lite"}
    path = written(tmp_path, model_name_or_path="gpt-4.1", run_id="r1")
    assert read(path)[0][0].coordinates == {"run": "r1", "model": "gpt-4.1"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"unresolved_ids": ["x__y-1"], "unresolved_instances": 1}, None),
        ({"resolved_instances": 11}, "resolved_instances is 11 and resolved_ids holds 10"),
        ({"error_ids": "none"}, "error_ids is not a list"),
        ({"error_ids": [1]}, "error_ids is not a list"),
        ({"error_ids": ["django__django-10924"], "error_instances": 1}, "it has one outcome"),
    ],
)
def test_a_report_that_contradicts_itself_stops(
    tmp_path: Path, changes: dict[str, Any], words: str | None
) -> None:
    path = written(tmp_path, **changes)
    if words is None:
        assert read(path)[0]
        return
    with pytest.raises(InputError, match=words):
        read(path)


def test_pro_verdicts_are_true_or_false(tmp_path: Path) -> None:
    results = json.loads(PRO.read_text())
    results[next(iter(results))] = "yes"
    path = tmp_path / "eval_results.json"
    path.write_text(json.dumps(results))
    with pytest.raises(InputError, match="no verdict true or false"):
        read(path)


def test_empty_reports_stop(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"resolved_ids": [], "unresolved_ids": []}')
    with pytest.raises(InputError, match="lists no instance"):
        read(path)
    path.write_text("{}")
    with pytest.raises(InputError, match="holds no instance"):
        read(path)


def test_a_truncated_report_stops(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(RAAID.read_bytes()[:5000])
    assert recognised(path)
    with pytest.raises(InputError, match="damaged or was cut off"):
        read(path)


def test_a_report_is_recognised_by_its_first_bytes(tmp_path: Path) -> None:
    ids = [f"django__django-{number}" for number in range(10_000)]
    path = written(tmp_path, completed_ids=ids, submitted_ids=ids)
    assert len(path.read_bytes()) > 2 * 65536
    assert recognised(path)
    path = tmp_path / "eval_results.json"
    path.write_text(json.dumps({f"instance_a__b-{number:040x}": True for number in range(3000)}))
    assert recognised(path)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_other_files_are_not_recognised(path: Path) -> None:
    assert not recognised(path)


def test_any_object_of_booleans_is_not_a_report(tmp_path: Path) -> None:
    path = tmp_path / "flags.json"
    path.write_text('{"a": true, "b": false}')
    assert not recognised(path)


def test_per_instance_metrics_are_an_ordinary_table() -> None:
    assert not recognised(METRICS)
    table = read_table(METRICS)
    assert table.n == 42
    assert {"instance_id", "success", "metrics.cost_usd"} <= set(table.columns)


def test_the_hash_is_that_of_the_file() -> None:
    context = Context(hashlib.sha256())
    list(FORMAT.read(str(RAAID), context))
    assert context.hasher.hexdigest() == hashlib.sha256(RAAID.read_bytes()).hexdigest()
