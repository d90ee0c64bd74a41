"""The samples of an Inspect AI ``.eval`` archive: from its summaries where these say everything.

``summaries.json`` holds every sample without its transcript, and is all that an audit needs of a
recent log. Where it is known to leave something out, the sample itself is read: in logs of Inspect
before 0.3.156 (the summaries lack choices, and before 0.3.124 lists and objects of the metadata),
where a value of the summary was cut, and in logs with samples marked as invalid. Summaries also
squeeze the blanks in texts, so three samples are compared with theirs before the rest is believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from janus_jax.errors import InputError
from janus_jax.logs.archive import Archive
from janus_jax.logs.attempt import Context
from janus_jax.logs.fields import Fields
from janus_jax.logs.inspect_sample import Header, attempt_of, header_of, is_cut, key_of
from janus_jax.logs.untyped import is_array, is_object, mapping

_HEADER = "header.json"
_START = "_journal/start.json"
_SUMMARIES = "summaries.json"
_JOURNAL = re.compile(r"_journal/summaries/(\d{1,9})\.json")
_SAMPLE = re.compile(r"samples/(?P<id>.*)_epoch_(?P<epoch>\d{1,9})(?:\.json|/sample\.json)", re.S)

_SUFFICIENT: Final = (0, 3, 156)

Key = tuple[str, int]


def recognised(members: frozenset[str]) -> bool:
    """Whether an archive with these members is an Inspect AI log."""
    return _START in members or (
        _HEADER in members and any(n == _SUMMARIES or n.startswith("samples/") for n in members)
    )


class EvalFile:
    """An ``.eval`` archive that is being read."""

    def __init__(self, archive: Archive, context: Context) -> None:
        """Read header and summaries.

        Raises
        ------
        InputError
            There is no header, or a summary is no object with id and epoch.
        """
        self._archive = archive
        self.path = archive.path
        finished = _HEADER in archive.members
        if not finished and _START not in archive.members:
            raise InputError(
                f"{self.path}: has neither {_HEADER} nor {_START}, so it is no Inspect AI log; "
                "name another file or --format"
            )
        name = _HEADER if finished else _START
        self.header: Header = header_of(
            mapping(archive.json(name)), self.path, status="" if finished else "started"
        )
        self._summaries = self._read_summaries(context)
        for member in archive.members:
            found = _SAMPLE.fullmatch(member)
            if found:  # a run that was cut off may have written samples and not their summaries
                self._summaries.setdefault((found["id"], int(found["epoch"])), None)
        self._whole = self.header.version < _SUFFICIENT or self.header.invalidated

    def records(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Every sample with its place: the summary, or the sample where that is needed."""
        if not self._whole and not self._summaries_agree():
            self._whole = True
        for number, (key, summary) in enumerate(self._summaries.items(), 1):
            if summary is None or self._whole or is_cut(summary):
                yield f"{self.path} {_member(key)}", self._sample(key, summary)
            else:
                yield f"{self.path} {_SUMMARIES} sample {number}", summary

    def _read_summaries(self, context: Context) -> dict[Key, Mapping[str, Any] | None]:
        names = [_SUMMARIES]
        if _SUMMARIES not in self._archive.members:
            journal = [found for n in self._archive.members if (found := _JOURNAL.fullmatch(n))]
            names = [found[0] for found in sorted(journal, key=lambda found: int(found[1]))]
        summaries: dict[Key, Mapping[str, Any] | None] = {}
        originals: dict[Key, int | str] = {}
        for name in names:
            listed = self._archive.json(name)
            if not is_array(listed):
                raise InputError(f"{self.path} {name}: is no list; the log is damaged")
            for number, summary in enumerate(listed, 1):
                where = f"{self.path} {name} sample {number}"
                example, epoch = key_of(summary, where)
                key = (str(example), epoch)
                if type(originals.setdefault(key, example)) is not type(example):
                    raise InputError(
                        f"{where}: the number {key[0]} and the text {key[0]!r} are both ids; give "
                        "the samples ids that differ as text"
                    )
                if key in summaries:  # run again; the later record counts, as in Inspect itself
                    context.note(
                        f"{self.path}: samples recorded more than once (they were run or scored "
                        "again) count by their last record, as in Inspect."
                    )
                if is_object(summary):
                    summaries[key] = summary
        return summaries

    def _summaries_agree(self) -> bool:
        """Whether three samples say of their examples what their summaries say."""
        known = [(key, summary) for key, summary in self._summaries.items() if summary is not None]
        known = [(key, summary) for key, summary in known if not is_cut(summary)]
        for at in sorted({0, len(known) // 2, len(known) - 1}) if known else ():
            key, summary = known[at]
            if _member(key) not in self._archive.members and self._shell(key) is None:
                continue
            both = (summary, self._sample(key, summary))
            seen = [attempt_of(record, self.header, Fields(), "", 0) for record in both]
            one, other = ((a.facts, a.derived, a.texts, _text(a.scores)) for a in seen)
            if one != other:
                return False
        return True

    def _sample(self, key: Key, summary: Mapping[str, Any] | None) -> Mapping[str, Any]:
        shell = self._shell(key)
        sample = mapping(self._archive.json(shell or _member(key)))
        if shell is not None:  # a large sample in parts: the shell is without its metadata
            metadata = shell.replace("/sample.json", "/metadata.json")
            if metadata in self._archive.members:
                sample["metadata"] = self._archive.json(metadata)
        name, epoch = key_of(sample, f"{self.path} {shell or _member(key)}")
        if (str(name), epoch) != key:
            raise InputError(
                f"{self.path} {shell or _member(key)}: holds sample {name!r} epoch {epoch}, not "
                "the one its name says; the log is damaged"
            )
        if summary is not None:
            sample.setdefault("message_count", summary.get("message_count"))
        return sample

    def _shell(self, key: Key) -> str | None:
        name = f"samples/{key[0]}_epoch_{key[1]}/sample.json"
        whole = _member(key) in self._archive.members
        return name if not whole and name in self._archive.members else None


def _member(key: Key) -> str:
    return f"samples/{key[0]}_epoch_{key[1]}.json"


def _text(scores: Mapping[str, Any]) -> str:
    return repr(sorted(scores.items()))  # NaN is equal to itself here
