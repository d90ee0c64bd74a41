"""How likely the holdout gate passes a real effect, and how large a holdout it needs.

The gate asks for a holdout lift of discovery's sign and of at least c. With n1 examples inside the
slice and n0 outside, error rates p0 + delta and p0, the numbers of errors are two independent
binomials; the gate compares them in integers, and so does this.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from janus_jax.behaviour.binomial import exact_weights, nonzero_probabilities
from janus_jax.behaviour.power_design import MAX_EXAMPLES, Design
from janus_jax.rules import at_most

MAX_HOLDOUT: Final = 2 * MAX_EXAMPLES
"""The largest holdout that is looked at."""


def _reach(on: NDArray[np.int64], n_on: int, n_off: int, c: Fraction) -> NDArray[np.int64]:
    """The most errors outside with which a lift is positive and at least c; -1 for none.

    Parameters
    ----------
    on
        Errors inside, of ``n_on`` examples; ``n_off`` are outside.
    """
    if not c:  # a lift of 0 has no sign
        return (on * n_off - 1) // n_on
    top = on * n_off * c.denominator - c.numerator * n_on * n_off
    return np.maximum(top // (n_on * c.denominator), -1)


def gate_probability(
    delta: Fraction, base_error: Fraction, n_on: int, n_off: int, min_holdout_lift: Fraction
) -> float:
    """P(the gate passes): the lift has delta's sign and is at least ``min_holdout_lift``.

    The sum over both binomials, with a relative error below 1e-12. A delta of 0 counts as
    positive: discovery saw a slice that is worse.

    Parameters
    ----------
    delta
        True difference of the error rates, inside minus outside.
    base_error
        Error rate outside.
    n_on, n_off
        Holdout examples inside and outside, at least 1 each.
    min_holdout_lift
        c, 0 to 1.

    Examples
    --------
    >>> gate_probability(Fraction(1, 2), Fraction(1, 4), 1, 1, Fraction(1, 10))
    0.5625
    """
    inside, outside = _sides(delta, base_error, n_on, n_off)
    first, chances = nonzero_probabilities(*inside)
    low, others = nonzero_probabilities(*outside)
    errors = np.arange(first, first + len(chances), dtype=np.int64)
    most = _reach(errors, inside[0], outside[0], min_holdout_lift)
    cumulative = np.concatenate([[0.0], np.minimum(np.cumsum(others), 1.0)])
    below = cumulative[np.clip(most - low + 1, 0, len(others))]
    return min(float(np.cumsum(np.sort(chances * below))[-1]), 1.0)


def exact_gate_probability(
    delta: Fraction, base_error: Fraction, n_on: int, n_off: int, min_holdout_lift: Fraction
) -> Fraction:
    """The same as a ratio of integers, for decisions closer than floats can tell."""
    inside, outside = _sides(delta, base_error, n_on, n_off)
    chances, one = exact_weights(*inside)
    others, two = exact_weights(*outside)
    reach = _reach(np.arange(len(chances)), inside[0], outside[0], min_holdout_lift)
    most: list[int] = reach.tolist()
    below = [0, *itertools.accumulate(others)]
    total = sum(w * below[min(k, outside[0]) + 1] for w, k in zip(chances, most, strict=True))
    return Fraction(total, one * two)


def _sides(
    delta: Fraction, base_error: Fraction, n_on: int, n_off: int
) -> tuple[tuple[int, Fraction], tuple[int, Fraction]]:
    """The side that should have more errors, and the other: examples and error rate."""
    on, off = (n_on, base_error + delta), (n_off, base_error)
    return (on, off) if delta >= 0 else (off, on)


def normal_gate_probability(
    delta: Fraction, base_error: Fraction, n_on: float, n_off: float, min_holdout_lift: Fraction
) -> float:
    """The same by the normal approximation: lift ~ N(delta, p1 (1 - p1) / n1 + p0 (1 - p0) / n0).

    Without a continuity correction; rounded to 6 decimals, since the normal distribution of the
    system's library may differ in the last digits between machines.
    """
    p1 = base_error + delta
    variance = float(p1 * (1 - p1)) / n_on + float(base_error * (1 - base_error)) / n_off
    margin = float(abs(delta) - min_holdout_lift)
    if not variance:
        return 1.0 if margin >= 0 else 0.0
    return round(NormalDist().cdf(margin / math.sqrt(variance)), 6)


@dataclass(frozen=True, slots=True)
class GateChance:
    """What the design alone says of the designated descriptor, without any simulation.

    Attributes
    ----------
    eligible
        P(it is eligible).
    passes
        P(it is eligible and its holdout lift has delta's sign and is at least c). Up to a discovery
        lift of the wrong sign, no power is larger.
    """

    eligible: float
    passes: float


def gate_chance(design: Design, delta: str) -> GateChance:
    """The exact chances of a design: sums over the designated descriptor's support."""
    c, limits = Fraction(design.min_holdout_lift), design.limits
    low, chances = nonzero_probabilities(design.n_discovery, design.on_rate)
    cumulative = np.concatenate([[0.0], np.minimum(np.cumsum(chances), 1.0)])

    def up_to(on: int) -> float:
        return float(cumulative[min(max(on - low + 1, 0), len(chances))])

    first, weights = nonzero_probabilities(design.n_holdout, design.on_rate)
    eligible = passes = 0.0
    for on, weight in enumerate(weights.tolist(), start=first):
        least, most = limits.discovery_beside(on)
        share = weight * (up_to(most) - up_to(least - 1)) if least <= most else 0.0
        # What is left out cannot change the sum by 1e-13.
        if share < 1e-17:
            continue
        off = design.n_holdout - on
        eligible += share
        passes += share * gate_probability(Fraction(delta), design.p0, on, off, c)
    return GateChance(min(eligible, 1.0), min(passes, 1.0))


def nearest_split(n: int, prevalence: Fraction) -> tuple[int, int]:
    """Examples on and off of n, as near to the prevalence as whole numbers come, halves up.

    Examples
    --------
    >>> nearest_split(50, Fraction(1, 5)), nearest_split(5, Fraction(1, 2))
    ((10, 40), (3, 2))
    """
    on = math.floor(prevalence * n + Fraction(1, 2))
    return on, n - on


@dataclass(frozen=True, slots=True)
class HoldoutSize:
    """The holdout that a gate needs.

    Attributes
    ----------
    n, n_on, n_off
        Holdout examples, inside and outside the slice.
    probability
        P(the gate passes) with them.
    one_less
        The same with one example less; None at the smallest holdout there is.
    normal_n
        What the normal approximation says.
    checked_to
        Every n from ``n`` to here was found to suffice.
    """

    n: int
    n_on: int
    n_off: int
    probability: float
    one_less: float | None
    normal_n: int
    checked_to: int


@lru_cache(maxsize=256)  # the same for every size of a curve
def smallest_holdout(
    delta: Fraction,
    base_error: Fraction,
    prevalence: Fraction,
    min_holdout_lift: Fraction,
    wanted: Fraction,
    *,
    min_on: int = 1,
    min_off: int = 1,
) -> HoldoutSize | None:
    """The smallest holdout from which on the gate passes with a wanted probability.

    The probability is a sawtooth in n: one more example can need one more error. The answer is one
    more than the *last* n that does not suffice, not the first that happens to; it was checked
    against all larger n up to ``checked_to``, which the teeth cannot reach beyond.

    Parameters
    ----------
    delta, base_error, min_holdout_lift
        As in :func:`gate_probability`.
    prevalence
        Share of examples inside; the split is the :func:`nearest_split`.
    wanted
        The probability, below 1.
    min_on, min_off
        Support that holdout must have.

    Returns
    -------
    HoldoutSize or None
        None when no n up to :data:`MAX_HOLDOUT` suffices; so it is whenever ``|delta|`` is not
        above ``min_holdout_lift``, since the probability then tends to a half or to 0.
    """
    margin = abs(delta) - min_holdout_lift
    if margin <= 0 or not 0 < prevalence < 1:
        return None

    def probability(n: int) -> float | None:
        on, off = nearest_split(n, prevalence)
        if on < max(min_on, 1) or off < max(min_off, 1):
            return None
        return gate_probability(delta, base_error, on, off, min_holdout_lift)

    def suffices(n: int) -> bool:
        value = probability(n)
        if value is None:
            return False
        # wanted <= value, said as 1 - value <= 1 - wanted where floats must not decide
        return at_most(
            1.0 - value,
            1 - wanted,
            lambda: (
                1
                - exact_gate_probability(
                    delta, base_error, *nearest_split(n, prevalence), min_holdout_lift
                )
            ),
        )

    normal_n = _normal_size(delta, base_error, prevalence, min_holdout_lift, wanted)
    # A tooth is one error: it moves the rate of the smaller side by 1 / n1, as much as the
    # probability moves while n grows by about 2 n1 / (margin n) times that; take ten.
    teeth = math.ceil(20 / (min(prevalence, 1 - prevalence) * margin)) + 20
    top = normal_n + teeth
    while top <= MAX_HOLDOUT and not suffices(top):
        top += teeth
    if top > MAX_HOLDOUT:
        return None
    n = top
    while n > 2 and suffices(n - 1):
        n -= 1
    value = probability(n)
    assert value is not None  # it suffices
    return HoldoutSize(n, *nearest_split(n, prevalence), value, probability(n - 1), normal_n, top)


def _normal_size(
    delta: Fraction,
    base_error: Fraction,
    prevalence: Fraction,
    min_holdout_lift: Fraction,
    wanted: Fraction,
) -> int:
    """The smallest n by the normal approximation, real on- and off-counts."""
    p1 = base_error + delta
    spread = p1 * (1 - p1) / prevalence + base_error * (1 - base_error) / (1 - prevalence)
    z = max(NormalDist().inv_cdf(float(wanted)), 0.0)
    scale = z / float(abs(delta) - min_holdout_lift)
    return max(2, math.ceil(float(spread) * scale * scale))
