"""How often each rule selects and confirms: replays beside the literal ones of the oracle.

Both are samples, compared by exact tests. Seeds are fixed: a test passes or fails for good, and a
right replay fails with a probability below ``ALPHA`` for each comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact

from janus_jax.behaviour.replay import replay
from tests.replays.literal import Exact, Marks, Screen, confirmed
from tests.replays.made import Design, correlated, lopsided

pytestmark = pytest.mark.long

ALPHA = 1e-6
REPLAYS, LITERAL = 40_000, 6_000
GRID = (60, 150, 400)
ALPHA_LEVEL, C = Fraction("0.05"), Fraction("0.10")

DESIGNS: dict[str, Design] = {
    # C(24, 9) labellings are more than the permutations below: max-T is sampled in both.
    "correlated": correlated(1, (24, 30), 9, (9, 13)),
    # 20 x 56 x 70 labellings: the reference of max-T is enumerated.
    "strata": correlated(5, (22, 36), 7, (9, 15), blocks=3),
    "many": correlated(3, (40, 36), 12, (17, 15), q="0.20", min_holdout_lift="0.25"),
    # Two descriptors are on almost everywhere in discovery: no decoys are made of them.
    "another pool": lopsided(
        4, (32, 40), 8, (12, 14), preset="longbench-v2", decoys=150, rule="decoys"
    ),
}
Row = tuple[str, str | None, int | None, bool]


def literal(design: Design) -> Iterator[tuple[Row, Marks, Marks]]:
    """Selected and confirmed of each rule in each literal replay."""
    draw = np.random.default_rng(77)
    prepared, options = design.prepared, design.options
    discovery, holdout = design.sides
    size = len(discovery.members)
    assert prepared.eligible == list(range(size))
    pool = list(prepared.pool)
    assert (pool == prepared.eligible) == ("preset" not in options)
    q = Fraction(str(options.get("q", "0.10")))
    c = Fraction(str(options.get("min_holdout_lift", "0.10")))
    errors = discovery.shuffled(LITERAL, draw)
    counts, held = discovery.counts(errors), holdout.counts(holdout.shuffled(LITERAL, draw))
    tests, gate = Exact(discovery, size), Exact(holdout, size)

    def row(
        rule: str,
        chosen: Marks,
        statistic: str | None = None,
        k: int | None = None,
        plus_one: bool = False,
    ) -> tuple[Row, Marks, Marks]:
        kept = confirmed(chosen, counts, held, tests, gate, c)
        return (rule, statistic, k, plus_one), chosen, kept

    sources, on = discovery.decoys(errors, pool, GRID[-1], draw)
    shared = discovery.counts(discovery.shuffled(200_000, draw))
    for statistic in ("lift", "z"):
        screen = Screen(discovery, statistic, q, size, pool)
        ranks, decoys = screen.ranks(counts), screen.rank[sources, on]
        yield row("decoys_exact", screen.limit(ranks), statistic)
        if pool != list(range(size)):
            yield row("mean_count_exact", screen.limit(ranks, range(size)), statistic)
        for k in GRID:
            for more in (0, 1):
                chosen = screen.literal(ranks, decoys, k, more)
                yield row("decoys", chosen, statistic, k, bool(more))
        reference = screen.ranks(shared).max(axis=1)
        yield row("max_t", screen.max_t(ranks, reference, 1, ALPHA_LEVEL), statistic)
    yield row("bh_05", tests.benjamini_hochberg(counts, Fraction("0.05")))
    yield row("bh_10", tests.benjamini_hochberg(counts, Fraction("0.10")))
    yield row("unadjusted", tests.unadjusted(counts, ALPHA_LEVEL))
    yield row("fixed_lift", tests.large(counts, Fraction("0.10")))


def agree(hits: int, times: int, share: float, replays: int) -> float:
    """p of Fisher's exact test that two shares are the same."""
    other = round(share * replays)
    return float(fisher_exact([[hits, times - hits], [other, replays - other]])[1])


@pytest.mark.parametrize("name", DESIGNS)
def test_frequencies_are_those_of_literal_replays(name: str) -> None:
    design = DESIGNS[name]
    result = replay(
        design.table, replays=REPLAYS, decoy_grid=GRID, plus_one=True, backend="numpy", seed=11,
        permutations=499_999, **design.options,
    )  # fmt: skip
    rows: dict[Row, Any] = {
        (r["rule"], r["statistic"], r["K"], r["plus_one"]): r for r in result.document["rules"]
    }
    seen: list[Row] = []
    for row, chosen, kept in literal(design):
        got = rows[row]
        for share, hits in (("any_selected", chosen), ("any_confirmed", kept)):
            many = int(hits.any(axis=1).sum())
            assert agree(many, LITERAL, got[share], REPLAYS) > ALPHA, (row, share, many / LITERAL)
        for mean, hits in (("mean_selected", chosen), ("mean_confirmed", kept)):
            each = hits.sum(axis=1)
            # Both samples have about this deviation; the rest is for what is hardly ever seen.
            error = float(each.std()) * (1 / LITERAL + 1 / REPLAYS) ** 0.5
            assert abs(float(each.mean()) - got[mean]) <= 5.5 * error + 6 / LITERAL, (row, mean)
        seen.append(row)
    assert set(seen) == set(rows)
