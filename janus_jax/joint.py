"""Several outcomes of the same examples that one shuffle moves together.

:mod:`janus_jax.interface` says what such a shuffle is. A backend that shares shuffles
(:class:`janus_jax.interface.SharesShuffles`) draws once for all of them; for any other the outcomes
are stacked into one problem of more rows, whose counts are the same integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from janus_jax.interface import (
    Backend,
    Ids,
    Problem,
    SharesShuffles,
    Tables,
    Tally,
    tally_counts,
)


def apart(problem: Problem) -> list[Problem]:
    """Each outcome as a plain problem of its own: the errors, then ``others``, in order."""
    others = [] if problem.others is None else list(problem.others)
    return [replace(problem, errors=outcome, others=None) for outcome in (problem.errors, *others)]


def together(problems: Sequence[Problem]) -> Problem:
    """The inverse: plain problems that differ in their errors alone, as one."""
    first, *rest = problems
    others = np.stack([problem.errors for problem in rest]) if rest else None
    return replace(first, others=others)


def stacked(problem: Problem) -> Problem:
    """The same shuffles without ``others``, for M outcomes: n M rows and M L descriptors.

    Outcome m of row i is row ``i M + m``, and the row (or its cluster) is its cluster. Descriptor
    ``m L + g`` holds on outcome m of the rows on which g holds, so the counts of a permutation are
    those of every outcome, one after another. There are no decoys.
    """
    if problem.others is None:
        return problem
    outcomes = np.concatenate([problem.errors[None], problem.others])
    many, n = outcomes.shape
    descriptors = len(problem.memberships)
    memberships = np.zeros((many, descriptors, n, many), np.bool_)
    for m in range(many):
        memberships[m, :, :, m] = problem.memberships
    rows = np.arange(n, dtype=np.int32) if problem.clusters is None else problem.clusters
    return Problem(
        memberships=memberships.reshape(many * descriptors, n * many),
        errors=outcomes.T.ravel(),
        strata=np.repeat(problem.strata, many),
        pool=np.zeros((0, problem.pool.shape[1]), np.int32),
        seed=problem.seed,
        clusters=np.repeat(rows, many),
    )


def drawn_as(backend: Backend, problem: Problem) -> Problem:
    """The problem as this backend takes it: stacked, unless it shares shuffles."""
    return problem if isinstance(backend, SharesShuffles) else stacked(problem)


def tallies(
    backend: Backend, state: object, ids: Ids, tables: Sequence[Tables], lanes: int
) -> list[Tally]:
    """Tally each outcome over the same permutations.

    Parameters
    ----------
    state
        What the backend made of :func:`drawn_as`.
    tables
        One for each outcome.
    lanes
        Permutations whose counts may be held at once, where a backend shares no shuffles.
    """
    if len(tables) == 1:
        return [backend.tally(state, ids, tables[0])]
    if isinstance(backend, SharesShuffles):
        return backend.tallies(state, ids, tables)
    sums: list[Tally] = []
    for part in np.split(ids, range(lanes, len(ids), lanes)):
        found = _reduced(backend.counts(state, part), tables)
        sums = [a + b for a, b in zip(sums, found, strict=True)] if sums else found
    return sums


def _reduced(counts: NDArray[np.int32], tables: Sequence[Tables]) -> list[Tally]:
    each = np.split(counts, len(tables), axis=1)
    return [tally_counts(part, own) for part, own in zip(each, tables, strict=True)]
