"""One sample of an Inspect AI log as an attempt, from its full record or from its summary.

The two have almost the same fields (``EvalSample`` and ``EvalSampleSummary`` in Inspect's
``log/_log.py``). A summary shortens texts and replaces large metadata by a remark; :func:`is_cut`
tells.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Attempt, Status
from janus_jax.logs.fields import Fields, joined
from janus_jax.logs.untyped import is_array, is_object, items, mapping, text

_REMOVED = "Key removed from summary (> 1k)"
_CUT_TEXT = "...\n(content truncated)"
_CUT_METADATA = "..."
_ANSWER = 1024  # characters of an answer, as in summaries
_ATTACHMENT = "attachment://"

_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Header:
    """What a log says of its run.

    Attributes
    ----------
    path
        The file, for messages.
    coordinates
        ``task``, ``model`` and ``run`` (the file's name without its ending: the one thing in which
        a retry of the same task with the same model differs and that a person has seen).
    status
        ``success``, ``cancelled``, ``error`` or ``started``.
    error
        What ended the run, in one line; empty where nothing did.
    version
        Of Inspect; (0, 0, 0) where it is not logged.
    invalidated
        Whether somebody marked samples as invalid.
    planned
        Ids that the run was to attempt, each ``epochs`` times; empty where that is not known.
    epochs
        Times each sample was to be attempted.
    scorer
        Name of the score that samples of version 1 hold without a name.
    completed
        Samples that the log's results count; None where it has no results.
    """

    path: str
    coordinates: Mapping[str, str]
    status: str
    error: str
    version: tuple[int, int, int]
    invalidated: bool
    planned: tuple[str, ...]
    epochs: int
    scorer: str
    completed: int | None


def header_of(fields: Mapping[str, Any], path: str, *, status: str = "") -> Header:
    """The header of a log.

    Parameters
    ----------
    fields
        The log without its samples.
    path
        The file.
    status
        What the status is where the log has none.

    Raises
    ------
    InputError
        There is no ``eval`` object.
    """
    spec = fields.get("eval")
    if not is_object(spec):
        raise InputError(
            f"{path}: has no object 'eval' that names task and model, so it is no Inspect AI log; "
            "name another file or --format"
        )
    results = mapping(fields.get("results"))
    epochs = mapping(spec.get("config")).get("epochs")
    epochs = epochs if isinstance(epochs, int) and epochs > 0 else 1
    planned = tuple(str(i) for i in items(mapping(spec.get("dataset")).get("sample_ids")))
    if results.get("total_samples", len(planned) * epochs) != len(planned) * epochs:
        planned = ()  # the list is not that of this run
    name, _ = os.path.splitext(os.path.basename(path))
    coordinates = {key: value for key in ("task", "model") if (value := text(spec.get(key)))}
    total = results.get("completed_samples")
    return Header(
        path=path,
        coordinates={**coordinates, "run": name},
        status=text(fields.get("status")) or status,
        error=_one_line(mapping(fields.get("error")).get("message")),
        version=_version(mapping(spec.get("packages")).get("inspect_ai")),
        invalidated=fields.get("invalidated") is True,
        planned=planned,
        epochs=epochs,
        scorer=text(mapping(results.get("scorer")).get("name")) or "score",
        completed=total if isinstance(total, int) else None,
    )


def key_of(sample: object, where: str) -> tuple[int | str, int]:
    """Id and epoch of a sample.

    Raises
    ------
    InputError
        It has no id, or an epoch that is no number.
    """
    if not is_object(sample):
        raise InputError(f"{where}: is no object; the log is damaged: write it again")
    name, epoch = sample.get("id"), sample.get("epoch", 1)
    if isinstance(name, bool) or not isinstance(name, (int, str)):
        raise InputError(f"{where}: has no id (a number or text); the log is damaged")
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise InputError(f"{where}: its epoch is no whole number; the log is damaged")
    return name, epoch


def is_cut(summary: Mapping[str, Any]) -> bool:
    """Whether a summary may leave out some of what its sample says of the example."""
    for value in mapping(summary.get("metadata")).values():
        if isinstance(value, str) and (value == _REMOVED or value.endswith(_CUT_METADATA)):
            return True
    target = summary.get("target")
    texts = [_input_text(summary), *(items(target) or [target])]
    return any(isinstance(one, str) and _CUT_TEXT in one for one in texts)


def attempt_of(
    sample: Mapping[str, Any], header: Header, learned: Fields, where: str, line: int
) -> Attempt:
    """The attempt that a sample or its summary is.

    Parameters
    ----------
    sample
        The sample, whose :func:`key_of` is known to be good.
    header
        Of its log.
    learned
        The long fields of the metadata of all samples.
    where, line
        Its place.

    Raises
    ------
    InputError
        Its scores are no object, or two of them have one name.
    """
    name, epoch = key_of(sample, where)
    scores = _scores(sample, header, where)
    parts = learned.divide(mapping(sample.get("metadata")))
    choices = sample.get("choices")
    texts = {"input": _input_text(sample), "choices": joined(choices)}
    return Attempt(
        example=str(name),
        where=where,
        line=line,
        status=_status(sample, scores),
        scores=scores,
        coordinates={**header.coordinates, "epoch": str(epoch)},
        facts=_with(parts.facts, {"choices": choices}),
        derived=_with(parts.derived, {"target": sample.get("target")}),
        post=_post(sample),
        texts=_with(parts.texts, texts),
    )


def _with(metadata: Mapping[str, _V], own: Mapping[str, _V | None]) -> dict[str, _V]:
    """The sample's own fields and its metadata; where both have a name, ``sample_`` is ours."""
    named = {
        f"sample_{key}" if key in metadata else key: value
        for key, value in own.items()
        if value is not None and value != ""
    }
    return {**named, **metadata}


def _scores(sample: Mapping[str, Any], header: Header, where: str) -> dict[str, Any]:
    raw = sample.get("scores")
    if raw is None and sample.get("score") is not None:  # version 1
        raw = {header.scorer: sample["score"]}
    if raw is None:
        return {}
    if not is_object(raw):
        raise InputError(f"{where}: its scores are no object; the log is damaged")
    scores: dict[str, Any] = {}
    for scorer, value in _values(raw):
        if scorer in scores:
            raise InputError(
                f"{where}: two scores have the name {scorer!r} (a scorer with a dot in its name, "
                "and the key of another one's dictionary); rename one of them"
            )
        scores[scorer] = value
    return scores


def _values(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for scorer, score in raw.items():
        value = score.get("value") if is_object(score) else score
        if is_object(value):
            for key, part in value.items():
                yield f"{scorer}.{key}", part
        else:
            yield scorer, value


def _status(sample: Mapping[str, Any], scores: Mapping[str, Any]) -> Status:
    if sample.get("error"):
        return "error"
    # NaN is how Inspect writes Score.unscored(): recorded, and left out of every metric.
    if sample.get("invalidation") or all(v is None or v != v for v in scores.values()):
        return "unscored"
    return "ok"


def _post(sample: Mapping[str, Any]) -> dict[str, Any]:
    retries, messages = sample.get("error_retries"), sample.get("messages")
    limit, error = sample.get("limit"), sample.get("error")
    post: dict[str, Any] = {
        "error": error.get("message") if is_object(error) else error,
        "limit": limit.get("type") if is_object(limit) else limit,
        "retries": len(retries) if is_array(retries) else sample.get("retries"),
        "message_count": sample.get("message_count"),
        "turn_count": sample.get("turn_count"),
        "total_time": sample.get("total_time"),
        "working_time": sample.get("working_time"),
        "usage": _usage(sample),
        "answer": _answers(sample),
        "invalidated": True if sample.get("invalidation") else None,
    }
    if post["message_count"] is None and is_array(messages):
        post["message_count"] = len(messages)
    return {key: value for key, value in post.items() if value is not None}


def _usage(sample: Mapping[str, Any]) -> dict[str, Any] | None:
    """Tokens (and cost) of all models of a sample together."""
    usage: dict[str, Any] = {}
    for model in mapping(sample.get("model_usage")).values():
        for key, value in mapping(model).items():
            if isinstance(value, (int, float)):
                usage[key] = usage.get(key, 0) + value
    return usage or None


def _answers(sample: Mapping[str, Any]) -> dict[str, str] | None:
    """Each scorer's answer as summaries have it, so that both kinds of record say the same."""
    answers = {
        scorer: textwrap.shorten(answer[: 8 * _ANSWER], width=_ANSWER, placeholder="...")
        for scorer, score in mapping(sample.get("scores")).items()
        if isinstance(answer := mapping(score).get("answer"), str)
    }
    return answers or None


def _input_text(sample: Mapping[str, Any]) -> str:
    """The input as text: the string, or the messages' texts with other content as ``(Image)``."""
    attachments = mapping(sample.get("attachments"))
    parts: list[str] = []
    given = sample.get("input")
    for message in [given] if isinstance(given, str) else items(given):
        content: Any = message if isinstance(message, str) else mapping(message).get("content")
        for part in [content] if isinstance(content, str) else items(content):
            kind = mapping(part).get("type")
            found = part if isinstance(part, str) else mapping(part).get("text")
            if not isinstance(found, str) or kind not in (None, "text"):
                found = f"({str(kind).capitalize()})"
            reference = found.removeprefix(_ATTACHMENT)
            parts.append(str(attachments.get(reference, found)) if reference != found else found)
    return "\n".join(parts)


def _one_line(value: object) -> str:
    return " ".join(value.split())[:200] if isinstance(value, str) else ""


def _version(value: object) -> tuple[int, int, int]:
    found = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", value) if isinstance(value, str) else None
    return (0, 0, 0) if found is None else (int(found[1]), int(found[2]), int(found[3]))
