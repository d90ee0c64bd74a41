"""Where two models disagree, as people read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from janus_jax.cells import IN_TABLE, called, number
from janus_jax.ranking import FINDINGS
from janus_jax.report import Document

DISAGREE: Final = (
    "An error here is an example that one of two models alone gets wrong: on and off count those "
    "inside and outside the slice. A slice may be found both ways: then the two disagree more "
    "often there, and neither need be worse for it. Which of them loses ground to the other there, "
    "compared with elsewhere, is what the difference of their lifts says (it may be the better one "
    "still); it is clear where its interval leaves out 0."
)

PAIRS_HEADER: Final = (
    "descriptor",
    "first, second",
    "first alone, on",
    "first alone, off",
    "second alone, on",
    "second alone, off",
    "alone wrong there",
    "difference of lifts",
    "95%",
    "loses ground there",
)

PAIRS_LEFT_OUT: Final = (
    "second alone, off",
    "first alone, off",
    "alone wrong there",
    "first, second",
)
"""Columns that are left out, in this order, where the terminal is too narrow for all."""


def pairs_rows(document: Document, models: Mapping[str, str]) -> list[list[str]]:
    """Every slice where two models disagree: how often each alone is wrong, and which is worse.

    ``models`` says what each model is called in tables.
    """
    return [
        _pair_row(pair["models"], finding, models)
        for pair in document["pairs"]
        for finding in pair["findings"]
    ]


def _pair_row(
    pair: Sequence[str], finding: Mapping[str, Any], models: Mapping[str, str]
) -> list[str]:
    first, second = pair
    only, difference = finding["only_wrong"], finding["difference"]
    low, high = difference["low"], difference["high"]
    loser = loses_ground(pair, finding)
    unclear = "-" if low is None else "not clear"
    return [
        called(finding["name"], IN_TABLE),
        f"{models[first]}, {models[second]}",
        *(
            f"{only[name][side]}/{finding[side]}"
            for name in (first, second)
            for side in ("on", "off")
        ),
        _found_there(pair, finding, models),
        number(difference["lift"]),
        "-" if low is None else f"{low:+.2f}..{high:+.2f}",
        unclear if loser is None else models[loser],
    ]


def loses_ground(pair: Sequence[str], finding: Mapping[str, Any]) -> str | None:
    """Which of two models clearly loses ground to the other in a slice; None for neither."""
    first, second = pair
    low, high = finding["difference"]["low"], finding["difference"]["high"]
    if low is None or low <= 0 <= high:
        return None
    return first if low > 0 else second


def _found_there(pair: Sequence[str], finding: Mapping[str, Any], models: Mapping[str, str]) -> str:
    """Which of the two was found to be wrong alone there, and whether more often or less."""
    how: dict[str, list[str]] = {}
    for name in pair:
        if finding["statuses"][name] in FINDINGS:
            only = finding["only_wrong"][name]
            more = only["on"] * finding["off"] > only["off"] * finding["on"]
            how.setdefault("more often" if more else "less often", []).append(models[name])
    return "; ".join(
        f"{'both' if len(names) > 1 else names[0]} {often}" for often, names in how.items()
    )
