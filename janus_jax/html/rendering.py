"""Templates filled in: one file that asks nothing of any network, and what every page says."""

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

from janus_jax.cells import IN_TABLE, called, printable
from janus_jax.html import wording
from janus_jax.report import STATUS_WORDS, Document, planned_words, ran_on

SYMBOLS: Final = {
    "confirmed": "\u25cf",
    "selected": "\u25d0",
    "not_replicated": "\u25d1",
    "not_selected": "\u25cb",
    "ineligible": "\u2013",
}
"""A status beside its word."""


def render(template: str, shown: Mapping[str, Any], *, drawn: bool) -> str:
    """Fill in a template of a page.

    Parameters
    ----------
    template
        The file.
    shown
        What it shows; ``contents`` are the links to its sections.
    drawn
        Whether there is a chart, which takes a runtime.
    """
    scripts = [*(_vega() if drawn else ()), _asset("templates/page.js")]
    return (
        _environment()
        .get_template(template)
        .render(
            shown,
            css=Markup(_asset("templates/page.css")),
            scripts=[Markup(script) for script in scripts],
            policy=_policy(scripts),
            symbols=SYMBOLS,
            longest=IN_TABLE,
            status_words=STATUS_WORDS,
        )
    )


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
    made.filters |= {"lines": _lines, "breakable": _breakable, "called": called}
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


def made(document: Document) -> dict[str, Any]:
    """How a result was made, for the section that says it."""
    data, plan, run = document["data"], document["plan"], document["run"]
    planned = planned_words(document)
    listed: list[tuple[str, str, str]] = [
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
        listed.append(("other backends", "; ".join(run["backends_not_taken"]), ""))
    return {
        "made": listed,
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
