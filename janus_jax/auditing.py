"""The audit: a table in, a result out. Data flows one way through the modules named here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from janus_jax import registry
from janus_jax.advice import design_warnings
from janus_jax.checkpoint import Checkpoint
from janus_jax.document import make_document
from janus_jax.errors import InputError
from janus_jax.exchange import memberships, shuffled_part
from janus_jax.interface import Backend, Problem
from janus_jax.permutations import DEFAULT_MEMORY, Progress, Running
from janus_jax.plan import (
    PLAN_OPTIONS,
    DecimalText,
    Method,
    MissingOutcome,
    Names,
    Plan,
    Repeats,
    StatisticName,
    names_given,
)
from janus_jax.plans.file import PlanSource, chosen_plan
from janus_jax.plans.planned import Planned
from janus_jax.plans.verifying import remarks
from janus_jax.prepare import Prepared, prepare
from janus_jax.processes import ALONE, BACKEND
from janus_jax.reading import ReadOptions, read, read_options
from janus_jax.record import Stopwatch
from janus_jax.result import AuditResult
from janus_jax.screen import Screened, screen
from janus_jax.slice_examples import check_shown
from janus_jax.split import DISCOVERY
from janus_jax.table import Table


def audit(
    source: object,
    *,
    plan: PlanSource | None = None,
    error: str | None = None,
    correct: str | None = None,
    score: str | None = None,
    pass_at: DecimalText | None = None,
    missing_outcome: MissingOutcome | None = None,
    id: Names | None = None,
    repeats: Repeats | None = None,
    cluster: str | None = None,
    descriptor: Names | None = None,
    include: Names | None = None,
    exclude: Names | None = None,
    categorical: Names | None = None,
    numeric: Names | None = None,
    na: Names | None = None,
    conjunction: Names | None = None,
    pairs: bool | None = None,
    split_column: str | None = None,
    discovery: DecimalText | None = None,
    seed: int | None = None,
    stratify: str | None = None,
    preset: str | None = None,
    min_support: int | None = None,
    min_prevalence: DecimalText | None = None,
    max_prevalence: DecimalText | None = None,
    statistic: StatisticName | None = None,
    rule: Method | None = None,
    decoys: int | None = None,
    q: DecimalText | None = None,
    alpha: DecimalText | None = None,
    min_holdout_lift: DecimalText | None = None,
    permutations: int | None = None,
    strata: str | None = None,
    backend: str = "auto",
    batch: int | None = None,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    log: Mapping[str, Any] | None = None,
    examples: Names | None = None,
) -> AuditResult:
    """Find where errors concentrate: screen on discovery, confirm on holdout.

    Parameters
    ----------
    source
        A path, several paths, a pandas DataFrame, or any Arrow-compatible table (polars, pyarrow):
        one row per example; or evaluation logs, recognised by content.
    plan
        A plan file made by :func:`janus_jax.plans.drafting.plan`: all options come from it, and the
        table must be the one it was made from. None: they are given here.
    error, correct, score
        The outcome column, exactly one of them: true = wrong, true = right, or a score that is
        right from ``pass_at`` up.
    pass_at, missing_outcome, id, repeats, cluster
        How outcomes and examples are read.
    descriptor, include, exclude, categorical, numeric, na, conjunction, pairs
        What to test.
    split_column, discovery, seed, stratify
        How examples are dealt to discovery and holdout.
    preset, min_support, min_prevalence, max_prevalence
        Which descriptors are eligible.
    statistic, rule, decoys, q, alpha, min_holdout_lift, permutations, strata
        How the library is screened and confirmed.
    backend, batch, memory
        What draws the permutations: "auto" or a name; how many side by side; bytes they may use.
        None of these changes a result.
    progress
        Called with permutations done and wanted.
    checkpoint, resume
        A file that keeps the sums of a long run, and whether to go on from it.
    delimiter, encoding
        Of text files.
    log
        What to choose of an evaluation log, by the command line's words: ``{"filter":
        "strict-match", "metric": "exact_match"}``.
    examples
        Columns whose cells are shown with the examples of each selected slice: any of the table as
        read. It changes neither the descriptors nor a decision, and goes with ``plan`` too.

    All but ``plan`` and the last six groups are described in :class:`janus_jax.plan.Plan`, with
    their defaults; None takes the preset's value, then the default. They are the command line's
    options.

    Returns
    -------
    AuditResult

    Raises
    ------
    InputError
        The data or an option is wrong; the message says what to do.
    BackendUnavailable
        The backend that was named cannot run here.

    References
    ----------
    Janus: *Measurement Under Selection: Decoy-Calibrated Failure Audits for Language Models*, arXiv
    2606.09046.

    Examples
    --------
    >>> import pandas as pd
    >>> wrong = [True, False] * 30 + [False] * 20
    >>> table = pd.DataFrame({"long": [True, False] * 40, "wrong": wrong})
    >>> result = audit(table, error="wrong", permutations=999)
    >>> result.confirmed
    ['long']
    """
    given = locals()
    checked, planned = chosen_plan({name: given.get(name) for name in PLAN_OPTIONS}, plan)
    if resume and checkpoint is None:
        raise InputError("resume=True needs checkpoint=FILE, the file to go on from")
    kept = Checkpoint(checkpoint, resume=resume, processes=ALONE) if checkpoint else None
    running = Running(memory=memory, batch=batch, progress=progress, checkpoint=kept)
    result = run_audit(
        source,
        checked,
        planned,
        Setting(
            backend=backend,
            running=running,
            reading=read_options(delimiter, encoding, log),
            examples=() if examples is None else names_given("--examples", examples),
        ),
    )
    if kept is not None:
        kept.remove()
    return result


@dataclass(frozen=True, slots=True)
class Setting:
    """How an audit is run and told; nothing here changes a decision.

    Attributes
    ----------
    backend
        "auto", or the name of one that must run.
    running
        Memory, progress, checkpoint and processes. The checkpoint stays until the caller, who knows
        when the result is safe, removes it.
    reading
        How the source is read.
    warn
        Called with each warning about the design before anything random is computed.
    command
        The command line, for the record.
    examples
        Columns that are shown with the examples of each selected slice.
    """

    backend: str = "auto"
    running: Running = field(default_factory=Running)
    reading: ReadOptions = field(default_factory=ReadOptions)
    warn: Callable[[str], None] | None = None
    command: str | None = None
    examples: Sequence[str] = ()


def run_audit(
    source: object, plan: Plan, planned: Planned | None = None, setting: Setting | None = None
) -> AuditResult:
    """Run the audit that a checked plan describes.

    Parameters
    ----------
    source
        As for :func:`audit`.
    plan
        What to compute.
    planned
        The plan file that ``plan`` comes from, if it does.
    setting
        How to run it.
    """
    clock, setting = Stopwatch(), setting or Setting()
    check_setting(setting)
    table, plan = read(source, setting.reading, plan, planned.log if planned else None)
    return audit_table(table, plan, planned, setting, clock)


def audit_table(
    table: Table, plan: Plan, planned: Planned | None, setting: Setting, clock: Stopwatch
) -> AuditResult:
    """Audit a table that was read; see :func:`run_audit`. The clock runs since it began."""
    shown = check_shown(table, setting.examples)
    prepared = prepare(table, plan, planned)
    shuffled = shuffled_part(prepared, plan)
    warnings = design_warnings(plan, prepared, shuffled)
    if planned is not None:
        warnings = [*remarks(planned), *warnings]
    tell(warnings, planned, setting)
    chosen, reasons = choose_backend(plan, prepared, setting)
    screened = _screen(prepared, shuffled, plan, chosen, setting.running)
    document = make_document(prepared, plan, screened, warnings, planned, shown)
    document["run"] = run_section(clock, chosen, reasons, setting)
    return AuditResult(document)


def check_setting(setting: Setting) -> None:
    """Refuse what cannot run, before the data are read."""
    running, backend = setting.running, setting.backend
    running.check()
    if running.processes.count > 1 and backend not in ("auto", BACKEND):
        raise InputError(
            f"--distributed works with --backend {BACKEND} only, whose runtime is how the "
            f"processes meet; {backend!r} runs in one process"
        )
    if backend != "auto":
        registry.get(backend)


def tell(warnings: Sequence[str], planned: Planned | None, setting: Setting) -> None:
    """Say warnings before anything random is computed.

    One that advises an option, which a plan does not take beside it, says so.
    """
    if setting.warn is None:
        return
    for text in warnings:
        fixed = planned is not None and "--" in text
        setting.warn(f"{text} (in a new plan: this one is fixed)" if fixed else text)


def choose_backend(plan: Plan, prepared: Prepared, setting: Setting) -> tuple[Backend, list[str]]:
    """The backend that is to run, and why others cannot."""
    if setting.backend == "auto" and setting.running.processes.count > 1:
        return registry.get(BACKEND), []
    draws = prepared.part(DISCOVERY).n * (plan.permutations + plan.decoys)
    return registry.choose(setting.backend, draws)


def run_section(
    clock: Stopwatch, backend: Backend, reasons: Sequence[str], setting: Setting
) -> dict[str, Any]:
    """What ran, how and for how long: the part of a document that may differ between machines."""
    return {
        **clock.record(setting.command, backend, list(reasons)),
        "batch": setting.running.batch,
        "memory": setting.running.memory,
        "processes": setting.running.processes.count,
    }


def _screen(
    prepared: Prepared, shuffled: Problem, plan: Plan, backend: Backend, running: Running
) -> Screened | None:
    """Screen the library; None when it is empty."""
    if not prepared.eligible:
        return None
    return screen(
        shuffled,
        memberships(prepared),
        [prepared.discovery[g] for g in prepared.eligible],
        [prepared.discovery[g] for g in prepared.pool],
        plan,
        backend,
        running,
    )
