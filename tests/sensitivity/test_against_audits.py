"""Every rule against audits of the same splits, given to them as a column."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from janus_jax import audit
from janus_jax.behaviour.sensitivity import sensitivity
from janus_jax.plan import METHODS, Method
from tests.oracle import tables
from tests.sensitivity import definition
from tests.sensitivity.test_against_definition import GSM8K, setting

FILE = "livecodebench_o1.csv"
SPLITS = 2
FEW = {"permutations": 199, "decoys": 150}
LITERAL = ("decoys", "fixed_floor")


def with_split(folder: Path, seed: int, table: str = FILE) -> Path:
    """The table with a column that says what the definition deals to discovery."""
    asked, _ = setting(table)
    strata = [row[asked.stratify] if asked.stratify else "" for row in asked.rows]
    discovery = set(definition.deal(strata, asked.fraction, seed))
    rows = [
        {**row, "part": "discovery" if r in discovery else "holdout"}
        for r, row in enumerate(asked.rows)
    ]
    path = folder / f"{seed}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def rule_text(descriptor: Mapping[str, Any]) -> str:
    made = descriptor["rule"]
    numeric = made["kind"] == "numeric"
    return f"{made['column']} above its discovery median" if numeric else descriptor["name"]


def audited(folder: Path, seed: int, options: Mapping[str, Any]) -> dict[str, dict[str, set[str]]]:
    """What each method selects and confirms, by rule; the decoys have a seed of their own."""
    path = with_split(folder, seed)
    found: dict[str, dict[str, set[str]]] = {}
    for own, methods in ((seed, METHODS), (seed + 10_000_000, LITERAL)):
        document = audit(
            path, correct="correct_o1mini", split_column="part", seed=own, backend="numpy",
            **FEW, **options,
        ).to_dict()  # fmt: skip
        texts = {d["name"]: rule_text(d) for d in document["descriptors"]}
        for method in methods:
            if method in document["methods"]:
                found[method] = {
                    which: {texts[name] for name in names}
                    for which, names in document["methods"][method].items()
                }
    return found


OPTIONS: Sequence[dict[str, Any]] = (
    {"statistic": "lift"},
    {"statistic": "z", "strata": "platform"},
    {"preset": "longbench-v2"},
)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options.values()))
def test_every_rule(options: dict[str, Any], tmp_path: Path) -> None:
    _, asked = setting(FILE)
    seeds = [definition.FIRST_SEED + definition.STEP * s for s in range(SPLITS)]
    expected = [audited(tmp_path, seed, options) for seed in seeds]
    assert set(expected[0]) == set(METHODS)
    for rule in METHODS:
        document = sensitivity(
            tables.table_of(FILE), splits=SPLITS, rule=rule, backend="numpy",
            **asked, **FEW, **options,
        ).to_dict()  # fmt: skip
        same(document, expected, rule)


def same(document: dict[str, Any], expected: list[dict[str, Any]], rule: Method) -> None:
    texts = [row["rule"] for row in document["rules"]]
    for it, wanted in zip(document["per_split"], expected, strict=True):
        for which in ("selected", "confirmed"):
            assert {texts[i] for i in it[f"{which}_rules"]} == set(wanted[rule][which]), rule


@pytest.mark.parametrize("rule", LITERAL)
def test_the_seed_of_the_decoys(rule: Method, tmp_path: Path) -> None:
    """So few decoys that what they select depends on their seed."""
    table, options = GSM8K, {"correct": "correct_175b_verification", "decoys": 40, "rule": rule}
    document = sensitivity(tables.table_of(table), splits=6, backend="numpy", **options).to_dict()
    chosen: dict[int, list[set[str]]] = {0: [], 10_000_000: []}
    for it in document["per_split"]:
        path = with_split(tmp_path, it["seed"], table)
        for offset, sets in chosen.items():
            once = audit(
                path, split_column="part", seed=it["seed"] + offset, permutations=1,
                backend="numpy", **options,
            ).to_dict()  # fmt: skip
            selected = once["methods"][rule]["selected"]
            sets.append({rule_text(d) for d in once["descriptors"] if d["name"] in selected})
    texts = [row["rule"] for row in document["rules"]]
    found = [{texts[i] for i in it["selected_rules"]} for it in document["per_split"]]
    assert found == chosen[10_000_000]
    assert found != chosen[0]


@pytest.mark.parametrize("rule", ["mean_count", "max_t_step_down", "bh_10", "fixed_lift"])
def test_clusters(rule: Method, tmp_path: Path) -> None:
    """Whole clusters are dealt, and exchanged whole in the permutations of each split."""
    seed = 5
    rows = tables.read(tables.table_of(FILE))
    contests = [row["contest_id"] for row in rows]
    units = list(dict.fromkeys(contests))
    dealt = {units[u] for u in definition.deal([""] * len(units), definition.Fraction(1, 2), seed)}
    path = tmp_path / "parts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0], "part"])
        writer.writeheader()
        for row, contest in zip(rows, contests, strict=True):
            writer.writerow({**row, "part": "discovery" if contest in dealt else "holdout"})
    options: dict[str, Any] = {"correct": "correct_o1mini", "cluster": "contest_id", **FEW}
    once = audit(path, split_column="part", seed=seed, backend="numpy", **options).to_dict()
    wanted = {
        which: {
            rule_text(d) for d in once["descriptors"] if d["name"] in once["methods"][rule][which]
        }
        for which in ("selected", "confirmed")
    }
    document = sensitivity(
        tables.table_of(FILE), splits=1, first_seed=seed, rule=rule, backend="numpy", **options
    ).to_dict()
    same(document, [{rule: wanted}], rule)
    assert document["data"]["clusters"] == {"column": "contest_id", "count": len(units)}


@pytest.mark.parametrize("rule", ["decoys_exact", "decoys", "max_t"])
def test_the_audit_shown_beside(rule: Method) -> None:
    """The plan's own seed, strata as they first appear, decoys with that seed."""
    _, asked = setting(FILE)
    path = tables.table_of(FILE)
    options: dict[str, Any] = {**asked, **FEW, "seed": 7, "rule": rule, "backend": "numpy"}
    once = audit(path, **options).to_dict()
    rows = sensitivity(path, splits=1, **options).to_dict()["rules"]
    shown = {row["rule"]: row["audit"] for row in rows if row["audit"]}
    assert shown == {rule_text(d): d["status"] for d in once["descriptors"]}
