"""``janus-jax propose`` at the prompt, and the audit of the plan it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.audits.cli import FAST, call
from tests.oracle.tables import EXAMPLES
from tests.proposals.made import planted

WORDS = ("--error", "wrong", "--exclude", "site", "--permutations", "99")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A file of results."""
    path = tmp_path / "results.csv"
    planted(1).to_csv(path, index=False)
    return path


def test_propose_then_audit(results: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    first = call("propose", results, *WORDS, "--out", plan)
    assert first.status == 0, first.err
    assert "kind = b & words > " in first.out
    assert "slices proposed" in first.out
    assert str(plan) in first.out.replace("\n", "")
    second = call("audit", results, "--plan", plan, "--backend", "numpy", "--json", "-")
    assert second.status == 0, second.err
    document = json.loads(second.out)
    assert document["proposed"]["slices"][0]["status"] == "confirmed"
    shown = call("audit", results, "--plan", plan, "--backend", "numpy", "--out", tmp_path / "o")
    assert "slice finder alone would have claimed" in shown.out
    assert "slice finder alone" in (tmp_path / "o" / "report.md").read_text("utf-8")


def test_the_same_plan_again_and_json_alone(results: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    call("propose", results, *WORDS, "--out", one)
    run = call("propose", results, *WORDS, "--out", two, "--json", "-")
    assert one.read_bytes() == two.read_bytes()
    document = json.loads(run.out)
    assert document["schema"] == "janus-jax/propose/1"
    assert document["run"]["plan_file"] == str(two)


def test_an_audit_without_a_proposal_has_no_such_section(results: Path) -> None:
    run = call("audit", results, "--error", "wrong", *FAST, "--json", "-")
    assert "proposed" not in json.loads(run.out)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--out"),
        (("--out", ""), "name the plan file"),
        (("--out", "-"), "name the plan file"),
        (("--out", "no/such/folder/plan.toml"), "no such folder"),
        (("--out", "plan.toml", "--level", "x"), "--level is 'x'"),
        (("--out", "plan.toml", "--min-slice", "0"), "--min-slice is '0'"),
        (("--out", "plan.toml", "--json", "plan.toml"), "written twice"),
    ],
)
def test_wrong_words(
    words: tuple[str, ...],
    said: str,
    results: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    run = call("propose", results, *WORDS, *words)
    assert run.status == 2
    assert said in run.err
    assert not (tmp_path / "plan.toml").exists()


def test_the_input_is_not_overwritten(results: Path) -> None:
    before = results.read_bytes()
    run = call("propose", results, *WORDS, "--out", results)
    assert run.status == 2
    assert "is an input" in run.err
    assert results.read_bytes() == before


def test_the_shipped_results_of_a_real_model(tmp_path: Path) -> None:
    plan, table = tmp_path / "plan.toml", EXAMPLES / "gsm8k_openai_4models.csv"
    first = call(
        *("propose", table, "--correct", "correct_175b_verification", "--permutations", "99"),
        *("--out", plan, "--json", "-"),
    )
    assert first.status == 0, first.err
    proposed = json.loads(first.out)["proposed"]
    second = call("audit", table, "--plan", plan, "--backend", "numpy", "--json", "-")
    assert second.status == 0, second.err
    section = json.loads(second.out)["proposed"]
    assert [it["name"] for it in section["slices"]] == [it["name"] for it in proposed["slices"]]
    assert {it["status"] for it in section["slices"]} <= {
        "confirmed",
        "not_replicated",
        "not_selected",
    }
    assert section["confirmed"] > 0
