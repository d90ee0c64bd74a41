"""The curve over thresholds and the histogram, recomputed from the raw table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from scipy import stats

from tests.audits import cli, made
from tests.audits.test_against_oracle import FEW, Case, cases
from tests.oracle import oracle, tables

GSM8K = (tables.table_of("gsm8k_openai_4models.csv"), "--correct", "correct_175b_verification")
COLUMNS = (
    *("q_words", "q_sentences", "q_numbers", "n_steps", "n_add", "n_mul", "has_money"),
    *("has_percent", "has_fraction", "question_type"),
)
CHOSEN = tuple(word for name in COLUMNS for word in ("--descriptor", name))
LISTS = ("threshold", "R", "D", "expected_exceedances", "mean_count")
Bits = Sequence[int]
Weighted = tuple[Fraction, float]


def discovery() -> tuple[dict[str, Bits], Bits]:
    """Every descriptor and the errors on the discovery rows, from the file alone."""
    rows = tables.read(GSM8K[0])
    first, _ = oracle.split_rows(len(rows), None, Fraction(1, 2), 0)
    made_of = oracle.make_descriptors(rows, first, COLUMNS, ["question_type"])
    errors = [1 - int(rows[r]["correct_175b_verification"]) for r in first]
    return {d.name: [d.member[r] for r in first] for d in made_of}, errors


@cache
def law(member: tuple[int, ...], errors: tuple[int, ...], statistic: str) -> list[Weighted]:
    """Every value of the statistic when errors are shuffled, and scipy's weight of it."""
    n, on, wrong = len(member), sum(member), sum(errors)
    found: list[Weighted] = []
    for a in range(max(0, on + wrong - n), min(on, wrong) + 1):
        distance = abs(Fraction(a) - Fraction(on * wrong, n))
        if statistic == "lift":
            value = distance * n / (on * (n - on))
        else:
            value = distance**2 / oracle.variance_errors_on(member, errors)
        found.append((value, float(stats.hypergeom.pmf(a, n, on, wrong))))
    return found


def tail(member: Bits, errors: Bits, statistic: str, limit: Fraction) -> float:
    """P(statistic >= limit) when errors are shuffled; comparisons in fractions."""
    weights = law(tuple(member), tuple(errors), statistic)
    return sum(weight for value, weight in weights if value >= limit)


def shown(statistic: str, value: Fraction) -> float:
    return float(value) if statistic == "lift" else math.sqrt(value)


@pytest.mark.parametrize("statistic", ["lift", "z"])
def test_the_curve_of_a_real_table(statistic: str) -> None:
    k, b = 2000, 999
    result = cli.audit(
        *GSM8K,
        *CHOSEN,
        *("--statistic", statistic, "--backend", "numpy"),
        *("--permutations", str(b), "--decoys", str(k)),
    )
    members, errors = discovery()
    names = cli.library(result)
    assert names < set(members)
    library = {name: member for name, member in members.items() if name in names}
    values = [oracle.statistic(statistic, member, errors) for member in library.values()]
    limits = sorted(set(values))
    curve = result["screen"]["curve"]
    assert tuple(curve) == LISTS
    assert curve["threshold"] == [shown(statistic, t) for t in limits]
    assert curve["R"] == [sum(v >= t for v in values) for t in limits]
    for j, limit in enumerate(limits):
        chances = [tail(member, errors, statistic, limit) for member in library.values()]
        expected, size = sum(chances), len(library)
        assert curve["expected_exceedances"][j] == pytest.approx(expected, rel=1e-9)
        # A literal decoy reaches the threshold with the mean of those chances.
        p = expected / size
        assert abs(curve["D"][j] - k * p) <= 5 * math.sqrt(k * p * (1 - p)) + 1
        # A count of at most L has a variance of at most L times its mean.
        assert abs(curve["mean_count"][j] - expected) <= 5 * math.sqrt(size * expected / b) + 2 / b
    agrees_with_the_choice(result, k)


def agrees_with_the_choice(result: cli.Result, k: int) -> None:
    """The threshold each rule chose is the first of the curve whose estimated FDP is at most q."""
    screen, q = result["screen"], Fraction(result["plan"]["q"])
    curve, size = screen["curve"], screen["L"]
    for rule, name, scale in (
        ("decoys", "D", Fraction(size, k)),
        ("decoys_exact", "expected_exceedances", Fraction(1)),
        ("mean_count", "mean_count", Fraction(1)),
    ):
        if curve[name] is None:  # with clusters
            assert rule not in screen
            continue
        fdp = [
            Fraction(value) * scale / max(1, r)
            for value, r in zip(curve[name], curve["R"], strict=True)
        ]
        passing = [j for j, value in enumerate(fdp) if value <= q]
        if not passing:
            assert screen[rule]["threshold"] is None
            continue
        j = passing[0]
        assert screen[rule]["threshold"] == curve["threshold"][j]
        assert screen[rule]["R"] == curve["R"][j]
        assert screen[rule][name] == curve[name][j]
        assert screen[rule]["estimated_fdp"] == pytest.approx(float(fdp[j]), rel=1e-15)


def every_relabelling(case: Case) -> None:
    """Where all labellings are enumerated, the mean count is exact: the oracle counts them."""
    members = list(case.library.values())
    table = oracle.enumerate_all(members, case.errors, case.strata, case.statistic)
    screen = case.run()["screen"]
    assert screen["permutations"]["kind"] == "enumerated"
    curve = screen["curve"]
    limits = sorted(set(table.observed))
    assert curve["threshold"] == pytest.approx([shown(case.statistic, t) for t in limits])
    assert curve["R"] == [sum(v >= t for v in table.observed) for t in limits]
    for j, limit in enumerate(limits):
        reached = sum(value >= limit for row in table.null for value in row)
        assert curve["mean_count"][j] == float(Fraction(reached, table.total))
        assert curve["expected_exceedances"][j] == pytest.approx(curve["mean_count"][j])


@given(case=cases(blocks=False))
@FEW
def test_every_relabelling(case: Case) -> None:
    every_relabelling(case)


@given(case=cases(blocks=True))
@FEW
def test_every_relabelling_within_strata(case: Case) -> None:
    if oracle.number_of_labellings(case.errors, case.strata) > 1:
        every_relabelling(case)


# --- the histogram -------------------------------------------------------------------------------


def bin_of(value: Fraction, top: Fraction, statistic: str) -> int:
    """The bin of a statistic (|lift| or z squared) by comparing it with every edge."""
    edges = [
        (top * i / 40 if statistic == "lift" else top * Fraction(i * i, 1600)) for i in range(41)
    ]
    assert value <= edges[-1]
    return next((i for i, (a, b) in enumerate(pairwise(edges)) if a <= value < b), 39)


@pytest.mark.parametrize("statistic", ["lift", "z"])
def test_the_histogram_of_a_real_table(statistic: str) -> None:
    k = 500
    result = cli.audit(*GSM8K, *CHOSEN, *cli.FAST, "--statistic", statistic, "--decoys", str(k))
    members, errors = discovery()
    values = [oracle.statistic(statistic, members[name], errors) for name in cli.library(result)]
    top = max(values)  # this table's largest lift is beyond any decoy's
    found, curve = result["screen"]["histogram"], result["screen"]["curve"]
    assert curve["D"][-1] == 0
    assert found["width"] == pytest.approx(shown(statistic, top) / 40, rel=1e-15)
    counts = [0] * 40
    for value in values:
        counts[bin_of(value, top, statistic)] += 1
    assert found["descriptors"] == counts
    assert len(found["decoys"]) == 40
    assert sum(found["decoys"]) == k
    # The decoys at or above each threshold are those of higher bins, and some of its own bin.
    for value, reached in zip(sorted(set(values)), curve["D"], strict=True):
        place = bin_of(value, top, statistic)
        assert sum(found["decoys"][place + 1 :]) <= reached <= sum(found["decoys"][place:])


@pytest.mark.parametrize("statistic", ["lift", "z"])
def test_a_value_on_the_edge_of_a_bin_belongs_to_the_upper_one(
    statistic: str, tmp_path: Path
) -> None:
    # Half on and half off, so lifts are (2 a - 20) / 20 of the largest, 1: in floats 0.3 / (1 / 40)
    # is below 12.
    error = [1] * 20 + [0] * 20
    columns = {"perfect": made.words(error), "error": error}
    lifts = {f"g{a}": a for a in (11, 12, 13, 14, 17)}
    columns |= {
        name: made.words([1] * a + [0] * (20 - a) + [1] * (20 - a) + [0] * a)
        for name, a in lifts.items()
    }
    result = cli.whole(made.write(tmp_path / "edges.csv", columns), "--statistic", statistic)
    wanted = [0] * 40
    for a in (*lifts.values(), 20):
        wanted[min(2 * (2 * a - 20), 39)] += 1  # 40 (2 a - 20) / 20
    assert result["screen"]["histogram"]["descriptors"] == wanted


def test_decoys_may_be_the_largest(tmp_path: Path) -> None:
    # One descriptor without any lift: every decoy is at least as large, some are larger.
    columns = {"flat": made.words([1, 1, 0, 0] * 5), "error": [1, 0] * 10}
    found = cli.whole(made.write(tmp_path / "flat.csv", columns))["screen"]
    assert found["curve"]["threshold"] == [0.0]
    assert found["curve"]["D"] == [100]
    assert found["histogram"]["descriptors"] == [1] + [0] * 39
    assert sum(found["histogram"]["decoys"]) == 100
    assert found["histogram"]["decoys"][-1] > 0
    # Lifts are even tenths (10 on, 10 off).
    assert found["histogram"]["width"] * 40 in [float(Fraction(i, 5)) for i in range(1, 6)]


def test_all_values_zero() -> None:
    # Discovery holds no error, so nothing has a lift.
    n = 40
    columns = {
        "g": made.words([1, 0] * n),
        "split": ["discovery"] * n + ["holdout"] * n,
        "error": [0] * n + [1, 0, 0, 1] * (n // 4),
    }
    for statistic in ("lift", "z"):
        words = ("--split-column", "split", "--statistic", statistic, *cli.FAST)
        found = made.audit(columns, *words)["screen"]
        assert found["curve"]["threshold"] == [0.0]
        assert found["histogram"] == {
            "width": 1 / 40,
            "descriptors": [1] + [0] * 39,
            "decoys": [100] + [0] * 39,
        }


# --- where there is less to show -----------------------------------------------------------------


def test_nothing_screened() -> None:
    screen = cli.audit(*GSM8K, "--min-support", "600", *cli.FAST)["screen"]
    assert screen == {"L": 0, "curve": None, "histogram": None}


def test_clusters_have_no_closed_form() -> None:
    path = tables.table_of("livecodebench_o1.csv")
    words = (path, "--correct", "correct_o1mini", "--cluster", "contest_id", *cli.FAST)
    result = cli.audit(*words)
    curve, found = result["screen"]["curve"], result["screen"]["histogram"]
    assert curve["D"] is None
    assert curve["expected_exceedances"] is None
    assert found["decoys"] is None
    lifts = sorted({abs(d["discovery"]["lift"]) for d in result["descriptors"] if d["p_bh"]})
    assert curve["threshold"] == lifts
    assert sum(found["descriptors"]) == result["screen"]["L"]
    assert found["width"] == pytest.approx(lifts[-1] / 40)
    agrees_with_the_choice(result, 100)


def rare(on: Sequence[int]) -> Mapping[str, Sequence[object]]:
    """100 discovery and 100 holdout rows; descriptors that are on for so many rows of each."""
    split = ["discovery"] * 100 + ["holdout"] * 100
    error = [int(r % 3 == 0) for r in range(100)] * 2
    return {
        **{f"g{i}": made.words([int(r < k) for r in range(100)] * 2) for i, k in enumerate(on)},
        "split": split,
        "error": error,
    }


def test_no_decoy_source(tmp_path: Path) -> None:
    # On for 4 of 100 in each split: eligible by this preset, but below its pool's 5%.
    path = made.write(tmp_path / "rare.csv", rare([4]))
    words = ("--preset", "longbench-v2", "--split-column", "split", *cli.FAST)
    result = cli.audit(path, "--error", "error", *words)
    screen = result["screen"]
    assert screen["L"] == 1
    assert screen["decoys"]["sources"] == 0
    assert screen["curve"]["D"] is None
    assert screen["curve"]["expected_exceedances"] is None
    assert screen["curve"]["mean_count"][0] > 0
    assert screen["histogram"]["decoys"] is None
    assert sum(screen["histogram"]["descriptors"]) == 1


def test_decoys_of_another_pool(tmp_path: Path) -> None:
    path = made.write(tmp_path / "rare.csv", rare([4, 30, 50]))
    words = ("--preset", "longbench-v2", "--split-column", "split", *cli.FAST)
    result = cli.audit(path, "--error", "error", *words)
    screen = result["screen"]
    assert (screen["L"], screen["decoys"]["sources"]) == (3, 2)
    errors = [int(r % 3 == 0) for r in range(100)]
    members = [[int(r < k) for r in range(100)] for k in (4, 30, 50)]
    limits = sorted({oracle.statistic("lift", m, errors) for m in members})
    for limit, expected in zip(limits, screen["curve"]["expected_exceedances"], strict=True):
        two = sum(tail(m, errors, "lift", limit) for m in members[1:])
        assert expected == pytest.approx(two * 3 / 2, rel=1e-9)
    agrees_with_the_choice(result, 100)
