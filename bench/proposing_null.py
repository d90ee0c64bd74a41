"""``python -m bench.proposing_null``: does proposing raise the rate of false reports?

Tables in which nothing explains the errors: outcomes are independent of every column. Each is dealt
three ways once, and audited by three plans that differ in where their conjunctions come from:

* ``base``: there are none, only the table's own descriptors;
* ``proposal``: mined on the proposal split, as ``janus-jax propose`` does it;
* ``discovery``: mined in the same way on the discovery split, which then screens them.

Every selection and every confirmation is false here. ``proposal`` must report about as often as
``base``; ``discovery`` uses the same errors twice and must not.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from janus_jax.auditing import audit
from janus_jax.mining.proposing import SHARE, Extra, Search, propose_for
from janus_jax.plan import make_plan
from janus_jax.plans.drafting import Draft, draft_plan, finished
from janus_jax.readers import read
from janus_jax.split import DISCOVERY, UNUSED

ROWS: Final = 600
RATE: Final = 0.3
LEVELS: Final = (2, 2, 3, 3, 4, 4, 5, 5)
"""Levels of each column: 28 base descriptors."""


@dataclass
class Arm:
    """How often plans of one kind report something.

    Attributes
    ----------
    tables
        How many there were.
    mined
        Tables for which at least one slice was mined.
    selected, confirmed
        Tables with at least one selection, one confirmation.
    of_mined
        Tables with at least one confirmation of a conjunction that was mined.
    """

    tables: int = 0
    mined: int = 0
    selected: int = 0
    confirmed: int = 0
    of_mined: int = 0

    def rate(self, name: str) -> tuple[float, float]:
        """A rate and its standard error."""
        p = getattr(self, name) / self.tables
        return p, math.sqrt(p * (1 - p) / self.tables)


@dataclass
class Study:
    """The three kinds of plan."""

    arms: dict[str, Arm] = field(
        default_factory=lambda: {name: Arm() for name in ("base", "proposal", "discovery")}
    )

    def add(self, number: int) -> None:
        """One more table, that of this number."""
        frame = null_table(number)
        table = read(frame)
        plan = make_plan(
            {
                "error": "wrong",
                "seed": number,
                "discovery": "0.5",
                "min_prevalence": "0.05",
                "max_prevalence": "0.95",
                "statistic": "z",
                "permutations": 1,
                "decoys": 1,
            }
        )
        draft = draft_plan(table, plan, proposal=SHARE)
        wrong = frame["wrong"].to_numpy(np.int8)
        self._audit("base", frame, draft, ())
        for name, part in (("proposal", UNUSED), ("discovery", DISCOVERY)):
            self._mine(name, frame, draft, np.where(draft.where == part, wrong, -1))

    def _mine(self, name: str, frame: pd.DataFrame, draft: Draft, errors: NDArray[Any]) -> None:
        proposed, extra = propose_for(draft, errors.astype(np.int8), Search())
        self.arms[name].mined += bool(proposed.slices)
        self._audit(name, frame, draft, extra)

    def _audit(self, name: str, frame: pd.DataFrame, draft: Draft, extra: Sequence[Extra]) -> None:
        result = audit(frame, plan=finished(draft, extra=extra), backend="numpy").to_dict()
        status = {it["name"]: it["status"] for it in result["descriptors"]}
        arm = self.arms[name]
        arm.tables += 1
        arm.selected += any(s in ("confirmed", "not_replicated") for s in status.values())
        arm.confirmed += "confirmed" in status.values()
        arm.of_mined += any(status[conjunction] == "confirmed" for conjunction, _ in extra)


def null_table(number: int) -> pd.DataFrame:
    """Columns, and outcomes that have nothing to do with them."""
    rng = np.random.default_rng(number)
    columns: dict[str, Any] = {
        f"c{index}": np.array([f"v{level}" for level in range(levels)])[
            rng.integers(0, levels, ROWS)
        ]
        for index, levels in enumerate(LEVELS)
    }
    return pd.DataFrame({**columns, "wrong": rng.random(ROWS) < RATE})


def main() -> int:
    """Run the study and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--json", metavar="FILE", type=Path)
    options = parser.parse_args()
    study, started = Study(), time.perf_counter()
    for number in range(options.tables):
        study.add(number)
    names = ("mined", "selected", "confirmed", "of_mined")
    print(f"{'conjunctions':14}" + "".join(f"{name:>18}" for name in names))
    for arm_name, arm in study.arms.items():
        cells = ("{:.4f} +- {:.4f}".format(*arm.rate(name)) for name in names)
        print(f"{arm_name:14}" + "".join(f"{cell:>18}" for cell in cells))
    print(f"{options.tables} tables, {time.perf_counter() - started:.0f} s")
    if options.json:
        rates = {
            arm_name: {name: arm.rate(name) for name in names}
            for arm_name, arm in study.arms.items()
        }
        kept = {"tables": options.tables, "rows": ROWS, "rate": RATE, "arms": rates}
        options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
