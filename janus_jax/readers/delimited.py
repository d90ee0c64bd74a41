"""CSV and TSV: strict about structure, and verbatim about values.

Nothing is guessed: no number is parsed, no word is taken for missing. Only blank cells are missing.
"""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError
from janus_jax.readers import opening
from janus_jax.readers.opening import TextFile, too_long
from janus_jax.readers.part import Part, column_names, listing, text_column
from janus_jax.table import Column

_CHUNK = 8192  # rows encoded at a time: large enough for C loops, small enough for the cache
_SHOWN = 5  # ragged lines named in one message
_CANDIDATES = (",", ";", "\t", "|")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+", re.ASCII)
_FIELD_LIMIT_LOCK = threading.Lock()


def check_delimiter(delimiter: str) -> str:
    r"""One character; ``\t`` and ``tab`` may be written out, as shells make a real tab awkward."""
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise InputError(
            f"delimiter {delimiter!r} is not one character; use for example --delimiter ';' or "
            r"--delimiter '\t'"
        )
    return delimiter


def read_delimited(file: TextFile, delimiter: str, *, chosen: bool) -> Part:
    """Read a CSV or TSV file.

    Parameters
    ----------
    file
        The open file.
    delimiter
        What separates fields.
    chosen
        Whether the user named the delimiter; if so it is never doubted.

    Raises
    ------
    InputError
        For an empty file, a repeated column name, rows of another length than the header, a quote
        that does not close, another delimiter than the one used, or undecodable bytes.
    """
    records = _Records(file, delimiter)
    with _field_limit():
        try:
            return _read(records, chosen)
        except csv.Error as error:
            raise records.malformed(error) from None
        except UnicodeDecodeError as error:
            raise file.undecodable(error) from None


class _Records:
    """The records of a file, with the lines each one is made of while it is being read."""

    def __init__(self, file: TextFile, delimiter: str) -> None:
        self.file = file
        self.delimiter = delimiter
        self.start = 1
        self.pending: list[str] = []
        self.reader = csv.reader(self._lines(), delimiter=delimiter, strict=True)

    def _lines(self) -> Iterator[str]:
        pending = self.pending
        size = 0
        for line in self.file.text:
            if self.reader.line_num == 0:
                line = line.lstrip("\ufeff")
            # Whoever takes the record empties `pending`; what is in it belongs to the open record.
            size = size + len(line) if pending else len(line)
            pending.append(line)
            if size > opening.MAX_LINE_BYTES:
                raise too_long(self.file.path, self.start, "record" if len(pending) > 1 else "line")
            yield line

    def header(self) -> list[str]:
        for row in self.reader:
            if any(name.strip() for name in row):
                self.next_starts()
                return row
            self.next_starts()
        raise InputError(f"{self.file.path}: the file is empty; it needs a header and rows")

    def next_starts(self) -> None:
        self.pending.clear()
        self.start = self.reader.line_num + 1

    def malformed(self, error: csv.Error) -> InputError:
        """Say in which line the trouble began."""
        path = self.file.path
        opened = _quote_opened(self.pending, self.start, self.delimiter)
        if "field larger" in str(error):
            return too_long(path, self.start, "field")
        if "unexpected end" in str(error):
            return InputError(
                f"{path} line {opened}: a quote opened here is never closed; close it, or "
                'double it if the quote is part of the text ("")'
            )
        line = self.reader.line_num
        return InputError(
            f"{path} line {line}: text follows a closing quote (the quoted field opened in line "
            f'{opened}); double the quotes that are part of the text ("")'
        )


def _read(records: _Records, chosen: bool) -> Part:
    file = records.file
    header = records.header()
    if len(header) == 1 and not chosen:
        _doubt_delimiter(file, records.delimiter, len(header))
    names = column_names(header, file.path)
    encoders = [_Encoder() for _ in names]
    starts: list[NDArray[np.int64]] = []
    ragged: list[tuple[int, int]] = []
    for rows, lines in _chunks(records, len(names), ragged):
        for encoder, values in zip(encoders, zip(*rows, strict=True), strict=True):
            encoder.add(values)
        starts.append(np.array(lines, dtype=np.int64))
    if ragged:
        if not chosen:
            _doubt_delimiter(file, records.delimiter, len(header))
        raise _ragged(file.path, len(names), ragged, records.delimiter)
    if not starts:
        raise InputError(f"{file.path}: has a header but no rows; nothing can be audited")
    lines = np.concatenate(starts)
    columns = {name: encoder.column(name) for name, encoder in zip(names, encoders, strict=True)}
    return Part(file.path, columns, len(lines), lines, "line")


def _chunks(
    records: _Records, width: int, ragged: list[tuple[int, int]]
) -> Iterator[tuple[list[list[str]], list[int]]]:
    """Records of the right width with the lines they start in; the others go to ``ragged``."""
    rows: list[list[str]] = []
    starts: list[int] = []
    reader, pending = records.reader, records.pending
    start = records.start
    for row in reader:
        if len(row) == width:
            rows.append(row)
            starts.append(start)
        elif len(row) > 1 or (row and row[0].strip()):  # else: a blank line
            ragged.append((start, len(row)))
            if len(ragged) == _SHOWN:
                return
        pending.clear()
        records.start = start = reader.line_num + 1
        if len(rows) == _CHUNK:
            yield rows, starts
            rows, starts = [], []
    if rows:
        yield rows, starts


class _Encoder:
    """Dictionary-encodes a column piece by piece."""

    def __init__(self) -> None:
        self.levels: dict[str, int] = {}
        self.pieces: list[NDArray[np.int32]] = []

    def add(self, values: tuple[str, ...]) -> None:
        levels = self.levels
        number = levels.setdefault
        codes = [number(value, len(levels)) for value in values]
        self.pieces.append(np.array(codes, dtype=np.int32))

    def column(self, name: str) -> Column:
        return text_column(name, np.concatenate(self.pieces), self.levels)


def _ragged(path: str, width: int, ragged: list[tuple[int, int]], delimiter: str) -> InputError:
    lines = [line for line, _ in ragged]
    word = "line" if len(lines) == 1 else "lines"
    more = " (and perhaps later ones)" if len(lines) == _SHOWN else ""
    return InputError(
        f"{path} {word} {listing(lines)}{more}: expected {width} fields as in the header, found "
        f"{listing(found for _, found in ragged)}; complete the rows, and quote fields that hold "
        f"{delimiter!r}"
    )


# --- another delimiter ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Guess:
    delimiter: str
    width: int
    decimal_comma: str | None


def _doubt_delimiter(file: TextFile, used: str, width: int) -> None:
    guesses = [_split(file.head_text(), other) for other in _CANDIDATES if other != used]
    found = [guess for guess in guesses if guess is not None]
    if not found:
        return
    best = max(found, key=lambda guess: guess.width)
    columns = "1 column" if width == 1 else f"{width} columns"
    message = (
        f"{file.path}: split at {used!r} the header has {columns}; header looks separated "
        f"by {best.delimiter!r}: use --delimiter {best.delimiter!r}"
    )
    if best.decimal_comma is not None:
        message += (
            f". The decimal mark looks like a comma ({best.decimal_comma!r}): export numbers with "
            "a decimal point, or they are read as text"
        )
    raise InputError(message)


def _split(text: str, delimiter: str) -> _Guess | None:
    """How the beginning of a file falls into columns; None unless every row has as many, over 1."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == 50:
                break
    except csv.Error:
        return None
    width = len(rows[0]) if rows else 0
    if width < 2 or any(len(row) != width for row in rows):
        return None
    comma = next(
        (cell for row in rows[1:] for cell in row if _DECIMAL_COMMA.fullmatch(cell.strip())), None
    )
    return _Guess(delimiter, width, comma)


# --- quotes ---------------------------------------------------------------------------------------


def _quote_opened(lines: list[str], first: int, delimiter: str) -> int:
    """The line in which the last quoted field of an unfinished record opened."""
    opened = first
    quoted = False
    for number, line in enumerate(lines, first):
        at = 0
        while at < len(line):
            if quoted:
                close = line.find('"', at)
                if close < 0:
                    break
                doubled = line.startswith('"', close + 1)
                quoted, at = doubled, close + 1 + doubled
            elif line.startswith('"', at):
                quoted, opened, at = True, number, at + 1
            else:
                after = line.find(delimiter, at)
                if after < 0:
                    break
                at = after + 1
    return opened


@contextmanager
def _field_limit() -> Generator[None]:
    """Allow long fields while a file is read; the module's limit is the whole process's."""
    with _FIELD_LIMIT_LOCK:
        before = csv.field_size_limit(opening.MAX_LINE_BYTES)
        try:
            yield
        finally:
            csv.field_size_limit(before)
