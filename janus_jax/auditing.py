"""The audit: a table in, a result out. Data flows one way through the modules named here."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from janus_jax import __version__, registry
from janus_jax.advice import design_warnings
from janus_jax.document import make_document
from janus_jax.errors import InputError
from janus_jax.interface import Backend
from janus_jax.permutations import Progress
from janus_jax.plan import Plan, make_plan
from janus_jax.prepare import Prepared, prepare
from janus_jax.readers import read
from janus_jax.result import AuditResult
from janus_jax.screen import Screened, screen
from janus_jax.split import DISCOVERY

DEFAULT_MEMORY = 256 * 2**20
"""Bytes the permutations in flight may use."""

# Fewer label draws than this take NumPy less time than importing and compiling JAX takes.
_SMALL_WORK = 20_000_000


def audit(source: object, **options: Any) -> AuditResult:
    """Find where errors concentrate: screen on discovery, confirm on holdout.

    Parameters
    ----------
    source
        A path, several paths, a pandas DataFrame, or any Arrow-compatible table (polars, pyarrow):
        one row per example.
    **options
        The command line's options with underscores: ``error="wrong"`` or ``correct=`` or ``score=``
        with ``pass_at=``; ``descriptor=``, ``exclude=``, ``conjunction=`` ... as
        :class:`janus_jax.plan.Plan` lists them, and those of :func:`run_audit`.

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
    running = {name: options.pop(name) for name in _RUN_OPTIONS if name in options}
    return run_audit(source, make_plan(options), **running)


_RUN_OPTIONS = (
    "backend",
    "batch",
    "memory",
    "delimiter",
    "encoding",
    "progress",
    "warn",
    "command",
)


def run_audit(
    source: object,
    plan: Plan,
    *,
    backend: str = "auto",
    batch: int | None = None,
    memory: int = DEFAULT_MEMORY,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
    command: str | None = None,
) -> AuditResult:
    """Run the audit that a checked plan describes.

    Parameters
    ----------
    source
        As for :func:`audit`.
    plan
        What to compute. None of the other parameters changes a result.
    backend
        "auto", or the name of one that must run.
    batch
        Permutations side by side; None takes what ``memory`` (bytes) holds.
    delimiter, encoding
        How to read text files.
    progress
        Called with permutations done and wanted.
    warn
        Called with each warning about the design before anything random is computed.
    command
        The command line, for the record.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    if batch is not None and batch < 1:
        raise InputError(f"--batch is {batch}, but it must be at least 1")
    if backend != "auto":
        registry.get(backend)  # a backend that cannot run is known before the data are read
    prepared = prepare(read(source, delimiter=delimiter, encoding=encoding), plan)
    warnings = design_warnings(plan, prepared)
    if warn is not None:
        for text in warnings:
            warn(text)
    chosen, reasons = _choose_backend(backend, plan, prepared)
    screened = _screen(prepared, plan, chosen, batch, memory, progress)
    document = make_document(prepared, plan, screened, warnings)
    described = chosen.describe()
    document["run"] = {
        "version": __version__,
        "backend": described.name,
        "backend_version": described.version,
        "device": described.device,
        "backends_not_taken": reasons,
        "numpy": np.__version__,
        "batch": batch,
        "memory": memory,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 3),
        "command": command,
    }
    return AuditResult(document)


def _choose_backend(name: str, plan: Plan, prepared: Prepared) -> tuple[Backend, list[str]]:
    if name != "auto":
        return registry.get(name), []
    draws = prepared.part(DISCOVERY).n * (plan.permutations + plan.decoys)
    if draws < _SMALL_WORK:
        return registry.get("numpy"), ["jax: not needed for so little work"]
    return registry.auto()


def _screen(
    prepared: Prepared,
    plan: Plan,
    backend: Backend,
    batch: int | None,
    memory: int,
    progress: Progress | None,
) -> Screened | None:
    """Screen the library; None when it is empty."""
    eligible = prepared.eligible
    if not eligible:
        return None
    part = prepared.part(DISCOVERY)
    memberships = np.array([prepared.descriptors.items[g].members[part.rows] for g in eligible])
    return screen(
        part,
        memberships,
        [prepared.discovery[g] for g in eligible],
        [prepared.discovery[g] for g in prepared.pool],
        plan,
        backend,
        memory=memory,
        batch=batch,
        progress=progress,
    )
