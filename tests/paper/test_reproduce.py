"""The numbers of the paper."""

from __future__ import annotations

import re
from typing import Any

import pytest

from janus_jax import InputError, reproduce
from janus_jax.paper import reproduce as module
from janus_jax.paper.controlled import DESCRIPTORS
from tests.audits import cli

QUICK = ("--repetitions", "2000", "--replays", "4000", "--backend", "numpy", "--quiet")


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    run = cli.call("reproduce", *QUICK, "--json", "-")
    assert run.status == 0, run.err
    document = cli.parse(run.out)
    assert document["schema"] == "janus-jax/reproduce/1"
    return {row["what"]: row for row in document["rows"]}


def test_nothing_differs(rows: dict[str, dict[str, Any]]) -> None:
    assert [row["what"] for row in rows.values() if row["verdict"] == "differs"] == []
    assert (
        sum(row["verdict"] in ("equal", "agrees", "same direction") for row in rows.values()) > 30
    )


def test_what_is_compared_and_with_what(rows: dict[str, dict[str, Any]]) -> None:
    verdicts = {row["verdict"] for row in rows.values()}
    assert verdicts <= {"equal", "agrees", "same direction", "unclear", "ours"}
    assert [row["what"] for row in rows.values() if row["section"].startswith("controlled")][
        2:
    ] == [f"{name} confirmed (1 = yes)" for name in DESCRIPTORS]
    # Falls from K = 100 to 1000 and the first jumps are clear in 4,000 replays.
    for name in ("any selection, K = 100", "any selection, K = 1000", "any confirmation, K = 100"):
        assert rows[name]["verdict"] == "same direction"
    for name in ("any selection", "any confirmation"):
        for low, high in ((409, 410), (819, 820)):
            row = rows[f"{name}, rise from K = {low} to {high}"]
            rise = rows[f"{name}, K = {high}"]["ours"] - rows[f"{name}, K = {low}"]["ours"]
            assert row["ours"] == pytest.approx(rise, abs=1e-12)
            assert row["verdict"] == ("same direction" if rise > 4 * row["ours_se"] else "unclear")
        assert rows[f"{name}, rise from K = 409 to 410"]["verdict"] == "same direction"


@pytest.mark.parametrize(
    ("change", "se", "verdict"),
    [
        (0.05, 0.01, "same direction"),
        (0.04, 0.01, "unclear"),
        (0.0, 0.0, "unclear"),
        (-0.04, 0.01, "unclear"),
        (-0.05, 0.01, "differs"),
    ],
)
def test_a_direction_takes_four_standard_errors(change: float, se: float, verdict: str) -> None:
    assert module.direction(change, se) == verdict


def test_few_replays_are_unclear_and_counted_apart() -> None:
    run = cli.call("reproduce", "--replays", "1", "--repetitions", "50", "--quiet")
    assert run.status == 0, run.err
    first, *_ = run.out.splitlines()
    assert first == "31 of 39 comparisons hold; 8 unclear."
    assert " differs\n" not in run.out
    for words in ("same direction = ", "unclear = ", "agrees = ", "ours = "):
        assert words in run.out


def test_the_answer_counts_what_holds() -> None:
    def said(*verdicts: str) -> str:
        return module.answer({"rows": [{"verdict": verdict} for verdict in verdicts]})

    held = ["equal", "agrees", "same direction"]
    assert said(*held, "ours") == "3 of 3 comparisons hold"
    assert said(*held, "unclear", "ours") == "3 of 4 comparisons hold; 1 unclear"
    assert said(*held, "differs") == "3 of 4 comparisons hold; 1 differs"
    assert said("equal", "unclear", "differs", "differs") == (
        "1 of 4 comparisons hold; 1 unclear, 2 differ"
    )


def test_exact_values_are_those_of_the_paper(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["its exact p-value"]["ours"] == pytest.approx(0.00825004, abs=5e-9)
    assert rows["BH-adjusted over 34 descriptors"]["ours"] == pytest.approx(0.2805012, abs=5e-8)
    assert rows["fixed decoy floor, n = 57, K = 200"]["ours"] == pytest.approx(0.322252, abs=5e-7)


@pytest.mark.parametrize("name", ["any selection", "any confirmation"])
def test_false_reports_fall_with_k_in_a_sawtooth(
    rows: dict[str, dict[str, Any]], name: str
) -> None:
    def ours(count: int) -> float:
        return rows[f"{name}, K = {count}"]["ours"]

    assert ours(100) > 1.5 * ours(1000)
    # floor(0.1 K / 41) rises from 0 to 1 at K = 410 and from 1 to 2 at 820.
    assert ours(410) > 1.2 * ours(409)
    assert ours(820) > 1.1 * ours(819)
    assert ours(100) > ours(200) > ours(409)
    exact = rows[f"{name}, exact limit"]["ours"]
    assert abs(ours(1000) - exact) < abs(ours(100) - exact)


def test_the_planted_pattern_is_recovered(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["long_chain confirmed (1 = yes)"]["ours"] == 1
    for factor in ("indirect_query", "collision_distractors", "target_late", "flat_format"):
        assert rows[f"{factor} confirmed (1 = yes)"]["ours"] == 0


def test_the_correlated_library_has_41_different_eligible_descriptors() -> None:
    from janus_jax.paper.correlated import correlated_frame

    frame = correlated_frame()
    columns = [name for name in frame.columns if name not in ("id", "split", "wrong")]
    assert len(columns) == 41
    assert len({tuple(frame[name]) for name in columns}) == 41
    assert frame["split"].value_counts().to_dict() == {"holdout": 60, "discovery": 55}
    together = frame[columns].astype(float).corr().to_numpy()
    assert (abs(together) > 0.3).sum() > 4 * 41  # descriptors of one table go together
    on = frame.groupby("split")[columns].sum()
    assert (on >= 3).all().all()
    assert (on.sum() >= 8).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--replays", "0"), "--replays is '0'"),
        (("--replays", str(2**32)), f"--replays is {2**32}, but it must be a whole number, 1 to"),
        (("--repetitions", "x"), "--repetitions is 'x'"),
        (("--repetitions", "99999999"), "--repetitions is 99999999, but it must be"),
        (("--seed", str(2**64)), f"--seed is {2**64}, but it must be"),
        (("--backend", "abacus"), "there is no backend 'abacus'"),
        (("--out", "somewhere"), "--out goes with --replies"),
        (("--json", ""), "--json is empty"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_computed(
    words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_exact_values", lambda: pytest.fail("it computes already"))
    run = cli.call("reproduce", "--quiet", *words)
    assert run.status == 2
    assert run.out == ""
    assert message in cli.one_message(run.err)


@pytest.mark.parametrize("name", ["replays", "repetitions", "seed"])
@pytest.mark.parametrize("value", ["50", 2.0, True, None, -1])
def test_python_takes_whole_numbers(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"--{name} is {re.escape(repr(value))}, but it must be"):
        reproduce(**{name: value})


def test_a_run_that_is_interrupted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_decoys", interrupted)
    run = cli.call("reproduce", *QUICK)
    assert (run.status, run.out) == (130, "")
    assert run.err.startswith("janus-jax: interrupted: nothing was written; fewer --repetitions")
    assert "--checkpoint" not in run.err
