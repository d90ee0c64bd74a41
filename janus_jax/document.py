"""The result as one JSON document, ``janus-jax/audit/1``; every report is made from it.

Everything in it but ``run`` is the same on every backend, batch size and machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from janus_jax.ablation import ablation
from janus_jax.advice import reading_notes
from janus_jax.cells import floored
from janus_jax.curves import curve, histogram, size, threshold
from janus_jax.effects import effect
from janus_jax.families import families
from janus_jax.library import Counts, Part
from janus_jax.plan import Plan
from janus_jax.plans.planned import Planned
from janus_jax.plans.proposed import judged
from janus_jax.prepare import Prepared
from janus_jax.ranking import by_rank
from janus_jax.screen import Screened, gate
from janus_jax.slice_examples import slice_examples

SCHEMA = "janus-jax/audit/1"


def make_document(
    prepared: Prepared,
    plan: Plan,
    screened: Screened | None,
    warnings: Sequence[str],
    planned: Planned | None = None,
    examples: Sequence[str] = (),
) -> dict[str, Any]:
    """Put the result together; ``run`` is added by whoever ran it.

    ``planned`` is the plan file that the audit followed, if it followed one; ``examples`` are the
    columns that are shown with the examples of each selected slice.
    """
    gates = _gates(prepared, plan, screened)
    descriptors = _descriptors(prepared, plan, screened, gates)
    ranked = by_rank(descriptors, plan.statistic)
    mined = planned.proposed if planned else None
    return {
        "schema": SCHEMA,
        "data": _data(prepared, plan),
        "plan": plan_section(plan, planned),
        "rule": plan.rule,
        "screen": _screen(prepared, plan, screened),
        "methods": _methods(prepared, screened, gates),
        "ablation": ablation(prepared, screened, {g for g, (ok, _) in gates.items() if ok}),
        "descriptors": descriptors,
        "families": families(prepared, ranked),
        "examples": slice_examples(prepared, plan, ranked, examples),
        **({"proposed": judged(mined, descriptors)} if mined else {}),
        "not_used": [
            {"column": column, "reason": reason}
            for column, reason in (
                prepared.selection.not_used | prepared.descriptors.not_used
            ).items()
        ],
        "warnings": list(warnings),
        "notes": reading_notes(plan, prepared, screened),
    }


def plan_section(plan: Plan, planned: Planned | None) -> dict[str, Any]:
    """The options, their hash or that of the plan file, and whether it was there beforehand."""
    if planned is not None:
        return planned.to_dict()
    return {**plan.to_dict(), "hash": plan.hash(), "frozen_before_outcomes": False}


def _gates(
    prepared: Prepared, plan: Plan, screened: Screened | None
) -> dict[int, tuple[bool, str]]:
    """Gate verdicts by descriptor, for the whole library."""
    if screened is None or not prepared.has_holdout:
        return {}
    return {g: gate(prepared.discovery[g], prepared.holdout[g], plan) for g in prepared.eligible}


def _data(prepared: Prepared, plan: Plan) -> dict[str, Any]:
    table, where = prepared.examples.table, prepared.where
    missing, models = prepared.missing, prepared.examples.models
    columns: list[dict[str, Any]] = [
        {
            "column": used.name,
            "kind": used.kind,
            "missing": missing[used.name],
            "threshold": prepared.descriptors.thresholds.get(used.name),
            "holdout_only_levels": list(prepared.descriptors.holdout_only.get(used.name, ())),
            "origin": used.values.origin,
        }
        for used in prepared.selection.used
    ]
    clusters = None
    if plan.cluster:
        codes = table.columns[plan.cluster].codes
        clusters = {"column": plan.cluster, "count": len(set(codes[prepared.counted].tolist()))}
    return {
        "rows": table.n,
        "source": list(table.source),
        "sha256": table.sha256,
        "outcome": {
            "column": plan.outcome_column,
            "kind": plan.outcome_kind,
            "missing": prepared.examples.missing,
            **({"models": {"wrong": models[0], "right": models[1]}} if models else {}),
        },
        "log": None
        if table.log is None
        else {
            "format": table.log.format,
            "choices": dict(table.log.choices),
            "without_outcome": dict(table.log.statuses),
        },
        "clusters": clusters,
        "discovery": _part(prepared.parts[0]),
        "holdout": _part(prepared.parts[1]) if prepared.has_holdout else None,
        "proposal_rows": int((where > 1).sum()),
        "columns": columns,
    }


def _part(part: Part) -> dict[str, int]:
    return {"n": part.n, "errors": part.error_count}


def _screen(prepared: Prepared, plan: Plan, screened: Screened | None) -> dict[str, Any]:
    library = prepared.library_size
    if screened is None:
        return {"L": library, "curve": None, "histogram": None}
    reached = screened.thresholds.reached
    permuted = screened.permuted
    total = permuted.tally.permutations

    def at(method: str, values: Mapping[str, Any]) -> dict[str, Any]:
        index = screened.chosen[method]
        if index is None:
            return {"threshold": None, "R": 0, **dict.fromkeys(values)}
        found = {name: value[index] for name, value in values.items()}
        return {
            "threshold": threshold(prepared, screened, index),
            "R": int(reached[index]),
            **found,
        }

    def per_reached(counts: Sequence[float], scale: Fraction) -> list[float]:
        """Estimated FDP at each threshold: one correctly rounded division each."""
        return [
            float(Fraction(c) * scale / max(1, int(r)))
            for c, r in zip(counts, reached, strict=True)
        ]

    sampled = screened.mean_totals.tolist()
    shown: dict[str, Any] = {
        "L": library,
        "mean_count": at(
            "mean_count",
            {
                "mean_count": [float(Fraction(c, total)) for c in sampled],
                "estimated_fdp": per_reached(sampled, Fraction(1, total)),
            },
        ),
        "permutations": {
            "kind": "enumerated" if permuted.enumerated else "sampled",
            "count": total,
            "labellings": permuted.labellings,
            **({} if permuted.movable is None else {"movable_rows": permuted.movable}),
            "smallest_p": min(screened.p_monte_carlo.tolist())
            if permuted.enumerated
            else 1 / (total + 1),
        },
        "curve": curve(prepared, screened),
        "histogram": histogram(prepared, screened),
    }
    closed = screened.closed
    if closed is None:
        return shown
    literal = closed.decoys.exceedances.tolist() if closed.decoys else [0] * len(reached)
    expected, mean_exact = closed.expected.tolist(), closed.mean_expected.tolist()
    exact = {
        "decoys": {
            "K": plan.decoys if closed.decoys else 0,
            "sources": len(prepared.pool),
            **at(
                "decoys",
                {
                    "D": literal,
                    "estimated_fdp": per_reached(literal, Fraction(library, plan.decoys)),
                },
            ),
            "stability_redraws": closed.stability.redraws if closed.stability else 0,
        },
        "decoys_exact": at(
            "decoys_exact",
            {
                "expected_exceedances": expected,
                "estimated_fdp": per_reached(expected, Fraction(1)),
            },
        ),
        "mean_count_exact": at(
            "mean_count_exact",
            {"mean_count": mean_exact, "estimated_fdp": per_reached(mean_exact, Fraction(1))},
        ),
        "fixed_floor": {"floor": float(closed.decoys.floor) if closed.decoys else None},
    }
    return {"L": library, **exact, **shown}


def _methods(
    prepared: Prepared, screened: Screened | None, gates: Mapping[int, tuple[bool, str]]
) -> dict[str, Any]:
    if screened is None:
        return {}
    names = [prepared.descriptors.items[g].name for g in prepared.eligible]
    passed = [gates.get(g, (False, ""))[0] for g in prepared.eligible]
    return {
        method: {
            "selected": [n for n, s in zip(names, chosen, strict=True) if s],
            "confirmed": [n for n, s, p in zip(names, chosen, passed, strict=True) if s and p],
        }
        for method, chosen in screened.selected.items()
    }


def _descriptors(
    prepared: Prepared,
    plan: Plan,
    screened: Screened | None,
    gates: Mapping[int, tuple[bool, str]],
) -> list[dict[str, Any]]:
    position = {g: i for i, g in enumerate(prepared.eligible)}
    # Only columns with gaps: a descriptor of complete ones has nothing to add.
    known = {used.name: used.known for used in prepared.selection.used if not used.known.all()}
    counted = prepared.counted
    items = prepared.descriptors.items
    closed = screened.closed if screened else None
    stability = closed.stability if closed else None
    listed: list[dict[str, Any]] = []
    for g, item in enumerate(items):
        discovery = prepared.discovery[g]
        holdout = prepared.holdout_of(g)
        i = position.get(g)
        status, reason = _status(g, i, prepared, plan, screened, gates)
        entry: dict[str, Any] = {
            "name": item.name,
            "rule": dict(item.rule),
            "aliases": [items[h].name for h in prepared.aliases[g]],
            "status": status,
            "reason": reason,
            "discovery": _counts(discovery, plan),
            "holdout": _counts(holdout, plan) if holdout else None,
            "effect": None,
        }
        if i is not None and holdout is not None:
            entry["effect"] = effect(
                discovery,
                holdout,
                selected=status in ("confirmed", "not_replicated"),
                confirmed=status == "confirmed",
                independent=plan.cluster is None,
            )
        if i is None or screened is None:
            entry |= dict.fromkeys(
                ("p_exact", "p_bh", "p_monte_carlo", "p_max_t", "p_max_t_step_down", "stability")
            )
            entry["p_exact_outside"] = (
                None if plan.cluster else discovery.margins.p_value(discovery.errors_on)
            )
        else:
            entry |= {
                "p_exact": closed.p_exact[i] if closed else None,
                "p_bh": float(screened.p_bh[i]),
                "p_monte_carlo": float(screened.p_monte_carlo[i]),
                "p_max_t": float(screened.p_max_t[i]),
                "p_max_t_step_down": float(screened.p_max_t_step_down[i]),
                "stability": float(stability.selected[i]) if stability else None,
            }
            entry["p_exact_outside"] = None
        gaps = [known[column] for column in item.columns if column in known]
        if gaps:
            present = np.logical_and.reduce(gaps)
            entry["lift_known"] = _lift_among(item.members, present, prepared.parts[0])
            entry["missing"] = int(np.count_nonzero(~present[counted]))
        else:
            entry |= {"lift_known": entry["discovery"]["lift"], "missing": 0}
        listed.append(entry)
    return listed


def _counts(counts: Counts, plan: Plan) -> dict[str, Any]:
    plain = counts.plain_lift
    shown: dict[str, Any] = {
        "n": counts.n,
        "errors": counts.errors,
        "on": counts.on,
        "off": counts.off,
        "errors_on": counts.errors_on,
        "errors_off": counts.errors_off,
        "lift": None if plain is None else float(plain),
        "z": counts.margins.z(counts.errors_on),
    }
    if plan.strata:
        shown["lift_adjusted"] = None if plain is None else float(counts.lift)
    return shown


def _lift_among(members: NDArray[np.bool_], present: NDArray[np.bool_], part: Part) -> float | None:
    """The discovery lift among the rows whose value is known."""
    here = present[part.rows]
    inside = members[part.rows] & here
    on, n = int(inside.sum()), int(here.sum())
    if not 0 < on < n:
        return None
    errors_on, errors = int((inside & part.errors).sum()), int((here & part.errors).sum())
    return float(Fraction(errors_on, on) - Fraction(errors - errors_on, n - on))


def _status(
    g: int,
    i: int | None,
    prepared: Prepared,
    plan: Plan,
    screened: Screened | None,
    gates: Mapping[int, tuple[bool, str]],
) -> tuple[str, str]:
    """Status by the primary rule, and the reason in words."""
    if i is None or screened is None:
        return "ineligible", prepared.reasons[g] or "not in the library"
    why = _why(g, i, prepared, plan, screened)
    if not screened.selected[plan.rule][i]:
        return "not_selected", why
    if not prepared.has_holdout:
        return "selected", f"selected: {why}; there is no holdout to confirm it"
    passed, verdict = gates[g]
    return ("confirmed" if passed else "not_replicated"), f"selected: {why}; {verdict}"


def _p_words(screened: Screened, i: int, values: Sequence[float] | NDArray[np.float64]) -> str:
    """A p-value in a reason, with "<" where the exact one left the range of floats."""
    below = screened.closed is not None and floored(float(screened.closed.p_exact[i]))
    return f"{'<' if below else ''}{values[i]:.4g}"


def _why(g: int, i: int, prepared: Prepared, plan: Plan, screened: Screened) -> str:
    """The comparison that the primary rule made, in words."""
    counts, rule = prepared.discovery[g], plan.rule
    lift = "|lift|" if plan.strata is None else "adjusted |lift|"
    if rule in screened.chosen:
        word = lift if plan.statistic == "lift" else "|z|"
        value = size(counts)
        index = screened.chosen[rule]
        if index is None:
            return f"no threshold has an estimated FDP of at most {plan.q} ({word} {value:.4f})"
        sign = "reaches" if screened.selected[rule][i] else "is below"
        limit = threshold(prepared, screened, index)
        return f"{word} {value:.4f} {sign} the threshold {limit:.4f}"
    passes = screened.selected[rule][i]
    sign = "<=" if passes else ">"
    match rule:
        case "unadjusted":
            if screened.closed is None:
                return f"Monte-Carlo p {screened.p_monte_carlo[i]:.4g} {sign} {plan.alpha}"
            return f"exact p {_p_words(screened, i, screened.closed.p_exact)} {sign} {plan.alpha}"
        case "bh_05" | "bh_10":
            return f"BH-adjusted p {_p_words(screened, i, screened.p_bh)} {sign} 0.{rule[-2:]}"
        case "max_t":
            return f"max-T p {screened.p_max_t[i]:.4g} {sign} {plan.alpha}"
        case "max_t_step_down":
            return f"step-down max-T p {screened.p_max_t_step_down[i]:.4g} {sign} {plan.alpha}"
        case "fixed_lift":
            return f"{lift} {abs(float(counts.lift)):.4f} {'>=' if passes else '<'} 0.10"
        case _:
            decoys = screened.closed.decoys if screened.closed else None
            floor = float(decoys.floor) if decoys else math.nan
            return (
                f"{lift} {abs(float(counts.lift)):.4f} is {'' if passes else 'not '}above the "
                f"decoy floor {floor:.4f}"
            )
