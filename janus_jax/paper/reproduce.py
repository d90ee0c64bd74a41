"""The numbers of the paper that need no model output, with ours beside them.

Each row names a quantity, what is expected and where that comes from, what is computed here, the
Monte-Carlo errors, and a verdict:

* ``equal``: to the digits given;
* ``agrees``: within four standard errors of the difference;
* ``same direction``: where only a direction can be compared, it is the expected one by more than
  four standard errors;
* ``unclear``: less than that either way, so that too few replays were made to tell;
* ``differs``: none of these;
* ``ours``: there is nothing to compare with.

Everything here is computed with the simulated reader of :mod:`janus_jax.paper.reader`; a model's
replies are audited on their own (:func:`janus_jax.paper.controlled.audit_replies`).
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, cast

from janus_jax import registry
from janus_jax.behaviour.power import MAX_REPETITIONS, Study, make_study, run_study
from janus_jax.behaviour.power_design import SIZES, make_design
from janus_jax.behaviour.replay import replay
from janus_jax.errors import InputError
from janus_jax.library import Counts, ineligible_reason
from janus_jax.paper.controlled import audit_replies, reader_frame
from janus_jax.paper.correlated import correlated_frame
from janus_jax.paper.packets import packets
from janus_jax.paper.reader import SimulatedReader
from janus_jax.plan import make_plan
from janus_jax.record import Stopwatch
from janus_jax.result import Result
from janus_jax.rules import adjust_benjamini_hochberg, percentile_95
from janus_jax.screen import gate
from janus_jax.statistic import Margins

if TYPE_CHECKING:
    import pandas as pd

SCHEMA: Final = "janus-jax/reproduce/1"
REPETITIONS: Final = 10_000
REPLAYS: Final = 50_000
_PAPER = "the paper"
_SIMULATION = "an independent simulation"
_SAWTOOTH = "the rule: floor(q K / L) grows by one"

# Around the numbers of decoys at which one more may reach a threshold that one descriptor reaches:
# floor(0.10 K / 41) is 0 below K = 410, 1 below 820, 2 from there.
JUMPS: Final = ((409, 410), (819, 820))
GRID: Final = (100, 200, 300, 400, 409, 410, 500, 600, 700, 800, 819, 820, 900, 1000)

# (preset, delta, power, repetitions) of an independent simulation.
POWER: Final = (
    ("controlled", "0.05", 0.0083, 200_000),
    ("controlled", "0.10", 0.0319, 200_000),
    ("controlled", "0.15", 0.0917, 200_000),
    ("controlled", "0.36", 0.7879, 200_000),
    ("controlled", "0.37", 0.8170, 200_000),
    ("musique", "0.05", 0.0102, 200_000),
    ("musique", "0.10", 0.0350, 200_000),
    ("musique", "0.15", 0.0940, 200_000),
    ("musique", "0.36", 0.7706, 200_000),
    ("musique", "0.37", 0.8004, 200_000),
    ("longbench-v2", "0.05", 0.0050, 60_000),
    ("longbench-v2", "0.10", 0.0147, 60_000),
    ("longbench-v2", "0.15", 0.0398, 60_000),
    ("longbench-v2", "0.46", 0.7944, 60_000),
    ("longbench-v2", "0.47", 0.8204, 60_000),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity.

    Attributes
    ----------
    section, what
        Where it belongs, and what it is.
    expected, expected_se, source
        The number to compare with (None if there is none), its standard error, who says so.
    ours, ours_se
        What is computed here.
    verdict
        See the module.
    """

    section: str
    what: str
    expected: float | None
    expected_se: float | None
    source: str | None
    ours: float
    ours_se: float | None
    verdict: str


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction(Result):
    """The paper's numbers with ours beside them: ``janus-jax/reproduce/1``."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per quantity."""
        import pandas as pd

        return pd.DataFrame(self.document["rows"])

    def __repr__(self) -> str:
        return f"<Reproduction: {answer(self.document)}>"


def answer(document: Mapping[str, Any]) -> str:
    """How many comparisons hold, in a sentence."""
    verdicts = Counter(row["verdict"] for row in document["rows"] if row["verdict"] != "ours")
    unclear, differ = verdicts["unclear"], verdicts["differs"]
    compared = verdicts.total()
    apart = [f"{unclear} unclear"] if unclear else []
    apart += [f"{differ} differ{'s' if differ == 1 else ''}"] if differ else []
    held = f"{compared - unclear - differ} of {compared} comparisons hold"
    return "; ".join([held, ", ".join(apart)] if apart else [held])


def reproduce(
    *,
    repetitions: int = REPETITIONS,
    replays: int = REPLAYS,
    seed: int = 0,
    backend: str = "auto",
    progress: Callable[[str], None] | None = None,
    command: str | None = None,
) -> Reproduction:
    """Compute every number of the paper that can be had without its model outputs.

    Parameters
    ----------
    repetitions
        Of each cell of the power simulation, at least 1.
    replays
        Of the complete null, 1 to 2**32 - 1.
    seed
        Of both, and of the packets.
    backend
        As for :func:`janus_jax.audit`.
    progress
        Called with the name of each section as it begins.
    command
        The command line, for the record.

    Returns
    -------
    Reproduction

    Raises
    ------
    InputError
        A number is none or out of range, or there is no such backend; nothing was computed.
    BackendUnavailable
        The backend that was named cannot run here.

    See Also
    --------
    janus_jax.paper.controlled.audit_replies : audit a model's replies to the packets.

    References
    ----------
    Janus: *Measurement Under Selection: Decoy-Calibrated Failure Audits for Language Models*, arXiv
    2606.09046.
    """
    clock = Stopwatch()
    seed = _whole("--seed", seed, 0, 2**64 - 1)
    replays = _whole("--replays", replays, 1, 2**32 - 1)
    repetitions = _whole("--repetitions", repetitions, 1, MAX_REPETITIONS)
    studies = _studies(repetitions, seed)
    if backend != "auto":
        registry.get(backend)
    say = progress or _silent
    rows: list[Row] = []
    say("exact values")
    rows += _exact_values()
    say("support rules")
    rows += _support_rules()
    say("power")
    rows += _power(studies)
    say("decoys and the complete null")
    rows += _decoys(replays, seed, backend)
    say("controlled audit")
    frame = reader_frame(SimulatedReader(), packets(seed=seed))
    audit = audit_replies(frame, backend=backend)
    rows += _controlled(frame, audit.to_dict())
    return Reproduction(
        {
            "schema": SCHEMA,
            "repetitions": repetitions,
            "replays": replays,
            "seed": seed,
            "rows": [asdict(row) for row in rows],
            "notes": list(_NOTES),
            "run": {**clock.record(command), "backend": audit.document["run"]["backend"]},
        }
    )


def _whole(option: str, value: object, least: int, most: int) -> int:
    """A whole number from a caller, who may have given anything."""
    try:
        number = None if isinstance(value, bool) else operator.index(cast("SupportsIndex", value))
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise InputError(f"{option} is {value!r}, but it must be a whole number, {least} to {most}")
    return number


_NOTES = (
    "verdicts: equal = to the digits given; agrees = within four standard errors of the "
    "difference; differs = neither; ours = nothing to compare with",
    "verdicts on the effect of K: same direction = it falls from K = 100 to K = 1000, as in the "
    "paper, or rises where one more decoy is allowed, by more than four standard errors; differs = "
    "the other way by as much; unclear = neither: more --replays would tell",
    "the powers to compare with are those of an independent simulation of the paper's "
    "configurations (200,000 repetitions a cell, 60,000 for LongBench v2)",
    "the paper's LongBench v2 descriptors are not published: the 41 correlated ones here are ours, "
    "of the same number and split sizes, so only directions are compared",
    "between its ends the effect of K is a sawtooth: with L = 41 and q = 0.10 one more decoy is "
    "allowed from K = 410 and from K = 820 on, and false selections jump there",
    "the packets and the reader of the controlled audit are ours: a reader that loses the thread "
    "the more often the more look-ups it has made; no pattern is planted in its replies",
)


def _silent(_: str) -> None:
    """Nobody wants to hear."""


def _given(section: str, what: str, text: str, ours: float, source: str = _PAPER) -> Row:
    """Compare with a number that is given to some digits."""
    digits = len(text.partition(".")[2])
    equal = abs(Fraction(ours) - Fraction(text)) <= Fraction(1, 2 * 10**digits)
    return Row(
        section, what, float(text), None, source, ours, None, "equal" if equal else "differs"
    )


def _counts(n: int, errors: int, on: int, errors_on: int) -> Counts:
    return Counts(Margins((n,), (on,), (errors,), "lift"), errors_on)


def _exact_values() -> Iterator[Row]:
    section = "exact values"
    found, held = _counts(57, 24, 31, 8), _counts(58, 35, 26, 15)
    p = found.margins.p_value(found.errors_on)
    yield _given(section, "lift, 8 of 31 wrong against 16 of 26", "-0.35732", float(found.lift))
    yield _given(section, "its exact p-value", "0.00825004", p)
    # The smallest of 34: the others do not matter as long as they are far larger.
    adjusted = float(adjust_benjamini_hochberg([p] + [1.0] * 33)[0])
    yield _given(section, "BH-adjusted over 34 descriptors", "0.2805012", adjusted)
    yield _given(section, "its holdout lift", "-0.0480769", float(held.lift))
    passed, _ = gate(found, held, make_plan({"error": "wrong"}))
    yield _given(section, "passes the gate (1 = yes)", "0", float(passed))
    whole = _counts(160, 58, 80, 52)
    on = whole.errors_on / whole.on
    yield _given(section, "controlled audit, long_chain on", "0.65", on)
    off = whole.errors_off / whole.off
    yield _given(section, "controlled audit, long_chain off", "0.075", off)
    yield _given(section, "controlled audit, long_chain lift", "0.575", float(whole.lift))
    # The 190th and 191st smallest of 200 decoys, as lifts of two slices of that split.
    low, high = (abs(_counts(57, 24, on, a).lift) for on, a in ((17, 11), (27, 16)))
    floor = percentile_95({low: 190, high: 10})
    yield _given(section, "fixed decoy floor, n = 57, K = 200", "0.322252", float(floor))


def _support_rules() -> Iterator[Row]:
    """The fewest and most examples a descriptor may be on for, found by trying all numbers."""
    section = "support rules"
    expected = {
        "controlled": ("8", "72"),
        "musique": ("15", "135"),
        "longbench-v2": ("8", "113"),
    }
    for preset, (fewest, most) in expected.items():
        sizes = SIZES[preset]
        n_d, n_h = sizes["n_discovery"], sizes["n_holdout"]
        rules = make_plan({"error": "wrong", "preset": preset}).eligibility
        fits = [
            (d, h)
            for d in range(n_d + 1)
            for h in range(n_h + 1)
            if ineligible_reason(_counts(n_d, 0, d, 0), _counts(n_h, 0, h, 0), rules) is None
        ]
        if preset == "controlled":
            what, values = "on in each split", [min(pair) for pair in fits]
            highest = max(max(pair) for pair in fits)
        else:
            what, values = "on in all", [sum(pair) for pair in fits]
            highest = max(values)
        yield _given(section, f"{preset}: fewest {what}", fewest, float(min(values)))
        yield _given(section, f"{preset}: most {what}", most, float(highest))


def _studies(repetitions: int, seed: int) -> list[Study]:
    """The power simulations, checked, one for each design."""
    return [
        make_study(
            make_design({"preset": preset}),
            delta=[cell[1] for cell in POWER if cell[0] == preset],
            repetitions=repetitions,
            seed=seed,
        )
        for preset in SIZES
    ]


def _power(studies: Sequence[Study]) -> Iterator[Row]:
    for study in studies:
        preset = study.design.preset
        cells = [cell for cell in POWER if cell[0] == preset]
        found = run_study(study).document["cells"]
        for (_, delta, expected, count), cell in zip(cells, found, strict=True):
            # By the expected power: a share of 0 or 1 in few repetitions has an error all the same.
            variance = expected * (1 - expected)
            gap = abs(expected - cell["power"])
            near = gap <= 4 * math.sqrt(variance / count + variance / study.repetitions)
            yield Row(
                "power",
                f"{preset}, delta {delta}",
                expected,
                math.sqrt(variance / count),
                _SIMULATION,
                cell["power"],
                cell["standard_error"],
                "agrees" if near else "differs",
            )


def _decoys(replays: int, seed: int, backend: str) -> Iterator[Row]:
    """How much depends on K under the complete null, and the sawtooth between."""
    section = "complete null"
    document = replay(
        correlated_frame(seed),
        error="wrong",
        split_column="split",
        preset="longbench-v2",
        seed=seed,
        replays=replays,
        decoy_grid=GRID,
        backend=backend,
    ).document
    ranked = [row for row in document["rules"] if row["statistic"] == "lift"]
    by_lift = {row["K"]: row for row in ranked if row["rule"] == "decoys"}
    exact = next(row for row in ranked if row["rule"] == "decoys_exact")
    for name, words, paper in (
        ("any_selected", "any selection", (0.226, 0.098)),
        ("any_confirmed", "any confirmation", (0.084, 0.037)),
    ):
        fall, fall_se = _rise(by_lift[1000][name], by_lift[100][name], replays)
        for count, row in by_lift.items():
            expected = dict(zip((100, 1000), paper, strict=True)).get(count)
            verdict = "ours" if expected is None else direction(fall, fall_se)
            yield Row(
                section,
                f"{words}, K = {count}",
                expected,
                None,
                _PAPER if expected is not None else None,
                row[name],
                row[f"{name}_se"],
                verdict,
            )
        yield Row(
            section, f"{words}, exact limit", None, None, None, exact[name], exact[f"{name}_se"],
            "ours",
        )  # fmt: skip
        for low, high in JUMPS:
            rise, se = _rise(by_lift[low][name], by_lift[high][name], replays)
            yield Row(
                section, f"{words}, rise from K = {low} to {high}", None, None, _SAWTOOTH, rise, se,
                direction(rise, se),
            )  # fmt: skip


def _rise(low: float, high: float, count: int) -> tuple[float, float]:
    """How much larger the second of two shares is, and the standard error were they equal.

    Both come from the same replays, so the error of independent ones is on the safe side.
    """
    mean = (low + high) / 2
    return high - low, math.sqrt(2 * mean * (1 - mean) / count)


def direction(change: float, se: float) -> str:
    """The verdict on a change that should be positive."""
    if abs(change) <= 4 * se:
        return "unclear"
    return "same direction" if change > 0 else "differs"


def _controlled(frame: pd.DataFrame, document: Mapping[str, Any]) -> Iterator[Row]:
    section = "controlled audit, a simulated reader"
    found = {d["name"]: d for d in document["descriptors"]}
    for side, paper in ((True, 52 / 80), (False, 6 / 80)):
        rate = float(frame.loc[frame["long_chain"] == side, "wrong"].mean())
        what = f"error rate, long_chain {'on' if side else 'off'} (paper: its own reader)"
        yield Row(section, what, paper, None, _PAPER, rate, None, "ours")
    confirmed = found["long_chain"]["status"] == "confirmed"
    yield Row(
        section,
        "long_chain confirmed (1 = yes)",
        1.0,
        None,
        _PAPER,
        float(confirmed),
        None,
        "equal" if confirmed else "differs",
    )
    for name, d in found.items():
        if name != "long_chain":
            yield Row(
                section, f"{name} confirmed (1 = yes)", None, None, None,
                float(d["status"] == "confirmed"), None, "ours",
            )  # fmt: skip
