"""The memory budget: what it bounds, that it changes no result, and what is said of too few."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from janus_jax import auditing, registry
from janus_jax.interface import Problem
from janus_jax.permutations import lanes_for
from janus_jax.plan import make_plan
from janus_jax.prepare import prepare
from janus_jax.readers import read
from tests.audits import cli
from tests.oracle import tables
from tests.runs import start


def make_problem(descriptors: int, n: int) -> Problem:
    return Problem(
        memberships=np.zeros((descriptors, n), dtype=np.bool_),
        errors=np.zeros(n, dtype=np.bool_),
        strata=np.zeros(n, dtype=np.int32),
        pool=np.zeros((0, 1), dtype=np.int32),
        seed=0,
    )


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("budget", [2**20, 64 * 2**20, 4 * 2**30])
@pytest.mark.parametrize(("descriptors", "n"), [(1, 10), (40, 2_000), (2_000, 500)])
def test_lanes_keep_to_the_budget(backend: str, budget: int, descriptors: int, n: int) -> None:
    if backend == "jax":
        pytest.importorskip("jax")
    problem, chosen = make_problem(descriptors, n), registry.get(backend)
    cost = chosen.bytes_per_permutation(problem)
    lanes = lanes_for(chosen, problem, 10**9, budget)
    assert lanes * cost <= budget or lanes == 64  # the fewest that are worth a call
    assert lanes == 16_384 or (lanes + 1) * cost > budget  # and no fewer than fit
    assert lanes_for(chosen, problem, 3, budget) == 3  # nor more than are wanted


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_budgets_of_64_mb_and_4_gb(backend: str, tmp_path: Path) -> None:
    if backend == "jax":
        pytest.importorskip("jax")
    words = (start.table(tmp_path), "--error", "error", "--permutations", "9001")
    results = [
        cli.without_run(cli.audit(*words, "--backend", backend, "--memory", megabytes))
        for megabytes in ("64", "4096")
    ]
    assert results[0] == results[1]


def test_memberships_exist_once(tmp_path: Path) -> None:
    draw = random.Random(1)
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"b{k}" for k in range(40)), "error"])
        writer.writerows([int(draw.random() < 0.4) for _ in range(41)] for _ in range(5_000))
    prepared = prepare(read(path), make_plan({"error": "error", "discovery": "1"}))
    tracemalloc.start()
    memberships = auditing.memberships(prepared)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memberships.shape == (40, 5_000)
    for line, g in zip(memberships, prepared.eligible, strict=True):
        np.testing.assert_array_equal(line, prepared.descriptors.items[g].members)
    assert peak < 1.1 * memberships.nbytes


def test_case_14_too_few_permutations_for_bh() -> None:
    values = tables.values(14)
    words = (tables.case(14), "--error", "error", *cli.WHOLE, "--backend", "numpy")
    run = cli.call("audit", *words, "--permutations", "99", "--decoys", "2000", "--json", "-")
    assert run.status == 0
    (warning,) = [line for line in run.err.splitlines() if "warning" in line]
    assert "B = 99" in warning
    assert f"B >= {values['B needed']}" in warning
    assert "alpha = 0.05" in warning
    result = cli.parse(run.out)
    assert cli.one(result, "hard_topic")["p_exact"] == pytest.approx(
        values["exact p of hard_topic"], rel=1e-9
    )
    assert cli.one(result, "hard_topic")["p_bh"] == pytest.approx(
        values["exact BH q of hard_topic"], rel=1e-9
    )
    assert result["methods"]["bh_05"]["selected"] == ["hard_topic"]
    enough = cli.call("audit", *words, "--permutations", "799", "--decoys", "2000", "--json", "-")
    assert "warning" not in enough.err


PEAK = """
import resource, sys
from janus_jax.cli import main
status = main(["audit", sys.argv[1], "--error", "error", "--id", "id", *sys.argv[2:]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak in kilobytes")
def test_case_76_memory_does_not_grow_with_permutations(tmp_path: Path) -> None:
    draw, path, n = (
        random.Random(76),
        tmp_path / "tall.csv",
        30_000,
    )  # the case has 100,000: slow to read
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(f"b{k}" for k in range(20)), "error"])
        for row in range(n):
            bits = draw.getrandbits(42)
            flags = [int(bits >> 2 * k & 3 == 0) for k in range(21)]
            writer.writerow([row, *flags])
    peaks: list[int] = []
    few, many = 128, 2_176
    for permutations in (few, many):
        run = subprocess.run(
            [
                *(sys.executable, "-c", PEAK, str(path), "--discovery", "1", "--memory", "1"),
                *("--backend", "numpy", "--decoys", "1", "--permutations", str(permutations)),
                *("--quiet", "--rule", "max_t"),
            ],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "OPENBLAS_NUM_THREADS": "1",  # on a busy machine they only wait for each other
            },
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(1024 * int(run.stderr.split()[-1]))
    # Rows x permutations, even as single bytes, would be 61 MB more.
    assert peaks[1] - peaks[0] < n * (many - few) / 4


def test_running_out_of_memory_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = type(registry.get("numpy"))

    def exhausted(*args: object) -> None:
        raise MemoryError

    monkeypatch.setattr(backend, "tally", exhausted)
    words = (start.table(tmp_path), "--error", "error", "--backend", "numpy")
    message = cli.refused(*words, "--permutations", "999")
    assert "--memory" in message
    assert "--batch" in message
