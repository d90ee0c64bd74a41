"""From a table to the counts of every descriptor: all that is fixed before the screen looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from janus_jax.columns import Selection, select_columns
from janus_jax.descriptors import Descriptors, make_descriptors
from janus_jax.errors import InputError
from janus_jax.library import (
    Counts,
    Part,
    alias_groups,
    count,
    decoy_pool,
    ineligible_reason,
    make_part,
)
from janus_jax.outcome import Examples, read_examples
from janus_jax.plan import Plan
from janus_jax.plans.fixed_rules import fixed_descriptors
from janus_jax.plans.planned import Planned
from janus_jax.plans.verifying import check_columns_exist, planned_split, used_names
from janus_jax.split import DISCOVERY, HOLDOUT, complete_codes, split_rows
from janus_jax.table import Table


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything known before the screen: no error has been compared with a descriptor yet.

    Attributes
    ----------
    examples
        One row per example.
    selection, descriptors
        The columns used, and the descriptors made of them, in library order.
    where
        int8, shape (n,): the split of each row.
    parts
        Discovery, and holdout unless everything is discovery.
    discovery, holdout
        Counts of every descriptor; ``holdout`` is empty without one.
    reasons
        Why a descriptor is not in the library; None for those that are.
    aliases
        For each descriptor, the others with the same or the complementary membership.
    pool
        Indices of the decoy sources.
    """

    examples: Examples
    selection: Selection
    descriptors: Descriptors
    where: NDArray[np.int8]
    parts: tuple[Part, ...]
    discovery: Sequence[Counts]
    holdout: Sequence[Counts]
    reasons: Sequence[str | None]
    aliases: Sequence[tuple[int, ...]]
    pool: Sequence[int]

    @property
    def has_holdout(self) -> bool:
        """Whether there are examples to confirm on."""
        return len(self.parts) > 1

    @property
    def counted(self) -> NDArray[np.intp]:
        """Rows of the examples that count: those of the splits that have an outcome."""
        return np.concatenate([part.rows for part in self.parts])

    @property
    def missing(self) -> dict[str, int]:
        """For each column used, how many of those rows have no value of it."""
        rows = self.counted
        return {used.name: int(np.count_nonzero(~used.known[rows])) for used in self.selection.used}

    def holdout_of(self, g: int) -> Counts | None:
        """One descriptor's holdout counts, if there is a holdout."""
        return self.holdout[g] if self.has_holdout else None

    def part(self, which: int) -> Part:
        """The discovery or the holdout examples."""
        return self.parts[which]

    @property
    def eligible(self) -> list[int]:
        """Indices of the library's descriptors, in order."""
        return [g for g, reason in enumerate(self.reasons) if reason is None]

    @property
    def library_size(self) -> int:
        """L."""
        return len(self.eligible)


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read once, however often the examples are then dealt.

    Attributes
    ----------
    examples
        One row per example.
    selection
        The columns used.
    """

    examples: Examples
    selection: Selection


def read_rows(table: Table, plan: Plan, planned: Planned | None = None) -> Reading:
    """Read outcomes and choose columns; the split plays no part yet."""
    names = None if planned is None else used_names(planned)
    selection = select_columns(table, plan, names)
    examples = read_examples(table, plan, shared_facts(selection, plan))
    if examples.table is not table:
        selection = select_columns(examples.table, plan, names)
    return Reading(examples, selection)


def shared_facts(selection: Selection, plan: Plan) -> list[str]:
    """The columns that repeats of one example must agree in: those that anything is made of."""
    roles = (plan.split_column, plan.stratify, plan.strata, plan.cluster)
    names = [used.name for used in selection.used] + [role for role in roles if role is not None]
    return list(dict.fromkeys(names))


def prepare(table: Table, plan: Plan, planned: Planned | None = None) -> Prepared:
    """Read outcomes, split, make descriptors and count: everything but the screen.

    Parameters
    ----------
    planned
        The plan file that ``plan`` comes from, if it does: the table must be the one it was made
        from, and its split and rules are applied.
    """
    if planned is None:
        reading = read_rows(table, plan)
        return prepare_split(reading, plan, split_rows(reading.examples.table, plan))
    check_columns_exist(planned, table)
    reading = read_rows(table, plan, planned)
    where = planned_split(planned, reading.examples.table, reading.selection)
    return prepare_split(reading, plan, where, planned)


def prepare_split(
    reading: Reading, plan: Plan, where: NDArray[np.int8], planned: Planned | None = None
) -> Prepared:
    """Make descriptors and count them, given the split.

    Parameters
    ----------
    where
        int8, shape (n,): the split of each row.
    planned
        Whose rules are applied; None makes them of the table.
    """
    examples, selection, table = reading.examples, reading.selection, reading.examples.table
    counted = examples.errors >= 0
    descriptors = (
        make_descriptors(selection, where, counted, plan)
        if planned is None
        else fixed_descriptors(planned, selection, where, counted, plan)
    )
    strata = complete_codes(table, plan.strata, "--strata")
    parts = [
        make_part(np.flatnonzero((where == which) & counted), examples.errors, strata)
        for which in (DISCOVERY, HOLDOUT)
        if which == DISCOVERY or (where == which).any()
    ]
    if parts[0].n < 2:
        raise InputError(
            f"discovery holds {parts[0].n} example{'' if parts[0].n == 1 else 's'} with an "
            f"outcome (of {table.n} rows); an audit needs at least 2 there: more rows, or another "
            "--discovery or --split-column"
            + ("; whole clusters are dealt, two at least in a stratum" if plan.cluster else "")
        )
    items = descriptors.items
    discovery = count(items, parts[0], plan.statistic)
    holdout = count(items, parts[1], plan.statistic) if len(parts) > 1 else []
    reasons = [
        ineligible_reason(counts, holdout[g] if holdout else None, plan.eligibility)
        for g, counts in enumerate(discovery)
    ]
    return Prepared(
        examples=examples,
        selection=selection,
        descriptors=descriptors,
        where=where,
        parts=tuple(parts),
        discovery=discovery,
        holdout=holdout,
        reasons=reasons,
        aliases=alias_groups(items, np.concatenate([part.rows for part in parts])),
        pool=decoy_pool(discovery, [reason is None for reason in reasons], plan),
    )
