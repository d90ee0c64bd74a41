"""What the page shows of a result: rows for charts and tables, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from janus_jax.behaviour import wording
from janus_jax.cells import number, printable
from janus_jax.ranking import FINDINGS, judged_lift
from janus_jax.report import STATUS_WORDS, interval, method_words, rate
from janus_jax.verdict import Document, ranked, threshold_of

FOREST: Final = 30
"""Findings that the forest plot and its table show; the others are in the table of descriptors."""

FEW: Final = 8
"""Descriptors shown for orientation where nothing was selected."""

EXAMPLE_CHARACTERS: Final = 1_500_000
"""About how much of the page the examples may be; more is cut, and the page says so."""

CELL: Final = 400
"""Characters of a chosen column that the page shows of an example."""

POINTS: Final = 400
"""Thresholds that the curve and its table show; of more, every so many and all near the choice."""


def found(document: Document, status: str) -> list[dict[str, Any]]:
    """Descriptors of this status, in the order of the report."""
    return [d for d in ranked(document) if d["status"] == status]


def spotlight(document: Document) -> tuple[str, list[dict[str, Any]]]:
    """What the first chart is about, and the descriptors in it.

    Returns
    -------
    tuple
        "confirmed", "not_replicated", "selected" (no holdout), "not_selected" or "nothing", and all
        descriptors of that status, the first one first.
    """
    for status in ("confirmed", "not_replicated", "selected", "not_selected"):
        if shown := found(document, status):
            return status, shown
    return "nothing", []


def found_for_none(document: Document) -> list[str]:
    """Of a comparison: names of the descriptors that were tested and found for no model."""
    findings = {finding["name"] for finding in document["findings"]}
    tested = (
        d["name"]
        for model in document["models"]
        for d in model["audit"]["descriptors"]
        if d["status"] != "ineligible"
    )
    return [name for name in dict.fromkeys(tested) if name not in findings]


def found_any(entry: Mapping[str, Any]) -> bool:
    """Whether the audit of a model or a difference found anything; not where there is none."""
    audit = entry["audit"]
    return bool(audit) and any(d["status"] in FINDINGS for d in audit["descriptors"])


def most(status: str) -> int:
    """How many descriptors of a status the first chart and its table show at most."""
    return FEW if status == "not_selected" else FOREST


def forest_rows(document: Document) -> list[dict[str, Any]]:
    """The descriptors of :func:`spotlight` that are drawn.

    Lifts are those that were judged; the intervals, which are of plain lifts, are left out where
    these are others.
    """
    status, shown = spotlight(document)
    plain = document["plan"]["strata"] is None
    return [
        {
            "name": printable(d["name"]),
            "discovery": judged_lift(d["discovery"]),
            "holdout": judged_lift(d["holdout"]) if d["holdout"] else None,
            "low": d["effect"]["low"] if d["effect"] and plain else None,
            "high": d["effect"]["high"] if d["effect"] and plain else None,
            "discovery_text": _lift_text(d["discovery"]),
            "holdout_text": _lift_text(d["holdout"]),
            "interval_text": interval(d["effect"]),
        }
        for d in shown[: most(status)]
    ]


def _lift_text(part: Mapping[str, Any] | None) -> str:
    if part is None:
        return "-"
    adjusted = part.get("lift_adjusted")
    first = "" if adjusted is None else f"{number(adjusted)} adjusted, plain "
    return f"{first}{number(part['lift'])} ({rate(part, 'on')} inside, {rate(part, 'off')} outside)"


def share(part: Mapping[str, Any] | None, side: str) -> str:
    """Errors of examples on one side of a slice, with the rate: ``159/256 (62%)``."""
    if part is None:
        return "-"
    if not part[side]:
        return rate(part, side)
    return f"{rate(part, side)} ({percent(part[f'errors_{side}'], part[side])})"


def percent(count: int, of: int) -> str:
    """A share in whole percent; only none is 0%, only all 100%."""
    return wording.percent(count / of)


def families(document: Document) -> list[dict[str, Any]]:
    """Families of overlapping findings; empty in results of versions that had none."""
    return list(document.get("families") or [])


def bins(document: Document) -> list[dict[str, Any]]:
    """The histogram of sizes: where a bin begins and ends, and what is in it."""
    histogram = document["screen"].get("histogram")
    if not histogram:
        return []
    width, decoys = histogram["width"], histogram["decoys"]
    return [
        {
            "low": width * i,
            "high": width * (i + 1),
            "descriptors": count,
            "decoys": decoys[i] if decoys else None,
        }
        for i, count in enumerate(histogram["descriptors"])
    ]


def curve(document: Document) -> list[dict[str, Any]]:
    """The estimated FDP at each threshold, by each way of counting; thresholds ascending."""
    screen = document["screen"]
    found = screen.get("curve")
    if not found:
        return []
    size = screen["L"]
    decoys: int = screen["decoys"]["K"] if "decoys" in screen else 0
    rows: list[dict[str, Any]] = []
    for j, threshold in enumerate(found["threshold"]):
        reached = max(1, found["R"][j])
        literal = found["D"][j] if found["D"] and decoys else None
        expected = found["expected_exceedances"][j] if found["expected_exceedances"] else None
        rows.append(
            {
                "threshold": threshold,
                "R": found["R"][j],
                "D": literal,
                "expected": expected,
                "mean": found["mean_count"][j],
                "decoys": None if literal is None else size * literal / decoys / reached,
                "decoys_exact": None if expected is None else expected / reached,
                "mean_count": found["mean_count"][j] / reached,
            }
        )
    return _thinned(rows, threshold_of(document))


def _thinned(rows: list[dict[str, Any]], chosen: tuple[str, float] | None) -> list[dict[str, Any]]:
    """At most about :data:`POINTS` rows, among them all those around the chosen threshold."""
    if len(rows) <= POINTS:
        return rows
    step = 2 * len(rows) // POINTS + 1
    near = len(rows)
    if chosen is not None:
        near = min(range(len(rows)), key=lambda j: abs(rows[j]["threshold"] - chosen[1]))
    around = POINTS // 4
    return [row for j, row in enumerate(rows) if j % step == 0 or abs(j - near) <= around]


def method_points(document: Document) -> list[dict[str, Any]]:
    """How many each method selects and confirms, the primary rule marked."""
    rows: list[dict[str, Any]] = []
    for entry in document["ablation"]:
        method, confirmed = entry["method"], entry["confirmed"]
        if method == "gate_only" and confirmed is None:
            continue  # no gate without a holdout
        rows.append(
            {
                "name": method_words(document, method)
                + (" *" if method == document["rule"] else ""),
                "selected": entry["selected"]["count"],
                "confirmed": confirmed["count"] if confirmed else None,
            }
        )
    return rows


def examples(document: Document) -> dict[str, Any] | None:
    """The examples of each selected descriptor, cut to what a page can hold.

    Returns
    -------
    dict or None
        ``id`` and ``columns``, the names; ``slices``, each with ``name``, ``status``, ``wrong``,
        ``right``, ``rows`` and ``left_out``, how many examples of the slice are not shown.
    """
    given = document.get("examples")
    if not given:
        return None
    status = {d["name"]: d["status"] for d in document["descriptors"]}
    rows, cell = _affordable(given["slices"], given["limit"])
    slices: list[dict[str, Any]] = [
        {
            "name": it["name"],
            "status": status.get(it["name"], "selected"),
            "wrong": it["wrong"],
            "right": it["right"],
            "rows": [
                {**row, "values": [_cut(value, cell) for value in row["values"]]}
                for row in it["rows"][:rows]
            ],
            "left_out": it["wrong"] + it["right"] - min(rows, len(it["rows"])),
        }
        for it in given["slices"]
    ]
    order = list(STATUS_WORDS)
    slices.sort(key=lambda it: order.index(it["status"]))
    return {"id": given["id"], "columns": given["columns"], "slices": slices}


def _affordable(slices: Sequence[Mapping[str, Any]], limit: int) -> tuple[int, int]:
    """Rows of a slice and characters of a cell for which all examples fit on the page."""
    for rows, cell in ((limit, CELL), (50, CELL), (20, CELL), (10, CELL), (10, 100)):
        if sum(_lengths(slices, rows, cell)) <= EXAMPLE_CHARACTERS:
            return rows, cell
    return 5, 60


def _lengths(slices: Sequence[Mapping[str, Any]], rows: int, cell: int) -> Iterator[int]:
    around = 60  # what a row of a table costs without its text
    for it in slices:
        for row in it["rows"][:rows]:
            cells = sum(min(len(value or ""), cell) + 9 for value in row["values"])
            yield around + len(row["id"]) + cells


def _cut(text: str | None, most: int) -> str | None:
    if text is None or len(text) <= most:
        return text
    return text[: most - 1] + "\u2026"
