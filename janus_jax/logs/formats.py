"""Which log format a path holds, by its content, and all of its attempts as one table."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final, cast

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Context, Format, Probe
from janus_jax.logs.choose import Choices, choose
from janus_jax.logs.companions import companion
from janus_jax.logs.gather import Gathered, NoAttempts
from janus_jax.logs.names import LOG_FORMATS, MODULES
from janus_jax.logs.tabulate import tabulate
from janus_jax.readers import opening
from janus_jax.table import Table

TABLE: Final = "table"
"""What ``--format`` takes for a file that is no log, whatever it looks like."""

_DEEPEST: Final = 32  # folders below the one named
_SHOWN: Final = 5  # files listed in a note before "..."
_ZIP: Final = b"PK\x03\x04"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_TABLES: Final = (".csv", ".tsv", ".tab", ".parquet", ".pq")
"""Endings of files that nobody takes for a log."""


@dataclass(frozen=True, slots=True)
class Logs:
    """Logs of one format.

    Attributes
    ----------
    form
        The format.
    paths
        Log files, and folders that are one log, in the order in which they are read.
    below
        Those that were found in a folder, not named themselves.
    notes
        What was found beside them in the folders named.
    """

    form: Format
    paths: tuple[str, ...]
    below: frozenset[str]
    notes: tuple[str, ...]


def find_logs(paths: Sequence[str], wanted: str | None) -> Logs | None:
    """The format of these paths and every log in them; None when they are tables.

    Parameters
    ----------
    paths
        Files and folders, as the user named them.
    wanted
        A format's name, ``table``, or None to recognise it.

    Raises
    ------
    InputError
        Formats are mixed, logs stand beside tables, a folder holds no log or cannot be listed, or a
        log is named twice.
    """
    if wanted == TABLE:
        return None
    if wanted is not None and wanted not in MODULES:
        raise InputError(f"--format {wanted!r} is not one of {', '.join((*LOG_FORMATS, TABLE))}")
    formats = [_load(name) for name in ([wanted] if wanted else LOG_FORMATS)]
    found: dict[str, Format | None] = {}
    notes: list[str] = []
    for path in paths:
        below = _below(path, formats, wanted, notes)
        _refuse_repeats(found, below)
        found |= below
    kinds = {form.NAME: form for form in found.values() if form is not None}
    if not kinds:
        return None
    tables = [path for path, form in found.items() if form is None]
    if tables or len(kinds) > 1:
        first = next(path for path, form in found.items() if form is not None)
        second = next((p for p, f in found.items() if f and f is not found[first]), None)
        others = (
            f"in {tables[0]} no log is recognised"
            if tables
            else f"{second} one of {_name(found[cast(str, second)])}"
        )
        raise InputError(
            f"{first} is a log of {_name(found[first])} and {others}; audit files of one kind at a "
            "time"
        )
    (form,) = kinds.values()
    return Logs(form, tuple(found), frozenset(found).difference(paths), tuple(notes))


def belongs_to_a_log(paths: Iterable[str], *, named_outcome: bool) -> str | None:
    """Which of these files belongs to a log and is none, and what to name in its place.

    Parameters
    ----------
    paths
        Files in which no log was recognised.
    named_outcome
        A column is named as the outcome, so that they may be tables.
    """
    for path in paths:
        probe = _probe(path)
        says = probe and companion(probe.head, named_outcome=named_outcome)
        if says:
            return f"{path} {says}"
    return None


def unrecognised(paths: Iterable[str]) -> str | None:
    """Why the first of these paths that may have been meant as a log is none.

    Raises
    ------
    InputError
        There is no such file, it is empty, damaged, compressed, or not UTF-8.
    """
    doubtful = (path for path in paths if not path.lower().endswith(_TABLES))
    path = next(doubtful, None)
    if path is None:
        return None
    if not os.path.exists(path):
        raise InputError(f"{path}: no such file; check the name and the folder")
    probe = _probe(path)
    if probe is None:
        return f"{path}: no evaluation log is looked for in a pipe (save it to a file for that)"
    if not probe.head:
        raise InputError(f"{path}: the file is empty; a run that was cut off leaves such a log")
    if probe.head.startswith(_ZIP) and not probe.members:
        raise InputError(
            f"{path}: is a zip archive that is cut off or damaged, as a run that was stopped or a "
            "copy that was interrupted leaves it; copy it again"
        )
    opening.refuse_foreign(probe.head, path)
    if probe.head.startswith(_UTF16):
        raise InputError(
            f"{path}: is encoded as UTF-16, and logs are UTF-8; write it again (for example with: "
            "iconv -f utf-16 -t utf-8), or name the outcome of a table with --encoding utf-16"
        )
    what = f"{path}: no evaluation log is recognised in it ({', '.join(LOG_FORMATS)})"
    if probe.head.lstrip().startswith(b"[") or probe.head.startswith((b"{\n", b"{\r\n")):
        what += (
            ", and as one JSON document it is no table: write one object a line (for example with: "
            "jq -c '.[]')"
        )
    return what


def read_logs(logs: Logs, choices: Choices) -> Table:
    """Read all attempts and make the table of those that are chosen.

    A log without attempts that was found in a folder with others is no source, and noted.

    Raises
    ------
    InputError
        A log cannot be read in full and without doubt, none holds an attempt, or a choice is left.
    """
    form, paths = logs.form, logs.paths
    hasher = hashlib.sha256()
    context = Context(hasher, list(logs.notes))
    gathered = Gathered(choices.texts)
    sources: list[str] = []
    empty: list[NoAttempts] = []
    for path in paths:
        before = hasher.copy()
        try:
            for attempt in form.read(path, context):
                gathered.add(attempt, len(sources))
        except NoAttempts as error:
            if path not in logs.below:
                raise
            empty.append(error)
            context.note(f"{error.what}: left out")
            hasher = context.hasher = before  # it decides nothing of what is read
        else:
            sources.append(path)
    if empty and not gathered.n:
        raise empty[0]
    named = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    if not gathered.n:
        raise InputError(f"{named}: the log holds no attempt; nothing can be audited")
    absent = [name for name in choices.texts if name not in gathered.texts]
    if absent:
        raise InputError(
            f"--text-features {absent[0]}: the log has no such text; it has "
            f"{', '.join(gathered.texts) or 'none'}"
        )
    chosen = choose(gathered, choices, named, form.OUTCOME_OPTION)
    return tabulate(
        gathered,
        chosen,
        choices,
        format=form.NAME,
        sources=sources,
        sha256=hasher.hexdigest(),
        notes=context.notes,
    )


def _load(name: str) -> Format:
    return import_module(f"janus_jax.logs.{MODULES[name]}").FORMAT


def _name(form: Format | None) -> str:
    return form.NAME if form else TABLE


def _refuse_repeats(found: Mapping[str, object], below: Mapping[str, object]) -> None:
    """Stop where a path is named twice, or once by itself and once by a folder that is a log."""
    before = {os.path.realpath(path): path for path in found}
    for path in below:
        real = os.path.realpath(path)
        for other, named in before.items():
            if real == other or _is_inside(real, other) or _is_inside(other, real):
                raise InputError(
                    f"{path}: is the same as (or part of) {named}, named before; its attempts "
                    "would count twice. Name it once."
                )


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _below(
    path: str, formats: Sequence[Format], wanted: str | None, notes: list[str]
) -> dict[str, Format | None]:
    """The logs of a path: itself, or those in the folder that it is."""
    form = _recognised(path, formats)
    if form is None and wanted and not os.path.isdir(path):
        form = formats[0]  # --format overrides; the reader says what is wrong with it
    if form is not None or not os.path.isdir(path):
        return {path: form}
    found: dict[str, Format] = {}
    others: list[str] = []
    deeper: list[str] = []
    for name, one in _search(path, formats, _DEEPEST, deeper):
        if one is None:
            others.append(name)
        else:
            found[name] = one
    real = {os.path.realpath(name): name for name in found if not os.path.islink(name)}
    kept = {n: f for n, f in found.items() if real.setdefault(os.path.realpath(n), n) == n}
    if not kept:
        says = belongs_to_a_log(others, named_outcome=True)
        raise InputError(
            f"{path}: is a directory without an evaluation log that is recognised "
            f"({', '.join(LOG_FORMATS)}), {_DEEPEST} folders deep; "
            f"{says or 'name files in it, or --format NAME'}"
        )
    if others:
        shown = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
        files = "1 other file" if len(others) == 1 else f"{len(others)} other files"
        notes.append(f"{path}: {files} in it hold no attempts: {shown}")
    if deeper:
        folders = "1 folder is" if len(deeper) == 1 else f"{len(deeper)} folders are"
        notes.append(
            f"{path}: {folders} more than {_DEEPEST} folders deep and not searched, the first "
            f"{deeper[0]}"
        )
    return dict(kept)


def _search(
    folder: str, formats: Sequence[Format], levels: int, deeper: list[str]
) -> Iterator[tuple[str, Format | None]]:
    """Every file below a folder with its format, by name; folders that are a log are not entered.

    Nor are links to folders followed. Folders below the last of the levels go to ``deeper``.
    """
    for name in _listed(folder):
        path = os.path.join(folder, name)
        form = _recognised(path, formats)
        if form is not None or os.path.isfile(path):
            yield path, form
        elif os.path.isdir(path) and not os.path.islink(path):
            if levels:
                yield from _search(path, formats, levels - 1, deeper)
            else:
                deeper.append(path)


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be listed ({error.strerror}); change its permissions, or name files"
        ) from None


def _recognised(path: str, formats: Sequence[Format]) -> Format | None:
    probe = _probe(path)
    if probe is None:
        return None
    return next((form for form in formats if form.recognises(probe)), None)


def _probe(path: str) -> Probe | None:
    """What is known of a path before it is read; None when that is nothing."""
    if os.path.isdir(path):
        return Probe(path, b"", frozenset(_listed(path)))
    if not os.path.isfile(path):
        return None  # a pipe can be read only once; a missing file is refused by who opens it
    with opening.open_binary(path) as raw:
        head = opening.read_head(raw, path)
    members: frozenset[str] = frozenset()
    if head.startswith(_ZIP):
        try:
            with zipfile.ZipFile(path) as archive:
                members = frozenset(archive.namelist())
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            members = frozenset()
    return Probe(path, head.removeprefix(b"\xef\xbb\xbf"), members)
