"""Several processes, on one host or many: each takes its share of the permutation numbers.

They meet through ``jax.distributed``. Everything but the permutations is computed by each of them,
which is cheap and needs no words between them; the sums of the shares are added at the end, as
integers. JAX is imported only when several processes are asked for.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import BackendUnavailable, InputError, ProcessLost
from janus_jax.interface import Tally

BACKEND: Final = "jax"
"""The backend that several processes can share: its runtime is how they meet."""


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among those that share the work.

    Attributes
    ----------
    index
        0 to ``count - 1``; process 0 writes and prints.
    count
        How many there are.
    """

    index: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the one that writes and prints."""
        return self.index == 0

    def share(self, permutations: int) -> range:
        """The permutation numbers of this process: every number is in exactly one share.

        Examples
        --------
        >>> [Processes(i, 3).share(10) for i in range(3)]
        [range(0, 3), range(3, 6), range(6, 10)]
        """
        start, stop = (permutations * i // self.count for i in (self.index, self.index + 1))
        return range(start, stop)

    def check_same(self, what: object, *, ready: bool = True) -> None:
        """Make sure that every process was given the same task and can start on it.

        Raises
        ------
        InputError
            Some process is not ready, or has other data or options; in every process alike, so that
            none waits for sums that never come.
        """
        if self.count == 1:
            return
        digest = np.frombuffer(hashlib.sha256(repr(what).encode()).digest(), dtype=np.uint32)
        gathered = _gather(np.append(digest, np.uint32(ready)))
        failed = np.flatnonzero(gathered[:, -1] == 0).tolist()
        if failed and ready:
            raise InputError(f"process {failed[0]} cannot start; it says why")
        others = np.flatnonzero((gathered != gathered[0]).any(axis=1)).tolist()
        if others and ready:
            raise InputError(
                f"process {others[0]} was given other data or options than process 0; run the same "
                "command on the same files everywhere, but for --process-id"
            )

    def add(self, tallies: Sequence[Tally]) -> list[Tally]:
        """The sums of every process's tallies, exactly; each process has as many, of one shape."""
        if self.count == 1:
            return list(tallies)
        arrays: list[NDArray[np.int64]] = []
        for tally in tallies:
            arrays += [np.array([tally.permutations]), tally.maxima]
            arrays += [tally.exceed, tally.step_down, tally.total]
        flat = np.concatenate(arrays).astype(np.int64)
        # Sums can pass 2**32, and JAX has no 64-bit integers here: two words for each.
        words = _gather(flat.view(np.uint32))
        summed: NDArray[np.int64] = np.ascontiguousarray(words).view(np.int64).sum(axis=0)
        ends = itertools.accumulate((len(part) for part in arrays), initial=0)
        parts = (summed[start:stop] for start, stop in itertools.pairwise(ends))
        return [Tally(int(next(parts)[0]), *(next(parts) for _ in range(4))) for _ in tallies]


ALONE: Final = Processes()
"""One process for everything."""


def _gather(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Everybody's words, shape (processes, words)."""
    from jax.experimental import multihost_utils

    gather = cast("Any", multihost_utils.process_allgather)
    try:
        return np.asarray(gather(words))
    except RuntimeError as error:  # what JAX makes of a connection that broke
        raise ProcessLost(
            "another process of this run was lost; start all of them again with the same commands "
            "(with --checkpoint FILE or --out DIR, --resume goes on from what each has kept)"
        ) from error


def join(
    coordinator: str | None = None, count: int | None = None, index: int | None = None
) -> Processes:
    """Meet the other processes through ``jax.distributed``.

    Parameters
    ----------
    coordinator
        HOST:PORT of process 0. None, together with the other two, lets JAX find out from the
        cluster it runs in (Slurm, Open MPI, Kubernetes, Cloud TPU ...).
    count, index
        How many processes, and which one this is.

    Raises
    ------
    InputError
        JAX knows no cluster here, or the processes did not meet.
    BackendUnavailable
        JAX is not installed.
    """
    try:
        import jax
    except ImportError as error:
        raise BackendUnavailable("--distributed needs JAX; try: pip install jax") from error
    meet = cast("Any", jax.distributed.initialize)
    try:
        if coordinator is None:
            meet()
        else:
            meet(coordinator_address=coordinator, num_processes=count, process_id=index)
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "no word"
        remedy = (
            "give --coordinator HOST:PORT --processes N --process-id I"
            if coordinator is None
            else "check the address, and that every process runs"
        )
        raise InputError(f"--distributed: the processes did not meet ({reason}); {remedy}") from (
            error
        )
    ask = cast("Any", jax)
    return Processes(index=ask.process_index(), count=ask.process_count())


@contextmanager
def stdout_kept_clean() -> Generator[None]:
    """Within, what libraries write to file descriptor 1 goes to standard error.

    The collectives of JAX on CPUs announce themselves there, which would spoil ``--json -``.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
