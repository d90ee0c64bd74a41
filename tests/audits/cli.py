"""Run the command line in this process and look at what it said.

``--json -`` is parsed strictly: a bare NaN or Infinity fails the test that asked.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

WHOLE = (
    *("--discovery", "1", "--min-support", "1"),
    *("--min-prevalence", "0", "--max-prevalence", "1"),
)
"""The whole file as one set: no holdout, everything that is on and off once is eligible."""

FAST = ("--backend", "numpy", "--permutations", "99", "--decoys", "100")
"""For tests that look at exact quantities only."""

Result = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What one command did."""

    status: int
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self) -> bool:
        return True


def call(*words: str | Path) -> Run:
    """Run ``janus-jax`` with these words; its standard output and error are captured."""
    from janus_jax.cli import main  # inside, so that the tests collect without it

    entry = cast(Callable[[Sequence[str]], int], main)
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = entry([str(word) for word in words])
        except SystemExit as stop:  # how argument parsers leave
            status = 0 if stop.code is None else stop.code
    assert isinstance(status, int), f"exit status {status!r}"
    return Run(status, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    return cast(io.BytesIO, stream.buffer).getvalue().decode("utf-8")


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def parse(text: str) -> Result:
    """Strict JSON."""
    return json.loads(text, parse_constant=_refuse)


def overridden(words: Sequence[str | Path]) -> list[str | Path]:
    """Words in which a later value takes the place of an earlier one: the program refuses two.

    Only of the options that the tests' own defaults name.
    """
    last: dict[str, str | Path] = {}
    others: list[str | Path] = []
    given = iter(words)
    for word in given:
        if str(word) in _DEFAULTED:
            last[str(word)] = next(given)
        else:
            others.append(word)
    return [*others, *(word for pair in last.items() for word in pair)]


_DEFAULTED = frozenset(
    word for word in (*WHOLE, *FAST, "--q", "--statistic", "--batch") if word.startswith("--")
)


def audit(*words: str | Path) -> Result:
    """``janus-jax audit ... --json -`` that must succeed; its result."""
    run = call("audit", *overridden(words), "--json", "-")
    assert run.status == 0, run.err
    assert "Traceback" not in run.err
    return parse(run.out)


def whole(path: str | Path, *words: str | Path) -> Result:
    """Audit a whole file as one set, error column ``error`` unless the words say otherwise."""
    outcome = (
        () if {"--error", "--correct", "--score"} & set(map(str, words)) else ("--error", "error")
    )
    speed = () if "--permutations" in map(str, words) else FAST
    return audit(path, *outcome, *WHOLE, *speed, *words)


def refused(*words: str | Path) -> str:
    """``janus-jax audit`` that must refuse: exit 2, one message on stderr, nothing on stdout."""
    run = call("audit", *words)
    assert run.status == 2, (run.status, run.out, run.err)
    assert run.out == ""
    return one_message(run.err)


def one_message(err: str) -> str:
    """The one message of a refusal, on one line (a terminal may have wrapped it)."""
    assert "Traceback" not in err
    assert err.startswith("janus-jax: error: "), err
    assert err.count("janus-jax: error: ") == 1, err
    assert "\n\n" not in err.strip(), f"more than one paragraph: {err!r}"
    message = re.sub(r"\s+", " ", err).strip()
    assert len(message) > len("janus-jax: error: ") + 10, message
    return message


def by_name(result: Result) -> dict[str, Result]:
    """The descriptors by their names, which are distinct."""
    found = {d["name"]: d for d in result["descriptors"]}
    assert len(found) == len(result["descriptors"])
    return found


def one(result: Result, name: str) -> Result:
    """The descriptor of this name."""
    found = by_name(result)
    assert name in found, sorted(found)
    return found[name]


def library(result: Result) -> set[str]:
    """The names in L."""
    names = {d["name"] for d in result["descriptors"] if d["status"] != "ineligible"}
    assert len(names) == result["screen"]["L"]
    return names


def columns(result: Result) -> dict[str, Result]:
    """``data.columns`` by column."""
    return {c["column"]: c for c in result["data"]["columns"]}


def not_used(result: Result) -> dict[str, str]:
    """Column to the reason why no descriptor was made of it."""
    reasons = {c["column"]: c["reason"] for c in result["not_used"]}
    assert all(reasons.values()), reasons
    return reasons


def without_run(result: Result) -> Result:
    """All that must be the same on every backend, batch size and machine."""
    assert "run" in result
    return {key: value for key, value in result.items() if key != "run"}


def content(result: Result) -> Result:
    """What must be the same when the same table comes from another file."""
    kept = without_run(result)
    kept["data"] = {k: v for k, v in result["data"].items() if k not in ("source", "sha256")}
    return kept


def counts(split: Result) -> tuple[int, int, int, int]:
    """n, on, errors, errors on; and the other counts must follow from them."""
    n, on, errors, both = (split[key] for key in ("n", "on", "errors", "errors_on"))
    assert (split["off"], split["errors_off"]) == (n - on, errors - both)
    return n, on, errors, both
