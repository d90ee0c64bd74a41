"""The table every reader produces: dictionary-encoded columns, and where each row came from.

A column is stored as *codes* into its *distinct values* whatever it holds. Deciding what a value
means (is ``yes`` a boolean? is ``inf`` a number?) then looks at each distinct value once, and a
descriptor's membership is one table look-up: ``member_of_level[codes]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Levels = tuple[str, ...] | NDArray[np.int64] | NDArray[np.float64] | NDArray[np.bool_]
"""Distinct values of a column: text as written, or numbers/booleans from a typed source."""


Codes = NDArray[np.int8] | NDArray[np.int16] | NDArray[np.int32]
"""Indices of levels, one per row."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of ``n`` rows.

    Attributes
    ----------
    name
        The header, verbatim (after a byte-order mark was taken off).
    codes
        int8, int16 or int32, whatever holds them, shape (n,): index into ``levels``; -1 where the
        value is missing.
    levels
        Distinct values, in order of first appearance.
    unusable
        Why no descriptor can be made of it ("a list", "a date", no fact of the example), else None.
    categorical
        The source declares its values to be categories, whatever they look like.
    origin
        What is known about where the fact comes from: "post", known only after the model ran;
        "derived", made from the gold answer; "outcome", one of several models' outcomes; "varies",
        it differs between the rows of one example; None otherwise.
    """

    name: str
    codes: Codes
    levels: Levels
    unusable: str | None = None
    categorical: bool = False
    origin: Literal["post", "derived", "outcome", "varies"] | None = None

    def __post_init__(self) -> None:
        # A million rows of a yes/no column are a megabyte then, not four.
        narrow = np.min_scalar_type(-max(len(self.levels), 1))
        if narrow.itemsize < self.codes.dtype.itemsize:
            object.__setattr__(self, "codes", self.codes.astype(narrow))

    def take(self, rows: NDArray[np.intp]) -> Column:
        """The same column with only these rows, in this order (levels are kept as they are)."""
        return replace(self, codes=self.codes[rows])


STATUS_WORDS: Final[Mapping[str, str]] = {
    "unscored": "without a score",
    "error": "that failed with an error",
    "not_run": "that were not run",
}
"""Why an attempt in a log has no outcome, in words."""


LOWER_IS_BETTER: Final = ":lower_is_better"
"""Ends the name of a score that is better when it is lower: 0 is right there, not wrong."""


@dataclass(frozen=True, slots=True)
class LogInfo:
    """What is known of a table that was read from evaluation logs.

    Attributes
    ----------
    format
        The format's name.
    outcome
        The column that holds the score that was chosen.
    choices
        What was chosen, by option: filter, scorer, model ...
    statuses
        Rows without an outcome by why, a key of :data:`STATUS_WORDS`.
    several
        Attempts of several models were chosen: a column ``model`` says whose each is.
    """

    format: str
    outcome: str
    choices: Mapping[str, str]
    statuses: Mapping[str, int]
    several: bool = False

    def fixed(self) -> dict[str, str]:
        """Format and choices but for the score, for a plan to hold an audit to."""
        scores = ("metric", "scorer")
        others = {name: value for name, value in self.choices.items() if name not in scores}
        return {"format": self.format, **others}


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length, in file order, and the provenance of each row.

    Attributes
    ----------
    columns
        Name to column, in file order.
    n
        Number of rows.
    source
        The files, as the user named them (or a word such as ``DataFrame``).
    sha256
        Hash of the bytes of the files, in order (of the encoded content for an object in memory).
    files
        int32, shape (n,): index into ``source`` of each row.
    lines
        int64, shape (n,): 1-based line in the file where the row starts; for an object in memory
        and for Parquet, the 1-based row number.
    line_word
        "line" or "row", what ``lines`` counts, one per source.
    notes
        Plain sentences about what was noticed while reading; shown to the user.
    log
        For evaluation logs, what they are and what was chosen.
    outcomes
        The outcome columns of several models on these examples; () for a single outcome.
    stacked
        The column that held every model's outcome where each had rows of its own, so that
        ``outcomes`` are named after models; None where the columns are those of the data.
    """

    columns: Mapping[str, Column]
    n: int
    source: tuple[str, ...]
    sha256: str
    files: NDArray[np.int32]
    lines: NDArray[np.int64]
    line_word: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())
    log: LogInfo | None = None
    outcomes: tuple[str, ...] = ()
    stacked: str | None = None

    def header_of(self, outcome: str) -> str:
        """The column of the data that an outcome was read from."""
        return outcome if self.stacked is None else self.stacked

    def where(self, row: int) -> str:
        """Where a row stands, for a message: ``results.csv line 5``."""
        source = int(self.files[row])
        return f"{self.source[source]} {self.line_word[source]} {int(self.lines[row])}"

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> Table:
        """The table with only these rows, in this order."""
        index = np.asarray(rows, dtype=np.intp)
        return replace(
            self,
            columns={name: column.take(index) for name, column in self.columns.items()},
            n=len(index),
            files=self.files[index],
            lines=self.lines[index],
        )
