"""How often each rule recurs when the same outcomes are split again and again.

A descriptor's name can change from split to split, since a median is made of the split's discovery
examples. What recurs is its *rule*: "q_words above its discovery median".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, Final

from janus_jax.descriptors import Descriptor, quoted
from janus_jax.plan import Plan
from janus_jax.prepare import Prepared
from janus_jax.screen import gate

ROW_FIELDS: Final = (
    "rule",
    "kind",
    "columns",
    "existed",
    "eligible",
    "selected",
    "confirmed",
    "share_existed",
    "share_eligible",
    "share_selected",
    "share_confirmed",
    "lift_discovery",
    "lift_holdout",
    "same_sign",
    "share_same_sign",
    "confirmed_more_errors",
    "audit",
)
"""What is said of each rule, in this order."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A descriptor without what changes from split to split.

    Attributes
    ----------
    text
        ``col above its discovery median``, ``col = level``, ``col``, ``col is missing``; terms
        joined by `` & ``; ``name = a & b`` for a named conjunction.
    kind
        numeric, level, boolean, missing or conjunction.
    columns
        Columns it looks at.
    """

    text: str
    kind: str
    columns: tuple[str, ...]


def rules_of(descriptors: Sequence[Descriptor], plan: Plan) -> list[Rule]:
    """The rule of each descriptor of one split, all different, in the same order."""
    median = "median over all rows" if plan.eligibility.full_medians else "discovery median"
    texts: dict[str, str] = {}
    rules: list[Rule] = []
    for descriptor in descriptors:
        text = _text(descriptor, texts, median)
        texts[descriptor.name] = text
        rules.append(Rule(text, descriptor.rule["kind"], descriptor.columns))
    return rules


def _text(descriptor: Descriptor, texts: Mapping[str, str], median: str) -> str:
    """The rule in words; ``texts`` has those of the terms of a conjunction, by name."""
    rule = descriptor.rule
    if rule["kind"] == "numeric":
        return f"{quoted(rule['column'])} above its {median}"
    if rule["kind"] != "conjunction":
        return descriptor.name
    terms: list[str] = rule["all"]
    joined = " & ".join(texts[term] for term in terms)
    # A pair is called by its terms; whoever named a conjunction knows it by that name.
    return joined if descriptor.name == " & ".join(terms) else f"{descriptor.name} = {joined}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One eligible rule in one split.

    Attributes
    ----------
    rule
        Which.
    discovery, holdout
        The lift that is screened (stratum-adjusted where there are strata); ``holdout`` is None
        where holdout has no contrast.
    selected, confirmed
        By the primary rule; by the gate.
    """

    rule: Rule
    discovery: Fraction
    holdout: Fraction | None
    selected: bool
    confirmed: bool


@dataclass(frozen=True, slots=True)
class Split:
    """One split, screened and gated.

    Attributes
    ----------
    seed
        The seed it was dealt with.
    sizes
        Examples with an outcome in discovery and in holdout.
    errors
        Errors in each.
    rules
        Every rule that exists in it, in library order.
    verdicts
        The eligible ones.
    """

    seed: int
    sizes: tuple[int, int]
    errors: tuple[int, int]
    rules: Sequence[Rule]
    verdicts: Sequence[Verdict]

    def status(self) -> dict[Rule, str]:
        """The status of every rule, as an audit of this split would give it."""
        found = dict.fromkeys(self.rules, "ineligible")
        for it in self.verdicts:
            chosen = "confirmed" if it.confirmed else "not_replicated"
            found[it.rule] = chosen if it.selected else "not_selected"
        return found


def judge(prepared: Prepared, selected: Sequence[bool], plan: Plan, seed: int) -> Split:
    """Put what the primary rule selected in one split through the gate.

    Parameters
    ----------
    selected
        One for each of ``prepared.eligible``.
    seed
        The split's.
    """
    rules = rules_of(prepared.descriptors.items, plan)
    verdicts: list[Verdict] = []
    for g, chosen in zip(prepared.eligible, selected, strict=True):
        discovery, holdout = prepared.discovery[g], prepared.holdout[g]
        verdicts.append(
            Verdict(
                rules[g],
                discovery.lift,
                holdout.lift if holdout.on and holdout.off else None,
                chosen,
                chosen and gate(discovery, holdout, plan)[0],
            )
        )
    first, second = prepared.parts
    return Split(
        seed, (first.n, second.n), (first.error_count, second.error_count), rules, verdicts
    )


@dataclass(slots=True)
class _Sum:
    """A sum of many fractions, exactly; terms are added in pairs, so that most stay short."""

    _partial: list[Fraction] = field(default_factory=list[Fraction])
    count: int = 0

    def add(self, term: Fraction) -> None:
        self._partial.append(term)
        done = self.count
        while done & 1:  # two partial sums of equally many terms
            self._partial.append(self._partial.pop() + self._partial.pop())
            done >>= 1
        self.count += 1

    def mean(self) -> float | None:
        """One correctly rounded division; None of nothing."""
        if not self.count:
            return None
        return float(sum(reversed(self._partial), Fraction(0)) / self.count)


@dataclass(slots=True)
class _Tally:
    """What the splits said of one rule."""

    existed: int = 0
    eligible: int = 0
    selected: int = 0
    confirmed: int = 0
    same_sign: int = 0
    confirmed_more_errors: int = 0
    discovery: _Sum = field(default_factory=_Sum)
    holdout: _Sum = field(default_factory=_Sum)

    def add(self, verdict: Verdict) -> None:
        self.eligible += 1
        self.discovery.add(verdict.discovery)
        if verdict.holdout is not None:
            self.holdout.add(verdict.holdout)
            self.same_sign += verdict.discovery * verdict.holdout > 0
        self.selected += verdict.selected
        if verdict.confirmed:
            self.confirmed += 1
            self.confirmed_more_errors += verdict.discovery > 0


class Recurrence:
    """Sums over splits, added one by one.

    Parameters
    ----------
    audit
        The split of the plan's own audit; it is compared with, and not counted.
    """

    def __init__(self, audit: Split) -> None:
        self._audit = audit.status()
        # Library order of the audit; rules that it lacks follow as they turn up.
        self._tallies: dict[Rule, _Tally] = {rule: _Tally() for rule in audit.rules}
        self._splits: list[tuple[Split, list[Rule], list[Rule]]] = []

    def add(self, split: Split) -> None:
        """Count one split."""
        for rule in split.rules:
            self._tallies.setdefault(rule, _Tally()).existed += 1
        for verdict in split.verdicts:
            self._tallies[verdict.rule].add(verdict)
        selected = [it.rule for it in split.verdicts if it.selected]
        confirmed = [it.rule for it in split.verdicts if it.confirmed]
        self._splits.append((split, selected, confirmed))

    @property
    def ever_eligible(self) -> bool:
        """Whether any rule was eligible in any of the splits."""
        return any(it.eligible for it in self._tallies.values())

    def existed(self, kind: str) -> dict[str, int]:
        """For the rules of one kind, in how many splits each existed."""
        return {rule.text: t.existed for rule, t in self._tallies.items() if rule.kind == kind}

    def rows(self) -> list[dict[str, Any]]:
        """One row a rule, the most often confirmed first; fields as in :data:`ROW_FIELDS`."""
        return [self._row(rule) for rule in self._order()]

    def _order(self) -> list[Rule]:
        """Most often confirmed, selected, eligible; then as they first turned up."""
        tallies = self._tallies
        return sorted(
            tallies,
            key=lambda r: (-tallies[r].confirmed, -tallies[r].selected, -tallies[r].eligible),
        )

    def _row(self, rule: Rule) -> dict[str, Any]:
        it, splits = self._tallies[rule], len(self._splits)
        counts = {
            "existed": it.existed,
            "eligible": it.eligible,
            "selected": it.selected,
            "confirmed": it.confirmed,
        }
        row: dict[str, Any] = {"rule": rule.text, "kind": rule.kind, "columns": list(rule.columns)}
        row |= counts | {f"share_{name}": count / splits for name, count in counts.items()}
        row |= {
            "lift_discovery": it.discovery.mean(),
            "lift_holdout": it.holdout.mean(),
            "same_sign": it.same_sign,
            "share_same_sign": it.same_sign / it.eligible if it.eligible else None,
            "confirmed_more_errors": it.confirmed_more_errors,
            "audit": self._audit.get(rule),
        }
        return {name: row[name] for name in ROW_FIELDS}

    def per_split(self) -> list[dict[str, Any]]:
        """One row a split; rules as positions in :meth:`rows`."""
        position = {rule: i for i, rule in enumerate(self._order())}
        return [
            {
                "seed": split.seed,
                "discovery": {"n": split.sizes[0], "errors": split.errors[0]},
                "holdout": {"n": split.sizes[1], "errors": split.errors[1]},
                "L": len(split.verdicts),
                "selected": len(selected),
                "confirmed": len(confirmed),
                "selected_rules": sorted(position[rule] for rule in selected),
                "confirmed_rules": sorted(position[rule] for rule in confirmed),
            }
            for split, selected, confirmed in self._splits
        ]

    def overall(self) -> dict[str, Any]:
        """The splits together: how many confirm how much, and how alike what they confirm is."""
        splits = len(self._splits)
        sets = [frozenset(confirmed) for _, _, confirmed in self._splits]
        selecting = sum(bool(selected) for _, selected, _ in self._splits)
        confirming = sum(map(bool, sets))
        total = sum(map(len, sets))
        pairs, jaccard = mean_jaccard(sets)
        ever = [it.confirmed for it in self._tallies.values() if it.eligible]
        named = [(rule.text, self._tallies[rule].confirmed) for rule in self._order()]
        return {
            "any_selected": {"splits": selecting, "share": selecting / splits},
            "any_confirmed": {"splits": confirming, "share": confirming / splits},
            "mean_selected": sum(len(s) for _, s, _ in self._splits) / splits,
            "mean_confirmed": total / splits,
            "confirmed_per_split": [
                {"confirmed": size, "splits": count}
                for size, count in sorted(Counter(map(len, sets)).items())
            ],
            "jaccard": {"mean": None if jaccard is None else float(jaccard), "pairs": pairs},
            "stability": {"value": _shown(stability(ever, splits)), "rules": len(ever)},
            "confirmed_in_half": [text for text, count in named if 2 * count >= splits],
            "confirmed_in_nine_tenths": [text for text, count in named if 10 * count >= 9 * splits],
        }


def _shown(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def mean_jaccard(sets: Iterable[frozenset[Any]]) -> tuple[int, Fraction | None]:
    """Mean of |A and B| / |A or B| over pairs of splits, and over how many pairs.

    Pairs of two empty sets agree about nothing: they are left out, since any value for 0/0 would
    let splits that find nothing decide the mean.

    Examples
    --------
    >>> mean_jaccard([frozenset("ab"), frozenset("ab"), frozenset("a"), frozenset()])
    (6, Fraction(1, 3))
    """
    distinct = Counter(sets)
    pairs, total = 0, Fraction(0)
    for one, times in distinct.items():
        if one:  # equal sets
            pairs += times * (times - 1) // 2
            total += times * (times - 1) // 2
    shares: Counter[tuple[int, int]] = Counter()
    for (one, times), (other, again) in combinations(distinct.items(), 2):
        shares[len(one & other), len(one | other)] += times * again
    pairs += sum(shares.values())
    total = sum((Fraction(many * both, either) for (both, either), many in shares.items()), total)
    return pairs, total / pairs if pairs else None


def stability(confirmed: Sequence[int], splits: int) -> Fraction | None:
    """How alike the confirmed sets are beyond what their sizes make them by chance.

    With p_f the share of the M splits that confirm rule f of d and k = sum of p_f::

        1 - (1/d) sum of M/(M-1) p_f (1 - p_f) / ((k/d) (1 - k/d))

    1 when all splits confirm the same rules, 0 in expectation when each draws its set at random.

    Parameters
    ----------
    confirmed
        For each rule that was eligible in some split, how many splits confirmed it.
    splits
        M.

    Returns
    -------
    Fraction or None
        None for a single split, or when all rules or none are always confirmed.

    References
    ----------
    Nogueira, Sechidis and Brown, "On the stability of feature selection algorithms", Journal of
    Machine Learning Research 18(174), 2018.

    Examples
    --------
    >>> stability([2, 0], 2), stability([1, 1], 2)
    (Fraction(1, 1), Fraction(-1, 1))
    """
    d, k = len(confirmed), sum(confirmed)
    if splits < 2 or not 0 < k < d * splits:
        return None
    # Everything times d M**2: sums of integers.
    within = Fraction(sum(c * (splits - c) for c in confirmed), splits - 1) * splits
    return 1 - within * d / (k * (d * splits - k))
