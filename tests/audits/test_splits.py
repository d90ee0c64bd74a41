"""Splits: pinned vectors, strata, clusters, a column of one's own, no holdout."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import floor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from janus_jax.split import deal
from tests.audits import cli
from tests.audits.made import write


def test_golden_vectors() -> None:
    for seed in (0, 7, 42, 2**64 - 1):
        order = list(range(10))
        random.Random(seed).shuffle(order)
        found = deal(["x"] * 10, None, Fraction(1, 2), seed).tolist()
        assert [i for i, part in enumerate(found) if part == 0] == sorted(order[:5])
    # The generator is the standard library's: pinned, so that a change of it would be seen.
    pinned = {
        0: [1, 0, 1, 0, 1, 0, 1, 0, 0, 1],
        11: [0, 0, 0, 1, 1, 0, 0, 1, 1, 1],
        2**64 - 1: [1, 1, 0, 1, 1, 1, 0, 0, 0, 0],
    }
    for seed, parts in pinned.items():
        assert deal(["x"] * 10, None, Fraction(1, 2), seed).tolist() == parts


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=40),
    st.sampled_from(["0.5", "0.29", "0.07", "1"]),
    st.integers(0, 2**64 - 1),
)
def test_each_stratum_gives_the_floor_of_its_share(
    strata: list[str], fraction: str, seed: int
) -> None:
    parts = deal(strata, None, Fraction(fraction), seed).tolist()
    for stratum in set(strata):
        inside = [p for p, s in zip(parts, strata, strict=True) if s == stratum]
        assert inside.count(0) == floor(Fraction(fraction) * len(inside))


@given(st.lists(st.integers(0, 8), min_size=1, max_size=40), st.integers(0, 99))
def test_clusters_are_dealt_whole(units: list[Hashable], seed: int) -> None:
    parts = deal(["x"] * len(units), units, Fraction(1, 2), seed).tolist()
    sides = {u: {p for p, v in zip(parts, units, strict=True) if v == u} for u in set(units)}
    assert all(len(side) == 1 for side in sides.values())
    assert sum(side == {0} for side in sides.values()) == len(sides) // 2


def small(tmp_path: Path, **more: Sequence[object]) -> Path:
    n = 48
    columns: dict[str, Sequence[object]] = {
        "flag": [i % 2 for i in range(n)],
        "error": [int(i % 3 == 0) for i in range(n)],
    }
    return write(tmp_path / "t.csv", columns | more)


def test_a_split_column_and_its_proposal_rows(tmp_path: Path) -> None:
    words: Sequence[object] = (["discovery"] * 20 + ["Holdout"] * 20 + ["proposal"] * 8)[:48]
    result = cli.audit(
        small(tmp_path, part=words), "--error", "error", "--split-column", "part", *cli.FAST
    )
    assert result["data"]["discovery"]["n"] == result["data"]["holdout"]["n"] == 20
    assert result["data"]["proposal_rows"] == 8


def test_a_split_column_with_another_word_is_refused(tmp_path: Path) -> None:
    words: Sequence[object] = ["discovery"] * 47 + ["test"]
    message = cli.refused(small(tmp_path, part=words), "--error", "error", "--split-column", "part")
    assert "'test'" in message
    assert "line 49" in message


@pytest.mark.parametrize("option", ["--stratify", "--strata", "--cluster", "--split-column"])
def test_a_grouping_column_must_be_complete(tmp_path: Path, option: str) -> None:
    groups = ["" if i == 30 else f"g{i % 4}" for i in range(48)]
    message = cli.refused(small(tmp_path, group=groups), "--error", "error", option, "group")
    assert option in message
    assert "line 32" in message


def test_a_cluster_in_two_strata_is_refused(tmp_path: Path) -> None:
    groups: Sequence[object] = [f"c{i // 4}" for i in range(48)]
    strata: Sequence[object] = ["a"] * 26 + ["b"] * 22
    path = small(tmp_path, group=groups, stratum=strata)
    message = cli.refused(path, "--error", "error", "--cluster", "group", "--stratify", "stratum")
    assert "'c6'" in message
    assert "line 26" in message
    assert "line 28" in message


def test_without_holdout_nothing_is_confirmed(tmp_path: Path) -> None:
    errors: Sequence[object] = [i % 2 for i in range(48)]
    result = cli.audit(
        small(tmp_path, copy=errors, error=errors), "--error", "error", "--discovery", "1",
        *cli.FAST,
    )  # fmt: skip
    assert result["data"]["holdout"] is None
    assert {d["status"] for d in result["descriptors"]} == {"selected"}
    assert all(not m["confirmed"] for m in result["methods"].values())
