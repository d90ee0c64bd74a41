"""When a reply to a packet is right, and how many are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from janus_jax.errors import InputError
from janus_jax.paper.packets import Packet

# What models put around an answer: straight and curly quotes, guillemets, marks of Markdown.
_AROUND: Final = " \"'`*\u2018\u2019\u201c\u201d\u00ab\u00bb"
# Hyphens, dashes and the minus sign, any of which may stand for the hyphen of a cabinet.
_HYPHENS: Final = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")
_NOT_ALONE: Final = "hold the answer, but not alone or not as it stands in the table"


def exact_match(reply: str, answer: str) -> bool:
    """Whether a reply is the answer and nothing else.

    Both are compared without regard to case, with runs of white space as one blank, and without
    white space, quotes, asterisks and backticks around them and one final full stop (before or
    after these). Nothing else is forgiven: a word or a sentence around the answer makes it wrong,
    as the prompt asks for the answer alone.

    Examples
    --------
    >>> exact_match(" **c-381**.\\n", "C-381"), exact_match("Cabinet C-381", "C-381")
    (True, False)
    """
    return _plain(reply) == _plain(answer)


def holds(reply: str, answer: str) -> bool:
    """Whether the answer stands somewhere in a reply, as a word of its own, whatever its hyphen.

    Examples
    --------
    >>> holds("It is in cabinet C-381.", "C-381"), holds("C-3811", "C-381")
    (True, False)
    """
    word = re.escape(_plain(answer).translate(_HYPHENS))
    text = _collapsed(reply).translate(_HYPHENS)
    return re.search(rf"(?<!\w){word}(?!\w)", text) is not None


def _plain(text: str) -> str:
    return _collapsed(text).strip(_AROUND).removesuffix(".").strip(_AROUND)


def _collapsed(text: str) -> str:
    return " ".join(text.split()).casefold()


@dataclass(frozen=True, slots=True)
class Grades:
    """How many replies are right.

    Attributes
    ----------
    right, wrong
        By :func:`exact_match`.
    held
        How many of the wrong ones hold the answer all the same, see :func:`holds`.
    """

    right: int
    wrong: int
    held: int = 0

    @property
    def asked(self) -> int:
        """How many replies there are."""
        return self.right + self.wrong

    def sentences(self) -> list[str]:
        """The counts for people; the second sentence only where a strict score may surprise."""
        said = [f"{self.right} of {self.asked} replies are right"]
        if self.held:
            said.append(f"{self.held} of the {self.wrong} wrong replies {_NOT_ALONE}")
        return said

    def check(self) -> None:
        """Refuse replies among which there is nothing to compare.

        Raises
        ------
        InputError
            All of them are right, or all are wrong.
        """
        if not self.wrong:
            raise InputError(
                f"all {self.asked} replies are right, so there are no errors to audit; ask a model "
                "that makes some"
            )
        if not self.right:
            why = f" ({self.held} of them {_NOT_ALONE})" if self.held else ""
            raise InputError(
                f"all {self.asked} replies are wrong{why}, so there is nothing to compare; is each "
                "reply the cabinet alone, and to the packet of its id?"
            )


def grade(made: Sequence[Packet], replies: Sequence[str]) -> Grades:
    """Count right and wrong replies.

    Parameters
    ----------
    made, replies
        The packets, and one reply to each in the same order.
    """
    pairs = [(reply, packet.answer) for packet, reply in zip(made, replies, strict=True)]
    wrong = [pair for pair in pairs if not exact_match(*pair)]
    return Grades(len(pairs) - len(wrong), len(wrong), sum(holds(*pair) for pair in wrong))
