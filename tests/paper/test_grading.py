"""Grading: the cabinet and nothing else is right; wrong replies that hold it are counted."""

from __future__ import annotations

import pytest

from janus_jax import InputError
from janus_jax.paper.grading import Grades, exact_match, grade, holds
from janus_jax.paper.packets import Packet, packets


@pytest.fixture(scope="module")
def made() -> list[Packet]:
    return packets()


@pytest.mark.parametrize(
    "reply",
    [
        "C-381",
        "  c-381\n",
        "C-381.",
        "C-381 .",
        '"C-381"',
        "\u201cC-381.\u201d",
        "\u2018C-381\u2019.",
        "**C-381**",
        "**C-381**.",
        "**`C-381.`**",
        "`c-381`\r\n",
    ],
)
def test_what_stands_around_an_answer_is_forgiven(reply: str) -> None:
    assert exact_match(reply, "C-381")
    assert holds(reply, "C-381")


@pytest.mark.parametrize(
    ("reply", "held"),
    [
        ("Cabinet C-381", True),
        ("It is in **C-381**.", True),
        ("C-381..", True),
        ("C-381, C-382", True),
        ("C\u2011381", True),  # a hyphen that does not break
        ("C -381", False),
        ("C-3811", False),
        ("AC-381", False),
        ("C-38", False),
        ("381", False),
        (".", False),
        ("", False),
    ],
)
def test_nothing_else_is_right(reply: str, held: bool) -> None:
    assert not exact_match(reply, "C-381")
    assert holds(reply, "C-381") == held


def test_white_space_within_is_collapsed() -> None:
    assert exact_match("Mill\t\n  COURT ", " mill court")


def test_replies_are_counted(made: list[Packet]) -> None:
    replies = [packet.answer for packet in made]
    replies[3], replies[5], replies[8] = "not found", f"It is {made[5].answer}", made[7].answer
    grades = grade(made, replies)
    assert (grades.right, grades.wrong, grades.held, grades.asked) == (157, 3, 1, 160)
    grades.check()
    first, second = grades.sentences()
    assert first == "157 of 160 replies are right"
    assert second.startswith("1 of the 3 wrong replies hold the answer, but not alone")
    assert Grades(150, 10).sentences() == ["150 of 160 replies are right"]


def test_nothing_to_compare_is_said_in_terms_of_replies() -> None:
    with pytest.raises(InputError, match="all 160 replies are right, so there are no errors"):
        Grades(160, 0).check()
    with pytest.raises(InputError, match="all 160 replies are wrong, so there is nothing"):
        Grades(0, 160).check()
    with pytest.raises(InputError, match=r"wrong \(120 of them hold the answer, but not alone"):
        Grades(0, 160, 120).check()
