"""Designs for the tests of replays: a table for the project, the two sides for the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from janus_jax.plan import PlanOptions, make_plan
from janus_jax.prepare import Prepared, prepare
from janus_jax.readers import read
from tests.replays.literal import Side

LOOSE: PlanOptions = {"min_support": 1, "min_prevalence": "0", "max_prevalence": "1"}
"""Everything that is on and off once in each split is eligible."""


@dataclass(frozen=True)
class Design:
    """A table with a boolean column a descriptor, ``error``, ``split`` and ``block``."""

    table: pd.DataFrame
    options: PlanOptions
    sides: Sequence[Side]

    @property
    def prepared(self) -> Prepared:
        """What the project makes of it."""
        return prepare(read(self.table), make_plan(self.options))


def design(
    members: Any, errors: Any, sizes: Sequence[int], strata: Any = None, **options: Any
) -> Design:
    """A design from memberships (L, n), errors (n,), the sizes of the splits, and strata (n,)."""
    members, errors = np.array(members, np.bool_), np.array(errors, np.bool_)
    names = [f"g{g:02d}" for g in range(len(members))]
    codes = np.zeros(len(errors), np.int64) if strata is None else np.array(strata)
    columns = dict(zip(names, members, strict=True))
    ends = np.cumsum(sizes)
    splits = np.repeat(["discovery", "holdout"][: len(sizes)], sizes)
    table = pd.DataFrame(columns | {"error": errors, "split": splits, "block": codes})
    given: dict[str, Any] = {"error": "error", **LOOSE, **options}
    given |= {"split_column": "split"} if len(sizes) > 1 else {"discovery": "1"}
    given |= {"strata": "block"} if strata is not None else {"exclude": ["block"]}
    parts = [slice(int(end) - size, int(end)) for size, end in zip(sizes, ends, strict=True)]
    plan = cast(PlanOptions, given)
    return Design(table, plan, [Side(members[:, p], errors[p], codes[p]) for p in parts])


def correlated(
    seed: int,
    sizes: Sequence[int],
    library: int,
    errors: Sequence[int],
    blocks: int = 1,
    **options: Any,
) -> Design:
    """Correlated columns of prevalence 0.15 to 0.85, with a duplicate and a complement."""
    draw = np.random.default_rng(seed)
    n = sum(sizes)
    common = draw.normal(size=(2, n))
    limits = np.linspace(-1.2, 1.2, library - 2)[:, None]
    members = common[np.arange(library - 2) % 2] + draw.normal(size=(library - 2, n)) > limits
    members = np.concatenate([members, members[:1], ~members[1:2]])
    wrong = np.concatenate(
        [draw.permutation(np.arange(size) < many) for size, many in zip(sizes, errors, strict=True)]
    )
    strata = draw.integers(0, blocks, n) if blocks > 1 else None
    return design(members, wrong, sizes, strata, **options)


def lopsided(
    seed: int, sizes: Sequence[int], library: int, errors: Sequence[int], **options: Any
) -> Design:
    """The same, but the first two are on for all discovery examples save one."""
    base = correlated(seed, sizes, library, errors)
    members = np.concatenate([side.members for side in base.sides], axis=1)
    members[:2, : sizes[0]] = True
    members[0, 3] = members[1, 5] = False
    wrong = np.concatenate([side.errors for side in base.sides])
    return design(members, wrong, sizes, **options)
