"""Start ``slow.py`` as programs, wait for their checkpoints, read what they wrote."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.audits import cli, made

SLOW = Path(__file__).with_name("slow.py")
PATIENCE = 120.0  # seconds; a run that takes as long hangs


def program(pause: float, *words: str | Path) -> subprocess.Popen[str]:
    """Start it; its output is piped."""
    return subprocess.Popen(
        [sys.executable, str(SLOW), str(pause), *map(str, words)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def finish(run: subprocess.Popen[str]) -> cli.Run:
    """Wait for the end; what it said."""
    try:
        out, err = run.communicate(timeout=PATIENCE)
    finally:
        run.kill()  # does nothing once it has ended
    return cli.Run(run.returncode, out, err)


def wait_for(seen: Callable[[], Any], run: subprocess.Popen[str]) -> None:
    """Wait until something can be seen, while the program runs."""
    end = time.monotonic() + PATIENCE
    while not seen():
        assert run.poll() is None, finish(run)
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.005)


def table(folder: Path) -> Path:
    """A table of 160 rows with nothing to enumerate."""
    rows = range(160)
    columns = {
        "id": [f"r{i}" for i in rows],
        **{
            f"g{k}": made.words([int((i * (k + 3) + i // 7) % 5 < 2) for i in rows])
            for k in range(6)
        },
        "error": [int((i * i + i // 3) % 11 < 4) for i in rows],
    }
    return made.write(folder / "table.csv", columns)


def result(path: Path) -> cli.Result:
    """A result file without ``run``."""
    return cli.without_run(cli.parse(path.read_text(encoding="utf-8")))
