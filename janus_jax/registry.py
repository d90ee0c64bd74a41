"""From a backend's name to a backend.

The two built-in backends stand in a table here, which is the only place where the core names them.
Others are installed packages that declare an entry point in the group ``janus_jax.backends``::

    [project.entry-points."janus_jax.backends"]
    mine = "my_package:MyBackend"

What it names is called without arguments and returns a :class:`janus_jax.interface.Backend`. A
backend that cannot run here raises an ``ImportError`` (best a
:class:`janus_jax.errors.BackendUnavailable`) there, with a message that says why.

A backend asked for by name is that backend or an error: nothing falls back in silence. ``auto``
chooses among the built-in ones only, so that installing a package never changes which code runs.
Nothing is imported before it is asked for.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from typing import Final, cast

from janus_jax.errors import BackendUnavailable, InputError
from janus_jax.interface import Backend, Description

GROUP: Final = "janus_jax.backends"

_HOME: Final = "janus-jax"
# In the order in which ``auto`` prefers them.
_BUILT_IN: Final = {
    "jax": "janus_backends.jax_backend:JaxBackend",
    "numpy": "janus_backends.numpy_backend:NumpyBackend",
}
# Fewer label draws than this take NumPy less time than importing and compiling JAX takes.
_SMALL_WORK: Final = 150_000_000
_INSTALL: Final = {"jax": "pip install jax", "numpy": "pip install numpy"}


@dataclass(frozen=True, slots=True)
class Available:
    """One line of ``janus-jax backends``.

    Attributes
    ----------
    name
        What to write after ``--backend``.
    origin
        The distribution that it comes from, and the object it names there.
    description
        What would run, or None when it cannot run here.
    reason
        Why it cannot run here, or None when it can.
    """

    name: str
    origin: str
    description: Description | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    entry: metadata.EntryPoint
    distribution: str

    @property
    def origin(self) -> str:
        return f"{self.distribution} ({self.entry.value})"

    @property
    def install(self) -> str:
        default = f"pip install --force-reinstall {self.distribution}"
        return _INSTALL.get(self.entry.name, default) if self.distribution == _HOME else default


def get(name: str) -> Backend:
    """Load the backend of this name.

    Raises
    ------
    InputError
        If there is none of this name.
    BackendUnavailable
        If it cannot run here, or if two packages claim the name.
    """
    known = _candidates()
    if name not in known:
        raise InputError(
            f"there is no backend {name!r}; known ones: {', '.join(known)} "
            "(or auto, which takes the best built-in one that loads)"
        )
    return _load(name, known[name])


def auto() -> tuple[Backend, list[str]]:
    """Load the best built-in backend that runs here.

    Returns
    -------
    backend
        The first of jax and numpy that loads.
    reasons
        One sentence for each better one that did not.
    """
    known = _candidates()
    reasons: list[str] = []
    for name in _BUILT_IN:
        try:
            return _load(name, known[name]), reasons
        except BackendUnavailable as error:
            reasons.append(str(error))
    raise BackendUnavailable("no backend can run here: " + "; ".join(reasons))


def choose(name: str, draws: int) -> tuple[Backend, list[str]]:
    """Load the backend of this name, or for "auto" the one that is done first.

    Parameters
    ----------
    name
        "auto", or the name of one that must run.
    draws
        How many labels are to be drawn: little work is done in NumPy before JAX has compiled.

    Returns
    -------
    backend, reasons
        As for :func:`auto`.
    """
    if name != "auto":
        return get(name), []
    if draws < _SMALL_WORK:
        return get("numpy"), ["jax: not needed for so little work"]
    return auto()


def available() -> list[Available]:
    """List every backend that is built in or installed, loading each to see whether it runs."""
    return [_inspect(name, claims) for name, claims in _candidates().items()]


def _inspect(name: str, claims: list[_Candidate]) -> Available:
    origin = " and ".join(claim.origin for claim in claims)
    try:
        return Available(name, origin, _describe(name, _load(name, claims)), None)
    except BackendUnavailable as error:
        return Available(name, origin, None, str(error))


def _candidates() -> dict[str, list[_Candidate]]:
    """Who claims each name: the built-in ones first, then installed ones by name."""
    known = {
        name: [_Candidate(metadata.EntryPoint(name, value, GROUP), _HOME)]
        for name, value in _BUILT_IN.items()
    }
    folders = tuple((folder, _changed(folder)) for folder in sys.path)
    for candidate in _installed(folders):
        known.setdefault(candidate.entry.name, []).append(candidate)
    return known


def _changed(folder: str) -> int | None:
    """When something was last installed there, in nanoseconds."""
    try:
        return os.stat(folder or os.curdir).st_mtime_ns
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=1)
def _installed(_: tuple[tuple[str, int | None], ...]) -> list[_Candidate]:
    """Entry points of the distributions in these folders.

    To read those of every distribution takes longer than a small audit, which asks twice.
    """
    found = [
        _Candidate(entry, entry.dist.name if entry.dist else "an unnamed distribution")
        for entry in metadata.entry_points(group=GROUP)
    ]
    return sorted(found, key=lambda each: (each.entry.name, each.origin))


def _load(name: str, claims: list[_Candidate]) -> Backend:
    if len(claims) > 1:
        both = " and ".join(claim.origin for claim in claims)
        raise BackendUnavailable(f"backend {name!r} is claimed by {both}; uninstall all but one")
    (claim,) = claims
    subject = f"backend {name!r}"
    if claim.distribution != _HOME:
        subject += f" of {claim.origin}"
    with _reasons(subject, claim.install):
        backend = cast("Callable[[], object]", claim.entry.load())()
        if not isinstance(backend, Backend):
            missing = [verb for verb in _VERBS if not hasattr(backend, verb)]
            raise TypeError(f"it lacks {', '.join(missing)} of janus_jax.interface.Backend")
        return backend


def _describe(name: str, backend: Backend) -> Description:
    with _reasons(f"backend {name!r}", "report it to its authors"):
        return backend.describe()


_VERBS: Final = (
    "describe",
    "bytes_per_permutation",
    "prepare",
    "shuffles",
    "counts",
    "tally",
    "decoys",
)


@contextlib.contextmanager
def _reasons(subject: str, remedy: str) -> Generator[None]:
    """Turn whatever goes wrong inside into one sentence, and keep standard output for results."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except BackendUnavailable:
        raise
    except ImportError as error:
        raise BackendUnavailable(
            f"{subject} cannot run here: {_sentence(error)}; try: {remedy}"
        ) from error
    except Exception as error:  # a broken plugin is a reason, whatever it raises
        raise BackendUnavailable(
            f"{subject} is broken: {type(error).__name__}: {_sentence(error)}; try: {remedy}"
        ) from error


def _sentence(error: Exception) -> str:
    """First line of an error's message, without its full stop."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(". ") if lines else "no message"
