"""What a notebook shows of a result: the answer and the findings, without script or style sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from janus_jax.cells import IN_TABLE, called, number
from janus_jax.html import views, wording
from janus_jax.report import Document, interval
from janus_jax.several.report import (
    MODELS_HEADER,
    comparison_answer,
    findings_table,
    models_rows,
)

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


def comparison_summary(document: Document) -> str:
    """The answer, the models, and what was found for which."""
    parts = [
        Markup("<p><strong>{}.</strong></p>").format(wording.sentence(comparison_answer(document))),
        _grid(MODELS_HEADER, models_rows(document)),
    ]
    header, rows = findings_table(document)
    if rows:
        parts.append(_grid(header, rows[:ROWS]))
    if len(rows) > ROWS:
        parts.append(Markup("<p>and {:,} more</p>").format(len(rows) - ROWS))
    return str(Markup("\n").join(parts))


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """A table whose first column names its rows."""
    lines = (
        Markup('<tr><th scope="row"><bdi>{}</bdi></th>{}</tr>').format(
            first, Markup("").join(Markup("<td>{}</td>").format(cell) for cell in rest)
        )
        for first, *rest in rows
    )
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(title) for title in header)
    return Markup("<table><thead><tr>{}</tr></thead><tbody>\n{}\n</tbody></table>").format(
        head, Markup("\n").join(lines)
    )


def _table(shown: list[dict[str, Any]], held: bool) -> Markup:
    header = ["descriptor", "errors inside", "errors outside", "lift"]
    if held:
        header += ["holdout lift", "holdout 95%"]
    return _grid(header, [_row(d, held) for d in shown])


def _row(d: Mapping[str, Any], held: bool) -> list[str]:
    part = d["holdout"] if held else d["discovery"]
    cells = [views.share(part, "on"), views.share(part, "off"), number(d["discovery"]["lift"])]
    if held:
        cells += [number(d["holdout"]["lift"]), interval(d["effect"])]
    return [called(d["name"], IN_TABLE), *cells]
