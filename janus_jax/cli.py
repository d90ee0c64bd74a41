"""The command line ``janus-jax``. It only reads options and prints; the work is ``audit``'s.

Exit status: 0 the audit ran, whatever it found; 2 wrong usage or input; 3 the named backend cannot
run here; 130 interrupted. Heavy modules are imported when a command needs them, so that ``--help``
is quick.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from janus_jax import __version__
from janus_jax.errors import InputError, JanusError
from janus_jax.plan import METHODS, PRESETS, make_plan

if TYPE_CHECKING:
    from janus_jax.permutations import Progress

PROGRAM = "janus-jax"

_EPILOG = """\
p-values are two-sided by |lift|: the share of all relabellings whose |lift| is at least the
observed one. --min-support counts rows (1 means one row); the prevalences are shares of rows. A
missing value is in no slice of its column; blank cells are missing everywhere, and the words nan,
NA, null, None in outcome, boolean and numeric columns. Exit status: 0 the audit ran, 2 wrong usage
or input, 3 the named backend cannot run here, 130 interrupted.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options = _parser().parse_args(arguments)
        return options.run(options, arguments)
    except JanusError as error:
        _complain("error", str(error))
        return error.exit_status
    except KeyboardInterrupt:
        _complain("error", "interrupted")
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`| head`); say nothing more, also at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as stop:  # argparse printed help or the version
        return int(stop.code or 0)


def _complain(kind: str, message: str) -> None:
    from janus_jax.report import printable

    print(f"{PROGRAM}: {kind}: {printable(message)}", file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        allow_abbrev=False,
        description="Where a language model's errors really concentrate.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    audit = commands.add_parser(
        "audit",
        allow_abbrev=False,
        help="find where errors concentrate in a table of results",
        description="Screen descriptors on a discovery split, confirm them on a holdout split.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_audit_options(audit)
    audit.set_defaults(run=_audit)
    backends = commands.add_parser(
        "backends",
        allow_abbrev=False,
        help="list the permutation backends, on which device, and why one cannot run",
    )
    backends.set_defaults(run=_backends)
    return parser


def _add_audit_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", nargs="+", metavar="RESULTS", help="CSV, TSV, Parquet or JSON Lines files"
    )
    group = parser.add_argument_group("outcome (exactly one of --error, --correct, --score)")
    group.add_argument("--error", metavar="COL", help="true = the model was wrong")
    group.add_argument("--correct", metavar="COL", help="true = the model was right")
    group.add_argument("--score", metavar="COL", help="a graded score; needs --pass-at")
    group.add_argument("--pass-at", metavar="X", help="a score of at least X is right")
    group.add_argument(
        "--missing-outcome",
        metavar="WHAT",
        help="rows without an outcome: refuse (default), drop, or wrong",
    )
    group.add_argument(
        "--id", metavar="COL[,COL]", help="example id (default: a column id, else the row number)"
    )
    group.add_argument(
        "--repeats",
        metavar="HOW",
        help="repeated ids: refuse (default), or reduce to one row by majority or first",
    )
    group.add_argument("--cluster", metavar="COL", help="rows of a cluster stay in one split")

    group = parser.add_argument_group("what to test")
    many: dict[str, Any] = {"action": "append", "metavar": "COL"}
    group.add_argument("--descriptor", help="use only these columns (repeatable)", **many)
    group.add_argument("--exclude", help="leave this column out (repeatable)", **many)
    group.add_argument(
        "--categorical", help="one descriptor per level, also of numbers (repeatable)", **many
    )
    group.add_argument(
        "--numeric", help="above its discovery median, also of 0/1 columns (repeatable)", **many
    )
    group.add_argument(
        "--na",
        action="append",
        metavar="WORD",
        help="one more word that means missing in outcome, boolean, numeric and named columns "
        "(repeatable)",
    )
    group.add_argument(
        "--conjunction",
        action="append",
        metavar='"NAME = A & B"',
        help="a named conjunction of descriptors (repeatable)",
    )
    group.add_argument(
        "--pairs", action="store_true", default=None, help="add all pairwise conjunctions"
    )

    group = parser.add_argument_group("split")
    group.add_argument(
        "--split-column", metavar="COL", help="a column of discovery / holdout (/ proposal)"
    )
    group.add_argument(
        "--discovery",
        metavar="SHARE",
        help="share dealt to discovery (default 0.5; 1 = no holdout, nothing is confirmed)",
    )
    group.add_argument(
        "--seed", metavar="N", help="seed of everything random, 0 to 2**64 - 1 (default 0)"
    )
    group.add_argument("--stratify", metavar="COL", help="deal the split within these strata")

    group = parser.add_argument_group("screen")
    group.add_argument("--preset", metavar="NAME", help=f"the paper's audits: {', '.join(PRESETS)}")
    group.add_argument(
        "--min-support", metavar="ROWS", help="rows on and off in each split (default 8)"
    )
    group.add_argument(
        "--min-prevalence", metavar="SHARE", help="share of rows on, in each split (default 0.10)"
    )
    group.add_argument("--max-prevalence", metavar="SHARE", help="(default 0.90)")
    group.add_argument("--statistic", metavar="NAME", help="what is ranked: lift (default) or z")
    group.add_argument(
        "--rule",
        metavar="METHOD",
        help=f"the primary rule (default decoys_exact): {', '.join(METHODS)}",
    )
    group.add_argument("--decoys", metavar="K", help="literal decoys (default 1000)")
    group.add_argument("--q", metavar="Q", help="estimated FDP allowed (default 0.10)")
    group.add_argument(
        "--min-holdout-lift",
        metavar="C",
        help="smallest holdout |lift| that confirms (default 0.10)",
    )
    group.add_argument("--alpha", metavar="A", help="level of the tests (default 0.05)")
    group.add_argument("--permutations", metavar="B", help="shared permutations (default 499999)")
    group.add_argument("--strata", metavar="COL", help="shuffle errors only within these strata")

    group = parser.add_argument_group("backend (never changes a result)")
    group.add_argument(
        "--backend", default="auto", metavar="NAME", help="auto (default), jax, numpy, ..."
    )
    group.add_argument("--batch", metavar="N", help="permutations side by side")
    group.add_argument(
        "--memory", metavar="MB", help="memory for the permutations in flight (default 256)"
    )

    group = parser.add_argument_group("input and output")
    group.add_argument("--delimiter", metavar="CHAR", help="field separator of text files")
    group.add_argument(
        "--encoding", default="utf-8", metavar="NAME", help="encoding of text files (utf-8)"
    )
    group.add_argument(
        "--out", metavar="DIR", help="write result.json, findings.csv and report.md there"
    )
    group.add_argument(
        "--json", metavar="FILE", help="write result.json there; - prints it and nothing else"
    )
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")


_NOT_IN_PLAN = frozenset(
    [
        "results",
        "run",
        "backend",
        "batch",
        "memory",
        "delimiter",
        "encoding",
        "out",
        "json",
        "quiet",
    ]
)


def _audit(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    given = {name: value for name, value in vars(options).items() if name not in _NOT_IN_PLAN}
    if given["id"] is not None:
        given["id"] = given["id"].split(",")
    plan = make_plan(given)
    batch = _whole("--batch", options.batch)
    memory = _whole("--memory", options.memory)
    _check_targets(options)

    from janus_jax.auditing import DEFAULT_MEMORY, run_audit
    from janus_jax.terminal import print_result

    with _progress(quiet=options.quiet) as progress:
        result = run_audit(
            options.results,
            plan,
            backend=options.backend,
            batch=batch,
            memory=DEFAULT_MEMORY if memory is None else memory * 2**20,
            delimiter=options.delimiter,
            encoding=options.encoding,
            progress=progress,
            warn=lambda text: _complain("warning", text),
            command=shlex.join([PROGRAM, *arguments]),
        )
    with _writing():
        if options.out:
            result.write(options.out)
        if options.json and options.json != "-":
            Path(options.json).write_text(result.to_json(), encoding="utf-8")
    if options.json == "-":
        sys.stdout.write(result.to_json())
    else:
        print_result(result.to_dict(), sys.stdout)
    sys.stdout.flush()
    return 0


def _backends(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    from janus_jax.registry import available

    for entry in available():
        if entry.description is not None:
            status = f"{entry.description.version} on {entry.description.device}"
        else:
            status = f"cannot run here: {entry.reason}"
        print(f"{entry.name}: {status}  [{entry.origin}]")
    return 0


def _whole(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"{option} is {text!r}, but it must be a whole number from 1")
    return int(text)


def _check_targets(options: argparse.Namespace) -> None:
    """Find out that a result could not be written before it is computed."""
    with _writing():
        if options.out:
            Path(options.out).mkdir(parents=True, exist_ok=True)
            if not os.access(options.out, os.W_OK):
                raise PermissionError(13, "not writable", options.out)
        if options.json and options.json != "-":
            target = Path(options.json)
            if target.is_dir():
                raise IsADirectoryError(21, "a directory; name a file", options.json)
            if not os.access(target if target.exists() else target.parent, os.W_OK):
                raise PermissionError(13, "not writable, or no such folder", options.json)


@contextmanager
def _writing() -> Generator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"cannot write {error.filename}: {error.strerror}") from error


@contextmanager
def _progress(*, quiet: bool) -> Generator[Progress | None]:
    """A progress bar on stderr, when that is a terminal and the permutations take a while."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("permutations"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("permutations", total=None, visible=False)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield show


if __name__ == "__main__":
    sys.exit(main())
