"""A planned audit is the audit of the same options, byte for byte."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from janus_jax import __version__
from tests.audits import cli
from tests.audits.made import write
from tests.plans.common import FEW, GSM8K, LCB, OUTCOME, by_plan, comparable, make

OPTIONS: dict[str, tuple[Path, tuple[str, ...]]] = {
    "gsm8k": (GSM8K, ()),
    "stratified": (GSM8K, ("--stratify", "question_type", "--seed", "7")),
    "strata": (GSM8K, ("--strata", "has_money", "--rule", "max_t", "--alpha", "0.20")),
    "largest seed": (GSM8K, ("--seed", str(2**64 - 1), "--statistic", "z")),
    "seed beyond a signed integer": (GSM8K, ("--seed", str(2**63), "--discovery", "0.333")),
    "no holdout": (GSM8K, ("--discovery", "1")),
    "overrides": (
        GSM8K,
        (
            *(
                "--numeric",
                "has_money",
                "--categorical",
                "n_steps",
                "--include",
                "answer_is_integer",
            ),
            *("--exclude", "q_words", "--na", "other", "--min-support", "3"),
            *("--min-prevalence", "0", "--max-prevalence", "1"),
        ),
    ),
    "conjunctions": (
        GSM8K,
        (
            *("--conjunction", "long money = q_words & has_money"),
            *("--conjunction", "three = n_steps & has_percent & question_type = how much"),
        ),
    ),
    "pairs": (
        GSM8K,
        ("--pairs", "--descriptor", "n_steps", "--descriptor", "question_type", "--q", "0.2"),
    ),
    "janus-lite": (GSM8K, ("--preset", "janus-lite")),
    "musique": (GSM8K, ("--preset", "musique", "--min-support", "5", "--decoys", "77")),
    "longbench-v2": (LCB, ("--preset", "longbench-v2")),
    "controlled": (LCB, ("--preset", "controlled", "--id", "question_id")),
    "livecodebench": (LCB, ("--include", "contest_date", "--id", "question_id,platform")),
    "clusters": (LCB, ("--cluster", "contest_id", "--min-holdout-lift", "0.05")),
    "score": (LCB, ("--score", "statement_words", "--pass-at", "1.5e2")),
    "role and descriptor": (LCB, ("--stratify", "difficulty", "--strata", "platform", "--pairs")),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_byte_for_byte(name: str, tmp_path: Path) -> None:
    table, words = OPTIONS[name]
    outcome = () if "--score" in words else OUTCOME[table]
    decoys = ("--permutations", "199") if "--decoys" in words or "--preset" in words else FEW
    options = (*outcome, *words, *decoys)
    planned = by_plan(make(tmp_path / "plan.toml", table, *options), table)
    direct = cli.audit(table, *options, "--backend", "numpy")
    assert comparable(planned) == comparable(direct)
    assert planned["plan"]["frozen_before_outcomes"] is True
    assert direct["plan"]["frozen_before_outcomes"] is False


def test_split_column(tmp_path: Path) -> None:
    with GSM8K.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    words = random.Random(3).choices(["discovery", "Holdout", "proposal"], k=len(rows))
    table = write(
        tmp_path / "split.csv",
        {**{name: [row[name] for row in rows] for name in rows[0]}, "part": words},
    )
    options = (*OUTCOME[GSM8K], "--split-column", "part", *FEW)
    planned = by_plan(make(tmp_path / "plan.toml", table, *options), table)
    assert comparable(planned) == comparable(cli.audit(table, *options, "--backend", "numpy"))
    assert planned["data"]["proposal_rows"] == words.count("proposal")


def gaps(n: int = 400, seed: int = 5) -> dict[str, list[str]]:
    """Columns with missing values, and an outcome that is missing in every seventh row."""
    draw = random.Random(seed)
    return {
        "id": [f"q{i}" for i in range(n)],
        "size": [draw.choice(["", str(draw.randrange(90)), "NA"]) for _ in range(n)],
        "kind": [draw.choice(["", "a", "b", "a & b", 'say "x"', "é\u2028"]) for _ in range(n)],
        "flag": [draw.choice(["yes", "no", ""]) for _ in range(n)],
        "wrong": ["" if i % 7 == 0 else draw.choice("01") for i in range(n)],
    }


@pytest.mark.parametrize("what", ["drop", "wrong"])
def test_missing_outcomes_and_values(what: str, tmp_path: Path) -> None:
    table = write(tmp_path / "gaps.csv", gaps())
    options = ("--error", "wrong", "--missing-outcome", what, "--pairs", *FEW)
    planned = by_plan(make(tmp_path / "plan.toml", table, *options), table)
    direct = cli.audit(table, *options, "--backend", "numpy")
    assert comparable(planned) == comparable(direct)
    assert any(d["rule"]["kind"] == "missing" for d in planned["descriptors"])


def test_a_rule_that_only_rows_without_an_outcome_support(tmp_path: Path) -> None:
    columns = gaps()
    # "size is missing" is on in many rows, but in few that have an outcome.
    columns["size"] = ["" if wrong == "" else str(i) for i, wrong in enumerate(columns["wrong"])]
    table = write(tmp_path / "gaps.csv", columns)
    options = ("--error", "wrong", "--missing-outcome", "drop", "--pairs", *FEW)
    plan = make(tmp_path / "plan.toml", table, *options)
    assert "size is missing" in plan.read_text(encoding="utf-8")
    planned = by_plan(plan, table)
    assert comparable(planned) == comparable(cli.audit(table, *options, "--backend", "numpy"))
    assert not any("size is missing" in d["name"] for d in planned["descriptors"])


@pytest.mark.parametrize("how", ["first", "majority"])
def test_repeats(how: str, tmp_path: Path) -> None:
    once = gaps()
    once["wrong"] = [str(i % 3 % 2) for i in range(400)]
    table = write(tmp_path / "repeats.csv", {name: values * 3 for name, values in once.items()})
    options = ("--error", "wrong", "--repeats", how, *FEW)
    planned = by_plan(make(tmp_path / "plan.toml", table, *options), table)
    assert comparable(planned) == comparable(cli.audit(table, *options, "--backend", "numpy"))
    assert planned["data"]["rows"] == 400
    said = cli.one_message(
        cli.call("plan", table, "--error", "wrong", "--out", tmp_path / "no.toml").err
    )
    assert "id column 'id' repeats: 400 ids in 1200 rows" in said
    assert "name one of them" not in said
    assert not (tmp_path / "no.toml").exists()
    single = write(tmp_path / "once.csv", once)
    said = cli.one_message(cli.call("audit", single, table, "--error", "wrong").err)
    assert "If these files hold the same run, name one of them. Repeats of one" in said


def test_python_and_command_line_agree(tmp_path: Path) -> None:
    from janus_jax import audit
    from janus_jax.plans.drafting import plan

    made = plan(str(GSM8K), correct="correct_175b_verification", permutations=199)
    path = make(tmp_path / "plan.toml", GSM8K, *OUTCOME[GSM8K], "--permutations", "199")
    out = tmp_path / "python.toml"
    plan(str(GSM8K), correct="correct_175b_verification", permutations=199, out=out)
    assert out.read_bytes() == path.read_bytes()
    texts = {
        comparable(audit(str(GSM8K), plan=source, backend="numpy").to_dict())
        for source in (made, out, str(path))
    }
    assert texts == {comparable(by_plan(path, GSM8K))}


def test_the_hash_is_printed_and_stored(tmp_path: Path) -> None:
    run = cli.call("plan", GSM8K, *OUTCOME[GSM8K], *FEW, "--out", tmp_path / "plan.toml")
    folder = tmp_path / "out"
    audited = cli.call(
        "audit", GSM8K, "--plan", tmp_path / "plan.toml", "--out", folder, "--backend", "numpy"
    )
    stored = json.loads((folder / "result.json").read_text(encoding="utf-8"))["plan"]
    assert stored["planned"] == {"version": __version__, "outcomes_read": "none", "edited": False}
    for text in (run.out, audited.out, (folder / "report.md").read_text(encoding="utf-8")):
        assert stored["hash"] in text
    assert "Planned before outcomes were read" in (folder / "report.md").read_text("utf-8")
    assert "planned before outcomes were read" in audited.out
    direct = cli.call("audit", GSM8K, *OUTCOME[GSM8K], *FEW, "--backend", "numpy")
    assert "before outcomes were read" not in direct.out


def test_replay_and_power_follow_a_plan(tmp_path: Path) -> None:
    options = (*OUTCOME[GSM8K], "--stratify", "question_type", "--q", "0.15", *FEW)
    plan = make(tmp_path / "plan.toml", GSM8K, *options)
    few = ("--replays", "300", "--backend", "numpy", "--json", "-")
    runs = [
        cli.parse(cli.call("replay", GSM8K, *words, *few).out)
        for words in (("--plan", plan), options)
    ]
    assert comparable(runs[0]) == comparable(runs[1])
    assert runs[0]["plan"]["frozen_before_outcomes"] is True
    design = ("--delta", "0.2", "--repetitions", "200", "--json", "-")
    tables = [
        cli.parse(cli.call("power", "--from-audit", GSM8K, *words, *design).out)
        for words in (("--plan", plan), options)
    ]
    assert tables[0]["cells"] == tables[1]["cells"]
    assert tables[0]["design"] == tables[1]["design"]
    alone = cli.call("power", "--plan", plan)
    assert alone.status == 2
    assert "--plan describes an audit; it goes with --from-audit RESULTS" in alone.err
