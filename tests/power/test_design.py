"""Designs: eligibility as ranges, what is impossible, what is refused, and designs of audits."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from janus_jax.behaviour.power_cells import simulate
from janus_jax.behaviour.power_design import (
    Design,
    design_of_audit,
    impossible,
    make_design,
    rarest_tail,
)
from janus_jax.errors import InputError
from janus_jax.library import Counts, decoy_pool, ineligible_reason
from janus_jax.plan import make_plan
from janus_jax.prepare import prepare
from janus_jax.readers import read
from janus_jax.statistic import Margins

OPEN: dict[str, Any] = {
    "n_discovery": 6,
    "n_holdout": 6,
    "library": 3,
    "min_support": 1,
    "min_prevalence": 0,
    "max_prevalence": 1,
}


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "controlled"},
        {"preset": "musique"},
        {"preset": "musique", "n_discovery": 31, "n_holdout": 20, "max_prevalence": "0.7"},
        {"preset": "longbench-v2"},
        {"n_discovery": 50, "n_holdout": 33, "library": 5},
        {"n_discovery": 50, "n_holdout": 33, "library": 5, "min_prevalence": "0.3"},
    ],
)
def test_ranges_admit_whom_the_audit_admits(options: dict[str, Any]):
    design = make_design(options)
    names = [name for name in options if name not in ("n_discovery", "n_holdout", "library")]
    plan = make_plan({"error": "e", **{name: options[name] for name in names}})
    nd, nh, limits = design.n_discovery, design.n_holdout, design.limits

    def counts(n: int, on: int) -> Counts:
        return Counts(Margins((n,), (on,), (1,), "lift"), 0)

    possible = False
    for d in range(nd + 1):
        for h in range(nh + 1):
            one, two = counts(nd, d), counts(nh, h)
            admitted = ineligible_reason(one, two, plan.eligibility) is None
            assert bool(limits.admit(np.array([d]), np.array([h]))[0]) == admitted
            low, high = limits.discovery_beside(h)
            assert (low <= d <= high) == admitted
            possible |= admitted
            if admitted:
                is_source = bool(decoy_pool([one], [True], plan))
                assert bool(limits.admit_sources(np.array([d]))[0]) == is_source
    assert limits.possible == possible


@pytest.mark.parametrize("n", range(2, 9))
def test_rarest_tail_is_the_smallest_over_all_errors_and_labels(n: int):
    design = make_design(OPEN | {"n_discovery": n})
    smallest = Fraction(1)
    for on in range(1, n):
        for errors in range(1, n):
            margins = Margins((n,), (on,), (errors,), "lift")
            largest = max(margins.span, key=margins.key)
            labels = [set(label) for label in combinations(range(n), on)]
            reach = [
                margins.key(len(label & set(range(errors)))) >= margins.key(largest)
                for label in labels
            ]
            smallest = min(smallest, Fraction(sum(reach), len(reach)))
    assert rarest_tail(design) == smallest


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_discovery": 4, "rule": "decoys_exact"}, "q = 0.10"),
        ({"n_discovery": 2, "rule": "decoys"}, "as extreme"),
        ({"min_support": 4}, "--min-support"),
        ({"prevalence": 0}, "on and off"),
        ({"min_prevalence": "0.55", "max_prevalence": "0.60"}, "eligible"),
    ],
)
def test_impossible_designs_are_said_and_find_nothing(options: dict[str, Any], words: str):
    design = make_design(OPEN | options)
    said = impossible(design)
    assert said is not None
    assert words in said
    tally = simulate(design, "0.6", 300, 0)
    assert tally.confirmed == 0


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_discovery": 5, "q": "0.2"},
        {"n_discovery": 3, "rule": "decoys", "q": "0.9"},
        {"preset": "musique"},
    ],
)
def test_possible_designs_are_not_spoken_of(options: dict[str, Any]):
    assert impossible(make_design(OPEN | options)) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "--n-discovery is missing"),
        ({"n_discovery": 50, "n_holdout": 50}, "--library is missing"),
        ({"preset": "janus-lite"}, "--preset janus-lite"),
        ({"preset": "lite"}, "--preset 'lite'"),
        ({"preset": "musique", "rule": "bh_05"}, "--rule bh_05"),
        ({"preset": "musique", "n_discovery": "many"}, "--n-discovery 'many'"),
        ({"preset": "musique", "n_holdout": 10_001}, "--n-holdout is 10001"),
        ({"preset": "musique", "library": 0}, "--library is 0"),
        ({"preset": "musique", "base_error": "1.2"}, "--base-error is 1.2"),
        ({"preset": "musique", "base_error": "nan"}, "--base-error 'nan'"),
        ({"preset": "musique", "prevalence": "1/0"}, "--prevalence '1/0'"),
        ({"preset": "musique", "q": "0.1234567891"}, "--q is 0.1234567891"),
        ({"preset": "musique", "decoys": 2_000_000}, "--decoys is 2,000,000"),
        ({"preset": "musique", "q": "2"}, "--q is 2"),
    ],
)
def test_refusals(options: Mapping[str, Any], words: str):
    with pytest.raises(InputError) as refused:
        make_design(options)
    assert words in str(refused.value)


def audited(**options: Any) -> Design:
    draw = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "wrong": np.arange(80) % 4 == 0,
            "a": np.arange(80) % 2 == 0,
            "b": draw.random(80) < 0.3,
            "c": draw.random(80) < 0.4,
            "rare": np.arange(80) == 3,
            "group": np.arange(80) // 2,
        }
    )
    table["wrong"] = table["wrong"].astype(bool)
    plan = make_plan({"error": "wrong", "exclude": ["group"], **options})
    return design_of_audit(prepare(read(table), plan), plan)


def test_design_of_an_audit():
    design = audited(q="0.2", statistic="z")
    assert (design.n_discovery, design.n_holdout, design.library) == (40, 40, 3)
    assert design.p0 == Fraction(1, 4)
    assert (design.q, design.statistic, design.rule) == ("0.2", "z", "decoys_exact")
    draw = np.random.default_rng(0)
    shares = sorted([40, int((draw.random(80) < 0.3).sum()), int((draw.random(80) < 0.4).sum())])
    assert design.on_rate == Fraction(shares[1], 80)
    assert impossible(design) is None


def test_what_an_audit_has_and_the_simulation_lacks_is_said():
    design = audited(cluster="group", exclude=[])
    assert design.rule == "decoys_exact"
    assert any("--cluster group" in text for text in design.simplified)
    assert any("mean_count" in text for text in design.simplified)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"discovery": 1}, "no holdout"),
        ({"min_support": 60}, "eligible"),
        ({"rule": "max_t"}, "--rule max_t"),
    ],
)
def test_audits_without_a_power(options: dict[str, Any], words: str):
    with pytest.raises(InputError) as refused:
        audited(**options)
    assert words in str(refused.value)
