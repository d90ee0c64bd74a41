"""Selection rules against definitions written out here, and statsmodels."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from janus_jax.rules import (
    adjust_benjamini_hochberg,
    allowed_exceedances,
    at_most,
    benjamini_hochberg,
    percentile_95,
    procedure_a,
)

CASES = Path(__file__).parent.parent / "data" / "cases"


def never(index: int) -> Fraction:
    raise AssertionError(f"the exact value of {index} was not needed")


def test_case_18_a_tie_is_one_step() -> None:
    scores = json.loads((CASES / "18_decoy_ties_and_plus_one" / "scores.json").read_text())
    cuts = sorted(set(scores["targets"]))
    reached = [sum(s >= cut for s in scores["targets"]) for cut in cuts]
    decoys = [sum(s >= cut for s in scores["decoys"]) for cut in cuts]
    assert list(zip(cuts, reached, decoys, strict=True)) == [(2, 4, 2), (5, 3, 2)]
    # As published, no "+1": FDP 2/4 at cut 2 and 2/3 at cut 5, with L = K = 4.
    for q, chosen in (("0.49", None), ("0.5", 0), ("0.66", 0)):
        assert procedure_a(decoys, reached, 4, 4, Fraction(q)) == chosen
    # The ratio is not monotone: only the larger cut may pass, and then it is the one.
    assert procedure_a([3, 1], [4, 3], 4, 4, Fraction("0.4")) == 1


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), min_size=1, max_size=8),
    st.integers(1, 40),
    st.integers(1, 50),
    st.fractions(min_value="1/1000", max_value="999/1000", max_denominator=1000),
)
def test_procedure_a_is_the_definition(
    steps: list[tuple[int, int]], library: int, decoys: int, q: Fraction
) -> None:
    exceedances = sorted((d for d, _ in steps), reverse=True)
    reached = sorted((r for _, r in steps), reverse=True)
    fdp = [
        Fraction(library, decoys) * d / max(1, r) for d, r in zip(exceedances, reached, strict=True)
    ]
    expected = next((i for i, value in enumerate(fdp) if value <= q), None)
    assert procedure_a(exceedances, reached, library, decoys, q) == expected
    for most, r in zip(allowed_exceedances(reached, library, decoys, q), reached, strict=True):
        assert Fraction(library, decoys) * most <= q * max(1, r)
        assert Fraction(library, decoys) * (most + 1) > q * max(1, r)


def test_case_20_plateaus() -> None:
    lists = json.loads((CASES / "20_bh_plateaus_and_ties" / "pvalues.json").read_text())
    a = [0.004, 0.02, 0.02, 0.02, 0.06, 0.5]
    assert a in lists.values()
    np.testing.assert_allclose(
        adjust_benjamini_hochberg(a), [0.024, 0.03, 0.03, 0.03, 0.072, 0.5], rtol=1e-12
    )
    b = adjust_benjamini_hochberg([0.4, 0.41, 0.43, 0.44, 0.47])
    assert b.tolist() == [0.47] * 5
    # Equal p-values are accepted together, also exactly on the boundary: 0.03 * 4/6 = 0.02.
    exact = [Fraction(str(p)) for p in a]
    assert benjamini_hochberg(a, Fraction("0.03"), exact.__getitem__) == [True] * 4 + [False] * 2
    assert benjamini_hochberg(a, Fraction("0.0299"), exact.__getitem__) == [True] + [False] * 5


@given(
    st.lists(st.integers(1, 10_000), min_size=1, max_size=30),
    st.sampled_from(["0.05", "0.10", "0.2"]),
)
def test_benjamini_hochberg_in_rationals(tenthousandths: list[int], q: str) -> None:
    exact = [Fraction(p, 10_000) for p in tenthousandths]
    ordered = sorted(exact)
    size = len(exact)
    passing = [i for i in range(1, size + 1) if ordered[i - 1] * size <= Fraction(q) * i]
    limit = ordered[passing[-1] - 1] if passing else Fraction(-1)
    expected = [p <= limit for p in exact]
    floats = [float(p) for p in exact]
    assert benjamini_hochberg(floats, Fraction(q), exact.__getitem__) == expected
    np.testing.assert_allclose(
        adjust_benjamini_hochberg(floats), multipletests(floats, method="fdr_bh")[1], rtol=1e-12
    )


def test_a_boundary_that_floats_miss() -> None:
    # 0.1 * 3 / 3 and its like: p = 1/10 at rank 1 of 1 with q = 1/10 is accepted whatever the float
    # says, and one part in 10**12 above is not.
    for float_p in (np.nextafter(0.1, 0), 0.1, np.nextafter(0.1, 1)):
        assert at_most(float(float_p), Fraction("0.1"), lambda: Fraction(1, 10))
        assert benjamini_hochberg([float(float_p)], Fraction("0.1"), lambda _: Fraction(1, 10)) == [
            True
        ]
        assert not at_most(
            float(float_p), Fraction("0.1"), lambda: Fraction(1, 10) + Fraction(1, 10**12)
        )
    assert at_most(0.05, Fraction("0.1"), lambda: never(0))
    assert benjamini_hochberg([0.0123, 1.0], Fraction("0.1"), never) == [True, False]


def test_floor_of_the_paper() -> None:
    # n = 57, K = 200: the 190th and 191st smallest |lift|, 0.322059 and 0.325926, are interpolated
    # at position 189.05.
    low, high = Fraction(219, 680), Fraction(44, 135)
    assert float(low) == pytest.approx(0.322059, abs=5e-7)
    assert float(high) == pytest.approx(0.325926, abs=5e-7)
    floor = percentile_95({Fraction(1, 10): 189, low: 1, high: 1, Fraction(1, 2): 9})
    assert floor == low * Fraction("0.95") + high * Fraction("0.05")
    assert float(floor) == pytest.approx(0.322252, abs=5e-7)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60))
def test_percentile_is_numpys(values: list[int]) -> None:
    times = {Fraction(v): values.count(v) for v in values}
    assert float(percentile_95(times)) == pytest.approx(np.percentile(values, 95))
