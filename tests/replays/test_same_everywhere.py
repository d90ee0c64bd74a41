"""One document whatever the backend, the batch, the memory and the number of devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from janus_jax.behaviour.replay import replay
from janus_jax.interface import DecidesReplays
from janus_jax.registry import get
from tests.replays.made import Design, correlated, design, lopsided

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
REPLAYS = 3_000


def clustered() -> Design:
    """Rows of questions asked once to three times."""
    draw = np.random.default_rng(8)
    members = draw.random((5, 60)) < 0.4
    base = design(members, draw.random(60) < 0.4, (30, 30))
    units = [
        f"q{split}_{unit}" for split in range(2) for unit in range(15) for _ in range(1 + unit % 3)
    ]
    base.table["unit"] = units
    return Design(base.table, {**base.options, "cluster": "unit"}, base.sides)


DESIGNS: dict[str, Design] = {
    "a holdout": correlated(21, (26, 31), 6, (9, 12)),
    "no holdout": correlated(22, (40,), 5, (15,)),
    "strata": correlated(23, (30, 28), 5, (11, 9), blocks=3, statistic="z"),
    "clusters": clustered(),
    "longbench-v2": lopsided(24, (55, 60), 7, (23, 25), preset="longbench-v2"),
    "janus-lite": correlated(
        25, (48, 50), 6, (20, 17), preset="janus-lite", min_support=8, min_prevalence="0.10",
        max_prevalence="0.90",
    ),
}  # fmt: skip


def document(it: Design, **running: Any) -> dict[str, Any]:
    """The document without what says how it was made, through JSON."""
    result = replay(
        it.table, replays=REPLAYS, decoy_grid=(7, 100, 333), plus_one=True, permutations=999,
        seed=5, **it.options, **running,
    )  # fmt: skip
    parsed = json.loads(result.to_json())
    del parsed["run"]
    return parsed


def test_jax_decides_replays_where_it_draws_them() -> None:
    assert isinstance(get("jax"), DecidesReplays)
    assert not isinstance(get("numpy"), DecidesReplays)  # so both ways are compared below


@pytest.mark.parametrize("name", DESIGNS)
def test_numpy_and_jax_give_one_document(name: str) -> None:
    it = DESIGNS[name]
    numpy = document(it, backend="numpy")
    assert numpy["replays"] == REPLAYS
    assert any(row["any_selected"] > 0 for row in numpy["rules"])
    assert document(it, backend="numpy", batch=7) == numpy
    assert document(it, backend="jax") == numpy


def test_batches_and_memory_change_nothing() -> None:
    it = DESIGNS["a holdout"]
    numpy = document(it, backend="numpy")
    for running in ({"batch": 1}, {"batch": 64}, {"batch": 10_000}, {"memory": 1}):
        assert document(it, backend="numpy", **running) == numpy
    assert document(it, backend="jax", batch=7) == numpy
    heard: list[tuple[int, int]] = []
    told = document(it, backend="numpy", batch=900, progress=lambda *done: heard.append(done))
    assert told == numpy
    assert heard[0] == (0, REPLAYS)
    assert heard[-1] == (REPLAYS, REPLAYS)
    assert heard == sorted(set(heard))


def test_more_replays_only_add_and_smaller_grids_are_prefixes() -> None:
    it = DESIGNS["a holdout"]

    def rows(replays: int, grid: tuple[int, ...]) -> dict[Any, Any]:
        result = replay(
            it.table, replays=replays, decoy_grid=grid, backend="numpy", seed=5, permutations=99,
            **it.options,
        )  # fmt: skip
        return {(r["rule"], r["statistic"], r["K"]): r for r in result.document["rules"]}

    many, few = rows(1000, (5, 64, 300)), rows(1000, (64,))
    assert set(few) < set(many)
    assert all(few[key] == many[key] for key in few)
    once = rows(1, (5,))
    assert all(row["any_selected"] in (0, 1) for row in once.values())


EIGHT = """
import json, sys
import jax
from tests.replays.test_same_everywhere import DESIGNS, document

assert jax.device_count() == 8
print(json.dumps({name: document(DESIGNS[name], backend="jax") for name in sys.argv[1:]}))
"""


def test_eight_devices_give_the_same_document() -> None:
    names = ["a holdout", "clusters"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "backends")]),
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
    }
    done = subprocess.run(
        [sys.executable, "-c", EIGHT, *names], stdout=subprocess.PIPE, text=True, check=True,
        env=environment, cwd=ROOT,
    )  # fmt: skip
    eight = json.loads(done.stdout)
    for name in names:
        assert eight[name] == document(DESIGNS[name], backend="numpy")
