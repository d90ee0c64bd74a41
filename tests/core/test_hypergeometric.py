"""Permutation distributions against scipy and against enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from janus_jax.hypergeometric import exact_weights, probabilities, support

blocks = st.integers(1, 60).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))
)


@given(blocks)
def test_one_stratum_equals_scipy(block: tuple[int, int, int]) -> None:
    n, n1, errors = block
    low, high = support([block])
    expected = stats.hypergeom.pmf(np.arange(low, high + 1), n, n1, errors)
    np.testing.assert_allclose(probabilities([block]), expected, rtol=1e-9)


@given(st.lists(blocks, min_size=1, max_size=3))
def test_floats_are_the_integers_to_twelve_digits(strata: list[tuple[int, int, int]]) -> None:
    weights, total = exact_weights(strata)
    assert sum(weights) == total == math.prod(math.comb(n, e) for n, _, e in strata)
    exact = [float(Fraction(w, total)) for w in weights]
    np.testing.assert_allclose(probabilities(strata), exact, rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "n1", "errors"), [(12_032, 5_000, 3_309), (1_000_003, 362_595, 400_000)]
)
def test_large_tables_keep_twelve_digits(n: int, n1: int, errors: int) -> None:
    # Neighbouring exact ratios, multiplied out from the mode in integers far enough to matter.
    low, _ = support([(n, n1, errors)])
    found = probabilities([(n, n1, errors)])
    mode = int(found.argmax())
    ratio = Fraction(1)
    for step in range(400):
        a = low + mode + step
        ratio *= Fraction((n1 - a) * (errors - a), (a + 1) * (n - n1 - errors + a + 1))
        got = found[mode + step + 1] / found[mode]
        assert abs(Fraction(float(got)) / ratio - 1) < Fraction(1, 10**12)
    assert abs(found.sum() - 1) < 1e-12


def test_weights_count_the_arrangements_of_every_stratum() -> None:
    on = [(1, 0, 1, 0), (1, 1, 0)]
    errors = (2, 1)
    seen: Counter[int] = Counter()
    choices = [itertools.combinations(range(len(s)), e) for s, e in zip(on, errors, strict=True)]
    for picks in itertools.product(*choices):
        seen[sum(s[i] for s, pick in zip(on, picks, strict=True) for i in pick)] += 1
    strata = [(len(s), sum(s), e) for s, e in zip(on, errors, strict=True)]
    low, high = support(strata)
    weights, total = exact_weights(strata)
    assert total == sum(seen.values()) == 18
    assert dict(zip(range(low, high + 1), weights, strict=True)) == dict(seen)
