"""Build the wheel, compare its contents with the tracked sources, and test it away from the tree.

Run as a script (``make wheel``): a new virtual environment in a temporary folder gets the wheel and
the test dependencies; a copy of the tests runs there, where the sources are not importable.
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
DATA = (".csv", ".tsv", ".parquet", ".jsonl", ".eval", ".ipynb", ".svg", ".png", ".pyc")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="janus-wheel-") as name:
        folder = Path(name)
        wheel = build(folder)
        compare(wheel)
        bound(wheel)
        test(wheel, folder)


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


def test(wheel: Path, folder: Path) -> None:
    """Install the wheel in a fresh environment and run the tests from a copy of them.

    Without the long ones, which have just run in the tree.
    """
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    run = [python, "-m", "pip", "install", "--quiet", str(wheel), *groups["test"]]
    subprocess.run(run, check=True)
    for name in ("tests", "examples", "bench"):
        shutil.copytree(ROOT / name, folder / "away" / name)
    # The same pytest settings; on its path there is nothing but the tests here.
    shutil.copy(ROOT / "pyproject.toml", folder / "away")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [python, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"]
    command += ["-m", "not long"]
    subprocess.run(command, cwd=folder / "away", check=True, env=environment)


if __name__ == "__main__":
    main()
