"""Mine conjunctions on a proposal split, and let other examples judge them."""

from __future__ import annotations

from pathlib import Path

import janus_jax

DATA = Path(__file__).parent / "data" / "livecodebench_o1.csv"


def main() -> None:
    folder = Path("out/examples")
    folder.mkdir(parents=True, exist_ok=True)
    proposed = janus_jax.propose(
        DATA,
        correct="correct_o1preview",
        id="question_id",
        cluster="contest_id",
        top=5,
        out=folder / "proposed.toml",
    )
    print("proposed:", *proposed.candidates, sep="\n  ")

    # The plan fixes everything; the rows that proposed have no part in it.
    result = janus_jax.audit(DATA, plan=folder / "proposed.toml")
    print(result)
    columns = ["name", "status", "discovery_lift", "holdout_lift"]
    print(result.findings[columns].round(3).to_string(index=False))


if __name__ == "__main__":
    main()
