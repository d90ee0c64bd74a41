"""What the rules of a plan are called: as the descriptors they make."""

from __future__ import annotations

from janus_jax.descriptors import quoted
from janus_jax.plans.planned import PlannedRule


def name_of_rule(rule: PlannedRule) -> str:
    """The name of the descriptor that a rule of one column makes.

    Examples
    --------
    >>> name_of_rule(PlannedRule("", "numeric", column="q words", above="42"))
    'q words > 42'
    """
    column = quoted(rule.column or "")
    match rule.kind:
        case "numeric":
            return f"{column} > {rule.above}"
        case "level":
            return f"{column} = {quoted(rule.level or '')}"
        case "missing":
            return f"{column} is missing"
        case _:
            return column
