"""``janus-jax replay``: what it prints, what it refuses, and the cases from the field."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from janus_jax.behaviour.needs import allowed_tables
from janus_jax.behaviour.replay_report import percent, rows
from tests.audits import cli, made
from tests.oracle import tables

QUICK = ("--permutations", "99", "--replays", "400", "--backend", "numpy")
WHOLE = (*cli.WHOLE, "--error", "error")


def replay(*words: str | Path) -> cli.Result:
    """``janus-jax replay ... --json -`` that must succeed; its document."""
    run = cli.call("replay", *cli.overridden(words), "--json", "-")
    assert run.status == 0, run.err
    assert "Traceback" not in run.err
    return cli.parse(run.out)


def refused(*words: str | Path) -> str:
    """``janus-jax replay`` that must refuse: exit 2 and one message."""
    run = cli.call("replay", *words)
    assert (run.status, run.out) == (2, ""), run
    return cli.one_message(run.err)


def one(result: cli.Result, rule: str, **more: Any) -> cli.Result:
    """The row of a rule."""
    wanted = {"rule": rule, "plus_one": False, **more}
    (row,) = (r for r in result["rules"] if all(r[k] == v for k, v in wanted.items()))
    return row


@pytest.fixture
def table(tmp_path: Path) -> Path:
    columns = {
        "long": [i % 2 for i in range(80)],
        "late": [int(i % 5 < 2) for i in range(80)],
        "error": [int(i % 7 in (1, 3, 4)) for i in range(80)],
    }
    return made.write(tmp_path / "table.csv", columns)


# The cases from the field


@pytest.mark.parametrize("command", ["audit", "replay"])
def test_case_14_too_few_permutations_are_said_beforehand(command: str) -> None:
    more = ("--replays", "200") if command == "replay" else ()
    words = (*WHOLE, "--permutations", "99", "--backend", "numpy", *more)
    run = cli.call(command, tables.case(14), *words, "--json", "-")
    assert run.status == 0
    said = [line for line in run.err.splitlines() if "B = 99" in line]
    assert len(said) == 1
    needed = tables.values(14)["B needed"]
    assert f"B >= {needed}" in said[0]
    result = cli.parse(run.out)
    assert sum("B = 99" in text for text in result["warnings"]) == 1
    if command == "replay":
        assert one(result, "bh_05")["can_select"]  # the exact test needs no permutations
    run = cli.call(
        command, tables.case(14), *WHOLE, "--permutations", str(needed), "--backend", "numpy",
        *more, "--json", "-",
    )  # fmt: skip
    assert f"B = {needed}" not in run.err


def test_case_18_plain_and_plus_one_estimates() -> None:
    values = tables.values(18)
    scores = cli.parse(tables.case(18, "scores.json").read_text(encoding="utf-8"))
    targets, decoys = scores["targets"], scores["decoys"]
    library = len(targets)
    assert len(decoys) == library  # so that the estimate is D / R
    for cut, name in ((5, "cut >= 5"), (2, "cut >= 2")):
        reached = sum(score >= cut for score in targets)
        d = sum(score >= cut for score in decoys)
        for extra, key in ((0, f"{name}, plain"), (1, f"{name}, with +1")):
            estimate = Fraction(d + extra, reached)
            assert float(min(estimate, Fraction(1))) == values[key]
            # Just at its estimate a rule qualifies, just below it does not.
            for q, passes in ((estimate, True), (estimate - Fraction(1, 10**9), False)):
                allowed = allowed_tables([len(decoys)], library, q, plus_one=True)
                assert (d <= int(allowed[extra, 0, reached])) is passes
    (key,) = (k for k in values if k.startswith("no decoy"))
    allowed = allowed_tables([4], library, Fraction(1, 3), plus_one=True)
    assert values[key] == pytest.approx(1 / 3)
    assert allowed[1, 0, 3] == 0  # (0 + 1) / 3 is just allowed
    less = allowed_tables([4], library, Fraction("0.33"), plus_one=True)
    assert (less[0, 0, 3], less[1, 0, 3]) == (0, -1)


def test_case_18_ties_are_one_step_and_the_resolution_is_said() -> None:
    result = replay(tables.case(16), *WHOLE, *QUICK, "--decoy-grid", "7", "--plus-one")
    (note,) = (note for note in result["notes"] if "+1" in note)
    assert "no '+1'" in note
    plain = one(result, "decoys", K=7, statistic="lift")
    more = one(result, "decoys", K=7, statistic="lift", plus_one=True)
    assert plain["any_selected"] > 0
    # (L / 7)(0 + 1) / R <= 0.10 takes R >= 10 L / 7: more than there are.
    assert (more["any_selected"], more["can_select"], more["can_confirm"]) == (0, False, None)


def test_case_28_pure_noise_many_slices() -> None:
    result = replay(
        tables.case(28), *WHOLE, "--replays", "20000", "--permutations", "9999", "--backend",
        "numpy",
    )  # fmt: skip
    assert result["L"] == 60
    unadjusted = one(result, "unadjusted")
    assert unadjusted["any_selected"] > 0.8
    # About a 25th of the library is below 0.05: exact p-values are discrete.
    assert 0.03 * 60 < unadjusted["mean_selected"] < 0.05 * 60
    for rule in ("decoys_exact", "bh_10"):
        row = one(result, rule, statistic=None if rule == "bh_10" else "lift")
        assert row["any_selected"] < 0.10 + 5 * row["any_selected_se"]
    assert one(result, "max_t", statistic="lift")["any_selected"] == pytest.approx(0.05, abs=0.015)
    few, many = (one(result, "decoys", statistic="lift", K=k)["any_selected"] for k in (100, 1000))
    assert few > 2 * many > one(result, "decoys_exact", statistic="lift")["any_selected"]


# What it says


def test_the_document_and_the_table_agree(table: Path) -> None:
    words = (table, "--error", "error", *QUICK)
    result = replay(*words)
    assert result["schema"] == "janus-jax/replay/1"
    assert result["run"]["command"].startswith("janus-jax replay ")
    run = cli.call("replay", *words)
    assert (run.status, "Traceback" in run.err) == (0, False)
    assert "where there is nothing to find" in run.out.lower()
    for line in rows(result):
        assert line[0].removesuffix(" *") in run.out
        assert line[1] in run.out
    (primary,) = (row for row in result["rules"] if row["primary"])
    assert percent(primary["any_selected"]) in run.out.splitlines()[0]
    assert primary["rule"] == "decoys_exact"


def test_json_goes_to_a_file_beside_the_table(table: Path, tmp_path: Path) -> None:
    target = tmp_path / "replay.json"
    words = ("replay", table, "--error", "error", *QUICK)
    run = cli.call(*words, "--json", target)
    assert run.status == 0
    assert "max-T" in run.out
    written = cli.parse(target.read_text(encoding="utf-8"))
    assert cli.without_run(written) == cli.without_run(replay(*words[1:]))


def test_progress_is_on_stderr_and_can_be_silenced(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from janus_jax import progress

    monkeypatch.setattr(progress, "QUIET_FOR", 0.0)
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    words = ("replay", table, "--error", "error", *QUICK, "--batch", "50", "--json", "-")
    run = cli.call(*words)
    assert " of 400 replays (" in run.err
    cli.parse(run.out)
    quiet = cli.call(*words, "--quiet")
    assert "replays" not in quiet.err


def test_impossible_rules_are_marked(tmp_path: Path) -> None:
    columns = {"g": [i % 2 for i in range(12)], "error": [0, 1] + [0] * 10}
    columns["split"] = ["discovery"] * 6 + ["holdout"] * 6  # pyright: ignore[reportArgumentType]
    path = made.write(tmp_path / "few.csv", columns)
    words = ("--split-column", "split", "--min-support", "1", "--error", "error", *QUICK)
    run = cli.call("replay", path, *words)
    assert run.status == 0
    assert "decoys_exact cannot select anything here" in run.err
    assert "every holdout example is right" in run.err
    assert "cannot select here" in run.out
    result = replay(path, *words)
    assert not any(row["can_confirm"] for row in result["rules"])
    assert all(row["any_confirmed"] == 0 for row in result["rules"])
    assert [row["can_select"] for row in result["rules"] if row["any_selected"]].count(False) == 0


@pytest.mark.parametrize("rule", ["fixed_floor", "max_t_step_down"])
def test_a_primary_rule_that_is_not_replayed_is_said(table: Path, rule: str) -> None:
    run = cli.call("replay", table, "--error", "error", *QUICK, "--rule", rule)
    assert run.status == 0
    assert f"The primary rule {rule} was not replayed" in re.sub(r"\s+", " ", run.out)


def test_a_primary_number_of_decoys_that_is_not_replayed_is_said(table: Path) -> None:
    words = (table, "--error", "error", *QUICK, "--rule", "decoys", "--decoy-grid", "10,20")
    result = replay(*words)
    assert any("K = 1000 is not among --decoy-grid" in note for note in result["notes"])
    assert not any(row["primary"] for row in result["rules"])
    (row,) = (r for r in replay(*words, "--decoys", "20")["rules"] if r["primary"])
    assert row["K"] == 20


# What it refuses


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--replays", "0"), ("--replays", "'0'", "from 1")),
        (("--replays", "-5"), ("--replays", "'-5'")),
        (("--replays", "1e4"), ("--replays", "'1e4'")),
        (("--replays", str(2**32)), ("--replays", str(2**32), str(2**32 - 1))),
        (("--decoy-grid", "x"), ("--decoy-grid", "'x'", "100,1000")),
        (("--decoy-grid", ""), ("--decoy-grid", "''")),
        (("--decoy-grid", "100,,200"), ("--decoy-grid", "100,,200")),
        (("--decoy-grid", "-5"), ("--decoy-grid",)),
        (("--decoy-grid", "0"), ("--decoy-grid is 0", "from 1")),
        (("--decoy-grid", "100,0"), ("--decoy-grid is 0",)),
        (("--decoy-grid", "10000001"), ("--decoy-grid", "10000001")),
        (("--batch", "0"), ("--batch", "'0'")),
        (("--memory", "none"), ("--memory", "'none'")),
        (("--q", "1"), ("--q", "below 1")),
        (("--q", "0"), ("--q", "above 0")),
        (("--min-support", "41"), ("no descriptor is eligible", "audit")),
        (("--json", ""), ("--json",)),
        (("--cluster", "long", "--rule", "decoys"), ("--rule decoys", "--cluster")),
        (("--replay", "5"), ("--replay",)),
    ],
)  # fmt: skip
def test_wrong_values(table: Path, words: tuple[str, ...], parts: tuple[str, ...]) -> None:
    quick = ("--permutations", "99", "--backend", "numpy")
    message = refused(table, "--error", "error", *quick, *words)
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("option", "value"),
    [("batch", 0), ("batch", -1), ("memory", 0), ("replays", 0), ("decoy_grid", [])],
)
def test_wrong_values_in_python(table: Path, option: str, value: Any) -> None:
    from janus_jax.behaviour.replay import replay as python
    from janus_jax.errors import InputError

    with pytest.raises(InputError, match=option.replace("_", "-")):
        python(str(table), error="error", backend="numpy", permutations=9, **{option: value})


def test_an_input_is_not_overwritten(table: Path) -> None:
    before = table.read_bytes()
    message = refused(table, "--error", "error", *QUICK, "--json", table)
    assert str(table) in message
    assert "input" in message
    assert table.read_bytes() == before


def test_nothing_is_computed_before_a_refusal(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from janus_jax.behaviour import replay as module

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("it began")

    monkeypatch.setattr(module, "prepare", never)
    for words in (("--replays", "0"), ("--decoy-grid", "0"), ("--json", str(table))):
        refused(table, "--error", "error", *words)


# Extremes that must not break it


@pytest.mark.parametrize("words", [("--q", "1e-400"), ("--alpha", "1e-400"), ("--q", "1e-300")])
def test_limits_beyond_the_floats(table: Path, words: tuple[str, ...]) -> None:
    result = replay(table, "--error", "error", *QUICK, *words)
    rule = "unadjusted" if words[0] == "--alpha" else "decoys_exact"
    row = one(result, rule, statistic=None if words[0] == "--alpha" else "lift")
    assert (row["can_select"], row["any_selected"]) == (False, 0)
    clustered = replay(table, "--error", "error", *QUICK, *words, "--cluster", "late")
    assert clustered["rules"]


def test_a_holdout_without_outcomes_confirms_nothing(tmp_path: Path) -> None:
    columns = {
        "g": [i % 2 for i in range(40)],
        "error": [*(i % 3 // 2 for i in range(30)), *[""] * 10],
        "split": ["discovery"] * 30 + ["holdout"] * 10,
    }
    path = made.write(tmp_path / "t.csv", columns)
    words = (
        *("--error", "error", "--split-column", "split", "--missing-outcome", "drop"),
        *("--preset", "janus-lite", *QUICK),
    )
    result = replay(path, *words)
    assert result["data"]["holdout"] == {"n": 0, "errors": 0}
    assert all(row["any_confirmed"] == 0 for row in result["rules"])
    assert any(row["any_selected"] for row in result["rules"])
    assert cli.without_run(replay(path, *words, "--backend", "jax")) == cli.without_run(result)


# Ctrl-C

STOPPED = """
import signal, sys
from janus_jax import cli, progress
signal.signal(signal.SIGINT, signal.default_int_handler)
progress.QUIET_FOR = progress.LINE_EVERY = 0.0
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_replay(number: signal.Signals, table: Path, tmp_path: Path) -> None:
    target = tmp_path / "got.json"
    words = ["replay", str(table), "--error", "error", "--permutations", "99", "--replays",
             "4000000000", "--backend", "numpy", "--json", str(target)]  # fmt: skip
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "backends")])
    run = subprocess.Popen(
        [sys.executable, "-c", STOPPED, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert run.stderr is not None
    while " of 4,000,000,000 replays (" not in run.stderr.readline():
        assert run.poll() is None
    run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert out == ""
    assert "janus-jax: interrupted: nothing was written" in err
    assert "Traceback" not in err
    assert not target.exists()
