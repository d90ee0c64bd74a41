"""Several models on the same examples: what is common, and where one fails and another does not."""

from __future__ import annotations

from pathlib import Path

import janus_jax

DATA = Path(__file__).parent / "data" / "gsm8k_openai_4models.csv"


def main() -> None:
    compared = janus_jax.compare(
        DATA, id="id", correct=["correct_175b_verification", "correct_6b_verification"]
    )
    print(compared)
    print("for both:", ", ".join(compared.common))
    for model, names in compared.own.items():
        print(f"for {model} alone:", ", ".join(names) or "nothing")

    # Where one is wrong and the other right: an outcome of its own, audited by the same plan.
    for name, audit in compared.differences.items():
        print(f"{name}: {', '.join(audit.confirmed) or 'nothing confirmed'}")

    compared.write("out/examples/two_models")


if __name__ == "__main__":
    main()
