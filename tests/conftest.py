"""What holds for every test.

Kernels are compiled once for a whole run, in all of its workers and programs; output is as wide as
it is by default; charts are drawn only where pages are what is tested.
"""

from __future__ import annotations

import os
import tempfile

import pytest

CACHE = "JAX_COMPILATION_CACHE_DIR"
"""Where JAX keeps what it compiled; ``make`` names a folder, so that its steps share one."""

EVERY_KERNEL = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def pytest_configure(config: pytest.Config) -> None:
    """Tell JAX before anything imports it; workers and programs inherit the environment.

    JAX finds an entry by the program, its own version and the machine, so an old one is no danger.
    """
    if CACHE not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="janus-jax-kernels-")
        config.add_cleanup(folder.cleanup)
        os.environ[CACHE] = folder.name
        config.add_cleanup(lambda: os.environ.pop(CACHE))
    os.environ.update(EVERY_KERNEL)


@pytest.fixture(autouse=True)
def output_as_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that is captured is as wide as by default, and buffered, whatever runs the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


PAGES = {"docs", "html", "several"}
"""Folders whose tests are about pages as they are."""


@pytest.fixture(autouse=True)
def plain_drawings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere pages have empty drawings: to render the charts of one takes a second or more."""
    if request.path.parent.name not in PAGES:
        import vl_convert

        empty = '<svg width="1" height="1" viewBox="0 0 1 1"></svg>'
        monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda _: empty)
        monkeypatch.setattr(vl_convert, "vegalite_to_vega", lambda _: {})
