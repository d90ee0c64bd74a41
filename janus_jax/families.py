"""Findings that overlap, grouped: several faces of one pattern are not several patterns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from janus_jax.library import Part
from janus_jax.prepare import Prepared
from janus_jax.ranking import FINDINGS
from janus_jax.statistic import FILTER

GROUPED: Final = 1000
"""Findings that are grouped, the first in rank: nobody reads more, and the work grows with their
square."""

COMPARED: Final = 100
"""Findings that are compared with each other, the first in rank, for the nearest of each."""

_CELLS: Final = 1 << 26  # bytes of memberships compared at once


def families(prepared: Prepared, ranked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Group the findings: what is confirmed or, without a holdout, selected.

    The first in rank leads a family. Each later one joins the first lead with which the
    correlation phi of their memberships over all counted examples has phi**2 >= 1/4, or leads a
    family of its own. So every member overlaps with its lead, which a chain of overlaps would not
    ensure.

    Parameters
    ----------
    prepared
        Memberships and errors of both splits.
    ranked
        The descriptors of the result in the order they are shown; of the findings among them the
        first :data:`GROUPED` are grouped.

    Returns
    -------
    list of dict
        ``lead`` and ``members`` for each family, in the order of their leads; members in rank
        order, the lead first. ``phi`` and ``both`` compare a member with its lead;
        ``beside_lead`` is its mean lift among examples that are alike in the lead, null for the
        lead itself and where no such examples differ in the member. ``nearest`` is the finding
        with the largest phi**2 of all, null beyond the first :data:`COMPARED` and for a single one.
    """
    found = [entry for entry in ranked if entry["status"] in FINDINGS][:GROUPED]
    if not found:
        return []
    place = {item.name: g for g, item in enumerate(prepared.descriptors.items)}
    order = [place[entry["name"]] for entry in found]
    rows = prepared.counted
    bits = np.array([np.packbits(prepared.descriptors.items[g].members[rows]) for g in order])
    groups = led(bits, len(rows))
    judged = prepared.parts[-1]  # holdout, or discovery where there is none
    made = [_family(prepared, found, order, bits, group, judged) for group in groups]
    near = nearest(bits[:COMPARED], len(rows))
    by_name = {found[i]["name"]: pair for i, pair in enumerate(near)}
    for member in (member for family in made for member in family["members"]):
        pair = by_name.get(member["name"])
        member["nearest"] = pair and {"name": found[pair[0]]["name"], "phi": pair[1]}
    return made


def _family(
    prepared: Prepared,
    found: Sequence[dict[str, Any]],
    order: Sequence[int],
    bits: NDArray[np.uint8],
    group: Sequence[int],
    judged: Part,
) -> dict[str, Any]:
    n, first = len(prepared.counted), group[0]
    lead = bits[first]
    lead_on = int(np.bitwise_count(lead).sum())
    strata = prepared.descriptors.items[order[first]].members[judged.rows]
    members: list[dict[str, Any]] = []
    for i in group:
        entry = found[i]
        on = int(np.bitwise_count(bits[i]).sum())
        both = int(np.bitwise_count(bits[i] & lead).sum())
        inside = prepared.descriptors.items[order[i]].members[judged.rows]
        members.append(
            {
                "name": entry["name"],
                "phi": _phi(n, both, on, lead_on),
                "both": both,
                "on": on,
                "discovery_lift": entry["discovery"]["lift"],
                "holdout_lift": entry["holdout"]["lift"] if entry["holdout"] else None,
                "beside_lead": None if i == first else _beside(inside, strata, judged.errors),
            }
        )
    return {"lead": found[first]["name"], "members": members}


def led(bits: NDArray[np.uint8], n: int) -> list[list[int]]:
    """Group packed memberships of n examples, shape (m, n / 8): ascending, by their leads."""
    waiting, found = np.arange(len(bits)), list[list[int]]()
    while len(waiting):
        joins = overlaps(bits[waiting[0]], bits[waiting], n)
        found.append(waiting[joins].tolist())
        waiting = waiting[~joins]
    return found


def overlaps(lead: NDArray[np.uint8], others: NDArray[np.uint8], n: int) -> NDArray[np.bool_]:
    """Which packed memberships of n examples have phi**2 >= 1/4 with the lead's: bool, shape (m,).

    With ``both`` examples in common, phi is ``n both - on on'`` over the square root of
    ``on off on' off'``. Floats decide where they surely can, integers where they are close.
    """
    lead_on = int(np.bitwise_count(lead).sum())
    lead_spread = lead_on * (n - lead_on)
    found = np.zeros(len(others), dtype=np.bool_)
    step = max(1, _CELLS // max(1, len(lead)))
    for start in range(0, len(others), step):
        part = others[start : start + step]
        on = np.bitwise_count(part).sum(axis=1, dtype=np.int64)
        both = np.bitwise_count(part & lead).sum(axis=1, dtype=np.int64)
        cross, spread = n * both - on * lead_on, on * (n - on)
        square = 4.0 * cross.astype(np.float64) ** 2
        limit = spread.astype(np.float64) * float(lead_spread)
        joins = square >= limit
        for i in np.flatnonzero(np.abs(square - limit) <= FILTER * limit).tolist():
            joins[i] = 4 * int(cross[i]) ** 2 >= int(spread[i]) * lead_spread
        found[start : start + step] = joins
    return found


def nearest(bits: NDArray[np.uint8], n: int) -> list[tuple[int, float] | None]:
    """For each of some packed memberships the other with the largest phi**2, and that phi.

    Of equal ones the first; None where there is no other.
    """
    on: list[int] = np.bitwise_count(bits).sum(axis=1, dtype=np.int64).tolist()
    found: list[tuple[int, float] | None] = []
    for i, own in enumerate(bits):
        both: list[int] = np.bitwise_count(bits & own).sum(axis=1, dtype=np.int64).tolist()
        squares = [
            (_phi_squared(n, shared, on[i], on[j]), -j) for j, shared in enumerate(both) if j != i
        ]
        best = -max(squares)[1] if squares else None
        found.append(None if best is None else (best, _phi(n, both[best], on[i], on[best])))
    return found


def _phi_squared(n: int, both: int, on: int, other: int) -> Fraction:
    cross = n * both - on * other
    return Fraction(cross * cross, on * (n - on) * other * (n - other))


def _phi(n: int, both: int, on: int, other: int) -> float:
    """The correlation of two memberships; the ratio under the root is rounded once."""
    cross = n * both - on * other
    return math.copysign(math.sqrt(_phi_squared(n, both, on, other)), cross)


def _beside(
    inside: NDArray[np.bool_], lead: NDArray[np.bool_], errors: NDArray[np.bool_]
) -> float | None:
    """The mean lift of a member inside and outside its lead, by Mantel and Haenszel's weights.

    With n_s examples, n1_s of them in the member and n0_s not, of which a_s and b_s are errors, the
    lifts ``a_s / n1_s - b_s / n0_s`` are averaged with weights ``n1_s n0_s / n_s``: examples are
    compared only with those that are alike in the lead. The stratum-adjusted lift that is screened
    with ``--strata`` would not do here: it has the same numerator, over ``n1 n0 / n`` of all
    examples, so what goes with its lead would look small however much it matters within it.

    None where neither of the two has examples both inside and outside the member.
    """
    excess, weight = Fraction(0), Fraction(0)
    for side in (lead, ~lead):
        n, on, wrong, both = (
            int(np.count_nonzero(kind & side))
            for kind in (np.ones_like(lead), inside, errors, inside & errors)
        )
        if n:
            excess += both - Fraction(wrong * on, n)
            weight += Fraction(on * (n - on), n)
    return float(excess / weight) if weight else None
