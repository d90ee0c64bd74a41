"""Adjusted p-values of W1 to W4 against a reference that shares no code with the engine.

Raw counts are compared by exact tests at 1e-6, on both sides of the ties: shuffles whose maximum is
at least, and more than, the observed value. Seeds are fixed, so the tests don't flicker.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from bench.agreement import LEVEL, exact_p, one_sample, two_samples
from bench.reference import reference, standardised, statistic
from bench.workloads import SHAPES, make_problem, make_tables, make_workload
from janus_jax import registry
from janus_jax.interface import Tables
from janus_jax.statistic import at_least


def strict_tables(work, tables):
    """Tables that rank a value by how many thresholds it *passes*, and those for "reaches"."""
    n, wrong = len(work.errors), int(work.errors.sum())
    on = work.members.sum(axis=1, dtype=np.int64)
    observed = statistic((work.members & work.errors).sum(axis=1), on, n, wrong)
    thresholds = np.unique(observed)
    counts = np.arange(tables.rank.shape[1])
    values = [statistic(counts, size, n, wrong) for size in on]
    reaches, passes = (
        np.stack([np.searchsorted(thresholds, row, side=side) for row in values]).astype(np.int32)
        for side in ("right", "left")
    )
    assert np.array_equal(tables.own, np.searchsorted(thresholds, observed) + 1)
    attainable = counts <= np.minimum(on, wrong)[:, None]
    attainable &= counts >= np.maximum(0, on + wrong - n)[:, None]
    assert np.array_equal(tables.rank[attainable], reaches[attainable])
    return Tables(np.where(attainable, passes, 0).astype(np.int32), tables.own, tables.levels)


@pytest.fixture(scope="module", params=SHAPES)
def sampled(request):
    """A workload, the engine's counts and the reference's."""
    work = make_workload(SHAPES[request.param])
    tables = make_tables(work)
    backend = registry.get("jax")
    state = backend.prepare(make_problem(work, seed=20_261_130), min(work.permutations, 4_096))
    ids = np.arange(work.permutations, dtype=np.uint32)
    reaching = backend.tally(state, ids, tables)
    passing = backend.tally(state, ids, strict_tables(work, tables))
    ours = {
        "reached": at_least(reaching.maxima)[tables.own - 1],
        "passed": at_least(passing.maxima)[tables.own - 1],
        "exceed": reaching.exceed,
        "step_down": reaching.step_down,
    }
    return request.param, work, ours, reference(work.members, work.errors, work.permutations, 7)


@pytest.mark.parametrize("what", ["reached", "passed", "exceed", "step_down"])
def test_counts_agree_with_the_reference(sampled, what):
    _, work, ours, theirs = sampled
    p = two_samples(ours[what], work.permutations, getattr(theirs, what), theirs.permutations)
    assert p.min() >= LEVEL


def test_exceedances_agree_with_exact_p_values(sampled):
    _, work, ours, _ = sampled
    assert (
        one_sample(ours["exceed"], work.permutations, exact_p(work.members, work.errors)).min()
        >= LEVEL
    )


def test_a_tie_on_the_wrong_side_would_be_seen(sampled):
    name, work, ours, theirs = sampled
    if name not in ("W1", "W2"):
        pytest.skip("the two sides of a tie hardly differ in a large library")
    p = two_samples(ours["reached"], work.permutations, theirs.passed, theirs.permutations)
    assert p.min() < LEVEL


@pytest.mark.parametrize("which", ["lift", "z"])
def test_the_reference_agrees_with_enumeration(which):
    work = make_workload(SHAPES["W1"])
    members, errors = work.members[:4, :12], work.errors[:12].copy()
    errors[:4] = True
    n, wrong = len(errors), int(errors.sum())
    on = members.sum(axis=1).tolist()

    def values(picked):
        counts = members[:, list(picked)].sum(axis=1).tolist()
        power = 1 if which == "lift" else 2
        return [
            Fraction(abs(a * n - wrong * k) ** power, k * (n - k))
            for a, k in zip(counts, on, strict=True)
        ]

    observed = values(np.flatnonzero(errors))
    every = [values(picked) for picked in itertools.combinations(range(n), wrong)]
    share = {
        "reached": [np.mean([max(v) >= own for v in every]) for own in observed],
        "passed": [np.mean([max(v) > own for v in every]) for own in observed],
        "exceed": [np.mean([v[g] >= own for v in every]) for g, own in enumerate(observed)],
        "step_down": [
            np.mean(
                [max(x for x, o in zip(v, observed, strict=True) if o <= own) >= own for v in every]
            )
            for own in observed
        ],
    }
    assert share["reached"] != share["passed"]
    hits = reference(members, errors, 100_000, seed=3, which=which)
    for what, probability in share.items():
        assert one_sample(getattr(hits, what), 100_000, np.array(probability)).min() >= LEVEL


def test_doubles_order_lifts_as_ratios():
    rng = np.random.default_rng(5)
    n, wrong = 200, 61
    on = rng.integers(1, n, 400)
    counts = np.array([rng.integers(max(0, k + wrong - n), min(k, wrong) + 1) for k in on])
    for function, power in ((statistic, 1), (standardised, 2)):
        doubles = function(counts, on, n, wrong)
        exact = [
            Fraction(abs(a * n - wrong * k) ** power, k * (n - k))
            for a, k in zip(counts.tolist(), on.tolist(), strict=True)
        ]
        order = np.argsort(doubles)
        for left, right in itertools.pairwise(order):
            assert (doubles[left] == doubles[right]) == (exact[left] == exact[right])
            assert exact[left] <= exact[right]


def test_lifts_too_close_for_doubles_are_refused():
    members = np.arange(100_000)[None, :] < 50_000
    with pytest.raises(ValueError, match="too large"):
        reference(members, members[0], 1, seed=0)
