"""``janus-jax backends``: what can run here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from janus_jax.commands.common import Commands
from janus_jax.files import writing


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "backends",
        allow_abbrev=False,
        help="list the permutation backends, on which device, and why one cannot run",
    )
    parser.set_defaults(handler=_backends)


def _backends(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    from janus_jax.registry import available

    lines: list[str] = []
    for entry in available():
        if entry.description is not None:
            status = f"{entry.description.version} on {entry.description.device}"
        else:
            status = f"cannot run here: {entry.reason}"
        lines.append(f"{entry.name}: {status}  [{entry.origin}]")
    with writing("standard output"):
        print("\n".join(lines), flush=True)
    return 0
