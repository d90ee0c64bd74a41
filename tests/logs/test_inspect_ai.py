"""Inspect AI logs: both encodings, the counts of real logs, and one test per trap."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import random
import sys
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from janus_jax.errors import InputError
from janus_jax.logs import archive, json_text
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.inspect_ai import FORMAT

DATA = Path(__file__).parents[1] / "data" / "formats" / "inspect_ai"
CRUX_JSON = "2026-11-30T15-08-08-00-00_cruxeval-output_ajezSPa5uE4AxR4V7HaCD8.json"
CRUX_EVAL = "2026-11-30T15-08-11-00-00_cruxeval-output_mkmJA8EHTBsCKGTDF9F9Yo.eval"
GSM_JSON = "2026-11-30T15-08-10-00-00_gsm8k-replay_6MdmghAk5QPj5D2Q3aAzsp.json"
GSM_EVAL = "2026-11-30T15-08-15-00-00_gsm8k-replay_HSREBrtdC4KE8R3pmezVmo.eval"
POPULARITY = "inspect_2025-05-12T20-28-13-04-00_popularity.json"
NO_SAMPLES = "inspect_2025-05-12T20-28-13-04-00_no-samples.json"


def read(path: Path | str) -> tuple[list[Attempt], list[str]]:
    context = Context(hashlib.sha256())
    return list(FORMAT.read(str(path), context)), context.notes


def refusal(path: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


def probe(path: Path) -> Probe:
    data = path.read_bytes()[: 2**16]
    members = zipfile.ZipFile(path).namelist() if data.startswith(b"PK\3\4") else []
    return Probe(str(path), data, frozenset(members))


def counts(attempts: list[Attempt], scorer: str) -> dict[Any, int]:
    return dict(Counter(a.scores[scorer] for a in attempts if scorer in a.scores))


def log_of(samples: Any, **header: Any) -> dict[str, Any]:
    spec = {"task": "t", "model": "m", "packages": {"inspect_ai": "0.3.285"}}
    return {"version": 2, "status": "success", "eval": spec, **header, "samples": samples}


def sample_of(name: int | str = 1, epoch: int = 1, **more: Any) -> dict[str, Any]:
    scores = {"match": {"value": "C", "answer": "x"}}
    sample = {"id": name, "epoch": epoch, "input": "q", "target": "t", "scores": scores}
    return {**sample, "metadata": {}, **more}


Write = Callable[..., Path]


@pytest.fixture
def document(tmp_path: Path) -> Write:
    """Writes a log as ``.json``."""

    def write(log: Any, name: str = "log.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(log))
        return path

    return write


@pytest.fixture
def evalfile(tmp_path: Path) -> Write:
    """Writes a log as ``.eval``: full samples, summaries that say what they are told to."""

    def write(
        log: dict[str, Any],
        summaries: Any = None,
        method: int = zipfile.ZIP_DEFLATED,
        without: tuple[str, ...] = (),
        more: dict[str, Any] | None = None,
    ) -> Path:
        log = dict(log)
        samples = log.pop("samples")
        members: dict[str, Any] = {"_journal/start.json": {"version": 2, "eval": log["eval"]}}
        for one in samples:
            members[f"samples/{one['id']}_epoch_{one['epoch']}.json"] = one
        members["summaries.json"] = samples if summaries is None else summaries
        members["header.json"] = log
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", method) as file:
            for name, value in {**members, **(more or {})}.items():
                if name not in without:
                    file.writestr(name, json.dumps(value))
        return path

    return write


# ---------------------------------------------------------------------------------- real logs


@pytest.mark.parametrize("name", [CRUX_JSON, CRUX_EVAL])
def test_a_task_with_three_epochs_and_an_error(name):
    attempts, notes = read(DATA / name)
    assert len(attempts) == 72
    assert len({a.example for a in attempts}) == 24
    assert Counter(a.coordinates["epoch"] for a in attempts) == {"1": 24, "2": 24, "3": 24}
    assert counts(attempts, "literal_equal") == {"C": 26, "I": 34, "N": 11}
    assert sum(isinstance(a.scores.get("char_overlap"), float) for a in attempts) == 71
    (failed,) = [a for a in attempts if a.status != "ok"]
    assert (failed.example, failed.coordinates["epoch"]) == ("sample_7", "2")
    assert failed.status == "error"
    assert failed.scores == {}
    assert "simulated provider error" in failed.post["error"]
    assert attempts[0].coordinates["task"] == "cruxeval_output"
    assert attempts[0].coordinates["model"] == "mockllm/model"
    assert attempts[0].coordinates["run"] == name.rsplit(".", 1)[0]
    assert attempts[0].facts["nested"] == {"input_chars": 18}
    assert notes == []


@pytest.mark.parametrize("name", [GSM_JSON, GSM_EVAL])
def test_a_task_with_a_dictionary_as_score(name):
    attempts, notes = read(DATA / name)
    assert len(attempts) == 30
    assert counts(attempts, "match") == {"C": 16, "I": 14}
    assert counts(attempts, "multi.correct") == {1: 16, 0: 14}
    assert sum(counts(attempts, "multi.resp_steps").values()) == 30
    assert {*attempts[0].scores} == {"match", "multi.correct", "multi.resp_steps"}
    assert {*attempts[0].facts} == {"n_steps", "q_words"}
    assert notes == []


@pytest.mark.parametrize(("one", "other"), [(CRUX_JSON, CRUX_EVAL), (GSM_JSON, GSM_EVAL)])
def test_both_encodings_give_the_same_attempts(one, other):
    def plain(name: str) -> dict[Any, Any]:
        seen = {}
        for a in read(DATA / name)[0]:
            coordinates = {k: v for k, v in a.coordinates.items() if k != "run"}
            post = {k: v for k, v in a.post.items() if not k.endswith("_time")}
            key = (a.example, a.coordinates["epoch"])
            seen[key] = (a.status, a.scores, coordinates, a.facts, a.derived, post, a.texts)
        return seen

    assert plain(one) == plain(other)


def test_the_hash_is_that_of_the_file():
    for name in (GSM_JSON, GSM_EVAL):
        context = Context(hashlib.sha256())
        list(FORMAT.read(str(DATA / name), context))
        wanted = hashlib.sha256((DATA / name).read_bytes()).hexdigest()
        assert context.hasher.hexdigest() == wanted


def test_counts_of_the_reference_logs():
    assert {*counts(read(DATA / POPULARITY)[0], "match").items()} == {("C", 2), ("I", 1)}
    assert counts(read(DATA / "inspect_log_length_stop_reason.txt")[0], "exact") == {"I": 1}
    assert counts(read(DATA / "inspect_log_read_sample.eval")[0], "match") == {"C": 1}


@pytest.mark.parametrize(
    ("name", "yes"),
    [
        *((name, True) for name in (CRUX_JSON, CRUX_EVAL, GSM_JSON, GSM_EVAL, POPULARITY)),
        *((name, True) for name in (NO_SAMPLES, "eee_data_with_llm_scoring.json")),
        ("inspect_log_read_sample.eval", True),
        ("inspect_log_length_stop_reason.txt", True),
        ("inspect_log_invalid.txt", True),
        ("case_38.json", True),
        ("README.md", False),
    ],
)
def test_logs_are_recognised_by_content(name, yes, tmp_path):
    assert FORMAT.recognises(probe(DATA / name)) is yes
    renamed = tmp_path / "x.dat"  # Inspect's own samples_df() reads no .json without a timestamp
    renamed.write_bytes((DATA / name).read_bytes())
    assert FORMAT.recognises(probe(renamed)) is yes


@pytest.mark.parametrize(
    "head",
    [
        b"id,wrong\n1,0\n",
        b'{"id": 1, "status": "success"}\n',
        b'{"eval": "x", "status": "success"}\n',
        b'{"eval": {"name": "x"}, "status": 1}\n',
        b'[{"status": "success", "eval": {"task": "a", "model": "b"}}]',
        b"",
    ],
)
def test_other_files_are_not_recognised(head):
    assert not FORMAT.recognises(Probe("log.json", head, frozenset()))
    zipped = frozenset({"xl/workbook.xml", "header.json"})
    assert not FORMAT.recognises(Probe("log.eval", b"PK\3\4", zipped))


def test_a_log_that_was_cut_off():
    words = refusal(DATA / "inspect_log_invalid.txt")
    assert "line 2" in words
    assert "the file ends in the middle (a run that was cut off?)" in words


@pytest.mark.parametrize(
    ("name", "status", "count"),
    [(NO_SAMPLES, "cancelled", 3), ("eee_data_with_llm_scoring.json", "success", 1000)],
)
def test_a_log_without_samples(name, status, count):
    words = refusal(DATA / name)
    assert f"holds no samples (status '{status}', its results count {count})" in words


def test_a_cancelled_run_is_read_and_noted():
    attempts, notes = read(DATA / POPULARITY)
    assert [a.status for a in attempts] == ["ok"] * 3
    (note,) = notes
    assert "status 'cancelled', not 'success'; the log holds 3 of 3 planned attempts" in note


# ---------------------------------------------------------------------------------- the cases


def test_repeated_attempts_are_epochs_of_one_example():
    attempts, _ = read(DATA / "case_37.json")
    assert len(attempts) == 48
    assert len({a.example for a in attempts}) == 12
    assert Counter(a.coordinates["epoch"] for a in attempts) == dict.fromkeys("1234", 12)
    outcomes: dict[str, set[Any]] = {}
    for a in attempts:
        outcomes.setdefault(a.example, set()).add(a.scores["match"])
    assert all(len(values) == 1 for values in outcomes.values())
    table = Counter((a.facts["multi_hop"], a.scores["match"]) for a in attempts)
    assert table == {(True, "I"): 20, (True, "C"): 4, (False, "I"): 4, (False, "C"): 20}


def test_errors_and_missing_scores_are_neither_right_nor_wrong():
    attempts, _ = read(DATA / "case_38.json")
    status = {a.example: a.status for a in attempts}
    assert status == dict.fromkeys(map(str, range(1, 10)), "ok") | {
        "10": "unscored",
        "11": "error",
        "12": "error",
    }
    assert counts(attempts, "match") == {"C": 2, "I": 5, "N": 1, "P": 1}
    assert attempts[10].post["error"] == "rate limit"


def test_dictionaries_become_a_score_for_each_key():
    attempts, _ = read(DATA / "case_40.json")
    assert {name for a in attempts for name in a.scores} == {
        "match",
        "rubric.fluency",
        "rubric.facts",
    }
    assert [a.example for a in attempts if "rubric.facts" not in a.scores] == ["5"]
    assert all(isinstance(a.scores.get("rubric.facts", True), bool) for a in attempts)


# -------------------------------------------------------------------------------------- traps


def test_every_kind_of_value_is_kept_as_it_is(document):
    values = ["C", "P", True, False, 0, 1, 0.5, "yes", [1, 0], None]
    samples = [sample_of(n, scores={"s": {"value": v}}) for n, v in enumerate(values)]
    attempts, _ = read(document(log_of(samples)))
    assert [a.scores["s"] for a in attempts] == values
    assert [type(a.scores["s"]) for a in attempts] == [type(v) for v in values]
    assert [a.status for a in attempts] == ["ok"] * 9 + ["unscored"]


def test_not_a_number_is_an_unscored_sample(document):
    scores = {"s": {"value": math.nan}}
    both = {"s": {"value": math.nan}, "t": {"value": 1}}
    attempts, _ = read(document(log_of([sample_of(1, scores=scores), sample_of(2, scores=both)])))
    assert [a.status for a in attempts] == ["unscored", "ok"]


def test_two_scorers_under_one_name_are_not_merged(document, tmp_path):
    scores = {"rubric": {"value": {"facts": 1}}, "rubric.facts": {"value": 0}}
    words = refusal(document(log_of([sample_of(1, scores=scores)])))
    assert "sample 1: two scores have the name 'rubric.facts'" in words
    text = json.dumps(log_of([sample_of(1)])).replace('"scores": {', '"scores": {"match": 1, ')
    (tmp_path / "log.json").write_text(text)
    assert "key 'match' occurs 2 times in one object" in refusal(tmp_path / "log.json")


def test_version_1_has_one_score_without_a_name(document):
    sample = sample_of(1)
    del sample["scores"]
    log = log_of([sample | {"score": {"value": "I"}}], version=1)
    assert read(document(log))[0][0].scores == {"score": "I"}
    log["results"] = {"scorer": {"name": "includes"}, "metrics": {}}
    assert read(document(log))[0][0].scores == {"includes": "I"}


def test_a_newer_version_is_noted(document):
    attempts, notes = read(document(log_of([sample_of(1)], version=3)))
    assert len(attempts) == 1
    assert "has version 3 of Inspect's format" in notes[0]


def test_a_limit_is_known_after_the_run(document, evalfile):
    log = log_of([sample_of(1, limit={"type": "token", "limit": 100})])
    summary = sample_of(1, limit="token")
    for path in (document(log), evalfile(log, [summary])):
        (attempt,) = read(path)[0]
        assert attempt.status == "ok"
        assert attempt.post["limit"] == "token"
        assert "limit" not in attempt.facts


def test_an_error_with_scores_is_an_error(document):
    sample = sample_of(1, error={"message": "boom", "traceback": ""})
    attempts, notes = read(document(log_of([sample])))
    assert attempts[0].status == "error"
    assert "1 attempts ended with an error and have scores all the same" in notes[0]


def test_usage_is_summed_over_models(document):
    usage = {"a": {"input_tokens": 3, "output_tokens": 1}, "b": {"input_tokens": 4, "x": None}}
    (attempt,) = read(document(log_of([sample_of(1, model_usage=usage)])))[0]
    assert attempt.post["usage"] == {"input_tokens": 7, "output_tokens": 1}


def test_reductions_are_not_used(document):
    reductions = [{"scorer": "other", "reducer": "mean", "samples": [{"value": 0.5}]}]
    log = {**log_of([sample_of(1)]), "reductions": reductions}
    assert read(document(log))[0][0].scores == {"match": "C"}


def test_planned_attempts_that_are_missing_were_not_run(document):
    spec = {"task": "t", "model": "m", "config": {"epochs": 2}, "dataset": {"sample_ids": [1, "b"]}}
    log = log_of([sample_of(1), sample_of("b", 2)], status="error", eval=spec)
    log["error"] = {"message": "out of\nmoney"}
    attempts, notes = read(document(log))
    assert [(a.example, a.coordinates["epoch"], a.status) for a in attempts] == [
        ("1", "1", "ok"),
        ("b", "2", "ok"),
        ("b", "1", "not_run"),
        ("1", "2", "not_run"),
    ]
    assert attempts[2].coordinates["model"] == "m"
    assert "'error' (out of money), not 'success'; the log holds 2 of 4 planned" in notes[0]
    log["results"] = {"total_samples": 2}  # the list of ids is not that of this run
    assert len(read(document(log))[0]) == 2
    log["status"] = "success"
    del log["results"]
    assert "2 of 4 planned attempts are not in the log" in read(document(log))[1][0]


def test_retries_of_a_task_differ_in_the_run(document):
    first = read(document(log_of([sample_of(1)]), "2026-01-01_t_X.json"))[0][0]
    again = read(document(log_of([sample_of(1)]), "2026-01-02_t_X.json"))[0][0]
    assert first.coordinates["run"] == "2026-01-01_t_X"
    assert again.coordinates["run"] == "2026-01-02_t_X"


def test_an_attempt_that_is_there_twice_is_refused(document):
    words = refusal(document(log_of([sample_of(7), sample_of(8), sample_of(7)])))
    assert "sample 3: sample '7' epoch 1 is in the log twice (before as sample 1)" in words
    words = refusal(document(log_of([sample_of(7), sample_of("7")])))
    assert "give the samples ids that differ as text" in words


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ("text", "sample 1: is no object"),
        ({"epoch": 1}, "sample 1: has no id"),
        ({"id": None}, "sample 1: has no id"),
        ({"id": 1, "epoch": "x"}, "its epoch is no whole number"),
        ({"id": 1, "scores": [1]}, "its scores are no object"),
    ],
)
def test_damaged_samples(sample, words, document):
    assert words in refusal(document(log_of([sample])))


def test_a_document_that_is_no_log(document):
    assert "has no object 'eval'" in refusal(document({"a": 1}))
    assert "has no object 'eval'" in refusal(document({**log_of([]), "eval": None}))
    assert "holds no samples (status 'success')" in refusal(document(log_of(None)))


def test_messages_are_the_input_and_choices_a_text_and_a_count(document):
    content = [{"type": "text", "text": "look"}, {"type": "image", "image": "data:..."}]
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": content},
        {"role": "user", "content": "attachment://abc"},
    ]
    sample = sample_of(1, input=messages, choices=["a", "b"], attachments={"abc": "long"})
    (attempt,) = read(document(log_of([sample])))[0]
    assert attempt.texts == {"input": "be kind\nlook\n(Image)\nlong", "choices": "a\nb"}
    assert attempt.facts == {"choices": ["a", "b"]}
    assert attempt.derived == {"target": "t"}


def test_metadata_are_facts_texts_or_give_the_answer_away(document):
    long = "word " * 50
    metadata = {"area": "bio", "story": long, "correct_answer": "B", "input": "mine", "n": {"k": 1}}
    second = {"area": "bio", "story": "short", "correct_answer": "A", "input": "m", "n": {"k": 2}}
    samples = [sample_of(1, metadata=second), sample_of(2, metadata=metadata)]
    one, two = read(document(log_of(samples)))[0]
    assert two.facts["area"] == "bio"
    assert two.facts["n"] == {"k": 1}
    assert two.derived == {"correct_answer": "B", "target": "t"}
    assert two.texts["story"] == long
    assert "story" not in one.facts  # short here, but a text in this log
    assert {*two.texts.values(), two.facts.get("input")} >= {"mine", "q"}  # neither hides the other


# -------------------------------------------------------------------------------- .eval archives


def test_summaries_suffice(evalfile):
    log = log_of([sample_of(n, metadata={"a": n}) for n in range(9)])
    broken = {f"samples/{n}_epoch_1.json": "not a sample" for n in (1, 2, 3, 5, 6, 7)}
    attempts, _ = read(evalfile(log, more=broken))  # three of nine are compared, the rest not read
    assert [a.facts for a in attempts] == [{"a": n} for n in range(9)]
    assert all("summaries.json" in a.where for a in attempts)


@pytest.mark.parametrize(
    ("full", "summary"),
    [
        ({"a": ["x"] * 900}, {"a": "Key removed from summary (> 1k)"}),
        ({"a": "word " * 900}, {"a": "word " * 100 + "word..."}),
    ],
)
def test_metadata_that_were_cut_are_read_from_the_sample(full, summary, evalfile, document):
    samples = [sample_of(n, metadata={"a": "x"}) for n in range(9)]
    samples[4] = sample_of(4, metadata=full)
    summaries = [*samples[:4], sample_of(4, metadata=summary), *samples[5:]]
    attempts, _ = read(evalfile(log_of(samples), summaries))
    wanted, _ = read(document(log_of(samples)))
    assert [(a.facts, a.texts) for a in attempts] == [(a.facts, a.texts) for a in wanted]
    assert [a.example for a in attempts if "samples/" in a.where] == ["4"]


def test_an_input_that_was_cut_is_read_from_the_sample(evalfile):
    text = "x" * 6000
    log = log_of([sample_of(1, input=text)])
    cut = sample_of(1, input=text[:5120] + "...\n(content truncated)")
    assert read(evalfile(log, [cut]))[0][0].texts["input"] == text


def test_squeezed_blanks_are_noticed(evalfile):
    metadata = {"code": "def f():\n    return 1"}
    samples = [sample_of(n, metadata=metadata) for n in range(9)]
    squeezed = [sample_of(n, metadata={"code": "def f(): return 1"}) for n in range(9)]
    attempts, _ = read(evalfile(log_of(samples), squeezed))
    assert {a.texts["code"] for a in attempts} == {"def f():\n    return 1"}


@pytest.mark.parametrize("version", ["0.3.95.dev16+g6527d0861", "0.3.154", "0.2.9", None])
def test_summaries_of_old_versions_are_not_believed(version, evalfile):
    spec = {"task": "t", "model": "m", "packages": {"inspect_ai": version}}
    samples = [sample_of(n, metadata={"tags": ["a"]} if n == 3 else {}) for n in range(9)]
    summaries = [sample_of(n) for n in range(9)]
    attempts, _ = read(evalfile(log_of(samples, eval=spec), summaries))
    assert attempts[3].facts == {"tags": ["a"]}


def test_choices_are_read_where_summaries_lack_them():
    for name in ("inspect_mmlu-no-summary-choices.eval", "inspect_mmlu-summary-choices.eval"):
        (attempt,) = read(DATA / name)[0]
        assert attempt.facts["choices"] == ["6.0 e", "6.8 eV", "12.2 eV", "13.6 eV"]
        assert attempt.facts["subject"] == "college_physics"
        assert attempt.scores == {"choice": "I"}


def test_a_run_that_crashed_has_only_its_journal(evalfile):
    samples = [sample_of(n) for n in (1, 2, 3)]
    journal = {"_journal/summaries/10.json": [samples[1]], "_journal/summaries/2.json": samples[:1]}
    path = evalfile(log_of(samples), without=("header.json", "summaries.json"), more=journal)
    attempts, notes = read(path)
    assert [a.example for a in attempts] == ["1", "2", "3"]  # the third only as a sample
    assert "status 'started'" in notes[0]


def test_samples_run_again_count_by_their_last_record(evalfile):
    old = sample_of(1, scores={}, error="x")
    attempts, notes = read(evalfile(log_of([sample_of(1)]), [old, sample_of(1)]))
    assert [(a.status, a.scores) for a in attempts] == [("ok", {"match": "C"})]
    assert "count by their last record" in notes[0]


def test_members_written_again_count_by_the_last_one(evalfile):
    path = evalfile(log_of([sample_of(1)]))
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("header.json", json.dumps({**log_of([]), "status": "cancelled"}))
    assert "status 'cancelled'" in read(path)[1][0]


def test_ids_that_differ_only_in_kind_are_refused(evalfile):
    log = log_of([sample_of(7)])
    assert "are both ids" in refusal(evalfile(log, [sample_of(7), sample_of("7")]))


def test_invalidated_samples_are_unscored(evalfile, document):
    samples = [sample_of(1), sample_of(2, invalidation={"reason": "bad"})]
    log = log_of(samples, invalidated=True)
    for path in (document(log), evalfile(log, [sample_of(1), sample_of(2)])):
        attempts, notes = read(path)
        assert [a.status for a in attempts] == ["ok", "unscored"]
        assert "1 attempts are marked as invalidated" in notes[0]


def test_large_samples_in_parts(evalfile):
    spec = {"task": "t", "model": "m"}  # no version: every sample is read
    shell = sample_of("big/one", 2)
    del shell["metadata"]
    parts = {
        "samples/big/one_epoch_2/sample.json": shell,
        "samples/big/one_epoch_2/metadata.json": {"area": "bio"},
        "samples/big/one_epoch_2/events/0.json": [1, 2, 3],
    }
    path = evalfile(log_of([], eval=spec), [sample_of("big/one", 2)], more=parts)
    (attempt,) = read(path)[0]
    assert (attempt.example, attempt.coordinates["epoch"]) == ("big/one", "2")
    assert attempt.facts == {"area": "bio"}
    assert attempt.scores == {"match": "C"}


def test_a_member_that_holds_another_sample_is_refused(evalfile):
    log = log_of([sample_of(1)], eval={"task": "t", "model": "m"})
    path = evalfile(log, more={"samples/1_epoch_1.json": sample_of(2)})
    assert "holds sample 2 epoch 1, not the one its name says" in refusal(path)


def test_an_archive_without_header_or_samples(evalfile, tmp_path):
    path = evalfile(log_of([sample_of(1)]), without=("header.json", "_journal/start.json"))
    assert "has neither header.json nor _journal/start.json" in refusal(path)
    assert "holds no samples" in refusal(evalfile(log_of([])))
    path = evalfile(log_of([sample_of(1)]), without=("samples/1_epoch_1.json",), summaries=[{}])
    assert "summaries.json sample 1: has no id" in refusal(path)
    assert "summaries.json: is no list" in refusal(evalfile(log_of([]), {"a": 1}))


# ------------------------------------------------------------------------------- hostile archives


def test_zstd_needs_a_package_before_python_3_14(monkeypatch):
    if sys.version_info >= (3, 14):
        pytest.skip("the standard library reads zstd")
    monkeypatch.setitem(sys.modules, "backports.zstd.zipfile", None)
    words = refusal(DATA / CRUX_EVAL)
    assert "zstd-compressed" in words
    assert "pip install 'janus-jax[zstd]'" in words
    assert len(read(DATA / "inspect_log_read_sample.eval")[0]) == 1  # deflate needs nothing


def test_names_with_paths_are_only_names(evalfile, tmp_path):
    name = "../../evil"
    path = evalfile(log_of([sample_of(name)], eval={"task": "t", "model": "m"}))
    before = sorted(tmp_path.rglob("*")), sorted(tmp_path.parent.iterdir())
    (attempt,) = read(path)[0]
    assert attempt.example == name
    assert before == (sorted(tmp_path.rglob("*")), sorted(tmp_path.parent.iterdir()))


def test_zip_bombs_are_refused_before_they_unpack(evalfile, monkeypatch):
    bomb = evalfile(log_of([sample_of(1, input=" " * 50_000_000)]), [sample_of(1), sample_of(2)])
    tracemalloc.start()
    words = refusal(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "unpacks to more than 500 times its size" in words
    assert peak < 20e6
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 10)
    assert "header.json: unpacks to" in refusal(evalfile(log_of([sample_of(1)])))
    monkeypatch.undo()
    monkeypatch.setattr(archive, "MAX_MEMBERS", 3)
    assert "holds 4 members, more than 3" in refusal(evalfile(log_of([sample_of(1)])))


def test_a_member_larger_than_the_directory_says(evalfile):
    path = evalfile(log_of([sample_of(1)]))
    data = bytearray(path.read_bytes())
    at = data.rfind(b"header.json") - 46 + 24  # the directory's field of the unpacked size
    data[at : at + 4] = (20).to_bytes(4, "little")
    path.write_bytes(data)
    assert "header.json" in refusal(path)


@pytest.mark.parametrize("end", [200, -30, -100])
def test_an_archive_that_was_cut_off(end, evalfile):
    path = evalfile(log_of([sample_of(1)]))
    path.write_bytes(path.read_bytes()[:end])
    assert "is no whole zip archive" in refusal(path)


def test_damaged_encrypted_and_unknown_members(evalfile):
    path = evalfile(log_of([sample_of(1)]))
    good = path.read_bytes()
    at = good.rfind(b"header.json") - 46
    local = good.find(b"header.json")
    for place, value, words in [
        (local + 15, 0xFF, "header.json: cannot be unpacked"),
        (at + 8, 0x01, "header.json: is encrypted"),
        (at + 10, 97, "header.json: cannot be unpacked"),
    ]:
        data = bytearray(good)
        data[place] = value
        path.write_bytes(data)
        assert words in refusal(path)


@pytest.mark.parametrize("name", ["inspect_log_read_sample.eval", POPULARITY])
def test_no_damage_ends_in_a_traceback(name, tmp_path):
    good = (DATA / name).read_bytes()
    path = tmp_path / name
    generator = random.Random(1)
    for _ in range(300):
        data = bytearray(good)
        for _ in range(generator.randint(1, 3)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        path.write_bytes(data[: generator.choice([len(data), generator.randrange(len(data))])])
        with contextlib.suppress(InputError):
            FORMAT.recognises(Probe(str(path), bytes(data[: 2**16]), frozenset()))
            read(path)


def test_json_of_a_member_is_strict(evalfile, tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.json", '{"eval": {"task": "t", "task": "u"}}')
        file.writestr("summaries.json", "[]")
    assert "log.eval header.json: key 'task' occurs 2 times" in refusal(path)


# ----------------------------------------------------------------------------------------- size


def test_a_large_document_is_streamed(tmp_path):
    path = tmp_path / "large.json"
    body = json.dumps(sample_of("%d", messages=["word " * 2000] * 2))
    with open(path, "w") as file:
        head = json.dumps(log_of([]))
        file.write(head[:-2])
        for n in range(2000):
            file.write(("," if n else "") + body.replace("%d", str(n)))
        file.write("]}")
    assert path.stat().st_size > 40e6
    tracemalloc.start()
    total = sum(a.status == "ok" for a in FORMAT.read(str(path), Context(hashlib.sha256())))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 2000
    assert peak < 15e6


def test_deep_metadata_are_refused(document):
    path = document(log_of([sample_of(1)]))
    deep = "[" * 500 + "]" * 500
    path.write_text(path.read_text().replace('"metadata": {}', f'"metadata": {{"a": {deep}}}'))
    assert f"nested more than {json_text.MAX_DEPTH} deep" in refusal(path)
