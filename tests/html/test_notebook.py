"""What a notebook shows: a compact summary, and the charts as altair charts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import vl_convert

import janus_jax
from janus_jax.errors import InputError
from janus_jax.html import charts
from janus_jax.html.marks import LIGHT, PAGE
from janus_jax.report import printable
from tests.html import made
from tests.html.reading import Read, plain

PLOTS = ("plot_forest", "plot_decoys", "plot_fdp", "plot_methods")


def result(kind: str) -> janus_jax.AuditResult:
    return janus_jax.AuditResult(made.document(kind))


@pytest.mark.parametrize("kind", made.KINDS)
def test_the_summary_is_small_and_runs_nothing(kind: str) -> None:
    text = result(kind)._repr_html_()
    read = Read(text)
    own = {"html", "head", "body", "p", "strong", "br"}
    own |= {"table", "thead", "tbody", "tr", "th", "td", "bdi"}
    assert read.names() <= own
    assert all(not name.startswith("on") for e in read.root.iter() if plain(e) for name in e.attrib)
    assert len(text) < 6000


def test_the_summary_lists_what_was_confirmed_by_its_holdout_numbers() -> None:
    document = made.document("gsm8k")
    read = Read(f'<div id="all">{result("gsm8k")._repr_html_()}</div>')
    rows = read.rows("all")
    assert [row[0] for row in rows] == result("gsm8k").confirmed
    (lead,) = [d for d in document["descriptors"] if d["name"] == rows[0][0]]
    part = lead["holdout"]
    assert rows[0][1].startswith(f"{part['errors_on']}/{part['on']} ")
    assert float(rows[0][4]) == pytest.approx(part["lift"], abs=5e-4)


def test_the_summary_shows_markup_as_text() -> None:
    read = Read(result("tags")._repr_html_())
    assert "<b>col</b> = <script>alert(1)</script>" in {e.text for e in read.all("bdi")}


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("kind", ["gsm8k", "clusters", "nothing found", "no holdout", "hostile"])
def test_plots_are_altair_charts_that_can_be_drawn(kind: str, plot: str) -> None:
    import altair

    chart = getattr(result(kind), plot)()
    assert isinstance(chart, altair.LayerChart)
    text = chart.to_json()
    assert "var(--" not in text
    assert vl_convert.vegalite_to_svg(json.loads(text)).startswith("<svg")


def test_plots_hold_the_documents_numbers() -> None:
    spec: Any = result("gsm8k").plot_forest().to_dict()
    points = [row for layer in spec["layer"] for row in layer["data"]["values"] if "lift" in row]
    found = {(row["name"], row["series"].partition(",")[0]): row["lift"] for row in points}
    for d in made.document("gsm8k")["descriptors"]:
        if d["status"] == "confirmed":
            assert found[printable(d["name"]), "discovery"] == d["discovery"]["lift"]
            assert found[printable(d["name"]), "holdout"] == d["holdout"]["lift"]


def test_nothing_tested_is_nothing_to_plot() -> None:
    for plot in PLOTS:
        with pytest.raises(InputError, match="nothing to plot"):
            getattr(result("empty library"), plot)()


def test_without_altair_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(InputError, match=r'pip install "janus-jax\[plots\]"'):
        result("gsm8k").plot_forest()


def test_page_and_notebook_draw_the_same() -> None:
    document = made.document("gsm8k")
    here, there = charts.fdp(document, LIGHT), charts.fdp(document, PAGE)
    assert here is not None
    assert there is not None
    values = [[layer["data"]["values"] for layer in spec["layer"]] for spec in (here, there)]
    assert values[0] == values[1]


WAITING = ("jinja2", "markupsafe", "vl_convert", "altair", "pandas", "jax")


@pytest.mark.parametrize("words", [("--help",), ("report", "--help"), ("audit", "--help")])
def test_help_imports_no_template_and_no_charts(words: tuple[str, ...]) -> None:
    code = (
        f"import sys; sys.argv = ['janus-jax', *{words!r}]\n"
        "from janus_jax.cli import main\n"
        "main()\n"
        f"print('LOADED', [m for m in {WAITING!r} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "LOADED []"
