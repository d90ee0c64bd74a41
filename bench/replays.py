"""``python -m bench.replays``: complete-null replays beside literal ones in plain NumPy.

The design is a correlated library of L = 41 on 55 discovery and 60 holdout examples, replayed
50,000 times with K = 100, 200, 500 and 1,000 decoys. Three ways:

* ``janus_jax.replay`` on JAX, and on NumPy: the whole call, with every rule of its table by |lift|
  and by |z|, Procedure A with and without "+1", exact tests, and max-T with a reference of 999
  permutations. JAX's first call compiles and stands apart;
* literally, as a notebook would: both splits' errors are shuffled, the labels of 1,000 decoys are
  shuffled, and Procedure A (by |lift|, for the four K) and Benjamini-Hochberg by a table of exact
  p-values are applied, one replay after another. It does fewer replays, and its time is scaled.

Each runs in a process of its own; rounds are interleaved, so that a slow minute of the machine hits
all alike. Given are medians over rounds, medians of the ratio to JAX within a round, and the peak
memory of each process, interpreter and imports included. Then the answers are compared: the two
backends must give one document, and the literal frequencies, pooled over rounds, must agree with it
by exact tests.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.command_line import ROOT, environment

REPLAYS: Final = 50_000
GRID: Final = (100, 200, 500, 1000)
TOOLS: Final = ("jax", "numpy", "literal")
LEVEL: Final = 1e-6
"""Exact tests below this say that two frequencies differ."""

_OPTIONS: Final[dict[str, Any]] = {
    "error": "wrong",
    "split_column": "split",
    "min_support": 3,
    "min_prevalence": "0",
    "max_prevalence": "1",
    "permutations": 999,
}
Row = tuple[str, int | None]
"""A rule and its K."""
Hits = dict[Row, tuple[int, int]]
"""Replays in which it selected, and confirmed, anything."""


# The literal way


class Literal:
    """Replays in plain NumPy, one at a time; nothing of the project."""

    def __init__(self) -> None:
        from janus_jax.paper.correlated import correlated_frame

        frame = correlated_frame()
        found = [frame["split"].to_numpy() == name for name in ("discovery", "holdout")]
        labels = frame.drop(columns=["id", "split", "wrong"]).to_numpy(dtype=bool).T
        self.members = [labels[:, rows] for rows in found]
        self.errors = [frame["wrong"].to_numpy(dtype=bool)[rows] for rows in found]
        n, wrong = len(self.errors[0]), int(self.errors[0].sum())
        on = self.members[0].sum(axis=1)
        self.p_values = np.ones((len(on), wrong + 1))
        for row, k in zip(self.p_values, on.tolist(), strict=True):
            ways = [math.comb(k, a) * math.comb(n - k, wrong - a) for a in range(wrong + 1)]
            distance = [abs(a * n - wrong * k) for a in range(wrong + 1)]
            for a, least in enumerate(distance):
                far = sum(w for w, d in zip(ways, distance, strict=True) if d >= least)
                row[a] = far / math.comb(n, wrong)
        self.draw = np.random.default_rng(0)

    def run(self, replays: int) -> Hits:
        """Replay so many times."""
        every: list[Row] = [("bh_10", None), *(("decoys", k) for k in GRID)]
        total = {row: [0, 0] for row in every}
        for _ in range(replays):
            for row, (some, kept) in self._replay().items():
                total[row][0] += some
                total[row][1] += kept
        return {row: (some, kept) for row, (some, kept) in total.items()}

    def _replay(self) -> dict[Row, tuple[bool, bool]]:
        discovery, holdout = (errors[self.draw.permutation(len(errors))] for errors in self.errors)
        members = self.members[0]
        size = len(members)
        sources = members[self.draw.integers(0, size, GRID[-1])]
        decoys = np.abs(_lifts(self.draw.permuted(sources, axis=1), discovery))
        lifts, again = _lifts(members, discovery), _lifts(self.members[1], holdout)
        passed = (lifts * again > 0) & (np.abs(again) >= 0.10 - 1e-12)
        real = np.abs(lifts)
        reach = decoys[None, :] >= real[:, None] - 1e-12
        larger = (real[None, :] >= real[:, None] - 1e-12).sum(axis=1)
        result: dict[Row, tuple[bool, bool]] = {}
        for k in GRID:
            estimate = size / k * reach[:, :k].sum(axis=1) / np.maximum(1, larger)
            passing = real[estimate <= 0.10 + 1e-12]
            chosen = real >= passing.min(initial=np.inf) - 1e-12
            result["decoys", k] = bool(chosen.any()), bool((chosen & passed).any())
        p = self.p_values[np.arange(size), (members & discovery).sum(axis=1)]
        ordered = np.sort(p)
        fits = ordered * size <= 0.10 * np.arange(1, size + 1) * (1 + 1e-12)
        chosen = p <= (ordered[fits].max() if fits.any() else -1.0)
        result["bh_10", None] = bool(chosen.any()), bool((chosen & passed).any())
        return result


def _lifts(labels: NDArray[np.bool_], errors: NDArray[np.bool_]) -> NDArray[np.float64]:
    on, both = labels.sum(axis=1), (labels & errors).sum(axis=1)
    return both / on - (errors.sum() - both) / (len(errors) - on)


# One process for each


def _project(backend: str, replays: int) -> dict[str, Any]:
    from janus_jax.behaviour.replay import replay
    from janus_jax.paper.correlated import correlated_frame

    result = replay(
        correlated_frame(),
        replays=replays,
        decoy_grid=GRID,
        plus_one=True,
        backend=backend,
        **_OPTIONS,
    )
    document = result.to_dict()
    return {key: document[key] for key in document if key != "run"}


def _peak_mb() -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    (line,) = (it for it in status.read_text().splitlines() if it.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def serve(tool: str) -> None:
    """Answer each number of replays on standard input with a line of JSON."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not get between the replies
    literal = Literal() if tool == "literal" else None
    for line in sys.stdin:
        started = time.perf_counter()
        if literal is None:
            said: Any = _project(tool, int(line))
        else:
            said = [[*row, *hits] for row, hits in literal.run(int(line)).items()]
        seconds = time.perf_counter() - started
        replies.write(json.dumps({"seconds": seconds, "said": said, "peak_mb": _peak_mb()}) + "\n")
        replies.flush()


@dataclass(slots=True)
class Worker:
    """One tool in a process of its own.

    Attributes
    ----------
    first
        Seconds of the first run: with JAX of the same size as the others, and compiling.
    rounds
        Seconds of each round, scaled to all replays.
    said
        What each round answered.
    """

    tool: str
    replays: int
    scale: float
    process: subprocess.Popen[str]
    first: float = 0.0
    rounds: list[float] = field(default_factory=list[float])
    said: list[Any] = field(default_factory=list[Any])
    peak_mb: float = 0.0

    def run(self) -> tuple[float, Any]:
        """One run: seconds, and the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{self.replays}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.tool} stopped without a word; see standard error")
        reply = json.loads(line)
        self.peak_mb = reply["peak_mb"]
        return reply["seconds"] * self.scale, reply["said"]

    def round(self) -> None:
        """Run once, timed."""
        seconds, said = self.run()
        self.rounds.append(seconds)
        self.said.append(said)


def start(tool: str, replays: int, scale: float) -> Worker:
    """Start a tool."""
    command = [sys.executable, "-m", "bench.replays", "--serve", tool]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(),
    )
    return Worker(tool, replays, scale, process)


def measure(replays: int, literal: int, rounds: int) -> dict[str, Worker]:
    """Time all three, a round of each after the other."""
    workers = [
        start(tool, *((literal, replays / literal) if tool == "literal" else (replays, 1.0)))
        for tool in TOOLS
    ]
    for worker in workers:
        worker.first, _ = worker.run()
    for _ in range(rounds):
        for worker in workers:
            worker.round()
    for worker in workers:
        assert worker.process.stdin is not None
        worker.process.stdin.close()
        worker.process.wait()
    return {worker.tool: worker for worker in workers}


# Comparing and writing


def compare(workers: dict[str, Worker]) -> tuple[list[list[str]], float]:
    """Rows of rule, K and both frequencies, and the least p-value of the exact tests."""
    from bench.agreement import two_samples

    documents = [*workers["jax"].said, *workers["numpy"].said]
    if any(document != documents[0] for document in documents):
        raise RuntimeError("the backends, or two runs of one, gave different documents")
    document, literal = documents[0], workers["literal"]
    replays, times = document["replays"], literal.replays * len(literal.said)
    ours: dict[Row, Any] = {
        (row["rule"], row["K"]): row
        for row in document["rules"]
        if row["statistic"] in (None, "lift") and not row["plus_one"]
    }
    rows: list[list[str]] = []
    least = 1.0
    for place, (rule, k, *_) in enumerate(literal.said[0]):
        line = [rule, "-" if k is None else f"{k:,}"]
        for which, name in enumerate(("any_selected", "any_confirmed"), start=2):
            hits = sum(said[place][which] for said in literal.said)
            share = ours[rule, k][name]
            p = two_samples(np.array([round(share * replays)]), replays, np.array([hits]), times)
            least = min(least, float(p[0]))
            line += [f"{100 * share:.2f}%", f"{100 * hits / times:.2f}%"]
        rows.append(line)
    return rows, least


def describe(workers: dict[str, Worker], load: float) -> list[str]:
    """Everything as Markdown."""
    jax, literal = workers["jax"], workers["literal"]
    document = jax.said[0]
    sizes = [document["data"][split]["n"] for split in ("discovery", "holdout")]
    lines = [
        f"### {jax.replays:,} replays of {sizes[0]}/{sizes[1]} examples, L = {document['L']}, "
        f"K up to {GRID[-1]:,}; {len(jax.rounds)} rounds, load at the start {load}",
        "",
    ]
    head = ["way", "first run, s", "then, s: median (least to most)", "times JAX", "peak MB"]
    table: list[Sequence[str]] = []
    for tool, it in workers.items():
        ratio = statistics.median(b / a for a, b in zip(jax.rounds, it.rounds, strict=True))
        star = "" if it.scale == 1 else "*"
        median = f"{statistics.median(it.rounds):.3g}{star}"
        span = f"({min(it.rounds):.3g} to {max(it.rounds):.3g})"
        table.append(
            [tool, f"{it.first:.3g}{star}", f"{median} {span}", f"{ratio:.3g}", f"{it.peak_mb:.0f}"]
        )
    lines += _table(head, table)
    lines += [
        f"\\* {literal.replays:,} replays a run, scaled by {literal.scale:g}; it decides five of "
        f"the {len(document['rules'])} rules that the others decide. JAX's first run compiles.",
        "",
    ]
    rows, least = compare(workers)
    times = literal.replays * len(literal.said)
    head = ["rule", "K", "any selected", f"literal, {times:,}", "any confirmed", "literal"]
    lines += _table(head, rows)
    verdict = "agree" if least >= LEVEL else "DISAGREE"
    lines += [
        f"JAX and NumPy gave one document in every round. Project and literal {verdict}: the "
        f"least p-value of {2 * len(rows)} exact two-sample tests is {least:.2g}.",
        "",
    ]
    return lines


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    every = [head, ["---"] * len(head), *rows]
    return [*("| " + " | ".join(cells) + " |" for cells in every), ""]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.replays", description=__doc__)
    parser.add_argument("--replays", type=int, default=REPLAYS)
    parser.add_argument("--literal", type=int, default=1_000, help="literal replays a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write every time there")
    parser.add_argument("--serve", choices=TOOLS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    load = round(os.getloadavg()[0], 1)
    workers = measure(options.replays, options.literal, options.rounds)
    print("\n".join(describe(workers, load)))
    if options.json:
        every = {
            tool: {
                "replays": it.replays,
                "first": it.first,
                "rounds": it.rounds,
                "peak_mb": it.peak_mb,
            }
            for tool, it in workers.items()
        }
        options.json.write_text(json.dumps({"load": load, "tools": every}, indent=1) + "\n")


if __name__ == "__main__":
    main()
