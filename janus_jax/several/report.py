"""A comparison as people read it: a sentence, tables, Markdown, the terminal."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO

from janus_jax.behaviour.wording import counted
from janus_jax.cells import IN_TABLE, called, in_list, number, printable
from janus_jax.markdown import escaped, sentence, table_lines
from janus_jax.report import (
    FINDINGS_COLUMNS,
    STATUS_WORDS,
    answer,
    chosen,
    finding_rows,
    planned_words,
    ran_on,
    rule_words,
    signed_name,
)
from janus_jax.several.found import KIND_WORDS, deciding_lift, found_words
from janus_jax.several.merging import said_once
from janus_jax.several.naming import short_names
from janus_jax.several.pairs_report import (
    PAIRS_LEFT_OUT,
    PAIRS_WORDS,
    clear_losses,
    disagree_words,
    judged,
    pairs_header,
    pairs_rows,
)
from janus_jax.terminal import console_for, print_answer, print_list, print_table
from janus_jax.verdict import Document, by_chance_text, read_split, selected

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN: Final = 40  # findings listed before "... more"
_PATTERNS: Final = 16  # patterns of co-errors, and slices where two models disagree, likewise
_PAIRS: Final = 3  # pairs of models that the answer names


def comparison_answer(document: Document) -> str:
    """What the models have in common and what is each one's own, in a sentence."""
    models = short_names(document)
    findings: list[dict[str, Any]] = document["findings"]
    found = "confirmed" if document["data"]["holdout"] else "selected (there is no holdout)"
    if not findings:
        nothing = f"nothing is {found} for {'either' if len(models) == 2 else 'any'} of them"
        parts = [nothing, *_loses_ground(document, models)]
        return f"{len(models)} models on the same examples; " + "; ".join(parts)
    many = {kind: [f for f in findings if f["kind"] == kind] for kind in KIND_WORDS}
    opposed = {
        everyone: [f for f in many["opposed"] if (len(f["found_for"]) == len(models)) == everyone]
        for everyone in (True, False)
    }
    parts: list[str] = []
    if many["common"] or not opposed[True]:
        count = counted(len(many["common"]), "descriptor")
        parts.append(f"{count} {found} for all{_named(many['common'])}")
    for everyone, ones in opposed.items():
        if ones:
            whom = "all, but" if everyone else "some,"
            count = str(len(ones)) if parts else f"{counted(len(ones), 'descriptor')} {found}"
            ways = _named(ones, lambda f: _both_ways(f, document))
            parts.append(f"{count} for {whom} in opposite directions{ways}")
    if many["some"]:
        parts.append(f"{len(many['some'])} for some but not all{_named(many['some'])}")
    for name, short in models.items():
        own = [f for f in many["own"] if f["found_for"] == [name]]
        if own:
            parts.append(f"{len(own)} for {in_list(short)} alone{_named(own)}")
    parts += _loses_ground(document, models)
    return f"{len(models)} models on the same examples; " + "; ".join(parts)


def _loses_ground(document: Document, models: Mapping[str, str]) -> Iterator[str]:
    """Where one model clearly loses ground to another: the only direct comparison of two."""
    clear: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for loser, winner, finding in clear_losses(document):
        clear.setdefault((loser, winner), []).append(finding)
    for (loser, winner), found in itertools.islice(clear.items(), _PAIRS):
        slices = "1 slice" if len(found) == 1 else f"{len(found)} slices"
        loses = f"{in_list(models[loser])} loses ground to {in_list(models[winner])}"
        if not any(finding["only_wrong"][loser]["on"] for finding in found):
            # Whoever is never wrong alone there is no worse there; it has lost a lead.
            loses = f"{in_list(models[winner])} catches up with {in_list(models[loser])}"
        yield f"{loses} in {slices}{_named(found)}"
    more = len(clear) - _PAIRS
    if more > 0:
        yield f"and so {'does 1 more pair' if more == 1 else f'do {more} more pairs'} of models"
    found = [finding for pair in document["pairs"] for finding in pair["findings"]]
    if found and not clear:
        none = ", and none where one clearly loses ground" if judged(found) else ""
        yield f"{len(found)} where two of them disagree{none}"


def _both_ways(finding: Mapping[str, Any], document: Document) -> str:
    """The largest lift and the smallest of those that were found, and whose they are."""
    models, split = short_names(document), read_split(document)
    lifts = {name: deciding_lift(finding["lifts"][name], split) for name in finding["found_for"]}
    ordered = sorted(lifts, key=lambda name: -(lifts[name] or 0.0))
    return ", ".join(
        f"{in_list(models[name])} {number(lifts[name])}" for name in (ordered[0], ordered[-1])
    )


def _named(
    findings: list[dict[str, Any]], ways: Callable[[dict[str, Any]], str] | None = None
) -> str:
    names = [called(f["name"]) + (f": {ways(f)}" if ways else "") for f in findings[:3]]
    more = f" and {len(findings) - 3} more" if len(findings) > 3 else ""
    return f" ({('; ' if ways else ', ').join(names)}{more})" if names else ""


def findings_table(document: Document) -> tuple[list[str], list[list[str]]]:
    """Every finding with each model's status and lift: header and rows.

    :func:`findings_caption` says which lift it is.
    """
    models, split = short_names(document), read_split(document)
    rows = [
        [
            called(finding["name"], IN_TABLE),
            found_words(finding),
            *(
                f"{STATUS_WORDS[finding['statuses'][name]]} "
                f"{lift_words(finding['lifts'][name], split)}"
                for name in models
            ),
        ]
        for finding in document["findings"]
    ]
    return ["descriptor", "found for", *models.values()], rows


def findings_caption(document: Document) -> str:
    """Which lifts :func:`findings_table` shows."""
    said = f"{read_split(document)} lift and status of every finding, for every model"
    if document["plan"]["strata"] is None:
        return said
    return f"{said}; the lift is the stratum-adjusted one, which decides, beside the plain one"


def lift_words(lifts: Mapping[str, float | None], split: str) -> str:
    """The lift that decides, and the plain one beside it where that is another."""
    shown = number(deciding_lift(lifts, split))
    return f"{shown} (plain {number(lifts[split])})" if f"{split}_adjusted" in lifts else shown


def pairs_caption(document: Document) -> str:
    """What the table of disagreements counts."""
    split = read_split(document)
    return f"slices found for what one of two models alone gets wrong, by {split} examples"


MODELS_HEADER: Final = (
    "errors of",
    "discovery errors",
    "holdout errors",
    "selected",
    "by chance",
    "confirmed",
    "strongest",
)


def models_rows(document: Document) -> list[list[str]]:
    """One row for each model and each difference: errors, and what its audit comes to."""
    models = short_names(document)
    return [
        *(_audit_row(models[entry["name"]], entry) for entry in document["models"]),
        *(_audit_row(shown_pair(entry, models), entry) for entry in document["differences"]),
    ]


def shown_pair(entry: Mapping[str, Any], models: Mapping[str, str]) -> str:
    """What a difference is called in tables."""
    return f"{in_list(models[entry['wrong']])} wrong, {in_list(models[entry['right']])} right"


def _audit_row(name: str, entry: Mapping[str, Any]) -> list[str]:
    audit = entry["audit"]
    if audit is None:
        return [name, entry["reason"], *("-" for _ in MODELS_HEADER[2:])]
    chosen = selected(audit)
    errors = entry["errors"]
    return [
        name,
        str(errors["discovery"]),
        str(errors.get("holdout", "-")),
        str(len(chosen)),
        by_chance_text(audit) or "-",
        str(sum(d["status"] == "confirmed" for d in chosen)) if audit["data"]["holdout"] else "-",
        ", ".join(f"{signed_name(d, audit)}: {STATUS_WORDS[d['status']]}" for d in chosen[:1])
        or "-",
    ]


def audit_answer(entry: Mapping[str, Any]) -> str:
    """What the audit of a model or a difference came to."""
    audit = entry["audit"]
    return answer(audit) if audit else f"not audited: {entry['reason']}"


CO_ERROR: Final = "wrong, and no other"
"""Head of the first column of :func:`co_error_rows`."""


def co_error_rows(document: Document) -> list[list[str]]:
    """Which models were wrong together, and on how many examples of each split."""
    models = short_names(document)
    counts: dict[tuple[str, ...], dict[str, int]] = {}
    for part, found in document["co_errors"].items():
        for pattern in found["patterns"]:
            counts.setdefault(tuple(pattern["wrong"]), {})[part] = pattern["n"]

    def who(wrong: tuple[str, ...]) -> str:
        if len(wrong) in (0, len(models)):
            return "all" if wrong else "none"
        return ", ".join(in_list(models[name]) for name in wrong)

    ordered = sorted(counts.items(), key=lambda item: -sum(item[1].values()))
    return [
        [who(wrong), *(str(by_part.get(part, 0)) for part in document["co_errors"])]
        for wrong, by_part in ordered
    ]


def not_used(document: Document) -> list[dict[str, str]]:
    """Columns that no descriptor was made of for any model, with the reason.

    The models' own outcomes are not among them.
    """
    names = {model["name"] for model in document["models"]}
    listed = {
        entry["column"]: entry
        for model in reversed(document["models"])
        for entry in model["audit"]["not_used"]
    }
    first = [entry["column"] for entry in document["models"][0]["audit"]["not_used"]]
    order = dict.fromkeys((*first, *listed))
    return [listed[column] for column in order if column not in names]


def ineligible(document: Document) -> list[dict[str, Any]]:
    """Descriptors that were not tested; whether they are does not depend on the model."""
    descriptors = document["models"][0]["audit"]["descriptors"]
    return [d for d in descriptors if d["status"] == "ineligible"]


def all_notes(document: Document) -> list[str]:
    """What is to be said of the comparison, then of its audits, each once."""
    entries = (*document["models"], *document["differences"])
    own = {entry["name"]: entry["audit"]["notes"] for entry in entries if entry["audit"]}
    return [*document["notes"], *said_once(own)]


def sizes(document: Document) -> str:
    """The size of each split, in words."""
    data, parts = document["data"], ("discovery", "holdout")
    return ", ".join(f"{part} {data[part]['n']} examples" for part in parts if data[part])


def _missing(document: Document) -> list[tuple[str, str]]:
    columns = document["data"]["columns"]
    return [(c["column"], f"{c['missing']} missing") for c in columns if c["missing"]]


def comparison_csv(document: Document) -> str:
    """``findings.csv``: every descriptor of every audited outcome, the outcome's name first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("outcome", *FINDINGS_COLUMNS))
    for entry in (*document["models"], *document["differences"]):
        for row in finding_rows(entry["audit"]) if entry["audit"] else ():
            writer.writerow([entry["name"], *("" if value is None else value for value in row)])
    return out.getvalue()


def comparison_markdown(document: Document) -> str:
    """``report.md``."""
    return "\n".join(_markdown(document))


def _markdown(document: Document) -> Iterator[str]:
    said = comparison_answer(document)
    yield f"# Where the errors of {len(document['models'])} models concentrate"
    yield ""
    yield sentence(said)
    yield ""
    sources = ", ".join(map(escaped, document["data"]["source"]))
    yield f"Data: {sources}; {sizes(document)}. Primary rule: {rule_words(document)}."
    yield ""
    for line in filter(None, (chosen(document), planned_words(document))):
        yield sentence(line)
        yield ""
    for warning in document["warnings"]:
        yield f"> **Warning:** {escaped(warning)}"
        yield ""
    yield "## The models, and where they differ"
    yield ""
    yield from table_lines(MODELS_HEADER, models_rows(document))
    yield ""
    yield "## Findings"
    yield ""
    header, rows = findings_table(document)
    if rows:
        yield sentence(findings_caption(document))
        yield ""
    yield from table_lines(header, rows) if rows else ("None.",)
    yield ""
    rows = pairs_rows(document, short_names(document))
    if document["differences"]:
        yield "## Where two models disagree"
        yield ""
        yield disagree_words(document)
        yield ""
        yield from (
            table_lines(pairs_header(document), rows) if rows else ("No such slice was found.",)
        )
        yield ""
    yield "## Who is wrong together"
    yield ""
    yield from table_lines((CO_ERROR, *document["co_errors"]), co_error_rows(document))
    yield ""
    yield "## Each audit"
    yield ""
    names = [row[0] for row in models_rows(document)]
    entries = (*document["models"], *document["differences"])
    for name, entry in zip(names, entries, strict=True):
        yield f"* **{escaped(name)}**: {escaped(audit_answer(entry))}"
    yield ""
    for title, pairs in (
        ("Not eligible", [(d["name"], d["reason"]) for d in ineligible(document)]),
        ("Columns not used", [(entry["column"], entry["reason"]) for entry in not_used(document)]),
        ("Missing values", _missing(document)),
    ):
        if pairs:
            yield f"## {title}"
            yield ""
            for name, reason in pairs:
                yield f"* {escaped(name)}: {escaped(reason)}"
            yield ""
    yield "## How to read this"
    yield ""
    for note in all_notes(document):
        yield f"* {escaped(note)}"
    yield ""
    yield (
        f"Plan {document['plan']['hash'][:12]}, data {document['data']['sha256'][:12]}; "
        f"{ran_on(document)}."
    )
    yield ""


def _print_more(console: Console, more: int) -> None:
    if more > 0:
        console.print(f"... and {more} more; --out DIR lists them all")


def print_comparison(document: Document, stream: TextIO) -> None:
    """Print the comparison: the answer, the models, what was found for which."""
    console = console_for(stream)
    print_answer(console, comparison_answer(document))
    console.print(f"{sizes(document)}; rule: {rule_words(document)}")
    for line in filter(None, (chosen(document), planned_words(document))):
        console.print(line)
    for warning in document["warnings"]:
        console.print(f"Warning: {printable(warning)}", style="yellow")
    print_table(console, MODELS_HEADER, models_rows(document), words=("strongest",))
    header, rows = findings_table(document)
    if rows:
        console.print()
        console.print(f"{findings_caption(document)}:")
        print_table(console, header, rows[:_SHOWN], words=header[1:])
        _print_more(console, len(rows) - _SHOWN)
    rows = pairs_rows(document, short_names(document))
    if rows:
        console.print()
        console.print(f"{pairs_caption(document)}:")
        print_table(
            console,
            pairs_header(document),
            rows[:_PATTERNS],
            words=PAIRS_WORDS,
            leave_out=PAIRS_LEFT_OUT,
        )
        _print_more(console, len(rows) - _PATTERNS)
    console.print()
    rows = co_error_rows(document)
    print_table(console, (CO_ERROR, *document["co_errors"]), rows[:_PATTERNS])
    _print_more(console, len(rows) - _PATTERNS)
    print_list(console, "Not eligible", [(d["name"], d["reason"]) for d in ineligible(document)])
    print_list(
        console, "Not used", [(entry["column"], entry["reason"]) for entry in not_used(document)]
    )
    print_list(console, "Missing", _missing(document))
    console.print()
    for note in all_notes(document):
        console.print(f"- {printable(note)}", style="dim")
    console.print(ran_on(document), style="dim")
