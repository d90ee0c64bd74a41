"""The result in a terminal."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from janus_jax.report import (
    METHOD_HEADER,
    METHOD_WORDS,
    TABLE_HEADER,
    Document,
    answer,
    method_rows,
    printable,
    ran_on,
    ranked,
    splits,
    table_row,
)

_STYLES = {
    "confirmed": "bold green",
    "selected": "green",
    "not_replicated": "yellow",
    "not_selected": "default",
    "ineligible": "dim",
}
_SHOWN = 40  # descriptors listed before "... more"


def print_result(document: Document, stream: TextIO) -> None:
    """Print the result: the answer, the descriptors tested, the methods side by side, the notes."""
    console = Console(file=stream, highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        console = Console(file=stream, highlight=False, emoji=False, markup=False, width=160)
    plan = document["plan"]
    said = answer(document)
    console.print(Text(f"{said[:1].upper()}{said[1:]}.", style="bold"))
    console.print(
        f"{splits(document)}; rule: {METHOD_WORDS[document['rule']]}, q = {plan['q']}, "
        f"statistic {plan['statistic']}"
    )
    tested = [d for d in ranked(document) if d["status"] != "ineligible"]
    if tested:
        table = Table(*TABLE_HEADER, box=None, header_style="bold", pad_edge=False)
        for column in table.columns[2:]:
            column.justify = "right"
        table.columns[0].overflow = "fold"
        for d in tested[:_SHOWN]:
            table.add_row(*map(Text, table_row(d)), style=_STYLES[d["status"]])
        console.print(table)
        if len(tested) > _SHOWN:
            console.print(f"... and {len(tested) - _SHOWN} more; --out DIR lists them all")
        methods = Table(*METHOD_HEADER, box=None, header_style="bold", pad_edge=False)
        for name, selected, confirmed in method_rows(document):
            methods.add_row(name, str(selected), str(confirmed))
        console.print()
        console.print(methods)
        console.print("* the primary rule", style="dim")
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


def _print_list(console: Console, title: str, pairs: list[tuple[str, str]]) -> None:
    if not pairs:
        return
    console.print()
    console.print(f"{title} ({len(pairs)})", style="bold")
    for name, reason in pairs[:_SHOWN]:
        console.print(f"  {printable(name)}: {printable(reason)}")
    if len(pairs) > _SHOWN:
        console.print(f"  ... and {len(pairs) - _SHOWN} more")
