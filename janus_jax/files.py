"""Writing files: in one step, or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

RESULT_FILES = ("result.json", "findings.csv", "report.md", "report.html")
"""What ``--out DIR`` writes."""


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
