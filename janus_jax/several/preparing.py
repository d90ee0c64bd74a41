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


def prepare_several(table: Table, plan: Plan, planned: Planned | None = None) -> list[Asked]:
    """Read every model's outcome, split once, make descriptors once, count for each.

    An example counts when every model has an outcome for it: one that some have none for leaves the
    counts of all (``--missing-outcome drop``), so that all are judged on the same examples.

    Raises
    ------
    InputError
        As for a single audit; or the models have no example in common, or are all right (or wrong)
        on those that they have.
    """
    check_outcomes_exist(table, plan)
    if planned is not None:
        check_columns_exist(planned, table)
    names = None if planned is None else used_names(planned)
    plans = single_plans(table, plan)
    selection = select(table, plan, names)
    facts = shared_facts(selection, plan)
    each = [read_examples(table, one, facts) for one in plans]
    reduced = each[0].table
    if reduced is not table:
        selection = select(reduced, plan, names)
    each = _in_common(each, table.outcomes)
    where = (
        split_rows(reduced, plan) if planned is None else planned_split(planned, reduced, selection)
    )
    first = prepare_split(Reading(each[0], selection), plans[0], where, planned)
    return [
        Asked(name, one, for_outcome(first, examples, name, one))
        for name, one, examples in zip(table.outcomes, plans, each, strict=True)
    ]


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
    for name, line in zip(names, errors[:, complete], strict=True):
        if (line == line[0]).all():
            raise InputError(
                f"outcome {name!r} has a single value on the {common} examples that all models "
                f"have: all {'wrong' if line[0] else 'right'}, so there is nothing to compare; "
                "leave it out"
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
