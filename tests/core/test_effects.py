"""The interval of a holdout lift: published numbers, statsmodels, and what it really covers."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from janus_jax.effects import LEVEL, effect, newcombe, paired_difference
from janus_jax.library import Counts
from janus_jax.statistic import Margins

GATE = 0.10
DRAWS = 200_000


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((6, 7, 2, 7), 0.0582, 0.8062),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((0, 10, 0, 20), -0.1611, 0.2775),
        ((0, 10, 0, 10), -0.2775, 0.2775),
        ((10, 10, 0, 20), 0.6791, 1.0),
        ((10, 10, 0, 10), 0.6075, 1.0),
    ],
)
def test_the_published_examples(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    # Newcombe 1998, table II, method 10.
    assert newcombe(*counts) == pytest.approx((low, high), abs=5e-5)


def test_the_interval_is_that_of_statsmodels() -> None:
    sizes = [1, 2, 3, 8, 17, 60, 331, 20_000]
    for on, off in itertools.product(sizes, sizes):
        for errors_on, errors_off in itertools.product(some_counts(on), some_counts(off)):
            mine = newcombe(errors_on, on, errors_off, off)
            theirs = confint_proportions_2indep(
                errors_on, on, errors_off, off, method="newcomb", compare="diff", alpha=0.05
            )
            assert mine == pytest.approx(theirs, abs=1e-12), (errors_on, on, errors_off, off)


def some_counts(n: int) -> list[int]:
    return sorted({0, 1, n // 3, n // 2, max(n - 1, 0), n})


def test_the_interval_holds_its_lift_mirrors_and_stays_among_differences_of_rates() -> None:
    for on, off in ((1, 1), (5, 9), (40, 7)):
        for a, b in itertools.product(range(on + 1), range(off + 1)):
            low, high = newcombe(a, on, b, off)
            assert -1 <= low <= (a * off - b * on) / (on * off) <= high <= 1
            assert low < high
            assert newcombe(b, off, a, on) == pytest.approx((-high, -low), abs=1e-15)


# --- what it covers ------------------------------------------------------------------------------


@cache
def limits(on: int, off: int) -> NDArray[np.float64]:
    """Both limits for every pair of error counts, shape (on + 1, off + 1, 2)."""
    return np.array(
        [[newcombe(a, on, b, off) for b in range(off + 1)] for a in range(on + 1)],
        dtype=np.float64,
    )


def coverage(on: int, off: int, base: float, delta: float, seed: int) -> tuple[float, float]:
    """How often the interval holds ``delta``: in all simulations, and in those past the gate.

    The gate asks of the holdout lift a size of 0.10 and the sign of an independent discovery lift.
    """
    draw = np.random.default_rng(seed)
    discovery = draw.binomial(on, base + delta, DRAWS) / on - draw.binomial(off, base, DRAWS) / off
    a, b = draw.binomial(on, base + delta, DRAWS), draw.binomial(off, base, DRAWS)
    lift = a / on - b / off
    low, high = np.moveaxis(limits(on, off)[a, b], 1, 0)
    held = (low <= delta) & (delta <= high)
    passed = (np.abs(lift) >= GATE) & (lift * discovery > 0)
    return float(held.mean()), float(held[passed].mean())


DESIGNS = [(30, 30), (18, 42), (40, 40), (50, 50), (36, 84), (80, 80)]


@pytest.mark.parametrize(("on", "off"), DESIGNS)
def test_it_covers_its_level_when_nothing_was_selected(on: int, off: int) -> None:
    for delta in (0.0, 0.05, 0.10, 0.20, 0.40):
        held, _ = coverage(on, off, 0.40, delta, seed=1)
        assert held == pytest.approx(LEVEL, abs=0.012), delta


def test_past_the_gate_it_covers_far_less_where_there_is_no_effect() -> None:
    found = {design: coverage(*design, 0.40, 0.0, seed=2)[1] for design in DESIGNS}
    assert all(0.70 < share < 0.91 for share in found.values()), found
    assert found[80, 80] < 0.78 < 0.86 < found[30, 30]  # the larger the holdout, the worse
    # With so many examples only lifts beyond the interval's reach pass at all.
    assert coverage(300, 300, 0.40, 0.0, seed=2)[1] < 0.05
    # An effect that passes the gate anyway is covered as it should be.
    assert coverage(80, 80, 0.40, 0.40, seed=2)[1] > 0.93


# --- the entry of a descriptor -------------------------------------------------------------------


def counts(errors_on: int, on: int, errors_off: int, off: int) -> Counts:
    return Counts(Margins((on + off,), (on,), (errors_on + errors_off,), "lift"), errors_on)


def entry(discovery: Counts, holdout: Counts, **words: bool) -> dict[str, Any]:
    given = {"selected": True, "confirmed": True, "independent": True} | words
    return effect(discovery, holdout, **given)


def test_the_entry() -> None:
    low, high = newcombe(52, 80, 20, 80)
    assert entry(counts(60, 80, 20, 80), counts(52, 80, 20, 80)) == {
        "method": "newcombe",
        "level": 0.95,
        "low": low,
        "high": high,
        "holdout_lift": 0.4,
        "discovery_lift": 0.5,
        "discovery_selected": True,
        "conditional_on_gate": True,
        "shrinkage": 0.8,
    }
    plain = entry(counts(4, 8, 4, 8), counts(4, 8, 2, 8), selected=False, confirmed=False)
    assert plain["shrinkage"] is None  # the discovery lift is 0
    assert not plain["discovery_selected"]
    assert not plain["conditional_on_gate"]
    assert plain["low"] < 0.25 < plain["high"]


def test_a_flip_is_a_negative_shrinkage() -> None:
    assert entry(counts(6, 8, 2, 8), counts(2, 8, 4, 8), confirmed=False)["shrinkage"] == -0.5


def test_no_interval_without_a_contrast_or_without_independence() -> None:
    bare = entry(counts(6, 8, 2, 8), counts(0, 0, 4, 8), confirmed=False)
    assert [bare[key] for key in ("low", "high", "holdout_lift", "shrinkage")] == [None] * 4
    assert bare["discovery_lift"] == 0.5
    clustered = entry(counts(6, 8, 2, 8), counts(6, 8, 4, 8), independent=False)
    assert (clustered["low"], clustered["high"]) == (None, None)
    assert (clustered["holdout_lift"], clustered["shrinkage"]) == (0.25, 0.5)


# --- two models on the same examples -------------------------------------------------------------


def bonett_price(only_a: int, only_b: int, n: int) -> tuple[float, float]:
    """Centre and half-width of their equation 8, from a 2 x 2 table with one more in each cell."""
    a, b = (only_a + 1) / (n + 2), (only_b + 1) / (n + 2)
    return a - b, stats.norm.ppf(0.975) * np.sqrt((a + b - (a - b) ** 2) / (n + 2))


def test_the_paired_interval_is_that_of_bonett_and_price_inside_and_outside() -> None:
    for a, b, on, c, d, off in ((30, 10, 100, 20, 20, 300), (0, 0, 1, 0, 0, 1), (8, 0, 8, 0, 9, 9)):
        (inside, half_on), (outside, half_off) = bonett_price(a, b, on), bonett_price(c, d, off)
        half = np.hypot(half_on, half_off)
        expected = (max(-2, inside - outside - half), min(2, inside - outside + half))
        assert paired_difference(a, b, on, c, d, off) == pytest.approx(expected, abs=1e-12)
        low, high = paired_difference(b, a, on, d, c, off)
        assert (-high, -low) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("on", "off"), [(20, 200), (60, 440), (200, 240)])
@pytest.mark.parametrize(
    ("inside", "outside"),
    [((0.2, 0.2), (0.05, 0.05)), ((0.3, 0.05), (0.05, 0.05)), ((0.4, 0.1), (0.2, 0.1))],
)
def test_the_paired_interval_covers_its_level(
    on: int, off: int, inside: tuple[float, float], outside: tuple[float, float]
) -> None:
    draw = np.random.default_rng(4)
    counts = [
        draw.multinomial(n, [*rates, 1 - sum(rates)], 4000)[:, :2]
        for n, rates in ((on, inside), (off, outside))
    ]
    true = (inside[0] - inside[1]) - (outside[0] - outside[1])
    limits = np.array(
        [
            paired_difference(*map(int, x), on, *map(int, y), off)
            for x, y in zip(*counts, strict=True)
        ]
    )
    held = float(((limits[:, 0] <= true) & (true <= limits[:, 1])).mean())
    assert 0.94 < held < 0.98
