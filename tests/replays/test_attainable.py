"""The exact order of every attainable value, and needs that lie on a boundary."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from janus_jax.behaviour.attainable import Attainable, kept_counts
from janus_jax.behaviour.needs import (
    allowed_tables,
    decoy_cuts,
    expected_needs,
    large_lifts,
    level_needs,
    limit_needs,
    p_values,
    step_up_needs,
)
from janus_jax.hypergeometric import exact_weights
from janus_jax.plan import StatisticName
from janus_jax.statistic import Margins

STATISTICS: list[StatisticName] = ["lift", "z"]


@st.composite
def libraries(draw: st.DrawFn, most: int = 30) -> list[Margins]:
    """A few descriptors of one split, with up to three strata."""
    sizes = tuple(draw(st.lists(st.integers(1, most), min_size=1, max_size=3)))
    errors = tuple(draw(st.integers(0, n)) for n in sizes)
    statistic = draw(st.sampled_from(STATISTICS))
    on = st.tuples(*(st.integers(0, n) for n in sizes))
    return [Margins(sizes, k, errors, statistic) for k in draw(st.lists(on, min_size=1))]


def value(margins: Margins, count: int) -> Fraction:
    """|lift| or z squared from their formulas, in fractions."""
    blocks = list(zip(margins.sizes, margins.on, margins.errors, strict=True))
    n, on = sum(margins.sizes), sum(margins.on)
    mean = sum(Fraction(k * e, m) for m, k, e in blocks)
    if margins.statistic == "lift":
        return abs(count - mean) * Fraction(n, on * (n - on)) if 0 < on < n else Fraction(0)
    variance = sum(
        Fraction(k * (m - k) * e * (m - e), m * m * (m - 1)) for m, k, e in blocks if m > 1
    )
    return (count - mean) ** 2 / variance if variance else Fraction(0)


def check(margins: list[Margins], *, every: bool) -> Attainable:
    """Ranks and keys against all values as fractions."""
    found = Attainable(margins, every=every)
    values = {
        (m, count): value(m, count)
        for m in dict.fromkeys(margins)
        for count in kept_counts(m, every=every)
    }
    ordered = sorted(set(values.values()))
    assert found.levels == len(ordered)
    level = {v: place for place, v in enumerate(ordered, start=1)}
    for (m, count), v in values.items():
        assert found.ranks[m][count - m.span[0]] == level[v]
    scale = {m: m.key(c) / v for (m, c), v in values.items() if v}
    assert len(set(scale.values())) <= 1  # keys are the values times one constant
    for place, v in enumerate(ordered, start=1):
        assert found.key(place) == v * next(iter(scale.values()), Fraction(1))
    return found


@given(libraries())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_ranks_are_those_of_all_values_as_fractions(margins: list[Margins]) -> None:
    check(margins, every=True)
    check(margins, every=False)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_many_margins_of_a_large_split(statistic: StatisticName) -> None:
    # Thousands of values, many equal across descriptors, on both sides of the middle.
    margins = [Margins((120,), (on,), (48,), statistic) for on in range(121)]
    assert check(margins, every=False).levels > 500


@pytest.mark.parametrize("statistic", STATISTICS)
def test_strata_whose_scale_leaves_64_bits(statistic: StatisticName) -> None:
    sizes = (61, 59, 53, 47, 43, 41, 37, 31, 29, 23, 19, 17, 13)
    assert math.lcm(*sizes) > 2**63
    errors = tuple(n // 3 for n in sizes)
    margins = [
        Margins(sizes, tuple((n * part) // 7 for n in sizes), errors, statistic)
        for part in (1, 2, 3, 5)
    ]
    check(margins, every=False)


def test_different_lifts_that_one_float_cannot_tell_apart() -> None:
    n, wrong = 1_000_003, 400_000
    first, second = (Margins((n,), (on,), (wrong,), "lift") for on in (607_391, 366_028))
    counts = (362_595, 262_831)
    lifts = [m.lift(a) for m, a in zip((first, second), counts, strict=True)]
    assert float(lifts[0]) == float(lifts[1])
    assert lifts[0] != lifts[1]
    found = Attainable([first, second], every=True)
    levels = [
        int(found.ranks[m][a - m.span[0]]) for m, a in zip((first, second), counts, strict=True)
    ]
    assert (levels[0] < levels[1]) == (abs(lifts[0]) < abs(lifts[1]))
    assert abs(levels[0] - levels[1]) == 1
    # Every pair of neighbours among all values, around the close one and far from it.
    low = min(levels)
    places = [*range(low - 50, low + 50), 1, 2, 3, found.levels - 1, found.levels]
    keys = [found.key(place) for place in sorted(places)]
    assert all(a < b for a, b in itertools.pairwise(keys))


def test_one_square_root_merges_what_z_tells_apart() -> None:
    # Close in z and apart in fractions: the neighbours of a large split, each pair in order.
    n, wrong = 20_011, 7_001
    margins = [Margins((n,), (on,), (wrong,), "z") for on in range(4_000, 4_400)]
    found = Attainable(margins)
    draw = np.random.default_rng(1)
    for place in draw.integers(1, found.levels, 300).tolist():
        assert found.key(place) < found.key(place + 1)
    for m in margins[::40]:
        span = kept_counts(m, every=False)
        ranks = found.ranks[m][span.start - m.span[0] : span.stop - m.span[0]]
        for count, rank in list(zip(span, ranks.tolist(), strict=True))[::50]:
            assert found.key(rank) == m.key(count)


# Needs


@given(libraries(12), st.sampled_from(["0.05", "0.10", "0.25", "0.5", "0.9"]))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_needs_are_decided_in_fractions(margins: list[Margins], text: str) -> None:
    q, size = Fraction(text), len(margins)
    attainable = Attainable(margins)
    tails = {m: weights(m) for m in margins}
    needs = expected_needs(attainable, margins, size, q).tolist()
    cuts = decoy_cuts(attainable, margins).tolist()
    for level in range(1, attainable.levels + 1):
        key = attainable.key(level)
        expected = sum(
            (w for m in margins for a, w in tails[m].items() if m.key(a) >= key), Fraction(0)
        )
        least = [r for r in range(1, size + 1) if expected <= q * r]
        assert needs[level - 1] == (least[0] if least else size + 1)
        exact = math.floor(expected / size * 2**32)
        # A word of 2**32 does not exist, and floats may miss a boundary by a word.
        assert abs(cuts[level - 1] - min(exact, 2**32 - 1)) <= 1
    for m in dict.fromkeys(margins):
        kept = kept_counts(m, every=False)
        steps = step_up_needs(m, kept, size, q).tolist()
        fixed = level_needs(m, kept, size, q).tolist()
        shown = p_values(m, kept).tolist()
        signs = large_lifts(m, kept, q).tolist()
        for place, count in enumerate(kept):
            far = abs(m.signed_distance(count))
            p = sum((w for a, w in tails[m].items() if abs(m.signed_distance(a)) >= far),
                    Fraction(0))  # fmt: skip
            assert shown[place] == pytest.approx(float(p), rel=1e-11)
            least = [r for r in range(1, size + 1) if p * size <= q * r]
            assert steps[place] == (least[0] if least else size + 1)
            assert fixed[place] == (1 if p <= q else size + 1)
            lift = m.lift(count)
            assert signs[place] == ((lift > 0) - (lift < 0) if abs(lift) >= q else 0)


def weights(margins: Margins) -> dict[int, Fraction]:
    """Probability of every attainable count."""
    blocks = list(zip(margins.sizes, margins.on, margins.errors, strict=True))
    many, total = exact_weights(blocks)
    return {margins.span[0] + i: Fraction(w, total) for i, w in enumerate(many)}


def test_a_p_of_exactly_one_tenth_is_seen() -> None:
    margins = Margins((21,), (14,), (2,), "lift")
    kept = kept_counts(margins, every=False)
    assert margins.exact_p_value(0) == Fraction(1, 10)
    place = 0 - kept.start
    for library in (1, 2, 3, 7, 10, 41):
        # p L / q is the whole number L at q = 1/10, and 2 L at 1/20.
        assert step_up_needs(margins, kept, library, Fraction("0.10"))[place] == library
        assert step_up_needs(margins, kept, library, Fraction("0.05"))[place] == library + 1
        assert step_up_needs(margins, kept, library, Fraction("0.2"))[place] == -(-library // 2)
    assert level_needs(margins, kept, 5, Fraction("0.10"))[place] == 1
    assert level_needs(margins, kept, 5, Fraction("0.0999999999999"))[place] == 6
    assert level_needs(margins, kept, 5, Fraction("0.1000000000001"))[place] == 1


@pytest.mark.parametrize("off", [Fraction(0), Fraction(1, 10**15), Fraction(-1, 10**15)])
def test_whole_numbers_and_what_is_close_to_them(off: Fraction) -> None:
    size = 50
    exact = [Fraction(i) + off for i in range(1, 60)] + [Fraction(0), Fraction(1, 10**30)]
    shown = np.array([float(e) * (1 + sign * 1e-12) for e in exact for sign in (-1, 0, 1)])
    found = limit_needs(shown, size, lambda i: exact[i // 3])
    wanted = [min(max(math.ceil(e), 1), size + 1) for e in exact for _ in range(3)]
    assert found.tolist() == wanted


def test_far_from_a_whole_number_nobody_asks() -> None:
    def never(_: int) -> Fraction:
        raise AssertionError("asked")

    values = np.array([0.0, 1e-300, 0.4, 1.5, 2.0000001, 49.99, 50.6, 1e9, np.inf])
    assert limit_needs(values, 50, never).tolist() == [1, 1, 1, 2, 3, 50, 51, 51, 51]


@given(st.integers(1, 60), st.integers(1, 400), st.sampled_from(["0.05", "0.1", "0.5", "0.999"]))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_allowed_decoys(library: int, decoys: int, text: str) -> None:
    q = Fraction(text)
    plain, more = allowed_tables([decoys], library, q, plus_one=True)[:, 0].tolist()
    assert plain[0] == more[0] == -1
    for reached in range(1, library + 1):
        for table, extra in ((plain, 0), (more, 1)):
            fits = [
                d
                for d in range(decoys + 1)
                if Fraction(library, decoys) * (d + extra) / reached <= q
            ]
            assert table[reached] == max(fits, default=-1)
