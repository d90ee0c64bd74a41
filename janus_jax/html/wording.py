"""What the page says in sentences; for somebody who knows no statistics where it says "plain"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from janus_jax.behaviour.wording import counted
from janus_jax.cells import called, number, printable
from janus_jax.event import ERROR, Event, event_of
from janus_jax.html import views
from janus_jax.ranking import judged_lift
from janus_jax.report import method_words
from janus_jax.verdict import (
    Document,
    by_chance_words,
    close,
    demanded,
    selected,
    statistic_of,
    threshold_of,
)

NOT_SAID_OF_ANY: Final = (
    (
        "It does not say why.",
        "A group of examples with more errors need not be the cause of them: what it has in common "
        "may go with something else that is. Only an experiment that changes that one thing, and "
        "nothing else, can tell.",
    ),
    (
        "It is no guarantee.",
        "The screen lets chance findings through, and the check on the holdout is one of size and "
        "sign, not a significance test. A confirmed finding is well supported, not proven.",
    ),
    (
        "Not confirmed is not absent.",
        "A small group, a small difference or a small holdout is easily missed. What is not listed "
        "as a finding has not been shown to be harmless.",
    ),
    (
        "It is one split of one table.",
        "Other examples, or the same ones dealt differently, would give other numbers, and a "
        "finding close to a limit may fall on its other side.",
    ),
    (
        "It cannot know what you looked at.",
        "If descriptors, split or limits were chosen after looking at the errors, or several "
        "audits were made and the best was kept, the numbers here are too good. A plan file "
        "records what was fixed beforehand, but not that it was the only one.",
    ),
)
"""What no audit says, of one model or of several: the point, and why."""

NOT_SAID: Final = (
    *NOT_SAID_OF_ANY,
    (
        "Findings are not counted apart.",
        "Groups overlap, so several findings may be one pattern seen from several sides. The "
        "families gather those that overlap most; they do not say which of them matters.",
    ),
    (
        "Intervals are conditional on selection.",
        "They are shown for findings because these were selected and passed the gate. Where the "
        "true difference is well below the gate, such an interval covers it less often than 95% "
        "of the time. Discovery lifts won a selection and tend to be too large: read those of the "
        "holdout.",
    ),
    (
        "It speaks of these examples and {whose}.",
        "Another model, prompt, version or benchmark may err elsewhere.",
    ),
)
"""What an audit does not say: the point, and why."""

WORDS: Final = (
    ("descriptor", "A yes/no fact about an example; its slice is the examples for which it holds."),
    (
        "x > 5, x = a, x",
        "Names of descriptors: column x of the table above 5, equal to a, or true. A column of "
        "numbers is cut at its median over the discovery examples, unless the plan says otherwise. "
        "What a column means, only those who made the table can say.",
    ),
    ("lift", "The error rate inside the slice minus the error rate outside."),
    (
        "discovery, holdout",
        "The part of the examples that was searched, and the part kept apart to check what was "
        "found.",
    ),
    (
        "adjusted for the strata",
        "Counted are the errors in a slice beyond those that the strata of its examples lead one "
        "to expect, so that only examples of one stratum are compared with each other; a "
        "difference of rates on the scale of the lift.",
    ),
    ("decoy", "A descriptor whose labels were shuffled, so that only chance relates it to errors."),
    (
        "Procedure A",
        "The screen: the smallest size at which the decoys expected to reach it are at most a "
        "share q of the descriptors that do. K literal decoys are a draw of them; the exact limit "
        "is what infinitely many would give.",
    ),
    (
        "estimated share of false discoveries (FDP)",
        "That share, at any size. It speaks of what the screen selects, before the check.",
    ),
    ("gate", "The check: the same sign in the holdout, and at least a size fixed beforehand."),
    (
        "p exact, BH, max-T, mean count",
        "Other ways to allow for chance: the share of all reassignments of errors with a lift as "
        "large; that, corrected for the number of descriptors (Benjamini-Hochberg); by the largest "
        "lift of each shuffle (step-down: leaving out what was found already); and by how many "
        "descriptors a shuffle lets pass.",
    ),
    ("stability", "The share of decoy seeds by which K literal decoys would select a descriptor."),
    (
        "eligible, library",
        "Enough examples inside and outside the slice, in both parts, to be tested; all those "
        "together, for which chance is allowed.",
    ),
    (
        "p outside the library",
        "The exact p-value of a descriptor that is not eligible, for orientation: it is no part of "
        "the library, so nothing is corrected for it and no rule looks at it.",
    ),
    (
        "cluster, stratum",
        "Examples that belong together, so that their errors are moved as a whole; groups within "
        "which errors are shuffled, so that differences between these groups play no part.",
    ),
)
"""Words of the page, for those who meet them first."""


def sentence(text: str) -> str:
    """Text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def plain(document: Document) -> tuple[str, str]:
    """The answer in two sentences: what was found and how strong, how sure and what limits it."""
    tested = document["screen"]["L"]
    status, shown = views.spotlight(document)
    if not tested or status == "nothing":
        return _nothing_tested(document)
    found = _of(len(shown), tested)
    if status == "confirmed":
        return _confirmed(document, shown, found), _how_sure(document, shown)
    if status == "selected":
        return (
            f"{sentence(found)} stood out{_most(document, shown)}.",
            "No examples were kept apart to check that, so nothing is confirmed: differences that "
            "win a search look larger than they are, and they may be chance.",
        )
    if status == "not_replicated":
        passed = "it did not pass" if len(shown) == 1 else "none of them passed"
        return (
            f"{sentence(found)} stood out where we searched, but {passed} the check on "
            f"{_held(document)} kept apart for that.",
            "So nothing is reported as a finding, which is a result and not a failure: what is "
            f"seen only where one searches is often chance. But {_blind(document)}",
        )
    groups = "not even the one tested" if tested == 1 else f"none of the {tested:,} groups tested"
    return (
        f"No group of examples was found {event_of(document).anywhere}: {groups} "
        + (
            f"differed by as much as {_points(size)}, which the rule demands."
            if (size := demanded(document)) and document["rule"] == "fixed_lift"
            else "stood out enough for the rule to tell it from chance."
        ),
        f"That is a result, not a failure, but no proof: {_blind(document, small=True)}",
    )


def _of(count: int, tested: int) -> str:
    if tested == 1:
        return "the one group of examples that was tested"
    if count == tested:
        return f"all {tested:,} groups of examples that were tested"
    return f"{count:,} of the {tested:,} groups of examples that were tested"


def _held(document: Document) -> str:
    return counted(document["data"]["holdout"]["n"], "example")


def _name(descriptor: dict[str, Any]) -> str:
    return f"\u201c{called(descriptor['name'])}\u201d"


def _rates(document: Document, part: dict[str, Any]) -> str:
    """``62% are answered wrongly, against 35% elsewhere``."""
    inside = views.percent(part["errors_on"], part["on"])
    outside = views.percent(part["errors_off"], part["off"])
    adjusted = part.get("lift_adjusted")
    return f"{inside} are {event_of(document).happens}, against {outside} elsewhere" + (
        "" if adjusted is None else f" ({number(adjusted)} when adjusted for the strata)"
    )


def _most(document: Document, shown: list[dict[str, Any]]) -> str:
    lead = ", most of all " if len(shown) > 1 else ": "
    return f"{lead}{_name(shown[0])}, where {_rates(document, shown[0]['discovery'])}"


def _confirmed(document: Document, shown: list[dict[str, Any]], found: str) -> str:
    kinds = len(views.families(document))
    together = (
        f" ({kinds:,} {_families(kinds)}, since they overlap)" if 0 < kinds < len(shown) else ""
    )
    # The discovery ranks them; of their sizes the holdout speaks, so the largest there is named.
    largest = max(shown, key=lambda d: abs(judged_lift(d["holdout"]) or 0.0))
    adjusted = "" if document["plan"]["strata"] is None else ", adjusted for the strata,"
    lead = f"the largest difference there{adjusted} is in " if len(shown) > 1 else "in "
    return (
        f"In {found}{together} {_differs(document, shown)}, and the difference held up on "
        f"{_held(document)} kept apart to check it; {lead}{_name(largest)}, where "
        f"{_rates(document, largest['holdout'])}."
    )


def _differs(document: Document, shown: list[dict[str, Any]]) -> str:
    event = event_of(document)
    more = sum((judged_lift(d["holdout"]) or 0.0) > 0 for d in shown)
    adjusted = "" if document["plan"]["strata"] is None else ", once adjusted for the strata"
    if more == len(shown):
        return event.more + adjusted
    if not more:
        return event.less + adjusted
    ways = zip(event.ways, (more, len(shown) - more), strict=True)
    return f"{event.differs}{adjusted} ({', '.join(f'{way} {count:,}' for way, count in ways)})"


def _families(count: int) -> str:
    return "family" if count == 1 else "families"


def _how_sure(document: Document, shown: list[dict[str, Any]]) -> str:
    halves = [
        (d["effect"]["high"] - d["effect"]["low"]) / 2
        for d in shown
        if d["effect"] and d["effect"]["low"] is not None
    ]
    if halves:
        least, most = (max(1, round(100 * half)) for half in (min(halves), max(halves)))
        these = "these differences are" if len(shown) > 1 else "this difference is"
        span = f"{least} to {most}" if least < most else str(most)
        known = (
            f"{these} known to within about {span} percentage point{'' if most == 1 else 's'} "
            f"either way (95% interval{'' if len(shown) == 1 else 's'}{_plain(document, shown)}"
            f"{_short_near(document)})"
        )
    else:
        known = "how exactly such a difference is known cannot be said here"
        if (clusters := document["data"]["clusters"]) is not None:
            known += (
                f", because examples with the same {called(clusters['column'])} belong together"
            )
    return f"{sentence(known)}; {_blind(document)}"


def _plain(document: Document, shown: list[dict[str, Any]]) -> str:
    if document["plan"]["strata"] is None:
        return ""
    return f" of the unadjusted difference{'' if len(shown) == 1 else 's'}"


def _short_near(document: Document) -> str:
    gated = float(document["plan"]["min_holdout_lift"]) > 0
    return ", too short for one that passed the check by luck" if gated else ""


def _points(size: float) -> str:
    """A difference of rates: ``10 percentage points``."""
    points = round(100 * size, 1)
    shown = f"{points:.0f}" if points == round(points) else f"{points:.1f}"
    return f"{shown} percentage point{'' if shown == '1' else 's'}"


def _blind(document: Document, *, small: bool = False) -> str:
    """What this design cannot see: the bars a difference had to pass, or the size of the table."""
    data, plan = document["data"], document["plan"]
    gate = float(plan["min_holdout_lift"])
    if small or data["holdout"] is None or not gate:
        if document["rule"] == "fixed_lift":
            return "smaller differences may still be there."
        n = counted(data["discovery"]["n"], "example")
        return f"what a search of {n} cannot tell from chance may still be there."
    adjusted = "" if plan["strata"] is None else ", adjusted for the strata in both places,"
    return (
        f"to be reported, a difference{adjusted} had {_demand(document)} where we searched and "
        f"then to reach {_points(gate)} in the holdout, so what is not listed is not cleared, and "
        "nothing here says why the errors are there."
    )


def _demand(document: Document) -> str:
    """What the screen demands of a difference, as a size where it demands one of lifts."""
    size = demanded(document)
    if size is None or statistic_of(document) != "lift":
        return "to stand out from chance"
    return f"{'to exceed' if document['rule'] == 'fixed_floor' else 'to reach'} {_points(size)}"


def screened(document: Document) -> str | None:
    """How many were selected, and how many of them chance alone would give; None for none."""
    count, tested = len(selected(document)), document["screen"]["L"]
    chance = by_chance_words(document)
    if not count or chance is None:
        return None
    none = "the one tested had nothing" if tested == 1 else f"none of the {tested:,} tested had"
    passing = (
        "; the check on the holdout lets fewer of those pass, how many cannot be said"
        if document["data"]["holdout"]
        else ""
    )
    return (
        f"The screen selected {counted(count, 'descriptor')}. If {none} "
        f"to do with errors, {chance} would still reach the threshold chosen here{passing}."
    )


def close_calls(document: Document) -> str | None:
    """Which findings one or two examples would have undone; None for none."""
    near = close(document)
    if not near:
        return None
    listed = ", ".join(f"{_name(d)} ({' and '.join(splits)})" for d, splits in near[:_CLOSE])
    more = f" and {len(near) - _CLOSE:,} more" if len(near) > _CLOSE else ""
    it = "it" if len(near) == 1 else "each of them"
    return (
        f"Close to a limit: {listed}{more}. Had one or two examples in its slice come out "
        f"the other way, {it} would not have passed there."
    )


_CLOSE: Final = 6  # findings that are named as close to a limit


def _nothing_tested(document: Document) -> tuple[str, str]:
    made = len(document["descriptors"])
    parts = ", in discovery and in holdout" if document["data"]["holdout"] else ""
    return (
        "Nothing could be tested, so nothing was found: no group of examples is large enough, "
        f"inside and outside{parts}."
        if made
        else "Nothing could be tested, so nothing was found: the table has no usable facts about "
        "its examples.",
        "The reasons are listed below; more examples, or other limits of support and prevalence, "
        "would let the audit look."
        if made
        else "What was not used, and why, is listed below; columns with facts about the examples "
        "would let the audit look.",
    )


def heading(document: Document, event: Event = ERROR) -> str:
    """The title: what it is about, and the files by their names, without folders."""
    names = [
        printable(source.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]) or source
        for source in document["data"]["source"]
    ]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (shown or "this table").join(event.title)


def families_answer(document: Document) -> str | None:
    """How many findings there are, and how many families of them; None for a single one."""
    families = views.families(document)
    members = sum(len(family["members"]) for family in families)
    if members < 2:
        return None
    kind = "finding" if document["data"]["holdout"] is not None else "selected descriptor"
    if len(families) == members:
        return (
            f"{counted(members, kind)}: no two overlap so much that they are put into one family, "
            "but smaller overlaps remain."
        )
    return f"{counted(members, kind)}, {len(families):,} {_families(len(families))}."


def threshold_words(document: Document) -> Iterator[str]:
    """How the screen came to its threshold, for the two charts of it."""
    chosen = threshold_of(document)
    if chosen is None:
        yield (
            "No threshold has an estimated share of false discoveries of at most "
            f"q = {document['plan']['q']}: there is no line to draw, and nothing is selected by it."
        )
        return
    method, threshold = chosen
    said = f"The dashed line is the threshold {threshold:.4f} of {method_words(document, method)}"
    if method != document["rule"]:
        said += f"; the primary rule, {method_words(document, document['rule'])}, does not use it"
    yield said + "."
    below = [row for row in views.curve(document) if row["threshold"] < threshold]
    estimate = below[-1].get(method) if below else None
    if estimate is not None:
        yield (
            "It is the size of a tested descriptor, the smallest that the limit q allows: at the "
            f"next smaller one the estimate is {estimate:.1%}."
        )
