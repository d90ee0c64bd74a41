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


def forest(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.charts.forest`."""
    return _chart(charts.forest, document)


def decoys(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.charts.decoys`."""
    return _chart(charts.decoys, document)


def fdp(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.charts.fdp`."""
    return _chart(charts.fdp, document)


def methods(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.charts.methods`."""
    return _chart(charts.methods, document)


def lifts(document: Document) -> alt.LayerChart:
    """:func:`janus_jax.html.comparison.findings_chart`."""
    return _chart(comparison.findings_chart, document)


def _chart(make: Callable[[Document], dict[str, Any] | None], document: Document) -> alt.LayerChart:
    try:
        import altair
    except ImportError as error:
        raise InputError(
            'plots need altair, which is not installed: pip install "janus-jax[plots]"'
        ) from error
    spec = make(document)
    if spec is None:
        raise InputError(
            "there is nothing to plot: no descriptor was tested, or the result is of a version "
            "that kept no curve; the audit's `findings` lists the reasons"
        )
    # Notebooks are not the page: a ground of their own, so that dark themes stay legible.
    chart: Any = altair.LayerChart.from_dict({**spec, "background": LIGHT.paper})
    return chart
