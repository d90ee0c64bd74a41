"""Sample logs of lm-evaluation-harness (``--log_samples``).

A file ``samples_<task>_<timestamp>.jsonl`` holds one line for each document *and answer filter*;
``results_<timestamp>.json`` beside it knows the model and which way a metric points. Early releases
wrote ``<model arguments>_<task>.jsonl`` beside ``results.json``, one JSON array instead of lines,
and neither the filter nor a list of metrics. Fields as in the harness's ``lm_eval/evaluator.py``
and ``lm_eval/loggers/evaluation_tracker.py``, 0.4.0 to 0.4.13.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

from janus_jax.errors import InputError
from janus_jax.logs import beside, json_text
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.fields import LONG, Fields, first_look
from janus_jax.logs.untyped import is_array, is_object, items, mapping, text
from janus_jax.readers.opening import HEAD_BYTES, open_binary, read_head
from janus_jax.table import LOWER_IS_BETTER

_TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"  # no fraction where it is exactly zero
_SAMPLES = re.compile(rf"(?:^|_)samples_(?P<task>.+?)(?:_(?P<run>{_TIMESTAMP}))?\.jsonl?$")
_KNOWN: Final = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics")
) | {"doc_hash", "prompt_hash", "target_hash"}
_LONG_HEAD: Final = HEAD_BYTES - 3  # a byte-order mark may be gone
_EARLY: Final = frozenset(("doc_id", "doc", "target", "arguments"))  # written before the replies
_LOWER: Final = frozenset(  # registered with higher_is_better=False in lm_eval/api/metrics.py
    ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score", "ter")
)
_TEMPLATE = re.compile(r"\{\{(.*?)\}\}")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b(?!\[)")  # in choices[label] it is the label that tells


class LmEval:
    """lm-evaluation-harness; see :class:`janus_jax.logs.attempt.Format`."""

    NAME: str = "lm-eval"
    OUTCOME_OPTION: str = "--metric"

    def recognises(self, probe: Probe) -> bool:
        """Whether the first record has a ``doc_id``, a ``doc`` and replies."""
        start: object = json_text.probe_head(probe.head)
        seen = mapping(next(iter(items(start)), start)).keys()
        if not seen >= {"doc_id", "doc"}:
            return False
        # A long document fills the head, and nothing can be said of what comes after it.
        cut = len(probe.head) >= _LONG_HEAD and seen <= _EARLY
        return cut or "resps" in seen or "filtered_resps" in seen

    def read(self, path: str, context: Context) -> Iterator[Attempt]:
        """Read one samples file; twice, first for repeated documents and fields that are texts.

        Raises
        ------
        InputError
            Names file and line: a record without ``doc_id`` or ``doc``; a document that occurs
            twice under one filter, or twice where no field names the filter.
        """
        survey = _Survey()
        for number, where, record in _records(path, first_look()):
            survey.add(record, number, where)
        if not survey.places:
            raise InputError(f"{path}: holds no sample; run lm-eval with --log_samples again")
        _refuse_repeats(path, survey)
        run = _run(path, context)
        tally = _Tally()
        for number, where, record in _records(path, context):
            yield _attempt(record, number, where, run, survey.fields, tally, context)
        tally.note(path, context)


FORMAT: Final = LmEval()


@dataclass(slots=True)
class _Survey:
    """What has to be known of a file before its first attempt can be made."""

    fields: Fields = field(default_factory=Fields)
    places: dict[tuple[str, str | None], list[int]] = field(
        default_factory=dict[tuple[str, "str | None"], list[int]]
    )

    def add(self, record: Mapping[str, Any], number: int, where: str) -> None:
        """Look at one record."""
        self.fields.learn(_document(record))
        key = (_doc_id(record, where), text(record.get("filter")))
        self.places.setdefault(key, []).append(number)


@dataclass(frozen=True, slots=True)
class _Run:
    """What is the same for all records of a file."""

    path: str
    task: str
    coordinates: dict[str, str]
    higher: dict[str, Any]
    gold: frozenset[str]


def _is_one_array(path: str) -> bool:
    raw = open_binary(path)
    with closing(raw):
        head = read_head(raw, path)
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(b"[")


def _records(path: str, context: Context) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The records of a file with their places: its lines, or the elements of its one array."""
    if _is_one_array(path):
        numbered: Iterator[tuple[int, Any]] = enumerate(json_text.document(path, context, "")[1], 1)
        word = "record"
    else:
        numbered = json_text.lines(path, context)
        word = "line"
    for number, value in numbered:
        where = f"{path} {word} {number}"
        record = mapping(value)
        if "doc_id" not in record or "doc" not in record:
            raise InputError(
                f"{where}: no sample of lm-eval (it has no doc_id or no doc); remove it, or name "
                "the samples_*.jsonl file as the harness wrote it"
            )
        yield number, where, record


def _doc_id(record: Mapping[str, Any], where: str) -> str:
    value = record["doc_id"]
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise InputError(f"{where}: doc_id is neither a number nor a text; repair this record")
    return str(value)


def _document(record: Mapping[str, Any]) -> dict[str, Any]:
    doc: object = record["doc"]
    return doc if is_object(doc) else {"doc": doc}


def _refuse_repeats(path: str, survey: _Survey) -> None:
    """Stop where two records of one document cannot be told apart."""
    repeated = {key: lines for key, lines in survey.places.items() if len(lines) > 1}
    if not repeated:
        return
    word = "record" if _is_one_array(path) else "line"
    unnamed = {key: lines for key, lines in repeated.items() if key[1] is None}
    (doc_id, name), lines = next(iter((unnamed or repeated).items()))
    example = f"doc_id {doc_id} in {word}s {lines[0]} and {lines[1]}"
    if name is not None:
        raise InputError(
            f"{path}: {len(repeated):,} documents occur several times under one filter ({example}, "
            f"filter {name!r}), as when two runs are put into one file; keep one run a file"
        )
    counts = {len(lines) for lines in unnamed.values()}
    times = f"{counts.pop()} times" if len(counts) == 1 else "several times"
    documents = sum(name is None for _, name in survey.places)
    raise InputError(
        f"{path}: {len(unnamed):,} of {documents:,} doc_ids occur {times} ({example}) and no field "
        f"tells the {word}s apart: older logs do not name the answer filter; run a newer lm-eval, "
        f"or write the field `filter` into each {word}, or keep the {word}s of one filter"
    )


def _run(path: str, context: Context) -> _Run:
    base = os.path.basename(path)
    named = _SAMPLES.search(base)
    stamp = named["run"] if named else None
    results = _results(path, named, context)
    configs = mapping(results.get("configs"))
    task = named["task"] if named else _task_among(os.path.splitext(base)[0], list(configs))
    if task is None:
        task = os.path.splitext(base)[0]
        context.note(
            f"{path}: nothing names the task, so the file's own name stands for it (the harness "
            "calls its files samples_<task>_<timestamp>.jsonl)."
        )
    coordinates = {"task": task, "model": _model(path, results)}
    if stamp is not None:
        coordinates["run"] = stamp
    config = mapping(configs.get(task))
    higher = {
        name: metric.get("higher_is_better")
        for metric in map(mapping, items(config.get("metric_list")))
        if (name := text(metric.get("metric"))) is not None
    }
    higher |= mapping(mapping(results.get("higher_is_better")).get(task))
    return _Run(path, task, coordinates, higher, _gold(config.get("doc_to_target")))


def _gold(target: object) -> frozenset[str]:
    """Fields that make the target: ``answer``, or those in ``{{answer}} {{unit}}``."""
    template = text(target) or ""
    if template.isidentifier():
        return frozenset((template,))
    return frozenset(name for part in _TEMPLATE.findall(template) for name in _NAME.findall(part))


def _task_among(stem: str, tasks: list[str]) -> str | None:
    """The task of a file that is not called ``samples_...``, from those its results name."""
    ending = [task for task in tasks if stem.endswith(task)]
    return max(ending, key=len) if ending else (tasks[0] if len(tasks) == 1 else None)


def _results(path: str, named: re.Match[str] | None, context: Context) -> dict[str, Any]:
    """The results file that belongs to a samples file; empty where there is none for certain."""
    present = [name for name in beside.names(path) if name.endswith(".json")]
    wanted = "results.json"
    if named is not None and named["run"] is not None:
        wanted = f"results_{named['run']}.json"
    elif named is not None:
        stem = os.path.splitext(os.path.basename(path))[0]
        wanted = "results_".join(stem.split("samples_", 1)) + ".json"
    found = [wanted] if wanted in present else []
    if not found and named is not None and named["run"] is not None:
        # --output_path NAME.json makes NAME_<timestamp>.json.
        end = f"_{named['run']}.json"
        found = [name for name in present if name.endswith(end) and not _SAMPLES.search(name)]
    if len(found) == 1:
        results = beside.read_object(beside.neighbour(path, found[0]), context)
        if "configs" in results:
            return results
    why = f"{len(found)} files could be its results" if len(found) > 1 else "no results beside it"
    context.note(
        f"{path}: {why} (expected {wanted} in the same folder); the folder's name stands for the "
        "model, and a metric is taken to be better when it is higher unless its name tells "
        "otherwise."
    )
    return {}


def _model(path: str, results: Mapping[str, Any]) -> str:
    config = mapping(results.get("config"))
    named = text(results.get("model_name"))
    if named is None and (given := text(config.get("model_args"))) is not None:
        # As lm_eval's own tracker takes the name from the arguments.
        for key in ("peft", "delta", "pretrained", "model", "path", "engine"):
            if (found := re.search(rf"(?:^|,){key}=([^,]+)", given)) is not None:
                return found[1]
    if named is None:
        named = text(config.get("model"))
    return named or os.path.basename(os.path.dirname(os.path.abspath(path))) or "unknown"


@dataclass(slots=True)
class _Tally:
    """What is said once about a file, when all of it has been read."""

    empty: int = 0
    replies: int = 1

    def note(self, path: str, context: Context) -> None:
        """Say it."""
        if self.empty:
            context.note(
                f"{path}: {self.empty:,} records have an empty reply; the harness does not say "
                "whether the model or its provider failed, and scores it like any other reply "
                "(resp_empty tells which)."
            )
        if self.replies > 1:
            context.note(
                f"{path}: the model was asked {self.replies} times for a document, and the filter "
                "folds the replies into one score: how each of them did is not in the log."
            )


def _attempt(
    record: Mapping[str, Any],
    number: int,
    where: str,
    run: _Run,
    fields: Fields,
    tally: _Tally,
    context: Context,
) -> Attempt:
    scores = _scores(record, run, context)
    coordinates = dict(run.coordinates)
    if (name := text(record.get("filter"))) is not None:
        coordinates["filter"] = name
    parts = fields.divide(_document(record), run.gold)
    if (prompt := _prompt(record.get("arguments"))) is not None:
        parts.texts.setdefault("arguments", prompt)
    if "target" in record:
        parts.derived.setdefault("target", record["target"])
    return Attempt(
        example=f"{run.task}:{_doc_id(record, where)}",
        where=where,
        line=number,
        status="ok" if any(value is not None for value in scores.values()) else "unscored",
        scores=scores,
        coordinates=coordinates,
        facts=parts.facts,
        derived=parts.derived,
        post=_post(record, tally),
        texts=parts.texts,
    )


def _scores(record: Mapping[str, Any], run: _Run, context: Context) -> dict[str, Any]:
    listed = record.get("metrics")
    names = (
        [name for name in listed if isinstance(name, str) and name in record]
        if is_array(listed)
        else [name for name in record if name not in _KNOWN]  # older logs list none
    )
    scores: dict[str, Any] = {}
    for name in names:
        higher = run.higher.get(name)
        lower = higher is False or (higher is None and name in _LOWER)
        if lower:
            context.note(
                f"{run.path}: metric {name} is better when it is lower (of all documents together: "
                "what a line holds may be a part of it, such as a log-likelihood); it is called "
                f"{name}{LOWER_IS_BETTER} here."
            )
        end = LOWER_IS_BETTER if lower else ""
        value: object = record[name]
        if is_object(value):
            scores |= {f"{name}.{key}{end}": inner for key, inner in value.items()}
        else:
            scores[name + end] = value
    return scores


def _prompt(arguments: object) -> str | None:
    """The first request's prompt: ``{"gen_args_0": {"arg_0": ...}}``, or ``[[prompt, ...]]``."""
    request: object = mapping(arguments).get("gen_args_0", _first(arguments))
    prompt = text(_first(mapping(request).get("arg_0", _first(request))))
    if prompt is None or not prompt.startswith('[{"role"'):
        return prompt
    try:  # a conversation, written as JSON text
        messages = items(json_text.parse(prompt, "arguments"))
    except InputError:
        return prompt
    said = [text(mapping(message).get("content")) for message in messages]
    return "\n".join(part for part in said if part is not None) or prompt


def _first(value: object) -> object:
    """The first element of an array; anything else as it is."""
    return next(iter(value), None) if is_array(value) else value


def _post(record: Mapping[str, Any], tally: _Tally) -> dict[str, Any]:
    """The reply's length, what the filter made of it, and what else was logged about it."""
    post: dict[str, Any] = {}
    if is_array(listed := record.get("metrics")):
        known = _KNOWN.union(name for name in listed if isinstance(name, str))
        post |= {key: value for key, value in record.items() if key not in known}
    replies = _first(record.get("resps"))
    tally.replies = max(tally.replies, len(items(replies)))
    reply = _first(replies)
    if reply is None or isinstance(reply, str):  # not the log-likelihood of a choice
        reply = reply or ""
        empty = not reply.strip()
        tally.empty += empty
        post |= {"resp_chars": len(reply), "resp_words": len(reply.split()), "resp_empty": empty}
    filtered = _first(record.get("filtered_resps"))
    if isinstance(filtered, str) and len(filtered) <= LONG:
        post["filtered_resp"] = filtered
    return post
