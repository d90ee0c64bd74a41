"""Tables with known slices, and the sums of a slice by plain pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd


def planted(seed: int, rows: int = 600) -> pd.DataFrame:
    """Errors that concentrate in ``kind = b & long``; the other columns say nothing."""
    rng = np.random.default_rng(seed)
    kind = np.array(list("abcd"))[rng.integers(0, 4, rows)]
    words = rng.integers(5, 60, rows)
    table = pd.DataFrame(
        {
            "id": [f"q{row}" for row in range(rows)],
            "kind": kind,
            "words": words,
            "style": np.array(["plain", "list", "table"])[rng.integers(0, 3, rows)],
            "quoted": rng.random(rows) < 0.4,
            "site": np.array([f"s{site}" for site in range(60)])[np.arange(rows) % 60],
        }
    )
    rate = 0.15 + 0.6 * ((kind == "b") & (words > np.median(words)))
    return table.assign(wrong=rng.random(rows) < rate)


def inside(frame: pd.DataFrame, name: str) -> pd.Series:
    """Where a rule holds, from its name alone: ``a = b``, ``a > 3``, ``a``, joined by ``&``."""
    held = pd.Series(True, index=frame.index)
    for term in name.split(" & "):
        if " = " in term:
            column, level = term.split(" = ")
            held &= frame[column] == level
        elif " > " in term:
            column, limit = term.split(" > ")
            held &= frame[column] > float(limit)
        else:
            held &= frame[term]
    return held
