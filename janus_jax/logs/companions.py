"""Files that stand beside logs and hold no attempts: what to name in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from janus_jax.logs import json_text
from janus_jax.logs.untyped import is_array, is_object, items, mapping


@dataclass(frozen=True, slots=True)
class _Companion:
    """One kind of file: how its beginning looks, and the sentence about it."""

    matches: Callable[[Mapping[str, Any], bool], bool]
    says: str


def companion(head: bytes, *, named_outcome: bool) -> str | None:
    """What a file is that belongs to a log and is none, and what to name; None for others.

    Parameters
    ----------
    head
        The first bytes of the file.
    named_outcome
        A column is named as the outcome: what can also be an ordinary table is then one.
    """
    if not named_outcome and _PROMPTFOO_CONFIG.match(head.removeprefix(_BOM)):
        return "is the configuration of promptfoo; name what `promptfoo eval -o results.json` wrote"
    start: object = json_text.probe_head(head)
    listed = is_array(start)
    fields = mapping(next(iter(items(start)), None)) if listed else mapping(start)
    if not fields:
        return None
    if not named_outcome and not listed and fields.keys() >= {"input", "ideal"}:
        return (
            "holds the samples of an OpenAI eval, without outcomes; name the record file that "
            "oaieval wrote (the samples are read if they stand beside it)"
        )
    return next((one.says for one in _COMPANIONS if one.matches(fields, listed)), None)


_BOM: Final = b"\xef\xbb\xbf"
_PROMPTFOO_CONFIG: Final = re.compile(
    rb"(?=(?:.*\n)*?providers:)(?=(?:.*\n)*?(?:prompts|tests):)[^{\[]"
)


def _has(*names: str, in_list: bool = False) -> Callable[[Mapping[str, Any], bool], bool]:
    """Matches a document (or the first object of an array) with these keys."""
    wanted = frozenset(names)
    return lambda fields, listed: listed == in_list and fields.keys() >= wanted


def _is_lm_eval_results(fields: Mapping[str, Any], listed: bool) -> bool:
    results = fields.get("results")
    if listed or not is_object(results):
        return False
    first = mapping(next(iter(results.values()), None))
    return "versions" in fields or "alias" in first or any("," in name for name in first)


def _is_helm_stats(fields: Mapping[str, Any], listed: bool) -> bool:
    return listed and "count" in fields and "name" in mapping(fields.get("name"))


def _is_instance_report(fields: Mapping[str, Any], listed: bool) -> bool:
    first = mapping(next(iter(fields.values()), None))
    return not listed and first.keys() >= {"resolved", "patch_successfully_applied"}


_HELM: Final = (
    "belongs to a HELM run and holds no scores of instances; name the run's folder, which has "
    "per_instance_stats.json too"
)
_COMPANIONS: Final = (
    _Companion(
        _is_lm_eval_results,
        "holds lm-eval's aggregate results and not its samples; name samples_TASK_TIMESTAMP.jsonl "
        "beside it, or their folder (lm-eval writes samples with --log_samples)",
    ),
    _Companion(_has("adapter_spec", "metric_specs"), _HELM),
    _Companion(_has("adapter_spec", "request_states"), _HELM),
    _Companion(_has("name", "description", "tags", "definition_path"), _HELM),
    _Companion(_has("instance_id", "request", in_list=True), _HELM),
    _Companion(_has("input", "references", in_list=True), _HELM),
    _Companion(_is_helm_stats, _HELM),
    _Companion(
        _has("schema_version", "evaluation_id", "source_metadata"),
        "holds the aggregate of an evaluation in Every Eval Ever's form; name the records of its "
        "instances (UUID_samples.jsonl)",
    ),
    _Companion(
        _has("$schema", "type"), "is a JSON schema, which describes logs and is none; name a log"
    ),
    _Companion(
        _is_instance_report,
        "is SWE-bench's report of one instance; name the report of the run (MODEL.RUN_ID.json)",
    ),
)
