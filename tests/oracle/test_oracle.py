"""The oracle against the published reference values, before anything else is held against it."""

from __future__ import annotations

import importlib
import json
import math
from fractions import Fraction
from typing import Any

import pytest

from tests.oracle import oracle, tables

TIGHT = 1e-12


def near(value: float | list[float]) -> Any:
    return pytest.approx(value, rel=TIGHT)


def table_values(reference: dict[str, Any], counts: tuple[int, int, int, int]) -> None:
    """All that a reference table states: the counts and the three two-sided conventions."""
    assert counts == tuple(reference[key] for key in ("n", "n1", "K", "a"))
    assert float(oracle.p_two_absdiff(*counts)) == near(reference["p_two_absdiff"])
    assert float(oracle.p_two_minlike(*counts)) == near(reference["p_two_minlike"])
    assert float(oracle.p_two_doubled(*counts)) == near(reference["p_two_doubled"])


@pytest.mark.parametrize(
    ("number", "file", "column", "key"),
    [
        (1, "input_float64.csv", "slice", "input_float64.csv table"),
        (1, "input_float32.csv", "slice", "input_float32.csv table"),
        (3, "input.csv", "uses_tool", "table"),
        (7, "input.csv", "has_code", "input.csv"),
        (
            7,
            "input_b.csv",
            "has_code",
            "input_b.csv (no errors inside; the decision at 0.05 depends on the convention)",
        ),
        (8, "input.csv", "flag", "table"),
        (13, "input.csv", "slice", "table"),
        (15, "input.csv", "slice", "free permutation (Simpson artefact)"),
        (21, "input.csv", "rare", "table"),
        (49, "input.csv", "has_code", "has_code = yes"),
        (50, "input.csv", "flag", "missing counted as not members (n=36)"),
        (74, "input.csv", "long_context", "table"),
    ],
)
def test_boolean_cases(number: int, file: str, column: str, key: str) -> None:
    rows = tables.read(tables.case(number, file))
    counts = tables.four(tables.bits(rows, column), tables.bits(rows, "error"))
    table_values(tables.values(number)[key], counts)


@pytest.mark.parametrize(("number", "column"), [(72, "corpus_offset"), (73, "n_chars")])
def test_numbers_beyond_small_types(number: int, column: str) -> None:
    rows = tables.read(tables.case(number))
    values = tables.values(number)
    (made,) = oracle.make_descriptors(rows, range(len(rows)), [column], [])
    assert made.name == f"{column} > {values['median']!r}"
    assert sum(made.member) == values["rows above"]
    table_values(values["table"], tables.four(made.member, tables.bits(rows, "error")))


def test_float_ties_are_ties_in_full_enumeration() -> None:
    rows = tables.read(tables.case(1, "input_float64.csv"))
    errors = tables.bits(rows, "error")
    everything = oracle.enumerate_all([tables.bits(rows, "slice")], errors)
    assert everything.total == math.comb(12, 6) == oracle.number_of_labellings(errors)
    assert oracle.exact_p(everything) == [tables.p_value(tables.bits(rows, "slice"), errors)]


def test_undefined_columns_do_not_count_in_the_family() -> None:
    rows = tables.read(tables.case(9))
    errors = tables.bits(rows, "error")
    columns = ["hard", "b", "cc", "d"]
    counts = [tables.four(tables.bits(rows, c), errors) for c in columns]
    values = tables.values(9)
    # The reference values are Fisher's; BH is what is checked, the convention is checked above.
    raw = [oracle.p_two_minlike(*c) for c in counts]
    for column, p, adjusted in zip(columns, raw, oracle.bh_adjusted(raw), strict=True):
        assert float(p) == near(values["raw p (Fisher two-sided)"][column])
        assert float(adjusted) == near(values["BH q, m=4"][column])
    padded = oracle.bh_adjusted([*raw, Fraction(1), Fraction(1)])
    for column, adjusted in zip(columns, padded, strict=False):
        assert float(adjusted) == near(values["BH q, m=6 with p=1 for the undefined"][column])


def test_max_t() -> None:
    rows = tables.read(tables.case(11))
    errors = tables.bits(rows, "error")
    library = [tables.bits(rows, c) for c in ("s1", "s2", "s3")]
    values = tables.values(11)
    by_lift = oracle.enumerate_all(library, errors)
    assert by_lift.total == values["labellings"]
    assert [float(p) for p in oracle.exact_p(by_lift)] == near(values["raw |D| p (s1,s2,s3)"])
    assert [float(p) for p in oracle.max_t(by_lift)] == near(values["single-step max-T"])
    assert [float(p) for p in oracle.max_t_step_down(by_lift)] == near(values["step-down max-T"])
    by_z = oracle.max_t(oracle.enumerate_all(library, errors, name="z"))
    assert [float(p) for p in by_z] == near(values["single-step max-T on z = (a-E)/sd"])


def test_small_space() -> None:
    rows = tables.read(tables.case(13))
    errors = tables.bits(rows, "error")
    everything = oracle.enumerate_all([tables.bits(rows, "slice")], errors)
    assert everything.total == 20
    assert oracle.exact_p(everything) == [Fraction(1, 10)] == oracle.max_t(everything)


def test_blocks() -> None:
    rows = tables.read(tables.case(15))
    member, errors = tables.bits(rows, "slice"), tables.bits(rows, "error")
    strata = [row["task"] for row in rows]
    values = tables.values(15)
    assert sum(m * e for m, e in zip(member, errors, strict=True)) == values["errors in slice"]
    mean = oracle.expected_errors_on(member, errors, strata)
    assert float(mean) == near(values["E[a] restricted"])
    law = oracle.null_of_errors_on(member, errors, strata)
    assert sum(law.values()) == 1
    assert sum(a * p for a, p in law.items()) == mean
    assert float(sum(p for a, p in law.items() if a >= 15)) == near(values["restricted p_greater"])
    restricted = values["restricted p two-sided, |a - E|"]
    assert float(oracle.tail_p(member, errors, strata)) == near(restricted)


def test_closed_forms_against_enumeration_with_strata() -> None:
    member = [1, 1, 0, 1, 0, 0, 1, 0, 0, 1]
    errors = [1, 0, 0, 1, 1, 0, 1, 1, 0, 0]
    strata = [0, 0, 0, 0, 1, 1, 1, 1, 1, 2]
    shuffled = list(oracle.labellings(errors, strata))
    assert (
        len(shuffled) == len(set(shuffled)) == 6 * 10 == oracle.number_of_labellings(errors, strata)
    )
    on = [sum(m * e for m, e in zip(member, s, strict=True)) for s in shuffled]
    mean = Fraction(sum(on), len(on))
    assert oracle.expected_errors_on(member, errors, strata) == mean
    variance = sum((a - mean) ** 2 for a in on) / len(on)
    assert oracle.variance_errors_on(member, errors, strata) == variance
    table = oracle.enumerate_all([member], errors, strata)
    assert oracle.exact_p(table) == [oracle.tail_p(member, errors, strata)]
    by_z = oracle.enumerate_all([member], errors, strata, "z")
    assert oracle.exact_p(by_z) == oracle.exact_p(table)


@pytest.mark.parametrize("name", ["lift", "z"])
def test_exact_limit_closed_form_is_the_enumeration(name: str) -> None:
    errors = [1, 1, 1, 0, 0, 0, 0, 1, 0, 0]
    library = [
        [1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 1, 1, 0, 0],
        [0, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        [0, 0, 0, 1, 1, 0, 0, 0, 1, 1],
    ]
    table = oracle.enumerate_all(library, errors, name=name)
    for q in (Fraction(1, 10), Fraction(1, 3), Fraction(9, 10)):
        enumerated = oracle.decoys_exact(table, q)
        closed = oracle.decoys_exact_closed(library, errors, q, name)
        assert closed.selected == enumerated.selected == oracle.mean_count(table, q).selected
        assert closed.estimate == enumerated.estimate
    assert oracle.decoys_exact(table, Fraction(9, 10)).selected  # the comparison is not of nothing


@pytest.mark.parametrize(("n", "on", "wrong"), [(12, 5, 6), (30, 8, 9), (41, 1, 40), (300, 200, 9)])
def test_hypergeometric_against_scipy(n: int, on: int, wrong: int) -> None:
    stats: Any = importlib.import_module("scipy.stats")  # it has no type stubs
    law = oracle.hypergeometric(n, on, wrong)
    assert sum(law.values()) == 1
    for a, p in law.items():
        assert float(p) == pytest.approx(stats.hypergeom.pmf(a, n, on, wrong), rel=1e-9)


@pytest.mark.parametrize(("name", "key"), [("a", "list a"), ("b", "list b (single plateau)")])
def test_bh_plateaus(name: str, key: str) -> None:
    given = json.loads(tables.case(20, "pvalues.json").read_text(encoding="utf-8"))[name]
    reference = tables.values(20)[key]
    assert given == reference["p"]
    p = [Fraction(str(value)) for value in given]
    assert [float(value) for value in oracle.bh_adjusted(p)] == near(reference["q"])


def test_bh_gives_ties_one_decision() -> None:
    p = [Fraction(str(value)) for value in tables.values(20)["list a"]["p"]]
    assert oracle.bh(p, Fraction("0.05")) == {0, 1, 2, 3}
    assert oracle.bh(p, Fraction("0.029")) == {0}


def test_support_boundary_is_decided_in_rationals() -> None:
    for key in ("0.28 x 25", "0.07 x 100", "0.29 x 100", "0.1 x 30"):
        share, _, n = key.partition(" x ")
        needed = tables.values(21)[key]["needed"]
        limit = Fraction(share)
        assert oracle.eligible(needed, int(n), 1, limit, Fraction(1))
        assert not oracle.eligible(needed - 1, int(n), 1, limit, Fraction(1))


def test_noise_columns() -> None:
    rows = tables.read(tables.case(28))
    errors = tables.bits(rows, "error")
    counts = [tables.four(tables.bits(rows, f"f{i:02d}"), errors) for i in range(60)]
    values = tables.values(28)
    p = [oracle.p_two_minlike(*c) for c in counts]
    assert sum(value <= Fraction("0.05") for value in p) == values["descriptors with raw p <= 0.05"]
    assert float(min(p)) == near(values["smallest raw p"])
    assert float(min(oracle.bh_adjusted(p))) == near(values["smallest BH q"])


def test_duplicates_and_complements() -> None:
    rows = tables.read(tables.case(30))
    errors = tables.bits(rows, "error")
    columns = ["flag", "flag_copy", "not_flag", "n1", "n2", "n3"]
    p = [tables.p_value(tables.bits(rows, c), errors) for c in columns]
    values = tables.values(30)
    assert [float(x) for x in p[:3]] == near([values["p of flag, flag_copy, not_flag"]] * 3)
    assert float(oracle.bh_adjusted(p)[0]) == near(values["BH q with m=6 (all columns)"])
    distinct = oracle.bh_adjusted([p[0], *p[3:]])
    assert float(distinct[0]) == near(values["BH q with m=4 (distinct partitions)"])


def test_procedure_a_with_literal_decoys() -> None:
    """The scores of the decoy-ties case, whatever the order of the lists."""
    scores = json.loads(tables.case(18, "scores.json").read_text(encoding="utf-8"))
    lists = [[Fraction(x) for x in v] for v in scores.values()]
    assert len(lists) == 2
    real, decoys = lists
    for targets, shuffled in ((real, decoys), (real[::-1], decoys[::-1])):
        # R(5) = 3 and D(5) = 2; R(2) = 4 and D(2) = 2; as many decoys as descriptors.
        cut, reached = oracle.procedure_a(targets, shuffled, Fraction(2, 3))
        assert (cut.threshold, cut.reached, reached) == (2, 4, 2)
        assert cut.estimate == Fraction(str(tables.values(18)["cut >= 2, plain"]))
        assert not oracle.procedure_a(targets, shuffled, Fraction(2, 5))[0].selected
    # The estimate is not monotone in t: one common threshold, found from below.
    at_five = Fraction(4 * 2, 4) / 3
    assert float(at_five) == near(tables.values(18)["cut >= 5, plain"])
    none, reached = oracle.procedure_a([Fraction(1)], [Fraction(2)] * 5, Fraction(1, 2))
    assert (none.threshold, none.selected, reached) == (None, frozenset(), 0)


# --- the golden numbers of the design ------------------------------------------------------------


def test_golden_longbench_descriptor() -> None:
    n, wrong, on, errors_on = 57, 24, 31, 8
    observed = Fraction(errors_on, on) - Fraction(wrong - errors_on, n - on)
    assert round(float(observed), 5) == -0.35732
    p = oracle.p_two_absdiff(n, on, wrong, errors_on)
    assert round(float(p), 8) == 0.00825004
    assert round(float(p * 34), 7) == 0.2805012
    holdout = Fraction(15, 26) - Fraction(35 - 15, 58 - 26)
    assert round(float(holdout), 7) == -0.0480769
    assert not oracle.gate(observed, holdout, Fraction("0.10"))


def test_golden_controlled_audit() -> None:
    member = [1] * 80 + [0] * 80
    errors = [1] * 52 + [0] * 28 + [1] * 6 + [0] * 74
    assert sum(errors) == 58
    assert oracle.lift(member, errors) == Fraction(575, 1000)
    assert oracle.adjusted_lift(member, errors) == oracle.lift(member, errors)


def test_golden_fixed_floor() -> None:
    """0.322252 = 0.95 x 0.322059 + 0.05 x 0.325926: both are attainable, so is the quantile."""
    attainable = {
        abs(Fraction(a, on) - Fraction(24 - a, 57 - on))
        for on in range(1, 57)
        for a in range(max(0, 24 - (57 - on)), min(on, 24) + 1)
    }
    (low,) = {x for x in attainable if round(float(x), 6) == 0.322059}
    (high,) = {x for x in attainable if round(float(x), 6) == 0.325926}
    # 200 decoys: the place is 0.95 x 199 = 189.05, between the 190th and the 191st.
    floor = oracle.fixed_floor([Fraction(0)] * 189 + [low] + [high] * 10)
    assert floor == low * Fraction(95, 100) + high * Fraction(5, 100)
    assert round(float(floor), 6) == 0.322252


def test_golden_exact_boundary() -> None:
    assert oracle.p_two_absdiff(21, 14, 2, 0) == Fraction(1, 10)
    assert oracle.at_most([Fraction(1, 10)], Fraction("0.1")) == {0}


def test_gate_at_exactly_c() -> None:
    assert oracle.gate(Fraction(1, 2), Fraction(3, 10) - Fraction(2, 10), Fraction("0.10"))
    assert not oracle.gate(Fraction(1, 2), Fraction(-1, 2), Fraction("0.10"))


# --- the reference audits, recomputed from the tables --------------------------------------------


@pytest.mark.parametrize("audit", tables.expected_audits(), ids=tables.audit_id)
def test_expected_audits(audit: dict[str, Any]) -> None:
    settings = audit["settings"]
    rows = tables.read(tables.table_of(audit["file"]))
    strata = [row[audit["stratify"]] for row in rows] if audit["stratify"] else None
    fraction = Fraction(str(settings["discovery"]))
    split = oracle.split_rows(len(rows), strata, fraction, audit["seed"])
    made = oracle.make_descriptors(
        rows, split[0], audit["descriptors"], audit["categorical"], audit["conjunctions"]
    )
    answered = [[r for r in part if rows[r][audit["correct"]] != ""] for part in split]
    errors = [[int(rows[r][audit["correct"]] == "0") for r in part] for part in answered]
    assert len(rows) - sum(map(len, answered)) == audit["missing_outcome"]
    assert [len(part) for part in answered] == audit["n"]
    assert [sum(part) for part in errors] == audit["errors"]

    members = {d.name: [[d.member[r] for r in part] for part in answered] for d in made}
    least, most = (Fraction(str(x)) for x in settings["prevalence"])
    library = [
        name
        for name, parts in members.items()
        if all(oracle.eligible(sum(m), len(m), settings["min_support"], least, most) for m in parts)
    ]
    reference = {d["name"]: d for d in audit["descriptors_tested"]}
    assert set(library) == set(reference)
    assert len(library) == audit["L"]
    assert {name for name in members if name not in library} == set(audit["ineligible"])

    p = [tables.p_value(members[name][0], errors[0]) for name in library]
    adjusted = oracle.bh_adjusted(p)
    for name, value, corrected in zip(library, p, adjusted, strict=True):
        wanted, (on, held) = reference[name], members[name]
        assert tables.four(on, errors[0])[1::2] == (wanted["on"], wanted["errors_on"])
        assert tables.four(held, errors[1])[1::2] == (
            wanted["holdout_on"],
            wanted["holdout_errors_on"],
        )
        assert float(oracle.lift(on, errors[0])) == near(wanted["lift"])
        assert float(oracle.lift(held, errors[1])) == near(wanted["holdout_lift"])
        assert float(value) == near(wanted["p_exact"])
        assert float(corrected) == near(wanted["p_bh"])

    q, c = Fraction(str(settings["q"])), Fraction(str(settings["min_holdout_lift"]))
    cut = oracle.decoys_exact_closed(
        [members[name][0] for name in library], errors[0], q, settings["statistic"]
    )
    if settings["statistic"] == "lift":
        assert cut.threshold is not None
        assert cut.estimate is not None
        assert float(cut.threshold) == near(audit["decoys_exact"]["threshold"])
        assert float(cut.estimate) == near(audit["decoys_exact"]["estimated_fdp"])
    chosen = {
        "decoys_exact": cut.selected,
        "bh_05": oracle.bh(p, Fraction("0.05")),
        "bh_10": oracle.bh(p, Fraction("0.10")),
        "unadjusted": oracle.at_most(p, Fraction(str(settings["alpha"]))),
    }
    for method, selected in chosen.items():
        names = {library[g] for g in selected}
        assert names == set(audit[method]["selected"]), method
        confirmed = {
            name
            for name in names
            if oracle.gate(
                oracle.lift(members[name][0], errors[0]),
                oracle.lift(members[name][1], errors[1]),
                c,
            )
        }
        assert confirmed == set(audit[method]["confirmed"]), method
