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
from janus_jax.advice import (
    few_decoys,
    few_for_correction,
    few_for_one_p_value,
    few_labellings,
    one_sided,
)
from janus_jax.behaviour.primary_rule import DECOY_RULES, draws, needs_permutations, select
from janus_jax.behaviour.recurrence import ROW_FIELDS, Recurrence, Split, judge
from janus_jax.behaviour.wording import counted
from janus_jax.columns import contrary_outcome
from janus_jax.descriptors import make_descriptors
from janus_jax.errors import InputError
from janus_jax.exchange import shuffled_part
from janus_jax.interface import Backend
from janus_jax.permutations import Running
from janus_jax.plan import MAX_SEED, Plan, PlanOptions, make_plan, whole_number
from janus_jax.possible import impossible
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
        from janus_jax.behaviour.sensitivity_report import answer

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
    splits, first_seed = _check(plan, splits, first_seed)
    if backend != "auto":
        registry.get(backend)  # a backend that cannot run is known before the data are read
    table, plan = read(source, reading or ReadOptions(), plan)
    rows = read_rows(table, plan)
    own = _deal(rows, plan, plan.seed, by_name=False)
    warnings = [*_warnings(plan, rows), *_limits(plan, own)]
    if warn is not None:
        for text in warnings:
            warn(text)
    seeds = range(first_seed, first_seed + STEP * splits, STEP)
    _check_conjunctions(rows, plan, seeds)
    # By the work of one split, after which JAX would wait for the next.
    chosen, reasons = registry.choose(backend, rows.examples.table.n * draws(plan))
    tell = progress or _say_nothing
    tell(0, splits)
    recurrence = Recurrence(_screened(own, plan, plan.seed, chosen))
    for done, seed in enumerate(seeds, start=1):
        try:
            dealt = _deal(rows, plan, seed, by_name=True)
            offset = DECOY_OFFSET if plan.rule in DECOY_RULES else 0
            recurrence.add(_screened(dealt, plan, seed, chosen, offset))
        except InputError as error:
            raise InputError(f"the split with seed {seed}: {error}") from error
        tell(done, splits)
    if not recurrence.ever_eligible:
        raise InputError(
            f"no rule is eligible in any of {counted(splits, 'split')}, so there is nothing to "
            "count; `audit` lists the reasons"
        )
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


def _check(plan: Plan, splits: int, first_seed: int) -> tuple[int, int]:
    """The number of splits and the first seed, as whole numbers."""
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
    splits = whole_number("--splits", splits, 1, MAX_SPLITS)
    # The last seed and that of its decoys stay below 2**64.
    most = MAX_SEED - DECOY_OFFSET - STEP * (splits - 1)
    return splits, whole_number("--first-seed", first_seed, 0, most)


def _say_nothing(done: int, wanted: int) -> None:
    """Progress that nobody wants to hear."""


def _deal(reading: Reading, plan: Plan, seed: int, *, by_name: bool) -> Prepared:
    """Deal and count one split.

    ``by_name`` is the way of the repeated splits; without it, everything is as in an audit with
    this seed.
    """
    dealt = replace(plan, seed=seed)
    return _prepare(reading, dealt, split_rows(reading.examples.table, dealt, by_name=by_name))


def _screened(
    prepared: Prepared, plan: Plan, seed: int, backend: Backend, offset: int = 0
) -> Split:
    """Screen and gate one split; ``offset`` is added to its seed for what is drawn."""
    drawn = replace(plan, seed=seed + offset)
    chosen = select(prepared, drawn, backend, Running())
    return judge(prepared, chosen, replace(plan, seed=seed), seed)


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


def _limits(plan: Plan, own: Prepared) -> Iterator[str]:
    """What the rule cannot do with the margins of the audit's own split, whatever the data."""
    if not own.eligible:
        return
    where = f"in the split of the audit with seed {plan.seed}: "
    shuffled = shuffled_part(own, plan)
    if plan.rule == "decoys":
        yield from few_decoys(plan, own)
    if plan.rule in ("max_t", "max_t_step_down"):
        yield from few_for_one_p_value(plan, shuffled, "max-T")
        yield from (where + said for said in few_labellings(plan, own, shuffled))
    elif plan.cluster and plan.rule == "unadjusted":
        yield from few_for_one_p_value(plan, shuffled, "a p-value of the exchanges")
    elif plan.cluster and plan.rule in ("bh_05", "bh_10"):
        yield from few_for_correction(plan, own, shuffled)
    for said in (*one_sided(own), *impossible(own, plan)):
        yield where + said


def _notes(
    plan: Plan, reading: Reading, recurrence: Recurrence, splits: int, first_seed: int
) -> Iterator[str]:
    yield from reading.examples.table.notes
    yield from reading.examples.notes
    yield from reading.selection.notes
    yield (
        f"{counted(splits, 'split')} of the same outcomes, with seeds {first_seed} + {STEP} s; "
        "medians, levels and eligibility are made anew in each"
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
        "from split to split the discovery and holdout lifts of a rule move against each other, "
        "almost perfectly so where its median stays: their weighted mean is about the lift in all "
        "examples. A lift near the gate is therefore confirmed less often here than in audits of "
        "fresh examples, and one well above it more often; the shares say how much is the luck of "
        "the split, and are not power (`power` simulates that)"
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
