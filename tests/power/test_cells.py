"""One cell: against the published numbers, a literal simulation, and the audit's own rules."""

from bisect import bisect_left
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from bench import literal_power
from janus_jax import rules, streams
from janus_jax.behaviour.gate_power import gate_chance
from janus_jax.behaviour.power_cells import (
    _ExactDecoys,
    _Library,
    _LiteralDecoys,
    _root_up,
    _Screen,
    _Tails,
    simulate,
    simulate_each,
    statistic_keys,
)
from janus_jax.behaviour.power_design import Design, make_design
from janus_jax.statistic import Margins, exact_exceedances

# Power and standard error of an independent simulation of 200,000 repetitions (60,000 for
# LongBench v2).
PUBLISHED = {
    "controlled": {
        "0.05": 0.0083, "0.10": 0.0319, "0.15": 0.0917, "0.36": 0.7879, "0.37": 0.8170
    },
    "musique": {"0.05": 0.0102, "0.10": 0.0350, "0.15": 0.0940, "0.36": 0.7706, "0.37": 0.8004},
    "longbench-v2": {
        "0.05": 0.0050, "0.10": 0.0147, "0.15": 0.0398, "0.46": 0.7944, "0.47": 0.8204
    },
}  # fmt: skip
# Selected and confirmed of 1,000 repetitions, delta 0.3, seed 7.
PINNED = {
    ("controlled", "decoys", "lift"): (570, 550),
    ("controlled", "decoys", "z"): (569, 549),
    ("controlled", "decoys_exact", "lift"): (532, 513),
    ("controlled", "decoys_exact", "z"): (533, 514),
    ("musique", "decoys", "lift"): (556, 535),
    ("musique", "decoys", "z"): (558, 537),
    ("musique", "decoys_exact", "lift"): (543, 521),
    ("musique", "decoys_exact", "z"): (545, 523),
    ("longbench-v2", "decoys", "lift"): (297, 282),
    ("longbench-v2", "decoys", "z"): (298, 283),
    ("longbench-v2", "decoys_exact", "lift"): (199, 190),
    ("longbench-v2", "decoys_exact", "z"): (199, 190),
}
CELLS = [(preset, delta) for preset, cells in PUBLISHED.items() for delta in cells]


def close(share: float, repetitions: int, other: float, others: int) -> bool:
    """Whether two shares differ by less than 4 standard errors."""
    p = (share * repetitions + other * others) / (repetitions + others)
    return abs(share - other) < 4 * (p * (1 - p) * (1 / repetitions + 1 / others)) ** 0.5


@pytest.mark.parametrize(("preset", "delta"), CELLS)
def test_published_power(preset: str, delta: str):
    tally = simulate(make_design({"preset": preset}), delta, 20_000, 0)
    reference = 60_000 if preset == "longbench-v2" else 200_000
    assert close(tally.confirmed / 20_000, 20_000, PUBLISHED[preset][delta], reference)


@pytest.mark.parametrize("statistic", ["lift", "z"])
@pytest.mark.parametrize("preset", list(PUBLISHED))
def test_literal_simulation(preset: str, statistic: str):
    it = replace(literal_power.CONFIGURATIONS[preset], statistic=statistic)
    selected, confirmed = literal_power.power(it, 0.30, 1_000, 1)
    tally = simulate(make_design({"preset": preset, "statistic": statistic}), "0.30", 20_000, 1)
    assert close(tally.selected / 20_000, 20_000, selected / 1_000, 1_000)
    assert close(tally.confirmed / 20_000, 20_000, confirmed / 1_000, 1_000)


def test_literal_simulation_of_a_rare_descriptor_that_is_often_ineligible():
    it = literal_power.Literal((40, 50), 12, 60, 5, 5, p0=0.3, prevalence=0.2)
    design = make_design(
        {
            "n_discovery": 40, "n_holdout": 50, "library": 12, "decoys": 60, "rule": "decoys",
            "min_support": 5, "min_prevalence": 0, "max_prevalence": 1, "base_error": 0.3,
            "prevalence": 0.2,
        }
    )  # fmt: skip
    selected, confirmed = literal_power.power(it, 0.6, 1_000, 2)
    tally = simulate(design, "0.6", 20_000, 2)
    assert close(tally.selected / 20_000, 20_000, selected / 1_000, 1_000)
    assert close(tally.confirmed / 20_000, 20_000, confirmed / 1_000, 1_000)
    exact = 1 - gate_chance(design, "0.6").eligible
    assert exact > 0.05
    assert abs(tally.ineligible / 20_000 - exact) < 4 * (exact * (1 - exact) / 20_000) ** 0.5


DESIGNS = {
    **{preset: {"preset": preset} for preset in PUBLISHED},
    "small": {
        "n_discovery": 12, "n_holdout": 9, "library": 6, "decoys": 40, "min_support": 2,
        "q": "0.25",
    },
    "rare": {
        "n_discovery": 60, "n_holdout": 60, "library": 30, "decoys": 150, "min_support": 4,
        "min_prevalence": "0.05", "prevalence": "0.13", "q": "0.30",
    },
    "pool": {
        "preset": "longbench-v2", "n_discovery": 70, "library": 9, "prevalence": "0.06",
    },
}  # fmt: skip


@pytest.mark.parametrize("rule", ["decoys", "decoys_exact"])
@pytest.mark.parametrize("statistic", ["lift", "z"])
@pytest.mark.parametrize("name", list(DESIGNS))
def test_the_screen_decides_as_the_audits_rules_do(name: str, statistic: str, rule: str):
    """Every threshold looked at, in fractions, by the functions that an audit calls."""
    design = make_design({**DESIGNS[name], "statistic": statistic, "rule": rule})
    n, limits = design.n_discovery, design.limits
    keys = streams.fold_in(streams.stream_key(3, streams.POWER), np.arange(60, dtype=np.uint32))
    draw = np.random.default_rng(4)
    outcomes = set()
    for errors in (n // 6, n // 3, n // 2):
        on = np.clip(draw.binomial(n, float(design.on_rate), 60), *limits.discovery)
        if design.eligibility.pool:
            on = np.maximum(on, limits.pool[0])
        errors_on = np.minimum(np.minimum(on, errors), draw.integers(0, errors + 1, 60))
        errors_on = np.maximum(errors_on, errors - (n - on))
        library = _Library(design, limits, errors, on, errors_on, keys)
        chosen = _Screen(design, limits).select(errors, on, errors_on, keys)
        decoys = _LiteralDecoys(design, errors, library, keys) if rule == "decoys" else None
        for lane in range(60):
            expected = by_the_rules(design, errors, library, decoys, lane)
            assert bool(chosen[lane]) == expected
            outcomes.add(expected)
    assert outcomes == {False, True}


def by_the_rules(
    design: Design, errors: int, library: _Library, decoys: _LiteralDecoys | None, lane: int
) -> bool:
    n, size = design.n_discovery, int(library.size[lane])
    ons = library.on[-size:, lane].tolist()
    distances = library.distance[-size:, lane].tolist()

    def key(on: int, distance: int) -> Fraction:
        margins = Margins((n,), (on,), (errors,), design.statistic)
        return Fraction(*margins.key_parts(distance))

    values = [key(on, d) for on, d in zip(ons, distances, strict=True)]
    own = values[int(library.place_of_designated[lane]) - (design.library - size)]
    assert values == sorted(values)
    thresholds = sorted(set(values))
    reached = [sum(v >= t for v in values) for t in thresholds]
    q = Fraction(design.q)
    sources = library.sources[: int(library.source_count[lane]), lane].tolist()
    if decoys is not None:
        # The drawn keys are exact; each threshold's is that of a descriptor which has it.
        marks = [library.keys[-size:, lane][values.index(t)] for t in thresholds]
        exceed = [int((decoys._keys[:, lane] >= mark).sum()) for mark in marks]
        index = rules.procedure_a(exceed, reached, size, design.decoys, q)
    else:
        margins = [Margins((n,), (on,), (errors,), design.statistic) for on in sources]
        scale = Fraction(size, len(sources))
        exact = (scale * sum(exact_tail(its, t) for its in margins) for t in thresholds)
        pairs = zip(exact, reached, strict=True)
        index = next((i for i, (s, r) in enumerate(pairs) if s <= q * r), None)
    return index is not None and own >= thresholds[index]


@cache
def attained(margins: Margins) -> list[Fraction]:
    """Every value that the statistic takes, in order."""
    low, high = margins.span
    return sorted({margins.key(count) for count in range(low, high + 1)})


@cache
def tail_from(margins: Margins, value: Fraction) -> Fraction:
    return exact_exceedances([margins], value)


def exact_tail(margins: Margins, threshold: Fraction) -> Fraction:
    """The chance to reach a threshold: that of the least value which does, computed once."""
    values = attained(margins)
    place = bisect_left(values, threshold)
    return tail_from(margins, values[place]) if place < len(values) else Fraction(0)


def test_expected_exceedances_at_a_boundary_are_decided_in_integers():
    # n = 21, E = 2, n1 = 14, a = 0: the chance of so large a lift is 1/10 exactly.
    design = make_design(
        {
            "n_discovery": 21, "n_holdout": 20, "library": 1, "min_support": 1,
            "min_prevalence": 0, "max_prevalence": 1, "q": "0.1",
        }
    )  # fmt: skip
    key = streams.fold_in(streams.stream_key(0, streams.POWER), np.arange(1, dtype=np.uint32))
    library = _Library(design, design.limits, 2, np.array([14]), np.array([0]), key)
    reach = _ExactDecoys(design, 2, library, _Tails(21))
    qualifies, _ = reach.decide(np.array([0]), library.place_of_designated, np.array([1]))
    assert qualifies.tolist() == [True]
    assert reach._exact(0, reach._least_distance(np.array([0]), np.array([0]))[:, 0].tolist()) == (
        Fraction(1, 10)
    )


@pytest.mark.parametrize("rule", ["decoys", "decoys_exact"])
def test_a_repetition_depends_on_its_number_alone(rule: str):
    design = make_design({"preset": "longbench-v2", "rule": rule})
    ids = np.arange(600, dtype=np.uint32)
    whole = simulate_each(design, "0.3", ids, 5)
    some = np.random.default_rng(0).permutation(600)[:217].astype(np.uint32)
    part = simulate_each(design, "0.3", some, 5)
    for name in ("eligible", "selected", "passed"):
        assert np.array_equal(getattr(whole, name)[some], getattr(part, name))


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch):
    design = make_design({"preset": "musique"})
    whole = simulate(design, "0.3", 500, 6)
    monkeypatch.setattr("janus_jax.behaviour.power_cells._CELLS", 700)
    monkeypatch.setattr("janus_jax.behaviour.power_cells._TAIL_CELLS", 50)
    assert simulate(design, "0.3", 500, 6) == whole
    exact = make_design({"preset": "musique", "rule": "decoys_exact"})
    few = simulate(exact, "0.3", 500, 6)
    monkeypatch.undo()
    assert simulate(exact, "0.3", 500, 6) == few


def test_pinned_counts():
    """The same on every machine."""
    found = {
        (preset, rule, statistic): simulate(
            make_design({"preset": preset, "rule": rule, "statistic": statistic}), "0.3", 1000, 7
        )
        for preset in PUBLISHED
        for rule in ("decoys", "decoys_exact")
        for statistic in ("lift", "z")
    }
    assert {at: (it.selected, it.confirmed) for at, it in found.items()} == PINNED


def test_power_rises_with_delta_under_common_random_numbers():
    design = make_design({"preset": "controlled"})
    values = [simulate(design, f"0.{k:02}", 2_000, 8).confirmed for k in range(0, 60, 5)]
    assert values == sorted(values)


def test_a_negative_delta_mirrors_a_positive_one():
    # p0 = 0.5: errors and right answers change places.
    design = make_design({"preset": "controlled", "base_error": "0.5"})
    up, down = (simulate(design, delta, 20_000, 9).confirmed / 20_000 for delta in ("0.3", "-0.3"))
    assert close(up, 20_000, down, 20_000)


@pytest.mark.parametrize("base_error", ["0", "1"])
def test_no_errors_or_nothing_else_finds_nothing(base_error: str):
    for rule in ("decoys", "decoys_exact"):
        design = make_design({"preset": "musique", "base_error": base_error, "rule": rule})
        tally = simulate(design, "0", 300, 0)
        assert (tally.selected, tally.confirmed) == (0, 0)


@pytest.mark.parametrize("statistic", ["lift", "z"])
@pytest.mark.parametrize("n", [12, 80, 997, 10_000])
def test_keys_order_exactly(n: int, statistic: str):
    draw = np.random.default_rng(n)
    errors = int(draw.integers(1, n))
    on = draw.integers(1, n, 400)
    on = np.concatenate([on, n - on])  # complements: equal values
    a = draw.integers(np.maximum(0, on + errors - n), np.minimum(on, errors) + 1)
    a[400:] = errors - a[:400]
    distance, on_off = np.abs(a * n - errors * on), on * (n - on)
    keys = statistic_keys(distance, on_off, statistic)
    power = 1 if statistic == "lift" else 2
    exact = [Fraction(d**power, m) for d, m in zip(distance.tolist(), on_off.tolist(), strict=True)]
    dense = {value: rank for rank, value in enumerate(sorted(set(exact)))}
    _, ours = np.unique(keys, return_inverse=True)
    assert ours.tolist() == [dense[value] for value in exact]
    assert ((keys[:, None] >= keys) == (ours[:, None] >= ours)).all()


def test_roots_are_rounded_up_in_integers():
    squares = np.array([0, 1, 2, 3, 4, 5, 10**14, 10**14 + 1, (2**25 - 1) ** 2, (2**25) ** 2 - 1])
    roots = _root_up(squares)
    for square, root in zip(squares.tolist(), roots.tolist(), strict=True):
        assert root * root >= square
        assert root == 0 or (root - 1) ** 2 < square


def test_progress_ends_with_all_repetitions():
    seen: list[int] = []
    simulate(make_design({"preset": "musique"}), "0.3", 300, 0, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 300
