"""What the table tests share: the cases' folder, and a plain view of a column."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from janus_jax.errors import InputError
from janus_jax.readers import read
from janus_jax.table import Column, Table

CASES = Path(__file__).parents[1] / "data" / "cases"


@pytest.fixture
def case() -> Callable[[str], Path]:
    """The folder of a case, by its number."""

    def folder(number: str) -> Path:
        (found,) = CASES.glob(f"{number}_*")
        return found

    return folder


@pytest.fixture
def expected(case: Callable[[str], Path]) -> Callable[[str], dict[str, Any]]:
    """The reference values of a case."""
    return lambda number: json.loads((case(number) / "expect.json").read_text())["values"]


@pytest.fixture
def cells() -> Callable[[Column], list[Any]]:
    """The values of a column row by row, None where missing."""

    def of(column: Column) -> list[Any]:
        levels = column.levels if isinstance(column.levels, tuple) else column.levels.tolist()
        return [None if code < 0 else levels[code] for code in column.codes.tolist()]

    return of


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Table]:
    """Write a file and read it."""

    def made(content: str | bytes, name: str = "t.csv", **options: Any) -> Table:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(path, **options)

    return made


@pytest.fixture
def refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a file that must not be read, and give the message; files are named without folder."""

    def message(content: str | bytes, name: str = "t.csv", **options: Any) -> str:
        monkeypatch.chdir(tmp_path)
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(InputError) as caught:
            read(name, **options)
        assert caught.value.exit_status == 2
        return str(caught.value)

    return message
