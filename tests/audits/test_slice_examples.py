"""The examples of selected slices, looked up with pandas in the raw file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import janus_jax
from tests.audits import cli, made
from tests.logs.made import inspect_log, sample
from tests.oracle import oracle, tables
from tests.plans.common import make

OUTCOME = "correct_175b_verification"
GSM8K = (tables.table_of("gsm8k_openai_4models.csv"), "--correct", OUTCOME)
# A descriptor, a column that is none because it looks like another outcome, and the outcome.
SHOWN = ("question_type", "correct_6b_finetuning", OUTCOME)


def raw(path: Path) -> pd.DataFrame:
    """The cells as text."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def expected(
    frame: pd.DataFrame, inside: pd.Series, wrong: pd.Series, shown: Sequence[str]
) -> list[cli.Result]:
    """All examples of a slice in the order they are listed; ``split`` and ``name`` are columns."""
    rows = frame.assign(_wrong=wrong, _late=frame["split"] == "discovery")[inside]
    rows = rows.sort_values(["_wrong", "_late"], ascending=[False, True], kind="stable")
    return [
        {
            "id": row["name"],
            "split": row["split"],
            "wrong": bool(row["_wrong"]),
            "values": [row[column] or None for column in shown],
        }
        for _, row in rows.iterrows()
    ]


def gsm8k() -> pd.DataFrame:
    frame = raw(GSM8K[0])
    first, _ = oracle.split_rows(len(frame), None, Fraction(1, 2), 0)
    places = np.isin(np.arange(len(frame)), first)
    return frame.assign(split=np.where(places, "discovery", "holdout"), name=frame["id"])


def member(frame: pd.DataFrame, rule: cli.Result) -> pd.Series:
    match rule["kind"]:
        case "numeric":
            return frame[rule["column"]].astype(float) > rule["above"]
        case "boolean":
            return frame[rule["column"]] == "1"
        case "level":
            return frame[rule["column"]] == rule["level"]
        case _:
            raise AssertionError(rule)


def test_a_real_table() -> None:
    result = cli.audit(*GSM8K, *cli.FAST, "--examples", ",".join(SHOWN[:2]), "--examples", SHOWN[2])
    found, frame = result["examples"], gsm8k()
    assert (found["id"], found["columns"], found["limit"]) == (["id"], list(SHOWN), 100)
    chosen = {
        d["name"]: d
        for d in result["descriptors"]
        if d["status"] in ("confirmed", "not_replicated")
    }
    assert len({d["status"] for d in chosen.values()}) == 2
    assert {s["name"] for s in found["slices"]} == set(chosen)
    statuses = [chosen[s["name"]]["status"] for s in found["slices"]]
    assert statuses == sorted(statuses)  # the confirmed ones first
    wrong = frame[OUTCOME] == "0"
    for listed in found["slices"]:
        d = chosen[listed["name"]]
        rows = expected(frame, member(frame, d["rule"]), wrong, SHOWN)
        assert listed["rows"] == rows[:100]
        assert listed["wrong"] == sum(row["wrong"] for row in rows)
        assert listed["right"] == len(rows) - listed["wrong"]
        assert listed["wrong"] == sum(d[part]["errors_on"] for part in ("discovery", "holdout"))


SPLIT = ["discovery"] * 60 + ["holdout"] * 60
FLAG = [int(r % 2 == 0) for r in range(120)]
ERROR = [int(f if r % 10 else 1 - f) for r, f in enumerate(FLAG)]


def small(**more: Sequence[object]) -> dict[str, Sequence[object]]:
    """120 rows on which ``flag`` is confirmed; half of them, fewer than the limit, are in it."""
    return {"flag": FLAG, "split": SPLIT, "error": ERROR, **more}


WORDS = ("--error", "error", "--split-column", "split", "--descriptor", "flag", *cli.FAST)


def listed(path: Path, *words: str) -> cli.Result:
    result = cli.audit(path, *WORDS, *words)
    (found,) = result["examples"]["slices"]
    assert found["name"] == "flag"
    return {**result["examples"], **found}


def by_pandas(
    names: Sequence[str], shown: Sequence[str], **more: Sequence[object]
) -> list[cli.Result]:
    frame = pd.DataFrame(small(**more)).assign(name=list(names))
    return expected(frame, frame["flag"] == 1, frame["error"] == 1, shown)


def test_right_ones_follow_the_wrong_ones(tmp_path: Path) -> None:
    found = listed(made.write(tmp_path / "t.csv", small()))
    wanted = by_pandas([f"row {r + 1}" for r in range(120)], [])
    assert found["id"] == []
    assert found["columns"] == []
    assert found["rows"] == wanted
    assert (found["wrong"], found["right"]) == (48, 12)
    order = [(row["wrong"], row["split"]) for row in wanted]
    assert [key for key, _ in itertools.groupby(order)] == [
        (True, "holdout"),
        (True, "discovery"),
        (False, "holdout"),
        (False, "discovery"),
    ]


def test_ids(tmp_path: Path) -> None:
    first, second = [f"q{r // 2}" for r in range(120)], [f"v{r % 2}" for r in range(120)]
    path = made.write(tmp_path / "two.csv", small(q=first, v=second))
    found = listed(path, "--id", "q,v")
    assert found["id"] == ["q", "v"]
    both = [f"{a} / {b}" for a, b in zip(first, second, strict=True)]
    assert found["rows"] == by_pandas(both, [])
    # Without an id, a row is called by its number.
    blank = ["" if r % 4 == 0 else f"e{r}" for r in range(120)]
    found = listed(made.write(tmp_path / "blank.csv", small(id=blank)))
    names = [name or f"row {r + 1}" for r, name in enumerate(blank)]
    assert found["rows"] == by_pandas(names, [])
    # An integer column of a typed source is written as other messages write it.
    frame = pd.DataFrame(small(id=range(1000, 1120)))
    result = janus_jax.audit(
        frame,
        error="error",
        split_column="split",
        descriptor="flag",
        backend="numpy",
        permutations=99,
        examples="error",
    ).to_dict()
    rows = result["examples"]["slices"][0]["rows"]
    assert [row["id"] for row in rows] == [
        row["id"] for row in by_pandas([str(i) for i in range(1000, 1120)], [])
    ]
    assert {row["values"][0] for row in rows} == {"0", "1"}


def test_row_numbers_are_those_of_the_table_as_read(tmp_path: Path) -> None:
    """Repeats are reduced to their first row; rows after them keep their number."""
    columns = small(
        id=[f"e{r}" if r % 3 else "" for r in range(120)], note=[f"n{r}" for r in range(120)]
    )
    rows = [row for row in zip(*columns.values(), strict=True) for _ in range(2 if row[3] else 1)]
    doubled = dict(zip(columns, zip(*rows, strict=True), strict=True))
    found = listed(
        made.write(tmp_path / "t.csv", doubled), "--repeats", "first", "--examples", "note"
    )
    numbers = pd.DataFrame(doubled).reset_index().groupby("note", sort=False)["index"].first()
    names = [e or f"row {n + 1}" for e, n in zip(columns["id"], numbers, strict=True)]
    assert found["rows"] == by_pandas(names, ["note"], note=columns["note"])


def test_cells(tmp_path: Path) -> None:
    texts = [
        ["", "  padded ", "x" * 2000, "y" * 2001, "<b>&\t\u202e", "Zwölf, zwölf\nzwölf"][r // 2 % 6]
        for r in range(120)
    ]
    found = listed(made.write(tmp_path / "t.csv", small(text=texts)), "--examples", "text")
    cut = [text if len(text) < 2001 else "y" * 2000 + "…" for text in texts]
    assert found["rows"] == by_pandas([f"row {r + 1}" for r in range(120)], ["text"], text=cut)
    shown = {row["values"][0] for row in found["rows"]}
    assert shown == {None, *cut} - {""}


def test_a_long_id_is_cut(tmp_path: Path) -> None:
    names = ["z" * 3000 + str(r) for r in range(120)]
    found = listed(made.write(tmp_path / "t.csv", small(id=names)))
    assert {row["id"] for row in found["rows"]} == {"z" * 2000 + "…"}


def test_rows_without_an_outcome_are_not_listed(tmp_path: Path) -> None:
    columns = small()
    columns["error"] = ["" if r < 20 else e for r, e in enumerate(ERROR)]
    path = made.write(tmp_path / "t.csv", columns)
    found = listed(path, "--missing-outcome", "drop")
    numbers = [int(row["id"].removeprefix("row ")) for row in found["rows"]]
    assert len(numbers) == 50
    assert min(numbers) == 21
    found = listed(path, "--missing-outcome", "wrong")
    assert {row["wrong"] for row in found["rows"] if int(row["id"][4:]) <= 20} == {True}


def test_without_a_holdout(tmp_path: Path) -> None:
    path = made.write(tmp_path / "t.csv", {"flag": FLAG, "error": ERROR})
    result = cli.whole(path)
    (found,) = result["examples"]["slices"]
    assert {row["split"] for row in found["rows"]} == {"discovery"}
    assert [row["wrong"] for row in found["rows"]] == [True] * 48 + [False] * 12


def test_nothing_selected() -> None:
    assert cli.audit(*GSM8K, "--min-support", "600", *cli.FAST)["examples"] is None
    words = ("--rule", "max_t", "--alpha", "0.000001", "--examples", "id")
    assert cli.audit(*GSM8K, *words, *cli.FAST)["examples"] is None


def test_at_most_two_hundred_slices(tmp_path: Path) -> None:
    columns: dict[str, Sequence[object]] = {f"g{i}": FLAG for i in range(230)}
    path = made.write(tmp_path / "t.csv", {**columns, "split": SPLIT, "error": ERROR})
    result = cli.audit(path, "--error", "error", "--split-column", "split", *cli.FAST)
    names = [s["name"] for s in result["examples"]["slices"]]
    assert names == [f"g{i}" for i in range(200)]
    (family,) = result["families"]
    assert len(family["members"]) == 230


def test_no_decision_depends_on_them(tmp_path: Path) -> None:
    plain = cli.audit(*GSM8K, *cli.FAST)
    shown = cli.audit(*GSM8K, *cli.FAST, "--examples", "resp_words_175b_verification")
    assert plain["plan"] == shown["plan"]
    for result in (plain, shown):
        result["examples"]["columns"] = []
        for part in result["examples"]["slices"]:
            for row in part["rows"]:
                row["values"] = []
    assert cli.without_run(plain) == cli.without_run(shown)


def test_they_go_with_a_plan(tmp_path: Path) -> None:
    words = (*GSM8K, "--permutations", "99", "--decoys", "100")
    plan = make(tmp_path / "plan.toml", *words)
    shown = ("--examples", "question_type", "--backend", "numpy")
    planned = cli.audit(GSM8K[0], "--plan", plan, *shown)
    assert planned["examples"]["columns"] == ["question_type"]
    assert planned["examples"] == cli.audit(*words, *shown)["examples"]
    message = cli.refused(GSM8K[0], "--plan", plan, "--examples", "question_typ")
    assert "--examples 'question_typ'" in message


def test_the_keyword(tmp_path: Path) -> None:
    path = made.write(tmp_path / "t.csv", small(**{"a, b": [f"c{r}" for r in range(120)]}))
    words = {"error": "error", "split_column": "split", "backend": "numpy", "permutations": 99}
    one = janus_jax.audit(path, **words, examples="a, b").to_dict()["examples"]
    assert one["columns"] == ["a, b"]
    two = janus_jax.audit(path, **words, examples=["a, b", "flag", "a, b"]).to_dict()["examples"]
    assert two["columns"] == ["a, b", "flag"]
    with pytest.raises(janus_jax.InputError, match="--examples 'a'"):
        janus_jax.audit(path, **words, examples=["a"])


@pytest.mark.parametrize("words", ["nope", "flag,nope", "flag,", ""])
def test_an_unknown_column_is_refused_before_anything_is_computed(
    words: str, tmp_path: Path
) -> None:
    path = made.write(tmp_path / "t.csv", small())
    message = cli.refused(path, *WORDS, "--examples", words)
    name = words.split(",")[-1]
    assert f"--examples {name!r}: no such column in {path}" in message
    assert "the columns are 'flag', 'split', 'error'" in message
    assert "warning" not in message  # those of the design come before the screen


def test_values_that_were_not_kept_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [
        {"flag": bool(f), "split": s, "error": bool(e), "tags": [1, 2]}
        for f, s, e in zip(FLAG, SPLIT, ERROR, strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    message = cli.refused(path, *WORDS, "--examples", "tags")
    assert "--examples 'tags': each value is a list, which is not kept as text" in message
    assert listed(path, "--examples", "flag")["rows"][0]["values"] == ["true"]


def test_dates_keep_their_text(tmp_path: Path) -> None:
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(120), unit="D")
    path = tmp_path / "t.parquet"
    pd.DataFrame({**small(), "day": days}).to_parquet(path)
    rows = listed(path, "--examples", "day")["rows"]
    assert all(row["values"][0].startswith("2026-0") for row in rows)


def test_columns_of_an_evaluation_log(tmp_path: Path) -> None:
    samples = [
        sample(f"s{r}", 1 - ERROR[r], flag=bool(FLAG[r]), topic=f"t{r % 7}") for r in range(120)
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspect_log(samples)), encoding="utf-8")
    result = cli.audit(path, *cli.FAST, "--discovery", "1", "--examples", "topic")
    (found,) = [s for s in result["examples"]["slices"] if "flag" in s["name"]]
    assert result["examples"]["id"] == ["id"]
    for row in found["rows"]:
        r = int(row["id"].removeprefix("s"))
        assert FLAG[r] == 1
        assert row["values"] == [f"t{r % 7}"]
        assert row["wrong"] == bool(ERROR[r])
    assert len(found["rows"]) == 60
    message = cli.refused(path, *cli.FAST, "--examples", "tropic")
    assert "--examples 'tropic': no such column" in message
