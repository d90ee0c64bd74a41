"""The recipes as modules, and records with exactly the fields of the public files."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


def module(name: str) -> ModuleType:
    """Import an example as it is when run as a script: its folder first on the path."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(EXAMPLES))


def musique_record(
    name: str = "2hop__1_2",
    *,
    answer: str = "Steve Hillage",
    aliases: Sequence[str] = (),
    support: Iterable[int] = (2, 5),
    paragraphs: int = 20,
    hops: int = 2,
    question: str = "Who is the spouse of the Green performer?",
    answerable: bool = True,
) -> dict[str, Any]:
    """A line of ``musique_ans_v1.0_dev.jsonl``."""
    places = set(support)
    return {
        "id": name,
        "paragraphs": [
            {
                "idx": i,
                "title": f"Title {i}",
                "paragraph_text": f"Text {i}.",
                "is_supporting": i in places,
            }
            for i in range(paragraphs)
        ],
        "question": question,
        "question_decomposition": [
            {"id": i, "question": "?", "answer": "!", "paragraph_support_idx": 0}
            for i in range(hops)
        ],
        "answer": answer,
        "answer_aliases": list(aliases),
        "answerable": answerable,
    }


def longbench_record(
    name: str = "66f36490821e116aacb2cc22",
    *,
    options: Sequence[str] = ("red", "green", "blue", "white"),
    answer: str = "A",
    context: str = "The sky is blue.",
    question: str = "Which colour is it?",
    sub_domain: str = "Financial",
    domain: str = "Single-Document QA",
) -> dict[str, Any]:
    """An element of ``data.json``."""
    return {
        "_id": name,
        "domain": domain,
        "sub_domain": sub_domain,
        "difficulty": "easy",
        "length": "short",
        "question": question,
        **{f"choice_{letter}": text for letter, text in zip("ABCD", options, strict=True)},
        "answer": answer,
        "context": context,
    }


def write_lines(path: Path, records: Iterable[object]) -> Path:
    """JSON Lines."""
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_list(path: Path, records: Iterable[object]) -> Path:
    """One JSON list over several lines, as the public file is."""
    path.write_text(json.dumps(list(records), indent=2), encoding="utf-8")
    return path


def replies(path: Path, said: dict[str, str]) -> Path:
    """Replies by id as JSON Lines."""
    return write_lines(path, [{"id": name, "reply": reply} for name, reply in said.items()])
