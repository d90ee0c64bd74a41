"""Which reader a source needs: by its extension, else by its first bytes."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, cast

from janus_jax.errors import InputError
from janus_jax.readers import opening
from janus_jax.readers.combine import combine
from janus_jax.readers.delimited import check_delimiter, read_delimited
from janus_jax.readers.json_lines import read_json_lines
from janus_jax.readers.opening import Hasher, TextFile
from janus_jax.readers.part import Part, content_hash
from janus_jax.table import Table

Path: TypeAlias = str | os.PathLike[str]
_Format: TypeAlias = Literal["csv", "tsv", "jsonl", "parquet"]

_EXTENSIONS: dict[str, _Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_PARQUET = b"PAR1"


def read(source: Any, *, delimiter: str | None = None, encoding: str = "utf-8") -> Table:
    r"""Read a table, whatever it comes as.

    Parameters
    ----------
    source
        A file (CSV, TSV, Parquet or JSON Lines, by its extension, else by its content); several
        files, put together in the order given; a pandas DataFrame; or any table with
        ``__arrow_c_stream__`` (polars, pyarrow).
    delimiter
        What separates the fields of CSV files; default ``,`` (a tab for ``.tsv``). ``\t`` and
        ``tab`` may be written out.
    encoding
        Of text files. A UTF-8 byte-order mark is taken off.

    Returns
    -------
    Table
        Columns of text are verbatim: nothing is guessed, and only blank cells are missing.

    Raises
    ------
    InputError
        When a source cannot be read in full and without doubt; the message names the file, the line
        and the remedy.
    """
    if isinstance(source, (str, os.PathLike)):
        return _read_files([cast("Path", source)], delimiter, encoding)
    if _is_frame(source):
        from janus_jax.readers.frame import read_frame

        part = read_frame(source)
        return combine([part], content_hash(part.columns.values()))
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        from janus_jax.readers.arrow import read_stream

        part = read_stream(source)
        return combine([part], content_hash(part.columns.values()))
    if isinstance(source, Iterable) and not isinstance(source, (bytes, dict)):
        paths = list(cast("Iterable[Any]", source))
        if all(isinstance(path, (str, os.PathLike)) for path in paths):
            return _read_files(paths, delimiter, encoding)
    kind = type(cast("object", source)).__name__
    remedy = ", made with .collect()" if kind == "LazyFrame" else ""
    raise InputError(
        f"a {kind} cannot be read; give a path, several paths, a pandas DataFrame (pd.DataFrame of "
        f"a dict or list) or an Arrow table (polars, pyarrow{remedy})"
    )


def _is_frame(source: object) -> bool:
    # If it is a DataFrame, pandas has been imported; if pandas has not, it is none.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def _read_files(paths: Sequence[Path], delimiter: str | None, encoding: str) -> Table:
    names = [os.fsdecode(path) for path in paths]
    if not names:
        raise InputError("no file was named; name at least one")
    _refuse_repeats(names)
    encoding = opening.check_encoding(encoding)
    if delimiter is not None:
        delimiter = check_delimiter(delimiter)
    hasher = hashlib.sha256()
    parts = [_read_file(name, delimiter, encoding, hasher) for name in names]
    return combine(parts, hasher.hexdigest())


def _refuse_repeats(names: list[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        real = os.path.realpath(name)
        if real in seen:
            raise InputError(
                f"{name}: is the same file as {seen[real]}, named before; its rows would count "
                "twice. Name it once."
            )
        seen[real] = name


def _read_file(path: str, delimiter: str | None, encoding: str, hasher: Hasher) -> Part:
    with opening.open_binary(path) as raw:
        head = opening.read_head(raw, path)
        form = _format(path, head)
        if form == "parquet":
            _hash_rest(raw, head, hasher)
            from janus_jax.readers.arrow import read_parquet

            return read_parquet(path)
        newline = "\n" if form == "jsonl" else ""
        file = TextFile(raw, head, path, encoding=encoding, hasher=hasher, newline=newline)
        if form == "jsonl":
            return read_json_lines(file)
        default = "\t" if form == "tsv" else ","
        return read_delimited(file, delimiter or default, chosen=delimiter is not None)


def _hash_rest(raw: Any, head: bytes, hasher: Hasher) -> None:
    hasher.update(head)
    while piece := raw.read(2**20):
        hasher.update(piece)


def _format(path: str, head: bytes) -> _Format:
    named = _EXTENSIONS.get(os.path.splitext(path)[1].lower())
    if not head:
        raise InputError(f"{path}: the file is empty; it needs a header and rows")
    opening.refuse_foreign(head, path)
    is_parquet = head.startswith(_PARQUET)
    if named == "parquet" and not is_parquet:
        raise InputError(
            f"{path}: is not Parquet, whatever its name says; give it the extension of its format"
        )
    if named in ("csv", "tsv", "jsonl") and is_parquet:
        raise InputError(f"{path}: holds Parquet; rename it to end in .parquet")
    if named is not None:
        return named
    if is_parquet:
        return "parquet"
    return "jsonl" if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else "csv"
