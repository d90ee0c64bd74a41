"""A row for each example and model: what is said of models and columns is true of the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import janus_jax
from janus_jax.errors import InputError

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
