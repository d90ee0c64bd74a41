"""Which outcome columns are meant: one, or one for each of several models."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace

from janus_jax.columns import find_column
from janus_jax.errors import InputError
from janus_jax.plan import Plan, check_roles
from janus_jax.table import Table


def with_outcomes(table: Table, plan: Plan) -> tuple[Table, Plan]:
    """Settle whether the plan's outcome is one column or several.

    A text that is the name of a column means that column; else commas separate names, and quotes
    keep a name together, as in a line of a CSV file.

    Returns
    -------
    table
        With the columns named in ``outcomes``, and each marked as an outcome, when there are
        several.
    plan
        With a single outcome's plain name.

    Raises
    ------
    InputError
        A name is empty or occurs twice, or is that of another part of the plan; or the text is the
        name of a column and so are the names in it.
    """
    text = plan.outcome_column
    names = [
        # Blanks around a name are no part of it, unless it stands in quotes that hold them.
        name if name in table.columns else name.strip()
        for name in next(csv.reader([text], skipinitialspace=True))
    ]
    if text in table.columns:
        if len(names) > 1 and all(name in table.columns for name in names):
            raise InputError(
                f"--{plan.outcome_kind} {text}: there is a column of this name, and there are "
                f"columns {', '.join(map(repr, names))}; write one column as '\"{text}\"', several "
                f"as '\"{names[0]}\",{','.join(names[1:])}'"
            )
        return table, plan
    if len(names) < 2:
        return table, one_outcome(plan, names[0])
    return marked(table, plan, names), plan


def marked(table: Table, plan: Plan, names: Sequence[str]) -> Table:
    """The table with these columns as the outcomes of several models; they need not exist yet."""
    option = f"--{plan.outcome_kind}"
    for name in names:
        if not name:
            raise InputError(f"{option} {plan.outcome_column}: a name between the commas is empty")
        if names.count(name) > 1:
            raise InputError(f"{option} {plan.outcome_column}: {name!r} is named twice")
        alone = one_outcome(plan, name)
        # Rows side by side have no model column any more, and a model may be called as it was.
        check_roles(alone if table.stacked is None else replace(alone, model_column=None))
        used = {*plan.descriptor, *plan.include, *plan.categorical, *plan.numeric}
        if name in used:
            raise InputError(f"column {name!r} is an outcome; it cannot also be a descriptor")
    columns = {
        name: replace(column, origin="outcome") if name in names else column
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns, outcomes=tuple(names))


def check_outcomes_exist(table: Table, plan: Plan) -> None:
    """Refuse a name that is no column."""
    for name in table.outcomes:
        option = f"--{plan.outcome_kind}"
        if name not in table.columns and any("," in column for column in table.columns):
            option = f"(a name that holds a comma stands in double quotes) {option}"
        find_column(table, name, option)


def one_outcome(plan: Plan, name: str) -> Plan:
    """The plan for one of the outcomes."""
    return replace(plan, **{plan.outcome_kind: name})


def single_plans(table: Table, plan: Plan) -> list[Plan]:
    """The plan of each outcome: the plan itself when there is one."""
    return [one_outcome(plan, name) for name in table.outcomes] or [plan]
