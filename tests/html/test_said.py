"""The page says what decided: the rule's own demand, lifts as they were judged, chance as it is."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import janus_jax
from janus_jax.html.page import page
from janus_jax.html.views import forest_rows
from tests.html import made
from tests.html.reading import Read

LCB: dict[str, Any] = {"correct": "correct_o1preview", "id": "question_id", **made.OPTIONS}


def shown(document: dict[str, Any]) -> str:
    return " ".join(Read(page(document)).shown().split())


def livecodebench(**options: Any) -> dict[str, Any]:
    return janus_jax.audit(made.LIVECODEBENCH, **LCB, **options).to_dict()


def test_fixed_rules_demand_a_size_and_ask_nothing_of_chance() -> None:
    text = shown(livecodebench(rule="fixed_lift"))
    assert "a difference had to reach 10 percentage points where we searched" in text
    assert "the size of the discovery lift, which has to reach 0.10, and then the holdout" in text
    floored = livecodebench(rule="fixed_floor")
    floor = floored["screen"]["fixed_floor"]["floor"]
    text = shown(floored)
    assert f"a difference had to exceed {100 * floor:.1f} percentage points where" in text
    assert f"which has to exceed the floor of {floor:.4f}" in text
    for text in (shown(floored), shown(livecodebench(rule="fixed_lift"))):
        assert "stand out from chance" not in text
        assert "The other p-values" not in text
        assert "A rule by it would take the smallest threshold" in text
        assert "has no such threshold" not in text


def test_nothing_of_a_size_is_not_said_of_chance() -> None:
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"x": rng.random(900) < 0.5, "wrong": rng.random(900) < 0.3})
    text = shown(janus_jax.audit(table, error="wrong", rule="fixed_lift", **made.OPTIONS).to_dict())
    assert "not even the one tested differed by as much as 10 percentage points" in text
    assert "what chance" not in text.split("Every descriptor")[0]
    assert "smaller differences may still be there" in text
    assert "The one descriptor of the library" in text


def test_adjusted_lifts_decide_and_rank_in_both_places() -> None:
    document = livecodebench(strata="difficulty")
    text = shown(document)
    found = [d for d in document["descriptors"] if d["status"] == "confirmed"]
    largest = max(found, key=lambda d: abs(d["holdout"]["lift_adjusted"]))
    plain = max(found, key=lambda d: abs(d["holdout"]["lift"]))
    assert largest["name"] != plain["name"]
    adjusted = f"{largest['holdout']['lift_adjusted']:+.3f} when adjusted for the strata"
    assert re.search(
        rf"the largest difference there, adjusted for the strata, is in "
        rf"\u201c{re.escape(largest['name'])}\u201d, where \d+% are answered "
        rf"wrongly, against \d+% elsewhere \({re.escape(adjusted)}\)",
        text,
    )
    assert "a difference, adjusted for the strata in both places, had to reach 16.2" in text
    reasons = {d["name"]: d["reason"] for d in document["descriptors"]}
    below = "adjusted |lift| 0.0381 is below the threshold 0.1624"
    assert reasons["max_exponent > 5"] == below
    assert "; adjusted holdout lift -0.2433 has the same sign" in reasons["platform = leetcode"]
    assert "and then the holdout lift, adjusted for the strata: the same sign" in text
    cells = [row[0] for row in Read(page(document)).rows("tested")]
    sizes = {d["name"]: abs(d["discovery"]["lift_adjusted"]) for d in document["descriptors"]}
    first = [next(sizes[n] for n in sizes if cell.startswith(n)) for cell in cells[: len(found)]]
    assert first == sorted(first, reverse=True)


def test_z_says_which_p_values_are_of_z() -> None:
    text = shown(livecodebench(statistic="z"))
    assert "p-values (two-sided by |lift|, p max-T by |z|)" in text


@pytest.mark.parametrize(("decoys", "said"), [(10, None), (100, None), (10_000, "fewer than 0.1")])
def test_no_decoy_of_few_is_no_estimate(decoys: int, said: str | None) -> None:
    """None of K decoys reaches a very large difference: 3 L / K could still be expected."""
    rng = np.random.default_rng(4)
    x = np.arange(2000) % 2 == 0
    table = pd.DataFrame({"x": x, "wrong": rng.random(2000) < np.where(x, 0.6, 0.2)})
    for k in range(9):
        table[f"n{k}"] = rng.random(2000) < 0.5
    result = janus_jax.audit(table, error="wrong", rule="decoys", decoys=decoys, **made.OPTIONS)
    document = result.to_dict()
    entry = document["screen"]["decoys"]
    assert (document["screen"]["L"], entry["D"], entry["K"]) == (10, 0, decoys)
    assert result.confirmed == ["x"]
    text = shown(document)
    assert ("by chance alone" in repr(result)) == (said is not None)
    if said:
        assert f"({said} by chance alone at this threshold)" in repr(result)
        assert f"{said} would still reach the threshold chosen here" in text
    else:
        assert "would still reach the threshold" not in text


def test_a_few_decoys_that_were_counted_are_no_estimate() -> None:
    """With K = 20 and L = 16 a single decoy counts 0.8, and another seed counts none or two."""
    options = {**made.OPTIONS, **made.GSM8K_OUTCOME, "rule": "decoys"}
    counted: set[int] = set()
    for seed in range(6):
        result = janus_jax.audit(made.GSM8K, decoys=20, seed=seed, **options)
        entry = result.to_dict()["screen"]["decoys"]
        assert entry["D"] < 10
        counted.add(entry["D"])
        assert "by chance alone" not in repr(result)
    assert len(counted) > 1


def test_a_lift_that_strata_turn_round_is_told_as_adjusted() -> None:
    """Simpson: in each stratum more errors where x holds, fewer in the whole table."""
    rng = np.random.default_rng(12)
    n = 6000
    hard = rng.random(n) < 0.5
    x = rng.random(n) < np.where(hard, 0.1, 0.9)
    wrong = rng.random(n) < np.where(hard, 0.75, 0.1) + np.where(x, 0.22, 0.0)
    table = pd.DataFrame({"x": x, "hard": hard, "wrong": wrong})
    result = janus_jax.audit(
        table, error="wrong", strata="hard", min_holdout_lift="0.05", **made.OPTIONS
    )
    (d,) = [d for d in result.to_dict()["descriptors"] if d["name"] == "x"]
    assert d["status"] == "confirmed"
    assert d["holdout"]["lift"] < -0.1 < 0 < d["holdout"]["lift_adjusted"]
    text = shown(result.to_dict())
    assert "the model errs more than elsewhere, once adjusted for the strata" in text
    assert "x (fewer errors)" not in text
    (row,) = forest_rows(result.to_dict())  # what is drawn beside the gate's band is what decided
    assert (row["holdout"], row["low"]) == (d["holdout"]["lift_adjusted"], None)
    (cells,) = Read(page(result.to_dict())).rows("findings")
    assert cells[-1] == f"{d['holdout']['lift_adjusted']:+.3f}"


def test_the_number_by_chance_is_of_the_chosen_threshold() -> None:
    text = shown(made.document("gsm8k"))
    assert (
        "The screen selected 13 descriptors. If none of the 16 tested had to do with errors, about "
        "1.2 would still reach the threshold chosen here"
    ) in text


def test_without_a_holdout_nothing_is_said_of_one() -> None:
    text = shown(livecodebench(discovery="1"))
    assert "Not replicated" not in text
    assert "among them those of the holdout" not in text
    assert "in discovery and in holdout;" not in text
    nothing = shown(livecodebench(discovery="1", min_support=5000))
    assert "no group of examples is large enough, inside and outside." in nothing


@pytest.mark.parametrize(("errors", "close"), [(44, True), (45, True), (46, False)])
def test_a_finding_that_two_examples_would_undo_is_named(errors: int, close: bool) -> None:
    """Holdout 20/100 outside; inside 44/145 is +0.1034, and 43/145 would be below 0.10."""
    sides = {"discovery": (80, 145, 20, 100), "holdout": (errors, 145, 20, 100)}
    rows = [
        {"half": half, "x": on, "wrong": i < wrong}
        for half, (a, n1, b, n0) in sides.items()
        for on, wrong, n in ((True, a, n1), (False, b, n0))
        for i in range(n)
    ]
    result = janus_jax.audit(pd.DataFrame(rows), error="wrong", split_column="half", **made.OPTIONS)
    assert result.confirmed == ["x"]
    text = shown(result.to_dict())
    assert ((errors - 2) / 145 - 0.2 < 0.10) == close
    said = (
        "Close to a limit: \u201cx\u201d (holdout). Had one or two examples in its slice come out"
    )
    assert (said in text) == close
