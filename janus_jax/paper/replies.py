"""Replies of a real model to the packets: JSON Lines in, one reply per packet out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from janus_jax.errors import InputError
from janus_jax.paper.packets import Packet


def read_replies(path: str | Path, made: Sequence[Packet]) -> list[str]:
    """Read one reply per packet, in the packets' order.

    Parameters
    ----------
    path
        JSON Lines with ``id`` (a packet's) and ``reply`` (text); other fields are ignored, and so
        are blank lines.
    made
        The packets that were answered.

    Raises
    ------
    InputError
        The file cannot be read, a line is not such an object, or a packet has no reply or two.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read --replies {path}: {error}") from error
    wanted = {packet.id for packet in made}
    replies: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            name, reply = _parsed(line, f"{path}, line {number}")
            if name not in wanted:
                raise InputError(
                    f"{path}, line {number}: {name!r} is no packet's id; --packets FILE writes "
                    "those that are asked"
                )
            if name in replies:
                raise InputError(f"{path}, line {number}: a second reply to {name!r}; keep one")
            replies[name] = reply
    absent = [packet.id for packet in made if packet.id not in replies]
    if absent:
        raise InputError(
            f"{path} has no reply to {len(absent)} of {len(made)} packets, the first {absent[0]!r}"
        )
    return [replies[packet.id] for packet in made]


def _parsed(line: str, where: str) -> tuple[str, str]:
    try:
        value: object = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{where}: not a JSON object: {error}") from error
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    name, reply = fields.get("id"), fields.get("reply")
    if not isinstance(name, str) or not isinstance(reply, str):
        raise InputError(f'{where}: expected {{"id": "...", "reply": "..."}}, both text')
    return name, reply
