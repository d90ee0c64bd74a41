"""Where a result goes: files that were checked before anything is computed, and standard output."""

from __future__ import annotations

import io
import itertools
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from janus_jax.errors import InputError

if TYPE_CHECKING:
    from janus_jax.result import AuditResult, Result

RESULT_FILES = ("result.json", "findings.csv", "report.md")
"""What ``--out DIR`` writes."""


def usable_streams() -> None:
    """Make any text printable, and printing harmless where a stream was closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def check_targets(
    results: Sequence[str],
    out: str | None,
    json: str | None,
    checkpoint: str | None = None,
    files: Sequence[str] = RESULT_FILES,
) -> None:
    """Find out that a result could not be written, or would replace its input, beforehand.

    Parameters
    ----------
    results
        The input files.
    out, json, checkpoint
        The options of these names.
    files
        What is written into the folder ``out``.
    """
    for option, value in (("--out", out), ("--json", json), ("--checkpoint", checkpoint)):
        if value == "":
            raise InputError(f"{option} is empty: name a {'folder' if value is out else 'file'}")
    with writing():
        if out:
            if Path(out).is_file():
                raise FileExistsError(17, "it is a file; name a folder", out)
            Path(out).mkdir(parents=True, exist_ok=True)
            if not os.access(out, os.W_OK):
                raise PermissionError(13, "the folder is not writable", out)
        if json and json != "-":
            target = Path(json)
            if target.is_dir():
                raise IsADirectoryError(21, "it is a folder; name a file", json)
            if not os.access(target if target.exists() else target.parent, os.W_OK):
                raise PermissionError(13, "not writable, or no such folder", json)
    targets = [Path(out) / name for name in files] if out else []
    targets += [Path(name) for name in (json, checkpoint) if name and name != "-"]
    for first, second in itertools.combinations(targets, 2):
        if first.resolve() == second.resolve():
            raise InputError(f"{second} would be written twice; give each output a path of its own")
    for target in targets:
        for source in results:
            if target.exists() and Path(source).exists() and target.samefile(source):
                raise InputError(f"{target} is an input; writing the result would destroy it")


@contextmanager
def writing(what: str = "the result") -> Generator[None]:
    """Turn what the system says about a failed write into one message; a closed pipe passes."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"cannot write {error.filename or what}: {error.strerror}") from error


def publish(result: AuditResult, out: str | None, json: str | None) -> None:
    """Write an audit where ``--out`` and ``--json`` say, and print it."""
    from janus_jax.terminal import print_result

    if out:
        with writing(out):
            result.write(out)
    publish_document(result, json, lambda stream: print_result(result.to_dict(), stream))


def publish_document(result: Result, json: str | None, show: Callable[[TextIO], None]) -> None:
    """Write a result where ``--json`` says; unless that is standard output, show it there.

    Parameters
    ----------
    json
        A file, "-" for standard output, or None.
    show
        Prints the result for people.
    """
    if json and json != "-":
        with writing(json):
            Path(json).write_text(result.to_json(), encoding="utf-8")
    with writing("standard output"):
        if json == "-":
            sys.stdout.write(result.to_json())
        else:
            show(sys.stdout)
        sys.stdout.flush()
