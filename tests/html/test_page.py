"""What is on the page, read by a parser: complete without any script, and nothing from outside."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import vl_convert

import janus_jax
from janus_jax.html.page import page
from janus_jax.report import STATUS_WORDS, printable
from tests.html import made
from tests.html.reading import Read, digest, json_blocks, plain

VENDOR = Path(janus_jax.__file__).parent / "html" / "vendor"
LARGEST = 5_000_000
"""Bytes of a page with two thousand descriptors."""


@lru_cache
def read_page(kind: str) -> Read:
    """The page of a kind, parsed."""
    return Read(made.text(kind))


@pytest.fixture(params=[*made.KINDS, "full"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[*made.KINDS, "full", *made.COMPARISONS])
def any_kind(request: pytest.FixtureRequest) -> str:
    return request.param


def test_it_begins_so_that_it_is_known_as_ours(any_kind: str) -> None:
    assert made.text(any_kind).startswith("<!DOCTYPE html>\n<!-- janus-jax report -->\n")


def test_nothing_is_asked_of_any_network(any_kind: str) -> None:
    read = read_page(any_kind)
    assert read.policy().startswith("default-src 'none'; ")
    for element in read.root.iter():
        for attribute in ("src", "srcset", "action", "data", "poster", "background", "ping"):
            assert element.get(attribute) is None, (plain(element), attribute)
        for name, value in element.attrib.items():
            if name.rpartition("}")[2] == "href":
                assert value.startswith("#")
                assert read.with_id(value[1:]) is not None
    (style,) = read.all("style")
    assert "url(" not in (style.text or "")
    assert "@import" not in (style.text or "")
    assert not read.names() & {"link", "iframe", "object", "embed", "img", "base"}


def test_the_policy_lets_exactly_the_own_scripts_run(any_kind: str) -> None:
    read = read_page(any_kind)
    allowed = re.search(r"script-src ([^;]*);", read.policy())
    assert allowed is not None
    assert allowed.group(1).split() == [digest(script) for script in read.scripts()]
    assert len(read.scripts()) == (1 if any_kind == "empty library" else 3)


def test_headings_go_in_order_and_landmarks_are_there(any_kind: str) -> None:
    read = read_page(any_kind)
    levels = [int(plain(e)[1]) for e in read.root.iter() if re.fullmatch("h[1-6]", plain(e))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for name in ("main", "header", "footer", "nav"):
        assert len(read.all(name)) == 1
    ids = [e.get("id") for e in read.root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))


def test_tables_have_captions_and_scopes_and_drawings_are_described(any_kind: str) -> None:
    read = read_page(any_kind)
    for table in read.all("table"):
        assert [plain(child) for child in table][:2] == ["caption", "thead"]
        assert all(e.get("scope") in ("col", "row") for e in table.iter() if plain(e) == "th")
    drawings = read.all("svg")
    assert len(drawings) == 2 * len(read.all("figure")) == 2 * len(read.specs())
    for drawing in drawings:
        assert drawing.get("role") == "img"
        title, description = drawing[0], drawing[1]
        assert (plain(title), plain(description)) == ("title", "desc")
        assert title.text
        assert description.text
        assert drawing.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
        assert drawing.get("viewBox")


def test_every_descriptor_stands_there_with_its_reason_and_status(kind: str) -> None:
    document = made.document("gsm8k" if kind == "full" else kind)
    read = read_page(kind)
    tested = [d for d in document["descriptors"] if d["status"] != "ineligible"]
    shown = {row[0]: row for row in read.rows("tested")} if tested else {}
    assert len(shown) == len(tested)
    for d in tested:
        (cells,) = [row for cell, row in shown.items() if cell.startswith(printable(d["name"]))]
        assert printable(d["reason"]) in cells[0]
        assert cells[1].endswith(STATUS_WORDS[d["status"]])
    said = read.shown()
    for d in document["descriptors"]:
        assert printable(d["name"]) in said
        assert printable(d["reason"]) in said
        assert all(printable(alias) in said for alias in d["aliases"])
    for entry in document["not_used"]:
        assert printable(entry["column"]) in said
        assert printable(entry["reason"]) in said
    for text in (*document["warnings"], *document["notes"]):
        assert printable(text) in said


@pytest.mark.parametrize(
    ("kind", "first", "title"),
    [
        ("gsm8k", "In 7 of the 16 groups of examples that were tested", "Findings"),
        ("nothing found", "No group of examples was found", "Nothing stood out"),
        ("nothing confirmed", "13 of the 16 groups", "Nothing was confirmed"),
        ("no holdout", "13 of the 17 groups", "Selected, but not confirmed"),
        ("empty library", "Nothing could be tested", "Nothing was tested"),
    ],
)
def test_the_answer_comes_first_and_in_plain_words(kind: str, first: str, title: str) -> None:
    read = read_page(kind)
    answer = "".join(read.with_id("answer").itertext())
    assert first in answer
    assert not re.search(r"p-value|threshold|FDP|decoy|\bnull\b", answer)
    heading = read.with_id("findings-h")
    assert heading.text == title


def test_the_answer_gives_the_rates_of_the_holdout() -> None:
    document = made.changed()
    confirmed = [d for d in document["descriptors"] if d["status"] == "confirmed"]
    lead = next(d for d in confirmed if d["name"] == "n_steps > 3")
    assert abs(lead["holdout"]["lift"]) == max(abs(d["holdout"]["lift"]) for d in confirmed)
    assert (lead["holdout"]["errors_on"], lead["holdout"]["on"]) == (159, 256)
    assert (lead["holdout"]["errors_off"], lead["holdout"]["off"]) == (142, 404)
    answer = "".join(Read(page(document)).with_id("answer").itertext())
    said = "\u201cn_steps > 3\u201d, where 62% are answered wrongly, against 35% elsewhere"
    assert said in answer
    widths = [
        d["effect"]["high"] - d["effect"]["low"]
        for d in document["descriptors"]
        if d["status"] == "confirmed"
    ]
    least, most = (round(50 * width) for width in (min(widths), max(widths)))
    assert f"within about {least} to {most} percentage points" in answer


def test_only_the_strongest_thirty_are_drawn_and_the_rest_is_said() -> None:
    document = made.changed()
    (one,) = [d for d in document["descriptors"] if d["name"] == "n_steps > 3"]
    for i in range(40):
        document["descriptors"].append({**one, "name": f"copy {i}"})
    read = Read(page(document))
    assert len(read.rows("findings")) == 30
    assert "the other 17 are in the table" in read.shown()
    assert len(read.rows("tested")) == 16 + 40


def test_forest_rows_are_the_documents_numbers() -> None:
    document = made.document("gsm8k")
    rows = read_page("gsm8k").rows("findings")
    assert len(rows) == 7
    by_name = {d["name"]: d for d in document["descriptors"]}
    for name, _, _, lift, _, _, holdout, span in rows:
        d = by_name[name]
        assert float(lift) == pytest.approx(d["discovery"]["lift"], abs=5e-4)
        assert float(holdout) == pytest.approx(d["holdout"]["lift"], abs=5e-4)
        low, high = map(float, span.split(".."))
        assert (low, high) == pytest.approx((d["effect"]["low"], d["effect"]["high"]), abs=6e-3)


def test_families_say_how_many_of_the_findings_overlap() -> None:
    document = made.document("livecodebench")
    families = document["families"]
    members = sum(len(family["members"]) for family in families)
    assert 1 < len(families) < members
    read = read_page("livecodebench")
    assert f"{members} findings, {len(families)} families" in read.shown()
    tables = [e for e in read.with_id("families").iter() if plain(e) == "table"]
    several = [f for f in families if len(f["members"]) > 1]
    assert len(tables) == len(several) + (len(several) < len(families))
    assert f"({len(families)} families, since they overlap)" in read.shown()
    # Where none overlap so much, the nearest of each is shown all the same.
    rows = read_page("gsm8k").rows("families")
    members = [family["members"][0] for family in made.document("gsm8k")["families"]]
    assert [[row[0], row[2], row[3]] for row in rows] == [
        [m["name"], m["nearest"]["name"], f"{m['nearest']['phi']:+.3f}"] for m in members
    ]


def test_examples_are_those_of_the_document() -> None:
    given = made.document("gsm8k")["examples"]
    read = read_page("gsm8k")
    folded = [e for e in read.with_id("examples").iter() if plain(e) == "details"]
    assert len(folded) == len(given["slices"]) == 13
    first = given["slices"][0]
    said = "".join(folded[0].itertext())
    assert f"{first['wrong']} wrong, {first['right']} right" in said
    assert f"{first['wrong'] + first['right'] - 100} more are not shown" in said
    rows = read.rows("examples")
    assert [row[0] for row in rows] == [row["id"] for row in first["rows"]]
    assert rows[0][1:3] == ["holdout", "wrong"]
    assert rows[0][3:] == first["rows"][0]["values"]


def test_more_examples_than_a_page_can_hold_are_cut_and_said() -> None:
    document = made.changed()
    for it in document["examples"]["slices"]:
        for row in it["rows"]:
            row["values"] = ["word " * 390, None]
    text = page(document)
    assert len(text.encode()) < 3_000_000
    rows = Read(text).rows("examples")
    assert rows[0][3].endswith("\u2026")
    assert rows[0][4] == "\u2013"
    assert "more are not shown" in text


@pytest.mark.parametrize(
    ("kind", "series"),
    [
        ("gsm8k", {"exact limit", "1,000 literal decoys"}),
        ("clusters", {"mean count over the permutations"}),
    ],
)
def test_the_curve_is_of_the_literal_decoys_and_the_limit_or_of_the_exchanges(
    kind: str, series: set[str]
) -> None:
    document = made.document(kind)
    specs = {
        e.get("id"): json.loads(e.text or "")
        for e in read_page(kind).all("script")
        if e.get("type")
    }
    rows = [
        row
        for source in specs["chart-fdp-spec"]["data"]
        for row in source.get("values", ())
        if "fdp" in row
    ]
    assert {row["series"] for row in rows} == series
    curve, size = document["screen"]["curve"], document["screen"]["L"]
    at = 3
    by_name = {
        row["series"]: row["fdp"] for row in rows if row["threshold"] == curve["threshold"][at]
    }
    reached = max(1, curve["R"][at])
    if kind == "clusters":
        assert by_name == {"mean count over the permutations": curve["mean_count"][at] / reached}
    else:
        literal = size / document["screen"]["decoys"]["K"] * curve["D"][at] / reached
        assert by_name["1,000 literal decoys"] == pytest.approx(literal, rel=1e-12)
        expected = curve["expected_exceedances"][at] / reached
        assert by_name["exact limit"] == pytest.approx(expected, rel=1e-12)


def test_the_histogram_holds_every_descriptor_and_every_decoy() -> None:
    document = made.document("gsm8k")
    read = read_page("gsm8k")
    rows = read.rows("screen")
    assert len(rows) == 40
    assert sum(int(row[2]) for row in rows) == document["screen"]["L"]
    assert sum(int(row[3]) for row in rows) == document["screen"]["decoys"]["K"]


def test_panels_are_there_when_their_documents_are() -> None:
    read = read_page("full")
    for key in ("replay", "power", "splits"):
        assert read.has(key)
        assert not read_page("gsm8k").has(key)
    beside = made.beside()
    assert len(read.rows("replay")) == len(beside["replay"]["rules"])
    assert len(read.rows("power")) == 4
    assert len(read.rows("splits")) == len(beside["sensitivity"]["rules"])
    assert "The design is this audit\u2019s" in read.shown()


def test_a_power_study_of_another_design_is_said_to_be_one() -> None:
    power = janus_jax.power(preset="controlled", delta=["0.2", "0.3"], repetitions=50).to_dict()
    said = Read(page(made.document("gsm8k"), power=power)).shown()
    assert "this is another design than this audit\u2019s: preset controlled: L = 10" in said


def test_how_it_was_made_can_be_repeated() -> None:
    document = made.changed("hostile")
    read = Read(page(document))
    said = "".join(read.with_id("made").itertext())
    for text in (document["run"]["command"], document["data"]["sha256"], document["plan"]["hash"]):
        assert text in said
    options = {row[0]: row[1] for row in read.rows("made")}
    assert options["q"] == "0.10"
    assert options["split.fraction"] == "0.5"
    assert options["na"] == '["<none>"]'


def test_results_of_versions_without_the_newer_sections_have_a_page() -> None:
    document = made.changed()
    for section in ("families", "examples"):
        del document[section]
    for part in ("curve", "histogram"):
        del document["screen"][part]
    read = Read(page(document))
    assert not read.has("screen")
    assert not read.has("examples")
    assert len(read.rows("tested")) == 16


def test_two_thousand_descriptors_fit() -> None:
    text = made.text("many")
    assert len(text.encode("utf-8")) < LARGEST
    assert len(Read(text).rows("tested")) == 2000


# --- text of the data is text --------------------------------------------------------------------

OURS = {
    *("html", "head", "meta", "title", "style", "body", "a", "div", "header", "p", "h1", "main"),
    *("section", "nav", "ul", "li", "h2", "h3", "dl", "dt", "dd", "small", "em", "figure", "svg"),
    *("desc", "g", "path", "line", "text", "rect", "figcaption", "script", "table", "caption"),
    *("thead", "tbody", "tr", "th", "td", "bdi", "b", "span", "details", "summary", "form"),
    *("label", "input", "select", "option", "output", "pre", "code", "footer", "strong", "wbr"),
    "",  # comments
}
"""Elements that the page itself is made of."""


@pytest.mark.parametrize("kind", ["tags", "line breaks", "hostile"])
def test_no_element_and_no_handler_is_made_of_the_data(kind: str) -> None:
    read = read_page(kind)
    assert read.names() <= OURS
    for element in read.root.iter():
        assert not [name for name in element.attrib if name.lower().startswith("on")]
    for element in read.all("b"):  # only the symbol before a status
        assert element.get("aria-hidden") == "true"
    assert "{{" not in re.sub(r"\{\{ ?7 ?\*", "", read.shown())
    assert "49" not in {row[0] for row in read.rows("tested")}


def test_names_are_shown_letter_by_letter() -> None:
    document = made.document("hostile")
    read = read_page("hostile")
    named = {"".join(e.itertext()) for e in read.all("bdi")}
    for d in document["descriptors"]:
        assert printable(d["name"]) in named
    assert len(document["descriptors"]) > len(made.HOSTILE)
    for it in document["examples"]["slices"]:
        for row in it["rows"]:
            assert printable(row["id"]) in named
    said = read.shown()
    for text in made.HOSTILE:
        for line in text.splitlines():  # chosen columns keep their line breaks
            assert printable(line) in said
    assert "\u202e" not in made.text("hostile")
    assert "\x1b" not in made.text("hostile")
    title = read.all("title")[0]
    assert "<script><img src=x onerror=alert(1)> & \\u202eco.csv" in (title.text or "")


@pytest.mark.parametrize("kind", ["tags", "line breaks", "hostile", "gsm8k"])
def test_embedded_json_holds_no_markup_and_means_the_names(kind: str) -> None:
    blocks = json_blocks(made.text(kind))
    assert len(blocks) == 4
    for block in blocks:
        assert not re.search("[<>&\u2028\u2029]", block)
        assert block.isascii()
    forest = json.loads(blocks[0])
    (names,) = [signal["value"] for signal in forest["signals"] if signal["name"] == "names"]
    document = made.document(kind)
    assert set(names) <= {printable(d["name"]) for d in document["descriptors"]}
    assert names


def test_drawings_show_markup_as_text() -> None:
    read = read_page("tags")
    drawn = {e.text for e in read.all("text")}
    assert "<b>col</b> = <script>alert(1)</script>" in drawn


def test_line_breaks_do_not_break_a_table() -> None:
    rows = read_page("line breaks").rows("tested")
    assert len(rows) == 7
    assert len({len(row) for row in rows}) == 1


# --- what is vendored ----------------------------------------------------------------------------


def test_vendored_files_are_those_that_the_recipe_makes() -> None:
    told = dict(re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", _recipe(), re.MULTILINE))
    assert set(told) == {path.name for path in VENDOR.iterdir()} - {"README.md"}
    for name, expected in told.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == expected


def _recipe() -> str:
    return (VENDOR / "README.md").read_text(encoding="utf-8")


def test_charts_are_compiled_for_the_vendored_major_version() -> None:
    version = re.search(r"vega@(\d+)\.", _recipe())
    assert version is not None
    assert vl_convert.get_vega_version().split(".")[0] == version.group(1)


def test_licences_go_with_the_page() -> None:
    first = read_page("gsm8k").scripts()[0]
    assert "University of Washington Interactive Data Lab" in first
    assert "Mike Bostock" in first


def test_endless_names_are_shortened_where_people_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    name = "begin " + "w" * 5000 + " end"
    hard = rng.random(400) < 0.5
    table = pd.DataFrame({name: hard, "wrong": rng.random(400) < np.where(hard, 0.8, 0.2)})
    result = janus_jax.audit(table, error="wrong", **made.OPTIONS)
    assert result.confirmed == [name]
    page = result.to_html()
    assert page is not None
    read = Read(page)
    short = f"begin {'w' * 74}\u2026{'w' * 35} end"
    assert len(short) == 120
    assert short in read.rows("tested")[0][0]
    assert all(len(text) < 400 for text in page.split('<p class="answer">')[1].split("</p>")[:1])
    assert any(b.get("title") == name for b in read.all("bdi"))  # the whole of it when pointed at
    assert len(repr(result)) < 220
    table_lines = result.to_markdown().split("## Why each")[0].splitlines()
    assert max(map(len, table_lines)) < 400
    assert name in result.to_markdown()
    assert name in result.to_json()
    result.write(tmp_path)
    assert name in (tmp_path / "findings.csv").read_text("utf-8")


@pytest.mark.parametrize(("kind", "words"), [("gsm8k", "more"), ("livecodebench", None)])
def test_the_answer_says_whether_errors_are_more_or_fewer(kind: str, words: str | None) -> None:
    found = [d for d in made.document(kind)["descriptors"] if d["status"] == "confirmed"]
    more = sum(d["holdout"]["lift"] > 0 for d in found)
    assert (words == "more") == (more == len(found))
    said = (
        "the model errs more than elsewhere"
        if words
        else f"differs from elsewhere (higher in {more}, lower in {len(found) - more})"
    )
    assert said in read_page(kind).shown()


def test_one_group_is_no_plural() -> None:
    hard = np.arange(400) % 2 == 0
    for share, said in (
        (0.8, "In the one group of examples that was tested the model errs"),
        (0.2, "not even the one tested stood out enough for the rule to tell it from chance"),
    ):
        wrong = np.random.default_rng(3).random(400) < np.where(hard, share, 0.2)
        result = janus_jax.audit(
            pd.DataFrame({"hard": hard, "wrong": wrong}), error="wrong", **made.OPTIONS
        )
        text = page(result.document)
        assert said in Read(text).shown()
        assert " of 1 descriptor selected" in repr(result)
        assert "1 groups" not in text
        assert "1 descriptors" not in text
