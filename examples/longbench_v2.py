"""LongBench v2: choose the eligible questions, score replies and make the table to audit.

    python examples/longbench_v2.py data.json replies.jsonl --out longbench_v2.csv

takes the public file (https://huggingface.co/datasets/THUDM/LongBench-v2) and replies of yours,
``{"id": ..., "reply": ...}`` a line with the question's ``_id``, and prints the command that audits
the table. Which questions are eligible is as in *Measurement Under Selection* (arXiv 2606.09046).
Of its descriptors that paper names only the kinds: context size, question type, option overlap,
entity and number densities, domain metadata. The columns here follow these kinds but are this
recipe's own; results on them are not the paper's.

``gold_option`` and ``gold_is_longest`` look at the gold answer; ``domain``, ``sub_domain``,
``difficulty`` and ``length`` are the benchmark's own labels (``difficulty`` may rest on how people
and models did: ``--exclude difficulty`` leaves it out); the rest is counted in the texts. The whole
file is held in memory.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from benchmark_table import Recipe, Row, run
from json_records import Record, add, json_list, text

LETTERS: Final = ("A", "B", "C", "D")
MAX_WORDS: Final = 30_000
MAX_CHARACTERS: Final = 120_000
LABELS: Final = ("domain", "sub_domain", "difficulty", "length")
"""Fields that go into the table as they are."""

NUMERIC: Final = (
    "context_words",
    "context_characters",
    "question_words",
    "option_words",
    "option_overlap",
    "options_in_context",
    "capitalised_per_1000_words",
    "numbers_per_1000_words",
)

_TYPES = ("what", "which", "who", "whom", "whose", "when", "where", "why", "how")
_NEGATIONS = frozenset(("not", "except", "false", "incorrect", "incorrectly", "wrong", "untrue"))
_NOT = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_OPENING = "\"'([\u201c\u2018"
_CLOSING = "\"')]\u201d\u2019"
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_STATED = re.compile(r"The correct answer is (?:\(([A-D])\)|([A-D])\b)")
_ALONE = re.compile(r"\(?([A-D])\)?[.:]?")


@dataclass(frozen=True, slots=True)
class Question:
    """What is needed of a record; ``options`` in the order A to D, ``labels`` by field."""

    question: str
    options: tuple[str, ...]
    answer: str
    context: str
    labels: Mapping[str, str]


def unfit(question: Question) -> str | None:
    """Why a question is not eligible, the first reason there is; None if it is.

    Words stand between white space, and characters are code points, both of the context.
    """
    if question.answer not in LETTERS:
        return "with a gold answer that is none of A to D"
    if not all(option.strip() for option in question.options):
        return "with an empty option"
    if len(question.context.split()) > MAX_WORDS:
        return f"with more than {MAX_WORDS:,} words"
    if len(question.context) > MAX_CHARACTERS:
        return f"with more than {MAX_CHARACTERS:,} characters"
    return None


def chosen(reply: str) -> str | None:
    """The option that a reply names: the benchmark's "The correct answer is (B)", or B alone.

    As in the benchmark's own evaluation, asterisks are dropped and the first statement counts, one
    with brackets before one without.
    """
    plain = reply.replace("*", "").strip()
    if alone := _ALONE.fullmatch(plain):
        return alone[1]
    found = [match.groups() for match in _STATED.finditer(plain)]
    bracketed = [inside for inside, _ in found if inside]
    bare = [outside for _, outside in found if outside]
    return next(iter((*bracketed, *bare)), None)


def facts(question: Question) -> Row:
    """The columns of an eligible question.

    ``question_type`` is the first question word, ``option_overlap`` the mean over pairs of options
    of the share of their distinct words that they have in common (Jaccard), ``options_in_context``
    the share of all options' distinct words that occur in the context. Capitalised words (runs of
    them that open no sentence) stand in for entities; numbers are runs of digits.
    """
    options = [frozenset(_words(option)) for option in question.options]
    every = frozenset[str]().union(*options)
    asked = _words(question.question)
    pairs = [_share(len(a & b), len(a | b)) for a, b in itertools.combinations(options, 2)]
    present = every.intersection(_words(question.context))
    size = len(question.context.split())
    gold = question.options[LETTERS.index(question.answer)]
    lengths = sorted(map(len, question.options))
    return {
        "context_words": size,
        "context_characters": len(question.context),
        "question_words": len(question.question.split()),
        "question_type": next((word for word in asked if word in _TYPES), "other"),
        "question_negated": not _NEGATIONS.isdisjoint(asked)
        or _NOT.search(question.question) is not None,
        "option_words": sum(len(option.split()) for option in question.options),
        "option_overlap": _rounded(sum(pairs, Fraction()) / len(pairs)),
        "options_in_context": _rounded(_share(len(present), len(every))),
        "capitalised_per_1000_words": _rounded(1000 * _share(capitalised(question.context), size)),
        "numbers_per_1000_words": _rounded(
            1000 * _share(len(_NUMBER.findall(question.context)), size)
        ),
        "gold_option": question.answer,
        "gold_is_longest": len(gold) == lengths[-1] > lengths[-2],
        **question.labels,
    }


def capitalised(words: str) -> int:
    """Runs of capitalised words; a word that opens a sentence belongs to none."""
    runs, inside, opens = 0, False, True
    for word in words.split():
        was, inside = inside, not opens and word.lstrip(_OPENING)[:1].isupper()
        runs += inside and not was
        opens = word.rstrip(_CLOSING).endswith((".", "!", "?"))
    return runs


def _words(words: str) -> list[str]:
    return _WORD.findall(words.lower())


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, max(whole, 1))


def _rounded(value: Fraction) -> float:
    return float(round(value, 4))  # of the exact value: the same on every machine


def read_questions(path: str) -> dict[str, Question]:
    """The questions of the public file, one JSON list, by ``_id`` and in file order.

    Raises
    ------
    InputError
        The file is not such a list, a field is missing or no text, or an id occurs twice.
    """
    questions: dict[str, Question] = {}
    for where, record in json_list(path):
        add(questions, text(record, "_id", where), _question(record, where), where)
    return questions


def _question(record: Record, where: str) -> Question:
    return Question(
        question=text(record, "question", where),
        options=tuple(text(record, f"choice_{letter}", where) for letter in LETTERS),
        answer=text(record, "answer", where),
        context=text(record, "context", where),
        labels={label: text(record, label, where) for label in LABELS},
    )


RECIPE: Final = Recipe(
    read=read_questions,
    unfit=unfit,
    facts=facts,
    wrong=lambda question, reply: chosen(reply) != question.answer,
    remark=lambda reply: None if chosen(reply) else "without an option named",
    audit=(
        *("--error", "wrong", "--preset", "longbench-v2"),
        *("--seed", "42", "--stratify", "sub_domain"),
        *(word for column in NUMERIC for word in ("--numeric", column)),
    ),
)

if __name__ == "__main__":
    sys.exit(run(RECIPE, __doc__))
