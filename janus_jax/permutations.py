"""Shared permutations of the outcomes: sampled by a backend, or all of them when they are few.

Several outcomes of the same examples share their sampled permutations (:mod:`janus_jax.joint`); one
whose own labellings are few is enumerated by itself.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from janus_jax import joint
from janus_jax.checkpoint import Checkpoint, fingerprint
from janus_jax.errors import InputError
from janus_jax.interface import Backend, Problem, Tables, Tally, tally_counts
from janus_jax.layout import arrangements, every_labelling, movable_rows
from janus_jax.plan import MAX_PERMUTATIONS, whole_number
from janus_jax.processes import ALONE, Processes
from janus_jax.progress import Progress
from janus_jax.stopping import Interrupted, noted

DEFAULT_MEMORY: Final = 256 * 2**20
"""Bytes the permutations in flight may use."""

_COUNTED_UP_TO = 10**15  # labellings are counted exactly up to here
_CELLS = 1 << 22  # gathered cells in one block of an enumeration

# A call of the backend takes about this long: seldom enough to cost nothing, often enough for
# progress, checkpoints and Ctrl-C.
_CALL_SECONDS: Final = 0.4
_LONGEST_CALL: Final = 1 << 20  # permutations; their ids then take 4 MiB


@dataclass(frozen=True, slots=True)
class Permuted:
    """The shared permutations, sampled or enumerated.

    Attributes
    ----------
    tally
        The sums.
    enumerated
        True when every labelling was counted once; then p-values have no "+1".
    labellings
        How many distinct labellings exist; None when there are more than 10**15.
    movable
        With clusters: how many rows can move at all, since others have the same size and stratum.
    """

    tally: Tally
    enumerated: bool
    labellings: int | None
    movable: int | None

    def p_values(self, hits: NDArray[np.int64]) -> NDArray[np.float64]:
        """(1 + hits) / (B + 1) when sampled, hits / total when enumerated."""
        more = 0 if self.enumerated else 1
        return (hits + more) / (self.tally.permutations + more)

    def share(self, hits: int) -> Fraction:
        """One of those p-values, exactly."""
        more = 0 if self.enumerated else 1
        return Fraction(hits + more, self.tally.permutations + more)

    def within(self, hits: NDArray[np.int64], alpha: Fraction) -> list[bool]:
        """Whether each of those p-values is at most alpha, in integers."""
        more = 0 if self.enumerated else 1
        most = math.floor(alpha * (self.tally.permutations + more)) - more
        return [int(h) <= most for h in hits]


@dataclass(frozen=True, slots=True)
class Running:
    """How permutations are run; nothing here changes a result.

    Attributes
    ----------
    memory
        Bytes the permutations in flight may use.
    batch
        Permutations side by side; None takes what ``memory`` holds (see :func:`lanes_for`).
    progress
        Told how many are done and wanted.
    checkpoint
        Where the sums are kept meanwhile.
    processes
        Who else takes part.
    """

    memory: int = DEFAULT_MEMORY
    batch: int | None = None
    progress: Progress | None = None
    checkpoint: Checkpoint | None = None
    processes: Processes = ALONE

    def check(self) -> None:
        """Refuse what no run can have.

        Raises
        ------
        InputError
            ``batch`` or ``memory`` is no whole number of at least 1.
        """
        if self.batch is not None:
            whole_number("--batch", self.batch, 1, MAX_PERMUTATIONS)
        whole_number("the memory budget in bytes", self.memory, 1, 2**63)


@dataclass(frozen=True, slots=True)
class Ready:
    """What a backend made of a problem.

    Attributes
    ----------
    state
        The backend's own.
    lanes
        Permutations that run side by side.
    """

    state: Any
    lanes: int


def make_ready(backend: Backend, problem: Problem, wanted: int, running: Running) -> Ready:
    """Hand a problem to the backend, with as many lanes as memory holds and ``wanted`` needs.

    Raises
    ------
    InputError
        Memory does not suffice.
    """
    drawn = joint.drawn_as(backend, problem)
    lanes = running.batch or lanes_for(backend, drawn, wanted, running.memory)
    with enough_memory():
        return Ready(backend.prepare(drawn, lanes), lanes)


def permute(
    backend: Backend,
    problem: Problem,
    tables: Sequence[Tables],
    count: int,
    running: Running,
    ready: Ready | None = None,
) -> list[Permuted]:
    """Sample ``count`` permutations, or enumerate the labellings when there are no more.

    Parameters
    ----------
    problem
        The errors, and ``others`` that move with them.
    tables
        One for each outcome, in that order. An outcome that has no more labellings of its own than
        ``count`` is enumerated by itself; all others share the sampled permutations.
    ready
        What the backend made of ``problem``, where that is at hand.

    Returns
    -------
    list
        One for each outcome.
    """
    outcomes = joint.apart(problem)
    few = [arrangements(outcome, _COUNTED_UP_TO) for outcome in outcomes]
    movable = None if problem.clusters is None else movable_rows(outcomes[0])
    sampled = [m for m, many in enumerate(few) if many is None or many > count]
    drawn: Iterator[Tally] = iter(())
    if sampled:
        shared = joint.together([outcomes[m] for m in sampled])
        if ready is None or len(sampled) < len(outcomes):
            ready = make_ready(backend, shared, count, running)
        wanted = [tables[m] for m in sampled]
        drawn = iter(sampled_tallies(backend, ready, shared, wanted, count, running))
    return [
        Permuted(next(drawn), False, few[m], movable)
        if m in sampled
        else Permuted(enumerated_tally(outcome, tables[m]), True, few[m], movable)
        for m, outcome in enumerate(outcomes)
    ]


def sampled_tallies(
    backend: Backend,
    ready: Ready,
    problem: Problem,
    tables: Sequence[Tables],
    count: int,
    running: Running,
) -> list[Tally]:
    """Tally permutations 0 .. count - 1, for each outcome.

    The sums depend neither on ``lanes`` nor on who computes which part and when: permutation i is a
    function of the seed and i alone.

    Raises
    ------
    Interrupted
        SIGINT or SIGTERM came, and the sums so far are in the checkpoint.
    InputError
        The checkpoint is damaged or of another run, the processes were given different tasks, or
        memory does not suffice.
    """
    share, checkpoint = running.processes.share(count), running.checkpoint
    begin = _begin(problem, tables, count, running) or [_nothing(each) for each in tables]
    tell = running.progress or _say_nothing
    tell(begin[0].permutations, len(share))
    total = begin
    # Without a checkpoint there is nothing to save: signals do what they always do.
    with noted() if checkpoint else nullcontext(lambda: False) as asked_to_stop:
        for total in _growing(backend, ready, tables, share, begin):
            done = total[0].permutations
            tell(done, len(share))
            if checkpoint is None:
                continue
            checkpoint.save_when_due(total)
            if asked_to_stop():
                checkpoint.save(total)
                raise Interrupted(
                    f"after {done:,} of {len(share):,} permutations, kept in "
                    f"{checkpoint.path}; the same command with --resume goes on"
                )
        if checkpoint is not None and running.processes.count > 1:
            checkpoint.save(total)  # another process may still be killed
    return running.processes.add(total)


def _say_nothing(done: int, wanted: int) -> None:
    """Progress that nobody wants to hear."""


def _begin(
    problem: Problem, tables: Sequence[Tables], count: int, running: Running
) -> list[Tally] | None:
    """Sums kept by an earlier run, once all processes agree on what they are about to do."""
    if running.checkpoint is None and running.processes.count == 1:
        return None
    task = fingerprint(problem, tables, count)
    found, refusal = None, None
    if running.checkpoint is not None:
        try:
            found = running.checkpoint.begin(task)
        except InputError as error:
            refusal = error
    running.processes.check_same(task, ready=refusal is None)
    if refusal is not None:
        raise refusal
    return found


def _growing(
    backend: Backend, ready: Ready, tables: Sequence[Tables], share: range, total: list[Tally]
) -> Iterator[list[Tally]]:
    """Yield the sums over a growing part of the share, beginning after what ``total`` holds."""
    lanes = size = ready.lanes
    while (done := total[0].permutations) < len(share):
        part = share[done : done + size]
        ids = np.arange(part.start, part.stop, dtype=np.uint32)
        clock = time.perf_counter()
        with enough_memory():
            more = joint.tallies(backend, ready.state, ids, tables, lanes)
        total = [a + b for a, b in zip(total, more, strict=True)]
        took = time.perf_counter() - clock
        yield total
        if took < _CALL_SECONDS / 2:
            size = max(lanes, min(2 * size, _LONGEST_CALL // lanes * lanes))
        elif took > 2 * _CALL_SECONDS:
            size = max(lanes, size // 2 // lanes * lanes)


def _nothing(tables: Tables) -> Tally:
    """The tally of no permutations."""
    levels, descriptors = tables.levels + 1, len(tables.own)
    sizes = (levels, descriptors, descriptors, levels)
    return Tally(0, *(np.zeros(size, dtype=np.int64) for size in sizes))


@contextmanager
def enough_memory() -> Generator[None]:
    """Say which option helps when memory runs out within."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise InputError(
            "not enough memory for the permutations in flight: use a smaller --memory (or --batch)"
        ) from error


def enumerated_tally(problem: Problem, tables: Tables) -> Tally:
    """Tally every distinct arrangement of the errors, each once.

    Errors are arranged within strata, or whole error patterns among clusters.
    """
    every = _every_count if problem.clusters is None else _every_exchange
    total = _nothing(tables)
    for counts in every(problem):
        total += tally_counts(counts, tables)
    return total


def _every_exchange(problem: Problem) -> Iterator[NDArray[np.int32]]:
    """Error counts, shape (k, L), for blocks of all exchanges of clusters."""
    # Products of 0/1 are exact in float32 up to 2**24 rows, and few enough to enumerate have less.
    members = problem.memberships.T.astype(np.float32)
    block = max(1, _CELLS // max(members.shape))
    for labels in every_labelling(problem):
        for start in range(0, len(labels), block):
            yield (labels[start : start + block].astype(np.float32) @ members).astype(np.int32)


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
    no machine measured gains), and no more than needed. For n examples and L descriptors the
    built-in backends need about ``6 min(n, 512) + 8 L`` bytes for each permutation. Beside that,
    and whatever the budget, the memberships take ``n L`` bytes here and once more in the backend.
    """
    fit = budget // max(backend.bytes_per_permutation(problem), 1)
    return max(1, min(max(fit, 64), 16_384, wanted))
