"""The command line ``janus-jax``. It only reads options and prints; the work is ``audit``'s.

Exit status: 0 the audit ran, whatever it found; 2 wrong usage or input; 3 the named backend cannot
run here; 4 another process of a shared run was lost; 130 interrupted. Heavy modules are imported
when a command needs them, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
import traceback
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from janus_jax import __version__
from janus_jax.errors import InputError, JanusError
from janus_jax.output import check_targets, publish, usable_streams, writing
from janus_jax.plan import METHODS, PLAN_OPTIONS, PRESETS, Plan, make_plan

if TYPE_CHECKING:
    from janus_jax.checkpoint import Checkpoint
    from janus_jax.processes import Processes

PROGRAM = "janus-jax"
_INTERRUPTED = 130

_EPILOG = """\
p-values are two-sided by |lift|: the share of all relabellings whose |lift| is at least the
observed one. --min-support counts rows (1 means one row); the prevalences are shares of rows. A
missing value counts as outside every slice of its column; blank cells are missing everywhere, and
the words nan, NA, null, None in outcome, boolean and numeric columns. Exit status: 0 the audit
ran, 2 wrong usage or input, 3 the named backend cannot run here, 4 another process of a shared run
was lost, 130 interrupted.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    usable_streams()
    try:
        options = _parser().parse_args(arguments)
        with warnings.catch_warnings():
            # What a library warns of (a device out of memory, say) is said the way we say things.
            warnings.showwarning = _warn
            return options.run(options, arguments)
    except (JanusError, KeyboardInterrupt) as error:
        return _failure(error)
    except BrokenPipeError:
        # The reader of our output went away (`| head`); say nothing more, also at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as stop:  # argparse printed help or the version
        return int(stop.code or 0)


def _failure(error: JanusError | KeyboardInterrupt) -> int:
    """Say what went wrong; returns the exit status."""
    if isinstance(error, JanusError):
        _complain("error", str(error))
        return error.exit_status
    _complain("interrupted", str(error) or _NOTHING_KEPT)
    return _INTERRUPTED


def run() -> NoReturn:
    """The program: :func:`main`, and a way out that an interrupted JAX survives."""
    status = main()
    if status == _INTERRUPTED and "jax" in sys.modules:
        # Threads of its runtime may be in mid-computation; taking the interpreter apart under them
        # crashes it. Everything that was to be kept is on disk.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    _complain("warning", str(message))


def _complain(kind: str, message: str) -> None:
    from janus_jax.report import printable

    print(f"{PROGRAM}: {kind}: {printable(message)}", file=sys.stderr)


_NOTHING_KEPT = (
    "this run kept nothing to go on from (--checkpoint FILE or --out DIR would, later on)"
)


class _Parser(argparse.ArgumentParser):
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
    group.add_argument(
        "--cluster",
        metavar="COL",
        help="rows of a cluster stay in one split, and whole error patterns are exchanged among "
        "clusters of equal size (the rule is then mean_count by default)",
    )

    group = parser.add_argument_group("what to test")
    many: dict[str, Any] = {"action": "append", "metavar": "COL"}
    group.add_argument(
        "--descriptor", help="use only this column and others so named (repeatable)", **many
    )
    group.add_argument(
        "--include", help="use this column although it would be left out (repeatable)", **many
    )
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
        help="the primary rule (default decoys_exact, mean_count with --cluster): "
        + ", ".join(METHODS),
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
        "--memory",
        metavar="MB",
        help="memory for the permutations in flight (default 256): for n examples and L "
        "descriptors about 6 min(n, 512) + 8 L bytes each, between 64 and 16384 at once; beside "
        "that, memberships take about 2 n L bytes",
    )

    group = parser.add_argument_group("long runs (never changes a result)")
    group.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="keep the sums of a run there every few seconds, until its result is written "
        "(default: DIR/checkpoint with --out DIR)",
    )
    group.add_argument(
        "--resume",
        action="store_true",
        help="go on from the checkpoint of the same command (and as many processes), if there is "
        "one",
    )
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")

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


def _audit(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    given = {name: getattr(options, name) for name in PLAN_OPTIONS}
    if given["id"] is not None:
        given["id"] = given["id"].split(",")
    plan = make_plan(given)
    batch, memory = _whole("--batch", options.batch), _whole("--memory", options.memory)
    with _processes(options) as processes:
        return _run(options, arguments, plan, batch, memory, processes)


def _run(
    options: argparse.Namespace,
    arguments: Sequence[str],
    plan: Plan,
    batch: int | None,
    memory: int | None,
    processes: Processes,
) -> int:
    if processes.first:
        check_targets(options.results, options.out, options.json, options.checkpoint)

    from janus_jax.auditing import run_audit
    from janus_jax.permutations import DEFAULT_MEMORY, Running
    from janus_jax.progress import reporting
    from janus_jax.stopping import terminable

    checkpoint = _checkpoint(options, processes)
    name = PROGRAM if processes.count == 1 else f"{PROGRAM}: share of process 0"
    # JAX's runtime sets a handler of its own when processes meet: ours comes after.
    with (
        terminable(),
        _clean_stdout(processes),
        reporting(sys.stderr, name, quiet=options.quiet or not processes.first) as progress,
    ):
        result = run_audit(
            options.results,
            plan,
            backend=options.backend,
            running=Running(
                memory=DEFAULT_MEMORY if memory is None else memory * 2**20,
                batch=batch,
                progress=progress,
                checkpoint=checkpoint,
                processes=processes,
            ),
            delimiter=options.delimiter,
            encoding=options.encoding,
            warn=(lambda text: _complain("warning", text)) if processes.first else None,
            command=shlex.join([PROGRAM, *arguments]),
        )
    if processes.first:
        publish(result, options.out, options.json)
    if checkpoint is not None:
        checkpoint.remove()
    return 0


def _checkpoint(options: argparse.Namespace, processes: Processes) -> Checkpoint | None:
    """Where sums are kept: ``--checkpoint FILE``, or beside the results of ``--out DIR``."""
    from janus_jax.checkpoint import Checkpoint

    path = options.checkpoint or (Path(options.out) / "checkpoint" if options.out else None)
    if path is None:
        if options.resume:
            raise InputError(
                "--resume needs the file to go on from: --checkpoint FILE or --out DIR"
            )
        return None
    with writing():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    checkpoint = Checkpoint(path, resume=options.resume, processes=processes)
    if checkpoint.left_over:
        _complain(
            "warning",
            f"{checkpoint.path} keeps an unfinished run; without --resume a long run replaces it",
        )
    if options.resume and not checkpoint.path.exists():
        _complain(
            "warning", f"there is no checkpoint at {checkpoint.path}: starting at the beginning"
        )
    return checkpoint


@contextmanager
def _processes(options: argparse.Namespace) -> Generator[Processes]:
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
    count = _whole("--processes", options.processes)
    index = _whole("--process-id", options.process_id, least=0)
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
    status = _failure(error) if isinstance(error, JanusError | KeyboardInterrupt) else 1
    if status == 1:
        traceback.print_exception(error)
    sys.stdout.flush()
    sys.stderr.flush()
    if processes.first:
        time.sleep(0.5)  # without process 0 the others are cut off, perhaps in mid-sentence
    os._exit(status)


@contextmanager
def _clean_stdout(processes: Processes) -> Generator[None]:
    from janus_jax.processes import stdout_kept_clean

    if processes.count == 1:
        yield
        return
    with stdout_kept_clean():
        yield


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


def _whole(option: str, text: str | None, least: int = 1) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) < least:
        raise InputError(f"{option} is {text!r}, but it must be a whole number from {least}")
    return int(text)


if __name__ == "__main__":
    run()
