"""What ran, when and how long: the ``run`` section of a result, the only part that may differ."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import numpy as np

from janus_jax import __version__
from janus_jax.interface import Backend


class Stopwatch:
    """Started when a command starts."""

    def __init__(self) -> None:
        self._started = datetime.now(UTC)
        self._clock = time.perf_counter()

    def record(
        self, command: str | None, backend: Backend | None = None, reasons: list[str] | None = None
    ) -> dict[str, Any]:
        """The record of a run that ends now.

        Parameters
        ----------
        command
            The command line, if there was one.
        backend, reasons
            What ran, and why better ones did not; None where no backend took part.
        """
        ran: dict[str, Any] = {"version": __version__, "numpy": np.__version__}
        if backend is not None:
            described = backend.describe()
            ran |= {
                "backend": described.name,
                "backend_version": described.version,
                "device": described.device,
                "backends_not_taken": reasons or [],
            }
        return {
            **ran,
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - self._clock, 3),
            "command": command,
        }
