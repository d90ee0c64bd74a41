"""Progress: what a terminal and a log show, and when they show nothing."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from janus_jax import progress
from janus_jax.progress import Pace, lines, reporting
from tests.audits import cli
from tests.oracle import tables


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def logged(reports: Sequence[tuple[float, int]], total: int) -> list[str]:
    """Lines of a log for permutations done at these seconds."""
    clock, stream = Clock(), io.StringIO()
    show = lines(stream, "job", Pace(clock))
    for at, done in reports:
        clock.now = 100.0 + at
        show(done, total)
    return stream.getvalue().splitlines()


def test_nothing_within_two_seconds() -> None:
    assert logged([(0, 0), (0.5, 500), (1.9, 1500)], 1500) == []


def test_a_line_after_two_seconds_then_every_ten() -> None:
    said = logged([(0, 0), *((second, 100 * second) for second in range(1, 41))], 10_000)
    # At 2, 12, 22 and 32 seconds; a hundred a second, seen from the second call on.
    assert said == [
        "job: 200 of 10,000 permutations (2%), 100 a second, 1 min 38 s left",
        "job: 1,200 of 10,000 permutations (12%), 100 a second, 1 min 28 s left",
        "job: 2,200 of 10,000 permutations (22%), 100 a second, 1 min 18 s left",
        "job: 3,200 of 10,000 permutations (32%), 100 a second, 1 min 8 s left",
    ]


def test_what_was_resumed_is_no_speed() -> None:
    said = logged([(0, 9_000), (5, 9_100), (10, 9_200), (15, 9_300)], 10_000)
    assert said[-1].startswith("job: 9,300 of 10,000 permutations (93%), 20 a second, 35 s left")


def test_the_first_call_may_compile() -> None:
    said = logged([(0, 0), (20, 10), (21, 110), (31, 1110)], 2_110)
    assert said[-1] == "job: 1,110 of 2,110 permutations (52%), 100 a second, 10 s left"


def test_no_line_when_it_is_done() -> None:
    assert logged([(0, 0), (30, 10)], 10) == []


def test_no_time_left_of_a_total_that_changed() -> None:
    clock, stream = Clock(), io.StringIO()
    show = lines(stream, "job", Pace(clock, "repetitions"))
    for second in range(1, 16):
        clock.now = 100.0 + second
        show(100 * second, 10_000 if second < 8 else 20_000)
    assert stream.getvalue().splitlines() == [
        "job: 300 of 10,000 repetitions (3%), 100 a second, 1 min 37 s left",
        "job: 1,300 repetitions so far, 100 a second",
    ]


def test_no_time_left_of_a_search() -> None:
    clock, stream = Clock(), io.StringIO()
    show = lines(stream, "job", Pace(clock, "repetitions", searching=True))
    for second in range(1, 5):
        clock.now = 100.0 + second
        show(100 * second, 10_000)
    assert stream.getvalue() == "job: 300 repetitions so far, 100 a second\n"


def test_a_terminal_sees_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_FOR", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    stream = cli.Terminal()
    with reporting(stream, "job", quiet=False, what="repetitions", searching=True) as show:
        assert show is not None
        show(0, 100)
        show(50, 100)
        show(150, 200)
    assert "150 repetitions so far" in stream.getvalue()
    assert "left" not in stream.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO(), cli.Terminal()])
def test_quiet(stream: io.StringIO) -> None:
    with reporting(stream, "job", quiet=True) as show:
        assert show is None
    assert stream.getvalue() == ""


def test_a_terminal_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_FOR", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    stream = cli.Terminal()
    with reporting(stream, "job", quiet=False) as show:
        assert show is not None
        show(0, 100)
        show(50, 100)
    assert "50 of 100 permutations (50%)" in stream.getvalue()


def test_a_short_run_leaves_a_terminal_alone() -> None:
    stream = cli.Terminal()
    with reporting(stream, "job", quiet=False) as show:
        assert show is not None
        show(0, 100)
        show(100, 100)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_never_on_stdout(quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_FOR", 0.0)
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    words = ("--error", "error", "--backend", "numpy", "--batch", "64", "--permutations", "2000")
    more = ("--quiet",) if quiet else ()
    run = cli.call("audit", tables.case(16), *words, *more, "--json", "-")
    assert run.status == 0
    cli.parse(run.out)  # JSON and nothing else
    assert ("permutations (" in run.err) is not quiet
