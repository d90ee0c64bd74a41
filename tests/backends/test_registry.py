"""Names become backends; what cannot run says why."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import janus_jax.registry
from janus_jax import registry
from janus_jax.errors import BackendUnavailable, InputError
from janus_jax.interface import Backend
from janus_jax.testing import BackendConformance

ROOT = Path(__file__).parents[2]

# A third party's backend, written without any of ours: one permutation at a time.
PACKAGE = """
import numpy as np
from janus_jax import layout, streams
from janus_jax.interface import Description, tally_counts


class Slow:
    def describe(self):
        return Description("slow", "1.0", "cpu")

    def bytes_per_permutation(self, problem):
        return 9 * len(problem.errors)

    def prepare(self, problem, lanes):
        return problem

    def labels(self, problem, stream, i, blocks):
        key = streams.fold_in(streams.stream_key(problem.seed, stream), i)
        words = iter(streams.words(key, sum(len(block.rows) for block in blocks)))
        result = np.zeros(len(problem.errors), np.int8)
        for block in blocks:
            left = np.repeat(block.patterns, block.counts, axis=0).tolist()
            for rows in block.rows:
                result[rows] = left.pop(int(next(words)) * len(left) >> 32)
        return result

    def shuffles(self, problem, ids):
        blocks = layout.blocks(problem)
        result = [self.labels(problem, streams.PERMUTATIONS, i, blocks) for i in ids]
        return np.array(result, np.int8).reshape(len(ids), -1 if len(ids) else len(problem.errors))

    def counts(self, problem, ids):
        shuffles = self.shuffles(problem, ids).astype(np.int32)
        return shuffles @ problem.memberships.T.astype(np.int32)

    def tally(self, problem, ids, tables):
        return tally_counts(self.counts(problem, ids), tables)

    def decoys(self, problem, ids):
        sources, counts = np.zeros((2, len(ids)), np.int32)
        parent = streams.stream_key(problem.seed, streams.SOURCES)
        for place, k in enumerate(ids):
            word = streams.words(streams.fold_in(parent, k), 1)
            sources[place] = streams.mulhi(word, len(problem.pool))[0]
            on = problem.pool[sources[place]]
            either = np.array([[1], [0]], np.int8)
            blocks = [
                layout.Block(b.rows, either, np.array([many, len(b.rows) - many]))
                for b in layout.blocks(problem)
                for many in [on[problem.strata[b.rows[0, 0]]]]
            ]
            label = self.labels(problem, streams.DECOYS, k, blocks)
            counts[place] = label[problem.errors].sum()
        return sources, counts


class Lacking:
    def describe(self):
        return Description("lacking", "1.0", "cpu")


class Mute(Slow):
    def describe(self):
        raise RuntimeError


def broken():
    print("this must not reach standard output")
    raise ZeroDivisionError("a fault\\nof two lines")
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a distribution with these entry points on ``sys.path``, as an installer would."""
    (tmp_path / "third_party_backend.py").write_text(PACKAGE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()

    def add(distribution: str, **entries: str) -> None:
        info = tmp_path / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        )
        lines = [f"{name} = third_party_backend:{value}\n" for name, value in entries.items()]
        (info / "entry_points.txt").write_text("[janus_jax.backends]\n" + "".join(lines))

    yield add
    sys.modules.pop("third_party_backend", None)


class TestThirdParty(BackendConformance):
    @pytest.fixture
    def backend(self, install: Install) -> Backend:
        install("slow", slow="Slow")
        return registry.get("slow")


@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_a_built_in_name_gives_that_backend(name: str) -> None:
    assert registry.get(name).describe().name == name


def test_auto_prefers_jax() -> None:
    backend, reasons = registry.auto()
    assert backend.describe().name == "jax"
    assert reasons == []


def test_auto_never_takes_a_third_party(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("slow", slow="Slow")
    monkeypatch.setitem(registry._BUILT_IN, "jax", "no_such_module:Jax")  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setitem(registry._BUILT_IN, "numpy", "no_such_module:Numpy")  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(BackendUnavailable, match=r"no backend can run here: .*'jax'.*'numpy'"):
        registry.auto()


def test_an_unknown_name_lists_the_known_ones(install: Install) -> None:
    install("slow", slow="Slow")
    with pytest.raises(InputError, match="no backend 'cuda'; known ones: jax, numpy, slow "):
        registry.get("cuda")


def test_a_name_claimed_twice_is_refused_naming_both(install: Install) -> None:
    install("first", mine="Slow")
    install("second", mine="Slow", numpy="Slow")
    message = r"'mine' is claimed by first \(.*Slow\) and second \(.*Slow\); uninstall all but one"
    with pytest.raises(BackendUnavailable, match=message):
        registry.get("mine")
    with pytest.raises(
        BackendUnavailable, match=r"'numpy' is claimed by janus-jax \(.* and second"
    ):
        registry.get("numpy")


def test_a_distribution_seen_twice_is_one(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("slow", slow="Slow")
    monkeypatch.setattr(sys, "path", [*sys.path, f"{tmp_path}{os.sep}."])
    assert registry.get("slow").describe().name == "slow"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            "broken",
            "'it' of bad (third_party_backend:broken) is broken: ZeroDivisionError: a fault; ",
        ),
        (
            "Lacking",
            "is broken: TypeError: it lacks bytes_per_permutation, prepare, shuffles, counts",
        ),
        ("absent", "is broken: AttributeError: "),
    ],
)
def test_a_broken_plugin_is_a_reason(
    install: Install, entry: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install("bad", it=entry)
    with pytest.raises(BackendUnavailable) as caught:
        registry.get("it")
    assert reason in str(caught.value)
    assert str(caught.value).endswith("; try: pip install --force-reinstall bad")
    assert "\n" not in str(caught.value)
    assert capsys.readouterr().out == ""


def test_available_lists_all_with_reasons(install: Install) -> None:
    install("bad", it="broken", mute="Mute")
    install("slow", slow="Slow")
    listed = {line.name: line for line in registry.available()}
    assert list(listed) == ["jax", "numpy", "it", "mute", "slow"]
    assert listed["slow"].origin == "slow (third_party_backend:Slow)"
    assert listed["it"].description is None
    assert "ZeroDivisionError" in (listed["it"].reason or "")
    assert "RuntimeError: no message" in (listed["mute"].reason or "")
    for name in ("jax", "numpy", "slow"):
        description = listed[name].description
        assert description is not None
        assert description.name == name
        assert listed[name].reason is None


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python away from the tree, with our two source roots on the path."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "backends")])
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )


def test_importing_the_registry_imports_no_backend() -> None:
    code = """
import sys, janus_jax.registry, janus_jax.interface, janus_jax.streams
print([m for m in sys.modules if m.split(".")[0] in ("jax", "jaxlib", "janus_backends")])
janus_jax.registry.get("numpy")
print("janus_backends.numpy_backend" in sys.modules, "jax" in sys.modules)
"""
    assert run(code).stdout == "[]\nTrue False\n"


REPORT = """
import importlib
import json
from janus_jax import registry
from janus_jax.errors import BackendUnavailable

backend, reasons = registry.auto()
try:
    registry.get("jax")
    named = None
except BackendUnavailable as error:
    named = str(error)
print(json.dumps({"took": backend.describe().name, "reasons": reasons, "named": named}))
"""
BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib", "pytest"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
"""


def test_without_jax_auto_takes_numpy_and_says_why() -> None:
    said = json.loads(run(BLOCK + REPORT).stdout)
    reason = "backend 'jax' cannot run here: No module named 'jax'; try: pip install jax"
    assert said == {"took": "numpy", "reasons": [reason], "named": reason}


def test_the_suite_without_pytest_says_what_to_install() -> None:
    code = """
try:
    import janus_jax.testing
except ImportError as error:
    print(error)
"""
    said = run(BLOCK + code).stdout
    assert said == "janus_jax.testing needs pytest; try: pip install pytest\n"


@pytest.mark.parametrize("platform", ["cuda", "nonsense"])
def test_a_missing_platform_is_one_sentence(platform: str) -> None:
    done = run(REPORT, JAX_PLATFORMS=platform)
    said = json.loads(done.stdout)
    assert said["took"] == "numpy"
    assert said["reasons"] == [said["named"]]
    assert f"JAX finds no device for JAX_PLATFORMS={platform}; " in said["named"]
    assert "\n" not in said["named"]
    assert "Traceback" not in done.stderr


def test_only_the_registry_names_the_built_in_package() -> None:
    core = Path(janus_jax.registry.__file__).parent
    naming = {
        path.relative_to(core).as_posix()
        for path in core.rglob("*.py")
        if "janus_backends" in path.read_text(encoding="utf-8")
    }
    assert naming == {"registry.py"}
