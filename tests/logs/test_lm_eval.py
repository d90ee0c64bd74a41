"""Sample logs of lm-evaluation-harness: real and tool-written files, and every trap."""

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
from janus_jax.logs import json_text
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.lm_eval import FORMAT

DATA = Path(__file__).parents[1] / "data"
FILES = DATA / "formats" / "lm_eval"
CASE = DATA / "cases" / "34_lmeval_two_filters"
STAMP = "2026-11-30T15-14-11.009972"


def read(path: Path) -> tuple[list[Attempt], list[str]]:
    context = Context(hashlib.sha256())
    return list(FORMAT.read(str(path), context)), context.notes


def recognised(head: bytes) -> bool:
    return FORMAT.recognises(Probe("x.jsonl", head[:65536], frozenset()))


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


def record(doc_id: Any = 0, **fields: Any) -> dict[str, Any]:
    return {
        "doc_id": doc_id,
        "doc": {"question": "What?", "subject": "algebra", "answer": "3"},
        "target": "3",
        "arguments": {"gen_args_0": {"arg_0": "Q: What?\nA:", "arg_1": {"until": ["\n"]}}},
        "resps": [["It is 3"]],
        "filtered_resps": ["3"],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "aa",
        "prompt_hash": "bb",
        "target_hash": "cc",
        "acc": 1.0,
    } | fields


@pytest.fixture
def written(tmp_path: Path):
    """Write records as a samples file."""

    def write(*records: Any, name: str = f"samples_t_{STAMP}.jsonl", **results: Any) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        if results:
            (tmp_path / f"results_{STAMP}.json").write_text(json.dumps(results))
        return path

    return write


@pytest.mark.parametrize(
    ("name", "lines", "documents", "filters", "metrics"),
    [
        (f"samples_replay_gsm8k_{STAMP}.jsonl", 80, 40, 2, ["exact_match"]),
        (f"samples_replay_tatqa_{STAMP}.jsonl", 30, 30, 1, ["em", "f1", "scale_ok"]),
        (f"samples_agieval_lsat_ar_local_{STAMP}.jsonl", 30, 30, 1, ["acc", "acc_norm"]),
        ("eee_samples_math_perturbed_full.jsonl", 10, 10, 1, ["exact_match"]),
        ("pyfade_samples_gsm8k_2025-09-09T13-31-53.431753.jsonl", 3, 3, 1, ["exact_match"]),
        ("pyfade_samples_gsm8k_2025-09-09T13-42-42.857006.jsonl", 3, 3, 1, ["exact_match"]),
        (
            "pyfade_samples_mmlu_pro_plus_chemistry_2025-10-14T14-44-39.372006.jsonl",
            *(3, 3, 1, ["exact_match"]),
        ),
    ],
)
def test_files_come_out_with_their_counts(name, lines, documents, filters, metrics):
    path = FILES / name
    assert recognised(path.read_bytes())
    attempts, _ = read(path)
    raw = [json.loads(line) for line in path.read_text().splitlines() if line]
    assert len(attempts) == len(raw) == lines
    assert len({a.example for a in attempts}) == documents
    assert len({a.coordinates["filter"] for a in attempts}) == filters
    assert {a.status for a in attempts} == {"ok"}
    assert [a.line for a in attempts] == list(range(1, lines + 1))
    for attempt, line in zip(attempts, raw, strict=True):
        assert attempt.scores == {metric: line[metric] for metric in metrics}


def test_scores_average_to_what_the_results_file_says():
    results = json.loads((FILES / f"results_{STAMP}.json").read_text())["results"]
    for task in ("replay_gsm8k", "replay_tatqa", "agieval_lsat_ar_local"):
        attempts, _ = read(FILES / f"samples_{task}_{STAMP}.jsonl")
        said = {k: v for k, v in results[task].items() if "," in k and "stderr" not in k}
        for key, mean in said.items():
            metric, chosen = key.split(",")
            values: list[Any] = [
                a.scores[metric] for a in attempts if a.coordinates["filter"] == chosen
            ]
            if isinstance(values[0], list):
                values = [one for several in values for one in several]
            assert sum(values) / len(values) == pytest.approx(mean, abs=1e-12)


def test_two_filters_are_two_attempts_at_one_example():
    attempts, _ = read(CASE / "samples_gsm_like.jsonl")
    assert len(attempts) == 48
    assert len({a.example for a in attempts}) == 24
    reference = json.loads((CASE / "expect.json").read_text())["values"]
    for name in ("strict-match", "flexible-extract"):
        chosen = [a for a in attempts if a.coordinates["filter"] == name]
        wrong = [a for a in chosen if a.scores["exact_match"] == 0]
        wanted = reference[f"{name}, subject=geometry"]
        assert len(chosen) == wanted["n"]
        assert sum(a.facts["subject"] == "geometry" for a in chosen) == wanted["n1"]
        assert len(wrong) == wanted["K"]
        assert sum(a.facts["subject"] == "geometry" for a in wrong) == wanted["a"]


def test_older_logs_whose_lines_nothing_tells_apart_stop():
    said = refusal(CASE / "samples_old_format.jsonl")
    assert "24 of 24 doc_ids occur 2 times (doc_id 0 in lines 1 and 25)" in said
    assert "no field tells the lines apart" in said


def test_older_logs_with_one_line_a_document_are_read(written):
    old = record()
    for name in ("filter", "metrics", "prompt_hash", "target_hash"):
        del old[name]
    (attempt,), _ = read(written(old))
    assert "filter" not in attempt.coordinates
    assert attempt.scores == {"acc": 1.0}


def test_one_array_in_place_of_lines(tmp_path):
    """Early releases: <model arguments>_<task>.jsonl is one indented array, beside results.json."""
    old = [record(i) for i in range(3)]
    for one in old:
        del one["filter"], one["metrics"], one["prompt_hash"], one["target_hash"]
    path = tmp_path / "pretrained__gpt2_arc_easy.jsonl"
    path.write_text(json.dumps(old, indent=2))
    results = {
        "results": {},
        "configs": {"arc": {}, "arc_easy": {}, "boolq": {}},
        "config": {"model": "hf", "model_args": "pretrained=gpt2,dtype=auto"},
    }
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert recognised(path.read_bytes())
    attempts, notes = read(path)
    assert [a.example for a in attempts] == ["arc_easy:0", "arc_easy:1", "arc_easy:2"]
    assert attempts[0].coordinates == {"task": "arc_easy", "model": "gpt2"}
    assert attempts[1].where.endswith("record 2")
    assert not notes
    path.write_text(json.dumps([*old, *old], indent=2))
    assert "3 of 3 doc_ids occur 2 times (doc_id 0 in records 1 and 4)" in refusal(path)


def test_a_document_twice_under_one_filter_stops(written):
    path = written(record(0), record(1), record(0))
    assert "doc_id 0 in lines 1 and 3, filter 'none'" in refusal(path)


def test_the_task_is_in_the_file_name_and_may_hold_underscores():
    attempts, _ = read(FILES / f"samples_agieval_lsat_ar_local_{STAMP}.jsonl")
    assert attempts[0].coordinates == {
        "task": "agieval_lsat_ar_local",
        "model": "Replay",
        "run": STAMP,
        "filter": "none",
    }
    assert attempts[0].example == "agieval_lsat_ar_local:0"


def test_a_timestamp_without_a_fraction(written):
    path = written(record(), name="samples_a_b_2026-01-02T03-04-05.jsonl")
    (attempt,), _ = read(path)
    assert attempt.coordinates["task"] == "a_b"
    assert attempt.coordinates["run"] == "2026-01-02T03-04-05"


def test_doc_ids_restart_in_each_task_of_a_group(tmp_path):
    examples: list[str] = []
    for task in ("mmlu_law", "mmlu_virology"):
        path = tmp_path / f"samples_{task}_{STAMP}.jsonl"
        path.write_text(json.dumps(record(0)))
        examples += [a.example for a in read(path)[0]]
    assert examples == ["mmlu_law:0", "mmlu_virology:0"]


def test_several_runs_of_one_task_are_told_apart_by_run():
    stamps = ("2025-09-09T13-31-53.431753", "2025-09-09T13-42-42.857006")
    both = [read(FILES / f"pyfade_samples_gsm8k_{stamp}.jsonl")[0] for stamp in stamps]
    assert [a.example for a in both[0]] == [a.example for a in both[1]]
    assert [run[0].coordinates["run"] for run in both] == list(stamps)
    assert [run[0].coordinates["model"] for run in both] == [
        "gemma3:12b-u1",
        "gemma3:12b-it-q4_K_M",
    ]


def test_results_that_are_named_otherwise_are_found():
    attempts, notes = read(FILES / "eee_samples_math_perturbed_full.jsonl")
    assert attempts[0].coordinates["task"] == "math_perturbed_full"
    assert attempts[0].coordinates["model"].startswith("RylanSchaeffer/mem_Qwen3-93M")
    assert not notes


def test_without_results_the_folder_stands_for_the_model_and_it_is_said(tmp_path):
    folder = tmp_path / "org__model"
    folder.mkdir()
    path = folder / f"samples_t_{STAMP}.jsonl"
    path.write_text(json.dumps(record()))
    (attempt,), notes = read(path)
    assert attempt.coordinates["model"] == "org__model"
    assert f"expected results_{STAMP}.json in the same folder" in notes[0]


def test_results_that_could_be_two_files_are_not_guessed(written, tmp_path):
    path = written(record())
    for name in ("a", "b"):
        (tmp_path / f"{name}_{STAMP}.json").write_text('{"configs": {}, "model_name": "m"}')
    (attempt,), notes = read(path)
    assert attempt.coordinates["model"] == tmp_path.name
    assert "2 files could be its results" in notes[0]


def test_broken_results_stop(written, tmp_path):
    path = written(record())
    (tmp_path / f"results_{STAMP}.json").write_text('{"configs": ')
    assert f"results_{STAMP}.json" in refusal(path)


def test_a_file_of_another_name_says_so(written):
    (attempt,), notes = read(written(record(), name="mine.jsonl"))
    assert attempt.coordinates["task"] == "mine"
    assert any("nothing names the task" in note for note in notes)


def test_acc_and_acc_norm_are_two_scores():
    attempts, _ = read(FILES / f"samples_agieval_lsat_ar_local_{STAMP}.jsonl")
    assert sum(a.scores["acc"] for a in attempts) == 4
    assert sum(a.scores["acc_norm"] for a in attempts) == 4
    assert any(a.scores["acc"] != a.scores["acc_norm"] for a in attempts)


def test_values_stay_as_logged(written):
    values: list[Any] = [1.0, 1, True, 0.37, None, [True, False], [-3.5, 7], "0.0"]
    attempts, _ = read(written(*(record(i, acc=value) for i, value in enumerate(values))))
    assert [a.scores["acc"] for a in attempts] == values
    assert [type(a.scores["acc"]) for a in attempts] == [type(value) for value in values]
    assert [a.status for a in attempts].count("unscored") == 1


def test_a_dictionary_gives_a_score_for_each_key(written):
    path = written(record(acc={"strict": 1, "loose": 0}))
    assert read(path)[0][0].scores == {"acc.strict": 1, "acc.loose": 0}


def test_a_list_of_verdicts_stays_a_list():
    attempts, _ = read(FILES / f"samples_replay_tatqa_{STAMP}.jsonl")
    assert Counter(str(a.scores["scale_ok"]) for a in attempts) == {
        "[True, True]": 27,
        "[False, True]": 3,
    }


def test_a_metric_that_is_better_when_lower_says_so_in_its_name(written):
    path = written(
        record(metrics=["acc", "loss", "brier_score"], loss=0.2, brier_score=0.1),
        configs={"t": {"metric_list": [{"metric": "loss", "higher_is_better": True}]}},
        higher_is_better={"t": {"acc": True, "loss": False}},
    )
    (attempt,), notes = read(path)
    assert attempt.scores == {
        "acc": 1.0,
        "loss:lower_is_better": 0.2,
        "brier_score:lower_is_better": 0.1,
    }
    assert any(
        "metric loss is better when it is lower (of all documents together" in note
        for note in notes
    )


def test_direction_from_the_configuration_where_results_lack_it(written):
    path = written(
        record(), configs={"t": {"metric_list": [{"metric": "acc", "higher_is_better": False}]}}
    )
    assert list(read(path)[0][0].scores) == ["acc:lower_is_better"]


def test_repeats_that_a_filter_folded_are_noted(written):
    path = written(record(resps=[["3", "4", "3", "3", "5"]]))
    _, notes = read(path)
    assert any("asked 5 times" in note for note in notes)


def test_a_list_that_the_target_was_written_as_stays_text():
    """The harness reads a target that looks like a list as one, so text cannot be told from it."""
    attempts, _ = read(FILES / f"samples_replay_tatqa_{STAMP}.jsonl")
    assert all(isinstance(a.derived["target"], str) for a in attempts)
    assert attempts[0].derived["target"].startswith("['our allowable")


@pytest.mark.parametrize("resps", [[[""]], [[]], [], [["  \n"]]])
def test_empty_replies_are_scored_as_logged_and_noted(written, resps):
    (attempt,), notes = read(written(record(resps=resps, filtered_resps=[], acc=0)))
    assert attempt.status == "ok"
    assert attempt.post["resp_empty"] is True
    assert any("1 records have an empty reply" in note for note in notes)


def test_log_likelihoods_are_no_empty_replies():
    attempts, notes = read(FILES / f"samples_agieval_lsat_ar_local_{STAMP}.jsonl")
    assert not any("resp_empty" in a.post for a in attempts)
    assert not notes


def test_predictions_without_metrics_are_unscored(written):
    """--predict_only replaces every metric by one that is null."""
    (attempt,), _ = read(written(record(metrics=["bypass"], bypass=None)))
    assert attempt.status == "unscored"
    (attempt,), _ = read(written(record(metrics=[])))
    assert attempt.status == "unscored"


def test_facts_texts_and_what_the_answer_gives(written):
    long = record(1, doc={"question": "Why?", "subject": "x", "story": "s" * 101, "gold": 2})
    short = record(
        0,
        doc={
            "question": "What?",
            "story": "short",
            "n_steps": 2,
            "choices": {"text": ["a" * 80, "b" * 80], "label": ["A", "B"]},
            "unit": "kg",
            "meta": {"topic": "law", "answer_span": [1, 2]},
        },
    )
    path = written(short, long, configs={"t": {"doc_to_target": "{{answer}} {{unit}}"}})
    attempts, _ = read(path)
    assert attempts[0].facts == {
        "n_steps": 2,
        "choices": {"text": ["a" * 80, "b" * 80]},
        "meta": {"topic": "law"},
    }
    # A field is a text in the whole file, also where it is short.
    assert attempts[0].texts == {
        "question": "What?",
        "story": "short",
        "choices.text": "a" * 80 + "\n" + "b" * 80,
        "arguments": "Q: What?\nA:",
    }
    assert attempts[0].derived == {
        "target": "3",
        "unit": "kg",
        "choices": {"label": ["A", "B"]},
        "meta": {"answer_span": [1, 2]},
    }
    assert attempts[1].facts == {"subject": "x"}
    assert attempts[1].derived == {"target": "3", "gold": 2}


def test_hashes_are_no_facts():
    attempts, _ = read(FILES / f"samples_replay_gsm8k_{STAMP}.jsonl")
    for attempt in attempts:
        assert attempt.facts.keys() == {"n_steps"}
        assert not any("hash" in name for name in (*attempt.derived, *attempt.post))


def test_documents_that_are_no_objects(written):
    attempts, _ = read(written(record(0, doc="a"), record(1, doc=["x", "y"])))
    assert [a.facts for a in attempts] == [{"doc": "a"}, {"doc": ["x", "y"]}]


def test_a_conversation_written_as_json_is_taken_apart(written):
    said = json.dumps([{"role": "system", "content": "Be."}, {"role": "user", "content": "Q?"}])
    attempts, _ = read(
        written(
            record(0, arguments={"gen_args_0": {"arg_0": [said]}}),
            record(1, arguments=[["plain", {"until": []}]]),
            record(2, arguments={"gen_args_0": {"arg_0": '[{"role": broken'}}),
        )
    )
    assert [a.texts["arguments"] for a in attempts] == ["Be.\nQ?", "plain", '[{"role": broken']


def test_what_is_known_after_the_run_is_kept_apart(written):
    (attempt,), _ = read(written(record(latency=0.3)))
    assert attempt.post == {
        "latency": 0.3,
        "resp_chars": 7,
        "resp_words": 3,
        "resp_empty": False,
        "filtered_resp": "3",
    }


def test_the_last_line_needs_no_line_feed():
    path = FILES / "pyfade_samples_gsm8k_2025-09-09T13-31-53.431753.jsonl"
    assert not path.read_bytes().endswith(b"\n")
    assert len(read(path)[0]) == 3


def test_byte_order_mark_carriage_returns_and_line_separators(tmp_path):
    path = tmp_path / f"samples_t_{STAMP}.jsonl"
    lines = [json.dumps(record(i, doc={"q": "a\u2028b"}), ensure_ascii=False) for i in range(2)]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(lines).encode())
    assert recognised(path.read_bytes())
    attempts, _ = read(path)
    assert [a.line for a in attempts] == [1, 3]


def test_a_line_cut_off_is_named(tmp_path):
    path = tmp_path / f"samples_t_{STAMP}.jsonl"
    path.write_text(json.dumps(record(0)) + "\n" + json.dumps(record(1))[:-30])
    said = refusal(path)
    assert f"{path} line 2" in said


@pytest.mark.parametrize(
    "line",
    ['{"doc_id": 0}', "[1]", "3", '{"doc_id": null, "doc": {}}', '{"doc_id": true, "doc": 1}'],
)
def test_lines_that_are_no_samples_are_named(written, tmp_path, line):
    path = written(record())
    path.write_text(json.dumps(record()) + "\n" + line)
    assert f"{path} line 2" in refusal(path)


def test_empty_and_compressed_files_are_refused(tmp_path):
    path = tmp_path / "samples_t.jsonl"
    path.write_bytes(b"")
    assert "empty" in refusal(path)
    path.write_text("[]")
    assert "holds no sample" in refusal(path)
    path.write_bytes(b"\x1f\x8b\x08")
    assert "gunzip" in refusal(path)
    assert not recognised(b"\x1f\x8b\x08")


def test_a_document_longer_than_the_head_is_recognised():
    text = json.dumps(record(doc={"context": "x" * 200_000}))
    assert recognised(text.encode())
    assert not recognised(json.dumps({"doc_id": 1, "doc": "x", "error": 1}).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["gen_args_0", "arg_0", "answer", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_value_in_any_field_is_read_or_refused(tmp_path, data):
    names = st.sampled_from(sorted(record()))
    odd = record() | data.draw(st.dictionaries(names, JSON, max_size=3))
    path = tmp_path / f"samples_t_{STAMP}.jsonl"
    path.write_text(json.dumps(odd))
    (tmp_path / f"results_{STAMP}.json").write_text(
        json.dumps({"configs": data.draw(JSON), "higher_is_better": data.draw(JSON)})
    )
    try:
        assert read(path)[0]
    except InputError as error:
        said = str(error)
    else:
        return
    assert str(tmp_path) in said


@pytest.mark.parametrize("number", ["42", "43", "60"])
def test_ordinary_json_lines_are_no_log(number):
    (folder,) = (DATA / "cases").glob(f"{number}_*")
    for path in folder.glob("*.jsonl"):
        assert not recognised(path.read_bytes())


@pytest.mark.parametrize("name", ["openai_evals", "every_eval_ever"])
def test_other_logs_are_not_taken_for_this_one(name):
    for path in (DATA / "formats" / name).glob("*.jsonl"):
        assert not recognised(path.read_bytes())


def test_results_are_no_samples():
    for path in FILES.glob("*results*.json"):
        assert not recognised(path.read_bytes())


def test_the_hash_covers_the_samples_and_their_results(tmp_path):
    name = f"samples_replay_tatqa_{STAMP}.jsonl"
    for file in (name, f"results_{STAMP}.json"):
        shutil.copy(FILES / file, tmp_path)
    context = Context(hashed := hashlib.sha256())
    list(FORMAT.read(str(tmp_path / name), context))
    together = (tmp_path / f"results_{STAMP}.json").read_bytes() + (tmp_path / name).read_bytes()
    assert hashed.hexdigest() == hashlib.sha256(together).hexdigest()


def test_attempts_come_one_at_a_time(written, monkeypatch):
    """Nothing is collected: an attempt is there before the next line has been decoded."""
    path = written(*(record(i) for i in range(5)))
    decoded: list[int] = []
    lines = json_text.lines

    def counted(path: str, context: Context):
        for number, value in lines(path, context):
            decoded.append(number)
            yield number, value

    monkeypatch.setattr(json_text, "lines", counted)
    attempts = FORMAT.read(str(path), Context(hashlib.sha256()))
    next(attempts)
    assert decoded == [1, 2, 3, 4, 5, 1]
