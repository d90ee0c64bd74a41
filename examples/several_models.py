"""Several models on the same examples: what is common, and where two disagree."""

from __future__ import annotations

from pathlib import Path

import janus_jax

DATA = Path(__file__).parent / "data" / "gsm8k_openai_4models.csv"


def main() -> None:
    compared = janus_jax.compare(
        DATA, id="id", correct=["correct_6b_verification", "correct_175b_finetuning"]
    )
    print(compared)
    print("for both:", ", ".join(compared.common))
    for model, names in compared.own.items():
        print(f"for {model} alone:", ", ".join(names) or "nothing")

    # Where one is wrong and the other right: an outcome of its own, audited by the same plan.
    for name, audit in compared.differences.items():
        print(f"{name}: {', '.join(audit.confirmed) or 'nothing confirmed'}")

    # Being found for "A wrong, B right" is not being worse: the difference of their lifts compares.
    for row in compared.disagreements.itertuples():
        print(
            f"{row.name}: lift of {row.first} less that of {row.second} {row.difference:+.3f} "
            f"({row.low:+.2f} to {row.high:+.2f})"
        )

    compared.write("out/examples/two_models")


if __name__ == "__main__":
    main()
