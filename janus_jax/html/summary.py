"""What a notebook shows of a result: the answer and the findings, without script or style sheet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup, escape

from janus_jax.cells import number, printable
from janus_jax.html import views, wording
from janus_jax.report import Document, interval

ROWS: Final = 10
"""Findings that a notebook shows."""


def summary(document: Document) -> str:
    """The two plain sentences, and a table of what was confirmed.

    What was selected, where there is no holdout.
    """
    parts = [Markup("<p><strong>{}</strong><br>{}</p>").format(*wording.plain(document))]
    status, shown = views.spotlight(document)
    if status in ("confirmed", "selected"):
        held = document["data"]["holdout"] is not None
        parts.append(_table(shown[:ROWS], held))
        if len(shown) > ROWS:
            parts.append(Markup("<p>and {:,} more</p>").format(len(shown) - ROWS))
    return str(Markup("\n").join(parts))


def _table(shown: list[dict[str, Any]], held: bool) -> Markup:
    header = ["descriptor", "errors inside", "errors outside", "lift"]
    if held:
        header += ["holdout lift", "holdout 95%"]
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(title) for title in header)
    rows = Markup("\n").join(_row(d, held) for d in shown)
    return Markup("<table><thead><tr>{}</tr></thead><tbody>\n{}\n</tbody></table>").format(
        head, rows
    )


def _row(d: Mapping[str, Any], held: bool) -> Markup:
    part = d["holdout"] if held else d["discovery"]
    cells = [views.share(part, "on"), views.share(part, "off"), number(d["discovery"]["lift"])]
    if held:
        cells += [number(d["holdout"]["lift"]), interval(d["effect"])]
    name = Markup('<th scope="row"><bdi>{}</bdi></th>').format(escape(printable(d["name"])))
    return Markup("<tr>{}{}</tr>").format(
        name, Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells)
    )
