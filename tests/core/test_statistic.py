"""The exact order of |lift| and z, against fractions written out here."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from janus_jax.plan import StatisticName
from janus_jax.statistic import (
    Margins,
    Thresholds,
    exact_exceedances,
    expected_exceedances,
    rank_all,
    rank_table,
)


def one(n: int, n1: int, errors: int, statistic: StatisticName = "lift") -> Margins:
    return Margins((n,), (n1,), (errors,), statistic)


def test_golden_numbers() -> None:
    discovery = one(57, 31, 24)
    assert discovery.lift(8) == Fraction(8, 31) - Fraction(16, 26)
    assert float(discovery.lift(8)) == pytest.approx(-0.35732, abs=5e-6)
    assert discovery.p_value(8) == pytest.approx(0.00825004, abs=5e-9)
    assert discovery.p_value(8) * 34 == pytest.approx(0.2805012, abs=5e-8)
    assert float(one(58, 26, 35).lift(15)) == pytest.approx(-0.0480769, abs=5e-8)
    controlled = one(160, 80, 58)
    assert controlled.lift(52) == Fraction("0.65") - Fraction("0.075") == Fraction("0.575")


def test_a_p_value_that_is_exactly_a_tenth() -> None:
    margins = one(21, 14, 2)
    assert margins.exact_p_value(0) == Fraction(1, 10)
    assert margins.p_value(0) == pytest.approx(0.1, rel=1e-12)


def test_neighbours_that_float64_merges_stay_apart() -> None:
    n, errors = 1_000_003, 400_000
    parts = [(607_391, 362_595), (366_028, 262_831)]
    first, second = (one(n, n1, errors) for n1, _ in parts)
    values = [margins.lift(a) for margins, (_, a) in zip((first, second), parts, strict=True)]
    assert values[0] != values[1]
    assert float(values[0]) == float(values[1])  # the trap
    thresholds = Thresholds([m.key(a) for m, (_, a) in zip((first, second), parts, strict=True)])
    assert len(thresholds) == 2
    table = rank_table([first, second], rank_all([first, second], thresholds))
    ranks = [int(table[g, a]) for g, (_, a) in enumerate(parts)]
    assert sorted(ranks) == [1, 2]
    assert ranks == thresholds.own.tolist()
    assert (ranks[0] < ranks[1]) == (abs(values[0]) < abs(values[1]))


def lift(n: int, n1: int, errors: int, a: int) -> Fraction:
    return abs(Fraction(a, n1) - Fraction(errors - a, n - n1))


def z_squared(n: int, n1: int, errors: int, a: int) -> Fraction:
    variance = Fraction(n1 * (n - n1) * errors * (n - errors), n * n * (n - 1))
    return (a - Fraction(errors * n1, n)) ** 2 / variance if variance else Fraction(0)


@given(st.data(), st.sampled_from(["lift", "z"]))
def test_ranks_are_those_of_fractions(data: st.DataObject, statistic: StatisticName) -> None:
    n = data.draw(st.integers(2, 40))
    errors = data.draw(st.integers(0, n))
    sizes = data.draw(st.lists(st.integers(1, n - 1), min_size=1, max_size=6))
    margins = [one(n, n1, errors, statistic) for n1 in sizes]
    counts = [data.draw(st.integers(*m.span)) for m in margins]
    value = lift if statistic == "lift" else z_squared
    observed = sorted({value(n, n1, errors, a) for n1, a in zip(sizes, counts, strict=True)})
    thresholds = Thresholds([m.key(a) for m, a in zip(margins, counts, strict=True)])
    assert len(thresholds) == len(observed)
    ranks = rank_all(margins, thresholds)
    table = rank_table(margins, ranks)
    for g, n1 in enumerate(sizes):
        low, high = margins[g].span
        for a in range(low, high + 1):
            reached = sum(value(n, n1, errors, a) >= t for t in observed)
            assert table[g, a] == reached
    expected = expected_exceedances(margins, ranks, len(thresholds))
    exact = [exact_exceedances(margins, key) for key in thresholds.keys]
    np.testing.assert_allclose(expected, [float(x) for x in exact], rtol=1e-12)


def test_strata_of_unlike_sizes_leave_the_integers_exact() -> None:
    # The common denominator of these sizes is far beyond 64 bits.
    sizes = tuple(p for p in range(50, 120) if all(p % d for d in range(2, p)))
    on = tuple(p // 3 for p in sizes)
    errors = tuple(p // 4 for p in sizes)
    margins = Margins(sizes, on, errors, "lift")
    mu = sum(Fraction(e * k, n) for n, k, e in zip(sizes, on, errors, strict=True))
    n, n1 = sum(sizes), sum(on)
    a = round(mu) + 9
    assert margins.lift(a) == (a - mu) * n / (n1 * (n - n1))
    first, chances = margins.probabilities
    exact = sum(
        p for count, p in enumerate(chances.tolist(), first) if abs(count - mu) >= abs(a - mu)
    )
    assert margins.p_value(a) == pytest.approx(exact, rel=1e-9)
    assert float(margins.exact_p_value(a)) == pytest.approx(exact, rel=1e-9)
    thresholds = Thresholds([margins.key(a)])
    table = rank_table([margins], rank_all([margins], thresholds))
    assert (table[0, a], table[0, a - 1]) == (1, 0)


def test_a_descriptor_that_cannot_vary_has_p_one() -> None:
    for margins in (one(9, 4, 0), one(9, 4, 9), Margins((3, 3), (3, 0), (1, 2), "z")):
        assert margins.p_value(margins.span[0]) == 1.0
        assert margins.key(margins.span[0]) == 0
        assert margins.z(margins.span[0]) == 0.0


def test_tiny_p_values_are_never_zero() -> None:
    assert one(10**6, 3 * 10**5, 4 * 10**5).p_value(2 * 10**5) == pytest.approx(2.2250738585e-308)
