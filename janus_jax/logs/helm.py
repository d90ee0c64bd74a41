"""HELM run folders (``benchmark_output/runs/<suite>/<run name>/``), joined from their JSON files.

``per_instance_stats.json`` has the scores, in one entry per metric class, instance, trial and
perturbation; ``scenario_state.json`` the instances and what the model said (or ``instances.json``
the instances alone); ``run_spec.json`` the run's name and model. ``display_predictions.json``, made
for HELM's web pages, stands in for the scores where those were not kept. The numbers of all scores
are held in memory, texts one instance at a time.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final, NamedTuple

from janus_jax.errors import InputError
from janus_jax.logs import beside, json_text
from janus_jax.logs.attempt import Attempt, Context, Probe, Status
from janus_jax.logs.fields import Fields, first_look
from janus_jax.logs.untyped import is_array, is_object, items, mapping
from janus_jax.readers import opening

_STATS: Final = "per_instance_stats.json"
_DISPLAY: Final = "display_predictions.json"
_STATE: Final = "scenario_state.json"
_INSTANCES: Final = "instances.json"
_SPEC: Final = "run_spec.json"

# What HELM counts of every request beside its metrics (basic_metrics.py, efficiency_metrics.py):
# no scores, though they stand among them.
# The prompt's measures are facts of an instance unless each trial has a prompt of its own.
_OF_THE_PROMPT: Final = frozenset(
    ("num_prompt_tokens", "num_train_instances", "num_train_trials", "prompt_truncated")
)
_FROM_GOLD: Final = frozenset(("num_references",))
_KNOWN_AFTER: Final = frozenset(
    (
        "batch_size",
        "inference_denoised_runtime",
        "inference_idealized_runtime",
        "inference_runtime",
        "logprob",
        "max_prob",
        "num_bytes",
        "num_completion_tokens",
        "num_instances",
        "num_output_tokens",
        "num_perplexity_tokens",
        "predicted_index",
        "training_co2_cost",
        "training_energy_cost",
    )
)
_FINISH: Final = "finish_reason_"

_PLAIN: Final = frozenset(("name", "robustness", "fairness", "computed_on"))
_SETTING: Final = re.compile(r"[:,-]([^:,=-]+)=")  # where the name of a run's task ends


class _Key(NamedTuple):
    """What HELM scores: an instance, as changed by a perturbation, in a trial."""

    instance: str
    perturbation: str
    trial: str


@dataclass(slots=True)
class _Scored:
    """The statistics of one key."""

    number: int
    placed: bool = False  # whether a statistic has said its split
    split: str | None = None
    sub_split: str | None = None
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    said: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class _Run:
    """What is the same for every attempt of a run."""

    coordinates: Mapping[str, str]
    facts: Mapping[str, Any]
    one_prompt: bool = True  # an instance has the same prompt in all trials: there is one


class Helm:
    """Run folders of HELM; also one of its files of per-instance scores alone."""

    NAME: Final = "helm"
    OUTCOME_OPTION: Final = "--metric"

    def recognises(self, probe: Probe) -> bool:
        """A folder with a file of per-instance scores, or such a file."""
        if os.path.isdir(probe.path):
            return any(
                name in probe.members and _holds_scores(_head(os.path.join(probe.path, name)))
                for name in (_STATS, _DISPLAY)
            )
        return _holds_scores(probe.head)

    def read(self, path: str, context: Context) -> Iterator[Attempt]:
        """One attempt per instance, perturbation and trial, in the order of the instances.

        Raises
        ------
        InputError
            For a folder without scores, and for entries that are not HELM's.
        """
        if not os.path.isdir(path):
            context.note(
                f"{path}: read alone, so texts, references and the model are not known; name its "
                "run folder to have them."
            )
            return _read_alone(path, context)
        return _read_folder(path, context)


FORMAT: Final = Helm()


def _head(path: str) -> bytes:
    try:
        with opening.open_binary(path) as raw:
            return opening.read_head(raw, path)
    except InputError:
        return b""


def _holds_scores(head: bytes) -> bool:
    first = next(iter(items(json_text.probe_head(head))), None)
    if not is_object(first) or "instance_id" not in first:
        return False
    if is_object(first.get("stats")):
        return "predicted_text" in first
    return is_array(first.get("stats")) and "train_trial_index" in first


# --- the folder -----------------------------------------------------------------------------------


def _read_folder(folder: str, context: Context) -> Iterator[Attempt]:
    names = set(os.listdir(folder))
    run = _run_of(folder, names, context)
    source = next((name for name in (_STATS, _DISPLAY) if name in names), None)
    if source is None:
        raise InputError(
            f"{folder}: has neither {_STATS} nor {_DISPLAY}; name a HELM run folder (it also holds "
            f"{_SPEC})"
        )
    scored = _scores(os.path.join(folder, source), context)
    run = _with_trials(run, scored)
    if source == _DISPLAY:
        context.note(f"{folder}: {_STATS} is not there; the main metrics are read from {_DISPLAY}.")
    if _STATE in names:
        yield from _by_requests(os.path.join(folder, _STATE), scored, run, context)
    elif _INSTANCES in names:
        yield from _by_instances(os.path.join(folder, _INSTANCES), scored, run, context)
    else:
        context.note(
            f"{folder}: neither {_STATE} nor {_INSTANCES} is there, so texts and references of the "
            "instances are not known."
        )
    rest = len(scored)
    if rest and names & {_STATE, _INSTANCES}:
        context.note(f"{folder}: {rest:,} scored instances are not described in the folder.")
    yield from _rest(os.path.join(folder, source), scored, run)


def _read_alone(path: str, context: Context) -> Iterator[Attempt]:
    scored = _scores(path, context)
    yield from _rest(path, scored, _with_trials(_Run({}, {}), scored))


def _run_of(folder: str, names: set[str], context: Context) -> _Run:
    name = os.path.basename(os.path.abspath(folder))
    model: str | None = None
    if _SPEC in names:
        path = os.path.join(folder, _SPEC)
        spec = beside.read_object(path, context)
        name = _text(spec, "name", path, "the run's name")
        model = mapping(spec.get("adapter_spec")).get("model")
    task, settings = _taken_apart(name)
    named = settings.pop("model", None)
    settings.pop("model_deployment", None)
    model = model if isinstance(model, str) and model else named
    whole = ",".join(f"{key}={value}" for key, value in settings.items())
    coordinates = {"task": f"{task}:{whole}" if whole else task}
    if model is not None:
        coordinates["model"] = model
    return _Run(coordinates, {"run": settings} if settings else {})


def _with_trials(run: _Run, scored: Iterable[_Key]) -> _Run:
    """Trials differ in their training examples, and so in their prompts."""
    return replace(run, one_prompt=len({key.trial for key in scored}) < 2)


def _taken_apart(name: str) -> tuple[str, dict[str, str]]:
    """``mmlu:subject=philosophy,model=gpt2`` as task and settings.

    Where ``:`` cannot stand in a folder's name, copies have ``-`` or ``,`` in its place. A piece
    without ``=`` belongs to the value before it.
    """
    found = _SETTING.search(name)
    if found is None:
        return name.rstrip(":"), {}
    settings: dict[str, str] = {}
    key = ""
    for piece in name[found.start() + 1 :].split(","):
        if "=" in piece or not key:
            key, _, value = piece.partition("=")
            settings[key] = value
        else:
            settings[key] += f",{piece}"
    return name[: found.start()], settings


# --- scores ---------------------------------------------------------------------------------------


def _scores(path: str, context: Context) -> dict[_Key, _Scored]:
    """The statistics of every key; each metric class has written entries of its own."""
    _, entries = json_text.document(path, context, "")
    scored: dict[_Key, _Scored] = {}
    differing: set[str] = set()
    for number, value in enumerate(entries, 1):
        where = f"{path} entry {number:,}"
        entry = _object(value, where)
        key = _key(entry, _text(entry, "instance_id", where, "the instance"), where)
        mine = scored.setdefault(key, _Scored(number))
        stats: Any = entry.get("stats")
        if is_object(stats):  # as display_predictions.json has them: name to mean
            named = list(stats.items())
            mine.said = {
                name: entry[name] for name in ("predicted_text", "mapped_output") if name in entry
            }
        elif is_array(stats):
            named = [_stat(stat, mine, where) for stat in stats]
        else:
            raise InputError(f"{where}: has no stats; is this a file of per-instance statistics?")
        for name, mean in named:
            if _add(mine.values, sys.intern(name), mean):
                differing.add(name)
    if not scored:
        raise InputError(f"{path}: holds no entry; was the run evaluated?")
    if differing:
        context.note(
            f"{path}: several values of one metric for the same instance, trial and perturbation, "
            f"which makes it no outcome there: {', '.join(sorted(differing))}."
        )
    return scored


def _stat(value: object, mine: _Scored, where: str) -> tuple[str, Any]:
    """Name and mean of one statistic; the mean is absent where nothing was counted."""
    stat = _object(value, where)
    name = _object(stat.get("name"), where)
    label = _text(name, "name", where, "a statistic's name")
    split, sub_split = name.get("split"), name.get("sub_split")
    if not mine.placed:
        mine.placed, mine.split, mine.sub_split = True, split, sub_split
    elif sub_split is not None and sub_split != mine.sub_split:
        label = f"{label}:sub_split={sub_split}"
    return label, stat.get("mean")


def _add(values: dict[str, Any], name: str, mean: Any) -> bool:
    """Put a value down; True when there is another one already."""
    before = values.get(name)
    if before is None or mean is None:
        values[name] = mean if before is None else before
        return False
    several = before if is_array(before) else [before]
    if mean in several:
        return False
    values[name] = [*several, mean]
    return True


def _key(record: Mapping[str, Any], instance: str, where: str) -> _Key:
    perturbation = _perturbation(record.get("perturbation"), where)
    trial = record.get("train_trial_index", 0)
    if not isinstance(trial, int):
        raise InputError(f"{where}: train_trial_index is no number; write the file again")
    return _Key(instance, perturbation, str(trial))


def _perturbation(value: object, where: str) -> str:
    """The perturbation's name with its parameters; the key is absent where there is none."""
    if value is None:
        return "none"
    record = _object(value, where)
    name = _text(record, "name", where, "the perturbation's name")
    more = ",".join(
        f"{key}={record[key]}" for key in sorted(record.keys() - _PLAIN) if record[key] is not None
    )
    return sys.intern(f"{name}({more})" if more else name)


# --- instances ------------------------------------------------------------------------------------


def _by_requests(
    path: str, scored: dict[_Key, _Scored], run: _Run, context: Context
) -> Iterator[Attempt]:
    """Attempts in the order of the requests; requests of one key are one attempt.

    Multiple choice asked reference by reference, and language modelling in windows, make several.
    """
    extra = Fields()
    for number, request in _requests(path, first_look()):
        extra.learn(_extra(_instance(request, f"{path} request {number:,}")))
    again = 0
    done: set[_Key] = set()
    numbered = _keyed(path, _requests(path, context))
    for key, group in groupby(numbered, key=lambda item: item[0]):
        (_, number, request), *more = group
        others = [other for _, _, other in more]
        if key in done:
            again += 1 + len(others)
            continue
        done.add(key)
        where = f"{path} request {number:,}"
        instance = _instance(request, where)
        mine = scored.pop(key, None) or _Scored(number)
        if not others:
            mine.said = _said(request)
        status = _asked([request, *others])
        yield _attempt(key, mine, run, where, number, (instance, extra), status)
    if again:
        context.note(
            f"{path}: {again:,} requests came apart from the others for the same instance, trial "
            "and perturbation; they are part of the same attempt."
        )


def _requests(path: str, context: Context) -> Iterator[tuple[int, dict[str, Any]]]:
    _, requests = json_text.document(path, context, "request_states")
    for number, request in enumerate(requests, 1):
        yield number, _object(request, f"{path} request {number:,}")


def _keyed(
    path: str, requests: Iterable[tuple[int, dict[str, Any]]]
) -> Iterator[tuple[_Key, int, dict[str, Any]]]:
    for number, request in requests:
        where = f"{path} request {number:,}"
        instance = _instance(request, where)
        identity = _text(instance, "id", where, "the instance's id")
        trial = request.get("train_trial_index", 0)
        record = {"perturbation": instance.get("perturbation"), "train_trial_index": trial}
        yield _key(record, identity, where), number, request


def _instance(request: Mapping[str, Any], where: str) -> dict[str, Any]:
    return _object(request.get("instance"), where)


def _extra(instance: Mapping[str, Any]) -> dict[str, Any]:
    """What the scenario knows of an instance beside its text."""
    return {"extra_data": mapping(instance.get("extra_data"))}


def _by_instances(
    path: str, scored: dict[_Key, _Scored], run: _Run, context: Context
) -> Iterator[Attempt]:
    """Attempts in the order of ``instances.json``, which has no requests."""
    trials: dict[tuple[str, str], list[_Key]] = {}
    for key in scored:
        trials.setdefault((key.instance, key.perturbation), []).append(key)
    extra = Fields()
    for value in json_text.document(path, first_look(), "")[1]:
        extra.learn(_extra(_object(value, path)))
    _, instances = json_text.document(path, context, "")
    unscored = 0
    for number, value in enumerate(instances, 1):
        where = f"{path} instance {number:,}"
        instance = _object(value, where)
        key = _key(
            {"perturbation": instance.get("perturbation")},
            _text(instance, "id", where, "the instance's id"),
            where,
        )
        keys = trials.pop((key.instance, key.perturbation), [])
        unscored += not keys
        for scored_key in keys or [key]:
            mine = scored.pop(scored_key, None) or _Scored(number)
            yield _attempt(scored_key, mine, run, where, number, (instance, extra), "ok")
    if unscored:
        context.note(f"{path}: {unscored:,} instances have no statistics; they are not scored.")


def _rest(path: str, scored: dict[_Key, _Scored], run: _Run) -> Iterator[Attempt]:
    for key, mine in scored.items():
        where = f"{path} entry {mine.number:,}"
        yield _attempt(key, mine, run, where, mine.number, None, "ok")


# --- one attempt ----------------------------------------------------------------------------------


def _attempt(
    key: _Key,
    mine: _Scored,
    run: _Run,
    where: str,
    line: int,
    described: tuple[dict[str, Any], Fields] | None,
    status: Status,
) -> Attempt:
    scores: dict[str, Any] = {}
    facts: dict[str, Any] = dict(run.facts)
    derived: dict[str, Any] = {}
    post: dict[str, Any] = dict(mine.said)
    for name, value in mine.values.items():
        if name in _OF_THE_PROMPT:
            (facts if run.one_prompt else post)[name] = value
        elif name in _FROM_GOLD:
            derived[name] = value
        elif name in _KNOWN_AFTER or name.startswith(_FINISH):
            post[name] = value
        else:
            scores[name] = value
    split, sub_split = mine.split, mine.sub_split
    texts: dict[str, str] = {}
    if described is not None:
        instance, extra = described
        split = instance.get("split") or split
        sub_split = instance.get("sub_split") or sub_split
        parts = extra.divide(_extra(instance))
        facts |= parts.facts
        derived |= parts.derived
        texts |= parts.texts
        _describe(instance, facts, derived, texts)
    if sub_split is not None:
        facts["sub_split"] = sub_split
    if status == "ok" and all(value is None for value in scores.values()):
        status = "unscored"
    place = {"split": str(split)} if split is not None else {}
    return Attempt(
        example=key.instance,
        where=where,
        line=line,
        status=status,
        scores=scores,
        coordinates={
            **run.coordinates,
            **place,
            "perturbation": key.perturbation,
            "trial": key.trial,
        },
        facts=facts,
        derived=derived,
        post=post,
        texts=texts,
    )


def _describe(
    instance: Mapping[str, Any],
    facts: dict[str, Any],
    derived: dict[str, Any],
    texts: dict[str, str],
) -> None:
    """Input and references: wrong ones are choices the model saw, right ones the gold answer."""
    if (text := _content(instance.get("input"))) is not None:
        texts["input"] = text
    if not is_array(instance.get("references")):
        return
    options = [mapping(reference) for reference in items(instance["references"])]
    right = [n for n, option in enumerate(options) if "correct" in items(option.get("tags"))]
    derived["num_references"] = len(options)
    derived["num_correct_references"] = len(right)
    if right:
        derived["correct_reference"] = _content(options[right[0]].get("output"))
    if len(right) < len(options):
        facts["num_choices"] = len(options)
        texts["choices"] = "\n".join(_content(option.get("output")) or "" for option in options)
        if right:
            derived["correct_index"] = right[0]


def _content(value: object) -> str | None:
    """The text of an input or output; of a chat, its messages."""
    record = mapping(value)
    if is_array(messages := record.get("messages")):
        contents = [mapping(message).get("content") for message in messages]
        return "\n".join(content for content in contents if isinstance(content, str))
    text = record.get("text")
    return text if isinstance(text, str) else None


def _said(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the model said, how it ended and how long it took."""
    result = mapping(request.get("result"))
    said = {name: result[name] for name in ("request_time", "cached", "error") if name in result}
    completion = mapping(next(iter(items(result.get("completions"))), None))
    said |= {
        "predicted_text": completion.get("text"),
        "finish_reason": mapping(completion.get("finish_reason")).get("reason"),
    }
    if isinstance(said["predicted_text"], str):
        mapped = mapping(request.get("output_mapping")).get(said["predicted_text"].strip())
        said["mapped_output"] = mapped
    return {name: value for name, value in said.items() if value is not None}


def _asked(requests: Iterable[Mapping[str, Any]]) -> Status:
    """Whether every request was made and came back."""
    results = [request.get("result") for request in requests]
    if any(result is None for result in results):
        return "not_run"
    failed = any(mapping(result).get("success") is False for result in results)
    return "error" if failed else "ok"


def _object(value: object, where: str) -> dict[str, Any]:
    if not is_object(value):
        raise InputError(f"{where}: is not as HELM writes it (no object here); write it again")
    return value


def _text(record: Mapping[str, Any], key: str, where: str, what: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise InputError(f"{where}: {what} ({key}) is not a text; write the file again")
    return value
