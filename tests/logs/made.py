"""Small logs for tests, and how an audit of one is looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.audits import cli

DATA = Path(__file__).parents[1] / "data"
FORMATS = DATA / "formats"
GSM8K = FORMATS / "lm_eval" / "samples_replay_gsm8k_2026-11-30T15-14-11.009972.jsonl"
TATQA = FORMATS / "lm_eval" / "samples_replay_tatqa_2026-11-30T15-14-11.009972.jsonl"
AGIEVAL = FORMATS / "lm_eval" / "samples_agieval_lsat_ar_local_2026-11-30T15-14-11.009972.jsonl"
RESULTS = FORMATS / "lm_eval" / "results_2026-11-30T15-14-11.009972.json"
INSPECT = FORMATS / "inspect_ai"
CRUX = INSPECT / "2026-11-30T15-08-08-00-00_cruxeval-output_ajezSPa5uE4AxR4V7HaCD8.json"
CRUX_EVAL = INSPECT / "2026-11-30T15-08-11-00-00_cruxeval-output_mkmJA8EHTBsCKGTDF9F9Yo.eval"
GSM = INSPECT / "2026-11-30T15-08-10-00-00_gsm8k-replay_6MdmghAk5QPj5D2Q3aAzsp.json"
GSM_EVAL = INSPECT / "2026-11-30T15-08-15-00-00_gsm8k-replay_HSREBrtdC4KE8R3pmezVmo.eval"
CASE_38 = INSPECT / "case_38.json"
STRICT = ("--filter", "strict-match")
DROP = ("--missing-outcome", "drop")
LM_EVAL_SAYS = "holds lm-eval's aggregate results and not its samples; name samples_TASK_TIMESTAMP"

Document = dict[str, Any]


def whole(path: Path | str, *words: str | Path) -> Document:
    """Audit all attempts as one set."""
    return cli.audit(path, *words, *cli.WHOLE, *cli.FAST)


def counts(result: Document) -> tuple[int, int, int]:
    """Right, wrong, without an outcome; rows that were dropped are in no split."""
    n, errors = result["data"]["discovery"]["n"], result["data"]["discovery"]["errors"]
    missing = result["data"]["outcome"]["missing"]
    counted = missing if result["plan"]["missing_outcome"] == "wrong" else 0
    return n - errors, errors - counted, missing


def case(number: int) -> Path:
    """The folder of a case from the field."""
    (folder,) = (DATA / "cases").glob(f"{number}_*")
    return folder


def inspect_log(samples: Sequence[Mapping[str, Any]]) -> Document:
    """A log of Inspect AI."""
    head = {"task": "toy", "model": "mock/model", "packages": {"inspect_ai": "0.3.285"}}
    return {"version": 2, "status": "success", "eval": head, "samples": list(samples)}


def sample(
    name: int | str,
    value: Any,
    epoch: int = 1,
    *,
    more: Mapping[str, Any] | None = None,
    **facts: Any,
) -> Document:
    """A sample of Inspect AI with one score, unless ``more`` says otherwise."""
    return {
        "id": name,
        "epoch": epoch,
        "input": "q",
        "target": "t",
        "metadata": facts,
        "scores": {"match": {"value": value}},
        **(more or {}),
    }


def write_inspect(path: Path, samples: Sequence[Mapping[str, Any]]) -> Path:
    """Write a log of Inspect AI as one document."""
    path.write_text(json.dumps(inspect_log(samples)), "utf-8")
    return path


def lm_eval_line(number: int, value: Any, **more: Any) -> Document:
    """A record of lm-eval with one score, unless ``more`` says otherwise."""
    return {
        "doc_id": number,
        "doc": {"steps": number % 3},
        "target": "x",
        "arguments": {},
        "resps": [["y"]],
        "filtered_resps": ["y"],
        "filter": "none",
        "metrics": ["acc"],
        "acc": value,
        **more,
    }


def write_lines(path: Path, records: Sequence[Any]) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path
