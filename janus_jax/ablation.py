"""What each method would have kept, and how large that stays on holdout: the winner's curse shown.

One row per method and one for the gate alone. Four of these sets are the ablation of the paper:
a fixed lift without decoys (``fixed_lift`` selected), decoys only (``decoys`` selected), decoys and
gate (``decoys`` confirmed), gate only (``gate_only`` confirmed).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

from janus_jax.prepare import Prepared
from janus_jax.screen import Screened

GATE_ONLY = "gate_only"
"""No screen: the whole library counts as selected, and what passes the gate is confirmed."""


def ablation(
    prepared: Prepared, screened: Screened | None, passed: Collection[int]
) -> list[dict[str, Any]]:
    """Count what each method selects and confirms, with the mean |lift| in both splits.

    Lifts are those that are screened: stratum-adjusted where there are strata.

    Parameters
    ----------
    prepared
        The counts of both splits.
    screened
        What every method selects; None when no descriptor is eligible, and then there are no rows.
    passed
        Indices of the descriptors that pass the gate.

    Returns
    -------
    list of dict
        ``method``, ``selected`` and ``confirmed``; ``confirmed`` is null without a holdout.
    """
    if screened is None:
        return []
    library = prepared.eligible
    chosen = {**screened.selected, GATE_ONLY: [True] * len(library)}
    rows: list[dict[str, Any]] = []
    for method, verdicts in chosen.items():
        kept = [g for g, verdict in zip(library, verdicts, strict=True) if verdict]
        confirmed = None
        if prepared.has_holdout:
            confirmed = _survivors(prepared, [g for g in kept if g in passed])
        rows.append(
            {"method": method, "selected": _survivors(prepared, kept), "confirmed": confirmed}
        )
    return rows


def _survivors(prepared: Prepared, kept: Sequence[int]) -> dict[str, Any]:
    """Count and mean sizes of some descriptors.

    A descriptor with nothing inside or nothing outside its slice in holdout (a preset may check
    support on discovery alone) has no lift there and is left out of the holdout means.
    """
    discovery = [prepared.discovery[g].lift for g in kept]
    pairs = [
        (first, holdout.lift)
        for first, holdout in zip(discovery, map(prepared.holdout_of, kept), strict=True)
        if holdout is not None and holdout.plain_lift is not None
    ]
    return {
        "count": len(kept),
        "mean_discovery": _mean([abs(first) for first in discovery]),
        "mean_holdout": _mean([abs(second) for _, second in pairs]),
        "mean_holdout_same_direction": _mean([second * _sign(first) for first, second in pairs]),
    }


def _sign(lift: Fraction) -> int:
    return (lift > 0) - (lift < 0)


def _mean(lifts: Sequence[Fraction]) -> float | None:
    """The mean, correctly rounded once: the same on every machine and in every order."""
    return float(_sum(lifts) / len(lifts)) if lifts else None


def _sum(lifts: Sequence[Fraction]) -> Fraction:
    """The sum in halves, so that few of the additions meet a large common denominator."""
    if len(lifts) < 2:
        return lifts[0]
    half = len(lifts) // 2
    return _sum(lifts[:half]) + _sum(lifts[half:])
