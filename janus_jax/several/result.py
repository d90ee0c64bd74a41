"""The result of a comparison, for Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from janus_jax.result import AuditResult, Result, written

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Result):
    """Several models audited on the same examples: schema ``janus-jax/comparison/1``."""

    @property
    def audits(self) -> dict[str, AuditResult]:
        """Each model's own audit, by its name."""
        return {entry["name"]: self._audit(entry) for entry in self.document["models"]}

    @property
    def differences(self) -> dict[str, AuditResult]:
        """The audits of what one model gets wrong and another right, by name."""
        return {
            entry["name"]: self._audit(entry)
            for entry in self.document["differences"]
            if entry["audit"]
        }

    @property
    def common(self) -> list[str]:
        """Names of the descriptors that are found for every model, in the same direction."""
        return self._of_kind("common")

    @property
    def opposed(self) -> list[str]:
        """Names of those found for several models (or all) in opposite directions.

        Where one of these models errs more often than elsewhere, another errs less often.
        """
        return self._of_kind("opposed")

    @property
    def own(self) -> dict[str, list[str]]:
        """For each model, the descriptors that are found for it alone."""
        models = [entry["name"] for entry in self.document["models"]]
        return {
            model: [f["name"] for f in self.document["findings"] if f["found_for"] == [model]]
            for model in models
        }

    @property
    def findings(self) -> pd.DataFrame:
        """What was found for any model: a status and two lifts for each."""
        import pandas as pd

        rows = [
            {"name": f["name"], "kind": f["kind"]}
            | {
                f"{model} {what}": value
                for model, status in f["statuses"].items()
                for what, value in {"status": status, **f["lifts"][model]}.items()
            }
            for f in self.document["findings"]
        ]
        return pd.DataFrame(rows)

    @property
    def disagreements(self) -> pd.DataFrame:
        """Where two models disagree: how often each alone is wrong, and the difference of lifts.

        One row for each slice that was found for what one of two models alone gets wrong. Counts
        are of holdout, or of discovery without one; ``difference`` is the first model's lift less
        the second's, with its 95% interval.
        """
        import pandas as pd

        rows = [
            {"first": first, "second": second, "name": f["name"]}
            | {
                f"{place}_{what}": value
                for place, model in (("first", first), ("second", second))
                for what, value in {
                    "status": f["statuses"][model],
                    "alone_on": f["only_wrong"][model]["on"],
                    "alone_off": f["only_wrong"][model]["off"],
                }.items()
            }
            | {"on": f["on"], "off": f["off"], "difference": f["difference"]["lift"]}
            | {side: f["difference"][side] for side in ("low", "high")}
            for pair in self.document["pairs"]
            for first, second in (pair["models"],)
            for f in pair["findings"]
        ]
        return pd.DataFrame(rows)

    def _of_kind(self, kind: str) -> list[str]:
        return [f["name"] for f in self.document["findings"] if f["kind"] == kind]

    def _audit(self, entry: dict[str, Any]) -> AuditResult:
        return AuditResult({**entry["audit"], "run": self.document["run"]})

    def to_markdown(self) -> str:
        """``report.md``: the answer, the models side by side, every finding."""
        from janus_jax.several.report import comparison_markdown

        return comparison_markdown(self.document)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the comparison into a folder, and every audit into a folder of its own in it.

        The folders are made when they do not exist. Results that stand in them are replaced, and
        those of an earlier comparison's other models are removed; other files never.

        Raises
        ------
        InputError
            A folder cannot be made or written, or a file of one of the names was not written here.
        """
        from janus_jax.files import RESULT_FILES, folder_named, write_whole, writing
        from janus_jax.folders import folder_names, former_folders, remove_former
        from janus_jax.html.comparison import comparison_page
        from janus_jax.several.naming import short_names
        from janus_jax.several.report import comparison_csv, shown_pair

        target = folder_named(folder, "write")
        audits = {**self.audits, **self.differences}
        names = folder_names(list(audits))
        folders = [folder_named(target / name, "write") for name in names]
        former = former_folders(target)
        models = short_names(self.document)
        pairs = (shown_pair(e, models) for e in self.document["differences"] if e["audit"])
        pages = [
            (f"{name}/{RESULT_FILES[-1]}", shown)
            for name, shown in zip(names, (*models.values(), *pairs), strict=True)
        ]
        # The numbers are safe before anything is drawn.
        texts = (
            self.to_json,
            lambda: comparison_csv(self.document),
            self.to_markdown,
            lambda: comparison_page(self.document, pages),
        )
        paths = [target / name for name in RESULT_FILES]
        for path, text in zip(paths, texts, strict=True):
            with writing(str(path)):
                write_whole(path, text())
        for place, audit in zip(folders, audits.values(), strict=True):
            paths += audit.write(place)
        remove_former(former, folders)
        return paths

    def to_html(self, path: str | Path | None = None) -> str | None:
        """``report.html``: one page that people read, which asks nothing of any network.

        Parameters
        ----------
        path
            The file to write it to; without one the page is returned.

        Raises
        ------
        InputError
            The file cannot be written, or holds what was not written here.
        """
        from janus_jax.html.comparison import comparison_page

        return written(path, lambda: comparison_page(self.document))

    def plot_lifts(self) -> alt.LayerChart:
        """The lift of every finding for every model; filled where it is found.

        Needs altair: ``pip install "janus-jax[plots]"``.

        Raises
        ------
        InputError
            There is no finding, or there are too many models to tell apart; or altair is not
            installed.
        """
        from janus_jax.html.plots import lifts

        return lifts(self.document)

    def __repr__(self) -> str:
        from janus_jax.several.report import comparison_answer

        return f"<Comparison: {comparison_answer(self.document)}>"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        from janus_jax.html.summary import comparison_summary

        return comparison_summary(self.document)
