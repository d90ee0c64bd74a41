"""Shares and counts in words, as the reports on a rule's behaviour say them."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share in whole percent; only all is 100%, only none 0%.

    Examples
    --------
    >>> percent(0.5), percent(0.999), percent(0.001)
    ('50%', '>99%', '<1%')
    """
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{100 * share:.0f}%"


def counted(count: int, what: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "split"), counted(1200, "split")
    ('1 split', '1,200 splits')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
