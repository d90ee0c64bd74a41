"""One result on every backend and at every batch size: all of ``result.json`` but ``run``."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.audits import cli, made
from tests.audits.test_expected import arguments
from tests.oracle import tables

pytest.importorskip("jax")

PERMUTATIONS = ("--permutations", "999", "--decoys", "200")


def same(first: cli.Result, second: cli.Result) -> None:
    """Equal to the last bit, as text: the order of keys and lists too."""
    left, right = (json.dumps(cli.without_run(r), indent=1) for r in (first, second))
    assert left == right


def each_table_once() -> list[dict[str, Any]]:
    """A reference audit of every table and outcome, with one statistic or the other.

    A statistic changes tables that both backends are handed, and all random audits below draw one.
    """
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for number, audit in enumerate(tables.expected_audits()):
        key = (audit["file"], audit["correct"])
        if key not in last or number % 4 == 3:
            last[key] = audit
    return list(last.values())


def test_both_statistics_are_among_the_reference_audits() -> None:
    chosen = each_table_once()
    assert {audit["settings"]["statistic"] for audit in chosen} == {"lift", "z"}
    assert {a["file"] for a in chosen} == {a["file"] for a in tables.expected_audits()}


@pytest.mark.parametrize("audit", each_table_once(), ids=tables.audit_id)
def test_reference_audits(audit: dict[str, Any]) -> None:
    words = (*arguments(audit), *PERMUTATIONS)
    results = [cli.audit(*words, "--backend", name) for name in ("numpy", "jax")]
    assert [r["run"]["backend"] for r in results] == ["numpy", "jax"]
    assert results[0]["screen"]["permutations"]["kind"] == "sampled"  # there was something to do
    same(*results)


# JAX compiles anew for every batch.
@pytest.mark.parametrize(("backend", "batches"), [("numpy", (1, 7, 64, 1000)), ("jax", (7, 1000))])
@pytest.mark.parametrize("file", ["livecodebench_o1.csv"])
def test_batches(file: str, backend: str, batches: tuple[int, ...]) -> None:
    audit = next(a for a in tables.expected_audits() if a["file"] == file and a["stratify"])
    words = (*arguments(audit), "--permutations", "100", "--decoys", "67", "--backend", backend)
    whole = cli.audit(*words)
    for batch in batches:
        same(cli.audit(*words, "--batch", str(batch)), whole)


SHAPES = ((40, 2), (64, 3), (90, 4), (122, 5))
"""Rows and columns of the random tables."""

AUDITS = 200


def chosen(draw: random.Random, count: int, scores: list[float]) -> list[int]:
    """0/1 of the ``count`` lowest scores after noise: margins fixed, places random."""
    order = sorted(range(len(scores)), key=lambda row: scores[row] + draw.random())
    picked = set(order[:count])
    return [int(row in picked) for row in range(len(scores))]


def random_audit(number: int) -> tuple[dict[str, list[object]], list[str]]:
    """A random table and the options of its audit.

    The margins depend on the shape alone, the places, the strength and the seed on the number:
    arrays of few sizes, so that JAX compiles rarely (each compilation takes over a second).
    """
    draw = random.Random(number)
    shape = number % len(SHAPES)
    rows, width = SHAPES[shape]
    half = rows // 2
    effect = draw.choice([0.0, 0.3, 0.8])
    columns: dict[str, list[object]] = {f"g{i}": [] for i in range(width)}
    columns |= {"error": []}
    for _ in range(2):  # discovery, then holdout
        flat = [0.0] * half
        flags = [chosen(draw, half * (i + 2) // (width + 4), flat) for i in range(width)]
        for i, flag in enumerate(flags):
            columns[f"g{i}"] += flag
        columns["error"] += chosen(draw, half * (3 + shape) // 10, [-effect * g for g in flags[0]])
    columns["x"] = [3 * value for value in draw.sample(range(rows), rows)]
    columns["block"] = ["ab"[row % 2] for row in range(rows)]
    columns["split"] = ["discovery" if row < half else "holdout" for row in range(rows)]
    words = [
        *("--seed", str(draw.randrange(2**64)), "--statistic", draw.choice(["lift", "z"])),
        *("--split-column", "split", "--min-support", "1"),
        *("--min-prevalence", "0", "--max-prevalence", "1"),
        *("--strata" if number % 12 >= 8 else "--exclude", "block"),
    ]
    return columns, words


@pytest.mark.parametrize("part", range(len(SHAPES)))
def test_two_hundred_random_audits(part: int) -> None:
    for number in range(part, AUDITS, len(SHAPES)):  # one shape a part
        columns, words = random_audit(number)
        results = [
            made.audit(columns, *words, "--permutations", "199", "--decoys", "100", *more)
            for more in (("--backend", "numpy"), ("--backend", "jax"))
        ]
        for result in results:  # each had a folder of its own
            result["data"]["source"] = []
        same(*results)


def test_random_audits_are_not_all_alike() -> None:
    """The comparison above would be worth little if every table looked the same."""
    seen = {json.dumps(random_audit(number)[0]) for number in range(AUDITS)}
    assert len(seen) == AUDITS
    found = [
        made.audit(columns, *words, "--permutations", "19", "--decoys", "10", "--backend", "numpy")
        for columns, words in map(random_audit, range(12))
    ]
    selected = {bool(r["methods"]["unadjusted"]["selected"]) for r in found}
    assert selected == {True, False}
