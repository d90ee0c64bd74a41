"""A browser for the tests that need one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

REQUIRED = "JANUS_JAX_BROWSER"
"""An environment variable: with the value ``required`` a missing browser fails the tests."""

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, with a profile of its own that is thrown away."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(f"no Chromium is installed, and {REQUIRED}=required")
        pytest.skip("no Chromium is installed")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield started
        started.close()
