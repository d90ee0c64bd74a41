"""Small random tables against full enumeration of every relabelling, through the command line."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.audits import cli, made
from tests.oracle import oracle

FEW = settings(max_examples=25, deadline=None, derandomize=True)
ENUMERATED = ("--backend", "numpy", "--permutations", "5000", "--decoys", "50")


@dataclass(frozen=True)
class Case:
    """A small table and the limits of its audit."""

    library: dict[str, list[int]]
    errors: list[int]
    strata: list[str] | None
    statistic: str
    q: str
    alpha: str

    def run(self) -> cli.Result:
        columns: dict[str, Any] = {name: made.words(m) for name, m in self.library.items()}
        columns["error"] = self.errors
        more: list[str] = []
        if self.strata is not None:
            columns["block"] = self.strata
            more = ["--strata", "block"]
        return made.audit(
            columns,
            *cli.WHOLE,
            *ENUMERATED,
            *("--statistic", self.statistic, "--q", self.q, "--alpha", self.alpha),
            *more,
        )


def both_values(n: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(lambda v: 0 < sum(v) < n)


@st.composite
def cases(draw: st.DrawFn, blocks: bool) -> Case:
    n = draw(st.integers(4, 9))
    size = draw(st.integers(1, 4))
    return Case(
        {f"g{i}": draw(both_values(n)) for i in range(size)},
        draw(both_values(n)),
        draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n)) if blocks else None,
        draw(st.sampled_from(["lift", "z"])),
        draw(st.sampled_from(["0.05", "0.10", "0.25", "0.5", "0.9"])),
        draw(st.sampled_from(["0.05", "0.2", "0.5"])),
    )


def near(value: Fraction) -> Any:
    return pytest.approx(float(value), rel=1e-12)


def agree(case: Case, result: cli.Result) -> None:
    """Every exact quantity of the result is the oracle's."""
    names = list(case.library)
    members = list(case.library.values())
    q, alpha = Fraction(case.q), Fraction(case.alpha)
    table = oracle.enumerate_all(members, case.errors, case.strata, case.statistic)
    assert cli.library(result) == set(names)
    resolution = result["screen"]["permutations"]
    assert resolution["kind"] == "enumerated"
    assert resolution["count"] == resolution["labellings"] == table.total

    p = oracle.exact_p(table)
    expected = {
        "p_exact": p,
        "p_monte_carlo": p,  # enumerated: the same share, without the +1
        "p_bh": oracle.bh_adjusted(p),
        "p_max_t": oracle.max_t(table),
        "p_max_t_step_down": oracle.max_t_step_down(table),
    }
    for field, wanted in expected.items():
        for name, value in zip(names, wanted, strict=True):
            assert cli.one(result, name)[field] == near(value), (field, name)
    for name, member in case.library.items():
        discovery = cli.one(result, name)["discovery"]
        assert discovery["lift"] == float(oracle.lift(member, case.errors))
        if case.strata is None:
            squared = oracle.statistic("z", member, case.errors)
            assert discovery["z"] == pytest.approx(
                math.copysign(math.sqrt(squared), discovery["lift"]), rel=1e-12, abs=0
            )

    cut = oracle.decoys_exact(table, q)
    assert oracle.mean_count(table, q).selected == cut.selected
    chosen = {
        "decoys_exact": cut.selected,
        "mean_count": cut.selected,
        "mean_count_exact": cut.selected,
        "unadjusted": oracle.at_most(p, alpha),
        "bh_05": oracle.bh(p, Fraction("0.05")),
        "bh_10": oracle.bh(p, Fraction("0.10")),
        "max_t": oracle.at_most(expected["p_max_t"], alpha),
        "max_t_step_down": oracle.at_most(expected["p_max_t_step_down"], alpha),
    }
    if case.strata is None:
        lifts = [abs(oracle.lift(m, case.errors)) for m in members]
        chosen["fixed_lift"] = frozenset(g for g, x in enumerate(lifts) if x >= Fraction("0.10"))
    for method, selected in chosen.items():
        got = result["methods"][method]
        assert set(got["selected"]) == {names[g] for g in selected}, method
        assert got["confirmed"] == [], method  # no holdout: nothing can be confirmed
    exact = result["screen"]["decoys_exact"]
    if cut.threshold is None:
        assert exact["threshold"] is None
    else:
        assert cut.estimate is not None
        assert exact["R"] == cut.reached
        assert exact["expected_exceedances"] == near(cut.expected)
        assert exact["estimated_fdp"] == near(cut.estimate)
        if case.statistic == "lift":
            assert exact["threshold"] == near(cut.threshold)
    for g, name in enumerate(names):
        status = cli.one(result, name)["status"]
        assert status == ("selected" if g in cut.selected else "not_selected")


NOT_MONOTONE = (
    # The raw step-down shares fall on the way down (17/35 after 5/7): the running maximum matters.
    Case(
        {
            "g0": [1, 1, 1, 0, 0, 0, 1, 0],
            "g1": [0, 0, 1, 1, 1, 1, 1, 1],
            "g2": [1, 0, 0, 0, 1, 0, 0, 0],
        },
        [0, 0, 0, 1, 0, 1, 1, 1],
        None,
        "lift",
        "0.5",
        "0.5",
    ),
    Case(
        {
            "g0": [0, 0, 1, 0, 0, 0, 0],
            "g1": [1, 0, 0, 1, 0, 0, 1],
            "g2": [0, 1, 0, 0, 0, 1, 1],
        },
        [1, 1, 1, 1, 0, 0, 0],
        None,
        "lift",
        "0.5",
        "0.5",
    ),
)


@given(case=cases(blocks=False))
@example(case=NOT_MONOTONE[0])
@example(case=NOT_MONOTONE[1])
@FEW
def test_every_relabelling(case: Case) -> None:
    agree(case, case.run())


@given(case=cases(blocks=True))
@FEW
def test_every_relabelling_within_strata(case: Case) -> None:
    # With nothing to shuffle there is no test; whether that is refused is another question.
    assume(oracle.number_of_labellings(case.errors, case.strata) > 1)
    agree(case, case.run())


LIBRARY = {
    "g0": [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    "g1": [1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0],
    "g2": [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1],
    "g3": [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0],
}
ERRORS = [1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]


@functools.cache
def relabellings(statistic: str) -> oracle.Enumeration:
    """All 8,008 of them: a second or so."""
    return oracle.enumerate_all(list(LIBRARY.values()), ERRORS, name=statistic)


@pytest.mark.parametrize("statistic", ["lift", "z"])
def test_sampled_permutations_estimate_the_enumeration(statistic: str) -> None:
    permutations = 8_000  # fewer than the C(16, 6) = 8,008 labellings, so not enumerated
    table = relabellings(statistic)
    assert table.total == 8_008
    columns: dict[str, Any] = {name: made.words(m) for name, m in LIBRARY.items()}
    result = made.audit(
        {**columns, "error": ERRORS},
        *cli.WHOLE,
        *("--backend", "numpy", "--permutations", str(permutations), "--statistic", statistic),
    )
    assert result["screen"]["permutations"]["kind"] == "sampled"
    assert result["screen"]["permutations"]["labellings"] == 8_008
    for field, wanted in {
        "p_monte_carlo": oracle.exact_p(table),
        "p_max_t": oracle.max_t(table),
        "p_max_t_step_down": oracle.max_t_step_down(table),
    }.items():
        for name, exact in zip(LIBRARY, wanted, strict=True):
            p = float(exact)
            got = cli.one(result, name)[field]
            hits = got * (permutations + 1)
            assert hits == pytest.approx(round(hits), abs=1e-6)
            allowed = 5 * math.sqrt(p * (1 - p) / permutations) + 1 / permutations
            assert abs(got - p) < allowed, (field, name)


def test_literal_decoys_estimate_the_exact_limit() -> None:
    decoys, q = 4_000, Fraction("0.3")
    table = relabellings("lift")
    columns: dict[str, Any] = {name: made.words(m) for name, m in LIBRARY.items()}
    result = made.audit(
        {**columns, "error": ERRORS},
        *cli.WHOLE,
        *("--backend", "numpy", "--permutations", "9999", "--q", "0.3"),
        *("--decoys", str(decoys), "--rule", "decoys"),
    )
    drawn = result["screen"]["decoys"]
    size = len(LIBRARY)
    assert drawn["K"] == decoys
    assert drawn["threshold"] is not None
    (t,) = {x for x in table.observed if float(x) == pytest.approx(drawn["threshold"], rel=1e-12)}
    reached = {name for name, x in zip(LIBRARY, table.observed, strict=True) if x >= t}
    assert drawn["R"] == len(reached)
    # The published ratio, no +1, and the decision in rationals.
    estimate = Fraction(size * drawn["D"], decoys * len(reached))
    assert drawn["estimated_fdp"] == pytest.approx(float(estimate), rel=1e-12)
    assert estimate <= q
    assert set(result["methods"]["decoys"]["selected"]) == reached
    selected = {d["name"] for d in result["descriptors"] if d["status"] == "selected"}
    assert selected == reached  # the primary rule decides
    # D is binomial: each decoy reaches t with the mean of the sources' tail probabilities.
    p = float(sum(table.share(row[g] >= t for row in table.null) for g in range(size)) / size)
    assert abs(drawn["D"] - decoys * p) < 5 * math.sqrt(decoys * p * (1 - p))
