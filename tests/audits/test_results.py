"""What an audit writes: the schema, the CSV, the Markdown, the terminal, the Python object."""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import janus_jax
from janus_jax.errors import InputError
from janus_jax.plan import PLAN_OPTIONS, make_plan
from tests.audits import cli, made
from tests.oracle import tables

SCHEMA = json.loads(
    (Path(janus_jax.__file__).parent / "schema" / "audit-1.json").read_text(encoding="utf-8")
)
GSM8K = (tables.table_of("gsm8k_openai_4models.csv"), "--correct", "correct_175b_verification")


def test_the_schema_is_a_schema_and_refuses_what_it_should() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    result = cli.audit(*GSM8K, *cli.FAST)
    validator = Draft202012Validator(SCHEMA)
    assert validator.is_valid(result)
    for spoil in (
        lambda r: r["descriptors"][0].update(p_exact=1.5),
        lambda r: r["descriptors"][0].update(status="significant"),
        lambda r: r["descriptors"][0]["effect"].update(low=-1.5),
        lambda r: r["descriptors"][0]["effect"].pop("conditional_on_gate"),
        lambda r: r["ablation"][0].update(method="gate"),
        lambda r: r["ablation"][0]["selected"].update(count=-1),
        lambda r: r.update(extra=1),
        lambda r: r["screen"].pop("L"),
    ):
        broken = json.loads(json.dumps(result))
        spoil(broken)
        assert not validator.is_valid(broken)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--statistic", "z", "--min-prevalence", "0", "--max-prevalence", "1"),
        ("--discovery", "1"),
        ("--strata", "has_money"),
        ("--preset", "longbench-v2"),
        ("--preset", "janus-lite"),
        ("--min-support", "600"),  # nobody is eligible
        ("--pairs", "--rule", "bh_05"),
        ("--conjunction", "both = q_words & n_steps"),
        ("--rule", "max_t", "--q", "0.000001"),
    ],
)
def test_every_kind_of_result_keeps_the_schema(words: tuple[str, ...]) -> None:
    result = cli.audit(*GSM8K, *words, *cli.FAST)
    Draft202012Validator(SCHEMA).validate(result)
    rule = result["rule"]
    for d in result["descriptors"]:
        if d["status"] == "ineligible":
            assert d["p_exact"] is None
            continue
        chosen = d["name"] in result["methods"][rule]["selected"]
        assert chosen == (d["status"] in ("confirmed", "not_replicated", "selected"))
        assert (d["name"] in result["methods"][rule]["confirmed"]) == (d["status"] == "confirmed")


def test_nobody_eligible_is_a_result() -> None:
    run = cli.call("audit", *GSM8K, "--min-support", "600", *cli.FAST)
    assert run.status == 0
    assert run.out.startswith("No descriptor was eligible")
    assert "warning: no descriptor is eligible" in run.err


def test_findings_csv_holds_the_numbers_of_the_result(tmp_path: Path) -> None:
    result = cli.audit(*GSM8K, *cli.FAST, "--out", tmp_path)
    assert json.loads((tmp_path / "result.json").read_text()) == result
    with (tmp_path / "findings.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(result["descriptors"])
    by_name = cli.by_name(result)
    for row in rows:
        d = by_name[row["name"]]
        assert row["status"] == d["status"]
        assert int(row["discovery_on"]) == d["discovery"]["on"]
        assert float(row["holdout_lift"]) == d["holdout"]["lift"]
        assert row["p_exact"] == ("" if d["p_exact"] is None else repr(d["p_exact"]))
    assert [r["status"] for r in rows[:2]] == ["confirmed", "confirmed"]


def test_report_md_names_every_descriptor_with_its_reason(tmp_path: Path) -> None:
    result = cli.audit(*GSM8K, *cli.FAST, "--out", tmp_path)
    text = (tmp_path / "report.md").read_text(encoding="utf-8").replace("\\", "")
    for d in result["descriptors"]:
        assert d["name"] in text
        assert d["reason"] in text
    for entry in result["not_used"]:
        assert f"{entry['column']}: {entry['reason']}" in text
    for note in result["notes"]:
        assert note in text


def test_markup_and_escapes_in_names_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "hostile.csv"
    levels = ["<script>alert(1)</script>", "a|b *c* [d](e)", "\x1b[31mred\x1b[0m", "\u202egnp"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "kind", "error"])
        for i in range(80):
            writer.writerow([f"e{i}", levels[i % 4], int(i % 3 == 0)])
    words = (path, "--error", "error", "--min-support", "4", *cli.FAST)
    result = cli.audit(*words, "--out", tmp_path / "out")
    names = set(cli.by_name(result))
    assert "kind = <script>alert(1)</script>" in names
    assert 'kind = "\\u001b[31mred\\u001b[0m"' in names
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    run = cli.call("audit", *words)
    for text in (report, run.out):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in report.replace("\\<script\\>", "")
    row = next(line for line in report.splitlines() if "| kind = a\\|b" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 14  # 13 cells: the bar in the name is escaped


def test_the_terminal_shows_the_answer_first_and_the_methods() -> None:
    run = cli.call("audit", *GSM8K, *cli.FAST)
    assert run.status == 0
    first = run.out.splitlines()[0]
    assert re.match(
        r"13 of 16 descriptors selected on discovery \(about 1\.2 by chance alone at this "
        r"threshold\), 7 confirmed on holdout: sol_words > 48, ",
        first,
    )
    assert "Procedure A, exact limit *" in run.out
    assert "Benjamini-Hochberg 0.05" in run.out
    assert "backend numpy" in run.out


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("decoys", lambda screen: screen["L"] * screen["decoys"]["D"] / screen["decoys"]["K"]),
        ("decoys_exact", lambda screen: screen["decoys_exact"]["expected_exceedances"]),
        ("mean_count", lambda screen: screen["mean_count"]["mean_count"]),
        ("bh_10", None),  # it has no threshold that decoys are counted at
    ],
)
def test_what_chance_alone_would_select_stands_in_the_answer(
    rule: str, expected: Callable[[dict[str, Any]], float] | None
) -> None:
    fast = [word.replace("100", "1000") for word in cli.FAST]  # decoys that can be counted
    run = cli.call("audit", *GSM8K, *fast, "--rule", rule, "--json", "-")
    screen = cli.parse(run.out)["screen"]
    said = cli.call("audit", *GSM8K, *fast, "--rule", rule).out.splitlines()[0]
    found = re.search(
        r"selected on discovery \(about ([\d.]+) by chance alone at this threshold\)", said
    )
    if expected is None:
        assert found is None
        assert "by chance" not in said
    else:
        assert found is not None
        assert found[1] == f"{expected(screen):.1f}"


def test_the_object(tmp_path: Path) -> None:
    result = janus_jax.audit(
        pd.read_csv(GSM8K[0]),
        correct="correct_175b_verification",
        backend="numpy",
        permutations=99,
        decoys=100,
    )
    frame = result.findings
    assert list(frame["name"])[: len(result.confirmed)] == [
        name for name in frame["name"] if name in result.confirmed
    ]
    assert frame.set_index("name").loc["n_steps > 3", "discovery_errors_on"] == 152
    assert "confirmed on holdout" in repr(result)
    assert result._repr_markdown_() == result.to_markdown()
    written = result.write(tmp_path / "new" / "folder")
    assert [path.name for path in written] == [
        "result.json",
        "findings.csv",
        "report.md",
        "report.html",
    ]
    assert pd.read_csv(io.StringIO(written[1].read_text())).shape[0] == len(frame)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"error": "wrong", "correct": "right"}, "more than one outcome"),
        ({"error": "nope"}, "no such column"),
        ({"error": "wrong", "q": 0}, "--q is 0"),
    ],
)
def test_the_function_refuses_with_the_same_words(words: dict[str, Any], said: str) -> None:
    frame = pd.DataFrame({"wrong": [0, 1] * 20, "right": [1, 0] * 20, "a": [0, 0, 1, 1] * 10})
    with pytest.raises(janus_jax.InputError, match=said):
        janus_jax.audit(frame, **words)


def test_the_functions_keywords_are_the_options() -> None:
    words = inspect.signature(janus_jax.audit).parameters
    help_text = cli.call("audit", "--help").out
    # The rows of several models are janus_jax.compare's, which takes every option of a plan.
    assert set(PLAN_OPTIONS) - set(words) == {"model_column"}
    for name in words:
        if name not in ("source", "progress", "log"):  # of a log each has an option of its own
            assert f"--{name.replace('_', '-')} " in help_text + " ", name
    with pytest.raises(InputError, match="unknown option 'desciptor'"):
        make_plan({"error": "wrong", "desciptor": ["a"]})


def test_nothing_computed_is_lost_when_a_target_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words in (("--out", tmp_path / "file"), ("--json", tmp_path / "no" / "result.json")):
        run = cli.call("audit", *GSM8K, *cli.FAST, *words)
        assert run.status == 2
        assert "cannot write" in cli.one_message(run.err)
        assert run.out == ""


def test_a_small_k_for_the_library_is_warned_of_before_running() -> None:
    run = cli.call("audit", *GSM8K, "--backend", "numpy", "--permutations", "99", "--decoys", "100")
    # L = 16: q K / L = 0.1 * 100 / 16 allows no decoy at a single finding.
    assert "K = 100 decoys are few for L = 16 descriptors" in run.err
    assert "--decoys 800" in run.err
    quiet = cli.call("audit", *GSM8K, "--backend", "numpy", "--permutations", "999")
    assert "few for L" not in quiet.err


def test_declared_categories_are_levels_and_an_included_column_is_used() -> None:
    grades = pd.Categorical([1, 2, 3, 4] * 20)
    frame = pd.DataFrame({"tier": grades, "n_errors": [0, 1] * 40, "wrong": [0, 1, 1, 0, 1] * 16})
    result = janus_jax.audit(frame, error="wrong", permutations=99, backend="numpy").to_dict()
    assert {d["name"] for d in result["descriptors"]} == {f"tier = {i}" for i in (1, 2, 3, 4)}
    assert cli.not_used(result) == {"n_errors": "named like another outcome"}
    more = janus_jax.audit(
        frame, error="wrong", permutations=99, backend="numpy", include="n_errors"
    ).to_dict()
    assert "n_errors" in {d["name"] for d in more["descriptors"]}
    assert len(more["descriptors"]) == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--strata", "correct_175b_verification"), "that is the outcome"),
        (("--stratify", "correct_175b_verification"), "that is the outcome"),
        (("--cluster", "correct_175b_verification"), "that is the outcome"),
        (("--id", "correct_175b_verification"), "that is the outcome"),
        (("--split-column", "has_money", "--discovery", "0.3"), "does not go with"),
        (("--conjunction", "a = n_steps & nope"), "the descriptors are 'q_words > 42'"),
    ],
)
def test_roles_that_cannot_be(words: tuple[str, ...], said: str) -> None:
    assert said in cli.refused(*GSM8K, *words)


def test_an_outcome_read_the_wrong_way_round_is_warned_of() -> None:
    run = cli.call("audit", GSM8K[0], "--error", "correct_175b_verification", *cli.FAST)
    assert run.status == 0
    assert "its name says the opposite" in run.err


def test_repeated_ids_that_are_no_clusters_are_warned_of() -> None:
    path = tables.table_of("livecodebench_o1.csv")
    run = cli.call("audit", path, "--correct", "correct_o1mini", *cli.FAST)
    assert "rows share values of 'contest_id'" in run.err


def test_a_holdout_without_descriptors_is_still_there(tmp_path: Path) -> None:
    path = made.write(tmp_path / "one.csv", {"error": [0, 1] * 50})
    result = cli.audit(path, "--error", "error", *cli.FAST)
    assert result["data"]["holdout"]["n"] == 50
    assert not any("no holdout" in note for note in result["notes"])


def test_strong_findings_in_a_large_table_need_no_big_integers(tmp_path: Path) -> None:
    # p is far below every boundary: deciding it exactly would take minutes and gigabytes.
    flag = [int(i % 3 == 0) for i in range(300_000)]
    error = [int(f if i % 10 else 1 - f) for i, f in enumerate(flag)]
    path = made.write(tmp_path / "tall.csv", {"flag": flag, "error": error})
    result = cli.audit(
        path, "--error", "error", "--permutations", "2", "--decoys", "2", "--backend", "numpy"
    )
    assert cli.one(result, "flag")["status"] == "confirmed"
    assert cli.one(result, "flag")["p_exact"] < 2.3e-308
    assert any("leave the range of floats" in note for note in result["notes"])


def test_adjusted_lifts_stand_beside_the_plain_ones(tmp_path: Path) -> None:
    result = cli.audit(*GSM8K, "--strata", "has_money", *cli.FAST, "--out", tmp_path)
    d = cli.one(result, "n_steps > 3")["discovery"]
    assert d["lift"] != d["lift_adjusted"]
    with (tmp_path / "findings.csv").open(newline="", encoding="utf-8") as file:
        row = next(r for r in csv.DictReader(file) if r["name"] == "n_steps > 3")
    assert float(row["discovery_lift"]) == d["lift"]
    assert float(row["discovery_lift_adjusted"]) == d["lift_adjusted"]
    report = (tmp_path / "report.md").read_text()
    line = next(line for line in report.splitlines() if line.startswith("| n\\_steps \\> 3"))
    assert f"{d['lift']:+.3f} | {d['lift_adjusted']:+.3f}" in line


def test_what_is_made_of_a_p_value_below_all_floats_is_a_bound_too(tmp_path: Path) -> None:
    n = 4000
    table = tmp_path / "t.csv"
    rows = [f"{'yes' if i % 2 else 'no'},{'yes' if i % 3 else 'no'},{i % 2}" for i in range(n)]
    table.write_text("\n".join(("a,b,wrong", *rows)) + "\n", "utf-8")
    words = (table, "--error", "wrong", "--discovery", "1", *cli.FAST)
    for rule, said in (
        ("bh_05", "BH-adjusted p <4.45e-308 <= 0.05"),
        ("unadjusted", "exact p <2."),
    ):
        run = cli.call("audit", *words, "--rule", rule, "--out", tmp_path / rule)
        assert run.status == 0, run.err
        result = cli.parse((tmp_path / rule / "result.json").read_text("utf-8"))
        first = next(d for d in result["descriptors"] if d["name"] == "a")
        floor = sys.float_info.min
        assert (first["p_exact"], first["p_bh"]) == (floor, 2 * floor)
        assert said in first["reason"]
        for text in (
            run.out,
            (tmp_path / rule / "report.md").read_text("utf-8"),
            (tmp_path / rule / "report.html").read_text("utf-8").replace("&lt;", "<"),
        ):
            assert "<2.3e-308" in text.replace("\\", "")
            assert "<4.5e-308" in text.replace("\\", "")
