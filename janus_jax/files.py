"""Writing files: in one step, or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from janus_jax.errors import InputError

RESULT_FILES = ("result.json", "findings.csv", "report.md", "report.html")
"""What ``--out DIR`` writes."""

_MARKS = (
    b'{\n "schema": "janus-jax/',
    b"# A plan of janus-jax",
    b"# Where the errors of ",
    b"<!DOCTYPE html>\n<!-- janus-jax report -->",
    b"name,status,reason,",
    b"outcome,name,status,reason,",
    b'{"id": "seed',  # packets, whose writer looks at all of the file
)
"""How the files begin that are written here."""


def is_ours(path: Path) -> bool:
    """Whether a file may be replaced: there is none, it is empty, no regular file, or our own."""
    if not path.is_file():
        return True
    with writing(), path.open("rb") as file:
        head = file.read(64)
    return not head or head.startswith(_MARKS)


def check_ours(path: Path) -> None:
    """Refuse to replace a file that was not written here."""
    if not is_ours(path):
        raise InputError(
            f"{path} exists and was not written by janus-jax; writing the result would destroy "
            "it: name another file"
        )


def file_named(value: object, what: str) -> Path:
    """The file that somebody wants written, once it is clear that it can be.

    Raises
    ------
    InputError
        It is no path, names no file or a folder, lies in a folder that is not there, or is a file
        that was not written here.
    """
    path = _path(value, what, "file")
    if path.is_dir():
        raise InputError(f"{what}: {path} is a folder; name a file")
    if not path.parent.is_dir():
        raise InputError(f"{what}: there is no folder {path.parent} for {path.name}; make it first")
    check_ours(path)
    return path


def folder_named(value: object, what: str) -> Path:
    """The folder that results shall go into; it is made, and its own results may be replaced.

    Raises
    ------
    InputError
        It is no path, or a file, or cannot be made; or a file in it of a result's name was not
        written here.
    """
    path = _path(value, what, "folder")
    if path.is_file():
        raise InputError(f"{what}: {path} is a file; name a folder")
    with writing(str(path)):
        path.mkdir(parents=True, exist_ok=True)
    for name in RESULT_FILES:
        check_ours(path / name)
    return path


def _path(value: object, what: str, kind: str) -> Path:
    if not isinstance(value, str | Path):
        raise InputError(f"{what}: {value!r} is no path; name a {kind}")
    if not str(value):
        raise InputError(f"{what}: the path is empty; name a {kind}")
    return Path(value)


@contextmanager
def writing(what: str = "the result") -> Generator[None]:
    """Turn what the system says about a failed write into one message; a closed pipe passes."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"cannot write {error.filename or what}: {error.strerror}") from error


def write_whole(path: str | Path, text: str) -> None:
    """Write a file in one step: whatever goes wrong, a former one of this name is kept.

    A device or a pipe is written into.
    """
    data = text.encode("utf-8")
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    try:
        handle, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except PermissionError:  # the file may be written, its folder not
        target.write_bytes(data)
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        os.chmod(made, stat.S_IMODE(mode))
        os.replace(made, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(made)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
