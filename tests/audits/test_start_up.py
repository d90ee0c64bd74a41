"""What is imported when: starting is quick because heavy libraries wait until they are needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.oracle import tables

PROBE = """
import sys
sys.argv = ["janus-jax", *{words!r}]
from janus_jax.cli import main
status = main()
print("\\nLOADED", " ".join(sorted(m for m in {heavy!r} if m in sys.modules)))
sys.exit(status)
"""
HEAVY = ["jax", "jaxlib", "pandas", "pyarrow", "scipy", "numpy"]


def loaded(*words: str) -> set[str]:
    """Which heavy libraries a command imports."""
    code = PROBE.format(words=list(words), heavy=HEAVY)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (line,) = [text for text in run.stdout.splitlines() if text.startswith("LOADED")]
    return set(line.split()[1:])


@pytest.mark.parametrize("words", [("--help",), ("audit", "--help"), ("--version",)])
def test_help_imports_nothing_heavy(words: tuple[str, ...]) -> None:
    assert loaded(*words) == set()


def test_an_audit_on_numpy_imports_numpy_alone() -> None:
    path = str(tables.table_of("gsm8k_openai_4models.csv"))
    words = ("audit", path, "--correct", "correct_175b_verification", "--permutations", "99")
    assert loaded(*words, "--backend", "numpy") == {"numpy"}
    assert loaded(*words) == {"numpy"}  # so little work needs no JAX


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, janus_jax; print([m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_public_names_are_what_they_say_however_often_they_are_used() -> None:
    """A module of the same name, once imported, must not take a function's place."""
    code = (
        "import importlib, pkgutil, types\n"
        "import janus_jax\n"
        "for module in pkgutil.walk_packages(janus_jax.__path__, 'janus_jax.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "for name in janus_jax.__all__:\n"
        "    assert not isinstance(getattr(janus_jax, name), types.ModuleType), name\n"
        "    assert callable(getattr(janus_jax, name)), name\n"
        "janus_jax.power(preset='musique', delta='0.3', repetitions=50)\n"
        "janus_jax.power(preset='musique', delta='0.3', repetitions=50)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
