"""Attempts into columns, and logs that mean harm or are damaged through the whole audit."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from janus_jax.errors import InputError
from janus_jax.logs import gather
from janus_jax.logs.attempt import Attempt
from janus_jax.logs.choose import Choices, choose
from janus_jax.logs.gather import Gathered
from janus_jax.logs.letters import letters_of
from janus_jax.logs.tabulate import tabulate
from janus_jax.logs.text_features import text_features
from janus_jax.table import Table
from tests.audits import cli
from tests.logs.made import (
    GSM8K,
    INSPECT,
    STRICT,
    counts,
    inspect_log,
    lm_eval_line,
    sample,
    whole,
    write_inspect,
    write_lines,
)


def attempt(number: int, **parts: Any) -> Attempt:
    scores = {"acc": number % 2}
    place = {"example": f"e{number}", "where": f"log.jsonl line {number + 1}", "line": number + 1}
    return Attempt(**{"scores": scores, **place, **parts})


def gathered(*attempts: Attempt, texts: tuple[str, ...] = ()) -> Gathered:
    found = Gathered(texts)
    for one in attempts:
        found.add(one, 0)
    return found


def table_of(found: Gathered, choices: Choices | None = None, format: str = "lm-eval") -> Table:
    choices = choices or Choices()
    chosen = choose(found, choices, "log.jsonl", "--metric")
    hashed = {"sha256": "", "notes": ()}
    return tabulate(found, chosen, choices, format=format, sources=("log.jsonl",), **hashed)


def values(table: Table, name: str) -> list[Any]:
    column = table.columns[name]
    return [None if code < 0 else column.levels[code] for code in column.codes.tolist()]


# --- columns -------------------------------------------------------------------------------------


def test_facts_get_dotted_names_and_lists_their_length() -> None:
    facts = {"a": {"b": 1, "c": {"d": True}}, "list": [1, 2, 3], "empty": {}, "none": None}
    table = table_of(gathered(attempt(0, facts=facts), attempt(1, facts={"list": []})))
    assert values(table, "a.b") == ["1", None]
    assert values(table, "a.c.d") == ["true", None]
    assert values(table, "list.length") == ["3", "0"]
    assert values(table, "none") == [None, None]
    assert "empty" not in table.columns


def test_a_nested_name_and_one_with_a_dot_are_not_mixed_up() -> None:
    found = gathered(attempt(0, facts={"a": {"b": 1}}))
    with pytest.raises(InputError, match=r"line 2: the name 'a\.b' stands for two different keys"):
        found.add(attempt(1, facts={"a.b": 1}), 0)


def test_long_strings_are_texts_and_no_levels() -> None:
    long = "x" * (gather.LONGEST + 1)
    found = gathered(attempt(0, facts={"story": long}), attempt(1, facts={"story": "short"}))
    column = table_of(found).columns["story"]
    assert column.unusable == "a long text"
    assert not any(long in str(level) for level in column.levels)


def test_names_that_are_data_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "MOST_COLUMNS", 3)
    found = gathered(attempt(0, facts={"a": 1, "b": 1, "c": 1}))
    with pytest.raises(InputError, match="more than 3 different facts: are their names data"):
        found.add(attempt(1, facts={"d": 1}), 0)


def test_facts_called_like_the_first_columns_are_told_apart() -> None:
    facts = {"id": "x", "acc": 7, "fact": {"id": "z"}}
    found = gathered(attempt(0, facts=facts, post={"id": "y"}), attempt(1))
    table = table_of(found)
    assert values(table, "id") == ["e0", "e1"]
    assert values(table, "fact.id") == ["x", None]
    assert values(table, "fact.acc") == ["7", None]
    assert values(table, "fact.fact.id") == ["z", None]
    assert values(table, "fact.fact.fact.id") == ["y", None]


def test_an_attempt_that_failed_has_no_outcome_whatever_its_score() -> None:
    found = gathered(attempt(0), attempt(1, status="error"), attempt(2, status="unscored"))
    table = table_of(found)
    assert values(table, "acc") == ["0", None, None]
    assert table.log is not None
    assert table.log.statuses == {"unscored": 1, "error": 1}


@pytest.mark.parametrize(
    ("where", "word"),
    [
        ("log.json sample 3", "sample"),
        ("log.jsonl line 1,234", "line"),
        ("run/scenario_state.json request 7", "request"),
        ("report.json instance django__django-1", "record"),
    ],
)
def test_places_are_called_what_they_are(where: str, word: str) -> None:
    table = table_of(gathered(attempt(0, where=where), attempt(1)))
    assert table.where(0) == f"log.jsonl {word} 1"


def test_texts_are_counted_only_on_request() -> None:
    attempts = [attempt(n, texts={"input": "One. Two 2,000!", "context": "x"}) for n in range(2)]
    found = gathered(*attempts, texts=("input",))
    assert list(found.texts) == ["input", "context"]
    table = table_of(found)
    assert values(table, "input.words") == ["3", "3"]
    assert not [name for name in table.columns if name.startswith("context")]


@pytest.mark.parametrize(
    ("text", "words", "numbers", "sentences"),
    [
        ("", 0, 0, 0),
        ("   \n", 0, 0, 0),
        ("word", 1, 0, 1),
        ("Tom has 1,200 apples. He eats 3.5 a day?", 9, 2, 2),
        ("Really?! Yes... No", 3, 0, 2),
        ("v1.2.3 of 10", 3, 2, 1),
        ("日本 語", 2, 0, 1),
    ],
)
def test_features_of_texts(text: str, words: int, numbers: int, sentences: int) -> None:
    wanted = {"words": words, "numbers": numbers, "sentences": sentences}
    assert dict(text_features(text)) == wanted


def test_a_coordinate_that_some_attempts_lack_is_a_choice() -> None:
    some = [attempt(n, coordinates={"model": "m"} if n < 3 else {}) for n in range(5)]
    with pytest.raises(InputError, match=r"1 value of model: 'm' \(3 attempts\), and 2 attempts w"):
        table_of(gathered(*some))
    assert table_of(gathered(*some), Choices(coordinates={"model": "m"})).n == 3


def test_examples_of_pooled_tasks_keep_apart_only_where_they_must() -> None:
    same = [attempt(0, coordinates={"task": task}) for task in ("a", "b")]
    pooled = Choices(coordinates={"task": "all"})
    assert values(table_of(gathered(*same), pooled), "id") == ["a/e0", "b/e0"]
    other = [attempt(n, coordinates={"task": task}) for n, task in enumerate(("a", "b"))]
    assert values(table_of(gathered(*other), pooled), "id") == ["e0", "e1"]


# --- letters -------------------------------------------------------------------------------------


def letters(*found: Any) -> Table:
    return table_of(
        gathered(*(attempt(n, scores={"m": value}) for n, value in enumerate(found))),
        Choices(kind="score"),
        format="inspect",
    )


def test_letters_become_numbers_in_inspect_only() -> None:
    assert values(letters("C", "I", "N", "P"), "m") == ["1", "0", "0", "0.5"]
    assert values(letters("C", 0.25, True), "m") == ["1", "0.25", "true"]
    found = gathered(*(attempt(n, scores={"m": value}) for n, value in enumerate("CI")))
    assert values(table_of(found, format="openai-evals"), "m") == ["C", "I"]


def test_letters_of_other_gradings_stay() -> None:
    for graded in ("ABC", "YN", "CF"):
        table = letters(*graded)
        assert values(table, "m") == list(graded)
        assert letters_of(table.columns["m"]) == ()


def test_letters_that_na_leaves_out() -> None:
    found = gathered(*(attempt(n, scores={"m": value}) for n, value in enumerate("CINP")))
    table = table_of(found, Choices(na=("p", " N")), format="inspect")
    assert values(table, "m") == ["1", "0"]
    assert "2 attempts are left out: scored N or P (--na)" in table.notes
    with pytest.raises(InputError, match="leaves no attempt"):
        table_of(found, Choices(na=tuple("CINP")), format="inspect")


# --- hostile and damaged logs --------------------------------------------------------------------

SAMPLES = json.loads((INSPECT / "case_37.json").read_text("utf-8"))["samples"]
MAJORITY = ("--repeats", "majority")


def archive(path: Path, extra: Mapping[str, bytes | str]) -> Path:
    """A log of Inspect AI as an archive with members of its own."""
    header = {k: v for k, v in inspect_log([]).items() if k != "samples"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", json.dumps(header))
        for one in SAMPLES:
            file.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        for name, data in extra.items():
            file.writestr(name, data)
    return path


def test_an_archive_is_read_by_exact_names_and_never_unpacked(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    names = ("../../outside.txt", f"{outside}", "..\\outside.txt", "samples/../../outside.txt")
    path = archive(tmp_path / "log.eval", dict.fromkeys(names, "x"))
    assert counts(whole(path, *MAJORITY)) == (6, 6, 0)
    assert [found.name for found in tmp_path.iterdir()] == ["log.eval"]


@pytest.mark.parametrize("data", [b"0", b"[", b" "])
def test_zip_bombs_are_refused_before_they_unpack(data: bytes, tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", {"samples/x_epoch_1.json": data * 4_000_000})
    assert "unpacks to more than 500 times its size" in cli.refused(path, *MAJORITY)


def test_an_archive_that_is_cut_off(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", {})
    path.write_bytes(path.read_bytes()[:2_000])
    assert "zip archive that is cut off or damaged" in cli.refused(path)


LINES = GSM8K.read_bytes()


def with_doc(field: str) -> bytes:
    """The log with one more field in its first document."""
    return LINES.replace(b'"doc": {', f'"doc": {{{field}, '.encode(), 1)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (with_doc('"deep": ' + "[" * 100_000 + "]" * 100_000), "nested more than 200 deep"),
        (with_doc('"n": ' + "9" * 100_000), "line 1"),
        (with_doc('"twice": 1, "twice": 2'), "key 'twice' occurs 2 times in one object"),
        (LINES.replace(b"strict-match", b"strict\0match", 1), "NUL byte"),
        (LINES[:-40], "line 80: the file ends in the middle of this line"),
        (LINES + b"[1, 2]\n", "line 81"),
        (b"", "the file is empty"),
        (gzip.compress(LINES), "is gzip-compressed; decompress it first (gunzip)"),
        (LINES.decode().encode("utf-16"), "is encoded as UTF-16, and logs are UTF-8"),
    ],
    ids=["deep", "digits", "twice", "nul", "cut", "other", "empty", "gzip", "utf-16"],
)
def test_damaged_logs_stop_with_a_sentence(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / GSM8K.name
    path.write_bytes(data)
    message = cli.refused(path, *STRICT)
    assert said in message
    assert str(path) in message


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\n\n"),
        lambda data: data.rstrip(b"\n"),
    ],
    ids=["bom", "crlf", "blank lines", "no line feed at the end"],
)
def test_harmless_differences_change_nothing(
    change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / GSM8K.name
    path.write_bytes(change(LINES))
    assert whole(path, *STRICT)["descriptors"] == whole(GSM8K, *STRICT)["descriptors"]


def test_huge_and_odd_numbers_are_data(tmp_path: Path) -> None:
    odd = ("1e999", "-0.0", "5e-324", "1" + "0" * 400, "NaN")
    records = [
        json.dumps(lm_eval_line(n, n % 2)).replace('"steps"', f'"odd": {odd[n % 5]}, "steps"')
        for n in range(40)
    ]
    path = tmp_path / "samples_t_2026-01-01T00-00-00.5.jsonl"
    path.write_text("\n".join(records), "utf-8")
    assert counts(whole(path)) == (20, 20, 0)


TRAP = "\x1b[31m<script>alert(1)</script>|\u202e"
BELL = "\x1b]0;title\x07<img src=x onerror=alert(1)>"


def test_names_and_levels_cannot_drive_a_terminal_or_a_page(tmp_path: Path) -> None:
    levels = (BELL, "a|b | c", "`x` **bold** [link](javascript:alert(1))")
    records = [lm_eval_line(n, n % 2, doc={TRAP: levels[n % 3]}, filter=TRAP) for n in range(60)]
    path = write_lines(tmp_path / "samples_t_2026-01-01T00-00-00.5.jsonl", records)
    small = ("--min-support", "1", *cli.FAST)
    run = cli.call("audit", path, *small, "--out", tmp_path / "out")
    assert run.status == 0, run.err
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    table = (tmp_path / "out" / "findings.csv").read_text("utf-8")
    for shown in (run.out, run.err, report):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", shown)
    assert "\x1b" not in table
    assert not re.search(r"(?<!\\)<(script|img)", report)
    assert not re.search(r"(?<!\\)\[link\]", report)
    result = json.loads((tmp_path / "out" / "result.json").read_text("utf-8"))
    assert {d["rule"]["level"] for d in result["descriptors"]} == set(levels)


def test_ids_and_choices_in_messages_are_escaped(tmp_path: Path) -> None:
    failed = {"scores": {}, "error": {"message": TRAP, "traceback": ""}}
    samples = [sample(f"{n}{TRAP}", "CI"[n % 2], more=failed if n == 3 else {}) for n in range(8)]
    path = write_inspect(tmp_path / "log.json", samples)
    run = cli.call("audit", path)
    assert run.status == 2
    assert "1 missing value" in run.err
    assert "\x1b" not in run.err
    assert "\u202e" not in run.err
    records = [lm_eval_line(n, 1, filter=f) for n in range(2) for f in (TRAP, "nul\0")]
    other = write_lines(tmp_path / "samples_t_2026-01-01T00-00-00.5.jsonl", records)
    message = cli.call("audit", other).err
    assert "2 values of filter" in message
    assert "\\x1b" in message
    assert not re.search(r"[\x00\x1b\u202e]", message)


# --- size ----------------------------------------------------------------------------------------

PEAK = """
import resource, sys
from janus_jax.cli import main
status = main(sys.argv[1:])
print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def peak(*words: str | Path) -> float:
    """The most memory, MiB, that an audit in a process of its own took."""
    run = subprocess.run(
        [sys.executable, "-c", PEAK, "audit", *map(str, words), "--quiet"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    status, kilobytes = run.stderr.split()[-2:]
    assert status == "0", run.stderr
    return int(kilobytes) / 1024


def big_log(folder: Path, samples: int, text: int) -> Path:
    """Samples with a text of so many characters each, of which nothing is to be kept."""
    path = folder / f"samples_t_2026-01-01T00-00-0{len(list(folder.iterdir()))}.5.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(samples):
            doc = {"question": f"{n} " + "q" * text, "subject": f"s{n % 7}", "steps": n % 11}
            file.write(json.dumps(lm_eval_line(n, int(n % 3 == 0), doc=doc)) + "\n")
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="kilobytes of ru_maxrss are Linux's")
def test_a_long_log_is_not_held_in_memory(tmp_path: Path) -> None:
    """(306 MB of 100,000 samples took 7 s and 106 MiB in all on two cores.)"""
    small, large = big_log(tmp_path, 4_000, 10), big_log(tmp_path, 4_000, 10_000)
    assert large.stat().st_size > 40e6
    words = (*cli.FAST, "--text-features", "question")
    base, peaked = peak(small, *words), peak(large, *words)
    assert peaked < base + 12, (base, peaked)


def test_a_hundred_thousand_samples(tmp_path: Path) -> None:
    result = cli.audit(big_log(tmp_path, 100_000, 0), *cli.FAST)
    data = result["data"]
    assert data["rows"] == 100_000
    assert data["discovery"]["errors"] + data["holdout"]["errors"] == 66_666
    samples = [sample(n, "CI"[n % 3 == 0], turns=n % 5) for n in range(20_000)]
    assert counts(whole(write_inspect(tmp_path / "log.json", samples))) == (13_333, 6_667, 0)
