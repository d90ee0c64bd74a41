"""The files that the oracle's and the audits' tests share, and how the oracle reads them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.oracle import oracle

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "data" / "cases"
AUDITS = ROOT / "tests" / "data" / "audits"
EXAMPLES = ROOT / "examples" / "data"

TRUE = {"1", "true", "yes", "y", "t"}


def case(number: int, file: str = "input.csv") -> Path:
    """The path of a case's input file."""
    (folder,) = CASES.glob(f"{number:02d}_*")
    return folder / file


def values(number: int) -> Any:
    """The reference values of a case."""
    return json.loads(case(number, "expect.json").read_text(encoding="utf-8"))["values"]


def read(path: Path) -> list[dict[str, str]]:
    """A comma-separated file as text."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def bits(rows: Sequence[dict[str, str]], column: str) -> list[int]:
    """A boolean column: true, yes, 1 are on; everything else (blank too) is off."""
    return [int(row[column].strip().lower() in TRUE) for row in rows]


def level(rows: Sequence[dict[str, str]], column: str, value: str) -> list[int]:
    """Membership of one level of a column."""
    return [int(row[column] == value) for row in rows]


def above(rows: Sequence[dict[str, str]], column: str, limit: Fraction) -> list[int]:
    """Strictly above a limit; blank is off."""
    return [int(row[column] != "" and Fraction(row[column]) > limit) for row in rows]


def four(membership: Sequence[int], errors: Sequence[int]) -> tuple[int, int, int, int]:
    """n, on, errors, errors on."""
    both = sum(m * e for m, e in zip(membership, errors, strict=True))
    return len(errors), sum(membership), sum(errors), both


def p_value(membership: Sequence[int], errors: Sequence[int]) -> Fraction:
    """The exact p of a membership, by the oracle's closed form."""
    return oracle.p_two_absdiff(*four(membership, errors))


def expected_audits() -> list[dict[str, Any]]:
    """The reference audits."""
    return json.loads((AUDITS / "expected.json").read_text(encoding="utf-8"))


def audit_id(audit: dict[str, Any]) -> str:
    """A readable test id for a reference audit."""
    return f"{Path(audit['file']).stem}-{audit['correct']}-{audit['settings']['statistic']}"


def table_of(name: str) -> Path:
    """Where a table named in the reference audits lies."""
    shipped = EXAMPLES / name
    return shipped if shipped.exists() else AUDITS / name
