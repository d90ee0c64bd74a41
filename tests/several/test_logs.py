"""Logs that hold several models: each model is an outcome of the same examples."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import janus_jax
from tests.audits import cli
from tests.logs.made import FORMATS, inspect_log, sample

PROMPTFOO = FORMATS / "promptfoo" / "promptfoo_v0.123.1_output.json"
MODELS = ["openai-6b-verification", "openai-175b-verification"]
OPTIONS = ("--metric", "success", "--missing-outcome", "drop", "--discovery", "1")


def test_all_models_of_a_log_are_compared_on_the_examples_they_share() -> None:
    results = json.loads(PROMPTFOO.read_text("utf-8"))["results"]["results"]
    verdicts: dict[int, dict[str, bool]] = {}
    for result in results:
        # Nothing was graded where the provider failed (2), nor without an assertion.
        if result["failureReason"] != 2 and result["testCase"].get("assert"):
            of_example = verdicts.setdefault(result["testIdx"], {})
            of_example[result["provider"]["label"]] = result["success"]
    graded = [v for v in verdicts.values() if set(v) == set(MODELS)]
    together = Counter(tuple(m for m in MODELS if not v[m]) for v in graded)
    document = cli.audit(PROMPTFOO, "--model", "all", *OPTIONS, *cli.FAST)
    assert [m["name"] for m in document["models"]] == MODELS
    patterns = document["co_errors"]["discovery"]["patterns"]
    found = {tuple(p["wrong"]): p["n"] for p in patterns}
    assert sum(found.values()) == document["data"]["discovery"]["n"]
    assert found == {key: n for key, n in together.items() if n}
    named = cli.audit(PROMPTFOO, "--model", ",".join(MODELS), *OPTIONS, *cli.FAST)
    for one, other in zip(document["models"], named["models"], strict=True):
        assert one["audit"]["descriptors"] == other["audit"]["descriptors"]


def test_one_model_of_them_is_judged_as_it_is_alone() -> None:
    alone = cli.audit(PROMPTFOO, "--model", MODELS[1], *OPTIONS, *cli.FAST)
    beside = cli.audit(PROMPTFOO, "--model", "all", *OPTIONS, *cli.FAST)["models"][1]["audit"]
    lifts = {d["name"]: d["discovery"] for d in beside["descriptors"]}
    assert lifts  # the same rules; the examples are those that both models have
    assert alone["data"]["discovery"]["n"] >= beside["data"]["discovery"]["n"]
    assert {d["name"] for d in alone["descriptors"]} == set(lifts)


def test_a_name_that_is_not_there_is_said() -> None:
    run = cli.call("audit", PROMPTFOO, "--model", f"{MODELS[0]},nobody", *OPTIONS)
    assert run.status == 2
    assert "there is no model 'nobody'" in cli.one_message(run.err)


def test_epochs_of_two_models_are_reduced_for_each(tmp_path: Path) -> None:
    grades = {"a": "CCI" * 20 + "IIC" * 10, "b": "III" * 15 + "CIC" * 15}
    for model, letters in grades.items():
        log = inspect_log(
            [sample(f"q{i // 3}", letter, epoch=i % 3 + 1) for i, letter in enumerate(letters)]
        )
        log["eval"]["model"] = f"mock/{model}"
        (tmp_path / f"{model}.json").write_text(json.dumps(log), "utf-8")
    run = cli.call("audit", tmp_path, *cli.FAST)
    assert run.status == 2
    assert "--model A,B or --model all" in cli.one_message(run.err)
    result = janus_jax.compare(
        str(tmp_path), log={"model": "all"}, repeats="majority", permutations=99, decoys=100,
        discovery=1, backend="numpy", differences="none",
    )  # fmt: skip
    errors = {
        name: audit.to_dict()["data"]["discovery"]["errors"]
        for name, audit in result.audits.items()
    }
    assert errors == {"mock/a": 10, "mock/b": 15}
