"""Repeated splits by their definition, slowly: nothing of the project is imported.

Dealing, medians, levels, counts and the gate are written down again here; the exact limit of
Procedure A is the oracle's sum of hypergeometric tails.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tests.oracle import oracle

Rows = Sequence[Mapping[str, str]]

FIRST_SEED = 20_260_524
STEP = 1009


@dataclass(frozen=True)
class Setting:
    """A table and what is asked of it; columns in the order of the file."""

    rows: Rows
    correct: str
    columns: Sequence[str]
    categorical: Sequence[str]
    stratify: str | None = None
    fraction: Fraction = Fraction(1, 2)


@dataclass(frozen=True)
class Verdicts:
    """One split: every rule, and of the eligible ones the lifts in library order."""

    seed: int
    discovery: list[int]
    rules: list[str]
    lifts: dict[str, tuple[Fraction, Fraction]]
    selected: set[str]
    confirmed: set[str]


@dataclass
class Times:
    """How often, over splits."""

    existed: int = 0
    eligible: int = 0
    selected: int = 0
    confirmed: int = 0
    lifts: list[tuple[Fraction, Fraction]] = field(default_factory=list[tuple[Fraction, Fraction]])


def deal(strata: Sequence[str], fraction: Fraction, seed: int) -> list[int]:
    """Discovery rows, strata taken in the order of their names."""
    generator = random.Random(seed)
    discovery: list[int] = []
    for name in sorted(set(strata)):
        rows = [row for row, stratum in enumerate(strata) if stratum == name]
        generator.shuffle(rows)
        discovery += rows[: math.floor(fraction * len(rows))]
    return sorted(discovery)


def rule(name: str) -> str:
    """What stays of a descriptor's name when its median moves."""
    return re.sub(r" > -?[0-9.e+-]+$", " above its discovery median", name)


def split(setting: Setting, seed: int) -> Verdicts:
    """Deal, describe, screen in the exact limit, and gate one split with the default limits."""
    rows = setting.rows
    strata = [row[setting.stratify] if setting.stratify else "" for row in rows]
    discovery = deal(strata, setting.fraction, seed)
    holdout = sorted(set(range(len(rows))) - set(discovery))
    made = oracle.make_descriptors(rows, discovery, setting.columns, setting.categorical)
    errors = [int(row[setting.correct] == "0") for row in rows]
    parts = [(here, [errors[r] for r in here]) for here in (discovery, holdout)]
    library: dict[str, list[list[int]]] = {}
    for descriptor in made:
        members = [[descriptor.member[r] for r in here] for here, _ in parts]
        if all(
            oracle.eligible(sum(m), len(m), 8, Fraction("0.10"), Fraction("0.90")) for m in members
        ):
            library[rule(descriptor.name)] = members
    lifts = {
        name: (oracle.lift(on[0], parts[0][1]), oracle.lift(on[1], parts[1][1]))
        for name, on in library.items()
    }
    names = list(library)
    cut = oracle.decoys_exact_closed(
        [on[0] for on in library.values()], parts[0][1], Fraction("0.1")
    )
    selected = {names[g] for g in cut.selected}
    confirmed = {name for name in selected if oracle.gate(*lifts[name], Fraction("0.1"))}
    return Verdicts(seed, discovery, [rule(d.name) for d in made], lifts, selected, confirmed)


def repeat(setting: Setting, splits: int) -> list[Verdicts]:
    """The first splits."""
    return [split(setting, FIRST_SEED + STEP * s) for s in range(splits)]


def times(found: Sequence[Verdicts]) -> dict[str, Times]:
    """Count every rule over the splits."""
    counted: dict[str, Times] = {}
    for it in found:
        for name in it.rules:
            here = counted.setdefault(name, Times())
            here.existed += 1
            here.eligible += name in it.lifts
            here.selected += name in it.selected
            here.confirmed += name in it.confirmed
            if name in it.lifts:
                here.lifts.append(it.lifts[name])
    return counted


def mean_jaccard(sets: Sequence[set[str]]) -> Fraction | None:
    """Over pairs that are not both empty."""
    shares = [
        Fraction(len(a & b), len(a | b)) for a, b in itertools.combinations(sets, 2) if a or b
    ]
    return sum(shares, Fraction(0)) / len(shares) if shares else None


def sizes(sets: Sequence[set[str]]) -> list[dict[str, int]]:
    """How many splits confirm how many rules."""
    counted = Counter(map(len, sets))
    return [{"confirmed": size, "splits": counted[size]} for size in sorted(counted)]
