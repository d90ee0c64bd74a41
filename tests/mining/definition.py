"""The search by its definition: every conjunction, one after the other, in fractions."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from fractions import Fraction

import numpy as np


def score(n: int, errors: int, size: int, inside: int, weight: Fraction) -> Fraction:
    """Definition 1 of the SliceLine paper."""
    average, mean = Fraction(errors, n), Fraction(inside, size)
    return weight * (mean / average - 1) - (1 - weight) * (Fraction(n, size) - 1)


def every_slice(
    members: Sequence[np.ndarray],
    groups: Sequence[Hashable],
    errors: np.ndarray,
    *,
    min_slice: int,
    level: int,
    weight: Fraction,
) -> list[tuple[Fraction, list[tuple[int, ...]], int, int]]:
    """Every set of examples that scores above 0: score, its names, size, errors; best first."""
    n, total = len(errors), int(errors.sum())
    found: dict[bytes, tuple[Fraction, list[tuple[int, ...]], int, int]] = {}
    for length in range(1, level + 1):
        for terms in itertools.combinations(range(len(members)), length):
            if len({groups[t] for t in terms}) < length:
                continue
            inside = np.logical_and.reduce([members[t] for t in terms])
            size, wrong = int(inside.sum()), int((inside & errors).sum())
            if size < min_slice:
                continue
            value = score(n, total, size, wrong, weight)
            if value > 0:
                key = inside.tobytes()
                found.setdefault(key, (value, [], size, wrong))[1].append(terms)
    return sorted(found.values(), key=lambda it: (-it[0], len(it[1][0]), it[1][0]))
