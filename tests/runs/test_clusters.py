"""Clusters: whole error patterns are exchanged, and what follows from that."""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from scipy.stats import binomtest

import janus_jax
from tests.audits import cli, made

ROOT = Path(__file__).parents[2]
EXCHANGED = [
    *("unadjusted", "bh_05", "bh_10", "max_t", "max_t_step_down", "mean_count", "fixed_lift")
]


# --- tiny tables against every exchange ----------------------------------------------------------


@dataclass(frozen=True)
class Tiny:
    """A table of a few clusters, rows in any order."""

    clusters: list[str]
    strata: list[str]
    errors: list[int]
    library: dict[str, list[int]]

    def exchanges(self) -> Iterator[list[int]]:
        """The errors after every way to exchange the patterns, each permutation counted."""
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self.clusters):
            rows.setdefault(name, []).append(row)
        groups: dict[tuple[str, int], list[list[int]]] = {}
        for members in rows.values():
            groups.setdefault((self.strata[members[0]], len(members)), []).append(members)
        deals = [list(itertools.permutations(group)) for group in groups.values()]
        for deal in itertools.product(*deals):
            errors = [-1] * len(self.errors)
            for group, order in zip(groups.values(), deal, strict=True):
                for target, source in zip(group, order, strict=True):
                    for to, by in zip(target, source, strict=True):
                        errors[to] = self.errors[by]
            yield errors

    def size(self, member: Sequence[int], errors: Sequence[int]) -> Fraction:
        """|lift|, adjusted for strata: (a - mu) n / (n1 n0)."""
        n, on = len(member), sum(member)
        inside = sum(m * e for m, e in zip(member, errors, strict=True))
        mu = Fraction(0)
        for stratum in set(self.strata):
            here = [row for row, name in enumerate(self.strata) if name == stratum]
            wrong, slices = (sum(column[r] for r in here) for column in (errors, member))
            mu += Fraction(wrong * slices, len(here))
        return abs((inside - mu) * Fraction(n, on * (n - on)))


def tiny(number: int) -> Tiny:
    """Clusters of one to three rows in two strata, in no order; errors alike within a cluster."""
    draw = random.Random(number)
    shapes = [(s, size) for s in "ab" for size in draw.choices([1, 2, 3], k=draw.choice([2, 3]))]
    rows = [(f"c{i}", s) for i, (s, size) in enumerate(shapes) for _ in range(size)]
    draw.shuffle(rows)
    names = list(dict.fromkeys(name for name, _ in rows))
    hard = {name: draw.random() < 0.5 for name in names}
    while True:
        errors = [int(draw.random() < (0.8 if hard[name] else 0.2)) for name, _ in rows]
        library = {f"g{k}": [draw.randrange(2) for _ in rows] for k in range(2)}
        library["g2"] = [int(draw.random() < 0.5) for _ in rows]
        library["whole"] = [int(int(name[1:]) % 2) for name, _ in rows]
        if all(0 < sum(column) < len(rows) for column in (errors, *library.values())):
            strata = [stratum for _, stratum in rows]
            return Tiny([name for name, _ in rows], strata, errors, library)


@pytest.mark.parametrize("number", range(40))
def test_every_exchange(number: int) -> None:
    case = tiny(number)
    with_strata = number % 2 == 1
    if not with_strata:
        case = Tiny(case.clusters, ["all"] * len(case.errors), case.errors, case.library)
    exchanges = list(case.exchanges())
    distinct = len({tuple(errors) for errors in exchanges})
    members = list(case.library.values())
    observed = [case.size(member, case.errors) for member in members]
    null = [[case.size(member, errors) for member in members] for errors in exchanges]

    def share(hits: Iterator[bool]) -> Fraction:
        return Fraction(sum(hits), len(exchanges))

    p = [share(row[g] >= observed[g] for row in null) for g in range(len(members))]
    max_t = [share(max(row) >= observed[g] for row in null) for g in range(len(members))]
    step_down = [
        max(
            share(
                max(x for x, o in zip(row, observed, strict=True) if o <= observed[h])
                >= observed[h]
                for row in null
            )
            for h in range(len(members))
            if observed[h] >= observed[g]
        )
        for g in range(len(members))
    ]
    columns: dict[str, Any] = {name: made.words(m) for name, m in case.library.items()}
    columns |= {"cluster": case.clusters, "stratum": case.strata, "error": case.errors}
    result = made.audit(
        columns,
        *(*cli.WHOLE, "--cluster", "cluster", "--permutations", str(max(distinct, 1))),
        *(("--strata", "stratum") if with_strata else ("--exclude", "stratum")),
        *("--backend", "numpy", "--q", "0.4", "--alpha", "0.3"),
    )
    told = result["screen"]["permutations"]
    assert (told["kind"], told["count"], told["labellings"]) == ("enumerated", distinct, distinct)
    for field, wanted in (
        ("p_monte_carlo", p),
        ("p_max_t", max_t),
        ("p_max_t_step_down", step_down),
    ):
        for name, value in zip(case.library, wanted, strict=True):
            assert cli.one(result, name)[field] == pytest.approx(float(value), rel=1e-12), field
    assert selected(result, "unadjusted") == at_most(p, case)
    assert selected(result, "max_t") == at_most(max_t, case)
    assert selected(result, "max_t_step_down") == at_most(step_down, case)
    for method, q in (("bh_05", Fraction("0.05")), ("bh_10", Fraction("0.10"))):
        ranks = [i for i in range(1, 5) if sum(value * 4 <= q * i for value in p) >= i]
        cut = q * max(ranks, default=0) / 4
        assert selected(result, method) == {
            name for name, value in zip(case.library, p, strict=True) if ranks and value <= cut
        }
    fdp = {
        t: sum(share(row[g] >= t for row in null) for g in range(len(members)))
        / sum(o >= t for o in observed)
        for t in observed
    }
    cuts = [t for t, value in fdp.items() if value <= Fraction("0.4")]
    assert selected(result, "mean_count") == {
        name for name, o in zip(case.library, observed, strict=True) if cuts and o >= min(cuts)
    }
    sizes = Counter(
        (case.strata[case.clusters.index(name)], case.clusters.count(name))
        for name in set(case.clusters)
    )
    movable = sum(size * times for (_, size), times in sizes.items() if times > 1)
    assert told["movable_rows"] == movable


def selected(result: cli.Result, method: str) -> set[str]:
    return set(result["methods"][method]["selected"])


def at_most(values: Sequence[Fraction], case: Tiny) -> set[str]:
    return {n for n, v in zip(case.library, values, strict=True) if v <= Fraction("0.3")}


# --- real tables: coin flips that are constant in a cluster --------------------------------------


def coin_flips(count: int, seed: int) -> tuple[dict[str, list[Any]], int]:
    """tau-bench (50 tasks x 4 trials) with descriptors that toss one coin a task."""
    with (ROOT / "tests/data/audits/taubench_airline_gpt4o.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    tasks = sorted({row["task_id"] for row in rows})
    draw = random.Random(seed)
    columns: dict[str, list[Any]] = {}
    for k in range(count):
        while True:
            coins = {task: draw.randrange(2) for task in tasks}
            if 0 < sum(coins.values()) < len(tasks):
                break
        columns[f"coin{k}"] = made.words([coins[row["task_id"]] for row in rows])
    columns["task_id"] = [f"t{row['task_id']}" for row in rows]
    columns["error"] = [1 - int(row["correct"]) for row in rows]
    return columns, len(rows)


def test_five_per_cent_with_clusters_and_more_without() -> None:
    draws = 2_000
    columns, n = coin_flips(draws, seed=20260524)
    words = (*cli.WHOLE, "--permutations", "3999", "--backend", "numpy", "--seed", "7")
    with_clusters = made.audit(columns, *words, "--cluster", "task_id")
    told = with_clusters["screen"]["permutations"]
    assert (told["kind"], told["movable_rows"]) == ("sampled", n)
    hits = len(selected(with_clusters, "unadjusted"))
    assert with_clusters["screen"]["L"] == draws
    assert binomtest(hits, draws, 0.05).pvalue > 1e-6, hits
    without = made.audit(columns, *words, "--exclude", "task_id")
    wrong = len(selected(without, "unadjusted"))
    assert binomtest(wrong, draws, 0.05, alternative="greater").pvalue < 1e-6, wrong
    assert wrong > 2 * hits


def test_the_same_bits_on_both_backends(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    columns, _ = coin_flips(30, seed=3)
    path = made.write(tmp_path / "table.csv", columns)
    words = (path, "--error", "error", "--cluster", "task_id", "--permutations", "999")
    results = [
        cli.without_run(cli.audit(*words, "--backend", name, *more))
        for name, more in (("numpy", ()), ("jax", ()), ("numpy", ("--batch", "7")))
    ]
    assert len({json.dumps(result) for result in results}) == 1


# --- what a result with clusters says ------------------------------------------------------------


@pytest.fixture(scope="module")
def clustered() -> cli.Result:
    columns, _ = coin_flips(12, seed=5)
    return made.audit(
        columns, "--cluster", "task_id", "--permutations", "999", "--backend", "numpy"
    )


def test_no_closed_form(clustered: cli.Result) -> None:
    assert clustered["rule"] == "mean_count"
    assert list(clustered["methods"]) == EXCHANGED
    assert set(clustered["screen"]) == {"L", "mean_count", "permutations", "curve", "histogram"}
    sampled = {d["name"]: d["p_monte_carlo"] for d in clustered["descriptors"]}
    for d in clustered["descriptors"]:
        assert d["p_exact"] is None
        assert d["p_exact_outside"] is None
        assert d["stability"] is None
    order = sorted(p for p in sampled.values() if p is not None)
    size = len(order)
    for d in clustered["descriptors"]:
        if d["status"] != "ineligible":
            steps = [p * size / (i + 1) for i, p in enumerate(order) if p >= d["p_monte_carlo"]]
            assert d["p_bh"] == pytest.approx(min(1.0, *steps), rel=1e-12)
    hits = [d["p_monte_carlo"] * 1000 for d in clustered["descriptors"] if d["p_monte_carlo"]]
    assert all(math.isclose(h, round(h), rel_tol=1e-9) for h in hits)
    published = Path(janus_jax.__file__).parent / "schema" / "audit-1.json"
    schema = json.loads(published.read_text(encoding="utf-8"))
    jsonschema.validate(clustered, schema)


def test_the_notes_say_so(clustered: cli.Result) -> None:
    notes = " ".join(clustered["notes"])
    assert "100 of 100 discovery rows can move" in notes
    assert "decoys, decoys_exact, mean_count_exact, fixed_floor" in notes
    assert "treat rows as exchangeable" not in notes
    assert "Procedure A" not in notes


def test_a_size_that_occurs_once_stays() -> None:
    columns = {
        "doc": ["a", "a", "b", "b", "c", "c", "d", "d", *"eeefgh"],
        "error": [1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0],
        "flag": made.words([1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0]),
    }
    result = made.audit(columns, *cli.WHOLE, "--cluster", "doc", "--permutations", "100")
    assert result["screen"]["permutations"]["movable_rows"] == 11
    assert any("11 of 14 discovery rows can move" in note for note in result["notes"])
    # 4 patterns among 4 pairs, one wrong among 3 single rows.
    assert result["screen"]["permutations"]["labellings"] == 24 * 3


def test_reports_without_closed_forms(tmp_path: Path) -> None:
    columns, _ = coin_flips(12, seed=5)
    path = made.write(tmp_path / "table.csv", columns)
    words = ("--error", "error", "--cluster", "task_id", "--permutations", "99")
    run = cli.call("audit", path, *words, "--out", tmp_path / "out")
    assert run.status == 0, run.err
    for text in (run.out, (tmp_path / "out" / "report.md").read_text(encoding="utf-8")):
        assert "p exact" not in text
        assert "exact p" not in text
        assert "p clusters" in text
    with (tmp_path / "out" / "findings.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["p_exact"] for row in rows} == {""}


def test_few_permutations_are_warned_about(tmp_path: Path) -> None:
    columns, _ = coin_flips(12, seed=5)
    path = made.write(tmp_path / "table.csv", columns)
    words = ("--error", "error", "--cluster", "task_id", "--backend", "numpy")
    warned = cli.audit(path, *words, "--permutations", "99")["warnings"]
    assert any("B = 99" in text and "B >= " in text for text in warned)
    assert not any("p_exact" in text for text in warned)
    assert not any("decoys" in text for text in warned)


@pytest.mark.parametrize("rule", EXCHANGED)
def test_another_available_rule(rule: str, tmp_path: Path) -> None:
    columns, _ = coin_flips(4, seed=5)
    path = made.write(tmp_path / "table.csv", columns)
    words = ("--error", "error", "--cluster", "task_id", "--permutations", "99", "--rule", rule)
    assert cli.audit(path, *words, "--backend", "numpy")["rule"] == rule


@pytest.mark.parametrize(
    "words",
    [
        *(
            ("--rule", rule)
            for rule in ("decoys", "decoys_exact", "mean_count_exact", "fixed_floor")
        ),
        ("--preset", "controlled"),
        ("--preset", "janus-lite"),
    ],
    ids=lambda words: words[1],
)
def test_an_unavailable_rule(words: tuple[str, str], tmp_path: Path) -> None:
    columns, _ = coin_flips(4, seed=5)
    path = made.write(tmp_path / "table.csv", columns)
    message = cli.refused(path, "--error", "error", "--cluster", "task_id", *words)
    assert words[1] in message
    assert ", ".join(EXCHANGED) in message


def test_a_cluster_in_two_shuffle_strata(tmp_path: Path) -> None:
    columns = {
        "doc": [*"aabbccddeeff"],
        "hall": [*"xxxxxyyyyyyy"],
        "flag": made.words([1, 0] * 6),
        "error": [0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1],
    }
    path = made.write(tmp_path / "table.csv", columns)
    message = cli.refused(
        path, "--error", "error", "--cluster", "doc", "--strata", "hall", *cli.WHOLE
    )
    for word in ("'c'", "'doc'", "'hall'", "line 6", "line 7"):
        assert word in message, (word, message)
