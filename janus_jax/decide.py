"""What selection rules do with many draws of the errors at once, from small integer tables.

With the margins of a split fixed, every rule of the procedure asks one thing of a descriptor with
``a`` errors on it: how many descriptors of the library must do at least as well before it is
selected. That least number is its *need*, 1 to L + 1 (L + 1: never). A rule selects the descriptors
whose need is at most m, for the largest m such that m descriptors have a need of at most m (0: none
is selected). This is the step-up of Benjamini and Hochberg, and it is Procedure A too: its
estimated FDP at a threshold t is at most q when R(t) is at least a number that falls as t rises. A
rule with a fixed limit has needs 1 and L + 1 only.

With K literal decoys the need depends on how many of them reach the descriptor's value. A decoy of
a replay is one 32-bit word u, and it reaches t when ``u < floor(2**32 P(decoy >= t))``; the first K
words of a replay are its K decoys, so that smaller K are prefixes of larger ones. (A probability is
so rounded by at most 2**-32.)

:func:`decide` is the definition. A backend may bring its own
(:class:`janus_jax.interface.DecidesReplays`), which must return the same integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from janus_jax import streams

Ids = NDArray[np.uint32]

# Cells (decoy thresholds x lanes) worked on together: they stay in a core's second-level cache.
_CELLS = 1 << 17


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where a table keeps the entry of a descriptor and its error count.

    Attributes
    ----------
    base, low, high
        int32, shape (L,): the place of count ``a`` is ``base[g] + clip(a, low[g], high[g])``.
    """

    base: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    def places(self, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Places of the counts of shape (L, lanes)."""
        held = np.clip(counts, self.low[:, None], self.high[:, None])
        return held + self.base[:, None]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a replay as tables.

    Attributes
    ----------
    discovery
        Where the tables of discovery counts keep each descriptor.
    needs
        int32, shape (F, size): the need of each entry by each of F rules without decoys.
    cuts
        uint32, shape (S, size): for each of S statistics, the words below which a decoy reaches the
        entry's value.
    signs
        int8, shape (size,): sign of the lift.
    holdout
        The same for holdout counts; None when there is no holdout.
    gate
        int8, shape (holdout size,): the sign of a holdout lift that is large enough, else 0.
    grid
        The numbers of decoys K, ascending.
    allowed
        int32, shape (A, len(grid), L + 1): ``allowed[v, i, m]``, the most decoys that may reach a
        threshold which m descriptors reach, by A variants of Procedure A; -1 for m = 0.
    decoys
        Key words of the stream of decoys.
    """

    discovery: Lookup
    needs: NDArray[np.int32]
    cuts: NDArray[np.uint32]
    signs: NDArray[np.int8]
    holdout: Lookup | None
    gate: NDArray[np.int8]
    grid: tuple[int, ...]
    allowed: NDArray[np.int32]
    decoys: streams.Key

    @property
    def library(self) -> int:
        """L."""
        return len(self.discovery.base)

    @property
    def count(self) -> int:
        """How many rules: F, then by K, statistic and variant, the last turning fastest."""
        return len(self.needs) + len(self.cuts) * len(self.grid) * len(self.allowed)


@dataclass(frozen=True, slots=True)
class Decided:
    """Sums over replays, for each rule in the order of :attr:`Rules.count`; they add.

    Attributes
    ----------
    replays
        How many were decided.
    sums
        int64, shape (4, rules): replays in which anything was selected; in which anything was
        confirmed; descriptors selected; descriptors confirmed.
    """

    replays: int
    sums: NDArray[np.int64]

    def __add__(self, other: Decided) -> Decided:
        return Decided(self.replays + other.replays, self.sums + other.sums)


def nothing_decided(rules: Rules) -> Decided:
    """The sums over no replays."""
    return Decided(0, np.zeros((4, rules.count), np.int64))


def decide(
    discovery: NDArray[np.int32], holdout: NDArray[np.int32] | None, ids: Ids, rules: Rules
) -> Decided:
    """Apply every rule to every replay.

    Parameters
    ----------
    discovery, holdout
        int32, shape (k, L): errors on each descriptor in each replay; ``holdout`` is None when
        there is none.
    ids
        uint32, shape (k,): the numbers of the replays, which draw their decoys.
    rules
        See :class:`Rules`.
    """
    total = nothing_decided(rules)
    rows = max(1, len(rules.cuts) * rules.library)
    lanes = max(64, min(_CELLS // rows, 4096))
    for start in range(0, len(ids), lanes):
        part = slice(start, start + lanes)
        held = None if holdout is None else holdout[part].T
        total += _decide_block(discovery[part].T, held, ids[part], rules)
    return total


def _decide_block(
    discovery: NDArray[np.int32], holdout: NDArray[np.int32] | None, ids: Ids, rules: Rules
) -> Decided:
    places = rules.discovery.places(discovery)
    passed = np.zeros(places.shape, np.bool_)
    if holdout is not None and rules.holdout is not None:
        gate = np.take(rules.gate, rules.holdout.places(holdout))
        passed = np.take(rules.signs, places) * gate == 1
    sums = np.zeros((4, rules.count), np.int64)
    place = 0

    def apply(values: NDArray[Any], limit: Callable[[NDArray[np.intp]], NDArray[Any]]) -> None:
        nonlocal place
        many = _step_up(values, limit)
        kept = np.count_nonzero((values <= limit(many)) & passed, axis=0)
        sums[:, place] = np.count_nonzero(many), np.count_nonzero(kept), many.sum(), kept.sum()
        place += 1

    for table in rules.needs:
        apply(np.take(table, places), lambda many: many)
    for step, reached in enumerate(_reached(places, ids, rules)):
        for decoys in reached:
            for allowed in rules.allowed[:, step]:
                apply(decoys, lambda many, allowed=allowed: np.take(allowed, many))
    return Decided(len(ids), sums)


def _step_up(
    values: NDArray[Any], limit: Callable[[NDArray[np.intp]], NDArray[Any]]
) -> NDArray[np.intp]:
    """For each lane the largest m such that m values are at most ``limit(m)``.

    Counting those at most ``limit(m)`` from m = L down gives a smaller m until it stays: no m
    between can qualify, since ``limit`` does not fall.
    """
    many = np.full(values.shape[1], len(values), np.intp)
    while True:
        fewer = np.count_nonzero(values <= limit(many), axis=0)
        if (fewer == many).all():
            return many
        many = fewer


def _reached(places: NDArray[np.int32], ids: Ids, rules: Rules) -> Iterator[NDArray[np.int32]]:
    """How many of the first K decoys reach each descriptor's value, for each K of the grid.

    int32, shape (S, L, lanes), overwritten when the next one is asked for.
    """
    if not rules.grid:
        return
    cuts = np.take(rules.cuts, places, axis=1)
    keys = streams.fold_in(rules.decoys, ids)
    total = np.zeros(cuts.shape, np.int32)
    # Bytes are added faster than wider integers, and hold what 255 decoys can add.
    some = np.zeros(cuts.shape, np.uint8)
    flag = np.empty(cuts.shape, np.bool_)
    done = held = 0
    wanted = iter(rules.grid)
    most = next(wanted)
    for _, block in streams.word_blocks(keys, rules.grid[-1]):
        for word in block:
            np.less(word, cuts, out=flag)
            np.add(some, flag.view(np.uint8), out=some)
            done, held = done + 1, held + 1
            if held == 255 or done == most:
                np.add(total, some, out=total)
                some[:] = 0
                held = 0
            if done == most:
                yield total
                most = next(wanted, 0)
