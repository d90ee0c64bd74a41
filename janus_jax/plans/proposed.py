"""What was mined on a proposal split: as a plan file keeps it, and what an audit made of it.

A slice finder would have claimed these slices. They were chosen for how many errors they have, so
their error rates on the proposal split say little; the audit judges them on other examples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from janus_jax.mining.score import Score


def is_weight(text: str) -> bool:
    """Whether this is a weight of SliceLine's score: a decimal above 0 and at most 1."""
    return bool(re.fullmatch(r"[0-9]+|[0-9]*\.[0-9]+", text)) and 0 < Fraction(text) <= 1


@dataclass(frozen=True, slots=True)
class ProposedSlice:
    """A slice of the proposal split.

    Attributes
    ----------
    name
        The rule of the library that describes it.
    new
        The rule was added to the library for it; otherwise it was there before.
    on, errors_on
        Examples of the proposal split inside it, and errors among them.
    aliases
        Other conjunctions that hold for just the same examples there; not in the library for that.
    """

    name: str
    new: bool
    on: int
    errors_on: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposed:
    """What was mined, and how.

    Attributes
    ----------
    n, errors
        Examples of the proposal split with an outcome, and errors among them.
    weight
        SliceLine's alpha, as a decimal.
    level
        Rules that a conjunction joins at most.
    top
        How many slices were asked for.
    min_slice
        Examples that a slice needed.
    looked_at
        Single rules, pairs and triples that were scored.
    passed_over
        Sets of examples that would be among the slices, but that the audit could not test.
    slices
        The best first; those that tie with the last one are all there.
    """

    n: int
    errors: int
    weight: str
    level: int
    top: int
    min_slice: int
    looked_at: tuple[int, ...]
    passed_over: int
    slices: tuple[ProposedSlice, ...]

    def score(self, it: ProposedSlice) -> float:
        """SliceLine's score, to the last bit of a float."""
        score = Score(
            n=self.n, errors=self.errors, weight=Fraction(self.weight), least=self.min_slice
        )
        return float(score.value(it.on, it.errors_on))

    def content(self) -> dict[str, Any]:
        """The section of a plan file, as TOML values; scores are text that shows every digit."""
        return {
            "n": self.n,
            "errors": self.errors,
            "weight": self.weight,
            "level": self.level,
            "top": self.top,
            "min_slice": self.min_slice,
            "looked_at": list(self.looked_at),
            "passed_over": self.passed_over,
            "slices": [
                {
                    "name": it.name,
                    "new": it.new,
                    "on": it.on,
                    "errors_on": it.errors_on,
                    "score": repr(self.score(it)),
                    "aliases": list(it.aliases),
                }
                for it in self.slices
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON values of a result, with what follows from the counts."""
        average = Fraction(self.errors, self.n)
        content = self.content()
        content["slices"] = [
            {
                "rank": rank,
                **entry,
                "score": self.score(it),
                "lift": _lift(self, it),
                "error_rate": float(Fraction(it.errors_on, it.on)),
            }
            for rank, (it, entry) in enumerate(
                zip(self.slices, content["slices"], strict=True), start=1
            )
        ]
        return {**content, "error_rate": float(average)}


def _lift(proposed: Proposed, it: ProposedSlice) -> float | None:
    """Error rate inside minus outside, on the proposal split."""
    off = proposed.n - it.on
    if not off:
        return None
    outside = Fraction(proposed.errors - it.errors_on, off)
    return float(Fraction(it.errors_on, it.on) - outside)


SURVIVED: Final = "confirmed"
"""The status of a slice that holds on examples which played no part in finding it."""


def judged(proposed: Proposed, descriptors: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What became of every mined slice: the ``proposed`` section of an audit's result.

    Parameters
    ----------
    descriptors
        The audit's, as its result lists them.

    Returns
    -------
    dict
        :meth:`Proposed.to_dict`, each slice with its ``status`` and ``reason`` in the audit and its
        lifts there, and how many were ``claimed`` and ``confirmed``.
    """
    by_name = {entry["name"]: entry for entry in descriptors}
    section = proposed.to_dict()
    for it in section["slices"]:
        entry = by_name[it["name"]]
        holdout = entry["holdout"]
        it |= {
            "status": entry["status"],
            "reason": entry["reason"],
            "discovery_lift": entry["discovery"]["lift"],
            "holdout_lift": holdout["lift"] if holdout else None,
        }
    kept = sum(it["status"] == SURVIVED for it in section["slices"])
    return {**section, "claimed": len(section["slices"]), "confirmed": kept}


JUDGED_HEADER: Final = (
    "slice",
    "rank",
    "proposal errors on",
    "score",
    "lift there",
    "in the audit",
    "discovery lift",
    "holdout lift",
)


def judged_answer(section: Mapping[str, Any]) -> str:
    """What a slice finder alone would have claimed and what was left of it, in a sentence."""
    claimed, kept = section["claimed"], section["confirmed"]
    if not claimed:
        return "a slice finder alone would have claimed nothing on the proposal split"
    slices = "1 slice" if claimed == 1 else f"{claimed} slices"
    over = section["passed_over"]
    more = f", and {over} more that are too rare or too common here to be tested" if over else ""
    return (
        f"a slice finder alone would have claimed {slices} on the proposal split "
        f"({section['n']} examples){more}; {kept or 'none'} confirmed on other examples"
    )


def judged_rows(section: Mapping[str, Any], words: Mapping[str, str]) -> list[list[str]]:
    """The mined slices in the order of :data:`JUDGED_HEADER`; ``words`` says a status."""
    return [
        [
            it["name"],
            str(it["rank"]),
            f"{it['errors_on']}/{it['on']}",
            f"{it['score']:.3f}",
            _shown(it["lift"]),
            words[it["status"]],
            _shown(it["discovery_lift"]),
            _shown(it["holdout_lift"]),
        ]
        for it in section["slices"]
    ]


def _shown(lift: float | None) -> str:
    return "-" if lift is None else f"{lift:+.3f}"
