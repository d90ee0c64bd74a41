"""Rows that are not independent, and a fact that explains others.

880 programming problems come from 227 contests: the problems of one contest belong together. And
hard problems have long statements, so a long statement may only be a sign of a hard problem.
"""

from __future__ import annotations

from pathlib import Path

import janus_jax

DATA = Path(__file__).parent / "data" / "livecodebench_o1.csv"


def main() -> None:
    plain = janus_jax.audit(DATA, correct="correct_o1preview", id="question_id")
    print("rows one by one:   ", plain)
    print("  it warns:", plain.document["warnings"][0])

    clustered = janus_jax.audit(
        DATA, correct="correct_o1preview", id="question_id", cluster="contest_id"
    )
    print("contests exchanged:", clustered)

    within = janus_jax.audit(
        DATA, correct="correct_o1preview", id="question_id", strata="difficulty"
    )
    print("within difficulty: ", within)
    columns = ["name", "status", "discovery_lift", "discovery_lift_adjusted"]
    print(within.findings[columns].round(3).to_string(index=False))


if __name__ == "__main__":
    main()
