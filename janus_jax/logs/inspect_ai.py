"""Inspect AI logs: ``.json`` (one document) and ``.eval`` (a zip archive) of the same content.

Attempts are samples times epochs. Every scorer is a score, a dictionary gives one for each key;
``reductions``, which average over epochs, are not used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

from janus_jax.errors import InputError
from janus_jax.logs import json_text
from janus_jax.logs.archive import Archive
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.fields import Fields
from janus_jax.logs.gather import NoAttempts
from janus_jax.logs.inspect_archive import EvalFile, recognised
from janus_jax.logs.inspect_sample import Header, attempt_of, header_of, key_of
from janus_jax.logs.untyped import is_object, mapping
from janus_jax.readers import opening

_ZIP = b"PK\x03\x04"
_VERSIONS: Final = (1, 2)
_SPEC: Final = frozenset({"task", "task_id", "model", "dataset", "run_id", "created"})


class InspectAI:
    """Logs of Inspect AI, versions 1 and 2."""

    NAME: Final = "inspect"
    OUTCOME_OPTION: Final = "--scorer"

    def recognises(self, probe: Probe) -> bool:
        """An archive with Inspect's members, or a document that begins as its logs do."""
        if probe.members:
            return recognised(probe.members)
        head = json_text.probe_head(probe.head)
        if not is_object(head) or "status" not in head:
            return False
        spec = head.get("eval")
        if is_object(spec):
            return len(_SPEC & spec.keys()) >= 2
        # Cut off before its header: still a log, and the reader can say that it is cut.
        return list(head) == ["version", "status"]

    def read(self, path: str, context: Context) -> Iterator[Attempt]:
        """One attempt per sample and epoch; last those that were planned and never run.

        Raises
        ------
        InputError
            The log is cut off or damaged, or holds a sample twice; NoAttempts if it holds none.
        """
        with closing(opening.open_binary(path)) as raw:
            zipped = raw.read(len(_ZIP)) == _ZIP
        return _read_archive(path, context) if zipped else _read_document(path, context)


FORMAT: Final = InspectAI()


def _read_document(path: str, context: Context) -> Iterator[Attempt]:
    learned = Fields()
    fields, samples = json_text.document(
        path, context, "samples", lambda sample: learned.learn(_metadata(sample))
    )
    header = header_of(fields, path)
    version = fields.get("version", 2)
    if version not in _VERSIONS:
        context.note(
            f"{path}: has version {version!r} of Inspect's format; versions 1 and 2 are known, and "
            "it is read like these."
        )
    records = ((f"{path} sample {number}", sample) for number, sample in enumerate(samples, 1))
    yield from _attempts(records, header, learned, context)


def _read_archive(path: str, context: Context) -> Iterator[Attempt]:
    with Archive(path, context) as archive:
        log = EvalFile(archive, context)
        learned = Fields()
        for _, record in log.records():
            learned.learn(_metadata(record))
        yield from _attempts(log.records(), log.header, learned, context)


def _metadata(sample: object) -> Mapping[str, Any]:
    return mapping(mapping(sample).get("metadata"))


def _attempts(
    records: Iterable[tuple[str, Any]], header: Header, learned: Fields, context: Context
) -> Iterator[Attempt]:
    seen: dict[tuple[str, int], int] = {}
    counts: Counter[str] = Counter()
    for line, (where, sample) in enumerate(records, 1):
        name, epoch = key_of(sample, where)
        first = seen.setdefault((str(name), epoch), line)
        if first != line:
            raise InputError(
                f"{where}: sample {str(name)!r} epoch {epoch} is in the log twice (before as "
                f"sample {first}); remove one, or give the samples ids that differ as text"
            )
        attempt = attempt_of(sample, header, learned, where, line)
        counts["invalidated"] += "invalidated" in attempt.post
        counts["scored errors"] += attempt.status == "error" and bool(attempt.scores)
        yield attempt
    if not seen:
        raise _no_samples(header)
    missing = [
        (name, epoch)
        for epoch in range(1, header.epochs + 1)
        for name in header.planned
        if (name, epoch) not in seen
    ]
    for line, (name, epoch) in enumerate(missing, len(seen) + 1):
        yield Attempt(
            example=name,
            where=f"{header.path} (planned)",
            line=line,
            status="not_run",
            coordinates={**header.coordinates, "epoch": str(epoch)},
        )
    _say(header, len(seen), len(missing), counts, context)


def _no_samples(header: Header) -> NoAttempts:
    counted = f", its results count {header.completed}" if header.completed else ""
    return NoAttempts(
        f"{header.path}: the log holds no samples (status {header.status!r}{counted})",
        "it was written without them, or the run ended before the first one; name the full log of "
        "a finished run",
    )


def _say(
    header: Header, logged: int, missing: int, counts: Mapping[str, int], context: Context
) -> None:
    if header.status != "success":
        why = f" ({header.error})" if header.error else ""
        of = f" of {logged + missing:,} planned" if header.planned else ""
        context.note(
            f"{header.path}: the run has status {header.status!r}{why}, not 'success'; the log "
            f"holds {logged:,}{of} attempts."
        )
    elif missing:
        context.note(
            f"{header.path}: {missing:,} of {logged + missing:,} planned attempts are not in the "
            "log; they count as not run."
        )
    if many := counts["invalidated"]:
        context.note(
            f"{header.path}: {many:,} attempts are marked as invalidated in the log; they count as "
            "unscored."
        )
    if many := counts["scored errors"]:
        context.note(
            f"{header.path}: {many:,} attempts ended with an error and have scores all the same "
            "(score_on_error); they count as errors."
        )
