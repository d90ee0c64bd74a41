"""Audit several models on the same examples, with the same shuffles, and compare what is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Unpack, cast, get_args

import numpy as np

from janus_jax.advice import design_warnings
from janus_jax.auditing import (
    Setting,
    audit_table,
    check_setting,
    choose_backend,
    run_section,
    tell,
)
from janus_jax.document import make_document
from janus_jax.errors import InputError
from janus_jax.exchange import memberships, shuffled_part
from janus_jax.interface import Backend, Problem
from janus_jax.joint import apart, together
from janus_jax.permutations import DEFAULT_MEMORY, Progress, Running
from janus_jax.plan import Names, Plan, PlanOptions, names_given
from janus_jax.plans.file import PlanSource, chosen_plan
from janus_jax.plans.planned import Planned
from janus_jax.plans.verifying import remarks
from janus_jax.reading import read, read_options
from janus_jax.record import Stopwatch
from janus_jax.result import AuditResult
from janus_jax.screen import Screened, screen_several
from janus_jax.several.answered import Answered, Difference, pair_name
from janus_jax.several.document import comparison_document
from janus_jax.several.merging import said_once
from janus_jax.several.preparing import Asked, for_outcome, prepare_several
from janus_jax.several.result import Comparison
from janus_jax.slice_examples import check_shown
from janus_jax.split import DISCOVERY

Differences = Literal["first", "all", "none"]
DIFFERENCES: Final[tuple[Differences, ...]] = get_args(Differences)


def compare(
    source: object,
    *,
    differences: Differences = "first",
    plan: PlanSource | None = None,
    backend: str = "auto",
    batch: int | None = None,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    log: Mapping[str, Any] | None = None,
    examples: Names | None = None,
    **options: Unpack[PlanOptions],
) -> Comparison:
    """Audit several models on the same examples by one plan, and compare what is found.

    Every model is judged on the same examples, the same split and the same descriptors. A shuffle
    moves what all models made of an example together, so it serves all of them.

    Parameters
    ----------
    source
        As for :func:`janus_jax.audit`: outcomes of the models side by side
        (``correct=["model_a", "model_b"]``), or a row for each example and model
        (``model_column="model"``, with ``id``); or logs of several models (``log={"model":
        "all"}``).
    differences
        Which pairs of models are audited for what one gets wrong and the other right: "first" (the
        first model against each of the others, both ways), "all" or "none".
    plan, backend, batch, memory, progress, delimiter, encoding, log, examples
        As for :func:`janus_jax.audit`.
    **options
        The audit's, see :class:`janus_jax.plan.Plan`.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        The data or an option is wrong, or there is one model only.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"long": [True, False] * 40, "a": [True, False] * 40})
    >>> table["b"] = [True] * 40 + [False] * 40
    >>> compare(table, error=["a", "b"], permutations=999).common
    []
    """
    checked, planned = chosen_plan(dict(options), plan)
    result = run_comparison(
        source,
        checked,
        planned,
        Setting(
            backend=backend,
            running=Running(memory=memory, batch=batch, progress=progress),
            reading=read_options(delimiter, encoding, log),
            examples=() if examples is None else names_given("--examples", examples),
        ),
        differences=differences,
    )
    return cast("Comparison", result)  # a single outcome is refused where differences are asked for


def run_comparison(
    source: object,
    plan: Plan,
    planned: Planned | None = None,
    setting: Setting | None = None,
    *,
    differences: Differences | None = None,
    ready: Callable[[Sequence[str]], None] | None = None,
) -> AuditResult | Comparison:
    """Audit one model or several, whatever the outcome names.

    Parameters
    ----------
    source, plan, planned, setting
        As for :func:`janus_jax.auditing.run_audit`.
    differences
        As for :func:`compare`; not for a single model.
    ready
        Called with the names of all outcomes, when there are several models, before anything is
        computed.
    """
    clock, setting = Stopwatch(), setting or Setting()
    check_setting(setting)
    if differences not in (*DIFFERENCES, None):
        raise InputError(f"--differences {differences!r} is not one of {', '.join(DIFFERENCES)}")
    before = planned.log if planned else None
    table, plan = read(source, setting.reading, plan, before, several=True)
    if not table.outcomes:
        if differences is not None:
            raise InputError(
                f"--{plan.outcome_kind} names one outcome, {plan.outcome_column!r}, so there is "
                f"nothing to compare: name several (--{plan.outcome_kind} A,B; in Python "
                f'{plan.outcome_kind}=["A", "B"]), or leave --differences out (in Python: '
                "janus_jax.audit)"
            )
        return audit_table(table, plan, planned, setting, clock)
    shown = check_shown(table, setting.examples)
    models, left_out = prepare_several(table, plan, planned)
    pairs = list(_pairs(models, differences or "first"))
    _check_names([one.name for one in models], [(a.name, b.name) for a, b in pairs])
    others = _differences(pairs)
    asked = [*models, *(other.asked for other in others if other.asked)]
    if ready is not None:
        ready([one.name for one in asked])
    shuffled = _shuffled(asked, plan)
    warnings, own = _warnings(asked, len(models), shuffled, planned)
    warnings = [*left_out, *warnings]
    tell(warnings, planned, setting)
    chosen, reasons = choose_backend(plan, models[0].prepared, setting)
    screened = _screen(asked, shuffled, plan, chosen, setting.running)
    answered = [
        Answered(
            one.name,
            one.prepared,
            make_document(one.prepared, one.plan, found, said, planned, shown),
        )
        for one, found, said in zip(asked, screened, own, strict=True)
    ]
    rest = iter(answered[len(models) :])
    document = comparison_document(
        answered[: len(models)],
        [Difference(o.wrong, o.right, next(rest) if o.asked else None) for o in others],
        plan,
        planned,
        warnings,
    )
    document["run"] = run_section(clock, chosen, reasons, setting)
    return Comparison(document)


@dataclass(frozen=True, slots=True)
class _Difference:
    """What one model gets wrong and the other right, as an outcome; None where it never happens."""

    wrong: str
    right: str
    asked: Asked | None


def _check_names(models: Sequence[str], pairs: Sequence[tuple[str, str]]) -> None:
    """Refuse models because of which two outcomes would have one name: results go by names."""
    whose = {name: f"that of {name!r} itself" for name in models}
    for wrong, right in pairs:
        name = pair_name(wrong, right)
        if name in whose:
            raise InputError(
                f"what {wrong!r} gets wrong and {right!r} right is an outcome called {name!r}, and "
                f"so is {whose[name]}: give one of these models another name, or leave such "
                "outcomes out (--differences none)"
            )
        whose[name] = f"what {wrong!r} gets wrong and {right!r} right"


def _differences(pairs: Sequence[tuple[Asked, Asked]]) -> list[_Difference]:
    """The outcomes of pairs, both ways for each."""
    found: list[_Difference] = []
    for a, b in pairs:
        first, second = a.prepared.examples.errors, b.prepared.examples.errors
        errors = np.where(first < 0, -1, (first == 1) & (second == 0)).astype(np.int8)
        if not (errors == 1).any():
            found.append(_Difference(a.name, b.name, None))
            continue
        name = pair_name(a.name, b.name)
        notes = (f"an error is an example that {a.name} gets wrong and {b.name} right",)
        examples = replace(
            a.prepared.examples, errors=errors, missing=0, notes=notes, models=(a.name, b.name)
        )
        plan = replace(a.plan, error=name, correct=None, score=None, pass_at=None)
        prepared = for_outcome(a.prepared, examples, name, plan)
        # Of a model's own outcome its selection says nothing; here it is one of those not used.
        not_used = {**b.prepared.selection.not_used, **a.prepared.selection.not_used}
        selection = replace(prepared.selection, not_used=not_used)
        prepared = replace(prepared, selection=selection)
        found.append(_Difference(a.name, b.name, Asked(name, plan, prepared)))
    return found


def _pairs(models: Sequence[Asked], which: Differences) -> Iterator[tuple[Asked, Asked]]:
    for i, a in enumerate(models):
        for b in models[i + 1 :]:
            if which == "all" or (which == "first" and i == 0):
                yield a, b
                yield b, a


def _shuffled(asked: Sequence[Asked], plan: Plan) -> Problem:
    """The discovery outcomes that move together; no descriptors yet."""
    first = shuffled_part(asked[0].prepared, plan)
    return together([replace(first, errors=one.prepared.part(DISCOVERY).errors) for one in asked])


def _warnings(
    asked: Sequence[Asked],
    models: int,
    shuffled: Problem,
    planned: Planned | None,
) -> tuple[list[str], list[list[str]]]:
    """What to say of the design, once for all, and what each audit says of itself."""
    start = list(remarks(planned)) if planned else []
    said: dict[str, list[str]] = {}
    for number, (one, alone) in enumerate(zip(asked, apart(shuffled), strict=True)):
        said[one.name] = design_warnings(one.plan, one.prepared, alone, read=number < models)
    return [*start, *said_once(said)], [[*start, *own] for own in said.values()]


def _screen(
    asked: Sequence[Asked], shuffled: Problem, plan: Plan, backend: Backend, running: Running
) -> Sequence[Screened | None]:
    """Screen the library for every outcome; None each when it is empty."""
    prepared = asked[0].prepared
    if not prepared.eligible:
        return [None] * len(asked)
    return screen_several(
        shuffled,
        memberships(prepared),
        [[one.prepared.discovery[g] for g in prepared.eligible] for one in asked],
        [[one.prepared.discovery[g] for g in prepared.pool] for one in asked],
        plan,
        backend,
        running,
    )
