"""Several processes of one audit: how they meet, and how they leave when one fails."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from janus_jax.commands.common import PROGRAM, failure, whole
from janus_jax.errors import InputError, JanusError

if TYPE_CHECKING:
    from janus_jax.processes import Processes


def add_meeting_options(parser: argparse.ArgumentParser) -> None:
    """Who takes part."""
    group = parser.add_argument_group(
        "several processes (--backend jax; the same command in each; process 0 writes and prints)"
    )
    group.add_argument(
        "--distributed",
        action="store_true",
        help="share the permutations with the other processes of the cluster, found as "
        "jax.distributed.initialize() finds them (Slurm, Open MPI, Kubernetes, Cloud TPU), or as "
        "given by the next three",
    )
    group.add_argument("--coordinator", metavar="HOST:PORT", help="where process 0 listens")
    group.add_argument("--processes", metavar="N", help="how many there are")
    group.add_argument("--process-id", metavar="I", help="which one this is, 0 to N - 1")


@contextmanager
def processes_of(options: argparse.Namespace) -> Generator[Processes]:
    """Meet the other processes, if there are to be any."""
    from janus_jax.processes import ALONE, BACKEND, join, stdout_kept_clean

    given = {
        "--coordinator": options.coordinator,
        "--processes": options.processes,
        "--process-id": options.process_id,
    }
    missing = [option for option, value in given.items() if value is None]
    if len(missing) == len(given) and not options.distributed:
        yield ALONE
        return
    if missing and len(missing) < len(given):
        raise InputError(f"{', '.join(given)} go together; {missing[0]} is missing")
    if options.backend not in ("auto", BACKEND):
        raise InputError(
            f"--distributed works with --backend {BACKEND} only, whose runtime is how the "
            f"processes meet; {options.backend!r} runs in one process"
        )
    count = whole("--processes", options.processes)
    index = whole("--process-id", options.process_id, least=0)
    if count is not None and index is not None and index >= count:
        raise InputError(f"--process-id is {index}, but it must be below --processes {count}")
    if options.coordinator is not None:
        _check_address(options.coordinator)
        print(
            f"{PROGRAM}: process {index} of {count} meets the others at {options.coordinator}",
            file=sys.stderr,
        )
    with stdout_kept_clean():
        processes = join(options.coordinator, count, index)
    try:
        yield processes
    except BaseException as error:
        _leave(error, processes)


def _check_address(text: str) -> None:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdecimal() and 1 <= int(port) <= 65535):
        raise InputError(
            f"--coordinator is {text!r}, but it must be HOST:PORT with a port from 1 to 65535, "
            "for example 127.0.0.1:12345"
        )


def _leave(error: BaseException, processes: Processes) -> NoReturn:
    """Exit at once: an ordinary exit would first wait for processes that may never come."""
    status = failure(error) if isinstance(error, JanusError | KeyboardInterrupt) else 1
    if status == 1:
        traceback.print_exception(error)
    sys.stdout.flush()
    sys.stderr.flush()
    if processes.first:
        time.sleep(0.5)  # without process 0 the others are cut off, perhaps in mid-sentence
    os._exit(status)


@contextmanager
def clean_stdout(processes: Processes) -> Generator[None]:
    from janus_jax.processes import stdout_kept_clean

    if processes.count == 1:
        yield
        return
    with stdout_kept_clean():
        yield
