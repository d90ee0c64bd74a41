"""Results, for Python: one JSON document each, and what reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found.

    Attributes
    ----------
    document
        The whole result as JSON values; ``document["schema"]`` says which kind it is.
    """

    document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return self.document

    def to_json(self) -> str:
        """The result as a file: strict JSON, no NaN or infinity."""
        return json.dumps(self.document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True, slots=True, repr=False)
class AuditResult(Result):
    """What an audit found: ``result.json``, schema ``janus-jax/audit/1``."""

    @property
    def confirmed(self) -> list[str]:
        """Names of the descriptors that the primary rule selects and holdout confirms.

        The largest discovery statistic first.
        """
        from janus_jax.report import ranked

        return [d["name"] for d in ranked(self.document) if d["status"] == "confirmed"]

    @property
    def findings(self) -> pd.DataFrame:
        """Every descriptor as one row: status, counts, lifts and p-values of both splits."""
        import pandas as pd

        from janus_jax.report import FINDINGS_COLUMNS, finding_rows

        return pd.DataFrame(finding_rows(self.document), columns=list(FINDINGS_COLUMNS))

    def to_markdown(self) -> str:
        """``report.md``: the answer, the table of descriptors, the methods side by side."""
        from janus_jax.report import markdown

        return markdown(self.document)

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``result.json``, ``findings.csv`` and ``report.md`` into a folder.

        The folder is made when it does not exist; files of these names are replaced.
        """
        from janus_jax.files import RESULT_FILES, write_whole
        from janus_jax.report import findings_csv

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        texts = (self.to_json(), findings_csv(self.document), self.to_markdown())
        paths = [target / name for name in RESULT_FILES]
        for path, text in zip(paths, texts, strict=True):
            write_whole(path, text)
        return paths

    def __repr__(self) -> str:
        from janus_jax.report import answer

        return f"<AuditResult: {answer(self.document)}>"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()
