"""Which examples discover and which confirm.

One generator, ``random.Random(seed)`` of the standard library, deals every stratum in the order the
strata first appear (repeated splits: in the order of their names): the stratum's units, in file
order, are shuffled and the first ``floor(fraction * size)`` go to discovery. A unit is a row, or a
whole cluster. Outcomes are not looked at.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.plan import Plan
from janus_jax.table import Codes, Table
from janus_jax.values import as_text

DISCOVERY: Final = 0
HOLDOUT: Final = 1
UNUSED: Final = 2
_WORDS = {"discovery": DISCOVERY, "holdout": HOLDOUT, "proposal": UNUSED}


def deal(
    strata: Sequence[Hashable],
    units: Sequence[Hashable] | None,
    fraction: Fraction,
    seed: int,
    order: Callable[[Any], Any] | None = None,
    proposal: Fraction = Fraction(0),
) -> NDArray[np.int8]:
    """Deal rows to discovery (0) and holdout (1), and to a proposal split (2) if one is wanted.

    Parameters
    ----------
    strata
        Stratum of each row.
    units
        Cluster of each row; None deals rows. A cluster lies in one stratum (checked by the caller).
    fraction
        Share of each stratum's units that go to discovery, rounded down.
    seed
        0 to 2**64 - 1.
    order
        Strata are dealt in ascending order of this key; None: in the order they first appear.
    proposal
        Share of each stratum's units that is set aside first, rounded down; ``fraction`` is then of
        the others.

    Examples
    --------
    >>> deal(["a"] * 6, None, Fraction(1, 2), seed=0).tolist()
    [1, 0, 0, 1, 0, 1]
    """
    unit_of_row = range(len(strata)) if units is None else units
    members: dict[Hashable, dict[Hashable, list[int]]] = {}
    for row, (stratum, unit) in enumerate(zip(strata, unit_of_row, strict=True)):
        members.setdefault(stratum, {}).setdefault(unit, []).append(row)
    generator = random.Random(seed)
    where = np.full(len(strata), HOLDOUT, dtype=np.int8)
    for stratum in members if order is None else sorted(members, key=order):
        rows_of = members[stratum]
        dealt = list(rows_of)
        generator.shuffle(dealt)
        aside = math.floor(proposal * len(dealt))
        end = aside + math.floor(fraction * (len(dealt) - aside))
        for unit in dealt[:aside]:
            where[rows_of[unit]] = UNUSED
        for unit in dealt[aside:end]:
            where[rows_of[unit]] = DISCOVERY
    return where


def split_rows(
    table: Table,
    plan: Plan,
    *,
    by_name: bool = False,
    proposal: Fraction = Fraction(0),
) -> NDArray[np.int8]:
    """The part of each row: DISCOVERY, HOLDOUT or UNUSED (a proposal split's rows).

    Parameters
    ----------
    by_name
        Deal the strata of ``--stratify`` in the order of their names (compared as text) instead of
        the order in which they first appear.
    proposal
        Share of each stratum's units set aside as a proposal split; it has no part in a split
        column.

    Raises
    ------
    InputError
        A split, stratum or cluster is missing, unknown, or a cluster lies in two of them.
    """
    if plan.split_column:
        where = _from_column(table, plan.split_column)
        if plan.cluster:
            _check_constant(table, plan.cluster, where.tolist(), plan.split_column)
        return where
    strata = complete_codes(table, plan.stratify, "--stratify")
    if plan.cluster:
        _check_constant(table, plan.cluster, strata.tolist(), str(plan.stratify))
        units = complete_codes(table, plan.cluster, "--cluster").tolist()
    else:
        units = None
    order = None
    if by_name and plan.stratify:
        order = as_text(table.columns[plan.stratify]).__getitem__
    return deal(strata.tolist(), units, Fraction(plan.discovery), plan.seed, order, proposal)


def complete_codes(table: Table, name: str | None, option: str) -> Codes:
    """Codes of a grouping column that must have no missing value; zeros when none is named."""
    if name is None:
        return np.zeros(table.n, dtype=np.int32)
    codes = table.columns[name].codes
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        raise InputError(
            f"{option} {name}: the value is missing in {len(missing)} rows, the first in "
            f"{table.where(int(missing[0]))}; every row needs one"
        )
    return codes


def _from_column(table: Table, name: str) -> NDArray[np.int8]:
    column = table.columns[name]
    codes = complete_codes(table, name, "--split-column")
    parts = [_WORDS.get(text.strip().casefold(), -1) for text in as_text(column)]
    where = np.array(parts, dtype=np.int8)[codes]
    wrong = np.flatnonzero(where < 0)
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"--split-column {name}: {as_text(column)[codes[row]]!r} in {table.where(row)} is not "
            "one of discovery, holdout, proposal"
        )
    return where


def _check_constant(table: Table, cluster: str, groups: Sequence[int], name: str) -> None:
    """A cluster must lie in one group (stratum or split)."""
    codes = complete_codes(table, cluster, "--cluster")
    first: dict[int, int] = {}
    for row, (unit, group) in enumerate(zip(codes.tolist(), groups, strict=True)):
        if groups[first.setdefault(unit, row)] != group:
            label = as_text(table.columns[cluster])[int(unit)]
            raise InputError(
                f"cluster {label!r} of column {cluster!r} has two values of {name!r}: "
                f"{table.where(first[unit])} and {table.where(row)}; a cluster must lie in one"
            )
