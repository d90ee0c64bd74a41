"""Files that stand beside a log and say what it leaves out."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Any, Final

from janus_jax.errors import InputError
from janus_jax.logs import json_text
from janus_jax.logs.attempt import Context
from janus_jax.logs.untyped import is_object
from janus_jax.readers import opening

MAX_BYTES: Final = 64 * 2**20
"""Beyond this a file beside a log is not read: honest ones have a few hundred kilobytes."""


def names(path: str) -> list[str]:
    """Names in the folder of a file, sorted; none where the folder cannot be listed."""
    try:
        return sorted(os.listdir(os.path.dirname(path) or "."))
    except OSError:
        return []


def neighbour(path: str, name: str) -> str:
    """The path of a file in the same folder; ``name`` holds no folder."""
    return os.path.join(os.path.dirname(path), name)


def read_object(path: str, context: Context) -> dict[str, Any]:
    """A JSON object of moderate size; its bytes go to ``context.hasher``.

    Raises
    ------
    InputError
        For a file that cannot be opened, holds no JSON object, or is larger than 64 MiB.
    """
    raw = opening.open_binary(path)
    with closing(raw):
        data = bytearray()
        try:
            while len(data) <= MAX_BYTES and (piece := raw.read(2**20)):
                data += piece
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error})") from None
    opening.refuse_foreign(bytes(data[: opening.HEAD_BYTES]), path)
    if len(data) > MAX_BYTES:
        raise InputError(
            f"{path}: larger than {MAX_BYTES // 2**20} MiB, so it is not what its name says; move "
            "it out of the log's folder"
        )
    context.hasher.update(bytes(data))
    value: object = json_text.parse(bytes(data), path)
    if not is_object(value):
        raise InputError(f"{path}: no JSON object; repair it, or move it out of the log's folder")
    return value
