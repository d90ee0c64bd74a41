"""Several models on the same examples: against their single audits, and counted by pandas."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import janus_jax
from janus_jax.errors import InputError
from tests.audits import cli

GSM8K = Path(__file__).resolve().parents[2] / "examples" / "data" / "gsm8k_openai_4models.csv"
SYSTEMS = ("correct_175b_verification", "correct_175b_finetuning", "correct_6b_verification")
FEW: dict[str, Any] = {"permutations": 999, "decoys": 100, "backend": "numpy"}

pytestmark = pytest.mark.skipif(not GSM8K.exists(), reason="the examples' data are not here")


@pytest.fixture(scope="module")
def three() -> janus_jax.Comparison:
    return janus_jax.compare(str(GSM8K), correct=list(SYSTEMS), differences="all", **FEW)


def without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def test_the_first_model_is_audited_as_it_is_alone(three: janus_jax.Comparison) -> None:
    alone = janus_jax.audit(str(GSM8K), correct=SYSTEMS[0], **FEW).to_dict()
    beside = three.audits[SYSTEMS[0]].to_dict()
    differing = ("run", "not_used")  # why the other outcomes are not used is said otherwise
    assert without(beside, *differing) == without(alone, *differing)
    assert {e["column"] for e in beside["not_used"]} == {e["column"] for e in alone["not_used"]}


@pytest.mark.parametrize("model", SYSTEMS[1:])
def test_what_needs_no_shuffle_is_the_same_for_every_model(
    three: janus_jax.Comparison, model: str
) -> None:
    alone = janus_jax.audit(str(GSM8K), correct=model, **FEW).to_dict()
    beside = three.audits[model].to_dict()
    sampled = ("p_monte_carlo", "p_max_t", "p_max_t_step_down")
    for one, other in zip(alone["descriptors"], beside["descriptors"], strict=True):
        assert without(one, *sampled) == without(other, *sampled)
        for name in sampled:  # another 999 shuffles of the same errors
            if one[name] is not None:
                assert abs(one[name] - other[name]) < 0.12
    assert alone["screen"]["decoys"] == beside["screen"]["decoys"]
    assert alone["families"] == beside["families"]
    assert alone["plan"] == beside["plan"]


def test_a_difference_is_what_one_gets_wrong_and_the_other_right(
    three: janus_jax.Comparison,
) -> None:
    frame = pd.read_csv(GSM8K)
    pairs = [(a, b) for a in SYSTEMS for b in SYSTEMS if a != b]
    assert set(three.differences) == {f"{a} wrong, {b} right" for a, b in pairs}
    for a, b in pairs:
        document = three.differences[f"{a} wrong, {b} right"].to_dict()
        only = int(((frame[a] == 0) & (frame[b] == 1)).sum())
        data = document["data"]
        assert data["discovery"]["errors"] + data["holdout"]["errors"] == only
        money = next(d for d in document["descriptors"] if d["name"] == "has_money")
        inside = frame[(frame[a] == 0) & (frame[b] == 1)].has_money.sum()
        assert money["discovery"]["errors_on"] + money["holdout"]["errors_on"] == inside


def test_who_is_wrong_together(three: janus_jax.Comparison) -> None:
    frame = pd.read_csv(GSM8K)
    counts = frame.groupby(list(SYSTEMS)).size()
    found: dict[tuple[int, ...], int] = {}
    for part in three.document["co_errors"].values():
        for pattern in part["patterns"]:
            key = tuple(int(model not in pattern["wrong"]) for model in SYSTEMS)
            found[key] = found.get(key, 0) + pattern["n"]
    assert found == {key: int(n) for key, n in counts.items() if n}


def test_findings_say_for_which_models(three: janus_jax.Comparison) -> None:
    confirmed = {model: set(audit.confirmed) for model, audit in three.audits.items()}
    every, any_one = set.intersection(*confirmed.values()), set.union(*confirmed.values())
    assert set(three.common) == every
    assert {f["name"] for f in three.document["findings"]} == any_one
    for model, own in three.own.items():
        others = set.union(*(found for name, found in confirmed.items() if name != model))
        assert set(own) == confirmed[model] - others
    for finding in three.document["findings"]:
        for model, status in finding["statuses"].items():
            assert (status == "confirmed") == (finding["name"] in confirmed[model])
        entry = three.audits[SYSTEMS[1]].to_dict()["descriptors"]
        lift = next(d["holdout"]["lift"] for d in entry if d["name"] == finding["name"])
        assert finding["lifts"][SYSTEMS[1]]["holdout"] == lift
    assert list(three.findings["name"]) == [f["name"] for f in three.document["findings"]]


def test_jax_and_numpy_give_the_same_comparison() -> None:
    options: dict[str, Any] = {"correct": list(SYSTEMS), "permutations": 2500, "decoys": 100}
    numpy, jax = (
        janus_jax.compare(str(GSM8K), backend=name, **options).to_dict()
        for name in ("numpy", "jax")
    )
    assert without(numpy, "run") == without(jax, "run")


# A row for each example and model.


def long(frame: pd.DataFrame, models: tuple[str, ...]) -> pd.DataFrame:
    facts = [c for c in frame if not c.startswith(("correct", "resp"))]
    parts = []
    for model in models:
        part = frame[facts].copy()
        part["answer_length"] = frame[f"resp_words_{model.removeprefix('correct_')}"]
        part["right"], part["model"] = frame[model], model.removeprefix("correct_")
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def test_rows_of_each_model_are_put_side_by_side() -> None:
    frame = pd.read_csv(GSM8K, dtype=str)
    wide = janus_jax.compare(frame, correct=list(SYSTEMS[:2]), **FEW).to_dict()
    table = long(frame, SYSTEMS[:2])
    stacked = janus_jax.compare(table, correct="right", model_column="model", **FEW)
    made = stacked.to_dict()
    assert [m["name"] for m in made["models"]] == ["175b_verification", "175b_finetuning"]
    for one, other in zip(wide["models"], made["models"], strict=True):
        assert one["audit"]["descriptors"] == other["audit"]["descriptors"]
    # It differs from model to model, so it is no fact of the example.
    reasons = {e["column"]: e["reason"] for e in made["models"][0]["audit"]["not_used"]}
    lengths = frame[[f"resp_words_{m.removeprefix('correct_')}" for m in SYSTEMS[:2]]]
    many = int(lengths.nunique(axis=1, dropna=False).gt(1).sum())
    assert reasons["answer_length"] == (
        "differs between the rows of one example, so it is no fact of the example: in "
        f"{many} of 1319 examples, the first 'gsm8k-test-0', DataFrame row 1 and DataFrame row 1320"
    )
    # The same whatever order the rows come in, as long as each example's first rows do.
    mixed = table.sort_values(["id", "model"], key=lambda c: c.map(str), kind="stable")
    mixed["order"] = mixed["id"].str.removeprefix("gsm8k-test-").astype(int)
    mixed = mixed.sort_values("order", kind="stable").drop(columns="order")
    again = janus_jax.compare(
        mixed, correct="right", model_column="model", exclude="answer_length", **FEW
    )
    by_name = again.audits["175b_verification"].to_dict()["descriptors"]
    expected = stacked.audits["175b_verification"].to_dict()["descriptors"]
    exact = ("p_monte_carlo", "p_max_t", "p_max_t_step_down")
    assert [without(d, *exact) for d in by_name] == [without(d, *exact) for d in expected]


@pytest.fixture
def small() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 120
    return pd.DataFrame(
        {
            "id": [f"e{i}" for i in range(n)],
            "hard": rng.random(n) < 0.5,
            "kind": rng.choice(["a", "b"], n),
            "x": rng.random(n) < 0.4,
            "y": rng.random(n) < 0.5,
        }
    )


def test_an_example_counts_when_every_model_has_an_outcome(small: pd.DataFrame) -> None:
    table = small.astype({"x": object, "y": object})
    table.loc[[3, 50], "x"] = None
    table.loc[[50, 77], "y"] = None
    with pytest.raises(InputError, match=r"outcome column 'x' has 2 missing values.*e3, e50"):
        janus_jax.compare(table, error=["x", "y"], **FEW)
    result = janus_jax.compare(table, error=["x", "y"], missing_outcome="drop", **FEW)
    kept = table.drop([3, 50, 77])
    for name, audit in result.audits.items():
        data = audit.to_dict()["data"]
        assert data["discovery"]["n"] + data["holdout"]["n"] == 117
        errors = data["discovery"]["errors"] + data["holdout"]["errors"]
        assert errors == kept[name].astype(bool).sum()
        assert any(
            "2 examples have an outcome for some models but not" in note
            for note in audit.to_dict()["notes"]
        )
    # A row that a model does not have is an outcome that it does not have.
    rows = pd.concat(
        [small.assign(model=m, bad=small[m])[["id", "hard", "model", "bad"]] for m in "xy"],
        ignore_index=True,
    ).drop([7, 130])
    with pytest.raises(InputError, match=r"^x has no row for 1 of 120 examples: e7; choose --miss"):
        janus_jax.compare(rows, error="bad", model_column="model", **FEW)
    result = janus_jax.compare(
        rows, error="bad", model_column="model", missing_outcome="drop", **FEW
    )
    data = result.document["data"]
    assert data["discovery"]["n"] + data["holdout"]["n"] == 118


def test_repeats_are_reduced_for_each_model(small: pd.DataFrame) -> None:
    rng = np.random.default_rng(9)
    again = pd.concat([small, small, small], ignore_index=True)
    again["x"], again["y"] = rng.random(360) < 0.4, rng.random(360) < 0.6
    wide = janus_jax.compare(again, error=["x", "y"], repeats="majority", **FEW)
    rows = pd.concat(
        [again.assign(model=m, bad=again[m])[["id", "hard", "kind", "model", "bad"]] for m in "xy"],
        ignore_index=True,
    )
    stacked = janus_jax.compare(rows, error="bad", model_column="model", repeats="majority", **FEW)
    for name in "xy":
        expected = again.groupby("id", sort=False)[name].sum() >= 2
        for result in (wide, stacked):
            data = result.audits[name].to_dict()["data"]
            errors = data["discovery"]["errors"] + data["holdout"]["errors"]
            assert errors == int(expected.sum())


def unequal() -> pd.DataFrame:
    """Rows of two models: y has one to three for an example, x one; some outcomes are missing."""
    rng = np.random.default_rng(17)
    rows = [
        {"id": f"e{i}", "hard": i % 3 == 0, "model": model, "bad": bool(rng.random() < 0.4)}
        for i in range(150)
        for model in ("x", *["y"] * int(rng.choice([1, 3])))
    ]
    table = pd.DataFrame(rows).astype({"bad": object})
    table.loc[rng.choice(len(table), 12, replace=False), "bad"] = None
    absent = (table.id == "e10") & (table.model == "y") | (table.id == "e20") & (table.model == "x")
    return table[~absent].sample(frac=1, random_state=3).reset_index(drop=True)


def reduced(values: pd.Series, repeats: str, missing: str) -> float:
    """Whether an example is wrong, 1 or 0, by its repeats in the order of rows; nan: unknown."""
    wrong = [(1.0 if missing == "wrong" else np.nan) if v is None else float(v) for v in values]
    if repeats == "first":
        return wrong[0]
    known = [w for w in wrong if not np.isnan(w)]
    if not known:
        return np.nan
    return {
        "any": min(known),
        "all": max(known),
        "majority": np.nan if sum(known) * 2 == len(known) else float(sum(known) * 2 > len(known)),
    }[repeats]


@pytest.mark.parametrize("repeats", ["any", "all", "first", "majority"])
@pytest.mark.parametrize("missing", ["drop", "wrong"])
def test_models_may_have_unequal_repeats(repeats: str, missing: str) -> None:
    table = unequal()
    if (repeats, missing) == ("majority", "drop"):  # two of three known and unlike would be a tie
        table = table[table.bad.notna()]
        counts = table.groupby(["id", "model"]).bad.transform("size")
        table = table[counts % 2 == 1].reset_index(drop=True)
    options: dict[str, Any] = {"error": "bad", "repeats": repeats, "missing_outcome": missing}
    result = janus_jax.compare(table, model_column="model", **options, **FEW)
    expected = table.groupby(["id", "model"], sort=False).bad.agg(
        lambda values: reduced(values, repeats, missing)
    )
    wide = expected.unstack().astype(float)
    wide = wide.fillna(1.0) if missing == "wrong" else wide.dropna()
    assert 100 < len(wide) <= 150
    hard = wide.index.str.removeprefix("e").astype(int) % 3 == 0
    for model in "xy":
        document = result.audits[model].to_dict()
        parts = [document["data"][part] for part in ("discovery", "holdout")]
        assert sum(part["n"] for part in parts) == len(wide)
        assert sum(part["errors"] for part in parts) == wide[model].sum()
        (only,) = document["descriptors"]
        inside = [only[part] for part in ("discovery", "holdout")]
        assert sum(part["on"] for part in inside) == hard.sum()
        assert sum(part["errors_on"] for part in inside) == wide[model][hard].sum()


def test_missing_rows_and_values_are_named_by_the_model_that_lacks_them() -> None:
    table = unequal()
    options: dict[str, Any] = {"error": "bad", "model_column": "model", "repeats": "any"}
    lacks = table[table.bad.isna()]
    first = lacks[lacks.model == table.model[0]]
    rows = ", ".join(str(row + 1) for row in first.index)
    with pytest.raises(
        InputError,
        match=rf"^model '{table.model[0]}': outcome column 'bad' has {len(first)} missing values in"
        rf" \d+ rows: ids {', '.join(first.id)} \(DataFrame rows {rows}\)",
    ):
        janus_jax.compare(table, **options, **FEW)
    known = table[table.bad.notna()].reset_index(drop=True)
    with pytest.raises(InputError, match=r"^. has no row for \d+ of 150 examples: e\d+"):
        janus_jax.compare(known, **options, **FEW)
    with pytest.raises(InputError, match=r"^model 'y': id column 'id' repeats: "):
        janus_jax.compare(known, error="bad", model_column="model", **FEW)
    notes = janus_jax.compare(table, missing_outcome="wrong", **options, **FEW).document["models"][
        0
    ]["audit"]["notes"]
    assert "y has no row for 1 of 150 examples: e10; counted as its errors" in notes
    assert "x has no row for 1 of 150 examples: e20; counted as its errors" in notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"error": ["x", "x"]}, "'x' is named twice"),
        ({"error": "x,,y"}, "a name between the commas is empty"),
        ({"error": ["x", "z"]}, "--error 'z': no such column"),
        ({"error": ["x", "y"], "strata": "y"}, "--strata y: that is the outcome"),
        ({"error": ["x", "y"], "include": "y"}, "'y' is an outcome; it cannot also be a descr"),
        ({"error": "x"}, "nothing to compare"),
        ({"error": "x", "model_column": "kind", "id": "kind"}, "must be a column of its own"),
        ({"error": "x", "model_column": "no"}, "--model-column 'no': no such column"),
        ({"error": ["x", "y"], "differences": "some"}, "--differences 'some' is not one of"),
    ],
)
def test_what_is_refused(small: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        janus_jax.compare(small, **options, **FEW)


def test_a_model_that_is_never_wrong_is_left_out(small: pd.DataFrame) -> None:
    said = "z is right on all 120 examples that count, so its errors concentrate nowhere"
    with pytest.raises(InputError, match=f"nothing to compare: {said}.*; x can be audited by its"):
        janus_jax.compare(small.assign(z=False), error=["x", "z"], **FEW)
    two = janus_jax.compare(small, error=["x", "y"], **FEW).to_dict()
    three = janus_jax.compare(small.assign(z=False), error=["z", "x", "y"], **FEW).to_dict()
    assert three["warnings"] == [
        f"{said}: it is left out of the comparison",
        *two["warnings"],
    ]
    for part in ("models", "differences"):
        for one, other in zip(two[part], three[part], strict=True):
            assert one["name"] == other["name"]
            assert one["audit"]["descriptors"] == other["audit"]["descriptors"]


def test_a_pair_that_never_differs_is_said(small: pd.DataFrame) -> None:
    worse = small.assign(z=small.x | small.y)
    result = janus_jax.compare(worse, error=["x", "z"], **FEW)
    pairs = {d["name"]: d["reason"] for d in result.document["differences"]}
    assert pairs == {"x wrong, z right": "never on these examples", "z wrong, x right": None}


# Where two models disagree.


def disagreeing(seed: int = 2) -> pd.DataFrame:
    """Both err more where it is hard, each on its own; where it is odd, b alone errs more."""
    rng = np.random.default_rng(seed)
    n = 1200
    hard, odd = rng.random(n) < 0.4, rng.random(n) < 0.4
    a = rng.random(n) < np.where(hard, 0.5, 0.05)
    b = rng.random(n) < np.where(hard, 0.5, 0.05) + np.where(odd, 0.3, 0)
    return pd.DataFrame({"id": range(n), "hard": hard, "odd": odd, "a": a, "b": b})


def test_both_directions_can_be_found_and_the_difference_of_lifts_tells_them_apart() -> None:
    table = disagreeing()
    result = janus_jax.compare(table, error=["a", "b"], seed=3, **FEW)
    (pair,) = result.document["pairs"]
    assert pair["models"] == ["a", "b"]
    found = {f["name"]: f for f in pair["findings"]}
    both = {"a": "confirmed", "b": "confirmed"}
    assert found["hard"]["statuses"] == both  # and yet neither is worse there
    assert found["odd"]["statuses"]["b"] == "confirmed"
    assert found["odd"]["difference"]["high"] < 0  # b is worse
    low, high = found["hard"]["difference"]["low"], found["hard"]["difference"]["high"]
    assert low < 0 < high
    holdout = table.iloc[split(table, 3)]
    for finding in found.values():
        inside, rest = (
            holdout[holdout[finding["name"]] == side].astype(int) for side in (True, False)
        )
        assert (finding["on"], finding["off"]) == (len(inside), len(rest))
        only = {"a": lambda t: t.a & ~t.b.astype(bool), "b": lambda t: t.b & ~t.a.astype(bool)}
        for model, who in only.items():
            assert finding["only_wrong"][model] == {
                "on": int(who(inside).sum()),
                "off": int(who(rest).sum()),
            }
        lifts = [inside[m].mean() - rest[m].mean() for m in "ab"]
        assert finding["difference"]["lift"] == pytest.approx(lifts[0] - lifts[1], abs=1e-12)


def test_disagreements_are_told_in_every_form(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    disagreeing().assign(constant=1).to_csv(table, index=False)
    options = ("--error", "a,b", "--seed", "3", *cli.FAST)
    run = cli.call("audit", table, *options, "--out", tmp_path / "out")
    assert run.status == 0, run.err
    document = cli.parse((tmp_path / "out" / "result.json").read_text("utf-8"))
    (pair,) = document["pairs"]
    told = {"hard": ("both more often", "not clear"), "odd": ("b more often", "b")}
    assert {finding["name"] for finding in pair["findings"]} == set(told)
    markdown = (tmp_path / "out" / "report.md").read_text("utf-8")
    for finding in pair["findings"]:
        only, difference = finding["only_wrong"], finding["difference"]
        how, worse = told[finding["name"]]
        cells = [
            finding["name"],
            "a, b",
            *(f"{only[m][side]}/{finding[side]}" for m in "ab" for side in ("on", "off")),
            how,
            f"{difference['lift']:+.3f}",
            f"{difference['low']:+.2f}..{difference['high']:+.2f}",
            worse,
        ]
        assert f"| {' | '.join(cells)} |" in markdown
        assert re.search(r" +".join(map(re.escape, cells)), run.out)
    for text in (run.out, markdown):
        assert "oldout lift and status of every finding, for every model" in text
    assert "slices found for what one of two models alone gets wrong, by holdout ex" in run.out
    assert "on and off count those of holdout inside and outside the slice" in markdown
    # What was not tested is the same for all, and said once, but how each outcome was read.
    for text in (run.out, markdown):
        assert text.count("constant: every value is '1'") == 1
        assert text.count("p-values are two-sided") == 1
        assert "a: outcome column 'a' read as" in text
    result = janus_jax.compare(str(table), error=["a", "b"], seed=3, **FEW)
    row = result.disagreements.set_index("name").loc["odd"]
    assert (row["first"], row["second"], row["second_status"]) == ("a", "b", "confirmed")
    assert row["second_alone_on"] == pair["findings"][-1]["only_wrong"]["b"]["on"]


def split(table: pd.DataFrame, seed: int) -> list[int]:
    """Rows of holdout, by the generator that the method names."""
    rows = list(range(len(table)))
    random.Random(seed).shuffle(rows)
    return sorted(rows[len(rows) // 2 :])


def test_no_interval_where_rows_come_in_clusters() -> None:
    table = disagreeing().assign(group=lambda t: t.id // 2)
    result = janus_jax.compare(table, error=["a", "b"], cluster="group", **FEW)
    (pair,) = result.document["pairs"]
    assert pair["findings"]
    assert all(f["difference"]["low"] is None for f in pair["findings"])
    assert any(
        "the difference of their lifts says; it has no interval, since rows of a cluster are not "
        "independent, so neither is said to lose ground" in note
        for note in result.document["notes"]
    )
    page = result.to_html()
    assert page is not None
    for text in (*result.document["notes"], result.to_markdown(), page):
        assert "Bonett" not in text
        assert "leaves out 0" not in text.split("Limits")[0].split("What it does not say</h2>")[0]
    assert "Where rows come in clusters it has no interval" in result.to_markdown()


def test_a_fact_that_differs_between_models_cannot_be_named(small: pd.DataFrame) -> None:
    rows = pd.concat([small.assign(model=m, bad=small[m], tokens=i) for i, m in enumerate("xy")])
    rows = rows.drop(columns=["x", "y"])
    with pytest.raises(InputError, match=r"--include tokens: it differs between the rows of ex"):
        janus_jax.compare(rows, error="bad", model_column="model", include="tokens", **FEW)
    with pytest.raises(InputError, match=r"--model-column model needs --id COL"):
        janus_jax.compare(rows.drop(columns="id"), error="bad", model_column="model", **FEW)


def test_a_column_with_a_comma_is_one_column(small: pd.DataFrame) -> None:
    table = small.rename(columns={"x": "x,y"})
    one = janus_jax.audit(table, error="x,y", **FEW)
    assert one.to_dict()["data"]["outcome"]["column"] == "x,y"
    with pytest.raises(
        InputError, match=r"--error x,y: there is a column of this name, and there "
    ):
        janus_jax.compare(table.assign(x=table.hard), error="x,y", **FEW)
    with pytest.raises(InputError, match=r"a name that holds a comma stands in double quotes"):
        janus_jax.compare(table, error="m,x,y", **FEW)
    both = janus_jax.compare(table, error=["x,y", "y"], **FEW)
    assert list(both.audits) == ["x,y", "y"]


# The command line.


def test_the_command_writes_the_comparison_and_every_audit(tmp_path: Path) -> None:
    names = ",".join(SYSTEMS[:2])
    run = cli.call(
        "audit", GSM8K, "--correct", names, *cli.FAST, "--out", tmp_path, "--examples", "q_words"
    )
    assert run.status == 0, run.err
    again = cli.call(
        "audit", GSM8K, "--correct", names, *cli.FAST, "--out", tmp_path, "--examples", "q_words"
    )
    assert again.status == 0, again.err  # every file there is known as ours
    document = cli.parse((tmp_path / "result.json").read_text("utf-8"))
    assert document["schema"] == "janus-jax/comparison/1"
    folders = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    a, b = SYSTEMS[:2]
    assert folders == [f"1-{a}", f"2-{b}", f"3-{a}_wrong_{b}_right", f"4-{b}_wrong_{a}_right"]
    for folder, entry in zip(folders, (*document["models"], *document["differences"]), strict=True):
        audit = cli.parse((tmp_path / folder / "result.json").read_text("utf-8"))
        assert without(audit, "run") == entry["audit"]
        chosen = any(d["status"] in ("confirmed", "not_replicated") for d in audit["descriptors"])
        assert (audit["examples"] or {}).get("columns") == (["q_words"] if chosen else None)
        assert (tmp_path / folder / "report.md").exists()
    table = pd.read_csv(tmp_path / "findings.csv")
    assert len(table) == 4 * len(document["models"][0]["audit"]["descriptors"])
    assert "2 models on the same examples" in run.out
    assert "2 models on the same examples" in (tmp_path / "report.md").read_text("utf-8")


def test_results_of_models_that_are_no_longer_there_go(tmp_path: Path) -> None:
    three = janus_jax.compare(str(GSM8K), correct=list(SYSTEMS), differences="none", **FEW)
    two = janus_jax.compare(str(GSM8K), correct=list(SYSTEMS[1:]), differences="none", **FEW)
    three.write(tmp_path)
    first, second, third = (f"{i}-{name}" for i, name in enumerate(SYSTEMS, 1))
    (tmp_path / second / "notes.txt").write_text("mine", "utf-8")
    (tmp_path / third / "report.md").write_text("mine now", "utf-8")
    (tmp_path / "other").mkdir()
    two.write(tmp_path)
    kept = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    files = ("result.json", "findings.csv", "report.md", "report.html")
    now = [f"{i}-{name}" for i, name in enumerate(SYSTEMS[1:], 1)]
    assert kept == {
        *files,
        "other",
        *(name for folder in now for name in (folder, *(f"{folder}/{f}" for f in files))),
        *(second, f"{second}/notes.txt"),
        *(third, f"{third}/report.md"),
    }
    assert first not in kept
    two.audits[SYSTEMS[1]].write(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*files, "other", second, third}


def test_a_comparison_shows_itself_in_a_notebook(three: janus_jax.Comparison) -> None:
    page = three._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert (
        f"<strong>{repr(three).removeprefix('<Comparison: ').removesuffix('>').capitalize()}"
        in (page.replace("&gt;", ">"))
    )
    for finding in three.document["findings"][:10]:
        assert f"<bdi>{finding['name'].replace('>', '&gt;')}</bdi>" in page
    assert "<script" not in page


@pytest.mark.parametrize("value", [5, b"xy", {"x": 1}, 2.5])
@pytest.mark.parametrize("option", ["error", "examples", "id", "include", "na", "conjunction"])
def test_names_that_are_no_names(small: pd.DataFrame, option: str, value: object) -> None:
    given: dict[str, Any] = {"error": ["x", "y"], option: value}
    with pytest.raises(InputError, match=rf"^--{option}: .* is neither a name nor a list of names"):
        janus_jax.compare(small, **given, **FEW)


def test_nothing_foreign_is_replaced_in_the_folders_of_audits(tmp_path: Path) -> None:
    folder = tmp_path / f"1-{SYSTEMS[0]}"
    folder.mkdir()
    (folder / "result.json").write_text("mine", "utf-8")
    run = cli.call("audit", GSM8K, "--correct", ",".join(SYSTEMS[:2]), *cli.FAST, "--out", tmp_path)
    assert run.status == 2
    assert "was not written by janus-jax" in run.err
    assert (folder / "result.json").read_text("utf-8") == "mine"


@pytest.mark.parametrize("command", ["replay", "power", "sensitivity"])
def test_other_commands_take_one_model_at_a_time(command: str) -> None:
    run = cli.call(command, GSM8K, "--correct", ",".join(SYSTEMS))
    assert run.status == 2
    assert "3 models" in cli.one_message(run.err)


def test_a_plan_names_the_models_before_their_outcomes_are_there(tmp_path: Path) -> None:
    frame = pd.read_csv(GSM8K, dtype=str)
    facts, whole = tmp_path / "facts.csv", tmp_path / "whole.csv"
    frame.drop(columns=[c for c in frame if c.startswith(("correct", "resp"))]).to_csv(
        facts, index=False
    )
    frame.to_csv(whole, index=False)
    plan = tmp_path / "plan.toml"
    names = ",".join(SYSTEMS[:2])
    run = cli.call("plan", facts, "--correct", names, *cli.FAST[2:], "--out", plan)
    assert run.status == 0, run.err
    result = cli.audit(whole, "--plan", plan, *cli.FAST[:2])
    assert [m["name"] for m in result["models"]] == list(SYSTEMS[:2])
    assert result["plan"]["frozen_before_outcomes"] is True
    free = cli.audit(whole, "--correct", names, *cli.FAST)
    for planned, alone in zip(result["models"], free["models"], strict=True):
        assert planned["audit"]["descriptors"] == alone["audit"]["descriptors"]


def test_a_plan_for_rows_of_each_model(small: pd.DataFrame, tmp_path: Path) -> None:
    rows = pd.concat([small.assign(model=m, bad=small[m]) for m in "xy"]).drop(columns=["x", "y"])
    path, plan = tmp_path / "rows.csv", tmp_path / "plan.toml"
    rows.to_csv(path, index=False)
    options = ("--error", "bad", "--model-column", "model")
    run = cli.call("plan", path, *options, *cli.FAST[2:], "--out", plan)
    assert run.status == 0, run.err
    said = [line for line in run.out.splitlines() if line.startswith("not used")]
    assert said == ["not used: x: an outcome, not read", "not used: y: an outcome, not read"]
    # The outcome need not be there yet, and what it holds plays no part.
    before = tmp_path / "before.csv"
    rows.drop(columns="bad").to_csv(before, index=False)
    again = cli.call("plan", before, *options, *cli.FAST[2:], "--out", "-")
    assert again.out == plan.read_text("utf-8")
    planned = cli.audit(path, "--plan", plan, *cli.FAST[:2])
    free = cli.audit(path, *options, *cli.FAST)
    assert planned["plan"]["model_column"] == "model"
    for one, other in zip(planned["models"], free["models"], strict=True):
        assert one["audit"]["descriptors"] == other["audit"]["descriptors"]


def test_names_from_the_data_are_only_text(small: pd.DataFrame, tmp_path: Path) -> None:
    name = "<b>|*x*\u202e\x1b[31m"
    table = tmp_path / "t.csv"
    small.rename(columns={"x": name}).to_csv(table, index=False)
    run = cli.call("audit", table, "--error", f'"{name}",y', *cli.FAST, "--out", tmp_path / "o")
    assert run.status == 0, run.err
    assert "\x1b" not in run.out
    assert "\u202e" not in run.out
    markdown = (tmp_path / "o" / "report.md").read_text("utf-8")
    assert r"\<b\>\|\*x\*\\u202e\\u001b\[31m" in markdown
    assert (tmp_path / "o" / "1-b_x_31m" / "result.json").exists()


def test_the_document_follows_its_published_schema(three: janus_jax.Comparison) -> None:
    folder = Path(janus_jax.__file__).parent / "schema"
    published, single = (
        json.loads((folder / name).read_text("utf-8"))
        for name in ("comparison-1.json", "audit-1.json")
    )
    document = cli.parse(three.to_json())
    jsonschema.Draft202012Validator(published).validate(document)
    for audit in (*three.audits.values(), *three.differences.values()):
        jsonschema.Draft202012Validator(single).validate(audit.to_dict())
