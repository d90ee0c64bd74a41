"""Made-up tables for the tests: written to a file, audited, thrown away."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.audits import cli

Columns = Mapping[str, Sequence[object]]


def write(path: Path, columns: Columns) -> Path:
    """A comma-separated file of these columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def audit(columns: Columns, *words: str) -> cli.Result:
    """Audit these columns with ``--error error`` and these words.

    Hypothesis runs one test function many times, so a fixture's folder would be shared; each call
    has its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "table.csv", columns)
        return cli.audit(path, "--error", "error", *words)


def words(flags: Sequence[int]) -> list[str]:
    """A membership as a person would write it."""
    return ["true" if flag else "false" for flag in flags]
