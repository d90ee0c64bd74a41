"""What the shuffles of a split exchange: single rows, or whole clusters, within strata."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.interface import Problem
from janus_jax.plan import Plan
from janus_jax.prepare import Prepared
from janus_jax.split import DISCOVERY, complete_codes
from janus_jax.table import Table
from janus_jax.values import as_text


def shuffled_part(prepared: Prepared, plan: Plan, which: int = DISCOVERY) -> Problem:
    """The errors of a split and who exchanges with whom; no descriptors yet.

    Raises
    ------
    InputError
        A cluster lies in two strata, so that it can be exchanged in neither.
    """
    part, table = prepared.part(which), prepared.examples.table
    clusters = None
    if plan.cluster:
        clusters = complete_codes(table, plan.cluster, "--cluster")[part.rows].astype(np.int32)
        if plan.strata:
            _check_strata(table, plan, part.rows, clusters, part.strata)
    return Problem(
        memberships=np.zeros((0, part.n), dtype=np.bool_),
        errors=part.errors,
        strata=part.strata,
        pool=np.zeros((0, len(part.stratum_sizes)), dtype=np.int32),
        seed=plan.seed,
        clusters=clusters,
    )


def memberships(prepared: Prepared, which: int = DISCOVERY) -> NDArray[np.bool_]:
    """Memberships of the library on a split, shape (L, n); filled in place, to exist once."""
    rows, eligible = prepared.part(which).rows, prepared.eligible
    lines = np.empty((len(eligible), len(rows)), dtype=np.bool_)
    for line, g in zip(lines, eligible, strict=True):
        np.take(prepared.descriptors.items[g].members, rows, out=line, mode="clip")
    return lines


def _check_strata(
    table: Table,
    plan: Plan,
    rows: NDArray[np.intp],
    clusters: NDArray[np.int32],
    strata: NDArray[np.int32],
) -> None:
    _, first, unit = np.unique(clusters, return_index=True, return_inverse=True)
    elsewhere = np.flatnonzero(strata != strata[first[unit]])
    if len(elsewhere):
        row = int(elsewhere[0])
        assert plan.cluster is not None
        label = as_text(table.columns[plan.cluster])[int(clusters[row])]
        raise InputError(
            f"cluster {label!r} of column {plan.cluster!r} lies in two strata of {plan.strata!r}: "
            f"{table.where(int(rows[first[unit[row]]]))} and {table.where(int(rows[row]))}; whole "
            "clusters are exchanged within a stratum, so each must lie in one"
        )
