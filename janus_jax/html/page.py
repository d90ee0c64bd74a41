"""``report.html`` of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from markupsafe import Markup

from janus_jax.behaviour.wording import counted
from janus_jax.event import event_of
from janus_jax.html import panels, rendering, sections, views, wording
from janus_jax.report import answer, chosen, planned_words, rule_words
from janus_jax.verdict import Document

_ROLES: Final = {
    part: Markup(f' role="{role}"')
    for part, role in {
        "table": "table",
        "group": "rowgroup",
        "row": "row",
        "head": "columnheader",
        "name": "rowheader",
        "cell": "cell",
    }.items()
}


def page(
    audit: Document,
    *,
    replay: Document | None = None,
    power: Document | None = None,
    sensitivity: Document | None = None,
) -> str:
    """``report.html`` of an audit, with what is known of its rule's behaviour.

    Parameters
    ----------
    audit
        The result of the audit.
    replay, power, sensitivity
        Results of these commands that belong to it; :func:`janus_jax.html.together.together` sees
        to that.
    """
    shown: dict[str, Any] = {
        **_top(audit),
        "findings": sections.findings(audit),
        "forest": sections.forest(audit),
        "families": sections.families(audit),
        "examples": sections.examples(audit),
        "tested": sections.tested(audit),
        **sections.left_out(audit),
        "screen": sections.screen(audit),
        "methods": sections.methods(audit),
        "proposed": sections.proposed(audit),
        "panels": list(panels.panels(audit, replay, power, sensitivity)),
        **rendering.made(audit),
        "limits": [
            (point.replace("{whose}", event_of(audit).whose), why)
            for point, why in wording.NOT_SAID
        ],
        "words": wording.WORDS,
        "row_roles": _ROLES,
        "no_roles": dict.fromkeys(_ROLES, ""),
    }
    drawn = bool(shown["forest"]) or any(panel["drawing"] for panel in shown["panels"])
    shown["contents"] = list(_contents(shown))
    return rendering.render("page.html.j2", shown, drawn=drawn)


def _contents(shown: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Links to the sections that there are."""
    yield "facts", "Key facts"
    yield "findings", "Findings"
    for key, label in (
        ("families", "Overlap"),
        ("examples", "Examples"),
        ("tested", "All tested"),
        ("screen", "The screen"),
        ("methods", "Other methods"),
        ("proposed", "Slice finder"),
    ):
        if shown[key]:
            yield key, label
    for panel in shown["panels"]:
        yield panel["key"], panel["label"]
    yield "made", "How it was made"
    yield "limits", "What it does not say"


def _top(document: Document) -> dict[str, Any]:
    return {
        "eyebrow": f"janus-jax audit \u00b7 outcome {document['data']['outcome']['column']}",
        "function": "janus_jax.audit",
        "outcome": document["data"]["outcome"]["column"],
        "title": wording.heading(document, event_of(document)),
        "answer": wording.plain(document),
        "technical": answer(document),
        "facts": list(_facts(document)),
        "warnings": document["warnings"],
        "run": document["run"],
    }


def _facts(document: Document) -> Iterator[tuple[str, str, str | None]]:
    """What was audited: a term, its value, what is to be added."""
    data, plan = document["data"], document["plan"]
    outcome = data["outcome"]
    total = [data[part] for part in ("discovery", "holdout") if data[part]]
    n, errors = sum(part["n"] for part in total), sum(part["errors"] for part in total)
    yield "Examples", f"{n:,}", f"of {data['rows']:,} rows" if n != data["rows"] else None
    rate = f"{views.percent(errors, n)} of the examples" if n else None
    yield "Errors", f"{errors:,}", rate
    yield "Discovery", *_split(data["discovery"], "searched")
    if data["holdout"]:
        yield "Holdout", *_split(data["holdout"], "kept apart to confirm")
    else:
        yield "Holdout", "none", "so nothing is confirmed"
    if data["proposal_rows"]:
        yield "Proposal", f"{data['proposal_rows']:,}", "rows that proposed slices, not used here"
    left_out = len(views.found(document, "ineligible"))
    more = (
        f"{left_out:,} more {'was' if left_out == 1 else 'were'} not eligible" if left_out else None
    )
    yield "Descriptors tested", f"{document['screen']['L']:,}", more
    yield "Outcome", outcome["column"], _outcome(document)
    yield "Primary rule", rule_words(document), None
    if data["holdout"]:
        yield "Gate", f"holdout |lift| \u2265 {plan['min_holdout_lift']}", "and the same sign"
    if data["clusters"]:
        count = counted(data["clusters"]["count"], "cluster")
        yield "Clusters", data["clusters"]["column"], f"{count}, kept and exchanged whole"
    if plan["strata"]:
        yield "Strata", plan["strata"], "errors are shuffled within them, lifts adjusted for them"
    if said := chosen(document):
        yield "Evaluation log", data["log"]["format"], said.partition(": ")[2] or None
    planned = planned_words(document)
    if planned is None:
        yield "Plan file", "none", "options were given with the audit"
    else:
        yield "Plan file", "yes", planned.partition(";")[0]


def _split(part: Mapping[str, int], what: str) -> tuple[str, str]:
    return f"{part['n']:,}", f"{counted(part['errors'], 'error')}; {what}"


def _outcome(document: Document) -> str:
    words = {
        "error": "such an example is called an error here"
        if event_of(document).defined
        else "true = wrong",
        "correct": "true = right",
        "score": f"right from {document['plan'].get('outcome', {}).get('pass_at', '?')} up",
    }
    missing = document["data"]["outcome"]["missing"]
    return words[document["data"]["outcome"]["kind"]] + (
        f"; {missing:,} missing" if missing else ""
    )
