"""A power simulation as the paper describes it, literally: rows are drawn, labels are shuffled.

Written apart from the project, of which it imports nothing: one repetition at a time, plain NumPy,
NumPy's own generator, decisions in Python fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.bool_]


@dataclass(frozen=True)
class Literal:
    """One of the paper's configurations, or another one.

    ``on``, ``off``: least examples on and off in each split; ``on_all``: on in both together;
    ``share``: limits of the prevalence over both splits; ``pool``: of a decoy source in discovery.
    """

    n: tuple[int, int]
    library: int
    decoys: int
    on: int
    off: int
    on_all: int = 0
    share: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))
    pool: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))
    p0: float = 0.40
    q: Fraction = Fraction(1, 10)
    c: Fraction = Fraction(1, 10)
    prevalence: float = 0.5
    statistic: str = "lift"


CONFIGURATIONS = {
    "controlled": Literal((80, 80), 10, 200, 8, 8),
    "musique": Literal((75, 75), 7, 100, 3, 1, share=(Fraction(1, 10), Fraction(9, 10))),
    "longbench-v2": Literal(
        (55, 60), 41, 100, 3, 1, on_all=8, pool=(Fraction(1, 20), Fraction(19, 20))
    ),
}


def statistic(labels: Labels, errors: Labels, which: str) -> NDArray[np.float64]:
    """|lift| of each row of labels, or z squared with its constant left out.

    One division of integers: equal values stay equal, and different ones different, at these sizes.
    """
    n, on = labels.shape[1], labels.sum(axis=1)
    distance = np.abs((labels & errors).sum(axis=1) * n - errors.sum() * on)
    return (distance if which == "lift" else distance * distance) / (on * (n - on))


def eligible(it: Literal, discovery: Labels, holdout: Labels) -> bool:
    """Whether a descriptor with these labels is screened."""
    on = [int(discovery.sum()), int(holdout.sum())]
    enough = all(k >= it.on and n - k >= it.off for k, n in zip(on, it.n, strict=True))
    share = Fraction(sum(on), sum(it.n))
    return enough and sum(on) >= it.on_all and it.share[0] <= share <= it.share[1]


def is_source(it: Literal, discovery: Labels) -> bool:
    """Whether decoys are made of it."""
    return it.pool[0] <= Fraction(int(discovery.sum()), it.n[0]) <= it.pool[1]


def repetition(it: Literal, delta: float, draw: np.random.Generator) -> tuple[bool, bool]:
    """Whether the designated descriptor, number 0, is selected, and whether it is confirmed."""
    labels = [draw.random((it.library, n)) < it.prevalence for n in it.n]
    errors = [draw.random(len(g[0])) < it.p0 + delta * g[0] for g in labels]
    library = [g for g in range(it.library) if eligible(it, labels[0][g], labels[1][g])]
    pool = [g for g in library if is_source(it, labels[0][g])]
    if 0 not in library or not pool:
        return False, False
    observed = statistic(labels[0][library], errors[0], it.statistic)
    sources = labels[0][draw.choice(pool, it.decoys)]
    decoys = statistic(draw.permuted(sources, axis=1), errors[0], it.statistic)
    for t in np.unique(observed):
        r, d = int((observed >= t).sum()), int((decoys >= t).sum())
        if Fraction(len(library) * d, it.decoys) <= it.q * max(1, r):
            break
    else:
        return False, False
    if observed[0] < t:  # the designated descriptor is the first one of the library
        return False, False
    first = signed_lift(labels[0][0], errors[0])
    second = signed_lift(labels[1][0], errors[1])
    return True, first * second > 0 and abs(second) >= it.c


def signed_lift(label: Labels, errors: Labels) -> Fraction:
    """Error rate inside minus outside."""
    on, a, e = int(label.sum()), int((label & errors).sum()), int(errors.sum())
    return Fraction(a, on) - Fraction(e - a, len(label) - on)


def power(it: Literal, delta: float, repetitions: int, seed: int) -> tuple[int, int]:
    """How often the designated descriptor is selected, and how often confirmed."""
    draw = np.random.default_rng(seed)
    selected = confirmed = 0
    for _ in range(repetitions):
        one, both = repetition(it, delta, draw)
        selected += one
        confirmed += both
    return selected, confirmed
