"""Make a plan: fix everything that can be fixed before an outcome is looked at.

The outcome column is blanked right after reading, so nothing that follows can depend on it: the
plan of a table is the same whatever its outcomes are, and when there are none yet. What takes
outcomes (which rows have one, and so which rules are eligible) is left to the audit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NewType, Unpack

import numpy as np
from numpy.typing import NDArray

from janus_jax import __version__
from janus_jax.columns import Selection
from janus_jax.descriptors import Descriptors, make_descriptors
from janus_jax.errors import InputError
from janus_jax.files import file_named, write_whole, writing
from janus_jax.outcome import id_columns, without_repeats
from janus_jax.plan import Plan, PlanOptions, make_plan
from janus_jax.plans.fingerprints import example_ids, groups_hash, ids_hash, split_hash, used_hash
from janus_jax.plans.planned import (
    PROPOSAL_WORDS,
    SPLITS,
    OutcomesRead,
    Planned,
    PlannedColumn,
    PlannedRule,
    PlannedSplit,
    SplitKind,
    is_proposal_share,
)
from janus_jax.plans.proposed import Proposed
from janus_jax.plans.text import plan_text
from janus_jax.prepare import shared_facts
from janus_jax.readers.part import missing_column
from janus_jax.reading import read, read_options
from janus_jax.several.selecting import select
from janus_jax.split import DISCOVERY, split_rows
from janus_jax.table import Table

LISTED = 20_000
"""The ids of larger tables are not listed in the plan, only hashed."""

OutcomeFree = NewType("OutcomeFree", Table)
"""A table whose outcome column has no value in any row."""


def without_outcome(table: Table, plan: Plan) -> OutcomeFree:
    """The table with its outcome column blanked, or added as blank where there is none yet.

    The column is not looked at.
    """
    blank = {
        name: replace(
            missing_column(name, table.n), origin="outcome", unusable="an outcome, not read"
        )
        for name in table.outcomes or (plan.outcome_column,)
    }
    columns = {name: blank.get(name, column) for name, column in table.columns.items()}
    return OutcomeFree(replace(table, columns=columns | blank))


@dataclass(frozen=True, slots=True)
class Draft:
    """What the options come to on a table without outcomes.

    Attributes
    ----------
    plan
        The options.
    table
        One row per example, the outcome blanked.
    selection
        The columns used.
    where
        int8, shape (n,): the split of each example.
    descriptors
        All of them, in library order; ``col is missing`` is there where all rows, whether or not
        they will have an outcome, give it support.
    split
        How ``where`` came about.
    """

    plan: Plan
    table: OutcomeFree
    selection: Selection
    where: NDArray[np.int8]
    descriptors: Descriptors
    split: PlannedSplit


def draft_plan(
    table: Table,
    plan: Plan,
    *,
    proposal: str | None = None,
    where: NDArray[np.int8] | None = None,
) -> Draft:
    """Split the examples and fix the rules, without a look at the outcome.

    Parameters
    ----------
    table
        As read; its outcome column is not looked at and need not exist.
    plan
        The options.
    proposal
        Share of a random split's strata that is set aside as a proposal split, a decimal.
    where
        int8, shape (examples,): a split made elsewhere, which the plan will list id by id.

    Raises
    ------
    InputError
        The data or an option is wrong, as for an audit.
    """
    if proposal is not None and not is_proposal_share(proposal):
        raise InputError(f"--proposal is {proposal!r}, but it must be {PROPOSAL_WORDS}")
    free = without_outcome(table, plan)
    selection = select(free, plan)
    reduced = without_repeats(free, plan, shared_facts(selection, plan))
    if reduced is not free:
        selection = select(reduced, plan)
    kind = _kind(plan, proposal, listed=where is not None)
    if where is None:
        where = split_rows(reduced, plan, proposal=Fraction(proposal or 0))
    sizes = [int((where == part).sum()) for part in range(len(SPLITS))]
    if sizes[DISCOVERY] < 2:
        raise InputError(
            f"discovery holds {sizes[DISCOVERY]} of {reduced.n} examples; an audit needs at least "
            "2 there: more rows, or another --discovery or --split-column"
        )
    ids = example_ids(reduced, plan)
    everyone = np.ones(reduced.n, dtype=np.bool_)
    return Draft(
        plan=plan,
        table=OutcomeFree(reduced),
        selection=selection,
        where=where,
        descriptors=make_descriptors(selection, where, everyone, plan),
        split=PlannedSplit(kind, (sizes[0], sizes[1], sizes[2]), split_hash(ids, where), proposal),
    )


def _kind(plan: Plan, proposal: str | None, *, listed: bool) -> SplitKind:
    if listed and (plan.split_column or proposal is not None):
        raise InputError("a split that is given goes with neither --split-column nor --proposal")
    if proposal is not None and (plan.split_column or not plan.has_holdout):
        raise InputError(
            "--proposal shares out a random split with a holdout; it does not go with "
            + ("--split-column" if plan.split_column else "--discovery 1")
        )
    if listed:
        return "listed"
    if plan.split_column:
        return "column"
    return "random" if plan.has_holdout else "none"


def write_plan(
    draft: Draft,
    path: str | Path,
    *,
    extra: Sequence[tuple[str, Sequence[str]]] = (),
    outcomes_read: OutcomesRead = "none",
    proposed: Proposed | None = None,
) -> Planned:
    """Write a plan file; the same plan gives the same bytes.

    Parameters
    ----------
    draft
        What to write down.
    path
        The file.
    extra
        More conjunctions, after those of the draft: a name, and the names of the descriptors of
        single columns that it joins.
    outcomes_read
        Whose outcomes were read to choose them: of no example, or of the proposal split's.
    proposed
        What was mined on the proposal split.

    Raises
    ------
    InputError
        A name is used twice, a part does not exist, or the file cannot be written.
    """
    target = file_named(path, "out")
    planned = finished(draft, extra=extra, outcomes_read=outcomes_read, proposed=proposed)
    text = plan_text(planned)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        odd = text[error.start]
        raise InputError(f"an option holds {odd!r}, half of a character: it is no text") from error
    with writing(str(path)):
        write_whole(target, text)
    return replace(planned, source=str(path))


def finished(
    draft: Draft,
    *,
    extra: Sequence[tuple[str, Sequence[str]]] = (),
    outcomes_read: OutcomesRead = "none",
    proposed: Proposed | None = None,
) -> Planned:
    """The content of the file that :func:`write_plan` writes."""
    table, plan = draft.table, draft.plan
    ids = example_ids(table, plan)
    named_by = id_columns(table, plan)
    listed = draft.split.kind == "listed" or (bool(named_by) and len(ids) <= LISTED)
    return Planned(
        plan=plan,
        version=__version__,
        outcomes_read=outcomes_read,
        rows=table.n,
        named_by=named_by,
        ids_sha256=ids_hash(ids),
        split=draft.split,
        columns=tuple(_columns(draft)),
        rules=(*_rules(draft), *_extra(draft, extra)),
        proposed=proposed,
        log=table.log.fixed() if table.log else None,
        models=() if table.stacked is None else table.outcomes,
        ids=tuple(
            tuple(ids[row] for row in np.flatnonzero(draft.where == part).tolist())
            for part in range(len(SPLITS))
        )
        if listed
        else None,
    )


def _columns(draft: Draft) -> list[PlannedColumn]:
    levels: dict[str, list[str]] = {}
    for item in draft.descriptors.items:
        if item.rule["kind"] == "level":
            levels.setdefault(item.columns[0], []).append(item.rule["level"])
    columns = [
        PlannedColumn(used.name, used.kind, used_hash(used), tuple(levels.get(used.name, ())))
        for used in draft.selection.used
    ]
    plan = draft.plan
    roles = (plan.split_column, plan.stratify, plan.strata, plan.cluster)
    columns += [
        PlannedColumn(name, "groups", groups_hash(draft.table.columns[name]))
        for name in dict.fromkeys(roles)
        if name is not None
    ]
    return columns


def _rules(draft: Draft) -> list[PlannedRule]:
    thresholds = draft.descriptors.thresholds
    rules: list[PlannedRule] = []
    for item in draft.descriptors.items:
        rule, kind = item.rule, item.rule["kind"]
        if kind == "conjunction":
            rules.append(PlannedRule(item.name, kind, parts=tuple(rule["all"])))
            continue
        above = thresholds[rule["column"]] if kind == "numeric" else None
        rules.append(
            PlannedRule(item.name, kind, rule["column"], above=above, level=rule.get("level"))
        )
    return rules


def _extra(draft: Draft, extra: Sequence[tuple[str, Sequence[str]]]) -> list[PlannedRule]:
    items = draft.descriptors.items
    simple = {item.name for item in items if item.rule["kind"] != "conjunction"}
    taken = {item.name for item in items}
    rules: list[PlannedRule] = []
    for name, parts in extra:
        if unknown := [part for part in parts if part not in simple]:
            raise InputError(f"conjunction {name!r}: no descriptor is called {unknown[0]!r}")
        if len(parts) < 2:
            raise InputError(f"conjunction {name!r} needs two or more parts")
        if name in taken:
            raise InputError(f"two descriptors are called {name!r}; give one another name")
        taken.add(name)
        rules.append(PlannedRule(name, "conjunction", parts=tuple(parts)))
    return rules


def plan(
    source: object,
    *,
    out: str | Path | None = None,
    proposal: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    log: Mapping[str, Any] | None = None,
    **options: Unpack[PlanOptions],
) -> Planned:
    """Plan an audit before its outcomes are read.

    Parameters
    ----------
    source
        As for :func:`janus_jax.audit`. The outcome column is named but not read, and need not
        exist.
    out
        Where to write the plan; None writes nothing.
    proposal
        Share of a random split that is set aside as a proposal split, a decimal.
    delimiter, encoding, log
        As for :func:`janus_jax.audit`.
    **options
        The audit's, see :class:`janus_jax.plan.Plan`.

    Returns
    -------
    Planned
        For ``audit(source, plan=...)``, as is the file; ``hash`` tells it from every other plan.

    Raises
    ------
    InputError
        The data or an option is wrong; the message says what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"long": [True, False] * 40, "n_words": range(3, 83)})
    >>> [rule.name for rule in plan(table, error="wrong").rules]
    ['long', 'n_words > 42']
    """
    reading = read_options(delimiter, encoding, log)
    table, checked = read(source, reading, make_plan(options), several=True, unread=True)
    draft = draft_plan(table, checked, proposal=proposal)
    return finished(draft) if out is None else write_plan(draft, out)
