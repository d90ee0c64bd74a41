"""The sections of the page that are about an audit: what each of them shows, or None."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from janus_jax.behaviour.wording import counted
from janus_jax.cells import number, p_text
from janus_jax.event import event_of
from janus_jax.html import charts, views, wording
from janus_jax.html.drawing import Drawing, draw
from janus_jax.html.marks import PAGE
from janus_jax.plan import FIXED_LIFT
from janus_jax.plans.proposed import JUDGED_HEADER, judged_answer, judged_rows
from janus_jax.report import (
    METHOD_HEADER,
    STATUS_WORDS,
    interval,
    method_notes,
    method_rows,
    method_words,
    table,
)
from janus_jax.verdict import (
    THRESHOLDS,
    Document,
    demanded,
    ranked,
    read_split,
    sized,
    statistic_of,
)

MANY: Final = 300
"""Rows from which a table lays out each for itself."""

TALL: Final = 40
"""Rows from which a table scrolls in a box of its own: a shorter one cut short seems to end."""

_READ = {
    "confirmed": (
        "Findings",
        "Selected on the discovery split and confirmed on the holdout: the difference has the same "
        "direction there and is at least as large as the gate demands.",
        "Each line is one finding. The dot is its lift in the holdout, the bar (where there is "
        "one) the 95% interval of that; the diamond is its lift in discovery, which won a "
        "selection and tends to be too large. Right of zero the slice has more errors than the "
        "rest, left of it fewer; what lies in the shaded band would not pass the gate.",
    ),
    "not_replicated": (
        "Nothing was confirmed",
        "Selected on the discovery split, but the holdout did not repeat it: no findings. What was "
        "lacking stands below.",
        "Diamonds are lifts in discovery, where these were picked; dots are the same lifts in the "
        "holdout, with their 95% interval where there is one. A dot in the shaded "
        "band, or on the other side of zero, does not pass the gate.",
    ),
    "selected": (
        "Selected, but not confirmed",
        "Selected, but there is no holdout that could confirm it. Treat it as a lead: it may be "
        "chance, and looks larger than it is.",
        "Each diamond is the lift of one selected descriptor on the examples that selected it.",
    ),
    "not_selected": (
        "Nothing stood out",
        "No descriptor was selected, which is a result. Below is what came nearest to it, for "
        "orientation. These are not findings: {demand}.",
        "Diamonds are lifts in discovery{dots}. None of these was selected.",
    ),
    "nothing": (
        "Nothing was tested",
        "No descriptor was eligible. What was left out, and why, is listed below.",
        "",
    ),
}


def findings(document: Document) -> dict[str, Any]:
    """What was found, or what came nearest to it, with the words around it."""
    status, shown = views.spotlight(document)
    title, first, caption = _READ[status]
    most = views.most(status)
    first = first.replace("{demand}", _not_met(document))
    held, strata = document["data"]["holdout"] is not None, document["plan"]["strata"] is not None
    dots = ", dots the same in the holdout, with their 95% interval where there is one"
    caption = caption.replace("{dots}", dots if held else "")
    defined = event_of(document).defined
    definition = f"On this page {defined}." if defined else None
    intro = list(filter(None, (definition, first, wording.screened(document))))
    if status == "confirmed" and (said := wording.families_answer(document)):
        intro.append(f"{said} Read the holdout lift, not the discovery lift, for how large it is.")
    if said := wording.close_calls(document):
        intro.append(said)
    if len(shown) > most and status != "not_selected":
        intro.append(
            f"The {most} that stood out most are shown; the other {len(shown) - most:,} are in the "
            "table of all descriptors."
        )
    if strata and shown:
        intro.append(
            "The chart is of the lifts adjusted for the strata, which decide"
            + ("; the intervals in the table are of the plain ones." if held else ".")
        )
    clustered = bool(document["data"]["clusters"])
    header = ["descriptor"]
    for part in ("discovery", "holdout") if held else ("discovery",):
        header += [f"{part} inside", f"{part} outside", f"{part} lift"]
        if part == "holdout" and not clustered:
            header.append("holdout 95%")
        if strata:
            header.append(f"{part} adjusted")
    if held and clustered and shown:
        intro.append(
            "Holdout lifts have no interval here: examples of a cluster are not independent, and "
            "an interval that takes them as independent would be too short."
        )
    rows = [list(_finding(d, held, spans=held and not clustered)) for d in shown[:most]]
    return {
        "title": title,
        "intro": intro,
        "caption": caption,
        "header": header,
        "rows": rows,
        # Of a finding the numbers beside it say why it is one.
        "notes": [d["reason"] for d in shown[:most]] if status != "confirmed" else (),
        "table": "Errors of examples inside and outside each slice, in both splits"
        if held
        else "Errors of examples inside and outside each slice",
    }


def _not_met(document: Document) -> str:
    """Why what came nearest to a finding is none."""
    if document["rule"] == "fixed_lift":
        return "the rule demands larger ones"
    return "the rule cannot tell differences of this size from chance"


def _finding(d: Mapping[str, Any], held: bool, *, spans: bool) -> Iterator[str]:
    yield d["name"]
    for part in ("discovery", "holdout") if held else ("discovery",):
        yield views.share(d[part], "on")
        yield views.share(d[part], "off")
        yield number(d[part]["lift"])
        if part == "holdout" and spans:
            yield interval(d["effect"])
        if d[part].get("lift_adjusted") is not None:
            yield number(d[part]["lift_adjusted"])


def forest(document: Document) -> Drawing | None:
    """The forest plot of these; None when nothing was tested."""
    spec = charts.forest(document, PAGE)
    if spec is None:
        return None
    status, shown = views.spotlight(document)
    drawn = counted(min(len(shown), views.most(status)), "descriptor")
    return draw(
        spec,
        "forest",
        f"{_READ[status][0]}: lifts in discovery and holdout",
        f"A forest plot of {drawn}; the numbers are in the table that follows.",
    )


_FAMILY_HEADER = (
    "finding",
    "phi",
    "examples",
    "in lead too",
    "discovery lift",
    "holdout lift",
    "lift beside lead",
)


def families(document: Document) -> dict[str, Any] | None:
    """Which findings overlap; None when there are fewer than two."""
    families = views.families(document)
    members = [member for family in families for member in family["members"]]
    if len(members) < 2:
        return None
    several = [family for family in families if len(family["members"]) > 1]
    alone = [family["members"][0] for family in families if len(family["members"]) == 1]
    split = read_split(document)
    intro = (
        f"{wording.families_answer(document)} phi is the correlation of two slices: 1 where they "
        "hold the same examples, 0 where they have nothing to do with each other. "
    )
    if several:
        intro += (
            "Findings whose phi with one that is stronger in discovery is at least 0.5 (or at most "
            "-0.5) are put into its family, as they may be faces of one pattern; it leads, even "
            "where another is larger in the holdout. \u201cLift beside lead\u201d is a "
            f"member\u2019s {split} lift when examples are compared only with those alike in the "
            "lead (a plain lift): near zero, it adds little to what the lead already says, and "
            "with the other sign it goes the other way among these; a dash: none are left to "
            "compare. Few may be, so read it as a hint."
        )
    else:
        intro += (
            "The limit from which two are put together is 0.5, either way; below it some may still "
            "be one pattern seen from several sides."
        )
    return {
        "intro": intro,
        "header": _FAMILY_HEADER,
        "several": [
            {
                "lead": family["lead"],
                "others": counted(len(family["members"]) - 1, "other"),
                "rows": [_member(member, family["lead"]) for member in family["members"]],
            }
            for family in several
        ],
        "alone_title": "Findings that join no other" if several else "The nearest finding of each",
        "alone_header": ("finding", "examples", "nearest finding", "phi"),
        "alone": [_alone(member) for member in alone],
    }


def _alone(member: Mapping[str, Any]) -> list[str]:
    near = member.get("nearest")
    return [
        member["name"],
        f"{member['on']:,}",
        near["name"] if near else "-",
        number(near["phi"]) if near else "-",
    ]


def _member(member: Mapping[str, Any], lead: str) -> list[str]:
    return [
        member["name"],
        number(member["phi"]),
        f"{member['on']:,}",
        f"{member['both']:,}",
        number(member["discovery_lift"]),
        number(member["holdout_lift"]),
        "lead" if member["name"] == lead else number(member["beside_lead"]),
    ]


def examples(document: Document) -> dict[str, Any] | None:
    """The examples of each selected slice; None when there are none."""
    found = views.examples(document)
    if not found or not found["slices"]:
        return None
    slices, event = found["slices"], event_of(document)
    held = document["data"]["holdout"] is not None
    for it in slices:
        it["said"] = f"{it['wrong']:,} {event.happened}, {it['right']:,} {event.others}"
        more = f"; {it['left_out']:,} more are not shown" if it["left_out"] else ""
        it["caption"] = f"{counted(len(it['rows']), 'example')}{more}"
    header = [" / ".join(found["id"]) or "row", "split", "outcome", *found["columns"]]
    return {
        "intro": "Examples inside the slice of each selected descriptor: those "
        f"{event.happens} first{', and among them those of the holdout' if held else ''}. Look at "
        "them: numbers say where the errors are, examples may say what they are."
        + (
            ""
            if found["columns"]
            else " Only their ids stand here; audited again with --examples COL, the page shows "
            "what the table has of each in column COL, such as the question and the answer."
        ),
        "header": header,
        "slices": slices,
        "labels": event.labels,
    }


_PLAINER: Final = {
    "errors on": "discovery inside",
    "errors off": "discovery outside",
    "lift": "discovery lift",
    "holdout on": "holdout inside",
    "holdout off": "holdout outside",
}
"""Titles of the table that terminals are too narrow for."""


def tested(document: Document) -> dict[str, Any] | None:
    """The table of everything that was tested; None when nothing was."""
    shown = [d for d in ranked(document) if d["status"] != "ineligible"]
    if not shown:
        return None
    header, row = table(document)
    header = [_PLAINER.get(title, title) for title in header]
    statuses = [(key, sum(d["status"] == key for d in shown)) for key in STATUS_WORDS]
    held = document["data"]["holdout"] is not None
    few = {1: "The one descriptor", 2: "Both descriptors"}
    whole = few.get(len(shown), f"All {len(shown):,} descriptors")
    return {
        "intro": f"{whole} of the library, with the verdict of the primary rule and the comparison "
        f"it rests on; by status, then by size in discovery. {_decides(document)}"
        + (
            " \u201cNot replicated\u201d: selected, but its holdout lift is too small or has the "
            "other sign."
            if held
            else ""
        ),
        "caption": "Errors of examples inside and outside each slice"
        + (", in discovery and in holdout" if held else "")
        + "; lifts, p-values, and the reason for the status",
        "header": header,
        "many": len(shown) > MANY,
        "tall": len(shown) > TALL,
        "statuses": [(key, STATUS_WORDS[key], count) for key, count in statuses if count],
        "rows": [
            {
                "name": d["name"],
                "status": d["status"],
                "cells": row(d)[2:],
                "reason": d["reason"]
                + (f". Same line as: {', '.join(d['aliases'])}" if d["aliases"] else ""),
            }
            for d in shown
        ],
    }


def _decides(document: Document) -> str:
    """Which of the columns the verdict goes by: others may seem to say the contrary."""
    plan = document["plan"]
    adjusted = "" if plan["strata"] is None else ", adjusted for the strata"
    screen = f"{method_words(document, document['rule'])} in discovery"
    if sized(document):
        screen = f"the size of the discovery {statistic_of(document)}{adjusted}, {_bar(document)}"
    largest = ", p max-T by |z|" if plan["statistic"] == "z" else ""
    others = f"The {'' if sized(document) else 'other '}p-values (two-sided by |lift|{largest})"
    if not document["data"]["holdout"]:
        return f"What decides is {screen}. {others} stand beside it."
    return (
        f"What decides is {screen}, and then the holdout lift{adjusted}: the same sign, and at "
        f"least {plan['min_holdout_lift']}. {others} and the intervals stand beside that "
        "and decide nothing: a small p, or an interval that leaves out zero, does not make a "
        "finding of a lift that is too small."
    )


def _bar(document: Document) -> str:
    """What the size of a discovery statistic has to pass."""
    if document["rule"] in THRESHOLDS:
        return "which has to reach the threshold"
    size = demanded(document)
    if document["rule"] == "fixed_lift" or size is None:
        return f"which has to reach {float(FIXED_LIFT):.2f}"
    return f"which has to exceed the floor of {size:.4f}"


def left_out(document: Document) -> dict[str, Any]:
    """What was not tested, and why."""
    header = ("descriptor", "reason", "inside", "outside", "lift", "p outside the library")
    rows = [
        (
            d["name"],
            d["reason"],
            views.share(d["discovery"], "on"),
            views.share(d["discovery"], "off"),
            number(d["discovery"]["lift"]),
            p_text(d["p_exact_outside"]),
        )
        for d in views.found(document, "ineligible")
    ]
    return not_tested(header, rows, document["not_used"], document["data"]["columns"])


def not_tested(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    not_used: Sequence[Mapping[str, str]],
    columns: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Descriptors that are not eligible, columns that are not used, values that are missing."""
    gaps = [(c["column"], f"{c['missing']:,}") for c in columns if c["missing"]]
    unused = [(entry["column"], entry["reason"]) for entry in not_used]
    return {
        "ineligible": {
            "title": f"{counted(len(rows), 'descriptor')} not eligible",
            "header": header,
            "rows": rows,
        }
        if rows
        else None,
        "not_used": {"title": f"{counted(len(unused), 'column')} not used", "rows": unused}
        if unused
        else None,
        "missing": {"title": f"Missing values in {counted(len(gaps), 'column')}", "rows": gaps}
        if gaps
        else None,
    }


def screen(document: Document) -> dict[str, Any] | None:
    """The two charts of the screen with their tables; None when nothing was screened."""
    if not document["screen"]["L"]:
        return None
    bins, curve = views.bins(document), views.curve(document)
    if not bins and not curve:
        return None
    drawn = {
        "decoys": charts.decoys(document, PAGE),
        "fdp": charts.fdp(document, PAGE),
    }
    literal = bool(bins) and bins[0]["decoys"] is not None
    size = "|lift|" if document["plan"]["statistic"] == "lift" else "|z|"
    threshold = " ".join(wording.threshold_words(document))
    return {
        "intro": "A screen of many descriptors always finds something that looks large. How large "
        "chance alone can make it is seen by shuffling: descriptors whose labels were shuffled "
        "(decoys), or errors that were, have nothing to do with the outcome."
        + (
            " Here errors of whole clusters were exchanged. Descriptors that go with the size of "
            "clusters then reach large differences by chance alone, which raises the threshold for "
            "all; a p-value compares a descriptor with its own exchanges only, so it can be small "
            "below the threshold."
            if document["data"]["clusters"]
            else ""
        )
        + (
            " How often the rule selects anything where there is nothing to find is not to be read "
            "off here, since it would then choose another threshold, or none: janus-jax replay "
            "answers that."
            if document["rule"] in THRESHOLDS
            else ""
        ),
        "decoys": drawn["decoys"]
        and draw(
            drawn["decoys"],
            "decoys",
            "Sizes of tested descriptors and of decoys",
            "A histogram of tested descriptors above the line and of decoys below it.",
        ),
        "decoys_title": "Tested descriptors beside chance"
        if literal
        else "How large the tested descriptors are",
        "decoys_caption": (
            f"Up: how large {size} of the tested descriptors is; down: the same for the "
            "decoys, which are chance alone. A descriptor is worth a second look where it stands "
            "beyond nearly all of them. "
            if literal
            else f"How many descriptors have which {size} in discovery. There are no "
            "decoys here that could be set beside them. "
        )
        + threshold,
        "bins_header": ("from", "to", "descriptors", "decoys")
        if literal
        else ("from", "to", "descriptors"),
        "bins": [
            [f"{b['low']:.4f}", f"{b['high']:.4f}", str(b["descriptors"])]
            + ([str(b["decoys"])] if literal else [])
            for b in bins
        ],
        "fdp": drawn["fdp"]
        and draw(
            drawn["fdp"],
            "fdp",
            "Estimated share of false discoveries at each threshold",
            "A curve over thresholds, with the limit q and the threshold that was chosen.",
        ),
        "fdp_caption": "For each possible threshold: the number of chance results expected at or "
        "above it, as a share of the descriptors that reach it. "
        f"{_taking(document)} the smallest threshold at which this is at most "
        f"q = {document['plan']['q']}. "
        + threshold
        + (" Estimates above 100% are drawn at 100%." if charts.beyond(curve) else ""),
        **_curve_table(document, curve),
    }


def _taking(document: Document) -> str:
    """Whose threshold it is."""
    return "The rule takes" if document["rule"] in THRESHOLDS else "A rule by it would take"


def _curve_table(document: Document, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = charts.fdp_series(document)
    counts = {"decoys": "D", "decoys_exact": "expected", "mean_count": "mean"}
    words = {"D": "decoys reaching", "expected": "expected decoys", "mean": "mean count"}
    total = len((document["screen"].get("curve") or {"threshold": ()})["threshold"])
    left = f"; {len(rows)} of {total:,} thresholds, all are in result.json"
    header = ["threshold", "descriptors reaching"]
    for method in names:
        header += [words[counts[method]], f"estimate, {names[method]}"]
    return {
        "curve_header": header,
        "curve_caption": "Thresholds and the estimated share of false discoveries at each"
        + (left if len(rows) < total else ""),
        "curve": [
            [f"{row['threshold']:.4f}", str(row["R"])]
            + [
                cell
                for method in names
                for cell in (f"{row[counts[method]]:.4g}", f"{row[method]:.4f}")
            ]
            for row in rows
        ],
    }


def methods(document: Document) -> dict[str, Any] | None:
    """The methods side by side; None when nothing was screened."""
    spec = charts.methods(document, PAGE)
    if spec is None:
        return None
    held = document["data"]["holdout"] is not None
    return {
        "drawing": draw(
            spec,
            "methods",
            "How many descriptors each method reports",
            "One line a method; the numbers are in the table that follows.",
        ),
        "caption": "Diamonds: how many descriptors a method selects on discovery"
        + ("; dots: how many of those the holdout confirms." if held else "."),
        "header": METHOD_HEADER,
        "rows": list(method_rows(document)),
        "notes": list(method_notes(document)),
    }


def proposed(document: Document) -> dict[str, Any] | None:
    """What was mined beforehand and what became of it; None when nothing was."""
    section = document.get("proposed")
    if section is None:
        return None
    return {
        "answer": wording.sentence(judged_answer(section)),
        "header": JUDGED_HEADER,
        "rows": judged_rows(section, STATUS_WORDS),
    }
