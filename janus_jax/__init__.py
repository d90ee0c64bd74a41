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
    from janus_jax.result import AuditResult as AuditResult

__all__ = ["AuditResult", "BackendUnavailable", "InputError", "JanusError", "audit"]
__version__ = "0.1.0"

_LAZY = {"audit": "janus_jax.auditing", "AuditResult": "janus_jax.result"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
