"""The search against its definition, on tables with ties, copies and rare levels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from janus_jax.errors import InputError
from janus_jax.mining import mine as mine_module
from janus_jax.mining.best import Best
from janus_jax.mining.members import Members
from janus_jax.mining.mine import mine
from janus_jax.mining.score import Score
from tests.mining import definition

WEIGHTS = ["0.95", "0.5", "1", "0.3", "0.99", "0.6"]


def made(seed: int) -> tuple[list[np.ndarray], list[int], np.ndarray]:
    """Columns of one to three levels (and values of none of them), some of them twice."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 100))
    members: list[np.ndarray] = []
    groups: list[int] = []
    for column in range(int(rng.integers(1, 6))):
        levels = int(rng.integers(1, 4))
        values = rng.integers(0, levels + 1, n)
        members += [values == level for level in range(levels)]
        groups += [column] * levels
    if seed % 3 == 0:
        members.append(members[0].copy())
        groups.append(99)
    errors = rng.random(n) < rng.choice([0.1, 0.3, 0.6, 0.9])
    errors[0] = True
    return members, groups, errors


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(1, 8),
    st.integers(1, 3),
    st.sampled_from(WEIGHTS),
)
def test_finds_what_the_definition_finds(
    seed: int, top: int, min_slice: int, level: int, weight: str
) -> None:
    members, groups, errors = made(seed)
    wanted = definition.every_slice(
        members, groups, errors, min_slice=min_slice, level=level, weight=Fraction(weight)
    )
    if len(wanted) > top:
        wanted = [it for it in wanted if it[0] >= wanted[top - 1][0]]
    found = mine(
        members, groups, errors, top=top, min_slice=min_slice, level=level, weight=Fraction(weight)
    )
    assert [(it.score, [it.terms, *it.aliases], it.size, it.errors) for it in found.slices] == [
        tuple(it) for it in wanted
    ]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(2, 5))
def test_what_is_not_accepted_is_passed_over(seed: int, top: int, every: int) -> None:
    members, groups, errors = made(seed)

    def accept(terms: tuple[int, ...]) -> bool:
        return sum(terms) % every != 0

    every_slice = definition.every_slice(
        members, groups, errors, min_slice=2, level=3, weight=Fraction("0.9")
    )
    named = [(it[0], [name for name in it[1] if accept(name)]) for it in every_slice]
    kept = sorted(
        ((score, names) for score, names in named if names),
        key=lambda it: (-it[0], len(it[1][0]), it[1][0]),
    )
    last = kept[top - 1][0] if len(kept) >= top else Fraction(0)
    found = mine(
        members, groups, errors, top=top, min_slice=2, weight=Fraction("0.9"), accept=accept
    )
    assert [(it.score, [it.terms, *it.aliases]) for it in found.slices] == [
        it for it in kept if it[0] >= last
    ]
    assert found.passed_over == sum(score >= last and not names for score, names in named)


def test_order_of_bytes_and_of_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    members, groups, errors = made(7)
    whole = mine(members, groups, errors, top=20, min_slice=2)
    monkeypatch.setattr("janus_jax.mining.members._CELLS", 50)
    assert mine(members, groups, errors, top=20, min_slice=2) == whole
    shuffled = np.random.default_rng(1).permutation(len(errors))
    moved = mine([it[shuffled] for it in members], groups, errors[shuffled], top=20, min_slice=2)
    assert moved.slices == whole.slices


def test_scores_that_floats_cannot_tell_apart() -> None:
    """Scores that differ by less than the last bit of a float stand in exact order, apart."""
    score = Score(n=2**29, errors=2**28, weight=Fraction(1), least=1)
    sizes = np.array([2**28 - 1, 2**28, 2**27])
    wrong = sizes - [1, 1, 0]
    order = score.order(sizes, wrong)
    assert order[0] == order[1]  # 1 - 1/(2**28 - 1) and 1 - 1/2**28
    best = Best(Members([], np.array([True])), score, top=3)
    groups = best._ties(np.array([2, 0, 1]), order, sizes, wrong)
    assert list(groups) == [[2], [1], [0]]


def test_the_bound_bounds_everything_inside() -> None:
    for weight in map(Fraction, WEIGHTS):
        score = Score(n=40, errors=9, weight=weight, least=4)
        for size in range(4, 20):
            for errors in range(1, min(size, 9) + 1):
                order, positive = score.bound(np.array([size]), np.array([errors]))
                inside = [(s, e) for s in range(4, size + 1) for e in range(min(s, errors) + 1)]
                assert order[0] == max(float(score.exact_order(s, e)) for s, e in inside)
                assert positive[0] == any(score.value(s, e) > 0 for s, e in inside)


def test_pruning_leaves_most_triples_uncounted() -> None:
    rng = np.random.default_rng(3)
    members = [rng.random(600) < 0.4 for _ in range(25)]
    errors = (members[0] & members[1]) | (rng.random(600) < 0.05)
    few = mine(members, range(25), errors, top=1, min_slice=20)
    assert few.slices[0].terms == (0, 1)
    assert few.looked_at[:2] == (25, 300)
    assert few.looked_at[2] < 2300 / 2  # of 25 over 3


def test_no_slice_is_found_for_doing_well() -> None:
    good = np.arange(40) < 20
    errors = np.arange(40) >= 20
    assert not mine([good], [0], errors, top=5, min_slice=5).slices
    assert mine([~good], [0], errors, top=5, min_slice=5).slices[0].terms == (0,)


def test_nothing_to_combine() -> None:
    mined = mine([], [], np.array([True, False]), top=3, min_slice=1)
    assert mined.slices == ()
    assert mined.looked_at == (0, 0, 0)


def test_limits_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = np.array([True, False, True, False])
    monkeypatch.setattr(mine_module, "MAX_BASE", 2)
    with pytest.raises(InputError, match="3 base descriptors"):
        mine([flags] * 3, range(3), flags, top=1, min_slice=1)
    with pytest.raises(InputError, match="too many digits"):
        Score(n=10**6, errors=1, weight=Fraction("0.123456789"), least=1)
