"""What the commands share: the options that make a plan, plain words on stderr, whole numbers."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

from janus_jax.errors import InputError, JanusError
from janus_jax.logs.names import LOG_FORMATS
from janus_jax.plan import METHODS, PLAN_OPTIONS, PRESETS, Plan, make_plan

if TYPE_CHECKING:
    from janus_jax.plans.planned import Planned

if TYPE_CHECKING:
    from janus_jax.reading import ReadOptions

PROGRAM: Final = "janus-jax"
INTERRUPTED: Final = 130
"""Exit status after Ctrl-C or SIGTERM."""


class Options(Protocol):
    """A parser, or a group of its options."""

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Add an option."""
        ...


class Commands(Protocol):
    """Where commands register."""

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """Add a command."""
        ...


class Once(argparse.Action):
    """Store a value, and refuse a second one: which of them was meant is not for us to say.

    What an option does that names no other action.
    """

    _given = False

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Take the value that was given."""
        if self._given:
            parser.error(f"{option_string} is given twice: give one of them")
        self._given = True
        setattr(namespace, self.dest, values)


def complain(kind: str, message: str) -> None:
    """Say something on stderr, whatever it holds."""
    from janus_jax.cells import printable

    print(f"{PROGRAM}: {kind}: {printable(message)}", file=sys.stderr)


def warn(message: str) -> None:
    """Say a warning on stderr."""
    complain("warning", message)


def failure(error: JanusError | KeyboardInterrupt) -> int:
    """Say what went wrong; returns the exit status."""
    if isinstance(error, JanusError):
        complain("error", str(error))
        return error.exit_status
    complain("interrupted", str(error) or "nothing was written")
    return INTERRUPTED


def whole(option: str, text: str | None, least: int = 1) -> int | None:
    """The whole number that an option gives, if it was given."""
    if text is None:
        return None
    if not text.isdecimal() or int(text) < least:
        raise InputError(f"{option} is {text!r}, but it must be a whole number from {least}")
    return int(text)


def plan_of(options: argparse.Namespace) -> Plan:
    """The plan that the options of :func:`add_plan_options` make."""
    return make_plan(_given(options))


def plan_or_file(options: argparse.Namespace) -> tuple[Plan, Planned | None]:
    """The plan that the options make, or that of the file that ``--plan`` names."""
    if options.plan is None:
        return plan_of(options), None

    from janus_jax.plans.file import chosen_plan

    return chosen_plan(_given(options), options.plan)


def _given(options: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(options, name) for name in PLAN_OPTIONS}
    if given["id"] is not None:
        given["id"] = given["id"].split(",")
    return given


def add_results(parser: argparse.ArgumentParser) -> None:
    """The input files."""
    parser.add_argument(
        "results",
        nargs="+",
        metavar="RESULTS",
        help="CSV, TSV, Parquet or JSON Lines files; or evaluation logs, and folders of them",
    )


def add_plan_file(parser: argparse.ArgumentParser) -> None:
    """A plan file in place of the options of :func:`add_plan_options`."""
    group = parser.add_argument_group("plan")
    group.add_argument(
        "--plan",
        metavar="FILE",
        help="take everything that decides the result from this file, which `janus-jax plan` made "
        "of this table; no option of the next four groups goes with it",
    )


def add_plan_options(parser: argparse.ArgumentParser, permutations: str = "default 499999") -> None:
    """Everything that decides what an audit computes.

    ``permutations`` is what the help says of the option of that name.
    """
    group = parser.add_argument_group("outcome (exactly one of --error, --correct, --score)")
    columns = "COL[,COL]"
    group.add_argument("--error", metavar=columns, help="true = the model was wrong")
    group.add_argument("--correct", metavar=columns, help="true = the model was right")
    group.add_argument(
        "--score",
        metavar=columns,
        help="a graded score; needs --pass-at. Columns of several models, with commas between "
        "them, are audited with the same shuffles and compared (audit, plan)",
    )
    group.add_argument("--pass-at", metavar="X", help="a score of at least X is right")
    group.add_argument(
        "--model-column",
        metavar="COL",
        help="each model has rows of its own, and this column says which: they are compared "
        "(audit, plan; needs --id)",
    )
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
        help="repeated ids: refuse (default), or reduce to one row by majority, first, any or all; "
        "under --missing-outcome drop the first row must have an outcome for first, or the example "
        "is dropped, while the others pass over repeats without one",
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
    group.add_argument("--permutations", metavar="B", help=f"shared permutations ({permutations})")
    group.add_argument("--strata", metavar="COL", help="shuffle errors only within these strata")


def add_backend_options(parser: argparse.ArgumentParser) -> Options:
    """Which backend runs, for a command with shared permutations."""
    group = parser.add_argument_group("backend (never changes a result)")
    group.add_argument(
        "--backend", default="auto", metavar="NAME", help="auto (default), jax, numpy, ..."
    )
    return group


def add_running_options(group: Options) -> None:
    """How many permutations are in flight."""
    group.add_argument("--batch", metavar="N", help="permutations side by side")
    group.add_argument(
        "--memory",
        metavar="MB",
        help="memory for the permutations in flight (default 256): for n examples and L "
        "descriptors about 6 min(n, 512) + 8 L bytes each, between 64 and 16384 at once; beside "
        "that, memberships take about 2 n L bytes",
    )


def add_reading_options(parser: argparse.ArgumentParser) -> Options:
    """How sources are read; returns the group for what is written."""
    names = ", ".join(LOG_FORMATS)
    group = parser.add_argument_group(
        "evaluation logs (where a log leaves a choice, it is listed and nothing is averaged)"
    )
    group.add_argument(
        "--format",
        metavar="NAME",
        help=f"the format, recognised by content unless named: {names}, table",
    )
    for name in ("metric", "scorer"):
        group.add_argument(f"--{name}", metavar="NAME", help="which score is the outcome")
    for name in ("filter", "model", "task", "run"):
        every = ", or all" if name == "task" else ""
        group.add_argument(f"--{name}", metavar="NAME", help=f"which {name}{every}")
    group.add_argument(
        "--choose",
        action="append",
        metavar="WHAT=VALUE",
        help="one of anything else in which attempts differ, such as split=test (repeatable)",
    )
    group.add_argument(
        "--text-features",
        action="append",
        metavar="TEXT",
        help="add words, numbers and sentences of this text of the examples, such as input "
        "(repeatable)",
    )
    group = parser.add_argument_group("input and output")
    group.add_argument("--delimiter", metavar="CHAR", help="field separator of text files")
    group.add_argument(
        "--encoding", default="utf-8", metavar="NAME", help="encoding of text files (utf-8)"
    )
    return group


def reading_of(options: argparse.Namespace) -> ReadOptions:
    """What the options of :func:`add_reading_options` say."""
    from janus_jax.reading import LOG_OPTIONS, read_options

    log = {name: getattr(options, name) for name in LOG_OPTIONS}
    return read_options(options.delimiter, options.encoding, log)
