"""Replays as people read them; made from the document alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TextIO

from janus_jax.cells import printable
from janus_jax.report import METHOD_WORDS, Document, ran_on, splits

HEADER: Final = (
    "rule",
    "any selected",
    "se",
    "any confirmed",
    "se",
    "mean selected",
    "whatever the data",
)
_LEFT_OUT: Final = ("se", "mean selected", "any selected")


def answer(document: Document) -> str:
    """How often the primary rule reports something although there is nothing, in a sentence."""
    row = next((r for r in document["rules"] if r["primary"]), None)
    if row is None:
        return f"the primary rule {document['plan']['rule']} was not replayed"
    confirmed = row["any_confirmed"]
    held = "" if confirmed is None else f" and confirms something in {percent(confirmed)}"
    return (
        f"where there is nothing to find, {words(row)} selects something in "
        f"{percent(row['any_selected'])}{held} of {document['replays']:,} replays"
    )


def words(row: Mapping[str, Any]) -> str:
    """A rule in words."""
    name = METHOD_WORDS[row["rule"]]
    if row["K"] is not None:
        name = f"Procedure A, K = {row['K']:,} decoys" + (", D + 1" if row["plus_one"] else "")
    return name + (f", {row['statistic']}" if row["statistic"] else "")


def percent(share: float | None) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> percent(0.0972), percent(0.00042), percent(None)
    ('9.72%', '0.042%', '-')
    """
    if share is None:
        return "-"
    return f"{100 * share:.2f}%" if share == 0 or share >= 0.001 else f"{100 * share:.2g}%"


def rows(document: Document) -> list[list[str]]:
    """The table of :data:`HEADER`: a row for each rule, the primary one marked.

    The last cell is what the rule cannot do with these margins, whatever the data.
    """
    return [
        [
            words(row) + (" *" if row["primary"] else ""),
            percent(row["any_selected"]),
            percent(row["any_selected_se"]),
            percent(row["any_confirmed"]),
            percent(row["any_confirmed_se"]),
            f"{row['mean_selected']:.3f}",
            _impossible(row),
        ]
        for row in document["rules"]
    ]


def _impossible(row: Mapping[str, Any]) -> str:
    if not row["can_select"]:
        return "cannot select here"
    return "cannot confirm here" if row["can_confirm"] is False else ""


def print_replays(document: Document, stream: TextIO) -> None:
    """Print the answer, the table and the notes."""
    from janus_jax.terminal import console_for, print_answer, print_table

    console = console_for(stream)
    print_answer(console, answer(document))
    console.print(f"{splits(document)}; L = {document['L']}, q = {document['plan']['q']}")
    for warning in document["warnings"]:
        console.print(f"Warning: {printable(warning)}", style="yellow")
    shown = rows(document)
    last = None if any(row[-1] for row in shown) else -1  # nothing to say of any rule
    print_table(
        console,
        HEADER[:last],
        [row[:last] for row in shown],
        words=HEADER[-1:],
        leave_out=_LEFT_OUT,
    )
    console.print("* the primary rule", style="dim")
    console.print()
    for note in document["notes"]:
        console.print(f"- {printable(note)}", style="dim")
    console.print(ran_on(document), style="dim")
