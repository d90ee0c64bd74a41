"""What was asked of the models and what came of it, before it is put into one document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from janus_jax.prepare import Prepared


@dataclass(frozen=True, slots=True)
class Answered:
    """One audited outcome: its name, the errors it was made of, its audit's document."""

    name: str
    prepared: Prepared
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """What one model gets wrong and another right.

    Attributes
    ----------
    wrong, right
        The two models.
    answered
        The audit of it; None where it never happens.
    """

    wrong: str
    right: str
    answered: Answered | None

    @property
    def name(self) -> str:
        """What the outcome is called."""
        return pair_name(self.wrong, self.right)


def pair_name(wrong: str, right: str) -> str:
    """What the outcome of a pair of models is called."""
    return f"{wrong} wrong, {right} right"
