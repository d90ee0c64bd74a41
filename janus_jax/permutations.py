"""Shared permutations of the errors: sampled by a backend, or all of them when they are few."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from janus_jax.interface import Backend, Problem, Tables, Tally, tally_counts

Progress = Callable[[int, int], None]
"""Called with permutations done and wanted, a few times a second at most."""

_CELLS = 1 << 22  # gathered cells in one block of an enumeration


def sampled_tally(
    backend: Backend,
    state: object,
    tables: Tables,
    count: int,
    block: int,
    progress: Progress | None = None,
) -> Tally:
    """Tally permutations 0 .. count - 1, ``block`` at a time.

    The sum does not depend on ``block``: permutation i is a function of the seed and i alone.
    """
    total: Tally | None = None
    for start in range(0, count, block):
        stop = min(start + block, count)
        part = backend.tally(state, np.arange(start, stop, dtype=np.uint32), tables)
        total = part if total is None else total + part
        if progress is not None:
            progress(stop, count)
    assert total is not None  # the plan wants at least one permutation
    return total


def enumerated_tally(problem: Problem, tables: Tables) -> Tally:
    """Tally every distinct arrangement of the errors within strata, each once."""
    parts = [tally_counts(counts, tables) for counts in _every_count(problem)]
    return sum(parts[1:], start=parts[0])


def _every_count(problem: Problem) -> Iterator[NDArray[np.int32]]:
    """Error counts, shape (k, L), for blocks of all arrangements."""
    members = problem.memberships.astype(np.int32).T  # (n, L)
    descriptors = members.shape[1]
    # Per stratum: the positions that are picked in each arrangement of its smaller outcome.
    strata: list[tuple[NDArray[np.intp], NDArray[np.int32] | None]] = []
    for stratum in range(int(problem.strata.max()) + 1):
        rows = np.flatnonzero(problem.strata == stratum)
        wrong = int(problem.errors[rows].sum())
        few = min(wrong, len(rows) - wrong)
        picks = np.fromiter(
            itertools.chain.from_iterable(itertools.combinations(rows.tolist(), few)),
            dtype=np.intp,
            count=math.comb(len(rows), few) * few,
        ).reshape(math.comb(len(rows), few), few)
        # Picking the right answers instead of the wrong ones: subtract from all of the stratum.
        whole = members[rows].sum(axis=0, dtype=np.int32) if few < wrong else None
        strata.append((picks, whole))
    total = math.prod(len(picks) for picks, _ in strata)
    widest = max(1, *(picks.shape[1] for picks, _ in strata))
    block = max(1, _CELLS // (max(descriptors, 1) * widest))
    for start in range(0, total, block):
        index = np.arange(start, min(start + block, total))
        counts = np.zeros((len(index), descriptors), dtype=np.int32)
        for picks, whole in strata:
            index, choice = np.divmod(index, len(picks))
            inside = members[picks[choice]].sum(axis=1, dtype=np.int32)
            counts += inside if whole is None else whole - inside
        yield counts


def lanes_for(backend: Backend, problem: Problem, wanted: int, budget: int) -> int:
    """Permutations to run side by side: what the memory budget (bytes) holds, within reason.

    ``budget // backend.bytes_per_permutation(problem)``, at least 64, at most 16,384 (beyond which
    no machine measured gains), and no more than needed.
    """
    fit = budget // max(backend.bytes_per_permutation(problem), 1)
    return max(1, min(max(fit, 64), 16_384, wanted))
