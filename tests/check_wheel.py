"""Build the wheel, compare its contents with the tracked sources, and test it away from the tree.

Run as a script (``make wheel``). A new virtual environment in a temporary folder gets the wheel
alone, and every command runs there with nothing but what the wheel asks for; then the test
dependencies, and :data:`TESTS` run in a copy, where the sources are not importable.

The wheel holds the very files that all tests have passed with in the tree, which is compared; so
what is left to be seen is whether they work from where they are installed: imports, entry points,
data files, dependencies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"janus_jax": "janus_jax", "backends/janus_backends": "janus_backends"}
MOST_BYTES = 1_000_000  # of the wheel; the chart library that report.html carries is a third
NOT_IN_A_WHEEL = ("tests", "test_", "docs", "examples", "bench")
TESTS = (
    # Both backends keep every law from the wheel's second package.
    "tests/backends/test_jax.py::TestJaxBackend",
    "tests/backends/test_numpy.py",
    # So does a third party's; entry points, and what is said where one cannot be loaded.
    "tests/backends/test_registry.py",
    # Every module can be imported, and what is imported when.
    "tests/audits/test_start_up.py",
    # The program in a shell, the files it writes, and the schemas that are shipped.
    "tests/audits/test_streams.py",
    "tests/audits/test_outputs.py",
    "tests/audits/test_schema_strict.py",
    # Readers of tables and of every log format, which are imported when they are needed.
    "tests/tables/test_delimited.py",
    "tests/tables/test_json_lines.py",
    "tests/tables/test_typed.py",
    "tests/logs/test_command_line.py",
    # Templates, styles, scripts and the chart library of the pages.
    "tests/html/test_page.py",
    "tests/html/test_command.py",
    "tests/html/test_notebook.py",
    # The other commands.
    "tests/plans/test_equals_audit.py::test_python_and_command_line_agree",
    "tests/power/test_study.py::TestCommand",
    "tests/proposals/test_command.py",
    "tests/sensitivity/test_recurrence.py::test_the_command",
    "tests/replays/test_command_line.py",
    "tests/several/test_models.py::test_the_command_writes_the_comparison_and_every_audit",
    "tests/paper/test_reproduce.py::test_few_replays_are_unclear_and_counted_apart",
)
"""What can tell something about packaging."""

_RUNS = "gsm8k.csv --correct correct_175b_verification"
COMMANDS = (
    "backends",
    f"audit {_RUNS} --permutations 999 --backend numpy --out numpy",
    f"audit {_RUNS} --permutations 999 --backend jax --json jax.json",
    "audit gsm8k.csv --correct correct_175b_verification,correct_6b_verification"
    " --permutations 999 --backend numpy --out two",
    f"plan {_RUNS} --permutations 999 --out plan.toml",
    "audit gsm8k.csv --plan plan.toml --backend jax",
    f"propose {_RUNS} --out proposed.toml",
    f"replay {_RUNS} --replays 100 --permutations 99 --json replay.json",
    f"power {_RUNS} --delta 0.10 --repetitions 100 --json power.json",
    f"sensitivity {_RUNS} --splits 2",
    "report numpy/result.json replay.json power.json --out page.html",
    "reproduce --packets packets.jsonl",
)
"""Each must succeed with the wheel's own dependencies; ``gsm8k.csv`` is the examples' table."""
WRITTEN = (
    *("numpy/report.html", "numpy/report.md", "numpy/findings.csv", "numpy/result.json"),
    *("jax.json", "two/report.html", "plan.toml", "proposed.toml", "page.html", "packets.jsonl"),
)
DATA = (".csv", ".tsv", ".parquet", ".jsonl", ".eval", ".ipynb", ".svg", ".png", ".pyc")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="janus-wheel-") as name:
        folder = Path(name)
        wheel = build(folder)
        compare(wheel)
        bound(wheel)
        programs = install(wheel, folder)
        use(programs, folder)
        test(programs, folder)


def build(folder: Path) -> Path:
    """Build sdist and, from it, the wheel: what a user of the sdist would get."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def compare(wheel: Path) -> None:
    """The wheel holds the tracked files of both packages, and nothing else."""
    tracked = subprocess.run(
        ["git", "ls-files", "--", *PACKAGES], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    expected = {
        path.replace(source, target, 1)
        for path in tracked
        for source, target in PACKAGES.items()
        if path.startswith(f"{source}/")
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    if held != expected:
        sys.exit(
            f"wheel and tracked sources differ: only in the wheel {sorted(held - expected)}, "
            f"only tracked {sorted(expected - held)}"
        )
    print(f"wheel holds exactly the {len(held)} tracked files")


def bound(wheel: Path) -> None:
    """At the top two packages and their metadata; nothing that stays with the sources; small."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.partition("/")[0] for name in names}
    version = wheel.name.split("-")[1]
    expected = {*PACKAGES.values(), f"janus_jax-{version}.dist-info"}
    if top != expected:
        sys.exit(f"top level of the wheel is {sorted(top)}, not {sorted(expected)}")
    for name in names:
        parts = name.split("/")[1:]
        if any(part.startswith(NOT_IN_A_WHEEL) for part in parts) or name.endswith(DATA):
            sys.exit(f"{name} does not belong into the wheel")
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"the wheel has {size:,} bytes, more than {MOST_BYTES:,}")
    print(f"wheel has {size:,} bytes; at its top {', '.join(sorted(top))}")


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel in a fresh environment; the folder of its programs."""
    venv.create(folder / "env", with_pip=True)
    programs = folder / "env" / "bin"
    pip(programs, wheel)
    return programs


def pip(programs: Path, *what: str | Path) -> None:
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *what], check=True)


def use(programs: Path, folder: Path) -> None:
    """Run every command, far from the sources."""
    away = folder / "use"
    away.mkdir()
    shutil.copy(ROOT / "examples" / "data" / "gsm8k_openai_4models.csv", away / "gsm8k.csv")
    for command in COMMANDS:
        done = subprocess.run(
            [programs / "janus-jax", *command.split()],
            cwd=away,
            env=environment(),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"janus-jax {command} ended with {done.returncode}: {done.stderr}")
    missing = [name for name in WRITTEN if not (away / name).exists()]
    if missing:
        sys.exit(f"not written: {', '.join(missing)}")
    print(f"{len(COMMANDS)} commands run with the wheel's own dependencies")


def environment() -> dict[str, str]:
    """This process's, from which the sources cannot be imported."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test(programs: Path, folder: Path) -> None:
    """Run :data:`TESTS` from a copy, without those marked long."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    pip(programs, *groups["test"])
    for name in ("tests", "examples", "bench"):
        shutil.copytree(ROOT / name, folder / "away" / name)
    # The same pytest settings; on its path there is nothing but the tests here.
    shutil.copy(ROOT / "pyproject.toml", folder / "away")
    command = [programs / "python", "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"]
    command += ["-m", "not long", *TESTS]
    subprocess.run(command, cwd=folder / "away", check=True, env=environment())


if __name__ == "__main__":
    main()
