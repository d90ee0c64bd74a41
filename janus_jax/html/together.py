"""Which documents may share a page: one audit, and what belongs to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from janus_jax import __version__
from janus_jax.errors import InputError
from janus_jax.folders import COMPARISON
from janus_jax.report import Document

KINDS: Final = ("audit", "replay", "power", "sensitivity")
"""The documents that a page can show, by their commands."""

_NEEDED: Final = {
    "comparison": (
        *("data", "plan", "rule", "models", "co_errors", "differences", "findings", "warnings"),
        *("notes", "run"),
    ),
    "audit": (
        *("data", "plan", "rule", "screen", "methods", "ablation", "descriptors", "not_used"),
        *("warnings", "notes", "run"),
    ),
    "replay": ("data", "plan", "L", "replays", "rules", "warnings", "notes", "run"),
    "power": ("design", "asked", "repetitions", "cells", "targets", "gate", "warnings", "notes"),
    "sensitivity": ("data", "plan", "splits", "overall", "rules", "warnings", "notes"),
}

_NOT_COMPARED: Final = ("hash", "planned", "frozen_before_outcomes", "permutations")
"""Of a plan: what is about a file, and what a command may set for itself."""


def kind_of(document: Any, name: str) -> str:
    """Which command made a document.

    Parameters
    ----------
    document
        What a JSON file holds.
    name
        The file, for messages.

    Raises
    ------
    InputError
        It is no result that a page can show, or not a whole one.
    """
    found: object = (
        cast("dict[str, Any]", document).get("schema") if isinstance(document, dict) else None
    )
    kind = next((k for k in KINDS if found == f"janus-jax/{k}/1"), None)
    if kind is None:
        what = f"has the schema {found!r}" if found else "has no schema of janus-jax"
        kinds = "|".join((*KINDS, "comparison"))
        if isinstance(found, str) and re.fullmatch(rf"janus-jax/({kinds})/\d+", found):
            what += f", but janus-jax {__version__} reads version 1: another version wrote it"
        raise InputError(
            f"{name} {what}; a report is made of the JSON of `janus-jax audit`, and with it of "
            "`replay`, `power` or `sensitivity`"
        )
    if missing := [key for key in _NEEDED[kind] if key not in document]:
        raise InputError(_not_whole(name, missing[0], kind))
    return kind


def _not_whole(name: str, key: str, command: str) -> str:
    return (
        f"{name} lacks {key!r}: it is no whole result of `janus-jax {command}`; run that again "
        "with --json"
    )


def is_comparison(documents: Sequence[tuple[str, Any]]) -> bool:
    """Whether there is one document, that of several models.

    Parameters
    ----------
    documents
        Names for messages, such as those of files, and what these hold.

    Raises
    ------
    InputError
        It is not alone, or not whole.
    """
    for name, document in documents:
        if not isinstance(document, dict):
            continue
        content = cast("dict[str, Any]", document)
        if content.get("schema") != COMPARISON:
            continue
        if len(documents) > 1:
            raise InputError(
                f"{name} is the audit of several models, which has a page of its own; replays, "
                "power and splits go with the audit of one: name the result.json in its folder"
            )
        if missing := [key for key in _NEEDED["comparison"] if key not in content]:
            raise InputError(_not_whole(name, missing[0], "audit"))
        return True
    return False


def together(documents: Iterable[tuple[str, Any]]) -> dict[str, dict[str, Any]]:
    """Documents that may share a page, by the commands that made them.

    Parameters
    ----------
    documents
        Names for messages, such as those of files, and what these hold.

    Raises
    ------
    InputError
        A document is of no kind that a page shows, or of one that is there already; there is no
        audit; or a document is of other data or another plan than the audit.
    """
    found: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for name, document in documents:
        kind = kind_of(document, name)
        if kind in found:
            raise InputError(
                f"{names[kind]} and {name} are both results of `janus-jax {kind}`; a report shows "
                "one of each"
            )
        found[kind], names[kind] = document, name
    if "audit" not in found:
        raise InputError(
            f"a report is about an audit, and there is none among {', '.join(names.values())}; add "
            "the result.json of `janus-jax audit`"
        )
    for kind in ("replay", "sensitivity"):
        if kind in found and (differs := _difference(found["audit"], found[kind])):
            raise InputError(
                f"{names[kind]} does not belong to {names['audit']}: {differs}; run "
                f"`janus-jax {kind}` on the audit's data, with its options"
            )
    return found


def _difference(audit: Document, other: Document) -> str | None:
    """In what a document is of another audit; None when it is of this one."""
    ours, theirs = audit["data"]["sha256"], other["data"]["sha256"]
    if ours != theirs:
        return f"its data have sha256 {theirs[:12]}, the audit's {ours[:12]}"
    for key in sorted(audit["plan"].keys() & other["plan"].keys() - set(_NOT_COMPARED)):
        mine, its = audit["plan"][key], other["plan"][key]
        if mine != its:
            return f"its plan has {key} = {json.dumps(its)}, the audit's {json.dumps(mine)}"
    return None


def same_design(audit: Document, power: Document) -> bool:
    """Whether a power study is of the audit's own sizes, library, rule and limits."""
    design, data, plan = power["design"], audit["data"], audit["plan"]
    sizes = (data["discovery"]["n"], (data["holdout"] or {"n": 0})["n"], audit["screen"]["L"])
    limits = ("q", "statistic", "min_holdout_lift", "rule")
    return sizes == (design["n_discovery"], design["n_holdout"], design["library"]) and all(
        design[limit] == plan[limit] for limit in limits
    )
