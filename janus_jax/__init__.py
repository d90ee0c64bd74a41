"""Where a language model's errors really concentrate: decoy-calibrated, exact audits.

``audit`` runs the whole procedure; the command line ``janus-jax`` does the same. Importing this
package imports neither JAX nor pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from janus_jax.errors import BackendUnavailable as BackendUnavailable
from janus_jax.errors import InputError as InputError
from janus_jax.errors import JanusError as JanusError

if TYPE_CHECKING:
    from janus_jax.auditing import audit as audit
    from janus_jax.behaviour.power import PowerResult as PowerResult
    from janus_jax.behaviour.power import power as power
    from janus_jax.behaviour.power_audit import audit_design as audit_design
    from janus_jax.behaviour.replay import ReplayResult as ReplayResult
    from janus_jax.behaviour.replay import replay as replay
    from janus_jax.behaviour.sensitivity import SensitivityResult as SensitivityResult
    from janus_jax.behaviour.sensitivity import sensitivity as sensitivity
    from janus_jax.mining.proposing import propose as propose
    from janus_jax.paper.reproduce import Reproduction as Reproduction
    from janus_jax.paper.reproduce import reproduce as reproduce
    from janus_jax.result import AuditResult as AuditResult
    from janus_jax.several.comparing import compare as compare
    from janus_jax.several.result import Comparison as Comparison

__version__ = "0.1.0"

_LAZY = {
    "AuditResult": "janus_jax.result",
    "Comparison": "janus_jax.several.result",
    "PowerResult": "janus_jax.behaviour.power",
    "ReplayResult": "janus_jax.behaviour.replay",
    "Reproduction": "janus_jax.paper.reproduce",
    "SensitivityResult": "janus_jax.behaviour.sensitivity",
    "audit": "janus_jax.auditing",
    "audit_design": "janus_jax.behaviour.power_audit",
    "compare": "janus_jax.several.comparing",
    "power": "janus_jax.behaviour.power",
    "propose": "janus_jax.mining.proposing",
    "replay": "janus_jax.behaviour.replay",
    "reproduce": "janus_jax.paper.reproduce",
    "sensitivity": "janus_jax.behaviour.sensitivity",
}

__all__ = [  # noqa: RUF022
    "AuditResult",
    "Comparison",
    "PowerResult",
    "ReplayResult",
    "Reproduction",
    "SensitivityResult",
    "audit",
    "audit_design",
    "compare",
    "power",
    "propose",
    "replay",
    "reproduce",
    "sensitivity",
    "BackendUnavailable",
    "InputError",
    "JanusError",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
