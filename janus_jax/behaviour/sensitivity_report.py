"""Repeated splits as people read them: a sentence, a table, the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TextIO

from janus_jax.behaviour.wording import percent
from janus_jax.cells import IN_TABLE, called, number, printable
from janus_jax.report import STATUS_WORDS, ran_on, rule_words
from janus_jax.terminal import console_for, print_answer, print_table

_SHOWN: Final = 40  # rules listed before "... more"
HEADER: Final = (
    "rule",
    "confirmed",
    "share",
    "selected",
    "eligible",
    "discovery lift",
    "holdout lift",
    "same sign",
    "audit",
)
_LEFT_OUT: Final = (
    "eligible",
    "same sign",
    "selected",
    "audit",
    "confirmed",
    "discovery lift",
    "holdout lift",
)


def answer(document: Mapping[str, Any]) -> str:
    """What was found, in a sentence; the rules that recur most are named."""
    count, overall = document["splits"]["count"], document["overall"]
    shares = {row["rule"]: row["share_confirmed"] for row in document["rules"]}
    often: list[str] = overall["confirmed_in_half"]
    named = ", ".join(
        f"{rule} ({percent(shares[rule])})" if count > 1 else rule for rule in often[:5]
    )
    more = f" and {len(often) - 5} more" if len(often) > 5 else ""
    where = f"in at least half of {count} splits" if count > 1 else "in the one split"
    said = (
        f"{len(often) or 'no'} rule{' is' if len(often) < 2 else 's are'} confirmed "
        f"{where}{': ' if often else ''}{named}{more}"
    )
    return said if count == 1 else f"{said}; {_confirming(overall['any_confirmed'], count)}"


def _confirming(any_confirmed: Mapping[str, Any], count: int) -> str:
    if any_confirmed["splits"] == count:
        return "every split confirms something"
    if not any_confirmed["splits"]:
        return "no split confirms anything"
    return f"{percent(any_confirmed['share'])} of the splits confirm something"


def split_rows(rules: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """A row of the table for each rule, names as they are."""
    for row in rules:
        yield [
            row["rule"],
            str(row["confirmed"]),
            percent(row["share_confirmed"]),
            str(row["selected"]),
            str(row["eligible"]),
            number(row["lift_discovery"]),
            number(row["lift_holdout"]),
            "-" if row["share_same_sign"] is None else percent(row["share_same_sign"]),
            STATUS_WORDS.get(row["audit"], "-"),
        ]


def print_splits(document: Mapping[str, Any], stream: TextIO) -> None:
    """Print the result: the answer, how often each rule recurs, the splits together, the notes."""
    console = console_for(stream)
    print_answer(console, printable(answer(document)))
    data, overall = document["data"], document["overall"]
    console.print(
        f"{data['examples']} examples, {data['errors']} errors; rule: {rule_words(document)}"
    )
    for warning in document["warnings"]:
        console.print(f"Warning: {printable(warning)}", style="yellow")
    rows = [row for row in document["rules"] if row["eligible"]]
    if rows:
        shown = [[called(name, IN_TABLE), *rest] for name, *rest in split_rows(rows[:_SHOWN])]
        print_table(console, HEADER, shown, leave_out=_LEFT_OUT)
    if len(rows) > _SHOWN:
        console.print(f"... and {len(rows) - _SHOWN} more; --json FILE lists them all")
    never = [printable(row["rule"]) for row in document["rules"] if not row["eligible"]]
    if never:
        listed = ", ".join(never[:_SHOWN]) + (", ..." if len(never) > _SHOWN else "")
        console.print(f"Never eligible ({len(never)}): {listed}")
    console.print()
    sizes = ", ".join(
        f"{it['confirmed']} in {it['splits']}" for it in overall["confirmed_per_split"]
    )
    last = "" if document["splits"]["count"] == 1 else "s"
    console.print(f"Rules confirmed in a split: {sizes} split{last}")
    jaccard, stability = overall["jaccard"]["mean"], overall["stability"]["value"]
    console.print(
        f"How alike the confirmed sets are: mean Jaccard {number(jaccard, '.2f')}; beyond chance "
        f"(Nogueira, Sechidis and Brown 2018) {number(stability, '.2f')}"
    )
    console.print()
    for note in document["notes"]:
        console.print(f"- {printable(note)}", style="dim")
    console.print(ran_on(document), style="dim")
