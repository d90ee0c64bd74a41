"""SWE-bench reports: lists of instance ids by outcome, and SWE-bench Pro's ``eval_results.json``.

The official harness (``swebench/harness/reporting.py``, schema 2) and ``sb-cli`` write one object
of counts and ``*_ids`` lists per model and run; SWE-bench Pro an object of ids to true or false.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from janus_jax.errors import InputError
from janus_jax.logs import beside, json_text
from janus_jax.logs.attempt import Attempt, Context, Probe, Status
from janus_jax.logs.untyped import is_array, is_object, mapping

_SCORE: Final = "resolved"

_OUTCOMES: Final[Mapping[str, tuple[Status, bool | None]]] = {
    "resolved_ids": ("ok", True),
    "unresolved_ids": ("ok", False),
    # An empty patch is wrong by the official rule: the model answered, with nothing.
    "empty_patch_ids": ("ok", False),
    "error_ids": ("error", None),
    "failed_ids": ("error", None),  # sb-cli: the evaluation itself failed
    "incomplete_ids": ("not_run", None),
    "pending_ids": ("not_run", None),
}
"""What an id in a list means: its status and its verdict. An instance has one meaning."""

_MEMBERSHIPS: Final = ("submitted_ids", "completed_ids")  # say nothing of the outcome
_ORDER: Final = (*_MEMBERSHIPS, *_OUTCOMES)
_WHY: Final = ("infra_failure_ids", "ambiguous_failure_ids")  # such ids stay unresolved or errors

_INSTANCE: Final = re.compile(r"(?P<owner>.+?)__(?P<repo>.+)-(?P<number>[0-9]+)")
_PRO: Final = re.compile(r"instance_(?P<owner>.+?)__(?P<repo>.+?)-[0-9a-f]{40}(-v.*)?")


class SweBench:
    """Reports of the SWE-bench harness, of sb-cli, and SWE-bench Pro's evaluation results."""

    NAME: Final = "swe-bench"
    OUTCOME_OPTION: Final = "--metric"

    def recognises(self, probe: Probe) -> bool:
        """Id lists with the harness's names, or Pro's ids each with true or false."""
        head = json_text.probe_head(probe.head)
        if not is_object(head) or not head:
            return False
        if _is_report(head):
            return True
        # The beginning may be cut within the last value, which then reads as None.
        whole = [value for value in head.values() if value is not None]
        return (
            len(whole) >= len(head) - 1
            and all(isinstance(value, bool) for value in whole)
            and all(_PRO.fullmatch(key) for key in list(head)[: len(whole)])
        )

    def read(self, path: str, context: Context) -> Iterator[Attempt]:
        """One attempt per instance: submitted ones first, those never run last.

        Raises
        ------
        InputError
            For an id in two outcomes, a list that is none, a count that disagrees with its list,
            or a verdict that is not true or false.
        """
        fields = beside.read_object(path, context)
        if _is_report(fields) or "resolved_ids" in fields:
            return _report(fields, path, context)
        return _pro(fields, path, context)


FORMAT: Final = SweBench()


def _is_report(fields: Mapping[str, Any]) -> bool:
    lists = sum(isinstance(fields.get(name), list) for name in (*_ORDER, *_WHY))
    # A count without its list yet (or ever) still names the tool, together with one list.
    counts = sum(name.endswith("_instances") for name in fields)
    return lists >= 2 or (lists >= 1 and counts >= 3) or counts >= 5


def _report(fields: dict[str, Any], path: str, context: Context) -> Iterator[Attempt]:
    lists = {name: _ids(fields.get(name), name, path) for name in (*_ORDER, *_WHY)}
    _check_counts(fields, lists, path)
    outcomes: dict[str, str] = {}
    for name in _OUTCOMES:
        for instance in lists[name]:
            before = outcomes.setdefault(instance, name)
            if _OUTCOMES[before] != _OUTCOMES[name]:
                raise InputError(
                    f"{path}: instance {instance!r} is in {before} and in {name}, and it has one "
                    "outcome; evaluate it again, or remove it from one of the lists"
                )
    instances = dict.fromkeys(instance for name in _ORDER for instance in lists[name])
    if not instances:
        raise InputError(f"{path}: the report lists no instance; was the run evaluated?")
    _describe(fields, lists, path, context)
    coordinates = _coordinates(fields, path)
    why = {name: set(lists[name]) for name in _WHY}
    reasons = mapping(fields.get("failure_reasons"))
    for line, instance in enumerate(instances, 1):
        name = outcomes.get(instance)
        status, verdict = _OUTCOMES[name] if name is not None else ("unscored", None)
        post: dict[str, Any] = {"outcome": (name or "submitted_ids").removesuffix("_ids")}
        for kind, members in why.items():
            if instance in members:
                post["failure"] = kind.removesuffix("_ids")
        if instance in reasons:
            post["failure_reason"] = reasons[instance]
        yield Attempt(
            example=instance,
            where=f"{path} instance {instance}",
            line=line,
            status=status,
            scores={} if verdict is None else {_SCORE: verdict},
            coordinates=coordinates,
            facts=_facts(instance),
            post=post,
        )
    _note_shapes(list(instances), path, context)


def _ids(value: Any, name: str, path: str) -> list[str]:
    if value is None:
        return []
    if not is_array(value) or not all(isinstance(entry, str) for entry in value):
        raise InputError(f"{path}: {name} is not a list of instance ids; write the report again")
    return value


def _check_counts(fields: Mapping[str, Any], lists: Mapping[str, list[str]], path: str) -> None:
    """Stop where a count and its list disagree: the report was cut or edited."""
    for name in _ORDER:
        key = name.removesuffix("_ids") + "_instances"
        count = fields.get(key)
        if name in fields and isinstance(count, int) and count != len(set(lists[name])):
            raise InputError(
                f"{path}: {key} is {count:,} and {name} holds {len(set(lists[name])):,}; the "
                "report was edited or cut: write it again"
            )


def _describe(
    fields: Mapping[str, Any], lists: Mapping[str, list[str]], path: str, context: Context
) -> None:
    """Say which denominator this is, and what the verdicts hide."""
    submitted = len(set(lists["submitted_ids"]))
    total = fields.get("total_instances")
    resolved = len(set(lists["resolved_ids"]))
    of = f" ({total:,} in the data set)" if isinstance(total, int) else ""
    context.note(
        f"{path}: {resolved:,} resolved of {submitted:,} submitted{of}; instances that were not "
        "run or not evaluated have no outcome: they are not counted as wrong."
    )
    if lists["empty_patch_ids"]:
        context.note(
            f"{path}: {len(lists['empty_patch_ids']):,} empty patches count as wrong, as the "
            "official rule has it."
        )
    blamed = len({*lists["infra_failure_ids"], *lists["ambiguous_failure_ids"]})
    if blamed:
        context.note(
            f"{path}: {blamed:,} failures may be the environment's fault (infra_failure_ids, "
            "ambiguous_failure_ids); they keep the verdict the report gives them."
        )


def _coordinates(fields: Mapping[str, Any], path: str) -> dict[str, str]:
    """The run is the file's name: the report itself says neither model nor run.

    The harness names it ``<model>.<run_id>.json``; both may hold dots, so it stays in one piece.
    """
    coordinates = {"run": os.path.basename(path).removesuffix(".json")}
    for key, name in (("model_name_or_path", "model"), ("run_id", "run")):
        value = fields.get(key)
        if isinstance(value, str) and value:
            coordinates[name] = value
    return coordinates


def _facts(instance: str) -> dict[str, Any]:
    """Repository and number, from ``owner__repo-123`` or Pro's ``instance_owner__repo-<sha>``."""
    if found := _PRO.fullmatch(instance):
        return {"repo": f"{found['owner']}/{found['repo']}"}
    if found := _INSTANCE.fullmatch(instance):
        # Digits without end would not be a number of anything; their text is in the id.
        number = {"number": int(found["number"])} if len(found["number"]) <= 18 else {}
        return {"repo": f"{found['owner']}/{found['repo']}", **number}
    return {}


def _note_shapes(instances: list[str], path: str, context: Context) -> None:
    strange = [instance for instance in instances if not _facts(instance)]
    if strange:
        context.note(
            f"{path}: {len(strange):,} ids (the first: {strange[0]!r}) are not of the shape "
            "owner__repo-123, so nothing is known of their repository."
        )


def _pro(fields: dict[str, Any], path: str, context: Context) -> Iterator[Attempt]:
    if not fields:
        raise InputError(f"{path}: holds no instance; was the run evaluated?")
    context.note(
        f"{path}: {sum(value is True for value in fields.values()):,} resolved of {len(fields):,} "
        "evaluated; instances that are not in the file were not evaluated."
    )
    coordinates = _coordinates({}, path)
    for line, (instance, verdict) in enumerate(fields.items(), 1):
        if not isinstance(verdict, bool):
            raise InputError(
                f"{path}: instance {instance!r} has no verdict true or false; evaluate it again, "
                "or remove it"
            )
        yield Attempt(
            example=instance,
            where=f"{path} instance {instance}",
            line=line,
            scores={_SCORE: verdict},
            coordinates=coordinates,
            facts=_facts(instance),
        )
    _note_shapes(list(fields), path, context)
