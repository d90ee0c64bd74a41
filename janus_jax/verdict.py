"""What decided about the descriptors of a result, and what that demanded of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from janus_jax.plan import FIXED_LIFT
from janus_jax.ranking import FINDINGS, SELECTED, by_rank

Document = Mapping[str, Any]

THRESHOLDS: Final = ("decoys_exact", "decoys", "mean_count", "mean_count_exact")
"""The rules with a threshold that the data choose."""


def ranked(document: Document) -> list[dict[str, Any]]:
    """Descriptors with the best status first, then by the size of their discovery statistic."""
    return by_rank(document["descriptors"], document["plan"]["statistic"])


def selected(document: Document) -> list[dict[str, Any]]:
    """What the primary rule selected, in the order of :func:`ranked`."""
    return [d for d in ranked(document) if d["status"] in SELECTED]


def read_split(document: Document) -> str:
    """The split that sizes are read in: holdout, or discovery where there is none."""
    return "holdout" if document["data"]["holdout"] else "discovery"


def threshold_of(document: Document) -> tuple[str, float] | None:
    """The method whose threshold the charts of the screen show, and that threshold.

    The primary rule's, or that of the nearest rule that has one.
    """
    screen = document["screen"]
    for method in (document["rule"], *THRESHOLDS):
        if method in THRESHOLDS and method in screen and screen[method]["threshold"] is not None:
            return method, screen[method]["threshold"]
    return None


def demanded(document: Document) -> float | None:
    """The size of the statistic that the primary rule demands in discovery.

    None for rules that go by p-values, and where no size would have been enough.
    """
    rule = document["rule"]
    if rule in THRESHOLDS:
        return document["screen"].get(rule, {"threshold": None})["threshold"]
    if rule == "fixed_lift":
        return float(FIXED_LIFT)
    return document["screen"][rule]["floor"] if rule == "fixed_floor" else None


def statistic_of(document: Document) -> str:
    """What that is a size of: lift, or z where the rule goes by the plan's statistic."""
    return document["plan"]["statistic"] if document["rule"] in THRESHOLDS else "lift"


def sized(document: Document) -> bool:
    """Whether the primary rule goes by sizes: else by p-values."""
    return document["rule"] in (*THRESHOLDS, "fixed_lift", "fixed_floor")


def by_chance(document: Document) -> float | None:
    """How many descriptors would reach the primary rule's threshold by chance alone, on average.

    Its own estimate, in which no descriptor has to do with errors. The threshold is the one that
    this data chose: how often the rule selects anything where there is nothing, only replays tell,
    since it would then choose another threshold, or none. None for rules without such a threshold,
    where it selected nothing, and where K literal decoys are too few to tell: fewer than
    :data:`COUNTED` of them reached it, and it may well be more than :data:`FEWEST` for all that.
    """
    screen, rule = document["screen"], document["rule"]
    entry = screen.get(rule)
    if rule not in THRESHOLDS or not entry or entry["threshold"] is None:
        return None
    if rule == "decoys":
        d, each = entry["D"], screen["L"] / entry["K"]
        most = (d + 3 * math.sqrt(d) + 3) * each  # 3 stands above 0, at 95%
        return d * each if d >= COUNTED or most < FEWEST else None
    return entry["expected_exceedances" if rule == "decoys_exact" else "mean_count"]


COUNTED: Final = 10
"""Decoys that have to be counted for an estimate: fewer may be half or twice as many by chance."""

FEWEST: Final = 0.1
"""Below it a number that is expected by chance is only said to be smaller."""


def by_chance_text(document: Document) -> str | None:
    """``1.2`` or ``<0.1``; None where :func:`by_chance` is."""
    expected = by_chance(document)
    if expected is None:
        return None
    if expected < FEWEST / 2:
        return f"<{FEWEST}"
    return f"{expected:,.{1 if expected < 10 else 0}f}"


def by_chance_words(document: Document) -> str | None:
    """``about 1.2`` or ``fewer than 0.1``; None where :func:`by_chance` is."""
    text = by_chance_text(document)
    if text is None:
        return None
    return f"fewer than {FEWEST}" if text.startswith("<") else f"about {text}"


def close(document: Document) -> list[tuple[dict[str, Any], list[str]]]:
    """Findings that one or two examples would undo, and the splits in which.

    That many errors less in its slice (more, where its lift is negative), and its lift would be
    below the gate, or below the fixed size that the rule demands. A threshold that the data choose
    is none of these: it lies on the smallest selected descriptor, and would move with it. Only
    plain lifts are judged so.
    """
    if document["plan"]["strata"] is not None:
        return []
    bars = {"holdout": Fraction(str(document["plan"]["min_holdout_lift"]))}
    if document["rule"] == "fixed_lift":
        bars["discovery"] = FIXED_LIFT
    found = [
        (d, [split for split, bar in bars.items() if d[split] and _less(d[split]) < bar])
        for d in ranked(document)
        if d["status"] in FINDINGS
    ]
    return [(d, splits) for d, splits in found if splits]


_FEW: Final = 2  # examples


def _less(part: Mapping[str, Any]) -> Fraction:
    """The size of a lift with so many examples in the slice the other way."""
    outside = Fraction(part["errors_off"], part["off"]) if part["off"] else Fraction(0)
    lift = Fraction(part["errors_on"], part["on"]) - outside
    return abs(lift) - Fraction(_FEW, part["on"])
