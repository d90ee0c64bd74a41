"""Mining on a proposal split, the plan it writes, and what an audit makes of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from janus_jax.auditing import audit
from janus_jax.errors import InputError
from janus_jax.mining.proposing import Search, propose
from janus_jax.plans.file import read_plan
from tests.proposals.made import inside, planted

OPTIONS: dict[str, Any] = {"error": "wrong", "exclude": "site", "permutations": 99}


def parts(path: Path, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each split, by the ids that the plan lists."""
    listed = read_plan(path).ids
    assert listed is not None
    by_id = frame.set_index("id")
    names = ("discovery", "holdout", "proposal")
    return {
        name: by_id.loc[[example[0] for example in ids if not isinstance(example, int)]]
        for name, ids in zip(names, listed, strict=True)
    }


def test_three_splits_and_counts_that_pandas_finds(tmp_path: Path) -> None:
    frame, plan = planted(1), tmp_path / "plan.toml"
    result = propose(frame, out=plan, **OPTIONS)
    many = len(result.document["proposed"]["slices"])
    assert repr(result).startswith(f"<ProposeResult: {many} slices proposed")
    dealt = parts(plan, frame)
    assert {name: len(rows) for name, rows in dealt.items()} == {
        "proposal": 180,
        "discovery": 210,
        "holdout": 210,
    }
    assert sum(map(len, dealt.values())) == len(set().union(*(d.index for d in dealt.values())))
    aside = dealt["proposal"]
    document = result.to_dict()
    assert document["proposed"]["n"] == 180
    assert document["proposed"]["errors"] == aside["wrong"].sum()
    for it in document["proposed"]["slices"]:
        held = inside(aside, it["name"])
        rows, errors = int(held.sum()), int((held & aside["wrong"]).sum())
        assert (it["on"], it["errors_on"]) == (rows, errors)
        rate, average = Fraction(errors, rows), Fraction(int(aside["wrong"].sum()), 180)
        score = Fraction("0.95") * (rate / average - 1) - Fraction("0.05") * (
            Fraction(180, rows) - 1
        )
        assert it["score"] == float(score)
        for alias in it["aliases"]:
            assert (inside(aside, alias) == held).all()


def test_a_planted_slice_is_proposed_first_and_confirmed(tmp_path: Path) -> None:
    frame, plan = planted(1), tmp_path / "plan.toml"
    result = propose(frame, out=plan, **OPTIONS)
    first = result.to_dict()["proposed"]["slices"][0]
    assert first["name"] == result.candidates[0]
    assert first["name"].startswith("kind = b & words > ")
    judged = audit(frame, plan=plan)
    section = judged.to_dict()["proposed"]
    assert section["slices"][0]["name"] == first["name"]
    assert section["slices"][0]["status"] == "confirmed"
    assert first["name"] in judged.confirmed
    assert section["claimed"] == len(result.to_dict()["proposed"]["slices"]) > 5
    assert section["confirmed"] == sum(it["status"] == "confirmed" for it in section["slices"])
    assert 0 < section["confirmed"] < section["claimed"]  # some of what was mined is chance
    by_name = {it["name"]: it for it in judged.to_dict()["descriptors"]}
    holdout = parts(plan, frame)["holdout"]
    for it in section["slices"]:
        assert it["status"] == by_name[it["name"]]["status"]
        held = inside(holdout, it["name"])
        lift = holdout["wrong"][held].mean() - holdout["wrong"][~held].mean()
        assert it["holdout_lift"] == pytest.approx(lift, abs=1e-12)
    report = judged.to_markdown()
    assert "What a slice finder alone would have claimed" in report
    assert f"{section['confirmed']} confirmed on other examples" in report


def _flipped(outcomes: pd.Series) -> pd.Series:
    return ~outcomes


def _all_wrong(outcomes: pd.Series) -> pd.Series:
    return outcomes | True


def _garbage(outcomes: pd.Series) -> pd.Series:
    return outcomes.astype(object).map(lambda _: "no outcome at all")


def _missing(outcomes: pd.Series) -> pd.Series:
    return outcomes.astype(object).map(lambda _: None)


@pytest.mark.parametrize("spoil", [_flipped, _all_wrong, _garbage, _missing])
@pytest.mark.parametrize("clusters", [False, True])
def test_outcomes_of_discovery_and_holdout_are_not_read(
    spoil: Callable[[pd.Series], pd.Series], clusters: bool, tmp_path: Path
) -> None:
    frame, options = planted(2), dict(OPTIONS)
    if clusters:
        options |= {"cluster": "site"}
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    wanted = propose(frame, out=first, **options)
    assert len(wanted.candidates) > 1
    others = ~frame["id"].isin(parts(first, frame)["proposal"].index)
    assert others.sum() > 300
    spoilt = frame.assign(wrong=frame["wrong"].astype(object))
    spoilt.loc[others, "wrong"] = spoil(frame["wrong"][others]).astype(object)
    again = propose(spoilt, out=second, **options)
    assert second.read_bytes() == first.read_bytes()
    assert again.to_dict()["proposed"] == wanted.to_dict()["proposed"]


def test_outcomes_of_the_proposal_split_are_read(tmp_path: Path) -> None:
    frame = planted(2)
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    wanted = propose(frame, out=first, **OPTIONS)
    aside = frame["id"].isin(parts(first, frame)["proposal"].index)
    again = propose(frame.assign(wrong=frame["wrong"] ^ aside), out=second, **OPTIONS)
    assert again.candidates != wanted.candidates
    assert read_plan(first).outcomes_read == "proposal"
    report = audit(frame, plan=first).to_markdown()
    assert "Planned before the outcomes of discovery and holdout were read" in report


def test_repeats_are_reduced_before_the_split_and_read_in_the_proposal_split_only(
    tmp_path: Path,
) -> None:
    """Three answers to a question, scattered over the file, are one example by majority."""
    frame = planted(3, rows=300)
    rng = np.random.default_rng(0)
    thrice = pd.concat([frame] * 3).iloc[rng.permutation(900)].reset_index(drop=True)
    lone = rng.random(900) < 0.1  # one in a while disagrees; a majority never does
    disagree = thrice["wrong"] ^ (lone & ~thrice.assign(lone=lone).duplicated(["id", "lone"]))
    options = {**OPTIONS, "repeats": "majority"}
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    first_rows = thrice.drop_duplicates("id")
    wanted = propose(first_rows, out=one, **OPTIONS)
    repeated = thrice.assign(wrong=disagree)
    found = propose(repeated, out=two, **options)
    assert found.to_dict()["proposed"] == wanted.to_dict()["proposed"]
    others = ~repeated["id"].isin(parts(two, first_rows)["proposal"].index)
    spoilt = repeated.assign(wrong=repeated["wrong"].astype(object))
    spoilt.loc[others, "wrong"] = "?"
    three = tmp_path / "three.toml"
    propose(spoilt, out=three, **options)
    assert three.read_bytes() == two.read_bytes()


def test_strata_and_clusters_are_dealt_three_ways(tmp_path: Path) -> None:
    frame, plan = planted(4), tmp_path / "plan.toml"
    propose(frame, out=plan, proposal="0.2", stratify="kind", **OPTIONS)
    aside = parts(plan, frame)["proposal"]
    sizes = frame["kind"].value_counts()
    assert aside["kind"].value_counts().to_dict() == {k: n // 5 for k, n in sizes.items()}
    propose(frame, out=plan, cluster="site", **OPTIONS)
    dealt = parts(plan, frame)
    for one, other in itertools.combinations(dealt.values(), 2):
        assert not set(one["site"]) & set(other["site"])
    assert {name: rows["site"].nunique() for name, rows in dealt.items()} == {
        "proposal": 18,
        "discovery": 21,
        "holdout": 21,
    }


def test_a_split_column_says_which_rows_propose(tmp_path: Path) -> None:
    frame, plan = planted(5), tmp_path / "plan.toml"
    where = np.array(["proposal", "discovery", "holdout"])[np.arange(600) % 3]
    frame = frame.assign(part=where)
    result = propose(frame, out=plan, split_column="part", **OPTIONS)
    assert result.to_dict()["data"] | {"source": 0, "sha256": 0} == {
        "source": 0,
        "sha256": 0,
        "examples": 600,
        "proposal": 200,
        "discovery": 200,
        "holdout": 200,
    }
    aside = frame[frame["part"] == "proposal"]
    for it in result.to_dict()["proposed"]["slices"]:
        assert it["on"] == inside(aside, it["name"]).sum()
    judged = audit(frame, plan=plan).to_dict()["proposed"]["slices"]
    assert {it["status"] for it in judged} <= {"confirmed", "not_replicated", "not_selected"}


def test_what_the_library_has_already_is_not_added_again(tmp_path: Path) -> None:
    frame, plan = planted(1), tmp_path / "plan.toml"
    named = propose(frame, out=plan, conjunction="hard = kind = b & words", **OPTIONS)
    first = named.to_dict()["proposed"]["slices"][0]
    assert (first["name"], first["new"]) == ("hard", False)
    paired = propose(frame, out=plan, pairs=True, **OPTIONS).to_dict()["proposed"]["slices"]
    assert not paired[0]["new"]
    assert {it["name"].count(" & ") for it in paired if it["new"]} <= {2}
    names = [rule.name for rule in read_plan(plan).rules]
    assert len(names) == len(set(names))


def test_two_levels_of_a_column_are_never_joined(tmp_path: Path) -> None:
    result = propose(planted(6), out=tmp_path / "plan.toml", top=1000, min_slice=1, **OPTIONS)
    for it in result.to_dict()["proposed"]["slices"]:
        columns = [term.split(" ")[0] for term in it["name"].split(" & ")]
        assert len(columns) == len(set(columns)) <= 3


def test_only_what_the_audit_can_test_is_proposed(tmp_path: Path) -> None:
    """The best slice is all but absent from holdout: it is passed over, and that is said."""
    frame, plan = planted(5), tmp_path / "plan.toml"
    part = np.array(["proposal", "discovery", "holdout"])[np.arange(600) % 3]
    frame = frame.assign(part=part)
    free = propose(frame, out=plan, split_column="part", min_prevalence="0.02", **OPTIONS)
    first = free.to_dict()["proposed"]["slices"][0]["name"]
    rare = (frame["part"] == "holdout") & inside(frame, first)
    frame.loc[rare, "kind"] = "c"
    result = propose(frame, out=plan, split_column="part", min_prevalence="0.02", **OPTIONS)
    names = [it["name"] for it in result.to_dict()["proposed"]["slices"]]
    assert first not in names
    over = [it.to_dict()["proposed"]["passed_over"] for it in (free, result)]
    assert over[1] > over[0]
    assert any("passed over" in note for note in result.to_dict()["notes"])
    audited = audit(frame, plan=plan).to_dict()
    status = {it["name"]: it["status"] for it in audited["descriptors"]}
    assert names
    assert all(status[name] != "ineligible" for name in names)


def test_level_top_and_min_slice(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    few = propose(planted(1), out=plan, level=1, top=2, min_slice=40, **OPTIONS).to_dict()
    slices = few["proposed"]["slices"]
    assert len(slices) == 2
    assert not any(" & " in it["name"] or it["new"] for it in slices)
    assert all(it["on"] >= 40 for it in slices)
    # By default what eligibility asks for: 0.10 of 180 rows.
    usual = propose(planted(1), out=plan, **OPTIONS).to_dict()
    assert usual["proposed"]["min_slice"] == 18


def test_nothing_to_propose_is_a_plan_of_the_base_descriptors(tmp_path: Path) -> None:
    frame, plan = planted(1), tmp_path / "plan.toml"
    result = propose(frame, out=plan, min_slice=180, **OPTIONS)
    assert result.candidates == []
    assert "conjunction" not in {rule.kind for rule in read_plan(plan).rules}
    judged = audit(frame, plan=plan)
    assert judged.to_dict()["proposed"]["claimed"] == 0
    assert "would have claimed nothing" in judged.to_markdown()


def test_the_plan_file_keeps_what_was_mined(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    result = propose(planted(1), out=plan, **OPTIONS)
    proposed = read_plan(plan).proposed
    assert proposed is not None
    assert proposed.to_dict() == result.to_dict()["proposed"]
    assert read_plan(plan).hash == result.to_dict()["plan"]["hash"]
    assert not read_plan(plan).edited


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("errors_on = ", "errors_on = 1", "rules out|its counts make it"),
        ('score = "', 'score = "9', "but its counts make it"),
        ('name = "kind = b & words', 'name = "kind = z & words', "which is no rule"),
        ('weight = "0.95"', 'weight = "1.5"', "above 0 and at most 1"),
        ("looked_at = [", 'looked_at = ["x", ', "whole numbers"),
        ("new = true", "new = 1", "true or false"),
    ],
)
def test_a_changed_record_is_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    propose(planted(1), out=plan, **OPTIONS)
    head, section = plan.read_text("utf-8").split("[proposed]")
    assert old in section
    plan.write_text(f"{head}[proposed]{section.replace(old, new, 1)}", "utf-8")
    with pytest.raises(InputError, match=said):
        read_plan(plan)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 0}, "--level is 0"),
        ({"level": 4}, "from 1 to 3"),
        ({"top": 0}, "--top is 0"),
        ({"min_slice": 0}, "--min-slice is 0"),
        ({"weight": "0"}, "--weight is '0'"),
        ({"weight": "1.01"}, "--weight is '1.01'"),
        ({"weight": "nan"}, "--weight is 'nan'"),
        ({"weight": "0.12345678901234567"}, "too many digits"),
        ({"proposal": "0"}, "--proposal is '0'"),
        ({"proposal": "1"}, "--proposal is '1'"),
        ({"proposal": "0.001"}, "larger share with --proposal"),
        ({"split_column": "part", "proposal": "0.3"}, "does not go with --split-column"),
        ({"split_column": "part"}, "--split-column part says proposal"),
        ({"discovery": "1"}, "--discovery 1"),
    ],
)
def test_wrong_use_is_said(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    frame = planted(1).assign(part=["discovery", "holdout"] * 300)
    plan = tmp_path / "plan.toml"
    with pytest.raises(InputError, match=said):
        propose(frame, out=plan, **{**OPTIONS, **options})
    assert not plan.exists()


def test_a_proposal_split_without_errors_is_said(tmp_path: Path) -> None:
    frame = planted(1).assign(part=["proposal", "discovery", "holdout"] * 200)
    frame["wrong"] &= frame["part"] != "proposal"
    with pytest.raises(InputError, match="in the proposal split, outcome column 'wrong' has a sin"):
        propose(frame, out=tmp_path / "plan.toml", split_column="part", **OPTIONS)


def test_search_checks_itself() -> None:
    assert Search(weight="1").weight == "1"
    with pytest.raises(InputError, match="--top"):
        Search(top=-1)
