"""How far a long run is, on standard error: a bar in a terminal, lines in a log.

Nothing appears for work that is done within two seconds, and nothing ever on standard output.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TextIO

Progress = Callable[[int, int], None]
"""Called with what is done and wanted: once at the start, then after each call of a backend
(about twice a second)."""

QUIET_FOR: Final = 2.0
"""Seconds before anything is shown."""
LINE_EVERY: Final = 10.0
"""Seconds between two lines of a log."""


class Pace:
    """The rate of a run and the time it still needs.

    What an earlier run had done does not count for the rate, nor does the first call of the backend
    once there is a second one: it may have compiled.

    Parameters
    ----------
    clock
        Seconds from any fixed moment.
    what
        What is counted, in the plural.
    searching
        Whether nobody knows beforehand how many there will be. A run whose total changes on the way
        turns out to be such a one.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        what: str = "permutations",
        *,
        searching: bool = False,
    ) -> None:
        self._clock = clock
        self._what = what
        self._reports = 0
        self._total: int | None = None
        self._known = not searching
        self._start = self._first_call = self._now = (clock(), 0)

    def report(self, done: int, total: int) -> None:
        """Note that ``done`` of ``total`` are done by now."""
        self._now = (self._clock(), done)
        self._known = self._known and self._total in (None, total)
        self._total = total
        self._reports += 1
        if self._reports == 1:
            self._start = self._now
        if self._reports == 2:
            self._first_call = self._now

    @property
    def elapsed(self) -> float:
        """Seconds since the first report."""
        return self._now[0] - self._start[0]

    @property
    def rate(self) -> float | None:
        """How many a second; None before there is anything to tell it from."""
        since = self._start if self._reports <= 2 else self._first_call
        seconds, done = self._now[0] - since[0], self._now[1] - since[1]
        return done / seconds if seconds > 0 and done > 0 else None

    @property
    def total(self) -> int | None:
        """How many are wanted in all; None where that is not known."""
        return self._total if self._known else None

    def words(self) -> str:
        """One line: done, wanted, rate, time left; only what is known."""
        done, total, rate = self._now[1], self.total, self.rate
        if total is None:
            text = f"{done:,} {self._what} so far"
        else:
            text = f"{done:,} of {total:,} {self._what} ({100 * done // max(total, 1)}%)"
        if rate is None:
            return text
        text += f", {rate:,.0f} a second" if rate >= 10 else f", {rate:.2g} a second"
        return text if total is None else f"{text}, {duration((total - done) / rate)} left"


def duration(seconds: float) -> str:
    """A length of time for people.

    Examples
    --------
    >>> duration(8.2), duration(75), duration(7300)
    ('9 s', '1 min 15 s', '2 h 1 min')
    """
    whole = max(0, -int(-seconds // 1))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def lines(stream: TextIO, prefix: str, pace: Pace) -> Progress:
    """Report to a log: a line after two seconds, then one about every ten."""
    due = QUIET_FOR

    def show(done: int, total: int) -> None:
        nonlocal due
        pace.report(done, total)
        if done < total and pace.elapsed >= due:
            due = pace.elapsed + LINE_EVERY
            print(f"{prefix}: {pace.words()}", file=stream, flush=True)

    return show


@contextmanager
def bar(stream: TextIO, pace: Pace) -> Generator[Progress]:
    """Report to a terminal: a bar that appears after two seconds and leaves nothing behind."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    shown = Progress(
        BarColumn(),
        TextColumn("{task.description}"),
        console=Console(file=stream),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    task = shown.add_task("", total=None)

    def show(done: int, total: int) -> None:
        pace.report(done, total)
        if pace.elapsed < QUIET_FOR:
            return
        if pace.total is None:  # a bar that only moves
            shown.tasks[0].total = None
        shown.update(task, completed=done, total=pace.total, description=pace.words())
        shown.start()  # does nothing when it has started

    try:
        yield show
    finally:
        shown.stop()


@contextmanager
def reporting(
    stream: TextIO,
    prefix: str,
    *,
    quiet: bool,
    what: str = "permutations",
    searching: bool = False,
) -> Generator[Progress | None]:
    """Choose what suits the stream; None when nothing is to be shown.

    ``what`` and ``searching`` are those of :class:`Pace`.
    """
    pace = Pace(what=what, searching=searching)
    if quiet:
        yield None
    elif stream.isatty():
        with bar(stream, pace) as show:
            yield show
    else:
        yield lines(stream, prefix, pace)
