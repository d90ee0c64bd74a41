"""Replies of a real model to the packets: JSON Lines in, one reply per packet out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Context
from janus_jax.logs.json_text import lines
from janus_jax.logs.untyped import mapping
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
        The file cannot be read, a line is not such an object, it replies to another packet (one of
        another seed, say), or a packet has no reply or two.
    """
    name = str(path)
    wanted = {packet.id for packet in made}
    replies: dict[str, str] = {}
    for number, value in lines(name, Context(hashlib.sha256())):
        where = f"{name} line {number}"
        packet, reply = _parsed(value, where)
        if packet not in wanted:
            raise InputError(
                f"{where}: {packet!r} is no packet's id, such as {made[0].id!r}; give the same "
                "--seed as for --packets, which wrote what was asked"
            )
        if packet in replies:
            raise InputError(f"{where}: a second reply to {packet!r}; keep one")
        replies[packet] = reply
    absent = [packet.id for packet in made if packet.id not in replies]
    if absent:
        raise InputError(
            f"{name}: no reply to {len(absent)} of {len(made)} packets, the first {absent[0]!r}; "
            'where the model gave none, write "reply": ""'
        )
    return [replies[packet.id] for packet in made]


def _parsed(value: object, where: str) -> tuple[str, str]:
    fields = mapping(value)
    name, reply = fields.get("id"), fields.get("reply")
    if not isinstance(name, str) or not isinstance(reply, str):
        raise InputError(f'{where}: expected {{"id": "...", "reply": "..."}}, both text')
    return name, reply
