"""What a person chooses of logs: among values, repeats and facts, files and folders."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.audits import cli
from tests.logs.made import (
    AGIEVAL,
    CRUX,
    DROP,
    FORMATS,
    GSM,
    GSM8K,
    INSPECT,
    LM_EVAL_SAYS,
    RESULTS,
    STRICT,
    TATQA,
    case,
    counts,
    lm_eval_line,
    sample,
    whole,
    write_inspect,
    write_lines,
)

# --- what is chosen ------------------------------------------------------------------------------


def test_each_stop_names_values_counts_and_option(tmp_path: Path) -> None:
    """One file after the other brings a choice; each is asked for by its own option."""
    folder = tmp_path / "model-a"
    folder.mkdir()
    stamp = "2026-01-0{}T00-00-00.5"

    def log(task: str, day: int, filters: Sequence[str] = ("none",), **more: Any) -> None:
        records = [
            lm_eval_line(number, number % 2, filter=one, **more)
            for number in range(4)
            for one in filters
        ]
        write_lines(folder / f"samples_{task}_{stamp.format(day)}.jsonl", records)

    log("one", 1)
    assert counts(whole(folder)) == (2, 2, 0)
    log("one", 2)
    message = cli.refused(folder, *cli.WHOLE)
    assert f"2 values of run: '{stamp.format(1)}' (4 attempts), " in message
    assert "choose one with --run NAME" in message
    assert "all" not in message.rsplit("choose one with", 1)[1]
    log("two", 2, filters=("x", "y"))
    message = cli.refused(folder, *cli.WHOLE)
    assert "2 values of task: 'one' (8 attempts), 'two' (8 attempts)" in message
    assert "choose one with --task NAME, or --task all for all of them" in message
    two = ("--task", "two")
    assert "'x' (4 attempts), 'y' (4 attempts); choose one with --filter NAME" in cli.refused(
        folder, *two
    )
    assert counts(whole(folder, *two, "--filter", "y")) == (2, 2, 0)
    for *before, option, value in (
        ("--task", "three"),
        (*two, "--run", "now"),
        (*two, "--filter", "z"),
        (*two, "--model", "other"),
    ):
        name = option.removeprefix("--")
        assert f"{option} {value}: there is no such {name}; there are '" in cli.refused(
            folder, *before, option, value
        )
    assert "--metric f1: there is no such score; there are acc (0 2, 1 2)" in cli.refused(
        folder, *two, "--filter", "x", "--metric", "f1"
    )


def test_tasks_of_one_group_that_ran_at_different_times_are_pooled(tmp_path: Path) -> None:
    for day, task in enumerate(("algebra", "logic"), 1):
        records = [lm_eval_line(number, int(number < day)) for number in range(5)]
        write_lines(tmp_path / f"samples_{task}_2026-01-0{day}T00-00-00.5.jsonl", records)
    result = whole(tmp_path, "--task", "all")
    assert counts(result) == (3, 7, 0)
    assert "task" in cli.columns(result)
    assert cli.one(result, "task = logic")["discovery"]["errors_on"] == 3
    # A second run of one of them is a choice again.
    shutil.copy(
        tmp_path / "samples_logic_2026-01-02T00-00-00.5.jsonl",
        tmp_path / "samples_logic_2026-01-03T00-00-00.5.jsonl",
    )
    assert "values of run" in cli.refused(tmp_path, "--task", "all")


def test_a_split_can_be_pooled_and_a_model_cannot() -> None:
    mmlu = (FORMATS / "helm" / "mmlu", "--metric", "exact_match")
    result = cli.audit(*mmlu, "--choose", "split=all", *cli.WHOLE, *cli.FAST)
    assert result["data"]["log"]["choices"]["split"] == "all"
    assert cli.one(result, "split = test")["discovery"]["on"] == 9
    assert "there is no such model" in cli.refused(*mmlu, "--model", "all")


def test_what_other_attempts_hold_does_not_decide_how_a_column_is_read(tmp_path: Path) -> None:
    """A score, a fact and a level that only other tasks have are not in the audit."""
    for task, level, value in (("one", "1", 1.0), ("two", "low", 0.37)):
        records = [
            lm_eval_line(
                number,
                value if number % 2 else 0.0,
                doc={"level": level if number % 3 else "7", task: number % 2},
            )
            for number in range(6)
        ]
        write_lines(tmp_path / f"samples_{task}_2026-01-01T00-00-00.5.jsonl", records)
    result = whole(tmp_path, "--task", "one")
    assert counts(result) == (3, 3, 0)
    assert "two" not in cli.columns(result) | cli.not_used(result)
    assert "level > 1" in cli.by_name(result)  # numbers here, words in the other task
    assert "for a graded score" in cli.refused(tmp_path, "--task", "two")


def test_two_words_for_the_outcome() -> None:
    message = cli.refused(CRUX, "--scorer", "literal_equal", "--metric", "char_overlap")
    assert "--metric and --scorer mean the same" in message
    message = cli.refused(CRUX, "--scorer", "char_overlap", "--correct", "literal_equal")
    assert "names char_overlap, but the outcome is literal_equal" in message
    same = ("--metric", "match", "--scorer", "match", "--correct", "match")
    assert counts(whole(GSM, *same)) == (16, 14, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--choose", "task"), "--choose 'task' must be COORDINATE=VALUE"),
        (("--choose", "=x"), "must be COORDINATE=VALUE"),
        (("--choose", "task=a", "--task", "b"), "task is chosen twice"),
        (("--choose", "seed=1"), "there is no seed to choose (--choose seed=...); attempts differ"),
        (("--filter", "x"), "there is no filter to choose (--filter ...); attempts differ in task"),
        (("--choose", "epoch=9"), "there is no such epoch; there are '1' (24 attempts), "),
        (("--text-features", "x"), "the log has no such text; it has input"),
        (("--format", "xml"), "--format 'xml' is not one of inspect, lm-eval, "),
    ],
)
def test_choices_that_cannot_be_made(words: Sequence[str], said: str) -> None:
    assert said in cli.refused(CRUX, "--scorer", "literal_equal", *words)


@pytest.mark.parametrize(
    "words",
    [
        ("--filter", "x"),
        ("--model", "x"),
        ("--task", "x"),
        ("--run", "x"),
        ("--choose", "split=test"),
        ("--text-features", "question"),
        ("--metric", "error"),
        ("--scorer", "error"),
    ],
)
def test_options_of_logs_are_refused_for_a_table(words: Sequence[str]) -> None:
    message = cli.refused(case(36) / "input.csv", "--error", "error", *words)
    assert (
        f"{' '.join(words).replace('--scorer', '--metric')} chooses among the attempts" in message
    )
    assert "is an ordinary table" in message


@pytest.mark.parametrize("name", ["format", "metric", "scorer", "filter", "model", "task", "run"])
def test_an_option_that_takes_one_choice_is_not_given_twice(name: str) -> None:
    message = cli.refused(GSM8K, f"--{name}", "a", f"--{name}=b")
    assert f"--{name} is given twice: give one of them; see janus-jax audit --help" in message


def test_what_a_choice_leaves_out_of_all_tasks_is_said(tmp_path: Path) -> None:
    def log(task: str, many: int, *filters: str) -> None:
        records = [
            lm_eval_line(number, number % 2, filter=one)
            for number in range(many)
            for one in filters
        ]
        write_lines(tmp_path / f"samples_{task}_2026-01-01T00-00-00.5.jsonl", records)

    def said(*words: str) -> list[str]:
        notes = whole(tmp_path, "--task", "all", *words)["notes"]
        return [note for note in notes if "left out" in note]

    log("one", 4, "strict-match", "loose")
    log("two", 6, "strict-match")
    assert said(*STRICT) == []
    assert said("--filter", "loose") == [
        "6 attempts at 1 other task (two) have no filter 'loose' and were left out"
    ]
    log("three", 1, "none")
    assert said("--filter", "loose") == [
        "7 attempts at 2 other tasks (three, two) have no filter 'loose' and were left out"
    ]
    assert said(*STRICT) == [
        "1 attempt at 1 other task (three) has no filter 'strict-match' and was left out"
    ]
    result = whole(tmp_path, "--task", "one", *STRICT)
    assert not [note for note in result["notes"] if "left out" in note]


def test_format_table_takes_a_log_for_a_table() -> None:
    result = whole(GSM8K, "--format", "table", "--correct", "exact_match")
    assert result["data"]["rows"] == 80
    assert result["data"]["log"] is None
    assert "neither JSON Lines nor an evaluation log" in cli.refused(
        CRUX, "--format", "table", "--correct", "x"
    )
    # What belongs to a log and is none is then a table like any other.
    samples = FORMATS / "openai_evals" / "samples.jsonl"
    assert "single value" in cli.refused(samples, "--format", "table", "--correct", "n_steps") or (
        "not true/false" in cli.refused(samples, "--format", "table", "--correct", "n_steps")
    )


def test_a_format_can_be_named() -> None:
    assert counts(whole(GSM8K, "--format", "lm-eval", *STRICT)) == (22, 18, 0)
    assert "not complete JSON" in cli.refused(GSM8K, "--format", "inspect")


def test_scores_that_are_better_when_lower(tmp_path: Path) -> None:
    path = tmp_path / "samples_t_2026-01-01T00-00-00.5.jsonl"
    write_lines(path, [lm_eval_line(number, int(number % 4 == 0)) for number in range(12)])
    results = {"higher_is_better": {"t": {"acc": False}}, "configs": {"t": {}}, "results": {}}
    (tmp_path / "results_2026-01-01T00-00-00.5.json").write_text(json.dumps(results), "utf-8")
    name = "acc:lower_is_better"
    for words in ((), ("--metric", name), ("--correct", name)):
        message = cli.refused(path, *words, *cli.WHOLE)
        assert "of acc lower values are better" in message
        assert f"--error {name} takes 1 as wrong" in message
    assert counts(whole(path, "--error", name)) == (9, 3, 0)


# --- repeats -------------------------------------------------------------------------------------


def attempts_of(log: Path, scorer: str) -> Mapping[str, Sequence[str | None]]:
    """Letters of each sample in file order, read as plain JSON; None where there is none."""
    found: dict[str, list[str | None]] = defaultdict(list)
    for one in json.loads(log.read_text("utf-8"))["samples"]:
        scores = {} if one.get("error") else (one["scores"] or {})
        found[one["id"]].append(scores[scorer]["value"] if scorer in scores else None)
    return found


def reduced(letters: Sequence[str | None], how: str) -> bool | None:
    """Whether an example is right, by the definition of ``--repeats``; None for no outcome."""
    known = [letter == "C" for letter in letters if letter is not None]
    if how == "first":
        return None if letters[0] is None else letters[0] == "C"
    if not known:
        return None
    if how == "majority":
        assert 2 * sum(known) != len(known), "a tie is refused"
        return 2 * sum(known) > len(known)
    return any(known) if how == "any" else all(known)


@pytest.mark.parametrize("how", ["any", "all", "majority", "first"])
@pytest.mark.parametrize("log", [INSPECT / "case_37.json", CRUX])
def test_repeats_are_reduced_by_their_definition(log: Path, how: str) -> None:
    scorer = "literal_equal" if log == CRUX else "match"
    letters = attempts_of(log, scorer)
    wanted = [reduced(each, how) for each in letters.values()]
    result = whole(log, "--scorer", scorer, "--repeats", how, *DROP)
    split = result["data"]["discovery"]
    assert (split["n"], split["errors"]) == (len(letters), wanted.count(False))
    assert None not in wanted


def test_counts_of_the_cruxeval_log_by_hand() -> None:
    words = ("--scorer", "literal_equal", *DROP, "--repeats")
    wrong = {
        how: whole(CRUX, *words, how)["data"]["discovery"]["errors"]
        for how in ("any", "majority", "first", "all")
    }
    assert wrong == {"any": 14, "majority": 15, "first": 14, "all": 16}


def test_an_attempt_that_is_missing_in_some_epochs(tmp_path: Path) -> None:
    failed = {"scores": {}, "error": {"message": "timeout", "traceback": ""}}
    values = {"a": "CCI", "b": "II-", "c": "-C-", "d": "---", "e": "I-C"}
    samples = [
        sample(name, letter, epoch, kind=name < "c", more=failed if letter == "-" else {})
        for name, letters in values.items()
        for epoch, letter in enumerate(letters, 1)
    ]
    path = write_inspect(tmp_path / "log.json", samples)
    found = {}
    for how in ("any", "all", "first"):
        split = whole(path, "--repeats", how, *DROP)["data"]["discovery"]
        found[how] = (split["errors"], split["n"])
    # Of d nothing is known; of c nothing, if only the first epoch counts.
    assert found == {"any": (1, 4), "all": (3, 4), "first": (2, 3)}
    message = cli.refused(path, "--repeats", "majority", *DROP, *cli.WHOLE)
    assert "1 examples are right as often as wrong, the first 'e'" in message


def test_facts_that_differ_between_repeats_stop(tmp_path: Path) -> None:
    samples = [
        sample(name, "CI"[(name + epoch) % 2], epoch, area="xy"[name % 2], turns=name % 3)
        for name in range(6)
        for epoch in (1, 2, 3)
    ]
    samples[4]["metadata"]["turns"] = 99
    path = write_inspect(tmp_path / "log.json", samples)
    message = cli.refused(path, "--repeats", "majority", *cli.WHOLE)
    assert "column 'turns' differs between repeats of example '1'" in message
    assert "--exclude turns" in message
    assert whole(path, "--repeats", "majority", "--exclude", "turns")["data"]["rows"] == 6
    del samples[4]["metadata"]["turns"]  # a fact that one repeat lacks differs too
    message = cli.refused(
        write_inspect(tmp_path / "log.json", samples), "--repeats", "majority", *cli.WHOLE
    )
    assert "column 'turns' differs between repeats of example '1'" in message


def test_what_is_known_after_the_run_may_differ_between_repeats(tmp_path: Path) -> None:
    samples = [
        sample(name, "CI"[name % 2], epoch, area="xy"[name % 3 // 2], more={"total_time": epoch})
        for name in range(6)
        for epoch in (1, 2)
    ]
    path = write_inspect(tmp_path / "log.json", samples)
    result = whole(path, "--repeats", "majority")
    assert "known only after the model ran" in cli.not_used(result)["total_time"]
    message = cli.refused(path, "--repeats", "majority", "--include", "total_time", *cli.WHOLE)
    assert "column 'total_time' differs between repeats" in message


# --- facts ---------------------------------------------------------------------------------------


def test_what_is_known_after_the_run_is_left_out_and_can_be_included() -> None:
    result = whole(GSM8K, *STRICT)
    reasons = cli.not_used(result)
    for name in ("resp_chars", "resp_words", "resp_empty"):
        assert reasons[name] == f"known only after the model ran; --include {name} uses it"
        assert name not in cli.columns(result)
    used = whole(GSM8K, *STRICT, "--include", "resp_chars")
    assert cli.columns(used)["resp_chars"]["origin"] == "post"
    assert any(name.startswith("resp_chars > ") for name in cli.by_name(used))
    other_score = whole(AGIEVAL, "--metric", "acc")
    assert "known only after" in cli.not_used(other_score)["acc_norm"]


def test_what_comes_from_the_gold_answer_is_used_and_marked() -> None:
    result = whole(TATQA, "--metric", "em")
    origins = {name: column["origin"] for name, column in cli.columns(result).items()}
    assert origins["answer_type"] == "derived"
    assert origins["scale"] is None
    (note,) = (note for note in result["notes"] if note.startswith("made from the gold answer"))
    derived = [name for name, origin in origins.items() if origin == "derived"]
    assert note.endswith(": " + ", ".join(derived))
    assert "answer_type" not in cli.columns(
        whole(TATQA, "--metric", "em", "--exclude", "answer_type")
    )


def test_features_of_a_text_are_counted() -> None:
    result = whole(GSM8K, *STRICT, "--text-features", "question")
    records = map(json.loads, GSM8K.read_text("utf-8").splitlines())
    chosen = [one["doc"]["question"] for one in records if one["filter"] == "strict-match"]
    words = sorted(len(text.split()) for text in chosen)
    middle = Fraction(words[19] + words[20], 2)
    shown = str(middle.numerator) if middle.denominator == 1 else str(float(middle))
    assert f"question.words > {shown}" in cli.by_name(result)
    assert {"question.words", "question.numbers", "question.sentences"} <= cli.columns(
        result
    ).keys()
    message = cli.refused(GSM8K, *STRICT, "--text-features", "story")
    assert "--text-features story: the log has no such text; it has question, arguments" in message


# --- files and folders ---------------------------------------------------------------------------


def test_tables_and_logs_are_not_mixed(tmp_path: Path) -> None:
    table = case(36) / "input.csv"
    for paths in ((table, GSM8K), (GSM8K, table)):
        message = cli.refused(*paths)
        assert f"{GSM8K} is a log of lm-eval and in {table} no log is recognised" in message
    message = cli.refused(GSM8K, CRUX)
    assert f"is a log of lm-eval and {CRUX} one of inspect; audit files of one kind" in message
    for path in (GSM8K, CRUX):
        shutil.copy(path, tmp_path)
    assert "audit files of one kind" in cli.refused(tmp_path)


def test_a_folder_is_searched_and_what_is_not_read_is_said(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    shutil.copy(GSM8K, deep)
    (tmp_path / "notes.txt").write_text("hello")
    shutil.copy(case(36) / "input.csv", tmp_path)
    result = whole(tmp_path, *STRICT)
    assert counts(result) == (22, 18, 0)
    (note,) = (note for note in result["notes"] if "hold no attempts" in note)
    assert f"2 other files in it hold no attempts: {tmp_path / 'input.csv'}, " in note
    (deep / "half.jsonl.gz").write_bytes(gzip.compress(GSM8K.read_bytes()))
    assert any("half.jsonl.gz" in note for note in whole(tmp_path, *STRICT)["notes"])


def test_notes_about_files_that_were_not_chosen_are_left_out() -> None:
    result = whole(FORMATS / "swe_bench", "--run", "swebench_report_haiku45_baseline", *DROP)
    assert not [note for note in result["notes"] if "raaid" in note and "resolved" in note]
    assert [note for note in result["notes"] if "25 resolved of 40 submitted" in note]


def test_folders_without_a_log(tmp_path: Path) -> None:
    message = cli.refused(tmp_path)
    assert "a directory without an evaluation log that is recognised (inspect, lm-eval" in message
    shutil.copy(RESULTS, tmp_path)
    assert LM_EVAL_SAYS in cli.refused(tmp_path)
    deep = tmp_path.joinpath(*"d" * 33)
    deep.mkdir(parents=True)
    shutil.copy(GSM8K, deep)
    assert "32 folders deep" in cli.refused(tmp_path)


def test_folders_that_lie_too_deep_are_said(tmp_path: Path) -> None:
    last = tmp_path.joinpath(*"d" * 32)
    last.mkdir(parents=True)
    shutil.copy(GSM8K, last)
    result = whole(tmp_path, *STRICT)
    assert counts(result) == (22, 18, 0)
    assert not [note for note in result["notes"] if "folders deep" in note]
    (last / "e").mkdir()
    said = f"more than 32 folders deep and not searched, the first {last / 'e'}"
    assert f"{tmp_path}: 1 folder is {said}" in whole(tmp_path, *STRICT)["notes"]
    (last / "f").mkdir()
    assert f"{tmp_path}: 2 folders are {said}" in whole(tmp_path, *STRICT)["notes"]


def test_a_log_without_samples_does_not_stop_the_others_of_its_folder(tmp_path: Path) -> None:
    full, other = tmp_path / "b.json", tmp_path.parent / f"{tmp_path.name}.json"
    empty = write_inspect(tmp_path / "a.json", [])
    message = cli.refused(tmp_path, *cli.WHOLE)  # nothing else is in the folder
    assert f"{empty}: the log holds no samples (status 'success'): it was written" in message
    samples = [sample(name, "CI"[name % 2], steps=name % 3) for name in range(6)]
    for path in (full, other):
        write_inspect(path, samples)
    alone, beside = whole(full), whole(tmp_path)
    assert beside["data"] == alone["data"]  # also the digest: what is left out decides nothing
    said = f"{empty}: the log holds no samples (status 'success'): left out"
    assert [note for note in beside["notes"] if note not in alone["notes"]] == [said]
    for paths in ((empty, other), (other, empty)):
        assert "the log holds no samples" in cli.refused(*paths, *cli.WHOLE)
    # A folder of nothing else beside a log that is named.
    full.unlink()
    result = cli.audit(tmp_path, other, *cli.WHOLE, *cli.FAST)
    assert result["data"]["source"] == [str(other)]
    assert said in result["notes"]


def test_links_that_go_round_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to(tmp_path, target_is_directory=True)
    shutil.copy(GSM8K, tmp_path)
    (tmp_path / "latest.jsonl").symlink_to(tmp_path / GSM8K.name)
    (tmp_path / "broken.jsonl").symlink_to(tmp_path / "nowhere")
    result = whole(tmp_path, *STRICT)
    assert result["data"]["source"] == [str(tmp_path / GSM8K.name)]
    assert counts(result) == (22, 18, 0)


def test_a_log_that_is_named_twice_stops(tmp_path: Path) -> None:
    shutil.copy(GSM8K, tmp_path)
    log = tmp_path / GSM8K.name
    link = tmp_path.parent / f"{tmp_path.name}.jsonl"
    link.symlink_to(log)
    run = FORMATS / "helm" / "hellaswag"
    for first, second in (
        (log, log),
        (tmp_path, log),
        (log, tmp_path),
        (log, link),
        (run, run / "per_instance_stats.json"),
        (run / "per_instance_stats.json", run),
    ):
        message = cli.refused(first, second, *cli.WHOLE)
        assert "its attempts would count twice. Name it once." in message, message
    copy = shutil.copy(log, tmp_path / "samples_other_2026-11-30T15-14-11.009972.jsonl")
    assert "2 values of task" in cli.refused(log, copy, *STRICT)


def test_a_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("janus_jax.logs.formats.os.listdir", refuse)
    assert "cannot be listed (Permission denied)" in cli.refused(tmp_path)


def test_a_pipe_is_no_log(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "janus_jax", "audit", "/dev/stdin", *STRICT],
        input=GSM8K.read_bytes(),
        capture_output=True,
        check=False,
    )
    message = cli.one_message(run.stderr.decode())
    assert run.returncode == 2
    assert "no evaluation log is looked for in a pipe (save it to a file for that)" in message
    os.mkfifo(tmp_path / "pipe")
    assert "looked for in a pipe" in cli.refused(tmp_path / "pipe", *STRICT)


def test_a_table_still_comes_through_a_pipe() -> None:
    words = ("--error", "error", *DROP, *cli.WHOLE, *cli.FAST)
    run = subprocess.run(
        [sys.executable, "-m", "janus_jax", "audit", "/dev/stdin", *words, "--json", "-"],
        input=(case(36) / "input.csv").read_bytes(),
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert counts(cli.parse(run.stdout.decode())) == (13, 4, 3)


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    assert "no such file" in cli.refused(tmp_path / "samples.jsonl", *STRICT)
    assert "no such file" in cli.refused(tmp_path / "nowhere")
