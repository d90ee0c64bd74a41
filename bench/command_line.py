"""``python -m bench.command_line``: what a person at the prompt waits for, and where it goes.

Each command runs in a process of its own on the shipped results of a real model.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

_TABLE = "examples/data/gsm8k_openai_4models.csv"
_AUDIT = ["audit", _TABLE, "--correct", "correct_175b_verification"]
COMMANDS = {
    "--help": ["--help"],
    "audit, NumPy, 9,999 permutations": [*_AUDIT, "--backend", "numpy", "--permutations", "9999"],
    "audit, NumPy, 499,999 permutations": [*_AUDIT, "--backend", "numpy"],
    "audit, JAX, 499,999 permutations": [*_AUDIT, "--backend", "jax"],
}

_ENTER = "import sys; from janus_jax.cli import main; sys.exit(main())"
_TIMES = 3
# Reported by -X importtime where they take more than this, in milliseconds.
_WORTH_NAMING = 20.0


def environment() -> dict[str, str]:
    """This one, with the checkout on Python's path: what is measured is this tree."""
    paths = [str(ROOT), str(ROOT / "backends"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _run(arguments: Sequence[str], *options: str) -> tuple[float, float, str]:
    """Wall-clock seconds, peak resident MB and standard error of one command."""
    with tempfile.TemporaryFile("w+") as said:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *options, "-c", _ENTER, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=said,
            cwd=ROOT,
            env=environment(),
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: status {process.returncode}\n{text[-2000:]}")
    return seconds, usage.ru_maxrss / 1024, text


def _imports(arguments: Sequence[str]) -> dict[str, float]:
    """Milliseconds of the outermost imports that took long, those inside included."""
    _, _, text = _run(arguments, "-X", "importtime")
    found = re.findall(r"import time:\s*\d+ \|\s*(\d+) \|( *)(\S+)", text)
    # Innermost come first: what is deeper than a line and stands before it is part of it.
    totals: dict[str, float] = {}
    for microseconds, _, module in found:
        top = module.partition(".")[0]
        totals[top] = max(totals.get(top, 0.0), int(microseconds) / 1000)
    named = {name: total for name, total in totals.items() if total >= _WORTH_NAMING}
    return dict(sorted(named.items(), key=lambda item: -item[1])[:8])


def measure() -> list[dict[str, Any]]:
    """Run every command a few times; memory is the largest seen."""
    results: list[dict[str, Any]] = []
    for name, arguments in COMMANDS.items():
        with tempfile.TemporaryDirectory() as out:
            full = arguments if "--help" in arguments else [*arguments, "--out", out]
            runs = [_run(full) for _ in range(_TIMES)]
            results.append(
                {
                    "command": name,
                    "seconds": [round(seconds, 3) for seconds, _, _ in runs],
                    "peak_mb": round(max(peak for _, peak, _ in runs)),
                    "import_ms": _imports(full),
                }
            )
    return results


def describe(results: Sequence[dict[str, Any]]) -> list[str]:
    """The same as Markdown."""
    lines = ["### The command line, from start to exit", ""]
    lines += ["| command | s: min / median | peak MB | imports, ms (nested ones overlap) |"]
    lines += ["| --- | --- | --- | --- |"]
    for it in results:
        imports = ", ".join(f"{name} {total:.0f}" for name, total in it["import_ms"].items())
        times = f"{min(it['seconds']):.2f} / {statistics.median(it['seconds']):.2f}"
        lines.append(f"| {it['command']} | {times} | {it['peak_mb']} | {imports or '-'} |")
    return [*lines, ""]


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
