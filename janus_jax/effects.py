"""How large an effect is, honestly: the holdout lift with an interval, beside the discovery lift.

The discovery lift of a selected descriptor is the winner of a selection and tends to be too large;
the holdout lift isn't chosen for its size. A confirmed descriptor has passed the gate on that same
holdout, so its interval is conditional on having passed and covers less than its level says.
"""

from __future__ import annotations

import math
from typing import Any

from janus_jax.library import Counts

METHOD = "newcombe"
LEVEL = 0.95
_Z = 1.959963984540054  # the normal quantile at 0.975, to the last bit of a float


def newcombe(errors_on: int, on: int, errors_off: int, off: int) -> tuple[float, float]:
    """95% interval of the difference of two independent error rates, inside minus outside.

    Newcombe's hybrid score interval: method 10, without continuity correction, of R. G. Newcombe,
    "Interval estimation for the difference between independent proportions", Statistics in Medicine
    17 (1998) 873-890. It squares and adds the distances from each rate to its Wilson limits, so it
    stays within [-1, 1] and has a width even where a rate is 0 or 1.

    These few lines are our own, not a dependency's, because a result must be the same on every
    machine: integers, correctly rounded ``+ - * /`` and square roots in a fixed order, and one
    constant. The tests compare them with statsmodels.

    Parameters
    ----------
    errors_on, on
        Errors and examples inside the slice; ``on`` is at least 1.
    errors_off, off
        Errors and examples outside it; ``off`` is at least 1.

    Returns
    -------
    tuple of float
        The lower and the upper limit, each a difference of rates in [-1, 1].

    Examples
    --------
    >>> [round(limit, 4) for limit in newcombe(56, 70, 48, 80)]  # Newcombe 1998, example (a)
    [0.0524, 0.3339]
    """
    lift = (errors_on * off - errors_off * on) / (on * off)
    low_on, high_on = _wilson(errors_on, on)
    low_off, high_off = _wilson(errors_off, off)
    rate_on, rate_off = errors_on / on, errors_off / off
    down = math.sqrt(_square(rate_on - low_on) + _square(high_off - rate_off))
    up = math.sqrt(_square(high_on - rate_on) + _square(rate_off - low_off))
    return max(-1.0, lift - down), min(1.0, lift + up)  # the last bit can stand out by a rounding


def paired_difference(
    first_on: int, second_on: int, on: int, first_off: int, second_off: int, off: int
) -> tuple[float, float]:
    """95% interval of the difference of two models' lifts on the same examples.

    Inside the slice as outside it, the two error rates are paired; their difference depends only on
    the examples that exactly one of the models gets wrong. Each gets the adjusted Wald interval of
    D. G. Bonett and R. M. Price, "Adjusted Wald confidence interval for a difference of binomial
    proportions based on paired data", Journal of Educational and Behavioral Statistics 37 (2012)
    479-488 (one more of each kind of such examples, two more examples); inside and outside are
    independent, so their centres are subtracted and their variances added.

    Parameters
    ----------
    first_on, second_on
        Examples inside the slice that only the first, and only the second model gets wrong.
    on
        Examples inside the slice, at least 1.
    first_off, second_off, off
        The same outside it.

    Returns
    -------
    tuple of float
        The lower and the upper limit, each in [-2, 2].

    Examples
    --------
    >>> [round(limit, 3) for limit in paired_difference(30, 10, 100, 20, 20, 300)]
    [0.07, 0.322]
    """
    inside, variance_on = _paired(first_on, second_on, on)
    outside, variance_off = _paired(first_off, second_off, off)
    half = _Z * math.sqrt(variance_on + variance_off)
    return max(-2.0, inside - outside - half), min(2.0, inside - outside + half)


def _paired(first: int, second: int, n: int) -> tuple[float, float]:
    """Centre and variance of the adjusted difference of two paired rates."""
    n += 2
    return (first - second) / n, ((first + second + 2) * n - (first - second) ** 2) / (n * n * n)


def effect(
    discovery: Counts, holdout: Counts, *, selected: bool, confirmed: bool, independent: bool
) -> dict[str, Any]:
    """What holdout says about the size of one descriptor's effect, as the result shows it.

    Lifts are plain error-rate differences, not adjusted for strata: those have an interval.

    Parameters
    ----------
    discovery, holdout
        The descriptor's counts in both splits.
    selected, confirmed
        Its verdict by the primary rule.
    independent
        False where rows come in clusters: an interval that takes rows as independent would be too
        short, so there is none.

    Returns
    -------
    dict
        ``low`` and ``high`` are null without independence or without a contrast in holdout;
        ``shrinkage``, holdout lift / discovery lift, is null where the discovery lift is 0.
    """
    first, second = discovery.plain_lift, holdout.plain_lift
    low = high = None
    if independent and second is not None:
        low, high = newcombe(holdout.errors_on, holdout.on, holdout.errors_off, holdout.off)
    return {
        "method": METHOD,
        "level": LEVEL,
        "low": low,
        "high": high,
        "holdout_lift": None if second is None else float(second),
        "discovery_lift": None if first is None else float(first),
        "discovery_selected": selected,
        "conditional_on_gate": confirmed,
        "shrinkage": float(second / first) if first and second is not None else None,
    }


def _wilson(errors: int, n: int) -> tuple[float, float]:
    """The score limits of one error rate (Wilson 1927): where the test of a rate turns."""
    square = _Z * _Z
    spread = _Z * math.sqrt(square + 4 * errors * (n - errors) / n)
    middle, scale = 2 * errors + square, 2 * (n + square)
    return (middle - spread) / scale, (middle + spread) / scale


def _square(x: float) -> float:
    return x * x
