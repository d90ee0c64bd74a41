"""What a finding is of several models together: for whom it is, which way, and by which lift."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

KIND_WORDS: Final = {
    "common": "all models",
    "opposed": "opposite directions",
    "some": "some models",
    "own": "one model",
}
"""The kinds of findings, in the order in which a sentence speaks of them."""


def kind_of(lifts: Iterable[float], models: int) -> str:
    """The kind of a finding, a key of :data:`KIND_WORDS`.

    Parameters
    ----------
    lifts
        The lifts that decided, of those models for which it was found. One that is 0 has no
        direction, and goes with either.
    models
        All models that are compared.

    Examples
    --------
    >>> [kind_of(lifts, 3) for lifts in ([0.2, 0.1, 0.4], [0.2, -0.1, 0.4], [0.2, 0.1], [-0.2])]
    ['common', 'opposed', 'some', 'own']
    """
    found = list(lifts)
    if min(found) < 0 < max(found):
        return "opposed"
    return {models: "common", 1: "own"}.get(len(found), "some")


def found_words(finding: Mapping[str, Any]) -> str:
    """For whom it is found, for a cell of a table."""
    words = KIND_WORDS[finding["kind"]]
    if finding["kind"] != "opposed":
        return words
    all_of_them = len(finding["found_for"]) == len(finding["statuses"])
    return f"{KIND_WORDS['common' if all_of_them else 'some']}, {words}"


def deciding_lift(lifts: Mapping[str, float | None], split: str) -> float | None:
    """One model's lift in a split by which it is screened: adjusted where there are strata."""
    return lifts.get(f"{split}_adjusted", lifts[split])
