"""What several models share has a direction, and is told by the lift that decides."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import janus_jax
from tests.audits import cli

FEW: dict[str, Any] = {"permutations": 999, "decoys": 100, "backend": "numpy"}
SCHEMA = Path(janus_jax.__file__).parent / "schema" / "comparison-1.json"


def opposite() -> pd.DataFrame:
    """Where ``x`` holds, a errs more and b less; where ``y`` does, all of them err more."""
    rng = np.random.default_rng(1)
    n = 1200
    x, y = rng.random(n) < 0.5, rng.random(n) < 0.5
    table = pd.DataFrame({"id": [f"e{i}" for i in range(n)], "x": x, "y": y})
    for name, of_x in (("a", 0.4), ("b", -0.4), ("c", 0.0)):
        rate = 0.3 + of_x * (x - 0.5) + 0.3 * y
        table[name] = rng.random(n) < rate
    table["half"] = np.where(np.arange(n) % 2 == 0, "discovery", "holdout")
    return table


def lift(table: pd.DataFrame, model: str, name: str) -> float:
    held = table[table.half == "holdout"]
    return float(held[held[name]][model].mean() - held[~held[name]][model].mean())


def test_opposite_directions_are_nothing_in_common(tmp_path: Path) -> None:
    table = opposite().drop(columns="c")
    result = janus_jax.compare(table, error=["a", "b"], split_column="half", **FEW)
    assert (result.common, result.opposed) == (["y"], ["x"])
    assert result.own == {"a": [], "b": []}
    kinds = {f["name"]: (f["kind"], f["found_for"]) for f in result.document["findings"]}
    assert kinds == {"x": ("opposed", ["a", "b"]), "y": ("common", ["a", "b"])}
    a, b = (f"{lift(table, model, 'x'):+.3f}" for model in "ab")
    assert (a[0], b[0]) == ("+", "-")
    said = (
        "2 models on the same examples; 1 descriptor confirmed for all (y); 1 for all, but in "
        f"opposite directions (x: a {a}, b {b}); a loses ground to b in 1 slice (x)"
    )
    assert repr(result) == f"<Comparison: {said}>"
    cells = ["x", "all models, opposite directions", f"confirmed {a}", f"confirmed {b}"]
    assert f"| {' | '.join(cells)} |" in result.to_markdown()
    document = cli.parse(result.to_json())
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(document)
    page = result.to_html()
    assert page is not None
    assert "opposite directions (1)" in page
    assert "all models, opposite directions" in page
    assert said in re.sub("<[^>]*>", "", page)
    file = tmp_path / "t.csv"
    table.to_csv(file, index=False)
    run = cli.call("audit", file, "--error", "a,b", "--split-column", "half", *cli.FAST)
    assert f"{said}." in run.out.splitlines()
    assert re.search(r" +".join(map(re.escape, cells)), run.out)


def test_nothing_is_for_all_where_all_differ_in_direction() -> None:
    table = opposite().drop(columns="y")
    two = table.drop(columns="c")
    result = janus_jax.compare(two, error=["a", "b"], split_column="half", **FEW)
    assert result.common == []
    assert "2 models on the same examples; 1 descriptor confirmed for all, but in opposite" in repr(
        result
    )
    three = janus_jax.compare(table, error=["b", "c", "a"], split_column="half", **FEW)
    (found,) = three.document["findings"]
    assert (found["kind"], found["found_for"]) == ("opposed", ["b", "a"])
    assert "0 descriptors confirmed for all; 1 for some, in opposite directions (x: a +" in repr(
        three
    )
    assert "| x | some models, opposite directions |" in three.to_markdown()


# Strata: what decides is the adjusted lift.


def confounded() -> pd.DataFrame:
    """``x`` goes with the hard stratum: a errs more there, b where x is."""
    rng = np.random.default_rng(2)
    n = 1200
    hard = rng.random(n) < 0.5
    x = rng.random(n) < np.where(hard, 0.85, 0.15)
    table = pd.DataFrame({"id": [f"e{i}" for i in range(n)], "s": np.where(hard, "hard", "easy")})
    table["x"], table["z"] = x, rng.random(n) < 0.5
    table["a"] = rng.random(n) < np.where(hard, 0.7, 0.2)
    table["b"] = rng.random(n) < 0.2 + 0.6 * x
    table["half"] = np.where(np.arange(n) % 2 == 0, "discovery", "holdout")
    return table


def adjusted(rows: pd.DataFrame, wrong: pd.Series, name: str) -> Fraction:
    """(a - mu) n / (n1 n0), where mu sums E_s n1_s / n_s over the strata."""
    inside, n = rows[name], len(rows)
    expected = sum(
        Fraction(int(wrong[of].sum()) * int(inside[of].sum()), int(of.sum()))
        for of in (rows.s == stratum for stratum in rows.s.unique())
    )
    on = int(inside.sum())
    return (int((wrong & inside).sum()) - expected) * Fraction(n, on * (n - on))


def test_the_lift_that_decides_is_shown_where_there_are_strata() -> None:
    table = confounded()
    result = janus_jax.compare(
        table, error=["a", "b"], strata="s", split_column="half", differences="all", **FEW
    )
    document = cli.parse(result.to_json())
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(document)
    held = table[table.half == "holdout"]
    (found,) = (f for f in document["findings"] if f["name"] == "x")
    assert found["statuses"] == {"a": "not_selected", "b": "confirmed"}
    for model in "ab":
        lifts = found["lifts"][model]
        assert lifts["holdout"] == pytest.approx(lift(table, model, "x"), abs=1e-12)
        assert lifts["holdout_adjusted"] == float(adjusted(held, held[model], "x"))
    shown = [
        f"{found['statuses'][m].replace('_', ' ')} {found['lifts'][m]['holdout_adjusted']:+.3f} "
        f"(plain {found['lifts'][m]['holdout']:+.3f})"
        for m in "ab"
    ]
    markdown = result.to_markdown()
    assert f"| x | one model | {shown[0]} | {shown[1]} |" in markdown
    assert found["lifts"]["a"]["holdout"] > 0.3 > 0.1 > found["lifts"]["a"]["holdout_adjusted"]
    assert "the lift is the stratum-adjusted one, which decides, beside the plain one" in markdown
    (pair,) = document["pairs"]
    entry = next(f for f in pair["findings"] if f["name"] == "x")
    net = adjusted(held, held.a, "x") - adjusted(held, held.b, "x")
    assert entry["difference"]["adjusted"] == float(net)
    plain = lift(table, "a", "x") - lift(table, "b", "x")
    assert entry["difference"]["lift"] == pytest.approx(plain, abs=1e-12)
    for model, other in ("ab", "ba"):
        only = held[model] & ~held[other]
        assert entry["only_wrong"][model]["lift_adjusted"] == float(adjusted(held, only, "x"))
    assert "| plain difference | plain 95% | adjusted difference | loses ground there |" in markdown
    # The plain interval alone does not say that one loses ground: the strata may be why.
    assert entry["difference"]["adjusted"] < -0.1
    clear = entry["difference"]["high"] < 0
    assert (f"{float(net):+.3f} | {'b' if clear else 'not clear'} |") in markdown
    assert any("of the plain difference, not of the strat" in note for note in document["notes"])


def test_direction_goes_by_the_lift_that_decides() -> None:
    """x is rare where errors are frequent: errors are fewer where it holds, but not by stratum."""
    rng = np.random.default_rng(8)
    n = 2400
    hard = rng.random(n) < 0.5
    x = rng.random(n) < np.where(hard, 0.15, 0.85)
    table = pd.DataFrame({"id": range(n), "s": np.where(hard, "hard", "easy"), "x": x})
    table["a"] = rng.random(n) < np.where(hard, 0.65, 0.05) + 0.3 * x
    table["b"] = rng.random(n) < 0.3 + 0.3 * x
    table["half"] = np.where(np.arange(n) % 2 == 0, "discovery", "holdout")
    result = janus_jax.compare(table, error=["a", "b"], strata="s", split_column="half", **FEW)
    (found,) = result.document["findings"]
    lifts = found["lifts"]["a"]
    assert lifts["holdout"] < -0.05 < 0.1 < lifts["holdout_adjusted"]
    assert result.common == ["x"]
