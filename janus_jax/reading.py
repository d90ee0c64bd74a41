"""A source becomes a table: an ordinary one, or the chosen attempts of evaluation logs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from janus_jax.errors import InputError
from janus_jax.logs.choose import TEXTS, Choices
from janus_jax.logs.formats import (
    TABLE,
    belongs_to_a_log,
    find_logs,
    read_logs,
    unrecognised,
)
from janus_jax.plan import Plan, with_outcome
from janus_jax.readers import read as read_table
from janus_jax.several.outcomes import with_outcomes
from janus_jax.several.spread import spread
from janus_jax.table import Table

LOG_OPTIONS: Final = (
    "format",
    "metric",
    "scorer",
    "filter",
    "model",
    "task",
    "run",
    "choose",
    "text_features",
)
"""What chooses among the attempts of a log."""

_COORDINATES: Final = ("filter", "model", "task", "run")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a source is read; what is chosen of a log decides what is audited.

    Attributes
    ----------
    delimiter, encoding
        Of text files that are tables.
    choices
        What is chosen of a log.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    choices: Choices = field(default_factory=Choices)


def read_options(
    delimiter: str | None, encoding: str, log: Mapping[str, Any] | None
) -> ReadOptions:
    """Put the options together; ``log`` is for :func:`make_choices`."""
    for name, value in (("delimiter", delimiter), ("encoding", encoding)):
        if not isinstance(value, str) and (name, value) != ("delimiter", None):
            raise InputError(f"--{name} is {value!r}, but it must be text")
    if log is not None and not isinstance(cast("object", log), Mapping):
        raise InputError(
            f"log is {log!r}, but it must hold choices by name, such as {{'metric': 'acc'}}"
        )
    return ReadOptions(delimiter, encoding, make_choices(log or {}))


def make_choices(options: Mapping[str, Any]) -> Choices:
    """Check what a person chose of a log.

    Parameters
    ----------
    options
        Keys of :data:`LOG_OPTIONS`; None means not given. ``metric`` and ``scorer`` are two words
        for one thing. ``choose`` holds ``"coordinate=value"`` each, ``text_features`` names of
        texts.

    Raises
    ------
    InputError
        An option is unknown, or two say different things.
    """
    if unknown := sorted(set(options) - set(LOG_OPTIONS)):
        raise InputError(
            f"unknown choice {unknown[0]!r} of a log; there are {', '.join(LOG_OPTIONS)}"
        )
    given = {name: value for name, value in options.items() if value is not None}
    scores = {given[name] for name in ("metric", "scorer") if name in given}
    if len(scores) > 1:
        raise InputError("--metric and --scorer mean the same; give one of them")
    coordinates = {name: str(given[name]) for name in _COORDINATES if name in given}
    for text in _listed(given.get("choose", ())):
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InputError(f"--choose {text!r} must be COORDINATE=VALUE, such as split=test")
        if coordinates.setdefault(name, value) != value:
            raise InputError(f"--choose {text}: {name} is chosen twice")
    return Choices(
        format=given.get("format"),
        score=next(iter(scores), None),
        coordinates=coordinates,
        texts=tuple(_listed(given.get("text_features", ()))),
    )


def _listed(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def read(
    source: object,
    options: ReadOptions,
    plan: Plan,
    planned: Mapping[str, str] | None = None,
    *,
    several: bool = False,
    unread: bool = False,
) -> tuple[Table, Plan]:
    """Read a table, whatever it comes as; see :func:`janus_jax.readers.read`.

    Paths may also be evaluation logs, or folders of them, recognised by content.

    Parameters
    ----------
    planned
        What a plan file chose of a log, where nothing else is said.
    several
        Whether several models may be audited at once; else they are refused.
    unread
        The outcomes are not to be looked at, and need not be there.

    Returns
    -------
    table
        What was read.
    plan
        The same plan, with the log's score as its outcome if it named none.

    Raises
    ------
    InputError
        A source cannot be read in full and without doubt, leaves a choice that nobody made, or the
        plan has no outcome, or several where there may be one.
    """
    table, plan = _read(source, options, plan, planned or {})
    column = plan.model_column or ("model" if table.log and table.log.several else None)
    if column is not None:
        table = spread(table, plan, column, unread=unread)
    else:
        table, plan = with_outcomes(table, plan)
    if table.outcomes and not several:
        raise InputError(
            f"{len(table.outcomes)} models: {', '.join(table.outcomes)}; this takes one at a time: "
            + ("--model NAME" if table.log else f"--{plan.outcome_kind} COL")
            + ("" if plan.model_column is None else ", of a table of that model's rows alone")
            + " (the command audit takes several, and so does janus_jax.compare)"
        )
    return table, plan


def _read(
    source: object, options: ReadOptions, plan: Plan, planned: Mapping[str, str]
) -> tuple[Table, Plan]:
    """Read a table as it is; several models are not yet told apart."""
    paths = _paths(source)
    logs = find_logs(paths, options.choices.format) if paths else None
    outcome = plan.error or plan.correct or plan.score
    if logs is not None:
        choices = _completed(options.choices, plan, outcome, planned)
        table = read_logs(logs, choices)
        return table, with_outcome(plan, table.log.outcome if table.log else None)
    if options.choices.format != TABLE:
        says = belongs_to_a_log(paths, named_outcome=outcome is not None)
        if says is not None:
            raise InputError(says)
        says = None if outcome else unrecognised(paths)
        if says is not None:
            raise InputError(
                f"{says}; a table needs an outcome: exactly one of --error COL, --correct COL, "
                "--score COL --pass-at X"
            )
    if chosen := _log_words(options.choices):
        what = f"{paths[0]} is an ordinary table" if paths else "this is an ordinary table"
        raise InputError(f"{chosen} chooses among the attempts of an evaluation log, but {what}")
    plan = with_outcome(plan, None)
    return read_table(source, delimiter=options.delimiter, encoding=options.encoding), plan


def _completed(
    choices: Choices, plan: Plan, outcome: str | None, planned: Mapping[str, str]
) -> Choices:
    """The choices with what a plan says."""
    if outcome is not None and choices.score not in (None, outcome):
        raise InputError(
            f"--metric (or --scorer) names {choices.score}, but the outcome is {outcome}; name one"
        )
    before = {n: value for n, value in planned.items() if n not in ("format", TEXTS)}
    texts = tuple(planned[TEXTS].split(",")) if TEXTS in planned else ()
    return replace(
        choices,
        score=choices.score or outcome,
        coordinates={**before, **choices.coordinates},
        texts=choices.texts or texts,
        kind="error" if plan.error else "correct" if plan.pass_at is None else "score",
        na=plan.na,
    )


def _paths(source: object) -> list[str]:
    """The paths that a source is; none for tables in memory."""
    if isinstance(source, str | os.PathLike):
        return [os.fsdecode(cast("str | os.PathLike[str]", source))]
    if isinstance(source, list | tuple):
        items = cast("Sequence[object]", source)
        if all(isinstance(item, str | os.PathLike) for item in items):
            return [os.fsdecode(cast("str | os.PathLike[str]", item)) for item in items]
    return []


def _log_words(choices: Choices) -> str | None:
    """One of the options that only a log understands, if any was given."""
    if choices.score is not None:
        return f"--metric {choices.score}"
    for name, value in choices.coordinates.items():
        return f"--{name} {value}" if name in _COORDINATES else f"--choose {name}={value}"
    return f"--text-features {choices.texts[0]}" if choices.texts else None
