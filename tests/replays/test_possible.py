"""What is said beforehand is true: rules that cannot select, splits that cannot confirm."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from janus_backends.numpy_backend import NumpyBackend
from janus_jax import audit
from janus_jax.advice import design_warnings
from janus_jax.behaviour.replay import _rules, replay, run_replay
from janus_jax.behaviour.replay_rules import ReplayRules
from janus_jax.exchange import shuffled_part
from janus_jax.permutations import Running
from janus_jax.plan import METHODS, Plan, make_plan
from janus_jax.possible import impossible
from tests.replays.literal import Exact, Marks, Screen, Side, Whole
from tests.replays.made import Design, design

EXACT = ("decoys_exact", "unadjusted", "bh_05", "bh_10", "mean_count_exact", "fixed_lift", "max_t")


def made(number: int) -> Design:
    """Two or three descriptors, few errors in one split or the other."""
    draw = np.random.default_rng(number)
    sizes = [int(draw.integers(2, 8)), int(draw.integers(2, 7))]
    wrong = [int(draw.integers(0, n + 1)) for n in sizes]
    library = int(draw.integers(1, 4))
    members = [
        draw.permuted(np.arange(n) < draw.integers(1, n, library)[:, None], axis=1) for n in sizes
    ]
    errors = [draw.permutation(np.arange(n) < e) for n, e in zip(sizes, wrong, strict=True)]
    if not 0 < sum(wrong) < sum(sizes):  # a single value is refused
        errors[0][0] ^= True
    strata = draw.integers(0, 2, sum(sizes)) if number % 3 == 0 else None
    return design(
        np.concatenate(members, axis=1), np.concatenate(errors), sizes, strata,
        q=str(draw.choice(["0.10", "0.3", "0.6", "0.9"])),
        alpha=str(draw.choice(["0.05", "0.2", "0.4"])),
        min_holdout_lift=str(draw.choice(["0", "0.10", "0.6", "1"])),
        statistic=str(draw.choice(["lift", "z"])),
    )  # fmt: skip


def selected(plan: Plan, side: Side, counts: Whole, reference: Whole) -> dict[str, Marks]:
    """What each rule selects for each row of counts."""
    size = len(side.members)
    exact, q, alpha = Exact(side, size), Fraction(plan.q), Fraction(plan.alpha)
    screen = Screen(side, plan.statistic, q, size, range(size))
    ranks = screen.ranks(counts)
    maxima = screen.ranks(reference).max(axis=1)
    return {
        "decoys_exact": screen.limit(ranks),
        "mean_count_exact": screen.limit(ranks),
        "max_t": screen.max_t(ranks, maxima, 0, alpha),
        "unadjusted": exact.unadjusted(counts, alpha),
        "bh_05": exact.benjamini_hochberg(counts, Fraction("0.05")),
        "bh_10": exact.benjamini_hochberg(counts, Fraction("0.10")),
        "fixed_lift": exact.large(counts, Fraction("0.10")),
    }


def combinations(side: Side) -> NDArray[np.int64]:
    """Every combination of attainable counts, as if descriptors were independent: (rows, L)."""
    spans = [sorted(side.weights(g)) for g in range(len(side.members))]
    return np.array(list(itertools.product(*spans)))


def gate_signs(it: Design, plan: Plan) -> Sequence[set[int]]:
    """For each descriptor the signs with which a holdout count can pass the gate."""
    side, c = it.sides[1], Fraction(plan.min_holdout_lift)
    passing: list[set[int]] = []
    for g in range(len(side.members)):
        lifts = [side.lift(g, a) for a in side.weights(g)]
        passing.append({(v > 0) - (v < 0) for v in lifts if v and abs(v) >= c})
    return passing


def tables(it: Design, plan: Plan, grid: Sequence[int] = (5,)) -> ReplayRules:
    """The project's tables, with +1."""
    prepared = it.prepared
    part = shuffled_part(prepared, plan)
    return _rules(prepared, plan, list(grid), True, part, NumpyBackend(), Running())


@pytest.mark.parametrize("part", range(4))
def test_it_speaks_and_is_silent_rightly(part: int) -> None:
    spoken = silent = 0
    for number in range(part, 160, 4):
        it = made(number)
        plan = make_plan(it.options)
        prepared = it.prepared
        discovery = it.sides[0]
        reference = discovery.counts(discovery.every())
        counts = combinations(discovery)
        chosen = selected(plan, discovery, counts, reference)
        really = selected(plan, discovery, reference, reference)
        signs = Exact(discovery, len(discovery.members)).signs(counts)
        passing = gate_signs(it, plan)
        rules = tables(it, plan)
        for rule in EXACT:
            said = list(impossible(prepared, replace(plan, rule=rule)))
            some, held = (prepared.parts[i] for i in (0, 1))
            cannot_select = any("cannot select" in text for text in said)
            if cannot_select:
                assert not chosen[rule].any(), (number, rule)
                assert not really[rule].any(), (number, rule)
            elif 0 < some.error_count < some.n and rule != "max_t":
                assert chosen[rule].any(), (number, rule)
            cannot_confirm = any("can be confirmed" in text for text in said)
            if cannot_confirm:
                assert not any(passing), (number, rule)
            elif 0 < held.error_count < held.n:
                assert any(passing), (number, rule)
            spoken += cannot_select or cannot_confirm
            silent += not said
            # What the document says of each rule.
            (place,) = (
                i for i, name in enumerate(rules.names)
                if name.rule == ("decoys_exact" if rule == "mean_count_exact" else rule)
                and name.statistic in (None, plan.statistic)
            )  # fmt: skip
            if rule != "max_t":  # its limit knows how descriptors go together
                confirms = any(
                    chosen[rule][row, g] and signs[row, g] in passing[g]
                    for row in range(len(counts))
                    for g in range(len(passing))
                )
                assert rules.selectable[place] == chosen[rule].any(), (number, rule)
                assert rules.confirmable[place] == confirms, (number, rule)
            assert rules.selectable[place] or not really[rule].any(), (number, rule)
    assert spoken > 20
    assert silent > 20


@pytest.mark.parametrize("number", range(0, 160, 5))
def test_what_decoys_cannot_select(number: int) -> None:
    it = made(number)
    plan = make_plan(it.options)
    rules = tables(it, plan, (2, 30))
    result = replay(
        it.table, replays=3_000, decoy_grid=(2, 30), plus_one=True, backend="numpy", **it.options
    )
    for row, can_select, can_confirm in zip(
        result.document["rules"], rules.selectable, rules.confirmable, strict=True
    ):
        assert (row["can_select"], row["can_confirm"]) == (can_select, can_confirm)
        assert can_select or row["any_selected"] == 0, row
        assert can_confirm or row["any_confirmed"] == 0, row
        if row["rule"] == "decoys" and row["K"] == 2 and not row["plus_one"]:
            # So small, and with so few decoys, that what can happen does.
            assert can_select == (row["any_selected"] > 0), (number, row)


FEW: dict[str, tuple[int, int]] = {
    "no error in discovery": (0, 5), "one": (1, 5), "two": (2, 5), "all": (12, 5),
    "no error in holdout": (5, 0), "one in holdout": (5, 1), "all in holdout": (5, 12),
}  # fmt: skip


@pytest.mark.parametrize("rule", [m for m in METHODS if m != "max_t_step_down"])
@pytest.mark.parametrize("name", FEW)
def test_few_errors_in_a_split(name: str, rule: Any) -> None:
    draw = np.random.default_rng(6)
    members = draw.permuted(np.arange(24) % 2 == 0, axis=0)[None] ^ (draw.random((3, 24)) < 0.3)
    wrong = [np.arange(12) < e for e in FEW[name]]
    it = design(members, np.concatenate(wrong), (12, 12), rule=rule, decoys=50)
    heard: list[str] = []
    plan = make_plan(it.options)
    result = run_replay(it.table, plan, replays=500, backend="numpy", warn=heard.append)
    assert heard == result.document["warnings"]
    first, second = FEW[name]
    said = " ".join(heard)
    primary = [row for row in result.document["rules"] if row["primary"]]
    assert len(primary) == (rule != "fixed_floor")
    for row in primary:
        if first in (0, 12):
            assert f"every discovery example is {'wrong' if first else 'right'}" in said
            assert not row["can_select"]
            assert row["any_selected"] == 0
        if second in (0, 12):
            assert f"every holdout example is {'wrong' if second else 'right'}" in said
            assert row["can_confirm"] is False
        if "cannot select" in said:
            assert row["any_selected"] == 0
    prepared = it.prepared
    assert heard == design_warnings(plan, prepared, shuffled_part(prepared, plan))


def test_a_descriptor_that_never_moves_does_not_help_another() -> None:
    # Stratum 1 has no error, and the second descriptor varies in it alone: its lift is always 0.
    members = [[1, 1, 0, 0, 0, 1, 1, 0, 0, 1], [0, 0, 0, 0, 0, 1, 1, 1, 0, 0]]
    errors, strata = [1, 0, 1, 0, 0, 0, 0, 0, 0, 0], [0] * 5 + [1] * 5
    it = design(members, errors, (10,), strata)
    rules = tables(it, make_plan(it.options), (15,))
    said = {
        (name.statistic, name.plus_one): can_select
        for name, can_select in zip(rules.names, rules.selectable, strict=True)
        if name.decoys
    }
    # (2 / 15)(0 + 1) / R <= 0.10 takes both of them, and every decoy reaches the second.
    assert said == {(s, plus): not plus for s in ("lift", "z") for plus in (False, True)}
    result = replay(
        it.table, replays=2_000, decoy_grid=(15,), plus_one=True, backend="numpy", **it.options
    )
    for row in result.document["rules"]:
        if row["K"]:
            assert (row["any_selected"] > 0) == row["can_select"] == (not row["plus_one"])


@pytest.mark.parametrize("rule", ["max_t", "max_t_step_down", "mean_count"])
def test_nothing_is_promised_of_the_luck_of_few_permutations(rule: str) -> None:
    # Both extremes have p = 1/10, and 19 of the 20 labellings may all miss them.
    it = design([[1, 1, 1, 0, 0, 0]], [1, 1, 1, 0, 0, 0], (6,), rule=rule, q="0.05")

    def run(seed: int, permutations: int) -> dict[str, Any]:
        return audit(
            it.table, seed=seed, permutations=permutations, backend="numpy", **it.options
        ).document

    def silent(document: dict[str, Any]) -> bool:
        return not any("cannot select" in text for text in document["warnings"])

    lucky = [run(seed, 19) for seed in range(12)]
    assert any(document["methods"][rule]["selected"] for document in lucky)
    assert all(map(silent, lucky))
    assert not silent(run(0, 20))  # all of them: certain


@pytest.mark.parametrize("rule", ["max_t", "mean_count"])
def test_many_permutations_leave_nothing_to_luck(rule: str) -> None:
    # Four examples on: the extremes have p of about 1/10 among more labellings than are drawn.
    it = design([[1] * 4 + [0] * 36], [1, 0] * 20, (40,), rule=rule, q="0.05")

    def said(permutations: int) -> bool:
        plan = make_plan({**it.options, "permutations": permutations})
        return any("cannot select" in text for text in impossible(it.prepared, plan))

    assert [said(count) for count in (19, 99_999)] == [False, True]
