"""The content of a plan file: an audit's options, and what they came to on a table.

The options are those of :class:`janus_jax.plan.Plan`. Beside them stands what they made of the
table without its outcome: the examples, their split, the columns and the rules, in library order.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from janus_jax.plan import Plan
from janus_jax.plans.fingerprints import ExampleId
from janus_jax.plans.proposed import Proposed

SCHEMA: Final = "janus-jax/plan/1"

ColumnUse = Literal["boolean", "numeric", "categorical", "groups"]
RuleKind = Literal["boolean", "numeric", "level", "missing", "conjunction"]
SplitKind = Literal["column", "random", "none", "listed"]
OutcomesRead = Literal["none", "proposal"]

SPLITS: Final = ("discovery", "holdout", "proposal")
"""Names of the splits, by their numbers in :mod:`janus_jax.split`."""


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """A column the audit rests on.

    Attributes
    ----------
    name
        The header.
    use
        How descriptors read it; "groups" when it names splits, strata or clusters. A column that
        does both is listed twice.
    sha256
        Of its values as read, see :mod:`janus_jax.plans.fingerprints`.
    levels
        The levels that discovery has, of a categorical one.
    """

    name: str
    use: ColumnUse
    sha256: str
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedRule:
    """A descriptor's rule.

    Attributes
    ----------
    name
        The descriptor's name.
    kind
        What makes it true.
    column
        The column it looks at; None for a conjunction.
    above
        The limit of a numeric rule, as :attr:`janus_jax.values.Threshold.text`.
    level
        The level of a categorical column.
    parts
        Names of the rules that a conjunction joins.
    """

    name: str
    kind: RuleKind
    column: str | None = None
    above: str | None = None
    level: str | None = None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedSplit:
    """How examples are dealt, and how that came out.

    Attributes
    ----------
    kind
        "column" and "random" (of the plan's seed, share and strata) as in
        :func:`janus_jax.split.split_rows`; "none" when everything is discovery; "listed" when the
        file lists which example goes where.
    sizes
        Examples of discovery, holdout and proposal.
    sha256
        Of which example is in which, see :func:`janus_jax.plans.fingerprints.split_hash`.
    proposal
        Share of a random split's strata that is set aside as a proposal split.
    """

    kind: SplitKind
    sizes: tuple[int, int, int]
    sha256: str
    proposal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan file.

    Attributes
    ----------
    plan
        The audit's options.
    version
        The version of this package that made the plan.
    outcomes_read
        Whose outcomes had been read by then: of no example, or of the proposal split only.
    rows
        Number of examples.
    named_by
        The columns that name an example; () for row numbers.
    ids_sha256
        Of the ids, in the order of the rows.
    split, columns, rules
        What the options came to; rules in library order.
    ids
        The ids of each of :data:`SPLITS`; None when they are not listed.
    proposed
        What was mined on the proposal split, where that was read.
    log
        For evaluation logs, their format and what was chosen of them; None for a table.
    models
        The models, in order, of a table that has rows for each; () where outcomes are columns,
        which the options name.
    source
        The file it was read from, for messages.
    edited
        The file does not hold the hash of its own content: it was changed after planning.
    """

    plan: Plan
    version: str
    outcomes_read: OutcomesRead
    rows: int
    named_by: tuple[str, ...]
    ids_sha256: str
    split: PlannedSplit
    columns: tuple[PlannedColumn, ...]
    rules: tuple[PlannedRule, ...]
    ids: tuple[tuple[ExampleId, ...], ...] | None = None
    proposed: Proposed | None = None
    log: Mapping[str, str] | None = None
    models: tuple[str, ...] = ()
    source: str = field(default="the plan", compare=False)
    edited: bool = field(default=False, compare=False)

    @property
    def hash(self) -> str:
        """SHA-256 of the content, however the file is laid out and commented."""
        return content_hash(self.content())

    def to_dict(self) -> dict[str, Any]:
        """The plan's part of a result: the options, the hash, and whether outcomes played a part.

        In the shape of ``result.json``.
        """
        shown = self.plan.to_dict()
        if self.split.kind == "listed":
            shown["split"] = {"kind": "listed"}
        elif self.split.proposal is not None:
            shown["split"]["proposal"] = self.split.proposal
        return {
            **shown,
            "hash": self.hash,
            "frozen_before_outcomes": not self.edited,
            "planned": {
                "version": self.version,
                "outcomes_read": self.outcomes_read,
                "edited": self.edited,
            },
        }

    def content(self) -> dict[str, Any]:
        """The content of the file as TOML values, but for the hash.

        Sections and keys stand in the order of the file; what is None is left out.
        """
        plan = self.plan
        split: dict[str, Any] = {"kind": self.split.kind}
        if self.split.kind == "column":
            split["column"] = plan.split_column
        else:
            split |= {"fraction": plan.discovery, "stratify": plan.stratify}
            split["proposal"] = self.split.proposal
        rules = plan.eligibility.to_dict()
        prevalences = {name: rules.pop(name) for name in ("min_prevalence", "max_prevalence")}
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "version": self.version,
            "outcomes_read": self.outcomes_read,
            "seed": plan.seed,
            "outcome": {
                "column": plan.outcome_column,
                "kind": plan.outcome_kind,
                "pass_at": plan.pass_at,
                "model_column": plan.model_column,
                "models": self.models or None,
                "missing": plan.missing_outcome,
                "log": self.log,
            },
            "examples": {
                "count": self.rows,
                "id": plan.id,
                "named_by": self.named_by,
                "repeats": plan.repeats,
                "cluster": plan.cluster,
                "sha256": self.ids_sha256,
            },
            "split": {
                **split,
                **dict(zip(SIZES, self.split.sizes, strict=True)),
                "sha256": self.split.sha256,
            },
            "eligibility": {
                "preset": plan.preset,
                "min_support": plan.min_support,
                **prevalences,
                **rules,
            },
            "screen": {
                "rule": plan.rule,
                "statistic": plan.statistic,
                "q": plan.q,
                "alpha": plan.alpha,
                "decoys": plan.decoys,
                "permutations": plan.permutations,
                "strata": plan.strata,
            },
            "gate": {"min_holdout_lift": plan.min_holdout_lift},
            "wanted": {name: getattr(plan, name) for name in WANTED},
            "library": {
                "columns": [_column(column) for column in self.columns],
                "rules": [_rule(rule) for rule in self.rules],
            },
        }
        if self.proposed is not None:
            content["proposed"] = self.proposed.content()
        if self.ids is not None:
            content["ids"] = {
                name: [_id(example) for example in listed]
                for name, listed in zip(SPLITS, self.ids, strict=True)
            }
        return _toml_values(content)


SIZES: Final = tuple(f"n_{name}" for name in SPLITS)
"""How many examples each split has, as keys of the file."""

WANTED: Final = (
    "descriptor",
    "include",
    "exclude",
    "categorical",
    "numeric",
    "na",
    "conjunction",
    "pairs",
)
"""The options that say which columns become which rules."""


PROPOSAL_WORDS: Final = "a decimal above 0 and below 1"
"""What the share of a proposal split must be."""


def is_proposal_share(text: str) -> bool:
    """Whether a text is a decimal above 0 and below 1."""
    return re.fullmatch(r"0*\.[0-9]*[1-9][0-9]*", text, re.ASCII) is not None


def content_hash(content: Mapping[str, Any]) -> str:
    """SHA-256 of TOML values as canonical JSON: keys sorted, no blanks."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _id(example: ExampleId) -> str | int | list[str]:
    """An id as it stands in the file: text, a text for each id column, or a row number."""
    if isinstance(example, int):
        return example
    return example[0] if len(example) == 1 else list(example)


def _column(column: PlannedColumn) -> dict[str, Any]:
    levels = {"levels": column.levels} if column.use == "categorical" else {}
    return {"name": column.name, "use": column.use, **levels, "sha256": column.sha256}


def _rule(rule: PlannedRule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "kind": rule.kind,
        "column": rule.column,
        "above": rule.above,
        "level": rule.level,
        "parts": rule.parts or None,
    }


def _toml_values(value: Any) -> Any:
    """The same in dicts, lists, texts, whole numbers and flags, without what is None."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        return {key: _toml_values(item) for key, item in items.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_toml_values(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, int) and value >= 2**63:
        return str(value)  # TOML's whole numbers end there
    return value
