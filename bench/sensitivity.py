"""``python -m bench.sensitivity``: repeated splits beside as many audits of the same seeds.

The same 200 splits of the shipped results of a real model, two ways: ``janus_jax.sensitivity``,
which computes what the primary rule needs and reads the table once; and the literal one,
``janus_jax.audit`` called for every seed, with one permutation, the least it can draw.
Rounds are interleaved, so that a slow minute of the machine hits both alike; given is the median,
and the median of the ratio of the two times of one round. Both must confirm the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

from bench.command_line import ROOT
from janus_jax.auditing import audit
from janus_jax.behaviour.sensitivity import DECOY_OFFSET, sensitivity
from janus_jax.plan import Method

_TABLE = ROOT / "examples" / "data" / "gsm8k_openai_4models.csv"
_CORRECT = "correct_175b_verification"
_RULES: Sequence[Method] = ("decoys_exact", "decoys", "bh_10")
_SHARED: Sequence[Method] = ("max_t",)


def _splits(rule: Method, splits: int) -> tuple[float, dict[str, Any]]:
    started = time.perf_counter()
    found = sensitivity(_TABLE, correct=_CORRECT, rule=rule, splits=splits, backend="numpy")
    return time.perf_counter() - started, found.to_dict()


def _audits(rule: Method, seeds: Sequence[int]) -> tuple[float, list[int]]:
    """Seconds, and how many descriptors each audit confirms."""
    started = time.perf_counter()
    confirmed = [
        audit(_TABLE, correct=_CORRECT, rule=rule, seed=seed, permutations=1, backend="numpy")
        for seed in seeds
    ]
    return time.perf_counter() - started, [len(result.confirmed) for result in confirmed]


def measure(splits: int, rounds: int) -> list[dict[str, Any]]:
    """Time both ways for the rules that draw no permutations, and one way for one that does.

    The audits of ``decoys`` draw other decoys (those of the split's own seed), so what they confirm
    is compared for the other rules only.
    """
    results: list[dict[str, Any]] = []
    for rule in _RULES:
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(rounds):
            seconds, document = _splits(rule, splits)
            ours.append(seconds)
            per_split = document["per_split"]
            seconds, confirmed = _audits(rule, [it["seed"] for it in per_split])
            theirs.append(seconds)
            if rule != "decoys" and confirmed != [it["confirmed"] for it in per_split]:
                raise RuntimeError(f"{rule}: the audits confirm otherwise")
        ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
        results.append({"rule": rule, "sensitivity": ours, "audits": theirs, "ratio": ratio})
    results.extend(
        {"rule": rule, "sensitivity": [_splits(rule, splits)[0] for _ in range(rounds)]}
        for rule in _SHARED
    )
    return results


def describe(results: Sequence[dict[str, Any]], splits: int) -> list[str]:
    """The same as Markdown."""
    lines = [f"### {splits} splits of gsm8k (1,319 examples), NumPy", ""]
    lines += ["| rule | sensitivity, s | as many audits, s | times |", "| --- | --- | --- | --- |"]
    for it in results:
        ours = f"{statistics.median(it['sensitivity']):.2f}"
        if "audits" in it:
            theirs = f"{statistics.median(it['audits']):.2f}"
            lines.append(f"| {it['rule']} | {ours} | {theirs} | {it['ratio']:.1f} |")
        else:
            lines.append(f"| {it['rule']}, 9,999 permutations a split | {ours} | - | - |")
    offset = f"{DECOY_OFFSET:,}"
    return [
        *lines,
        "",
        f"Decoys are drawn with the split's seed + {offset}; the audits' with it.",
        "",
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="every time, as JSON")
    options = parser.parse_args()
    results = measure(options.splits, options.rounds)
    print(
        json.dumps(results, indent=1)
        if options.json
        else "\n".join(describe(results, options.splits))
    )


if __name__ == "__main__":
    main()
