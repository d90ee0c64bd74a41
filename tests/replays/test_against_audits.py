"""An audit and a replay decide alike: the tables, applied to the observed counts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from janus_backends.numpy_backend import NumpyBackend
from janus_jax import audit
from janus_jax.behaviour.replay import _rules
from janus_jax.behaviour.replay_rules import ReplayRules
from janus_jax.decide import decide
from janus_jax.exchange import shuffled_part
from janus_jax.permutations import Running
from janus_jax.plan import PlanOptions, make_plan
from janus_jax.prepare import Prepared, prepare
from janus_jax.readers import read

TABLES = 160
PRESETS: list[dict[str, Any]] = [
    {}, {}, {"preset": "longbench-v2"}, {"preset": "musique"}, {"preset": "controlled"},
    {"preset": "janus-lite"},
]  # fmt: skip


def made(number: int) -> tuple[pd.DataFrame, PlanOptions]:
    """A random table, from two examples to 120, and the options of its audit."""
    draw, rng = random.Random(number), np.random.default_rng(number)
    n = draw.choice([4, 8, 12, 30, 60, 120])
    width = draw.choice([1, 2, 5, 12])
    effect = draw.choice([0.0, 0.0, 0.5, 0.9])
    members = rng.random((width, n)) < rng.uniform(0.1, 0.9, (width, 1))
    if width > 2:
        members[1] = ~members[0]
        members[2] = members[0]
    chance = draw.choice([0.1, 0.4, 0.8]) + effect * (members[0] - 0.5)
    error = rng.random(n) < chance
    error[:2] = False, True  # a single value is refused
    size = draw.choice([1, 1, 2, 3])
    table = pd.DataFrame(
        {f"g{g}": row for g, row in enumerate(members)}
        | {"error": error, "block": [f"b{draw.randrange(3)}" for _ in range(n)]}
        | {"unit": [f"u{i // size}" for i in range(n)]}
    )
    options: dict[str, Any] = {
        "error": "error", "seed": number, "exclude": ["block", "unit"],
        "min_support": draw.choice([1, 1, 2, 8]),
        "min_prevalence": draw.choice(["0", "0.10"]), "max_prevalence": draw.choice(["1", "0.90"]),
        "statistic": draw.choice(["lift", "z"]), "q": draw.choice(["0.10", "0.5", "0.001", "0.97"]),
        "alpha": draw.choice(["0.05", "0.4"]), "min_holdout_lift": draw.choice(["0.10", "0", "1"]),
        "permutations": draw.choice([1, 19, 299]), "discovery": draw.choice(["0.5", "0.5", "1"]),
        "decoys": 30, "rule": draw.choice(["mean_count", "mean_count_exact", "max_t"]),
    }  # fmt: skip
    more = draw.choice(PRESETS)
    if draw.random() < 0.3:
        options["strata"] = "block"
        options["exclude"] = ["unit"]
    elif draw.random() < 0.3:
        options |= {"cluster": "unit", "rule": "mean_count", "exclude": ["block"]}
        more = {}
    return table, options | more  # pyright: ignore[reportReturnType]


def judged(rules: ReplayRules, prepared: Prepared) -> dict[tuple[str, str | None], Any]:
    """Selected and confirmed by each rule without decoys, of the observed errors."""
    tables = rules.tables
    observed = [
        np.array([[counts[g].errors_on for g in prepared.eligible]], np.int32)
        for counts in (prepared.discovery, prepared.holdout)
        if counts
    ]
    discovery, holdout = observed[0], observed[1] if len(observed) > 1 else None
    got = decide(discovery, holdout, np.zeros(1, np.uint32), tables)
    places = tables.discovery.places(discovery.T)[:, 0]
    passed = np.zeros(len(places), np.bool_)
    if holdout is not None and tables.holdout is not None:
        gate = tables.gate[tables.holdout.places(holdout.T)[:, 0]]
        passed = (tables.signs[places] == gate) & (gate != 0)
    names = [prepared.descriptors.items[g].name for g in prepared.eligible]
    result: dict[tuple[str, str | None], Any] = {}
    for index, (name, table) in enumerate(
        zip(rules.names[: len(tables.needs)], tables.needs, strict=True)
    ):
        needs = table[places]
        many = max((m for m in range(len(needs) + 1) if (needs <= m).sum() >= m), default=0)
        selected = {n for n, need in zip(names, needs, strict=True) if need <= many}
        kept = {n for n, ok in zip(names, passed, strict=True) if n in selected and ok}
        sums = [bool(selected), bool(kept), len(selected), len(kept)]
        assert got.sums[:, index].tolist() == sums
        result[name.rule, name.statistic] = (selected, kept)
    return result


@pytest.mark.parametrize("part", range(4))
def test_an_audit_decides_as_its_replays_do(part: int) -> None:
    audited = 0
    for number in range(part, TABLES, 4):
        table, options = made(number)
        plan = make_plan(options)
        prepared = prepare(read(table), plan)
        if not prepared.eligible:
            continue
        audited += 1
        methods = audit(table, backend="numpy", **options).document["methods"]
        shuffled = shuffled_part(prepared, plan)
        rules = _rules(prepared, plan, [30], False, shuffled, NumpyBackend(), Running())
        found = judged(rules, prepared)
        compared = 0
        for method, said in methods.items():
            statistic = None if (method, None) in found else plan.statistic
            if (method, statistic) in found:
                said = set(said["selected"]), set(said["confirmed"])
                assert said == found[method, statistic], (number, method)
                compared += 1
        assert compared >= 3, number
    assert audited >= TABLES // 6
