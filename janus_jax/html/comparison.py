"""``report.html`` of several models on the same examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from janus_jax.behaviour.wording import counted
from janus_jax.cells import called, in_list, printable
from janus_jax.html import rendering, sections, views, wording
from janus_jax.html.drawing import Drawing, draw
from janus_jax.html.marks import LIGHT, PAGE, ROW, Colours, Spec, chart, rows_axis, rule_at, tooltip
from janus_jax.report import STATUS_WORDS, interval, rule_words
from janus_jax.several.found import KIND_WORDS, deciding_lift, found_words
from janus_jax.several.naming import short_names
from janus_jax.several.pairs_report import (
    PAIRS_WORDS,
    clear_losses,
    disagree_words,
    pairs_header,
    pairs_rows,
)
from janus_jax.several.report import (
    CO_ERROR,
    MODELS_HEADER,
    all_notes,
    audit_answer,
    co_error_rows,
    comparison_answer,
    findings_caption,
    ineligible,
    lift_words,
    models_rows,
    not_used,
    pairs_caption,
    shown_pair,
    sizes,
)
from janus_jax.verdict import Document, read_split

DRAWN: Final = 30
"""Findings that are drawn."""

SERIES: Final = 6
"""Models that are drawn: more could not be told apart."""

_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_NOT_SAID: Final = (
    (
        "One model's own finding is no difference between models.",
        "It was confirmed for that model and not for the others, which is no evidence that they do "
        "not have it.",
    ),
    (
        "A disagreement is not a defeat.",
        "Where two models disagree more often, either may be the one that is wrong. Only the "
        "difference of their lifts compares them, and its interval, where there is one, is that of "
        "one slice: of many that are looked at, some leave out 0 by chance.",
    ),
    (
        "The models are not ranked.",
        "Each is audited by itself at the same q; with several models there are several chances of "
        "a false lead.",
    ),
    *wording.NOT_SAID_OF_ANY,
    (
        "It speaks of these examples and these models.",
        "Another model, prompt, version or benchmark may err elsewhere.",
    ),
    (
        "The rest is in the audit of each.",
        "Intervals of the lifts, families of findings that overlap, decoys and thresholds are "
        "there, with what they do not say.",
    ),
)


def comparison_page(document: Document, pages: Sequence[tuple[str, str]] = ()) -> str:
    """``report.html`` of a comparison.

    Parameters
    ----------
    document
        The result, ``janus-jax/comparison/1``.
    pages
        Where the page of each audit is, and what it is called.
    """
    found = _findings(document)
    shown: dict[str, Any] = {
        "eyebrow": "janus-jax audit of several models",
        "function": "janus_jax.compare",
        "title": wording.heading(document),
        "answer": (
            f"{wording.sentence(comparison_answer(document))}.",
            " ".join((*_how(document), *_direct(document))),
        ),
        "contents": [
            ("models", "Models"),
            ("findings", "Findings"),
            ("differences", "Differences"),
            ("together", "Wrong together"),
            ("made", "How it was made"),
            ("limits", "What it does not say"),
        ],
        "warnings": document["warnings"],
        "facts": f"{wording.sentence(sizes(document))}; primary rule: {rule_words(document)}"
        + (
            f"; gate: holdout |lift| at least {document['plan']['min_holdout_lift']}, same sign."
            if document["data"]["holdout"]
            else "."
        ),
        "overall": _overall(document),
        "words": wording.WORDS,
        "models": {
            "header": MODELS_HEADER,
            "rows": models_rows(document),
            "caption": "Errors, and what the audit of each outcome comes to; \u201cby chance\u201d "
            "is how many would reach the threshold that was chosen if none had to do with it; "
            "\u201cstrongest\u201d: of the best status, the largest in discovery",
        },
        "pages": pages,
        "findings": found,
        "not_found": views.found_for_none(document),
        "differences": list(_differences(document)),
        "disagree": disagree_words(document),
        "pairs": {
            "header": pairs_header(document),
            "rows": pairs_rows(document, short_names(document)),
            "caption": wording.sentence(pairs_caption(document)),
            "words": [pairs_header(document).index(name) for name in PAIRS_WORDS],
        },
        "together": {
            "header": (CO_ERROR, *document["co_errors"]),
            "rows": co_error_rows(document),
        },
        **sections.not_tested(
            ("descriptor", "reason"),
            [(d["name"], d["reason"]) for d in ineligible(document)],
            not_used(document),
            document["data"]["columns"],
        ),
        **rendering.made(document),
        "notes": all_notes(document),
        "run": document["run"],
        "limits": _NOT_SAID,
    }
    return rendering.render("comparison.html.j2", shown, drawn=bool(found["drawing"]))


def _overall(document: Document) -> str:
    """How often each model is wrong, which the audit does not judge."""
    split = read_split(document)
    models, n = short_names(document), document["data"][split]["n"]
    rates = ", ".join(
        f"{in_list(models[entry['name']])} {views.percent(entry['errors'][split], n)}"
        for entry in document["models"]
    )
    return (
        f"Wrong in {split}: {rates}. Whether one model is better than another overall is not "
        "tested here."
    )


def _direct(document: Document) -> Iterator[str]:
    """The clearest of the slices where one model loses ground to another, in its counts."""
    models = short_names(document)
    clear = list(clear_losses(document))
    if not clear:
        return
    # The clearest is not the largest: a small slice can differ much and say little.
    first, second, finding = max(clear, key=lambda found: _clearness(found[2]["difference"]))
    only = finding["only_wrong"]
    loser, winner = in_list(models[first]), in_list(models[second])
    parts = [
        _audited(document, name, finding["name"])[read_split(document)] for name in (first, second)
    ]
    there, elsewhere = (
        " and ".join(views.percent(part[f"errors_{side}"], part[side]) for part in parts)
        for side in ("on", "off")
    )
    among = "," if len(clear) == 1 else ", most clearly"
    yield (
        f"Compared directly{among} {loser} loses ground to {winner} in "
        f"\u201c{called(finding['name'])}\u201d: elsewhere, of {finding['off']:,} examples, "
        f"{loser} is wrong and {winner} right on {only[first]['off']:,}, and the reverse on "
        f"{only[second]['off']:,}; there, of {finding['on']:,}, on {only[first]['on']:,} against "
        f"{only[second]['on']:,}. In all, they err on {there} there and on {elsewhere} elsewhere: "
        "that this has changed is what was compared, not which of the two is the better one there."
    )


def _audited(document: Document, model: str, descriptor: str) -> dict[str, Any]:
    """What became of a descriptor in the audit of a model."""
    audit = next(m["audit"] for m in document["models"] if m["name"] == model)
    return next(d for d in audit["descriptors"] if d["name"] == descriptor)


def _clearness(difference: Mapping[str, float]) -> float:
    """A difference in widths of its interval."""
    return abs(difference["lift"]) / (difference["high"] - difference["low"])


def _how(document: Document) -> Iterator[str]:
    if any(finding["kind"] in ("own", "some") for finding in document["findings"]):
        others = "the others" if len(document["models"]) > 2 else "the other"
        yield (
            f"What is found for one model alone has not been shown to be missing for {others}: its "
            "difference may lie just below a limit there."
        )
    yield "All are judged on the same examples, split and descriptors."


def _findings(document: Document) -> dict[str, Any]:
    models = short_names(document)
    findings: list[dict[str, Any]] = document["findings"]
    split = read_split(document)
    audited = {
        model["name"]: {d["name"]: d for d in model["audit"]["descriptors"]}
        for model in document["models"]
    }
    plain = "" if document["plan"]["strata"] is None else "plain "
    what = "confirmed" if split == "holdout" else "selected; there is no holdout to confirm it"
    kinds = [(key, sum(f["kind"] == key for f in findings)) for key in KIND_WORDS]
    first = f" (the first {DRAWN})" if len(findings) > DRAWN else ""
    return {
        "title": "What was found for whom" if findings else "Nothing was found for any model",
        "intro": f"Every descriptor that is {what} for at least one model, with what became of it "
        "for the others."
        if findings
        else "No descriptor passed for any of the models, which is a result: what was tested, and "
        "why nothing passed, is in the audit of each.",
        "drawing": _drawing(document, split),
        "not_drawn": f"The lifts of more than {SERIES} models are not drawn: marks could not be "
        "told apart. The table has them all."
        if findings and len(models) > SERIES
        else None,
        "caption": f"One line for each finding{first}, one mark for each model: its {split} lift. "
        "A filled mark is a finding of that model, a hollow one is not.",
        "caption_of_table": f"{wording.sentence(findings_caption(document))}; below it, error "
        "rates inside and outside the slice"
        + (f", and the 95% interval of the {plain}lift" if split == "holdout" else ""),
        "models": list(models.values()),
        "tall": len(findings) > sections.TALL,
        "kinds": [(key, KIND_WORDS[key], count) for key, count in kinds if count],
        "rows": [
            {
                "name": finding["name"],
                "kind": finding["kind"],
                "found": found_words(finding),
                "cells": [
                    {
                        "status": finding["statuses"][model],
                        "lift": lift_words(finding["lifts"][model], split),
                        "said": _rates(audited[model][finding["name"]], split),
                    }
                    for model in models
                ],
            }
            for finding in findings
        ],
    }


def _rates(d: Mapping[str, Any], split: str) -> str:
    """Error rates in and outside a slice, with the interval of the lift where there is one."""
    part = d[split]
    rates = [
        f"{views.percent(part[f'errors_{side}'], part[side])} {word}"
        for side, word in (("on", "inside"), ("off", "outside"))
        if part[side]
    ]
    span = interval(d["effect"]) if split == "holdout" else "-"
    return ", ".join(rates) + (f"; {span}" if span != "-" else "")


def _drawing(document: Document, split: str) -> Drawing | None:
    spec = findings_chart(document, PAGE)
    if spec is None:
        return None
    return draw(
        spec,
        "lifts",
        f"{split} lifts of the findings for every model",
        f"A dot plot of {counted(min(DRAWN, len(document['findings'])), 'descriptor')}; the "
        "numbers are in the table that follows.",
    )


def findings_chart(document: Document, colours: Colours = LIGHT) -> Spec | None:
    """The lifts of every finding for every model; None without findings, or with too many models.

    Holdout's, or discovery's where there is no holdout.
    """
    models = short_names(document)
    findings = document["findings"][:DRAWN]
    if not findings or len(models) > SERIES:
        return None
    split = read_split(document)
    adjusted = document["plan"]["strata"] is not None
    return _lifts(findings, models, split, colours, adjusted=adjusted)


def _lifts(
    findings: Sequence[Mapping[str, Any]],
    models: Mapping[str, str],
    split: str,
    colours: Colours,
    *,
    adjusted: bool,
) -> Spec:
    """One line for each finding, one mark for each model; filled where it is found."""
    points = [
        {
            "row": i,
            "lift": deciding_lift(finding["lifts"][model], split),
            "series": short,
            "name": printable(finding["name"]),
            "said": f"{lift_words(finding['lifts'][model], split)}, "
            f"{STATUS_WORDS[finding['statuses'][model]]}",
            "found": model in finding["found_for"],
        }
        for i, finding in enumerate(findings)
        for model, short in models.items()
        if finding["lifts"][model][split] is not None
    ]
    domain = list(models.values())
    inks = [colours.first, colours.second, colours.third, colours.ink, colours.soft, colours.first]
    series = {"field": "series", "type": "nominal", "title": None}
    x = {
        "field": "lift",
        "type": "quantitative",
        "title": f"{split} lift: error rate inside minus outside"
        + (", adjusted for strata" if adjusted else ""),
        "axis": {"format": "+.2f", "tickCount": {"expr": "narrow ? 4 : 8"}, "grid": True},
        "scale": {"zero": True},
    }
    colour = {"domain": domain, "range": inks[: len(domain)]}
    marks: Spec = {
        "data": {"values": points},
        "mark": {"type": "point", "size": 80, "strokeWidth": 1.75, "opacity": 1},
        "encoding": {
            "x": x,
            "y": rows_axis(colours),
            "tooltip": tooltip(descriptor="name", model="series", lift="said"),
            "stroke": {**series, "scale": colour},
            "shape": {**series, "scale": {"domain": domain, "range": list(_SHAPES[: len(domain)])}},
            "fill": {
                "condition": {**series, "test": "datum.found", "scale": colour},
                "value": colours.paper,
            },
        },
    }
    layers = [rule_at(colours, "x", 0, strokeWidth=1), marks]
    names = [printable(finding["name"]) for finding in findings]
    return chart(colours, layers, ROW * len(findings), names, domain)


def _differences(document: Document) -> Iterator[tuple[str, str, bool]]:
    models = short_names(document)
    for entry in document["differences"]:
        said = audit_answer(entry)
        if entry["audit"]:
            errors = counted(sum(entry["errors"].values()), "such example")
            said = f"{errors}; {said}"
        yield shown_pair(entry, models), f"{wording.sentence(said)}.", views.found_any(entry)
