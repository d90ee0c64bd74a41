"""Record files of OpenAI evals: tool-written ones, and every trap of the format."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.openai_evals import FORMAT

DATA = Path(__file__).parents[1] / "data"
FILES = DATA / "formats" / "openai_evals"


def read(path: Path) -> tuple[list[Attempt], list[str]]:
    context = Context(hashlib.sha256())
    return list(FORMAT.read(str(path), context)), context.notes


def recognised(head: bytes) -> bool:
    return FORMAT.recognises(Probe("x.jsonl", head[:65536], frozenset()))


def spec(run: str = "r", **fields: Any) -> dict[str, Any]:
    return {
        "spec": {
            "completion_fns": ["gpt-x"],
            "eval_name": "e.dev.v0",
            "base_eval": "e",
            "split": "dev",
            "run_id": run,
            "run_config": {"eval_spec": {"args": {"samples_jsonl": "data/e/samples.jsonl"}}},
            **fields,
        }
    }


def event(sample: Any, kind: str, run: str = "r", **data: Any) -> dict[str, Any]:
    return {"run_id": run, "event_id": 0, "sample_id": sample, "type": kind, "data": data}


def match(sample: str, correct: Any = True, **data: Any) -> dict[str, Any]:
    return event(sample, "match", correct=correct, **data)


@pytest.fixture
def written(tmp_path: Path):
    """Write a record file, and a samples file beside it."""

    def write(*records: Any, samples: list[Any] | None = None) -> Path:
        path = tmp_path / "log.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        if samples is not None:
            text = "".join(json.dumps(one) + "\n" for one in samples)
            (tmp_path / "samples.jsonl").write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    ("name", "right"), [("gsm-match", 16), ("gsm-replay", 16), ("gsm-fuzzy", 17)]
)
def test_files_come_out_with_their_counts(name, right):
    path = FILES / f"oaieval_3.0.1_{name}.jsonl"
    assert recognised(path.read_bytes())
    attempts, notes = read(path)
    assert not notes
    assert len(attempts) == len({a.example for a in attempts}) == 30
    assert {a.status for a in attempts} == {"ok"}
    report = json.loads(path.read_text().splitlines()[1])["final_report"]
    verdicts = Counter(a.scores["match"] for a in attempts)
    assert verdicts == {True: right, False: 30 - right}
    assert verdicts[True] / 30 == pytest.approx(report["accuracy"])
    first = attempts[0]
    assert first.coordinates == {
        "task": f"{name}.dev.v0",
        "model": "replay/175b",
        "run": json.loads(path.read_text().splitlines()[0])["spec"]["run_id"],
        "split": "dev",
    }
    assert json.loads(path.read_text().splitlines()[first.line - 1])["type"] == "match"


def test_metrics_beside_the_match_are_scores_of_their_own():
    path = FILES / "oaieval_3.0.1_gsm-fuzzy.jsonl"
    attempts, _ = read(path)
    report = json.loads(path.read_text().splitlines()[1])["final_report"]
    assert attempts[0].scores.keys() == {"match", "metrics.accuracy", "metrics.f1_score"}
    for name in ("accuracy", "f1_score"):
        mean = sum(a.scores[f"metrics.{name}"] for a in attempts) / 30
        assert mean == pytest.approx(report[name])
    assert any(a.scores["match"] != a.scores["metrics.f1_score"] for a in attempts)


def test_metadata_come_from_the_samples_file_by_number():
    samples = [json.loads(line) for line in (FILES / "samples.jsonl").read_text().splitlines()]
    attempts, _ = read(FILES / "oaieval_3.0.1_gsm-match.jsonl")
    assert [a.example for a in attempts] != sorted(a.example for a in attempts)  # thread order
    for attempt in attempts:
        sample = samples[int(attempt.example.split(".")[-1])]
        assert attempt.facts == {"n_steps": sample["n_steps"]}
        assert attempt.texts == {"input": sample["input"][0]["content"]}
        assert attempt.derived == {"ideal": sample["ideal"]}


def test_without_the_samples_file_the_log_alone_is_read_and_it_is_said(tmp_path):
    path = tmp_path / "log.jsonl"
    shutil.copy(FILES / "oaieval_3.0.1_gsm-match.jsonl", path)
    attempts, notes = read(path)
    assert len(attempts) == 30
    assert attempts[0].facts == {}
    assert attempts[0].derived == {"expected": "A: 230"}
    assert attempts[0].texts["input"].startswith("Two trains leave San Rafael")
    assert any("./reg/data/gsm/samples.jsonl, which is not in the log's folder" in n for n in notes)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines[:5], "it has 5 samples and the log has 'gsm-match.dev.16'"),
        (lambda lines: [line.replace("A: 230", "A: 1") for line in lines], "another ideal answer"),
        (lambda lines: lines[::-1], "asks something else there"),
        (lambda lines: [line.replace("trains", "cars") for line in lines], "asks something else"),
        (lambda lines: ['{"n_steps": 1}'] * 30, "nothing in the log confirms"),
    ],
)
def test_a_samples_file_that_is_another_evals_is_not_used(tmp_path, change, reason):
    path = tmp_path / "log.jsonl"
    shutil.copy(FILES / "oaieval_3.0.1_gsm-match.jsonl", path)
    lines = (FILES / "samples.jsonl").read_text().splitlines()
    (tmp_path / "samples.jsonl").write_text("\n".join(change(lines)))
    attempts, notes = read(path)
    assert {a.status for a in attempts} == {"ok"}
    assert all(a.facts == {} for a in attempts)
    assert any(reason in note for note in notes)


def test_a_grader_that_asks_something_else_is_no_contradiction(written):
    path = written(
        spec(),
        event("e.dev.0", "sampling", prompt="Be brief. What is it?", sampled=["it"]),
        event("e.dev.0", "sampling", prompt="Is the answer good?", sampled=["Yes"]),
        event("e.dev.0", "metrics", choice="Yes", score=1.0),
        samples=[{"input": "What is it?", "ideal": "x", "topic": "t"}],
    )
    (attempt,), notes = read(path)
    assert attempt.facts == {"topic": "t"}
    assert not notes


def test_samples_the_log_has_no_event_of_were_not_run(written):
    path = written(
        spec(),
        match("e.dev.1", expected="b"),
        samples=[{"input": "A", "ideal": "a", "k": 1}, {"input": "B", "ideal": ["b"], "k": 2}],
    )
    attempts, _ = read(path)
    assert [(a.example, a.status) for a in attempts] == [("e.dev.1", "ok"), ("e.dev.0", "not_run")]
    assert attempts[1].facts == {"k": 1}
    assert attempts[1].where.endswith("samples.jsonl line 1")
    assert attempts[1].coordinates == attempts[0].coordinates


def test_the_order_of_threads_does_not_mix_samples(written):
    path = written(
        spec(),
        {"final_report": {"accuracy": 0.5}},
        event("e.dev.0", "sampling", prompt="A", sampled=["a"]),
        event("e.dev.1", "sampling", prompt="B", sampled=["b"]),
        match("e.dev.1", False, expected="x"),
        match("e.dev.0", True, expected="a"),
    )
    attempts, _ = read(path)
    assert [(a.example, a.scores["match"], a.line) for a in attempts] == [
        ("e.dev.1", False, 5),
        ("e.dev.0", True, 6),
    ]
    assert [a.post["sampled"] for a in attempts] == ["b", "a"]
    assert [a.texts["input"] for a in attempts] == ["B", "A"]


def test_a_sample_that_raised_is_missing_and_not_wrong(written):
    path = written(
        spec(),
        event("e.dev.0", "sampling", prompt="A", sampled=["a"]),
        event("e.dev.1", "error", type="Timeout", message="too slow"),
        match("e.dev.2", None),
    )
    attempts, _ = read(path)
    assert [a.status for a in attempts] == ["unscored", "error", "unscored"]
    assert attempts[1].post["error"] == "too slow"


def test_several_scores_of_a_sample_are_repeats(written):
    path = written(
        spec(),
        match("e.dev.0", False),
        event("e.dev.0", "metrics", accuracy=0.0),
        match("e.dev.0", True),
        event("e.dev.0", "metrics", accuracy=1.0),
        match("e.dev.1", True),
    )
    attempts, notes = read(path)
    assert [(a.example, a.coordinates["repeat"], a.scores) for a in attempts] == [
        ("e.dev.0", "1", {"match": False, "metrics.accuracy": 0.0}),
        ("e.dev.0", "2", {"match": True, "metrics.accuracy": 1.0}),
        ("e.dev.1", "1", {"match": True}),
    ]
    assert any("1 samples were scored several times" in note for note in notes)


def test_letters_of_a_grader_stay_letters(written):
    path = written(
        spec(), event("e.dev.0", "metrics", choice="__invalid__", score=None, detail={"a": 1})
    )
    (attempt,), _ = read(path)
    assert attempt.scores == {
        "metrics.choice": "__invalid__",
        "metrics.score": None,
        "metrics.detail.a": 1,
    }


@pytest.mark.parametrize("sampled", ["George Washington", ["George Washington"]])
@pytest.mark.parametrize("prompt", ["Who?", [{"role": "user", "content": "Who?"}]])
def test_strings_of_2023_and_lists_of_later(written, sampled, prompt):
    path = written(
        spec(),
        event("e.dev.0", "sampling", prompt=prompt, sampled=sampled),
        match("e.dev.0", picked=sampled, expected=sampled),
    )
    (attempt,), _ = read(path)
    assert attempt.texts == {"input": "Who?"}
    assert attempt.post == {
        "samplings": 1,
        "sampled_chars": 17,
        "sampled_words": 2,
        "sampled": "George Washington",
        "picked": "George Washington",
    }


def test_raw_samples_in_the_log_serve_as_metadata(written):
    path = written(
        spec(run_config={}),
        event("e.dev.0", "raw_sample", input="Q", ideal=["a", "b"], topic="law"),
        match("e.dev.0", expected=["a", "b"]),
    )
    (attempt,), _ = read(path)
    assert attempt.facts == {"topic": "law"}
    assert attempt.derived == {"ideal": ["a", "b"]}
    assert attempt.texts == {"input": "Q"}


def test_two_runs_in_one_file_are_told_apart(written):
    path = written(
        spec("r1"),
        event("e.dev.0", "match", run="r1", correct=True),
        spec("r2", completion_fns=["gpt-y", "gpt-z"]),
        event("e.dev.0", "match", run="r2", correct=False),
    )
    attempts, _ = read(path)
    assert [(a.coordinates["run"], a.coordinates["model"]) for a in attempts] == [
        ("r1", "gpt-x"),
        ("r2", "gpt-y, gpt-z"),
    ]


def test_events_without_a_spec_are_read(written):
    path = written(match("e.dev.0"))
    assert recognised(path.read_bytes())
    (attempt,), _ = read(path)
    assert attempt.coordinates == {"task": "e.dev", "run": "r"}


def test_events_of_no_sample_are_counted(written):
    path = written(spec(), event(None, "extra"), match("e.dev.0"))
    attempts, notes = read(path)
    assert len(attempts) == 1
    assert any("1 events name no sample" in note for note in notes)


def test_other_events_are_counted(written):
    path = written(spec(), event("e.dev.0", "function_call"), match("e.dev.0"))
    assert read(path)[0][0].post == {"function_call_events": 1}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["prompt", "content", "eval_spec", "args"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_value_in_any_field_is_read_or_refused(tmp_path, data):
    kinds = ("match", "metrics", "sampling", "raw_sample", "error", "extra")
    fields = st.sampled_from(["correct", "expected", "prompt", "sampled", "picked", "usage"])
    inner = st.dictionaries(fields, JSON, max_size=3) | JSON
    events = [
        {"run_id": "r", "event_id": 0, "sample_id": data.draw(st.sampled_from(["e.0", "e.1"]))}
        | {"type": kind, "data": data.draw(inner)}
        for kind in data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    ]
    odd = data.draw(st.dictionaries(st.sampled_from(["completion_fns", "split"]), JSON))
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (spec(**odd), *events)))
    sample = st.dictionaries(st.sampled_from(["input", "ideal", "x"]), JSON) | JSON
    samples = [data.draw(sample), data.draw(sample)]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples))
    try:
        assert read(path)[0]
    except InputError as error:
        said = str(error)
    else:
        return
    assert str(tmp_path) in said


def test_a_log_without_events_is_refused(written):
    with pytest.raises(InputError, match="holds no event of any sample"):
        read(written(spec(), {"final_report": {}}))


def test_lines_of_another_kind_are_named(written):
    with pytest.raises(InputError, match="line 2: neither an event, a spec nor a final report"):
        read(written(spec(), {"hello": 1}))


def test_a_line_cut_off_is_named(written):
    path = written(spec(), match("e.dev.0"))
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match="line 2"):
        read(path)


def test_only_the_logs_own_folder_is_looked_at(written, tmp_path):
    (tmp_path / "secret.jsonl").write_text('{"input": "Q", "ideal": "x", "k": 1}')
    folder = tmp_path / "logs"
    folder.mkdir()
    where = {"eval_spec": {"args": {"samples_jsonl": str(tmp_path / "secret.jsonl")}}}
    path = written(spec(run_config=where), match("e.dev.0", expected="x"))
    shutil.move(path, folder / "log.jsonl")
    (attempt,), _ = read(folder / "log.jsonl")
    assert attempt.facts == {}


def test_the_hash_covers_the_log_and_its_samples(tmp_path):
    for name in ("oaieval_3.0.1_gsm-match.jsonl", "samples.jsonl"):
        shutil.copy(FILES / name, tmp_path)
    path = tmp_path / "oaieval_3.0.1_gsm-match.jsonl"
    context = Context(hashed := hashlib.sha256())
    list(FORMAT.read(str(path), context))
    together = (tmp_path / "samples.jsonl").read_bytes() + path.read_bytes()
    assert hashed.hexdigest() == hashlib.sha256(together).hexdigest()


@pytest.mark.parametrize("late", [match("e.dev.2"), match("e.dev.1")])
def test_a_log_that_grows_while_it_is_read_is_refused(written, late):
    beyond_what_is_read_ahead = "x" * 2**21
    path = written(
        spec(), match("e.dev.0"), match("e.dev.1", note=beyond_what_is_read_ahead), match("e.dev.0")
    )
    attempts = FORMAT.read(str(path), Context(hashlib.sha256()))
    assert next(attempts).example == "e.dev.1"  # the first look is over
    with path.open("a") as file:
        file.write(json.dumps(late) + "\n")
    with pytest.raises(InputError, match="changed while it was read"):
        list(attempts)


def test_ordinary_json_lines_and_other_logs_are_not_taken_for_this_one():
    for number in ("42", "43", "60"):
        (folder,) = (DATA / "cases").glob(f"{number}_*")
        for path in folder.glob("*.jsonl"):
            assert not recognised(path.read_bytes())
    for name in ("every_eval_ever", "lm_eval"):
        for path in (DATA / "formats" / name).glob("*.jsonl"):
            assert not recognised(path.read_bytes())
    assert not recognised((FILES / "samples.jsonl").read_bytes())
