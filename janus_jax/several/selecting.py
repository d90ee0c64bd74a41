"""Columns that are used for every model alike."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from janus_jax.columns import Selection, select_columns
from janus_jax.plan import Plan
from janus_jax.several.outcomes import single_plans
from janus_jax.table import Table


def select(table: Table, plan: Plan, planned: Collection[str] | None = None) -> Selection:
    """Choose the columns as :func:`janus_jax.columns.select_columns`, for one model or several.

    A column is used when it would be used for each model alone, so that all are asked the same.
    """
    each = [select_columns(table, one, planned) for one in single_plans(table, plan)]
    not_used = {
        name: reason for selection in reversed(each) for name, reason in selection.not_used.items()
    }
    return replace(
        each[0],
        used=tuple(column for column in each[0].used if column.name not in not_used),
        not_used={name: not_used[name] for name in table.columns if name in not_used},
    )
