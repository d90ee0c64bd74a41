"""The reference audits, through the command line with every option written out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audits import cli
from tests.oracle import tables

P_TOLERANCE = 1e-9


def arguments(audit: dict[str, Any]) -> list[str]:
    """The options of a reference audit."""
    settings = audit["settings"]
    least, most = settings["prevalence"]
    path = tables.table_of(audit["file"])
    ids = "id" if "id" in tables.read(path)[0] else "question_id"
    words = [str(path), "--correct", audit["correct"], "--id", ids]
    for option, names in (
        ("--descriptor", audit["descriptors"]),
        ("--categorical", audit["categorical"]),
        ("--conjunction", audit["conjunctions"]),
    ):
        for name in names:
            words += [option, name]
    if audit["stratify"]:
        words += ["--stratify", audit["stratify"]]
    if audit["missing_outcome"]:
        words += ["--missing-outcome", "drop"]
    for option, value in {
        "--seed": audit["seed"],
        "--discovery": settings["discovery"],
        "--min-support": settings["min_support"],
        "--min-prevalence": least,
        "--max-prevalence": most,
        "--statistic": settings["statistic"],
        "--q": settings["q"],
        "--min-holdout-lift": settings["min_holdout_lift"],
        "--alpha": settings["alpha"],
        "--rule": "decoys_exact",
    }.items():
        words += [option, str(value)]
    return words


@pytest.mark.parametrize("audit", tables.expected_audits(), ids=tables.audit_id)
def test_expected(audit: dict[str, Any]) -> None:
    result = cli.audit(*arguments(audit), *cli.FAST)
    data = result["data"]
    rows = len(tables.read(tables.table_of(audit["file"])))
    assert data["rows"] == rows == sum(audit["n"]) + audit["missing_outcome"]
    assert data["outcome"]["missing"] == audit["missing_outcome"]
    assert [data[s]["n"] for s in ("discovery", "holdout")] == audit["n"]
    assert [data[s]["errors"] for s in ("discovery", "holdout")] == audit["errors"]
    assert result["screen"]["L"] == audit["L"]

    found = cli.by_name(result)
    reference = {d["name"]: d for d in audit["descriptors_tested"]}
    assert cli.library(result) == set(reference)
    ineligible = {name for name, d in found.items() if d["status"] == "ineligible"}
    assert ineligible == set(audit["ineligible"])
    for name, wanted in reference.items():
        got = found[name]
        discovery, holdout = got["discovery"], got["holdout"]
        assert cli.counts(discovery) == (
            audit["n"][0],
            wanted["on"],
            audit["errors"][0],
            wanted["errors_on"],
        )
        assert cli.counts(holdout) == (
            audit["n"][1],
            wanted["holdout_on"],
            audit["errors"][1],
            wanted["holdout_errors_on"],
        )
        # One correctly rounded division of integers: equal to the last bit.
        assert discovery["lift"] == wanted["lift"]
        assert holdout["lift"] == wanted["holdout_lift"]
        assert got["p_exact"] == pytest.approx(wanted["p_exact"], rel=P_TOLERANCE)
        assert got["p_bh"] == pytest.approx(wanted["p_bh"], rel=P_TOLERANCE)
    for name in ineligible:
        assert found[name]["p_exact"] is None
        assert found[name]["p_bh"] is None
        assert found[name]["reason"]

    for method in ("decoys_exact", "bh_05", "bh_10", "unadjusted"):
        for what in ("selected", "confirmed"):
            names = result["methods"][method][what]
            assert len(names) == len(set(names))
            assert set(names) == set(audit[method][what]), (method, what)

    # The primary rule decides the status.
    selected = set(audit["decoys_exact"]["selected"])
    confirmed = set(audit["decoys_exact"]["confirmed"])
    for name in reference:
        status = found[name]["status"]
        expected = (
            "confirmed" if name in confirmed else "not_replicated" if name in selected else None
        )
        assert status == (expected or "not_selected"), name

    exact = result["screen"]["decoys_exact"]
    assert exact["R"] == len(selected)
    if "threshold" in audit["decoys_exact"]:
        assert exact["threshold"] == pytest.approx(audit["decoys_exact"]["threshold"], rel=1e-12)
        estimate = audit["decoys_exact"]["estimated_fdp"]
        assert exact["estimated_fdp"] == pytest.approx(estimate, rel=P_TOLERANCE)
        assert exact["expected_exceedances"] == pytest.approx(
            estimate * len(selected), rel=P_TOLERANCE
        )
    plan = result["plan"]
    assert plan["seed"] == audit["seed"]
    assert plan["statistic"] == audit["settings"]["statistic"]
    assert plan["split"]["stratify"] == audit["stratify"]


def test_the_function_and_the_command_agree() -> None:
    import janus_jax

    path = tables.table_of("livecodebench_o1.csv")
    words = ("--correct", "correct_o1preview", "--seed", "3", "--backend", "numpy")
    from_command = cli.audit(path, *words, "--permutations", "99", "--decoys", "100")
    from_function = janus_jax.audit(
        str(path),
        correct="correct_o1preview",
        seed=3,
        backend="numpy",
        permutations=99,
        decoys=100,
    ).to_dict()
    assert cli.without_run(from_function) == cli.without_run(from_command)
