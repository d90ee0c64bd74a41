"""What is said of outcomes that are no error of one model, and of who loses ground to whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import janus_jax
from janus_jax.html.comparison import comparison_page
from tests.audits import cli
from tests.html import made
from tests.html.reading import Read

FEW: dict[str, Any] = {"permutations": 999, "backend": "numpy"}
MODELS = ("correct_6b_verification", "correct_175b_finetuning")


def halves(table: pd.DataFrame) -> pd.DataFrame:
    """The first half is searched, the second confirms."""
    return table.assign(
        half=np.where(np.arange(len(table)) < len(table) / 2, "discovery", "holdout")
    )


def rates(inside: dict[str, float], outside: dict[str, float], n: int = 4000) -> pd.DataFrame:
    """Models that are wrong independently at these rates, where ``x`` holds and elsewhere."""
    rng = np.random.default_rng(11)
    x = rng.random(n) < 0.5
    wrong = {m: rng.random(n) < np.where(x, inside[m], outside[m]) for m in inside}
    return halves(pd.DataFrame({"id": [f"e{i}" for i in range(n)], "x": x, **wrong}))


def test_the_page_of_a_difference_speaks_of_the_difference() -> None:
    """Counts and rates come from the table; nothing is called an error of "the model"."""
    result = janus_jax.compare(made.GSM8K, correct=list(MODELS), **FEW)
    right, wrong = MODELS
    audit = result.differences[f"{wrong} wrong, {right} right"]
    document = audit.to_dict()
    assert document["data"]["outcome"]["models"] == {"wrong": wrong, "right": right}
    table = pd.read_csv(made.GSM8K)
    happens = ~table[wrong].astype(bool) & table[right].astype(bool)
    slice_ = table["n_add"] > 1
    assert audit.confirmed == ["n_add > 1"]
    page = audit.to_html()
    assert page is not None
    read = Read(page)
    shown = " ".join(read.shown().split())
    counts = int((happens & slice_).sum()), int((~happens & slice_).sum())
    assert counts == (33, 356)
    only = f"that {wrong} gets wrong and {right} right"
    assert f"{counts[0]} {only}, {counts[1]} others" in shown
    d = next(d for d in document["descriptors"] if d["name"] == "n_add > 1")["holdout"]
    inside, outside = (f"{100 * d[f'errors_{s}'] / d[s]:.0f}%" for s in ("on", "off"))
    assert (
        f"In 1 of the 16 groups of examples that were tested it happens less often than elsewhere "
        f"that {wrong} is wrong and {right} right, and the difference held up"
    ) in shown
    assert (
        f"{inside} are answered wrongly by {wrong} and rightly by {right}, against {outside}"
        in shown
    )
    assert "n_add > 1 (less often)" in shown
    assert f"an error is an example {only}; all others, those that both get wrong among" in shown
    assert "lift: how often inside minus outside" in page
    labels = {row[2] for row in read.rows("examples")}
    assert labels == {"error", "no error"}
    for untrue in ("the model errs", "the model's error rate", "fewer errors", "true = wrong"):
        assert untrue not in shown
    for text in (page, audit.to_markdown()):
        assert (
            f"Where the errors of {wrong} that {right} does not make concentrate"
            in text.replace("\\", "").replace("<wbr>", "")
        )
    assert f"Here an error is an example {only}" in audit.to_markdown().replace("\\", "")


def test_without_a_holdout_nobody_loses_ground() -> None:
    """The examples that selected a slice would tell it of themselves."""
    table = rates({"a": 0.7, "b": 0.2}, {"a": 0.2, "b": 0.2}).drop(columns="half")
    result = janus_jax.compare(table, error=["a", "b"], discovery="1", **FEW)
    (pair,) = result.document["pairs"]
    assert pair["findings"]
    for finding in pair["findings"]:
        assert (finding["difference"]["low"], finding["difference"]["high"]) == (None, None)
    said = repr(result)
    assert "loses ground" not in said
    assert "clearly" not in said
    assert "There is no holdout: the examples that selected these slices" in result.to_markdown()


def test_where_it_cannot_be_judged_nothing_is_said_to_be_unclear() -> None:
    table = rates({"a": 0.7, "b": 0.2}, {"a": 0.2, "b": 0.2})
    table["team"] = np.arange(len(table)) // 2
    options: dict[str, Any] = {"error": ["a", "b"], "split_column": "half", **FEW}
    apart = repr(janus_jax.compare(table, **options))
    assert "a loses ground to b in 1 slice (x)" in apart
    together = repr(janus_jax.compare(table, cluster="team", **options))
    assert "where two of them disagree" in together
    assert "clearly" not in together


def test_who_is_never_wrong_there_does_not_lose_ground() -> None:
    """b, always wrong elsewhere, is right where x holds; a is nearly always right everywhere."""
    table = rates({"a": 0.0, "b": 0.0, "c": 0.5}, {"a": 0.04, "b": 0.9, "c": 0.5})
    said = repr(janus_jax.compare(table, error=["a", "b", "c"], split_column="half", **FEW))
    assert "b catches up with a in 1 slice (x)" in said
    assert "a loses ground" not in said


def test_the_clearest_comparison_is_named_not_the_largest() -> None:
    """``rare`` differs more; in ``big`` the difference is many times its standard error."""
    rng = np.random.default_rng(5)
    n = 6000
    rare, big = rng.random(n) < 0.03, rng.random(n) < 0.5
    a = rng.random(n) < 0.2 + 0.25 * big + 0.5 * rare
    b = rng.random(n) < 0.35
    frame = pd.DataFrame(
        {"id": [f"e{i}" for i in range(n)], "rare": rare, "big": big, "a": a, "b": b}
    )
    table = halves(frame)
    result = janus_jax.compare(
        table, error=["a", "b"], split_column="half", min_prevalence="0.01", **FEW
    )
    held = table[table.half == "holdout"]
    size: dict[str, float] = {}
    z: dict[str, float] = {}
    for name in ("rare", "big"):
        inside, outside = (held[held[name] == side] for side in (True, False))
        nets = [part.a.astype(int) - part.b.astype(int) for part in (inside, outside)]
        size[name] = float(nets[0].mean() - nets[1].mean())
        z[name] = size[name] / float(sum(net.var() / len(net) for net in nets)) ** 0.5
    assert size["rare"] > size["big"] + 0.05
    assert z["big"] > 1.5 * z["rare"] > 6
    page = Read(comparison_page(result.document)).shown()
    assert "Compared directly, most clearly a loses ground to b in \u201cbig\u201d" in " ".join(
        page.split()
    )


@pytest.mark.parametrize("name", ["  lead", "trail ", "in, it", " both, "])
def test_a_name_with_blanks_can_be_compared_in_quotes(name: str) -> None:
    table = rates({"x1": 0.5, "x2": 0.2}, {"x1": 0.2, "x2": 0.2}).rename(columns={"x1": name})
    result = janus_jax.compare(table, error=f'"{name}",x2', split_column="half", **FEW)
    assert [model["name"] for model in result.document["models"]] == [name, "x2"]


def test_blanks_around_a_name_are_no_part_of_it(tmp_path: Any) -> None:
    table = rates({"a": 0.5, "b": 0.2}, {"a": 0.2, "b": 0.2})
    table.to_csv(tmp_path / "t.csv", index=False)
    got = cli.audit(tmp_path / "t.csv", "--error", " a , b ", *cli.FAST)
    assert [model["name"] for model in got["models"]] == ["a", "b"]


def test_of_three_models_two_are_compared_whatever_the_third_did() -> None:
    table = rates({"a": 0.7, "b": 0.2, "c": 0.6}, {"a": 0.2, "b": 0.2, "c": 0.6}, n=3000)
    result = janus_jax.compare(table, error=["a", "b", "c"], split_column="half", **FEW)
    text = " ".join(Read(comparison_page(result.document)).shown().split())
    held = table[table.half == "holdout"]
    inside, outside = held[held.x], held[~held.x]

    def counts(part: pd.DataFrame, other: str) -> list[int]:
        return [int((part.a & ~part[other]).sum()), int((part[other] & ~part.a).sum())]

    sentences = [
        f"most clearly a loses ground to {other} in \u201cx\u201d: elsewhere, of {len(outside)} "
        f"examples, a is wrong and {other} right on {elsewhere[0]}, and the reverse on "
        f"{elsewhere[1]}; there, of {len(inside)}, on {there[0]} against {there[1]}."
        for other in "bc"
        for there, elsewhere in [(counts(inside, other), counts(outside, other))]
    ]
    assert sum(said in text for said in sentences) == 1


def test_names_that_read_as_words_stand_in_quotes() -> None:
    """A blank at an end, a comma, "all" and "none" are seen to be names, in every sentence."""
    table = rates({"none": 0.7, " pad ": 0.2}, {"none": 0.2, " pad ": 0.2})
    result = janus_jax.compare(table, error='none," pad "', split_column="half", **FEW)
    assert "1 for 'none' alone (x); 'none' loses ground to ' pad ' in 1 slice" in repr(result)
    text = Read(comparison_page(result.document)).shown()
    assert "Compared directly, 'none' loses ground to ' pad ' in" in text
    assert "Wrong in holdout: 'none' " in text
    page = result.differences["none wrong,  pad  right"].to_html()
    assert page is not None
    assert "that 'none' is wrong and ' pad ' right" in Read(page).shown()
    assert "It speaks of these examples and these models." in Read(page).shown()
