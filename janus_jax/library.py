"""Counts of every descriptor in each split, and who is eligible for the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax.descriptors import Descriptor
from janus_jax.plan import Eligibility, Plan, StatisticName
from janus_jax.statistic import Margins
from janus_jax.table import Codes


@dataclass(frozen=True, slots=True)
class Part:
    """The examples of one split that have an outcome.

    Attributes
    ----------
    rows
        Their rows of the table, ascending.
    errors
        bool, shape (n,).
    strata
        int32, shape (n,): shuffle stratum, 0..S-1 by first appearance.
    """

    rows: NDArray[np.intp]
    errors: NDArray[np.bool_]
    strata: NDArray[np.int32]

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.rows)

    @property
    def error_count(self) -> int:
        """Number of errors."""
        return int(self.errors.sum())

    @property
    def stratum_sizes(self) -> tuple[int, ...]:
        """Examples per stratum."""
        return tuple(np.bincount(self.strata).tolist())

    @property
    def stratum_errors(self) -> tuple[int, ...]:
        """Errors per stratum."""
        sizes = len(self.stratum_sizes)
        return tuple(np.bincount(self.strata[self.errors], minlength=sizes).tolist())


def make_part(rows: NDArray[np.intp], errors: NDArray[np.int8], strata: Codes) -> Part:
    """Gather one split: ``errors`` and ``strata`` are given for every row of the table."""
    _, first, dense = np.unique(strata[rows], return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(first))
    return Part(rows, errors[rows] == 1, by_appearance[dense].astype(np.int32))


@dataclass(frozen=True, slots=True)
class Counts:
    """One descriptor in one split.

    Attributes
    ----------
    margins
        What shuffles keep fixed, per stratum.
    errors_on
        Errors inside the slice.
    """

    margins: Margins
    errors_on: int

    @property
    def n(self) -> int:
        """Examples of the split."""
        return sum(self.margins.sizes)

    @property
    def errors(self) -> int:
        """Errors of the split."""
        return sum(self.margins.errors)

    @property
    def on(self) -> int:
        """Examples inside the slice."""
        return sum(self.margins.on)

    @property
    def off(self) -> int:
        """Examples outside the slice."""
        return self.n - self.on

    @property
    def errors_off(self) -> int:
        """Errors outside the slice."""
        return self.errors - self.errors_on

    @property
    def plain_lift(self) -> Fraction | None:
        """Error rate inside minus outside, not adjusted for strata; None without a contrast."""
        if not self.on or not self.off:
            return None
        return Fraction(self.errors_on, self.on) - Fraction(self.errors_off, self.off)

    @property
    def lift(self) -> Fraction:
        """The lift that is screened: stratum-adjusted where there are strata."""
        return self.margins.lift(self.errors_on)


def count(descriptors: Sequence[Descriptor], part: Part, statistic: StatisticName) -> list[Counts]:
    """Count examples and errors inside every descriptor, per stratum."""
    order = np.argsort(part.strata, kind="stable")
    rows, errors = part.rows[order], part.errors[order]
    sizes, stratum_errors = part.stratum_sizes, part.stratum_errors
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    cache: dict[tuple[int, ...], Margins] = {}
    counts: list[Counts] = []
    for descriptor in descriptors:
        inside = descriptor.members[rows]
        on = tuple(np.add.reduceat(inside, starts, dtype=np.int64).tolist()) if len(rows) else ()
        # Equal margins share one object, and with it their distribution.
        margins = cache.setdefault(on, Margins(sizes, on, stratum_errors, statistic))
        counts.append(Counts(margins, int((inside & errors).sum())))
    return counts


def ineligible_reason(discovery: Counts, holdout: Counts | None, rules: Eligibility) -> str | None:
    """Why a descriptor is not in the library, or None. Errors are not looked at.

    Examples of reasons: ``holdout on = 3 < 8``, ``discovery prevalence 0.0455 < 0.10``.
    """
    parts = {"discovery": discovery}
    if holdout is not None and not rules.discovery_only:
        parts["holdout"] = holdout
    return _support_reason(parts, rules) or _prevalence_reason(parts, rules)


def holdout_support_reason(holdout: Counts, rules: Eligibility) -> str | None:
    """Why holdout cannot confirm this descriptor, or None.

    What both splits together must hold is a matter of eligibility, not of the gate.
    """
    return _support_reason({"holdout": holdout}, replace(rules, min_on_both=0))


def left_out_for_prevalence(discovery: Counts, holdout: Counts | None, rules: Eligibility) -> bool:
    """Whether prevalence is the only thing that keeps a descriptor out."""
    parts = {"discovery": discovery} | ({"holdout": holdout} if holdout else {})
    return _support_reason(parts, rules) is None and _prevalence_reason(parts, rules) is not None


def _support_reason(parts: dict[str, Counts], rules: Eligibility) -> str | None:
    for name, counts in parts.items():
        for side, have, need in (
            ("on", counts.on, max(rules.min_on or 1, 1)),
            ("off", counts.off, max(rules.min_off or 1, 1)),
        ):
            if have < need:
                return f"{name} {side} = {have} < {need}"
    both = sum(counts.on for counts in parts.values())
    if both < rules.min_on_both:
        return f"on in all = {both} < {rules.min_on_both}"
    return None


def _prevalence_reason(parts: dict[str, Counts], rules: Eligibility) -> str | None:
    if rules.scope == "both":
        groups = {"overall": list(parts.values())}
    else:
        scope = parts if rules.scope == "each" else {"discovery": parts["discovery"]}
        groups = {name: [counts] for name, counts in scope.items()}
    for name, members in groups.items():
        share = Fraction(sum(c.on for c in members), max(sum(c.n for c in members), 1))
        for text, outside, sign in (
            (rules.min_prevalence, share < Fraction(rules.min_prevalence), "<"),
            (rules.max_prevalence, share > Fraction(rules.max_prevalence), ">"),
        ):
            if outside:
                return f"{name} prevalence {float(share):.4f} {sign} {text}"
    return None


def decoy_pool(discovery: Sequence[Counts], eligible: Sequence[bool], plan: Plan) -> list[int]:
    """Indices of the descriptors whose labels decoys shuffle, in library order."""
    rules = plan.eligibility
    pool = [g for g, ok in enumerate(eligible) if ok or rules.pool_of_all]
    if rules.pool is None:
        return pool
    low, high = (Fraction(limit) for limit in rules.pool)
    return [g for g in pool if low <= Fraction(discovery[g].on, discovery[g].n) <= high]


def alias_groups(
    descriptors: Sequence[Descriptor], rows: NDArray[np.intp]
) -> list[tuple[int, ...]]:
    """For each descriptor, the others that draw the same line through these rows.

    Identical and complementary memberships have the same |lift| and the same p-value: they are one
    finding with several names.
    """
    groups: dict[bytes, list[int]] = {}
    lines: list[bytes] = []
    for g, descriptor in enumerate(descriptors):
        members = descriptor.members[rows]
        line = np.packbits(members ^ members[:1]).tobytes()
        lines.append(line)
        groups.setdefault(line, []).append(g)
    return [
        tuple(h for h in groups[line] if h != g) if any(line) else ()  # () for "no line at all"
        for g, line in enumerate(lines)
    ]
