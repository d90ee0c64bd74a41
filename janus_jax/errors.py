"""Every error the project raises on purpose, and the exit status each one means.

::

    JanusError
    ├── InputError            the data or the options are wrong           exit 2
    ├── BackendUnavailable    the backend that was named cannot run here  exit 3
    └── ProcessLost           another process of the same run is gone     exit 4

Messages are written for the person who has to act on them: they name the file, column and row where
there is one, and end with what to do.
"""

from __future__ import annotations


class JanusError(Exception):
    """Base of the errors raised on purpose; ``exit_status`` is what the command line returns."""

    exit_status: int = 1


class InputError(JanusError, ValueError):
    """The data or the options are wrong; nothing has been computed."""

    exit_status = 2


class BackendUnavailable(JanusError, ImportError):
    """The backend that was named cannot run here; the message says why and what to install."""

    exit_status = 3


class ProcessLost(JanusError, RuntimeError):
    """Another process of a run that several share is gone; what this one has is kept."""

    exit_status = 4
