"""From a table with several outcomes to the counts of every descriptor, for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from janus_jax.errors import InputError
from janus_jax.library import count
from janus_jax.outcome import Examples, read_examples
from janus_jax.plan import Plan
from janus_jax.plans.planned import Planned
from janus_jax.plans.verifying import check_columns_exist, planned_split, used_names
from janus_jax.prepare import Prepared, Reading, prepare_split, shared_facts
from janus_jax.several.outcomes import check_outcomes_exist, single_plans
from janus_jax.several.selecting import select
from janus_jax.split import split_rows
from janus_jax.table import Table


@dataclass(frozen=True, slots=True)
class Asked:
    """One outcome of the examples, ready to be screened.

    Attributes
    ----------
    name
        The model, or what is said of two.
    plan
        The common plan, for this outcome.
    prepared
        Split, descriptors and library are those of every other outcome; only the errors differ.
    """

    name: str
    plan: Plan
    prepared: Prepared


def prepare_several(
    table: Table, plan: Plan, planned: Planned | None = None
) -> tuple[list[Asked], list[str]]:
    """Read every model's outcome, split once, make descriptors once, count for each.

    An example counts when every model has an outcome for it: one that some have none for leaves the
    counts of all (``--missing-outcome drop``), so that all are judged on the same examples.

    Returns
    -------
    asked
        The models that can be audited.
    left_out
        A sentence on each that cannot: one that is right, or wrong, on all of these examples.

    Raises
    ------
    InputError
        As for a single audit; or the models have no example in common, or fewer than two of them
        are sometimes right and sometimes wrong.
    """
    check_outcomes_exist(table, plan)
    if planned is not None:
        check_columns_exist(planned, table)
    names = None if planned is None else used_names(planned)
    plans = single_plans(table, plan)
    selection = select(table, plan, names)
    facts = shared_facts(selection, plan)
    each = [read_examples(table, one, facts, one_sided=True) for one in plans]
    reduced = each[0].table
    if reduced is not table:
        selection = select(reduced, plan, names)
    each = _in_common(each, table.outcomes)
    varied, left_out = _sometimes_wrong(each, table.outcomes)
    where = (
        split_rows(reduced, plan) if planned is None else planned_split(planned, reduced, selection)
    )
    first = prepare_split(Reading(each[0], selection), plans[0], where, planned)
    asked = zip(table.outcomes, plans, each, strict=True)
    return [
        Asked(name, one, for_outcome(first, examples, name, one))
        for name, one, examples in asked
        if name in varied
    ], left_out


def _in_common(each: Sequence[Examples], names: Sequence[str]) -> list[Examples]:
    """The examples with only those counted that every model has an outcome for."""
    errors = np.stack([examples.errors for examples in each])
    complete = (errors >= 0).all(axis=0)
    common = int(complete.sum())
    known = int((errors >= 0).any(axis=0).sum())
    said: tuple[str, ...] = ()
    if common < known:
        said = (
            f"{known - common} examples have an outcome for some models but not for all, and are "
            "left out for all",
        )
    if not common:
        raise InputError(
            f"no example has an outcome of every model ({', '.join(names)}), so there is nothing "
            "to compare them on"
        )
    return [
        replace(
            examples,
            # One table for all: notes and hashes are the same.
            table=each[0].table,
            errors=np.where(complete, line, -1).astype(np.int8),
            notes=(*examples.notes, *said),
        )
        for examples, line in zip(each, errors, strict=True)
    ]


def _sometimes_wrong(each: Sequence[Examples], names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The models whose errors can concentrate anywhere, and a sentence on each of the others."""
    varied: list[str] = []
    said: list[str] = []
    for name, examples in zip(names, each, strict=True):
        known = examples.errors[examples.errors >= 0]
        if (known == known[0]).all():
            side = "wrong" if known[0] else "right"
            said.append(
                f"{name} is {side} on all {len(known)} examples that count, so its errors "
                "concentrate nowhere: it is left out of the comparison"
            )
        else:
            varied.append(name)
    if len(varied) < 2:
        rest = f"; {varied[0]} can be audited by itself" if varied else ""
        raise InputError(f"there is nothing to compare: {'; '.join(said)}{rest}")
    return varied, said


def for_outcome(prepared: Prepared, examples: Examples, name: str, plan: Plan) -> Prepared:
    """The same examples, split and descriptors with other errors.

    Parameters
    ----------
    examples
        The errors, on the rows of ``prepared``'s table; the same rows have an outcome.
    name
        The outcome's column, which is not to be listed as one that is not used.
    """
    selection, items = prepared.selection, prepared.descriptors.items
    others = {column: why for column, why in selection.not_used.items() if column != name}
    parts = tuple(replace(part, errors=examples.errors[part.rows] == 1) for part in prepared.parts)
    counted = [count(items, part, plan.statistic) for part in parts]
    return replace(
        prepared,
        examples=examples,
        selection=replace(selection, not_used=others),
        parts=parts,
        discovery=counted[0],
        holdout=counted[1] if len(counted) > 1 else [],
    )
