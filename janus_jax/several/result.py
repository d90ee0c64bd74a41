"""The result of a comparison, for Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from janus_jax.result import AuditResult, Result

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
        """Names of the descriptors that are found for every model."""
        return [f["name"] for f in self.document["findings"] if f["kind"] == "common"]

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

    def _audit(self, entry: dict[str, Any]) -> AuditResult:
        return AuditResult({**entry["audit"], "run": self.document["run"]})

    def to_markdown(self) -> str:
        """``report.md``: the answer, the models side by side, every finding."""
        from janus_jax.several.report import comparison_markdown

        return comparison_markdown(self.document)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the comparison into a folder, and every audit into a folder of its own in it.

        The folders are made when they do not exist; files of the same names are replaced.
        """
        from janus_jax.files import RESULT_FILES, write_whole
        from janus_jax.html.comparison import comparison_page
        from janus_jax.several.report import comparison_csv, short_names, shown_pair

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        audits = {**self.audits, **self.differences}
        folders = folder_names(list(audits))
        models = short_names(self.document)
        pairs = (shown_pair(e, models) for e in self.document["differences"] if e["audit"])
        pages = [
            (f"{name}/{RESULT_FILES[-1]}", shown)
            for name, shown in zip(folders, (*models.values(), *pairs), strict=True)
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
            write_whole(path, text())
        for name, audit in zip(folders, audits.values(), strict=True):
            paths += audit.write(target / name)
        return paths

    def to_html(self, path: str | Path | None = None) -> str:
        """``report.html``: one page that people read, which asks nothing of any network.

        Parameters
        ----------
        path
            A file to write it to, beside returning it.
        """
        from janus_jax.files import write_whole
        from janus_jax.html.comparison import comparison_page

        text = comparison_page(self.document)
        if path is not None:
            write_whole(path, text)
        return text

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


def folder_names(names: list[str]) -> list[str]:
    """A folder for each outcome: its number, and its name as far as any file system takes it.

    Examples
    --------
    >>> folder_names(["gpt-4", "a/b wrong, c right"])
    ['1-gpt-4', '2-a_b_wrong_c_right']
    """
    plain = (re.sub(r"[^A-Za-z0-9.-]+", "_", name).strip("._")[:100] for name in names)
    return [f"{number}-{name}".rstrip("-.") for number, name in enumerate(plain, 1)]
