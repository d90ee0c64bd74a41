"""Results, for Python: one JSON document each, and what reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from janus_jax.errors import InputError

if TYPE_CHECKING:
    import altair as alt
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

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        replay: Result | Mapping[str, Any] | None = None,
        power: Result | Mapping[str, Any] | None = None,
        sensitivity: Result | Mapping[str, Any] | None = None,
    ) -> str | None:
        """``report.html``: one page that people read, which asks nothing of any network.

        Parameters
        ----------
        path
            The file to write it to; without one the page is returned.
        replay, power, sensitivity
            Results of these functions, or their documents, to show as sections of the page.

        Raises
        ------
        InputError
            One of them is of other data or another plan than this audit; or the file cannot be
            written, or holds what was not written here.
        """
        given = {"replay": replay, "power": power, "sensitivity": sensitivity}
        beside = [
            (name, _document(name, value)) for name, value in given.items() if value is not None
        ]
        return written(path, lambda: self._page(beside))

    def _page(self, beside: Sequence[tuple[str, dict[str, Any]]] = ()) -> str:
        from janus_jax.html.page import page
        from janus_jax.html.together import together

        return page(**together([("this audit", self.document), *beside]))

    def plot_forest(self) -> alt.LayerChart:
        """Lifts of the findings in both splits, with the interval of the holdout lift.

        Without findings, of what stood out most. Needs altair, like the other plots:
        ``pip install "janus-jax[plots]"``.

        Raises
        ------
        InputError
            Nothing was tested, so there is nothing to plot; or altair is not installed.
        """
        from janus_jax.html.plots import forest

        return forest(self.document)

    def plot_decoys(self) -> alt.LayerChart:
        """How large the tested descriptors are beside the decoys, and the threshold."""
        from janus_jax.html.plots import decoys

        return decoys(self.document)

    def plot_fdp(self) -> alt.LayerChart:
        """The estimated share of false discoveries over thresholds, q and the threshold."""
        from janus_jax.html.plots import fdp

        return fdp(self.document)

    def plot_methods(self) -> alt.LayerChart:
        """How many descriptors each method selects and confirms."""
        from janus_jax.html.plots import methods

        return methods(self.document)

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``result.json``, ``findings.csv``, ``report.md`` and ``report.html`` into a folder.

        The folder is made when it does not exist. Results that stand in it are replaced (of several
        models, also those in the folders of their audits); other files never.

        Raises
        ------
        InputError
            The folder cannot be made or written, or a file of one of these names was not written
            here.
        """
        from janus_jax.files import RESULT_FILES, folder_named, write_whole, writing
        from janus_jax.folders import former_folders, remove_former
        from janus_jax.report import findings_csv

        target = folder_named(folder, "write")
        former = former_folders(target)
        # The numbers are safe before anything is drawn.
        texts = (
            self.to_json,
            lambda: findings_csv(self.document),
            self.to_markdown,
            self._page,
        )
        paths = [target / name for name in RESULT_FILES]
        for path, text in zip(paths, texts, strict=True):
            with writing(str(path)):
                write_whole(path, text())
        remove_former(former, ())
        return paths

    def __repr__(self) -> str:
        from janus_jax.report import answer

        return f"<AuditResult: {answer(self.document)}>"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        from janus_jax.html.summary import summary

        return summary(self.document)


def written(path: str | Path | None, make: Callable[[], str]) -> str | None:
    """Write a text to a file; without one return it."""
    if path is None:
        return make()
    from janus_jax.files import file_named, write_whole, writing

    target = file_named(path, "to_html")
    with writing(str(target)):
        write_whole(target, make())
    return None


def _document(name: str, value: object) -> dict[str, Any]:
    if isinstance(value, Result):
        return value.document
    if not isinstance(value, Mapping):
        raise InputError(
            f"{name}: {value!r} is no result; give what janus_jax.{name} returned, or its document"
        )
    return dict(cast("Mapping[str, Any]", value))
