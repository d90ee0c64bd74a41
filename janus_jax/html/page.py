"""``report.html``, put together: one file that asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, cast

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from janus_jax.behaviour.wording import counted
from janus_jax.cells import printable
from janus_jax.html import panels, sections, views, wording
from janus_jax.report import (
    STATUS_WORDS,
    Document,
    answer,
    chosen,
    planned_words,
    ran_on,
    rule_words,
)

SYMBOLS: Final = {
    "confirmed": "\u25cf",
    "selected": "\u25d0",
    "not_replicated": "\u25d1",
    "not_selected": "\u25cb",
    "ineligible": "\u2013",
}
"""A status beside its word."""


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
        **_made(audit),
        "limits": wording.NOT_SAID,
        "symbols": SYMBOLS,
        "status_words": STATUS_WORDS,
        "row_roles": _ROLES,
        "no_roles": dict.fromkeys(_ROLES, ""),
    }
    drawn = shown["forest"] or any(panel["drawing"] for panel in shown["panels"])
    scripts = [*(_vega() if drawn else ()), _asset("templates/page.js")]
    shown |= {
        "contents": list(_contents(shown)),
        "css": Markup(_asset("templates/page.css")),
        "scripts": [Markup(script) for script in scripts],
        "policy": _policy(scripts),
    }
    return _environment().get_template("page.html.j2").render(shown)


def _policy(scripts: Sequence[str]) -> str:
    """Forbid every connection, and every script but the page's own."""
    own = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {own}; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


@lru_cache
def _asset(name: str) -> str:
    return files("janus_jax.html").joinpath(name).read_text(encoding="utf-8").strip("\n")


def _vega() -> Iterator[str]:
    """The runtime that makes charts live, with the licences that ask to go with it."""
    licences = "".join(_asset(f"vendor/{name}") + "\n\n" for name in LICENCES)
    for name in ("vega.min.js", "vega-interpreter.js"):
        yield f"/*!\n{licences}*/\n{_asset(f'vendor/{name}')}"
        licences = ""


LICENCES: Final = ("LICENSE-vega.txt", "LICENSES-bundled.txt")
"""Of what is in ``vendor``."""


@lru_cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("janus_jax.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"lines": _lines, "breakable": _breakable}
    return made


def _shown(value: Any) -> Any:
    """What stands for a value on the page: no control characters, no marks that reorder text."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


def _lines(text: str | None) -> Markup:
    """A longer text with its line breaks; a dash when there is none."""
    if text is None:
        return Markup("\u2013")
    return Markup("\n").join(escape(printable(line)) for line in text.splitlines())


def _breakable(text: str) -> Markup:
    """A name that a narrow page may break after ``_`` and ``/``, and where ``.`` joins words."""
    pieces = re.split(r"(?<=[_/])|(?<=\.)(?=[a-z])", printable(text))
    return Markup("<wbr>").join(escape(piece) for piece in pieces)


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
        "title": wording.heading(document),
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
    more = f"{left_out:,} more were not eligible" if left_out else None
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
        "error": "true = wrong",
        "correct": "true = right",
        "score": f"right from {document['plan'].get('outcome', {}).get('pass_at', '?')} up",
    }
    missing = document["data"]["outcome"]["missing"]
    return words[document["data"]["outcome"]["kind"]] + (
        f"; {missing:,} missing" if missing else ""
    )


def _made(document: Document) -> dict[str, Any]:
    data, plan, run = document["data"], document["plan"], document["run"]
    planned = planned_words(document)
    made: list[tuple[str, str, str]] = [
        ("data", ", ".join(data["source"]) or "a table in memory", ""),
        ("sha256 of the data", data["sha256"], "hash"),
        ("plan", wording.sentence(planned.partition(";")[0]) if planned else "no plan file", ""),
        (f"sha256 of the {'plan' if planned else 'options'}", plan["hash"], "hash"),
        ("seed", str(plan["seed"]), ""),
        ("version", f"janus-jax {run['version']}, NumPy {run.get('numpy', '?')}", ""),
        ("ran on", ran_on(document), ""),
        ("started", run["started"], ""),
    ]
    if run.get("backends_not_taken"):
        made.append(("other backends", "; ".join(run["backends_not_taken"]), ""))
    return {
        "made": made,
        "command": run.get("command"),
        "options": list(_flat(plan)),
        "notes": document["notes"],
    }


def _flat(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Options by name, those of a section with its name before them."""
    for key, value in options.items():
        if isinstance(value, dict):
            yield from _flat(cast("dict[str, Any]", value), f"{prefix}{key}.")
        elif isinstance(value, str):
            yield f"{prefix}{key}", value
        else:
            yield f"{prefix}{key}", json.dumps(value, ensure_ascii=False)
