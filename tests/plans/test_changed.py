"""A table that is not the one planned for is refused, and what differs is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.audits import cli
from tests.audits.made import write
from tests.plans.common import FEW, by_plan, edit, make, refused_by_plan

Columns = dict[str, list[str]]


def columns() -> Columns:
    n = 120
    return {
        "id": [f"q{i}" for i in range(n)],
        "size": [str(i * 7 % 41) for i in range(n)],
        "kind": ["abc"[i % 3] for i in range(n)],
        "flag": ["yes" if i % 4 < 2 else "no" for i in range(n)],
        "group": [str(i % 2) for i in range(n)],
        "wrong": [str(int(i % 5 == 0)) for i in range(n)],
    }


def planned(tmp_path: Path, *words: str) -> Path:
    table = write(tmp_path / "table.csv", columns())
    return make(tmp_path / "plan.toml", table, "--error", "wrong", *words, *FEW)


def changed(tmp_path: Path, change: Callable[[Columns], object]) -> Path:
    made = columns()
    change(made)
    return write(tmp_path / "changed.csv", made)


def add_rows(table: Columns, rows: int) -> None:
    for name, values in table.items():
        values.extend([f"new{i}" for i in range(rows)] if name == "id" else values[:rows])


def drop_first(table: Columns) -> None:
    for values in table.values():
        del values[0]


def swap_rows(table: Columns) -> None:
    for values in table.values():
        values[3], values[5] = values[5], values[3]


CHANGES: list[tuple[Sequence[str], Callable[[Columns], object], str]] = [
    ((), lambda t: t["size"].__setitem__(4, "40"), "column 'size' changed since the plan"),
    ((), lambda t: t["kind"].__setitem__(4, "c"), "column 'kind' changed since the plan"),
    ((), lambda t: t["kind"].__setitem__(4, ""), "column 'kind' changed since the plan"),
    ((), lambda t: t["flag"].__setitem__(4, "no"), "column 'flag' changed since the plan"),
    ((), lambda t: t["size"].__setitem__(4, "x"), "column 'size' was numeric when planned and"),
    (
        ("--stratify", "group", "--exclude", "group"),
        lambda t: t["group"].__setitem__(4, "1"),
        "column 'group' changed since the plan",
    ),
    (("--cluster", "group"), lambda t: t["group"].reverse(), "column 'group' changed since"),
    ((), lambda t: t.pop("size"), "column 'size' of the plan is not in"),
    ((), lambda t: t.pop("id"), "column 'id' of the plan is not in"),
    ((), lambda t: t.pop("wrong"), "--error 'wrong': no such column"),
    ((), lambda t: add_rows(t, 3), "3 ids are new: 'new0', 'new1', 'new2'; an audit by a plan"),
    ((), lambda t: add_rows(t, 9), "9 ids are new: 'new0', 'new1', 'new2', 'new3', 'new4', ...;"),
    ((), drop_first, "1 id is gone: 'q0';"),
    ((), lambda t: t["id"].__setitem__(0, "z"), "1 id is new: 'z'; 1 id is gone: 'q0';"),
    ((), lambda t: t["id"].__setitem__(0, ""), "1 id is new: row 1; 1 id is gone: 'q0';"),
    ((), swap_rows, "the ids are the same, but the rows stand in another order"),
    (("--id", "size,kind"), drop_first, "1 id is gone: '0 / a'"),
]


@pytest.mark.parametrize(("words", "change", "said"), CHANGES)
def test_what_differs_is_named(
    words: Sequence[str], change: Callable[[Columns], object], said: str, tmp_path: Path
) -> None:
    plan = planned(tmp_path, *words)
    message = refused_by_plan(plan, changed(tmp_path, change))
    assert said in message
    assert str(plan) in message or "no such column" in message


def test_without_ids(tmp_path: Path) -> None:
    made = columns()
    del made["id"]
    options = ("--error", "wrong", *FEW)
    plan = make(tmp_path / "plan.toml", write(tmp_path / "table.csv", made), *options)
    add_rows(made, 3)
    said = refused_by_plan(plan, write(tmp_path / "changed.csv", made))
    assert "120 examples were planned, and there are 123 now" in said
    said = refused_by_plan(plan, write(tmp_path / "ids.csv", columns()))
    assert "examples were named by their row numbers when planned, now by 'id'" in said


def test_many_ids_are_hashed_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("janus_jax.plans.drafting.LISTED", 119)
    plan = planned(tmp_path)
    assert "[ids]" not in plan.read_text(encoding="utf-8")
    by_plan(plan, tmp_path / "table.csv")
    table = changed(tmp_path, lambda t: t["id"].__setitem__(0, "z"))
    assert "the ids, or their order, changed since the plan" in refused_by_plan(plan, table)


def test_what_the_plan_does_not_use_may_change(tmp_path: Path) -> None:
    plan = planned(tmp_path, "--exclude", "size")
    table = changed(tmp_path, lambda t: t["size"].reverse())
    assert (
        by_plan(plan, table)["descriptors"] == by_plan(plan, tmp_path / "table.csv")["descriptors"]
    )


def test_spelling_is_not_meaning(tmp_path: Path) -> None:
    def respell(table: Columns) -> None:
        table["flag"] = [{"yes": "True", "no": "FALSE"}[value] for value in table["flag"]]
        table["size"] = [f"{value}.0" for value in table["size"]]

    plan = planned(tmp_path)
    table = changed(tmp_path, respell)
    assert (
        by_plan(plan, table)["descriptors"] == by_plan(plan, tmp_path / "table.csv")["descriptors"]
    )


@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_the_same_table_of_another_kind(kind: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    from janus_jax import audit

    plan = planned(tmp_path)
    frame = pandas.read_csv(tmp_path / "table.csv")
    # Levels in another order than they appear in.
    frame["kind"] = pandas.Categorical(frame["kind"], categories=["c", "unseen", "b", "a"])
    source: object = frame
    if kind == "parquet":
        source = str(tmp_path / "table.parquet")
        frame.to_parquet(source)
    found = audit(source, plan=plan, backend="numpy").to_dict()
    assert found["descriptors"] == by_plan(plan, tmp_path / "table.csv")["descriptors"]


def test_a_new_outcome_takes_no_planned_column_away(tmp_path: Path) -> None:
    """Unplanned, a column that ends like another outcome is left out."""
    made = {"size_a1" if name == "size" else name: values for name, values in columns().items()}
    table = write(tmp_path / "table.csv", made)
    options = ("--error", "wrong", *FEW)
    plan = make(tmp_path / "plan.toml", table, *options)
    later = write(tmp_path / "later.csv", {**made, "correct_a1": made["group"]})
    unplanned = cli.audit(later, *options, "--backend", "numpy")
    assert "size_a1" in {entry["column"] for entry in unplanned["not_used"]}
    assert by_plan(plan, later)["descriptors"] == by_plan(plan, table)["descriptors"]


OPTIONS = [
    ("--q", "0.2"),
    ("--error", "wrong"),
    ("--correct", "wrong"),
    ("--seed", "0"),
    ("--pairs",),
    ("--id", "id"),
    ("--preset", "musique"),
    ("--permutations", "99"),
    ("--min-holdout-lift", "0.1"),
    ("--missing-outcome", "drop"),
    ("--descriptor", "size"),
]


@pytest.mark.parametrize("words", OPTIONS)
def test_options_beside_a_plan_are_refused_by_name(words: Sequence[str], tmp_path: Path) -> None:
    plan = planned(tmp_path)
    said = refused_by_plan(plan, tmp_path / "table.csv", *words)
    assert f"{words[0]} does not go with --plan {plan}" in said


def test_options_that_change_no_result_stay_free(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    free = ("--batch", "64", "--memory", "10", "--encoding", "utf-8", "--quiet")
    words = (*free, "--delimiter", ",", "--checkpoint", tmp_path / "kept")
    result = by_plan(plan, tmp_path / "table.csv", *words)
    assert result["plan"]["frozen_before_outcomes"] is True


EDITS = [
    # Free to change: the plan still runs, but is no longer fixed beforehand.
    ('q = "0.10"', 'q = "0.20"', None),
    ("permutations = 199", "permutations = 299", None),
    ('  { name = "flag", kind = "boolean", column = "flag" },\n', "", None),
    # Follows from the table: refused by name.
    ('name = "size > 21", kind = "numeric", column = "size", above = "21"',
     'name = "size > 20", kind = "numeric", column = "size", above = "20"',
     "rule 'size > 20': its threshold is 20, but the discovery median of 'size' is 21"),
    ('name = "kind = a", kind = "level", column = "kind", level = "a"',
     'name = "kind = z", kind = "level", column = "kind", level = "z"',
     "rule 'kind = z': discovery has no row of column 'kind' with that level"),
    ('levels = ["a", "b", "c"]', 'levels = ["a", "b"]',
     "column 'kind': its levels in discovery are not those of the plan; they differ in 'c'"),
    ("seed = 0", "seed = 1", "the split differs from the plan's (60 discovery, 60 holdout, 0"),
    ('fraction = "0.5"', 'fraction = "0.4"', "the split differs from the plan's (48 discovery"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), EDITS)
def test_edits(old: str, new: str, said: str | None, tmp_path: Path) -> None:
    plan = planned(tmp_path)
    edit(plan, old, new)
    if said is not None:
        assert said in refused_by_plan(plan, tmp_path / "table.csv")
        return
    run = cli.call("audit", tmp_path / "table.csv", "--plan", plan, "--backend", "numpy")
    assert run.status == 0, run.err
    assert "was edited after planning" in run.err
    assert "before outcomes were read" not in run.out.replace("fixed before outcomes were read", "")
    assert "by a plan that was edited after planning; plan " in run.out
    result = by_plan(plan, tmp_path / "table.csv")
    assert result["plan"]["frozen_before_outcomes"] is False
    assert result["plan"]["planned"]["edited"] is True
    assert "edited after planning" in result["warnings"][0]


def test_a_rule_taken_out_is_not_tested(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    before = by_plan(plan, tmp_path / "table.csv")
    edit(plan, '  { name = "flag", kind = "boolean", column = "flag" },\n', "")
    after = by_plan(plan, tmp_path / "table.csv")
    assert [d["name"] for d in after["descriptors"]] == [
        d["name"] for d in before["descriptors"] if d["name"] != "flag"
    ]


def test_comments_and_layout_do_not_count(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    hash_before = by_plan(plan, tmp_path / "table.csv")["plan"]["hash"]
    lines = [
        line.replace(" = ", "   =  ", 1) + "  # said by hand" if line.startswith("decoys") else line
        for line in plan.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    text = "\r\n".join([*lines, ""]).replace('q = "0.10"', "q = 0.10")
    plan.write_bytes(b"\xef\xbb\xbf" + text.encode())
    after = by_plan(plan, tmp_path / "table.csv")["plan"]
    assert after["hash"] == hash_before
    assert after["frozen_before_outcomes"] is True


def test_another_version_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("janus_jax.plans.drafting.__version__", "0.0.7")
    plan = planned(tmp_path)
    result = by_plan(plan, tmp_path / "table.csv")
    assert "was made by version 0.0.7 and is followed by version" in result["warnings"][0]
    assert result["plan"]["frozen_before_outcomes"] is True
