"""The folders of several audits within one: their names, and those of an earlier run."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from janus_jax.files import RESULT_FILES, is_ours, writing

COMPARISON = "janus-jax/comparison/1"
"""The schema of several models' audit."""


def folder_names(names: Sequence[str]) -> list[str]:
    """A folder for each outcome: its number, and its name as far as any file system takes it.

    Examples
    --------
    >>> folder_names(["gpt-4", "a/b wrong, c right"])
    ['1-gpt-4', '2-a_b_wrong_c_right']
    """
    plain = (re.sub(r"[^A-Za-z0-9.-]+", "_", name).strip("._")[:100] for name in names)
    return [f"{number}-{name}".rstrip("-.") for number, name in enumerate(plain, 1)]


def audited_names(document: dict[str, Any]) -> list[str]:
    """The names of all outcomes that a comparison audited, in the order of their folders."""
    entries = (*document["models"], *document["differences"])
    return [entry["name"] for entry in entries if entry["audit"]]


def former_folders(folder: Path) -> list[Path]:
    """The folders of the audits of the comparison that was written into this folder before."""
    try:
        document = json.loads((folder / "result.json").read_text("utf-8"))
        if cast("dict[str, Any]", document)["schema"] != COMPARISON:
            return []
        return [folder / name for name in folder_names(audited_names(document))]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []  # there is none, or it is no whole one


def remove_former(former: Collection[Path], kept: Collection[Path]) -> None:
    """Remove the results in folders of an earlier run, and the folders if nothing else is there.

    What was not written here stays.
    """
    for folder in former:
        if folder in kept or folder.is_symlink() or not folder.is_dir():
            continue
        with writing(str(folder)):
            for name in RESULT_FILES:
                path = folder / name
                if path.is_file() and not path.is_symlink() and is_ours(path):
                    path.unlink()
        with suppress(OSError):  # something else is in it
            folder.rmdir()
