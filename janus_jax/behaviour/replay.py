"""Complete-null replays: how often a rule reports patterns when there are none.

The labels, the split and the supports are this audit's own. Errors are shuffled within discovery
and within holdout, independently, fresh decoys are drawn, and the whole rule is applied; again and
again. What it selects and confirms then is false by construction.

Shuffled errors have the audit's margins, so all that depends on margins alone is a table made once
(:mod:`janus_jax.behaviour.needs`), and a replay is two shuffles, some look-ups and a count
(:mod:`janus_jax.decide`). The limit of max-T is that of the audit's own shared permutations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from janus_jax import registry, streams
from janus_jax.advice import design_warnings
from janus_jax.behaviour.replay_rules import ReplayRules, RuleName, replay_rules
from janus_jax.decide import Decided, decide, nothing_decided
from janus_jax.errors import InputError
from janus_jax.exchange import memberships, shuffled_part
from janus_jax.interface import Backend, DecidesReplays, Problem, Tables
from janus_jax.permutations import (
    DEFAULT_MEMORY,
    Permuted,
    Progress,
    Running,
    enough_memory,
    lanes_for,
    make_ready,
    permute,
)
from janus_jax.plan import MAX_DECOYS, MAX_PERMUTATIONS, Plan, PlanOptions, whole_number
from janus_jax.plans.file import PlanSource, chosen_plan
from janus_jax.plans.planned import Planned
from janus_jax.plans.verifying import remarks
from janus_jax.prepare import Prepared, prepare
from janus_jax.reading import ReadOptions, read, read_options
from janus_jax.record import Stopwatch
from janus_jax.result import Result
from janus_jax.split import DISCOVERY, HOLDOUT
from janus_jax.statistic import Margins, Ranks, rank_table

if TYPE_CHECKING:
    import pandas as pd

SCHEMA: Final = "janus-jax/replay/1"
REPLAYS: Final = 50_000
GRID: Final = (100, 200, 500, 1000)
"""Numbers of literal decoys that are compared, beside the plan's own."""

# Children of streams.REPLAYS: DISCOVERY, HOLDOUT, and
_DECOYS = 2
# A call takes about this long: often enough for progress and Ctrl-C.
_CALL_SECONDS: Final = 0.4
_LONGEST_CALL: Final = 1 << 20


@dataclass(frozen=True, slots=True, repr=False)
class ReplayResult(Result):
    """How often each rule reports something where there is nothing: ``janus-jax/replay/1``."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per rule."""
        import pandas as pd

        return pd.DataFrame(self.document["rules"])

    def __repr__(self) -> str:
        from janus_jax.behaviour.replay_report import answer

        return f"<ReplayResult: {answer(self.document)}>"


def replay(
    source: object,
    *,
    plan: PlanSource | None = None,
    replays: int = REPLAYS,
    decoy_grid: Sequence[int] | None = None,
    plus_one: bool = False,
    backend: str = "auto",
    batch: int | None = None,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    log: Mapping[str, Any] | None = None,
    **options: Unpack[PlanOptions],
) -> ReplayResult:
    """Replay an audit's design under the complete null.

    Parameters
    ----------
    source
        As for :func:`janus_jax.audit`.
    plan
        A plan file, in place of an audit's options.
    replays
        How many, 1 to 2**32 - 1.
    decoy_grid
        Numbers of literal decoys to compare; None takes 100, 200, 500, 1,000 and the plan's own.
        Smaller ones are prefixes of larger ones.
    plus_one
        Also the variant of Procedure A that estimates (L / K)(D + 1) / max(1, R), for comparison:
        the published rule has no "+1", and D = 0 can mean that K is small.
    backend, batch, memory, progress, delimiter, encoding, log
        As for :func:`janus_jax.audit`; none changes a result.
    **options
        The audit's, see :class:`janus_jax.plan.Plan`. ``permutations`` are those that set the limit
        of max-T.

    Returns
    -------
    ReplayResult

    Raises
    ------
    InputError
        The data or an option is wrong; the message says what to do.
    BackendUnavailable
        The backend that was named cannot run here.

    References
    ----------
    Janus, arXiv 2606.09046, complete-null replays.

    Examples
    --------
    >>> import pandas as pd
    >>> wrong = [True, False] * 30 + [False] * 20
    >>> table = pd.DataFrame({"long": [True, False] * 40, "wrong": wrong})
    >>> result = replay(table, error="wrong", permutations=999, replays=2000)
    >>> result.table.loc[0, ["rule", "statistic"]].tolist()
    ['decoys_exact', 'lift']
    """
    running = Running(memory=memory, batch=batch, progress=progress)
    checked, planned = chosen_plan(options, plan)
    return run_replay(
        source,
        checked,
        planned=planned,
        replays=replays,
        decoy_grid=decoy_grid,
        plus_one=plus_one,
        backend=backend,
        running=running,
        reading=read_options(delimiter, encoding, log),
    )


def run_replay(
    source: object,
    plan: Plan,
    *,
    planned: Planned | None = None,
    replays: int = REPLAYS,
    decoy_grid: Sequence[int] | None = None,
    plus_one: bool = False,
    backend: str = "auto",
    running: Running | None = None,
    reading: ReadOptions | None = None,
    warn: Callable[[str], None] | None = None,
    command: str | None = None,
) -> ReplayResult:
    """Replay the audit that a checked plan describes; see :func:`replay`.

    ``warn`` is called with each limit of the design before anything random is drawn.
    """
    clock = Stopwatch()
    running = running or Running()
    grid = _checked_grid(decoy_grid, plan)
    replays = whole_number("--replays", replays, 1, MAX_PERMUTATIONS)
    running.check()
    if backend != "auto":
        registry.get(backend)
    table, plan = read(source, reading or ReadOptions(), plan, planned.log if planned else None)
    prepared = prepare(table, plan, planned)
    if not prepared.eligible:
        raise InputError(
            "no descriptor is eligible, so there is nothing to replay; `audit` lists the reasons"
        )
    parts = [shuffled_part(prepared, plan, which) for which in range(len(prepared.parts))]
    warnings = [
        *(remarks(planned) if planned else ()),
        *design_warnings(plan, prepared, parts[DISCOVERY]),
    ]
    if warn is not None:
        for text in warnings:
            warn(text)
    draws = len(parts[0].errors) * plan.permutations + sum(len(p.errors) for p in parts) * replays
    # A decoy compared with a threshold takes about a fiftieth of drawing a label.
    draws += replays * grid[-1] * prepared.library_size // 25
    chosen, reasons = registry.choose(backend, draws)
    rules = _rules(prepared, plan, grid, plus_one, parts[0], chosen, running)
    decided = _decided(prepared, plan, parts, rules, replays, chosen, running)
    return ReplayResult(
        {
            "schema": SCHEMA,
            "data": _data(prepared),
            "plan": planned.to_dict() if planned else {**plan.to_dict(), "hash": plan.hash()},
            "L": prepared.library_size,
            "replays": replays,
            "rules": [
                _row(name, index, rules, decided, plan) for index, name in enumerate(rules.names)
            ],
            "reference": {
                "kind": "enumerated" if rules.reference.enumerated else "sampled",
                "count": rules.reference.tally.permutations,
            },
            "warnings": warnings,
            "notes": list(_notes(plan, rules, replays)),
            "run": clock.record(command, chosen, reasons),
        }
    )


def _checked_grid(grid: Sequence[int] | None, plan: Plan) -> list[int]:
    wanted = [*GRID, plan.decoys] if grid is None else list(grid)
    if not wanted:
        raise InputError("--decoy-grid is empty, but it must name a number of decoys, such as 1000")
    return sorted({whole_number("--decoy-grid", count, 1, MAX_DECOYS) for count in wanted})


def _seed(plan: Plan, child: int) -> int:
    upper, lower = streams.fold_in(streams.stream_key(plan.seed, streams.REPLAYS), child)
    return (int(upper) << 32) | int(lower)


def _rules(
    prepared: Prepared,
    plan: Plan,
    grid: Sequence[int],
    plus_one: bool,
    shuffled: Problem,
    backend: Backend,
    running: Running,
) -> ReplayRules:
    """The tables; max-T takes its limit from the audit's own shared permutations."""
    problem = replace(shuffled, memberships=memberships(prepared))
    ready = make_ready(backend, problem, plan.permutations, running)
    silent = replace(running, progress=None)

    def reference(ranks: Ranks, library: Sequence[Margins], levels: int) -> Permuted:
        own = np.ones(len(library), np.int32)
        tables = Tables(rank_table(library, ranks), own, levels)
        (found,) = permute(backend, problem, [tables], plan.permutations, silent, ready)
        return found

    decoys = streams.fold_in(streams.stream_key(plan.seed, streams.REPLAYS), _DECOYS)
    return replay_rules(prepared, plan, grid, plus_one=plus_one, permute=reference, decoys=decoys)


def _decided(
    prepared: Prepared,
    plan: Plan,
    parts: Sequence[Problem],
    rules: ReplayRules,
    replays: int,
    backend: Backend,
    running: Running,
) -> Decided:
    """Shuffle and decide, a call of the backend at a time."""
    problems = [
        replace(part, memberships=memberships(prepared, which), seed=_seed(plan, which))
        for which, part in enumerate(parts)
        if len(part.errors)  # a holdout may have no outcome at all: nothing is confirmed
    ]
    budget = running.memory // len(problems)
    lanes = running.batch or min(lanes_for(backend, p, replays, budget) for p in problems)
    with enough_memory():
        states: list[Any] = [backend.prepare(problem, lanes) for problem in problems]
    discovery, holdout = states[DISCOVERY], states[HOLDOUT] if len(states) > 1 else None
    total = nothing_decided(rules.tables)
    size, most = lanes, _LONGEST_CALL
    if not isinstance(backend, DecidesReplays):
        # Counts that are decided here come back whole: int32, L for each replay.
        most = max(lanes, min(most, budget // (4 * prepared.library_size)))
    if running.progress:
        running.progress(0, replays)
    while total.replays < replays:
        clock = time.perf_counter()
        ids = np.arange(total.replays, min(total.replays + size, replays), dtype=np.uint32)
        with enough_memory():
            if isinstance(backend, DecidesReplays):
                total += backend.replays(discovery, holdout, ids, rules.tables)
            else:
                held = None if holdout is None else backend.counts(holdout, ids)
                total += decide(backend.counts(discovery, ids), held, ids, rules.tables)
        if running.progress:
            running.progress(total.replays, replays)
        if time.perf_counter() - clock < _CALL_SECONDS / 2:
            size = min(2 * size, most)
    return total


def _data(prepared: Prepared) -> dict[str, Any]:
    table = prepared.examples.table
    counts = [{"n": part.n, "errors": part.error_count} for part in prepared.parts]
    return {
        "rows": table.n,
        "source": list(table.source),
        "sha256": table.sha256,
        "discovery": counts[0],
        "holdout": counts[1] if len(counts) > 1 else None,
        "proposal_rows": int((prepared.where > HOLDOUT).sum()),
    }


def _row(
    name: RuleName, index: int, rules: ReplayRules, decided: Decided, plan: Plan
) -> dict[str, Any]:
    selected, confirmed, many, kept = decided.sums[:, index].tolist()
    count = decided.replays
    held = rules.tables.holdout is not None
    return {
        "rule": name.rule,
        "statistic": name.statistic,
        "K": name.decoys,
        "plus_one": name.plus_one,
        "primary": name.rule == plan.rule
        and name.statistic in (None, plan.statistic)
        and name.decoys in (None, plan.decoys)
        and not name.plus_one,
        **share("any_selected", selected, count),
        "mean_selected": many / count,
        **(
            share("any_confirmed", confirmed, count)
            if held
            else {"any_confirmed": None, "any_confirmed_se": None}
        ),
        "mean_confirmed": kept / count if held else None,
        "can_select": rules.selectable[index],
        "can_confirm": rules.confirmable[index] if held else None,
    }


def share(name: str, hits: int, count: int) -> dict[str, float]:
    """A Monte-Carlo estimate and its standard error, sqrt(p (1 - p) / N)."""
    p = hits / count
    return {name: p, f"{name}_se": float(np.sqrt(p * (1 - p) / count))}


def _notes(plan: Plan, rules: ReplayRules, replays: int) -> Iterator[str]:
    yield (
        "complete null: labels, split and supports are the audit's own; errors are shuffled within "
        "discovery and within holdout, so everything selected or confirmed is false"
    )
    if plan.strata:
        yield f"errors are shuffled within strata of {plan.strata!r}"
    if plan.cluster:
        yield (
            f"whole error patterns are exchanged among clusters of {plan.cluster!r}; rules that "
            "need exchangeable rows are left out"
        )
    if rules.tables.grid:
        yield (
            "K decoys are the first K of one sequence in each replay; Procedure A as published has "
            "no '+1'"
        )
    kind = "all labellings" if rules.reference.enumerated else "shared permutations"
    yield f"max-T's limit comes from {rules.reference.tally.permutations} {kind} of discovery"
    yield f"standard errors are sqrt(p (1 - p) / N), N = {replays}"
    if not any(name.rule == plan.rule for name in rules.names):
        closest = {"max_t_step_down": "max_t selects something in the same replays"}
        yield (
            f"the primary rule {plan.rule} is not replayed"
            + (f"; {closest[plan.rule]}" if plan.rule in closest else "")
        )
    elif plan.rule == "decoys" and plan.decoys not in rules.tables.grid:
        yield f"the primary rule's K = {plan.decoys} is not among --decoy-grid: it is not replayed"
