"""``janus-jax audit``: find where errors concentrate in a table of results."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from janus_jax.commands.common import (
    PROGRAM,
    Commands,
    add_backend_options,
    add_plan_file,
    add_plan_options,
    add_reading_options,
    add_results,
    add_running_options,
    plan_or_file,
    reading_of,
    warn,
    whole,
)
from janus_jax.commands.meeting import add_meeting_options, clean_stdout, processes_of
from janus_jax.errors import InputError
from janus_jax.files import writing
from janus_jax.output import check_targets, publish
from janus_jax.plan import Plan

if TYPE_CHECKING:
    from janus_jax.checkpoint import Checkpoint
    from janus_jax.plans.planned import Planned
    from janus_jax.processes import Processes

_EPILOG = """\
p-values are two-sided by |lift|: the share of all relabellings whose |lift| is at least the
observed one. --min-support counts rows (1 means one row); the prevalences are shares of rows. A
missing value counts as outside every slice of its column; blank cells are missing everywhere, and
the words nan, NA, null, None in outcome, boolean and numeric columns. Exit status: 0 the audit
ran, 2 wrong usage or input, 3 the named backend cannot run here, 4 another process of a shared run
was lost, 130 interrupted.
"""


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "audit",
        allow_abbrev=False,
        help="find where errors concentrate in a table of results",
        description="Screen descriptors on a discovery split, confirm them on a holdout split.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=_audit)
    add_results(parser)
    add_plan_file(parser)
    add_plan_options(parser)
    group = add_backend_options(parser)
    add_running_options(group)

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

    add_meeting_options(parser)

    group = add_reading_options(parser)
    group.add_argument(
        "--examples",
        action="append",
        metavar="COL[,COL]",
        help="show these columns with the examples of each selected slice, in result.json and the "
        "reports; never changes a decision, and goes with --plan too (repeatable)",
    )
    group.add_argument(
        "--differences",
        metavar="PAIRS",
        help="of several models: also audit what one gets wrong and another right, for the first "
        "against each other (first, the default), all pairs, or none",
    )
    group.add_argument(
        "--out",
        metavar="DIR",
        help="write result.json, findings.csv, report.md and report.html there",
    )
    group.add_argument(
        "--json", metavar="FILE", help="write result.json there; - prints it and nothing else"
    )


def _audit(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    plan = plan_or_file(options)
    batch, memory = whole("--batch", options.batch), whole("--memory", options.memory)
    with processes_of(options) as processes:
        if processes.first:
            check_targets(_inputs(options), options.out, options.json, options.checkpoint)
        checkpoint = _checkpoint(options, processes)
        try:
            return _run(options, arguments, plan, batch, memory, processes, checkpoint)
        except KeyboardInterrupt as error:
            from janus_jax.stopping import Interrupted

            if str(error):
                raise
            raise Interrupted(_kept(checkpoint)) from None


def _inputs(options: argparse.Namespace) -> list[str]:
    """Files that are read, and must not be written."""
    return [*options.results, *filter(None, [options.plan])]


def _kept(checkpoint: Checkpoint | None) -> str:
    """What is left of a run that was interrupted outside its permutations."""
    if checkpoint is None:
        return (
            "this run kept nothing to go on from (--checkpoint FILE or --out DIR would, later on)"
        )
    if not checkpoint.ours:
        return f"nothing was kept in {checkpoint.path} yet"
    return f"its sums are kept in {checkpoint.path}; the same command with --resume goes on"


def _run(
    options: argparse.Namespace,
    arguments: Sequence[str],
    plan: tuple[Plan, Planned | None],
    batch: int | None,
    memory: int | None,
    processes: Processes,
    checkpoint: Checkpoint | None,
) -> int:
    from janus_jax.auditing import Setting
    from janus_jax.folders import folder_names
    from janus_jax.permutations import DEFAULT_MEMORY, Running
    from janus_jax.progress import reporting
    from janus_jax.several.comparing import run_comparison
    from janus_jax.several.report import print_comparison
    from janus_jax.several.result import Comparison
    from janus_jax.stopping import terminable
    from janus_jax.terminal import print_result

    def check_folders(names: Sequence[str]) -> None:
        for folder in folder_names(list(names)):
            check_targets(_inputs(options), str(Path(options.out) / folder), None)

    name = PROGRAM if processes.count == 1 else f"{PROGRAM}: share of process 0"
    # JAX's runtime sets a handler of its own when processes meet: ours comes after.
    with (
        terminable(),
        clean_stdout(processes),
        reporting(sys.stderr, name, quiet=options.quiet or not processes.first) as progress,
    ):
        result = run_comparison(
            options.results,
            *plan,
            Setting(
                backend=options.backend,
                running=Running(
                    memory=DEFAULT_MEMORY if memory is None else memory * 2**20,
                    batch=batch,
                    progress=progress,
                    checkpoint=checkpoint,
                    processes=processes,
                ),
                reading=reading_of(options),
                warn=warn if processes.first else None,
                command=shlex.join([PROGRAM, *arguments]),
                examples=[name for text in options.examples or () for name in text.split(",")],
            ),
            differences=options.differences,
            ready=check_folders if processes.first and options.out else None,
        )
    if processes.first:
        show = print_comparison if isinstance(result, Comparison) else print_result
        publish(result, options.out, options.json, show, checkpoint and checkpoint.remove)
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
        warn(
            f"{checkpoint.path} keeps an unfinished run; without --resume a long run replaces it",
        )
    if options.resume and not checkpoint.path.exists():
        warn(f"there is no checkpoint at {checkpoint.path}: starting at the beginning")
    return checkpoint
