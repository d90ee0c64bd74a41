"""Max-T over shared permutations, by this project and by what a user would pick instead.

Each tool is a class that is made for a workload (imports and constants of the data, not timed) and
whose ``run(B)`` returns the adjusted p-value of every descriptor. ``python -m bench.peers TOOL
SHAPE`` serves one tool in a process of its own, so that its peak memory is its own: it says what it
is, then answers each number of permutations on standard input with one line of JSON.

The peers get their best known form: batches that suit a cache, float32 products, all cores.
"""

# Most of these tools have no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

import gc
import importlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.reference import Statistic
from bench.workloads import Workload, make_problem, make_tables, make_workload, named_shape

P = NDArray[np.float64]

# The observed value is compared with a tolerance, as a careful user of floats would.
_TOLERANCE = 1e-5


class Absent(Exception):
    """This tool is not installed here."""


class Tool(Protocol):
    """One way to get adjusted p-values."""

    def run(self, permutations: int) -> P:
        """Adjusted p-values, shape (L,), from this many permutations."""
        ...


def threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Lift:
    """What the float peers share: |lift| = |counts * slope - shift|."""

    def __init__(self, work: Workload) -> None:
        self.n = len(work.errors)
        self.on_rows = np.ascontiguousarray(work.members.T, np.float32)
        self.errors = work.errors
        on = work.members.sum(axis=1).astype(np.float64)
        self.slope = 1 / on + 1 / (self.n - on)
        self.shift = work.errors.sum() / (self.n - on)
        self.slope32, self.shift32 = self.slope.astype(np.float32), self.shift.astype(np.float32)
        self.observed = np.abs((work.members & work.errors).sum(axis=1) * self.slope - self.shift)

    def maxima(self, labels: Any) -> Any:
        """Largest |lift| of shuffled labels, shape (..., n)."""
        return np.abs((labels @ self.on_rows) * self.slope32 - self.shift32).max(axis=-1)

    def p_values(self, maxima: NDArray[Any]) -> P:
        """(1 + #{maximum >= observed}) / (B + 1)."""
        least = np.sort(maxima)
        below = np.searchsorted(least, self.observed * (1 - _TOLERANCE))
        return (1 + len(least) - below) / (len(least) + 1)


def _batch(rows: int, width: int, elements: int) -> int:
    """Rows to a batch, near ``elements`` of them and evenly sized."""
    turns = max(1, round(rows * width / elements))
    return -(-rows // turns)


class _Janus:
    """This project's public tally: single-step, exceedances and step-down come together."""

    backend: str

    def __init__(self, work: Workload) -> None:
        from janus_jax import registry
        from janus_jax.permutations import lanes_for

        started = time.perf_counter()
        self.tables = make_tables(work)
        self.tables_s = time.perf_counter() - started
        problem = make_problem(work)
        self.tool = registry.get(self.backend)
        self.grain = lanes_for(self.tool, problem, work.permutations, 1 << 28)
        self.state = self.tool.prepare(problem, self.grain)

    def run(self, permutations: int) -> P:
        from janus_jax.statistic import at_least

        tally = self.tool.tally(self.state, np.arange(permutations, dtype=np.uint32), self.tables)
        return (1 + at_least(tally.maxima)[self.tables.own - 1]) / (permutations + 1)


class JanusJax(_Janus):
    """This project on JAX."""

    backend = "jax"


class JanusNumpy(_Janus):
    """This project on NumPy."""

    backend = "numpy"


class Numba:
    """Thirty lines of numba: k swaps of Fisher-Yates, rows added up, one block per thread."""

    def __init__(self, work: Workload) -> None:
        numba = _need("numba")

        @numba.njit(parallel=True)
        def maxima(rows, few, slope, shift, result, blocks):
            n, descriptors = rows.shape
            for block in numba.prange(blocks):
                np.random.seed(block)  # noqa: NPY002  (numba has its own)
                order = np.arange(n)
                counts = np.empty(descriptors, np.int32)
                for b in range(len(result) * block // blocks, len(result) * (block + 1) // blocks):
                    counts[:] = 0
                    for i in range(few):
                        j = i + int(np.random.random() * (n - i))  # noqa: NPY002
                        order[i], order[j] = order[j], order[i]
                        row = order[i]
                        for g in range(descriptors):
                            counts[g] += rows[row, g]
                    most = 0.0
                    for g in range(descriptors):
                        most = max(most, abs(counts[g] * slope[g] - shift[g]))
                    result[b] = most

        numba.set_num_threads(threads())
        self.maxima = maxima
        self.lift = _Lift(work)
        self.rows = np.ascontiguousarray(work.members.T).view(np.uint8)
        self.few = int(work.errors.sum())

    def run(self, permutations: int) -> P:
        result = np.empty(permutations)
        # More blocks than threads, so that none waits long for the other.
        self.maxima(self.rows, self.few, self.lift.slope, self.lift.shift, result, 32 * threads())
        return self.lift.p_values(result)


class Plink:
    """PLINK 1.9 ``--assoc mperm``: descriptors as homozygous genotypes, errors as cases.

    It ranks by z**2, not |lift|; a run includes starting it and reading its own file format.
    """

    def __init__(self, work: Workload) -> None:
        program = shutil.which("plink1.9") or shutil.which("plink")
        if program is None:
            raise Absent("no plink1.9 or plink on the path")
        self.program = program
        self.folder = tempfile.TemporaryDirectory()
        self.stem = Path(self.folder.name) / "data"
        descriptors, n = work.members.shape
        padded = np.zeros((descriptors, -(-n // 4) * 4), np.uint8)
        padded[:, :n] = np.where(work.members, 0b00, 0b11)  # two bits: either homozygote
        quads = padded.reshape(descriptors, -1, 4) << np.array([0, 2, 4, 6], np.uint8)
        packed = np.bitwise_or.reduce(quads, axis=2)
        self.stem.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
        self.stem.with_suffix(".bim").write_text(
            "".join(f"1\td{g}\t0\t{g + 1}\tA\tB\n" for g in range(descriptors))
        )
        self.stem.with_suffix(".fam").write_text(
            "".join(
                f"i{i} i{i} 0 0 1 {1 + wrong}\n"
                for i, wrong in enumerate(work.errors.view(np.int8))
            )
        )

        self.peak_mb = self._watch(work.permutations)
        self.grain = work.permutations  # a part would mostly time its start

    def _start(self, permutations: int) -> subprocess.Popen[bytes]:
        options = ["--assoc", f"mperm={permutations}", "--seed", "1"]
        options += ["--threads", str(threads()), "--out", str(self.stem)]
        return subprocess.Popen(
            [self.program, "--bfile", self.stem, *options], stdout=subprocess.DEVNULL
        )

    def _watch(self, permutations: int) -> float | None:
        """Peak resident MB of PLINK alone, by looking often, where the system shows it."""
        peaks: list[float] = []
        process = self._start(permutations)
        while process.poll() is None:
            peaks += _high_water(process.pid)
            time.sleep(0.005)
        return max(peaks, default=None)

    def run(self, permutations: int) -> P:
        if status := self._start(permutations).wait():
            raise RuntimeError(f"plink ended with status {status}")
        lines = self.stem.with_suffix(".assoc.mperm").read_text().splitlines()[1:]
        return np.array([float(line.split()[3]) for line in lines])


class NumpyPermuted:
    """``rng.permuted`` and a float32 product."""

    def __init__(self, work: Workload) -> None:
        self.lift = _Lift(work)

    def run(self, permutations: int) -> P:
        rng = np.random.default_rng(0)
        width = max(self.lift.on_rows.shape)
        batch = _batch(permutations, width, 4_000_000)
        labels = np.broadcast_to(self.lift.errors.view(np.int8), (batch, self.lift.n))
        maxima = [
            self.lift.maxima(
                rng.permuted(labels[: permutations - start], axis=1).astype(np.float32)
            )
            for start in range(0, permutations, batch)
        ]
        return self.lift.p_values(np.concatenate(maxima))


class Scipy:
    """``scipy.stats.permutation_test``, batched, with the maximum as its statistic."""

    def __init__(self, work: Workload) -> None:
        self.stats = _need("scipy.stats")
        self.lift = _Lift(work)

    def run(self, permutations: int) -> P:
        def most(labels: Any, axis: int = -1) -> Any:
            return self.lift.maxima(labels)

        result = self.stats.permutation_test(
            (self.lift.errors.astype(np.float32),),
            most,
            permutation_type="pairings",
            vectorized=True,
            n_resamples=permutations,
            batch=_batch(permutations, max(self.lift.on_rows.shape), 4_000_000),
            alternative="greater",
            rng=np.random.default_rng(0),
        )
        return self.lift.p_values(result.null_distribution)


class Nilearn:
    """``nilearn.mass_univariate.permuted_ols``: max-T of |t|, which ranks like z**2."""

    def __init__(self, work: Workload) -> None:
        self.permuted_ols = _need("nilearn.mass_univariate").permuted_ols
        self.tested = work.errors.astype(np.float64)[:, None]
        self.targets = np.ascontiguousarray(work.members.T, np.float64)

    def run(self, permutations: int) -> P:
        result = self.permuted_ols(
            self.tested,
            self.targets,
            n_perm=permutations,
            random_state=0,
            n_jobs=threads(),
            verbose=0,
            output_type="dict",
        )
        return 10.0 ** -result["logp_max_t"][0]


class JaxPermutation:
    """``vmap(jax.random.permutation)`` and a float32 product under one jit."""

    def __init__(self, work: Workload) -> None:
        self.jax = jax = _need("jax")
        jnp = jax.numpy
        self.lift = lift = _Lift(work)
        slope, shift = jnp.asarray(lift.slope32), jnp.asarray(lift.shift32)
        on_rows, errors = jnp.asarray(lift.on_rows), jnp.asarray(lift.errors, jnp.float32)

        def maxima(key: Any, batch: int) -> Any:
            keys = jax.random.split(key, batch)
            labels = jax.vmap(jax.random.permutation, in_axes=(0, None))(keys, errors)
            return jnp.abs((labels @ on_rows) * slope - shift).max(axis=1)

        self.maxima = jax.jit(maxima, static_argnums=1)

    def run(self, permutations: int) -> P:
        batch = _batch(permutations, max(self.lift.on_rows.shape), 4_000_000)
        key = self.jax.random.key(0)
        pending = [
            self.maxima(self.jax.random.fold_in(key, turn), batch)
            for turn in range(-(-permutations // batch))
        ]
        return self.lift.p_values(np.concatenate([np.asarray(x) for x in pending])[:permutations])


TOOLS: dict[str, Callable[[Workload], Tool]] = {
    "janus-jax, JAX": JanusJax,
    "janus-jax, NumPy": JanusNumpy,
    "numba, 30 lines": Numba,
    "PLINK 1.9 mperm": Plink,
    "NumPy rng.permuted": NumpyPermuted,
    "scipy permutation_test": Scipy,
    "nilearn permuted_ols": Nilearn,
    "vmap(jax.random.permutation)": JaxPermutation,
}

RANKS_BY: dict[str, Statistic] = {"PLINK 1.9 mperm": "z", "nilearn permuted_ols": "z"}
"""The tools that don't rank by |lift|."""

PACKAGES = {
    "janus-jax, JAX": "jax",
    "janus-jax, NumPy": "numpy",
    "numba, 30 lines": "numba",
    "NumPy rng.permuted": "numpy",
    "scipy permutation_test": "scipy",
    "nilearn permuted_ols": "nilearn",
    "vmap(jax.random.permutation)": "jax",
}


def _need(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Absent(str(error)) from error


def _version(name: str, tool: Tool) -> str:
    if isinstance(tool, Plink):
        said = subprocess.run([tool.program, "--version"], capture_output=True, text=True)
        found = re.search(r"v(\S+)", said.stdout)
        return f"PLINK {found.group(1)}" if found else "PLINK"
    return f"{PACKAGES[name]} {metadata.version(PACKAGES[name])}"


def _high_water(process: int | str) -> list[float]:
    """Peak resident MB of a process, if the system shows it."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return []
    return [int(found) / 1024 for found in re.findall(r"VmHWM:\s+(\d+)", text)]


def peak_mb() -> float:
    """Peak resident memory of this process.

    ``ru_maxrss`` is second best: a process inherits it from the one that started it.
    """
    known = _high_water("self")
    return known[0] if known else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(name: str, shape: str) -> None:
    """Answer requests until standard input ends; see the module's docstring."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not get between the replies

    def reply(**message: object) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    work = make_workload(named_shape(shape))
    started = time.perf_counter()
    try:
        tool = TOOLS[name](work)
    except (Absent, ImportError) as error:
        reply(absent=str(error))
        return
    reply(
        version=_version(name, tool),
        setup_s=time.perf_counter() - started,
        tables_s=getattr(tool, "tables_s", None),
        grain=getattr(tool, "grain", 1),  # fewer permutations cost the same
    )
    for line in sys.stdin:
        gc.collect()
        started = time.perf_counter()
        p_values = tool.run(int(line))
        seconds = time.perf_counter() - started
        peak = getattr(tool, "peak_mb", peak_mb())
        reply(seconds=seconds, p=p_values.tolist(), peak_mb=peak)


if __name__ == "__main__":
    serve(*sys.argv[1:])
