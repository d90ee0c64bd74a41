"""What to tell a person about a design before its result is seen, and how to read the result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from janus_jax.columns import contrary_outcome
from janus_jax.interface import Problem
from janus_jax.layout import arrangements
from janus_jax.library import left_out_for_prevalence
from janus_jax.plan import METHODS, Plan
from janus_jax.possible import impossible
from janus_jax.prepare import Prepared
from janus_jax.screen import Screened
from janus_jax.split import DISCOVERY
from janus_jax.statistic import SMALLEST_P
from janus_jax.table import LOWER_IS_BETTER

_EXPECTED_DECOYS = 5  # fewer allowed decoys than this make the literal rule jumpy


def design_warnings(
    plan: Plan, prepared: Prepared, shuffled: Problem, *, read: bool = True
) -> list[str]:
    """Limits of the design that no data can overcome, known before anything random is drawn.

    ``read`` says that the outcome was read from a column, whose name may say how; else it was made,
    and what is no error there need not be right.
    """
    reading = _reading_warnings(plan, prepared) if read else ()
    return [*reading, *_warnings(plan, prepared, shuffled, read=read)]


def _warnings(plan: Plan, prepared: Prepared, shuffled: Problem, *, read: bool) -> Iterator[str]:
    if not prepared.library_size:
        yield "no descriptor is eligible, so nothing is tested; the reasons are listed"
        return
    if not plan.cluster:
        yield from few_decoys(plan, prepared)
    yield from few_for_correction(plan, prepared, shuffled)
    yield from few_for_one_p_value(plan, shuffled, "max-T")
    yield from few_labellings(plan, prepared, shuffled)
    yield from one_sided(prepared, read=read)
    yield from impossible(prepared, plan)


def few_decoys(plan: Plan, prepared: Prepared) -> Iterator[str]:
    """The literal decoys are so few that their luck decides."""
    size = prepared.library_size
    allowed = math.floor(Fraction(plan.q) * plan.decoys / size)
    if allowed < _EXPECTED_DECOYS:
        yield (
            f"K = {plan.decoys} decoys are few for L = {size} descriptors: a single finding is "
            f"allowed {allowed} decoys at q = {plan.q}, so the literal decoy rule depends on its "
            f"seed; use --decoys {math.ceil(_EXPECTED_DECOYS * size / Fraction(plan.q))}"
            + ("" if plan.rule == "decoys_exact" else " or --rule decoys_exact")
        )


def few_for_correction(plan: Plan, prepared: Prepared, shuffled: Problem) -> Iterator[str]:
    """No p-value of the shared permutations can survive a correction for the library."""
    alpha, count, size = Fraction(plan.alpha), plan.permutations, prepared.library_size
    if arrangements(shuffled, count) is None and Fraction(size, count + 1) > alpha:
        floor = float(min(Fraction(size, count + 1), Fraction(1)))
        yield (
            f"B = {count} permutations cannot give a Monte-Carlo p-value below "
            f"{1 / (count + 1):.4g}; corrected over {size} descriptors that is {floor:.4g}, above "
            f"alpha = {plan.alpha}, whatever the data: that takes B >= "
            f"{math.ceil(size / alpha) - 1}"
            + ("" if plan.cluster else ". p_exact and its BH adjustment don't depend on B")
        )


def few_for_one_p_value(plan: Plan, shuffled: Problem, by: str) -> Iterator[str]:
    """Not even one p-value of the shared permutations can reach the level."""
    alpha, count = Fraction(plan.alpha), plan.permutations
    if arrangements(shuffled, count) is None and Fraction(1, count + 1) > alpha:
        yield (
            f"B = {count} permutations cannot reach alpha = {plan.alpha} by {by}; that takes "
            f"B >= {math.ceil(1 / alpha) - 1}"
        )


def few_labellings(plan: Plan, prepared: Prepared, shuffled: Problem) -> Iterator[str]:
    """There are so few labellings that no p-value can reach the level."""
    part, possible = prepared.part(DISCOVERY), arrangements(shuffled, plan.permutations)
    rare = possible is not None and Fraction(1, possible) > Fraction(plan.alpha)
    if possible is not None and rare and 0 < part.error_count < part.n:
        yield (
            f"only {possible} distinct labelling{'s exist' if possible > 1 else ' exists'}, so no "
            f"permutation p-value can be below {1 / possible:.4g}, above alpha = {plan.alpha}"
            + ("; --cluster and --strata leave little to exchange" if plan.cluster else "")
        )


def one_sided(prepared: Prepared, *, read: bool = True) -> Iterator[str]:
    """Every example of a split is right, or every one wrong."""
    kept = ("no descriptor can be selected", "nothing can be confirmed")
    for split, part, so in zip(("discovery", "holdout"), prepared.parts, kept, strict=False):
        if part.error_count not in (0, part.n):
            continue
        if read:
            side = "wrong" if part.error_count else "right"
            yield f"every {split} example is {side}: {so}"
        else:
            how_many = "every" if part.error_count else "no"
            yield f"{how_many} {split} example counts as an error here: {so}"


def _reading_warnings(plan: Plan, prepared: Prepared) -> Iterator[str]:
    """The table looks as if it were read the wrong way round, or its rows were not independent."""
    table = prepared.examples.table
    outcome, log = table.header_of(plan.outcome_column), table.log
    said = contrary_outcome(outcome, plan.outcome_kind)
    if said:
        yield said
    elif log and plan.outcome_kind == "error" and not outcome.endswith(LOWER_IS_BETTER):
        yield (
            f"--error {outcome} takes a high score of this log as wrong; the scores of logs mostly "
            f"say what is right: --correct {outcome}"
        )
    if not plan.cluster:
        for column in prepared.selection.groups:
            yield (
                f"rows share values of {column!r}; if they belong together they are not "
                "independent, p-values are too small and intervals too short: run again with "
                f"--cluster {column}"
            )


def reading_notes(plan: Plan, prepared: Prepared, screened: Screened | None) -> list[str]:
    """Everything a reader should know about how the numbers came about."""
    return [
        *prepared.examples.table.notes,
        *prepared.examples.notes,
        *prepared.selection.notes,
        *_data_notes(plan, prepared),
        *(_method_notes(plan, screened, prepared) if screened else ()),
        *(_effect_notes(plan, prepared, screened) if screened else ()),
    ]


def _data_notes(plan: Plan, prepared: Prepared) -> Iterator[str]:
    for column, levels in prepared.descriptors.holdout_only.items():
        shown = ", ".join(map(repr, levels[:10])) + (", ..." if len(levels) > 10 else "")
        yield f"column {column!r}: levels that only holdout has were never screened: {shown}"
    missing = prepared.missing
    if any(missing.values()):
        listed = ", ".join(f"{name!r} {count}" for name, count in missing.items() if count)
        yield (
            f"missing values, which count as outside every slice of their column: {listed}; "
            "lift_known is the lift among the rows that have one"
        )
    rules = plan.eligibility
    for_prevalence = sum(
        left_out_for_prevalence(prepared.discovery[g], prepared.holdout_of(g), rules)
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
    if not prepared.has_holdout:
        yield "there is no holdout: nothing can be confirmed"


def _method_notes(plan: Plan, screened: Screened, prepared: Prepared) -> Iterator[str]:
    yield (
        "p-values are two-sided by |lift|: the share of labellings whose |lift| is at least as "
        "large (not Fisher's rule, not a doubled tail)"
    )
    if screened.closed:
        yield (
            f"Procedure A has no '+1', as published; {plan.decoys} decoys resolve the estimated "
            f"FDP in steps of L/K = {len(screened.thresholds.own) / plan.decoys:.4g} / R"
        )
    yield from _cluster_notes(plan, screened, prepared.part(DISCOVERY).n)
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
    if screened.closed and min(screened.closed.p_exact) <= SMALLEST_P:
        yield f"p-values below {SMALLEST_P:.1e} leave the range of floats and are given as that"
    if prepared.has_holdout:
        yield "the holdout gate is a check of size and sign, not a significance test"


def _effect_notes(plan: Plan, prepared: Prepared, screened: Screened) -> Iterator[str]:
    """How to read the sizes of lifts, and the intervals of the holdout ones."""
    selected = any(screened.selected[plan.rule])
    if selected:
        yield (
            "the discovery lift of a selected descriptor is the winner of a selection and tends "
            "to be too large"
            + ("; read the holdout lift for its size" if prepared.has_holdout else "")
        )
    if not prepared.has_holdout:
        return
    if plan.cluster:
        yield (
            "holdout lifts have no interval: rows of a cluster are not independent, and one that "
            "takes them as independent would be too short"
        )
    else:
        yield (
            "the 95% interval of a holdout lift is Newcombe's for two independent rates (1998, "
            "method 10)"
            + (", of the plain lift, not of the stratum-adjusted one" if plan.strata else "")
        )
        if selected:
            yield (
                "the interval of a confirmed descriptor is conditional on having passed the gate: "
                "a true lift well above the gate is covered in about 95% of cases; one well below "
                "it seldom passes, and where it does the interval covers it less often (a true "
                "lift of 0 and a gate of 0.10, half of the examples inside, error rates of 20 to "
                "50%: 89 to 90% with 60 holdout examples, 64 to 80% with 160, hardly ever with 600)"
            )
    bare = sum(prepared.holdout[g].plain_lift is None for g in prepared.eligible)
    if bare:
        yield (
            f"{bare} descriptors of the library have nothing inside or nothing outside their slice "
            "in holdout: they have no lift there and are not in the holdout means of the methods"
        )


def _cluster_notes(plan: Plan, screened: Screened, n: int) -> Iterator[str]:
    permuted = screened.permuted
    if permuted.movable is None:
        return
    still = "" if permuted.movable == n else "; clusters of a size that occurs once stay"
    yield (
        f"whole error patterns are exchanged among clusters of {plan.cluster!r} of equal size"
        + (" and stratum" if plan.strata else "")
        + f": {permuted.movable} of {n} discovery rows can move{still}"
    )
    if still:
        yield (
            "a cluster keeps its size, so where large clusters err more (or less) than small ones "
            "a part of each lift stays in every exchange: p-values compare |lift| with what the "
            "exchanges give, not with 0, and a descriptor that goes with size can dominate max-T"
        )
    absent = ", ".join(method for method in METHODS if method not in screened.selected)
    yield (
        "exchanging clusters has no closed form: there is no p_exact and no stability, unadjusted "
        f"and BH p-values come from the exchanges, and these methods are left out: {absent}"
    )
