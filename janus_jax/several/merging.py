"""What several audits say, said once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from janus_jax.cells import in_list


def said_once(texts: Mapping[str, Sequence[str]]) -> list[str]:
    """What each says, in order of first appearance; what not all say names those who do.

    Examples
    --------
    >>> said_once({"a": ["two-sided", "few errors"], "b": ["two-sided"]})
    ['two-sided', 'a: few errors']
    """
    saying: dict[str, list[str]] = {}
    for name, own in texts.items():
        for text in own:
            saying.setdefault(text, []).append(name)
    return [
        text if len(names) == len(texts) else f"{', '.join(map(in_list, names))}: {text}"
        for text, names in saying.items()
    ]
