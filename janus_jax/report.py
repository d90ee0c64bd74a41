"""The result as people read it: a sentence, a CSV file, Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from janus_jax.cells import IN_TABLE, called, floored, number, p_text, printable
from janus_jax.event import event_of
from janus_jax.markdown import escaped, sentence, table_lines
from janus_jax.plans.proposed import JUDGED_HEADER, judged_answer, judged_rows
from janus_jax.ranking import FINDINGS, judged_lift
from janus_jax.verdict import Document, by_chance_words, ranked, read_split, selected

STATUS_WORDS = {
    "confirmed": "confirmed",
    "selected": "selected (no holdout)",
    "not_replicated": "not replicated",
    "not_selected": "not selected",
    "ineligible": "ineligible",
}

METHOD_WORDS = {
    "decoys": "Procedure A, K literal decoys",
    "decoys_exact": "Procedure A, exact limit",
    "unadjusted": "unadjusted exact p",
    "bh_05": "Benjamini-Hochberg 0.05",
    "bh_10": "Benjamini-Hochberg 0.10",
    "max_t": "max-T",
    "max_t_step_down": "max-T, step-down",
    "mean_count": "mean count, permutations",
    "mean_count_exact": "mean count, exact",
    "fixed_lift": "fixed |lift| >= 0.10",
    "fixed_floor": "fixed decoy floor (95%)",
    "gate_only": "gate only, no screen",
}

VARIANTS = (
    ("fixed lift without decoys", "fixed_lift", "selected"),
    ("decoys only", "decoys", "selected"),
    ("decoys + gate", "decoys", "confirmed"),
    ("gate only", "gate_only", "confirmed"),
)
"""The paper's ablation in the table of methods: its name, the method, which of its two sets."""

FINDINGS_COLUMNS = (
    "name",
    "status",
    "reason",
    "discovery_n",
    "discovery_on",
    "discovery_errors_on",
    "discovery_errors_off",
    "discovery_lift",
    "discovery_lift_adjusted",
    "discovery_z",
    "holdout_n",
    "holdout_on",
    "holdout_errors_on",
    "holdout_errors_off",
    "holdout_lift",
    "holdout_lift_adjusted",
    "holdout_low",
    "holdout_high",
    "shrinkage",
    "holdout_z",
    "p_exact",
    "p_bh",
    "p_monte_carlo",
    "p_max_t",
    "p_max_t_step_down",
    "stability",
    "lift_known",
    "missing",
    "aliases",
)


def finding_rows(document: Document) -> Iterator[list[Any]]:
    """One row per descriptor in the order of :data:`FINDINGS_COLUMNS`, best status first."""
    for d in ranked(document):
        flat: dict[str, Any] = {**d, "aliases": "; ".join(d["aliases"])}
        for part in ("discovery", "holdout"):
            counts: dict[str, Any] = d[part] or {}
            flat |= {f"{part}_{key}": value for key, value in counts.items()}
        size: dict[str, Any] = d["effect"] or {}
        flat |= {f"holdout_{end}": size.get(end) for end in ("low", "high")}
        flat["shrinkage"] = size.get("shrinkage")
        yield [flat.get(column) for column in FINDINGS_COLUMNS]


def findings_csv(document: Document) -> str:
    """``findings.csv``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FINDINGS_COLUMNS)
    for row in finding_rows(document):
        writer.writerow("" if value is None else value for value in row)
    return out.getvalue()


def answer(document: Document) -> str:
    """What was found, in a sentence; the strongest findings are named."""
    tested = document["screen"]["L"]
    if not tested:
        return "no descriptor was eligible, so nothing was tested"
    many = "descriptor" if tested == 1 else "descriptors"
    said = by_chance_words(document)
    chance = f" ({said} by chance alone at this threshold)" if said else ""
    chosen = selected(document)
    screened = f"{len(chosen)} of {tested} {many} selected on discovery{chance}"
    if document["data"]["holdout"] is None:
        return f"{screened}; there is no holdout, so nothing is confirmed"
    found = [d for d in chosen if d["status"] == "confirmed"]
    slices = len({frozenset((d["name"], *d["aliases"])) for d in found})
    distinct = f" ({slices} different slices)" if slices < len(found) else ""
    names = ", ".join(signed_name(d, document) for d in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    listed = f": {names}{more}" if found else ""
    return f"{screened}, {len(found)} confirmed on holdout{distinct}{listed}"


def signed_name(d: Mapping[str, Any], document: Document) -> str:
    """A finding's name, with what it means where its lift, as judged, is negative."""
    negative = (judged_lift(d["discovery"]) or 0.0) < 0
    return called(d["name"]) + (f" ({event_of(document).fewer})" if negative else "")


def rate(part: Mapping[str, Any] | None, side: str) -> str:
    """Errors / examples on one side of a slice."""
    return "-" if part is None else f"{part[f'errors_{side}']}/{part[side]}"


def table(document: Document) -> tuple[list[str], Callable[[Mapping[str, Any]], list[str]]]:
    """The header of the table that people read, and what makes a descriptor a row of it.

    Stratum-adjusted lifts stand beside the plain ones where there are strata. The interval of the
    plain holdout lift follows it; where clusters are exchanged there is none, and the p-value comes
    from the permutations.
    """
    data, adjusted = document["data"], document["plan"]["strata"] is not None
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "descriptor": lambda d: called(d["name"], IN_TABLE),
        "status": lambda d: STATUS_WORDS[d["status"]],
    }
    for part, prefix, error in (("discovery", "", "errors "), ("holdout", "holdout ", "holdout ")):
        columns |= {
            f"{error}on": lambda d, part=part: rate(d[part], "on"),
            f"{error}off": lambda d, part=part: rate(d[part], "off"),
            f"{prefix}lift": lambda d, part=part: _of(d[part], "lift"),
        }
        if part == "holdout" and data["holdout"] and data["clusters"] is None:
            columns["holdout 95%"] = lambda d: interval(d["effect"])
        if adjusted:
            columns[f"{prefix}adjusted"] = lambda d, part=part: _of(d[part], "lift_adjusted")
    if data["clusters"] is None:
        columns["p exact"] = lambda d: p_text(d["p_exact"])
    else:
        columns["p clusters"] = lambda d: p_text(d["p_monte_carlo"])
    columns |= {
        "p BH": lambda d: p_text(d["p_bh"], bound=floored(d["p_exact"])),
        "p max-T": lambda d: p_text(d["p_max_t"]),
    }
    if any(d["stability"] is not None for d in document["descriptors"]):
        columns["stability"] = lambda d: number(d["stability"], ".2f")
    return list(columns), lambda d: [cell(d) for cell in columns.values()]


def _of(part: Mapping[str, Any] | None, name: str) -> str:
    return number(part[name] if part else None)


def interval(effect: Mapping[str, Any] | None) -> str:
    """The interval of a holdout lift, as ``+0.15..+0.28``."""
    if effect is None or effect["low"] is None:
        return "-"
    return f"{number(effect['low'], '+.2f')}..{number(effect['high'], '+.2f')}"


METHOD_HEADER = (
    "method",
    "selected",
    "mean |lift|",
    "in holdout",
    "confirmed",
    "confirmed |lift|",
    "confirmed in holdout",
)


def method_rows(document: Document) -> Iterator[list[str]]:
    """The matched comparison: what each method keeps, and how large that is in both splits."""
    for entry in document["ablation"]:
        method, confirmed = entry["method"], entry["confirmed"]
        if method == "gate_only" and confirmed is None:
            continue  # no gate without a holdout
        star = " *" if method == document["rule"] else ""
        yield [
            method_words(document, method) + star,
            *_kept(entry["selected"]),
            *(_kept(confirmed) if confirmed else "---"),
        ]


def _kept(survivors: Mapping[str, Any]) -> list[str]:
    means = (survivors[f"mean_{part}"] for part in ("discovery", "holdout"))
    return [str(survivors["count"]), *(number(mean, ".3f") for mean in means)]


def method_notes(document: Document) -> Iterator[str]:
    """What the table of methods shows, and the ablation of the paper in it, a line each."""
    kind = "|lift|" if document["plan"]["strata"] is None else "stratum-adjusted |lift|"
    held = document["data"]["holdout"] is not None
    where = ", in discovery and of the same in holdout" if held else " in discovery"
    yield f"means are of the {kind} of what a method keeps{where}"
    kept = {entry["method"]: entry for entry in document["ablation"]}
    for name, method, which in VARIANTS:
        found = kept[method][which] if method in kept else None
        if found is not None:
            count, discovery, holdout = _kept(found)
            means = f", mean |lift| {discovery} in discovery"
            means += f" and {holdout} in holdout" if held else ""
            yield f"{name}: {count} kept{means if found['count'] else ''}"
    yield from filter(None, (_kept_back(document), _step_down(document)))


def _kept_back(document: Document) -> str | None:
    """How many descriptors that pass the gate the primary rule's screen takes away."""
    confirmed = {entry["method"]: entry["confirmed"] for entry in document["ablation"]}
    gate, ruled = confirmed.get("gate_only"), confirmed.get(document["rule"])
    if not gate or not ruled or not gate["count"]:
        return None
    # The gate is the same for all methods, so what a rule confirms is part of what gate only does.
    back = gate["count"] - ruled["count"]
    passing = "one that passes" if gate["count"] == 1 else f"{gate['count']} that pass"
    return f"of the {passing} the gate, the screen of the primary rule keeps back " + (
        f"{back}" if back else "none: here it makes no difference to what is confirmed"
    )


def _step_down(document: Document) -> str | None:
    """Why step-down max-T can keep descriptors whose max-T p-value is large."""
    methods = document["methods"]
    if "max_t" not in methods:
        return None
    more = set(methods["max_t_step_down"]["selected"]) - set(methods["max_t"]["selected"])
    first = next((d for d in ranked(document) if d["name"] in more), None)
    if first is None:
        return None
    return (
        "max-T, step-down, takes what it has found out of the maximum before it judges the next: "
        f"{called(first['name'])} has p {p_text(first['p_max_t_step_down'])} by it and "
        f"{p_text(first['p_max_t'])} by plain max-T (p_max_t_step_down in findings.csv)"
    )


def splits(document: Document) -> str:
    """The size of each split, in words."""
    data = document["data"]
    parts = [
        f"{name} {data[name]['n']} examples, {data[name]['errors']} errors"
        for name in ("discovery", "holdout")
        if data[name]
    ]
    if data["proposal_rows"]:
        parts.append(f"proposal {data['proposal_rows']} rows, not used")
    return "; ".join(parts)


def chosen(document: Document) -> str | None:
    """What was chosen of an evaluation log, in words; None for a table."""
    log = document["data"]["log"]
    if log is None:
        return None
    listed = ", ".join(f"{name} {printable(value)}" for name, value in log["choices"].items())
    return f"log of {log['format']}: {listed}"


def rule_words(document: Document) -> str:
    """The primary rule and the limit it goes by."""
    rule, plan = document["rule"], document["plan"]
    limit = ""
    if rule in ("decoys", "decoys_exact", "mean_count", "mean_count_exact"):
        limit = f", q = {plan['q']}, statistic {plan['statistic']}"
    elif rule in ("unadjusted", "max_t", "max_t_step_down"):
        limit = f", alpha = {plan['alpha']}"
    return method_words(document, rule) + limit


def method_words(document: Document, method: str) -> str:
    """What a method is called; where clusters are exchanged there is no exact p."""
    words = METHOD_WORDS[method]
    if document["data"]["clusters"] is None:
        return words
    return words.replace("exact p", "p, clusters exchanged")


def planned_words(document: Document) -> str | None:
    """How the plan came before the outcomes, with its hash; None without a plan file."""
    plan = document["plan"]
    if "planned" not in plan:
        return None
    if not plan["frozen_before_outcomes"]:
        said = "by a plan that was edited after planning"
    elif plan["planned"]["outcomes_read"] == "none":
        said = "planned before outcomes were read"
    else:
        said = "planned before the outcomes of discovery and holdout were read"
    return f"{said}; plan {plan['hash']}"


def ran_on(document: Document) -> str:
    """Which backend ran, where, for how long."""
    run = document["run"]
    return (
        f"backend {run['backend']} {run['backend_version']} on {run['device']}, "
        f"{run['seconds']:.1f} s"
    )


def markdown(document: Document) -> str:
    """``report.md``."""
    return "\n".join(_markdown(document))


def _markdown(document: Document) -> Iterator[str]:
    data, plan = document["data"], document["plan"]
    header, row = table(document)
    event = event_of(document)
    source = ", ".join(data["source"])
    yield f"# {escaped(source.join(event.title))}"
    yield ""
    yield sentence(answer(document))
    yield ""
    yield f"Outcome: {escaped(data['outcome']['column'])} ({data['outcome']['kind']}). "
    yield f"{splits(document)}. Primary rule: {rule_words(document)}."
    if event.defined:
        yield f"Here {escaped(event.defined)}."
    if said := chosen(document):
        yield ""
        yield sentence(said)
    yield ""
    if (planned := planned_words(document)) is not None:
        yield f"{planned[:1].upper()}{planned[1:]}."
        yield ""
    for warning in document["warnings"]:
        yield f"> **Warning:** {escaped(warning)}"
        yield ""
    shown = [d for d in ranked(document) if d["status"] != "ineligible"]
    if shown:
        yield "## Descriptors tested"
        yield ""
        yield from table_lines(header, (row(d) for d in shown))
        yield ""
        yield "## Why each"
        yield ""
        for d in shown:
            alias = f" Same line: {', '.join(map(escaped, d['aliases']))}." if d["aliases"] else ""
            yield f"* **{escaped(d['name'])}**: {escaped(d['reason'])}.{alias}"
        yield ""
        yield from _overlapping(document)
        yield "## What each method would have reported"
        yield ""
        yield from table_lines(METHOD_HEADER, method_rows(document))
        yield ""
        yield "\\* the primary rule"
        yield ""
        for line in method_notes(document):
            yield f"* {escaped(line)}"
        yield ""
    if "proposed" in document:
        yield from _proposed(document["proposed"])
    left_out = [d for d in document["descriptors"] if d["status"] == "ineligible"]
    if left_out:
        yield "## Not eligible"
        yield ""
        for d in left_out:
            yield f"* {escaped(d['name'])}: {escaped(d['reason'])}"
        yield ""
    if document["not_used"]:
        yield "## Columns not used"
        yield ""
        for entry in document["not_used"]:
            yield f"* {escaped(entry['column'])}: {escaped(entry['reason'])}"
        yield ""
    missing = [column for column in data["columns"] if column["missing"]]
    if missing:
        yield "## Missing values"
        yield ""
        yield "A missing value counts as outside every slice of its column."
        yield ""
        for column in missing:
            yield f"* {escaped(column['column'])}: {column['missing']} missing"
        yield ""
    yield "## How to read this"
    yield ""
    for note in document["notes"]:
        yield f"* {escaped(note)}"
    yield "* lifts are differences in error rate, inside minus outside; they are not causes, and a "
    yield "  descriptor that is not confirmed is not thereby harmless"
    yield ""
    yield f"Plan {plan['hash'][:12]}, data {data['sha256'][:12]}; {ran_on(document)}."
    yield ""


_OVERLAP_HEADER = (
    *("family", "finding", "phi", "on", "on in both", "lift", "holdout lift"),
    "lift beside the lead",
)


def _overlapping(document: Document) -> Iterator[str]:
    """Which findings may be faces of one pattern; nothing when none overlap."""
    families = document["families"]
    several = [family for family in families if len(family["members"]) > 1]
    if not several:
        return
    grouped = sum(len(family["members"]) for family in families)
    found = sum(d["status"] in FINDINGS for d in document["descriptors"])
    split = read_split(document)
    yield "## Findings that overlap"
    yield ""
    if grouped < found:
        yield f"Of the {found} findings the first {grouped} are grouped."
    yield (
        f"The {grouped} findings are {len(families)} "
        f"{'family' if len(families) == 1 else 'families'}: findings whose memberships correlate "
        "with that of one that is stronger in discovery, the lead of the family (phi is 0.5 or "
        "more, or -0.5 or less), may be faces of one pattern. The lift beside the lead is the "
        f"{split} lift when examples are compared only with those that are alike in the lead; a "
        "dash: none of those differ in the finding."
    )
    yield ""
    yield from table_lines(
        _OVERLAP_HEADER,
        (
            [
                str(place),
                called(member["name"], IN_TABLE),
                number(member["phi"]),
                str(member["on"]),
                str(member["both"]),
                number(member["discovery_lift"]),
                number(member["holdout_lift"]),
                "lead" if member["name"] == family["lead"] else number(member["beside_lead"]),
            ]
            for place, family in enumerate(several, start=1)
            for member in family["members"]
        ),
    )
    yield ""


def _proposed(section: Mapping[str, Any]) -> Iterator[str]:
    """What a slice finder alone would have claimed beside what survived."""
    said = judged_answer(section)
    yield "## What a slice finder alone would have claimed"
    yield ""
    yield sentence(said)
    yield ""
    if section["slices"]:
        yield from table_lines(JUDGED_HEADER, judged_rows(section, STATUS_WORDS))
        yield ""
