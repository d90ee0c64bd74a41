"""The charts of an audit, as Vega-Lite specifications made from its document alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from janus_jax.event import event_of
from janus_jax.html import views
from janus_jax.html.marks import (
    LIGHT,
    ROW,
    Colours,
    Spec,
    chart,
    dots,
    hollow_and_filled,
    label_above,
    rows_axis,
    rule_at,
    series_of,
    tooltip,
)
from janus_jax.verdict import Document, threshold_of


def forest(document: Document, colours: Colours = LIGHT) -> Spec | None:
    """Discovery and holdout lifts with the interval of the latter; None when nothing was tested."""
    rows = views.forest_rows(document)
    if not rows:
        return None
    held = document["data"]["holdout"] is not None
    spans = [row for row in rows if row["low"] is not None]
    names = {"discovery": "discovery"}
    if held:
        names["holdout"] = "holdout, with its 95% interval" if spans else "holdout"
    points = [
        {
            "row": i,
            "lift": row[part],
            "series": names[part],
            "name": row["name"],
            "discovery": row["discovery_text"],
            "holdout": row["holdout_text"],
            "interval": row["interval_text"],
        }
        for i, row in enumerate(rows)
        for part in reversed(names)
        if row[part] is not None
    ]
    x = {
        "field": "lift",
        "type": "quantitative",
        "title": f"lift: {event_of(document).rate} inside minus outside"
        + ("" if document["plan"]["strata"] is None else ", adjusted for strata"),
        "axis": {"format": "+.2f", "tickCount": {"expr": "narrow ? 4 : 8"}, "grid": True},
        "scale": {"zero": True},
    }
    y = rows_axis(colours)
    told = {"descriptor": "name", "discovery": "discovery"}
    if held:
        told |= {"holdout": "holdout", "holdout 95%": "interval"}
    layers: list[Spec] = []
    if held:
        gate = float(document["plan"]["min_holdout_lift"])
        layers.append(
            {
                "data": {"values": [{"from": -gate, "to": gate}]},
                "mark": {"type": "rect", "color": colours.band},
                "encoding": {"x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}},
            }
        )
    layers.append(rule_at(colours, "x", 0, strokeWidth=1))
    if spans:
        layers.append(
            {
                "data": {
                    "values": [
                        {"row": i, "low": row["low"], "high": row["high"]}
                        for i, row in enumerate(rows)
                        if row["low"] is not None
                    ]
                },
                "mark": {"type": "rule", "color": colours.first, "strokeWidth": 2.5},
                "encoding": {
                    "x": {"field": "low", "type": "quantitative"},
                    "x2": {"field": "high"},
                    "y": y,
                },
            }
        )
    kinds = len(names)
    layers.append(
        {
            "data": {"values": points},
            "mark": {"type": "point", "strokeWidth": 1.75, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "tooltip": tooltip(**told),
                **series_of(names, **hollow_and_filled(colours, kinds)),
            },
        }
    )
    return chart(colours, layers, ROW * len(rows), [row["name"] for row in rows])


def decoys(document: Document, colours: Colours = LIGHT) -> Spec | None:
    """Sizes of the tested descriptors above the line, of the decoys below it."""
    bins = views.bins(document)
    if not bins:
        return None
    names = {"descriptors": "tested descriptors"}
    if bins[0]["decoys"] is not None:
        names = {
            "descriptors": "tested descriptors, upwards",
            "decoys": "decoys (shuffled labels), downwards",
        }
    totals = {side: sum(b[side] for b in bins) or 1 for side in names}
    size = "|lift|" if document["plan"]["statistic"] == "lift" else "|z|"
    bars = [
        {
            "from": b["low"],
            "to": b["high"],
            "share": (b[side] if side == "descriptors" else -b[side]) / totals[side],
            "series": names[side],
            "range": f"{b['low']:.3f} to {b['high']:.3f}",
            "count": f"{b[side]:,} of {totals[side]:,}",
        }
        for b in bins
        for side in names
        if b[side]
    ]
    kinds = len(names)
    layers: list[Spec] = [
        {
            "data": {"values": bars},
            "mark": {"type": "rect", "stroke": colours.paper, "strokeWidth": 0.75},
            "encoding": {
                "x": {
                    "field": "from",
                    "type": "quantitative",
                    "title": f"size in discovery: {size}",
                    "axis": {"grid": False, "tickCount": {"expr": "narrow ? 4 : 8"}},
                },
                "x2": {"field": "to"},
                "y": {
                    "field": "share",
                    "type": "quantitative",
                    "title": "share of each",
                    "axis": {
                        "labelExpr": "format(abs(datum.value), '.0%')",
                        "tickCount": 5,
                        "domain": False,
                        "ticks": False,
                    },
                },
                "y2": {"datum": 0},
                "tooltip": tooltip(**{size: "range", "series": "series", "count": "count"}),
                **series_of(names, fill=[colours.first, colours.third][:kinds]),
            },
        },
        rule_at(colours, "y", 0, strokeWidth=1),
        *_threshold(document, colours),
    ]
    return chart(colours, layers, 240)


def _threshold(document: Document, colours: Colours) -> list[Spec]:
    chosen = threshold_of(document)
    if chosen is None:
        return []
    return [
        rule_at(colours, "x", chosen[1], strokeWidth=1.5, strokeDash=[5, 3]),
        label_above(f"threshold {chosen[1]:.3f}", chosen[1]),
    ]


FDP_SERIES: Final = {
    "decoys_exact": "exact limit",
    "decoys": "literal decoys",
    "mean_count": "mean count over the permutations",
}


def fdp_series(document: Document) -> dict[str, str]:
    """The ways of counting that the curve shows, with their labels."""
    rows = views.curve(document)
    if not rows:
        return {}
    shown = {m: words for m, words in FDP_SERIES.items() if rows[0][m] is not None}
    if "decoys_exact" in shown and document["rule"] != "mean_count":
        del shown["mean_count"]  # beside the exact limit it says nothing new
    if "decoys" in shown:
        shown["decoys"] = f"{document['screen']['decoys']['K']:,} literal decoys"
    return shown


def beyond(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an estimated share of false discoveries is more than all."""
    return any((row[method] or 0) > 1 for row in rows for method in FDP_SERIES)


def fdp(document: Document, colours: Colours = LIGHT) -> Spec | None:
    """The estimated share of false discoveries at each threshold, with q and the one chosen."""
    rows, names = views.curve(document), fdp_series(document)
    if not rows or not names:
        return None
    size = "|lift|" if document["plan"]["statistic"] == "lift" else "|z|"
    points = [
        {
            "threshold": row["threshold"],
            "fdp": min(row[method], 1.0),  # a share; the estimate itself can be larger
            "series": names[method],
            "at": f"{row['threshold']:.4f}",
            "estimate": f"{row[method]:.4f}",
            "reached": str(row["R"]),
        }
        for method in names
        for row in rows
    ]
    style = {
        "decoys_exact": (colours.first, [1, 0]),
        "decoys": (colours.second, [5, 3]),
        "mean_count": (colours.third, [2, 2]),
    }
    q = float(document["plan"]["q"])
    encoding = {
        "x": {
            "field": "threshold",
            "type": "quantitative",
            "title": f"threshold on {size}",
            "scale": {"zero": False},
            "axis": {"grid": False, "tickCount": {"expr": "narrow ? 4 : 8"}},
        },
        "y": {
            "field": "fdp",
            "type": "quantitative",
            "title": "estimated share of false discoveries",
            "scale": {"domain": [0, 1]} if beyond(rows) else {"zero": True},
            "axis": {"format": ".0%", "tickCount": 5, "domain": False, "ticks": False},
        },
        "tooltip": tooltip(
            threshold="at", by="series", estimate="estimate", descriptors_reaching_it="reached"
        ),
    }
    series = series_of(
        names,
        stroke=[style[m][0] for m in names],
        strokeDash=[style[m][1] for m in names],
    )
    layers: list[Spec] = [
        rule_at(colours, "y", q, strokeWidth=1, color=colours.soft),
        {
            "data": {"values": [{}]},
            "mark": {
                "type": "text",
                "text": f"q = {document['plan']['q']}",
                "align": "right",
                "baseline": "bottom",
                "dx": -2,
                "dy": -3,
                "x": {"expr": "width"},
                "color": colours.soft,
            },
            "encoding": {"y": {"datum": q}},
        },
        {
            "data": {"values": points},
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {**{k: v for k, v in encoding.items() if k != "tooltip"}, **series},
        },
        {
            "data": {"values": points},
            "mark": {
                "type": "point",
                "size": 40,
                "fill": colours.paper,
                "strokeWidth": 1.5,
                "opacity": 1 if len(rows) <= 60 else 0,  # many are there to be pointed at
            },
            "encoding": {**encoding, "stroke": series["stroke"]},
        },
        *_threshold(document, colours),
    ]
    return chart(colours, layers, 260)


def methods(document: Document, colours: Colours = LIGHT) -> Spec | None:
    """How many descriptors each method selects, and how many of them holdout confirms."""
    rows = views.method_points(document)
    if not rows:
        return None
    names = {"selected": "selected on discovery"}
    if document["data"]["holdout"] is not None:
        names["confirmed"] = "confirmed on holdout"
    return dots(
        colours,
        [{"name": row["name"], **{k: row[k] for k in names}} for row in rows],
        names,
        title="descriptors",
        form="d",
        said="{:.0f}".format,
    )
