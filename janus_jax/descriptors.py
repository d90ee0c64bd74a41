"""Yes/no descriptors made of columns: rules fixed on discovery, memberships on every row.

Rules are made from all rows of discovery, whether or not an outcome exists, and never from errors.
A missing value is in no slice of its column.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from janus_jax.columns import Selection, UsedColumn
from janus_jax.errors import InputError
from janus_jax.plan import Plan
from janus_jax.split import DISCOVERY, HOLDOUT
from janus_jax.values import as_text, median


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A yes/no fact about an example.

    Attributes
    ----------
    name
        ``col``, ``col > 42``, ``col = level``, ``col is missing``, ``a & b`` or a given name.
    rule
        The rule as JSON values: what :func:`make_descriptors` applied.
    columns
        Columns the rule looks at.
    bits
        uint8, shape (ceil(rows / 8),): where it holds, one bit a row; thousands of conjunctions
        over a long table would not fit otherwise.
    rows
        Rows of the table.
    """

    name: str
    rule: Mapping[str, Any]
    columns: tuple[str, ...]
    bits: NDArray[np.uint8]
    rows: int

    @property
    def members(self) -> NDArray[np.bool_]:
        """bool, shape (rows,): where it holds, unpacked anew."""
        return np.unpackbits(self.bits, count=self.rows).view(np.bool_)


def descriptor(
    name: str, rule: Mapping[str, Any], columns: tuple[str, ...], members: NDArray[np.bool_]
) -> Descriptor:
    """A descriptor that holds on these rows: ``members`` is bool, shape (rows,)."""
    return Descriptor(name, rule, columns, np.packbits(members), len(members))


@dataclass(frozen=True, slots=True)
class Descriptors:
    """All descriptors, in library order, and what was left out on the way.

    Attributes
    ----------
    items
        Columns as given, levels by first appearance in the file, then conjunctions.
    holdout_only
        Column name to the levels that discovery never saw: they are not screened.
    thresholds
        Column name to the median its descriptor uses, as text.
    not_used
        Columns that turned out to give no descriptor, with the reason.
    """

    items: tuple[Descriptor, ...]
    holdout_only: Mapping[str, tuple[str, ...]]
    thresholds: Mapping[str, str]
    not_used: dict[str, str]


def make_descriptors(
    selection: Selection, where: NDArray[np.int8], counted: NDArray[np.bool_], plan: Plan
) -> Descriptors:
    """Fix the rules on discovery and apply them to every row.

    Parameters
    ----------
    selection
        The columns to use.
    where
        int8, shape (n,): the split of each row.
    counted
        bool, shape (n,): rows that have an outcome (which, not what); only the support of
        ``col is missing`` looks at it.
    """
    made = simple_descriptors(selection, where, counted, plan)
    items = list(made.items)
    not_used = selection.not_used | made.not_used
    conjunctions = [_conjunction(text, items, not_used) for text in plan.conjunction]
    if plan.pairs:
        conjunctions.extend(_pairs(items))
    items.extend(conjunctions)
    check_names(items)
    return replace(made, items=tuple(items))


def simple_descriptors(
    selection: Selection, where: NDArray[np.int8], counted: NDArray[np.bool_], plan: Plan
) -> Descriptors:
    """The descriptors of :func:`make_descriptors` that look at a single column, in that order."""
    items: list[Descriptor] = []
    holdout_only: dict[str, tuple[str, ...]] = {}
    thresholds: dict[str, str] = {}
    not_used: dict[str, str] = {}
    discovery = where == DISCOVERY
    for used in selection.used:
        if used.kind == "categorical":
            made, unseen = _levels(used, discovery, where == HOLDOUT)
            if unseen:
                holdout_only[used.name] = unseen
        elif used.kind == "boolean":
            made = [_boolean(used)]
        else:
            rows = where <= HOLDOUT if plan.eligibility.full_medians else discovery
            made, remark = _above_median(used, rows)
            if made:
                thresholds[used.name] = remark
            else:
                not_used[used.name] = remark
        lone = used.constant is not None and used.name not in plan.descriptor
        if not lone:
            items.extend(made)
        items.extend(_missing(used, where, counted, plan))
    check_names(items)
    return Descriptors(tuple(items), holdout_only, thresholds, not_used)


MAX_PAIRS = 100_000
"""More conjunctions than this are refused: each holds a flag per row."""

_RESERVED = re.compile(r' & | = | > |["\x00-\x1f\x7f-\x9f\u2028\u2029]| is missing$|^\s|\s$')


def quoted(text: str) -> str:
    """A column or level as it stands in a name: JSON-quoted when it could be misread.

    Examples
    --------
    >>> quoted("long chain"), quoted("a & b")
    ('long chain', '"a & b"')
    """
    return json.dumps(text, ensure_ascii=False) if _RESERVED.search(text) or not text else text


def _boolean(used: UsedColumn) -> Descriptor:
    rule = {"kind": "boolean", "column": used.name}
    return descriptor(quoted(used.name), rule, (used.name,), used.of_rows(used.meaning == 1))


def _above_median(used: UsedColumn, rows: NDArray[np.bool_]) -> tuple[list[Descriptor], str]:
    codes = used.values.codes[rows & used.known]
    if not len(codes):
        return [], "no value is known in discovery"
    threshold = median(used.meaning[codes])
    if threshold.value is None:
        return [], threshold.problem or "its median is not a number"
    above = threshold.above(used.meaning) & used.level_known
    name = f"{quoted(used.name)} > {threshold.text}"
    rule = {"kind": "numeric", "column": used.name, "above": threshold.value}
    return [descriptor(name, rule, (used.name,), used.of_rows(above))], threshold.text


def _levels(
    used: UsedColumn, discovery: NDArray[np.bool_], holdout: NDArray[np.bool_]
) -> tuple[list[Descriptor], tuple[str, ...]]:
    labels = as_text(used.values)
    codes = np.where(used.known, used.values.codes, -1)
    seen: set[int] = set(codes[discovery].tolist())
    only_holdout: list[int] = sorted(set(codes[holdout].tolist()) - seen - {-1})
    # First appearance in the file, whatever order a typed source keeps its levels in.
    present, first = np.unique(codes, return_index=True)
    order = [int(level) for _, level in sorted(zip(first.tolist(), present.tolist(), strict=True))]
    made = [
        descriptor(
            f"{quoted(used.name)} = {quoted(labels[level])}",
            {"kind": "level", "column": used.name, "level": labels[level]},
            (used.name,),
            codes == level,
        )
        for level in order
        if level in seen and level >= 0
    ]
    return made, tuple(labels[level] for level in only_holdout)


def _missing(
    used: UsedColumn, where: NDArray[np.int8], counted: NDArray[np.bool_], plan: Plan
) -> Iterator[Descriptor]:
    """``col is missing``, where it has support in each split."""
    absent = ~used.known
    rules = plan.eligibility
    for part in (DISCOVERY, HOLDOUT):
        rows = (where == part) & counted
        if not rows.any() and part == HOLDOUT:
            continue
        on, off = int((absent & rows).sum()), int((~absent & rows).sum())
        if on < max(rules.min_on or 1, 1) or off < max(rules.min_off or 1, 1):
            return
    rule = {"kind": "missing", "column": used.name}
    yield descriptor(f"{quoted(used.name)} is missing", rule, (used.name,), absent)


def _pairs(items: Sequence[Descriptor]) -> Iterator[Descriptor]:
    count = len(items) * (len(items) - 1) // 2
    if count > MAX_PAIRS:
        raise InputError(
            f"--pairs makes up to {count:,} conjunctions of {len(items):,} descriptors, more than "
            f"{MAX_PAIRS:,}; name the columns to combine with --descriptor"
        )
    for a, b in itertools.combinations(items, 2):
        if a.columns != b.columns:  # two slices of one column don't overlap
            yield combine(f"{a.name} & {b.name}", (a, b))


def combine(name: str, parts: Sequence[Descriptor]) -> Descriptor:
    """The conjunction of several descriptors of one table."""
    columns = tuple(dict.fromkeys(column for part in parts for column in part.columns))
    rule = {"kind": "conjunction", "all": [part.name for part in parts]}
    bits = np.bitwise_and.reduce([part.bits for part in parts])
    return Descriptor(name, rule, columns, bits, parts[0].rows)


def _conjunction(text: str, items: Sequence[Descriptor], not_used: Mapping[str, str]) -> Descriptor:
    name, terms = parse_conjunction(text)
    by_name = {item.name: item for item in items}
    by_column: dict[str, list[Descriptor]] = {}
    for item in items:
        if item.rule["kind"] != "missing":
            by_column.setdefault(quoted(item.columns[0]), []).append(item)
    parts: list[Descriptor] = []
    for term in terms:
        # A column with a single descriptor may be called by its own name: its median is not known
        # to whoever writes the conjunction.
        alone = by_column.get(term, [])
        part = by_name.get(term) or (alone[0] if len(alone) == 1 else None)
        if part is None and (column := _column_of(term, not_used)) is not None:
            raise InputError(
                f"--conjunction {text!r}: there is no descriptor {term!r}, since column {column!r} "
                f"is not used: {not_used[column]}"
            )
        if part is None:
            near = difflib.get_close_matches(term, by_name, n=3, cutoff=0.4)
            shown = near or list(by_name)[:20]
            more = f" and {len(by_name) - len(shown)} more" if len(by_name) > len(shown) else ""
            hint = "did you mean" if near else "the descriptors are"
            raise InputError(
                f"--conjunction {text!r}: no descriptor is called {term!r}; {hint} "
                f"{', '.join(map(repr, shown))}{'' if near else more}"
            )
        parts.append(part)
    return combine(name, parts)


def _column_of(term: str, columns: Iterable[str]) -> str | None:
    """Which of these columns a descriptor of this name would be made of."""
    made = (" > ", " = ", " is missing")
    for column in columns:
        if term == quoted(column) or term.startswith(tuple(quoted(column) + end for end in made)):
            return column
    return None


def parse_conjunction(text: str) -> tuple[str, list[str]]:
    """Split ``name = a & b`` into the name and the names of its terms.

    Examples
    --------
    >>> parse_conjunction("hard_starter = difficulty = hard & has_starter_code")
    ('hard_starter', ['difficulty = hard', 'has_starter_code'])
    """
    name, equals, rest = _split_outside_quotes(text, " = ")
    terms: list[str] = []
    while rest:
        term, _, rest = _split_outside_quotes(rest, " & ")
        terms.append(term.strip())
    if not equals or not name.strip() or len(terms) < 2 or not all(terms) or " & " in name:
        raise InputError(
            f'--conjunction {text!r} is not of the form "name = a & b" (two or more terms)'
        )
    plain = json.loads(name) if name.strip().startswith('"') else name.strip()
    return quoted(plain), terms


def _split_outside_quotes(text: str, separator: str) -> tuple[str, str, str]:
    quotes = re.compile(r'"(?:[^"\\]|\\.)*"')
    masked = quotes.sub(lambda match: "x" * len(match.group()), text)
    at = masked.find(separator)
    if at < 0:
        return text, "", ""
    return text[:at], separator, text[at + len(separator) :]


def check_names(items: Iterable[Descriptor]) -> None:
    """Refuse two descriptors of one name."""
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            raise InputError(
                f"two descriptors are called {item.name!r}; give the conjunction another name"
            )
        seen.add(item.name)
