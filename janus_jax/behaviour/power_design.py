"""The design of an audit whose power is asked: sizes, rule, gate and who is eligible.

No data is needed for it; :func:`design_of_audit` takes one from an audit that is about to be run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import numpy as np
from numpy.typing import NDArray

from janus_jax.behaviour.given import number
from janus_jax.errors import InputError
from janus_jax.plan import Eligibility, Plan, StatisticName, make_plan, whole_number

if TYPE_CHECKING:
    from janus_jax.prepare import Prepared

PowerRule = Literal["decoys", "decoys_exact"]

MAX_EXAMPLES: Final = 10_000
"""Examples of a split. Up to here float64 tells any two lifts of a split apart."""
MAX_LIBRARY: Final = 10_000
MAX_DECOYS: Final = 1_000_000
MAX_DIGITS: Final = 8
"""Decimals after the point; sizes, counts and limits are then compared in 64-bit integers."""

SIZES: Final[Mapping[str, Mapping[str, int]]] = {
    "controlled": {"n_discovery": 80, "n_holdout": 80, "library": 10},
    "musique": {"n_discovery": 75, "n_holdout": 75, "library": 7},
    "longbench-v2": {"n_discovery": 55, "n_holdout": 60, "library": 41},
}
"""The sizes of the paper's power simulations; an audit's presets have the rest."""

SPLITS: Final = ("n_discovery", "n_holdout")

PLAN_WORDS: Final = (
    "preset",
    "q",
    "min_holdout_lift",
    "min_support",
    "min_prevalence",
    "max_prevalence",
    "statistic",
    "rule",
    "decoys",
)
"""The options of a design that are an audit's too."""

NO_PART: Final = ("alpha", "permutations")
"""Options of an audit that Procedure A does not look at."""

Range = tuple[int, int]
"""The least and the most, both allowed; empty where the least is larger."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The eligibility rules for given split sizes: ranges of on-counts.

    Attributes
    ----------
    discovery, holdout, both
        How many examples of each split, and of the two together, a descriptor is on for.
    pool
        The same for a source of decoys, in discovery.
    """

    discovery: Range
    holdout: Range
    both: Range
    pool: Range

    def admit(self, discovery: NDArray[np.int64], holdout: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Who is eligible, of descriptors with these on-counts."""
        return (
            _within(discovery, self.discovery)
            & _within(holdout, self.holdout)
            & _within(discovery + holdout, self.both)
        )

    def admit_sources(self, discovery: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the eligible are sources of decoys."""
        return _within(discovery, self.pool)

    def discovery_beside(self, holdout: int) -> Range:
        """The discovery on-counts that are eligible together with this holdout one."""
        if not self.holdout[0] <= holdout <= self.holdout[1]:
            return 1, 0
        low, high = self.discovery
        return max(low, self.both[0] - holdout), min(high, self.both[1] - holdout)

    @property
    def possible(self) -> bool:
        """Whether anything is eligible at all."""
        low, high = (d + h for d, h in zip(self.discovery, self.holdout, strict=True))
        return (
            self.discovery[0] <= self.discovery[1]
            and self.holdout[0] <= self.holdout[1]
            and max(low, self.both[0]) <= min(high, self.both[1])
        )


def _within(counts: NDArray[np.int64], limits: Range) -> NDArray[np.bool_]:
    return (counts >= limits[0]) & (counts <= limits[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What is simulated.

    Decimals are kept as the text the user wrote, or as a ratio of integers such as ``29/80``, and
    count as that number.

    Attributes
    ----------
    n_discovery, n_holdout
        Examples of the two splits.
    library
        L, descriptors with independent memberships; the eligible among them are screened.
    decoys
        K.
    base_error
        The error rate p0 of examples that the designated descriptor is off for.
    prevalence
        Chance of every descriptor to be on for an example.
    q, min_holdout_lift, statistic, rule
        As in :class:`janus_jax.plan.Plan`.
    eligibility
        Who is screened.
    preset
        Where the design comes from, if it is one of the paper's.
    simplified
        What was simplified in taking the design from an audit, and which options have no part, in
        words.
    """

    n_discovery: int
    n_holdout: int
    library: int
    decoys: int
    base_error: str
    prevalence: str
    q: str
    min_holdout_lift: str
    statistic: StatisticName
    rule: PowerRule
    eligibility: Eligibility
    preset: str | None = None
    simplified: tuple[str, ...] = ()

    @property
    def p0(self) -> Fraction:
        """``base_error`` as a number."""
        return Fraction(self.base_error)

    @property
    def on_rate(self) -> Fraction:
        """``prevalence`` as a number."""
        return Fraction(self.prevalence)

    @property
    def limits(self) -> Limits:
        """The eligibility rules as ranges of on-counts."""
        rules, nd, nh = self.eligibility, self.n_discovery, self.n_holdout
        low, high = Fraction(rules.min_prevalence), Fraction(rules.max_prevalence)

        def shares(n: int, least: Fraction = low, most: Fraction = high) -> Range:
            return math.ceil(least * n), math.floor(most * n)

        def support(n: int) -> Range:
            return max(rules.min_on or 1, 1), n - max(rules.min_off or 1, 1)

        discovery, holdout, both = support(nd), support(nh), (rules.min_on_both, nd + nh)
        if rules.scope == "both":
            both = _both(both, shares(nd + nh))
        else:
            discovery = _both(discovery, shares(nd))
        if rules.scope == "each":
            holdout = _both(holdout, shares(nh))
        pool = shares(nd, *map(Fraction, rules.pool)) if rules.pool else (0, nd)
        return Limits(discovery, holdout, both, pool)

    def error_rate(self, delta: str) -> Fraction:
        """The error rate inside the designated slice."""
        return self.p0 + Fraction(delta)

    def resized(self, n: int) -> Design:
        """The same design with n examples in all, floor(n / 2) of them discovery."""
        n_discovery, n_holdout = halves(n)
        return _checked(replace(self, n_discovery=n_discovery, n_holdout=n_holdout))

    def to_dict(self) -> dict[str, Any]:
        """The design as JSON values."""
        return {
            "preset": self.preset,
            "n_discovery": self.n_discovery,
            "n_holdout": self.n_holdout,
            "library": self.library,
            "decoys": self.decoys if self.rule == "decoys" else None,
            "base_error": self.base_error,
            "prevalence": self.prevalence,
            "rule": self.rule,
            "statistic": self.statistic,
            "q": self.q,
            "min_holdout_lift": self.min_holdout_lift,
            "eligibility": self.eligibility.to_dict(),
        }


def _both(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), min(a[1], b[1])


def halves(n: int) -> tuple[int, int]:
    """Discovery and holdout of n examples, as a split deals half of them."""
    return n // 2, n - n // 2


def make_design(options: Mapping[str, Any]) -> Design:
    """Check options as a person gave them and return the design.

    Parameters
    ----------
    options
        ``n_discovery``, ``n_holdout``, ``library``, ``base_error``, ``prevalence`` and
        :data:`PLAN_WORDS`; None or a missing key means the preset's value, then the default. The
        sizes have no default.

    Raises
    ------
    InputError
        An option is missing or out of range; the message says what to write.
    """
    given = {name: value for name, value in options.items() if value is not None}
    # An audit of this design would read the same options: they are checked as one.
    plan = make_plan(
        {"error": "error", **{name: given[name] for name in PLAN_WORDS if name in given}}
    )
    _check_rule(plan)
    sizes = SIZES.get(plan.preset or "", {})
    return _checked(
        Design(
            n_discovery=_size("n_discovery", given, sizes, 2, MAX_EXAMPLES),
            n_holdout=_size("n_holdout", given, sizes, 2, MAX_EXAMPLES),
            library=_size("library", given, sizes, 1, MAX_LIBRARY),
            base_error=number("--base-error", given.get("base_error", "0.40"), Fraction(0)),
            prevalence=number("--prevalence", given.get("prevalence", "0.5"), Fraction(0)),
            simplified=tuple(without_part(options, plan.rule)),
            **_from_plan(plan),
        )
    )


def design_of_audit(prepared: Prepared, plan: Plan) -> Design:
    """The design of an audit that is ready to be run.

    Sizes, L and eligibility are the audit's own; p0 is its overall error rate, and every descriptor
    gets one prevalence, the median over the eligible library. This is simpler than the data:
    memberships are drawn independently, without the correlations (aliases, conjunctions) and the
    mixed prevalences of a real library, without strata and without clusters.
    """
    if not prepared.has_holdout:
        raise InputError(
            "power is the chance of a confirmation, and this audit has no holdout: choose "
            "--discovery below 1 or a --split-column"
        )
    _check_rule(plan)
    eligible = prepared.eligible
    if not eligible:
        raise InputError(
            "no descriptor of this audit is eligible, so there is nothing to simulate; see "
            "--min-support and the prevalence limits"
        )
    shares = [
        Fraction(d.on + h.on, d.n + h.n)
        for d, h in ((prepared.discovery[g], prepared.holdout[g]) for g in eligible)
    ]
    errors = sum(part.error_count for part in prepared.parts)
    examples, share = sum(part.n for part in prepared.parts), median(shares)
    return _checked(
        Design(
            n_discovery=prepared.parts[0].n,
            n_holdout=prepared.parts[1].n,
            library=len(eligible),
            base_error=str(Fraction(errors, examples)),
            prevalence=str(share),
            simplified=tuple(_simplifications(plan, errors, examples, share)),
            **_from_plan(plan),
        )
    )


def _simplifications(plan: Plan, errors: int, examples: int, share: Fraction) -> Iterator[str]:
    yield (
        f"p0 is the audit's overall error rate, {errors}/{examples} = {errors / examples:.4f}; the "
        f"prevalence of every descriptor is the median of its library, {float(share):.4f}"
    )
    for option, column in (("--cluster", plan.cluster), ("--strata", plan.strata)):
        if column is not None:
            yield (
                f"{option} {column} is not simulated: examples are drawn one by one, so that the "
                "power of the audit itself is smaller where outcomes hang together"
            )
    if plan.rule not in ("decoys", "decoys_exact"):
        yield f"the rule simulated is decoys_exact, in place of {plan.rule}"


def without_part(given: Mapping[str, Any], rule: str) -> Iterator[str]:
    """Say which of the options that were given do not change the power of this rule."""
    if rule != "decoys" and given.get("decoys") is not None:
        yield "--decoys has no part in the exact limit of Procedure A, which is simulated"
    for name in NO_PART:
        if given.get(name) is not None:
            yield f"--{name} has no part in the power of Procedure A"


def _from_plan(plan: Plan) -> dict[str, Any]:
    return {
        "decoys": plan.decoys,
        "q": plan.q,
        "min_holdout_lift": plan.min_holdout_lift,
        "statistic": plan.statistic,
        # With clusters the audit's own rule is the mean count; its limit is this one.
        "rule": "decoys" if plan.rule == "decoys" else "decoys_exact",
        "eligibility": plan.eligibility,
        "preset": plan.preset,
    }


def _check_rule(plan: Plan) -> None:
    if plan.preset not in (None, *SIZES):
        raise InputError(
            f"--preset {plan.preset} has no power simulation; use {', '.join(SIZES)}, or explicit "
            "sizes"
        )
    if plan.rule not in ("decoys", "decoys_exact", "mean_count", "mean_count_exact"):
        raise InputError(
            f"the power of --rule {plan.rule} is not simulated: use --rule decoys or decoys_exact"
        )


def _size(
    name: str, given: Mapping[str, Any], preset: Mapping[str, int], least: int, most: int
) -> int:
    option = "--" + name.replace("_", "-")
    if name not in given and name not in preset:
        raise InputError(
            f"{option} is missing: name a --preset ({', '.join(SIZES)}), or all of --n-discovery, "
            "--n-holdout and --library, or take them from the audit of RESULTS"
        )
    return whole_number(option, given.get(name, preset.get(name)), least, most)


def _checked(design: Design) -> Design:
    """Refuse what 64-bit integers, or anyone's patience, would not survive."""
    for what, size, most in (
        ("discovery examples", design.n_discovery, MAX_EXAMPLES),
        ("holdout examples", design.n_holdout, MAX_EXAMPLES),
        ("eligible descriptors", design.library, MAX_LIBRARY),
    ):
        if size > most:
            raise InputError(
                f"{size:,} {what} are more than the {most:,} that power is simulated for: describe "
                "a smaller design by --n-discovery, --n-holdout and --library"
            )
    if design.n_discovery < 2 or design.n_holdout < 2:
        raise InputError("each split needs at least 2 examples; --n counts both splits together")
    if design.rule == "decoys" and design.decoys > MAX_DECOYS:
        raise InputError(
            f"--decoys is {design.decoys:,}; power is simulated with up to {MAX_DECOYS:,} (--rule "
            "decoys_exact is the limit of infinitely many)"
        )
    for option, text in (("--q", design.q), ("--min-holdout-lift", design.min_holdout_lift)):
        exponent = cast(int, Decimal(text).as_tuple().exponent)
        if -exponent > MAX_DIGITS:
            raise InputError(f"{option} is {text}; power takes at most {MAX_DIGITS} decimals")
    return design


def impossible(design: Design) -> str | None:
    """Why the design can select or confirm nothing, whatever the data; None where it can.

    Known before anything is simulated: nothing can be eligible, there can be no errors or nothing
    else, or even the most extreme statistic is too likely by chance for the rule.
    """
    limits = design.limits
    if not limits.possible:
        return (
            f"no descriptor can be eligible with {design.n_discovery} discovery and "
            f"{design.n_holdout} holdout examples: lower --min-support, or widen the prevalences"
        )
    if design.on_rate in (0, 1):
        return f"with --prevalence {design.prevalence} no descriptor has examples on and off"
    rarest = rarest_tail(design)
    if design.rule == "decoys_exact" and rarest > Fraction(design.q):
        return (
            f"even the most extreme result on {design.n_discovery} discovery examples has a chance "
            f"of {float(rarest):.3g} under shuffled labels, above q = {design.q}: nothing can be "
            "selected; more discovery examples are needed"
        )
    if rarest == 1:
        return (
            f"with {design.n_discovery} discovery examples every shuffled label looks as extreme "
            "as any result: nothing can be selected; more discovery examples are needed"
        )
    return None


def rarest_tail(design: Design) -> Fraction:
    """The smallest P(statistic >= its largest value) that eligible margins allow.

    A slice that holds all errors and nothing else is the most extreme result, and
    ``1 / comb(n, n1)`` of the shuffles repeat it; twice as many where its complement is as large.
    """
    n, (low, high) = design.n_discovery, design.limits.discovery
    best = Fraction(1)
    for on in {min(max(on, low), high) for on in (n // 2 - 1, n // 2, (n + 1) // 2)}:
        if 0 < on < n:
            best = min(best, Fraction(2 if 2 * on == n else 1, math.comb(n, on)))
    return best
