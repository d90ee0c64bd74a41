"""The samples file of an OpenAI eval: the only place where facts of its examples can stand.

Every eval calls this file ``samples.jsonl``, so a file of that name beside a log proves nothing. It
is used only when the log confirms it: the numbers of all its samples exist there, and wherever the
log has a sample's expected answer or its prompt, the file has the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from janus_jax.logs import beside, json_text
from janus_jax.logs.attempt import Context
from janus_jax.logs.fields import Fields
from janus_jax.logs.untyped import is_array, items, mapping, text


def metadata(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A sample without the two fields every eval has."""
    return {key: value for key, value in sample.items() if key not in ("input", "ideal")}


def said(prompt: object) -> str | None:
    """A prompt's text: a string in 2023, a list of messages later."""
    if isinstance(prompt, str):
        return prompt
    parts = [text(mapping(message).get("content")) for message in items(prompt)]
    return "\n".join(part for part in parts if part is not None) or None


def single(value: object) -> object:
    """A list of one as its element: oaieval writes both for the same."""
    return value[0] if is_array(value) and len(value) == 1 else value


class SamplesFile:
    """A file that may be the samples file of a run.

    Attributes
    ----------
    path
        Where it is.
    fields
        What is known of its fields.
    reason
        Why it is not the run's; None as long as nothing speaks against it.
    """

    def __init__(self, path: str, context: Context) -> None:
        self.path = path
        self.fields = Fields()
        self.reason: str | None = None
        self._records: list[tuple[int, dict[str, Any]]] = []
        self._prefix: str | None = None
        self._asked: set[str] = set()
        self._confirmed = False
        for number, value in json_text.lines(path, context):
            record = mapping(value)
            self._records.append((number, record))
            self.fields.learn(metadata(record))

    def check(self, sample_id: str, kind: str, data: Mapping[str, Any]) -> None:
        """Compare an event of the log with the file.

        Only a sample's first prompt is compared: a later one may be a grader's.
        """
        self.reason = self.reason or self._fault(sample_id, kind, data)

    def _fault(self, sample_id: str, kind: str, data: Mapping[str, Any]) -> str | None:
        prefix, _, index = sample_id.rpartition(".")
        if not (index.isascii() and index.isdecimal() and len(index) < 10):
            return f"the log's sample {sample_id!r} has no number"
        if self._prefix not in (None, prefix):
            return "the log has samples of several evals"
        self._prefix = prefix
        if int(index) >= len(self._records):
            return f"it has {len(self._records):,} samples and the log has {sample_id!r}"
        record = self._records[int(index)][1]
        if kind == "match" and "expected" in data and "ideal" in record:
            if single(data["expected"]) != single(record["ideal"]):
                return f"sample {sample_id!r} has another ideal answer there"
            self._confirmed = True
        if kind == "sampling" and sample_id not in self._asked:
            self._asked.add(sample_id)
            question, prompt = _question(record), said(data.get("prompt"))
            if question is not None and prompt is not None:
                if question not in prompt:
                    return f"sample {sample_id!r} asks something else there"
                self._confirmed = True
        return None

    def settle(self) -> None:
        """Say that the whole log has been compared."""
        if self.reason is None and not self._confirmed:
            self.reason = "nothing in the log confirms that it is that file"

    def record(self, sample_id: str) -> tuple[int, dict[str, Any]]:
        """The line and the record of a sample."""
        return self._records[int(sample_id.rpartition(".")[2])]

    def sample_ids(self) -> Iterator[str]:
        """The ids of all samples, in the file's order."""
        for index in range(len(self._records)):
            yield f"{self._prefix}.{index}"


def _question(sample: Mapping[str, Any]) -> str | None:
    given: object = sample.get("input")
    messages = items(given)
    return text(mapping(messages[-1]).get("content")) if messages else text(given)


def beside_log(path: str, spec: Mapping[str, Any], context: Context) -> SamplesFile | None:
    """The file in a log's folder that has the name of the samples file its spec names.

    No other folder is looked at, whatever the spec says.
    """
    arguments = mapping(mapping(mapping(spec.get("run_config")).get("eval_spec")).get("args"))
    named = text(arguments.get("samples_jsonl"))
    if named is None:
        context.note(
            f"{path}: the log names no samples file, so of its examples only the prompts are known."
        )
        return None
    base = re.split(r"[/\\]", named)[-1]
    at = beside.neighbour(path, base)
    if base == os.path.basename(path) or base not in beside.names(path):
        context.note(
            f"{path}: facts of its examples stand in {named}, which is not in the log's folder; "
            "put a copy there to have them."
        )
        return None
    if not base.endswith(".jsonl") or not os.path.isfile(at):
        reason = "is no JSON Lines file"
    elif os.path.getsize(at) > beside.MAX_BYTES:
        reason = f"is larger than {beside.MAX_BYTES // 2**20} MiB"
    else:
        return SamplesFile(at, context)
    context.note(f"{at}: has the name of the log's samples file, but {reason}; it is not used.")
    return None
