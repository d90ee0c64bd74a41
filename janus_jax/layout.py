"""Which whole outcome patterns a shuffle exchanges, and how many shuffles there are.

A *unit* is what moves: a row, or a whole cluster of them. Units of equal size within one stratum
form a *block*; a shuffle deals the error patterns of a block's units out among them again.
:mod:`janus_jax.interface` says in which order and from which words; this module holds what both
backends and the tests rest on, in plain NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from janus_jax.interface import Problem

_CELLS = 1 << 22  # labels in one block of an enumeration


@dataclass(frozen=True, slots=True)
class Block:
    """The units of one size in one stratum.

    Attributes
    ----------
    rows
        intp, shape (U, m): the rows of each unit, ascending; units by first row.
    patterns
        int8, shape (C, m M): the distinct patterns, in descending lexicographic order. M is the
        number of outcomes, those of one row side by side; 1 where there are only the errors.
    counts
        int64, shape (C,): how many units have each.
    """

    rows: NDArray[np.intp]
    patterns: NDArray[np.int8]
    counts: NDArray[np.int64]

    def of(self, outcome: int) -> NDArray[np.int8]:
        """What the patterns hold of one outcome: shape (C, m)."""
        return self.patterns[:, outcome :: self.patterns.shape[1] // self.rows.shape[1]]


def blocks(problem: Problem) -> list[Block]:
    """The blocks of a problem, in the order in which their units take words."""
    groups = [group for sized in _by_size(problem) for group in sized]
    outcomes = _outcomes(problem)
    return [_block(rows, outcomes) for rows in groups]


def row_patterns(problem: Problem) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """The same for units of one row, with one list of patterns for all strata.

    Returns
    -------
    patterns
        int8, shape (C, M): the distinct patterns of rows, in descending lexicographic order.
    counts
        int64, shape (S, C): how many rows of each stratum have each. One that no row of the stratum
        has is never drawn there, since its cumulative count is that of the pattern before it.
    """
    patterns, codes = np.unique(_outcomes(problem).astype(np.int8), axis=0, return_inverse=True)
    strata, many = problem.pool.shape[1], len(patterns)
    places = problem.strata.astype(np.intp) * many + (many - 1 - codes.reshape(-1))
    counts = np.bincount(places, minlength=strata * many).reshape(strata, many)
    return np.ascontiguousarray(patterns[::-1]), counts.astype(np.int64)


def _outcomes(problem: Problem) -> NDArray[np.bool_]:
    """The outcomes of each row: shape (n, M)."""
    errors = problem.errors[:, None]
    return errors if problem.others is None else np.concatenate([errors, problem.others.T], axis=1)


def _by_size(problem: Problem) -> Iterator[list[NDArray[np.intp]]]:
    """For each stratum, the rows (units, size) of each unit size, sizes ascending."""
    clusters = problem.clusters
    if clusters is None:
        order = np.argsort(problem.strata, kind="stable")
        cuts = np.flatnonzero(np.diff(problem.strata[order])) + 1
        yield from ([rows[:, None]] for rows in np.split(order, cuts) if len(rows))
        return
    # Rows by stratum, then cluster, in their order; a cut wherever either changes.
    order = np.lexsort((clusters, problem.strata))
    codes, strata = clusters[order], problem.strata[order]
    starts = np.flatnonzero(np.diff(codes, prepend=codes[:1] - 1) | np.diff(strata, prepend=-1))
    sizes = np.diff(starts, append=len(order))
    first, stratum = order[starts], strata[starts]
    for code in np.unique(stratum).tolist():
        here = np.flatnonzero(stratum == code)
        here = here[np.lexsort((first[here], sizes[here]))]
        cuts = np.flatnonzero(np.diff(sizes[here])) + 1
        yield [
            order[starts[units, None] + np.arange(int(sizes[units[0]]))]
            for units in np.split(here, cuts)
        ]


def _block(rows: NDArray[np.intp], outcomes: NDArray[np.bool_]) -> Block:
    found = outcomes[rows].reshape(len(rows), -1).astype(np.int8)
    patterns, counts = np.unique(found, axis=0, return_counts=True)
    return Block(rows, np.ascontiguousarray(patterns[::-1]), counts[::-1].astype(np.int64))


def movable_rows(problem: Problem) -> int:
    """Rows in blocks of two units or more: those that a shuffle can move."""
    return sum(block.rows.size for block in blocks(problem) if len(block.rows) > 1)


def arrangements(problem: Problem, limit: int) -> int | None:
    """How many distinct labellings the shuffles can give; None when more than ``limit``.

    The product over blocks of the multinomial ``U! / (c_1! ... c_C!)``.
    """
    total = 1
    for block in blocks(problem):
        left = len(block.rows)
        for count in block.counts.tolist():
            for many in _partial_binomials(left, min(count, left - count)):
                if total * many > limit:
                    return None
            total *= math.comb(left, count)
            left -= count
    return total if total <= limit else None


def _partial_binomials(n: int, k: int) -> Iterator[int]:
    """C(n, 1), C(n, 2), ... C(n, k), k at most n / 2: they grow, so one too large ends the work."""
    value = 1
    for i in range(1, k + 1):
        value = value * (n - i + 1) // i
        yield value


def every_labelling(problem: Problem) -> Iterator[NDArray[np.int8]]:
    """Yield every distinct labelling once, in blocks of shape (k, n), columns in row order.

    The problem has no ``others``. Ask :func:`arrangements` first: the number of labellings is what
    makes it long.
    """
    parts = blocks(problem)
    n = len(problem.errors)
    # The last blocks turn fastest; those that together fit one array are laid out at once.
    tail: list[Block] = []
    many = 1
    while parts:
        here = _multinomial(parts[-1])
        if tail and many * here * n > _CELLS:
            break
        many *= here
        tail.insert(0, parts.pop())
    inner = np.zeros((1, n), np.int8)
    for block in tail:
        inner = _dealt(inner, block)
    for outer in _walk(parts, np.zeros(n, np.int8)):
        yield inner + outer


def _multinomial(block: Block) -> int:
    result, left = 1, len(block.rows)
    for count in block.counts.tolist():
        result *= math.comb(left, count)
        left -= count
    return result


def _walk(parts: list[Block], labels: NDArray[np.int8]) -> Iterator[NDArray[np.int8]]:
    if not parts:
        yield labels
        return
    for categories in _orders(parts[0].counts.tolist()):
        chosen = labels.copy()
        chosen[parts[0].rows] = parts[0].patterns[categories]
        yield from _walk(parts[1:], chosen)


def _dealt(labels: NDArray[np.int8], block: Block) -> NDArray[np.int8]:
    """Every one of the labellings with every deal of the block."""
    deals = np.array(list(_orders(block.counts.tolist())), np.intp)
    result = np.repeat(labels, len(deals), axis=0)
    dealt = block.patterns[deals]  # (deals, units, size)
    result[:, block.rows] = np.tile(dealt, (len(labels), 1, 1))
    return result


def _orders(counts: list[int]) -> Iterator[list[int]]:
    """Every sequence of categories in which category c occurs ``counts[c]`` times."""
    sequence = [c for c, count in enumerate(counts) for _ in range(count)]
    while True:
        yield sequence.copy()
        # The next one in lexicographic order.
        at = len(sequence) - 2
        while at >= 0 and sequence[at] >= sequence[at + 1]:
            at -= 1
        if at < 0:
            return
        swap = len(sequence) - 1
        while sequence[swap] <= sequence[at]:
            swap -= 1
        sequence[at], sequence[swap] = sequence[swap], sequence[at]
        sequence[at + 1 :] = reversed(sequence[at + 1 :])
