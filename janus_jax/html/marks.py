"""What charts are made of: colours, axes, rules, series; each a piece of a Vega-Lite specification.

Colours are names of the page's own (``var(--ink)``), so that one drawing serves light and dark, or
concrete ones. Names of descriptors reach a specification as values only, never as a part of an
expression.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from janus_jax.cells import IN_TABLE, called, printable

Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Colours:
    """What a chart is drawn with.

    Attributes
    ----------
    ink, soft, line, paper
        Text, lesser text, rules and grids, the ground.
    first, second, third
        Series; each also differs by its shape, its fill or its dashes.
    band
        A faint area.
    """

    ink: str
    soft: str
    line: str
    paper: str
    first: str
    second: str
    third: str
    band: str


PAGE: Final = Colours(
    ink="var(--ink)",
    soft="var(--soft)",
    line="var(--line)",
    paper="var(--paper)",
    first="var(--first)",
    second="var(--second)",
    third="var(--third)",
    band="var(--band)",
)
LIGHT: Final = Colours(
    ink="#1c2530",
    soft="#55606d",
    line="#d5dae0",
    paper="#ffffff",
    first="#1d5fa6",
    second="#b3541e",
    third="#7a8592",
    band="#eef1f5",
)

WIDE: Final = 680
NARROW: Final = 340
"""Widths in pixels that the page's drawings are made for: a desk and a phone."""
ROW: Final = 24
_LIMIT: Final = 300  # pixels of a label on a desk
_WIDER: Final = 1.2  # a wide font beside the one that is measured in
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"


def chart(
    colours: Colours,
    layers: list[Spec],
    height: int,
    names: Sequence[str] = (),
    series: Sequence[str] = (),
    **more: Any,
) -> Spec:
    """A chart of one view. ``narrow`` is set by whoever draws it for a phone.

    ``series`` are the words of the legend, if these may be long.
    """
    longest, room = (max(map(_width, texts), default=0) for texts in (series, names))
    beside = WIDE - min(room, int(_WIDER * _LIMIT))
    columns = min(4, max(1, beside // (longest + 50)))
    axis = {
        "labelColor": colours.soft,
        "titleColor": colours.soft,
        "gridColor": colours.line,
        "domainColor": colours.line,
        "tickColor": colours.line,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelFlush": False,
        "labelSeparation": 10,
    }
    # One name and one description for the whole: not every mark is a thing to visit.
    quiet = [{**layer, "mark": {**layer["mark"], "aria": False}} for layer in layers]
    return {
        "width": WIDE,
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "background": "transparent",
        "padding": {"left": 2, "right": 14, "top": 4, "bottom": 4},
        "params": [
            {"name": "narrow", "value": False},
            {"name": "names", "value": [called(name, IN_TABLE) for name in names]},
            {"name": "room", "value": room},
        ],
        "layer": quiet,
        "config": {
            "font": _FONT,
            "aria": False,
            "axis": axis,
            # On a phone a long title finds room below the names.
            "axisX": {"titleAnchor": {"expr": "narrow ? 'end' : 'middle'"}},
            "legend": {
                "labelColor": colours.ink,
                "labelFontSize": 12,
                "labelLimit": {"expr": "narrow ? 180 : 400"},
                "orient": "top",
                "title": None,
                "columns": {"expr": f"narrow ? 1 : {columns}"},
                "symbolSize": 70,
                "columnPadding": 34,
                "offset": 22,
            },
            "view": {"stroke": None},
            "text": {"fontSize": 12, "color": colours.ink},
        },
        **more,
    }


def for_page(spec: Spec) -> Spec:
    """The same chart with its legend at the right on a phone, where it finds room above the names.

    Vega-Lite passes this on to Vega; its own schema, by which altair checks, does not know it.
    """
    config = spec["config"]
    layout = {"top": {"anchor": {"signal": "narrow ? 'end' : 'start'"}}}
    legend = {**config["legend"], "layout": layout}
    return {**spec, "config": {**config, "legend": legend}}


def narrowed(spec: Spec) -> Spec:
    """The same chart for a phone, with room at the right for a legend in a wide font."""
    first, *others = spec["params"]
    padding = {**spec["padding"], "right": 34}
    params = [{**first, "value": True}, *others]
    return {**spec, "width": NARROW, "padding": padding, "params": params}


def _width(name: str) -> int:
    """How wide a label is at most, in pixels, in the widest of the usual fonts (DejaVu Sans)."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" or c in "mwMW@%" for c in name)
    slim = sum(c in "ijl.,:;|!' " for c in name)
    return 12 * wide + 4 * slim + 8 * (len(name) - wide - slim)


def rows_axis(colours: Colours, narrow: int = 120) -> Spec:
    """One line for each row of the data, labelled with its name (the names are a parameter)."""
    return {
        "field": "row",
        "type": "ordinal",
        "sort": None,
        "title": None,
        "axis": {
            "labelExpr": "names[datum.value]",
            "labelLimit": {"expr": f"narrow ? {narrow} : {_LIMIT}"},
            "labelColor": colours.ink,
            "labelPadding": 8,
            # Whoever draws without a browser measures in a narrow font; a reader's may be wider.
            "minExtent": {"expr": f"8 + min(room, {_WIDER} * (narrow ? {narrow} : {_LIMIT}))"},
            "ticks": False,
            "domain": False,
        },
    }


def series_of(labels: Mapping[str, str], **ranges: Sequence[Any]) -> Spec:
    """Encodings that tell series apart, with one legend for all of them."""
    domain = list(labels.values())
    return {
        channel: {
            "field": "series",
            "type": "nominal",
            "title": None,
            # "ordinal": to each its own value; sizes would else be points along a range.
            "scale": {"type": "ordinal", "domain": domain, "range": list(values)},
        }
        for channel, values in ranges.items()
    }


def tooltip(**fields: str) -> list[Spec]:
    """Texts shown when a mark is pointed at: title by field (``_`` is a blank)."""
    return [
        {"field": field, "type": "nominal", "title": title.replace("_", " ")}
        for title, field in fields.items()
    ]


def rule_at(colours: Colours, axis: str, value: float, **mark: Any) -> Spec:
    """A line across the chart."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "color": colours.ink, **mark},
        "encoding": {axis: {"datum": value}},
    }


def label_above(text: str, x: float, **mark: Any) -> Spec:
    """A text above the line at ``x``."""
    style = {"align": "center", "dy": -5, "baseline": "bottom", **mark}
    return {
        "data": {"values": [{}]},
        "mark": {"type": "text", "text": text, "y": 0, **style},
        "encoding": {"x": {"datum": x}},
    }


def hollow_and_filled(colours: Colours, kinds: int) -> dict[str, Sequence[Any]]:
    """How a first series (hollow diamonds) and a second one (filled circles) look.

    Diamonds are larger and have no fill, so that one drawn over a circle at the same place leaves
    both to be seen: points are to be listed with the second series first.
    """
    looks: dict[str, Sequence[Any]] = {
        "fill": ["transparent", colours.first],
        "stroke": [colours.second, colours.first],
        "shape": ["diamond", "circle"],
        "size": [150, 55],
    }
    return {channel: values[:kinds] for channel, values in looks.items()}


def dots(
    colours: Colours,
    rows: Sequence[Mapping[str, Any]],
    names: Mapping[str, str],
    *,
    title: str,
    form: str,
    said: Callable[[float], str],
    rule: float | None = None,
) -> Spec:
    """One line a row, one dot a series: the first hollow, the second filled."""
    points = [
        {
            "row": i,
            "value": row[key],
            "series": label,
            "name": row["name"],
            "said": said(row[key]),
        }
        for i, row in enumerate(rows)
        for key, label in reversed(list(names.items()))
        if row[key] is not None
    ]
    axis: Spec = {"format": form, "tickCount": {"expr": "narrow ? 4 : 8"}, "grid": True}
    if form == "d":
        axis["tickMinStep"] = 1
    x = {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "axis": axis,
        "scale": {"zero": True},
    }
    y, kinds = rows_axis(colours, narrow=165), len(names)
    layers: list[Spec] = []
    if rule is not None:
        layers.append(rule_at(colours, "x", rule, strokeWidth=1, strokeDash=[5, 3]))
    if kinds > 1:
        first, second = names
        spans = [
            {"row": i, "a": row[first], "b": row[second]}
            for i, row in enumerate(rows)
            if row[first] is not None and row[second] is not None
        ]
        layers.append(
            {
                "data": {"values": spans},
                "mark": {"type": "rule", "color": colours.third, "strokeWidth": 1.25},
                "encoding": {
                    "x": {"field": "a", "type": "quantitative"},
                    "x2": {"field": "b"},
                    "y": y,
                },
            }
        )
    layers.append(
        {
            "data": {"values": points},
            "mark": {"type": "point", "strokeWidth": 1.75, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "tooltip": tooltip(name="name", what="series", value="said"),
                **series_of(names, **hollow_and_filled(colours, kinds)),
            },
        }
    )
    return chart(colours, layers, ROW * len(rows), [printable(row["name"]) for row in rows])
