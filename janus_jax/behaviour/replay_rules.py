"""The rules that replays of an audit are decided by: its margins, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from janus_jax import streams
from janus_jax.behaviour.attainable import Attainable, kept_counts
from janus_jax.behaviour.needs import (
    CERTAIN,
    Needs,
    allowed_tables,
    decoy_cuts,
    expected_needs,
    large_lifts,
    level_needs,
    lift_needs,
    limit_needs,
    lookup,
    scaled,
    step_up_needs,
)
from janus_jax.decide import Lookup, Rules
from janus_jax.library import Counts, holdout_support_reason
from janus_jax.permutations import Permuted
from janus_jax.plan import Plan, StatisticName
from janus_jax.prepare import Prepared
from janus_jax.statistic import Margins, Ranks, at_least

STATISTICS: Final[tuple[StatisticName, ...]] = get_args(StatisticName)

_T = TypeVar("_T", bound=np.generic)

Permute = Callable[[Ranks, Sequence[Margins], int], Permuted]
"""Shared permutations of discovery: given the levels of each count, the margins of the library, and
how many levels there are."""


@dataclass(frozen=True, slots=True)
class RuleName:
    """One rule of a replay.

    Attributes
    ----------
    rule
        As in :data:`janus_jax.plan.METHODS`.
    statistic
        What it ranks; None for rules that rank nothing or p-values.
    decoys
        K, for literal decoys.
    plus_one
        Whether the estimated FDP counts D + 1.
    """

    rule: str
    statistic: StatisticName | None = None
    decoys: int | None = None
    plus_one: bool = False


@dataclass(frozen=True, slots=True)
class ReplayRules:
    """The rules, their names, and what they can do at best.

    Attributes
    ----------
    tables
        For :func:`janus_jax.decide.decide`.
    names
        In the order of the sums.
    selectable, confirmable
        Whether each rule can select, or confirm, anything at all with these margins.
    reference
        The shared permutations that set the limit of max-T.
    """

    tables: Rules
    names: Sequence[RuleName]
    selectable: Sequence[bool]
    confirmable: Sequence[bool]
    reference: Permuted


class _Fixed:
    """Needs of the rules without decoys, gathered one by one."""

    def __init__(self) -> None:
        self.names: list[RuleName] = []
        self.tables: list[Needs] = []

    def add(self, name: RuleName, table: Needs) -> None:
        self.names.append(name)
        self.tables.append(table)


def replay_rules(
    prepared: Prepared,
    plan: Plan,
    grid: Sequence[int],
    *,
    plus_one: bool,
    permute: Permute,
    decoys: streams.Key,
) -> ReplayRules:
    """Make the tables of every rule.

    Parameters
    ----------
    grid
        Numbers of literal decoys, ascending.
    plus_one
        Also Procedure A with D + 1.
    permute
        Draws the shared permutations.
    decoys
        Key of the stream of decoys.
    """
    clustered = plan.cluster is not None
    library = [prepared.discovery[g].margins for g in prepared.eligible]
    sources = [] if clustered else [prepared.discovery[g].margins for g in prepared.pool]
    kept = {m: kept_counts(m, every=clustered) for m in library}
    discovery, rows = lookup(library, kept)
    q, alpha, size = Fraction(plan.q), Fraction(plan.alpha), len(library)
    fixed, reference = _Fixed(), None
    cuts: list[NDArray[np.uint32]] = []
    for statistic in STATISTICS:
        by = _by_statistic([*library, *sources], statistic)
        attainable = Attainable(by.values(), every=clustered)
        levels = _join(
            attainable.ranks[by[m]][kept[m].start - m.span[0] : kept[m].stop - m.span[0]]
            for m in rows
        )
        pool = [by[m] for m in sources]
        if sources:
            needs = expected_needs(attainable, pool, size, q)
            fixed.add(RuleName("decoys_exact", statistic), needs[levels - 1])
            cuts.append(decoy_cuts(attainable, pool)[levels - 1])
        if not clustered and (sources != library or plan.rule == "mean_count_exact"):
            needs = expected_needs(attainable, [by[m] for m in library], size, q)
            fixed.add(RuleName("mean_count_exact", statistic), needs[levels - 1])
        permuted = permute(attainable.ranks, [by[m] for m in library], attainable.levels)
        if clustered or plan.rule == "mean_count":
            fixed.add(RuleName("mean_count", statistic), _mean_needs(permuted, size, q)[levels - 1])
        within = np.array(permuted.within(at_least(permuted.tally.maxima), alpha))
        fixed.add(
            RuleName("max_t", statistic), np.where(within, 1, size + 1).astype(np.int32)[levels - 1]
        )
        if reference is None or statistic == plan.statistic:
            reference = permuted
    assert reference is not None
    if not clustered:
        for name, level in (("bh_05", "0.05"), ("bh_10", "0.10")):
            limit = Fraction(level)
            needs = _join(step_up_needs(m, kept[m], size, limit) for m in rows)
            fixed.add(RuleName(name), needs)
        fixed.add(RuleName("unadjusted"), _join(level_needs(m, kept[m], size, alpha) for m in rows))
    fixed.add(RuleName("fixed_lift"), _join(lift_needs(m, kept[m], size) for m in rows))
    holdout, gate = _gate(prepared, plan)
    tables = Rules(
        discovery=discovery,
        needs=np.stack(fixed.tables),
        cuts=np.stack(cuts) if cuts else np.zeros((0, len(fixed.tables[0])), np.uint32),
        signs=_join(large_lifts(m, kept[m], Fraction(0)) for m in rows),
        holdout=holdout,
        gate=gate,
        grid=tuple(grid) if cuts else (),
        allowed=allowed_tables(grid if cuts else (), size, q, plus_one=plus_one),
        decoys=decoys,
    )
    names = [
        *fixed.names,
        *(
            RuleName("decoys", statistic, count, plus)
            for count in tables.grid
            for statistic in STATISTICS
            for plus in ((False, True) if plus_one else (False,))
        ),
    ]
    selectable, confirmable = _possible(tables)
    return ReplayRules(tables, names, selectable, confirmable, reference)


def _by_statistic(margins: Iterable[Margins], statistic: StatisticName) -> dict[Margins, Margins]:
    """The same margins, ranked by this statistic."""
    return {
        m: m if m.statistic == statistic else replace(m, statistic=statistic)
        for m in dict.fromkeys(margins)
    }


def _join(parts: Iterable[NDArray[_T]]) -> NDArray[_T]:
    return np.concatenate(list(parts))


def _mean_needs(permuted: Permuted, size: int, q: Fraction) -> Needs:
    """Needs of the levels by the mean-count screen over the shared permutations."""
    totals = at_least(permuted.tally.total)
    count = permuted.tally.permutations
    return limit_needs(
        scaled(totals, 1 / (q * count)), size, lambda i: Fraction(int(totals[i]), count) / q
    )


def _gate(prepared: Prepared, plan: Plan) -> tuple[Lookup | None, NDArray[np.int8]]:
    """The gate of :func:`janus_jax.screen.gate` as a table of holdout counts."""
    if not prepared.has_holdout:
        return None, np.zeros(0, np.int8)
    limit = Fraction(plan.min_holdout_lift)
    counts = [prepared.holdout[g] for g in prepared.eligible]
    kept = {c.margins: kept_counts(c.margins, every=plan.cluster is not None) for c in counts}
    found, rows = lookup([c.margins for c in counts], kept)
    return found, _join(_passing(m, kept, limit, plan) for m in rows)


def _passing(
    margins: Margins, kept: Mapping[Margins, range], limit: Fraction, plan: Plan
) -> NDArray[np.int8]:
    if holdout_support_reason(Counts(margins, 0), plan.eligibility):
        return np.zeros(len(kept[margins]), np.int8)
    return large_lifts(margins, kept[margins], limit)


def _possible(rules: Rules) -> tuple[list[bool], list[bool]]:
    """Whether each rule can select, and confirm, anything, were every descriptor at its best."""
    starts, inverse = np.unique(rules.discovery.base + rules.discovery.low, return_inverse=True)
    up, down = _signs_of(rules.holdout, rules.gate, rules.library)
    selectable: list[bool] = []
    confirmable: list[bool] = []

    def note(chosen: NDArray[np.bool_]) -> None:
        """``chosen``: the entries that the rule can select."""
        selectable.append(bool(chosen.any()))
        rising = np.logical_or.reduceat(chosen & (rules.signs > 0), starts)[inverse]
        falling = np.logical_or.reduceat(chosen & (rules.signs < 0), starts)[inverse]
        confirmable.append(bool(((rising & up) | (falling & down)).any()))

    for table in rules.needs:
        best = np.sort(np.minimum.reduceat(table, starts)[inverse])
        most = np.flatnonzero(best <= np.arange(1, len(best) + 1))
        note(table <= (int(most[-1]) + 1 if len(most) else 0))
    for step in range(len(rules.grid)):
        for cuts in rules.cuts:
            # What every decoy reaches is never selected (q < 1); else perhaps none does: D = 0.
            missed = cuts < CERTAIN
            most = np.count_nonzero(np.logical_or.reduceat(missed, starts)[inverse])
            for allowed in rules.allowed[:, step]:
                note(missed & (allowed[most] >= 0))
    return selectable, confirmable


def _signs_of(
    holdout: Lookup | None, gate: NDArray[np.int8], library: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each descriptor's holdout lift can pass upwards, and downwards."""
    if holdout is None:
        return np.zeros(library, np.bool_), np.zeros(library, np.bool_)
    starts, inverse = np.unique(holdout.base + holdout.low, return_inverse=True)
    up = np.logical_or.reduceat(gate > 0, starts)[inverse]
    down = np.logical_or.reduceat(gate < 0, starts)[inverse]
    return up, down
