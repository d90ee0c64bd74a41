"""Plan, audit by the plan, and the audit without one, through the command line."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from tests.audits import cli
from tests.oracle import tables

GSM8K = tables.table_of("gsm8k_openai_4models.csv")
LCB = tables.table_of("livecodebench_o1.csv")
OUTCOME = {
    GSM8K: ("--correct", "correct_175b_verification"),
    LCB: ("--correct", "correct_o1mini"),
}
FEW = ("--permutations", "199", "--decoys", "120")


def make(path: Path, *words: str | Path) -> Path:
    """``janus-jax plan`` that must succeed; the file."""
    run = cli.call("plan", *words, "--out", path)
    assert run.status == 0, run.err
    assert "Traceback" not in run.err
    return path


def by_plan(plan: Path, *words: str | Path) -> cli.Result:
    """The result of ``audit --plan``."""
    return cli.audit(*words, "--plan", plan, "--backend", "numpy")


def refused_by_plan(plan: Path, *words: str | Path) -> str:
    """What ``audit --plan`` says when it must refuse."""
    return cli.refused(*words, "--plan", plan)


def comparable(result: cli.Result) -> str:
    """The result as written, without what may differ between an audit and a planned one."""
    rest: dict[str, Any] = copy.deepcopy(result)
    del rest["run"]
    for key in ("hash", "frozen_before_outcomes", "planned"):
        rest["plan"].pop(key, None)
    return json.dumps(rest, ensure_ascii=False)


def edit(path: Path, old: str, new: str) -> Path:
    """Change a plan by hand."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1, old
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path
