"""The result in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from janus_jax.plans.proposed import JUDGED_HEADER, judged_answer, judged_rows
from janus_jax.report import (
    METHOD_HEADER,
    STATUS_WORDS,
    Document,
    answer,
    method_rows,
    planned_words,
    printable,
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
_LEFT_OUT_FIRST = (
    "stability",
    "holdout off",
    "holdout on",
    "errors off",
    "errors on",
    "p BH",
    "p max-T",
    "holdout 95%",
    "confirmed |lift|",
    "confirmed in holdout",
    "in holdout",
    "mean |lift|",
)
_SHOWN = 40  # descriptors listed before "... more"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which ends quietly with status 0."""
        raise BrokenPipeError


def console_for(stream: TextIO) -> Console:
    """Where to print: text flows (a terminal wraps it, a file keeps one line a sentence)."""
    width = None if stream.isatty() else _FILE_WIDTH  # tables need one
    return _Console(
        file=stream, highlight=False, emoji=False, markup=False, soft_wrap=True, width=width
    )


def print_answer(console: Console, said: str) -> None:
    """The sentence that a result comes down to."""
    console.print(Text(f"{said[:1].upper()}{said[1:]}.", style="bold"))


def print_table(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A plain table: the first column is words, the others are numbers."""
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for index, name in enumerate(header):
        grid.add_column(name, justify="right" if index else "left", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    console.print(grid, soft_wrap=False)


def print_result(document: Document, stream: TextIO) -> None:
    """Print the result: the answer, the descriptors tested, the methods side by side, the notes."""
    console = console_for(stream)
    print_answer(console, answer(document))
    console.print(f"{splits(document)}; rule: {rule_words(document)}")
    if (planned := planned_words(document)) is not None:
        console.print(planned)
    for warning in document["warnings"]:
        console.print(f"Warning: {printable(warning)}", style="yellow")
    tested = [d for d in ranked(document) if d["status"] != "ineligible"]
    if tested:
        header, row = table(document)
        rows = [(row(d), _STYLES[d["status"]]) for d in tested[:_SHOWN]]
        _print_table(console, header, rows)
        if len(tested) > _SHOWN:
            console.print(f"... and {len(tested) - _SHOWN} more; --out DIR lists them all")
        console.print()
        _print_table(console, METHOD_HEADER, [(row, "") for row in method_rows(document)])
        console.print("* the primary rule", style="dim")
    if "proposed" in document:
        console.print()
        print_answer(console, judged_answer(document["proposed"]))
        rows = judged_rows(document["proposed"], STATUS_WORDS)[:_SHOWN]
        if rows:
            shown = [[printable(name), *rest] for name, *rest in rows]
            _print_table(console, JUDGED_HEADER, [(row, "") for row in shown])
    _print_list(
        console,
        "Not eligible",
        [(d["name"], d["reason"]) for d in document["descriptors"] if d["status"] == "ineligible"],
    )
    _print_list(
        console, "Not used", [(entry["column"], entry["reason"]) for entry in document["not_used"]]
    )
    missing = [(c["column"], f"{c['missing']} missing") for c in document["data"]["columns"]]
    _print_list(console, "Missing", [pair for pair in missing if pair[1] != "0 missing"])
    console.print()
    for note in document["notes"]:
        console.print(f"- {printable(note)}", style="dim")
    console.print(ran_on(document), style="dim")


def _print_table(
    console: Console, header: Sequence[str], rows: Sequence[tuple[list[str], str]]
) -> None:
    """A table of the columns that fit: the names and the most telling ones always do."""
    shown = _fitting(header, [row for row, _ in rows], console.width)
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for index in shown:
        right = index > 1 or (header is METHOD_HEADER and index == 1)
        grid.add_column(header[index], justify="right" if right else "left", overflow="fold")
    for row, style in rows:
        grid.add_row(*(Text(row[index]) for index in shown), style=style)
    console.print(grid, soft_wrap=False)
    left_out = [name for index, name in enumerate(header) if index not in shown]
    if left_out:
        console.print(f"(a wider terminal also shows {', '.join(left_out)})", style="dim")


def _fitting(header: Sequence[str], rows: Sequence[list[str]], width: int) -> list[int]:
    widths = [max(map(cell_len, column)) for column in zip(header, *rows, strict=True)]
    widths[0] = min(widths[0], 40)  # names fold
    shown = list(range(len(header)))
    for name in _LEFT_OUT_FIRST:
        if sum(widths[index] + 2 for index in shown) - 2 <= width:
            break
        if name in header:
            shown.remove(header.index(name))
    return shown


def _print_list(console: Console, title: str, pairs: list[tuple[str, str]]) -> None:
    if not pairs:
        return
    console.print()
    console.print(f"{title} ({len(pairs)})", style="bold")
    for name, reason in pairs[:_SHOWN]:
        console.print(f"  {printable(name)}: {printable(reason)}")
    if len(pairs) > _SHOWN:
        console.print(f"  ... and {len(pairs) - _SHOWN} more")
