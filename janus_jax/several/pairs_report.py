"""Where two models disagree, as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from janus_jax.cells import IN_TABLE, called, number
from janus_jax.ranking import FINDINGS
from janus_jax.verdict import Document, read_split


def disagree_words(document: Document) -> str:
    """What the slices where two models disagree say, and how to read their table."""
    split = read_split(document)
    if document["data"]["holdout"] is None:
        clear = (
            ". There is no holdout: the examples that selected these slices cannot tell how large "
            "it is, so it has no interval and neither is said to lose ground."
        )
    elif document["data"]["clusters"] is not None:
        clear = (
            ". Where rows come in clusters it has no interval, since rows of a cluster are not "
            "independent, so neither is said to lose ground."
        )
    elif document["plan"]["strata"] is not None:
        clear = (
            ". Slices are found by the stratum-adjusted difference; the interval is that of the "
            "plain one. It is clear where the interval leaves out 0 and both differences have one "
            "sign."
        )
    else:
        clear = "; it is clear where its interval leaves out 0."
    return (
        "An error here is an example that one of two models alone gets wrong: on and off count "
        f"those of {split} inside and outside the slice. A slice may be found both ways: then "
        "the two disagree more often there, and neither need be worse for it. Which of them loses "
        "ground to the other there, compared with elsewhere, is what the difference of their lifts "
        f"says (it may be the better one still){clear}"
    )


def pairs_header(document: Document) -> tuple[str, ...]:
    """The columns of :func:`pairs_rows`."""
    plain = ("difference of lifts", "95%")
    if document["plan"]["strata"] is not None:
        plain = ("plain difference", "plain 95%", "adjusted difference")
    return (
        "descriptor",
        "first, second",
        "first alone, on",
        "first alone, off",
        "second alone, on",
        "second alone, off",
        "alone wrong there",
        *plain,
        "loses ground there",
    )


PAIRS_WORDS: Final = ("descriptor", "first, second", "alone wrong there", "loses ground there")
"""Columns that hold words."""

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
    adjusted = [difference["adjusted"]] if "adjusted" in difference else []
    loser, unclear = loses_ground(pair, finding), "-" if low is None else "not clear"
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
        *map(number, adjusted),
        unclear if loser is None else models[loser],
    ]


def loses_ground(pair: Sequence[str], finding: Mapping[str, Any]) -> str | None:
    """Which of two models clearly loses ground to the other in a slice; None for neither.

    The interval of the difference has to leave out 0, and with strata the adjusted difference has
    to lie on the same side.
    """
    first, second = pair
    difference = finding["difference"]
    ends = [difference[key] for key in ("low", "high")]
    if ends[0] is None:
        return None
    if difference.get("adjusted") is not None:
        ends.append(difference["adjusted"])
    if min(ends) > 0:
        return first
    return second if max(ends) < 0 else None


def judged(findings: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is an interval to tell by who loses ground, for any of these slices."""
    return any(finding["difference"]["low"] is not None for finding in findings)


def clear_losses(document: Document) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every slice where one model clearly loses ground: which, to which, and the finding."""
    for pair in document["pairs"]:
        first, second = pair["models"]
        for finding in pair["findings"]:
            loser = loses_ground(pair["models"], finding)
            if loser is not None:
                yield loser, second if loser == first else first, finding


def _found_there(pair: Sequence[str], finding: Mapping[str, Any], models: Mapping[str, str]) -> str:
    """Which of the two was found to be wrong alone there, and whether more often or less."""
    how: dict[str, list[str]] = {}
    for name in pair:
        if finding["statuses"][name] in FINDINGS:
            only = finding["only_wrong"][name]
            plain = only["on"] * finding["off"] - only["off"] * finding["on"]
            more = only.get("lift_adjusted", plain) > 0
            how.setdefault("more often" if more else "less often", []).append(models[name])
    return "; ".join(
        f"{'both' if len(names) > 1 else names[0]} {often}" for often, names in how.items()
    )
