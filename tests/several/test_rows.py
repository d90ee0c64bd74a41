"""A row for each example and model: what is said of models and columns is true of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import janus_jax
from janus_jax.errors import InputError
from janus_jax.plans.drafting import plan
from janus_jax.plans.file import read_plan

FEW: dict[str, Any] = {
    "model_column": "model", "id": "ex", "permutations": 99, "decoys": 100, "backend": "numpy",
}  # fmt: skip


def rows(*models: str, n: int = 160) -> pd.DataFrame:
    """``right``, ``len``, ``flag`` of every example for each of the models."""
    rng = np.random.default_rng(3)
    facts = pd.DataFrame(
        {
            "ex": [f"e{i}" for i in range(n)],
            "len": rng.integers(1, 90, n),
            "flag": rng.random(n) < 0.5,
        }
    )
    return pd.concat(
        [facts.assign(model=model, right=(rng.random(n) < 0.6).astype(int)) for model in models],
        ignore_index=True,
    )


def notes_of(result: janus_jax.Comparison, model: str) -> list[str]:
    return result.audits[model].to_dict()["notes"]


def test_the_note_on_an_outcome_names_the_column_of_the_file() -> None:
    table = rows("m0", "m1")
    result = janus_jax.compare(table, correct="right", **FEW)
    for model in ("m0", "m1"):
        assert "outcome column 'right' read as '0' = wrong; '1' = right" in notes_of(result, model)
    assert not any("column 'm0'" in note for note in notes_of(result, "m0"))
    missing = table.astype({"right": object})
    missing.loc[[3, 8], "right"] = None
    result = janus_jax.compare(missing, correct="right", missing_outcome="drop", **FEW)
    said = "outcome column 'right' has 2 missing values; 158 of 160 rows used"
    assert said in notes_of(result, "m0")
    assert said not in notes_of(result, "m1")
    none = table.assign(right=table.right.where(table.model == "m0"))
    with pytest.raises(
        InputError, match=r"^model 'm1': outcome column 'right' has no value in any"
    ):
        janus_jax.compare(none, correct="right", missing_outcome="drop", **FEW)


def test_scores_of_rows_are_said_of_their_column() -> None:
    table = rows("m0", "m1").rename(columns={"right": "graded"})
    result = janus_jax.compare(table, score="graded", pass_at="0.5", **FEW)
    for model in ("m0", "m1"):
        right = int(table[table.model == model].graded.sum())
        said = f"score column 'graded': a score >= 0.5 is right: {right} right, {160 - right} wrong"
        assert any(note.startswith(said) for note in notes_of(result, model))


def test_a_name_of_a_model_is_no_name_of_a_column() -> None:
    """What names of outcome columns say of them and of others, names of models do not."""
    table = rows("error corrector", "gpt flag", "len model").assign(len_words=lambda t: t.len + 1)
    table["answer_flag"] = table["flag"] ^ (table["len"] % 3 == 0)
    result = janus_jax.compare(table, correct="right", **FEW)
    assert not any("its name says the opposite" in said for said in result.document["warnings"])
    names = {
        d["name"].split(" > ")[0] for d in result.document["models"][0]["audit"]["descriptors"]
    }
    assert names == {"len", "flag", "len_words", "answer_flag"}
    assert any(
        "outcome column 'wrong' is read by --correct, but its name says the opposite" in said
        for said in janus_jax.compare(
            table.rename(columns={"right": "wrong"}), correct="wrong", **FEW
        ).document["warnings"]
    )


def test_a_model_may_be_called_as_any_column_is() -> None:
    named = rows("model", "right", "len", "ex")
    plain = rows("m0", "m1", "m2", "m3")
    result = janus_jax.compare(named, correct="right", **FEW)
    assert list(result.audits) == ["model", "right", "model=len", "model=ex"]
    expected = janus_jax.compare(plain, correct="right", **FEW)
    for one, other in zip(result.audits.values(), expected.audits.values(), strict=True):
        assert one.to_dict()["descriptors"] == other.to_dict()["descriptors"]
    with pytest.raises(InputError, match=r"^--model-column ex: that column is the outcome, the id"):
        janus_jax.compare(named, correct="right", **{**FEW, "model_column": "ex"})


def test_models_that_differ_in_blanks_or_case_alone_are_said() -> None:
    result = janus_jax.compare(rows("m0", "m0 ", "M 0", "m1"), correct="right", **FEW)
    said = "models 'm0', 'm0 ', 'M 0' differ in blanks or case alone; they are taken as different"
    assert any(note.startswith(said) for note in notes_of(result, "m1"))
    assert list(result.audits) == ["m0", "m0 ", "M 0", "m1"]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (
            ("A", "A wrong, B right", "B"),
            r"what 'A' gets wrong and 'B' right is an outcome called 'A wrong, B right', and so is "
            r"that of 'A wrong, B right' itself: give one of these models another name",
        ),
        (
            ("x", "y wrong, z right", "x wrong, y", "z right"),
            r"what 'x wrong, y' gets wrong and 'z right' right is an outcome called .*, and so is "
            r"what 'x' gets wrong and 'y wrong, z right' right",
        ),
    ],
)
def test_outcomes_of_one_name_are_refused(models: tuple[str, ...], message: str) -> None:
    table = rows(*models)
    with pytest.raises(InputError, match=message):
        janus_jax.compare(table, correct="right", differences="all", **FEW)
    result = janus_jax.compare(table, correct="right", differences="none", **FEW)
    assert list(result.audits) == list(models)


def test_models_called_all_and_none_are_told_from_all_and_none() -> None:
    table = rows("all", "none", "a, b")
    result = janus_jax.compare(table, correct="right", differences="none", **FEW)
    wide = table.pivot(index="ex", columns="model", values="right").sum(axis=1)
    told = result.to_markdown().split("## Who is wrong together")[1].split("##")[0]
    counts = {
        line.split(" | ")[0].removeprefix("| "): sum(map(int, line.strip("| ").split(" | ")[1:]))
        for line in told.splitlines()
        if line.startswith("| ") and "wrong" not in line and "---" not in line
    }
    assert counts["all"] == (wide == 0).sum()
    assert counts["none"] == (wide == 3).sum()
    assert {"'all'", "'none'", "'a, b'", "'all', 'none'", "'all', 'a, b'"} <= set(counts)


def test_what_is_left_of_a_name_tells_models_apart() -> None:
    result = janus_jax.compare(
        rows("a_", "a_a_", "a_b"), correct="right", differences="none", **FEW
    )
    models = result.to_markdown().split("## Findings")[0]
    for name in (r"a\_", r"a\_a\_", r"a\_b"):
        assert f"| {name} |" in models


def test_a_side_that_is_empty_in_discovery_is_said_of_each_outcome() -> None:
    table = rows("m0", "m1", "m2")
    half = np.where(np.arange(len(table)) % 160 % 2 == 0, "discovery", "holdout")
    table["right"] = table["right"].mask((table.model == "m1") & (half == "discovery"), 1)
    table["half"] = half
    result = janus_jax.compare(
        table, correct="right", split_column="half", differences="all", **FEW
    )
    assert [
        said for said in result.document["warnings"] if "every" in said or "no disc" in said
    ] == [
        "m1: every discovery example is right: no descriptor can be selected",
        "'m1 wrong, m0 right', 'm1 wrong, m2 right': no discovery example counts as an error here: "
        "no descriptor can be selected",
    ]
    table["right"] = table["right"].mask(table.model == "m1", 1)
    table.loc[(table.model == "m1") & (table.half == "holdout") & (table.flag), "right"] = 0
    table.loc[(table.model == "m0") & (table.half == "discovery"), "right"] = 0
    result = janus_jax.compare(table, correct="right", split_column="half", **FEW)
    own = result.differences["m0 wrong, m1 right"].to_dict()["warnings"]
    said = "every discovery example counts as an error here: no descriptor can be selected"
    assert said in own
    assert f"'m0 wrong, m1 right': {said}" in result.document["warnings"]


@pytest.mark.parametrize("term", ["len > 34", "len", "len is missing"])
def test_a_conjunction_of_a_fact_that_differs_says_why_it_is_gone(term: str) -> None:
    table = rows("m0", "m1")
    table.loc[165, "len"] = 99
    with pytest.raises(
        InputError,
        match=rf"--conjunction 'z = {term} & flag': there is no descriptor '{term}', since column "
        r"'len' is not used: differs between the rows of one example.*in 1 of 160 examples, the "
        r"first 'e5', DataFrame row 6 and DataFrame row 166",
    ):
        janus_jax.compare(table, correct="right", conjunction=f"z = {term} & flag", **FEW)


def test_numbers_written_in_two_ways_are_one_fact() -> None:
    table = rows("m0", "m1").assign(yes=lambda t: t.flag.map({True: "yes", False: "no"}))
    expected = janus_jax.compare(table, correct="right", **FEW)
    written = table.astype({"len": str})
    second = written.model == "m1"
    written.loc[second, "len"] += ".0"
    written.loc[second, "yes"] = written.loc[second, "yes"].map({"yes": " TRUE", "no": "0"})
    result = janus_jax.compare(written, correct="right", **FEW)
    for model in ("m0", "m1"):
        assert (
            result.audits[model].to_dict()["descriptors"]
            == expected.audits[model].to_dict()["descriptors"]
        )
    # Named as categories they are what they are written as, and so are groups.
    with pytest.raises(InputError, match=r"--categorical len: it differs between the rows of exam"):
        janus_jax.compare(written, correct="right", categorical="len", **FEW)
    with pytest.raises(InputError, match=r"--cluster len: it differs between the rows of example"):
        janus_jax.compare(written, correct="right", cluster="len", **FEW)
    again = pd.concat([written[second], written[~second]]).assign(model="one")
    alone = janus_jax.audit(
        again, correct="right", id="ex", repeats="first", exclude="model", permutations=99,
        decoys=100, backend="numpy",
    )  # fmt: skip
    assert {d["name"].split(" > ")[0] for d in alone.to_dict()["descriptors"]} == {
        "len", "flag", "yes",
    }  # fmt: skip
    unlike = again.reset_index(drop=True)
    unlike.loc[200, "len"] = "99"
    with pytest.raises(InputError, match=r"column 'len' differs between repeats of example 'e40'"):
        janus_jax.audit(unlike, correct="right", id="ex", repeats="first", exclude="model")


def test_a_plan_holds_an_audit_to_its_models(tmp_path: Path) -> None:
    table = rows("m0", "m1", "m2")
    path = tmp_path / "plan.toml"
    options = {name: FEW[name] for name in ("model_column", "id", "permutations", "decoys")}
    planned = plan(
        table.drop(columns="right"), correct="right", out=path, discovery="0.5", **options
    )
    assert 'models = ["m0", "m1", "m2"]' in path.read_text("utf-8").splitlines()

    def audited(rows_of_models: pd.DataFrame) -> janus_jax.Comparison:
        return janus_jax.compare(rows_of_models, plan=path, backend="numpy")

    assert list(audited(table).audits) == ["m0", "m1", "m2"]
    assert read_plan(path) == planned
    for found, said in (
        (table[table.model != "m1"], "it has no row of 'm1'"),
        (pd.concat([table, table[table.model == "m1"].assign(model="m3")]), "it has rows of 'm3'"),
        (
            table.assign(model=table.model.replace("m2", "M2")),
            "it has no row of 'm2' and it has rows of 'M2'",
        ),
        (
            pd.concat([table[table.model == m] for m in ("m1", "m0", "m2")]),
            "they come in another order: 'm1', 'm0', 'm2'",
        ),
    ):
        with pytest.raises(
            InputError,
            match=rf"plan.toml: the table's models are not those of the plan \('m0', 'm1', 'm2'\): "
            rf"{said}; an audit by a plan needs the table it was made from",
        ):
            audited(found)
    text = path.read_text("utf-8")
    for changed, said in (
        ('models = ["m0"]', r"\[outcome\] models must name two or more models, each once"),
        ('models = ["m0", "m0"]', r"\[outcome\] models must name two or more models, each once"),
        ("models = 2", r"\[outcome\] models is 2, but it must be an array"),
    ):
        path.write_text(text.replace('models = ["m0", "m1", "m2"]', changed), "utf-8")
        with pytest.raises(InputError, match=said):
            audited(table)
    path.write_text(text.replace('model_column = "model"\n', ""), "utf-8")
    with pytest.raises(InputError, match=r"\[outcome\] models goes with model_column, or with a l"):
        audited(table)


def test_first_is_the_first_row_with_an_outcome_or_without() -> None:
    table = rows("m0", "m1").astype({"right": object})
    blank = table[(table.model == "m0") & (table.ex == "e7")].assign(right=None)
    twice = pd.concat([blank, table], ignore_index=True)
    sizes: dict[str, int] = {}
    for repeats in ("first", "any", "all"):
        result = janus_jax.compare(
            twice, correct="right", repeats=repeats, missing_outcome="drop", **FEW
        )
        data = result.document["data"]
        sizes[repeats] = data["discovery"]["n"] + data["holdout"]["n"]
    assert sizes == {"first": 159, "any": 160, "all": 160}
