"""The command line ``janus-jax``.

Exit status: 0 the command ran, whatever it found; 2 wrong usage or input; 3 the named backend
cannot run here; 4 another process of a shared run was lost; 130 interrupted. Heavy modules are
imported when a command needs them, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from janus_jax import __version__
from janus_jax.commands import (
    audit,
    backends,
    plan,
    power,
    propose,
    replay,
    report,
    reproduce,
    sensitivity,
)
from janus_jax.commands.common import INTERRUPTED, PROGRAM, Once, complain, failure
from janus_jax.errors import InputError, JanusError
from janus_jax.files import writing
from janus_jax.output import discard, usable_streams

_COMMANDS = (audit, plan, propose, replay, power, sensitivity, report, reproduce, backends)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    with usable_streams():
        return _main(list(sys.argv[1:] if argv is None else argv))


def _main(arguments: Sequence[str]) -> int:
    try:
        options = _parser().parse_args(arguments)
        with warnings.catch_warnings():
            # What a library warns of (a device out of memory, say) is said the way we say things.
            warnings.showwarning = _warn
            return options.handler(options, arguments)
    except (JanusError, KeyboardInterrupt) as error:
        return failure(error)
    except BrokenPipeError:
        # The reader of our output went away (`| head`); say nothing more, also at exit.
        discard(sys.stdout)
        return 0
    except SystemExit as stop:  # argparse printed help or the version
        return int(stop.code or 0)


def run() -> NoReturn:
    """The program: :func:`main`, and a way out that an interrupted JAX survives."""
    status = main()
    if status == INTERRUPTED and "jax" in sys.modules:
        # Threads of its runtime may be in mid-computation; taking the interpreter apart under them
        # crashes it. Everything that was to be kept is on disk.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(_flushed(status))


def _flushed(status: int) -> int:
    """The exit status once standard output holds everything, or has lost it for good.

    What a full device refused may still be in a buffer, and would fail again as the interpreter
    ends: with an exit status of its own.
    """
    try:
        with writing("standard output"):
            if sys.stdout:
                sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except InputError as error:
        discard(sys.stdout)
        return status or failure(error)
    return status


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    complain("warning", str(message))


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.register("action", None, Once)

    def error(self, message: str) -> NoReturn:
        command = f"{PROGRAM} COMMAND" if self.prog == PROGRAM else self.prog
        raise InputError(f"{message}; see {command} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        allow_abbrev=False,
        description="Where a language model's errors really concentrate.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
    return parser


if __name__ == "__main__":
    run()
