"""What holds for every test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def width_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that is captured is as wide as it is by default, whatever terminal runs the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)
