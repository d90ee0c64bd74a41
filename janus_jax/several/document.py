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
        "pairs": pairs(models, differences, independent=plan.cluster is None),
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
        yield {
            "name": name,
            "kind": {len(models): "common", 1: "own"}.get(len(having), "some"),
            "found_for": having,
            "statuses": {model: of[name]["status"] for model, of in by_name.items()},
            "lifts": {
                model: {part: _lift(of[name][part]) for part in ("discovery", "holdout")}
                for model, of in by_name.items()
            },
            "differences": {pair: of[name]["status"] for pair, of in audited},
        }


def _by_name(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {d["name"]: d for d in document["descriptors"]}


def _lift(counts: Mapping[str, Any] | None) -> float | None:
    return None if counts is None else counts["lift"]


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
            "what the difference of their lifts says; its 95% interval (Bonett and Price, for "
            "paired rates) is that of one slice, not corrected for having looked at several or "
            "chosen the slice"
            + ("; there is none where rows come in clusters" if plan.cluster else "")
        )
