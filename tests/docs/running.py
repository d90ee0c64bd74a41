"""Run what a page shows, block after block, and compare what comes out with what is shown.

A page's blocks run in order in one folder, which looks like the repository's root; its Python
blocks share one namespace.

``console``  ``$ command`` and what it prints. With ``status="2"`` it must stop with that status,
             and its one message is what is shown.
``python``   runs; a ``text`` block right after it shows what it prints.
``toml``     is parsed, and loaded where it is a plan.
``json``     is parsed.
``sh``       lines of ``make``, whose targets must exist.

A block ``of="FILE"`` is a part of that file, word for word, and does not run by itself. In what
is shown, a line ``...`` leaves lines out. A block that is not run says why
(``not-run="..."``), and the reasons are a closed list.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.audits import cli
from tests.docs.markdown import ROOT, Block

REASONS = (
    "a file that is not in the repository",
    "several machines",
    "a model that answers",
    "it is stopped by hand",
    "it installs something",
    "a file of its own, checked by another test",
    "a definition, not a program",
)
"""Why a block may not run; there are no others."""


def compare(shown: Iterable[str], printed: Iterable[str], where: object) -> None:
    """Every shown line is printed, in this order; without ``...`` between them, next to next."""
    lines = [line.rstrip() for line in printed]
    place, skip = 0, False
    for line in shown:
        if line.strip() == "...":
            skip = True
            continue
        if skip:
            assert line in lines[place:], (str(where), line, lines[place : place + 40])
            place = lines.index(line, place)
        assert lines[place : place + 1] == [line], (str(where), line, lines[place : place + 5])
        place, skip = place + 1, False
    assert skip or not any(lines[place:]), (str(where), "more was printed", lines[place:])


class Page:
    """The blocks of one page as they run."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {"__name__": "page"}
        self.printed: dict[str, cli.Run] = {}
        self.last: tuple[Block, str] | None = None  # a Python block and what it printed

    def run(self, block: Block) -> None:
        """Run one block, or say why that cannot be."""
        before, self.last = self.last, None
        if "not-run" in block.attributes:
            assert block.attributes["not-run"] in REASONS, (str(block), block.attributes)
            return
        if "of" in block.attributes:
            whole = (ROOT / block.attributes["of"]).read_text(encoding="utf-8")
            assert block.text in whole, (str(block), "it is not in that file any more")
            return
        if block.language == "text":
            assert before is not None, (str(block), "a text block shows what Python printed")
            shown = block.text.rstrip("\n").splitlines()
            compare(shown, before[1].splitlines(), block)
            return
        ways: dict[str, Callable[[Block], None]] = {
            "console": self.console,
            "python": self.python,
            "toml": self.toml,
            "json": self.json,
            "sh": self.sh,
        }
        if block.language.startswith("{"):
            return  # of the page's generator
        assert block.language in ways, (str(block), f"nothing runs {block.language!r}")
        ways[block.language](block)

    def console(self, block: Block) -> None:
        command, *shown = block.text.rstrip("\n").splitlines()
        while command.endswith("\\"):
            command, shown = command[:-1].rstrip() + " " + shown[0].strip(), shown[1:]
        assert command.startswith("$ "), (str(block), command)
        run = self.command(command[2:])
        status = int(block.attributes.get("status", "0"))
        assert run.status == status, (str(block), run.status, run.err)
        if status:
            assert cli.one_message(run.err) == " ".join(" ".join(shown).split()), str(block)
        elif shown:
            compare(shown, run.out.rstrip("\n").splitlines(), block)

    def command(self, command: str) -> cli.Run:
        """Run a command; what it printed is kept until something may have changed a file."""
        if command in self.printed:
            return self.printed[command]
        if "--out" in command:
            self.printed.clear()
        program, *words = shlex.split(command)
        if program == "janus-jax":
            run = cli.call(*words)
        else:
            assert program == "python", f"nothing here runs {program!r}"
            path = os.pathsep.join(map(str, (ROOT, ROOT / "backends")))
            done = subprocess.run(
                [sys.executable, *words],
                capture_output=True,
                encoding="utf-8",
                env={**os.environ, "PYTHONPATH": path},
                check=False,
            )
            run = cli.Run(done.returncode, done.stdout, done.stderr)
        self.printed[command] = run
        return run

    def python(self, block: Block) -> None:
        out = io.StringIO()
        code = compile(block.text, str(block), "exec")
        with contextlib.redirect_stdout(out):
            exec(code, self.namespace)
        self.printed.clear()
        self.last = (block, out.getvalue().rstrip("\n"))

    def toml(self, block: Block) -> None:
        content = tomllib.loads(block.text)
        assert content, str(block)
        if str(content.get("schema", "")).startswith("janus-jax/plan/"):
            from janus_jax.plans.file import read_plan

            path = Path("shown.toml")
            path.write_text(block.text, encoding="utf-8")
            assert not read_plan(path).edited, f"{block}: the hash is of another plan"

    def json(self, block: Block) -> None:
        assert json.loads(block.text), str(block)

    def sh(self, block: Block) -> None:
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
        for line in filter(None, block.text.splitlines()):
            program, *words = shlex.split(line, comments=True)
            assert program == "make", (str(block), line)
            assert set(words) <= targets, (str(block), line)
