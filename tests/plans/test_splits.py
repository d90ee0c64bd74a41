"""Three-way splits, splits given example by example, and conjunctions beside the options'."""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path

import numpy as np
import pytest

from janus_jax import audit
from janus_jax.errors import InputError
from janus_jax.plan import make_plan
from janus_jax.plans.drafting import draft_plan, plan, write_plan
from janus_jax.plans.file import read_plan
from janus_jax.readers import read
from tests.audits import cli
from tests.audits.made import write
from tests.plans.common import FEW, GSM8K, OUTCOME, by_plan, comparable, edit, make, refused_by_plan
from tests.plans.test_changed import columns
from tests.plans.test_equals_audit import gaps


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_random_three_way_split(tmp_path: Path) -> None:
    """Against a deal written from the definition, and the same split given as a column."""
    options = (*OUTCOME[GSM8K], *FEW)
    dealt = ("--stratify", "question_type", "--seed", "9", "--discovery", "0.4")
    path = make(tmp_path / "plan.toml", GSM8K, *options, *dealt, "--proposal", "0.3")
    rows = rows_of(GSM8K)
    strata: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        strata.setdefault(row["question_type"], []).append(i)
    generator, part = random.Random(9), ["holdout"] * len(rows)
    for members in strata.values():
        generator.shuffle(members)
        aside = len(members) * 3 // 10
        shared = math.floor((len(members) - aside) * 4 / 10)
        for i in members[:aside]:
            part[i] = "proposal"
        for i in members[aside : aside + shared]:
            part[i] = "discovery"
    listed = read_plan(path).ids
    assert listed is not None
    for name, ids in zip(("discovery", "holdout", "proposal"), listed, strict=True):
        said = [(row["id"],) for row, where in zip(rows, part, strict=True) if where == name]
        assert list(ids) == said
    table = write(
        tmp_path / "split.csv",
        {**{name: [row[name] for row in rows] for name in rows[0]}, "part": part},
    )
    found = by_plan(path, GSM8K)
    direct = cli.audit(
        *(table, *options, "--seed", "9", "--split-column", "part", "--backend", "numpy")
    )
    assert found["plan"]["split"]["proposal"] == "0.3"
    assert found["data"]["proposal_rows"] == part.count("proposal")
    assert found["descriptors"] == direct["descriptors"]
    assert found["methods"] == direct["methods"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--proposal", "0"), "--proposal is '0', but it must be a decimal above 0 and below 1"),
        (("--proposal", "1.0"), "--proposal is '1.0'"),
        (("--proposal", "-0.1"), "--proposal is '-0.1'"),
        (("--proposal", "some"), "--proposal is 'some'"),
        (("--proposal", "0.5", "--discovery", "1"), "it does not go with --discovery 1"),
        (("--proposal", "0.5", "--split-column", "group"), "does not go with --split-column"),
        (("--proposal", "0.999"), "discovery holds 0 of 120 examples"),
    ],
)
def test_wrong_proposals(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    table = write(tmp_path / "table.csv", columns())
    run = cli.call("plan", table, "--error", "wrong", *words, "--out", tmp_path / "plan.toml")
    assert run.status == 2
    assert said in cli.one_message(run.err)


@pytest.mark.parametrize("ids", [True, False])
def test_a_split_given_example_by_example(ids: bool, tmp_path: Path) -> None:
    made = columns()
    if not ids:
        del made["id"]
    table = write(tmp_path / "table.csv", made)
    where = np.array(random.Random(1).choices([0, 1, 2], k=120), dtype=np.int8)
    options = make_plan({"error": "wrong", "permutations": 199, "seed": 5})
    path = tmp_path / "plan.toml"
    planned = write_plan(draft_plan(read(str(table)), options, where=where), path)
    assert read_plan(path) == planned
    assert planned.split.kind == "listed"
    found = audit(str(table), plan=path, backend="numpy").to_dict()
    words = [("discovery", "holdout", "proposal")[part] for part in where.tolist()]
    given = write(tmp_path / "given.csv", {**made, "part": words})
    direct = audit(
        *(str(given),),
        error="wrong",
        permutations=199,
        seed=5,
        split_column="part",
        backend="numpy",
    ).to_dict()
    assert found["plan"]["split"] == {"kind": "listed"}
    assert found["descriptors"] == direct["descriptors"]
    assert found["methods"] == direct["methods"]
    assert found["plan"]["frozen_before_outcomes"] is True
    assert planned.ids is not None
    example = planned.ids[0][0]
    first = f" {example}," if isinstance(example, int) else f' "{example[0]}",'
    fresh = path.read_bytes()
    for new, said in ((first * 2, "[ids] lists"), ("", "[ids] does not list")):
        path.write_bytes(fresh)
        assert said in refused_by_plan(edit(path, first, new), table)
    path.write_bytes(fresh)
    content = path.read_text(encoding="utf-8")
    path.write_text(content[: content.index("[ids]")], encoding="utf-8")
    assert "ids is missing, but [split] kind is 'listed'" in refused_by_plan(path, table)


def test_a_given_split_goes_with_no_other(tmp_path: Path) -> None:
    table = read(str(write(tmp_path / "table.csv", columns())))
    where = np.zeros(120, dtype=np.int8)
    with pytest.raises(InputError, match="neither --split-column nor --proposal"):
        draft_plan(table, make_plan({"error": "wrong"}), proposal="0.2", where=where)


def test_conjunctions_beside_the_options(tmp_path: Path) -> None:
    table = write(tmp_path / "table.csv", columns())
    options = {"error": "wrong", "permutations": 199, "min_support": 1, "min_prevalence": "0"}
    path = tmp_path / "plan.toml"
    draft = draft_plan(read(str(table)), make_plan(options))
    names = [item.name for item in draft.descriptors.items]
    size = next(name for name in names if name.startswith("size > "))
    extra = [("pair", (size, "flag")), ("all three", ("kind = a", size, "flag"))]
    write_plan(draft, path, extra=extra, outcomes_read="proposal")
    found = audit(str(table), plan=path, backend="numpy").to_dict()
    direct = audit(
        *(str(table),),
        **options,  # pyright: ignore[reportArgumentType]
        conjunction=[f"pair = {size} & flag", f"all three = kind = a & {size} & flag"],
        backend="numpy",
    ).to_dict()
    plain = {d["name"]: d["discovery"] for d in direct["descriptors"]}
    assert {d["name"]: d["discovery"] for d in found["descriptors"]} == plain
    assert found["plan"]["planned"]["outcomes_read"] == "proposal"
    report = audit(str(table), plan=path, backend="numpy").to_markdown()
    assert "Planned before the outcomes of discovery and holdout were read" in report
    for wrong, said in (
        ([("x", ("nothing", "flag"))], "no descriptor is called 'nothing'"),
        ([("x", ("flag",))], "needs two or more parts"),
        ([("flag", (size, "group"))], "two descriptors are called 'flag'"),
        ([("x", (size, "flag")), ("x", (size, "group"))], "two descriptors are called 'x'"),
    ):
        with pytest.raises(InputError, match=said):
            write_plan(draft, tmp_path / "no.toml", extra=wrong)
    assert not (tmp_path / "no.toml").exists()


def test_a_conjunction_whose_part_falls_away(tmp_path: Path) -> None:
    columns = gaps()
    columns["size"] = ["" if wrong == "" else str(i) for i, wrong in enumerate(columns["wrong"])]
    table = write(tmp_path / "gaps.csv", columns)
    options = make_plan({"error": "wrong", "missing_outcome": "drop", "permutations": 199})
    path, name = tmp_path / "plan.toml", "size is missing & flag"
    write_plan(
        draft_plan(read(str(table)), options), path, extra=[(name, ("size is missing", "flag"))]
    )
    said = refused_by_plan(path, table)
    assert f"conjunction '{name}' needs 'size is missing', which too few rows with an" in said


def test_a_library_of_thousands_of_pairs(tmp_path: Path) -> None:
    """Writing and reading take time in proportion to the length of the file."""
    draw = random.Random(2)
    made = {f"c{i}": [draw.choice("01") for _ in range(60)] for i in range(100)}
    table = write(tmp_path / "wide.csv", {**made, "wrong": ["0", "1"] * 30})
    options = ("--error", "wrong", "--pairs", *FEW)
    path = make(tmp_path / "plan.toml", table, *options)
    assert len(read_plan(path).rules) == 100 + 4950
    direct = cli.audit(table, *options, "--backend", "numpy")
    assert comparable(by_plan(path, table)) == comparable(direct)


def test_a_plan_for_nobody(tmp_path: Path) -> None:
    table = write(tmp_path / "table.csv", {name: values[:1] for name, values in columns().items()})
    with pytest.raises(InputError, match="discovery holds 0 of 1 examples"):
        plan(str(table), error="wrong")
