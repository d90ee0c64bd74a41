"""The NumPy backend keeps the laws."""

from __future__ import annotations

import numpy as np
import pytest

from janus_backends import numpy_backend
from janus_backends.numpy_backend import NumpyBackend
from janus_jax.testing import BackendConformance
from janus_jax.testing.conformance import CASES, IDS, Reference, make_problem


class TestNumpyBackend(BackendConformance):
    @pytest.fixture
    def backend(self) -> NumpyBackend:
        return NumpyBackend()


@pytest.mark.parametrize("few", [0, 64])
@pytest.mark.parametrize("tile", [1, 2, 5, 1101])
def test_the_tile_and_the_way_to_count_change_nothing(
    tile: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numpy_backend, "_TILE", tile)
    monkeypatch.setattr(numpy_backend, "_FEW", few)
    backend, problem = NumpyBackend(), CASES["strata"]
    counts = backend.counts(backend.prepare(problem, 5), IDS)
    np.testing.assert_array_equal(counts, [Reference(problem).counts(i) for i in IDS.tolist()])


def test_lanes_beyond_what_pays_are_taken_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_backend, "_LANES", 4)
    backend, problem = NumpyBackend(), CASES["strata"]
    state = backend.prepare(problem, 1000)
    assert state.lanes == 4
    counts = backend.counts(state, IDS)
    np.testing.assert_array_equal(counts, [Reference(problem).counts(i) for i in IDS.tolist()])


def test_positions_beyond_65536() -> None:
    problem = make_problem((70_001,), (30_000,), descriptors=1, pool=1)
    ids = IDS[:2]
    backend = NumpyBackend()
    shuffles = backend.shuffles(backend.prepare(problem, 2), ids)
    np.testing.assert_array_equal(shuffles, [Reference(problem).shuffle(i) for i in ids.tolist()])
