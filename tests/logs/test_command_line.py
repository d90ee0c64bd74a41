"""Evaluation logs through the command line: what comes out of every file, or the sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.audits import cli
from tests.logs.made import (
    CASE_38,
    CRUX,
    CRUX_EVAL,
    DROP,
    FORMATS,
    GSM,
    GSM8K,
    GSM_EVAL,
    INSPECT,
    LM_EVAL_SAYS,
    STRICT,
    Document,
    case,
    counts,
    whole,
)


def expected(number: int) -> dict[str, Any]:
    return json.loads((case(number) / "expect.json").read_text("utf-8"))["values"]


def check(descriptor: Document, table: Mapping[str, Any]) -> None:
    """A descriptor on one set has these counts and this p-value."""
    wanted = tuple(table[key] for key in ("n", "n1", "K", "a"))
    assert cli.counts(descriptor["discovery"]) == wanted
    assert descriptor["p_exact"] == pytest.approx(table["p_two_absdiff"], rel=1e-12)


# --- every file ----------------------------------------------------------------------------------

PROMPTFOO = ("--metric", "success", "--missing-outcome", "drop", "--model")
READ: Mapping[str, Sequence[tuple[Sequence[str], tuple[int, int, int]]]] = {
    "lm_eval/samples_replay_gsm8k_2026-11-30T15-14-11.009972.jsonl": [
        (STRICT, (22, 18, 0)),
        (("--filter", "flexible-extract"), (22, 18, 0)),
    ],
    "lm_eval/samples_replay_tatqa_2026-11-30T15-14-11.009972.jsonl": [
        (("--metric", "em"), (21, 9, 0)),
        (("--metric", "f1", "--pass-at", "1"), (21, 9, 0)),
    ],
    "lm_eval/samples_agieval_lsat_ar_local_2026-11-30T15-14-11.009972.jsonl": [
        (("--metric", "acc"), (4, 26, 0)),
        (("--metric", "acc_norm"), (4, 26, 0)),
    ],
    "lm_eval/pyfade_samples_gsm8k_2025-09-09T13-31-53.431753.jsonl": [((), (1, 2, 0))],
    "lm_eval/pyfade_samples_gsm8k_2025-09-09T13-42-42.857006.jsonl": [((), (2, 1, 0))],
    "lm_eval/pyfade_samples_mmlu_pro_plus_chemistry_2025-10-14T14-44-39.372006.jsonl": [
        ((), (1, 2, 0))
    ],
    "lm_eval": [
        (("--task", "replay_tatqa", "--metric", "em"), (21, 9, 0)),
        (("--task", "gsm8k", "--model", "gemma3:12b-u1"), (1, 2, 0)),
    ],
    f"inspect_ai/{CRUX.name}": [
        (("--scorer", "literal_equal", "--repeats", "any", *DROP), (10, 14, 1)),
        (("--scorer", "literal_equal", "--choose", "epoch=1"), (10, 14, 0)),
    ],
    f"inspect_ai/{CRUX_EVAL.name}": [
        (("--scorer", "literal_equal", "--repeats", "any", *DROP), (10, 14, 1)),
        (("--scorer", "literal_equal", "--choose", "epoch=1"), (10, 14, 0)),
    ],
    f"inspect_ai/{GSM.name}": [
        (("--scorer", "match"), (16, 14, 0)),
        (("--scorer", "multi.correct"), (16, 14, 0)),
    ],
    f"inspect_ai/{GSM_EVAL.name}": [
        (("--scorer", "match"), (16, 14, 0)),
        (("--scorer", "multi.correct"), (16, 14, 0)),
    ],
    "inspect_ai/eee_data_arc_qwen.json": [((), (1, 2, 0))],
    "inspect_ai/inspect_2025-05-12T20-28-13-04-00_popularity.json": [((), (2, 1, 0))],
    "helm/mmlu": [
        (("--choose", "split=all", "--metric", "exact_match"), (1, 9, 0)),
        (("--choose", "split=test", "--metric", "exact_match"), (1, 8, 0)),
    ],
    "helm/hellaswag": [(("--metric", "exact_match"), (3, 7, 0))],
    "helm/hellaswag/per_instance_stats.json": [(("--metric", "exact_match"), (3, 7, 0))],
    "promptfoo/promptfoo_v0.123.1_output.json": [
        ((*PROMPTFOO, "openai-6b-verification"), (4, 15, 2)),
        ((*PROMPTFOO, "openai-175b-verification"), (9, 11, 1)),
    ],
    "promptfoo/promptfoo_v0.123.1_output.jsonl": [
        ((*PROMPTFOO, "openai-6b-verification"), (4, 15, 2)),
        ((*PROMPTFOO, "openai-175b-verification"), (9, 11, 1)),
    ],
    "promptfoo/promptfoo_v0.123.1_output.csv": [
        ((*PROMPTFOO, "openai-6b-verification"), (4, 15, 2)),
        ((*PROMPTFOO, "openai-175b-verification"), (9, 11, 1)),
    ],
    "openai_evals/oaieval_3.0.1_gsm-replay.jsonl": [((), (16, 14, 0))],
    "openai_evals/oaieval_3.0.1_gsm-match.jsonl": [((), (16, 14, 0))],
    "openai_evals/oaieval_3.0.1_gsm-fuzzy.jsonl": [
        (("--metric", "match"), (17, 13, 0)),
        (("--metric", "metrics.f1_score"), (16, 14, 0)),
    ],
    "openai_evals": [(("--task", "all", "--metric", "match"), (49, 41, 0))],
    "swe_bench/swebench_report_haiku45_baseline.json": [
        (DROP, (25, 15, 460)),
        (("--missing-outcome", "wrong"), (25, 15, 460)),
    ],
    "swe_bench/swebench_report_raaid_lite.json": [(DROP, (10, 7, 283))],
    "swe_bench/sbcli_report_polydev_v3.json": [(DROP, (6, 1, 493))],
    "swe_bench/swebench_pro_eval_results_first40.json": [((), (30, 10, 0))],
    "swe_bench": [(("--run", "swebench_report_haiku45_baseline", *DROP), (25, 15, 460))],
}
"""File or folder to options and the counts they give: right, wrong, without an outcome."""

HELM_SAYS = "belongs to a HELM run and holds no scores of instances; name the run's folder"
NOT_A_TABLE = "as one JSON document it is no table: write one object a line"
STOPS: Mapping[str, Sequence[tuple[Sequence[str], str]]] = {
    "lm_eval/samples_replay_gsm8k_2026-11-30T15-14-11.009972.jsonl": [
        (
            (),
            "2 values of filter: 'strict-match' (40 attempts), 'flexible-extract' (40 attempts); "
            "choose one with --filter NAME",
        )
    ],
    "lm_eval/samples_replay_tatqa_2026-11-30T15-14-11.009972.jsonl": [
        (
            (),
            "2 scores: em (0 9, 1 21), f1 (6 different values); choose one with --metric NAME; "
            "scale_ok holds lists, which are no outcome",
        ),
        (("--metric", "scale_ok"), "its values are lists, which are no outcome"),
        (("--metric", "f1"), "for a graded score use --score f1 --pass-at X"),
    ],
    "lm_eval/samples_agieval_lsat_ar_local_2026-11-30T15-14-11.009972.jsonl": [
        ((), "2 scores: acc (0 26, 1 4), acc_norm (0 26, 1 4); choose one with --metric NAME")
    ],
    "lm_eval/eee_samples_math_perturbed_full.jsonl": [((), "all 10 examples are wrong")],
    "lm_eval/eee_results_math_perturbed_full.json": [((), LM_EVAL_SAYS)],
    "lm_eval/pyfade_results_2025-09-09T13-31-53.431753.json": [((), LM_EVAL_SAYS)],
    "lm_eval/pyfade_results_2025-09-09T13-42-42.857006.json": [((), LM_EVAL_SAYS)],
    "lm_eval/pyfade_results_mmlu_pro_plus_2025-10-14T14-44-39.372006.json": [((), LM_EVAL_SAYS)],
    "lm_eval/results_2026-11-30T15-14-11.009972.json": [
        ((), LM_EVAL_SAYS),
        (("--correct", "exact_match"), LM_EVAL_SAYS),
    ],
    "lm_eval": [
        ((), "6 values of task: "),
        (("--task", "gsm8k"), "2 values of model: 'gemma3:12b-u1' (3 attempts), "),
    ],
    f"inspect_ai/{CRUX.name}": [
        ((), "2 scores: literal_equal (I 34, C 26, N 11), char_overlap (15 different values)"),
        (("--scorer", "literal_equal"), "ids sample_7"),
        (("--scorer", "literal_equal", *DROP), "24 ids in 72 rows"),
    ],
    f"inspect_ai/{GSM_EVAL.name}": [
        ((), "3 scores: match (C 16, I 14), multi.correct (1 16, 0 14), multi.resp_steps (6 ")
    ],
    "inspect_ai": [((), "inspect_log_invalid.txt line 2 (character 31): not complete JSON")],
    "inspect_ai/eee_data_arc_sonnet.json": [((), "all 5 examples are right")],
    "inspect_ai/eee_data_with_llm_scoring.json": [((), "the log holds no samples")],
    "inspect_ai/inspect_2025-05-12T20-28-13-04-00_no-samples.json": [
        ((), "the log holds no samples (status 'cancelled', its results count 3)")
    ],
    "inspect_ai/inspect_log_invalid.txt": [((), "not complete JSON")],
    "inspect_ai/inspect_log_length_stop_reason.txt": [((), "all 1 examples are wrong")],
    "inspect_ai/inspect_log_read_sample.eval": [((), "all 1 examples are right")],
    "inspect_ai/inspect_mmlu-no-summary-choices.eval": [((), "all 1 examples are wrong")],
    "inspect_ai/inspect_mmlu-summary-choices.eval": [((), "all 1 examples are wrong")],
    "helm": [((), "4 values of task: ")],
    "helm/mmlu": [
        ((), "2 values of split: 'test' (9 attempts), 'valid' (1 attempt); choose one with "),
        (("--choose", "split=test"), "8 scores: exact_match (0 8, 1 1), exact_match@5 (0 8, 1 1)"),
    ],
    "helm/trials": [
        (("--choose", "split=all"), "4 scores: exact_match (0 24)"),
        (
            ("--choose", "split=all", "--metric", "exact_match"),
            "12 ids in 24 rows ('id10394' in",
        ),
    ],
    "helm/perturbed": [
        (
            ("--choose", "split=all"),
            "2 values of perturbation: 'none' (12 attempts), 'misspellings(prob=0.05)' (8 attempts)"
            "; choose one with --choose perturbation=NAME",
        ),
        (
            ("--choose", "split=all", "--choose", "perturbation=none"),
            "3 scores: f1_set_match (0 12",
        ),
    ],
    "helm/mmlu/scenario_state.json": [((), HELM_SAYS)],
    "helm/mmlu/run_spec.json": [((), HELM_SAYS)],
    "helm/trials/instances.json": [((), HELM_SAYS)],
    "beside/helm_stats.json": [((), HELM_SAYS)],
    "beside/helm_scenario.json": [((), HELM_SAYS)],
    "beside/helm_display_requests.json": [((), HELM_SAYS)],
    "beside/aggregate_example.json": [((), "name the records of its instances")],
    "beside/instance_level_eval.schema.json": [((), "is a JSON schema")],
    "beside/promptfooconfig.yaml": [((), "name what `promptfoo eval -o results.json` wrote")],
    "beside/cruxeval_scored_20.json": [((), NOT_A_TABLE)],
    "beside/livecodebench_eval_all_8.json": [((), NOT_A_TABLE)],
    "beside/mmlu_pro_model_outputs_25.json": [((), NOT_A_TABLE)],
    "beside": [((), "a directory without an evaluation log that is recognised")],
    "every_eval_ever/demo_samples.jsonl": [
        ((), "2 scores: is_correct (true 1), score (1 1); choose one with --metric NAME"),
        (("--metric", "score"), "all 1 examples are right"),
    ],
    "promptfoo/promptfoo_v0.123.1_output.json": [
        (
            (),
            "2 values of model: 'openai-6b-verification' (21 attempts), 'openai-175b-verification' "
            "(21 attempts); choose one with --model NAME",
        ),
        (("--model", "openai-6b-verification"), "4 scores: success (false 15, true 4), score ("),
        (
            ("--model", "openai-6b-verification", "--metric", "success"),
            "2 missing values (attempts: 1 without a score, 1 that failed with an error)",
        ),
    ],
    "openai_evals/oaieval_3.0.1_gsm-fuzzy.jsonl": [
        ((), "3 scores: match (false 13, true 17), metrics.accuracy (0 13, 1 17), metrics.f1_score")
    ],
    "openai_evals/samples.jsonl": [((), "holds the samples of an OpenAI eval, without outcomes")],
    "promptfoo": [
        ((), "2 values of prompt: '0' (75 attempts), '1' (63 attempts); choose one with --choose "),
        (
            ("--choose", "prompt=0"),
            "1 value of model: 'openai-6b-verification' (63 attempts), and 12 attempts without one",
        ),
    ],
    "openai_evals": [((), "choose one with --task NAME, or --task all for all of them")],
    "swe_bench": [((), "4 values of run: 'sbcli_report_polydev_v3' (500 attempts), ")],
    "swe_bench/swebench_report_haiku45_baseline.json": [
        ((), "460 missing values (attempts: 460 that were not run) in 500 rows")
    ],
    "swe_bench/per_instance_metrics_haiku45_baseline.jsonl": [
        ((), "no evaluation log is recognised in it"),
        ((), "a table needs an outcome: exactly one of --error COL, --correct COL, --score COL"),
    ],
    "swe_bench/README.md": [((), "no evaluation log is recognised in it")],
}
"""File or folder to options and the sentence with which it stops."""


@pytest.mark.parametrize(
    ("name", "words", "right_wrong_missing"),
    [(name, words, found) for name, each in READ.items() for words, found in each],
)
def test_files_that_audit_give_the_counts_of_their_readmes(
    name: str, words: Sequence[str], right_wrong_missing: tuple[int, int, int]
) -> None:
    assert counts(whole(FORMATS / name, *words)) == right_wrong_missing


@pytest.mark.parametrize(
    ("name", "words", "sentence"),
    [(name, words, says) for name, each in STOPS.items() for words, says in each],
)
def test_files_that_do_not_audit_stop_with_the_right_sentence(
    name: str, words: Sequence[str], sentence: str
) -> None:
    message = cli.refused(FORMATS / name, *words, *cli.WHOLE)
    assert sentence in message, message


def test_every_file_is_in_one_of_the_tables() -> None:
    named = {*READ, *STOPS}
    for path in sorted(FORMATS.rglob("*")):
        name = path.relative_to(FORMATS).as_posix()
        if path.is_dir() or path.name == "README.md":
            continue
        part_of_a_run = path.parent.relative_to(FORMATS).as_posix() in named
        by_case = path.name.startswith("case_") or path.name == "failure_vs_error.json"
        assert name in named or part_of_a_run or by_case, name


def test_both_encodings_of_an_inspect_log_give_the_same_audit() -> None:
    words = ("--scorer", "literal_equal", "--repeats", "any", *DROP)
    one, other = (cli.by_name(whole(path, *words)) for path in (CRUX, CRUX_EVAL))
    assert one.keys() == other.keys()
    for name, descriptor in one.items():
        for part in ("rule", "discovery", "p_exact", "p_bh"):
            assert descriptor[part] == other[name][part]


def test_three_exports_of_one_evaluation_are_not_three_evaluations() -> None:
    words = ("--model", "openai-6b-verification", "--metric", "success", *DROP)
    exports = sorted((FORMATS / "promptfoo").glob("promptfoo_*"))
    message = cli.refused(*exports, *words)
    assert "21 ids in 63 rows" in message
    assert all(path.name in message for path in exports)


# --- cases from the field ------------------------------------------------------------------------


def test_case_34_two_filters() -> None:
    path = case(34) / "samples_gsm_like.jsonl"
    message = cli.refused(path, *cli.WHOLE)
    assert "'strict-match' (24 attempts), 'flexible-extract' (24 attempts)" in message
    for name, table in expected(34).items():
        if "(wrong)" in name:
            continue
        chosen, descriptor = name.split(", ")
        result = whole(path, "--filter", chosen)
        check(cli.one(result, descriptor.replace("=", " = ")), table)
        assert result["data"]["outcome"] == {
            "column": "exact_match",
            "kind": "correct",
            "missing": 0,
        }


def test_case_34_the_old_format_has_no_filter() -> None:
    message = cli.refused(case(34) / "samples_old_format.jsonl", *cli.WHOLE)
    assert "24 of 24" in message


def test_case_36_and_48_and_60_are_ordinary_tables() -> None:
    dropped = whole(case(36) / "input.jsonl", "--error", "error", *DROP)
    assert dropped["data"]["rows"] == expected(36)["rows"]
    assert counts(dropped) == (13, 4, expected(36)["missing"])
    scored = ("--score", "faithfulness", "--pass-at", "0.5")
    graded = whole(case(48) / "input.csv", *scored, *DROP)
    wanted = expected(48)
    assert counts(graded) == (wanted["right"], wanted["wrong"], wanted["missing"])
    # As separate files: what one of them lacks is no reason to take them for logs.
    parts = [case(60) / name for name in ("part1_all_null.jsonl", "part2.jsonl")]
    pooled = cli.audit(*parts, "--error", "error", *cli.WHOLE, *cli.FAST)
    assert pooled["data"]["log"] is None


def test_case_37_epochs_of_the_log_and_of_the_table() -> None:
    table = expected(37)["per-id test (n=12)"]
    assert "12 ids in 48 rows" in cli.refused(INSPECT / "case_37.json", *cli.WHOLE)
    for how in ("majority", "first", "any", "all"):
        log = whole(INSPECT / "case_37.json", "--repeats", how)
        check(cli.one(log, "multi_hop"), table)
        outcome = ("--error", "error", "--exclude", "epoch", "--repeats", how)
        rows = whole(case(37) / "input.csv", *outcome)
        check(cli.one(rows, "multi_hop"), table)


def test_case_38_counts_apart_what_needs_a_choice() -> None:
    message = cli.refused(CASE_38, *cli.WHOLE)
    assert "12 attempts, 2 C, 5 I, 1 N, 1 P, 1 without a score, 2 that failed" in message
    assert "(ids 10, 11, 12)" in message
    assert "--pass-at 0.5 (right), --pass-at 1 (wrong) or --na P (left out)" in message
    assert "--missing-outcome drop or wrong" in message
    for rule in (("--pass-at", "0.5"), ("--pass-at", "1"), ("--na", "P")):
        message = cli.refused(CASE_38, *rule, *cli.WHOLE)
        assert "3 missing values" in message
        assert "ids 10, 11, 12" in message


@pytest.mark.parametrize(
    ("words", "errors", "n"),
    [
        (("--na", "P", "--missing-outcome", "drop"), 6, 8),
        (("--na", "p", "--missing-outcome", "wrong"), 9, 11),
        (("--pass-at", "0.5", "--missing-outcome", "drop"), 6, 9),
        (("--pass-at", "1", "--missing-outcome", "drop"), 7, 9),
        (("--pass-at", "0.5", "--missing-outcome", "wrong"), 9, 12),
        (("--pass-at", "1", "--missing-outcome", "wrong"), 10, 12),
        (("--na", "P", "--na", "N", "--missing-outcome", "drop"), 5, 7),
    ],
)
def test_case_38_every_choice(words: Sequence[str], errors: int, n: int) -> None:
    split = whole(CASE_38, *words)["data"]["discovery"]
    assert (split["errors"], split["n"]) == (errors, n)


def test_case_38_the_rates_of_the_case() -> None:
    rates = []
    for how in ("drop", "wrong"):
        split = whole(CASE_38, "--na", "P", "--missing-outcome", how)["data"]["discovery"]
        rates.append(split["errors"] / split["n"])
    # 6 wrong of 8, and 9 of 11 where what failed counts as wrong.
    assert rates == [0.75, 0.8181818181818182]


def test_case_38_what_was_decided_is_said() -> None:
    result = whole(CASE_38, "--na", "P", "--missing-outcome", "drop")
    assert "1 attempt is left out: scored P (--na)" in result["notes"]
    assert "score 'match' read as C = 1, I = 0, N = 0" in result["notes"]
    assert result["data"]["rows"] == 11
    assert result["data"]["log"]["without_outcome"] == {"unscored": 1, "error": 2}
    graded = whole(CASE_38, "--pass-at", "0.5", "--missing-outcome", "drop")
    assert "score 'match' read as C = 1, I = 0, N = 0, P = 0.5" in graded["notes"]


def test_letters_are_not_turned_round() -> None:
    message = cli.refused(INSPECT / "case_37.json", "--error", "match")
    assert "its C is right and its I is wrong" in message


def test_case_40_scorers_with_dictionaries() -> None:
    path = INSPECT / "case_40.json"
    message = cli.refused(path, *cli.WHOLE)
    for scorer in ("match", "rubric.fluency", "rubric.facts"):
        assert scorer in message
    message = cli.refused(path, "--scorer", "rubric.facts", *cli.WHOLE)
    assert "1 missing value in 10 rows: ids 5" in message
    assert counts(whole(path, "--scorer", "rubric.facts", *DROP)) == (4, 5, 1)
    assert counts(whole(path, "--scorer", "match")) == (5, 5, 0)


def test_case_42_and_43_are_read_or_named_by_their_lines() -> None:
    for name in ("input.jsonl", "input_crlf.jsonl"):
        result = whole(case(42) / name, "--error", "error")
        assert result["data"]["rows"] == expected(42)["records"]
    outcome = ("--error", "error")
    assert "line 21" in cli.refused(case(43) / "input.jsonl", *outcome)
    assert "line 11" in cli.refused(case(43) / "broken_middle.jsonl", *outcome)
    assert whole(case(43) / "blank_lines.jsonl", *outcome)["data"]["rows"] == 20


def test_case_46_errors_are_no_failures() -> None:
    path = FORMATS / "promptfoo" / "failure_vs_error.json"
    chosen = ("--metric", "success")
    message = cli.refused(path, *chosen, *cli.WHOLE)
    assert "2 missing values (attempts: 2 that failed with an error)" in message
    # Results 5 and 8, which are indices 4 and 7.
    assert "results 5, 8" in message
    assert counts(whole(path, *chosen, *DROP)) == (6, 4, 2)
    assert counts(whole(path, *chosen, "--missing-outcome", "wrong")) == (6, 4, 2)
    # A score of 0.75 of a grader that failed does not count as right.
    assert counts(whole(path, "--metric", "score", "--pass-at", "0.5", *DROP))[2] == 2


# --- plans and the other commands ----------------------------------------------------------------

PLAN = ("--min-support", "2", "--permutations", "99", "--decoys", "100")


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (GSM8K, (*STRICT, "--text-features", "question")),
        (CRUX, ("--scorer", "literal_equal", "--repeats", "majority", *DROP)),
        (CASE_38, ("--na", "P", "--discovery", "1", *DROP)),
        (CASE_38, ("--pass-at", "0.5", "--discovery", "1", *DROP)),
        (FORMATS / "helm" / "mmlu", ("--choose", "split=all", "--metric", "exact_match")),
    ],
)
def test_a_plan_keeps_what_was_chosen(log: Path, words: Sequence[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    assert cli.call("plan", log, *words, *PLAN, "--out", plan).status == 0
    by_plan = cli.audit(log, "--plan", plan, "--backend", "numpy")
    alone = cli.audit(log, *words, *PLAN, "--backend", "numpy")
    for part in alone.keys() - {"run", "plan"}:
        assert by_plan[part] == alone[part], part
    for name in alone["plan"].keys() & by_plan["plan"].keys():
        if name not in ("hash", "sha256", "frozen_before_outcomes", "planned"):
            assert by_plan["plan"][name] == alone["plan"][name], name


def test_a_plan_refuses_another_choice(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    words = (*STRICT, "--text-features", "question")
    assert cli.call("plan", GSM8K, *words, *PLAN, "--out", plan).status == 0
    message = cli.refused(GSM8K, "--plan", plan, "--filter", "flexible-extract")
    assert "filter strict-match" in message
    assert "filter flexible-extract" in message
    message = cli.refused(GSM8K, "--plan", plan, "--text-features", "arguments")
    assert "text_features question" in message
    assert "text_features arguments" in message
    message = cli.refused(GSM8K, "--plan", plan, "--metric", "acc")
    assert "names acc, but the outcome is exact_match" in message
    assert "there is no such run" in cli.refused(
        FORMATS / "lm_eval" / "pyfade_samples_gsm8k_2025-09-09T13-31-53.431753.jsonl",
        *("--plan", plan, "--task", "gsm8k", "--model", "gemma3:12b-u1"),
    )


@pytest.mark.parametrize("command", ["replay", "sensitivity", "propose", "power"])
@pytest.mark.parametrize(
    ("log", "chosen"),
    [(GSM8K, STRICT), (GSM, ("--scorer", "match"))],
    ids=["lm-eval", "inspect"],
)
def test_other_commands_read_logs(
    command: str, log: Path, chosen: Sequence[str], tmp_path: Path
) -> None:
    small: Mapping[str, Sequence[str | Path]] = {
        "replay": ("--replays", "20"),
        "sensitivity": ("--splits", "3"),
        "propose": ("--out", tmp_path / "plan.toml"),
        "power": ("--repetitions", "50", "--delta", "0.3"),
    }
    words = (*small[command], "--min-support", "2")
    source = ("--from-audit", log) if command == "power" else (log,)
    run = cli.call(command, *source, *chosen, *words)
    assert run.status == 0, run.err
    stopped = cli.call(command, *source, *words)
    assert stopped.status == 2
    assert f"choose one with {chosen[0]} NAME" in cli.one_message(stopped.err)
