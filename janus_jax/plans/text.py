"""``plan.toml``: the content of a plan as a file that people read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import tomlkit

from janus_jax.plans.planned import Planned

_HEAD: Final = """\
# A plan of janus-jax: what an audit will compute, fixed before any outcome it judges was read.
#
#   janus-jax audit RESULTS... --plan THIS FILE
#
# computes exactly this, and refuses a table that is not the one described here. `hash` is the
# SHA-256 of the content (comments and layout do not count); it is printed in every report. A plan
# that was changed by hand still runs, but its report says so. Decimals stand in quotes: they are
# compared exactly as written.
"""
_WIDTH: Final = 100
_COMMENTS: Final = {
    "seed": "of everything random: the split, decoys, permutations",
    "outcomes_read": "whose outcomes had been read when this was written",
    "outcome": "Named here; outcomes_read says whose were read.",
    "examples": "One row per example; sha256 is of their ids, in the order of the table.",
    "split": "Which examples discover and which confirm; sha256 is of the dealt result.",
    "eligibility": "Rows on and off, and the share of rows on, that a descriptor needs; counted\n"
    "# when outcomes are there, over the rows that have one, without looking at errors. The keys\n"
    "# after max_prevalence follow from min_support or the preset.",
    "screen": "The primary rule and its limits.",
    "gate": "The smallest holdout |lift| that confirms.",
    "wanted": "What the rules below were made from.",
    "library": "How columns are read, with the SHA-256 of their values, and every rule in library\n"
    "# order. A numeric rule holds strictly above its limit.",
    "proposed": "What was mined on the proposal split by SliceLine's score, the best first; a new\n"
    "# one was added to the library for it. The audit judges them all on other examples.",
    "ids": "Which example is where, by its id.",
}


def plan_text(planned: Planned) -> str:
    """The file: the same for the same plan, wherever and whenever it is written."""
    return "\n".join(_lines(planned)) + "\n"


def _lines(planned: Planned) -> Iterator[str]:
    yield _HEAD
    sections: list[tuple[str, dict[str, Any]]] = []
    for key, value in planned.content().items():
        if isinstance(value, dict):
            sections.append((key, cast("dict[str, Any]", value)))
            continue
        comment = f"  # {_COMMENTS[key]}" if key in _COMMENTS else ""
        yield f"{key} = {_value(value)}{comment}"
        if key == "schema":
            yield f"hash = {_value(planned.hash)}"
    for name, section in sections:
        yield ""
        yield f"# {_COMMENTS[name]}"
        yield f"[{name}]"
        for key, value in section.items():
            yield from _entry(key, value, name)


def _entry(key: str, value: Any, section: str) -> Iterator[str]:
    """``key = value``; the long arrays have a table a line, or as many ids as fit."""
    spread = section in ("library", "ids") or (section, key) == ("proposed", "slices")
    if not spread or not value:
        yield f"{key} = {_value(value)}"
        return
    yield f"{key} = ["
    if section == "ids":
        yield from _filled(value)
    else:
        yield from (f"  {_value(item)}," for item in value)
    yield "]"


def _filled(items: Sequence[Any]) -> Iterator[str]:
    line = " "
    for item in items:
        text = f" {_value(item)},"
        if len(line) + len(text) > _WIDTH and line != " ":
            yield line
            line = " "
        line += text
    yield line


def _value(value: Any) -> str:
    # An array of tomlkit takes time that grows with the square of its length; so it only quotes.
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value)
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in pairs.items()) + " }"
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return "[" + ", ".join(map(_value, items)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return tomlkit.string(value).as_string()
