"""Denominators, rules that come and go, planted effects, and what is refused."""

from __future__ import annotations

import json
import random
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from janus_jax.behaviour.recurrence import mean_jaccard
from janus_jax.behaviour.sensitivity import sensitivity
from janus_jax.behaviour.sensitivity_report import answer
from janus_jax.errors import InputError
from janus_jax.plan import Method
from tests.audits import cli, made
from tests.oracle import tables
from tests.runs import start
from tests.sensitivity import definition
from tests.sensitivity.test_against_definition import setting

GSM8K = tables.table_of("gsm8k_openai_4models.csv")
CORRECT = "correct_175b_verification"


def planted(n: int = 160) -> made.Columns:
    """``hard`` raises the error rate by a half; ``rare`` is a level of 16 rows, all wrong."""
    draw = random.Random(4)
    hard = [int(draw.random() < 0.5) for _ in range(n)]
    kinds = ["rare" if row < 16 else "once" if row == 16 else "usual" for row in range(n)]
    noise = [draw.randrange(100) for _ in range(n)]
    errors = [
        int(kind == "rare" or draw.random() < 0.2 + 0.5 * h)
        for h, kind in zip(hard, kinds, strict=True)
    ]
    return {"hard": hard, "kind": kinds, "noise": noise, "error": errors}


def run(path: Path, **options: Any) -> dict[str, Any]:
    return sensitivity(path, error="error", backend="numpy", **options).to_dict()


def row(document: dict[str, Any], rule: str) -> dict[str, Any]:
    (found,) = [row for row in document["rules"] if row["rule"] == rule]
    return found


def test_a_planted_effect_recurs_and_noise_does_not(tmp_path: Path) -> None:
    document = run(made.write(tmp_path / "t.csv", planted(500)), splits=60)
    assert row(document, "hard")["share_confirmed"] == 1.0
    assert row(document, "hard")["confirmed_more_errors"] == 60
    assert row(document, "noise above its discovery median")["share_confirmed"] < 0.1
    assert document["overall"]["confirmed_in_nine_tenths"][0] == "hard"
    assert document["overall"]["any_confirmed"] == {"splits": 60, "share": 1.0}


def test_splits_in_which_a_level_is_too_rare_stay_in_the_denominator(tmp_path: Path) -> None:
    columns = planted()
    document = run(
        made.write(tmp_path / "t.csv", columns), splits=60, min_prevalence="0", max_prevalence="1"
    )
    # 16 rows are 8 and 8 in about one split of five, counted by the definition's own dealing.
    deals = [
        set(definition.deal([""] * 160, definition.Fraction(1, 2), it["seed"]))
        for it in document["per_split"]
    ]
    eligible = sum(len(deal & set(range(16))) == 8 for deal in deals)
    rare, once = row(document, "kind = rare"), row(document, "kind = once")
    assert 0 < eligible < 30
    assert rare["existed"] == 60
    assert rare["eligible"] == rare["confirmed"] == eligible
    assert rare["share_confirmed"] == eligible / 60
    assert once["existed"] == sum(16 in deal for deal in deals) < 60
    assert (once["eligible"], once["share_existed"]) == (0, once["existed"] / 60)
    assert once["lift_discovery"] is None


def test_rare_levels_in_few_splits(tmp_path: Path) -> None:
    """The audit's own split shows a level that no repeated split has: a row of zeros."""
    columns = planted()
    path = made.write(tmp_path / "t.csv", columns)
    for seed in range(20):
        document = run(path, splits=1, seed=seed, first_seed=seed + 100)
        once = [row for row in document["rules"] if row["rule"] == "kind = once"]
        if once and not once[0]["existed"]:
            assert once[0]["audit"] == "ineligible"
            assert once[0]["share_existed"] == 0
            return
    pytest.fail("no seed gave such a split")


def test_more_splits_begin_with_the_same_ones() -> None:
    few, more = (sensitivity(GSM8K, correct=CORRECT, splits=splits).to_dict() for splits in (5, 9))
    assert few["splits"] == {"count": 5, "first_seed": 20_260_524, "step": 1009}
    texts = [[row["rule"] for row in document["rules"]] for document in (few, more)]
    for one, other in zip(few["per_split"], more["per_split"][:5], strict=True):
        for which in ("selected_rules", "confirmed_rules"):
            assert {texts[0][i] for i in one.pop(which)} == {texts[1][i] for i in other.pop(which)}
        assert one == other


@pytest.mark.parametrize(
    ("rule", "more"),
    [("decoys_exact", {}), ("decoys", {}), ("max_t", {"permutations": 300}),
     ("mean_count", {"permutations": 300, "cluster": "contest_id"})],
)  # fmt: skip
def test_one_document_on_numpy_and_jax(rule: Method, more: dict[str, Any]) -> None:
    pytest.importorskip("jax")
    cluster = "cluster" in more
    path = tables.table_of("livecodebench_o1.csv") if cluster else GSM8K
    texts: list[str] = []
    for name in ("numpy", "jax"):
        document = sensitivity(
            path,
            correct="correct_o1mini" if cluster else CORRECT,
            rule=rule,
            splits=3,
            backend=name,
            **more,
        ).to_dict()
        assert document.pop("run")["backend"] == name
        texts.append(json.dumps(document))
    assert texts[0] == texts[1]


def test_conjunctions_recur_by_their_terms() -> None:
    document = sensitivity(
        GSM8K,
        correct=CORRECT,
        splits=8,
        conjunction=["long_money = q_words & has_money", "at_43 = q_words > 43 & has_money"],
    ).to_dict()
    recurring = row(document, "long_money = q_words above its discovery median & has_money")
    fixed = row(document, "at_43 = q_words above its discovery median & has_money")
    assert recurring["existed"] == 8
    assert 0 < fixed["existed"] < 8
    (note,) = [note for note in document["notes"] if "at_43" in note]
    assert f"exist in {fixed['existed']} of 8 splits" in note


def test_pairs_recur_by_their_terms() -> None:
    document = sensitivity(
        GSM8K, correct=CORRECT, splits=4, pairs=True, descriptor=["q_words", "has_money"]
    ).to_dict()
    assert [r["rule"] for r in document["rules"] if r["kind"] == "conjunction"] == [
        "q_words above its discovery median & has_money"
    ]
    assert row(document, "q_words above its discovery median & has_money")["existed"] == 4


def test_jaccard_of_many_equal_sets() -> None:
    sets = [frozenset("ab")] * 5 + [frozenset("bc")] * 3 + [frozenset[str]()] * 4 + [frozenset("a")]
    expected = definition.mean_jaccard([set(it) for it in sets])
    pairs, mean = mean_jaccard(sets)
    assert (pairs, mean) == (13 * 12 // 2 - 4 * 3 // 2, expected)
    assert mean_jaccard([frozenset[str]()] * 3) == (0, None)


def test_nothing_to_find(tmp_path: Path) -> None:
    draw = random.Random(0)
    columns = {name: [draw.randrange(2) for _ in range(90)] for name in ("a", "b", "error")}
    document = run(made.write(tmp_path / "t.csv", columns), splits=6, min_holdout_lift="0.9")
    overall = document["overall"]
    assert overall["confirmed_per_split"] == [{"confirmed": 0, "splits": 6}]
    assert overall["jaccard"] == {"mean": None, "pairs": 0}
    assert overall["stability"]["value"] is None
    result = sensitivity(tmp_path / "t.csv", error="error", splits=6, min_holdout_lift="0.9")
    assert repr(result) == (
        "<SensitivityResult: no rule is confirmed in at least half of 6 splits; no split confirms "
        "anything>"
    )


def test_the_table() -> None:
    result = sensitivity(GSM8K, correct=CORRECT, splits=3)
    assert list(result.table["rule"]) == [r["rule"] for r in result.to_dict()["rules"]]
    assert list(result.table["confirmed"]) == sorted(result.table["confirmed"], reverse=True)
    assert json.loads(result.to_json()) == result.to_dict()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--split-column", "question_type"), "--exclude question_type"),
        (("--discovery", "1"), "--discovery 1 leaves no holdout"),
        (("--splits", "0"), "--splits"),
        (("--splits", "1000000"), "from 1 to 10000"),
        (("--first-seed", str(2**64 - 1)), "--first-seed"),
        (("--first-seed", "-1"), "--first-seed"),
        (("--conjunction", "a = q_words & nonsense"), "no descriptor is called 'nonsense'"),
    ],
)
def test_refusals(words: tuple[str, ...], said: str) -> None:
    found = cli.call("sensitivity", GSM8K, "--correct", CORRECT, *words)
    assert (found.status, found.out) == (2, "")
    assert said in cli.one_message(found.err)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"splits": 3.0}, "--splits '3.0' is not a whole number"),
        ({"splits": True}, "--splits 'True' is not a whole number"),
        ({"splits": "many"}, "--splits 'many' is not a whole number"),
        ({"first_seed": 1.5}, "--first-seed '1.5' is not a whole number"),
        ({"splits": 2, "min_support": 700}, "no rule is eligible in any of 2 splits"),
        ({"splits": 1, "min_support": 700}, "no rule is eligible in any of 1 split,"),
    ],
)
def test_refused_with_a_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        sensitivity(GSM8K, correct=CORRECT, **options)
    assert said in str(refused.value)


@pytest.mark.parametrize("splits", ["2", np.int64(2)])
def test_numbers_as_text_and_of_numpy(splits: Any) -> None:
    found = sensitivity(GSM8K, correct=CORRECT, splits=splits).to_dict()
    wanted = sensitivity(GSM8K, correct=CORRECT, splits=2).to_dict()
    assert {**found, "run": None} == {**wanted, "run": None}


LIMITS = [
    ({"min_holdout_lift": "1"}, "nothing can be confirmed here, whatever the data"),
    ({"q": "1e-9"}, "decoys_exact cannot select anything here, whatever the data"),
    ({"rule": "max_t", "permutations": 3}, "B = 3 permutations cannot reach alpha = 0.05"),
    ({"rule": "decoys", "decoys": 5}, "K = 5 decoys are few"),
    (
        {"rule": "bh_10", "cluster": "pair", "permutations": 5},
        "B = 5 permutations cannot give a Monte-Carlo p-value below",
    ),
    (
        {"rule": "unadjusted", "cluster": "pair", "permutations": 5},
        "B = 5 permutations cannot reach alpha = 0.05 by a p-value of the exchanges",
    ),
]


@pytest.mark.parametrize(("options", "said"), LIMITS)
def test_what_is_impossible_is_said_before_the_splits_run(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    columns = {**planted(40), "pair": [row // 2 for row in range(40)]}
    path = made.write(tmp_path / "t.csv", columns)
    words = [(f"--{name.replace('_', '-')}", str(value)) for name, value in options.items()]
    run = cli.call(
        "sensitivity", path, "--error", "error", "--splits", "2", "--exclude", "kind",
        "--min-support", "3", *(() if "cluster" in options else ("--exclude", "pair")),
        *(word for pair in words for word in pair),
    )  # fmt: skip
    assert run.status == 0, run.err
    assert said in run.err
    assert said in run.out


def test_what_other_rules_need_is_not_spoken_of(tmp_path: Path) -> None:
    path = made.write(tmp_path / "t.csv", planted())
    document = run(path, splits=2, permutations=3, decoys=5)
    assert document["warnings"] == []


def test_the_lifts_of_one_table_move_against_each_other() -> None:
    """What the note says: as good as perfectly for a descriptor without a median."""
    asked, options = setting("gsm8k_openai_4models.csv")
    assert options["correct"] == CORRECT
    lifts: list[tuple[float, float]] = []
    for s in range(40):
        seed = definition.FIRST_SEED + definition.STEP * s
        discovery = set(definition.deal([""] * len(asked.rows), asked.fraction, seed))
        both: list[float] = []
        for part in (discovery, set(range(len(asked.rows))) - discovery):
            on = [1 - int(asked.rows[r][CORRECT]) for r in part if truth(asked.rows[r])]
            off = [1 - int(asked.rows[r][CORRECT]) for r in part if not truth(asked.rows[r])]
            both.append(sum(on) / len(on) - sum(off) / len(off))
        lifts.append((both[0], both[1]))
    assert np.corrcoef(np.array(lifts).T)[0, 1] < -0.99
    document = sensitivity(GSM8K, correct=CORRECT, splits=40).to_dict()
    (note,) = [note for note in document["notes"] if "move against each other" in note]
    assert "are not power" in note
    mean = row(document, "has_time_unit")["lift_discovery"]
    assert mean == pytest.approx(sum(d for d, _ in lifts) / 40, abs=1e-12)


def truth(cells: dict[str, str]) -> bool:
    return cells["has_time_unit"] in {"1", "True", "true"}


def test_answers_in_words(tmp_path: Path) -> None:
    path = made.write(tmp_path / "t.csv", planted(500))
    assert answer(run(path, splits=6)).endswith("; every split confirms something")
    alone = answer(run(path, splits=1))
    assert "confirmed in the one split: hard" in alone
    assert "%" not in alone
    few = sensitivity(GSM8K, correct=CORRECT, splits=10, min_holdout_lift="0.29").to_dict()
    assert 0 < few["overall"]["any_confirmed"]["splits"] < 10
    assert answer(few).endswith("% of the splits confirm something")


def test_help_says_what_is_drawn() -> None:
    shown = " ".join(cli.call("sensitivity", "--help").out.split())
    assert "shared permutations (drawn anew in each split; default 9999)" in shown
    assert "499999" not in shown


def test_refusals_in_python() -> None:
    with pytest.raises(InputError, match="sensitivity deals the splits itself"):
        sensitivity(GSM8K, correct=CORRECT, split_column="question_type")
    with pytest.raises(InputError, match="--seed"):
        sensitivity(GSM8K, correct=CORRECT, seed=-1)


def test_the_command(tmp_path: Path) -> None:
    words = ("sensitivity", GSM8K, "--correct", CORRECT, "--splits", "4")
    printed = cli.call(*words)
    assert printed.status == 0, printed.err
    assert printed.err == ""
    assert "q_words above its discovery median" in printed.out
    assert "4 splits" in printed.out
    piped = cli.call(*words, "--json", "-")
    document = cli.parse(piped.out)
    assert document["schema"] == "janus-jax/sensitivity/1"
    target = tmp_path / "s.json"
    assert cli.call(*words, "--json", target).status == 0
    written = cli.parse(target.read_text(encoding="utf-8"))
    assert cli.without_run(written) == cli.without_run(document)
    own = sensitivity(GSM8K, correct=CORRECT, splits=4).to_dict()
    assert {**own, "run": None, "data": None} == {**document, "run": None, "data": None}


def test_fewer_permutations_unless_said_otherwise() -> None:
    words = ("sensitivity", GSM8K, "--correct", CORRECT, "--splits", "1", "--json", "-")
    usual = cli.parse(cli.call(*words, "--rule", "max_t").out)
    assert usual["plan"]["permutations"] == 9_999
    assert any("B = 9999 shared permutations" in note for note in usual["notes"])
    given = cli.parse(cli.call(*words, "--rule", "max_t", "--permutations", "49").out)
    assert given["plan"]["permutations"] == 49
    # Where none are drawn, the plan is the audit's to the last word, and so is its hash.
    plain = cli.parse(cli.call(*words).out)
    assert plain["plan"]["permutations"] == 499_999


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_with_nothing_written(number: signal.Signals, tmp_path: Path) -> None:
    target = tmp_path / "s.json"
    words = ("--correct", CORRECT, "--splits", "10000", "--backend", "numpy", "--json", target)
    program = start.program(0.0, "sensitivity", GSM8K, *words)
    assert program.stderr is not None
    assert any("of 10,000 splits (" in line for line in iter(program.stderr.readline, ""))
    program.send_signal(number)
    stopped = start.finish(program)
    assert (stopped.status, stopped.out) == (130, "")
    assert "interrupted: nothing was written" in stopped.err
    assert "Traceback" not in stopped.err
    assert not target.exists()
