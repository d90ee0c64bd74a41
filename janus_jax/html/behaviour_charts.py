"""The charts of replays, power studies and repeated splits, made from their documents alone."""

from __future__ import annotations

from janus_jax.behaviour.power_report import delta_text, sizes
from janus_jax.behaviour.replay_report import percent, words
from janus_jax.cells import number, printable
from janus_jax.html import views
from janus_jax.html.marks import (
    LIGHT,
    ROW,
    Colours,
    Spec,
    chart,
    dots,
    rows_axis,
    series_of,
    tooltip,
)
from janus_jax.report import Document


def replays(document: Document, colours: Colours = LIGHT) -> Spec | None:
    """How often each rule selects and confirms something where there is nothing."""
    rows = [
        {
            "name": words(row) + (" *" if row["primary"] else ""),
            "selected": row["any_selected"],
            "confirmed": row["any_confirmed"],
        }
        for row in document["rules"]
    ]
    names = {"selected": "selects something"}
    if any(row["confirmed"] is not None for row in rows):
        names["confirmed"] = "confirms something"
    return dots(
        colours,
        rows,
        names,
        title="share of replays",
        form=".0%",
        said=percent,
        rule=float(document["plan"]["q"]),
    )


def power(document: Document, colours: Colours = LIGHT) -> Spec | None:
    """Power over the difference in error rates, or over the size; None for a single cell."""
    cells = document["cells"]
    deltas = {cell["delta"] for cell in cells}
    if len(cells) < 2:
        return None
    over = "delta" if len(deltas) > 1 else "n"
    groups = [printable(sizes(c)) if over == "delta" else "" for c in cells]
    several = len(set(groups)) > 1
    points = [
        {
            "at": c["delta"] if over == "delta" else c["n_discovery"] + c["n_holdout"],
            "value": c[key],
            "series": label + (f", {group}" if several else ""),
            "delta": delta_text(document, c["delta"]),
            "sizes": sizes(c),
            "said": f"{c[key]:.3f}",
        }
        for c, group in zip(cells, groups, strict=True)
        for key, label in (("power", "confirmed"), ("gate", "passes the gate alone"))
        if key == "power" or not several
    ]
    labels = list(dict.fromkeys(p["series"] for p in points))
    strokes = [colours.first, colours.second, colours.third]
    dashes = [[1, 0], [5, 3], [2, 2], [8, 3]]
    x = {
        "field": "at",
        "type": "quantitative",
        "title": "difference in error rate of the slice"
        if over == "delta"
        else "examples in discovery and holdout together",
        "scale": {"zero": over == "delta"},
        "axis": {"grid": False, "tickCount": {"expr": "narrow ? 4 : 8"}},
    }
    y = {
        "field": "value",
        "type": "quantitative",
        "title": "share of audits",
        "scale": {"domain": [0, 1]},
        "axis": {"format": ".0%", "tickCount": 5, "domain": False, "ticks": False},
    }
    series = series_of(
        {label: label for label in labels},
        stroke=[strokes[i % 3] for i in range(len(labels))],
        strokeDash=[dashes[i % 4] for i in range(len(labels))],
    )
    told = tooltip(difference="delta", with_="sizes", what="series", share="said")
    layers: list[Spec] = [
        {
            "data": {"values": points},
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": x, "y": y, **series},
        },
        {
            "data": {"values": points},
            "mark": {
                "type": "point",
                "size": 50,
                "fill": colours.paper,
                "strokeWidth": 1.5,
                "opacity": 1,
            },
            "encoding": {
                "x": x,
                "y": y,
                "stroke": series["stroke"],
                "tooltip": told,
            },
        },
    ]
    return chart(colours, layers, 240)


def splits(document: Document, colours: Colours = LIGHT) -> Spec | None:
    """In which share of repeated splits a rule is confirmed; the 30 most often confirmed."""
    rows = [
        {"name": row["rule"], "share": row["share_confirmed"]}
        for row in document["rules"]
        if row["confirmed"]
    ][: views.FOREST]
    if not rows:
        return None
    bars: list[Spec] = [
        {
            "row": i,
            "share": row["share"],
            "name": printable(row["name"]),
            "said": number(row["share"], ".1%"),
        }
        for i, row in enumerate(rows)
    ]
    layers: list[Spec] = [
        {
            "data": {"values": bars},
            "mark": {"type": "bar", "color": colours.first, "height": 11},
            "encoding": {
                "x": {
                    "field": "share",
                    "type": "quantitative",
                    "title": "share of splits that confirm it",
                    "scale": {"domain": [0, 1]},
                    "axis": {"format": ".0%", "tickCount": {"expr": "narrow ? 3 : 6"}},
                },
                "y": rows_axis(colours),
                "tooltip": tooltip(rule="name", confirmed_in="said"),
            },
        }
    ]
    return chart(colours, layers, ROW * len(rows), [bar["name"] for bar in bars])
