"""Every split of two real tables against the definition, written independently."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from janus_jax.behaviour.sensitivity import sensitivity
from tests.oracle import tables
from tests.sensitivity import definition

SPLITS = 24

GSM8K = "gsm8k_openai_4models.csv"
LIVECODEBENCH = "livecodebench_o1.csv"
NUMBERS = [
    "q_words", "q_sentences", "q_numbers", "n_steps", "n_add", "n_sub", "n_mul", "n_div",
    "sol_words", "answer_log10", "has_percent", "has_fraction", "has_money", "has_time_unit",
]  # fmt: skip
CODE = [
    "platform", "difficulty", "statement_words", "statement_numbers", "n_sample_blocks",
    "has_starter_code", "n_latex", "title_words", "max_exponent",
]  # fmt: skip


def setting(file: str) -> tuple[definition.Setting, dict[str, Any]]:
    """What is asked, in the words of the oracle and in ours."""
    rows = tables.read(tables.table_of(file))
    if file == GSM8K:
        asked = definition.Setting(
            rows, "correct_175b_verification", [*NUMBERS, "question_type"], ["question_type"]
        )
        return asked, {"correct": asked.correct}
    # easy, hard, medium by name; medium comes before hard in the file.
    asked = definition.Setting(
        rows, "correct_o1mini", CODE, ["platform", "difficulty"], "difficulty", Fraction(2, 5)
    )
    return asked, {"correct": asked.correct, "stratify": "difficulty", "discovery": "0.4"}


@pytest.mark.parametrize("file", [GSM8K, LIVECODEBENCH])
def test_every_split(file: str) -> None:
    asked, options = setting(file)
    expected = definition.repeat(asked, SPLITS)
    document = sensitivity(tables.table_of(file), splits=SPLITS, **options).to_dict()
    rules = [row["rule"] for row in document["rules"]]
    assert len(document["per_split"]) == SPLITS
    for it, wanted in zip(document["per_split"], expected, strict=True):
        assert it["seed"] == wanted.seed
        assert it["discovery"]["n"] == len(wanted.discovery)
        wrong = sum(asked.rows[r][asked.correct] == "0" for r in wanted.discovery)
        assert it["discovery"]["errors"] == wrong
        assert it["L"] == len(wanted.lifts)
        assert {rules[i] for i in it["selected_rules"]} == wanted.selected
        assert {rules[i] for i in it["confirmed_rules"]} == wanted.confirmed
        assert (it["selected"], it["confirmed"]) == (len(wanted.selected), len(wanted.confirmed))
    check_rules(document, definition.times(expected))
    check_overall(document, expected)


def check_rules(document: dict[str, Any], counted: dict[str, definition.Times]) -> None:
    rows = {row["rule"]: row for row in document["rules"]}
    assert len(rows) == len(document["rules"])
    assert {name for name, row in rows.items() if row["existed"]} == set(counted)
    for name, times in counted.items():
        row = rows[name]
        for what in ("existed", "eligible", "selected", "confirmed"):
            assert row[what] == getattr(times, what), (name, what)
            assert row[f"share_{what}"] == getattr(times, what) / SPLITS
        for part, field in enumerate(("lift_discovery", "lift_holdout")):
            lifts = [pair[part] for pair in times.lifts]
            mean = float(sum(lifts, Fraction(0)) / len(lifts)) if lifts else None
            assert row[field] == mean, (name, field)
        assert row["same_sign"] == sum(a * b > 0 for a, b in times.lifts)
    order = [(-r["confirmed"], -r["selected"], -r["eligible"]) for r in document["rules"]]
    assert order == sorted(order)


def check_overall(document: dict[str, Any], expected: list[definition.Verdicts]) -> None:
    overall = document["overall"]
    sets = [it.confirmed for it in expected]
    assert overall["confirmed_per_split"] == definition.sizes(sets)
    assert overall["any_confirmed"]["splits"] == sum(map(bool, sets))
    assert overall["any_selected"]["splits"] == sum(bool(it.selected) for it in expected)
    assert overall["mean_confirmed"] == sum(map(len, sets)) / SPLITS
    jaccard = definition.mean_jaccard(sets)
    assert jaccard is not None
    assert overall["jaccard"]["mean"] == float(jaccard)
    ever = sorted({name for it in expected for name in it.lifts})
    z = np.array([[name in confirmed for name in ever] for confirmed in sets], dtype=float)
    k = z.sum(axis=1).mean()
    share = k / len(ever)
    stability = 1 - z.var(axis=0, ddof=1).mean() / (share * (1 - share))
    assert overall["stability"] == {"value": pytest.approx(stability), "rules": len(ever)}
    counted = definition.times(expected)
    for field, least in (("confirmed_in_half", 0.5), ("confirmed_in_nine_tenths", 0.9)):
        often = {name for name, times in counted.items() if times.confirmed >= least * SPLITS}
        assert set(overall[field]) == often


def test_the_order_of_strata_matters_and_is_by_name() -> None:
    """Else the test above would say nothing about it."""
    asked, _ = setting(LIVECODEBENCH)
    strata = [row["difficulty"] for row in asked.rows]
    by_appearance = list(dict.fromkeys(strata))
    assert by_appearance != sorted(by_appearance)
    renamed = [str(by_appearance.index(name)) for name in strata]
    seed = definition.FIRST_SEED
    assert definition.deal(strata, Fraction(2, 5), seed) != definition.deal(
        renamed, Fraction(2, 5), seed
    )
