"""The charts as altair charts, for notebooks; altair is asked for only here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from janus_jax.errors import InputError
from janus_jax.html import charts, comparison
from janus_jax.html.marks import LIGHT
from janus_jax.report import Document

if TYPE_CHECKING:
    import altair as alt


_NOT_TESTED = "no descriptor was tested; `findings` has the reason for each"
_NOT_KEPT = "the result was written by an earlier version, which kept no curve; audit again"


def forest(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.charts.forest`."""
    return _chart(charts.forest, document, _NOT_TESTED)


def decoys(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.charts.decoys`."""
    return _chart(charts.decoys, document, _no_screen(document))


def fdp(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.charts.fdp`."""
    return _chart(charts.fdp, document, _no_screen(document))


def methods(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.charts.methods`."""
    return _chart(charts.methods, document, _NOT_TESTED)


def lifts(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.comparison.findings_chart`."""
    many = len(document["models"])
    why = (
        f"{many} models are more than can be told apart; `findings` has their lifts"
        if document["findings"]
        else "nothing was found for any model"
    )
    return _chart(comparison.findings_chart, document, why)


def _no_screen(document: Document) -> str:
    return _NOT_KEPT if document["screen"]["L"] else _NOT_TESTED


def _chart(
    make: Callable[[Document], dict[str, Any] | None], document: Document, otherwise: str
) -> alt.LayerChart:
    try:
        import altair
    except ImportError as error:
        raise InputError(
            'plots need altair, which is not installed: pip install "janus-jax[plots]"'
        ) from error
    spec = make(document)
    if spec is None:
        raise InputError(f"there is nothing to plot: {otherwise}")
    # Notebooks are not the page: a ground of their own, so that dark themes stay legible.
    chart: Any = altair.LayerChart.from_dict({**spec, "background": LIGHT.paper})
    return chart
