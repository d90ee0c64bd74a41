"""``python -m bench.run``: this project beside its peers, in one session, into ``bench/results``.

Every tool runs in a process of its own, and all of them wait while one works. Rounds are
interleaved (each tool once, then each again), so that a slow minute of the machine hits them alike;
what is compared is the median over rounds of the ratio of two times of one round. Times start with
the data in memory and end with adjusted p-values; imports are left out, and compiling stands apart
as the first run less a later one of the same size. A tool that would take too long does fewer
permutations and is scaled, marked ``*``.

Every tool's adjusted p-values are compared with a reference that has exact ties
(:mod:`bench.reference`), by exact tests on the counts.
"""

# The signatures of matplotlib are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bench import command_line
from bench.agreement import LEVEL, two_samples
from bench.command_line import ROOT, environment
from bench.peers import RANKS_BY, TOOLS, threads
from bench.reference import Hits, Statistic, reference
from bench.workloads import SCALING, SHAPES, Shape, make_workload, named_shape

OURS = "janus-jax, JAX"
SCALED = [OURS, "janus-jax, NumPy", "numba, 30 lines", "PLINK 1.9 mperm", "NumPy rng.permuted"]
"""The tools whose scaling is worth the wait."""


@dataclass
class Measured:
    """One tool on one workload.

    Attributes
    ----------
    absent
        Why it could not run here; then nothing else is known.
    version
        Of the tool, or the library it stands on.
    compile_s
        First run less a later one of the same size.
    tables_s
        This project only: making its rank tables, paid once for a problem.
    permutations
        How many were run; fewer than the workload's when it would take too long.
    rounds
        Seconds of each round, scaled to the workload's number of permutations.
    peak_mb
        Peak resident memory of its process, the interpreter and imports included.
    ratio
        Median over rounds of this tool's time by this project's (JAX).
    largest_difference
        Of adjusted p-values from the reference's.
    least_agreement
        Smallest p-value of the exact tests that tool and reference count alike.
    disagreeing
        Descriptors for which it is below 1e-6.
    """

    absent: str | None = None
    version: str = ""
    compile_s: float | None = None
    tables_s: float | None = None
    permutations: int = 0
    rounds: list[float] = field(default_factory=list[float])
    peak_mb: float | None = None
    ratio: float | None = None
    largest_difference: float | None = None
    least_agreement: float | None = None
    disagreeing: int | None = None

    @property
    def median(self) -> float:
        """Seconds, median over rounds."""
        return statistics.median(self.rounds)


class Worker:
    """One tool in a process of its own; see :func:`bench.peers.serve`."""

    def __init__(self, tool: str, shape: Shape) -> None:
        size = f"{shape.n},{shape.descriptors},{shape.permutations}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.peers", tool, size],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(),
        )
        self.tool = tool
        self.full = shape.permutations
        self.p_values = np.zeros(0)
        said = self._reply()
        self.measured = Measured(
            absent=said.get("absent"),
            version=said.get("version", ""),
            tables_s=said.get("tables_s"),
        )
        self._grain = said.get("grain", 1)

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"absent": "it stopped without a word; see stderr"}

    def _seconds(self, permutations: int) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{permutations}\n")
        self._process.stdin.flush()
        said = self._reply()
        if "seconds" not in said:
            raise RuntimeError(f"{self.tool}: {said['absent']}")
        self.p_values = np.array(said["p"])
        self.measured.peak_mb = said["peak_mb"]
        return said["seconds"]

    def warm_up(self, limit: float) -> None:
        """Compile, and choose a number of permutations that takes no more than ``limit``."""
        part = min(self.full, max(1, self.full // 16, self._grain))
        first, again = self._seconds(part), self._seconds(part)
        self.measured.compile_s = max(0.0, first - again)
        fits = max(part, int(part * limit / again) // self._grain * self._grain)
        self.measured.permutations = min(self.full, fits)
        if self.measured.permutations == self.full:
            self._seconds(self.full)  # other shapes than the part's compile now

    def round(self) -> None:
        """Run once, timed."""
        permutations = self.measured.permutations
        self.measured.rounds.append(self._seconds(permutations) * self.full / permutations)

    def compare(self, hits: Hits) -> None:
        """Compare the last adjusted p-values with the reference's."""
        measured = self.measured
        permutations = measured.permutations
        truth = (1 + hits.reached) / (1 + hits.permutations)
        counts = np.rint(self.p_values * (permutations + 1)).astype(np.int64) - 1
        agreement = two_samples(counts, permutations, hits.reached, hits.permutations)
        measured.largest_difference = float(np.abs(self.p_values - truth).max())
        measured.least_agreement = float(agreement.min())
        measured.disagreeing = int((agreement < LEVEL).sum())

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def measure(shape: Shape, tools: Iterable[str], rounds: int, limit: float) -> list[Worker]:
    """Time the tools on one workload, interleaved; those absent are in the list as well."""
    workers = [Worker(tool, shape) for tool in tools]
    if workers[0].measured.absent is not None:
        raise SystemExit(f"{workers[0].tool}: {workers[0].measured.absent}")
    present = [worker for worker in workers if worker.measured.absent is None]
    for worker in present:
        worker.warm_up(limit)
    for _ in range(rounds):
        for worker in present:
            worker.round()
    ours = workers[0].measured.rounds
    for worker in present:
        pairs = zip(worker.measured.rounds, ours, strict=True)
        worker.measured.ratio = statistics.median(theirs / mine for theirs, mine in pairs)
    for worker in workers:
        worker.close()
    return workers


def measure_workload(name: str, rounds: int, limit: float) -> dict[str, Measured]:
    """Time every tool on one of W1 to W4 and compare it with the reference."""
    shape = named_shape(name)
    workers = measure(shape, TOOLS, rounds, limit)
    work = make_workload(shape)
    hits: dict[Statistic, Hits] = {
        which: reference(work.members, work.errors, 4 * shape.permutations, seed=1, which=which)
        for which in ("lift", "z")
    }
    for worker in workers:
        if worker.measured.absent is None:
            worker.compare(hits[RANKS_BY.get(worker.tool, "lift")])
    return {worker.tool: worker.measured for worker in workers}


def machine() -> dict[str, str | int]:
    """What ran, without names of hosts or people."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    packages = ["janus-jax", "numpy", "jax", "jaxlib", "numba", "scipy", "nilearn"]
    versions: dict[str, str | int] = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "absent"
    return {
        "cpu": found.group(1).strip() if found else platform.processor() or platform.machine(),
        "cores": threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **versions,
    }


def _command_line() -> list[dict[str, Any]]:
    """Measured from a small process: a child's peak memory is never below its parent's."""
    command = [sys.executable, "-m", "bench.command_line"]
    return json.loads(subprocess.check_output(command, cwd=ROOT, env=environment()))


# Writing


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows), ""]


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}g}"


def _workload_table(name: str, results: dict[str, Measured]) -> list[str]:
    shape = SHAPES[name]
    rows: list[list[str]] = []
    for tool, it in results.items():
        if it.absent is not None:
            rows.append([tool, f"absent: {it.absent}", *[""] * 6])
            continue
        star = "" if it.permutations == shape.permutations else "*"
        rows.append(
            [
                f"{tool} ({it.version})",
                f"{_number(min(it.rounds))} / {_number(it.median)}{star}",
                _number(it.ratio),
                _number(it.compile_s, 2),
                _number(it.tables_s, 2),
                "-" if it.peak_mb is None else f"{it.peak_mb:.0f}",
                f"{_number(it.largest_difference, 2)} ({RANKS_BY.get(tool, 'lift')})",
                f"{it.disagreeing} of {shape.descriptors} ({_number(it.least_agreement, 1)})",
            ]
        )
    size = f"n = {shape.n:,}, L = {shape.descriptors:,}, B = {shape.permutations:,}"
    head = ["tool", "run, s: min / median", "ratio", "compile, s", "tables, s", "peak MB"]
    head += ["largest difference of p", "disagree (least p)"]
    return [f"### {name}: {size}", "", *_table(head, rows)]


_NOTES = """\
*Ratio*: median over rounds of the tool's time by that of janus-jax on JAX in the same round. A
star: fewer permutations were run and the time scaled. *Compile*: first run less a later one of the
same size (for tools without a compiler: caches). *Tables*: janus-jax's rank tables, made once for a
problem and not in its run time. *Peak*: of the whole process, with the interpreter, its imports and
the data; for PLINK of PLINK alone. janus-jax returns single-step maxima, step-down maxima and each
descriptor's own exceedances in that time, the others single-step adjusted p-values alone; PLINK's
time includes its start and its reading of the data.

*Largest difference*: of adjusted p-values from a reference with exact ties that ranks by the same
statistic (in brackets) and ran four times as many permutations. *Disagree*: descriptors whose
counts the exact two-sample test finds different at 1e-6, and the smallest of its p-values.
"""


def write_markdown(document: dict[str, Any], results: dict[str, dict[str, Measured]]) -> str:
    """The tables, for people."""
    about = ", ".join(f"{key} {value}" for key, value in document["machine"].items())
    lines = [f"# Timings of {document['date']}", "", about + ".", ""]
    load = document["load_at_start"]
    lines += [f"{document['rounds']} rounds, interleaved; load of the machine at the start {load}."]
    lines += ["", _NOTES]
    for name, result in results.items():
        lines += _workload_table(name, result)
    if document["scaling"]:
        lines += ["### Scaling, seconds (median of 3)", ""]
        head = ["what grows", "n", "L", "B", *SCALED]
        rows = [
            [point["grows"], *(f"{point[key]:,}" for key in ("n", "L", "B"))]
            + [
                _number(point["seconds"].get(tool)) + "*" * (tool in point["scaled"])
                for tool in SCALED
            ]
            for point in document["scaling"]
        ]
        lines += _table(head, rows)
    if document["command_line"]:
        lines += command_line.describe(document["command_line"])
    return "\n".join(lines).rstrip() + "\n"


def draw(document: dict[str, Any], results: dict[str, dict[str, Measured]], to: Path) -> None:
    """Times by tool, and the scaling."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(16, 4.2), layout="constrained")
    bars = axes[0]
    for index, tool in enumerate(TOOLS):
        shown = {
            place: results[name][tool].median
            for place, name in enumerate(results)
            if results[name][tool].rounds
        }
        places = [place + (index - len(TOOLS) / 2 + 0.5) / (len(TOOLS) + 1) for place in shown]
        bars.bar(places, list(shown.values()), 1 / (len(TOOLS) + 1), label=tool)
    least = min(it.median for result in results.values() for it in result.values() if it.rounds)
    bars.set(yscale="log", ylim=(least / 3, None), ylabel="seconds", title="W1 to W4, median run")
    bars.set_xticks(range(len(results)), list(results))
    for axis, grows in zip(axes[1:], SCALING, strict=True):
        points = [point for point in document["scaling"] if point["grows"] == grows]
        for tool in SCALED:
            pairs = [
                (point[grows], point["seconds"][tool])
                for point in points
                if tool in point["seconds"]
            ]
            color = f"C{list(TOOLS).index(tool)}"
            if pairs:
                axis.plot(*zip(*pairs, strict=True), "o-", color=color)
        fixed = {key: points[0][key] for key in ("n", "L", "B") if key != grows} if points else {}
        title = ", ".join(f"{key} = {value:,}" for key, value in fixed.items())
        axis.set(xscale="log", yscale="log", xlabel=grows, title=title)
    figure.legend(*bars.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(to, dpi=110, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--only", default=",".join(SHAPES), help="workloads, as W1,W3")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=4.0, help="seconds of a run at most")
    parser.add_argument("--no-scaling", action="store_true")
    parser.add_argument("--no-command-line", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results")
    arguments = parser.parse_args()

    load = round(os.getloadavg()[0], 1)  # whether others were at work
    results: dict[str, dict[str, Measured]] = {}
    for name in filter(None, arguments.only.split(",")):
        results[name] = measure_workload(name, arguments.rounds, arguments.limit)
        print("\n".join(_workload_table(name, results[name])), flush=True)
    scaling: list[dict[str, Any]] = []
    for grows, shape in [(g, s) for g, shapes in SCALING.items() for s in shapes]:
        if arguments.no_scaling:
            break
        workers = measure(shape, SCALED, 3, arguments.limit)
        present = {it.tool: it.measured for it in workers if it.measured.absent is None}
        scaling.append(
            {
                "grows": grows,
                "n": shape.n,
                "L": shape.descriptors,
                "B": shape.permutations,
                "seconds": {tool: it.median for tool, it in present.items()},
                "scaled": [
                    tool for tool, it in present.items() if it.permutations < shape.permutations
                ],
            }
        )
        print(scaling[-1], flush=True)
    document: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "rounds": arguments.rounds,
        "load_at_start": load,
        "workloads": {
            name: {tool: asdict(it) for tool, it in result.items()}
            for name, result in results.items()
        },
        "scaling": scaling,
        "command_line": [] if arguments.no_command_line else _command_line(),
    }
    cpu = re.sub(r"\W+", "-", str(document["machine"]["cpu"]).lower()).strip("-")
    stem = f"{document['date']}-{cpu}-{threads()}-cores"
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = write_markdown(document, results)
    (arguments.out / f"{stem}.json").write_text(json.dumps(document, indent=1) + "\n")
    (arguments.out / f"{stem}.md").write_text(text)
    draw(document, results, arguments.out / f"{stem}.png")
    print(text)
    print(f"Written: {stem}.md, .json and .png")


if __name__ == "__main__":
    main()
