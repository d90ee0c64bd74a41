"""Audit an evaluation log, here one of lm-evaluation-harness.

A log leaves choices, and none is made for you: without `filter` this one stops and lists two.
"""

from __future__ import annotations

from pathlib import Path

import janus_jax

LOG = (
    Path(__file__).parents[1]
    / "tests/data/formats/lm_eval/samples_replay_gsm8k_2026-11-30T15-14-11.009972.jsonl"
)


def main() -> None:
    try:
        janus_jax.audit(LOG)
    except janus_jax.InputError as error:
        print("left open:", str(error).partition(": ")[2])

    # 40 examples are few: all of them go to discovery, so nothing can be confirmed.
    result = janus_jax.audit(
        LOG,
        log={"filter": "strict-match", "text_features": "question"},
        discovery=1,
        min_support=4,
    )
    print(result)
    print(result.findings[["name", "status", "discovery_lift", "p_exact"]].to_string(index=False))


if __name__ == "__main__":
    main()
