"""Ctrl-C, SIGTERM and SIGHUP: a run that is asked to stop ends its call and keeps its sums."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

# Closing the terminal hangs up; Windows knows no such signal.
_ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
SIGNALS: Final = (signal.SIGINT, *_ENDING)


class Interrupted(KeyboardInterrupt):
    """A run was asked to stop; the message says what is kept and how to go on."""


@contextmanager
def noted() -> Generator[Callable[[], bool]]:
    """Within, the first SIGINT, SIGTERM or SIGHUP is only noted: ask the value whether one came.

    A second one interrupts at once. Handlers are set when the block is entered, since
    ``jax.distributed`` installs its own. Off the main thread, where Python allows no handlers,
    nothing changes.
    """
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    with _handling(note, SIGNALS):
        yield lambda: came


@contextmanager
def terminable(lost: str | None = None) -> Generator[None]:
    """Within, SIGTERM and SIGHUP do what Ctrl-C does: they raise KeyboardInterrupt.

    ``lost`` is what to say to who interrupts, where nothing better is said: it comes out as
    :class:`Interrupted`.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handling(stop, _ENDING):
        try:
            yield
        except KeyboardInterrupt as error:
            if lost is None or str(error):
                raise
            raise Interrupted(lost) from None


@contextmanager
def _handling(
    handler: Callable[[int, FrameType | None], None], signals: tuple[signal.Signals, ...]
) -> Generator[None]:
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in signals:
            # What is ignored (a background job's Ctrl-C) stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous in before.items():
            # None stands for a handler that was not Python's and cannot be put back.
            signal.signal(number, signal.SIG_DFL if previous is None else previous)
