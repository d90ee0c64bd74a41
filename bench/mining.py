"""``python -m bench.mining``: slice mining, by this project and by the ``sliceline`` package.

Both look for the same slices with the same score, each in a process of its own so that its peak
memory is its own; seconds leave imports and making the table out. Then they are compared on small
tables: the same slices, the same sizes, errors and scores. ``--record FILE`` writes what the
package says there, for the tests of a machine that does not have it.

The package decides with floats: where several slices tie with the last one it returns, it may lose
some to the last bit of a bound. This is the only difference allowed here.
"""

# The package has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.command_line import ROOT, environment
from janus_jax.mining.mine import mine

_LEVEL: Final = 3
_LEVELS: Final = (2, 2, 3, 3, 4, 5, 5, 6, 6, 8, 8, 10, 12, 20)
"""Values of each column of the large table: 94 base descriptors."""
_TOLERANCE: Final = 1e-9  # between a score in floats and the exact one

Table = NDArray[np.int64]
Errors = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Found:
    """One slice: its (column, value) terms, examples, errors, and score."""

    terms: tuple[tuple[int, int], ...]
    size: int
    errors: int
    score: float


@dataclass(frozen=True, slots=True)
class Case:
    """One table and what is asked of it."""

    name: str
    columns: Table
    errors: Errors
    top: int
    min_slice: int
    weight: str


def ours(case: Case) -> list[Found]:
    """By this project; every name of a set of examples, cut where the package cuts."""
    terms = [
        (column, value)
        for column in range(case.columns.shape[1])
        for value in np.unique(case.columns[:, column]).tolist()
    ]
    mined = mine(
        [case.columns[:, column] == value for column, value in terms],
        [column for column, _ in terms],
        case.errors,
        top=case.top,
        min_slice=case.min_slice,
        level=_LEVEL,
        weight=Fraction(case.weight),
    )
    named = [
        (it.score, Found(tuple(terms[t] for t in name), it.size, it.errors, float(it.score)))
        for it in mined.slices
        for name in (it.terms, *it.aliases)
    ]
    named.sort(key=lambda one: -one[0])
    last = named[min(case.top, len(named)) - 1][0] if named else 0
    return [found for score, found in named if score >= last]


def theirs(case: Case) -> list[Found]:
    """By the ``sliceline`` package."""
    from sliceline.slicefinder import Slicefinder

    finder: Any = Slicefinder(
        alpha=float(case.weight),
        k=case.top,
        max_l=_LEVEL,
        min_sup=case.min_slice,
        verbose=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finder.fit(case.columns, case.errors.astype(float))
    return [
        Found(
            tuple((column, int(value)) for column, value in enumerate(row) if value is not None),
            int(statistics["slice_size"]),
            int(statistics["sum_slice_error"]),
            statistics["slice_score"],
        )
        for row, statistics in zip(finder.top_slices_, finder.top_slices_statistics_, strict=True)
    ]


_TOOLS: Final = {"janus-jax": ours, "sliceline": theirs}


def large(rows: int, min_slice: int) -> Case:
    """14 categorical columns, and errors that concentrate in a few conjunctions."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(0, values, rows) for values in _LEVELS], axis=1)
    rate = np.full(rows, 0.15)
    rate[(x[:, 0] == 0) & (x[:, 2] == 1)] += 0.25
    rate[(x[:, 4] == 2) & (x[:, 5] == 0)] += 0.35
    rate[(x[:, 1] == 1) & (x[:, 3] == 0) & (x[:, 6] == 4)] += 0.45
    return Case("large", x, rng.random(rows) < rate, 10, min_slice, "0.95")


def small() -> list[Case]:
    """Tables on which the two are compared slice by slice."""
    cases: list[Case] = []
    for number, (rows, columns, top, least, weight) in enumerate(
        [
            (90, 4, 5, 5, "0.95"),
            (120, 5, 10, 4, "0.95"),
            (60, 3, 1, 6, "0.6"),
            (150, 4, 10, 8, "0.9"),
            (100, 5, 4, 4, "0.99"),
            (200, 3, 3, 6, "0.75"),
        ]
    ):
        rng = np.random.default_rng(100 + number)
        x = np.stack([rng.integers(0, rng.integers(2, 5), rows) for _ in range(columns)], axis=1)
        hard = 0.15 + 0.5 * ((x[:, 0] == 0) & (x[:, 1] == 1)) + 0.2 * (x[:, 2] == 1)
        name = f"planted {number + 1}"
        cases.append(Case(name, x, rng.random(rows) < hard, top, least, weight))
    # Two columns that say the same, and a table that is the same under an exchange of columns.
    x = cases[0].columns
    doubled = np.column_stack([x, x[:, 0]])
    cases.append(Case("a column twice", doubled, cases[0].errors, 6, 5, "0.95"))
    square = np.array([(a, b) for a in range(3) for b in range(3) for _ in range(8)])
    wrong = (square.sum(axis=1) == 0) | ((square == 2).any(axis=1) & (np.arange(72) % 8 < 3))
    cases.append(Case("symmetric, many ties", square, wrong, 2, 8, "0.95"))
    cases.append(_lost_tie())
    return cases


def _lost_tie() -> Case:
    """Two slices tie for the last place; the package loses one."""
    rng = np.random.default_rng(269)
    rows, columns = int(rng.integers(40, 400)), int(rng.integers(3, 6))
    x = np.stack([rng.integers(0, rng.integers(2, 5), rows) for _ in range(columns)], axis=1)
    rate = 0.15 + 0.5 * ((x[:, 0] == 0) & (x[:, 1] == 1)) + 0.2 * (x[:, 2] == 1)
    wrong = rng.random(rows) < rate
    return Case("a tie lost to rounding", x, wrong, int(rng.integers(1, 11)), 4, "0.95")


def agree(case: Case, mine_: Sequence[Found], package: Sequence[Found]) -> list[str]:
    """Compare; what differs, in words. Slices that tie with the last may be missing there."""
    here, there = {it.terms: it for it in mine_}, {it.terms: it for it in package}
    said = [f"{case.name}: only the package has {terms}" for terms in there.keys() - here.keys()]
    last = min((it.score for it in mine_), default=0.0)
    for terms, it in here.items():
        other = there.get(terms)
        if other is None:
            if it.score > last + _TOLERANCE:
                said.append(f"{case.name}: the package lacks {terms}")
        elif (it.size, it.errors) != (other.size, other.errors) or (
            abs(it.score - other.score) > _TOLERANCE
        ):
            said.append(f"{case.name}: {it} is {other} there")
    return said


def _record(path: Path) -> None:
    cases = [
        {
            "name": case.name,
            "top": case.top,
            "min_slice": case.min_slice,
            "weight": case.weight,
            "columns": ["".join(map(str, column)) for column in case.columns.T.tolist()],
            "errors": "".join(map(str, case.errors.astype(int).tolist())),
            "found": [asdict(it) for it in theirs(case)],
        }
        for case in small()
    ]
    made = {"package": "sliceline", "version": metadata.version("sliceline"), "cases": cases}
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def _serve(tool: str, rows: int, min_slice: int) -> None:
    """One tool in this process: a line of JSON."""
    case = large(rows, min_slice)
    started = time.perf_counter()
    found = _TOOLS[tool](case)
    said = {
        "seconds": time.perf_counter() - started,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "found": [asdict(it) for it in found],
    }
    print(json.dumps(said))


def _run(tool: str, rows: int, min_slice: int, memory_gb: int) -> dict[str, Any] | None:
    """One tool in a process of its own, or None when it ran out of memory."""
    limit = memory_gb * 2**30
    done = subprocess.run(
        [sys.executable, "-m", "bench.mining", "--serve", tool, str(rows), str(min_slice)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(),
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    if done.returncode:
        if "MemoryError" in done.stderr:
            return None
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def _as_found(rows: Sequence[dict[str, Any]]) -> list[Found]:
    return [
        Found(tuple((c, v) for c, v in row["terms"]), row["size"], row["errors"], row["score"])
        for row in rows
    ]


def main() -> int:
    """Measure and compare; returns 1 when the two disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", metavar="FILE", type=Path)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--min-slice", type=int, nargs="+", default=[300, 100])
    parser.add_argument("--memory-gb", type=int, default=16, help="what each tool may use")
    parser.add_argument("--json", metavar="FILE", type=Path)
    parser.add_argument("--serve", nargs=3, metavar=("TOOL", "ROWS", "MIN"), help="internal")
    options = parser.parse_args()
    if options.serve:
        tool, rows, least = options.serve
        _serve(tool, int(rows), int(least))
        return 0
    if options.record:
        _record(options.record)
        return 0
    said = [line for case in small() for line in agree(case, ours(case), theirs(case))]
    measured: list[dict[str, Any]] = []
    for least in options.min_slice:
        results = {tool: _run(tool, options.rows, least, options.memory_gb) for tool in _TOOLS}
        for tool, result in results.items():
            measured.append({"tool": tool, "rows": options.rows, "min_slice": least})
            if result is None:
                measured[-1]["out_of_memory_gb"] = options.memory_gb
                print(f"{tool:10} min slice {least}: more than {options.memory_gb} GB")
                continue
            measured[-1] |= {name: round(result[name], 3) for name in ("seconds", "peak_mb")}
            print(
                f"{tool:10} min slice {least}: {result['seconds']:.2f} s, "
                f"{result['peak_mb']:.0f} MB, {len(result['found'])} slices"
            )
        first, second = results["janus-jax"], results["sliceline"]
        if first is not None and second is not None:
            case = large(options.rows, least)
            said += agree(case, _as_found(first["found"]), _as_found(second["found"]))
    if options.json:
        kept = {"sliceline": metadata.version("sliceline"), "measured": measured, "differ": said}
        options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print("\n".join(said) or "the same slices and scores")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
