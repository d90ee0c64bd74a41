"""A library of 41 correlated descriptors of the size of the paper's LongBench v2 audit.

The paper names its LongBench v2 descriptors only by kind and does not publish them, so these are
ours: 115 made-up questions about long contexts (55 discover, 60 confirm), a dozen facts about each
that follow three hidden traits, and the facts' quartiles, levels and conjunctions. What they share
with the paper's is what matters for its replays: their number, the sizes of the splits, and that
descriptors of one table go together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from janus_jax import streams

if TYPE_CHECKING:
    import pandas as pd

CORRELATED: Final = 103
"""The stream of a seed that the table is made from."""

DISCOVERY: Final = 55
HOLDOUT: Final = 60

# Weights of the three hidden traits (length, density, difficulty) and of the fact's own part.
_NUMBERS: Final[Mapping[str, tuple[int, int, int, int]]] = {
    "context_words": (6, 0, 0, 2),
    "context_paragraphs": (5, 1, 0, 3),
    "number_density": (-1, 5, 0, 3),
    "entity_density": (0, 5, 1, 3),
    "question_words": (1, 0, 4, 4),
    "option_words": (1, 1, 3, 4),
    "option_overlap": (0, 1, 4, 3),
    "evidence_spread": (4, 0, 3, 3),
}
_LEVELS: Final[Mapping[str, tuple[tuple[str, ...], tuple[int, int, int, int]]]] = {
    "domain": (("law", "finance", "science", "fiction", "code", "dialogue"), (2, 3, 0, 4)),
    "question_kind": (("fact", "count", "compare", "order", "infer"), (0, 1, 4, 4)),
}
_CONJUNCTIONS: Final = (
    ("context_words above half", "number_density above half"),
    ("context_words above half", "option_overlap above half"),
    ("context_words above half", "question_words above half"),
    ("entity_density above half", "option_overlap above half"),
    ("evidence_spread above half", "option_words above half"),
    ("evidence_spread above half", "entity_density above half"),
)
_QUARTERS: Final = {"a quarter": 1, "half": 2, "three quarters": 3}


def correlated_frame(seed: int = 0) -> pd.DataFrame:
    """The table: ``id``, ``split``, 41 boolean columns, and ``wrong``, which goes with none.

    Every number comes from the seed's own words, the same on every machine.
    """
    import pandas as pd

    n = DISCOVERY + HOLDOUT
    words = _Words(seed, n)
    traits = np.stack([words.bell() for _ in range(3)])
    columns: dict[str, NDArray[np.bool_]] = {}
    for name, weights in _NUMBERS.items():
        rank = _ranks(_mixed(traits, words.bell(), weights))
        for share, quarter in _QUARTERS.items():
            columns[f"{name} above {share}"] = rank >= n * quarter // 4
    for name, (levels, weights) in _LEVELS.items():
        rank = _ranks(_mixed(traits, words.bell(), weights))
        for index, level in enumerate(levels):
            columns[f"{name} is {level}"] = rank * len(levels) // n == index
    for first, second in _CONJUNCTIONS:
        columns[f"{first} and {second}"] = columns[first] & columns[second]
    wrong = _ranks(words.bell()) < n // 2
    order = _ranks(words.bell())
    split = np.where(order < DISCOVERY, "discovery", "holdout")
    return pd.DataFrame({"id": range(n), "split": split, **columns, "wrong": wrong})


class _Words:
    """Bell-shaped whole numbers: sums of eight 16-bit halves of random words."""

    def __init__(self, seed: int, n: int) -> None:
        self._key = streams.stream_key(seed, CORRELATED)
        self._n = n
        self._drawn = 0

    def bell(self) -> NDArray[np.int64]:
        """The next n of them, about 0."""
        child = streams.fold_in(self._key, self._drawn)
        self._drawn += 1
        halves = streams.words(child, 8 * self._n).astype(np.int64) >> 16
        return halves.reshape(8, self._n).sum(axis=0) - 4 * 0xFFFF


def _mixed(
    traits: NDArray[np.int64], own: NDArray[np.int64], weights: Sequence[int]
) -> NDArray[np.int64]:
    parts = zip(weights, (*traits, own), strict=True)
    return np.sum([weight * part for weight, part in parts], axis=0)


def _ranks(values: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")
