"""The paper's presets: who is eligible, which rule decides, where decoys come from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from statistics import median

import pytest

from tests.audits import cli
from tests.audits.made import write


def flags(discovery: int, holdout: int, half: int = 60) -> Sequence[object]:
    """On for the first so many examples of each split."""
    return [int(i < discovery) for i in range(half)] + [int(i < holdout) for i in range(half)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    generator = random.Random(5)
    split: Sequence[object] = ["discovery"] * 60 + ["holdout"] * 60
    return write(
        tmp_path / "t.csv",
        {
            "split": split,
            "on_8_8": flags(8, 8),
            "on_7_30": flags(7, 30),
            "on_3_3": flags(3, 3),
            "on_3_9": flags(3, 9),
            "on_3_5": flags(3, 5),
            "on_2_30": flags(2, 30),
            "on_59_57": flags(59, 57),
            "on_60_59": flags(60, 59),
            "on_5_20": flags(5, 20),
            "error": [generator.randrange(2) for _ in range(120)],
        },
    )


def eligible(table: Path, *words: str) -> tuple[set[str], cli.Result]:
    result = cli.audit(table, "--error", "error", "--split-column", "split", *words, *cli.FAST[:4])
    return cli.library(result), result


def test_defaults_need_eight_and_a_tenth_in_each_split(table: Path) -> None:
    assert eligible(table)[0] == {"on_8_8"}


def test_controlled_has_no_prevalence_limit(table: Path) -> None:
    library, result = eligible(table, "--preset", "controlled")
    assert library == {"on_8_8"}
    assert (result["rule"], result["screen"]["decoys"]["K"]) == ("decoys", 200)
    low, _ = eligible(table, "--preset", "controlled", "--min-support", "5")
    assert low == {"on_8_8", "on_7_30", "on_5_20"}  # 5 of 60 is a prevalence of 0.083


def test_musique_pools_the_prevalence(table: Path) -> None:
    library, result = eligible(table, "--preset", "musique")
    # 12/120 is exactly 0.10; 8/120 and 6/120 are below; 116/120 is above 0.90.
    assert library == {"on_8_8", "on_7_30", "on_3_9", "on_5_20"}
    assert (result["rule"], result["screen"]["decoys"]["K"]) == ("decoys", 100)
    assert cli.one(result, "on_3_5")["reason"] == "overall prevalence 0.0667 < 0.10"
    assert cli.one(result, "on_59_57")["reason"] == "overall prevalence 0.9667 > 0.90"
    assert cli.one(result, "on_60_59")["reason"] == "discovery off = 0 < 1"


def test_longbench_counts_both_splits_and_narrows_the_pool(table: Path) -> None:
    library, result = eligible(table, "--preset", "longbench-v2")
    assert library == {"on_8_8", "on_7_30", "on_3_9", "on_3_5", "on_59_57", "on_5_20"}
    assert cli.one(result, "on_3_3")["reason"] == "on in all = 6 < 8"
    assert cli.one(result, "on_2_30")["reason"] == "discovery on = 2 < 3"
    # Decoy sources: discovery prevalence in [0.05, 0.95]; 3/60 is exactly 0.05, 59/60 is outside.
    assert result["screen"]["decoys"]["sources"] == 5


def test_options_override_a_preset(table: Path) -> None:
    library, result = eligible(
        table, "--preset", "musique", "--min-support", "8", "--rule", "bh_05", "--q", "0.2"
    )
    assert library == {"on_8_8"}
    assert result["rule"] == "bh_05"
    assert result["plan"]["q"] == "0.2"
    assert result["plan"]["preset"] == "musique"


def test_janus_lite_looks_at_discovery_alone_and_checks_holdout_at_the_gate(
    tmp_path: Path,
) -> None:
    generator = random.Random(11)
    split: Sequence[object] = ["discovery"] * 60 + ["holdout"] * 60
    # Both are strong in discovery; ``rare`` has only 5 examples in holdout.
    rare, strong = flags(24, 5), flags(30, 30)
    error = [
        int(generator.random() < (0.9 if r else 0.1) or (s and i >= 60))
        for i, (r, s) in enumerate(zip(rare, strong, strict=True))
    ]
    words: Sequence[object] = [i % 60 + (100 if i >= 60 else 0) for i in range(120)]
    path = write(
        tmp_path / "t.csv",
        {
            "split": split,
            "rare": rare,
            "strong": strong,
            "small": flags(4, 30),
            "words": words,
            "error": list(error),
        },
    )
    result = cli.audit(
        path, "--error", "error", "--split-column", "split", "--preset", "janus-lite",
        "--permutations", "99", "--backend", "numpy",
    )  # fmt: skip
    assert result["rule"] == "fixed_floor"
    assert result["screen"]["decoys"]["K"] == 200
    assert cli.one(result, "small")["reason"] == "discovery on = 4 < 8"
    rare_entry = cli.one(result, "rare")
    assert rare_entry["status"] == "not_replicated"
    assert "holdout on = 5 < 8" in rare_entry["reason"]
    assert cli.one(result, "strong")["status"] == "confirmed"
    # Cut at the median of the whole table (which nobody in discovery exceeds), not discovery's.
    name = next(n for n in cli.by_name(result) if n.startswith("words"))
    assert Fraction(name.removeprefix("words > ")) == Fraction(median([int(str(w)) for w in words]))
    # The decoy pool is filtered by prevalence alone: all four descriptors but ``words`` (none on)
    # and ``small`` (4/60 is below 0.10).
    assert result["screen"]["decoys"]["sources"] == 2


def test_longbench_asks_for_eight_on_in_both_splits_together_not_in_holdout_alone(
    tmp_path: Path,
) -> None:
    """On for 12 of 40 in discovery and 5 of 40 in holdout, wrong wherever it is on."""
    lines = ["id,split,rare,error"]
    for split, on in (("discovery", 12), ("holdout", 5)):
        lines += [
            f"{split}{i},{split},{int(i < on)},{int(i < on or i % 10 == 9)}" for i in range(40)
        ]
    path = tmp_path / "rare.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = cli.audit(
        path, "--error", "error", "--split-column", "split", "--preset", "longbench-v2", *cli.FAST
    )
    assert cli.one(result, "rare")["status"] == "confirmed"
