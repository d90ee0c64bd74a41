"""The failing cases from the field, through the command line, each with its values.

``tests/data/cases/<case>/expect.json`` says where a case comes from and what is right. Reference
p-values there that are Fisher's are replaced by the oracle's in the project's own convention.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.audits import cli
from tests.oracle import oracle, tables

RELATIVE = 1e-9


def near(value: float | Fraction) -> Any:
    return pytest.approx(float(value), rel=RELATIVE)


def write(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    """A plain comma-separated file."""
    lines = [",".join(header), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def words_of(text: str) -> set[str]:
    """Whole words and numbers of a message, so that 3 is not found in 13."""
    said = text.removeprefix("janus-jax: error: ")
    return {word.strip(".") for word in re.findall(r"[\w.]+", said)}


def size(result: cli.Result, split: str = "discovery") -> tuple[int, int]:
    """Rows and errors of a split."""
    return result["data"][split]["n"], result["data"][split]["errors"]


def check_table(descriptor: cli.Result, reference: dict[str, Any]) -> None:
    """Counts and p of a reference table."""
    assert cli.counts(descriptor["discovery"]) == tuple(reference[k] for k in ("n", "n1", "K", "a"))
    assert descriptor["p_exact"] == near(reference["p_two_absdiff"])


# --- statistics ----------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["input_float64.csv", "input_float32.csv"])
def test_case_01_float_ties_two_sided(file: str) -> None:
    # 48,620 labellings of the larger file are fewer than the permutations asked for.
    result = cli.whole(
        tables.case(1, file), "--permutations", "50000", "--backend", "numpy", "--decoys", "100"
    )
    got, values = cli.one(result, "slice"), tables.values(1)
    check_table(got, values[f"{file} table"])
    assert result["screen"]["permutations"]["kind"] == "enumerated"
    for field in ("p_bh", "p_max_t", "p_max_t_step_down", "p_monte_carlo"):
        assert got[field] == near(values[f"{file} table"]["p_two_absdiff"]), field
    naive = values[
        "input_float64.csv naive float64 |D| >= (wrong)"
        if "64" in file
        else "input_float32.csv naive float32 (wrong)"
    ]
    assert got["p_exact"] != near(naive)


def test_case_03_tiny_p_no_absolute_tolerance() -> None:
    values = tables.values(3)
    words = ("--permutations", "9999", "--backend", "numpy", "--decoys", "100")
    result = cli.whole(tables.case(3), *words)
    got = cli.one(result, "uses_tool")
    check_table(got, values["table"])
    assert got["p_exact"] == near(2.4409193472429722e-36)
    assert got["p_bh"] == near(2.4409193472429722e-36)  # one descriptor, and positive
    for field in ("p_max_t", "p_max_t_step_down", "p_monte_carlo"):
        assert got[field] == values["Monte-Carlo value for B=9999"] == 0.0001, field
    resolution = result["screen"]["permutations"]
    assert (resolution["kind"], resolution["count"]) == ("sampled", 9999)
    assert resolution["smallest_p"] == 0.0001
    shown = cli.call("audit", tables.case(3), "--error", "error", *cli.WHOLE, *words)
    assert shown.status == 0
    assert re.search(r"2\.4\d*e-36", shown.out), shown.out


@pytest.mark.parametrize(("permutations", "smallest"), [(1, 0.5), (99, 0.01), (999, 0.001)])
def test_case_04_monte_carlo_p_never_zero(permutations: int, smallest: float) -> None:
    values = tables.values(4)
    assert smallest in values["smallest possible for B=1, 99, 999"]
    words = ("--permutations", str(permutations), "--seed", "5", "--backend", "numpy")
    result = cli.whole(tables.case(4), *words)
    for name in ("domain = law", "domain = misc"):
        got = cli.one(result, name)
        assert got["p_exact"] == near(values["exact reference"]["p_two_absdiff"])
        for field in ("p_max_t", "p_max_t_step_down", "p_monte_carlo"):
            # A multiple of 1 / (B + 1), never 0 and never above 1.
            hits = got[field] * (permutations + 1)
            assert hits == pytest.approx(round(hits), abs=1e-9)
            assert 1 <= round(hits) <= permutations + 1
    law = cli.one(result, "domain = law")
    check_table(law, values["exact reference"])
    if permutations > 1:  # p is about 1e-6: no shuffle reaches it
        assert law["p_monte_carlo"] == pytest.approx(smallest, rel=1e-12)
    resolution = result["screen"]["permutations"]
    assert resolution["count"] == permutations
    assert resolution["smallest_p"] == pytest.approx(smallest, rel=1e-12)
    assert result["plan"]["permutations"] == permutations
    assert result["plan"]["seed"] == 5


@pytest.mark.parametrize("file", ["input_all_right.csv", "input_all_wrong.csv"])
def test_case_05_constant_outcome(file: str) -> None:
    message = cli.refused(tables.case(5, file), "--error", "error", "--id", "id")
    assert "error" in words_of(message)
    assert "single value" in message


def test_case_07_two_sided_conventions() -> None:
    values = tables.values(7)
    result = cli.whole(tables.case(7))
    check_table(cli.one(result, "has_code"), values["input.csv"])
    assert cli.columns(result)["has_code"]["kind"] == "boolean"
    assert any("two-sided" in note.lower() for note in result["notes"]), result["notes"]
    help_text = cli.call("audit", "--help")
    assert help_text.status == 0
    assert "two-sided" in help_text.out.lower()


def test_case_07_the_decision_that_depends_on_the_convention() -> None:
    (key,) = (k for k in tables.values(7) if k.startswith("input_b.csv"))
    reference = tables.values(7)[key]
    permutations = 99_999
    result = cli.whole(
        tables.case(7, "input_b.csv"), "--permutations", str(permutations), "--backend", "numpy"
    )
    got = cli.one(result, "has_code")
    check_table(got, reference)
    p = reference["p_two_absdiff"]
    # Not Fisher's 0.030 and not the doubled 0.054: nothing at 5%, exact or sampled.
    for method in ("unadjusted", "bh_05", "max_t"):
        assert result["methods"][method]["selected"] == [], method
    deviation = (p * (1 - p) / permutations) ** 0.5
    for field in ("p_monte_carlo", "p_max_t", "p_max_t_step_down"):
        assert abs(got[field] - p) < 5 * deviation, field


def test_case_08_doubled_p_clipped() -> None:
    got = cli.one(cli.whole(tables.case(8)), "flag")
    check_table(got, tables.values(8)["table"])
    assert got["p_exact"] == got["p_bh"] == got["p_max_t"] == got["p_monte_carlo"] == 1.0
    assert got["discovery"]["lift"] == 0.0
    assert got["status"] == "not_selected"


def test_case_09_bh_with_undefined_test() -> None:
    result = cli.whole(tables.case(9))
    rows = tables.read(tables.case(9))
    errors = tables.bits(rows, "error")
    tested = ["hard", "b", "cc", "d"]
    assert cli.library(result) == set(tested)  # m = 4: the undefined ones are not counted
    unused = cli.not_used(result)
    assert {"always", "never"} <= set(unused)
    p = [tables.p_value(tables.bits(rows, c), errors) for c in tested]
    for name, raw, adjusted in zip(tested, p, oracle.bh_adjusted(p), strict=True):
        got = cli.one(result, name)
        assert got["p_exact"] == near(raw)
        assert got["p_bh"] == near(adjusted)
    # These tables are symmetric enough for Fisher's reference values to be the project's too.
    assert cli.one(result, "hard")["p_bh"] == near(tables.values(9)["BH q, m=4"]["hard"])
    assert not {"always", "never"} & set(cli.by_name(result))
    assert result["methods"]["bh_05"]["selected"] == ["hard"]


@pytest.mark.parametrize("statistic", ["lift", "z"])
def test_case_11_maxt_constant_column(statistic: str) -> None:
    values = tables.values(11)
    result = cli.whole(
        tables.case(11),
        *("--statistic", statistic, "--permutations", "9999", "--backend", "numpy"),
    )
    assert cli.library(result) == {"s1", "s2", "s3"}
    assert "const" in cli.not_used(result)
    resolution = result["screen"]["permutations"]
    assert (resolution["kind"], resolution["count"]) == ("enumerated", 495)
    assert resolution["labellings"] == values["labellings"]
    got = [cli.one(result, name) for name in ("s1", "s2", "s3")]
    assert [d["p_exact"] for d in got] == pytest.approx(values["raw |D| p (s1,s2,s3)"])
    if statistic == "lift":
        assert [d["p_max_t"] for d in got] == pytest.approx(values["single-step max-T"])
        assert [d["p_max_t_step_down"] for d in got] == pytest.approx(values["step-down max-T"])
    else:
        reference = values["single-step max-T on z = (a-E)/sd"]
        assert [d["p_max_t"] for d in got] == pytest.approx(reference)
    assert result["plan"]["statistic"] == statistic
    assert result["methods"]["max_t"]["selected"] == ["s1"]


def test_case_13_small_space_is_enumerated() -> None:
    result = cli.whole(tables.case(13), "--permutations", "9999", "--backend", "numpy")
    got = cli.one(result, "slice")
    check_table(got, tables.values(13)["table"])
    for field in ("p_exact", "p_max_t", "p_max_t_step_down", "p_monte_carlo"):
        assert got[field] == pytest.approx(0.1, rel=1e-12), field
    resolution = result["screen"]["permutations"]
    assert resolution["kind"] == "enumerated"
    assert resolution["count"] == resolution["labellings"] == 20
    assert resolution["smallest_p"] == pytest.approx(0.1, rel=1e-12)


def test_case_13_fewer_permutations_than_labellings_are_sampled() -> None:
    result = cli.whole(tables.case(13), "--permutations", "19", "--backend", "numpy")
    resolution = result["screen"]["permutations"]
    assert (resolution["kind"], resolution["count"]) == ("sampled", 19)
    assert resolution["labellings"] == 20
    hits = cli.one(result, "slice")["p_monte_carlo"] * 20
    assert hits == pytest.approx(round(hits), abs=1e-9)
    assert hits >= 1


def test_case_15_blocked_permutation_unequal_blocks_free() -> None:
    result = cli.whole(tables.case(15), "--descriptor", "slice")
    check_table(cli.one(result, "slice"), tables.values(15)["free permutation (Simpson artefact)"])
    assert cli.library(result) == {"slice"}
    assert result["plan"]["strata"] is None


def test_case_15_blocked_permutation_unequal_blocks_restricted() -> None:
    values = tables.values(15)
    permutations = 20_000
    result = cli.whole(
        tables.case(15),
        *("--strata", "task", "--permutations", str(permutations), "--backend", "numpy"),
    )
    assert cli.library(result) == {"slice"}  # the strata column makes no descriptor
    got = cli.one(result, "slice")
    assert got["discovery"]["errors_on"] == values["errors in slice"]
    p = values["restricted p two-sided, |a - E|"]
    assert got["p_exact"] == near(p)
    deviation = (p * (1 - p) / permutations) ** 0.5
    for field in ("p_monte_carlo", "p_max_t", "p_max_t_step_down"):
        assert abs(got[field] - p) < 5 * deviation, field
    assert result["plan"]["strata"] == "task"
    assert result["methods"]["unadjusted"]["selected"] == []
    assert "nosuch" in cli.refused(
        tables.case(15), "--error", "error", "--strata", "nosuch", *cli.WHOLE
    )


def test_case_16_seed_jobs_batch_invariance() -> None:
    path = tables.case(16)
    rows = tables.read(path)
    errors = tables.bits(rows, "error")
    words = ("--permutations", "1001", "--backend", "numpy", "--decoys", "101")
    results = {
        batch: cli.without_run(cli.whole(path, *words, "--batch", str(batch), "--seed", "9"))
        for batch in (1, 7, 64, 1001)
    }
    assert results[1] == results[7] == results[64] == results[1001]
    assert cli.without_run(cli.whole(path, *words, "--seed", "9")) == results[1]
    assert results[1]["plan"]["seed"] == 9

    def sampled(result: cli.Result) -> list[float]:
        return [d["p_monte_carlo"] for d in result["descriptors"]]

    other = cli.whole(path, *words, "--seed", "10")
    assert sampled(other) != sampled(results[1])
    # A key reused for every batch would repeat a few permutations and miss this.
    for level in ("en", "de", "ja"):
        p = float(tables.p_value(tables.level(rows, "lang", level), errors))
        got = cli.one(results[1], f"lang = {level}")
        assert got["p_exact"] == near(p)
        deviation = (p * (1 - p) / 1001) ** 0.5
        assert abs(got["p_monte_carlo"] - p) < 5 * deviation + 1 / 1002


# --- families and eligibility --------------------------------------------------------------------


def test_case_18_no_plus_one_is_stated_with_the_resolution() -> None:
    result = cli.whole(tables.case(16), *cli.FAST[:-1], "77")
    assert result["screen"]["decoys"]["K"] == result["plan"]["decoys"] == 77
    (note,) = (note for note in result["notes"] if "+1" in note and "decoys" in note)
    assert "77" in words_of(note)
    assert "no" in words_of(note)


def test_case_20_bh_plateaus_and_ties(tmp_path: Path) -> None:
    """Three descriptors with equal p (other rows, same counts), one stronger, two weaker."""
    n, wrong = 40, 16  # the first 16 rows are wrong
    counts = {"strong": 12, "tie_a": 8, "tie_b": 8, "tie_c": 8, "weak": 7, "none": 5}
    on = 12

    def member(both: int, shift: int) -> list[int]:
        chosen = {(i + shift) % wrong for i in range(both)}
        chosen |= {wrong + (i + shift) % (n - wrong) for i in range(on - both)}
        return [int(row in chosen) for row in range(n)]

    library = {name: member(both, 3 * k) for k, (name, both) in enumerate(counts.items())}
    errors = [int(row < wrong) for row in range(n)]
    path = write(
        tmp_path / "ties.csv",
        ["id", *library, "error"],
        [[f"r{i}", *(m[i] for m in library.values()), errors[i]] for i in range(n)],
    )
    result = cli.whole(path)
    p = [tables.p_value(m, errors) for m in library.values()]
    assert p[1] == p[2] == p[3] > p[0]
    adjusted = oracle.bh_adjusted(p)
    for name, value in zip(library, adjusted, strict=True):
        assert cli.one(result, name)["p_bh"] == near(value)
    tied = {cli.one(result, f"tie_{letter}")["p_bh"] for letter in "abc"}
    assert len(tied) == 1
    names = list(library)
    for method, q in (("bh_05", "0.05"), ("bh_10", "0.10")):
        chosen = {names[g] for g in oracle.bh(p, Fraction(q))}
        assert set(result["methods"][method]["selected"]) == chosen
        assert len({"tie_a", "tie_b", "tie_c"} & chosen) in (0, 3)


def test_case_21_min_support_boundary() -> None:
    path, values = tables.case(21), tables.values(21)
    words = ("--error", "error", "--discovery", "1", "--max-prevalence", "1", *cli.FAST)

    def status(*more: str) -> cli.Result:
        return cli.one(cli.audit(path, *words, *more), "rare")

    kept = status("--min-support", "1", "--min-prevalence", "0.28")
    check_table(kept, values["table"])
    assert kept["discovery"]["on"] == values["rows in slice"]
    assert kept["status"] != "ineligible"
    over = status("--min-support", "1", "--min-prevalence", "0.2801")
    assert over["status"] == "ineligible"
    assert "prevalence" in over["reason"]
    assert "0.28" in over["reason"]
    assert status("--min-support", "7", "--min-prevalence", "0")["status"] != "ineligible"
    short = status("--min-support", "8", "--min-prevalence", "0")
    assert short["status"] == "ineligible"
    assert short["reason"] == "discovery on = 7 < 8"


def test_case_21_a_support_below_one_row_points_at_the_other_option() -> None:
    message = cli.refused(tables.case(21), "--error", "error", "--min-support", "0.28")
    assert "--min-prevalence" in message


@pytest.mark.parametrize("key", ["0.28 x 25", "0.07 x 100", "0.29 x 100", "0.1 x 30"])
def test_case_21_every_boundary_both_ways(key: str, tmp_path: Path) -> None:
    share, _, size = key.partition(" x ")
    n, needed = int(size), tables.values(21)[key]["needed"]
    members = {
        "exact": [int(i < needed) for i in range(n)],
        "short": [int(i < needed - 1) for i in range(n)],
        "most": [int(i >= needed) for i in range(n)],
        "over": [int(i >= needed - 1) for i in range(n)],
    }
    path = write(
        tmp_path / "boundary.csv",
        ["id", *members, "error"],
        [[f"r{i}", *(m[i] for m in members.values()), i % 2] for i in range(n)],
    )
    result = cli.audit(
        path,
        *("--error", "error", "--discovery", "1", "--min-support", "1", *cli.FAST),
        *("--min-prevalence", share, "--max-prevalence", str(1 - Decimal(share))),
    )
    assert cli.library(result) == {"exact", "most"}


def test_case_22_empty_conjunction() -> None:
    path = tables.case(22)
    result = cli.whole(path, "--conjunction", "both = has_table & has_image")
    got = cli.one(result, "both")
    assert got["status"] == "ineligible"
    assert got["discovery"]["on"] == tables.values(22)["rows with both"] == 0
    assert got["discovery"]["lift"] is None
    for field in ("p_exact", "p_bh", "p_max_t", "p_max_t_step_down", "p_monte_carlo", "stability"):
        assert got[field] is None, field
    assert "discovery on = 0" in got["reason"]
    assert cli.library(result) == {"has_table", "has_image", "size = short", "size = long"}
    for method in result["methods"].values():
        assert "both" not in method["selected"]


def test_case_22_pairs() -> None:
    result = cli.whole(tables.case(22), "--pairs")
    got = cli.one(result, "has_table & has_image")
    assert (got["status"], got["discovery"]["on"], got["p_exact"]) == ("ineligible", 0, None)
    # Two levels of one column never meet: such a pair is not made.
    assert not any("short" in n and "long" in n for n in cli.by_name(result))
    assert "has_table & size = short" in cli.by_name(result)


def test_case_24_missing_category_value() -> None:
    values = tables.values(24)
    result = cli.whole(tables.case(24))
    rows = tables.read(tables.case(24))
    errors = tables.bits(rows, "error")
    used = cli.columns(result)
    assert used["topic"]["missing"] == values["missing topic"] == 10
    assert used["n_tokens"]["missing"] == values["missing n_tokens"] == 6
    assert used["topic"]["kind"] == "categorical"
    assert used["n_tokens"]["kind"] == "numeric"
    members = {
        "topic = math": tables.level(rows, "topic", "math"),
        "topic = code": tables.level(rows, "topic", "code"),
        "topic is missing": tables.level(rows, "topic", ""),
        "n_tokens > 150": tables.above(rows, "n_tokens", Fraction(150)),
        "n_tokens is missing": tables.level(rows, "n_tokens", ""),
    }
    assert set(cli.by_name(result)) == set(members)  # no level called nan, None or nothing
    for name, member in members.items():
        got = cli.one(result, name)
        # No row is dropped: n is the whole table for every descriptor.
        assert cli.counts(got["discovery"]) == tables.four(member, errors), name
        assert got["discovery"]["n"] == values["rows"]
        assert got["p_exact"] == near(tables.p_value(member, errors))
    for name, column in (("topic = math", "topic"), ("n_tokens > 150", "n_tokens")):
        known = [i for i, row in enumerate(rows) if row[column] != ""]
        expected = oracle.lift([members[name][i] for i in known], [errors[i] for i in known])
        assert cli.one(result, name)["lift_known"] == near(expected)
        assert cli.one(result, name)["missing"] == len(rows) - len(known)
    # Both columns, their counts and the rule are told.
    told = [note for note in result["notes"] if "missing" in note]
    assert {"topic", "10", "n_tokens", "6", "slice"} <= words_of(" ".join(told)), result["notes"]


def test_case_24_both_formats_alike() -> None:
    from_csv = cli.content(cli.whole(tables.case(24)))
    assert from_csv == cli.content(cli.whole(tables.case(24, "input.jsonl")))


def test_case_25_holdout_level_mismatch() -> None:
    result = cli.audit(
        *(tables.case(25), "--error", "error", "--split-column", "split"),
        *("--min-prevalence", "0", "--max-prevalence", "1", *cli.FAST),
    )
    reference = tables.values(25)["discovery lang=go"]
    got = cli.one(result, "lang = go")
    assert got["status"] == "ineligible"
    assert got["reason"] == "holdout on = 0 < 8"
    assert cli.counts(got["discovery"]) == tuple(reference[k] for k in ("n", "n1", "K", "a"))
    assert got["holdout"]["on"] == tables.values(25)["holdout rows with lang=go"] == 0
    assert got["p_exact"] is None
    assert got["p_exact_outside"] == near(reference["p_two_absdiff"])
    assert cli.library(result) == {"lang = py", "lang = js"}
    assert "lang = rust" not in cli.by_name(result)
    assert cli.columns(result)["lang"]["holdout_only_levels"] == ["rust"]
    holdout = {name: cli.counts(cli.one(result, name)["holdout"]) for name in cli.library(result)}
    assert holdout == {"lang = js": (40, 13, 16, 9), "lang = py": (40, 14, 16, 4)}
    for method in result["methods"].values():
        assert "lang = go" not in [*method["selected"], *method["confirmed"]]


def test_case_27_nothing_found_is_a_result(tmp_path: Path) -> None:
    result = cli.whole(tables.case(27))
    values = tables.values(27)
    names = {"grp = A", "grp = B", "grp = C", "grp = D", "length > 50.5", "flag"}
    assert cli.library(result) == names
    assert min(d["p_exact"] for d in result["descriptors"]) == near(
        values["smallest Fisher p (whole file, no conjunctions)"]
    )
    assert min(d["p_bh"] for d in result["descriptors"]) == near(values["smallest BH q"])
    for name in ("decoys_exact", "unadjusted", "bh_05", "bh_10", "mean_count_exact"):
        method = result["methods"][name]
        assert (method["selected"], method["confirmed"]) == ([], []), name
    assert result["screen"]["decoys_exact"]["threshold"] is None
    assert {d["status"] for d in result["descriptors"]} == {"not_selected"}
    shown = cli.call(
        *("audit", tables.case(27), "--error", "error", *cli.WHOLE, *cli.FAST),
        *("--out", tmp_path / "out"),
    )
    assert shown.status == 0, shown.err
    assert re.search(r"\b(0|no|none|nothing)\b", shown.out, re.IGNORECASE)
    written = cli.parse((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert set(cli.by_name(written)) == names
    findings = tables.read(tmp_path / "out" / "findings.csv")
    assert {row["name"] for row in findings} == names


def test_case_28_pure_noise_many_slices() -> None:
    values = tables.values(28)
    result = cli.whole(
        tables.case(28), "--permutations", "20000", "--backend", "numpy", "--seed", "1"
    )
    rows = tables.read(tables.case(28))
    errors = tables.bits(rows, "error")
    names = [f"f{i:02d}" for i in range(60)]
    assert cli.library(result) == set(names)
    p = [tables.p_value(tables.bits(rows, name), errors) for name in names]
    for name, raw, adjusted in zip(names, p, oracle.bh_adjusted(p), strict=True):
        got = cli.one(result, name)
        assert got["p_exact"] == near(raw)
        assert got["p_bh"] == near(adjusted)
    low = {name for name, raw in zip(names, p, strict=True) if raw <= Fraction("0.05")}
    assert len(low) == values["descriptors with raw p <= 0.05"] == 4
    assert set(result["methods"]["unadjusted"]["selected"]) == low
    assert min(d["p_bh"] for d in result["descriptors"]) == near(values["smallest BH q"])
    for method in ("decoys_exact", "mean_count", "mean_count_exact", "bh_05", "bh_10", "max_t"):
        assert result["methods"][method]["selected"] == [], method
    assert all(method["confirmed"] == [] for method in result["methods"].values())
    largest = max(result["descriptors"], key=lambda d: abs(d["discovery"]["lift"]))
    assert largest["name"] == "f08"
    (reference,) = (v for k, v in values.items() if k.startswith("max-T p of the largest"))
    # Two Monte-Carlo errors of sqrt(0.129 x 0.871 / 20000) = 0.0024 each: five of them together.
    assert largest["p_max_t"] == pytest.approx(reference, abs=0.017)


def test_case_28_nothing_is_confirmed_with_a_holdout() -> None:
    result = cli.audit(tables.case(28), "--error", "error", *cli.FAST)
    assert result["methods"]["decoys_exact"]["selected"] == []
    assert "confirmed" not in {d["status"] for d in result["descriptors"]}


def test_case_30_duplicate_and_complement_columns() -> None:
    values = tables.values(30)
    result = cli.whole(tables.case(30))
    trio = ("flag", "flag_copy", "not_flag")
    assert cli.library(result) == {*trio, "n1", "n2", "n3"}  # m counts them all, as published
    for name in trio:
        got = cli.one(result, name)
        assert got["p_exact"] == near(values["p of flag, flag_copy, not_flag"])
        assert got["p_bh"] == near(values["BH q with m=6 (all columns)"])
        others = " | ".join(got["aliases"])
        for other in trio:
            if other != name:
                assert re.search(rf"\b{other}\b", others), (name, got["aliases"])
        assert len(got["aliases"]) == 2
    for name in ("n1", "n2", "n3"):
        assert cli.one(result, name)["aliases"] == []
    lifts = [cli.one(result, name)["discovery"]["lift"] for name in trio]
    assert lifts[0] == lifts[1] == -lifts[2]


def test_case_30_conjunctions_of_them() -> None:
    result = cli.whole(
        tables.case(30),
        *("--conjunction", "same = flag & flag_copy", "--conjunction", "empty = flag & not_flag"),
    )
    assert {"flag", "flag_copy"} <= set(
        re.findall(r"\w+", " ".join(cli.one(result, "same")["aliases"]))
    )
    empty = cli.one(result, "empty")
    assert (empty["status"], empty["discovery"]["on"]) == ("ineligible", 0)


def test_case_32_median_split_ties() -> None:
    values = tables.values(32)
    result = cli.audit(
        *(tables.case(32), "--error", "error", "--split-column", "split"),
        *("--min-prevalence", "0", "--max-prevalence", "1", *cli.FAST),
    )
    for column, name in (("n_tools", "n_tools > 0"), ("n_tokens", "n_tokens > 51")):
        got = cli.one(result, name)
        assert got["rule"]["above"] == values[column]["discovery_median"]
        assert got["discovery"]["on"] == values[column]["discovery_above"]
        assert got["holdout"]["on"] == values[column]["holdout_above"]
    retries = cli.one(result, "n_retries")
    assert retries["rule"]["kind"] == "boolean"
    assert (retries["discovery"]["on"], retries["holdout"]["on"]) == (29, 14)
    assert retries["status"] == "ineligible"
    assert retries["reason"] == "holdout off = 6 < 8"
    assert "temperature" in cli.not_used(result)
    assert (result["data"]["discovery"]["n"], result["data"]["holdout"]["n"]) == (40, 20)


# --- outcomes and repeats ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "lines"), [("input.csv", ("5", "10", "13")), ("input.jsonl", ("4", "9", "12"))]
)
def test_case_36_outcome_missing(file: str, lines: tuple[str, ...]) -> None:
    path = tables.case(36, file)
    words = words_of(cli.refused(path, "--error", "error", *cli.WHOLE))
    assert {"error", "3", "m03", "m08", "m11", *lines} <= words
    assert "missing-outcome" in cli.refused(path, "--error", "error", *cli.WHOLE)


def test_case_36_outcome_missing_by_request() -> None:
    path = tables.case(36)
    dropped = cli.whole(path, "--missing-outcome", "drop")
    assert dropped["data"]["rows"] == 20
    assert dropped["data"]["outcome"]["missing"] == 3
    assert size(dropped) == (17, 4)
    wrong = cli.whole(path, "--missing-outcome", "wrong")
    assert wrong["data"]["outcome"]["missing"] == 3
    assert size(wrong) == (20, 7)
    shown = cli.call(
        *("audit", path, "--error", "error", "--missing-outcome", "drop", *cli.WHOLE, *cli.FAST)
    )
    assert re.search(r"\b17\s+(of|/)\s+20\b", shown.out), shown.out


def test_case_37_epochs_repeat_the_same_example() -> None:
    path = tables.case(37)
    message = cli.refused(path, "--error", "error", "--id", "id", *cli.WHOLE)
    assert {"12", "48", "id"} <= words_of(message)
    assert "--repeats" in message


@pytest.mark.parametrize("how", ["majority", "first"])
def test_case_37_one_row_an_example(how: str) -> None:
    values = tables.values(37)
    result = cli.whole(tables.case(37), "--id", "id", "--repeats", how, "--descriptor", "multi_hop")
    got = cli.one(result, "multi_hop")
    check_table(got, values["per-id test (n=12)"])
    assert got["p_exact"] != near(values["row-level test (n=48, wrong)"]["p_two_absdiff"])
    assert size(result) == (12, 6)


def test_case_48_score_threshold_and_nan() -> None:
    path, values = tables.case(48), tables.values(48)
    scored = ("--score", "faithfulness", "--pass-at", "0.5")
    message = cli.refused(path, *scored, *cli.WHOLE)
    assert {"faithfulness", "6"} <= words_of(message)
    result = cli.whole(path, *scored, "--missing-outcome", "drop")
    assert result["data"]["outcome"]["missing"] == values["missing"] == 6
    assert size(result) == (24, values["wrong"])
    assert 24 - values["wrong"] == values["right"]
    # Which side exactly 0.5 is on.
    told = [n for n in result["notes"] if re.search(r"(>=|at least) 0\.5\b.*\bright\b", n)]
    assert told, result["notes"]
    as_wrong = cli.whole(path, *scored, "--missing-outcome", "wrong")
    assert size(as_wrong) == (30, values["wrong"] + 6)
    # Without a threshold it is no outcome.
    assert "faithfulness" in words_of(cli.refused(path, "--error", "faithfulness", *cli.WHOLE))
    assert "--pass-at" in cli.refused(path, "--score", "faithfulness", *cli.WHOLE)


def test_case_49_yes_no_strings() -> None:
    reference = tables.values(49)["has_code = yes"]
    result = cli.whole(tables.case(49))
    names = {"has_code", "yn", "tf", "t_f"}
    assert cli.library(result) == names
    for name in names:
        got = cli.one(result, name)
        check_table(got, reference)
        assert cli.columns(result)[name]["kind"] == "boolean"
        assert set(got["aliases"]) == names - {name}


def test_case_49_the_outcome_as_yes_no() -> None:
    path = tables.case(49, "input_outcome_yes_no.csv")
    rows = tables.read(path)
    wrong = sum(row["error"] == "yes" for row in rows)
    result = cli.whole(path)
    assert size(result) == (len(rows), wrong)
    assert any("yes" in words_of(note) for note in result["notes"]), result["notes"]
    right = cli.whole(path, "--correct", "error")  # the other reading counts the others
    assert size(right) == (len(rows), len(rows) - wrong)


def test_case_50_bool_with_missing() -> None:
    values = tables.values(50)
    result = cli.whole(tables.case(50))
    got = cli.one(result, "flag")
    check_table(got, values["missing counted as not members (n=36)"])
    column = cli.columns(result)["flag"]
    assert (column["kind"], column["missing"]) == ("boolean", 12)
    assert column["holdout_only_levels"] == []
    assert got["missing"] == 12
    known = values["missing left out (n=24)"]
    on, off = known["a"] / known["n1"], (known["K"] - known["a"]) / (known["n"] - known["n1"])
    assert got["lift_known"] == near(on - off)
    missing = cli.one(result, "flag is missing")
    assert cli.counts(missing["discovery"]) == (36, 12, 21, 9)


# --- tables --------------------------------------------------------------------------------------


def late_table(path: Path) -> Path:
    """250,000 rows; ``n_tokens`` is numeric but for one word far down."""
    with path.open("w", encoding="utf-8") as file:
        file.write("id,n_tokens,even,error\n")
        for i in range(250_000):
            tokens = "unknown" if i == 249_990 else i % 997
            file.write(f"e{i},{tokens},{int(i % 2 == 0)},{int(i % 5 == 0)}\n")
    return path


def test_case_52_mixed_type_far_down(tmp_path: Path) -> None:
    path = late_table(tmp_path / "late.csv")
    few = ("--permutations", "1", "--decoys", "1", "--backend", "numpy")
    result = cli.whole(path, *few)
    assert cli.library(result) == {"even"}  # not 998 levels, and no number twice
    reason = cli.not_used(result)["n_tokens"]
    assert {"unknown", "249992"} <= words_of(reason), reason
    message = cli.refused(path, "--error", "error", "--numeric", "n_tokens", *cli.WHOLE)
    assert {"n_tokens", "unknown", "249992"} <= words_of(message)

    read = cli.whole(path, *few, "--na", "unknown")
    median = statistics.median(i % 997 for i in range(250_000) if i != 249_990)
    assert median == int(median)
    got = cli.one(read, f"n_tokens > {int(median)}")
    assert got["discovery"]["on"] == sum(i % 997 > median for i in range(250_000) if i != 249_990)
    assert cli.columns(read)["n_tokens"]["missing"] == 1


@pytest.mark.parametrize("file", ["input.csv", "input.jsonl"])
def test_case_53_na_like_level_names(file: str) -> None:
    values = tables.values(53)
    result = cli.whole(tables.case(53, file))
    rows = tables.read(tables.case(53))
    errors = tables.bits(rows, "error")
    levels = ("NA", "None", "null", "nan", "N/A", "EU")
    assert set(cli.by_name(result)) == {*(f"region = {x}" for x in levels), "region is missing"}
    for level in levels:
        got = cli.one(result, f"region = {level}")
        member = tables.level(rows, "region", level)
        assert cli.counts(got["discovery"]) == tables.four(member, errors)
        assert got["discovery"]["on"] == 10
        assert got["p_exact"] == near(tables.p_value(member, errors))
    for key in ("region=NA", "region=EU"):
        assert cli.one(result, key.replace("=", " = "))["p_exact"] == near(values[key])
    assert cli.columns(result)["region"]["missing"] == values["truly missing"] == 2


def test_case_54_duplicate_column_names() -> None:
    message = cli.refused(tables.case(54), "--error", "error", *cli.WHOLE)
    assert {"error", "score", "2", "5", "6"} <= words_of(message)
    clash = cli.refused(tables.case(54, "input_mangle_clash.csv"), "--error", "error", *cli.WHOLE)
    assert {"a", "2", "4"} <= words_of(clash)


def test_case_54_a_json_key_twice() -> None:
    run = cli.call(
        *("audit", tables.case(54, "input.jsonl"), "--error", "error", *cli.WHOLE, *cli.FAST),
        *("--json", "-"),
    )
    if run.status == 0:
        said = [note for note in cli.parse(run.out)["notes"] if "lang" in words_of(note)]
        assert said, "the repeated key was dropped without a word"
    else:
        assert run.status == 2
        assert "lang" in words_of(cli.one_message(run.err))


@pytest.mark.parametrize("file", ["input.csv", "input.jsonl", "input_string_ids.jsonl"])
def test_case_56_large_integer_ids(file: str) -> None:
    result = cli.whole(tables.case(56, file), "--id", "id")
    assert result["data"]["rows"] == result["data"]["discovery"]["n"] == tables.values(56)["right"]
    assert cli.library(result) == {"lang = en", "lang = de"}  # the id makes no descriptor


def test_case_56_one_missing_id_makes_no_duplicates() -> None:
    run = cli.call(
        *("audit", tables.case(56, "input_one_missing_id.csv"), "--error", "error"),
        *("--id", "id", *cli.WHOLE, *cli.FAST, "--json", "-"),
    )
    if run.status == 0:
        assert cli.parse(run.out)["data"]["discovery"]["n"] == 21
    else:  # a blank id may be refused, as blank: line 22
        message = cli.one_message(run.err)
        assert run.status == 2
        assert {"id", "22"} <= words_of(message)
        assert not re.search("repeat|duplicate|twice", message, re.IGNORECASE)


@pytest.mark.parametrize("file", ["input_bom.csv", "input_bom_outcome_first.csv"])
def test_case_58_bom_and_quoted_header(file: str) -> None:
    values = tables.values(58)
    result = cli.whole(tables.case(58, file))
    assert size(result) == (values["rows in the csv files"], 8)
    assert cli.library(result) == {"lang = en", "lang = de"}
    assert cli.one(result, "lang = de")["p_exact"] == values["lang=de"] == 1.0


def test_case_58_bom_in_json_lines() -> None:
    result = cli.whole(tables.case(58, "input_bom.jsonl"))
    assert size(result) == (2, 1)
    assert cli.library(result) == {"lang = en", "lang = de"}


@pytest.mark.parametrize(
    ("file", "encoding", "levels"),
    [
        ("input_utf16.csv", "utf-16", {"lang = en", "lang = de"}),
        ("input_latin1.csv", "latin-1", {"lang = en", "lang = français"}),
    ],
)
def test_case_58_other_encodings(file: str, encoding: str, levels: set[str]) -> None:
    path = tables.case(58, file)
    named = cli.whole(path, "--encoding", encoding)
    assert named["data"]["discovery"]["n"] == tables.values(58)["rows in the csv files"]
    assert cli.library(named) == levels
    run = cli.call("audit", path, "--error", "error", *cli.WHOLE, *cli.FAST, "--json", "-")
    if run.status == 0:
        assert cli.library(cli.parse(run.out)) == levels
    else:
        assert run.status == 2
        assert "--encoding" in cli.one_message(run.err)


def test_case_59_quotes_newlines_commas() -> None:
    values = tables.values(59)
    result = cli.whole(tables.case(59))
    assert result["data"]["rows"] == values["rows"] == 30
    plain = ["plain", "a, b", "semi;colon"]
    quoted = ["line1\nline2", 'say "hi"', "CR\r\nLF", "tab\there"]
    names = {f"prompt style = {x}" for x in plain} | {
        f"prompt style = {json.dumps(x)}" for x in quoted
    }
    assert cli.library(result) == names
    assert len(names) == values["levels"]
    assert cli.one(result, "prompt style = a, b")["p_exact"] == values["style = a, b"] == 1.0
    levels = {d["rule"]["level"] for d in result["descriptors"]}
    assert levels == {*plain, *quoted}  # the rule keeps the level verbatim
    shown = cli.call("audit", tables.case(59), "--error", "error", *cli.WHOLE, *cli.FAST)
    assert "line1\nline2" not in shown.out
    assert "\r" not in shown.out


@pytest.mark.parametrize(
    ("file", "line"), [("input_unbalanced_quote.csv", "2"), ("input_short_row.csv", "3")]
)
def test_case_59_broken_rows_are_named(file: str, line: str) -> None:
    message = cli.refused(tables.case(59, file), "--error", "error", *cli.WHOLE)
    assert line in words_of(message)
    assert file in message


def test_case_60_jsonl_null_first_and_missing_keys() -> None:
    values = tables.values(60)
    result = cli.whole(tables.case(60, "input.jsonl"))
    assert result["data"]["rows"] == result["data"]["discovery"]["n"] == 3000
    used = cli.columns(result)
    assert [used["tool"]["missing"], used["lang"]["missing"]] == values["missing tool, lang"]
    got = cli.one(result, "tool = code")
    assert cli.counts(got["discovery"]) == (3000, 500, 500, 0)
    assert got["p_exact"] == near(values["tool=code"]["p_two_absdiff"])
    assert cli.one(result, "tool = search")["discovery"]["on"] == 500
    assert cli.one(result, "lang is missing")["discovery"]["on"] == 300
    # Every column is either used or listed with the reason.
    mentioned = {*used, *cli.not_used(result)}
    for column in ("meta", "tags", "extra_key"):
        assert any(name == column or name.startswith(f"{column}.") for name in mentioned), column


def test_case_60_two_files_are_one_table() -> None:
    parts = (tables.case(60, "part1_all_null.jsonl"), tables.case(60, "part2.jsonl"))
    result = cli.audit(*parts, "--error", "error", *cli.WHOLE, *cli.FAST)
    rows = [json.loads(line) for p in parts for line in p.read_text(encoding="utf-8").splitlines()]
    assert size(result) == (len(rows), sum(row["error"] for row in rows))
    assert len(result["data"]["source"]) == 2
    for tool in ("search", "code"):
        wanted = sum(row["tool"] == tool for row in rows)
        assert cli.one(result, f"tool = {tool}")["discovery"]["on"] == wanted > 0
    assert cli.columns(result)["tool"]["missing"] == sum(row["tool"] is None for row in rows)


@pytest.mark.parametrize("file", ["input.csv", "input.jsonl"])
def test_case_64_infinite_and_nan_numbers(file: str) -> None:
    values = tables.values(64)
    result = cli.whole(tables.case(64, file))
    assert cli.columns(result)["ratio"]["kind"] == "numeric"
    assert cli.columns(result)["ratio"]["missing"] == 4
    got = cli.one(result, "ratio > 3")
    check_table(got, values["ratio > 3, NaN as non-member (n=32)"])
    assert got["rule"]["above"] == values["median without NaN"]
    known = values["ratio > 3, NaN left out (n=28)"]
    on, off = known["a"] / known["n1"], (known["K"] - known["a"]) / (known["n"] - known["n1"])
    assert got["lift_known"] == near(on - off)
    assert set(cli.by_name(result)) == {"ratio > 3", "ratio is missing"}


@pytest.mark.parametrize(
    ("file", "delimiter", "word"),
    [("input_semicolon.csv", ";", ";"), ("input_tab.csv", "\t", "tab")],
)
def test_case_66_wrong_delimiter(file: str, delimiter: str, word: str) -> None:
    path = tables.case(66, file)
    named = cli.whole(path, "--delimiter", delimiter)
    assert named["data"]["discovery"]["n"] == tables.values(66)["rows"]
    assert {"lang = en", "lang = de"} <= set(cli.by_name(named))
    run = cli.call("audit", path, "--error", "error", *cli.WHOLE, *cli.FAST, "--json", "-")
    if run.status == 0:
        result = cli.parse(run.out)
        assert result["data"]["discovery"]["n"] == 20
        assert {"lang = en", "lang = de"} <= set(cli.by_name(result))
    else:
        assert run.status == 2
        message = cli.one_message(run.err)
        assert word in message
        assert "--delimiter" in message


def test_case_68_json_report_is_strict(tmp_path: Path) -> None:
    result = cli.whole(tables.case(68))  # parsed strictly
    levels = ("NaN", "BaNaNa", "Infinity", "-Infinity")
    assert cli.library(result) == {f"fruit = {x}" for x in levels}
    got = cli.one(result, "fruit = BaNaNa")
    assert got["p_exact"] == near(tables.values(68)["fruit=BaNaNa"])
    assert {d["rule"]["level"] for d in result["descriptors"]} == set(levels)
    assert "always" in cli.not_used(result)
    target = tmp_path / "result.json"
    run = cli.call(
        "audit", tables.case(68), "--error", "error", *cli.WHOLE, *cli.FAST, "--json", target
    )
    assert run.status == 0
    assert cli.without_run(cli.parse(target.read_text(encoding="utf-8"))) == cli.without_run(result)


@pytest.mark.parametrize(
    ("file", "column"), [("input.csv", ""), ("input.parquet", "__index_level_0__")]
)
def test_case_70_saved_index_column(file: str, column: str) -> None:
    result = cli.whole(tables.case(70, file))
    assert cli.library(result) == {"lang = en", "lang = de"}
    unused = {name: why for name, why in cli.not_used(result).items() if name != "error"}
    assert len(unused) == 1
    if column:
        assert column in unused
    (reason,) = unused.values()
    assert re.search("row number|index", reason), reason


@pytest.mark.parametrize("first", [0, 1])
def test_case_70_consecutive_integers_under_any_name(first: int, tmp_path: Path) -> None:
    rows = tables.read(tables.case(70))
    path = write(
        tmp_path / "numbered.csv",
        ["place", "lang", "error"],
        [[first + i, row["lang"], row["error"]] for i, row in enumerate(rows)],
    )
    result = cli.whole(path)
    assert "place" in cli.not_used(result)
    assert cli.library(result) == {"lang = en", "lang = de"}
    # Named, it is used: the person said so.
    named = cli.whole(path, "--descriptor", "place")
    got = cli.one(named, f"place > {first + 23.5}")
    check_table(got, tables.values(70)["row number > 23.5"])


@pytest.mark.parametrize(
    ("file", "useless"),
    [
        ("input.csv", {"empty", "all_nan", "blank", "one_value"}),
        ("input.jsonl", {"empty", "all_nan"}),
    ],
)
def test_case_71_all_missing_and_constant_columns(file: str, useless: set[str]) -> None:
    result = cli.whole(tables.case(71, file))
    assert useless <= set(cli.not_used(result))
    assert cli.library(result) == {"lang = en", "lang = de"}
    assert cli.one(result, "lang = de")["p_exact"] == tables.values(71)["lang=de"] == 1.0


# --- numbers and devices -------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize(
    ("number", "name"),
    [(72, "corpus_offset > 2147483652.5"), (73, "n_chars > 16777235.5"), (74, "long_context")],
)
def test_case_72_73_74_integers_survive_the_device(number: int, name: str, backend: str) -> None:
    values = tables.values(number)
    permutations = 999
    result = cli.whole(
        tables.case(number), "--permutations", str(permutations), "--backend", backend
    )
    got = cli.one(result, name)
    check_table(got, values["table"])
    if "median" in values:
        assert got["rule"]["above"] == values["median"]
        assert got["discovery"]["on"] == values["rows above"]
    else:
        assert got["discovery"]["errors_on"] == values["true count"] == 150
    p = values["table"]["p_two_absdiff"]
    # Counts that wrapped on the device would not reach this p.
    deviation = (p * (1 - p) / permutations) ** 0.5
    assert abs(got["p_monte_carlo"] - p) < 5 * deviation + 1 / (permutations + 1)


@pytest.mark.parametrize("seed", [0, 2**32 - 1, 2**32, 2**63, 2**64 - 1])
def test_case_75_seed_range_is_recorded_as_given(seed: int) -> None:
    result = cli.audit(tables.case(16), "--error", "error", *cli.FAST, "--seed", str(seed))
    assert result["plan"]["seed"] == seed


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_case_75_seeds_that_share_their_low_word_differ(backend: str) -> None:
    words = ("--permutations", "999", "--decoys", "999", "--backend", backend)
    one, other, again = (
        cli.whole(tables.case(16), *words, "--seed", str(seed))
        for seed in (1, 4_294_967_297, 4_294_967_297)
    )

    def drawn(result: cli.Result) -> list[Any]:
        fields = ("p_monte_carlo", "p_max_t", "p_max_t_step_down")
        return [[d[f] for f in fields] for d in result["descriptors"]]

    assert drawn(one) != drawn(other)
    assert cli.without_run(other) == cli.without_run(again)


@pytest.mark.parametrize("seed", ["-1", "18446744073709551616", "1.5", "x"])
def test_case_75_other_seeds_are_refused_with_the_range(seed: str) -> None:
    message = cli.refused(tables.case(16), "--error", "error", f"--seed={seed}")
    if seed in ("-1", "18446744073709551616"):
        assert re.search(r"18446744073709551615|2\s?(\*\*|\^)\s?64", message), message


PROGRAM = """
import sys
{before}
from janus_jax.cli import main
try:
    status = main({words!r})
except SystemExit as stop:
    status = stop.code or 0
{after}
sys.exit(status)
"""


def elsewhere(
    words: Sequence[str | Path],
    before: str = "",
    after: str = "",
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    program = PROGRAM.format(before=before, words=[str(w) for w in words], after=after)
    return subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONIOENCODING": "utf-8",
            **environment,
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


NO_JAX = "sys.modules['jax'] = None; sys.modules['jaxlib'] = None"
UNTOUCHED = "assert 'jax' not in sys.modules, 'jax was imported'"


def audit_words(backend: str) -> list[str | Path]:
    return [
        *("audit", tables.case(16), "--error", "error", "--permutations", "99"),
        *("--backend", backend, "--json", "-"),
    ]


def test_case_78_jax_on_stdout_only_json() -> None:
    run = elsewhere(audit_words("jax"))
    assert run.returncode == 0, run.stderr
    result = cli.parse(run.stdout)
    assert result["run"]["backend"] == "jax"
    assert result["run"]["device"]


@pytest.mark.parametrize("words", [["--help"], ["audit", "--help"], audit_words("numpy")])
def test_case_78_no_jax_where_it_is_not_needed(words: list[str | Path]) -> None:
    run = elsewhere(words, after=UNTOUCHED)
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_case_78_missing_jax_falls_back_and_says_so() -> None:
    run = elsewhere(audit_words("auto"), before=NO_JAX)
    assert run.returncode == 0, run.stderr
    result = cli.parse(run.stdout)
    assert result["run"]["backend"] == "numpy"
    said = {key: value for key, value in result["run"].items() if key != "command"}
    told = (run.stderr + json.dumps(said)).lower().replace("janus-jax", "")
    assert "jax" in told
    named = elsewhere(audit_words("numpy"), before=NO_JAX)
    assert cli.without_run(cli.parse(named.stdout)) == cli.without_run(result)


def test_case_78_jax_by_name_without_jax() -> None:
    run = elsewhere(audit_words("jax"), before=NO_JAX)
    assert run.returncode == 3
    assert run.stdout == ""
    assert "pip install" in cli.one_message(run.stderr)


def test_case_78_a_platform_that_is_not_there() -> None:
    run = elsewhere(audit_words("jax"), JAX_PLATFORMS="nosuchplatform")
    assert run.returncode == 3, run.stderr
    assert run.stdout == ""
    assert "nosuchplatform" in cli.one_message(run.stderr)


def test_case_81_key_reuse_between_decoys_and_test() -> None:
    jax = pytest.importorskip("jax")
    words = ("--permutations", "199", "--decoys", "200", "--batch", "64")
    with jax.debug_key_reuse(True):
        checked = cli.audit(tables.case(16), "--error", "error", *words, "--backend", "jax")
    plain = cli.audit(tables.case(16), "--error", "error", *words, "--backend", "numpy")
    assert cli.without_run(checked) == cli.without_run(plain)
