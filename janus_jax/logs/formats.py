"""Which log format a path holds, by its content, and all of its attempts as one table."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Sequence
from importlib import import_module
from typing import Final, cast

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Context, Format, Probe
from janus_jax.logs.choose import Choices, choose
from janus_jax.logs.gather import Gathered
from janus_jax.logs.names import LOG_FORMATS, MODULES
from janus_jax.logs.tabulate import tabulate
from janus_jax.readers import opening
from janus_jax.table import Table

TABLE: Final = "table"
"""What ``--format`` takes for a file that is no log, whatever it looks like."""

_DEEPEST: Final = 6  # folders below the one named


def find_logs(paths: Sequence[str], wanted: str | None) -> tuple[Format, list[str]] | None:
    """The format of these paths and every log file or folder in them; None when they are tables.

    Parameters
    ----------
    paths
        Files and folders, as the user named them.
    wanted
        A format's name, ``table``, or None to recognise it.

    Raises
    ------
    InputError
        Formats are mixed, logs stand beside tables, or a folder holds no log.
    """
    if wanted == TABLE:
        return None
    if wanted is not None and wanted not in MODULES:
        raise InputError(f"--format {wanted!r} is not one of {', '.join((*LOG_FORMATS, TABLE))}")
    formats = [_load(name) for name in ([wanted] if wanted else LOG_FORMATS)]
    found: dict[str, Format | None] = {}
    for path in paths:
        found |= _below(path, formats, wanted)
    kinds = {form.NAME: form for form in found.values() if form is not None}
    if not kinds:
        return None
    tables = [path for path, form in found.items() if form is None]
    if tables or len(kinds) > 1:
        others = f"{tables[0]} is an ordinary table" if tables else ""
        first = next(path for path, form in found.items() if form is not None)
        second = next((p for p, f in found.items() if f and f is not found[first]), None)
        raise InputError(
            f"{first} is a log of {_name(found[first])} and "
            f"{others or f'{second} one of {_name(found[cast(str, second)])}'}; audit files of one "
            "kind at a time"
        )
    (form,) = kinds.values()
    return form, list(found)


def read_logs(form: Format, paths: Sequence[str], choices: Choices) -> Table:
    """Read all attempts and make the table of those that are chosen."""
    hasher = hashlib.sha256()
    context = Context(hasher)
    gathered = Gathered(choices.texts)
    for number, path in enumerate(paths):
        for attempt in form.read(path, context):
            gathered.add(attempt, number)
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
        format=form.NAME,
        sources=paths,
        sha256=hasher.hexdigest(),
        notes=context.notes,
    )


def _load(name: str) -> Format:
    return import_module(f"janus_jax.logs.{MODULES[name]}").FORMAT


def _name(form: Format | None) -> str:
    return form.NAME if form else TABLE


def _below(path: str, formats: Sequence[Format], wanted: str | None) -> dict[str, Format | None]:
    """The logs of a path: itself, or those in the folder that it is."""
    form = _recognised(path, formats, wanted)
    if form is None and wanted and not os.path.isdir(path):
        form = formats[0]  # --format overrides; the reader says what is wrong with it
    if form is not None or not os.path.isdir(path):
        return {path: form}
    found: dict[str, Format | None] = {}
    _search(path, formats, wanted, _DEEPEST, found)
    if not found:
        raise InputError(
            f"{path}: is a directory without an evaluation log that is recognised "
            f"({', '.join(LOG_FORMATS)}); name files in it, or --format NAME"
        )
    return found


def _search(
    folder: str,
    formats: Sequence[Format],
    wanted: str | None,
    levels: int,
    found: dict[str, Format | None],
) -> None:
    """Find the logs below a folder, by name; not inside a folder that is one, nor behind links."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        form = _recognised(entry.path, formats, wanted)
        if form is not None:
            found[entry.path] = form
        elif levels and entry.is_dir(follow_symlinks=False):
            _search(entry.path, formats, wanted, levels - 1, found)


def _recognised(path: str, formats: Sequence[Format], wanted: str | None) -> Format | None:
    probe = _probe(path)
    if probe is None:
        return None
    return next((form for form in formats if form.recognises(probe)), None)


def _probe(path: str) -> Probe | None:
    """What is known of a path before it is read; None when that is nothing."""
    if os.path.isdir(path):
        return Probe(path, b"", frozenset(os.listdir(path)))
    if not os.path.isfile(path):
        return None  # a pipe can be read only once; a missing file is refused by who opens it
    with opening.open_binary(path) as raw:
        head = opening.read_head(raw, path)
    members: frozenset[str] = frozenset()
    if head.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(path) as archive:
                members = frozenset(archive.namelist())
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            members = frozenset()
    return Probe(path, head.removeprefix(b"\xef\xbb\xbf"), members)
