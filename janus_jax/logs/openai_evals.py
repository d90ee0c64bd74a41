"""Record files of OpenAI evals (``oaieval``): one event a line, in the order of threads.

``{"spec": ...}`` comes first, then events ``{run_id, event_id, sample_id, type, data}`` of all
samples mixed together, as the harness's ``evals/record.py`` writes them. An example is a
``sample_id``, ``<eval>.<split>.<index>``; its metadata stand in the samples file the spec names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from janus_jax.errors import InputError
from janus_jax.logs import json_text
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.fields import LONG, Fields, Parts, first_look
from janus_jax.logs.openai_samples import SamplesFile, beside_log, metadata, said, single
from janus_jax.logs.untyped import is_object, items, mapping, text

_EVENT: Final = frozenset(("run_id", "event_id", "sample_id", "type", "data"))

Key = tuple[str, str]
"""Run and sample."""


class OpenAIEvals:
    """OpenAI evals; see :class:`janus_jax.logs.attempt.Format`."""

    NAME: str = "openai-evals"
    OUTCOME_OPTION: str = "--metric"

    def recognises(self, probe: Probe) -> bool:
        """Whether the first line is a run's spec, or an event of one."""
        first = mapping(json_text.probe_head(probe.head))
        spec = mapping(first.get("spec"))
        return first.keys() >= _EVENT or spec.keys() >= {"run_id", "eval_name"}

    def read(self, path: str, context: Context) -> Iterator[Attempt]:
        """Read one record file, and the samples file beside it if it is the log's.

        The record file is read twice: first for where each sample's events end, so that only
        samples with events still to come are held in memory. Attempts come in the order in which
        samples end; samples without any event come last, where the samples file has them.

        Raises
        ------
        InputError
            Names file and line: a line that is neither spec, event nor report; a log without
            events.
        """
        survey = _Survey(path, context)
        for number, event in _events(path, first_look(), survey.specs):
            survey.add(event, number)
        survey.settle()
        yield from _attempts(path, context, survey)


FORMAT: Final = OpenAIEvals()


@dataclass(slots=True)
class _Seen:
    """What the first look keeps of a sample."""

    last: int = 0
    tries: int = 0
    names: set[str] = field(default_factory=set[str])


class _Survey:
    """What has to be known of a log before its first attempt can be made."""

    def __init__(self, path: str, context: Context) -> None:
        self.path = path
        self.specs: dict[str, dict[str, Any]] = {}
        self.samples: dict[Key, _Seen] = {}
        self.files: dict[str, SamplesFile | None] = {}  # by run, in order of first event
        self.fields = Fields()
        self._context = context
        self._nameless = 0

    def add(self, event: Mapping[str, Any], number: int) -> None:
        """Look at one event."""
        key = _key(event)
        if key is None:
            self._nameless += 1
            return
        seen = self.samples.setdefault(key, _Seen())
        seen.last = number
        names = _scores(event).keys()
        if names and not (seen.tries and seen.names.isdisjoint(names)):
            seen.tries += 1
            seen.names = set()
        seen.names |= names
        run, sample_id = key
        data = mapping(event["data"])
        if event["type"] == "raw_sample":
            self.fields.learn(metadata(data))
        if run not in self.files:
            self.files[run] = beside_log(self.path, self.specs.get(run, {}), self._context)
        if (file := self.files[run]) is not None:
            file.check(sample_id, event["type"], data)

    def settle(self) -> None:
        """Decide about samples files, and say what concerns the log as a whole."""
        path, context = self.path, self._context
        if not self.samples:
            raise InputError(
                f"{path}: holds no event of any sample, so the run ended before its first; run it "
                "again"
            )
        for run, file in self.files.items():
            if file is None:
                continue
            file.settle()
            if file.reason is not None:
                context.note(
                    f"{file.path}: has the name of the log's samples file, but {file.reason}; it "
                    "is not used."
                )
                self.files[run] = None
        if self._nameless:
            context.note(f"{path}: {self._nameless:,} events name no sample and are left out.")
        if several := sum(seen.tries > 1 for seen in self.samples.values()):
            context.note(
                f"{path}: {several:,} samples were scored several times (turns, or retries); their "
                "scores are numbered as repeats."
            )

    @property
    def repeats(self) -> bool:
        """Whether any sample was scored more than once."""
        return any(seen.tries > 1 for seen in self.samples.values())


def _events(
    path: str, context: Context, specs: dict[str, dict[str, Any]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The events of a file; specs are put aside, reports passed over."""
    for number, value in json_text.lines(path, context):
        record = mapping(value)
        if record.keys() >= _EVENT and isinstance(record["type"], str):
            yield number, record
        elif is_object(spec := record.get("spec")):
            specs[str(spec.get("run_id"))] = spec
        elif "final_report" not in record:
            raise InputError(
                f"{path} line {number}: neither an event, a spec nor a final report of oaieval; "
                "remove it, or name the record file as oaieval wrote it"
            )


def _key(event: Mapping[str, Any]) -> Key | None:
    sample_id = text(event["sample_id"])
    return None if sample_id is None else (str(event["run_id"]), sample_id)


def _scores(event: Mapping[str, Any]) -> dict[str, Any]:
    """The scores an event gives; none for most."""
    data = mapping(event["data"])
    if event["type"] == "match":
        return {"match": data.get("correct")}
    return dict(_flat("metrics", data)) if event["type"] == "metrics" else {}


def _flat(name: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if is_object(inner):
            yield from _flat(f"{name}.{key}", inner)
        else:
            yield f"{name}.{key}", inner


def _attempts(path: str, context: Context, survey: _Survey) -> Iterator[Attempt]:
    open_samples: dict[Key, _Sample] = {}
    repeats = survey.repeats
    for number, event in _events(path, context, survey.specs):
        key = _key(event)
        if key is None:
            continue
        sample = open_samples.setdefault(key, _Sample())
        sample.add(event, number)
        if key not in survey.samples or number > survey.samples[key].last:
            raise InputError(f"{path}: changed while it was read; wait for the run to finish")
        if number == survey.samples[key].last:
            yield from _finished(path, key, open_samples.pop(key), survey, repeats)
    for run, file in survey.files.items():
        if file is None:
            continue
        for sample_id in file.sample_ids():
            if (run, sample_id) not in survey.samples:
                yield _not_run((run, sample_id), file, survey)


@dataclass(slots=True)
class _Try:
    """One scoring of a sample."""

    scores: dict[str, Any] = field(default_factory=dict[str, Any])
    line: int = 0
    post: dict[str, Any] = field(default_factory=dict[str, Any])
    failed: bool = False


class _Sample:
    """A sample in the making, from its first event to its last."""

    def __init__(self) -> None:
        self.tries = [_Try()]
        self.prompt: str | None = None
        self.expected: dict[str, Any] = {}
        self.raw: dict[str, Any] = {}

    def add(self, event: Mapping[str, Any], number: int) -> None:
        """Take in one event; a score that is there already begins another try."""
        kind, data = event["type"], mapping(event["data"])
        scores = _scores(event)
        if not self.tries[-1].scores.keys().isdisjoint(scores):
            self.tries.append(_Try())
        current = self.tries[-1]
        if not current.line or (scores and not current.scores):
            current.line = number
        current.scores |= scores
        post = current.post
        if kind == "sampling":
            self._sampling(data, post)
        elif kind == "match":
            if data.get("expected") is not None:
                self.expected.setdefault("expected", data["expected"])
            _put_short(post, "picked", data.get("picked"))
        elif kind == "error":
            current.failed = True
            post["error"] = text(data.get("message")) or text(data.get("type")) or "unknown"
        elif kind == "raw_sample":
            self.raw = self.raw or data
        elif kind != "metrics":
            post[f"{kind}_events"] = post.get(f"{kind}_events", 0) + 1

    def _sampling(self, data: Mapping[str, Any], post: dict[str, Any]) -> None:
        self.prompt = self.prompt or said(data.get("prompt"))
        post["samplings"] = post.get("samplings", 0) + 1
        reply = single(data.get("sampled"))
        if isinstance(reply, str) and "sampled_chars" not in post:  # a later one may be a grader's
            post |= {"sampled_chars": len(reply), "sampled_words": len(reply.split())}
            _put_short(post, "sampled", reply)
            if is_object(usage := data.get("usage")):
                post["usage"] = usage


def _put_short(post: dict[str, Any], name: str, value: object) -> None:
    answer = single(value)
    if isinstance(answer, str) and len(answer) <= LONG:
        post[name] = answer


def _finished(
    path: str, key: Key, sample: _Sample, survey: _Survey, repeats: bool
) -> Iterator[Attempt]:
    """The attempts at a sample, all of whose events are known."""
    run, sample_id = key
    file = survey.files[run]
    record, fields = sample.raw, survey.fields
    if file is not None:
        record, fields = file.record(sample_id)[1], file.fields
    parts = _parts(record, fields)
    if "ideal" not in parts.derived:
        parts.derived |= sample.expected
    if "input" not in parts.texts and sample.prompt is not None:
        parts.texts["input"] = sample.prompt
    coordinates = _coordinates(survey.specs.get(run, {}), key)
    for count, one in enumerate(sample.tries, 1):
        scored = any(value is not None for value in one.scores.values())
        yield Attempt(
            example=sample_id,
            where=f"{path} line {one.line}",
            line=one.line,
            status="ok" if scored else "error" if one.failed else "unscored",
            scores=one.scores,
            coordinates=coordinates | ({"repeat": str(count)} if repeats else {}),
            facts=parts.facts,
            derived=parts.derived,
            post=one.post,
            texts=parts.texts,
        )


def _not_run(key: Key, file: SamplesFile, survey: _Survey) -> Attempt:
    """A sample the log has no event of."""
    run, sample_id = key
    line, record = file.record(sample_id)
    parts = _parts(record, file.fields)
    return Attempt(
        example=sample_id,
        where=f"{file.path} line {line}",
        line=line,
        status="not_run",
        coordinates=_coordinates(survey.specs.get(run, {}), key),
        facts=parts.facts,
        derived=parts.derived,
        texts=parts.texts,
    )


def _parts(record: Mapping[str, Any], fields: Fields) -> Parts:
    parts = fields.divide(metadata(record))
    if (question := said(record.get("input"))) is not None:
        parts.texts["input"] = question
    if "ideal" in record:
        parts.derived["ideal"] = record["ideal"]
    return parts


def _coordinates(spec: Mapping[str, Any], key: Key) -> dict[str, str]:
    run, sample_id = key
    completions = spec.get("completion_fns", mapping(spec.get("model_name")).get("completions"))
    models = [name for name in items(completions) if isinstance(name, str)]
    found = {
        "task": text(spec.get("eval_name")) or sample_id.rpartition(".")[0],
        "model": ", ".join(models),
        "run": run,
        "split": text(spec.get("split")) or "",
    }
    return {name: value for name, value in found.items() if value}
