"""The order in which descriptors are shown: the best status first, then the larger statistic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

STATUSES: Final = ("confirmed", "selected", "not_replicated", "not_selected", "ineligible")
"""Every status, the best first."""

SELECTED: Final = frozenset(("confirmed", "selected", "not_replicated"))
"""The statuses of what the primary rule selects."""

FINDINGS: Final = frozenset(("confirmed", "selected"))
"""The statuses of what counts as found: confirmed, or selected where there is no holdout."""


def by_rank(descriptors: Sequence[dict[str, Any]], statistic: str) -> list[dict[str, Any]]:
    """Sort descriptors of a result by status, then by the size of their discovery statistic.

    Parameters
    ----------
    descriptors
        As ``result.json`` lists them; equal ones stay in this order.
    statistic
        "lift" or "z".
    """

    def rank(descriptor: Mapping[str, Any]) -> tuple[int, float]:
        part = descriptor["discovery"]
        size = abs((judged_lift(part) if statistic == "lift" else part[statistic]) or 0.0)
        return STATUSES.index(descriptor["status"]), -size

    return sorted(descriptors, key=rank)


def judged_lift(part: Mapping[str, Any]) -> float | None:
    """The lift in a split by which a descriptor is judged: adjusted where there are strata."""
    adjusted = part.get("lift_adjusted")
    return part["lift"] if adjusted is None else adjusted
