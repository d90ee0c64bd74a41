"""The median is exact: against an oracle of Fractions that knows nothing of ours."""

from __future__ import annotations

import json
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from janus_jax.values import Threshold, median

INTEGERS = st.integers(-(2**63), 2**63 - 1)
NARROW = st.integers(-3, 3) | st.integers(2**53 - 2, 2**53 + 3) | INTEGERS
FINITE = st.floats(allow_nan=False, allow_infinity=False)
CLOSE = st.sampled_from([1.0, 1.0 + 2**-52, 1.0 + 2**-51, 0.1, 0.2, 5e-324, 1e-323, 1.7e308])


def middle(values):
    """The exact median (Fraction)."""
    return statistics.median([Fraction(value) for value in values])


@given(st.lists(NARROW, min_size=1, max_size=9), st.lists(NARROW, max_size=5))
def test_integers(values, others):
    exact = middle(values)
    threshold = median(np.array(values, dtype=np.int64))
    assert Fraction(threshold.text) == exact
    assert threshold.exact == exact
    seen = values + others
    assert threshold.above(np.array(seen, dtype=np.int64)).tolist() == [v > exact for v in seen]
    assert Threshold.parse(threshold.text) == threshold
    assert json.loads(json.dumps(threshold.value, allow_nan=False)) == float(exact) or isinstance(
        threshold.value, int
    )


@given(st.lists(NARROW, min_size=1, max_size=5), st.lists(FINITE, max_size=5))
def test_integer_thresholds_against_floats(values, floats):
    exact = middle(values)
    threshold = median(np.array(values, dtype=np.int64))
    near = [float(exact), np.nextafter(float(exact), np.inf), np.nextafter(float(exact), -np.inf)]
    seen = floats + [float(value) for value in near]
    assert threshold.above(np.array(seen)).tolist() == [Fraction(v) > exact for v in seen]


@given(st.lists(FINITE | CLOSE, min_size=1, max_size=9))
def test_floats(values):
    exact = middle(values)
    threshold = median(np.array(values))
    # Who is above the median is what the exact median says, however it had to be rounded.
    assert threshold.above(np.array(values)).tolist() == [Fraction(v) > exact for v in values]
    ordered = sorted(values)
    lower = ordered[(len(values) - 1) // 2]
    assert threshold.value == (float(exact) if float(exact) != max_middle(ordered) else lower)
    assert float(threshold.text) == threshold.value
    assert Threshold.parse(threshold.text) == threshold
    json.dumps(threshold.value, allow_nan=False)


def max_middle(ordered):
    """The upper middle value if it is above the lower one, else nothing equal to it."""
    lower, upper = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return upper if upper > lower else None


@given(st.lists(st.tuples(INTEGERS, st.integers(0, 4)), min_size=1, max_size=6))
def test_counts_are_repeated_values(pairs):
    values = np.array([value for value, _ in pairs], dtype=np.int64)
    counts = np.array([count for _, count in pairs])
    if counts.sum():
        assert median(values, counts) == median(np.repeat(values, counts))
    else:
        with pytest.raises(ValueError, match="no values"):
            median(values, counts)


@given(st.lists(FINITE, min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_order_does_not_matter(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    assert median(np.array(shuffled)) == median(np.array(values))


@pytest.mark.parametrize(
    ("values", "text", "value"),
    [
        ([42], "42", 42),
        ([23, 24], "23.5", 23.5),
        ([-1, 0], "-0.5", -0.5),
        ([-24, -23], "-23.5", -23.5),
        ([2147483652, 2147483653], "2147483652.5", 2147483652.5),
        ([2**63 - 1, 2**63 - 2], "9223372036854775806.5", float(2**63)),
        ([-(2**63), 2**63 - 1], "-0.5", -0.5),
        ([2**53 + 1], "9007199254740993", 2**53 + 1),
        ([0.25, 0.5], "0.375", 0.375),
        ([3.0, 3.0], "3", 3.0),
        ([0.1], "0.1", 0.1),
        ([-0.0], "0", 0.0),
        ([1.7e308, 1.7e308], "1.7e+308", 1.7e308),
        ([5e-324, 1e-323], "5e-324", 5e-324),  # the mean would round up to the upper one
        ([1.0, np.inf, 2.0], "2", 2.0),
    ],
)
def test_spelling(values, text, value):
    threshold = median(np.array(values))
    assert (threshold.text, threshold.value, threshold.problem) == (text, value, None)
    assert type(threshold.value) is type(value)


@pytest.mark.parametrize(
    ("values", "text", "problem", "above"),
    [
        ([np.inf], "inf", "its median is infinite", [False, False, False]),
        ([1.0, np.inf], "inf", "its median is infinite", [False, False, False]),
        ([-np.inf, 1.0], "-inf", "its median is infinite", [False, True, True]),
        (
            [-np.inf, np.inf],
            "undefined",
            "its median is undefined: it lies between -inf and inf",
            [False, False, False],
        ),
    ],
)
def test_medians_that_are_no_numbers(values, text, problem, above):
    threshold = median(np.array(values))
    assert (threshold.text, threshold.value, threshold.problem) == (text, None, problem)
    assert threshold.above(np.array([-np.inf, 0.0, np.inf])).tolist() == above
    assert Threshold.parse(text) == threshold


@pytest.mark.parametrize("values", [[np.nan], [1.0, np.nan, np.nan]])
def test_nan_has_no_place_in_a_median(values):
    with pytest.raises(ValueError, match="leave missing values out"):
        median(np.array(values))


def test_nothing_has_no_median():
    with pytest.raises(ValueError, match="no values"):
        median(np.array([], dtype=np.int64))


@pytest.mark.parametrize("text", ["", "x", "1,5", "1_0", "nan"])
def test_a_plan_holds_numbers(text):
    with pytest.raises(ValueError, match="is not a number"):
        Threshold.parse(text)


@pytest.mark.parametrize("text", ["1e30", "-1e30", "0.1"])
def test_thresholds_out_of_reach_of_integers(text):
    extremes = np.array([-(2**63), 0, 1, 2**63 - 1])
    exact = Fraction(text)
    assert Threshold.parse(text).above(extremes).tolist() == [v > exact for v in extremes.tolist()]
