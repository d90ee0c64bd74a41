"""Fix an audit before its outcomes exist, then run it, and see another table refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import janus_jax
from janus_jax.plans.drafting import plan

DATA = Path(__file__).parent / "data" / "gsm8k_openai_4models.csv"
OUTCOME = "correct_175b_verification"


def main() -> None:
    results = pd.read_csv(DATA)
    facts = results.filter(regex="^(?!correct_|resp_)")  # no outcome of any model

    folder = Path("out/examples")
    folder.mkdir(parents=True, exist_ok=True)
    # The outcome is named and is not there yet.
    planned = plan(facts, correct=OUTCOME, id="id", out=folder / "plan.toml")
    print(f"{len(planned.rules)} rules, outcomes read: {planned.outcomes_read}")
    print(f"put this hash where others can see it: {planned.hash}")

    # Later, with outcomes: exactly what was planned.
    table = facts.assign(**{OUTCOME: results[OUTCOME]})
    result = janus_jax.audit(table, plan=folder / "plan.toml")
    print(result)
    print("fixed before outcomes:", result.document["plan"]["frozen_before_outcomes"])

    try:
        janus_jax.audit(table.assign(n_steps=table["n_steps"] + 1), plan=folder / "plan.toml")
    except janus_jax.InputError as error:
        print("refused:", error)


if __name__ == "__main__":
    main()
