"""Members of a zip archive, read in memory by their exact names: nothing is ever unpacked.

An archive is input from anywhere. Its names are only looked up, never used as paths; what a member
unpacks to is bounded before it is read, by its size and by its ratio to what is stored.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping
from contextlib import closing
from importlib import import_module
from types import TracebackType
from typing import Any, Final

from janus_jax.errors import InputError
from janus_jax.logs import json_text
from janus_jax.logs.attempt import Context
from janus_jax.readers import opening

MAX_MEMBERS: Final = 1_000_000
MAX_MEMBER_BYTES: Final = 256 * 2**20
MAX_RATIO: Final = 500
"""Unpacked to stored size; transcripts that repeat themselves reach a tenth of this."""
RATIO_BYTES: Final = 2**20
"""A smaller member may have any ratio."""

_ZSTD = 93  # APPNOTE.TXT 4.4.5; the standard library knows it from Python 3.14
_ENCRYPTED = 0x1


class Archive:
    """An open archive; a context manager.

    Attributes
    ----------
    path
        As the user named it.
    members
        Name to entry; where a name occurs several times the last one counts, as for every tool that
        appends to archives.
    """

    def __init__(self, path: str, context: Context) -> None:
        """Open an archive; every byte of it goes to ``context.hasher``.

        Raises
        ------
        InputError
            For a file that cannot be opened, is no whole zip archive, or has too many members.
        """
        self.path = path
        _hash(path, context)
        self._stored = _opened(zipfile, path)
        self._zstd: Any = None
        self.members: Mapping[str, zipfile.ZipInfo] = self._stored.NameToInfo
        many = len(self._stored.infolist())
        if many > MAX_MEMBERS:
            self.close()
            raise InputError(
                f"{path}: holds {many:,} members, more than {MAX_MEMBERS:,}; is it a log?"
            )

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._stored.close()
        if self._zstd is not None:
            self._zstd.close()

    def json(self, name: str) -> Any:
        """The JSON value of a member.

        Raises
        ------
        InputError
            For a member that is absent, damaged, encrypted, too large, compressed in a way that
            cannot be read here, or no JSON.
        """
        return json_text.parse(self._read(name), f"{self.path} {name}")

    def _read(self, name: str) -> bytes:
        entry = self.members.get(name)
        if entry is None:
            raise InputError(f"{self.path}: has no {name}; the log is incomplete: write it again")
        where = f"{self.path} {name}"
        size, stored = entry.file_size, entry.compress_size
        if entry.flag_bits & _ENCRYPTED:
            raise InputError(f"{where}: is encrypted; write the log again without a password")
        if size > MAX_MEMBER_BYTES:
            raise InputError(
                f"{where}: unpacks to {size:,} bytes, more than {MAX_MEMBER_BYTES // 2**20} MiB; "
                "is it a log?"
            )
        if size > RATIO_BYTES and size > MAX_RATIO * stored:
            raise InputError(
                f"{where}: unpacks to more than {MAX_RATIO} times its size, as a zip bomb does; "
                "is it a log?"
            )
        archive: Any = self._with_zstd() if entry.compress_type == _ZSTD else self._stored
        try:
            with archive.open(name) as member:
                # Not more than the archive's directory says, whatever the data unpack to.
                return member.read(size)
        except MemoryError:
            raise
        except Exception as error:  # each codec has errors of its own
            raise InputError(
                f"{where}: cannot be unpacked ({error}); the file is damaged: copy it again"
            ) from None

    def _with_zstd(self) -> Any:
        if sys.version_info >= (3, 14):
            return self._stored
        if self._zstd is None:
            try:
                module: Any = import_module("backports.zstd.zipfile")
            except ImportError:
                raise InputError(
                    f"{self.path}: its members are zstd-compressed (Inspect AI writes them so "
                    "since 0.3.206), which Python reads from 3.14 on; before, install "
                    "backports.zstd: pip install 'janus-jax[zstd]'"
                ) from None
            self._zstd = _opened(module, self.path)
        return self._zstd


def _opened(module: Any, path: str) -> Any:
    try:
        return module.ZipFile(path)
    except MemoryError:
        raise
    except Exception as error:  # a directory that is cut off or forged fails in many ways
        raise InputError(
            f"{path}: is no whole zip archive ({error}), as a run that was cut off or a copy that "
            "was interrupted leaves it; copy it again"
        ) from None


def _hash(path: str, context: Context) -> None:
    raw = opening.open_binary(path)
    with closing(raw):
        if not raw.seekable():
            raise InputError(f"{path}: is a pipe, and an archive is not; save it in a file first")
        try:
            while piece := raw.read(2**20):
                context.hasher.update(piece)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error})") from None
