"""Binomial probabilities and the tables that invert them, beside scipy and exact integers."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from janus_jax.behaviour import binomial
from janus_jax.behaviour.inverse import (
    WORD,
    binomial_cuts,
    draw_binomials,
    hypergeometric_cuts,
    make_cuts,
)

CHANCES = [Fraction(1, 2), Fraction(2, 5), Fraction(77, 100), Fraction(1, 1000), Fraction(29, 80)]


@pytest.mark.parametrize("p", CHANCES)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 80, 1000])
def test_probabilities_are_scipys(n: int, p: Fraction):
    ours = binomial.probabilities(n, p)
    theirs = stats.binom.pmf(np.arange(n + 1), n, float(p))
    shown = theirs > 1e-290
    assert ours.shape == (n + 1,)
    np.testing.assert_allclose(ours[shown], theirs[shown], rtol=2e-11)  # scipy's own error


@pytest.mark.parametrize("p", CHANCES)
def test_probabilities_are_within_1e_12_of_the_exact_ones(p: Fraction):
    n = 300
    weights, total = binomial.exact_weights(n, p)
    assert sum(weights) == total
    for ours, weight in zip(binomial.probabilities(n, p).tolist(), weights, strict=True):
        exact = Fraction(weight, total)
        if exact > Fraction(1, 10**300):
            assert abs(Fraction(ours) - exact) <= exact / 10**12


def test_successes_and_failures_are_mirrored_to_the_last_bit():
    for n in (5, 80, 333):
        for p in CHANCES:
            mirrored = binomial.probabilities(n, 1 - p)[::-1]
            assert np.array_equal(binomial.probabilities(n, p), mirrored)


@pytest.mark.parametrize(("p", "at"), [(Fraction(0), 0), (Fraction(1), 9)])
def test_certain_outcomes(p: Fraction, at: int):
    assert np.flatnonzero(binomial.probabilities(9, p)).tolist() == [at]
    words = np.array([0, 1, WORD - 1], dtype=np.uint32)
    assert binomial_cuts(9, p).draw(words).tolist() == [at] * 3


def test_cuts_keep_each_probability_to_one_word():
    for p in CHANCES:
        cuts = binomial_cuts(80, p)
        weights, total = binomial.exact_weights(80, p)
        widths = np.diff(cuts.cuts.astype(object), prepend=0)
        drawn = {cuts.first + k: int(width) for k, width in enumerate(widths)}
        assert sum(drawn.values()) == WORD
        for k, weight in enumerate(weights):
            assert abs(drawn.get(k, 0) - Fraction(weight * WORD, total)) <= 1


def test_a_draw_is_the_first_value_whose_cut_lies_above_the_word():
    cuts = make_cuts(3, np.array([0.0, 0.25, 0.25, 0.5, 1e-20]))
    quarter = WORD // 4
    assert cuts.first == 4
    assert cuts.cuts.tolist() == [quarter, 2 * quarter, WORD]
    words = np.array([0, quarter - 1, quarter, 2 * quarter - 1, 2 * quarter, WORD - 1], np.uint32)
    assert cuts.draw(words).tolist() == [4, 4, 5, 5, 6, 6]


def test_many_binomials_at_once_are_drawn_as_one_by_one():
    draw = np.random.default_rng(0)
    trials = draw.integers(0, 90, size=(7, 50))
    words = draw.integers(0, WORD, size=trials.shape, dtype=np.uint32)
    drawn = draw_binomials(trials, Fraction(2, 5), words)
    for size, word, value in zip(trials.ravel(), words.ravel(), drawn.ravel(), strict=True):
        assert binomial_cuts(int(size), Fraction(2, 5)).draw(np.array([word])).tolist() == [value]


def test_hypergeometric_draws_have_scipys_frequencies():
    words = np.random.default_rng(1).integers(0, WORD, size=200_000, dtype=np.uint32)
    drawn = hypergeometric_cuts(80, 31, 24).draw(words)
    counts = np.bincount(drawn, minlength=25)[:25]
    expected = stats.hypergeom.pmf(np.arange(25), 80, 24, 31) * len(words)
    common = expected > 10
    assert (
        stats.chisquare(
            [*counts[common], counts[~common].sum()], [*expected[common], expected[~common].sum()]
        ).pvalue
        > 1e-4
    )
