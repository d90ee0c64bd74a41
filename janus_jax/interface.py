"""The contract between the procedure and a permutation backend.

A backend draws permutations, counts errors and reduces counts. It never sees a p-value, a lift or a
decision: those belong to the core, which works on the integers that a backend returns. Any object
with the members of :class:`Backend` is a backend; :mod:`janus_jax.testing` has the suite it must
pass, and third parties register theirs in the entry-point group ``janus_jax.backends``.

Laws (each is a test of the conformance suite)
----------------------------------------------
* *Pure.* The same state and ids give the same bits, however often and in whatever order asked.
* *Chunk.* Any split of the ids concatenates (``shuffles``, ``counts``, ``decoys``) or adds
  (``tally``) to the result for the whole.
* *Same.* Every backend returns the integers that :mod:`janus_jax.streams` defines.
* *Reduce.* ``tally(state, ids, tables) == tally_counts(counts(state, ids), tables)``.
* *Lanes.* ``lanes`` changes memory and speed, never a result.
* *Share.* ``tallies`` (where a backend has it) gives, for each outcome, ``tally_counts`` of that
  outcome's counts.

What permutation ``i`` is
-------------------------
Rows are taken stratum by stratum (strata by code, rows in their order within one). With the key
``fold_in(stream_key(seed, PERMUTATIONS), i)`` the words ``w[0..n-1]`` are drawn, one for each
position ``j`` in that order. Within a stratum of ``m`` positions holding ``E`` errors, position
``j`` becomes an error when ``mulhi(w[j], remaining positions) < remaining errors`` (selection
sampling, Knuth's Algorithm S): a uniformly random set, up to a total variation of at most
``n * 2**-32``.

That is the case of units of one row. In general a *unit* is a row, or a cluster: whole error
patterns are exchanged among the units of equal size within one stratum, and the order of rows
inside a unit is kept. Units are ordered by stratum code, then size ascending, then first row; a
*block* is one stratum and unit size; unit number ``j``, over all blocks in this order, uses word
``j``. Let a block's C distinct patterns (the tuples of its units' errors, rows ascending) stand in
descending lexicographic order, so that an error comes first, with remaining counts ``c_1..c_C``.
The unit gets the first pattern whose cumulative remaining count exceeds ``mulhi(word, remaining
units)``, and that count falls by one. A size that occurs once in its stratum does not move.
:func:`janus_jax.layout.blocks` gives the blocks.

Several outcomes of the same examples (the errors of several models) move together: one shuffle
moves what a row has of all M of them, so that errors made in common stay in common. The pattern of
a unit is then the tuple over its rows, ascending, of that row's outcomes, in order; all else is as
above. It is the same as a problem of n M rows, outcome m of row i at place ``i M + m``, whose
clusters are the rows (or the rows' clusters): :func:`janus_jax.joint.stacked` writes it out. With
units of one row the first outcome's shuffles are those of its own plain problem.

Decoy ``k`` draws its source, number ``mulhi(word 0 of fold_in(stream_key(seed, SOURCES), k),
pool size)`` of the pool, and then places the source's "on" labels, as many in each stratum as the
source has there, by the same rule with the key ``fold_in(stream_key(seed, DECOYS), k)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from janus_jax.decide import Decided, Ids, Rules


@dataclass(frozen=True, slots=True)
class Problem:
    """The arrays of one split, already checked by the core.

    Attributes
    ----------
    memberships
        bool, shape (L, n): descriptor g holds on example i.
    errors
        bool, shape (n,): the model was wrong on example i.
    strata
        int32, shape (n,): stratum code, 0..S-1; shuffles stay within a stratum.
    pool
        int32, shape (P, S): for each decoy source, how many examples of each stratum it is on for.
        P may be 0 when no decoys are wanted.
    seed
        0 to 2**64 - 1.
    clusters
        int32, shape (n,): unit code, any numbers; a cluster lies in one stratum. None when every
        row is its own unit.
    others
        bool, shape (O, n), O at least 1: further outcomes of the same examples, which move with the
        errors. None when there is no other.
    """

    memberships: NDArray[np.bool_]
    errors: NDArray[np.bool_]
    strata: NDArray[np.int32]
    pool: NDArray[np.int32]
    seed: int
    clusters: NDArray[np.int32] | None = None
    others: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    """What the reduction needs to know about the statistic: small integer tables.

    Attributes
    ----------
    rank
        int32, or int16 when J < 2**15; shape (L, M): ``rank[g, a]`` = how many of the J distinct
        observed values of the statistic descriptor g reaches when ``a`` errors fall on it (0 to J).
        M is larger than any attainable count; entries of counts that are not attainable are never
        read.
    own
        int32, shape (L,): the rank of g's observed count, 1 to J.
    levels
        J, the number of distinct observed values.
    """

    rank: NDArray[np.int32] | NDArray[np.int16]
    own: NDArray[np.int32]
    levels: int


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over permutations; tallies of disjoint ids add.

    Attributes
    ----------
    permutations
        How many permutations were counted.
    maxima
        int64, shape (J + 1,): histogram of ``max over g of rank_b(g)`` over permutations b.
    exceed
        int64, shape (L,): permutations in which g reaches at least its own observed rank.
    step_down
        int64, shape (L,): permutations in which some descriptor whose own rank is at most g's
        reaches g's own rank (the successive maxima of Westfall and Young; ties share one maximum).
    total
        int64, shape (J + 1,): histogram of ``rank_b(g)`` over all g and b.
    """

    permutations: int
    maxima: NDArray[np.int64]
    exceed: NDArray[np.int64]
    step_down: NDArray[np.int64]
    total: NDArray[np.int64]

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.permutations + other.permutations,
            self.maxima + other.maxima,
            self.exceed + other.exceed,
            self.step_down + other.step_down,
            self.total + other.total,
        )


def tally_counts(counts: NDArray[np.int32], tables: Tables) -> Tally:
    """Reduce error counts to a tally: the definition every ``tally`` must agree with.

    Parameters
    ----------
    counts
        int32, shape (k, L): errors on each descriptor in each of k permutations.
    tables
        See :class:`Tables`.
    """
    k, descriptors = counts.shape
    levels = tables.levels
    rank = tables.rank[np.arange(descriptors)[None, :], counts]
    order = np.argsort(tables.own, kind="stable")
    own = tables.own[order]
    successive = np.maximum.accumulate(rank[:, order], axis=1)
    # Tied descriptors share the maximum over all of them: the last place of their run.
    last = np.searchsorted(own, own, side="right") - 1
    step_down = np.empty(descriptors, dtype=np.int64)
    step_down[order] = (successive[:, last] >= own).sum(axis=0)
    return Tally(
        permutations=k,
        maxima=np.bincount(rank.max(axis=1, initial=0), minlength=levels + 1).astype(np.int64),
        exceed=(rank >= tables.own).sum(axis=0).astype(np.int64),
        step_down=step_down,
        total=np.bincount(rank.ravel(), minlength=levels + 1).astype(np.int64),
    )


@dataclass(frozen=True, slots=True)
class Description:
    """What ran, for the report: the backend's name, its version, and the device in words."""

    name: str
    version: str
    device: str


@runtime_checkable
class Backend(Protocol):
    """The verbs of a permutation backend; see the module docstring for the laws.

    The state that ``prepare`` returns is the backend's own business: work that depends only on the
    problem (checking, packing, moving to the device) is paid there, once. Ids may come in any order
    and number, none included, with gaps and repeats.
    """

    def describe(self) -> Description:
        """Name, version and device, in words."""
        ...

    def bytes_per_permutation(self, problem: Problem) -> int:
        """Peak extra bytes that each permutation in flight costs ``tally``.

        The core divides its memory budget by it to choose ``lanes``.
        """
        ...

    def prepare(self, problem: Problem, lanes: int) -> Any:
        """Pack the problem and move it to the device.

        ``lanes`` is the most permutations that may run side by side; a backend may take fewer.
        """
        ...

    def shuffles(self, state: Any, ids: Ids) -> NDArray[np.int8]:
        """The shuffled errors of these permutations: 0/1, shape (k, n), columns in row order."""
        ...

    def counts(self, state: Any, ids: Ids) -> NDArray[np.int32]:
        """Errors on each descriptor in each of these permutations: shape (k, L)."""
        ...

    def tally(self, state: Any, ids: Ids, tables: Tables) -> Tally:
        """Draw, count and reduce; nothing of size k x L need ever exist.

        Tables are never changed in place, so a backend may keep what it made of the last ones.
        """
        ...

    def decoys(self, state: Any, ids: Ids) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source (index into the pool) and errors on the shuffled label, each of shape (k,).

        Not called with ids when the pool is empty, nor when there are clusters.
        """
        ...


@runtime_checkable
class DecidesReplays(Protocol):
    """What a backend may have besides: replays decided where they were drawn.

    Without it the core decides on the host from ``counts``; the integers are the same.
    """

    def replays(self, discovery: Any, holdout: Any | None, ids: Ids, rules: Rules) -> Decided:
        """Shuffle both splits and apply the rules.

        Equal to :func:`janus_jax.decide.decide` of ``counts(discovery, ids)`` and, unless
        ``holdout`` is None, ``counts(holdout, ids)``; both are states that ``prepare`` returned.
        """
        ...


@runtime_checkable
class SharesShuffles(Protocol):
    """What a backend may have besides: one shuffle drawn for several outcomes.

    Without it the core stacks the outcomes into one longer problem and asks for its ``counts``; the
    integers are the same. Such a backend is never given a problem with ``others``. One that has the
    verb uses a state prepared of a problem with ``others`` for ``tallies`` alone, and its
    ``bytes_per_permutation`` of such a problem is what ``tallies`` costs.
    """

    def tallies(self, state: Any, ids: Ids, tables: Sequence[Tables]) -> list[Tally]:
        """Draw once, count and reduce each outcome by its own tables.

        One table and one tally for the errors, then for each of ``others``, in order. The
        memberships are the same for all.
        """
        ...
