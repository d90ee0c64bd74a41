"""Effects and the ablation of a result, recomputed from the result's own counts or the table."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from janus_jax.report import finding_rows, markdown
from janus_jax.terminal import print_result
from tests.audits import cli, made
from tests.oracle import tables

GSM8K = (tables.table_of("gsm8k_openai_4models.csv"), "--correct", "correct_175b_verification")
CODE = (tables.table_of("livecodebench_o1.csv"), "--correct", "correct_o1mini")
METHODS = (
    *("decoys", "decoys_exact", "unadjusted", "bh_05", "bh_10", "max_t", "max_t_step_down"),
    *("mean_count", "mean_count_exact", "fixed_lift", "fixed_floor"),
)
Lifts = Mapping[str, tuple[Fraction, Fraction]]


# --- the oracle: plain fractions -----------------------------------------------------------------


def plain_lift(part: cli.Result) -> Fraction:
    return Fraction(part["errors_on"], part["on"]) - Fraction(part["errors_off"], part["off"])


def survivors(lifts: Sequence[tuple[Fraction, Fraction]]) -> cli.Result:
    def mean(values: list[Fraction]) -> float | None:
        return float(sum(values, Fraction(0)) / len(values)) if values else None

    return {
        "count": len(lifts),
        "mean_discovery": mean([abs(a) for a, _ in lifts]),
        "mean_holdout": mean([abs(b) for _, b in lifts]),
        "mean_holdout_same_direction": mean(
            [b if a > 0 else -b if a < 0 else Fraction(0) for a, b in lifts]
        ),
    }


def expected(result: cli.Result, lifts: Lifts) -> list[cli.Result]:
    """The rows, from the names that ``methods`` lists and the lifts of the library."""
    passing = {name for name, (a, b) in lifts.items() if a * b > 0 and abs(b) >= Fraction("0.10")}
    assert cli.library(result) == set(lifts)
    rows: list[cli.Result] = []
    for method, found in result["methods"].items():
        assert set(found["confirmed"]) == set(found["selected"]) & passing
        kept = {which: survivors([lifts[n] for n in names]) for which, names in found.items()}
        rows.append({"method": method, **kept})
    return [
        *rows,
        {
            "method": "gate_only",
            "selected": survivors(list(lifts.values())),
            "confirmed": survivors([lifts[name] for name in passing]),
        },
    ]


def library_lifts(result: cli.Result) -> Lifts:
    return {
        d["name"]: (plain_lift(d["discovery"]), plain_lift(d["holdout"]))
        for d in result["descriptors"]
        if d["status"] != "ineligible"
    }


# --- the ablation --------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [GSM8K, CODE, (*GSM8K, "--statistic", "z"), (*CODE, "--pairs")])
def test_the_ablation_is_what_the_counts_say(words: tuple[str | Path, ...]) -> None:
    result = cli.audit(*words, *cli.FAST)
    assert result["ablation"] == expected(result, library_lifts(result))
    assert [row["method"] for row in result["ablation"]] == [*METHODS, "gate_only"]


def stratified() -> dict[str, list[object]]:
    """Errors that differ between blocks, and slices that go with the block to some degree."""
    draw = random.Random(5)
    columns: dict[str, list[object]] = {"block": [], "part": [], "error": []}
    columns |= {f"g{k}": [] for k in range(8)}
    for i in range(240):
        block = draw.choice("aabc")
        wrong = draw.random() < {"a": 0.2, "b": 0.5, "c": 0.7}[block]
        columns["block"].append(block)
        columns["part"].append("discovery" if i % 2 else "holdout")
        columns["error"].append(int(wrong))
        for k in range(8):
            share = 0.3 + 0.3 * (block == "c") + (0.05 * k if wrong else 0)
            columns[f"g{k}"].append("true" if draw.random() < share else "false")
    return columns


def adjusted_lift(columns: Mapping[str, Sequence[object]], name: str, part: str) -> Fraction:
    """(a - mu) n / (n1 n0), with mu the errors expected inside when blocks are shuffled apart."""
    rows = [i for i, where in enumerate(columns["part"]) if where == part]
    inside = {i for i in rows if columns[name][i] == "true"}
    wrong = {i for i in rows if columns["error"][i]}
    mu = Fraction(0)
    for block in sorted({str(columns["block"][i]) for i in rows}):
        here = {i for i in rows if columns["block"][i] == block}
        mu += Fraction(len(here & wrong) * len(here & inside), len(here))
    n, on = len(rows), len(inside)
    return (len(inside & wrong) - mu) * n / (on * (n - on))


def test_with_strata_the_means_are_of_adjusted_lifts_and_the_interval_of_plain_ones() -> None:
    columns = stratified()
    words = ("--split-column", "part", "--strata", "block", "--exclude", "block", *cli.FAST)
    result = made.audit(columns, *words)
    lifts = {
        name: (
            adjusted_lift(columns, name, "discovery"),
            adjusted_lift(columns, name, "holdout"),
        )
        for name in cli.library(result)
    }
    assert result["ablation"] == expected(result, lifts)
    plain = survivors(list(library_lifts(result).values()))
    assert plain["mean_discovery"] != result["ablation"][-1]["selected"]["mean_discovery"]
    for name, (_, second) in lifts.items():
        d = cli.one(result, name)
        assert d["holdout"]["lift_adjusted"] == float(second)
        assert d["effect"]["holdout_lift"] == d["holdout"]["lift"] != float(second)
    assert any("not of the stratum-adjusted one" in note for note in result["notes"])
    assert "stratum-adjusted |lift|" in markdown(result).replace("\\", "")


def test_a_selection_shrinks_and_the_library_does_not() -> None:
    """Forty slices of pure noise: what was kept for its size is smaller on holdout."""
    draw = random.Random(11)
    columns: dict[str, list[int]] = {"error": [int(draw.random() < 0.4) for _ in range(400)]}
    columns |= {f"g{k}": [int(draw.random() < 0.5) for _ in range(400)] for k in range(40)}
    result = made.audit(columns, *cli.FAST)
    rows = {row["method"]: row for row in result["ablation"]}
    chosen, everything = rows["fixed_lift"]["selected"], rows["gate_only"]["selected"]
    assert 0 < chosen["count"] < everything["count"] == 40
    assert chosen["mean_discovery"] >= 0.10
    assert chosen["mean_holdout"] < 0.7 * chosen["mean_discovery"]
    assert abs(chosen["mean_holdout_same_direction"]) < 0.06  # no effect, so no direction either
    assert everything["mean_holdout"] > 0.9 * everything["mean_discovery"]


# --- effects -------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [GSM8K, (*CODE, "--rule", "fixed_lift")])
def test_effects_are_what_the_counts_say(words: tuple[str | Path, ...]) -> None:
    result = cli.audit(*words, *cli.FAST)
    assert {"confirmed", "not_selected"} <= {d["status"] for d in result["descriptors"]}
    for d in result["descriptors"]:
        if d["status"] == "ineligible":
            assert d["effect"] is None
            continue
        effect, held = d["effect"], d["holdout"]
        first, second = plain_lift(d["discovery"]), plain_lift(held)
        interval = confint_proportions_2indep(
            *(held["errors_on"], held["on"], held["errors_off"], held["off"]),
            method="newcomb",
            compare="diff",
        )
        assert (effect["low"], effect["high"]) == pytest.approx(interval, abs=1e-12)
        assert (effect["method"], effect["level"]) == ("newcombe", 0.95)
        assert effect["holdout_lift"] == held["lift"] == float(second)
        assert effect["discovery_lift"] == d["discovery"]["lift"] == float(first)
        assert effect["shrinkage"] == float(second / first)
        chosen = d["name"] in result["methods"][result["rule"]]["selected"]
        assert effect["discovery_selected"] == chosen
        assert effect["conditional_on_gate"] == (d["status"] == "confirmed")
    notes = " ".join(result["notes"])
    assert "winner of a selection" in notes
    assert "conditional on having passed the gate" in notes


def test_nothing_selected_says_nothing_of_winners() -> None:
    result = cli.audit(*GSM8K, "--rule", "max_t", "--alpha", "0.000001", *cli.FAST)
    assert not any("winner" in note or "conditional" in note for note in result["notes"])
    entry = next(row for row in result["ablation"] if row["method"] == "max_t")
    nothing = dict.fromkeys(("mean_discovery", "mean_holdout", "mean_holdout_same_direction"))
    assert entry["selected"] == entry["confirmed"] == {"count": 0, **nothing}


def test_without_a_holdout_there_is_no_effect_and_nothing_confirmed() -> None:
    result = cli.audit(*GSM8K, "--discovery", "1", *cli.FAST)
    assert all(d["effect"] is None for d in result["descriptors"])
    for row in result["ablation"]:
        assert row["confirmed"] is None
        assert row["selected"]["mean_holdout"] is None
        assert row["selected"]["mean_holdout_same_direction"] is None
        assert (row["selected"]["mean_discovery"] is None) == (row["selected"]["count"] == 0)
    text = markdown(result)
    assert "gate only" not in text
    assert "holdout 95%" not in text
    assert "decoys only" in text


def test_clusters_have_no_interval() -> None:
    result = cli.audit(*CODE, "--cluster", "contest_id", "--permutations", "99")
    effects = [d["effect"] for d in result["descriptors"] if d["status"] != "ineligible"]
    assert effects
    for effect in effects:
        assert effect["low"] is effect["high"] is None
        assert effect["holdout_lift"] is not None
    assert any("holdout lifts have no interval" in note for note in result["notes"])
    text = markdown(result)
    assert "holdout 95%" not in text
    assert "fixed lift without decoys" in text
    assert "decoys only" not in text  # there are no decoys


def test_a_slice_without_a_contrast_in_holdout_is_left_out_of_the_holdout_means() -> None:
    # janus-lite checks eligibility on discovery alone.
    flags = [int(i % 3 == 0) for i in range(60)]
    columns: dict[str, list[object]] = {
        "part": ["discovery", "holdout"] * 60,
        "rare": [value for flag in flags for value in (flag, 0)],
        "usual": [value for flag in flags for value in (flag, 1 - flag)],
        "error": [value for i, flag in enumerate(flags) for value in (flag, int(i % 3 == 1))],
    }
    result = made.audit(columns, "--preset", "janus-lite", "--split-column", "part", *cli.FAST)
    rare, usual = cli.one(result, "rare"), cli.one(result, "usual")
    assert rare["status"] == "not_replicated"
    assert [rare["effect"][key] for key in ("low", "high", "holdout_lift", "shrinkage")] == [
        None
    ] * 4
    everything = result["ablation"][-1]["selected"]
    assert everything["count"] == 2
    assert everything["mean_holdout"] == abs(usual["holdout"]["lift"]) == 0.5
    assert any("1 descriptors of the library have nothing" in note for note in result["notes"])


# --- what people read ----------------------------------------------------------------------------


def test_the_tables_hold_the_numbers() -> None:
    result = cli.audit(*GSM8K, *cli.FAST)
    escaped = markdown(result)
    bars = [line for line in escaped.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in bars} == {8, 14}
    text = escaped.replace("\\", "")
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    cells = {line[0].removesuffix(" *"): line for line in lines}
    rows = {row["method"]: row for row in result["ablation"]}
    for method, words in (
        ("decoys", "Procedure A, K literal decoys"),
        ("max_t", "max-T"),
        ("gate_only", "gate only, no screen"),
    ):
        wanted = [
            f"{rows[method][which][key]:{style}}"
            for which in ("selected", "confirmed")
            for key, style in (("count", "d"), ("mean_discovery", ".3f"), ("mean_holdout", ".3f"))
        ]
        assert cells[words][1:] == wanted
    for name, method, which in (
        ("fixed lift without decoys", "fixed_lift", "selected"),
        ("decoys only", "decoys", "selected"),
        ("decoys + gate", "decoys", "confirmed"),
        ("gate only", "gate_only", "confirmed"),
    ):
        kept = rows[method][which]
        assert (
            f"* {name}: {kept['count']} kept, mean |lift| {kept['mean_discovery']:.3f} in "
            f"discovery and {kept['mean_holdout']:.3f} in holdout"
        ) in text
    d = cli.one(result, "n_steps > 3")
    at = cells["descriptor"].index("holdout 95%")
    assert cells["descriptor"][at - 1] == "holdout lift"
    assert cells["n_steps > 3"][at] == f"{d['effect']['low']:+.2f}..{d['effect']['high']:+.2f}"


def test_the_csv_has_the_interval_and_the_shrinkage(tmp_path: Path) -> None:
    result = cli.audit(*GSM8K, *cli.FAST, "--out", tmp_path)
    with (tmp_path / "findings.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(list(finding_rows(result)))
    for row in rows:
        effect = cli.one(result, row["name"])["effect"]
        for column, key in (
            ("holdout_low", "low"),
            ("holdout_high", "high"),
            ("shrinkage", "shrinkage"),
        ):
            assert row[column] == ("" if effect is None else repr(effect[key]))


@pytest.mark.parametrize("words", [GSM8K, CODE])
@pytest.mark.parametrize("rule", ["decoys", "fixed_lift"])
def test_the_tables_fit_eighty_columns(
    words: tuple[str | Path, ...], rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    screen = cli.Terminal()
    result = cli.audit(*words, "--rule", rule, *cli.FAST)
    print_result(result, screen)
    lines = [line.rstrip() for line in screen.getvalue().splitlines()]
    starts = [i for i, line in enumerate(lines) if line.startswith(("descriptor ", "method "))]
    assert len(starts) == 2
    for start, rows in zip(starts, (result["screen"]["L"], 12), strict=True):
        height = lines[start:].index(next(x for x in lines[start:] if x.startswith("(a wider")))
        assert height == 1 + rows  # nothing is folded to fit
        assert all(len(line) <= 80 for line in lines[start : start + height])
    header = lines[starts[1]].split()
    assert header == ["method", "selected", "mean", "|lift|", "in", "holdout", "confirmed"]
