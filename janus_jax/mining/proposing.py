"""Propose conjunctions from a proposal split of their own, and freeze them in a plan.

Outcomes of the proposal split are read; those of discovery and holdout are not, so that an audit
judges every candidate on examples that played no part in choosing it. Its false reports stay those
of a library that somebody wrote down beforehand; mining the discovery split itself, and testing
what was mined there again, would not keep them.

The base descriptors are the table's own: thresholds and levels come from the discovery split
without its outcomes, so that what is mined is what the audit tests. They have no complements
(``x > 4`` is one, ``x <= 4`` is not), and SliceLine's score finds slices with more errors than
average only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from janus_jax.descriptors import Descriptor, combine
from janus_jax.errors import InputError
from janus_jax.library import count, ineligible_reason, make_part
from janus_jax.mining.best import Slice, Terms
from janus_jax.mining.mine import LEVELS, Mined, mine
from janus_jax.outcome import example_of_row, read_examples
from janus_jax.plan import Plan, PlanOptions, make_plan
from janus_jax.plans.drafting import Draft, draft_plan, write_plan
from janus_jax.plans.planned import Planned
from janus_jax.plans.proposed import Proposed, ProposedSlice, is_weight
from janus_jax.prepare import shared_facts
from janus_jax.progress import Progress
from janus_jax.reading import ReadOptions, read, read_options
from janus_jax.record import Stopwatch
from janus_jax.result import Result
from janus_jax.split import DISCOVERY, HOLDOUT, UNUSED
from janus_jax.table import Column, Levels, Table

SCHEMA: Final = "janus-jax/propose/1"
SHARE: Final = "0.3"
"""Of each stratum, dealt to the proposal split unless a split column says otherwise."""
TOP: Final = 10
WEIGHT: Final = "0.95"
"""SliceLine's alpha, as its paper recommends."""

Extra = tuple[str, tuple[str, ...]]
"""A candidate: its name, and the names of the rules it joins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How to mine.

    Attributes
    ----------
    level
        Descriptors that a conjunction joins at most, 1 to 3.
    top
        How many slices to take; those that tie with the last are all taken.
    min_slice
        Examples of the proposal split that a slice needs; None: what the plan's eligibility needs
        among as many examples.
    weight
        SliceLine's alpha: the weight of the error rate against the size, a decimal above 0 and at
        most 1.

    Raises
    ------
    InputError
        One of them is out of range.
    """

    level: int = LEVELS
    top: int = TOP
    min_slice: int | None = None
    weight: str = WEIGHT

    def __post_init__(self) -> None:
        if not 1 <= self.level <= LEVELS:
            raise InputError(f"--level is {self.level}, but it must be from 1 to {LEVELS}")
        for option, number in (("--top", self.top), ("--min-slice", self.min_slice)):
            if number is not None and number < 1:
                raise InputError(f"{option} is {number}, but it must be at least 1")
        if not is_weight(self.weight):
            raise InputError(
                f"--weight is {self.weight!r}, but it must be a decimal above 0 and at most 1"
            )

    def least(self, plan: Plan, n: int) -> int:
        """The examples that a slice needs among n."""
        if self.min_slice is not None:
            return self.min_slice
        rules = plan.eligibility
        return max(rules.min_on or 1, 1, math.ceil(Fraction(rules.min_prevalence) * n))


@dataclass(frozen=True, slots=True, repr=False)
class ProposeResult(Result):
    """What was proposed: schema ``janus-jax/propose/1``."""

    @property
    def candidates(self) -> list[str]:
        """Names of the conjunctions that were added to the library, best first."""
        return [it["name"] for it in self.document["proposed"]["slices"] if it["new"]]

    def __repr__(self) -> str:
        return f"<ProposeResult: {answer(self.document)}>"


def propose(
    source: object,
    *,
    out: str | Path,
    proposal: str | None = None,
    level: int = LEVELS,
    top: int = TOP,
    min_slice: int | None = None,
    weight: str = WEIGHT,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    log: Mapping[str, Any] | None = None,
    **options: Unpack[PlanOptions],
) -> ProposeResult:
    """Mine conjunctions on a proposal split, and write a plan that tests them on the rest.

    Parameters
    ----------
    source
        As for :func:`janus_jax.audit`.
    out
        The plan file to write; ``janus_jax.audit(source, plan=out)`` then runs it.
    proposal
        Share of the examples that are dealt to the proposal split, as a decimal; the audit's split
        shares out the others. None: 0.3, or the rows that a split column calls proposal.
    level, top, min_slice, weight
        See :class:`Search`.
    delimiter, encoding, log
        Of text files.
    **options
        Those of :func:`janus_jax.audit` that decide what it computes.

    Returns
    -------
    ProposeResult

    Raises
    ------
    InputError
        The data or an option is wrong, or the proposal split has no examples or no errors.
    """
    return run_propose(
        source,
        make_plan(options),
        Search(level=level, top=top, min_slice=min_slice, weight=str(weight)),
        out=out,
        proposal=None if proposal is None else str(proposal),
        reading=read_options(delimiter, encoding, log),
    )


def run_propose(
    source: object,
    plan: Plan,
    search: Search,
    *,
    out: str | Path,
    proposal: str | None = None,
    reading: ReadOptions | None = None,
    progress: Progress | None = None,
    command: str | None = None,
) -> ProposeResult:
    """Propose for a checked plan; the parameters are those of :func:`propose`.

    ``progress`` is called while triples are counted; ``command`` is the command line, for the
    record.
    """
    clock = Stopwatch()
    if plan.split_column and proposal is not None:
        raise InputError(
            "--proposal shares out a random split; it does not go with --split-column, whose rows "
            "that say proposal are the proposal split"
        )
    share = None if plan.split_column else proposal or SHARE
    table, plan = read(source, reading or ReadOptions(), plan)
    draft = draft_plan(table, plan, proposal=share)
    errors, notes = proposal_errors(table, draft)
    proposed, extra = propose_for(draft, errors, search, progress)
    planned = write_plan(draft, out, extra=extra, outcomes_read="proposal", proposed=proposed)
    document = _document(draft, planned, proposed, [*notes, *_notes(proposed, search)])
    document["run"] = {**clock.record(command), "plan_file": str(out)}
    return ProposeResult(document)


def proposal_errors(table: Table, draft: Draft) -> tuple[NDArray[np.int8], tuple[str, ...]]:
    """Read the outcomes of the proposal split, and of no other row.

    Parameters
    ----------
    table
        The table as it was read.
    draft
        Its plan without outcomes.

    Returns
    -------
    errors
        int8, one for each example: 1 wrong, 0 right, -1 none, and -1 outside the proposal split.
    notes
        How the outcomes were read.

    Raises
    ------
    InputError
        There is no proposal split, or its outcomes are not of both kinds.
    """
    aside = draft.where == UNUSED
    if not aside.any():
        if draft.plan.split_column:
            how = f"no row of --split-column {draft.plan.split_column} says proposal"
        else:
            how = "no row is dealt to the proposal split; give it a larger share with --proposal"
        raise InputError(f"{how}: candidates are mined there, so it needs examples")
    rows = np.flatnonzero(aside[example_of_row(table, draft.plan)])
    part = table.take(rows)
    name = draft.plan.outcome_column
    columns = {**part.columns, name: _only_its_levels(part.columns[name])}
    facts = shared_facts(draft.selection, draft.plan)
    try:
        examples = read_examples(replace(part, columns=columns), draft.plan, facts)
    except InputError as error:
        raise InputError(f"in the proposal split, {error}") from error
    errors = np.full(draft.table.n, -1, np.int8)
    errors[aside] = examples.errors
    return errors, tuple(f"in the proposal split, {note}" for note in examples.notes)


def _only_its_levels(column: Column) -> Column:
    """The same values without the levels that none of these rows has."""
    present, codes = np.unique(column.codes, return_inverse=True)
    missing = int(np.count_nonzero(present < 0))
    kept: list[int] = present[missing:].tolist()
    old = column.levels
    levels: Levels = old[kept] if not isinstance(old, tuple) else tuple(old[at] for at in kept)
    return replace(column, codes=(codes - missing).astype(np.int32), levels=levels)


def propose_for(
    draft: Draft, errors: NDArray[np.int8], search: Search, progress: Progress | None = None
) -> tuple[Proposed, list[Extra]]:
    """Mine the examples that have an outcome.

    Parameters
    ----------
    errors
        int8, one for each example of the draft: 1 wrong, 0 right, -1 to leave it out.
    search
        How to mine.
    progress
        As for :func:`janus_jax.mining.mine.mine`.

    Returns
    -------
    proposed
        The best slices.
    extra
        Those that the library lacks, best first.
    """
    rows = np.flatnonzero(errors >= 0)
    base = [item for item in draft.descriptors.items if item.rule["kind"] != "conjunction"]
    mined = mine(
        [item.members[rows] for item in base],
        [item.columns for item in base],
        errors[rows] == 1,
        top=search.top,
        min_slice=search.least(draft.plan, len(rows)),
        level=search.level,
        weight=Fraction(search.weight),
        accept=_testable(draft, base),
        progress=progress,
    )
    present = _present(draft.descriptors.items, base)
    slices: list[ProposedSlice] = []
    extra: list[Extra] = []
    for it in mined.slices:
        found, terms = _named(it, present, base)
        if terms is not None:
            extra.append((found.name, tuple(base[t].name for t in terms)))
        slices.append(found)
    return _proposed(mined, search, slices), extra


def _testable(draft: Draft, base: Sequence[Descriptor]) -> Callable[[Terms], bool]:
    """Whether a conjunction has the support and prevalence that the audit will ask for.

    Counted over all rows of discovery and holdout: which of them have an outcome is not known yet.
    """
    n = draft.table.n
    parts = [
        make_part(np.flatnonzero(draft.where == part), np.zeros(n, np.int8), np.zeros(n, np.int32))
        for part in (DISCOVERY, HOLDOUT)
        if (draft.where == part).any()
    ]
    rules, statistic = draft.plan.eligibility, draft.plan.statistic

    def testable(terms: Terms) -> bool:
        held = combine("", [base[t] for t in terms])
        counts = [count([held], part, statistic)[0] for part in parts]
        holdout = counts[1] if len(counts) > 1 else None
        return ineligible_reason(counts[0], holdout, rules) is None

    return testable


def _present(items: Sequence[Descriptor], base: Sequence[Descriptor]) -> dict[Terms, str]:
    """The library's rules by the base descriptors they join."""
    number = {item.name: index for index, item in enumerate(base)}
    present: dict[Terms, str] = {}
    for item in items:
        parts = item.rule["all"] if item.rule["kind"] == "conjunction" else [item.name]
        present.setdefault(tuple(sorted({number[part] for part in parts})), item.name)
    return present


def _named(
    it: Slice, present: dict[Terms, str], base: Sequence[Descriptor]
) -> tuple[ProposedSlice, Terms | None]:
    """A slice by the name it has in the library, and its terms when it is not there yet."""
    known = next((terms for terms in (it.terms, *it.aliases) if terms in present), None)
    chosen = it.terms if known is None else known
    name = _conjunction(chosen, base) if known is None else present[known]
    others = tuple(_conjunction(t, base) for t in (it.terms, *it.aliases) if t != chosen)
    found = ProposedSlice(name, known is None, it.size, it.errors, others)
    return found, chosen if known is None else None


def _conjunction(terms: Terms, base: Sequence[Descriptor]) -> str:
    return " & ".join(base[t].name for t in terms)


def _proposed(mined: Mined, search: Search, slices: Sequence[ProposedSlice]) -> Proposed:
    return Proposed(
        n=mined.score.n,
        errors=mined.score.errors,
        weight=search.weight,
        level=search.level,
        top=search.top,
        min_slice=mined.score.least,
        looked_at=mined.looked_at,
        passed_over=mined.passed_over,
        slices=tuple(slices),
    )


def _document(
    draft: Draft, planned: Planned, proposed: Proposed, notes: Sequence[str]
) -> dict[str, Any]:
    table, where = draft.table, draft.where
    return {
        "schema": SCHEMA,
        "data": {
            "source": list(table.source),
            "sha256": table.sha256,
            "examples": table.n,
            "proposal": int((where == UNUSED).sum()),
            "discovery": int((where == DISCOVERY).sum()),
            "holdout": int((where == HOLDOUT).sum()),
        },
        "plan": planned.to_dict(),
        "library": len(planned.rules),
        "proposed": proposed.to_dict(),
        "notes": list(notes),
    }


def _notes(proposed: Proposed, search: Search) -> list[str]:
    scored = ", ".join(
        f"{count} {what}"
        for count, what in zip(
            proposed.looked_at, ("single descriptors", "pairs", "triples"), strict=False
        )
    )
    notes = [
        f"{scored} of at least {proposed.min_slice} examples were scored; what could not reach the "
        "best was left out by its bound",
        "slices were chosen for their errors here, so their error rates here are too high: the "
        "audit of the plan judges them on other examples",
        "SliceLine's score looks for more errors than average; slices with fewer are not proposed",
    ]
    if proposed.passed_over:
        notes.append(
            f"{proposed.passed_over} that score as well were passed over: they lack the support or "
            "the prevalence, in discovery or holdout, that the audit asks for"
        )
    tied = len(proposed.slices) - search.top
    if tied > 0:
        notes.append(f"{tied} more than --top {search.top}: they tie with the last")
    return notes


def answer(document: Mapping[str, Any]) -> str:
    """What was proposed, in a sentence."""
    slices = document["proposed"]["slices"]
    new = sum(it["new"] for it in slices)
    if not slices:
        return (
            "no slice of the proposal split scores above 0: the plan has the base descriptors only"
        )
    there = len(slices) - new
    known = f", {there} of them in the library already" if there else ""
    return (
        f"{len(slices)} slice{'' if len(slices) == 1 else 's'} proposed{known}; the plan tests "
        f"{document['library']} descriptors"
    )
