"""Audit a table from Python, and look at what was found."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import janus_jax

DATA = Path(__file__).parent / "data" / "gsm8k_openai_4models.csv"


def main() -> None:
    frame = pd.read_csv(DATA)
    result = janus_jax.audit(frame, id="id", correct="correct_175b_verification")
    print(result)

    findings = result.findings  # a row for every descriptor, whatever its status
    print(findings["status"].value_counts().to_string())
    confirmed = findings[findings["status"] == "confirmed"]
    # The holdout lift: the discovery lift was chosen for being large.
    columns = ["name", "holdout_lift", "holdout_low", "holdout_high"]
    print(confirmed[columns].round(3).to_string(index=False))

    for path in result.write("out/examples/gsm8k"):
        print("written:", path)

    # Charts for a notebook or a paper; they need pip install "janus-jax[plots]".
    result.plot_forest().save("out/examples/gsm8k_forest.svg")


if __name__ == "__main__":
    main()
