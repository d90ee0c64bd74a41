"""Power by counts beside a literal simulation: the same cells, their times and their answers.

Run from the checkout::

    python -m bench.power [--repetitions 200000] [--loop 20000] [--rounds 5] [--json FILE]

``janus_jax.power`` draws counts; :mod:`bench.literal_power` draws every example and shuffles the
labels of every decoy, one repetition at a time in plain NumPy. Times are of one cell of 10,000
repetitions, medians over rounds; rounds are interleaved, so that a slow minute of the machine hits
both alike, and the loop does 500 repetitions a round, scaled. In the first round the tables of the
counts are not there yet; it counts like the others, and stands apart too.

Answers are compared with each other and with the reference that the design names, in standard
errors of the difference.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench import literal_power
from janus_jax.behaviour.power_cells import simulate
from janus_jax.behaviour.power_design import make_design

CELL: Final = 10_000
LOOP_ROUND: Final = 500

REFERENCE: Final[dict[str, tuple[int, dict[str, float]]]] = {
    "controlled": (
        200_000,
        {"0.05": 0.0083, "0.10": 0.0319, "0.15": 0.0917, "0.36": 0.7879, "0.37": 0.8170},
    ),
    "musique": (
        200_000,
        {"0.05": 0.0102, "0.10": 0.0350, "0.15": 0.0940, "0.36": 0.7706, "0.37": 0.8004},
    ),
    "longbench-v2": (
        60_000,
        {"0.05": 0.0050, "0.10": 0.0147, "0.15": 0.0398, "0.46": 0.7944, "0.47": 0.8204},
    ),
}
"""Repetitions and power of an independent simulation, by delta; four digits."""


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def timed(preset: str, delta: str, rounds: int) -> dict[str, Any]:
    """Both on one cell of 10,000 repetitions."""
    design, it = make_design({"preset": preset}), literal_power.CONFIGURATIONS[preset]
    counts: list[float] = []
    loop: list[float] = []
    for number in range(rounds):
        counts.append(seconds(lambda number=number: simulate(design, delta, CELL, number)))
        once = seconds(
            lambda number=number: literal_power.power(it, float(delta), LOOP_ROUND, number)
        )
        loop.append(once * CELL / LOOP_ROUND)
    ratios = [slow / quick for quick, slow in zip(counts, loop, strict=True)]
    return {
        "cell": f"{preset}, delta {delta}",
        "first_s": round(counts[0], 3),
        "counts_s": round(statistics.median(counts), 3),
        "loop_s": round(statistics.median(loop), 2),
        "ratio": round(statistics.median(ratios), 1),
    }


def apart(p: float, n: int, other: float, others: int) -> float:
    """A difference of two shares in standard errors."""
    pooled = (p * n + other * others) / (n + others)
    return (p - other) / (pooled * (1 - pooled) * (1 / n + 1 / others)) ** 0.5


def compared(preset: str, delta: str, repetitions: int, loop: int) -> dict[str, Any]:
    """The answers for one cell; no loop where ``loop`` is 0."""
    number, powers = REFERENCE[preset]
    tally = simulate(make_design({"preset": preset}), delta, repetitions, 0)
    ours = tally.confirmed / repetitions
    row: dict[str, Any] = {
        "cell": f"{preset}, delta {delta}",
        "counts": ours,
        "standard_error": round((ours * (1 - ours) / repetitions) ** 0.5, 5),
        "reference": powers[delta],
        "from_reference": round(apart(ours, repetitions, powers[delta], number), 2),
    }
    if loop:
        _, confirmed = literal_power.power(
            literal_power.CONFIGURATIONS[preset], float(delta), loop, 1
        )
        row["loop"] = confirmed / loop
        row["from_loop"] = round(apart(ours, repetitions, confirmed / loop, loop), 2)
    return row


def main() -> None:
    """Read the options, time, compare, print and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--repetitions", type=int, default=200_000, help="of the counts, a cell")
    parser.add_argument("--loop", type=int, default=20_000, help="of the loop, for the two largest")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the result there")
    options = parser.parse_args()
    times = [
        _told(timed(preset, list(powers)[-1], options.rounds))
        for preset, (_, powers) in REFERENCE.items()
    ]
    answers = [
        _told(compared(preset, delta, options.repetitions, loop))
        for preset, (_, powers) in REFERENCE.items()
        for delta, loop in zip(powers, [0, 0, 0, options.loop, options.loop], strict=True)
    ]
    result = {
        "machine": platform.platform(),
        "numpy": np.__version__,
        "repetitions": options.repetitions,
        "loop_repetitions": options.loop,
        "seconds_of_a_cell_of_10000": times,
        "power": answers,
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


def _told(row: dict[str, Any]) -> dict[str, Any]:
    print(row, file=sys.stderr, flush=True)
    return row


if __name__ == "__main__":
    main()
