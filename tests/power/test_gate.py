"""The gate's probability and the holdout it needs, beside sums over every pair of counts."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from janus_jax.behaviour.gate_power import (
    exact_gate_probability,
    gate_chance,
    gate_probability,
    normal_gate_probability,
    smallest_holdout,
)
from janus_jax.behaviour.power_cells import simulate_each
from janus_jax.behaviour.power_design import make_design

C = Fraction(1, 10)
CASES = [
    ("0.2", "0.4", 37, 38, "0.10"),
    ("0.36", "0.4", 40, 40, "0.10"),
    ("0.05", "0.4", 8, 52, "0.10"),
    ("-0.2", "0.4", 37, 20, "0.10"),
    ("0.3", "0.1", 5, 5, "0.2"),
    ("0.3", "0.1", 10, 15, "0"),
    ("0", "0.4", 12, 12, "0"),
    ("0.6", "0.4", 3, 9, "1"),
    ("-0.4", "0.4", 7, 9, "0.25"),
]


def brute(delta: str, base: str, n_on: int, n_off: int, c: str) -> float:
    """Every pair of counts, scipy's probabilities, the lift as a fraction."""
    p0 = float(base)
    inside = stats.binom.pmf(np.arange(n_on + 1), n_on, float(Fraction(base) + Fraction(delta)))
    outside = stats.binom.pmf(np.arange(n_off + 1), n_off, p0)
    sign = 1 if Fraction(delta) >= 0 else -1
    return sum(
        x * y
        for a, x in enumerate(inside)
        for b, y in enumerate(outside)
        if (lift := sign * (Fraction(a, n_on) - Fraction(b, n_off))) >= Fraction(c) and lift > 0
    )


@pytest.mark.parametrize("case", CASES)
def test_probability_is_the_sum_over_all_counts(case: tuple[str, str, int, int, str]):
    delta, base, n_on, n_off, c = case
    arguments = Fraction(delta), Fraction(base), n_on, n_off, Fraction(c)
    assert gate_probability(*arguments) == pytest.approx(brute(*case), rel=1e-10, abs=1e-15)
    exact = exact_gate_probability(*arguments)
    assert abs(Fraction(gate_probability(*arguments)) - exact) <= exact / 10**12


def test_a_lift_of_exactly_c_passes():
    # 1/2 - 2/5 = 1/10: by floats this is 0.09999999999999998.
    always = {"delta": Fraction(1, 2), "base_error": Fraction(1, 2)}
    passes = exact_gate_probability(**always, n_on=1, n_off=10, min_holdout_lift=C)
    assert passes == sum(
        Fraction(int(stats.binom.pmf(k, 10, 0.5) * 1024 + 0.5), 1024) for k in range(10)
    )


def test_normal_approximation_is_near_where_counts_are_large():
    for delta in (Fraction(1, 10), Fraction(3, 20), Fraction(1, 5)):
        exact = gate_probability(delta, Fraction(2, 5), 2000, 3000, C)
        assert normal_gate_probability(delta, Fraction(2, 5), 2000, 3000, C) == pytest.approx(
            exact, abs=0.01
        )


@pytest.mark.parametrize("delta", ["0.2", "0.3", "0.45", "-0.3"])
@pytest.mark.parametrize("wanted", ["0.5", "0.8", "0.95"])
@pytest.mark.parametrize("prevalence", ["0.5", "0.2"])
def test_smallest_holdout_is_the_one_after_the_last_that_fails(
    delta: str, wanted: str, prevalence: str
):
    d, rate = Fraction(delta), Fraction(prevalence)
    found = smallest_holdout(d, Fraction(2, 5), rate, C, Fraction(wanted))
    assert found is not None

    def suffices(n: int) -> bool:
        on = int(rate * n + Fraction(1, 2))
        return min(on, n - on) >= 1 and exact_gate_probability(
            d, Fraction(2, 5), on, n - on, C
        ) >= Fraction(wanted)

    assert (found.n_on, found.n_off) == (
        int(rate * found.n + Fraction(1, 2)),
        found.n - int(rate * found.n + Fraction(1, 2)),
    )
    assert all(suffices(n) for n in range(found.n, found.n + 60))
    assert not suffices(found.n - 1)
    assert found.probability >= float(Fraction(wanted))


def test_the_probability_is_a_sawtooth():
    values = [
        gate_probability(Fraction(1, 5), Fraction(2, 5), n // 2, n - n // 2, C)
        for n in range(20, 90)
    ]
    assert any(b < a for a, b in pairwise(values))


def test_an_effect_no_larger_than_the_limit_needs_more_than_any_holdout():
    for delta in ("0.05", "0.10", "-0.10"):
        assert smallest_holdout(Fraction(delta), Fraction(2, 5), C * 5, C, Fraction(1, 2)) is None


def test_support_counts():
    few = smallest_holdout(Fraction(1, 2), Fraction(2, 5), C * 5, C, Fraction(4, 5))
    more = smallest_holdout(
        Fraction(1, 2), Fraction(2, 5), C * 5, C, Fraction(4, 5), min_on=20, min_off=20
    )
    assert few is not None
    assert more is not None
    assert few.n < more.n == 40


@pytest.mark.parametrize("preset", ["controlled", "musique", "longbench-v2"])
@pytest.mark.parametrize("prevalence", ["0.5", "0.1"])
def test_chances_of_a_design_are_those_of_its_simulation(preset: str, prevalence: str):
    # So strong an effect that discovery sees its sign, so high a limit that holdout may miss it.
    design = make_design(
        {
            "preset": preset, "prevalence": prevalence, "rule": "decoys_exact",
            "base_error": "0.05", "min_holdout_lift": "0.75",
        }
    )  # fmt: skip
    chance = gate_chance(design, "0.8")
    assert 0.1 < chance.passes / chance.eligible < 0.9
    fate = simulate_each(design, "0.8", np.arange(20_000, dtype=np.uint32), 1)
    for exact, seen, wrong_sign in (
        (chance.eligible, fate.eligible.mean(), 0),
        (chance.passes, (fate.eligible & fate.passed).mean(), 0.002),
    ):
        assert abs(exact - seen) <= 4 * (exact * (1 - exact) / 20_000) ** 0.5 + wrong_sign + 1e-12
