"""Checkpoints: the sums of a run that has not ended, in a small file.

The file is JSON: the format, what the sums are of (see :func:`fingerprint`), the sums, and a
SHA-256 over all of it. It is written beside its place, flushed to the disk and moved over the last
one, so at any moment there is a whole checkpoint or none. A permutation is a function of the seed
and its number alone, so a run continued from one ends with the same bits, on any backend.

With several processes each keeps a file of its own (``NAME.2of3``), and only as many processes can
continue.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from janus_jax.errors import InputError
from janus_jax.interface import Problem, Tables, Tally
from janus_jax.processes import Processes

FORMAT: Final = "janus-jax/checkpoint/2"

FIRST_AFTER = 2.0
"""Seconds of a run before its first checkpoint."""
EVERY = 5.0
"""Seconds between two checkpoints."""

Fingerprint = dict[str, str | int]

_START: Final = b'{"format": "janus-jax/checkpoint/'
_ARRAYS: Final = ("maxima", "exceed", "step_down", "total")
_WORDS: Final = {
    "data": "other data (or another split, other descriptors or strata)",
    "statistic": "another statistic, or other observed values",
    "seed": "another seed",
    "permutations": "another number of permutations",
    "process": "another share of the work",
}


def fingerprint(problem: Problem, tables: Sequence[Tables], permutations: int) -> Fingerprint:
    """What the sums of a run depend on; two runs with the same one have the same sums.

    ``tables`` are those of each outcome that the run shuffles together.
    """
    data = {f.name: getattr(problem, f.name) for f in fields(problem) if f.name != "seed"}
    statistics = {
        f"{outcome} {f.name}": getattr(each, f.name)
        for outcome, each in enumerate(tables)
        for f in fields(each)
    }
    return {
        "data": _digest(data),
        "statistic": _digest(statistics),
        "seed": problem.seed,
        "permutations": permutations,
    }


def _digest(values: Mapping[str, object]) -> str:
    digest = hashlib.sha256()
    for name, value in sorted(values.items()):
        if isinstance(value, np.ndarray):
            array = np.ascontiguousarray(cast("np.ndarray[Any, Any]", value))
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(array.data)
        else:
            digest.update(f"{name} {value!r}\n".encode())
    return digest.hexdigest()


class Checkpoint:
    """One run's checkpoint file.

    Parameters
    ----------
    path
        Where it lies, before the process is added to its name.
    resume
        Continue from it when it is there; otherwise it is replaced.
    processes
        Which share of the permutations this process takes.

    Attributes
    ----------
    path
        The file.
    left_over
        An earlier run left one there, and this run will not go on from it.
    ours
        The file holds sums of this run, or those it went on from.

    Raises
    ------
    InputError
        The file there is something else, which would be overwritten.
    """

    def __init__(self, path: str | Path, *, resume: bool, processes: Processes) -> None:
        whole = Path(path)
        self.path = whole
        if processes.count > 1:
            self.path = whole.with_name(f"{whole.name}.{processes.index + 1}of{processes.count}")
        self.resume = resume
        self._base = whole
        self._of: Fingerprint = {}
        self._process = f"{processes.index + 1} of {processes.count}"
        self._due = 0.0
        self.ours = False
        _refuse_other_files(self.path)
        self.left_over = not resume and self.path.exists()

    def begin(self, task: Fingerprint) -> list[Tally] | None:
        """Start a run: the sums kept of it, None when there are none or none are to be resumed.

        The sums are a tally for each outcome, in the order of the tables of the task.

        Raises
        ------
        InputError
            The checkpoint is damaged, or of another run.
        """
        self._due = time.monotonic() + FIRST_AFTER
        self._of = {**task, "process": self._process}
        if not self.resume:
            return None
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            self._refuse_other_shares()
            return None
        except OSError as error:
            raise InputError(f"cannot read checkpoint {self.path}: {error.strerror}") from error
        found, tallies = _parse(text, self.path)
        differing = [_WORDS[key] for key, value in self._of.items() if found.get(key) != value]
        if differing:
            raise InputError(
                f"checkpoint {self.path} is of another run: it has {' and '.join(differing)}; "
                "repeat the command it was made by, or delete it or run without --resume to start "
                "anew"
            )
        self.ours = True
        return tallies

    def _refuse_other_shares(self) -> None:
        others = sorted(
            path.name
            for path in (self._base, *self._base.parent.glob(f"{self._base.name}.*of*"))
            if path.exists() and not path.name.endswith(".tmp")
        )
        counts = {name.rpartition("of")[2] for name in others if name != self._base.name}
        if self._base.name in others:
            counts.add("1")
        counts.discard(self.path.name.rpartition("of")[2] if self.path != self._base else "1")
        if counts:
            raise InputError(
                f"the checkpoint beside {self.path} was kept by another number of processes "
                f"({', '.join(sorted(counts))}): continue with as many, or delete it or run "
                "without --resume to start anew"
            )

    def save_when_due(self, tallies: Sequence[Tally]) -> None:
        """Save, if a few seconds have gone by since the last time."""
        if time.monotonic() >= self._due:
            self.save(tallies)
            self._due = time.monotonic() + EVERY

    def save(self, tallies: Sequence[Tally]) -> None:
        """Replace the checkpoint, atomically."""
        try:
            _replace(self.path, _format(self._of, tallies))
        except OSError as error:
            raise InputError(f"cannot write checkpoint {self.path}: {error.strerror}") from error
        self.ours = True

    def remove(self) -> None:
        """Remove what this run wrote or continued, now that its result is safe."""
        if self.ours:
            self.path.unlink(missing_ok=True)
            self.ours = False


def _refuse_other_files(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(_START))
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot use {path} as a checkpoint: {error.strerror}") from error
    if start and not _START.startswith(start) and not start.startswith(_START):
        raise InputError(f"{path} is not a checkpoint, and --checkpoint would overwrite it")


def _format(of: Fingerprint, tallies: Sequence[Tally]) -> bytes:
    body: dict[str, Any] = {
        "format": FORMAT,
        "of": of,
        "permutations": tallies[0].permutations,  # one shuffle serves all outcomes
        "outcomes": [{name: getattr(t, name).tolist() for name in _ARRAYS} for t in tallies],
    }
    return json.dumps({**body, "sha256": _checksum(body)}).encode()


def _checksum(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body).encode()).hexdigest()


def _parse(text: bytes, path: Path) -> tuple[Fingerprint, list[Tally]]:
    damaged = InputError(
        f"checkpoint {path} is damaged (it may have been cut short); delete it, or run without "
        "--resume, to start anew"
    )
    try:
        body: dict[str, Any] = json.loads(text)
        if _checksum({k: v for k, v in body.items() if k != "sha256"}) != body["sha256"]:
            raise damaged
    except (ValueError, KeyError, TypeError, AttributeError):
        raise damaged from None
    if body["format"] != FORMAT:
        raise InputError(
            f"checkpoint {path} is of another version of janus-jax ({body['format']}, not "
            f"{FORMAT}); delete it, or run without --resume, to start anew"
        )
    return body["of"], [
        Tally(
            permutations=int(body["permutations"]),
            **{name: np.array(sums[name], dtype=np.int64) for name in _ARRAYS},
        )
        for sums in body["outcomes"]
    ]


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    if os.name == "posix":  # the new name must reach the disk too
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
