"""JSON as evaluation logs hold it: strict, exact, and in bounded memory.

Python's own decoder does the decoding everywhere, so a value means the same in a line, in a
document and in a member of an archive: NaN and Infinity are floats (Python's tools write them),
integers are exact, a key that an object holds twice is refused. Large documents are decoded one
array element at a time: an element is decoded from the text at hand, and where that ends too early,
from more text. (Streaming parsers such as ijson refuse NaN, keep the last of two equal keys, and
refuse large integers or turn every float into a Decimal.)
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, BinaryIO, Final, NoReturn, cast

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Context
from janus_jax.readers import opening
from janus_jax.readers.strict_json import STRICT, RepeatedKey

MAX_DEPTH: Final = 200
MAX_VALUE: Final = 256 * 2**20
"""Characters of one value of a document: a bound on memory, well above any honest sample."""

_PIECE = 2**20  # bytes read at a time
_CUT = 16  # characters before the end within which an error may only mean that the text is cut
_NUMBER_TAIL = 2  # characters of an unfinished number that its decoded part may leave ("e+")
_HEAD_DEPTH = 12  # how deep an unfinished beginning is looked at
_BLANK = re.compile(r"[ \t\n\r]*")
_UNICODE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # and UTF32_LE


_QUICK = json.JSONDecoder()  # for what is skipped or only looked at


def parse(text: str | bytes, where: str) -> Any:
    """One whole JSON value.

    Parameters
    ----------
    text
        The JSON text; bytes are UTF-8.
    where
        Where it stands, for messages: ``log.eval header.json``.

    Raises
    ------
    InputError
        For text that is not one JSON value, a repeated key, an integer of thousands of digits, or
        nesting deeper than 200.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _not_utf8(where, text[error.start]) from None
    try:
        value: Any = STRICT.decode(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where}: not complete JSON ({error.msg} at line {error.lineno} column "
            f"{error.colno}); the file is damaged or was cut off: write it again"
        ) from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(where, error) from None
    if _is_deep(value, text, 0, len(text)):
        raise _too_deep(where)
    return value


def lines(path: str, context: Context) -> Iterator[tuple[int, Any]]:
    """The values of a JSON Lines file with their 1-based line numbers, one at a time.

    Only a line feed ends a line (U+2028 does not); a carriage return before it is dropped. Blank
    lines are skipped. Every byte goes to ``context.hasher``.

    Raises
    ------
    InputError
        Names the line: bad JSON (with its own sentence for a last line that was cut off), what
        :func:`parse` refuses, bytes that are not UTF-8, NUL bytes, a line longer than 64 MiB; or a
        file that is empty, compressed or cannot be opened.
    """
    raw = opening.open_binary(path)
    with closing(raw):
        head = _head(raw, path)
        file = opening.TextFile(
            raw, head, path, encoding="utf-8", hasher=context.hasher, newline="\n"
        )
        number = 0
        for number, line in enumerate(file.text.buffer, 1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            text = _utf8(line, path, number).strip(" \t\r\n")
            if text:
                yield number, _line_value(text, path, number, ended=line.endswith(b"\n"))
        if number == 0:
            raise InputError(f"{path}: the file is empty; it needs one JSON object a line")


def _line_value(text: str, path: str, number: int, *, ended: bool) -> Any:
    where = f"{path} line {number}"
    try:
        value: Any = STRICT.decode(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: {_line_fault(text, error, ended=ended)}") from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(where, error) from None
    if _is_deep(value, text, 0, len(text)):
        raise _too_deep(where)
    return value


def _line_fault(text: str, error: json.JSONDecodeError, *, ended: bool) -> str:
    at = f"{error.msg.removesuffix(' at')} at character {error.pos + 1}"
    if text in ("{", "["):
        return (
            "is a JSON document spread over several lines, not JSON Lines; write one object a line "
            "(for example with: jq -c '.[]')"
        )
    if not ended and _may_be_cut(error, len(text)):
        return (
            f"the file ends in the middle of this line ({at}), as a run that was cut off leaves "
            "it; remove this line, or let the run finish and write the file again"
        )
    return f"not complete JSON ({at}); each line must hold one whole record: repair or remove it"


def document(
    path: str, context: Context, items: str, look: Callable[[Any], object] | None = None
) -> tuple[dict[str, Any], Iterator[Any]]:
    """One JSON document, its large array an element at a time.

    The file is read twice: once for everything beside the array (which may stand after it), once
    for the elements as they are asked for. Memory holds one element and the other fields.

    Parameters
    ----------
    path
        The file. Every byte goes to ``context.hasher`` before this returns.
    items
        Dotted path of the array: ``"samples"``, ``"results.results"``; ``""`` where the document
        itself is the array.
    look
        Called with every element before this returns, for what has to be known of all of them
        beforehand.

    Returns
    -------
    fields
        The document without that array: all other fields, nested as in the file. What stands at
        ``items`` and is no array (null, say) is kept here.
    elements
        The array's elements; none where there is no array.

    Raises
    ------
    InputError
        Names the line: what :func:`parse` refuses, a value longer than 256 Mi characters; or a file
        that is empty, compressed, no UTF-8, or a pipe.
    """
    steps = tuple(items.split(".")) if items else ()
    fields: dict[str, Any] = {}
    # What nobody looks at yet is only skipped; it is checked when it is asked for.
    decoder = _QUICK if look is None else STRICT
    with closing(opening.open_binary(path)) as raw:
        if not raw.seekable():
            raise InputError(
                f"{path}: is a pipe, and a JSON document is read twice; save it in a file first"
            )
        stamp = _stamp(raw)
        for element in _walk(_Cursor(_pieces(raw, path, context), path), steps, fields, decoder):
            if look is not None:
                look(element)
    return fields, _elements(path, steps, stamp)


def _elements(path: str, steps: tuple[str, ...], stamp: tuple[int, int]) -> Iterator[Any]:
    with closing(opening.open_binary(path)) as raw:
        if _stamp(raw) != stamp:
            raise InputError(
                f"{path}: was written to while it was read; let what writes it finish first"
            )
        yield from _walk(_Cursor(_pieces(raw, path, None), path), steps, {}, STRICT)


def _stamp(raw: BinaryIO) -> tuple[int, int]:
    status = os.fstat(raw.fileno())
    return status.st_size, status.st_mtime_ns


def probe_head(head: bytes) -> Any | None:
    """What the beginning of a file says, as far as it can be told; for recognising a format.

    Parameters
    ----------
    head
        The first bytes of the file.

    Returns
    -------
    object
        The first line, where that is a JSON object or array. Otherwise the beginning of a document:
        its fields and elements seen so far, a container that is cut with what it has so far, a
        scalar that is cut (or wrong) as None. None for what does not begin like JSON.
    """
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not text.startswith(("{", "[")):
        return None
    line = text.split("\n", 1)[0]
    try:
        return _QUICK.decode(line.strip())
    except (ValueError, RecursionError):
        return _beginning(text, 0, _HEAD_DEPTH)[0]


def _beginning(text: str, at: int, depth: int) -> tuple[Any, int | None]:
    """A value that may be cut, and where it ends; None for the end where it is cut."""
    try:
        return _QUICK.raw_decode(text, at)
    except (ValueError, RecursionError):
        pass
    kind = text[at : at + 1]
    if depth == 0 or kind not in ("{", "["):
        return None, None
    record: dict[str, Any] = {}
    array: list[Any] = []
    end: int | None = at + 1
    while end is not None:
        end = _blank(text, end + (text[end : end + 1] == ","))
        key = ""
        if kind == "{":
            name, after = _beginning(text, end, 0)
            colon = _blank(text, len(text) if after is None else after)
            if not isinstance(name, str) or text[colon : colon + 1] != ":":
                break
            key, end = name, _blank(text, colon + 1)
        if end >= len(text):
            if key:
                record[key] = None
            break
        value, end = _beginning(text, end, depth - 1)
        if kind == "{":
            record[key] = value
        else:
            array.append(value)
        end = None if end is None else _blank(text, end)
    return (record if kind == "{" else array), None


class _Cursor:
    """A place in a text that arrives in pieces."""

    def __init__(self, pieces: Iterator[str], path: str) -> None:
        self._pieces = pieces
        self.path = path
        self.text = ""
        self.at = 0
        self._before = 0  # characters dropped
        self._lines = 0  # line feeds among them

    def more(self) -> bool:
        """Get as much again as is open, and a piece at least; forget what has been passed."""
        self._lines += self.text.count("\n", 0, self.at)
        self._before += self.at
        rest = self.text[self.at :]
        if len(rest) > MAX_VALUE:
            raise InputError(
                f"{self.where(0)}: a value longer than {MAX_VALUE // 2**20} Mi characters starts "
                "here; is this the right file? Shorten or remove the field"
            )
        parts, got = [rest], 0
        for piece in self._pieces:
            parts.append(piece)
            got += len(piece)
            if got >= max(len(rest), 1):
                break
        self.text, self.at = "".join(parts), 0
        return got > 0

    def where(self, at: int) -> str:
        """``file line 3``, and the character within the file, of a place in :attr:`text`."""
        line = self._lines + self.text.count("\n", 0, at) + 1
        return f"{self.path} line {line} (character {self._before + at + 1:,})"

    def peek(self) -> str:
        """The next character that is not blank; "" at the end of the file."""
        while True:
            self.at = _blank(self.text, self.at)
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self, wanted: str) -> str:
        """Step over one of the characters ``wanted``."""
        found = self.peek()
        if not found or found not in wanted:
            self.fail("expected " + " or ".join(wanted), cut=not found)
        self.at += 1
        return found

    def value(self, decoder: json.JSONDecoder) -> Any:
        """The value that starts at the next character."""
        if not self.peek():
            self.fail("expected a value", cut=True)
        while True:
            try:
                value, end = decoder.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                ahead = error.pos - self.at  # more() moves the text
                cut = _may_be_cut(error, len(self.text))
                if not (cut and self.more()):
                    self.at += ahead
                    self.fail(error.msg, cut=cut)
            except (ValueError, RecursionError) as error:
                raise _unreadable(self.where(self.at), error) from None
            else:
                length = end - self.at
                # A number at the end of the text, "7" or "7e+", may go on in the next piece.
                if end < len(self.text) - _NUMBER_TAIL or not self.more():
                    break
        end = self.at + length
        if decoder is STRICT and _is_deep(value, self.text, self.at, end):
            raise _too_deep(self.where(self.at))
        self.at = end
        return value

    def fail(self, what: str, *, cut: bool) -> NoReturn:
        """Stop at the current place."""
        remedy = (
            "the file ends in the middle (a run that was cut off?): write it again"
            if cut
            else "repair the file or write it again"
        )
        raise InputError(f"{self.where(self.at)}: not complete JSON ({what}); {remedy}")


def _walk(
    cursor: _Cursor, steps: tuple[str, ...], fields: dict[str, Any], elements: json.JSONDecoder
) -> Iterator[Any]:
    """Yield the array's elements, and put everything beside it into ``fields``."""
    if steps and cursor.peek() != "{":
        found = "a list" if cursor.peek() == "[" else "no object"
        cursor.fail(f"expected {{, an object with {steps[0]!r}, found {found}", cut=False)
    yield from _inside(cursor, steps, fields, elements)
    if cursor.peek():
        cursor.fail("more text after the document", cut=False)


def _inside(
    cursor: _Cursor, steps: tuple[str, ...], fields: dict[str, Any], elements: json.JSONDecoder
) -> Iterator[Any]:
    if not steps:
        yield from _array(cursor, elements)
        return
    step, further = steps[0], steps[1:]
    for key in _keys(cursor):
        if key == step and cursor.peek() == ("{" if further else "["):
            inner = fields
            if further:
                inner = fields[key] = {}
            yield from _inside(cursor, further, inner, elements)
        else:
            fields[key] = cursor.value(STRICT)


def _array(cursor: _Cursor, elements: json.JSONDecoder) -> Iterator[Any]:
    cursor.take("[")
    if cursor.peek() == "]":
        cursor.take("]")
        return
    while True:
        yield cursor.value(elements)
        if cursor.take(",]") == "]":
            return


def _keys(cursor: _Cursor) -> Iterator[str]:
    """The keys of an object; whoever asks for the next one has taken the value."""
    cursor.take("{")
    if cursor.peek() == "}":
        cursor.take("}")
        return
    seen: set[str] = set()
    while True:
        if cursor.peek() != '"':
            cursor.fail("expected a key in double quotes", cut=not cursor.peek())
        key = cast("str", cursor.value(STRICT))
        if key in seen:
            raise InputError(
                f"{cursor.where(cursor.at)}: key {key!r} occurs twice in one object; keep one of "
                "them"
            )
        seen.add(key)
        cursor.take(":")
        yield key
        if cursor.take(",}") == "}":
            return


def _head(raw: BinaryIO, path: str) -> bytes:
    head = opening.read_head(raw, path)
    opening.refuse_foreign(head, path)
    if head.startswith(_UNICODE_BOMS):
        raise InputError(
            f"{path}: is encoded as UTF-16 or UTF-32 (its byte-order mark says so), and JSON is "
            "UTF-8; convert it (for example with: iconv -f UTF-16 -t UTF-8)"
        )
    return head


def _pieces(raw: BinaryIO, path: str, context: Context | None) -> Iterator[str]:
    """The decoded text of a document in pieces; ``context`` is given its bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    data = _head(raw, path)
    if not data:
        raise InputError(f"{path}: the file is empty; it needs a JSON document")
    line = 1
    first = True
    while True:
        if context is not None:
            context.hasher.update(data)
        if (nul := data.find(b"\0")) >= 0:
            line += data.count(b"\n", 0, nul)
            raise InputError(
                f"{path} line {line}: holds a NUL byte, so this is not JSON text; write it again"
            )
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            # The error's bytes begin with what was left of the piece before, which ends no line.
            number = line + error.object.count(b"\n", 0, error.start)
            raise _not_utf8(f"{path} line {number}", error.object[error.start]) from None
        yield text.removeprefix("\ufeff") if first else text
        first = False
        if not data:
            return
        line += data.count(b"\n")
        try:
            data = raw.read(_PIECE) or b""
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error})") from None


def _utf8(line: bytes, path: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(f"{path} line {number}", line[error.start]) from None


def _not_utf8(where: str, byte: int) -> InputError:
    return InputError(
        f"{where}: byte 0x{byte:02x} is not UTF-8, and JSON is UTF-8; convert the file (for "
        "example with: iconv -f latin1 -t UTF-8)"
    )


def _unreadable(where: str, error: Exception) -> InputError:
    """What the decoder gives up on without calling it bad JSON."""
    if isinstance(error, RepeatedKey):
        return InputError(f"{where}: {error}; keep one of them")
    if isinstance(error, RecursionError):
        return _too_deep(where)
    return InputError(f"{where}: cannot be read as JSON ({error}); repair it")


def _too_deep(where: str) -> InputError:
    return InputError(
        f"{where}: lists or objects nested more than {MAX_DEPTH} deep; no log is: remove the field"
    )


def _is_deep(value: object, text: str, start: int, end: int) -> bool:
    """Whether a value nests so deeply that it would exhaust whoever walks it."""
    if text.count("[", start, end) + text.count("{", start, end) <= MAX_DEPTH:
        return False
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (
                cast("dict[str, Any]", parent).values()
                if isinstance(parent, dict)
                else cast("list[Any]", parent)
            )
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def _may_be_cut(error: json.JSONDecodeError, length: int) -> bool:
    """Whether an error may only mean that the text ends too early."""
    return error.pos >= length - _CUT or error.msg.startswith("Unterminated string")


def _blank(text: str, at: int) -> int:
    """Where blanks that start at ``at`` end."""
    found = _BLANK.match(text, at)
    return at if found is None else found.end()
