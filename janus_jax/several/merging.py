"""What several audits say, said once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def said_once(texts: Mapping[str, Sequence[str]]) -> list[str]:
    """What each says, in order of first appearance; what not all say names those who do.

    Examples
    --------
    >>> said_once({"a": ["two-sided", "few errors"], "b": ["two-sided"]})
    ['two-sided', 'a: few errors']

    A name that holds a comma, as those of differences do, stands in quotes:

    >>> said_once({"a": ["few"], "a wrong, b right": ["few"], "b": []})
    ["a; 'a wrong, b right': few"]
    """
    saying: dict[str, list[str]] = {}
    for name, own in texts.items():
        for text in own:
            saying.setdefault(text, []).append(name)
    return [
        text if len(names) == len(texts) else f"{_listed(names)}: {text}"
        for text, names in saying.items()
    ]


def _listed(names: Sequence[str]) -> str:
    if not any("," in name for name in names):
        return ", ".join(names)
    return "; ".join(f"'{name}'" if "," in name else name for name in names)
