"""The example backend keeps the laws: the swap is real."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from janus_jax.testing import BackendConformance

pytest.importorskip("numba", reason="the example backend needs numba")
EXAMPLE = Path(__file__).parents[2] / "examples" / "numba_backend.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("numba_backend", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = load()


class TestNumbaBackend(BackendConformance):
    @pytest.fixture
    def backend(self) -> Any:
        return example.NumbaBackend()
