"""A backend of your own: permutations dealt in loops that numba compiles.

It shows how little the contract (:mod:`janus_jax.interface`) asks, and passes the conformance
suite. To use it, put it into a distribution of yours, with an entry point in the group
``janus_jax.backends``: ``numba = "numba_backend:NumbaBackend"``.
"""

# numba is untyped.
# pyright: reportMissingImports=false, reportUntypedFunctionDecorator=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from janus_jax import layout, streams
from janus_jax.interface import Description, Ids, Problem, Tables, Tally, tally_counts


@numba.njit(parallel=True)
def deal(words, left, patterns, rows, labels):
    """Deal a block's patterns: in permutation i, unit j draws by ``words[j, i]`` of ``left``."""
    units = len(rows)
    for i in numba.prange(len(labels)):
        for j in range(units):
            draw = np.int64((np.uint64(words[j, i]) * np.uint64(units - j)) >> np.uint64(32))
            c = 0
            while draw >= left[i, c]:
                draw -= left[i, c]
                c += 1
            left[i, c] -= 1
            for place in range(rows.shape[1]):
                labels[i, rows[j, place]] = patterns[c, place]


class State(NamedTuple):
    """A problem, its blocks, and how many permutations to hold at once."""

    problem: Problem
    blocks: list[layout.Block]
    lanes: int


def labels(state: State, stream: int, ids: Ids, counts: list[Any]) -> NDArray[np.int8]:
    """Shuffled labels (k, n) with, for each block, (k, C) or (C,) counts of its patterns."""
    result = np.zeros((len(ids), len(state.problem.errors)), np.int8)
    units = sum(len(block.rows) for block in state.blocks)
    words = streams.words(
        streams.fold_in(streams.stream_key(state.problem.seed, stream), ids), units
    )
    for block, many in zip(state.blocks, counts, strict=True):
        mine, words = np.split(words, [len(block.rows)])
        left = np.broadcast_to(many, (len(ids), many.shape[-1])).astype(np.int64)
        deal(mine, left, block.patterns, block.rows, result)
    return result


class NumbaBackend:
    """Permutations in compiled loops; see :class:`janus_jax.interface.Backend`."""

    def describe(self) -> Description:
        return Description("numba", numba.__version__, f"cpu x{numba.get_num_threads()}")

    def bytes_per_permutation(self, problem: Problem) -> int:
        return 25 * len(problem.errors) + 32 * len(problem.memberships)

    def prepare(self, problem: Problem, lanes: int) -> State:
        return State(problem, layout.blocks(problem), lanes)

    def shuffles(self, state: State, ids: Ids) -> NDArray[np.int8]:
        return labels(state, streams.PERMUTATIONS, ids, [block.counts for block in state.blocks])

    def counts(self, state: State, ids: Ids) -> NDArray[np.int32]:
        members = state.problem.memberships.T.astype(np.float32)  # exact below 2**24 examples
        cuts = range(state.lanes, len(ids), state.lanes)
        parts = [self.shuffles(state, part) for part in np.split(ids, cuts)]
        return np.concatenate([part @ members for part in parts]).astype(np.int32)

    def tally(self, state: State, ids: Ids, tables: Tables) -> Tally:
        cuts = range(state.lanes, len(ids), state.lanes)
        parts = [tally_counts(self.counts(state, p), tables) for p in np.split(ids, cuts)]
        return sum(parts[1:], start=parts[0])

    def decoys(self, state: State, ids: Ids) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        problem = state.problem
        key = streams.fold_in(streams.stream_key(problem.seed, streams.SOURCES), ids)
        sources = streams.mulhi(streams.words(key, 1)[0], len(problem.pool)).astype(np.int32)
        # The same walk over strata, dealing "on" (1) and "off" (0) of the source.
        either = np.array([[1], [0]], np.int8)
        blocks = [layout.Block(b.rows, either, b.counts) for b in state.blocks]
        on = [problem.pool[sources, problem.strata[block.rows[0, 0]]] for block in blocks]
        counts = [np.stack([a, len(b.rows) - a], 1) for a, b in zip(on, blocks, strict=True)]
        drawn = labels(state._replace(blocks=blocks), streams.DECOYS, ids, counts)
        return sources, drawn[:, problem.errors].sum(axis=1, dtype=np.int32)
