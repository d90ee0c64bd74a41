"""The index of the examples names all of them, and its commands' options exist."""

from __future__ import annotations

import re

from tests.audits import cli
from tests.examples.made import EXAMPLES

PAGE = EXAMPLES / "README.md"


def test_every_example_is_listed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for path in (*EXAMPLES.glob("*.py"), *(EXAMPLES / "data").glob("*.csv")):
        assert path.name in text, path.name


def test_every_option_exists() -> None:
    known = cli.call("audit", "--help").out
    for option in re.findall(r"--[a-z][a-z-]*", PAGE.read_text(encoding="utf-8")):
        assert option in known, option
