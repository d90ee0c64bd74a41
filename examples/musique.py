"""MuSiQue: score replies and make the table of facts that the paper's audit is about.

    python examples/musique.py musique_ans_v1.0_dev.jsonl replies.jsonl --out musique.csv

takes the public file (https://github.com/StonyBrookNLP/musique) and replies of yours,
``{"id": ..., "reply": ...}`` a line, and prints the command that audits the table. Scorer and
descriptors are those of *Measurement Under Selection* (arXiv 2606.09046); what its words leave open
is decided here and said at the place.

The audit cuts numeric columns above their discovery median, so the paper's ``high_num_hops`` reads
``num_hops > 2`` in a report, and so on for the six columns of :data:`NUMERIC`; the other two are
yes/no. All but ``question_words`` come from the gold annotations: fine for an audit, absent for
unlabelled traffic.
"""

from __future__ import annotations

import itertools
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from benchmark_table import Recipe, Row, run
from json_records import Record, add, as_object, flag, items, json_lines, text

from janus_jax import InputError

NUMERIC: Final = (
    "num_support",
    "num_hops",
    "support_distance",
    "distractor_count",
    "answer_alias_count",
    "question_words",
)
"""The columns behind the paper's ``high_`` descriptors."""

MAX_EXTRA: Final = 3
"""Tokens that a reply may hold beside the gold answer."""
MIN_F1: Final = Fraction(4, 5)
"""Token F1 that makes a reply right."""
LATE: Final = Fraction(7, 10)
"""Share of the paragraphs from which on a place is late."""

_ARTICLES = frozenset(("a", "an", "the"))
_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Example:
    """What is needed of a record.

    Attributes
    ----------
    supporting
        Per paragraph, in the order of the list: it supports the answer.
    hops
        Questions that the question was composed of.
    """

    question: str
    answer: str
    aliases: tuple[str, ...]
    answerable: bool
    supporting: tuple[bool, ...]
    hops: int


# --- the scorer -----------------------------------------------------------------------------------


def tokens(words: str) -> list[str]:
    """A text's tokens: lower case, no articles, broken at all but letters and digits.

    Letters are Unicode's, composed (NFC), so that one way to write an accent equals the other.
    """
    composed = unicodedata.normalize("NFC", words.lower())
    return [token for token in _TOKEN.findall(composed) if token not in _ARTICLES]


def f1(reply: Sequence[str], target: Sequence[str]) -> Fraction:
    """Token F1: twice the tokens in common, repeats counted, over the tokens of both."""
    common = (Counter(reply) & Counter(target)).total()
    return Fraction(2 * common, max(len(reply) + len(target), 1))


def contains(reply: Sequence[str], target: Sequence[str]) -> bool:
    """Whether the target's tokens stand in the reply, whole and in a row."""
    starts = range(len(reply) - len(target) + 1)
    return any(reply[start : start + len(target)] == target for start in starts)


def is_right(reply: str, answer: str, aliases: Sequence[str] = ()) -> bool:
    """The paper's scorer: a match, the gold answer with little beside it, or a token F1 of 0.8.

    Only the gold answer may be contained; a match and F1 count for aliases too. An answer or alias
    without a token (articles and signs alone) is met by nothing, and a blank reply is wrong.
    """
    said, gold = tokens(reply), tokens(answer)
    targets = [target for target in (gold, *map(tokens, aliases)) if target]
    if said in targets:
        return True
    if gold and contains(said, gold) and len(said) - len(gold) <= MAX_EXTRA:
        return True
    return any(f1(said, target) >= MIN_F1 for target in targets)


# --- the descriptors ------------------------------------------------------------------------------


def facts(example: Example) -> Row:
    """The eight columns of an example.

    Places are those in the list of paragraphs, counted from 0. ``support_distance`` is the way from
    the first supporting paragraph to the last; ``answer_para_late``, that the last one's place is
    at least 70% of the list's length; ``support_nonadjacent``, that two supporting paragraphs which
    follow each other are two or more places apart. ``question_words`` stand between white space.
    """
    places = [place for place, supports in enumerate(example.supporting) if supports]
    gaps = [after - before for before, after in itertools.pairwise(places)]
    return {
        "num_support": len(places),
        "num_hops": example.hops,
        "support_distance": places[-1] - places[0],
        "answer_para_late": places[-1] >= LATE * len(example.supporting),
        "distractor_count": len(example.supporting) - len(places),
        "answer_alias_count": len(example.aliases),
        "question_words": len(example.question.split()),
        "support_nonadjacent": any(gap >= 2 for gap in gaps),
    }


# --- the files ------------------------------------------------------------------------------------


def read_examples(path: str) -> dict[str, Example]:
    """The examples of the public JSON Lines file by id, in file order.

    Raises
    ------
    InputError
        A line is not such a record, repeats an id, or is answerable with no supporting paragraph.
    """
    examples: dict[str, Example] = {}
    for where, record in json_lines(path):
        add(examples, text(record, "id", where), _example(record, where), where)
    return examples


def _example(record: Record, where: str) -> Example:
    paragraphs = [as_object(item, where) for item in items(record, "paragraphs", where)]
    aliases = items(record, "answer_aliases", where)
    example = Example(
        question=text(record, "question", where),
        answer=text(record, "answer", where),
        aliases=tuple(alias for alias in aliases if isinstance(alias, str)),
        answerable=flag(record, "answerable", where),
        supporting=tuple(flag(paragraph, "is_supporting", where) for paragraph in paragraphs),
        hops=len(items(record, "question_decomposition", where)),
    )
    if len(example.aliases) < len(aliases):
        raise InputError(f"{where}: 'answer_aliases' must all be text")
    if example.answerable and not any(example.supporting):
        raise InputError(f"{where}: no paragraph is supporting; use a file with gold annotations")
    return example


def unfit(example: Example) -> str | None:
    """Why an example cannot be scored or described, if so."""
    if not example.answerable:
        return "not answerable"
    return None if tokens(example.answer) else "with an answer of articles and signs alone"


RECIPE: Final = Recipe(
    read=read_examples,
    unfit=unfit,
    facts=facts,
    wrong=lambda example, reply: not is_right(reply, example.answer, example.aliases),
    remark=lambda reply: None if tokens(reply) else "blank",
    audit=(
        *("--error", "wrong", "--preset", "musique", "--seed", "7"),
        # Also where all counts happen to be 0 or 1, which would pass for yes/no.
        *(word for column in NUMERIC for word in ("--numeric", column)),
    ),
)

if __name__ == "__main__":
    sys.exit(run(RECIPE, __doc__))
