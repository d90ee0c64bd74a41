"""Whole studies: curves, targets, the document and the command."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from janus_jax.behaviour.gate_power import gate_chance
from janus_jax.behaviour.power import PowerResult, make_study, power
from janus_jax.behaviour.power_audit import audit_design
from janus_jax.behaviour.power_cells import simulate
from janus_jax.behaviour.power_design import make_design
from janus_jax.behaviour.power_report import answers, cell_rows
from janus_jax.behaviour.power_search import (
    CELL_FIELDS,
    Cells,
    Estimate,
    smallest_delta,
    smallest_n,
)
from janus_jax.errors import InputError

FEW = 600


def test_a_curve_over_delta():
    result = power(preset="musique", delta=[0.1, "0.3"], repetitions=FEW, seed=3)
    document = result.to_dict()
    assert document["schema"] == "janus-jax/power/1"
    assert result.cells.shape == (2, len(CELL_FIELDS))
    for cell, delta in zip(document["cells"], ("0.1", "0.3"), strict=True):
        tally = simulate(make_design({"preset": "musique"}), delta, FEW, 3)
        p = tally.confirmed / FEW
        assert cell["power"] == p
        assert cell["standard_error"] == math.sqrt(p * (1 - p) / FEW)
        assert cell["selected"] == tally.selected / FEW
        chance = gate_chance(make_design({"preset": "musique"}), delta)
        assert (cell["gate"], cell["ineligible"]) == (chance.passes, 1.0 - chance.eligible)
    json.loads(result.to_json(), parse_constant=pytest.fail)


def test_a_curve_over_n_needs_no_other_sizes():
    result = power(n=[61, 200], library=5, delta=0.3, repetitions=FEW)
    cells = result.document["cells"]
    assert [(c["n_discovery"], c["n_holdout"]) for c in cells] == [(30, 31), (100, 100)]
    assert cells[0]["power"] < cells[1]["power"]


def test_without_a_question_there_is_a_curve():
    cells = power(preset="musique", base_error="0.7", repetitions=50).document["cells"]
    assert [cell["delta"] for cell in cells] == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3]


def test_everything_but_the_run_is_the_same_again():
    one, two = (power(preset="longbench-v2", delta=0.4, repetitions=FEW) for _ in range(2))
    first, second = (it.to_dict() | {"run": None} for it in (one, two))
    assert first == second


def test_a_ready_design():
    design = make_design({"preset": "musique"})
    ready = power(design=design, delta=0.3, repetitions=FEW).document["cells"]
    assert ready == power(preset="musique", delta=0.3, repetitions=FEW).document["cells"]
    with pytest.raises(InputError, match="leave out library"):
        power(design=design, library=3)


def test_smallest_delta_is_the_first_of_the_grid_that_reaches_the_target():
    design = make_design({"preset": "controlled", "rule": "decoys_exact"})
    found = smallest_delta(design, Cells(FEW, 1, None), "0.7")
    estimates = {k: simulate(design, f"{k / 100}", FEW, 1).confirmed / FEW for k in range(25, 50)}
    first = min(k for k, p in estimates.items() if p >= 0.7)
    assert found["smallest"] == first / 100
    for name, k in (("below", first - 1), ("at", first), ("above", first + 1)):
        assert found[name]["power"] == estimates[k]
        assert found[name]["delta"] == k / 100


def test_smallest_n_is_the_first_of_the_grid_that_reaches_the_target():
    design = make_design({"preset": "controlled", "rule": "decoys_exact"})
    found = smallest_n(design, "0.35", Cells(FEW, 1, None), "0.7")
    estimates = {
        n: simulate(design.resized(n), "0.35", FEW, 1).confirmed / FEW for n in range(60, 260, 10)
    }
    first = min(n for n, p in estimates.items() if p >= 0.7)
    assert found["smallest"] == first
    assert found["below"]["power"] == estimates[first - 10]
    assert found["above"]["power"] == estimates[first + 10]


def test_a_target_out_of_reach_is_said_in_the_repr():
    result = power(preset="musique", base_error="0.95", target="0.8", repetitions=FEW)
    assert [it["smallest"] for it in result.targets] == [None]
    assert repr(result).endswith("; smallest delta not reached>")


def test_a_target_out_of_reach():
    design = make_design({"preset": "musique", "base_error": "0.95"})
    found = smallest_delta(design, Cells(FEW, 1, None), "0.8")
    assert (found["smallest"], found["at"]) == (None, None)
    assert "no delta up to 0.05" in found["verdict"]
    small = smallest_n(make_design({"preset": "musique"}), "0.10", Cells(FEW, 1, None), "0.8")
    assert small["smallest"] is None
    assert "0.10" in small["verdict"]
    certain = make_design({"preset": "musique", "base_error": "1"})
    assert smallest_delta(certain, Cells(FEW, 1, None), "0.8")["smallest"] is None


@pytest.mark.parametrize(("confirmed", "clear"), [(700, False), (760, True), (650, True)])
def test_clear_means_two_standard_errors_away(confirmed: int, clear: bool):
    it = Estimate(make_design({"preset": "musique"}), "0.3", confirmed, 800, 0, 1000)
    assert it.clear_of(Fraction("0.7")) == clear
    assert it.reaches(Fraction("0.7")) == (confirmed >= 700)


def test_the_verdict_says_what_the_simulation_cannot_tell():
    found = power(preset="musique", target=0.8, repetitions=200).targets[0]
    assert not found["clear"]
    assert "standard errors" in found["verdict"]


def test_a_target_with_deltas_also_looks_for_n():
    result = power(preset="controlled", delta=0.35, target="0.7", repetitions=200)
    assert [it["looked_for"] for it in result.targets] == ["delta", "n"]
    assert "smallest delta" in repr(result)
    assert {row["wanted"] for row in result.document["gate"]} == {0.7}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"delta": 0.7}, "--delta is 0.7"),
        ({"delta": "much"}, "--delta 'much'"),
        ({"delta": -0.5}, "--delta is -0.5"),
        ({"n": 3}, "--n is 3"),
        ({"n": 50_000}, "--n is 50000"),
        ({"target": 1}, "--target is 1, but it must be above 0 and below 1"),
        ({"target": 1.5}, "--target is 1.5, but it must be above 0 and below 1"),
        ({"target": 0}, "--target is 0, but it must be above 0 and below 1"),
        ({"delta": []}, "--delta names no number"),
        ({"n": []}, "--n names no number"),
        ({"n": 100.0}, "--n '100.0' is not a whole number"),
        ({"n": True}, "--n 'True' is not a whole number"),
        ({"n": "--5"}, "--n '--5' is not a whole number"),
        ({"delta": True}, "--delta 'True'"),
        ({"delta": float("nan")}, "--delta 'nan'"),
        ({"repetitions": 10.0}, "--repetitions '10.0'"),
        ({"repetitions": 0}, "--repetitions is 0"),
        ({"seed": -1}, "--seed is -1"),
        ({"seed": 2**64}, "--seed is"),
    ],
)
def test_refusals(asked: dict[str, Any], words: str):
    with pytest.raises(InputError) as refused:
        make_study(make_design({"preset": "musique"}), **asked)
    assert words in str(refused.value)


def test_too_large_a_simulation_is_refused_at_once():
    design = make_design({"preset": "musique", "decoys": 1_000_000, "library": 10_000})
    with pytest.raises(InputError, match="up to 49,261 --repetitions"):
        make_study(design, repetitions=100_000)


def test_progress_counts_all_cells():
    seen: list[tuple[int, int]] = []
    power(
        preset="musique", delta=[0.1, 0.2], repetitions=200,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen[0] == (0, 400)
    assert seen[-1] == (400, 400)
    assert {total for _, total in seen} == {400}  # known from the start


def test_progress_of_a_search_grows():
    seen: list[tuple[int, int]] = []
    power(
        preset="musique", delta=0.3, target=0.7, repetitions=50,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen[0] == (0, 50)
    assert seen[-1][0] == seen[-1][1] > 50
    assert all(done <= total for done, total in seen)


@pytest.mark.parametrize(
    "asked",
    [
        {"delta": np.float32(0.3)},
        {"delta": np.array([0.3])},
        {"delta": np.array("0.3")},
        {"delta": pd.Series([0.3])},
        {"delta": Fraction(3, 10)},
        {"delta": ("0.3",)},
    ],
)
def test_numbers_of_other_libraries(asked: dict[str, Any]):
    document = power(preset="musique", repetitions=100, **asked).document
    expected = power(preset="musique", repetitions=100, delta="0.3").document["cells"]
    assert document["cells"] == expected


def test_sizes_of_other_libraries():
    expected = power(library=5, n=100, delta=0.3, repetitions=50).document["cells"]
    for n in (np.int64(100), "100", np.array([100]), np.array(100)):
        assert power(library=5, n=n, delta=0.3, repetitions=50).document["cells"] == expected


@pytest.mark.parametrize("base_error", ["1", "0.97"])
def test_no_positive_delta_is_possible(base_error: str):
    design = make_design({"preset": "musique", "base_error": base_error})
    with pytest.raises(InputError, match=f"--base-error {base_error} leaves no room"):
        make_study(design)
    assert make_study(design, delta="-0.3").deltas == ("-0.3",)
    if base_error == "1":
        with pytest.raises(InputError, match=r"leaves no room for a delta of 0\.01"):
            make_study(design, target="0.8")


def test_the_gates_table_is_about_one_holdout():
    """Support is given in every number of it; the chance of support is another table's."""
    options: dict[str, Any] = {
        "n_discovery": 70, "n_holdout": 50, "library": 6, "base_error": "0.3",
        "prevalence": "0.2", "statistic": "z",
    }  # fmt: skip
    document = power(delta="0.35", repetitions=50, **options).document
    (row,) = document["gate"]
    inside, outside = stats.binom(10, 0.65), stats.binom(40, 0.3)
    passes = sum(
        inside.pmf(a) * outside.pmf(b)
        for a in range(11)
        for b in range(41)
        if Fraction(a, 10) - Fraction(b, 40) >= Fraction(1, 10)
    )
    assert (row["n_holdout"], row["n_on"], row["n_off"]) == (50, 10, 40)
    assert row["passes"] == pytest.approx(passes, rel=1e-10)
    spread = math.sqrt(0.65 * 0.35 / 10 + 0.3 * 0.7 / 40)
    assert row["passes_normal"] == pytest.approx(stats.norm.cdf(0.25 / spread), abs=1e-6)
    # More examples than are needed, and a larger chance.
    assert row["smallest_holdout"] < 50
    assert (row["smallest_on"], row["smallest_off"]) == (8, 30)
    assert row["wanted"] <= row["probability"] < row["passes"]
    (cell,) = document["cells"]
    assert cell["ineligible"] > 0.2
    assert cell["gate"] < row["passes"] * (1 - cell["ineligible"]) + 0.02


def test_the_gates_table_covers_every_size():
    document = power(
        n=[60, 200], library=5, delta=["0.10", "0.35"], target="0.7", repetitions=100
    ).document
    found = {it["n_holdout"]: it["smallest"] for it in document["targets"]}
    wanted = [
        (delta, n)
        for n in (30, 100)
        for delta in dict.fromkeys((0.10, 0.35, found[n]))
        if delta is not None
    ]
    assert [(row["delta"], row["n_holdout"]) for row in document["gate"]] == wanted


def test_a_holdout_without_support_cannot_pass():
    document = power(
        n_discovery=50, n_holdout=10, library=5, min_support=8, delta=0.4, repetitions=20
    ).document
    (row,) = document["gate"]
    assert (row["passes"], row["passes_normal"]) == (0.0, None)
    assert any("fewer than the support it asks for" in note for note in document["notes"])


def test_deltas_are_shown_as_they_were_given():
    document = power(preset="musique", delta=["0.10", "0.125", "1/4"], repetitions=20).document
    assert [row[0] for row in cell_rows(document)] == ["0.10", "0.125", "1/4"]
    found = power(preset="musique", target="0.8", repetitions=200).document
    assert all(len(row[0]) == 4 for row in cell_rows(found))


def said(**asked: Any) -> str:
    return "; ".join(answers(power(repetitions=400, **asked).document))


def test_there_is_always_an_answer():
    one = said(preset="musique", delta="0.36")
    assert one.startswith("with 75 discovery and 75 holdout examples, a slice whose error rate is ")
    assert "higher by 0.36 is confirmed in 7" in one
    assert "lower by 0.36" in said(preset="musique", delta="-0.36")
    curve = said(preset="musique", delta=["0.10", "0.60"])
    assert "delta = 0.60 is the smallest of those asked that is confirmed in at least 80%" in curve
    assert "no delta of those asked is confirmed in 80%" in said(preset="musique", delta=[0.05, 0])
    sizes = said(library=5, n=[40, 300], delta="0.35")
    assert "in at least 80% of audits from 150 discovery and 150 holdout examples on" in sizes
    assert "at no size of those asked" in said(library=5, n=[40, 50], delta="0.10")
    both = said(library=5, n=[40, 300], delta=["0.10", "0.35"])
    assert both.count("examples, ") == 2
    assert "is the smallest with an estimated power of 0.8" in said(preset="musique", target="0.8")


def test_importing_it_is_light():
    import subprocess
    import sys

    code = (
        "import janus_jax.commands.power, sys; print({'jax', 'pandas', 'numpy'} & {*sys.modules})"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"


class TestCommand:
    """``janus-jax power``, through its parser."""

    def run(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
        from janus_jax.cli import main

        status = main(["power", *words])
        said = capsys.readouterr()
        return status, said.out, said.err

    def test_preset(self, capsys: pytest.CaptureFixture[str]):
        status, out, err = self.run(
            capsys, "--preset", "musique", "--delta", "0.1,0.3", "--repetitions", "500"
        )
        assert (status, err) == (0, "")
        cells = power(preset="musique", delta=[0.1, 0.3], repetitions=500).document["cells"]
        for cell in cells:
            assert f"{cell['power']:.4f}" in out
        assert "preset musique: L = 7" in out
        assert "Procedure A, K = 100 decoys, q = 0.10, statistic lift" in out
        assert "75 holdout examples, 38 on / 37 off" in out
        assert "- memberships are drawn independently" in out
        assert out.splitlines()[0].startswith("With 75 discovery and 75 holdout examples, ")
        assert all(line == line.rstrip() for line in out.splitlines())

    def test_json_is_the_functions_document(self, capsys: pytest.CaptureFixture[str]):
        status, out, _ = self.run(
            capsys, "--n-discovery", "50", "--n-holdout", "40", "--library", "6", "--delta", "0.3",
            "--rule", "decoys", "--decoys", "100", "--seed", "5", "--repetitions", "300",
            "--json", "-",
        )  # fmt: skip
        assert status == 0
        same: PowerResult = power(
            n_discovery=50, n_holdout=40, library=6, delta=0.3, rule="decoys", decoys=100, seed=5,
            repetitions=300,
        )  # fmt: skip
        assert json.loads(out) | {"run": None} == same.to_dict() | {"run": None}

    def test_from_audit(self, capsys: pytest.CaptureFixture[str], tmp_path: Path):
        draw = np.random.default_rng(0)
        table = pd.DataFrame({f"d{k}": draw.random(120) < 0.4 for k in range(5)})
        table["wrong"] = np.arange(120) % 3 == 0
        path = tmp_path / "results.csv"
        table.to_csv(path, index=False)
        status, out, _ = self.run(
            capsys, "--from-audit", str(path), "--error", "wrong", "--delta", "0.3",
            "--repetitions", "200", "--json", "-",
        )  # fmt: skip
        document = json.loads(out)
        assert status == 0
        design = document["design"]
        assert (design["n_discovery"], design["n_holdout"], design["library"]) == (60, 60, 5)
        assert design["base_error"] == "1/3"
        assert any("40/120" in note for note in document["notes"])
        # RESULTS mean the same, wherever they stand; what has no part is said.
        for words in (
            (str(path), "--error", "wrong", "--delta", "0.3"),
            ("--error", "wrong", "--delta", "0.3", "--alpha", "0.01", str(path)),
        ):
            status, again, _ = self.run(capsys, *words, "--repetitions", "200", "--json", "-")
            same = json.loads(again)
            assert (status, same["cells"], same["design"]) == (0, document["cells"], design)
            assert ("--alpha has no part in the power of Procedure A" in same["notes"]) == (
                "--alpha" in words
            )
        made = audit_design(path, error="wrong")
        assert power(design=made, delta="0.3", repetitions=200).document["cells"] == same["cells"]
        assert audit_design(path, error="wrong", base_error="0.2").base_error == "0.2"
        with pytest.raises(InputError, match="--base-error is 2"):
            audit_design(path, error="wrong", base_error=2)
        said = audit_design(table, error="wrong", permutations=9, decoys=3).simplified
        assert any("--permutations has no part" in text for text in said)
        assert any("--decoys has no part" in text for text in said)
        status, _, err = self.run(capsys, str(path), "--error", "wrong", "--library", "4")
        assert status == 2
        assert "--library" in err
        status, _, err = self.run(capsys, str(path), "--from-audit", str(path), "--error", "wrong")
        assert status == 2
        assert "give the files once" in err

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ((), "RESULTS"),
            (("--preset", "musique", "--alpha", "0.01"), "--alpha has no part in power"),
            (("--preset", "musique", "--permutations", "9"), "--permutations has no part"),
            (("--preset", "musique", "--base-error", "1"), "--base-error 1 leaves no room"),
            (("--preset", "musique", "--error", "x"), "--error describes an audit"),
            (("--preset", "musique", "--delta", "x"), "--delta 'x'"),
            (("--preset", "musique", "--delta", "0.1,"), "--delta ''"),
        ],
    )
    def test_wrong_use(self, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str):
        status, out, err = self.run(capsys, *words)
        assert (status, out) == (2, "")
        assert said in err

    def test_an_impossible_design_is_said_beforehand(self, capsys: pytest.CaptureFixture[str]):
        status, out, err = self.run(
            capsys, "--n", "8", "--library", "2", "--delta", "0.5", "--repetitions", "10"
        )
        assert status == 0
        assert "no descriptor can be eligible" in err
        assert "Warning" in out
