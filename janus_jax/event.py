"""What an outcome is called in sentences: errors, or what one of two models alone gets wrong.

Everything is counted and judged in the same way for both; only the words differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from janus_jax.cells import called, in_list


@dataclass(frozen=True, slots=True)
class Event:
    """The words of one outcome.

    Attributes
    ----------
    defined
        What is called an error here, where that is not an error of one model; None where it is.
    happened, others
        After a number of examples: those that count, and the rest of them.
    labels
        The same of a single example.
    happens
        After a share of examples: what is done to them.
    anywhere
        Of a group of examples: in which there is more of it, or less.
    more, less, differs
        Of several groups: there is more of it than elsewhere, less, or either.
    ways
        Of these groups: how many have more of it, how many less.
    fewer
        What a negative lift means.
    title
        Before and after the name of a table: what its page is about.
    rate
        What a lift compares inside with outside.
    whose
        What it was that erred.
    """

    defined: str | None
    happened: str
    others: str
    labels: tuple[str, str]
    happens: str
    anywhere: str
    more: str
    less: str
    differs: str
    ways: tuple[str, str]
    fewer: str
    title: tuple[str, str]
    rate: str
    whose: str


ERROR = Event(
    defined=None,
    happened="wrong",
    others="right",
    labels=("wrong", "right"),
    happens="answered wrongly",
    anywhere="in which the model errs more, or less, than elsewhere",
    more="the model errs more than elsewhere",
    less="the model errs less than elsewhere",
    differs="the model's error rate differs from elsewhere",
    ways=("higher in", "lower in"),
    fewer="fewer errors",
    title=("Where the errors of ", " concentrate"),
    rate="error rate",
    whose="this model",
)
"""The model is wrong."""


def _alone(wrong: str, right: str) -> Event:
    """One of two models is wrong and the other right."""
    only = f"{wrong} is wrong and {right} right"
    return Event(
        defined=f"an error is an example that {wrong} gets wrong and {right} right; all others, "
        "those that both get wrong among them, are not",
        happened=f"that {wrong} gets wrong and {right} right",
        others="others",
        labels=("error", "no error"),
        happens=f"answered wrongly by {wrong} and rightly by {right}",
        anywhere=f"in which it happens more, or less, often than elsewhere that {only}",
        more=f"it happens more often than elsewhere that {only}",
        less=f"it happens less often than elsewhere that {only}",
        differs=f"it happens more, or less, often than elsewhere that {only}",
        ways=("more often in", "less often in"),
        fewer="less often",
        title=(f"Where the errors of {wrong} that {right} does not make concentrate: ", ""),
        rate="how often",
        whose="these models",
    )


def event_of(document: Mapping[str, Any]) -> Event:
    """The words for the outcome of an audit's document."""
    models = document["data"]["outcome"].get("models")
    return (
        _alone(*(in_list(called(models[side])) for side in ("wrong", "right"))) if models else ERROR
    )
