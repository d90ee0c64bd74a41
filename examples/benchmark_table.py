"""What the benchmark recipes share: the replies, the table and the command line.

A recipe (``musique.py``, ``longbench_v2.py``) says how its benchmark is read, what makes an example
unfit, its facts, and when a reply is wrong.
"""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from json_records import add, json_lines, text

from janus_jax import InputError

Cell = str | int | float | bool
Row = dict[str, Cell]
"""Facts about an example: column to value."""
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Recipe(Generic[E]):
    """A benchmark, as far as its table needs it.

    Attributes
    ----------
    read
        A path to the examples by id, in file order.
    unfit
        Why an example is left out ("not answerable"), or None.
    facts
        The columns of an example that descriptors are made of.
    wrong
        Whether a reply to an example is wrong.
    remark
        What is noteworthy about a reply that counts all the same ("blank"), or None.
    audit
        The options of ``janus-jax audit`` that go with the table.
    """

    read: Callable[[str], Mapping[str, E]]
    unfit: Callable[[E], str | None]
    facts: Callable[[E], Row]
    wrong: Callable[[E, str], bool]
    remark: Callable[[str], str | None]
    audit: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of ``id``, facts and ``wrong``; how many examples were left out, by reason; remarks."""

    rows: list[Row]
    left_out: Counter[str]
    remarks: Counter[str]


def tabulate(recipe: Recipe[E], examples: Mapping[str, E], replies: Mapping[str, str]) -> Table:
    """A row for each fit example that has a reply, in the benchmark's order."""
    table = Table([], Counter(), Counter())
    for name, example in examples.items():
        reason = recipe.unfit(example) or (None if name in replies else "without a reply")
        if reason is not None:
            table.left_out[reason] += 1
            continue
        reply = replies[name]
        if (remark := recipe.remark(reply)) is not None:
            table.remarks[remark] += 1
        facts = recipe.facts(example)
        table.rows.append({"id": name, **facts, "wrong": recipe.wrong(example, reply)})
    return table


def read_replies(path: str, known: Mapping[str, object], benchmark: str) -> dict[str, str]:
    """Replies by id, from JSON Lines with ``id`` and ``reply``; other fields are ignored.

    Raises
    ------
    InputError
        A line is not such an object, its id is none of ``known``, or it repeats one.
    """
    replies: dict[str, str] = {}
    for where, record in json_lines(path):
        name, reply = text(record, "id", where), text(record, "reply", where)
        if name not in known:
            raise InputError(f"{where}: {benchmark} has no example {name!r}; is it the right file?")
        add(replies, name, reply, where)
    return replies


def run(recipe: Recipe[E], about: str | None, argv: Sequence[str] | None = None) -> int:
    """The command line of a recipe; returns the exit status: 0, or 2 for wrong input."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("benchmark", help="the public file, as published")
    parser.add_argument("replies", help='JSON Lines: {"id": "...", "reply": "..."}')
    parser.add_argument("--out", required=True, metavar="CSV", help="the table to write")
    options = parser.parse_args(argv)
    try:
        _check_target(options.out, (options.benchmark, options.replies))
        examples = recipe.read(options.benchmark)
        replies = read_replies(options.replies, examples, options.benchmark)
        table = tabulate(recipe, examples, replies)
        if not table.rows:
            raise InputError(
                f"none of the {len(examples):,} examples of {options.benchmark} can be used: "
                f"{_counts(table.left_out)}"
            )
        _write(options.out, table.rows)
    except InputError as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 2
    wrong = sum(bool(row["wrong"]) for row in table.rows)
    print(
        f"{options.out}: {len(table.rows):,} of the {len(examples):,} examples of "
        f"{options.benchmark}, {wrong:,} of them wrong"
    )
    print(f"left out: {_counts(table.left_out) or 'none'}")
    if table.remarks:
        print(f"counted as wrong: {_counts(table.remarks)}")
    print("audit it with:")
    print(shlex.join(["janus-jax", "audit", options.out, *recipe.audit]))
    return 0


def _check_target(out: str, sources: Sequence[str]) -> None:
    target = Path(out)
    if target.is_dir() or not target.parent.is_dir():
        raise InputError(f"--out {out}: name a file in a folder that exists")
    for source in sources:
        if target.exists() and Path(source).exists() and target.samefile(source):
            raise InputError(f"--out {out} is an input; writing the table would destroy it")


def _write(out: str, rows: Sequence[Row]) -> None:
    try:
        with open(out, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(rows[0])
            writer.writerows([_cell(value) for value in row.values()] for row in rows)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from error


def _cell(value: Cell) -> Cell:
    return str(value).lower() if isinstance(value, bool) else value


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counted.items())
