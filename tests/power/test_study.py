"""Whole studies: curves, targets, the document and the command."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from janus_jax.behaviour.gate_power import gate_chance
from janus_jax.behaviour.power import PowerResult, make_study, power
from janus_jax.behaviour.power_cells import simulate
from janus_jax.behaviour.power_design import make_design
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
        assert cell["gate"] == gate_chance(make_design({"preset": "musique"}), delta).passes
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
        ({"target": 1}, "--target is 1"),
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
    assert seen[0] == (0, 200)
    assert seen[-1] == (400, 400)


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
        status, _, err = self.run(
            capsys, "--from-audit", str(path), "--error", "wrong", "--library", "4"
        )
        assert status == 2
        assert "--library" in err

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ((), "--from-audit"),
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
