"""Every example that needs nothing but the project runs, and says what its page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.made import EXAMPLES

ROOT = EXAMPLES.parent

SAYS = {
    "audit_log.py": ("left open: 2 values of filter", "2 of 4 descriptors selected"),
    "audit_table.py": ("7 confirmed on holdout", "n_steps > 3", "written: "),
    "clusters_and_strata.py": ("it warns: rows share values of 'contest_id'", "4 of 11", "7 of 8"),
    "measure_the_rule.py": ("of 10,000 replays", "0.20 0.98", "in at least half of 50 splits"),
    "own_table.py": ("audit it with janus-jax audit runs.csv --error wrong",),
    "plan_then_audit.py": ("fixed before outcomes: True", "column 'n_steps' changed"),
    "propose_slices.py": ("proposed:", "difficulty = hard", "confirmed"),
    "several_models.py": ("for both: sol_words > 48", "n_add > 1", "nothing confirmed"),
}
"""What each script must print, among other things."""

OTHERS = {
    "benchmark_table.py",  # shared by the two recipes, which have tests of their own
    "json_records.py",
    "longbench_v2.py",
    "musique.py",
    "numba_backend.py",  # passes the conformance suite: tests/backends/test_example.py
}


def test_every_example_is_run_here_or_elsewhere() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS) | OTHERS


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SAYS))
def test_the_script_runs_and_says_what_it_should(name: str, tmp_path: Path) -> None:
    words = ["runs.csv"] if name == "own_table.py" else []
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", EXAMPLES / name, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    flat = re.sub(r"\s+", " ", done.stdout)
    for words_said in SAYS[name]:
        assert words_said in flat, (words_said, done.stdout)


@pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="away from the tree")
def test_make_examples_runs_all_of_them() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.search(r"^EXAMPLES := (.*)$", recipe, re.MULTILINE)
    assert named is not None
    scripts = {name.removesuffix(".py") for name in SAYS}
    assert {*named[1].split(), "own_table"} == scripts
    assert "examples/own_table.py" in recipe
