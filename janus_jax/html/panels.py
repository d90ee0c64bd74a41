"""Replays, power and repeated splits, as sections of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from janus_jax.behaviour import power_report, replay_report, sensitivity_report
from janus_jax.html import behaviour_charts, together
from janus_jax.html.drawing import draw
from janus_jax.html.marks import PAGE
from janus_jax.html.wording import sentence
from janus_jax.report import Document

Panel = dict[str, Any]


def panels(
    document: Document,
    replay: Document | None,
    power: Document | None,
    sensitivity: Document | None,
) -> Iterator[Panel]:
    """The sections that there are, in the order of the page."""
    if replay is not None:
        yield _replay(replay)
    if power is not None:
        yield _power(document, power)
    if sensitivity is not None:
        yield _sensitivity(sensitivity)


def _drawn(spec: dict[str, Any] | None, key: str, title: str) -> Any:
    said = "The numbers are in the table that follows."
    return None if spec is None else draw(spec, key, title, said)


def _replay(document: Document) -> Panel:
    rows = replay_report.rows(document)
    last = None if any(row[-1] for row in rows) else -1  # nothing to say of any rule
    return {
        "key": "replay",
        "label": "Replays",
        "title": "How often would it cry wolf?",
        "answers": [sentence(replay_report.answer(document))],
        "about": "The errors of both splits were shuffled, so that nothing is left to find, and "
        "the whole rule was applied again and again: whatever it reports then is false.",
        "warnings": document["warnings"],
        "drawing": _drawn(
            behaviour_charts.replays(document, PAGE), "replays", "False reports of each rule"
        ),
        "caption": "Diamonds: the share of replays in which a rule selects anything; dots: in "
        f"which it confirms anything. The dashed line is q = {document['plan']['q']}.",
        "tables": [
            {
                "header": replay_report.HEADER[:last],
                "rows": [row[:last] for row in rows],
                "caption": f"{document['replays']:,} replays; * the primary rule",
                "words": (0, 6),
            }
        ],
        "notes": document["notes"],
    }


def _power(audit: Document, document: Document) -> Panel:
    design = power_report.design_words(document)
    if together.same_design(audit, document):
        about = f"The design is this audit\u2019s: {design}."
    else:
        about = (
            f"Mind that this is another design than this audit\u2019s: {design}. It says nothing "
            "about the audit above unless that is what you want to compare it with."
        )
    return {
        "key": "power",
        "label": "Power",
        "title": "What would it find if it were there?",
        "answers": [sentence(said) for said in power_report.answers(document)],
        "about": about,
        "warnings": document["warnings"],
        "drawing": _drawn(
            behaviour_charts.power(document, PAGE), "power", "Share of audits that confirm a slice"
        ),
        "caption": "How often a slice with such a difference in its error rate would be confirmed, "
        "and how often it would pass the gate if nothing screened it.",
        "tables": [
            {
                "header": power_report.CELL_HEADER,
                "rows": power_report.cell_rows(document),
                "caption": f"{document['repetitions']:,} simulated audits a line",
                "words": (),
            }
        ],
        "notes": document["notes"],
    }


def _sensitivity(document: Document) -> Panel:
    return {
        "key": "splits",
        "label": "Repeated splits",
        "title": "How much was the luck of this split?",
        "answers": [sentence(sensitivity_report.answer(document))],
        "about": "The same outcomes were dealt again and again to discovery and holdout. The "
        "shares say how much a verdict depends on the split; they are neither p-values nor "
        "probabilities that a finding is true.",
        "warnings": document["warnings"],
        "drawing": _drawn(
            behaviour_charts.splits(document, PAGE), "splits", "Share of splits that confirm a rule"
        ),
        "caption": "The rules that are confirmed most often; those never confirmed are not drawn.",
        "tables": [
            {
                "header": sensitivity_report.HEADER,
                "rows": list(sensitivity_report.split_rows(document["rules"])),
                "caption": f"{document['splits']['count']:,} splits of the same examples",
                "words": (0, 8),
            }
        ],
        "notes": document["notes"],
    }
