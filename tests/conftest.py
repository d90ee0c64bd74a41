"""Kernels are compiled once for a whole run of the tests: in all of its workers and programs."""

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
