"""The result of a comparison as one JSON document, ``janus-jax/comparison/1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from janus_jax.document import plan_section
from janus_jax.plan import Plan
from janus_jax.plans.planned import Planned
from janus_jax.ranking import FINDINGS, by_rank
from janus_jax.several.answered import Answered, Difference
from janus_jax.several.found import deciding_lift, kind_of
from janus_jax.several.pairs import pairs

SCHEMA = "janus-jax/comparison/1"


def comparison_document(
    models: Sequence[Answered],
    differences: Sequence[Difference],
    plan: Plan,
    planned: Planned | None,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Put the comparison together; ``run`` is added by whoever ran it.

    Parameters
    ----------
    models
        The models, in the order named.
    differences
        What one of two models gets wrong and the other right, both ways for each two.
    """
    data = dict(models[0].document["data"])
    for part in ("discovery", "holdout"):
        if data[part] is not None:
            data[part] = {"n": data[part]["n"]}
    del data["outcome"]
    return {
        "schema": SCHEMA,
        "data": data,
        "plan": plan_section(plan, planned),
        "rule": plan.rule,
        "models": [
            {"name": one.name, "errors": _errors(one), "audit": one.document} for one in models
        ],
        "co_errors": {
            part: _co_errors(models, which)
            for which, part in enumerate(("discovery", "holdout"))
            if which < len(models[0].prepared.parts)
        },
        "differences": [_difference(one) for one in differences],
        "pairs": pairs(models, differences, plan),
        "findings": list(_findings(models, differences, plan.statistic)),
        "warnings": list(warnings),
        "notes": list(_notes(models, differences, plan)),
    }


def _difference(one: Difference) -> dict[str, Any]:
    return {
        "wrong": one.wrong,
        "right": one.right,
        "name": one.name,
        "errors": _errors(one.answered) if one.answered else None,
        "reason": None if one.answered else "never on these examples",
        "audit": one.answered.document if one.answered else None,
    }


def _errors(one: Answered) -> dict[str, int]:
    parts = zip(("discovery", "holdout"), one.prepared.parts, strict=False)
    return {name: part.error_count for name, part in parts}


def _co_errors(models: Sequence[Answered], which: int) -> dict[str, Any]:
    """How often which models were wrong together, most frequent first."""
    errors = np.stack([one.prepared.parts[which].errors for one in models])
    rows: list[list[bool]] = errors.T.tolist()
    patterns = Counter(tuple(row) for row in rows)
    names = [one.name for one in models]
    return {
        "patterns": [
            {"wrong": [name for name, wrong in zip(names, pattern, strict=True) if wrong], "n": n}
            for pattern, n in sorted(patterns.items(), key=lambda item: (-item[1], item[0]))
        ],
    }


def _findings(
    models: Sequence[Answered], differences: Sequence[Difference], statistic: str
) -> Iterator[dict[str, Any]]:
    """What was found for any model; what more models share comes first."""
    by_name = {one.name: _by_name(one.document) for one in models}
    audited = [(d.name, _by_name(d.answered.document)) for d in differences if d.answered]
    ranked = (by_rank(one.document["descriptors"], statistic) for one in models)
    order = dict.fromkeys(d["name"] for descriptors in ranked for d in descriptors)
    found = [
        (name, [model for model, of in by_name.items() if of[name]["status"] in FINDINGS])
        for name in order
    ]
    for name, having in sorted(found, key=lambda item: -len(item[1])):
        if not having:
            continue
        lifts = {model: _lifts(of[name]) for model, of in by_name.items()}
        # What holdout confirms has the sign that it has in discovery.
        ways = [deciding_lift(lifts[model], "discovery") or 0.0 for model in having]
        yield {
            "name": name,
            "kind": kind_of(ways, len(models)),
            "found_for": having,
            "statuses": {model: of[name]["status"] for model, of in by_name.items()},
            "lifts": lifts,
            "differences": {pair: of[name]["status"] for pair, of in audited},
        }


def _by_name(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {d["name"]: d for d in document["descriptors"]}


def _lifts(descriptor: Mapping[str, Any]) -> dict[str, float | None]:
    """Plain lifts of both splits, and the adjusted ones where there are strata."""
    parts = ("discovery", "holdout")
    lifts = {part: descriptor[part] and descriptor[part]["lift"] for part in parts}
    if "lift_adjusted" in descriptor["discovery"]:
        lifts |= {
            f"{part}_adjusted": descriptor[part] and descriptor[part]["lift_adjusted"]
            for part in parts
        }
    return lifts


def _notes(
    models: Sequence[Answered], differences: Sequence[Difference], plan: Plan
) -> Iterator[str]:
    yield (
        "all models are judged on the same examples, split and descriptors, and one shuffle moves "
        "what all of them made of an example together"
    )
    audits = len(models) + sum(one.answered is not None for one in differences)
    yield (
        f"every outcome is audited by itself at q = {plan.q}: {audits} audits are {audits} chances "
        "of a false lead"
    )
    yield (
        "a finding that is one model's own was not confirmed for the others; that is no evidence "
        "that they do not have it"
    )
    if differences:
        yield (
            "'A wrong, B right' says where two models disagree, and may be found in one slice both "
            "ways. Which of the two loses ground to the other there, compared with elsewhere, is "
            "what the difference of their lifts says; " + _interval_words(plan)
        )
    if plan.strata:
        yield (
            "statuses are decided by stratum-adjusted lifts; the plain lift beside one also holds "
            "how error rates differ between strata"
        )


def _interval_words(plan: Plan) -> str:
    if plan.cluster:
        return (
            "it has no interval, since rows of a cluster are not independent, so neither is said "
            "to lose ground"
        )
    return (
        "its 95% interval (Bonett and Price, for paired rates) is that of one slice, not corrected "
        "for having looked at several or chosen the slice"
        + (", and of the plain difference, not of the stratum-adjusted one" if plan.strata else "")
    )
