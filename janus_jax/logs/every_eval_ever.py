"""Instance-level records of Every Eval Ever (``<uuid>_samples.jsonl``, schema 0.3.0).

Its converters write them from logs of lm-evaluation-harness, Inspect and HELM, and leave marks of
those tools in ``metadata`` and in what ``is_correct`` means; both are known here
(``every_eval_ever/converters/*/instance_level_adapter.py``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from janus_jax.errors import InputError
from janus_jax.logs import beside, json_text
from janus_jax.logs.attempt import Attempt, Context, Probe, Status
from janus_jax.logs.fields import LONG, Fields, Parts, first_look
from janus_jax.logs.untyped import is_object, items, mapping, text
from janus_jax.table import LOWER_IS_BETTER

_REQUIRED: Final = ("evaluation_id", "model_id", "evaluation_name", "sample_id")
_SUFFIX: Final = "_samples.jsonl"
_ORIGINAL: Final = "lm_eval_metrics"  # the metrics of the lm-eval log, as JSON text


class EveryEvalEver:
    """Every Eval Ever, instance level; see :class:`janus_jax.logs.attempt.Format`."""

    NAME: str = "every-eval-ever"
    OUTCOME_OPTION: str = "--metric"

    def recognises(self, probe: Probe) -> bool:
        """Whether the first record names its schema, evaluation, model and sample."""
        seen = mapping(json_text.probe_head(probe.head))
        return "schema_version" in seen and all(name in seen for name in _REQUIRED)

    def read(self, path: str, context: Context) -> Iterator[Attempt]:
        """Read one file; twice, first to learn which fields of the metadata are texts.

        Raises
        ------
        InputError
            Names file and line: a line that is no instance-level record.
        """
        fields = Fields()
        for _, _, record in _records(path, first_look()):
            fields.learn(_metadata(record))
        lower = _Lower(path, context)
        tally = _Tally()
        for number, where, record in _records(path, context):
            yield _attempt(record, number, where, fields, lower, tally)
        tally.note(path, context)


FORMAT: Final = EveryEvalEver()


def _records(path: str, context: Context) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for number, value in json_text.lines(path, context):
        where = f"{path} line {number}"
        record = mapping(value)
        lacking = [name for name in _REQUIRED if not isinstance(record.get(name), str)]
        if not is_object(record.get("evaluation")):
            lacking.append("evaluation")
        if lacking:
            raise InputError(
                f"{where}: no instance-level record of Every Eval Ever (no {', '.join(lacking)}); "
                "remove it, or check the file with: every_eval_ever validate"
            )
        yield number, where, record


def _metadata(record: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that describe the example: no hashes, and nothing known to be of the run."""
    run = ("epoch", "filter", "stop_reason", _ORIGINAL)
    return {
        key: value
        for key, value in mapping(record.get("metadata")).items()
        if key not in run and not key.endswith("_hash")
    }


class _Lower:
    """Which evaluations are better when lower, as the aggregate beside the file says."""

    def __init__(self, path: str, context: Context) -> None:
        self._path = path
        self._context = context
        self._lower: dict[str, bool] = {}
        base = os.path.basename(path)
        name = base.removesuffix(_SUFFIX) + ".json"
        if not base.endswith(_SUFFIX) or name not in beside.names(path):
            context.note(
                f"{path}: no aggregate file beside it (<name>.json for <name>{_SUFFIX}), so a "
                "higher score is taken to be better."
            )
            return
        aggregate = beside.read_object(beside.neighbour(path, name), context)
        for result in map(mapping, items(aggregate.get("evaluation_results"))):
            lower = mapping(result.get("metric_config")).get("lower_is_better")
            key = text(result.get("evaluation_result_id")) or text(result.get("evaluation_name"))
            if key is not None and isinstance(lower, bool):
                self._lower[key] = lower

    def score_name(self, record: Mapping[str, Any]) -> str:
        """What to call the score of a record."""
        result = text(record.get("evaluation_result_id")) or ""
        key = result if result in self._lower else record["evaluation_name"]
        if not self._lower.get(key, False):
            return "score"
        self._context.note(
            f"{self._path}: the score of {key} is better when it is lower; it is called "
            f"score{LOWER_IS_BETTER} here, and is_correct may say the opposite."
        )
        return f"score{LOWER_IS_BETTER}"


@dataclass(slots=True)
class _Tally:
    """What is said once about a file, when all of it has been read."""

    partial: int = 0
    denied: int = 0
    unscored: int = 0
    reduced: bool = False

    def add(self, evaluation: Mapping[str, Any]) -> None:
        """Compare ``is_correct`` with the score."""
        score, correct = evaluation.get("score"), evaluation.get("is_correct")
        if isinstance(score, (int, float)) and not isinstance(score, bool):
            self.partial += correct is True and 0 < score < 1
            self.denied += correct is False and score > 0

    def note(self, path: str, context: Context) -> None:
        """Say it."""
        if self.partial:
            context.note(
                f"{path}: in {self.partial:,} records is_correct is true and the score between 0 "
                "and 1: the converter calls any score above 0 correct; score with --pass-at says "
                "what you call right."
            )
        if self.denied:
            context.note(
                f"{path}: in {self.denied:,} records is_correct is false and the score above 0: "
                "converters write false for metrics that are no yes or no; use score there."
            )
        if self.unscored:
            context.note(
                f"{path}: {self.unscored:,} records come from lm-eval without a metric that is a "
                "number, for which the converter writes score 0; they count as without a score."
            )
        if self.reduced:
            context.note(
                f"{path}: records have epochs, as those converted from Inspect do; their score may "
                "be the one reduced over the epochs, the same in each: Inspect's own log has both."
            )


def _attempt(
    record: Mapping[str, Any],
    number: int,
    where: str,
    fields: Fields,
    lower: _Lower,
    tally: _Tally,
) -> Attempt:
    evaluation = mapping(record["evaluation"])
    metadata = mapping(record.get("metadata"))
    original = _original(metadata, where)
    scores: dict[str, Any] = {
        name: evaluation[key]
        for name, key in (("is_correct", "is_correct"), (lower.score_name(record), "score"))
        if key in evaluation
    }
    status: Status = "ok"
    if text(record.get("error")) is not None:
        status = "error"
    elif original is not None and not any(map(_is_number, original.values())):
        status = "unscored"
        tally.unscored += 1
    elif all(value is None for value in scores.values()):
        status = "unscored"
    if status == "ok":
        tally.add(evaluation)
    scores |= {f"{_ORIGINAL}.{name}": value for name, value in (original or {}).items()}
    tally.reduced = tally.reduced or "epoch" in metadata
    parts = fields.divide(_metadata(record))
    _add_input(parts, record)
    return Attempt(
        example=record["sample_id"],
        where=where,
        line=number,
        status=status,
        scores=scores,
        coordinates=_coordinates(record, metadata),
        facts=parts.facts,
        derived=parts.derived,
        post=_post(record, evaluation, metadata),
        texts=parts.texts,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float))


def _original(metadata: Mapping[str, Any], where: str) -> dict[str, Any] | None:
    """The metrics of the lm-eval log; None where the record comes from elsewhere."""
    written = text(metadata.get(_ORIGINAL))
    return None if written is None else mapping(json_text.parse(written, f"{where} {_ORIGINAL}"))


def _coordinates(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, str]:
    found = {
        "task": record["evaluation_name"],
        "model": record["model_id"],
        "run": record["evaluation_id"],
        "result": record.get("evaluation_result_id"),  # a sample has a record for each metric
        "filter": metadata.get("filter"),
        "epoch": metadata.get("epoch"),
    }
    return {name: value for name, value in found.items() if isinstance(value, str) and value}


def _add_input(parts: Parts, record: Mapping[str, Any]) -> None:
    given = mapping(record.get("input"))
    parts.facts.setdefault("interaction_type", record.get("interaction_type"))
    for key, name in (("raw", "input"), ("formatted", "formatted")):
        if (value := text(given.get(key))) is not None:
            parts.texts.setdefault(name, value)
    if choices := items(given.get("choices")):
        parts.facts.setdefault("choices", choices)
        parts.texts.setdefault("choices", "\n".join(c for c in choices if isinstance(c, str)))
    if "reference" in given:
        parts.derived.setdefault("reference", given["reference"])


def _post(
    record: Mapping[str, Any], evaluation: Mapping[str, Any], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Tokens, times, turns, the reply's length and the answer found in it."""
    post: dict[str, Any] = {}
    for key in ("token_usage", "performance"):
        if is_object(value := record.get(key)):
            post[key] = value
    for key in ("num_turns", "tool_calls_count"):
        if evaluation.get(key) is not None:
            post[key] = evaluation[key]
    if text(metadata.get("stop_reason")) is not None:
        post["stop_reason"] = metadata["stop_reason"]
    if text(record.get("error")) is not None:
        post["error"] = record["error"]
    reply = next(iter(items(mapping(record.get("output")).get("raw"))), None)
    if isinstance(reply, str):
        post |= {"output_chars": len(reply), "output_words": len(reply.split())}
    for answer in map(mapping, items(record.get("answer_attribution"))):
        value = text(answer.get("extracted_value"))
        if answer.get("is_terminal") is True and value is not None and len(value) <= LONG:
            post["extracted_value"] = value
    return post
