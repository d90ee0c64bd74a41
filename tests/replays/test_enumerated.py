"""Designs so small that every labelling can be judged: exact shares, and every verdict itself."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from janus_backends.numpy_backend import NumpyBackend
from janus_jax import streams
from janus_jax.behaviour.replay import _rules, replay
from janus_jax.behaviour.replay_rules import ReplayRules
from janus_jax.decide import decide
from janus_jax.exchange import shuffled_part
from janus_jax.permutations import Running
from janus_jax.plan import make_plan
from tests.replays.literal import Exact, Marks, Screen, Whole, confirmed
from tests.replays.made import Design, design

ALPHA = 1e-6
GRID = (3, 40, 300)


def drawn(
    seed: int,
    sizes: tuple[int, ...],
    wrong: tuple[int, ...],
    library: int,
    blocks: int = 1,
    **options: Any,
) -> Design:
    """Random memberships, each on and off at least once in each split."""
    draw = np.random.default_rng(seed)
    parts: list[NDArray[np.bool_]] = []
    for n in sizes:
        on = draw.integers(1, n, library)
        parts.append(draw.permuted(np.arange(n) < on[:, None], axis=1))
    errors = [draw.permutation(np.arange(n) < e) for n, e in zip(sizes, wrong, strict=True)]
    strata = draw.integers(0, blocks, sum(sizes)) if blocks > 1 else None
    return design(np.concatenate(parts, axis=1), np.concatenate(errors), sizes, strata, **options)


DESIGNS: dict[str, Design] = {
    "one descriptor": drawn(1, (6, 5), (2, 2), 1, alpha="0.4", q="0.4"),
    "several": drawn(2, (8, 7), (3, 3), 5, q="0.6", alpha="0.3"),
    "half wrong": drawn(3, (8, 6), (4, 3), 6, q="0.9", alpha="0.06", min_holdout_lift="0.5"),
    "two strata": drawn(4, (9, 8), (4, 3), 5, blocks=2, q="0.7", alpha="0.2"),
    "rows alone in their strata": drawn(9, (8, 8), (3, 3), 4, blocks=6, q="0.8", alpha="0.5"),
    "one error": drawn(5, (9, 6), (1, 1), 4, q="0.95", alpha="0.95"),
    "all but one wrong": drawn(6, (9, 6), (8, 5), 4, q="0.95", alpha="0.95"),
    "no gate": drawn(7, (7, 7), (3, 3), 4, q="0.9", alpha="0.5", min_holdout_lift="0"),
    "two examples": drawn(8, (2, 2), (1, 1), 2, q="0.99", alpha="0.99"),
    "no holdout": drawn(10, (9,), (4,), 6, q="0.5", alpha="0.2"),
}
every_design = pytest.mark.parametrize("name", DESIGNS)


class Judged:
    """Every pair of labellings, judged by the oracle."""

    def __init__(self, it: Design) -> None:
        plan = make_plan(it.options)
        self.q, self.alpha = Fraction(plan.q), Fraction(plan.alpha)
        self.c = Fraction(plan.min_holdout_lift)
        discovery = it.sides[0]
        first = discovery.counts(discovery.every())
        self.library = len(discovery.members)
        self.exact = Exact(discovery, self.library)
        self.screens = {s: Screen(discovery, s, self.q, self.library, range(self.library))
                        for s in ("lift", "z")}  # fmt: skip
        self.gate, self.held, self.discovery = None, None, first
        if len(it.sides) > 1:
            holdout = it.sides[1]
            second = holdout.counts(holdout.every())
            self.discovery = np.repeat(first, len(second), axis=0)
            self.held = np.tile(second, (len(first), 1))
            self.gate = Exact(holdout, self.library)

    def fixed(self, rule: str, statistic: str | None) -> Marks:
        """What a rule without decoys selects in each pair."""
        if rule == "unadjusted":
            return self.exact.unadjusted(self.discovery, self.alpha)
        if rule.startswith("bh"):
            return self.exact.benjamini_hochberg(self.discovery, Fraction(f"0.{rule[3:]}"))
        if rule == "fixed_lift":
            return self.exact.large(self.discovery, Fraction("0.10"))
        assert statistic is not None
        screen = self.screens[statistic]
        ranks = screen.ranks(self.discovery)
        if rule == "max_t":  # the reference are all labellings
            return screen.max_t(ranks, ranks.max(axis=1), 0, self.alpha)
        assert rule in ("decoys_exact", "mean_count", "mean_count_exact")
        return screen.limit(ranks)

    def decoys(self, statistic: str, k: int, more: int, words: Whole) -> Marks:
        """What Procedure A selects in each pair; ``words`` (pairs, K) are its decoys.

        A word below 2**32 P reaches a value that decoys reach with probability P.
        """
        screen = self.screens[statistic]
        # Shares of decoys at each value or above: a word's place among them is a decoy's value.
        chances = [e / self.library for e in screen.expected(range(self.library))]
        cuts = [min(int(chance * 2**32), 2**32 - 1) for chance in chances]
        values = (words[:, :, None] < np.array(cuts)).sum(axis=2) - 1
        return screen.literal(screen.ranks(self.discovery), values, k, more)

    def sums(self, chosen: Marks) -> list[int]:
        """Pairs with anything selected, confirmed; descriptors selected, confirmed."""
        kept = np.zeros_like(chosen)
        if self.held is not None and self.gate is not None:
            kept = confirmed(chosen, self.discovery, self.held, self.exact, self.gate, self.c)
        return [int(chosen.any(axis=1).sum()), int(kept.any(axis=1).sum()),
                int(chosen.sum()), int(kept.sum())]  # fmt: skip


def tables(it: Design) -> ReplayRules:
    """The project's tables."""
    plan, prepared = make_plan(it.options), it.prepared
    part = shuffled_part(prepared, plan)
    return _rules(prepared, plan, GRID, True, part, NumpyBackend(), Running())


@every_design
@pytest.mark.parametrize("rule", ["decoys_exact", "mean_count", "mean_count_exact"])
def test_every_verdict_is_the_oracles(name: str, rule: Any) -> None:
    it = DESIGNS[name]
    it = Design(it.table, {**it.options, "rule": rule}, it.sides)
    judged, rules = Judged(it), tables(it)
    assert rules.reference.enumerated
    count = len(judged.discovery)
    ids = np.arange(count, dtype=np.uint32)
    held = None if judged.held is None else judged.held.astype(np.int32)
    got = decide(judged.discovery.astype(np.int32), held, ids, rules.tables)
    assert got.replays == count
    words = streams.words(streams.fold_in(rules.tables.decoys, ids), GRID[-1]).T.astype(np.int64)
    for index, row in enumerate(rules.names):
        if row.decoys is None:
            chosen = judged.fixed(row.rule, row.statistic)
        else:
            assert row.statistic is not None
            chosen = judged.decoys(row.statistic, row.decoys, int(row.plus_one), words)
        assert got.sums[:, index].tolist() == judged.sums(chosen), row


@every_design
def test_what_is_said_to_be_impossible_never_happens_and_else_it_does(name: str) -> None:
    it = DESIGNS[name]
    judged, rules = Judged(it), tables(it)
    for row, can_select, can_confirm in zip(
        rules.names, rules.selectable, rules.confirmable, strict=True
    ):
        if row.decoys is not None:
            continue
        chosen = judged.fixed(row.rule, row.statistic)
        selected, kept, _, _ = judged.sums(chosen)
        assert can_select or not selected, row
        assert can_confirm or not kept, row
        if judged.library == 1:  # more descriptors may never be at their best together
            assert (can_select, can_confirm) == (selected > 0, kept > 0), row


@every_design
def test_replays_have_the_exact_probabilities(name: str) -> None:
    it = DESIGNS[name]
    judged, replays = Judged(it), 20_000
    result = replay(
        it.table, replays=replays, decoy_grid=[50], backend="numpy", seed=3, **it.options
    )
    for row in result.document["rules"]:
        if row["rule"] == "decoys":
            continue
        selected, kept, many, _ = judged.sums(judged.fixed(row["rule"], row["statistic"]))
        count = len(judged.discovery)
        pairs = [(row["any_selected"], selected)]
        if judged.held is not None:
            pairs.append((row["any_confirmed"], kept))
        else:
            assert row["any_confirmed"] is row["mean_confirmed"] is row["can_confirm"] is None
        for share, hits in pairs:
            found = round(share * replays)
            assert binomtest(found, replays, hits / count).pvalue > ALPHA, (row, hits / count)
        assert row["mean_selected"] == pytest.approx(many / count, abs=0.06 * judged.library)


@pytest.mark.parametrize(("more", "reached"), [(0, 0), (1, 1)])
def test_a_decoy_reaches_what_its_word_is_below(more: int, reached: int) -> None:
    rules = tables(DESIGNS["one descriptor"]).tables
    ids = np.array([7], np.uint32)
    word = int(streams.words(streams.fold_in(rules.decoys, ids), 1)[0, 0])
    # One decoy, which reaches every value or none; with none allowed, it decides.
    only = replace(
        rules,
        grid=(1,),
        cuts=np.full_like(rules.cuts, word + more),
        allowed=np.array([[[-1, 0]]], np.int32),
    )
    counts = np.zeros((1, 1), np.int32)
    sums = decide(counts, counts, ids, only).sums[0]
    assert sums[len(rules.needs) :].tolist() == [1 - reached] * 2
