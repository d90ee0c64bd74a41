"""Look for the smallest effect, or the smallest number of examples, that has a wanted power."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from janus_jax.behaviour.gate_power import gate_chance
from janus_jax.behaviour.power_cells import simulate
from janus_jax.behaviour.power_design import MAX_EXAMPLES, Design
from janus_jax.progress import Progress

STEP: Final = Fraction(1, 100)
"""The grid on which the smallest delta is looked for."""
N_STEP: Final = 10
"""The grid on which the smallest number of examples is looked for."""
MAX_N: Final = 2 * MAX_EXAMPLES
"""The largest number of examples that is looked at."""
CLEAR: Final = 2
"""Standard errors between an estimate and the target, for the answer to be called clear."""

CELL_FIELDS: Final = (
    "delta",
    "n_discovery",
    "n_holdout",
    "power",
    "standard_error",
    "selected",
    "ineligible",
    "gate",
    "repetitions",
)
"""What is said of each cell, in this order. The power, its standard error and ``selected`` are
simulated; ``ineligible`` and ``gate`` are exact chances of the design."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The power of one cell.

    Attributes
    ----------
    design, delta
        The cell.
    confirmed
        How many of the repetitions confirm the designated descriptor.
    selected, ineligible
        In how many it is selected, or not eligible.
    repetitions
        N.
    """

    design: Design
    delta: str
    confirmed: int
    selected: int
    ineligible: int
    repetitions: int

    @property
    def power(self) -> float:
        """The estimate."""
        return self.confirmed / self.repetitions

    @property
    def standard_error(self) -> float:
        """Of the estimate: sqrt(p (1 - p) / N)."""
        p = self.power
        return math.sqrt(p * (1 - p) / self.repetitions)

    def reaches(self, target: Fraction) -> bool:
        """Whether the estimate is at least the target, in integers."""
        return self.confirmed >= target * self.repetitions

    def clear_of(self, target: Fraction) -> bool:
        """Whether the target is at least two standard errors away."""
        return abs(self.power - float(target)) >= CLEAR * self.standard_error

    def to_dict(self) -> dict[str, Any]:
        """The cell as JSON values; fields as in :data:`CELL_FIELDS`."""
        chance = gate_chance(self.design, self.delta)
        return {
            "delta": float(Fraction(self.delta)),
            "n_discovery": self.design.n_discovery,
            "n_holdout": self.design.n_holdout,
            "power": self.power,
            "standard_error": self.standard_error,
            "selected": self.selected / self.repetitions,
            "ineligible": 1.0 - chance.eligible,
            "gate": chance.passes,
            "repetitions": self.repetitions,
        }


class Cells:
    """Cells simulated so far, each once.

    Parameters
    ----------
    repetitions, seed
        Of every cell.
    progress
        Called with the repetitions done and known to be wanted so far.
    wanted
        How many cells are known to be wanted from the start.
    """

    def __init__(
        self, repetitions: int, seed: int, progress: Progress | None, wanted: int = 0
    ) -> None:
        self._repetitions, self._seed, self._progress = repetitions, seed, progress
        self._wanted = wanted
        self._known: dict[tuple[int, int, Fraction], Estimate] = {}

    def estimate(self, design: Design, delta: str) -> Estimate:
        """One cell."""
        at = (design.n_discovery, design.n_holdout, Fraction(delta))
        if at not in self._known:
            self._known[at] = self._simulate(design, delta)
        return self._known[at]

    def _simulate(self, design: Design, delta: str) -> Estimate:
        before = len(self._known) * self._repetitions
        wanted = max(before + self._repetitions, self._wanted * self._repetitions)

        def tell(done: int) -> None:
            if self._progress:
                self._progress(before + done, wanted)

        tell(0)
        tally = simulate(design, delta, self._repetitions, self._seed, tell)
        return Estimate(
            design, delta, tally.confirmed, tally.selected, tally.ineligible, tally.repetitions
        )


def smallest_delta(design: Design, cells: Cells, target: str) -> dict[str, Any]:
    """The smallest delta on a grid of 0.01 whose estimated power reaches the target.

    Returns
    -------
    dict
        JSON values: what was looked for, the answer (None when there is none), its cell and the two
        beside it on the grid, and a verdict in words.
    """
    steps = int((1 - design.p0) / STEP)
    found = _smallest(
        lambda step: cells.estimate(design, f"{float(step * STEP):.2f}"),
        range(1, steps + 1),
        Fraction(target),
    )
    fixed = {"n_discovery": design.n_discovery, "n_holdout": design.n_holdout}
    return _answer("delta", target, fixed, found, f"no delta up to {float(steps * STEP):.2f}")


def smallest_n(design: Design, delta: str, cells: Cells, target: str) -> dict[str, Any]:
    """The smallest n on a grid of 10 whose estimated power reaches the target at this delta.

    Half of the n examples, rounded down, is discovery; everything else of the design stays.
    """
    fixed, c = {"delta": float(Fraction(delta))}, design.min_holdout_lift
    if abs(Fraction(delta)) <= Fraction(c):
        why = f"no n, since |delta| is not above the {c} that the gate asks of holdout,"
        return _answer("n", target, fixed, None, why)

    def estimate(n: int) -> Estimate:
        return cells.estimate(design.resized(n), delta)

    # Where the gate alone passes too seldom, nothing needs to be simulated: no power is larger, up
    # to discovery lifts of the wrong sign.
    goal, n = Fraction(target), 8 * N_STEP
    while n < MAX_N and not (
        gate_chance(design.resized(n), delta).passes >= goal and estimate(n).reaches(goal)
    ):
        n = min(2 * n, MAX_N)
    found = _smallest(estimate, range(N_STEP, min(n + N_STEP, MAX_N) + 1, N_STEP), goal)
    return _answer("n", target, fixed, found, f"no n up to {MAX_N:,}")


@dataclass(frozen=True, slots=True)
class _Found:
    """The smallest grid point that reaches a target, between its neighbours."""

    at: Estimate
    below: Estimate | None
    above: Estimate | None


def _smallest(estimate: Callable[[int], Estimate], grid: range, target: Fraction) -> _Found | None:
    """Bisect for the first grid point that reaches the target; None if the last one does not.

    The estimates share their random numbers, so they rise nearly as steadily as the power itself.
    """
    low, high = -1, len(grid) - 1
    if not grid or not estimate(grid[high]).reaches(target):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if estimate(grid[middle]).reaches(target) else (middle, high)
    return _Found(
        estimate(grid[high]),
        estimate(grid[high - 1]) if high else None,
        estimate(grid[high + 1]) if high + 1 < len(grid) else None,
    )


def _answer(
    looked_for: Literal["delta", "n"],
    target: str,
    fixed: Mapping[str, Any],
    found: _Found | None,
    beyond: str,
) -> dict[str, Any]:
    answer: dict[str, Any] = {"looked_for": looked_for, "target": float(Fraction(target)), **fixed}
    if found is None:
        return answer | {
            "smallest": None,
            "at": None,
            "below": None,
            "above": None,
            "clear": True,
            "verdict": f"{beyond} has an estimated power of {target}",
        }
    goal = Fraction(target)
    near = [it for it in (found.below, found.at, found.above) if it is not None]
    unclear = [it for it in near if not it.clear_of(goal)]
    text = _coordinate(looked_for, found.at)
    verdict = f"{looked_for} = {text} is the smallest with an estimated power of {target}"
    if unclear:
        points = ", ".join(_coordinate(looked_for, it) for it in unclear)
        verdict += (
            f"; at {points} the estimate is within {CLEAR} standard errors of {target}, so that "
            "the simulation cannot tell on which side the power lies: use more repetitions"
        )
    return answer | {
        "smallest": int(text) if looked_for == "n" else float(Fraction(text)),
        "at": found.at.to_dict(),
        "below": found.below and found.below.to_dict(),
        "above": found.above and found.above.to_dict(),
        "clear": not unclear,
        "verdict": verdict,
    }


def _coordinate(looked_for: str, it: Estimate) -> str:
    if looked_for == "n":
        return str(it.design.n_discovery + it.design.n_holdout)
    return it.delta
