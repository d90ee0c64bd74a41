"""Findings that overlap: correlations by NumPy, families by a search of the test's own."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from janus_jax.families import led, overlaps
from janus_jax.report import markdown
from tests.audits import cli, made
from tests.oracle import oracle, tables

OUTCOME = "correct_175b_verification"
GSM8K = (tables.table_of("gsm8k_openai_4models.csv"), "--correct", OUTCOME)
COLUMNS = (
    *("q_words", "q_sentences", "q_numbers", "n_steps", "n_mul", "has_money", "has_time_unit"),
    *("sol_words", "question_type"),
)
CHOSEN = tuple(word for name in COLUMNS for word in ("--descriptor", name))
Bits = NDArray[np.bool_]
RANK = ("confirmed", "selected", "not_replicated", "not_selected", "ineligible")


# --- the oracle ----------------------------------------------------------------------------------


def phi_squared(a: Bits, b: Bits) -> Fraction:
    n, on, other, both = len(a), int(a.sum()), int(b.sum()), int((a & b).sum())
    return Fraction((n * both - on * other) ** 2, on * (n - on) * other * (n - other))


def by_leads(names: Sequence[str], members: Mapping[str, Bits]) -> list[list[str]]:
    """Each name with the first lead it overlaps with, else a lead itself."""
    groups: dict[str, list[str]] = {}
    for name in names:
        squares = ((lead, phi_squared(members[lead], members[name])) for lead in groups)
        joined = next((lead for lead, square in squares if square >= Fraction(1, 4)), name)
        groups.setdefault(joined, []).append(name)
    return list(groups.values())


def beside(inside: Bits, lead: Bits, errors: Bits) -> float | None:
    """Mantel and Haenszel's risk difference, over the two strata (Greenland, Robins 1985)."""
    top, weights = Fraction(0), Fraction(0)
    for s in (lead, ~lead):
        on, off = int((inside & s).sum()), int((~inside & s).sum())
        if on and off:
            rates = [
                Fraction(int((errors & side & s).sum()), int((side & s).sum()))
                for side in (inside, ~inside)
            ]
            weight = Fraction(on * off, on + off)
            top += weight * (rates[0] - rates[1])
            weights += weight
    return float(top / weights) if weights else None


def ranked(result: cli.Result) -> list[cli.Result]:
    statistic = result["plan"]["statistic"]
    return sorted(
        result["descriptors"],
        key=lambda d: (RANK.index(d["status"]), -abs(d["discovery"][statistic] or 0)),
    )


def check(result: cli.Result, members: Mapping[str, Bits], errors: Bits, judged: Bits) -> None:
    """Everything of ``families``, from memberships and errors of all counted examples.

    ``judged`` says which of them are holdout (discovery where there is none).
    """
    found = {d["name"]: d for d in ranked(result) if d["status"] in ("confirmed", "selected")}
    wanted = by_leads(list(found), members)
    assert [[m["name"] for m in family["members"]] for family in result["families"]] == wanted
    for family in result["families"]:
        lead = members[family["lead"]]
        assert family["members"][0]["name"] == family["lead"]
        for member in family["members"]:
            own, d = members[member["name"]], found[member["name"]]
            phi = np.corrcoef(own.astype(float), lead.astype(float))[0, 1]
            assert member["phi"] == pytest.approx(phi, rel=1e-9, abs=1e-12)
            assert member["on"] == own.sum()
            assert member["both"] == (own & lead).sum()
            assert member["discovery_lift"] == d["discovery"]["lift"]
            assert member["holdout_lift"] == (d["holdout"] and d["holdout"]["lift"])
            left = beside(own[judged], lead[judged], errors[judged])
            assert member["beside_lead"] == (None if member["name"] == family["lead"] else left)
        assert family["members"][0]["phi"] == 1.0
    names = list(found)[:100]
    for member in (member for family in result["families"] for member in family["members"]):
        others = [name for name in names if name != member["name"]]
        if member["name"] not in names or not others:
            assert member["nearest"] is None
            continue
        own = members[member["name"]]
        best = max(others, key=lambda name: phi_squared(own, members[name]))  # the first of equals
        assert member["nearest"]["name"] == best
        phi = np.corrcoef(own.astype(float), members[best].astype(float))[0, 1]
        assert member["nearest"]["phi"] == pytest.approx(phi, rel=1e-9, abs=1e-12)


def gsm8k(result: cli.Result, first: Sequence[int]) -> tuple[dict[str, Bits], Bits]:
    """Memberships and errors by the file alone; pairs are products of the simple ones."""
    rows = tables.read(GSM8K[0])
    made_of = oracle.make_descriptors(rows, first, COLUMNS, ["question_type"])
    simple = {d.name: np.array(d.member, dtype=bool) for d in made_of}
    members = {
        d["name"]: np.logical_and.reduce([simple[part] for part in d["rule"]["all"]])
        if d["rule"]["kind"] == "conjunction"
        else simple[d["name"]]
        for d in result["descriptors"]
    }
    return members, np.array([row[OUTCOME] == "0" for row in rows])


# --- real tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [(), ("--pairs",), ("--pairs", "--statistic", "z"), ("--strata", "has_money")]
)
def test_a_real_table(words: tuple[str, ...]) -> None:
    result = cli.audit(*GSM8K, *CHOSEN, *words, *cli.FAST)
    n = len(tables.read(GSM8K[0]))
    first, _ = oracle.split_rows(n, None, Fraction(1, 2), 0)
    members, errors = gsm8k(result, first)
    check(result, members, errors, ~np.isin(np.arange(n), first))
    if "--pairs" in words:
        sizes = [len(family["members"]) for family in result["families"]]
        assert max(sizes) > 1
        assert len(sizes) > 1


def test_without_a_holdout_the_selected_ones_and_discovery() -> None:
    result = cli.audit(*GSM8K, *CHOSEN, "--pairs", "--discovery", "1", *cli.FAST)
    n = len(tables.read(GSM8K[0]))
    members, errors = gsm8k(result, range(n))
    check(result, members, errors, np.ones(n, dtype=bool))
    assert result["families"]
    assert all(m["holdout_lift"] is None for f in result["families"] for m in f["members"])


@pytest.mark.parametrize("words", [("--min-holdout-lift", "1"), ("--min-support", "600")])
def test_nothing_confirmed(words: tuple[str, ...]) -> None:
    result = cli.audit(*GSM8K, *words, *cli.FAST)
    assert result["families"] == []
    assert "Findings that overlap" not in markdown(result)


# --- made tables ---------------------------------------------------------------------------------


def two(both: int, *, turned: bool = False) -> dict[str, Sequence[object]]:
    """80 rows; a and b are on for 40 each, of which they share ``both``; errors follow both."""
    a = np.array([1] * 40 + [0] * 40)
    b = np.array([1] * both + [0] * 40 + [1] * (40 - both))
    error = a & b | np.array([0, 1] * 40) & (a | b)
    error[-2:] = 1
    error[:1] = 0
    return {
        "a": made.words(a.tolist()),
        "b": made.words((1 - b if turned else b).tolist()),
        "error": error.tolist(),
    }


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("both", "families"), [(30, 1), (29, 2), (31, 1)])
def test_the_boundary_is_exact(both: int, families: int, turned: bool, tmp_path: Path) -> None:
    # phi = (80 both - 1600) / 1600: 1/2 at 30.
    columns = two(both, turned=turned)
    result = cli.whole(made.write(tmp_path / "two.csv", columns))
    assert {d["status"] for d in result["descriptors"]} == {"selected"}
    assert len(result["families"]) == families
    members = {name: np.array([v == "true" for v in columns[name]]) for name in ("a", "b")}
    check(result, members, np.array(columns["error"], dtype=bool), np.ones(80, dtype=bool))
    if both == 30:
        member = result["families"][0]["members"][1]
        assert member["phi"] == (-0.5 if turned else 0.5)
        assert member["both"] == (10 if turned else 30)  # on and on, also when phi is negative


def test_an_alias_leaves_nothing_to_compare(tmp_path: Path) -> None:
    columns = {**two(30)}
    del columns["b"]
    columns["same"] = columns["a"]
    columns["turned"] = ["false" if v == "true" else "true" for v in columns["a"]]
    result = cli.whole(made.write(tmp_path / "alias.csv", columns))
    (family,) = result["families"]
    assert [(m["name"], m["phi"], m["beside_lead"]) for m in family["members"]] == [
        ("a", 1.0, None),
        ("same", 1.0, None),
        ("turned", -1.0, None),
    ]
    assert [m["both"] for m in family["members"]] == [40, 40, 0]


def test_every_member_overlaps_with_its_lead(tmp_path: Path) -> None:
    """a - b - c: c overlaps with b, but not with a, which leads b; so it leads its own family."""
    n = 240
    rows = np.arange(n)
    error = (rows < 120) ^ (rows % 12 == 0)
    spans = {"a": (0, 90), "b": (25, 120), "c": (50, 140)}
    members = {name: (rows >= lo) & (rows < hi) for name, (lo, hi) in spans.items()}
    quarter = Fraction(1, 4)
    assert phi_squared(members["a"], members["b"]) >= quarter
    assert phi_squared(members["b"], members["c"]) >= quarter
    assert phi_squared(members["a"], members["c"]) < quarter
    columns = {name: made.words(m.astype(int).tolist()) for name, m in members.items()}
    columns["error"] = [int(e) for e in error]  # pyright: ignore[reportArgumentType]
    result = cli.whole(made.write(tmp_path / "chain.csv", columns))
    check(result, members, error, np.ones(n, dtype=bool))
    for family in result["families"]:
        assert all(member["phi"] ** 2 > 0.2499 for member in family["members"])
    sizes = sorted(len(family["members"]) for family in result["families"])
    strongest = ranked(result)[0]["name"]
    assert sizes == ([3] if strongest == "b" else [1, 2])


def test_a_cause_does_not_look_like_an_echo_of_its_sign(tmp_path: Path) -> None:
    """b makes the errors and a is a sign of it; a, the better measured, leads.

    Within a as outside it b's error rate is higher by 0.5, which is what must be shown: divided by
    the spread of b over all examples it would be 0.18.
    """
    # (a, b, error): how many.
    cells = {
        (1, 1, 1): 90,
        (1, 1, 0): 10,
        (1, 0, 1): 8,
        (1, 0, 0): 12,
        (0, 1, 1): 14,
        (0, 1, 0): 6,
        (0, 0, 1): 20,
        (0, 0, 0): 80,
    }
    rows = [key for key, many in cells.items() for _ in range(many)]
    columns = {
        name: made.words([row[i] for row in rows]) for i, name in enumerate(("a", "b", "error"))
    }
    columns["error"] = [row[2] for row in rows]  # pyright: ignore[reportArgumentType]
    result = cli.whole(made.write(tmp_path / "echo.csv", columns))
    (family,) = result["families"]
    left = {m["name"]: m["beside_lead"] for m in family["members"] if m["beside_lead"] is not None}
    (member,) = left  # both strata weigh 100 * 20 / 120
    assert left[member] == pytest.approx(0.5 if member == "b" else (0.2 + 0.2) / 2, abs=1e-12)
    assert member == "a" or family["lead"] == "a"


def test_missing_outcomes_do_not_count(tmp_path: Path) -> None:
    columns = {name: list(values) for name, values in two(30).items()}
    # 20 more rows on which a and b are the same, without an outcome: they would link at both = 29.
    shorter = {name: list(values) for name, values in two(29).items()}
    for table in (columns, shorter):
        table["a"] += ["true"] * 20
        table["b"] += ["true"] * 20
        table["error"] += [""] * 20
    words = ("--missing-outcome", "drop")
    results = [
        cli.whole(made.write(tmp_path / f"{i}.csv", table), *words)
        for i, table in enumerate((columns, shorter))
    ]
    assert [len(result["families"]) for result in results] == [1, 2]
    assert results[0]["families"][0]["members"][1]["on"] == 40


def test_the_report_lists_them() -> None:
    result = cli.audit(*GSM8K, *CHOSEN, "--pairs", *cli.FAST)
    text = markdown(result)
    section = text.split("## Findings that overlap\n")[1].split("\n## ")[0]
    several = [f["members"] for f in result["families"] if len(f["members"]) > 1]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == 1 + sum(map(len, several))  # and the rule below the header
    listed = iter(lines[1:])
    for place, members in enumerate(several, start=1):
        for i, member in enumerate(members):
            cells = next(listed).replace("\\", "").strip("| ").split(" | ")
            left = "lead" if i == 0 else f"{member['beside_lead']:+.3f}"
            assert cells == [
                *(str(place), member["name"], f"{member['phi']:+.3f}", str(member["on"])),
                *(str(member["both"]), f"{member['discovery_lift']:+.3f}"),
                *(f"{member['holdout_lift']:+.3f}", left),
            ]
    found = sum(len(f["members"]) for f in result["families"])
    assert f"The {found} findings are {len(result['families'])} families" in section


# --- the pairs and the components ----------------------------------------------------------------


def by_fractions(members: Bits) -> NDArray[np.bool_]:
    m = len(members)
    return np.array(
        [[phi_squared(members[i], members[j]) * 4 >= 1 for j in range(m)] for i in range(m)]
    )


@given(
    n=st.sampled_from([4, 8, 9, 16, 20, 24, 40]), m=st.integers(1, 12), seed=st.integers(0, 10**6)
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_links_are_those_of_fractions(n: int, m: int, seed: int) -> None:
    draw = random.Random(seed)
    members = np.zeros((m, n), dtype=bool)
    for row in members:
        row[draw.sample(range(n), draw.randrange(1, n))] = True
    bits = np.packbits(members, axis=1)
    assert (np.array([overlaps(lead, bits, n) for lead in bits]) == by_fractions(members)).all()


def test_ties_do_occur_among_those() -> None:
    """All pairs of memberships of 8 examples: many have phi of exactly a half."""
    members = np.array([[k >> i & 1 for i in range(8)] for k in range(1, 255)], dtype=bool)
    wanted = by_fractions(members)
    ties = sum(phi_squared(a, b) == Fraction(1, 4) for a, b in itertools.combinations(members, 2))
    assert ties > 1000
    bits = np.packbits(members, axis=1)
    assert (np.array([overlaps(lead, bits, 8) for lead in bits]) == wanted).all()


@pytest.mark.parametrize("more", [0, 1])
def test_nearer_than_floats_can_tell(more: int) -> None:
    """With n = 2**26, 4 cross**2 and the product differ by less than a few roundings."""
    n, k = 2**26, 2**25 + 1
    both = (k * (n + k) - 1) // (2 * n) + more
    assert (n * both - k * k) * 2 - k * (n - k) == (2 * n * more - 1)
    first, second = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    first[:k] = True
    second[k - both : 2 * k - both] = True
    bits = np.array([np.packbits(first), np.packbits(second)])
    assert overlaps(bits[0], bits[1:], n)[0] == bool(more)


def test_many_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against NumPy's correlations, also when they are compared a few at a time."""
    generator = np.random.default_rng(5)
    n, m = 20_000, 300
    base = generator.random((60, n))
    parents = base[generator.integers(60, size=m)]
    members = 0.75 * parents + 0.25 * generator.random((m, n)) < generator.uniform(
        0.3, 0.7, size=(m, 1)
    )
    square = np.corrcoef(members.astype(float)) ** 2
    assert (np.abs(square - 0.25) > 1e-9).all()
    wanted: list[list[int]] = []
    for i in range(m):
        near = next((group for group in wanted if square[group[0], i] >= 0.25), None)
        near.append(i) if near is not None else wanted.append([i])
    bits = np.packbits(members, axis=1)
    assert 1 < len(wanted) < m
    assert led(bits, n) == wanted
    monkeypatch.setattr("janus_jax.families._CELLS", 7 * bits.shape[1])
    assert led(bits, n) == wanted


def test_only_the_first_in_rank_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    every = cli.audit(*GSM8K, *CHOSEN, "--pairs", *cli.FAST)
    found = [d["name"] for d in ranked(every) if d["status"] == "confirmed"]
    monkeypatch.setattr("janus_jax.families.GROUPED", 20)
    few = cli.audit(*GSM8K, *CHOSEN, "--pairs", *cli.FAST)
    assert len(found) > 20
    assert {m["name"] for f in few["families"] for m in f["members"]} == set(found[:20])
    assert f"Of the {len(found)} findings the first 20 are grouped" in markdown(few)


def test_the_document_is_plain_json() -> None:
    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(map(plain, value.values()))
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or type(value) in (str, bool, int, float)

    from janus_jax import audit

    document = audit(
        GSM8K[0], correct=OUTCOME, backend="numpy", permutations=99, pairs=True
    ).to_dict()
    for part in ("families", "examples", "screen"):
        assert plain(document[part])
