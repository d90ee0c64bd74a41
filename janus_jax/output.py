"""Where a result goes: files that were checked before anything is computed, and standard output."""

from __future__ import annotations

import io
import itertools
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from janus_jax.errors import InputError
from janus_jax.files import RESULT_FILES, check_ours, write_whole, writing

if TYPE_CHECKING:
    from janus_jax.result import AuditResult, Result
    from janus_jax.several.result import Comparison


class _Forgiving(io.TextIOBase):
    """Standard error that loses what nobody can read any more, instead of ending the run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._stream.encoding

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        try:
            self._stream.write(text)
        except OSError:
            self._give_up()
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        # What is still in the buffer must go somewhere, also when the interpreter ends.
        with suppress(OSError):
            discard(self._stream)
            self._stream.flush()


def discard(stream: TextIO) -> None:
    """Let everything that is still written to a stream go nowhere, and so cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def usable_streams() -> Generator[None]:
    """Make any text printable, and printing harmless where a stream was closed.

    Whoever reads standard error may stop (`2>&1 | head`): progress is then lost, results are not.
    """
    before = sys.stdout, sys.stderr
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stderr = cast("TextIO", _Forgiving(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


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
        # A log may lie in a folder that was named, or be read beside the one that was.
        if target.name != (checkpoint and Path(checkpoint).name):
            check_ours(target)


def publish(
    result: AuditResult | Comparison,
    out: str | None,
    json: str | None,
    show: Callable[[dict[str, Any], TextIO], None],
    saved: Callable[[], None] | None = None,
) -> None:
    """Write an audit, or several, where ``--out`` and ``--json`` say, and show it.

    ``saved`` is called once a folder holds everything: whoever reads standard output may stop.
    """
    if out:
        with writing(out):
            result.write(out)
        if saved is not None:
            saved()
    publish_document(result, json, lambda stream: show(result.to_dict(), stream))


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
            write_whole(json, result.to_json())
    with writing("standard output"):
        if json == "-":
            sys.stdout.write(result.to_json())
        else:
            show(sys.stdout)
        sys.stdout.flush()
