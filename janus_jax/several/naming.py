"""What models are called, in tables and among other names."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from janus_jax.cells import called


def short_names(document: Mapping[str, Any]) -> dict[str, str]:
    """What each model is called in tables: without the words that all their names begin with.

    ``correct_gpt4`` and ``correct_claude`` are ``gpt4`` and ``claude``.
    """
    names = [model["name"] for model in document["models"]]
    alike = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    shared = "".join(column[0] for column in alike)
    begin = max((shared.rfind(mark) for mark in "_-/.: ="), default=-1) + 1
    if begin in map(len, names):  # nothing would be left of one
        begin = 0
    return {name: called(name[begin:]) for name in names}
