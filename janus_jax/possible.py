"""What a rule can do at best with the margins of a design, whatever the errors turn out to be.

Margins are known before any error is compared with a descriptor: how many examples, how many
errors, how many inside each slice. Where even the most extreme count of every descriptor, all at
once, would not be selected, or no holdout count could pass the gate, running is in vain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from janus_jax.exchange import shuffled_part
from janus_jax.layout import arrangements
from janus_jax.library import Part, holdout_support_reason
from janus_jax.plan import FIXED_LIFT, Plan
from janus_jax.prepare import Prepared
from janus_jax.rules import benjamini_hochberg, procedure_a_exact
from janus_jax.statistic import (
    Margins,
    Thresholds,
    exact_exceedances,
    expected_exceedances,
    rank_all,
)

# The mean of B shuffles is farther than sqrt(14 / B) below its expectation with a probability of at
# most exp(-28) = 7e-13 (Hoeffding 1963, for a quantity between 0 and 1).
_SURE = 14


def impossible(prepared: Prepared, plan: Plan) -> Iterator[str]:
    """Say what the plan's primary rule cannot do with these margins; nothing when it can.

    A rule whose limit comes from sampled permutations can owe a selection to their luck; of those
    it is said where that has a probability below 1e-12 for each descriptor.

    Splits in which every example is right, or every one wrong, are not spoken of here.
    """
    part = prepared.parts[0]
    library = [prepared.discovery[g].margins for g in prepared.eligible]
    if not library:
        return
    if 0 < part.error_count < part.n and not _can_select(prepared, plan, library):
        yield (
            f"{plan.rule} cannot select anything here, whatever the data: with "
            f"{_errors(part)} among {part.n} discovery examples not even the most "
            f"extreme counts of all L = {len(library)} descriptors would pass; it takes more "
            "errors, more examples, or fewer and more balanced descriptors"
        )
    if not prepared.has_holdout:
        return
    held = prepared.parts[1]
    if 0 < held.error_count < held.n and not _can_confirm(prepared, plan):
        yield (
            f"nothing can be confirmed here, whatever the data: with {_errors(held)} "
            f"among {held.n} holdout examples no descriptor can reach a holdout |lift| of "
            f"{plan.min_holdout_lift}; it takes a larger holdout or a smaller --min-holdout-lift"
        )


def _errors(part: Part) -> str:
    return f"{part.error_count} error{'' if part.error_count == 1 else 's'}"


def _can_select(prepared: Prepared, plan: Plan, library: Sequence[Margins]) -> bool:
    best = [_extreme(margins) for margins in library]
    if plan.rule == "fixed_lift":
        return any(abs(m.lift(a)) >= FIXED_LIFT for m, a in zip(library, best, strict=True))
    if plan.cluster or plan.rule in ("decoys", "fixed_floor"):
        return True  # whatever decoys or exchanges come up: nothing is certain beforehand
    sampled = plan.rule in ("max_t", "max_t_step_down", "mean_count") and (
        arrangements(shuffled_part(prepared, plan), plan.permutations) is None
    )
    luck = math.sqrt(_SURE / plan.permutations) if sampled else 0.0
    if plan.rule in ("unadjusted", "bh_05", "bh_10", "max_t", "max_t_step_down"):
        p = [m.p_value(a) for m, a in zip(library, best, strict=True)]
        if not plan.rule.startswith("bh"):
            # The smallest of them bounds every adjusted p-value from below.
            g = min(range(len(p)), key=p.__getitem__)
            if sampled:
                return p[g] <= float(plan.alpha) + luck
            return library[g].exact_p_value(best[g]) <= Fraction(plan.alpha)
        limit = Fraction(f"0.{plan.rule[-2:]}")
        return any(benjamini_hochberg(p, limit, lambda g: library[g].exact_p_value(best[g])))
    of_library = plan.rule in ("mean_count", "mean_count_exact")
    sources = library if of_library else [prepared.discovery[g].margins for g in prepared.pool]
    if not sources:
        return False
    # Between two of the largest attainable values R can be no larger than at the upper one, and the
    # expected exceedances are fewest there: these thresholds decide.
    thresholds = Thresholds([m.key(a) for m, a in zip(library, best, strict=True)])
    ranks = rank_all(sources, thresholds)
    scale, q = Fraction(len(library), len(sources)), Fraction(plan.q)
    expected = expected_exceedances(sources, ranks, len(thresholds)) * float(scale)
    if sampled:
        limits = float(q) * thresholds.reached + len(library) * luck
        return bool((expected <= limits).any())
    index = procedure_a_exact(
        expected.tolist(),
        thresholds.reached.tolist(),
        q,
        lambda j: scale * exact_exceedances(sources, thresholds.keys[j]),
    )
    return index is not None


def _extreme(margins: Margins) -> int:
    """The attainable count farthest from the centre."""
    return max(margins.span, key=lambda count: abs(margins.signed_distance(count)))


def _can_confirm(prepared: Prepared, plan: Plan) -> bool:
    limit = Fraction(plan.min_holdout_lift)
    for counts in (prepared.holdout[g] for g in prepared.eligible):
        lift = abs(counts.margins.lift(_extreme(counts.margins)))
        if lift and lift >= limit and not holdout_support_reason(counts, plan.eligibility):
            return True
    return False
