"""Tables in terminals of every width: numbers stay whole, and what is left out is said."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from janus_jax.paper import reproduce as reproducing
from janus_jax.terminal import console_for, print_result, print_table
from tests.audits import cli
from tests.oracle import tables

HEADER = ("name of it", "count", "long title", "verdict")
ROWS = (
    ("a short one", "12", "+0.125", "not at all"),
    ("several words that need a lot of room in a row", "1,234", "-0.5..+0.5", "fine"),
    ("einundzwanzigbuchstaben", "7", "8 / 30", ""),
)
GSM8K = tables.table_of("gsm8k_openai_4models.csv")
OUTCOME = ("--correct", "correct_175b_verification")


def screen(width: int, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A stream of this width, without the codes that colour a terminal."""
    monkeypatch.setenv("COLUMNS", str(width))
    return io.StringIO()


def shown(width: int, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[str]:
    stream = screen(width, monkeypatch)
    print_table(console_for(stream), HEADER, ROWS, words=("verdict",), **options)
    return stream.getvalue().splitlines()


def test_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(100, monkeypatch) == [
        "name of it                                      count  long title  verdict",
        "a short one                                        12      +0.125  not at all",
        "several words that need a lot of room in a row  1,234  -0.5..+0.5  fine",
        "einundzwanzigbuchstaben                             7      8 / 30",
    ]


def test_names_fold_first_then_columns_go(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out = ("verdict", "long title")
    assert shown(70, monkeypatch, leave_out=leave_out) == [
        "name of it                               count  long title  verdict",
        "a short one                                 12      +0.125  not at all",
        "several words that need a lot of room    1,234  -0.5..+0.5  fine",
        "in a row",
        "einundzwanzigbuchstaben                      7      8 / 30",
    ]
    assert shown(45, monkeypatch, leave_out=leave_out) == [
        "name of it                  count  long title",
        "a short one                    12      +0.125",
        "several words that need a   1,234  -0.5..+0.5",
        "lot of room in a row",
        "einundzwanzigbuchstaben         7      8 / 30",
        "(COLUMNS=77 also shows verdict)",
    ]


def test_when_nothing_more_can_go_titles_and_words_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(54, monkeypatch)
    assert all(len(line) <= 54 for line in lines)
    assert lines[0].split() == ["name", "of", "it", "count", "long", "title", "verdict"]
    assert any(line.endswith("not at") for line in lines)
    for cell in ("1,234", "-0.5..+0.5", "8 / 30", "einundzwanzigbuchstaben"):
        assert sum(cell in line for line in lines) == 1


def test_only_a_word_wider_than_the_terminal_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(24, monkeypatch, leave_out=("verdict", "long title", "count"))
    assert lines[-1].startswith("(COLUMNS=77 also shows count, long title, verdict)")
    assert "einundzwanzigbuchstaben" in lines
    stream = screen(10, monkeypatch)
    print_table(console_for(stream), ("name", "n"), [("einundzwanzig", "123")])
    assert stream.getvalue().splitlines() == ["name     n", "einun  123", "dzwan", "zig"]


@pytest.mark.parametrize("said", ["", "0", "-5", "wide", "1e3", "80.5", "\u0664\u0660"])
def test_a_width_that_is_none_is_not_followed(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", said)
    assert console_for(io.StringIO()).width == 180


def test_columns_that_pipes_leave_out_come_with_the_width_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leave_out = ("verdict", "long title")
    assert shown(76, monkeypatch, leave_out=leave_out)[0].split()[-1] == "verdict"  # names fold
    at_50 = shown(50, monkeypatch, leave_out=leave_out)
    assert at_50[-1] == "(COLUMNS=77 also shows verdict)"
    widest = shown(77, monkeypatch, leave_out=leave_out)
    assert max(map(len, widest)) == 77
    assert not any("also shows" in line for line in widest)

    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("TERM", "xterm")
    terminal = cli.Terminal()
    print_table(console_for(terminal), HEADER, ROWS, words=("verdict",), leave_out=leave_out)
    assert "(a wider terminal also shows verdict)" in terminal.getvalue()


def test_wide_characters_count_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = screen(40, monkeypatch)
    print_table(console_for(stream), ("name", "n"), [("漢字", "1"), ("abcd", "2")])
    assert stream.getvalue().splitlines() == ["name  n", "漢字  1", "abcd  2"]


def test_a_table_without_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = screen(40, monkeypatch)
    print_table(console_for(stream), ("name", "n"), [])
    assert stream.getvalue() == "name  n\n"


def test_columns_of_one_name_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = screen(14, monkeypatch)
    header, row = ("name", "p", "se", "q", "se"), ("abc", "0.1", "0.01", "0.2", "0.02")
    print_table(console_for(stream), header, [row], leave_out=("se",))
    assert stream.getvalue().splitlines()[:2] == ["name    p    q", "abc   0.1  0.2"]
    assert "also shows se)" in " ".join(stream.getvalue().split())


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_interval_stays_longest(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = screen(width, monkeypatch)
    print_result(cli.audit(GSM8K, *OUTCOME, *cli.FAST), stream)
    lines = stream.getvalue().splitlines()
    (header,) = [line for line in lines if line.startswith("descriptor ")]
    assert "status" in header
    if "holdout 95%" not in header:
        assert width == 40
        assert not {"errors", "p", "lift"} & set(header.split())
    if width == 80:
        assert header.split() == ["descriptor", "status", "lift", "holdout", "lift", "holdout",
                                  "95%"]  # fmt: skip


COMMANDS: Sequence[tuple[str | Path, ...]] = (
    ("audit", GSM8K, *OUTCOME, *cli.FAST),
    ("sensitivity", GSM8K, *OUTCOME, "--splits", "2"),
    ("replay", GSM8K, *OUTCOME, "--permutations", "99", "--replays", "50", "--backend", "numpy"),
    ("power", "--preset", "musique", "--n", "100,200", "--delta", "0.10,0.35",
     "--repetitions", "50"),
    ("reproduce", "--replays", "20", "--repetitions", "20", "--backend", "numpy", "--quiet"),
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: str(words[0]))
def test_numbers_stay_whole_in_every_width(
    words: tuple[str | Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every table line fits, and every number on it is one that a wide terminal shows too."""
    # The document is the same in every width, and takes seconds to make.
    monkeypatch.setattr(reproducing, "reproduce", made_once(reproducing.reproduce))
    wide = set(re.findall(r"\S+", printed(words, 400, monkeypatch)))
    for width in (80, 60, 40):
        text = printed(words, width, monkeypatch)
        assert ("also shows" in text) or width == 80
        for line in text.splitlines():
            assert line == line.rstrip()
            if "  " not in line.strip():
                continue  # a sentence flows
            if not line.startswith("  "):
                assert len(line) <= width, line
            assert set(line.split()) <= wide, line


def made_once(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes its result when it is first called."""
    return cache(lambda **options: make(**options))


def printed(words: tuple[str | Path, ...], width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a terminal of this width shows, without the time that the run took."""
    monkeypatch.setenv("COLUMNS", str(width))
    run = cli.call(*words)
    assert run.status == 0, run.err
    return "\n".join(line for line in run.out.splitlines() if not line.startswith("backend "))


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: str(words[0]))
def test_pipes_get_no_trailing_blanks(words: tuple[str | Path, ...]) -> None:
    run = cli.call(*words)
    assert [line for line in run.out.splitlines() if line != line.rstrip()] == []
