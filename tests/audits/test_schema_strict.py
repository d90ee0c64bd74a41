"""What the published schema refuses of curves, histograms, families and examples."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import janus_jax
from tests.audits import cli
from tests.oracle import tables

SCHEMA = json.loads(
    (Path(janus_jax.__file__).parent / "schema" / "audit-1.json").read_text(encoding="utf-8")
)
GSM8K = (tables.table_of("gsm8k_openai_4models.csv"), "--correct", "correct_175b_verification")
CODE = (tables.table_of("livecodebench_o1.csv"), "--correct", "correct_o1mini")
Spoil = Callable[[cli.Result], Any]


@pytest.fixture(scope="module")
def result() -> cli.Result:
    return cli.audit(*GSM8K, *cli.FAST, "--examples", "question_type")


@pytest.mark.parametrize(
    "words",
    [
        (*GSM8K, "--pairs", "--examples", "question_type"),
        (*GSM8K, "--statistic", "z", "--discovery", "1"),
        (*GSM8K, "--strata", "has_money"),
        (*GSM8K, "--min-support", "600"),
        (*GSM8K, "--rule", "max_t", "--q", "0.000001"),
        (*CODE, "--preset", "longbench-v2", "--id", "question_id"),
        (*CODE, "--preset", "janus-lite"),
        (*CODE, "--cluster", "contest_id", "--examples", "title_words"),
    ],
)
def test_every_kind_of_result(words: tuple[str | Path, ...]) -> None:
    Draft202012Validator(SCHEMA).validate(cli.audit(*words, *cli.FAST))


SPOILS: dict[str, Spoil] = {
    "no curve": lambda r: r["screen"].pop("curve"),
    "no histogram": lambda r: r["screen"].pop("histogram"),
    "a list more": lambda r: r["screen"]["curve"].update(fdp=[]),
    "a list less": lambda r: r["screen"]["curve"].pop("D"),
    "half a decoy": lambda r: r["screen"]["curve"]["D"].append(0.5),
    "no width": lambda r: r["screen"]["histogram"].update(width=0),
    "a bin less": lambda r: r["screen"]["histogram"]["decoys"].pop(),
    "a bin more": lambda r: r["screen"]["histogram"]["descriptors"].append(0),
    "no families": lambda r: r.pop("families"),
    "a family of none": lambda r: r["families"][0].update(members=[]),
    "phi of 2": lambda r: r["families"][0]["members"][0].update(phi=2),
    "something about a member": lambda r: r["families"][0]["members"][0].update(p=0.1),
    "no examples": lambda r: r.pop("examples"),
    "no slice": lambda r: r["examples"].update(slices=[]),
    "another limit": lambda r: r["examples"].update(limit=10),
    "more than the limit": lambda r: r["examples"]["slices"][0]["rows"].extend(
        r["examples"]["slices"][1]["rows"]
    ),
    "the proposal split": lambda r: r["examples"]["slices"][0]["rows"][0].update(split="proposal"),
    "a number as an id": lambda r: r["examples"]["slices"][0]["rows"][0].update(id=1),
    "a number as a cell": lambda r: r["examples"]["slices"][0]["rows"][0].update(values=[1]),
    "a text uncut": lambda r: r["examples"]["slices"][0]["rows"][0].update(values=["x" * 2002]),
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_what_it_refuses(result: cli.Result, spoil: Spoil) -> None:
    validator = Draft202012Validator(SCHEMA)
    assert validator.is_valid(result)
    broken = copy.deepcopy(result)
    spoil(broken)
    assert not validator.is_valid(broken)
