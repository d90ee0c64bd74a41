"""The problems that are timed: pure noise of fixed shape, made from a fixed seed.

Needs NumPy and this project's core only, so that :mod:`bench.gpu` can use it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from janus_jax.interface import Problem, Tables
from janus_jax.statistic import Margins, Thresholds, rank_all, rank_table


@dataclass(frozen=True, slots=True)
class Shape:
    """n examples, L descriptors, B permutations."""

    n: int
    descriptors: int
    permutations: int


@dataclass(frozen=True, slots=True)
class Workload:
    """One problem, independent of who solves it.

    Attributes
    ----------
    members
        bool, shape (L, n): descriptor g holds on example i.
    errors
        bool, shape (n,).
    permutations
        B.
    """

    members: NDArray[np.bool_]
    errors: NDArray[np.bool_]
    permutations: int

    def with_permutations(self, permutations: int) -> Workload:
        """The same problem with another B."""
        return replace(self, permutations=permutations)


SHAPES = {
    "W1": Shape(80, 10, 499_999),
    "W2": Shape(55, 41, 499_999),
    "W3": Shape(2_000, 500, 10_000),
    "W4": Shape(20_000, 2_000, 1_000),
}
"""Two libraries of the paper's size, a large one and a very large one."""

SCALING = {
    "n": [Shape(n, 100, 2_000) for n in (100, 1_000, 10_000, 100_000)],
    "L": [Shape(2_000, descriptors, 2_000) for descriptors in (10, 100, 1_000, 10_000)],
    "B": [Shape(200, 50, b) for b in (1_000, 10_000, 100_000, 1_000_000)],
}
"""One of n, L and B grows, the others stay."""


_ROWS = 256


def named_shape(name: str) -> Shape:
    """The shape of a name: one of W1 to W4, or ``n,L,B``."""
    return SHAPES[name] if name in SHAPES else Shape(*map(int, name.split(",")))


def make_workload(shape: Shape) -> Workload:
    """Descriptors of prevalence 0.2 to 0.5 and an error rate of 0.3, all independent."""
    rng = np.random.default_rng(0)
    prevalence = rng.uniform(0.2, 0.5, shape.descriptors)
    members = np.empty((shape.descriptors, shape.n), np.bool_)
    for start in range(0, shape.n, _ROWS):  # the floats of all rows would be the peak of memory
        rows = min(_ROWS, shape.n - start)
        members[:, start : start + rows] = (rng.random((rows, len(prevalence))) < prevalence).T
    errors = rng.random(shape.n) < 0.3
    return Workload(members, errors, shape.permutations)


def make_problem(work: Workload, seed: int = 0) -> Problem:
    """The workload as the backends see it: one stratum, no decoys."""
    return Problem(
        memberships=work.members,
        errors=work.errors,
        strata=np.zeros(len(work.errors), np.int32),
        pool=np.zeros((0, 1), np.int32),
        seed=seed,
    )


def make_tables(work: Workload) -> Tables:
    """The project's own tables for |lift|."""
    n, wrong = len(work.errors), int(work.errors.sum())
    margins = [Margins((n,), (int(on),), (wrong,), "lift") for on in work.members.sum(axis=1)]
    observed = work.members[:, work.errors].sum(axis=1).tolist()
    keys = [margin.key(count) for margin, count in zip(margins, observed, strict=True)]
    thresholds = Thresholds(keys)
    return Tables(
        rank_table(margins, rank_all(margins, thresholds)), thresholds.own, len(thresholds)
    )
