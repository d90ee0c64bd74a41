"""Repeated splits of the same outcomes: how much of a verdict is owed to one random split.

Split s of N is dealt with the seed ``first_seed + 1009 s``, strata in the order of their names.
Medians, levels and eligibility are made anew in each, the plan's primary rule screens its discovery
and the gate looks at its holdout. Counted is how often each rule is confirmed.

The procedure is the repeated-split sensitivity of Janus, arXiv 2606.09046.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from janus_jax import registry
from janus_jax.behaviour.primary_rule import DECOY_RULES, draws, needs_permutations, select
from janus_jax.behaviour.recurrence import ROW_FIELDS, Recurrence, Split, judge
from janus_jax.columns import contrary_outcome
from janus_jax.descriptors import make_descriptors
from janus_jax.errors import InputError
from janus_jax.interface import Backend
from janus_jax.permutations import Running
from janus_jax.plan import MAX_SEED, Plan, PlanOptions, make_plan
from janus_jax.prepare import Prepared, Reading, prepare_split, read_rows
from janus_jax.progress import Progress
from janus_jax.reading import ReadOptions, read, read_options
from janus_jax.record import Stopwatch
from janus_jax.result import Result
from janus_jax.split import split_rows

if TYPE_CHECKING:
    import pandas as pd

SCHEMA: Final = "janus-jax/sensitivity/1"
SPLITS: Final = 200
FIRST_SEED: Final = 20_260_524
STEP: Final = 1009
"""Between the seeds of two splits."""
DECOY_OFFSET: Final = 10_000_000
"""From a split's seed to that of its literal decoys."""
PERMUTATIONS: Final = 9_999
"""Shared permutations a split, unless said otherwise: an audit's 499,999 would be drawn anew in
every split."""
MAX_SPLITS: Final = 10_000


@dataclass(frozen=True, slots=True, repr=False)
class SensitivityResult(Result):
    """How often each rule is confirmed over repeated splits: ``janus-jax/sensitivity/1``."""

    @property
    def table(self) -> pd.DataFrame:
        """One row a rule, the most often confirmed first.

        Counts and shares are of all splits; lifts are means over the splits in which the rule was
        eligible.
        """
        import pandas as pd

        return pd.DataFrame(self.document["rules"], columns=list(ROW_FIELDS))

    def __repr__(self) -> str:
        return f"<SensitivityResult: {answer(self.document)}>"


def sensitivity(
    source: object,
    *,
    splits: int = SPLITS,
    first_seed: int = FIRST_SEED,
    backend: str = "auto",
    progress: Progress | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    log: Mapping[str, Any] | None = None,
    **options: Unpack[PlanOptions],
) -> SensitivityResult:
    """Split the same outcomes again and again: how often is each rule confirmed?

    Parameters
    ----------
    source
        As for :func:`janus_jax.audit`.
    splits, first_seed
        How many splits, and the seed of the first; the others follow in steps of 1009.
    backend
        "auto" or a name: what draws decoys or permutations, where the rule looks at any. It never
        changes a result.
    progress
        Called with splits done and wanted.
    delimiter, encoding, log
        As for :func:`janus_jax.audit`.
    **options
        An audit's, see :class:`janus_jax.plan.Plan`. Some mean something else here: ``seed`` is
        that of the audit whose verdicts are shown beside the shares; ``permutations``, drawn anew
        in every split by the rules that need them, is 9,999 unless given; ``split_column`` and
        ``discovery=1`` are refused, since the splits are dealt here and confirming takes a
        holdout.

    Returns
    -------
    SensitivityResult

    Raises
    ------
    InputError
        The data or an option is wrong; the message says what to do.
    BackendUnavailable
        The backend that was named cannot run here.

    Examples
    --------
    >>> import pandas as pd
    >>> wrong = [True, False] * 30 + [False] * 20
    >>> table = pd.DataFrame({"long": [True, False] * 40, "wrong": wrong})
    >>> sensitivity(table, error="wrong", splits=5).table[["rule", "eligible", "confirmed"]]
       rule  eligible  confirmed
    0  long         5          5
    """
    plan = make_plan(options)
    return run_sensitivity(
        source,
        with_default_permutations(plan) if options.get("permutations") is None else plan,
        splits=splits,
        first_seed=first_seed,
        backend=backend,
        progress=progress,
        reading=read_options(delimiter, encoding, log),
    )


def with_default_permutations(plan: Plan) -> Plan:
    """The plan for someone who did not say how many permutations to draw in each split."""
    return replace(plan, permutations=PERMUTATIONS) if needs_permutations(plan) else plan


def run_sensitivity(
    source: object,
    plan: Plan,
    *,
    splits: int = SPLITS,
    first_seed: int = FIRST_SEED,
    backend: str = "auto",
    progress: Progress | None = None,
    reading: ReadOptions | None = None,
    warn: Callable[[str], None] | None = None,
    command: str | None = None,
) -> SensitivityResult:
    """Run the splits that a checked plan describes.

    Parameters
    ----------
    source, splits, first_seed, backend, progress
        As for :func:`sensitivity`.
    reading
        How the source is read.
    plan
        What to compute in each split; its seed is that of the audit shown beside.
    warn
        Called with each warning about the design before anything is screened.
    command
        The command line, for the record.
    """
    clock = Stopwatch()
    _check(plan, splits, first_seed)
    if backend != "auto":
        registry.get(backend)  # a backend that cannot run is known before the data are read
    table, plan = read(source, reading or ReadOptions(), plan)
    rows = read_rows(table, plan)
    warnings = list(_warnings(plan, rows))
    if warn is not None:
        for text in warnings:
            warn(text)
    seeds = range(first_seed, first_seed + STEP * splits, STEP)
    _check_conjunctions(rows, plan, seeds)
    # By the work of one split, after which JAX would wait for the next.
    chosen, reasons = registry.choose(backend, rows.examples.table.n * draws(plan))
    tell = progress or _say_nothing
    tell(0, splits)
    audit = _one(rows, plan, plan.seed, chosen, by_name=False)
    recurrence = Recurrence(audit)
    for done, seed in enumerate(seeds, start=1):
        try:
            recurrence.add(_one(rows, plan, seed, chosen, by_name=True))
        except InputError as error:
            raise InputError(f"the split with seed {seed}: {error}") from error
        tell(done, splits)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "data": _data(rows, plan),
        "plan": {**plan.to_dict(), "hash": plan.hash()},
        "rule": plan.rule,
        "splits": {"count": splits, "first_seed": first_seed, "step": STEP},
        "overall": recurrence.overall(),
        "rules": recurrence.rows(),
        "per_split": recurrence.per_split(),
        "warnings": warnings,
        "notes": list(_notes(plan, rows, recurrence, splits, first_seed)),
        "run": clock.record(command, chosen, reasons),
    }
    return SensitivityResult(document)


def answer(document: Mapping[str, Any]) -> str:
    """What was found, in a sentence; the rules that recur most are named."""
    count, overall = document["splits"]["count"], document["overall"]
    shares = {row["rule"]: row["share_confirmed"] for row in document["rules"]}
    often: list[str] = overall["confirmed_in_half"]
    named = ", ".join(f"{rule} ({percent(shares[rule])})" for rule in often[:5])
    more = f" and {len(often) - 5} more" if len(often) > 5 else ""
    subject = (
        f"{len(often) or 'no'} rule{' is' if len(often) == 1 or not often else 's are'} confirmed "
        f"in at least half of {count} splits"
    )
    return (
        f"{subject}{': ' if often else ''}{named}{more}; "
        f"{percent(overall['any_confirmed']['share'])} of them confirm something"
    )


def percent(share: float) -> str:
    """A share in whole percent; only all is 100%, only none 0%.

    Examples
    --------
    >>> percent(0.5), percent(0.999), percent(0.001)
    ('50%', '>99%', '<1%')
    """
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{100 * share:.0f}%"


def _check(plan: Plan, splits: int, first_seed: int) -> None:
    if plan.split_column:
        raise InputError(
            f"--split-column {plan.split_column}: sensitivity deals the splits itself, so a fixed "
            f"one has no part in it; leave the option out, and add --exclude {plan.split_column}"
        )
    if not plan.has_holdout:
        raise InputError(
            "--discovery 1 leaves no holdout, and sensitivity counts what holdout confirms; give "
            "a share below 1, such as --discovery 0.5"
        )
    if not 1 <= splits <= MAX_SPLITS:
        raise InputError(f"--splits is {splits}, but it must be from 1 to {MAX_SPLITS}")
    most = MAX_SEED - DECOY_OFFSET - STEP * (splits - 1)
    if not 0 <= first_seed <= most:
        raise InputError(
            f"--first-seed is {first_seed}, but for {splits} splits it must be from 0 to {most}, "
            "so that the last seed and that of its decoys stay below 2**64"
        )


def _say_nothing(done: int, wanted: int) -> None:
    """Progress that nobody wants to hear."""


def _one(reading: Reading, plan: Plan, seed: int, backend: Backend, *, by_name: bool) -> Split:
    """Deal, screen and gate one split.

    ``by_name`` is the way of the repeated splits; without it, everything is as in an audit with
    this seed.
    """
    dealt = replace(plan, seed=seed)
    prepared = _prepare(reading, dealt, split_rows(reading.examples.table, dealt, by_name=by_name))
    offset = DECOY_OFFSET if by_name and plan.rule in DECOY_RULES else 0
    drawn = replace(dealt, seed=seed + offset)
    return judge(prepared, select(prepared, drawn, backend, Running()), dealt, seed)


def _prepare(reading: Reading, plan: Plan, where: NDArray[np.int8]) -> Prepared:
    """Prepare a split; a conjunction of terms that do not exist in it is left out."""
    try:
        return prepare_split(reading, plan, where)
    except InputError:
        made = tuple(text for text in plan.conjunction if _makes(reading, plan, where, text))
        if made == plan.conjunction:
            raise
        return prepare_split(reading, replace(plan, conjunction=made), where)


def _makes(reading: Reading, plan: Plan, where: NDArray[np.int8], conjunction: str) -> bool:
    """Whether the terms of a conjunction exist in this split."""
    alone = replace(plan, conjunction=(conjunction,))
    try:
        make_descriptors(reading.selection, where, reading.examples.errors >= 0, alone)
    except InputError:
        return False
    return True


def _check_conjunctions(reading: Reading, plan: Plan, seeds: Sequence[int]) -> None:
    """Refuse a conjunction that no split can make: most likely a slip of the pen."""
    table = reading.examples.table
    for text in plan.conjunction:
        for seed in seeds:
            where = split_rows(table, replace(plan, seed=seed), by_name=True)
            if _makes(reading, plan, where, text):
                break
        else:  # the first split says what is wrong with it
            alone = replace(plan, conjunction=(text,), seed=seeds[0])
            where = split_rows(table, alone, by_name=True)
            make_descriptors(reading.selection, where, reading.examples.errors >= 0, alone)


def _data(reading: Reading, plan: Plan) -> dict[str, Any]:
    examples = reading.examples
    table = examples.table
    counted = examples.errors >= 0
    clusters = None
    if plan.cluster:
        codes = table.columns[plan.cluster].codes[counted]
        clusters = {"column": plan.cluster, "count": len(np.unique(codes))}
    return {
        "rows": table.n,
        "source": list(table.source),
        "sha256": table.sha256,
        "outcome": {
            "column": plan.outcome_column,
            "kind": plan.outcome_kind,
            "missing": examples.missing,
        },
        "clusters": clusters,
        "examples": int(counted.sum()),
        "errors": int((examples.errors == 1).sum()),
    }


def _warnings(plan: Plan, reading: Reading) -> Iterator[str]:
    said = contrary_outcome(plan.outcome_column, plan.outcome_kind)
    if said:
        yield said
    if not plan.cluster:
        for column in reading.selection.groups:
            yield (
                f"rows share values of {column!r}; if they belong together, holdout repeats what "
                f"discovery saw of the same group: --cluster {column} keeps groups whole"
            )


def _notes(
    plan: Plan, reading: Reading, recurrence: Recurrence, splits: int, first_seed: int
) -> Iterator[str]:
    yield from reading.examples.table.notes
    yield from reading.examples.notes
    yield from reading.selection.notes
    yield (
        f"{splits} splits of the same outcomes, with seeds {first_seed} + {STEP} s; medians, "
        "levels and eligibility are made anew in each"
        + (f"; strata of {plan.stratify!r} are dealt by name" if plan.stratify else "")
    )
    yield (
        "splits overlap: all deal the same examples, so they are not independent. The shares say "
        "how much the verdict depends on the split; they are neither p-values nor probabilities "
        "that a finding is true, and have no binomial standard error"
    )
    yield (
        "counts and shares are of all splits, those included in which a rule did not exist or was "
        "not eligible; lifts are means over the splits in which it was eligible"
        + (", and stratum-adjusted" if plan.strata else "")
    )
    yield (
        "every example has been in discovery of some split: what recurs here has not been "
        "confirmed on examples that were never looked at"
    )
    if needs_permutations(plan):
        yield (
            f"B = {plan.permutations} shared permutations in each split, with the split's seed, "
            "and in the audit shown beside (all labellings where there are no more)"
        )
    elif plan.rule in DECOY_RULES:
        yield (
            f"K = {plan.decoys} literal decoys in each split, with the split's seed + "
            f"{DECOY_OFFSET}"
        )
    for text, existed in recurrence.existed("conjunction").items():
        if existed < splits and not plan.pairs:
            yield (
                f"the terms of {text!r} exist in {existed} of {splits} splits: a median differs "
                "between splits, so name a numeric column alone, without its median"
            )
    yield f"audit is the verdict of one audit of this plan, with seed {plan.seed}"
    yield "the holdout gate is a check of size and sign, not a significance test"
