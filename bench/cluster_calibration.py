"""How often a coin flip passes for a finding, with ``--cluster`` and without.

A descriptor that tosses one coin for each cluster has nothing to do with any error, so its p-value
should be at most 0.05 in 5% of cases. Rows of a cluster tend to be wrong together, though, and a
test that exchanges rows takes that for an effect of the coin. Run from the checkout::

    python -m bench.cluster_calibration TABLE.csv CLUSTER CORRECT [--draws 2000] [--json FILE]

Each draw is a library of 20 such descriptors. Many draws are audited at once, which changes no
p-value; whether a draw selects anything at all is asked of audits of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from janus_jax import audit

LIBRARY = 20
DRAWS_AT_ONCE = 25
PERMUTATIONS = 1_999
WHOLE: dict[str, Any] = {
    "discovery": 1,
    "min_support": 1,
    "min_prevalence": 0,
    "max_prevalence": 1,
    "permutations": PERMUTATIONS,
}


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many; the deviation is the Monte-Carlo standard error."""

    hits: int
    of: int
    share: float
    deviation: float


def share(hits: int, of: int) -> Share:
    """Hits as a share, with its standard error."""
    p = hits / of
    return Share(hits, of, round(p, 5), round((p * (1 - p) / of) ** 0.5, 5))


def coin_flips(clusters: pd.Series, count: int, draw: np.random.Generator) -> pd.DataFrame:
    """``count`` descriptors that toss one coin for each cluster."""
    codes, names = pd.factorize(clusters)
    coins = draw.integers(0, 2, size=(len(names), count), dtype=np.int8)
    tossed = coins[np.asarray(codes)] == 1
    return pd.DataFrame(tossed, columns=pd.Index([f"coin{k}" for k in range(count)]))


def p_values(table: pd.DataFrame, seed: int, **how: Any) -> Iterator[float]:
    """Sampled p-values of all descriptors of a table."""
    result = audit(table, correct="correct", seed=seed, **WHOLE, **how)
    for descriptor in result.to_dict()["descriptors"]:
        if descriptor["p_monte_carlo"] is not None:
            yield float(descriptor["p_monte_carlo"])


def calibrate(rows: pd.DataFrame, draws: int, seed: int) -> dict[str, Share]:
    """Shares of p <= 0.05, and of draws in which the primary rule selects anything."""
    draw = np.random.default_rng(seed)
    hits, tested = {"with": 0, "without": 0}, {"with": 0, "without": 0}
    ways: dict[str, dict[str, Any]] = {
        "with": {"cluster": "cluster"},
        "without": {"exclude": "cluster"},
    }
    for start in range(0, draws, DRAWS_AT_ONCE):
        many = LIBRARY * min(DRAWS_AT_ONCE, draws - start)
        table = pd.concat([rows, coin_flips(rows["cluster"], many, draw)], axis=1)
        for way, how in ways.items():
            values = list(p_values(table, start, **how))
            hits[way] += sum(value <= 0.05 for value in values)
            tested[way] += len(values)
        _tell(f"{start + DRAWS_AT_ONCE} of {draws} draws: {hits} of {tested}")
    some = {"with": 0, "without": 0}
    fewer = max(1, draws // 10)
    for number in range(fewer):
        table = pd.concat([rows, coin_flips(rows["cluster"], LIBRARY, draw)], axis=1)
        for way, how in ways.items():
            result = audit(table, correct="correct", seed=number, **WHOLE, **how).to_dict()
            some[way] += bool(result["methods"][result["rule"]]["selected"])
    return {
        **{f"p <= 0.05 {way} --cluster": share(hits[way], tested[way]) for way in ways},
        **{f"any selection {way} --cluster": share(some[way], fewer) for way in ways},
    }


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Read the options, calibrate, print and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("table", type=Path, help="a CSV file of outcomes")
    parser.add_argument("cluster", help="its column of clusters")
    parser.add_argument("correct", help="its outcome: 1 = right; rows without one are left out")
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the result there")
    options = parser.parse_args()
    whole: Any = pd.read_csv(options.table)
    chosen: dict[str, Any] = {
        "cluster": whole[options.cluster].astype(str),
        "correct": whole[options.correct],
    }
    rows = pd.DataFrame(chosen).dropna().reset_index(drop=True)
    sizes = rows["cluster"].value_counts().value_counts().sort_index()
    result = {
        "table": options.table.name,
        "rows": len(rows),
        "clusters of each size": {str(size): int(count) for size, count in sizes.items()},
        "descriptors a draw": LIBRARY,
        "draws": options.draws,
        "permutations": PERMUTATIONS,
        "seed": options.seed,
        **{name: asdict(s) for name, s in calibrate(rows, options.draws, options.seed).items()},
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
