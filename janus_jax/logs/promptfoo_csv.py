"""promptfoo's CSV export: a line per test, a block of columns per provider and prompt.

The blocks repeat their column names (``Status``, ``Score`` ...), so they are told apart by position
(promptfoo: ``src/util/eval/evalTableUtils.ts``). Each block becomes a result as the JSON export has
it, with less in it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from janus_jax.errors import InputError
from janus_jax.logs import json_text
from janus_jax.logs.attempt import Context
from janus_jax.readers import opening
from janus_jax.readers.opening import TextFile

_STATUS: Final = {"PASS": 0, "FAIL": 1, "ERROR": 2}  # with the failureReason each stands for
_AFTER_SCORE: Final = ("Named Scores", "Grader Reason", "Comment")
_METRIC: Final = "Metric: "
_LABEL: Final = re.compile(r"\[(?P<provider>.*?)\] (?P<prompt>.*)", re.DOTALL)
_OLD_VERDICT: Final = re.compile(r"\[(PASS|FAIL|ERROR)\]")
_TEST_METADATA: Final = ("pluginId", "strategyId")  # red-team columns that describe the test


@dataclass(frozen=True, slots=True)
class _Block:
    """The columns of one provider and prompt: its first, where each field is, its provider."""

    start: int
    fields: dict[str, int]
    provider: str | None


def is_export(head: bytes) -> bool:
    """Whether a file begins like a CSV export, of the present kind or the older one."""
    records = csv.reader(io.StringIO(head.decode("utf-8", "replace").lstrip("\ufeff"), newline=""))
    try:
        beginning = [record for record, _ in zip(records, range(2), strict=False)]
    except csv.Error:
        return False
    header, first = [*beginning, [], []][:2]
    return bool(_blocks(header)[0]) or _is_old(header, first)


def results(path: str, context: Context) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The results of all lines, block by block, with the line each begins in.

    None stands for a block that is blank: that prompt was not run on that test.

    Raises
    ------
    InputError
        Names the line: a record of another length than the header, a quote that does not close, a
        status or score that is none. Also for the older export, which hides the verdict in the
        reply's text.
    """
    raw = opening.open_binary(path)
    with closing(raw):
        head = opening.read_head(raw, path)
        opening.refuse_foreign(head, path)
        file = TextFile(raw, head, path, encoding="utf-8", hasher=context.hasher, newline="")
        try:
            yield from _results(file, path, context)
        except UnicodeDecodeError as error:
            raise file.undecodable(error) from None


def _results(
    file: TextFile, path: str, context: Context
) -> Iterator[tuple[int, dict[str, Any] | None]]:
    records = _records(file, path)
    nothing: tuple[int, list[str]] = (1, [])
    _, header = next(records, nothing)
    header[:1] = [name.lstrip("\ufeff") for name in header[:1]]
    blocks, before, after = _blocks(header)
    if not blocks:
        raise InputError(
            f"{path}: an older CSV export, with the verdict inside the reply's text; export the "
            "results as JSON (promptfoo export eval ID -o results.json)"
        )
    context.note(f"{path}: promptfoo rounds the scores of a CSV export to two decimals.")
    for test, (line, record) in enumerate(records):
        if len(record) != len(header):
            raise InputError(
                f"{path} line {line}: has {len(record):,} fields where the header has "
                f"{len(header):,}; export it again (as JSON, if tables were compared)"
            )
        case = _case(header, record, before, after)
        for index, block in enumerate(blocks):
            result = _result(record, block, f"{path} line {line}")
            if result is not None:
                result |= {"testIdx": test, "promptIdx": index, "testCase": case}
            yield line, result


def _records(file: TextFile, path: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(file.text, strict=True)
    start = 1
    try:
        for record in reader:
            if record:  # a blank line has no field
                yield start, record
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path} line {start}: the record that begins here is not CSV ({error}); export it "
            "again, or as JSON"
        ) from None


def _is_old(header: list[str], first: list[str]) -> bool:
    return any(
        _LABEL.fullmatch(name) and _OLD_VERDICT.match(value)
        for name, value in zip(header, first, strict=False)
    )


def _blocks(header: list[str]) -> tuple[list[_Block], int, int]:
    """The blocks, and the columns before the first and after the last of them."""
    blocks: list[_Block] = []
    at = 0
    end = 0
    while at + 3 < len(header):
        if header[at + 1 : at + 3] != ["Status", "Score"] or header[at + 3] not in _AFTER_SCORE:
            at += 1
            continue
        fields = {"output": at, "Status": at + 1, "Score": at + 2}
        end = at + 3
        while end < len(header) and _belongs(header[end]) and header[end] not in fields:
            fields[header[end]] = end
            end += 1
        label = _LABEL.fullmatch(header[at])
        blocks.append(_Block(at, fields, label["provider"] if label else None))
        at = end
    return blocks, blocks[0].start if blocks else 0, end


def _belongs(name: str) -> bool:
    return name in _AFTER_SCORE or name.startswith(_METRIC)


def _case(header: list[str], record: list[str], before: int, after: int) -> dict[str, Any]:
    """Description and variables of the test, and what a red-team export adds at the end."""
    named = dict(zip(header[:before], record[:before], strict=True))
    case: dict[str, Any] = {}
    if header[:1] == ["Description"] and before > 0:
        case["description"] = named.pop("Description")
    case["vars"] = named
    metadata = {
        name: value
        for name, value in zip(header[after:], record[after:], strict=True)
        if name in _TEST_METADATA
    }
    if metadata:
        case["metadata"] = metadata
    return case


def _result(record: list[str], block: _Block, where: str) -> dict[str, Any] | None:
    fields = {name: record[at] for name, at in block.fields.items()}
    if not any(fields.values()):
        return None
    status = fields["Status"]
    if status not in _STATUS:
        raise InputError(f"{where}: Status is {status!r}, not PASS, FAIL or ERROR; export it again")
    named: Any = {}
    if fields.get("Named Scores"):
        named = json_text.parse(fields["Named Scores"], f"{where} (Named Scores)")
    reason = fields.get("Grader Reason", "")
    return {
        "success": status == "PASS",
        "failureReason": _STATUS[status],
        "score": _number(fields["Score"], where),
        "namedScores": named,
        "gradingResult": {"reason": reason} if reason else None,
        "provider": {"label": block.provider},
        "response": {"output": fields["output"]},
    }


def _number(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where}: Score is {text!r}, not a number; export it again") from None
