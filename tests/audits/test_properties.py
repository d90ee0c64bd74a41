"""What must hold for any table, on exact quantities and a fixed split column."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.audits import cli, made
from tests.oracle import oracle

FEW = settings(max_examples=12, deadline=None, derandomize=True)
EXACT = ("--backend", "numpy", "--permutations", "1", "--decoys", "1")
EXACT_METHODS = ("decoys_exact", "mean_count_exact", "unadjusted", "bh_05", "bh_10", "fixed_lift")
SPLIT = (
    *("--split-column", "split", "--min-support", "1"),
    *("--min-prevalence", "0", "--max-prevalence", "1", "--id", "id"),
    *("--descriptor", "g0", "--descriptor", "g1", "--descriptor", "x", "--descriptor", "c"),
    *("--numeric", "x", "--categorical", "c", "--q", "0.5"),
)


@dataclass(frozen=True)
class Table:
    """Rows of id, split, g0, g1, x, c, error."""

    rows: list[dict[str, Any]]

    def audit(self, *words: str) -> cli.Result:
        columns = {name: [row[name] for row in self.rows] for name in self.rows[0]}
        return made.audit(columns, *SPLIT, *EXACT, *words)


@st.composite
def split_tables(draw: st.DrawFn) -> Table:
    rows: list[dict[str, Any]] = []
    for split in ("discovery", "holdout"):
        for i in range(draw(st.integers(6, 14))):
            # The first two rows of each split differ in everything, so nothing is constant.
            fixed = i if i < 2 else None
            bit = st.integers(0, 1) if fixed is None else st.just(fixed)
            rows.append(
                {
                    "split": split,
                    "g0": draw(bit),
                    "g1": draw(bit),
                    "x": draw(st.integers(0, 9) if fixed is None else st.just(9 * fixed)),
                    "c": draw(st.sampled_from("rst") if fixed is None else st.just("rs"[fixed])),
                    "error": draw(bit),
                }
            )
    shuffled = draw(st.permutations(rows))
    return Table([{"id": f"e{i:03d}", **row} for i, row in enumerate(shuffled)])


def exact(result: cli.Result) -> dict[str, Any]:
    """The exact quantities, in an order that does not depend on rows or columns."""
    fields = ("status", "discovery", "holdout", "p_exact", "p_bh")
    # Sums over the library depend on its order in the last bit; levels come in file order.
    screen = {
        name: f"{value:.12g}" if isinstance(value, float) else value
        for name, value in result["screen"]["decoys_exact"].items()
    }
    return {
        "descriptors": {
            name: {field: d[field] for field in fields} for name, d in cli.by_name(result).items()
        },
        "methods": {
            method: {
                what: set(result["methods"][method][what]) for what in ("selected", "confirmed")
            }
            for method in EXACT_METHODS
        },
        "screen": screen,
    }


@given(table=split_tables(), seed=st.integers(0, 10**6))
@FEW
def test_names_and_order_of_rows_do_not_matter(table: Table, seed: int) -> None:
    generator = random.Random(seed)
    names = [f"other-{i}" for i in range(len(table.rows))]
    generator.shuffle(names)
    rows = [{**row, "id": name} for row, name in zip(table.rows, names, strict=True)]
    before = exact(table.audit())
    assert exact(Table(rows).audit()) == before
    generator.shuffle(rows)
    assert exact(Table(rows).audit()) == before


@given(table=split_tables(), order=st.permutations(["id", "split", "g0", "g1", "x", "c", "error"]))
@FEW
def test_order_of_columns_does_not_matter(table: Table, order: Sequence[str]) -> None:
    moved = Table([{name: row[name] for name in order} for row in table.rows])
    assert exact(moved.audit()) == exact(table.audit())


@given(table=split_tables(), statistic=st.sampled_from(["lift", "z"]))
@FEW
def test_complement_of_a_descriptor(table: Table, statistic: str) -> None:
    flipped = Table([{**row, "g0": 1 - row["g0"]} for row in table.rows])
    before = exact(table.audit("--statistic", statistic))
    after = exact(flipped.audit("--statistic", statistic))
    assert after["methods"] == before["methods"]
    assert after["screen"] == before["screen"]
    old, new = before["descriptors"].pop("g0"), after["descriptors"].pop("g0")
    assert after["descriptors"] == before["descriptors"]
    for field in ("status", "p_exact", "p_bh"):
        assert new[field] == old[field]
    for split in ("discovery", "holdout"):
        assert new[split]["lift"] == -old[split]["lift"]
        assert new[split]["z"] == -old[split]["z"]
        for on, off in (("on", "off"), ("errors_on", "errors_off")):
            assert (new[split][on], new[split][off]) == (old[split][off], old[split][on])


@given(
    table=split_tables(),
    limits=st.lists(st.sampled_from(range(1, 100)), min_size=2, max_size=4, unique=True),
    statistic=st.sampled_from(["lift", "z"]),
)
@FEW
def test_more_q_selects_no_less(table: Table, limits: list[int], statistic: str) -> None:
    chosen = [
        {
            method: set(
                table.audit("--q", f"0.{q:02d}", "--statistic", statistic)["methods"][method][
                    "selected"
                ]
            )
            for method in ("decoys_exact", "mean_count_exact")
        }
        for q in sorted(limits)
    ]
    for less, more in itertools.pairwise(chosen):
        for method, names in less.items():
            assert names <= more[method]


def test_more_q_selects_more() -> None:
    """The property above is not of empty sets."""
    strong = [1] * 10 + [0] * 10
    columns = {
        "strong": strong,
        "some": [1] * 6 + [0] * 4 + [1] * 3 + [0] * 7,
        "none": [1, 0] * 10,
        "error": strong,
    }
    few, many = (
        made.audit(columns, *cli.WHOLE, *EXACT, "--q", q)["methods"]["decoys_exact"]["selected"]
        for q in ("0.01", "0.99")
    )
    members = [columns[name] for name in ("strong", "some", "none")]
    for names, q in ((few, "0.01"), (many, "0.99")):
        cut = oracle.decoys_exact_closed(members, strong, Fraction(q))
        assert set(names) == {("strong", "some", "none")[g] for g in cut.selected}
    assert {"strong"} <= set(few) < set(many)


# --- equal margins: the exact limit of Procedure A is Benjamini-Hochberg --------------------------


@st.composite
def equal_margins(draw: st.DrawFn) -> dict[str, list[int]]:
    n = draw(st.integers(10, 24))
    on = draw(st.integers(2, n - 2))
    columns = {
        f"g{i}": list(draw(st.permutations([1] * on + [0] * (n - on))))
        for i in range(draw(st.integers(1, 5)))
    }
    # Errors that follow the first descriptor, but for a few: there should be something to find.
    errors = list(columns["g0"])
    for row in draw(st.sets(st.integers(0, n - 1), max_size=3)):
        errors[row] = 1 - errors[row]
    if len(set(errors)) == 1:
        errors[0] = 1 - errors[0]
    return {**columns, "error": errors}


@given(columns=equal_margins(), statistic=st.sampled_from(["lift", "z"]))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_exact_limit_is_bh_when_margins_are_equal(
    columns: dict[str, list[int]], statistic: str
) -> None:
    table: dict[str, Any] = {name: made.words(member) for name, member in columns.items()}
    for q, method in (("0.05", "bh_05"), ("0.10", "bh_10")):
        result = made.audit(table, *cli.WHOLE, *EXACT, "--q", q, "--statistic", statistic)
        methods = result["methods"]
        assert set(methods["decoys_exact"]["selected"]) == set(methods[method]["selected"])


# --- boundaries ----------------------------------------------------------------------------------


def gated(on_wrong: int, off_wrong: int, *words: str) -> str:
    """Status of a slice that explains discovery, with these errors among 10 on and 10 off."""
    half = [1] * 10 + [0] * 10
    holdout = [int(i < on_wrong) for i in range(10)] + [int(i < off_wrong) for i in range(10)]
    columns = {
        "split": ["discovery"] * 20 + ["holdout"] * 20,
        "slice": made.words(half + half),
        "error": half + holdout,
    }
    result = made.audit(columns, "--split-column", "split", *EXACT, *words)
    got = cli.one(result, "slice")
    assert got["discovery"]["lift"] == 1.0
    assert got["holdout"]["lift"] == float(Fraction(on_wrong - off_wrong, 10))
    return got["status"]


@pytest.mark.parametrize("off_wrong", range(9))
def test_gate_at_exactly_c(off_wrong: int) -> None:
    # 0.3 - 0.2 is below 0.1 in floating point, 0.8 - 0.7 above it; the lift is 1/10 in all.
    assert gated(off_wrong + 1, off_wrong) == "confirmed"
    assert gated(off_wrong + 1, off_wrong, "--min-holdout-lift", "0.10") == "confirmed"
    assert gated(off_wrong + 1, off_wrong, "--min-holdout-lift", "0.1000000001") == "not_replicated"


@pytest.mark.parametrize(("on_wrong", "off_wrong"), [(2, 9), (5, 5)])
def test_gate_needs_the_same_sign(on_wrong: int, off_wrong: int) -> None:
    assert gated(on_wrong, off_wrong) == "not_replicated"


def tenth(*words: str) -> cli.Result:
    """n = 21, E = 2, 14 on with no error: the exact p is 1/10."""
    columns = {"slice": made.words([1] * 14 + [0] * 7), "error": [0] * 14 + [1] * 2 + [0] * 5}
    return made.audit(
        columns, *cli.WHOLE, "--backend", "numpy", "--permutations", "999", "--decoys", "1", *words
    )


@pytest.mark.parametrize("statistic", ["lift", "z"])
def test_p_exactly_at_the_limit(statistic: str) -> None:
    assert oracle.p_two_absdiff(21, 14, 2, 0) == Fraction(1, 10)
    at = tenth("--alpha", "0.1", "--q", "0.1", "--statistic", statistic)
    got = cli.one(at, "slice")
    for field in ("p_exact", "p_bh", "p_max_t", "p_max_t_step_down", "p_monte_carlo"):
        assert got[field] == pytest.approx(0.1, rel=1e-12)
    inclusive = ("unadjusted", "bh_10", "max_t", "max_t_step_down", "decoys_exact", "mean_count")
    for method in inclusive:
        assert at["methods"][method]["selected"] == ["slice"], method
    assert at["methods"]["bh_05"]["selected"] == []
    below = tenth("--alpha", "0.099999999999", "--q", "0.099999999999", "--statistic", statistic)
    for method in inclusive:
        wanted = ["slice"] if method == "bh_10" else []  # bh_10 keeps its own limit
        assert below["methods"][method]["selected"] == wanted, method


@pytest.mark.parametrize(
    ("n", "on", "wrong", "both"),
    [
        *((6, 3, 3, 3), (20, 2, 1, 1), (20, 19, 2, 1), (21, 7, 2, 2), (21, 19, 7, 5)),
        *((30, 3, 1, 1), (10, 3, 4, 0), (10, 7, 4, 4), (15, 7, 2, 2), (15, 7, 3, 0)),
        *((16, 4, 2, 2), (16, 14, 4, 2), (25, 6, 2, 2), (25, 23, 6, 4), (40, 39, 2, 1)),
        *((12, 11, 3, 2), (16, 6, 3, 0), (16, 10, 3, 3), (16, 15, 4, 3), (40, 2, 1, 1)),
    ],
)
def test_p_exactly_at_alpha_in_many_tables(n: int, on: int, wrong: int, both: int) -> None:
    """A float p is a last bit beside its limit in some of these, whatever its formula."""
    p = oracle.p_two_absdiff(n, on, wrong, both)
    assert p in (Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 4))
    off, others = n - on, wrong - both
    columns = {
        "slice": made.words([1] * on + [0] * off),
        "error": [1] * both + [0] * (on - both) + [1] * others + [0] * (off - others),
    }
    limit = f"{float(p):.2f}"
    at = made.audit(columns, *cli.WHOLE, *EXACT, "--alpha", limit, "--q", limit)
    assert cli.one(at, "slice")["p_exact"] == pytest.approx(float(p), rel=1e-12)
    for method in ("unadjusted", "decoys_exact", "mean_count_exact"):
        assert at["methods"][method]["selected"] == ["slice"], method
    # As a float this limit is the same number; as the decimal that was written it is below p.
    just_below = str(Decimal(limit) - Decimal("1e-20"))
    assert float(just_below) == float(limit)
    below = made.audit(columns, *cli.WHOLE, *EXACT, "--alpha", just_below, "--q", just_below)
    for method in ("unadjusted", "decoys_exact", "mean_count_exact"):
        assert below["methods"][method]["selected"] == [], method


@pytest.mark.parametrize("copies", [1, 2, 3, 6, 7, 10, 11])
def test_bh_exactly_on_its_boundary(copies: int) -> None:
    """Equal p of 1/20: p_(L) L = L/20 = q L, whatever the float product says."""
    assert oracle.p_two_absdiff(20, 1, 1, 1) == Fraction(1, 20)
    member = [1] + [0] * 19
    columns = {f"copy{i:02d}": made.words(member) for i in range(copies)}
    result = made.audit({**columns, "error": member}, *cli.WHOLE, *EXACT, "--q", "0.05")
    assert result["screen"]["L"] == copies
    for method in ("bh_05", "unadjusted", "decoys_exact"):
        assert len(result["methods"][method]["selected"]) == copies, method
    below = made.audit({**columns, "error": member}, *cli.WHOLE, *EXACT, "--q", "0.0499999999999")
    assert below["methods"]["decoys_exact"]["selected"] == []
