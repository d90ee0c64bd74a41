"""Two models in one slice: where they disagree, and which of them loses ground there.

That "A wrong, B right" concentrates in a slice does not say that A is the worse there: "B wrong, A
right" may concentrate there as well, since models disagree more on what is hard. What says it is
the difference of the two models' lifts, which is that of the two outcomes' lifts too::

    lift(A) - lift(B) = lift(A wrong, B right) - lift(B wrong, A right)

(examples that both get wrong cancel).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from janus_jax.effects import paired_difference
from janus_jax.library import Counts
from janus_jax.plan import Plan
from janus_jax.ranking import FINDINGS
from janus_jax.several.answered import Answered, Difference


def pairs(
    models: Sequence[Answered], differences: Sequence[Difference], plan: Plan
) -> list[dict[str, Any]]:
    """For each two models that were compared, what was found for either of them alone.

    Parameters
    ----------
    models
        The models, in the order named.
    differences
        What one of two models gets wrong and the other right, both ways.
    plan
        Where rows come in clusters there are no intervals, nor without a holdout: the examples that
        selected a slice cannot tell how large its difference is. Where there are strata, the
        difference of the adjusted lifts, by which the two outcomes are screened, stands beside the
        plain one, whose interval there is.

    Returns
    -------
    list of dict
        For each two models a finding is a descriptor that was found for one of the two outcomes.
        Counts are of holdout, or of discovery where there is none.
    """
    order = {one.name: place for place, one in enumerate(models)}
    both = {(one.wrong, one.right): one for one in differences}
    made: list[dict[str, Any]] = []
    for (first, second), ahead in both.items():
        if order[first] < order[second]:
            back = both[second, first]
            if ahead.answered or back.answered:
                found = _found(ahead, back, models[order[first]], plan)
                made.append({"models": [first, second], "findings": list(found)})
    return made


def _found(
    ahead: Difference, back: Difference, model: Answered, plan: Plan
) -> Iterator[dict[str, Any]]:
    for g, item in enumerate(model.prepared.descriptors.items):
        statuses = {one.wrong: _status(one, g) for one in (ahead, back)}
        if FINDINGS.isdisjoint(filter(None, statuses.values())):
            continue
        size = _judged(model, g)
        wrong: dict[str, dict[str, Any]] = {one.wrong: _only_wrong(one, g) for one in (ahead, back)}
        on, off = ((wrong[ahead.wrong][side], wrong[back.wrong][side]) for side in ("on", "off"))
        low = high = None
        if plan.cluster is None and model.prepared.has_holdout and size.on and size.off:
            low, high = paired_difference(*on, size.on, *off, size.off)
        net = (
            Fraction(on[0] - on[1], size.on) - Fraction(off[0] - off[1], size.off)
            if size.on and size.off
            else None
        )
        difference = {"lift": None if net is None else float(net), "low": low, "high": high}
        if plan.strata is not None:
            adjusted = {one.wrong: _adjusted(one, g) for one in (ahead, back)}
            for name, lift in adjusted.items():
                wrong[name]["lift_adjusted"] = None if net is None else float(lift)
            net_adjusted = adjusted[ahead.wrong] - adjusted[back.wrong]
            difference["adjusted"] = None if net is None else float(net_adjusted)
        yield {
            "name": item.name,
            "statuses": statuses,
            "on": size.on,
            "off": size.off,
            "only_wrong": wrong,
            "difference": difference,
        }


def _judged(one: Answered, g: int) -> Counts:
    prepared = one.prepared
    return prepared.holdout[g] if prepared.has_holdout else prepared.discovery[g]


def _status(one: Difference, g: int) -> str | None:
    return one.answered.document["descriptors"][g]["status"] if one.answered else None


def _adjusted(one: Difference, g: int) -> Fraction:
    """The lift that is screened; no errors have none."""
    return _judged(one.answered, g).lift if one.answered else Fraction(0)


def _only_wrong(one: Difference, g: int) -> dict[str, int]:
    if one.answered is None:  # the one is never wrong where the other is right
        return {"on": 0, "off": 0}
    counts = _judged(one.answered, g)
    return {"on": counts.errors_on, "off": counts.errors_off}
