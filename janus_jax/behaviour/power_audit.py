"""The design of an audit that is described by its data and options, for a power study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, Unpack

from janus_jax.behaviour.given import number
from janus_jax.behaviour.power_design import Design, design_of_audit, without_part
from janus_jax.plan import Plan, PlanOptions
from janus_jax.plans.file import PlanSource, chosen_plan
from janus_jax.plans.planned import Planned
from janus_jax.prepare import prepare
from janus_jax.reading import ReadOptions, read, read_options

RATES: Final = ("base_error", "prevalence")
"""What can be assumed otherwise than the audit's data say."""


def audit_design(
    source: object,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    log: Mapping[str, Any] | None = None,
    plan: PlanSource | None = None,
    base_error: float | str | None = None,
    prevalence: float | str | None = None,
    **options: Unpack[PlanOptions],
) -> Design:
    """Take the design of an audit: what :func:`janus_jax.power` needs as ``design``.

    Sizes, L and eligibility are those the audit will have; p0 is its overall error rate, and every
    descriptor gets one prevalence, the median over the eligible library. No error is compared with
    any descriptor.

    Parameters
    ----------
    source, delimiter, encoding, log, plan
        As for :func:`janus_jax.audit`.
    base_error, prevalence
        In place of the audit's own.
    **options
        The audit's, see :class:`janus_jax.plan.Plan`. Those without a part in power are named in
        the design's notes.

    Returns
    -------
    Design

    Raises
    ------
    InputError
        The data or an option is wrong, nothing is eligible, there is no holdout, or the rule's
        power is not simulated; the message says what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> wrong = [True, False] * 30 + [False] * 20
    >>> table = pd.DataFrame({"long": [True, False] * 40, "wrong": wrong})
    >>> design = audit_design(table, error="wrong")
    >>> design.n_discovery, design.n_holdout, design.library, design.base_error
    (40, 40, 1, '3/8')
    """
    checked, planned = chosen_plan(options, plan)
    reading = read_options(delimiter, encoding, log)
    rates = {"base_error": base_error, "prevalence": prevalence}
    return read_design(source, checked, reading, planned=planned, rates=rates, given=options)


def read_design(
    source: object,
    plan: Plan,
    reading: ReadOptions,
    *,
    planned: Planned | None,
    rates: Mapping[str, Any],
    given: Mapping[str, Any],
) -> Design:
    """Read and prepare the audit that a checked plan describes; see :func:`audit_design`.

    Parameters
    ----------
    planned
        The plan file that ``plan`` comes from, if it does.
    rates
        :data:`RATES`; None keeps the audit's.
    given
        The options that were given explicitly.
    """
    own = {
        name: number(f"--{name.replace('_', '-')}", value, Fraction(0))
        for name, value in rates.items()
        if value is not None
    }
    table, plan = read(source, reading, plan, planned.log if planned else None)
    design = design_of_audit(prepare(table, plan, planned), plan)
    said = (*design.simplified, *without_part(given, design.rule))
    return replace(design, **own, simplified=said)
