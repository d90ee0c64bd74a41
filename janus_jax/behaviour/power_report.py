"""Power studies as people read them; made from the document alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TextIO

from janus_jax.behaviour.wording import counted, percent
from janus_jax.cells import printable
from janus_jax.report import METHOD_WORDS

Document = Mapping[str, Any]
Cell = Mapping[str, Any]

USUAL: Final = "0.80"
"""The power that the answer and the gate's table speak of when no target was asked."""

CELL_HEADER: Final = (
    "delta",
    "discovery",
    "holdout",
    "power",
    "s.e.",
    "selected",
    "gate alone",
    "ineligible",
)
_CELLS_LEFT_OUT: Final = ("s.e.", "selected", "ineligible", "discovery", "gate alone", "holdout")
GATE_HEADER: Final = (
    "delta",
    "holdout",
    "on / off",
    "gate passes",
    "normal approx.",
    "holdout needed",
    "split",
    "p",
)
_GATE_LEFT_OUT: Final = ("normal approx.", "p", "split", "on / off")


def answers(document: Document) -> Iterator[str]:
    """What the study comes down to, a sentence each: the targets' answers, or what the curve says.

    Without a target, the smallest of the deltas (or of the sizes) with a power of 0.80.
    """
    for target in document["targets"]:
        yield f"with {_where(document, target)}, {target['verdict']}"
    cells: Sequence[Cell] = document["cells"]
    if document["targets"] or not cells:
        return
    groups: dict[tuple[int, int], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell["n_discovery"], cell["n_holdout"]), []).append(cell)
    if len(cells) == 1:
        yield f"with {sizes(cells[0])}, {_slice(document, cells[0])} in {_of_audits(cells[0])}"
    elif len(groups) > 1 and len(cells) == len(groups):
        yield _of_sizes(document, cells)
    else:
        for group in groups.values():
            yield f"with {sizes(group[0])}, {_of_deltas(document, group)}"


def sizes(cell: Mapping[str, Any]) -> str:
    """The splits of a cell in words."""
    return f"{cell['n_discovery']} discovery and {cell['n_holdout']} holdout examples"


def _where(document: Document, target: Mapping[str, Any]) -> str:
    if target["looked_for"] == "delta":
        return sizes(target)
    return f"delta = {delta_text(document, target['delta'])}"


def delta_text(document: Document, delta: float) -> str:
    """A delta as it was given; those that were looked for are on a grid of 0.01."""
    given = {float(Fraction(text)): text for text in document["asked"]["delta"]}
    return given.get(delta, f"{delta:.2f}")


def _slice(document: Document, cell: Cell) -> str:
    delta = delta_text(document, cell["delta"])
    side = f"lower by {delta.lstrip('-')}" if cell["delta"] < 0 else f"higher by {delta}"
    return f"a slice whose error rate is {side} is confirmed"


def _of_audits(cell: Cell) -> str:
    return f"{percent(cell['power'])} of audits"


def _reached(cells: Sequence[Cell]) -> Cell | None:
    """The first of the cells whose power is at least the usual one."""
    usual = Fraction(USUAL)
    enough = (c for c in cells if round(c["power"] * c["repetitions"]) >= usual * c["repetitions"])
    return next(enough, None)


def _of_deltas(document: Document, cells: Sequence[Cell]) -> str:
    """What a curve over deltas says, at one size."""
    ordered = sorted(cells, key=lambda cell: abs(cell["delta"]))
    found, usual = _reached(ordered), percent(float(USUAL))
    if found is not None:
        return (
            f"delta = {delta_text(document, found['delta'])} is the smallest of those asked that "
            f"is confirmed in at least {usual} of audits ({percent(found['power'])})"
        )
    last = ordered[-1]
    return (
        f"no delta of those asked is confirmed in {usual} of audits; "
        f"{delta_text(document, last['delta'])} is in {percent(last['power'])}"
    )


def _of_sizes(document: Document, cells: Sequence[Cell]) -> str:
    """What a curve over sizes says, at one delta."""
    ordered = sorted(cells, key=lambda cell: cell["n_discovery"] + cell["n_holdout"])
    found, usual = _reached(ordered), percent(float(USUAL))
    if found is not None:
        return (
            f"{_slice(document, found)} in at least {usual} of audits from {sizes(found)} on, "
            f"of the sizes asked ({percent(found['power'])})"
        )
    last = ordered[-1]
    return (
        f"{_slice(document, last)} in {usual} of audits at no size of those asked; with "
        f"{sizes(last)} in {percent(last['power'])}"
    )


def print_power(document: Document, stream: TextIO) -> None:
    """Print the answers, the cells, what the gate does and needs, the notes."""
    from janus_jax.terminal import console_for, print_answer, print_table

    console = console_for(stream)
    for said in answers(document):
        print_answer(console, said)
    console.print(design_words(document))
    for warning in document["warnings"]:
        console.print(f"Warning: {printable(warning)}", style="yellow")
    if rows := cell_rows(document):
        print_table(console, CELL_HEADER, rows, leave_out=_CELLS_LEFT_OUT)
    if gate := document["gate"]:
        console.print()
        console.print(_gate_title(document))
        shown = [_gate_row(document, row) for row in gate]
        first = 3 if len(_holdouts(document)) == 1 else 1  # one holdout is in the title
        print_table(
            console,
            (GATE_HEADER[0], *GATE_HEADER[first:]),
            [[row[0], *row[first:]] for row in shown],
            leave_out=_GATE_LEFT_OUT,
        )
    console.print()
    for note in document["notes"]:
        console.print(f"- {printable(note)}", style="dim")


def design_words(document: Document) -> str:
    """The design in a line."""
    design = document["design"]
    preset = "" if design["preset"] is None else f"preset {design['preset']}: "
    rule = METHOD_WORDS[design["rule"]]
    if design["decoys"] is not None:
        rule = f"Procedure A, K = {design['decoys']:,} decoys"
    return (
        f"{preset}L = {design['library']}, p0 = {_short(design['base_error'])}, prevalence "
        f"{_short(design['prevalence'])}; rule: {rule}, q = {design['q']}, statistic "
        f"{design['statistic']}, holdout |lift| >= {design['min_holdout_lift']}; "
        f"{counted(document['repetitions'], 'repetition')} a cell"
    )


def cell_rows(document: Document) -> list[list[str]]:
    """The cells asked for, and those around each answer, once each."""
    cells = [*document["cells"]]
    for target in document["targets"]:
        cells += [target[name] for name in ("below", "at", "above") if target[name]]
    rows: dict[tuple[float, int, int], list[str]] = {}
    for cell in cells:
        key = (cell["delta"], cell["n_discovery"], cell["n_holdout"])
        rows[key] = [
            delta_text(document, cell["delta"]),
            str(cell["n_discovery"]),
            str(cell["n_holdout"]),
            *(
                f"{cell[name]:.4f}"
                for name in ("power", "standard_error", "selected", "gate", "ineligible")
            ),
        ]
    return list(rows.values())


def _holdouts(document: Document) -> set[int]:
    return {row["n_holdout"] for row in document["gate"]}


def _gate_title(document: Document) -> str:
    first, wanted = document["gate"][0], document["asked"]["target"] or USUAL
    given = (
        f"{first['n_holdout']} holdout examples, {first['n_on']} on / {first['n_off']} off"
        if len(_holdouts(document)) == 1
        else "these holdout examples"
    )
    return (
        f"How likely the gate passes with {given} (as near to the prevalence as can be), and the "
        f"holdout needed, split likewise, to pass with probability {wanted}:"
    )


def _gate_row(document: Document, row: Mapping[str, Any]) -> list[str]:
    needed, normal = row["smallest_holdout"], row["passes_normal"]
    return [
        delta_text(document, row["delta"]),
        str(row["n_holdout"]),
        f"{row['n_on']} / {row['n_off']}",
        f"{row['passes']:.4f}",
        "-" if normal is None else f"{normal:.4f}",
        "none suffices" if needed is None else str(needed),
        "-" if needed is None else f"{row['smallest_on']} / {row['smallest_off']}",
        "-" if needed is None else f"{row['probability']:.4f}",
    ]


def _short(text: str) -> str:
    """A ratio of integers as a decimal too."""
    return f"{text} = {float(Fraction(text)):.4f}" if "/" in text else text
