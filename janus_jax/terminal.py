"""The result in a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import Final, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from janus_jax.cells import IN_TABLE, called, printable
from janus_jax.plans.proposed import JUDGED_HEADER, judged_answer, judged_rows
from janus_jax.report import (
    METHOD_HEADER,
    STATUS_WORDS,
    Document,
    answer,
    chosen,
    method_rows,
    planned_words,
    ran_on,
    ranked,
    rule_words,
    splits,
    table,
)

_STYLES = {
    "confirmed": "bold green",
    "selected": "green",
    "not_replicated": "yellow",
    "not_selected": "default",
    "ineligible": "dim",
}
_FILE_WIDTH = 180
_NAME_WIDTH: Final = 40
"""Names that are longer fold before a column is left out; at most half of a terminal is theirs."""
_GAP: Final = 2

# The columns that are left out where there is no room, in this order. Readers are told to read the
# interval of the holdout lift; an adjusted lift is shown only where the plan asked for it.
_TESTED_LEFT_OUT: Final = (
    "stability",
    "holdout off",
    "holdout on",
    "errors off",
    "errors on",
    "p max-T",
    "p BH",
    "p exact",
    "p clusters",
    "lift",
    "holdout lift",
    "adjusted",
    "holdout adjusted",
    "holdout 95%",
)
_METHODS_LEFT_OUT: Final = ("confirmed |lift|", "confirmed in holdout", "in holdout", "mean |lift|")
_JUDGED_LEFT_OUT: Final = (
    "score",
    "rank",
    "proposal errors on",
    "discovery lift",
    "lift there",
    "holdout lift",
)
_SHOWN = 40  # descriptors listed before "... more"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which ends quietly with status 0."""
        raise BrokenPipeError


def console_for(stream: TextIO) -> Console:
    """Where to print: text flows (a terminal wraps it, a file keeps one line a sentence)."""
    width = None if stream.isatty() else _file_width()  # tables need one
    return _Console(
        file=stream, highlight=False, emoji=False, markup=False, soft_wrap=True, width=width
    )


def _file_width() -> int:
    """The width of tables in files and pipes: what COLUMNS says, as a terminal's would be."""
    said = os.environ.get("COLUMNS", "")
    return int(said) if re.fullmatch("[0-9]{1,6}", said, re.ASCII) and int(said) else _FILE_WIDTH


def print_answer(console: Console, said: str) -> None:
    """The sentence that a result comes down to."""
    console.print(Text(f"{said[:1].upper()}{said[1:]}.", style="bold"))


def print_table(
    console: Console,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    words: Collection[str] = (),
    leave_out: Sequence[str] = (),
    styles: Sequence[str] = (),
) -> None:
    """A plain table: the first column is names, the others are numbers and stand to the right.

    Where a terminal is too narrow, names fold at their spaces, then columns are left out, and those
    are said. Numbers never fold.

    Parameters
    ----------
    header
        The names of the columns.
    rows
        As many cells each.
    words
        Names of columns that hold words, beside the first.
    leave_out
        Names of columns, those that can best be missed first.
    styles
        One for each row, or none.
    """
    wordy = {0, *(index for index, name in enumerate(header) if name in words)}
    shown, widths = _fitting(header, rows, wordy, leave_out, console.width)
    for number, row in enumerate([header, *rows]):
        style = "bold" if not number else styles[number - 1] if styles else ""
        cells = [_folded(console, row[index], widths[index]) for index in shown]
        for line in zip_longest(*cells, fillvalue=""):
            padded = (
                _padded(text, widths[index], left=index in wordy)
                for index, text in zip(shown, line, strict=True)
            )
            console.print(Text((" " * _GAP).join(padded).rstrip(), style=style))
    left_out = dict.fromkeys(name for index, name in enumerate(header) if index not in shown)
    if left_out:
        needed = sum(
            max(map(cell_len, column)) + _GAP for column in zip(header, *rows, strict=True)
        )
        wider = "a wider terminal" if console.is_terminal else f"COLUMNS={needed - _GAP}"
        console.print(f"({wider} also shows {', '.join(left_out)})", style="dim")


def _folded(console: Console, text: str, width: int) -> list[str]:
    """A cell as lines, folded at spaces; a word folds only where it is wider than the column."""
    if cell_len(text) <= width:
        return [text]
    return [line.plain.rstrip() for line in Text(text).wrap(console, width, overflow="fold")]


def _padded(text: str, width: int, *, left: bool) -> str:
    blanks = " " * (width - cell_len(text))
    return text + blanks if left else blanks + text


def _fitting(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    wordy: Collection[int],
    leave_out: Sequence[str],
    width: int,
) -> tuple[list[int], list[int]]:
    """The columns that fit, and the width of every column."""
    columns = list(zip(header, *rows, strict=True))
    natural = [max(map(cell_len, column)) for column in columns]
    least = [
        max(map(_longest_word, column))
        if index in wordy
        else max(_longest_word(column[0]), *map(cell_len, column[1:]), 0)
        for index, column in enumerate(columns)
    ]
    widths, shown = natural.copy(), list(range(len(header)))
    comfortable = min(natural[0], max(least[0], min(_NAME_WIDTH, width // 2)))

    def excess() -> int:
        return sum(widths[index] + _GAP for index in shown) - _GAP - width

    def shrink(index: int, floor: int) -> None:
        widths[index] -= max(0, min(excess(), widths[index] - floor))

    shrink(0, comfortable)
    for name in leave_out:
        if excess() <= 0:
            break
        shown = [index for index in shown if header[index] != name]
    # What was taken from the names before columns went is given back where there is room now.
    widths[0] = min(natural[0], widths[0] + max(0, -excess()))
    for index in (*shown[1:], 0):
        shrink(index, least[index])
    shrink(0, 1)  # nothing else is left
    return shown, widths


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def print_result(document: Document, stream: TextIO) -> None:
    """Print the result: the answer, the descriptors tested, the methods side by side, the notes."""
    console = console_for(stream)
    print_answer(console, answer(document))
    console.print(f"{splits(document)}; rule: {rule_words(document)}")
    if said := chosen(document):
        console.print(said)
    if (planned := planned_words(document)) is not None:
        console.print(planned)
    for warning in document["warnings"]:
        console.print(f"Warning: {printable(warning)}", style="yellow")
    tested = [d for d in ranked(document) if d["status"] != "ineligible"]
    if tested:
        header, row = table(document)
        print_table(
            console,
            header,
            [row(d) for d in tested[:_SHOWN]],
            words=("status",),
            leave_out=_TESTED_LEFT_OUT,
            styles=[_STYLES[d["status"]] for d in tested[:_SHOWN]],
        )
        if len(tested) > _SHOWN:
            console.print(f"... and {len(tested) - _SHOWN} more; --out DIR lists them all")
        console.print()
        methods = list(method_rows(document))
        print_table(console, METHOD_HEADER, methods, leave_out=_METHODS_LEFT_OUT)
        console.print("* the primary rule", style="dim")
    if "proposed" in document:
        console.print()
        print_answer(console, judged_answer(document["proposed"]))
        rows = judged_rows(document["proposed"], STATUS_WORDS)[:_SHOWN]
        if rows:
            shown = [[called(name, IN_TABLE), *rest] for name, *rest in rows]
            print_table(console, JUDGED_HEADER, shown, leave_out=_JUDGED_LEFT_OUT)
    print_list(
        console,
        "Not eligible",
        [(d["name"], d["reason"]) for d in document["descriptors"] if d["status"] == "ineligible"],
    )
    print_list(
        console, "Not used", [(entry["column"], entry["reason"]) for entry in document["not_used"]]
    )
    missing = [(c["column"], f"{c['missing']} missing") for c in document["data"]["columns"]]
    print_list(console, "Missing", [pair for pair in missing if pair[1] != "0 missing"])
    console.print()
    for note in document["notes"]:
        console.print(f"- {printable(note)}", style="dim")
    console.print(ran_on(document), style="dim")


def print_list(console: Console, title: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Print names with their reasons under a title; nothing without any."""
    if not pairs:
        return
    console.print()
    console.print(f"{title} ({len(pairs)})", style="bold")
    for name, reason in pairs[:_SHOWN]:
        console.print(f"  {called(name, IN_TABLE)}: {printable(reason)}")
    if len(pairs) > _SHOWN:
        console.print(f"  ... and {len(pairs) - _SHOWN} more")
