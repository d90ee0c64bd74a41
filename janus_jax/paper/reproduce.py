"""The numbers of the paper that need no model output, with ours beside them.

Each row names a quantity, what is expected and where that comes from, what is computed here, the
Monte-Carlo errors, and a verdict: ``equal`` (to the digits given), ``agrees`` (within four standard
errors of the difference), ``same direction``, ``differs``, or ``ours`` where there is nothing to
compare with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from janus_jax.behaviour.power import power
from janus_jax.behaviour.power_design import SIZES
from janus_jax.behaviour.replay import replay
from janus_jax.errors import InputError
from janus_jax.library import Counts, ineligible_reason
from janus_jax.paper.controlled import audit_replies, reader_frame, replies_frame
from janus_jax.paper.correlated import correlated_frame
from janus_jax.paper.packets import Packet, packets
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

# Around the numbers of decoys at which one more may reach a threshold that one descriptor reaches:
# floor(0.10 K / 41) is 0 below K = 410, 1 below 820, 2 from there.
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
    verdicts = [row["verdict"] for row in document["rows"]]
    compared = [verdict for verdict in verdicts if verdict != "ours"]
    wrong = compared.count("differs")
    return f"{len(compared) - wrong} of {len(compared)} comparisons with the paper hold"


def reproduce(
    *,
    repetitions: int = REPETITIONS,
    replays: int = REPLAYS,
    seed: int = 0,
    replies: Sequence[str] | None = None,
    backend: str = "auto",
    progress: Callable[[str], None] | None = None,
    command: str | None = None,
) -> Reproduction:
    """Compute every number of the paper that can be had without its model outputs.

    Parameters
    ----------
    repetitions
        Of each cell of the power simulation.
    replays
        Of the complete null.
    seed
        Of both, and of the packets.
    replies
        A model's replies to ``packets(seed=seed)``, in their order, for the controlled audit; None
        lets the simulated reader answer.
    backend
        As for :func:`janus_jax.audit`.
    progress
        Called with the name of each section as it begins.
    command
        The command line, for the record.

    Returns
    -------
    Reproduction

    References
    ----------
    Janus: *Measurement Under Selection: Decoy-Calibrated Failure Audits for Language Models*, arXiv
    2606.09046.
    """
    clock = Stopwatch()
    if not 1 <= replays < 2**32:
        raise InputError(f"--replays is {replays}, but it must be from 1 to {2**32 - 1}")
    made = packets(seed=seed)
    say = progress or _silent
    rows: list[Row] = []
    say("exact values")
    rows += _exact_values()
    say("support rules")
    rows += _support_rules()
    say("power")
    rows += _power(repetitions, seed)
    say("decoys and the complete null")
    rows += _decoys(replays, seed, backend)
    say("controlled audit")
    frame = replies_frame(made, replies) if replies is not None else _simulated(made)
    audit = audit_replies(frame, backend=backend)
    rows += _controlled(frame, audit.to_dict(), model=replies is not None)
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


_NOTES = (
    "verdicts: equal = to the digits given; agrees = within four standard errors of the "
    "difference; ours = nothing to compare with",
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


def _simulated(made: Sequence[Packet]) -> pd.DataFrame:
    return reader_frame(SimulatedReader(), made)


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


def _power(repetitions: int, seed: int) -> Iterator[Row]:
    for preset in SIZES:
        cells = [cell for cell in POWER if cell[0] == preset]
        found = power(
            preset=preset, delta=[cell[1] for cell in cells], repetitions=repetitions, seed=seed
        ).document["cells"]
        for (_, delta, expected, count), cell in zip(cells, found, strict=True):
            se = math.sqrt(expected * (1 - expected) / count)
            yield Row(
                "power",
                f"{preset}, delta {delta}",
                expected,
                se,
                _SIMULATION,
                cell["power"],
                cell["standard_error"],
                _agreement(expected, se, cell["power"], cell["standard_error"]),
            )


def _agreement(a: float, se_a: float, b: float, se_b: float) -> str:
    return "agrees" if abs(a - b) <= 4 * math.sqrt(se_a**2 + se_b**2) else "differs"


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
        for count, row in by_lift.items():
            expected = dict(zip((100, 1000), paper, strict=True)).get(count)
            verdict = "ours" if expected is None else _falls(by_lift[100], by_lift[1000], name)
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


def _falls(first: Mapping[str, Any], last: Mapping[str, Any], name: str) -> str:
    gap = first[name] - last[name]
    se = math.hypot(first[f"{name}_se"], last[f"{name}_se"])
    return "same direction" if gap > 4 * se else "differs"


def _controlled(frame: pd.DataFrame, document: Mapping[str, Any], *, model: bool) -> Iterator[Row]:
    section = "controlled audit, " + ("the replies given" if model else "a simulated reader")
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
