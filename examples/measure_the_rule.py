"""How often does the rule cry wolf, what does it miss, and how much is the luck of the split?"""

from __future__ import annotations

from pathlib import Path

import janus_jax

DATA = Path(__file__).parent / "data" / "gsm8k_openai_4models.csv"
OUTCOME = "correct_175b_verification"


def main() -> None:
    replays = janus_jax.replay(DATA, correct=OUTCOME, replays=10_000)
    print(replays)
    rules = ["rule", "K", "statistic", "any_selected", "any_confirmed"]
    print(replays.table[rules].head(8).to_string(index=False))

    design = janus_jax.audit_design(DATA, correct=OUTCOME)
    power = janus_jax.power(design=design, delta=["0.05", "0.10", "0.15", "0.20"])
    print(power)
    print(power.cells[["delta", "power", "standard_error"]].round(4).to_string(index=False))

    splits = janus_jax.sensitivity(DATA, correct=OUTCOME, splits=50)
    print(splits)
    print(splits.table[["rule", "confirmed", "lift_holdout"]].head(8).to_string(index=False))


if __name__ == "__main__":
    main()
