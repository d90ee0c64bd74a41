"""Decimals and lists as people give them, as text or as numbers: checked, or refused by name."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, cast

from janus_jax.errors import InputError


def number(
    option: str,
    value: object,
    least: Fraction,
    most: Fraction = Fraction(1),
    *,
    ends: bool = True,
) -> str:
    """A decimal, or a ratio of whole numbers, within limits; its text.

    Parameters
    ----------
    least, most
        The limits.
    ends
        Whether they are allowed themselves.
    """
    text = str(value).strip()
    try:
        exact = Fraction(text) if "/" in text else Fraction(Decimal(text))
    except (ValueError, InvalidOperation, OverflowError, ZeroDivisionError):
        raise InputError(f"{option} {text!r} is not a decimal number") from None
    if not (least <= exact <= most if ends else least < exact < most):
        low, high = f"{float(least):g}", f"{float(most):g}"
        span = f"from {low} to {high}" if ends else f"above {low} and below {high}"
        raise InputError(f"{option} is {text}, but it must be {span}")
    return text


def listed(value: object) -> list[Any]:
    """One value or several as a list; none for None.

    Examples
    --------
    >>> listed("0.1"), listed([1, 2]), listed(None)
    (['0.1'], [1, 2], [])
    """
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    try:
        return list(cast("Iterable[Any]", value))
    except TypeError:  # an array without dimensions
        return [value]
