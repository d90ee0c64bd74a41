"""Planning never touches the outcome: whatever the column holds, the plan is the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from janus_jax.plan import make_plan
from janus_jax.plans.drafting import draft_plan, finished, plan, without_outcome
from janus_jax.readers import read
from janus_jax.table import Column
from tests.audits import cli
from tests.audits.made import write
from tests.plans.common import FEW, GSM8K, by_plan, make
from tests.plans.test_equals_audit import gaps


class Touched(AssertionError):
    """Somebody looked."""


class Poison(Column):
    """A column of which nothing but the name may be known."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name in ("name", "__class__"):
            return super().__getattribute__(name)
        raise Touched(name)


def poisoned(name: str) -> Poison:
    column = object.__new__(Poison)
    object.__setattr__(column, "name", name)
    return column


def test_the_poison_works() -> None:
    assert poisoned("wrong").name == "wrong"
    for name in ("codes", "levels", "unusable", "categorical", "origin", "take"):
        with pytest.raises(Touched):
            getattr(poisoned("wrong"), name)


@pytest.mark.parametrize(
    "options",
    [
        {"stratify": "question_type", "pairs": True},
        {"cluster": "question_type", "seed": 2**64 - 1},
        {"preset": "janus-lite"},
        {"repeats": "majority", "id": ["has_money", "question_type", "q_words", "n_steps"]},
    ],
)
def test_a_poisoned_outcome(options: dict[str, Any]) -> None:
    table = read(str(GSM8K))
    name = "correct_175b_verification"
    spoilt = replace(table, columns={**table.columns, name: poisoned(name)})
    checked = make_plan({"correct": name, **options})
    if "id" in options:  # facts of repeats must agree; here they need not
        used = [
            column.name for column in draft_plan(table, make_plan({"correct": name})).selection.used
        ]
        left = [column for column in used if column not in options["id"]]
        checked = replace(checked, exclude=tuple(left))
    assert finished(draft_plan(spoilt, checked)) == finished(draft_plan(table, checked))


def test_the_outcome_is_blank_in_a_draft() -> None:
    table = read(str(GSM8K))
    free = without_outcome(table, make_plan({"correct": "correct_6b_finetuning"}))
    assert list(free.columns) == list(table.columns)
    blank = free.columns["correct_6b_finetuning"]
    assert blank.levels == ()
    assert set(blank.codes.tolist()) == {-1}


OUTCOMES: dict[str, Any] = {
    "right and wrong": lambda i: i % 2,
    "all right": lambda i: 0,
    "missing": lambda i: "",
    "garbage": lambda i: ["0", "maybe", "1e999", '"quoted, text"', "NaN", "\u2028", "x" * 500][
        i % 7
    ],
    "a row number": lambda i: i,
}


@pytest.mark.parametrize("kind", ["--error", "--correct", "--score"])
def test_the_same_bytes_whatever_the_outcome(kind: str, tmp_path: Path) -> None:
    options = (kind, "wrong", *(("--pass-at", "0.5") if kind == "--score" else ()), "--pairs")
    plans: set[bytes] = set()
    for name, value in OUTCOMES.items():
        columns = {**gaps(), "wrong": [value(i) for i in range(400)]}
        table = write(tmp_path / f"{name}.csv", columns)
        plans.add(make(tmp_path / "plan.toml", table, *options).read_bytes())
    assert len(plans) == 1


@pytest.mark.parametrize("extension", ["jsonl", "parquet"])
def test_typed_outcomes(extension: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    plans: set[str] = set()
    for outcome in ([True, False] * 200, ["?"] * 400, [None] * 400, [0.25] * 400):
        frame = pandas.DataFrame({**gaps(), "wrong": pandas.Series(outcome, dtype="object")})
        path = tmp_path / f"table.{extension}"
        if extension == "parquet":
            frame.to_parquet(path)
        else:
            frame.to_json(path, orient="records", lines=True)
        plans.add(plan(str(path), error="wrong").hash)
    assert len(plans) == 1


def test_there_may_be_no_outcome_yet(tmp_path: Path) -> None:
    columns = gaps()
    later = write(tmp_path / "later.csv", columns)
    outcome = columns.pop("wrong")
    before = write(tmp_path / "before.csv", columns)
    options = ("--error", "wrong", "--missing-outcome", "drop", *FEW)
    run = cli.call("plan", before, *options, "--out", tmp_path / "plan.toml")
    assert run.status == 0, run.err
    assert "there is no column 'wrong' yet" in run.err
    plan_file = tmp_path / "plan.toml"
    assert plan_file.read_bytes() == make(tmp_path / "same.toml", later, *options).read_bytes()
    # What came along with the outcome is not tested.
    more = write(
        tmp_path / "more.csv",
        {**columns, "wrong": outcome, "seconds": [str(i % 61) for i in range(400)]},
    )
    result = by_plan(plan_file, more)
    assert {"column": "seconds", "reason": "not in the plan"} in result["not_used"]
    assert not any("seconds" in d["name"] for d in result["descriptors"])
    assert result["descriptors"] == by_plan(plan_file, later)["descriptors"]


def test_an_id_that_is_the_outcome_names_nothing() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [0, 1] * 40, "flag": [True, False, False, True] * 20})
    assert plan(frame, error="id").named_by == ()
