"""Every Eval Ever's instance-level records, and the marks its converters leave in them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.every_eval_ever import FORMAT

DATA = Path(__file__).parents[1] / "data"
DEMO = DATA / "formats" / "every_eval_ever" / "demo_samples.jsonl"


def read(path: Path) -> tuple[list[Attempt], list[str]]:
    context = Context(hashlib.sha256())
    return list(FORMAT.read(str(path), context)), context.notes


def recognised(head: bytes) -> bool:
    return FORMAT.recognises(Probe("x.jsonl", head[:65536], frozenset()))


def record(sample: str = "s1", score: float = 1.0, correct: bool = True, **fields: Any) -> Any:
    return json.loads(DEMO.read_text()) | {
        "sample_id": sample,
        "evaluation": {"score": score, "is_correct": correct},
        **fields,
    }


@pytest.fixture
def written(tmp_path: Path):
    """Write records as a samples file."""

    def write(*records: Any, name: str = "u_samples.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        return path

    return write


def test_the_demo_record():
    assert recognised(DEMO.read_bytes())
    (attempt,), _ = read(DEMO)
    assert attempt == Attempt(
        example="demo_0001",
        where=f"{DEMO} line 1",
        line=1,
        status="ok",
        scores={"is_correct": True, "score": 1.0},
        coordinates={
            "task": "demo-source.demo_bench",
            "model": "demo-org/demo-model",
            "run": "demo-source/demo-org_demo-model/1750000000",
            "result": "demo-source.demo_bench",
        },
        facts={"subject": "arithmetic", "interaction_type": "single_turn"},
        derived={"reference": ["4"]},
        post={
            "token_usage": {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17},
            "output_chars": 16,
            "output_words": 4,
            "extracted_value": "4",
        },
        texts={"input": "What is 2 + 2?", "formatted": "Q: What is 2 + 2?\nA:"},
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["raw", "epoch", "score", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_value_in_any_field_is_read_or_refused(tmp_path, data):
    names = st.sampled_from(sorted(record()))
    path = tmp_path / "u_samples.jsonl"
    path.write_text(json.dumps(record() | data.draw(st.dictionaries(names, JSON, max_size=3))))
    (tmp_path / "u.json").write_text(json.dumps({"evaluation_results": data.draw(JSON)}))
    try:
        assert read(path)[0]
    except InputError as error:
        said = str(error)
    else:
        return
    assert str(tmp_path) in said


def test_records_that_nothing_tells_apart_are_left_as_repeats(written):
    attempts, _ = read(written(record(), record()))
    assert [a.example for a in attempts] == ["s1", "s1"]
    assert attempts[0].coordinates == attempts[1].coordinates


def test_a_sample_has_a_record_for_each_metric(written):
    path = written(
        record(evaluation_result_id="exact_match:test"),
        record(score=0.4, correct=False, evaluation_result_id="rouge_l:test"),
    )
    attempts, _ = read(path)
    assert [a.coordinates["result"] for a in attempts] == ["exact_match:test", "rouge_l:test"]
    assert len({a.example for a in attempts}) == 1


def test_partial_credit_that_is_called_correct_is_noted(written):
    _, notes = read(written(record(score=0.2), record("s2", 1.0), record("s3", 0.0, False)))
    assert any("in 1 records is_correct is true and the score between 0 and 1" in n for n in notes)


def test_false_for_metrics_that_are_no_verdict_is_noted(written):
    _, notes = read(written(record(score=0.8, correct=False), record("s2", 0.0, False)))
    assert any("in 1 records is_correct is false and the score above 0" in n for n in notes)


def test_epochs_are_repeats_with_a_note(written):
    path = written(*(record(metadata={"epoch": str(e), "stop_reason": "stop"}) for e in (1, 2)))
    attempts, notes = read(path)
    assert [a.coordinates["epoch"] for a in attempts] == ["1", "2"]
    assert attempts[0].facts == {"interaction_type": "single_turn"}
    assert attempts[0].post["stop_reason"] == "stop"
    assert any("reduced over the epochs" in note for note in notes)


def test_marks_of_lm_eval_are_scores_and_coordinates_not_facts(written):
    metadata = {
        "doc_hash": "aa",
        "prompt_hash": "bb",
        "target_hash": "cc",
        "filter": "strict-match",
        "lm_eval_metrics": '{"exact_match": 0.0, "f1": 0.5}',
    }
    (attempt,), _ = read(written(record(score=0.0, correct=False, metadata=metadata)))
    assert attempt.coordinates["filter"] == "strict-match"
    assert attempt.facts == {"interaction_type": "single_turn"}
    assert attempt.scores == {
        "is_correct": False,
        "score": 0.0,
        "lm_eval_metrics.exact_match": 0.0,
        "lm_eval_metrics.f1": 0.5,
    }


def test_a_score_of_zero_in_place_of_none_is_no_score(written):
    """Where lm-eval logged no number the converter writes 0 and false."""
    metadata = {"lm_eval_metrics": '{"inst_level": [true, false]}'}
    (attempt,), notes = read(written(record(score=0.0, correct=False, metadata=metadata)))
    assert attempt.status == "unscored"
    assert any("1 records come from lm-eval without a metric" in note for note in notes)


def test_an_error_is_no_wrong_answer(written):
    (attempt,), _ = read(written(record(score=0.0, correct=False, error="timeout")))
    assert attempt.status == "error"
    assert attempt.post["error"] == "timeout"


def test_missing_scores_are_unscored(written):
    (attempt,), _ = read(written(record(evaluation={})))
    assert attempt.status == "unscored"


def test_a_score_that_is_better_when_lower_says_so(written, tmp_path):
    path = written(record(score=0.2, evaluation_result_id="loss"), record("s2"))
    results = [
        {"evaluation_result_id": "loss", "metric_config": {"lower_is_better": True}},
        {"evaluation_name": "demo-source.demo_bench", "metric_config": {"lower_is_better": False}},
    ]
    (tmp_path / "u.json").write_text(json.dumps({"evaluation_results": results}))
    attempts, notes = read(path)
    assert [list(a.scores) for a in attempts] == [
        ["is_correct", "score:lower_is_better"],
        ["is_correct", "score"],
    ]
    assert any("score of loss is better when it is lower" in note for note in notes)


def test_without_an_aggregate_the_direction_is_taken_and_said(written):
    _, notes = read(written(record()))
    assert any("no aggregate file beside it" in note for note in notes)


def test_samples_of_agents(written):
    path = written(
        record(
            interaction_type="agentic",
            output=None,
            messages=[{"turn_idx": 0, "role": "user", "content": "Go"}],
            evaluation={"score": 1, "is_correct": True, "num_turns": 4, "tool_calls_count": 2},
            performance={"latency_ms": 12.5},
            token_usage=None,
            metadata=None,
        )
    )
    (attempt,), _ = read(path)
    assert attempt.facts == {"interaction_type": "agentic"}
    assert attempt.post == {
        "performance": {"latency_ms": 12.5},
        "num_turns": 4,
        "tool_calls_count": 2,
        "extracted_value": "4",
    }


def test_choices_and_references(written):
    given = {"raw": "Q", "reference": ["a", "b"], "choices": ["a", "b", "c"]}
    (attempt,), _ = read(written(record(input=given)))
    assert attempt.facts["choices"] == ["a", "b", "c"]
    assert attempt.texts == {"input": "Q", "choices": "a\nb\nc"}
    assert attempt.derived == {"reference": ["a", "b"]}


def test_hashes_are_no_facts(written):
    (attempt,), _ = read(written(record(metadata={"sample_hash": "x", "level": "hard"})))
    assert attempt.facts == {"level": "hard", "interaction_type": "single_turn"}


@pytest.mark.parametrize("line", ["{}", "[]", '{"schema_version": "0.3.0", "sample_id": 3}'])
def test_lines_that_are_no_records_are_named(written, line):
    path = written(record())
    path.write_text(path.read_text() + line)
    with pytest.raises(InputError, match="line 2: no instance-level record") as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_ordinary_json_lines_and_other_logs_are_not_taken_for_this_one():
    for number in ("42", "43", "60"):
        (folder,) = (DATA / "cases").glob(f"{number}_*")
        for path in folder.glob("*.jsonl"):
            assert not recognised(path.read_bytes())
    for name in ("openai_evals", "lm_eval"):
        for path in (DATA / "formats" / name).glob("*.jsonl"):
            assert not recognised(path.read_bytes())


def test_the_aggregate_is_no_instance_level_file():
    assert not recognised(b'{"schema_version": "0.2.0", "evaluation_id": "x", "model_info": {}}')


def test_an_input_longer_than_the_head_is_recognised():
    assert recognised(json.dumps(record(input={"raw": "x" * 200_000})).encode())
