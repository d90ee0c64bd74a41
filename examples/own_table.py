"""From replies to a table of your own, and an audit of it.

The system under test is a real one that needs no network: binary floating-point addition. It is
asked to add decimal numbers, and is right when what it prints is the exact sum. Replace `ask` by a
call of your model and `problems` by your examples; what stays is the shape of the table: one row
per example, an id, facts that are known before the model answers, and whether it was wrong.

    python examples/own_table.py runs.csv               one reply to each of 600 problems
    python examples/own_table.py runs.csv --orders 3    three replies, the terms in another order
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterator
from decimal import Decimal

FIELDS = ["id", "n_terms", "decimals", "n_digits", "has_negative", "sheet", "wrong"]


def problems(seed: int = 7) -> Iterator[tuple[str, list[str]]]:
    """600 sums on 60 sheets; a sheet's numbers have the same decimals, as on a bill."""
    draw = random.Random(seed)
    for sheet in range(60):
        decimals = draw.randint(1, 4)
        for place in range(10):
            terms = [
                f"{draw.choice(['', '', '', '-'])}{draw.randint(0, 10 ** draw.randint(1, 4))}."
                f"{draw.randint(0, 10**decimals - 1):0{decimals}}"
                for _ in range(draw.randint(2, 6))
            ]
            yield f"sheet{sheet:02}-{place}", terms


def ask(terms: list[str]) -> str:
    """The reply of the system under test."""
    total = 0.0
    for term in terms:
        total += float(term)
    return repr(total)


def row(name: str, terms: list[str], asked: list[str]) -> dict[str, object]:
    """One example: facts of the problem, known beforehand, and the outcome."""
    return {
        "id": name,
        "n_terms": len(terms),
        "decimals": len(terms[0].partition(".")[2]),
        "n_digits": sum(letter.isdigit() for term in terms for letter in term),
        "has_negative": "yes" if any(term.startswith("-") for term in terms) else "no",
        "sheet": name.partition("-")[0],
        "wrong": int(Decimal(ask(asked)) != sum(map(Decimal, terms))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a table of an evaluation.")
    parser.add_argument("out", help="the CSV file to write")
    parser.add_argument("--orders", type=int, default=1, help="replies to each problem")
    options = parser.parse_args()
    shuffle = random.Random(1).sample
    with open(options.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for name, terms in problems():
            for order in range(options.orders):
                asked = shuffle(terms, len(terms)) if order else terms
                writer.writerow(row(name, terms, asked))
    print(f"{options.out}: audit it with janus-jax audit {options.out} --error wrong")


if __name__ == "__main__":
    main()
