"""The names of the log formats, for whoever must not import their readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MODULES: Final[Mapping[str, str]] = {
    "inspect": "inspect_ai",
    "lm-eval": "lm_eval",
    "helm": "helm",
    "promptfoo": "promptfoo",
    "openai-evals": "openai_evals",
    "swe-bench": "swe_bench",
    "every-eval-ever": "every_eval_ever",
}
"""Format to module of :mod:`janus_jax.logs`, in the order in which they are asked: those with the
most telling marks first."""

LOG_FORMATS: Final = tuple(MODULES)
