"""A slow, obvious oracle: every relabelling is enumerated and every number is a ``Fraction``.

It imports nothing of the project, so agreement with it means two independent readings of the same
definitions agree. Nothing here is fast and nothing is clever; where a closed form is used (the
hypergeometric distribution, for tables too large to enumerate) the tests of this module check it
against the enumeration.

Words: a *membership* is a list of 0/1, one for each example (1 = on); *errors* likewise (1 = the
model was wrong); *strata* give the block of each example, None = one block. ``statistic`` is
``"lift"`` (|stratum-adjusted lift|) or ``"z"`` (its square over the exact variance): both are
ordered as the project orders them, larger = more extreme.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Bits = Sequence[int]
Strata = Sequence[Hashable] | None


# --- one descriptor ------------------------------------------------------------------------------


def lift(membership: Bits, errors: Bits) -> Fraction:
    """Error rate on minus error rate off."""
    on = [e for m, e in zip(membership, errors, strict=True) if m]
    off = [e for m, e in zip(membership, errors, strict=True) if not m]
    return Fraction(sum(on), len(on)) - Fraction(sum(off), len(off))


def _blocks(n: int, strata: Strata) -> list[list[int]]:
    groups: dict[Hashable, list[int]] = {}
    for row in range(n):
        groups.setdefault(None if strata is None else strata[row], []).append(row)
    return list(groups.values())


def expected_errors_on(membership: Bits, errors: Bits, strata: Strata = None) -> Fraction:
    """mu: the mean of the errors on the slice when errors are shuffled within strata."""
    mean = Fraction(0)
    for rows in _blocks(len(errors), strata):
        wrong, on = sum(errors[r] for r in rows), sum(membership[r] for r in rows)
        mean += Fraction(wrong * on, len(rows))
    return mean


def variance_errors_on(membership: Bits, errors: Bits, strata: Strata = None) -> Fraction:
    """The exact variance of the errors on the slice: one hypergeometric variance per stratum."""
    variance = Fraction(0)
    for rows in _blocks(len(errors), strata):
        m = len(rows)
        if m == 1:  # a single row cannot move
            continue
        wrong, on = sum(errors[r] for r in rows), sum(membership[r] for r in rows)
        variance += Fraction(wrong * (m - wrong) * on * (m - on), m * m * (m - 1))
    return variance


def adjusted_lift(membership: Bits, errors: Bits, strata: Strata = None) -> Fraction:
    """(a - mu) n / (n1 n0): the plain lift when there is one stratum."""
    n, on = len(errors), sum(membership)
    a = sum(m * e for m, e in zip(membership, errors, strict=True))
    return (a - expected_errors_on(membership, errors, strata)) * n / (on * (n - on))


def statistic(name: str, membership: Bits, errors: Bits, strata: Strata = None) -> Fraction:
    """What is ranked: |adjusted lift|, or z squared (0 when nothing can move)."""
    if name == "lift":
        return abs(adjusted_lift(membership, errors, strata))
    if name != "z":
        raise ValueError(name)
    a = sum(m * e for m, e in zip(membership, errors, strict=True))
    variance = variance_errors_on(membership, errors, strata)
    if variance == 0:
        return Fraction(0)
    return (a - expected_errors_on(membership, errors, strata)) ** 2 / variance


# --- every relabelling ---------------------------------------------------------------------------


def labellings(errors: Bits, strata: Strata = None) -> Iterator[tuple[int, ...]]:
    """Every distinct assignment of the errors that keeps each stratum's number of errors."""
    blocks = _blocks(len(errors), strata)
    choices = [itertools.combinations(rows, sum(errors[r] for r in rows)) for rows in blocks]
    for chosen in itertools.product(*choices):
        shuffled = [0] * len(errors)
        for row in itertools.chain.from_iterable(chosen):
            shuffled[row] = 1
        yield tuple(shuffled)


def number_of_labellings(errors: Bits, strata: Strata = None) -> int:
    """How many ``labellings`` there are, without making them."""
    total = 1
    for rows in _blocks(len(errors), strata):
        total *= math.comb(len(rows), sum(errors[r] for r in rows))
    return total


@dataclass(frozen=True)
class Enumeration:
    """The statistics of every descriptor (columns) under every labelling (rows), and observed."""

    observed: list[Fraction]
    null: list[list[Fraction]]

    @property
    def total(self) -> int:
        return len(self.null)

    def share(self, hits: Iterable[bool]) -> Fraction:
        return Fraction(sum(hits), self.total)


def enumerate_all(
    memberships: Sequence[Bits], errors: Bits, strata: Strata = None, name: str = "lift"
) -> Enumeration:
    """Compute the statistic of every descriptor under every labelling."""
    return Enumeration(
        [statistic(name, m, errors, strata) for m in memberships],
        [
            [statistic(name, m, shuffled, strata) for m in memberships]
            for shuffled in labellings(errors, strata)
        ],
    )


def exact_p(table: Enumeration) -> list[Fraction]:
    """Share of labellings in which the descriptor's statistic is at least the observed one."""
    return [
        table.share(row[g] >= seen for row in table.null) for g, seen in enumerate(table.observed)
    ]


def max_t(table: Enumeration) -> list[Fraction]:
    """Single-step adjusted p: the maximum over all descriptors reaches the observed value."""
    return [table.share(max(row) >= seen for row in table.null) for seen in table.observed]


def max_t_step_down(table: Enumeration) -> list[Fraction]:
    """Westfall and Young's step-down p.

    From the most extreme descriptor downwards, each is compared with the maximum over itself and
    all that are not more extreme than it; p never decreases on the way down. Tied descriptors see
    the same maximum, so their order cannot matter.
    """
    order = sorted(range(len(table.observed)), key=lambda g: table.observed[g], reverse=True)
    adjusted: dict[int, Fraction] = {}
    running = Fraction(0)
    for g in order:
        rivals = [h for h in order if table.observed[h] <= table.observed[g]]
        raw = table.share(max(row[h] for h in rivals) >= table.observed[g] for row in table.null)
        running = max(running, raw)
        adjusted[g] = running
    return [adjusted[g] for g in range(len(table.observed))]


@dataclass(frozen=True)
class Cut:
    """One common threshold: the smallest observed value whose estimate is at most q."""

    threshold: Fraction | None
    reached: int
    expected: Fraction
    estimate: Fraction | None
    selected: frozenset[int]


NOTHING = Cut(None, 0, Fraction(0), None, frozenset())


def smallest_threshold(
    observed: Sequence[Fraction], false: Mapping[Fraction, Fraction], q: Fraction
) -> Cut:
    """Smallest observed t with false(t) / max(1, R(t)) <= q; every descriptor at or above it."""
    for t in sorted(set(observed)):
        reached = sum(value >= t for value in observed)
        estimate = false[t] / max(1, reached)
        if estimate <= q:
            chosen = frozenset(g for g, value in enumerate(observed) if value >= t)
            return Cut(t, reached, false[t], estimate, chosen)
    return NOTHING


def mean_count(table: Enumeration, q: Fraction) -> Cut:
    """The mean-count screen: M(t) = mean number of descriptors that reach t."""
    m = {
        t: Fraction(sum(value >= t for row in table.null for value in row), table.total)
        for t in set(table.observed)
    }
    return smallest_threshold(table.observed, m, q)


def decoys_exact(table: Enumeration, q: Fraction) -> Cut:
    """Procedure A as K grows without bound.

    A decoy takes a source uniformly from the L descriptors and shuffles it, so D(t) / K tends to
    the mean over the sources of P(statistic >= t); the estimate is L times that over R(t).
    """
    size = len(table.observed)
    expected: dict[Fraction, Fraction] = {}
    for t in set(table.observed):
        reach = [table.share(row[g] >= t for row in table.null) for g in range(size)]
        expected[t] = size * (sum(reach, Fraction(0)) / size)
    return smallest_threshold(table.observed, expected, q)


def procedure_a(
    observed: Sequence[Fraction], decoys: Sequence[Fraction], q: Fraction
) -> tuple[Cut, int]:
    """Procedure A with literal decoys, and D at its threshold. No +1, as published."""
    size, k = len(observed), len(decoys)
    count = {t: sum(value >= t for value in decoys) for t in set(observed)}
    cut = smallest_threshold(observed, {t: Fraction(size * d, k) for t, d in count.items()}, q)
    return cut, 0 if cut.threshold is None else count[cut.threshold]


def fixed_floor(decoys: Sequence[Fraction], share: Fraction = Fraction(95, 100)) -> Fraction:
    """A quantile of the decoys by linear interpolation between order statistics."""
    values = sorted(decoys)
    place = share * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


# --- p-values in a family ------------------------------------------------------------------------


def bh_adjusted(p: Sequence[Fraction]) -> list[Fraction]:
    """Benjamini-Hochberg adjusted p: running minimum of p L / i from the largest p downwards."""
    order = sorted(range(len(p)), key=lambda g: p[g])
    adjusted = [Fraction(1)] * len(p)
    running = Fraction(1)
    for place in range(len(p) - 1, -1, -1):
        g = order[place]
        running = min(running, p[g] * len(p) / (place + 1))
        adjusted[g] = running
    return adjusted


def bh(p: Sequence[Fraction], q: Fraction) -> frozenset[int]:
    """Step-up: the largest i with p_(i) L <= q i; everything at or below that p."""
    values = sorted(p)
    limit = None
    for i, value in enumerate(values, start=1):
        if value * len(p) <= q * i:
            limit = value
    return frozenset(g for g, value in enumerate(p) if limit is not None and value <= limit)


def at_most(p: Sequence[Fraction], alpha: Fraction) -> frozenset[int]:
    return frozenset(g for g, value in enumerate(p) if value <= alpha)


def gate(discovery: Fraction, holdout: Fraction, c: Fraction) -> bool:
    """Same sign, and at least c on holdout."""
    return (discovery > 0) == (holdout > 0) and discovery * holdout != 0 and abs(holdout) >= c


# --- closed forms, for tables too large to enumerate ---------------------------------------------


def weights(n: int, on: int, wrong: int) -> dict[int, int]:
    """C(on, a) C(off, wrong - a) for every attainable a, by the exact integer recurrence."""
    off = n - on
    lowest, highest = max(0, wrong - off), min(on, wrong)
    weight = math.comb(on, lowest) * math.comb(off, wrong - lowest)
    made = {lowest: weight}
    for a in range(lowest, highest):
        weight = weight * (on - a) * (wrong - a) // ((a + 1) * (off - wrong + a + 1))
        made[a + 1] = weight
    return made


def hypergeometric(n: int, on: int, wrong: int) -> dict[int, Fraction]:
    """P(a errors fall on the slice) for every attainable a."""
    total = math.comb(n, wrong)
    return {a: Fraction(weight, total) for a, weight in weights(n, on, wrong).items()}


def null_of_errors_on(membership: Bits, errors: Bits, strata: Strata = None) -> dict[int, Fraction]:
    """The same with strata: one hypergeometric per stratum, convolved."""
    law = {0: Fraction(1)}
    for rows in _blocks(len(errors), strata):
        part = hypergeometric(
            len(rows), sum(membership[r] for r in rows), sum(errors[r] for r in rows)
        )
        out: dict[int, Fraction] = {}
        for (a, pa), (b, pb) in itertools.product(law.items(), part.items()):
            out[a + b] = out.get(a + b, Fraction(0)) + pa * pb
        law = out
    return law


def tail_p(membership: Bits, errors: Bits, strata: Strata = None) -> Fraction:
    """Two tails cut at the same distance from the mean: |a - mu| at least the observed one."""
    mean = expected_errors_on(membership, errors, strata)
    seen = abs(sum(m * e for m, e in zip(membership, errors, strict=True)) - mean)
    law = null_of_errors_on(membership, errors, strata)
    return sum((p for a, p in law.items() if abs(a - mean) >= seen), Fraction(0))


def p_two_absdiff(n: int, on: int, wrong: int, errors_on: int) -> Fraction:
    """The project's two-sided p from the four counts, in integers: |a n - E n1|."""
    seen = abs(errors_on * n - wrong * on)
    hits = sum(
        weight for a, weight in weights(n, on, wrong).items() if abs(a * n - wrong * on) >= seen
    )
    return Fraction(hits, math.comb(n, wrong))


def p_two_minlike(n: int, on: int, wrong: int, errors_on: int) -> Fraction:
    """Fisher's: outcomes no more probable than the observed one. Not the project's convention."""
    law = hypergeometric(n, on, wrong)
    return sum((p for p in law.values() if p <= law[errors_on]), Fraction(0))


def p_two_doubled(n: int, on: int, wrong: int, errors_on: int) -> Fraction:
    """Twice the smaller tail, at most 1. Not the project's convention."""
    law = hypergeometric(n, on, wrong)
    upper = sum((p for a, p in law.items() if a >= errors_on), Fraction(0))
    lower = sum((p for a, p in law.items() if a <= errors_on), Fraction(0))
    return min(Fraction(1), 2 * min(upper, lower))


def decoys_exact_closed(
    memberships: Sequence[Bits], errors: Bits, q: Fraction, name: str = "lift"
) -> Cut:
    """``decoys_exact`` without enumeration (one stratum): a sum of hypergeometric tails.

    The statistic depends on the margins and the errors on the slice alone, so descriptors that are
    on equally often share one list of attainable values.
    """
    n, wrong = len(errors), sum(errors)

    def value(on: int, a: int) -> Fraction:
        distance = Fraction(abs(a * n - wrong * on), on * (n - on))
        return distance if name == "lift" else distance**2 * on * (n - on)

    margins = Counter(sum(m) for m in memberships)
    attainable: dict[int, list[tuple[Fraction, int]]] = {}
    for on in margins:
        attainable[on] = [(value(on, a), weight) for a, weight in weights(n, on, wrong).items()]
    observed = [
        value(sum(m), sum(x * e for x, e in zip(m, errors, strict=True))) for m in memberships
    ]
    total = math.comb(n, wrong)
    expected = {
        t: Fraction(
            sum(
                many * sum(weight for reach, weight in attainable[on] if reach >= t)
                for on, many in margins.items()
            ),
            total,
        )
        for t in set(observed)
    }
    return smallest_threshold(observed, expected, q)


# --- a real table: split, descriptors, eligibility -----------------------------------------------


def split_rows(
    n: int, strata: Sequence[Hashable] | None, fraction: Fraction, seed: int
) -> tuple[list[int], list[int]]:
    """Discovery and holdout rows, each in file order."""
    generator = random.Random(seed)
    discovery: list[int] = []
    for rows in _blocks(n, strata):  # first-seen order, file order within
        dealt = list(rows)
        generator.shuffle(dealt)
        discovery += dealt[: math.floor(fraction * len(dealt))]
    chosen = set(discovery)
    return sorted(chosen), [row for row in range(n) if row not in chosen]


@dataclass(frozen=True)
class Descriptor:
    """A named rule and its membership on every row of the file."""

    name: str
    member: list[int]


def _number(text: str) -> Fraction:
    return Fraction(text)


def _shortest(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def make_descriptors(
    rows: Sequence[Mapping[str, str]],
    discovery: Sequence[int],
    columns: Sequence[str],
    categorical: Sequence[str],
    conjunctions: Sequence[str] = (),
) -> list[Descriptor]:
    """Booleans as they are, numbers above the discovery median, one descriptor a level.

    Blank cells are missing and in no slice. Conjunctions are written ``name = a & b``.
    """
    made: list[Descriptor] = []
    for column in columns:
        values = [row[column] for row in rows]
        if column in categorical:
            seen = {values[r] for r in discovery} - {""}
            made += [
                Descriptor(f"{column} = {level}", [int(v == level) for v in values])
                for level in dict.fromkeys(values)
                if level in seen
            ]
        elif set(values) - {""} <= {"0", "1"}:
            made.append(Descriptor(column, [int(v == "1") for v in values]))
        else:
            median = statistics.median(_number(values[r]) for r in discovery if values[r] != "")
            made.append(
                Descriptor(
                    f"{column} > {_shortest(median)}",
                    [int(v != "" and _number(v) > median) for v in values],
                )
            )
    known = {d.name: d.member for d in made}
    for text in conjunctions:
        name, _, rule = text.partition(" = ")
        parts = [known[part] for part in rule.split(" & ")]
        made.append(Descriptor(name, [int(all(bits)) for bits in zip(*parts, strict=True)]))
    return made


def eligible(
    on: int, n: int, min_support: int, min_prevalence: Fraction, max_prevalence: Fraction
) -> bool:
    """Support on and off, and prevalence, in one split."""
    return (
        min(on, n - on) >= min_support
        and min_prevalence <= Fraction(on, n) <= max_prevalence
        and 0 < on < n
    )
