"""One attempt of a model at an example, whatever tool wrote it down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from janus_jax.readers.opening import Hasher

Status = Literal["ok", "unscored", "error", "not_run"]
"""What became of an attempt: scored; finished without a score; failed outside the model (a provider
or grader error); never run."""


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One attempt.

    Attributes
    ----------
    example
        What was attempted: unique within a task, and the same for every attempt at it.
    where
        Where it stands, for messages: ``samples.jsonl line 12``.
    line
        1-based line (or place) in its file.
    status
        See :data:`Status`. Scores of an attempt that is not "ok" do not count.
    scores
        Name of a metric or scorer to its value as logged (bool, number, text, None). A scorer whose
        value is a dictionary gives one entry for each of its keys, ``scorer.key``; a list is kept
        as a list, and nobody can choose it.
    coordinates
        In what attempts at one example may differ, outermost first: ``task``, ``model``, ``run``,
        ``filter``, ``split``, ``perturbation`` ..., as text. Where a coordinate has several values,
        a person has to choose. ``epoch``, ``trial`` and ``repeat`` are repeats, which are reduced.
    facts
        Metadata of the example; may nest.
    derived
        Facts that come from the gold answer: usable, and marked.
    post
        Facts known only after the model ran (tokens, time, the reply's length): left out unless
        asked for.
    texts
        Texts of the example by name (``input``, ``choices`` ...), for ``--text-features``.
    """

    example: str
    where: str
    line: int
    status: Status = "ok"
    scores: Mapping[str, Any] = field(default_factory=dict[str, Any])
    coordinates: Mapping[str, str] = field(default_factory=dict[str, str])
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    derived: Mapping[str, Any] = field(default_factory=dict[str, Any])
    post: Mapping[str, Any] = field(default_factory=dict[str, Any])
    texts: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Context:
    """What readers share while they read.

    Attributes
    ----------
    hasher
        Is given every byte that decides what is read, in order.
    notes
        Plain sentences about what was noticed, shown to the user; each once.
    """

    hasher: Hasher
    notes: list[str] = field(default_factory=list[str])

    def note(self, text: str) -> None:
        """Say something once."""
        if text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True, slots=True)
class Probe:
    """What is known of a path before it is read.

    Attributes
    ----------
    path
        As the user named it.
    head
        The first 64 KiB of a file (after a byte-order mark); empty for a folder.
    members
        Names in a folder (not below it) or in a zip archive; empty otherwise.
    """

    path: str
    head: bytes
    members: frozenset[str]


class Format(Protocol):
    """A log format: what each module in this package is.

    ``NAME`` is what ``--format`` takes; ``OUTCOME_OPTION`` the option that chooses among scores:
    ``--metric`` or ``--scorer``.
    """

    NAME: str
    OUTCOME_OPTION: str

    def recognises(self, probe: Probe) -> bool:
        """Whether the content (never the name alone) is of this format."""
        ...

    def read(self, path: str, context: Context) -> Iterator[Attempt]:
        """Read one file or folder, an attempt at a time.

        Raises
        ------
        InputError
            What cannot be read in full and without doubt: names file, line and remedy.
        """
        ...
