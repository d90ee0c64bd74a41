"""Opening a file: errors of the system, kind by content, hash, encoding, a bound on line length.

The bytes of a text file pass one guard on their way to the decoder. It feeds the hash, refuses NUL
bytes, and stops when no line end has come for `MAX_LINE_BYTES`, so that a binary file of two
gigabytes without a line end costs one buffer and not two gigabytes.
"""

from __future__ import annotations

import codecs
import io
import os
from typing import TYPE_CHECKING, BinaryIO, Protocol

from janus_jax.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_LINE_BYTES = 64 * 2**20
HEAD_BYTES = 2**16
_BUFFER = 2**20

_FOREIGN = (
    (b"\x1f\x8b", "is gzip-compressed", "decompress it first (gunzip)"),
    (b"BZh", "is bzip2-compressed", "decompress it first (bunzip2)"),
    (b"\xfd7zXZ\x00", "is xz-compressed", "decompress it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "is zstd-compressed", "decompress it first (unzstd)"),
    (
        b"PK\x03\x04",
        "is a zip archive (an Excel workbook is one too)",
        "unpack it, or export the sheet as CSV",
    ),
    (b"\xd0\xcf\x11\xe0", "is an old Excel workbook", "export the sheet as CSV"),
    (b"SQLite format 3\x00", "is an SQLite database", "export the table as CSV"),
)
_BOMS = (
    (b"\xff\xfe\x00\x00", "UTF-32", "utf-32"),
    (b"\x00\x00\xfe\xff", "UTF-32", "utf-32"),
    (b"\xff\xfe", "UTF-16", "utf-16"),
    (b"\xfe\xff", "UTF-16", "utf-16"),
)


class Hasher(Protocol):
    """What of ``hashlib.sha256()`` is used."""

    def update(self, data: bytes, /) -> None:
        """Add bytes."""
        ...


def open_binary(path: str) -> BinaryIO:
    """Open a file for reading, unbuffered, with errors a person can act on."""
    try:
        return open(path, "rb", buffering=0)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the name and the folder") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; name the files in it") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it; change its permissions") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(f"{path}: cannot be opened ({error}); name another file") from None


def read_head(raw: BinaryIO, path: str) -> bytes:
    """The first bytes of a file, which decide what it is; a pipe may give them in pieces."""
    head = b""
    try:
        while len(head) < HEAD_BYTES:
            piece = raw.read(HEAD_BYTES - len(head))
            if not piece:
                break
            head += piece
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    return head


def refuse_foreign(head: bytes, path: str) -> None:
    """Stop at files that are no text, whatever they are called."""
    for magic, what, remedy in _FOREIGN:
        if head.startswith(magic):
            raise InputError(f"{path}: {what}; {remedy}")


def is_utf8(encoding: str) -> bool:
    """Whether this is the default encoding, under any of its names."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def check_encoding(encoding: str) -> str:
    """The encoding's name, if it is one that decodes text."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # refuses codecs that decode no text
    except (LookupError, ValueError):
        raise InputError(
            f"encoding {encoding!r} is not known; use for example --encoding utf-8, latin-1, "
            "cp1252 or utf-16"
        ) from None
    return codecs.lookup(encoding).name


class TextFile:
    """A text file being read, line by line, within bounds.

    Attributes
    ----------
    path
        As the user named it; starts every message.
    head
        The first bytes (for a look at delimiters).
    text
        The decoded stream; line ends are kept as they are.
    """

    def __init__(
        self, raw: BinaryIO, head: bytes, path: str, *, encoding: str, hasher: Hasher, newline: str
    ) -> None:
        if is_utf8(encoding):
            for bom, what, option in _BOMS:
                if head.startswith(bom):
                    raise InputError(
                        f"{path}: is encoded as {what} (its byte-order mark says so), not UTF-8; "
                        f"use --encoding {option}"
                    )
        self.path = path
        self.head = head
        self.encoding = encoding
        guard = _Guard(raw, head, path, encoding, hasher)
        buffered = io.BufferedReader(guard, _BUFFER)
        name = "utf-8" if is_utf8(encoding) else encoding
        self.text = io.TextIOWrapper(buffered, encoding=name, newline=newline)

    def head_text(self) -> str:
        """The beginning of the file as text, without a line cut in two."""
        text = self.head.decode(self.encoding, "replace").lstrip("\ufeff")
        cut = len(self.head) == HEAD_BYTES
        return text[: text.rfind("\n") + 1] if cut and "\n" in text else text

    def undecodable(self, error: UnicodeDecodeError) -> InputError:
        """What to say about bytes that the encoding does not allow."""
        name = "UTF-8" if is_utf8(self.encoding) else self.encoding
        byte = error.object[error.start]
        line = self._undecodable_line()
        where = self.path if line is None else f"{self.path} line {line}"
        remedy = (
            "use --encoding latin-1 (or --encoding utf-16, cp1252 ...: what it was saved with)"
            if is_utf8(self.encoding)
            else "give the encoding it was saved with to --encoding"
        )
        return InputError(
            f"{where}: byte 0x{byte:02x} is not {name}, so the file has another encoding; {remedy}"
        )

    def _undecodable_line(self) -> int | None:
        """Look for the line a second time: the decoder works in blocks and does not know it."""
        if self.encoding.startswith(("utf-16", "utf-32")) or not os.path.isfile(self.path):
            return None
        with open(self.path, "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), 1):
                try:
                    line.decode(self.encoding)
                except UnicodeDecodeError:
                    return number
        return None


def too_long(path: str, line: int, what: str = "line") -> InputError:
    """What to say about a line or record without an end in sight."""
    size = (
        f"{MAX_LINE_BYTES // 2**20} MiB" if MAX_LINE_BYTES >= 2**20 else f"{MAX_LINE_BYTES} bytes"
    )
    return InputError(
        f"{path} line {line}: a {what} longer than {size} starts here; is this the right file, and "
        "are its line ends and quotes intact? Shorten or remove the field."
    )


class _Guard(io.RawIOBase):
    """A raw file that hashes what passes, and refuses NUL bytes and lines without an end."""

    def __init__(
        self, raw: BinaryIO, head: bytes, path: str, encoding: str, hasher: Hasher
    ) -> None:
        super().__init__()
        self._raw = raw
        self._head = head
        self._path = path
        self._hasher = hasher
        self._nul_is_text = encoding.startswith(("utf-16", "utf-32"))
        self._line = 1
        self._open = 0  # bytes since the last line end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self._head[: len(view)]
        if data:
            self._head = self._head[len(data) :]
        else:
            try:
                data = self._raw.read(len(view)) or b""
            except OSError as error:
                raise InputError(f"{self._path}: cannot be read ({error})") from None
        self._check(data)
        self._hasher.update(data)
        view[: len(data)] = data
        return len(data)

    def _check(self, data: bytes) -> None:
        if not self._nul_is_text and (nul := data.find(b"\0")) >= 0:
            line = self._line + data.count(b"\n", 0, nul)
            raise InputError(
                f"{self._path} line {line}: holds a NUL byte, so this is not text in a one-byte "
                "encoding or UTF-8; if it is UTF-16 use --encoding utf-16, else export it again"
            )
        first = data.find(b"\n")
        if self._open + (len(data) if first < 0 else first) > MAX_LINE_BYTES:
            raise too_long(self._path, self._line)
        if first < 0:
            self._open += len(data)
        else:
            self._line += data.count(b"\n")
            self._open = len(data) - data.rfind(b"\n") - 1

    def close(self) -> None:
        self._raw.close()
        super().close()
