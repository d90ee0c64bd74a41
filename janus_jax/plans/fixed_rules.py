"""Descriptors by the rules of a plan: applied as they were fixed, then checked against the table.

Levels and thresholds are the plan's. What the table would give now is computed too, and a rule that
differs from it is refused by name: it was not made from this table, or it was changed by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from janus_jax.columns import Selection, UsedColumn
from janus_jax.descriptors import Descriptor, Descriptors, combine, descriptor, simple_descriptors
from janus_jax.errors import InputError
from janus_jax.plan import Plan
from janus_jax.plans.planned import Planned, PlannedRule
from janus_jax.values import Threshold, as_text


def fixed_descriptors(
    planned: Planned,
    selection: Selection,
    where: NDArray[np.int8],
    counted: NDArray[np.bool_],
    plan: Plan,
) -> Descriptors:
    """Apply the plan's rules to every row, in the plan's order.

    ``col is missing`` is left out, as without a plan, where too few rows with an outcome have it:
    that could not be known when outcomes were not.

    Parameters
    ----------
    selection
        The columns of the plan, already checked against it.
    where, counted
        As for :func:`janus_jax.descriptors.make_descriptors`.

    Raises
    ------
    InputError
        The table does not give a rule, or gives another one.
    """
    columns = {used.name: used for used in selection.used}
    found = simple_descriptors(selection, where, counted, plan)
    given = {item.name: item for item in found.items}
    _check_levels(planned, found)
    made: dict[str, Descriptor] = {}
    for rule in planned.rules:
        if rule.kind == "conjunction":
            joined = _joined(rule, made, planned, plan)
        elif rule.kind == "missing" and rule.name not in given:
            joined = None
        else:
            joined = _applied(rule, columns[rule.column or ""])
            _compare(joined, rule, given, found.thresholds, planned)
        if joined is not None:
            made[rule.name] = joined
    thresholds = {rule.column or "": rule.above for rule in planned.rules if rule.above is not None}
    return replace(found, items=tuple(made.values()), thresholds=thresholds)


def _applied(rule: PlannedRule, used: UsedColumn) -> Descriptor:
    """The descriptor of a rule of one column, from the rule alone."""
    column = used.name
    as_json: dict[str, object] = {"kind": rule.kind, "column": column}
    if rule.kind == "numeric":
        threshold = Threshold.parse(rule.above or "")
        as_json["above"] = threshold.value
        members = used.of_rows(threshold.above(used.meaning) & used.level_known)
    elif rule.kind == "level":
        as_json["level"] = rule.level
        same = np.array([text == rule.level for text in as_text(used.values)], dtype=np.bool_)
        members = used.of_rows(same & used.level_known)
    elif rule.kind == "missing":
        members = ~used.known
    else:
        members = used.of_rows(used.meaning == 1)
    return descriptor(rule.name, as_json, (column,), members)


def _compare(
    made: Descriptor,
    rule: PlannedRule,
    given: Mapping[str, Descriptor],
    thresholds: Mapping[str, str],
    planned: Planned,
) -> None:
    other = given.get(rule.name)
    if other is not None and np.array_equal(other.bits, made.bits) and other.rule == made.rule:
        return
    if rule.kind == "numeric":
        now = thresholds.get(rule.column or "")
        said = (
            f"its threshold is {rule.above}, but the discovery median of {rule.column!r} is {now}"
            if now is not None
            else f"column {rule.column!r} gives no threshold now"
        )
    elif rule.kind == "level":
        said = f"discovery has no row of column {rule.column!r} with that level"
    else:
        said = f"column {rule.column!r} does not give it"
    raise InputError(f"{planned.source}: rule {rule.name!r}: {said}")


def _check_levels(planned: Planned, found: Descriptors) -> None:
    """The levels that the plan lists for a column are those discovery has."""
    seen: dict[str, list[str]] = {}
    for item in found.items:
        if item.rule["kind"] == "level":
            seen.setdefault(item.columns[0], []).append(item.rule["level"])
    for column in planned.columns:
        # A column with a single level makes no rule of it unless it was named.
        now = seen.get(column.name, [])
        if column.use == "categorical" and now != list(column.levels):
            changed = sorted(set(now) ^ set(column.levels)) or list(column.levels)
            raise InputError(
                f"{planned.source}: column {column.name!r}: its levels in discovery are not those "
                f"of the plan; they differ in {', '.join(map(repr, changed[:5]))}"
            )


def _joined(
    rule: PlannedRule, made: Mapping[str, Descriptor], planned: Planned, plan: Plan
) -> Descriptor | None:
    """The conjunction; None for one of all pairs whose part fell away."""
    absent = [part for part in rule.parts if part not in made]
    if not absent:
        return combine(rule.name, [made[part] for part in rule.parts])
    if plan.pairs and rule.name == " & ".join(rule.parts):
        return None
    raise InputError(
        f"{planned.source}: conjunction {rule.name!r} needs {absent[0]!r}, which too few rows with "
        "an outcome have"
    )
