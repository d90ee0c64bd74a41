"""Check and time the JAX backend on an accelerator: ``python bench/gpu.py``.

Needs NumPy and JAX, nothing installed: it runs from the checkout. First it checks that shuffles,
counts and tallies are the NumPy backend's bit for bit; if they aren't, it stops with status 1. Then
it times W1 to W4 with several numbers of lanes, and W4 with B = 499,999 with the best of them,
compiling apart from running, beside what the device could do at most:

* *arithmetic*: the 2 n L B integer operations of counting, at the rate that a plain int8 or
  bfloat16 matrix product reaches on this device (population counts of packed bits, as on a CPU,
  can beat this one);
* *memory*: writing and reading each label (1 byte) and each count (4 bytes) once, at the rate that
  a plain copy reaches. A kernel that keeps them on the chip can beat this one.

The result is one JSON document on standard output (``--out`` for a file); progress goes to standard
error.
"""

# The signatures of jax are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "backends")]
# Only what is needed is taken, so that the peak that the device reports is a fact.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from bench.workloads import (  # noqa: E402
    SHAPES,
    Shape,
    Workload,
    make_problem,
    make_tables,
    make_workload,
)
from janus_jax import registry  # noqa: E402
from janus_jax.interface import Backend, Problem, Tables, Tally, tally_counts  # noqa: E402

_ROUNDS = 5
_FULL = 499_999


def say(text: str) -> None:
    """Progress, off standard output."""
    print(text, file=sys.stderr, flush=True)


def equal(left: Tally, right: Tally) -> bool:
    """Whether two tallies are the same integers."""
    pairs = zip(asdict(left).values(), asdict(right).values(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def check(fast: Backend, plain: Backend) -> list[dict[str, Any]]:
    """Compare bits on small problems: odd sizes, several blocks, strata, more than 2**16 rows."""
    results: list[dict[str, Any]] = []
    for n, descriptors, strata, lanes in (
        (7, 1, 1, 3),
        (80, 10, 1, 64),
        (1_001, 33, 1, 100),
        (1_500, 20, 5, 128),
        (70_001, 9, 3, 32),
    ):
        work = make_workload(Shape(n, descriptors, 1))
        codes = (np.arange(n) * 7 % strata).astype(np.int32)
        problem = replace(
            make_problem(work, seed=2**40 + 1), strata=codes, pool=np.zeros((0, strata), np.int32)
        )
        ids = np.array([0, 5, 1, 2**31 + 3, 2**32 - 1, *range(1_000, 1_100)], np.uint32)
        same = compare(fast, plain, problem, ids, lanes)
        results.append({"n": n, "L": descriptors, "strata": strata, "lanes": lanes, **same})
        say(f"bits: {results[-1]}")
    return results


def compare(
    fast: Backend, plain: Backend, problem: Problem, ids: Any, lanes: int
) -> dict[str, bool]:
    """Compare two backends on one problem."""
    states = fast.prepare(problem, lanes), plain.prepare(problem, lanes)
    counts = plain.counts(states[1], ids)
    # Any monotone table will do here: what matters is that both look up the same.
    descriptors, width = len(problem.memberships), len(problem.errors) + 1
    levels = 6
    rank = np.arange(width)[None, :] * levels // width + np.zeros((descriptors, 1), int)
    own = 1 + np.arange(descriptors) % levels
    tables = Tables(rank.astype(np.int32), own.astype(np.int32), levels)
    expected = tally_counts(counts, tables)
    return {
        "shuffles": np.array_equal(fast.shuffles(states[0], ids), plain.shuffles(states[1], ids)),
        "counts": np.array_equal(fast.counts(states[0], ids), counts),
        "tally": equal(fast.tally(states[0], ids, tables), expected)
        and equal(plain.tally(states[1], ids, tables), expected),
    }


def seconds(task: Callable[[], object]) -> float:
    """Time of one call, finished on the device."""
    started = time.perf_counter()
    jax.block_until_ready(task())
    return time.perf_counter() - started


def fastest(task: Callable[[], object]) -> float:
    """Best of a few calls, after one that compiles."""
    seconds(task)
    return min(seconds(task) for _ in range(_ROUNDS))


def rates(small: bool) -> dict[str, float]:
    """What this device reaches at plain products (operations a second) and copies (bytes)."""
    size = 1_024 if small else 8_192
    result: dict[str, float] = {}
    for name, kind, sums in (
        ("int8", jnp.int8, jnp.int32),
        ("bfloat16", jnp.bfloat16, jnp.float32),
    ):
        ones = jnp.ones((size, size), kind)

        product = jax.jit(partial(jax.lax.dot, preferred_element_type=sums))
        result[name] = 2 * size**3 / fastest(partial(product, ones, ones))
    long = jnp.zeros(1 << (24 if small else 30), jnp.int8)
    result["copy_bytes"] = 2 * long.size / fastest(partial(jax.jit(jnp.negative), long))
    return result


def floors(work: Workload, permutations: int, rate: dict[str, float]) -> dict[str, float]:
    """Seconds below which counting cannot go, and labels and counts cannot move."""
    descriptors, n = work.members.shape
    products = 2.0 * n * descriptors * permutations
    moved = 2.0 * permutations * (n + 4 * descriptors)
    return {
        "arithmetic_floor_s": products / max(rate["int8"], rate["bfloat16"]),
        "memory_floor_s": moved / rate["copy_bytes"],
    }


def measure(
    backend: Backend, work: Workload, tables: Tables, lanes: int, limit: float, rounds: int
) -> dict[str, Any]:
    """Time the public tally at one number of lanes; a part of it if all would take too long."""

    def tally(count: int) -> float:
        started = time.perf_counter()
        backend.tally(state, np.arange(count, dtype=np.uint32), tables)
        return time.perf_counter() - started

    wanted = work.permutations
    started = time.perf_counter()
    try:
        state = backend.prepare(make_problem(work), min(lanes, wanted))
        prepare = time.perf_counter() - started
        part = min(lanes, wanted)
        first, again = tally(part), tally(part)
        run = min(wanted, max(part, int(part * limit / (again * rounds))))
        times = [tally(run) * wanted / run for _ in range(rounds)]
    except Exception as error:  # out of memory is a result too, of whatever class it comes
        return {"lanes": lanes, "failed": str(error).splitlines()[0][:200]}
    return {
        "lanes": lanes,
        "prepare_s": prepare,
        "compile_s": max(0.0, first - again),
        "run_s": statistics.median(times),
        "least_s": min(times),
        "permutations_run": run,
        "scaled": run < wanted,
    }


def workload(
    backend: Backend, shape: Shape, lanes: list[int], limit: float, rate: dict[str, float]
) -> dict[str, Any]:
    """Time one shape at each number of lanes."""
    work = make_workload(shape)
    started = time.perf_counter()
    tables = make_tables(work)
    made = time.perf_counter() - started
    rounds = 1 if shape.permutations == _FULL and shape.n > 10_000 else _ROUNDS
    settings: list[dict[str, Any]] = []
    for each in dict.fromkeys(min(each, shape.permutations) for each in lanes):
        settings.append(measure(backend, work, tables, each, limit, rounds))
        say(f"n={shape.n} L={shape.descriptors} B={shape.permutations}: {settings[-1]}")
    ran = [setting for setting in settings if "run_s" in setting]
    best = min(ran, key=lambda setting: setting["run_s"]) if ran else None
    return {
        "n": shape.n,
        "L": shape.descriptors,
        "B": shape.permutations,
        "tables_s": made,
        **floors(work, shape.permutations, rate),
        "best": best,
        "settings": settings,
    }


def main() -> int:
    """Check, time, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--lanes", default="1024,4096,16384,65536", help="numbers of lanes to try")
    parser.add_argument("--seconds", type=float, default=120.0, help="longest run of one setting")
    parser.add_argument("--scale", type=float, default=1.0, help="B is multiplied by this")
    parser.add_argument("--out", type=Path, help="a file for the JSON")
    arguments = parser.parse_args()
    lanes = [int(each) for each in arguments.lanes.split(",")]
    fast, plain = registry.get("jax"), registry.get("numpy")
    device = jax.devices()[0]
    say(f"{fast.describe()}, {len(jax.devices())} device(s)")

    document: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "device": device.device_kind,
        "platform": device.platform,
        "devices": len(jax.devices()),
        "versions": {
            "python": platform.python_version(),
            "jax": jax.__version__,
            "numpy": np.__version__,
        },
        "scale": arguments.scale,
        "bits": check(fast, plain),
    }
    right = all(
        result[verb] for result in document["bits"] for verb in ("shuffles", "counts", "tally")
    )
    if right:
        rate = rates(small=device.platform == "cpu")
        say(f"rates: {rate}")

        def scaled(shape: Shape) -> Shape:
            return replace(shape, permutations=max(1, round(shape.permutations * arguments.scale)))

        document["rates_per_s"] = rate
        document["workloads"] = {
            name: workload(fast, scaled(shape), lanes, arguments.seconds, rate)
            for name, shape in SHAPES.items()
        }
        document["workloads"]["W4, B = 499,999"] = workload(
            fast, scaled(replace(SHAPES["W4"], permutations=_FULL)), lanes, arguments.seconds, rate
        )
        document["peak_device_bytes"] = (device.memory_stats() or {}).get("peak_bytes_in_use")
    else:
        say("bits differ: nothing is timed")
    text = json.dumps(document, indent=1) + "\n"
    if arguments.out:
        arguments.out.write_text(text)
    else:
        print(text, end="")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
