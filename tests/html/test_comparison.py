"""The page of several models: the numbers of the document, and every name as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser

import janus_jax
from janus_jax.cells import printable
from janus_jax.html.comparison import comparison_page
from tests.html import made
from tests.html.reading import Read, json_blocks
from tests.html.test_browser import DESK, opened

WORDS = {
    "confirmed": "confirmed",
    "not_replicated": "not replicated",
    "not_selected": "not selected",
    "ineligible": "ineligible",
}


@pytest.mark.parametrize("kind", made.COMPARISONS)
def test_every_finding_stands_there_for_every_model(kind: str) -> None:
    document = made.comparison(kind)
    rows = Read(made.text(kind)).rows("findings")
    assert len(rows) == len(document["findings"]) > 0
    names = [model["name"] for model in document["models"]]
    for row, finding in zip(rows, document["findings"], strict=True):
        assert row[0] == printable(finding["name"])
        for cell, name in zip(row[2:], names, strict=True):
            lift = finding["lifts"][name]["holdout"]
            assert " ".join(cell.split())[:6] == f"{lift:+.3f}"
            (audited,) = (
                d
                for model in document["models"]
                if model["name"] == name
                for d in model["audit"]["descriptors"]
                if d["name"] == finding["name"]
            )
            part, span = audited["holdout"], audited["effect"]
            inside, outside = (100 * part[f"errors_{side}"] / part[side] for side in ("on", "off"))
            assert cell.endswith(
                f"{WORDS[finding['statuses'][name]]}{inside:.0f}% inside, {outside:.0f}% outside; "
                f"{span['low']:+.2f}..{span['high']:+.2f}"
            )


def test_models_differences_and_patterns_are_those_of_the_document() -> None:
    document = made.comparison("models")
    read = Read(made.text("models"))
    rows = {row[0]: row for row in read.rows("models")}
    assert list(rows)[:3] == [name.removeprefix("correct_") for name in made.MODELS]
    for model in document["models"]:
        row = rows[model["name"].removeprefix("correct_")]
        selected = [
            d
            for d in model["audit"]["descriptors"]
            if d["status"] in ("confirmed", "not_replicated")
        ]
        confirmed = [d for d in selected if d["status"] == "confirmed"]
        chance = model["audit"]["screen"]["decoys_exact"]["expected_exceedances"]
        assert row[1:6] == [
            str(model["errors"]["discovery"]),
            str(model["errors"]["holdout"]),
            str(len(selected)),
            f"{chance:.1f}",
            str(len(confirmed)),
        ]
    together = {row[0]: row[1:] for row in read.rows("together")}
    for place, part in enumerate(("discovery", "holdout")):
        of_all = next(
            p["n"] for p in document["co_errors"][part]["patterns"] if len(p["wrong"]) == 3
        )
        assert together["all"][place] == str(of_all)
    assert len(rows) == 3 + len(document["differences"])


def test_disagreements_and_what_was_not_tested() -> None:
    pair = ["correct_6b_verification", "correct_175b_finetuning"]
    result = janus_jax.compare(made.GSM8K, correct=pair, **made.OPTIONS)
    read = Read(comparison_page(result.document))
    (found,) = result.document["pairs"][0]["findings"]
    only, difference = found["only_wrong"], found["difference"]
    tables = [
        table for table in read.all("table") if "loses ground there" in "".join(table.itertext())
    ]
    cells = [
        " ".join("".join(cell.itertext()).split()) for cell in tables[0].iter() if is_cell(cell)
    ]
    assert cells == [
        found["name"],
        "6b_verification, 175b_finetuning",
        *(f"{only[name][side]}/{found[side]}" for name in pair for side in ("on", "off")),
        "175b_finetuning less often",
        f"{difference['lift']:+.3f}",
        f"{difference['low']:+.2f}..{difference['high']:+.2f}",
        "6b_verification",
    ]
    shown = read.shown()
    on, off = ({name: only[name][side] for name in pair} for side in ("on", "off"))
    first, second = pair
    assert (
        f"6b_verification loses ground to 175b_finetuning in \u201c{found['name']}\u201d: "
        f"elsewhere, of {found['off']} examples, 6b_verification is wrong and 175b_finetuning "
        f"right on {off[first]}, and the reverse on {off[second]}; there, of {found['on']}, on "
        f"{on[first]} against {on[second]}."
    ) in shown
    wrong = {m["name"]: m["errors"]["holdout"] / 6.60 for m in result.document["models"]}
    assert result.document["data"]["holdout"]["n"] == 660
    assert (
        f"Wrong in holdout: 6b_verification {wrong[first]:.0f}%, 175b_finetuning "
        f"{wrong[second]:.0f}%."
    ) in shown
    assert f"6b_verification loses ground to 175b_finetuning in 1 slice ({found['name']})" in shown
    assert f"1 confirmed on holdout: {found['name']} (less often)" in shown
    audit = result.document["models"][0]["audit"]
    for d in audit["descriptors"]:
        if d["status"] == "ineligible":
            assert d["reason"] in shown
    assert "constant: every value is '1'" in shown
    assert "correct_6b_verification: outcome column 'correct_6b_verification' read as" in shown
    # Of what the page does not have, it says no limits.
    assert "Findings are not counted apart" not in shown
    assert "this model" not in shown


def is_cell(element: Any) -> bool:
    tag = str(element.tag).rpartition("}")[2]
    return tag == "td" or (tag == "th" and element.get("scope") == "row")


def test_more_models_than_can_be_told_apart_are_not_drawn_and_that_is_said() -> None:
    rng = np.random.default_rng(1)
    hard = rng.random(400) < 0.5
    models = {f"m{i}": rng.random(400) < np.where(hard, 0.7, 0.2) for i in range(7)}
    table = pd.DataFrame({"hard": hard, **models})
    result = janus_jax.compare(table, error=list(models), differences="none", **made.OPTIONS)
    read = Read(comparison_page(result.document))
    assert not read.all("figure")
    assert "The lifts of more than 6 models are not drawn" in read.shown()
    assert len(read.rows("findings")[0]) == 9


def test_names_of_models_are_text_everywhere() -> None:
    text = made.text("hostile models")
    read = Read(text)
    assert not read.names() & {"img", "iframe", "object"}
    for name in made.HOSTILE[:3]:
        assert printable(name) in read.shown()
    for block in json_blocks(text):
        assert "<" not in block
    for element in read.root.iter():
        assert not any(key.lower().startswith("on") for key in element.attrib)


def test_nothing_found_for_anyone_is_a_result() -> None:
    result = janus_jax.compare(
        made.GSM8K, correct=list(made.MODELS[:2]), min_holdout_lift="0.9", **made.OPTIONS
    )
    read = Read(comparison_page(result.document))
    assert "Nothing was found for any model" in read.shown()
    assert "nothing is confirmed for either of them" in read.shown()
    assert not read.all("figure")


def test_the_written_page_links_the_page_of_every_audit(tmp_path: Path) -> None:
    result = janus_jax.compare(made.GSM8K, correct=list(made.MODELS[:2]), **made.OPTIONS)
    result.write(tmp_path)
    read = Read((tmp_path / "report.html").read_text("utf-8"))
    links = [a.get("href") or "" for a in read.all("a")]
    pages = [link for link in links if not link.startswith("#")]
    assert len(pages) == 4
    assert all((tmp_path / page).is_file() for page in pages)
    # Written again into the same folder: every file there is known as ours.
    result.write(tmp_path)


@pytest.mark.parametrize("kind", made.COMPARISONS)
def test_the_table_sorts_and_filters(browser: Browser, tmp_path: Path, kind: str) -> None:
    with opened(browser, tmp_path, kind, DESK) as shown:
        shown.page.locator("#findings-table thead button").nth(2).click()
        cells = shown.value(
            "Array.from(document.querySelectorAll('#findings-table tbody tr'),"
            " (r) => parseFloat(r.cells[2].textContent))"
        )
        assert cells == sorted(cells, key=abs, reverse=True)
        kinds = {finding["kind"] for finding in made.comparison(kind)["findings"]}
        for key in kinds:
            shown.page.select_option("#status", key)
            visible = shown.page.locator("#findings-table tbody tr:visible").count()
            assert visible == sum(f["kind"] == key for f in made.comparison(kind)["findings"])
        shown.page.select_option("#status", "")
        shown.page.locator("figure.chart").scroll_into_view_if_needed()
        shown.page.locator("#chart-lifts.is-live").wait_for()
        shown.page.locator(
            "#chart-lifts .live svg path[aria-label], #chart-lifts .live svg .mark-symbol path"
        ).first.hover(force=True)
        assert shown.said == []


def test_what_is_found_for_no_model_can_be_searched_for(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, "eight models", DESK) as shown:
        page = shown.page
        elsewhere = page.locator("a.elsewhere")
        assert elsewhere.is_hidden()
        page.get_by_label("Search names").fill("COIN")
        assert page.locator("output").inner_text() == "0 of 1 shown"
        assert elsewhere.inner_text() == "1 more tested, and found for no model"
        name = page.locator("#not-found li").get_by_text("coin", exact=True)
        assert name.is_hidden()
        elsewhere.click()
        assert name.is_visible()
        page.get_by_label("Search names").fill("hard")
        assert elsewhere.is_hidden()


def test_many_differences_are_folded_and_every_link_is_an_item_of_its_own() -> None:
    document = made.comparison("eight models")
    read = Read(made.text("eight models"))
    models = [entry["name"] for entry in document["models"]]
    pairs = [entry for entry in document["differences"] if entry["audit"]]
    assert len(pairs) > 12
    links = {"".join(a.itertext()): a for a in read.with_id("models").iter() if a.tag == "a"}
    assert list(links) == [*models, *(entry["name"] for entry in pairs)]
    items = ["".join(li.itertext()) for li in read.with_id("models").iter() if li.tag == "li"]
    assert [item for item in items if item in links] == list(links)
    folded = [
        "".join(a.itertext())
        for details in read.with_id("models").iter("details")
        for a in details.iter("a")
    ]
    assert folded == [entry["name"] for entry in pairs]
    # Of the differences themselves those in which something was found come first.
    found = [
        any(d["status"] == "confirmed" for d in entry["audit"]["descriptors"])
        if entry["audit"]
        else False
        for entry in document["differences"]
    ]
    told = ["".join(dd.itertext()) for dd in read.with_id("differences").iter("dd")]
    nothing = ["0 confirmed" in said or "confirmed" not in said for said in told]
    assert len(told) == len(found)
    assert [not empty for empty in nothing] == sorted(found, reverse=True)


def test_titles_of_tabs_say_what_the_page_is_about() -> None:
    of_models = "175b_verification, 175b_finetuning, 6b_verification: where the errors of"
    assert (Read(made.text("models")).all("title")[0].text or "").startswith(of_models)
    many = Read(made.text("long model")).all("title")[0].text or ""
    assert many.startswith("3 models: where the errors of")
    one = Read(made.text("gsm8k")).all("title")[0].text or ""
    source = "gsm8k_openai_4models.csv"
    assert one == f"correct_175b_verification: where the errors of {source} concentrate"


def test_the_page_is_made_again_from_its_json(tmp_path: Path) -> None:
    from tests.audits import cli

    file = made.write(tmp_path, "several.json", made.comparison("models"))
    page = tmp_path / "page.html"
    run = cli.call("report", file, "--out", page)
    assert run.status == 0, run.err
    assert page.read_text("utf-8") == made.text("models")
    beside = made.write(tmp_path, "one.json", made.document("gsm8k"))
    run = cli.call("report", file, beside, "--out", page)
    assert run.status == 2
    assert "is the audit of several models" in cli.one_message(run.err)
    broken = made.write(tmp_path, "broken.json", {"schema": "janus-jax/comparison/1"})
    assert "lacks 'data'" in cli.one_message(cli.call("report", broken, "--out", page).err)


def test_plots_hold_every_models_lift() -> None:
    result = janus_jax.compare(made.GSM8K, correct=list(made.MODELS), **made.OPTIONS)
    spec = result.plot_lifts().to_dict()
    (points,) = [layer for layer in spec["layer"] if "shape" in layer["encoding"]]
    values = points["data"].get("values") or spec["datasets"][points["data"]["name"]]
    wanted = {
        (f["name"], m.removeprefix("correct_"), f["lifts"][m]["holdout"])
        for f in result.document["findings"]
        for m in made.MODELS
    }
    assert {(v["name"], v["series"], v["lift"]) for v in values} == wanted
