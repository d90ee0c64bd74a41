"""promptfoo results: JSON (versions 2 and 3, and tables), JSON Lines and CSV.

However exported, a result is an object with ``success``, ``score``, ``namedScores``, the test and
the provider. Two fields do not mean what they seem to (promptfoo: ``src/evaluator.ts``):
``testIdx`` counts repeats of a test as further tests, and ``promptIdx`` counts pairs of provider
and prompt.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from janus_jax.errors import InputError
from janus_jax.logs import json_text, promptfoo_csv
from janus_jax.logs.attempt import Attempt, Context, Probe, Status
from janus_jax.logs.fields import Fields, first_look
from janus_jax.logs.untyped import is_array, is_object, items, mapping
from janus_jax.readers import opening

_VERSIONS: Final = (2, 3)
_ERROR: Final = 2  # ResultFailureReason.ERROR: provider or grader; 0 is none, 1 an assertion
_UNGRADED: Final = "No assertions"
_RUNNING_COSTS: Final = frozenset(("latency", "cost"))  # assertions that say nothing of the answer
_PRIVATE: Final = "_promptfooFileMetadata"
_OF_A_RESULT: Final = frozenset(
    (
        "failureReason",
        "gradingResult",
        "latencyMs",
        "namedScores",
        "promptId",
        "promptIdx",
        "success",
        "testCase",
        "testIdx",
        "vars",
    )
)

Results: TypeAlias = Iterator[tuple[str, int, dict[str, Any] | None]]
"""Where a result stands, its number, and the result; None where a prompt was not run on a test."""


class Promptfoo:
    """What ``promptfoo eval -o`` and ``promptfoo export`` write."""

    NAME: Final = "promptfoo"
    OUTCOME_OPTION: Final = "--metric"

    def recognises(self, probe: Probe) -> bool:
        """A document with results, a result a line, or CSV with blocks of result columns."""
        if probe.members or os.path.isdir(probe.path):
            return False
        beginning = json_text.probe_head(probe.head)
        return (
            _is_document(beginning) or _is_result(beginning) or promptfoo_csv.is_export(probe.head)
        )

    def read(self, path: str, context: Context) -> Iterator[Attempt]:
        """One attempt per result.

        Raises
        ------
        InputError
            For results of a version that is not known, or older ones of which it cannot be told
            which belong to the same test.
        """
        with opening.open_binary(path) as raw:
            head = opening.read_head(raw, path)
        if _is_document(json_text.probe_head(head)):
            return _of_document(path, context)
        if promptfoo_csv.is_export(head):
            return _attempts(lambda given: _of_csv(path, given), context, path)
        return _attempts(lambda given: _of_lines(path, given), context, path)


FORMAT: Final = Promptfoo()


def _is_result(value: object) -> bool:
    return is_object(value) and len(_OF_A_RESULT & value.keys()) >= 3


def _is_document(value: object) -> bool:
    if not is_object(value):
        return False
    results = value.get("results")
    if is_object(results):
        rows = items(results.get("results"))
        return _is_table(results.get("table")) or (
            all(_is_result(row) for row in rows[:1])
            and "version" in results
            and bool({"results", "prompts", "timestamp", "stats"} & results.keys())
        )
    if is_array(results):  # before version 1
        return any(_is_result(row) for row in results[:1])
    return _is_table(value) or _is_table(value.get("table"))


def _is_table(value: object) -> bool:
    return is_object(value) and {"prompts", "vars"} <= mapping(value.get("head")).keys()


# --- where results stand --------------------------------------------------------------------------


def _of_lines(path: str, context: Context) -> Results:
    for line, value in json_text.lines(path, context):
        where = f"{path} line {line}"
        yield where, line, _object(value, where)


def _of_csv(path: str, context: Context) -> Results:
    for line, result in promptfoo_csv.results(path, context):
        yield f"{path} line {line}", line, result


def _of_document(path: str, context: Context) -> Iterator[Attempt]:
    fields, rows = json_text.document(path, first_look(), "results.results")
    results = fields.get("results")
    if is_array(results):
        raise _too_old(path, "results is a list")
    if not is_object(results):
        at = "table.body" if _is_table(fields.get("table")) else "body"
        return _attempts(lambda given: _of_table(path, at, given), context, path)
    version = results.get("version")
    if version not in _VERSIONS:
        if isinstance(version, int) and version > max(_VERSIONS):
            raise InputError(
                f"{path}: results of version {version}, and versions 2 and 3 are known; export "
                "them as JSON Lines (-o results.jsonl) or CSV"
            )
        raise _too_old(path, f"version {version}")
    if _is_table(results.get("table")) and not all(_has_index(row) for row in rows):
        at = "results.table.body"
        return _attempts(lambda given: _of_table(path, at, given), context, path)
    return _attempts(lambda given: _of_results(path, given), context, path, results.get("stats"))


def _too_old(path: str, found: str) -> InputError:
    return InputError(
        f"{path}: an export older than version 2 ({found}); export the evaluation again with a "
        "present promptfoo (promptfoo export eval ID -o results.json)"
    )


def _has_index(value: object) -> bool:
    return isinstance(mapping(value).get("testIdx"), int)


def _of_results(path: str, context: Context) -> Results:
    _, rows = json_text.document(path, context, "results.results")
    for number, value in enumerate(rows, 1):
        where = f"{path} result {number:,}"
        yield where, number, _object(value, where)


def _of_table(path: str, at: str, context: Context) -> Results:
    """The cells of a table as results; a line is a test, a column a provider and prompt."""
    fields, body = json_text.document(path, context, at)
    table = fields
    for step in at.split(".")[:-1]:
        table = mapping(table.get(step))
    head = mapping(table.get("head"))
    prompts, names = items(head.get("prompts")), items(head.get("vars"))
    for number, value in enumerate(body, 1):
        where = f"{path} table row {number:,}"
        if not is_object(value):
            raise _too_old(path, "its table holds lists")
        outputs = value.get("outputs")
        if not is_array(outputs):
            raise InputError(f"{where}: has no outputs; export the results again")
        values = items(value.get("vars"))
        test = value.get("test") or {"vars": dict(zip(names, values, strict=False))}
        for index, cell in enumerate(outputs):
            if cell is None:
                yield where, number, None
                continue
            output = _object(cell, where)
            column = mapping(prompts[index]) if index < len(prompts) else {}
            label = output.get("provider") or column.get("provider")
            yield (
                where,
                number,
                output
                | {
                    "success": output.get("pass"),
                    "testIdx": value.get("testIdx", number - 1),
                    "promptIdx": index,
                    "testCase": test,
                    "provider": {"label": label},
                    "prompt": {"raw": output.get("prompt")},
                    "response": {"output": output.get("text")},
                },
            )


# --- results as attempts --------------------------------------------------------------------------


class _Examples:
    """Which tests are the same example: those with the same content are repeats of it."""

    def __init__(self) -> None:
        self._tests: dict[bytes, list[int]] = {}
        self._known: dict[int, tuple[str, str]] = {}
        self.repeated = 0

    def place(self, test: int, case: Mapping[str, Any]) -> tuple[str, str]:
        """Example and repeat of a test; the same for all its results.

        An example is called after its first test and a digest of its variables, so that files of
        different evaluations are not mixed up.
        """
        if test in self._known:
            return self._known[test]
        content = json.dumps(case, sort_keys=True, default=str).encode()
        tests = self._tests.setdefault(hashlib.sha256(content).digest()[:16], [])
        self.repeated += bool(tests)
        tests.append(test)
        place = f"{tests[0]}-{_digest(case)}", str(len(tests) - 1)
        self._known[test] = place
        return place


def _digest(case: Mapping[str, Any]) -> str:
    """Of description and variables as text, which every kind of export has."""
    texts = {name: _text(value) for name, value in mapping(case.get("vars")).items()}
    content = [_text(case.get("description")), {k: v for k, v in texts.items() if v}]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]


def _text(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, sort_keys=True)


class _Unindexed:
    """Numbers results that say neither test nor prompt, which only one column of them allows."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._column: object = None
        self._next = 0

    def number(self, result: Mapping[str, Any]) -> int:
        """The test of a result: its place."""
        column = _model(result), mapping(result.get("prompt")).get("label")
        if self._next and column != self._column:
            raise InputError(
                f"{self._path}: results of several providers or prompts without testIdx, so it "
                "cannot be told which belong to the same test; export the evaluation again with a "
                "present promptfoo (promptfoo export eval ID -o results.json)"
            )
        self._column = column
        self._next += 1
        return self._next - 1


def _attempts(
    results: Callable[[Context], Results], context: Context, path: str, stats: object = None
) -> Iterator[Attempt]:
    """All attempts of a file, which is looked through once to tell long texts from facts."""
    fields = Fields()
    unindexed = _Unindexed(path)
    for where, _, result in results(first_look()):
        if result is not None:
            case = _case(result, where)
            fields.learn(_described(case))
            if not _has_index(result):
                unindexed.number(result)  # stops where that is not possible
    return _second_look(results(context), fields, context, path, stats)


def _second_look(
    results: Results, fields: Fields, context: Context, path: str, stats: object
) -> Iterator[Attempt]:
    examples = _Examples()
    unindexed = _Unindexed(path)
    seen: Counter[str] = Counter()
    for where, line, result in results:
        seen["results"] += 1
        if result is None:
            seen["blank"] += 1
            continue
        case = _case(result, where)
        index = result["testIdx"] if _has_index(result) else unindexed.number(result)
        example, repeat = (
            examples.place(index, case) if _has_index(result) else (f"{index}-{_digest(case)}", "0")
        )
        status = _status(result, where, seen)
        parts = fields.divide(_described(case))
        if isinstance(prompt := mapping(result.get("prompt")).get("raw"), str):
            parts.texts["prompt"] = prompt
        model = _model(result)
        yield Attempt(
            example=example,
            where=where,
            line=line,
            status=status,
            scores=_scores(result, where) if status == "ok" else {},
            coordinates={
                **({} if model is None else {"model": model}),
                "prompt": str(result.get("promptIdx", 0)),
                "repeat": repeat,
            },
            facts=parts.facts,
            derived=parts.derived,
            post=_known_after(result, case),
            texts=parts.texts,
        )
    if not seen["results"]:
        raise InputError(f"{path}: holds no results; was anything evaluated?")
    _notes(seen, examples, context, path)
    _compare(stats, seen["results"], context, path)


def _case(result: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The test of a result; older results have only its variables."""
    case: Any = result.get("testCase")
    if case is None:
        return {"vars": result.get("vars") or {}}
    return _object(case, where)


def _described(case: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a test before it is run."""
    metadata = mapping(case.get("metadata"))
    described: dict[str, Any] = {
        "vars": mapping(case.get("vars")),
        "metadata": {name: value for name, value in metadata.items() if name != _PRIVATE},
    }
    if isinstance(case.get("description"), str):
        described["description"] = case["description"]
    return described


def _model(result: Mapping[str, Any]) -> str | None:
    """The provider's label, as two providers can share an id."""
    provider = result.get("provider")
    if is_object(provider):
        provider = provider.get("label") or provider.get("id")
    return provider if isinstance(provider, str) and provider else None


def _status(result: Mapping[str, Any], where: str, seen: Counter[str]) -> Status:
    """What became of a result.

    ``failureReason`` decides where there is one. Without it, an ``error`` with no grading result is
    an error; with one it is not, as failed assertions fill ``error`` too.
    """
    success = result.get("success")
    if not isinstance(success, bool):
        raise InputError(f"{where}: success is neither true nor false; export the results again")
    reason = result.get("failureReason")
    graded = result.get("gradingResult")
    error = result.get("error")
    if reason is None:
        if error and not is_object(graded):
            return "error"
        seen["doubtful"] += bool(error) and not success
    elif reason == _ERROR:
        return "error"
    elif reason not in (0, 1):
        raise InputError(
            f"{where}: failureReason is {reason!r}, and 0, 1 and 2 are known; export the results "
            "as CSV"
        )
    else:
        seen["unexplained"] += reason == 0 and not success
    if is_object(graded):
        if graded.get("reason") == _UNGRADED:
            seen["ungraded"] += 1
            return "unscored"
        kinds, failed = _assertions(graded)
        seen["costed"] += bool(kinds & _RUNNING_COSTS)
        seen["cost_alone"] += not success and bool(failed) and failed <= _RUNNING_COSTS
    return "ok"


def _assertions(graded: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Kinds of the assertions, and of those that failed; sets of assertions are opened."""
    kinds: set[str] = set()
    failed: set[str] = set()
    waiting = items(graded.get("componentResults"))[:]
    while waiting:
        component = mapping(waiting.pop())
        if inner := items(component.get("componentResults")):
            waiting.extend(inner)
            continue
        kind = str(mapping(component.get("assertion")).get("type"))
        kinds.add(kind)
        if component.get("pass") is False:
            failed.add(kind)
    return kinds, failed


def _scores(result: Mapping[str, Any], where: str) -> dict[str, Any]:
    scores: dict[str, Any] = {"success": result["success"]}
    if "score" in result:
        scores["score"] = result["score"]
    named = _object(result.get("namedScores") or {}, f"{where} (namedScores)")
    for name, value in named.items():
        scores[f"namedScores.{name}"] = value
    return scores


def _known_after(result: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Any]:
    """The reply, its costs, and what the provider added to the test's metadata."""
    post = {
        name: result[name]
        for name in ("latencyMs", "cost", "tokenUsage", "error")
        if result.get(name) is not None
    }
    reply = mapping(result.get("response"))
    post |= {name: reply[name] for name in ("output", "finishReason", "cached") if name in reply}
    grading = mapping(result.get("gradingResult"))
    post |= {name: grading[name] for name in ("reason",) if name in grading}
    before = mapping(case.get("metadata"))
    added = {
        name: value
        for name, value in mapping(result.get("metadata")).items()
        if name != _PRIVATE and name not in before
    }
    return {**post, "metadata": added} if added else post


# --- what to say ----------------------------------------------------------------------------------


def _notes(seen: Counter[str], examples: _Examples, context: Context, path: str) -> None:
    said: Iterable[tuple[int, str]] = (
        (
            seen["ungraded"],
            "results of tests without assertions pass whatever the model says; they are unscored.",
        ),
        (
            seen["doubtful"],
            "failed results have an error text, a grading result and no failureReason; they are "
            "left as failed.",
        ),
        (
            seen["unexplained"],
            "results failed without a failed assertion or an error (an empty reply, say; "
            "failureReason 0); they are left as failed.",
        ),
        (
            seen["costed"],
            f"results have latency or cost assertions, which `success` includes; "
            f"{seen['cost_alone']:,} failed by those alone. A named score judges one criterion.",
        ),
        (
            seen["blank"],
            "results are blank, as that prompt was not run on that test.",
        ),
        (
            examples.repeated,
            "tests have the content of an earlier one; they are read as repeats of it.",
        ),
    )
    for count, words in said:
        if count:
            context.note(f"{path}: {count:,} {words}")


def _compare(stats: object, results: int, context: Context, path: str) -> None:
    """Say where the file counts other results than it holds (a filtered export, say)."""
    counted = [mapping(stats).get(name) for name in ("successes", "failures", "errors")]
    whole = [count for count in counted if isinstance(count, int)]
    if len(whole) == len(counted) and sum(whole) != results:
        context.note(
            f"{path}: its stats count {sum(whole):,} results and it holds {results:,}; was it "
            "filtered?"
        )


def _object(value: object, where: str) -> dict[str, Any]:
    if not is_object(value):
        raise InputError(f"{where}: no object, as a promptfoo result has there; export it again")
    return value
