"""Audits whose pages the tests look at, each made once."""

from __future__ import annotations

import copy
import json
import shlex
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import janus_jax
from janus_jax.html.comparison import comparison_page
from janus_jax.html.page import page
from tests.oracle import tables

Document = dict[str, Any]

GSM8K = str(tables.EXAMPLES / "gsm8k_openai_4models.csv")
LIVECODEBENCH = str(tables.EXAMPLES / "livecodebench_o1.csv")
LOG = tables.ROOT / "tests" / "data" / "formats" / "lm_eval"
OPTIONS: Any = {"permutations": 999, "backend": "numpy"}
WHOLE: Any = {
    "discovery": "1",
    "min_support": 1,
    "min_prevalence": "0",
    "max_prevalence": "1",
    **OPTIONS,
}
GSM8K_OUTCOME: Any = {"correct": "correct_175b_verification"}

MARKUP = "</script><img src=x onerror=alert(1)>"
HOSTILE = (
    MARKUP,
    "<!--<script>alert(2)</script>",
    "{{ 7*7 }}{% raw %}",
    "\" onmouseover=\"alert(3)' onfocus='alert(4)",
    "&lt;b&gt; &amp; &#60;",
    "]]></title></style></svg><script>",
    "\u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "\u4e2d\u6587 caf\u00e9 \U0001f600",
    "\u202egnirts\u202c \u2066x\u2069",
    "line\nbreak\ttab\r\nend\u2028\u2029\u0085",
    "\x1b[31mred\x07\x00".replace("\x00", ""),
    "javascript:alert(5)//\\u003cscript>",
    'datum["x"]; window.alert(6) `${1}` \\',
)
"""Names and texts that a careless page would run, interpret or lose."""


@lru_cache
def gsm8k() -> Document:
    """Several confirmed, several not replicated; two columns shown with the examples."""
    result = janus_jax.audit(
        GSM8K, **GSM8K_OUTCOME, examples=["question_type", "n_steps"], **OPTIONS
    )
    return result.to_dict()


@lru_cache
def beside() -> dict[str, Document]:
    """What is known of the behaviour of the rule of :func:`gsm8k`."""
    replay = janus_jax.replay(
        GSM8K, **GSM8K_OUTCOME, replays=500, permutations=999, backend="numpy"
    )
    design = janus_jax.audit_design(GSM8K, **GSM8K_OUTCOME)
    power = janus_jax.power(design=design, delta=["0.05", "0.10", "0.15", "0.20"], repetitions=200)
    split = janus_jax.sensitivity(GSM8K, **GSM8K_OUTCOME, splits=10, backend="numpy")
    return {
        "replay": replay.to_dict(),
        "power": power.to_dict(),
        "sensitivity": split.to_dict(),
    }


def _case(number: int, **options: Any) -> Document:
    return janus_jax.audit(str(tables.case(number)), error="error", **options).to_dict()


def _hostile() -> Document:
    """Names, levels, ids, shown texts, the file name, an option and a reason that are markup."""
    rng = np.random.default_rng(69)
    n = 40 * len(HOSTILE)
    level = np.repeat(np.array(HOSTILE, dtype=object), 40)
    wrong = (level == MARKUP) & (rng.random(n) < 0.95) | (rng.random(n) < 0.3)
    frame = pd.DataFrame(
        {
            "id": [f"{MARKUP}{i}" for i in range(n)],
            f"<b>level</b>{MARKUP}": level,
            "<i>flag</i>": rng.integers(0, 2, n).astype(bool),
            "constant </p><script>alert(7)</script>": "<u>same</u>",
            "text & <tags>": [f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(n)],
            "error": wrong,
        }
    )
    result = janus_jax.audit(
        frame,
        error="error",
        examples=["text & <tags>"],
        na=["<none>"],
        min_prevalence="0.01",
        **OPTIONS,
    )
    document = result.to_dict()
    # What a file name, a command and a warning would bring along.
    document["data"]["source"] = [f"/tmp/{MARKUP.replace('/', '')} & \u202eco.csv"]
    document["run"]["command"] = shlex.join(["janus-jax", "audit", f"it's {MARKUP}", '"q"'])
    document["warnings"] = [f"rows share values of {MARKUP!r}"]
    return document


def _many() -> Document:
    """Two thousand descriptors, some of them true."""
    rng = np.random.default_rng(2000)
    n, count = 2000, 2000
    flags = rng.random((n, count)) < rng.uniform(0.2, 0.8, count)
    wrong = rng.random(n) < 0.3 + 0.25 * flags[:, 0] + 0.2 * flags[:, 1]
    frame = pd.DataFrame(flags, columns=[f"fact number {i}" for i in range(count)])
    frame["wrong"] = wrong
    return janus_jax.audit(frame, error="wrong", permutations=99, backend="numpy").to_dict()


@lru_cache
def document(kind: str) -> Document:
    """The audit of a kind of page, see :data:`KINDS`."""
    match kind:
        case "gsm8k":
            return gsm8k()
        case "livecodebench":
            return janus_jax.audit(LIVECODEBENCH, correct="correct_o1preview", **OPTIONS).to_dict()
        case "nothing found":
            return _case(27, **OPTIONS)
        case "nothing confirmed":
            return janus_jax.audit(
                GSM8K, **GSM8K_OUTCOME, min_holdout_lift="0.9", **OPTIONS
            ).to_dict()
        case "no holdout":
            return janus_jax.audit(GSM8K, **GSM8K_OUTCOME, discovery="1", **OPTIONS).to_dict()
        case "empty library":
            return janus_jax.audit(GSM8K, **GSM8K_OUTCOME, min_support=700, **OPTIONS).to_dict()
        case "clusters":
            return janus_jax.audit(
                LIVECODEBENCH, correct="correct_o1preview", cluster="contest_id", **OPTIONS
            ).to_dict()
        case "strata":
            return janus_jax.audit(
                GSM8K, **GSM8K_OUTCOME, strata="question_type", statistic="z", **OPTIONS
            ).to_dict()
        case "livecodebench strata":
            return janus_jax.audit(
                LIVECODEBENCH, correct="correct_o1preview", strata="difficulty", **OPTIONS
            ).to_dict()
        case "log":
            (file,) = LOG.glob("samples_agieval_lsat_ar_local_*.jsonl")
            return janus_jax.audit(
                file, log={"metric": "acc"}, min_support=1, min_prevalence="0", **OPTIONS
            ).to_dict()
        case "tags":
            return _case(69, **WHOLE)
        case "line breaks":
            return _case(59, **WHOLE)
        case "hostile":
            return _hostile()
        case "many":
            return _many()
        case _:
            raise KeyError(kind)


KINDS = (
    "gsm8k",
    "livecodebench",
    "nothing found",
    "nothing confirmed",
    "no holdout",
    "empty library",
    "clusters",
    "strata",
    "log",
    "tags",
    "line breaks",
    "hostile",
)


MODELS = ("correct_175b_verification", "correct_175b_finetuning", "correct_6b_verification")
COMPARISONS = ("models", "hostile models")
LONG = "m" * 300
"""The name of a model that no line can hold."""


@lru_cache
def comparison(kind: str) -> Document:
    """Several models on the same examples, see :data:`COMPARISONS`."""
    if kind == "models":
        return janus_jax.compare(GSM8K, correct=list(MODELS), **OPTIONS).to_dict()
    if kind == "eight models":
        return _eight()
    frame = pd.read_csv(GSM8K, dtype=str)[[*MODELS, "q_words", "n_steps", "has_percent"]]
    if kind == "long model":
        frame = frame.rename(columns={MODELS[0]: LONG})
        return janus_jax.compare(frame, correct=[LONG, *MODELS[1:]], **OPTIONS).to_dict()
    frame.columns = [*HOSTILE[:3], *HOSTILE[3:6]]
    return janus_jax.compare(frame, correct=list(HOSTILE[:3]), **OPTIONS).to_dict()


def _eight() -> Document:
    """Eight models with all their differences; nothing is found in "coin" for any of them."""
    rng = np.random.default_rng(8)
    n = 500
    frame = pd.DataFrame({"hard": rng.random(n) < 0.5, "coin": rng.random(n) < 0.5})
    for i in range(8):
        high = 0.2 if i % 3 == 0 else 0.6
        frame[f"m{i}"] = rng.random(n) < np.where(frame["hard"], high, 0.3)
    models = [f"m{i}" for i in range(8)]
    return janus_jax.compare(frame, error=models, **OPTIONS).to_dict()


@lru_cache
def text(kind: str) -> str:
    """The page of a kind; "full" is gsm8k with all its panels."""
    if kind in (*COMPARISONS, "long model"):
        return comparison_page(comparison(kind))
    if kind == "eight models":
        whole = comparison(kind)
        entries = [entry for entry in (*whole["models"], *whole["differences"]) if entry["audit"]]
        return comparison_page(whole, [(f"#{entry['name']}", entry["name"]) for entry in entries])
    if kind == "full":
        return page(document("gsm8k"), **beside())
    return page(document(kind))


def changed(kind: str = "gsm8k") -> Document:
    """A copy to be changed."""
    return copy.deepcopy(document(kind))


def write(folder: Path, name: str, document: Document) -> Path:
    """A document as a file."""
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
