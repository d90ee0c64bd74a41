"""What to tell a person about a design before its result is seen, and how to read the result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from janus_jax.hypergeometric import labellings
from janus_jax.library import left_out_for_prevalence
from janus_jax.plan import Plan
from janus_jax.prepare import Prepared
from janus_jax.screen import Screened
from janus_jax.split import DISCOVERY

_EXPECTED_DECOYS = 5  # fewer allowed decoys than this make the literal rule jumpy


def design_warnings(plan: Plan, prepared: Prepared) -> list[str]:
    """Limits of the design that no data can overcome, known before anything random is drawn."""
    return list(_warnings(plan, prepared))


def _warnings(plan: Plan, prepared: Prepared) -> Iterator[str]:
    size, part = prepared.library_size, prepared.part(DISCOVERY)
    if not size:
        yield "no descriptor is eligible, so nothing is tested; see the reasons in the table"
        return
    allowed = math.floor(Fraction(plan.q) * plan.decoys / size)
    if allowed < _EXPECTED_DECOYS:
        yield (
            f"K = {plan.decoys} decoys are few for L = {size} descriptors: a single finding is "
            f"allowed {allowed} decoys at q = {plan.q}, so the literal decoy rule depends on its "
            f"seed; use --decoys {math.ceil(_EXPECTED_DECOYS * size / Fraction(plan.q))}"
            + ("" if plan.rule == "decoys_exact" else " or --rule decoys_exact")
        )
    alpha, count = Fraction(plan.alpha), plan.permutations
    possible = labellings(part.stratum_sizes, part.stratum_errors, count)
    if possible is None and Fraction(size, count + 1) > alpha:
        floor = float(min(Fraction(size, count + 1), Fraction(1)))
        yield (
            f"B = {count} permutations cannot give a Monte-Carlo p-value below "
            f"{1 / (count + 1):.4g}; corrected over {size} descriptors that is {floor:.4g}, above "
            f"alpha = {plan.alpha}, whatever the data: that takes B >= "
            f"{math.ceil(size / alpha) - 1}. p_exact and its BH adjustment don't depend on B"
        )
    if possible is None and Fraction(1, count + 1) > alpha:
        yield (
            f"B = {count} permutations cannot reach alpha = {plan.alpha} by max-T; that takes "
            f"B >= {math.ceil(1 / alpha) - 1}"
        )
    if part.error_count in (0, part.n):
        side = "right" if part.error_count == 0 else "wrong"
        yield f"every discovery example is {side}: no descriptor can be selected"
    if prepared.holdout:
        held = prepared.parts[1]
        if held.error_count in (0, held.n):
            side = "right" if held.error_count == 0 else "wrong"
            yield f"every holdout example is {side}: nothing can be confirmed"


def reading_notes(plan: Plan, prepared: Prepared, screened: Screened | None) -> list[str]:
    """Everything a reader should know about how the numbers came about."""
    return [
        *prepared.examples.table.notes,
        *prepared.examples.notes,
        *prepared.selection.notes,
        *_data_notes(plan, prepared),
        *(_method_notes(plan, screened) if screened is not None else ()),
    ]


def _data_notes(plan: Plan, prepared: Prepared) -> Iterator[str]:
    for column, levels in prepared.descriptors.holdout_only.items():
        shown = ", ".join(map(repr, levels[:10])) + (", ..." if len(levels) > 10 else "")
        yield f"column {column!r}: levels that only holdout has were never screened: {shown}"
    counted = np.concatenate([part.rows for part in prepared.parts])
    absent = {used.name: int((~used.known[counted]).sum()) for used in prepared.selection.used}
    if any(absent.values()):
        listed = ", ".join(f"{name!r} {count}" for name, count in absent.items() if count)
        yield f"missing values, which are in no slice of their column: {listed}"
    rules = plan.eligibility
    for_prevalence = sum(
        left_out_for_prevalence(
            prepared.discovery[g], prepared.holdout[g] if prepared.holdout else None, rules
        )
        for g in range(len(prepared.discovery))
    )
    if for_prevalence:
        more = (
            ""
            if plan.statistic == "z"
            else "; --statistic z with --min-prevalence 0 --max-prevalence 1 can take them"
        )
        yield f"{for_prevalence} descriptors were left out for prevalence alone{more}"
    aliased = sum(bool(prepared.aliases[g]) for g in prepared.eligible)
    if aliased:
        yield (
            f"{aliased} descriptors of the library draw the same line as another one (identical "
            f"or complementary; see aliases): they count in L = {prepared.library_size} but are "
            "not separate findings"
        )
    if plan.cluster:
        yield (
            f"clusters of {plan.cluster!r} stay whole in the split, but the tests treat rows as "
            "exchangeable: p-values are too small for descriptors that are constant in a cluster"
        )
    if not prepared.holdout:
        yield "there is no holdout: nothing can be confirmed"


def _method_notes(plan: Plan, screened: Screened) -> Iterator[str]:
    yield (
        "p-values are two-sided by |lift|: the share of labellings whose |lift| is at least as "
        "large (not Fisher's rule, not a doubled tail)"
    )
    yield (
        f"Procedure A has no '+1', as published; {plan.decoys} decoys resolve the estimated FDP in "
        f"steps of L/K = {float(Fraction(len(screened.thresholds.own), plan.decoys)):.4g} / R"
    )
    permuted, size = screened.permuted, screened.permuted.tally.permutations
    if permuted.enumerated:
        least = min(screened.p_monte_carlo.tolist())
        yield (
            f"only {permuted.labellings} distinct labellings exist: all were enumerated, so max-T "
            f"and mean-count are exact; the smallest p-value found is {least:.4g}"
        )
    else:
        yield (
            f"max-T, mean-count and p_monte_carlo come from B = {size} shared permutations with "
            f"seed {plan.seed}; the smallest p-value they can give is 1/(B+1) = "
            f"{1 / (size + 1):.4g}"
        )
    statistic = "|lift|" if plan.statistic == "lift" else "|z|"
    yield f"the statistic that is ranked, and whose maximum max-T takes, is {statistic}"
    if plan.strata:
        yield (
            f"errors and decoy labels are shuffled within strata of {plan.strata!r}, and lifts are "
            "stratum-adjusted"
        )
    yield "the holdout gate is a check of size and sign, not a significance test"
