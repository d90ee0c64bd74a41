"""The file: read back as written, hashed by content, and wrong ones refused by file and key."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from janus_jax.errors import InputError
from janus_jax.plan import make_plan
from janus_jax.plans.drafting import plan
from janus_jax.plans.file import planned_of, read_plan
from janus_jax.plans.fingerprints import groups_hash
from janus_jax.plans.planned import Planned, PlannedColumn, PlannedRule, PlannedSplit
from janus_jax.plans.rule_names import name_of_rule
from janus_jax.plans.text import plan_text
from janus_jax.table import Column
from tests.audits import cli
from tests.audits.made import write
from tests.plans.common import GSM8K, OUTCOME, edit, make, refused_by_plan
from tests.plans.test_changed import columns, planned

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
DIGEST = "0" * 64


@st.composite
def contents(draw: st.DrawFn) -> Planned:
    """Plans of any words: names, levels and ids that TOML must quote."""
    used = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
    rules: list[PlannedRule] = []
    made: list[PlannedColumn] = []
    for name in used:
        levels = tuple(draw(st.lists(TEXT, min_size=1, max_size=3, unique=True)))
        made.append(PlannedColumn(name, "categorical", DIGEST, levels))
        for level in levels:
            rule = PlannedRule("", "level", name, level=level)
            rules.append(PlannedRule(name_of_rule(rule), "level", name, level=level))
    rules = list({rule.name: rule for rule in rules}.values())
    if len(rules) > 1:
        rules.append(PlannedRule("both", "conjunction", parts=(rules[0].name, rules[1].name)))
        rules = list({rule.name: rule for rule in rules}.values())
    width = draw(st.integers(0, 2))
    one = st.tuples(*[TEXT] * width) if width else st.integers(1, 9)
    ids = tuple(draw(st.lists(one | st.integers(1, 9), max_size=4, unique=True)))
    seed = draw(st.sampled_from([0, 2**63 - 1, 2**63, 2**64 - 1]))
    options = make_plan(
        {
            "error": draw(TEXT.filter(lambda text: text and text not in used)),
            "seed": seed,
            "q": draw(st.sampled_from(["0.10", "1e-3", ".5", 0.25])),
            "na": draw(st.lists(TEXT, max_size=3)),
            "strata": used[0],
            "preset": draw(st.sampled_from([None, "musique", "longbench-v2"])),
        }
    )
    return Planned(
        plan=options,
        version=draw(TEXT),
        outcomes_read=draw(st.sampled_from(["none", "proposal"])),
        rows=len(ids),
        named_by=tuple(used[:width]) if len(used) >= width else ("a", "b")[:width],
        ids_sha256=DIGEST,
        split=PlannedSplit(
            "random", (len(ids), 0, 0), DIGEST, draw(st.sampled_from([None, "0.3"]))
        ),
        columns=(*made, PlannedColumn(used[0], "groups", DIGEST)),
        rules=tuple(rules),
        ids=(ids, (), ()),
    )


@given(contents())
@settings(max_examples=200, deadline=None)
def test_any_plan_reads_back(made: Planned) -> None:
    text = plan_text(made)
    assert text == plan_text(made)
    content = tomllib.loads(text, parse_float=str)
    found = planned_of(content, "plan.toml")
    assert found == made
    assert not found.edited
    assert found.hash == made.hash == content["hash"]


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    """As the documentation says: SHA-256 of the content as JSON, keys sorted, no blanks."""
    path = make(tmp_path / "plan.toml", GSM8K, *OUTCOME[GSM8K])
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    said = content.pop("hash")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert said == hashlib.sha256(text.encode()).hexdigest()


def test_whole_numbers_are_those_of_toml(tmp_path: Path) -> None:
    """Other readers need not know whole numbers beyond 63 bits."""
    for seed, text in ((2**63 - 1, "9223372036854775807"), (2**63, '"9223372036854775808"')):
        words = (*OUTCOME[GSM8K], "--seed", str(seed))
        path = make(tmp_path / "plan.toml", GSM8K, *words)
        assert f"seed = {text}" in path.read_text(encoding="utf-8")
        assert read_plan(path).plan.seed == seed


def framed(texts: Iterable[str]) -> bytes:
    """Each text after its length, eight bytes, least significant first."""
    return b"".join(
        len(data).to_bytes(8, "little") + data for data in (text.encode() for text in texts)
    )


def column_digest(kind: str, values: list[str | None]) -> str:
    """SHA-256 of a column, written from its definition."""
    distinct = list(dict.fromkeys(value for value in values if value is not None))
    codes = [-1 if value is None else distinct.index(value) for value in values]
    data = framed([kind]) + len(distinct).to_bytes(8, "little") + framed(distinct)
    return hashlib.sha256(
        data + b"".join(code.to_bytes(4, "little", signed=True) for code in codes)
    ).hexdigest()


def test_hashes_by_their_definition(tmp_path: Path) -> None:
    table = write(
        tmp_path / "table.csv",
        {
            "key": ["b", "a", "c", "", "é"],
            "size": ["3", "10.0", "", "3", "NA"],
            "flag": ["yes", "0", "T", "", "no"],
            "kind": ["x", "", "y", "x", "NA"],
            "half": ["d", "D", "x1", "d", "d"],
            "wrong": ["1", "0", "1", "0", "1"],
        },
    )
    made = plan(str(table), error="wrong", id="key", strata="half", seed=3)
    by_name = {(column.name, column.use): column.sha256 for column in made.columns}
    assert by_name == {
        ("size", "numeric"): column_digest("numeric", ["3", "10", None, "3", None]),
        ("flag", "boolean"): column_digest("boolean", ["1", "0", "1", None, "0"]),
        ("kind", "categorical"): column_digest("categorical", ["x", None, "y", "x", "NA"]),
        ("half", "groups"): column_digest("groups", ["d", "D", "x1", "d", "d"]),
    }
    ids = [b"i\x01" + framed([key]) for key in ("b", "a", "c")]
    ids += [b"r" + (4).to_bytes(8, "little"), b"i\x01" + framed(["é"])]
    assert made.ids_sha256 == hashlib.sha256(b"".join(ids)).hexdigest()
    assert made.ids is not None
    order = [("b",), ("a",), ("c",), 4, ("é",)]
    parts = [next(p for p, listed in enumerate(made.ids) if example in listed) for example in order]
    data = b"".join(example + bytes([part]) for example, part in zip(ids, parts, strict=True))
    assert made.split.sha256 == hashlib.sha256(data).hexdigest()


def test_levels_in_any_order_and_number() -> None:
    """How a source numbers its levels, and those that no row has, say nothing about the rows."""
    values = ["x", None, "y", "x", "z"]
    for levels in (("z", "y", "x"), ("unused", "y", "x", "z"), ("x", "y", "z")):
        codes = [-1 if value is None else levels.index(value) for value in values]
        column = Column("c", np.array(codes, dtype=np.int32), levels)
        assert groups_hash(column) == column_digest("groups", values)


FLAG = 'column = "flag" },'
IDS = "[ids]\ndiscovery = ["
WRONG = [
    ('schema = "janus-jax/plan/1"', 'schema = "janus-jax/plan/2"',
     "schema is 'janus-jax/plan/2', but this version reads 'janus-jax/plan/1'"),
    ('schema = "janus-jax/plan/1"', "", "schema is missing"),
    ('schema = "janus-jax/plan/1"', 'schema = "janus-jax/audit/1"', "schema is 'janus-jax/audi"),
    ("seed = 0", "seed = -1", "seed is -1, but it must be from 0 to 18446744073709551615"),
    ("seed = 0", "seed = 18446744073709551616", "seed is too large a number"),
    ("seed = 0", "seed = 0x" + "f" * 5000, "seed is too large a number"),
    ("seed = 0", "seed = " + "9" * 5000, "is not TOML"),
    ("seed = 0", "seed = 1.5", "seed '1.5' is not a whole number"),
    ("seed = 0", "seed = true", "seed is True, but it must be a number"),
    ("seed = 0", "seed = 0\nsede = 1", "sede is not a key of a plan"),
    ("[gate]", "[gate]\nc = 1", "[gate] c is not a key of a plan"),
    ("[gate]", "[gait]", "gate is missing"),
    ('q = "0.10"', 'q = "ten"', "[screen] q 'ten' is not a decimal number"),
    ('q = "0.10"', "q = 2", "[screen] q is 2, but it must be above 0 and below 1"),
    ('q = "0.10"', "q = nan", "[screen] q is nan, but it must be above 0 and below 1"),
    ('q = "0.10"', "q = 1979-05-27", "[screen] q is datetime.date(1979, 5, 27), but"),
    ('q = "0.10"', "", "[screen] q is missing"),
    ('rule = "decoys_exact"', 'rule = "best"', "[screen] rule 'best' is not one of decoys, "),
    ('statistic = "lift"', "statistic = 1", "[screen] statistic is 1, but it must be text"),
    ("min_support = 8", "min_support = 9", "[eligibility] min_on is 8, but min_support makes it 9"),
    ('scope = "each"', 'scope = "both"', "[eligibility] scope is 'both', but min_support makes it"),
    ("min_support = 8", 'preset = "paper"\nmin_support = 8', "[eligibility] preset 'paper' is not"),
    ('min_prevalence = "0.10"', 'min_prevalence = "0.95"',
     "[eligibility] min_prevalence 0.95 is above [eligibility] max_prevalence 0.90"),
    ('kind = "error"', 'kind = "mistake"', "[outcome] kind is 'mistake', but it must be one of"),
    ('kind = "error"', 'kind = "score"', "[outcome] column wrong needs [outcome] pass_at X"),
    ('kind = "random"', 'kind = "dealt"', "[split] kind is 'dealt', but it must be one of column,"),
    ('kind = "random"', 'kind = "none"', "[split] kind is 'none', but fraction = 0.5 is random"),
    ('kind = "random"', 'kind = "column"', "[split] column is missing"),
    ("n_holdout = 60", "n_holdout = 61", "[split] n_discovery and the sizes after it add up to"),
    ("n_holdout = 60", "n_holdout = -60", "[split] n_holdout is -60, but it must be from 0"),
    ('fraction = "0.5"', 'fraction = "0.5"\nproposal = "1.2"',
     "[split] proposal is '1.2', but it must be a decimal above 0 and below 1"),
    ("count = 120", 'count = "120"', "[examples] count is '120', but it must be a whole number"),
    ('sha256 = "', 'sha256 = "g', "but it must be 64 hexadecimal digits"),
    ("pairs = false", 'pairs = "no"', "[wanted] pairs is 'no', but it must be true or false"),
    ("na = []", "na = [1]", "[wanted] na holds 1, but it must be an array of text"),
    ("na = []", 'na = "x"', "[wanted] na is 'x', but it must be an array"),
    ('use = "numeric"', 'use = "number"', "[library] column 1 use is 'number', but it must be one"),
    ('name = "kind", use', 'name = "size", use', "[library] column 2 name 'size' is listed twice"),
    ('{ name = "flag", kind = "boolean", column = "flag" }', '"flag"',
     "[library] rules holds 'flag', but it must be an array of tables"),
    ('kind = "boolean", column = "flag"', 'kind = "boolean", column = "size"',
     "[library] rule 5 kind is 'boolean', but column 'size' is numeric"),
    ('kind = "boolean", column = "flag"', 'kind = "boolean", column = "flog"',
     "[library] rule 5 column 'flog' is not one of [library] columns"),
    ('{ name = "flag", kind', '{ name = "Flag", kind',
     "[library] rule 5 name is 'Flag', but such a rule is called 'flag'"),
    ('above = "21"', 'above = "21.0"', "above is '21.0', but it must be a number in its shortest"),
    ('above = "21"', 'above = "high"', "[library] rule 1 above is 'high', but it must be a number"),
    ('above = "21"', 'above = "inf"', "[library] rule 1 above is 'inf', but it must be a number"),
    ('above = "21"', 'above = "21", below = "3"', "[library] rule 1 below is not a key of a plan"),
    (FLAG, FLAG + '{ name = "x", kind = "conjunction", parts = ["y", "flag"] },',
     "[library] rule 6 parts names 'y', which is no rule of a single column above it"),
    (FLAG, FLAG + '{ name = "x", kind = "conjunction", parts = ["flag"] },',
     "[library] rule 6 parts must name two or more rules"),
    (FLAG, FLAG + '{ name = "flag", kind = "conjunction", parts = ["flag", "flag"] },',
     "[library] rule 6 name 'flag' is used twice"),
    ("[ids]", "[ids]\nx = 1", "[ids] x is not a key of a plan"),
    (IDS, IDS + " [],", "[ids] discovery holds [], but ids are of 1"),
    (IDS, IDS + " {},", "[ids] discovery holds {}, which is no id"),
    ("[ids]", "[ids", "is not TOML"),
    ("seed = 0", "seed = " + "[" * 3000, "is not TOML"),
    ("seed = 0", "seed = 0\nseed = 0", "is not TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=range(len(WRONG)))
def test_wrong_files_are_refused_by_key(old: str, new: str, said: str, tmp_path: Path) -> None:
    path = edit(planned(tmp_path), old, new)
    message = refused_by_plan(path, tmp_path / "table.csv")
    assert f"janus-jax: error: {path}: " in message
    assert said in message


def test_files_that_are_no_plan(tmp_path: Path) -> None:
    table = write(tmp_path / "table.csv", columns())
    assert "cannot read the plan" in refused_by_plan(tmp_path / "no.toml", table)
    assert "cannot read the plan" in refused_by_plan(tmp_path, table)
    wrong = tmp_path / "wrong.toml"
    wrong.write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in refused_by_plan(wrong, table)
    wrong.write_bytes(b"")
    assert "schema is missing" in refused_by_plan(wrong, table)
    assert "schema is missing" in refused_by_plan(
        _copy(tmp_path / "pyproject.toml", b'[project]\nname = "x"\n'), table
    )


def _copy(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_where_a_plan_goes(tmp_path: Path) -> None:
    table = write(tmp_path / "table.csv", columns())
    start = ("plan", table, "--error", "wrong")
    printed = cli.call(*start, "--out", "-")
    path = make(tmp_path / "plan.toml", *start[1:])
    assert printed.out == path.read_text(encoding="utf-8")
    for words, said in (
        ((), "--out"),
        (("--out", ""), "--out is empty"),
        (("--out", table), "is an input; writing the result would destroy it"),
        (("--out", tmp_path), "it is a folder"),
        (("--out", tmp_path / "no" / "plan.toml"), "no such folder"),
    ):
        run = cli.call(*start, *words)
        assert run.status == 2
        assert said in cli.one_message(run.err)
    said = cli.refused(table, "--plan", path, "--json", path)
    assert "is an input; writing the result would destroy it" in said


def test_an_option_that_is_no_text(tmp_path: Path) -> None:
    table = write(tmp_path / "table.csv", columns())
    with pytest.raises(InputError, match="it is no text"):
        plan(str(table), error="wrong", na="\udcff", out=tmp_path / "plan.toml")
    assert not (tmp_path / "plan.toml").exists()


def test_an_edited_plan_is_known_by_its_hash(tmp_path: Path) -> None:
    path = planned(tmp_path)
    before = read_plan(path)
    assert not before.edited
    said = before.hash
    edit(path, f'hash = "{said}"', "")
    without = read_plan(path)
    assert without.edited
    assert without.hash == said
    edit(path, 'q = "0.10"', 'q = "0.11"')
    assert read_plan(path).hash != said
