"""The page in a browser: it asks for nothing, it works, it can be read by everybody."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from janus_jax.report import printable
from tests.html import made
from tests.html.reading import Read

pytestmark = pytest.mark.long  # a browser sees nothing of how the page was packed

DESK: Any = {"viewport": {"width": 1100, "height": 900}}
PHONE: Any = {"viewport": {"width": 375, "height": 800}}
DARK: Any = {**DESK, "color_scheme": "dark"}
WITHOUT_SCRIPTS: Any = {**DESK, "java_script_enabled": False}


@dataclass
class Opened:
    """A page in a browser, and what went on in it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def value(self, script: str) -> Any:
        """What a script on the page comes to."""
        return self.page.evaluate(script)

    def unfold(self) -> None:
        """Open what is folded; of the examples, one table is like the other: the first one."""
        self.value(
            "document.querySelectorAll('details:not(.slices *), .slices details:first-child')"
            ".forEach((d) => { d.open = true; })"
        )

    def whole(self) -> None:
        """Scroll through the page until every chart that is to be seen is live."""
        self.page.wait_for_load_state()
        for figure in self.page.locator("figure.chart").all():
            figure.scroll_into_view_if_needed()
            self.page.locator(f"#{figure.get_attribute('id')}.is-live").wait_for()


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp()


@contextmanager
def opened(browser: Browser, folder: Path, kind: str, options: Any = DESK) -> Generator[Opened]:
    """Open the page of a kind as a file."""
    path = folder / f"{kind}.html"
    path.write_text(made.text(kind), encoding="utf-8")
    context = browser.new_context(**options)
    try:
        page = context.new_page()
        shown = Opened(page)
        page.on("request", lambda request: shown.requests.append(request.url))
        page.on("console", lambda message: shown.said.append(message.text))
        page.on("pageerror", lambda error: shown.said.append(str(error)))
        page.on("dialog", lambda dialog: shown.said.append(f"dialog {dialog.message}"))
        page.goto(path.as_uri())
        yield shown
    finally:
        context.close()


@pytest.mark.parametrize("kind", [*made.KINDS, "full", *made.COMPARISONS])
def test_nothing_is_requested_and_nothing_complains(
    browser: Browser, folder: Path, kind: str
) -> None:
    with opened(browser, folder, kind) as shown:
        shown.whole()
        assert shown.requests == [(folder / f"{kind}.html").as_uri()]
        assert shown.said == []


@pytest.mark.parametrize(
    "kind",
    [
        "full",
        "hostile",
        "livecodebench",
        "empty library",
        "clusters",
        *made.COMPARISONS,
        "long model",
    ],
)
def test_a_phone_does_not_scroll_sideways(browser: Browser, folder: Path, kind: str) -> None:
    with opened(browser, folder, kind, PHONE) as shown:
        shown.whole()
        shown.unfold()
        assert shown.value("document.documentElement.scrollWidth") <= 375
        widths = shown.value(
            "Array.from(document.querySelectorAll('figure svg'),"
            " (s) => s.getBoundingClientRect().right)"
        )
        assert max(widths, default=0) <= 375
        live = shown.value(
            "Array.from(document.querySelectorAll('figure .live svg text'),"
            " (t) => parseFloat(getComputedStyle(t).fontSize)"
            " * Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b))"
        )
        assert min(live, default=12) >= 10  # labels are not shrunk beyond reading


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("gsm8k", "#tested-table"),
        ("gsm8k", "#findings table"),
        ("many", "#tested-table"),
        ("eight models", "#findings-table"),
        ("eight models", "#differences table"),
    ],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_keeps_the_names_of_rows_in_sight(
    browser: Browser, folder: Path, kind: str, table: str, scheme: str
) -> None:
    with opened(browser, folder, kind, {**PHONE, "color_scheme": scheme}) as shown:
        place = shown.page.locator(table).first
        place.scroll_into_view_if_needed()
        before, after, scrolled, ground = place.evaluate("""(table) => {
          const [box, head] = [table.closest('.scroll'), table.tBodies[0].rows[0].cells[0]];
          const at = () => { const r = head.getBoundingClientRect(); return [r.left, r.right]; };
          const before = at();
          box.scrollLeft = 250;
          return [before, at(), box.scrollLeft, getComputedStyle(head).backgroundColor];
        }""")
        assert scrolled > 100
        assert after == before
        assert after[1] - after[0] <= 0.4 * 375
        # Nothing shines through it.
        assert ground == shown.value("getComputedStyle(document.body).backgroundColor")


def test_without_scripts_all_is_there(browser: Browser, folder: Path) -> None:
    with opened(browser, folder, "full", WITHOUT_SCRIPTS) as shown:
        page = shown.page
        assert page.locator("figure .wide svg").first.is_visible()
        assert page.locator("#tested-table tbody tr").count() == 16
        assert page.locator("#tested-table tbody tr").last.is_visible()
        assert not page.locator("form.controls").is_visible()
        assert page.locator("#tip").count() == 0
        page.locator("#examples summary").first.click()
        assert page.locator("#examples table").first.is_visible()
        assert shown.requests == [(folder / "full.html").as_uri()]


OUTSIDE = """() => Array.from(document.querySelectorAll('figure svg'), (svg) => {
  const box = svg.getBoundingClientRect();
  return Array.from(svg.querySelectorAll('text'), (text) => [text, text.getBoundingClientRect()])
    .filter(([, at]) => box.width && at.width)
    .filter(([, at]) => at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1)
    .map(([text]) => text.textContent);
}).flat()"""
"""Labels that stand out of the drawings to be seen, so that paper would cut them."""


@pytest.mark.parametrize("kind", ["full", *made.COMPARISONS])
@pytest.mark.parametrize("width", [1100, 320, "print"])
def test_no_label_is_cut_in_a_wide_font(
    browser: Browser, tmp_path: Path, kind: str, width: int | str
) -> None:
    # The drawings are made without a browser, in the fonts of that machine.
    wide = '<style>text { font-family: "DejaVu Sans", Verdana, sans-serif !important; }</style>'
    path = tmp_path / "page.html"
    path.write_text(made.text(kind).replace("</head>", f"{wide}</head>"), encoding="utf-8")
    size = {"width": 700 if width == "print" else width, "height": 900}
    context = browser.new_context(viewport=size, java_script_enabled=False)  # pyright: ignore[reportArgumentType]
    try:
        page = context.new_page()
        if width == "print":
            page.emulate_media(media="print")
        page.goto(path.as_uri())
        assert page.evaluate("document.querySelectorAll('figure svg text').length") > 10
        assert page.evaluate(OUTSIDE) == []
    finally:
        context.close()


def test_tables_sort_by_number_and_by_text(browser: Browser, folder: Path) -> None:
    tested = [d for d in made.document("gsm8k")["descriptors"] if d["status"] != "ineligible"]
    lifts = {d["name"]: round(d["discovery"]["lift"], 3) for d in tested}  # as they are shown
    with opened(browser, folder, "gsm8k") as shown:
        page = shown.page

        def names() -> list[str]:
            return page.locator("#tested-table tbody th bdi").all_text_contents()

        def press(title: str) -> None:
            page.get_by_role("button", name=title, exact=True).click()

        ranked = names()
        press("discovery lift")  # large differences first, whichever their sign
        assert names() == sorted(ranked, key=lambda name: -abs(lifts[name]))
        assert (
            page.locator("#tested-table th[aria-sort]").get_attribute("aria-sort") == "descending"
        )
        press("discovery lift")
        # Turned round, but equal numbers stay in the order they have.
        assert [abs(lifts[name]) for name in names()] == sorted(map(abs, lifts.values()))
        assert min(lifts.values()) < 0 < max(lifts.values())
        button = page.get_by_role("button", name="discovery lift", exact=True)
        assert button.get_attribute("title") == "Sorts by size, whichever the sign"
        press("p exact")  # the smallest one first
        p_values = {d["name"]: float(f"{d['p_exact']:.1e}") for d in tested}
        assert [p_values[name] for name in names()] == sorted(p_values.values())
        press("descriptor")
        shown_names = names()
        assert shown_names == sorted(shown_names, key=str.lower)
        press("discovery inside")
        rates = [
            int(a) / int(b)
            for a, b in (
                text.split("/")
                for text in page.locator("#tested-table td:nth-child(3)").all_text_contents()
            )
        ]
        assert rates == sorted(rates, reverse=True)
        page.get_by_role("button", name="p BH", exact=True).focus()
        page.keyboard.press("Enter")
        assert page.locator("#tested-table th[aria-sort]").inner_text().startswith("p BH")


def test_statuses_sort_from_found_to_not_found(browser: Browser, folder: Path) -> None:
    with opened(browser, folder, "gsm8k") as shown:
        page = shown.page
        page.get_by_role("button", name="p exact", exact=True).click()
        button = page.get_by_role("button", name="status", exact=True)
        button.focus()
        order = {"confirmed": 0, "not replicated": 1, "not selected": 2}
        for direction, turned in (("ascending", False), ("descending", True)):
            page.keyboard.press("Enter")
            cells = page.locator("#tested-table td:nth-child(2)").all_inner_texts()
            ranks = [order[cell[2:].strip()] for cell in cells]
            assert len(set(ranks)) == 3
            assert ranks == sorted(ranks, reverse=turned)
            head = page.locator("#tested-table th[aria-sort]")
            assert head.get_attribute("aria-sort") == direction


def test_tables_are_searched_and_filtered(browser: Browser, folder: Path) -> None:
    with opened(browser, folder, "gsm8k") as shown:
        page = shown.page
        visible = page.locator("#tested-table tbody tr:visible th bdi")
        assert visible.count() == 16
        page.get_by_label("Search names and reasons").fill("WORDS >")
        assert set(visible.all_text_contents()) == {"q_words > 42", "sol_words > 48"}
        assert page.locator("output").inner_text() == "2 of 16 shown"
        page.get_by_label("Search names and reasons").fill("")
        page.get_by_label("Status").select_option(label="not replicated (6)")
        assert visible.count() == 6
        page.get_by_label("Search names and reasons").fill("has_fraction")
        assert visible.all_text_contents() == ["has_fraction"]
        # What was searched for may not have been tested at all: the page leads there.
        elsewhere = page.locator("a.elsewhere")
        assert elsewhere.is_hidden()
        page.get_by_label("Search names and reasons").fill("= who")
        assert page.locator("output").inner_text() == "0 of 16 shown"
        assert elsewhere.inner_text() == "1 more in \u201cWhat was not tested\u201d"
        row = page.locator("#left-out").get_by_text("question_type = who")
        assert row.is_hidden()
        elsewhere.click()
        assert row.is_visible()


def test_marks_tell_their_numbers_when_pointed_at(browser: Browser, folder: Path) -> None:
    with opened(browser, folder, "tags") as shown:
        shown.whole()
        page = shown.page
        mark = page.locator("#chart-forest .live .mark-symbol.role-mark path").first
        mark.scroll_into_view_if_needed()
        mark.hover()
        tip = page.locator("#tip")
        tip.wait_for(state="visible")
        assert tip.locator("dt").all_text_contents() == ["descriptor", "discovery"]
        name, told = tip.locator("dd").all_text_contents()
        assert name == "<b>col</b> = <script>alert(1)</script>"
        assert told == "+1.000 (10/10 inside, 0/40 outside)"
        assert tip.locator("b, script, img").count() == 0
        page.mouse.move(2, 2)
        tip.wait_for(state="hidden")


def test_dark_really_is_dark(browser: Browser, folder: Path) -> None:
    colours = {}
    for name, options in (("light", DESK), ("dark", DARK)):
        with opened(browser, folder, "gsm8k", options) as shown:
            shown.whole()
            colours[name] = shown.value(
                "[getComputedStyle(document.body).backgroundColor,"
                " getComputedStyle(document.body).color,"
                " getComputedStyle(document.querySelector("
                "'#chart-forest .live .role-axis-label text')).fill,"
                " getComputedStyle(document.querySelector("
                "'#chart-forest .static .role-axis-label text')).fill]"
            )
    light, dark = colours["light"], colours["dark"]
    assert all(a != b for a, b in zip(light, dark, strict=True))
    assert sum(_rgb(light[0])) > 600
    assert sum(_rgb(dark[0])) < 120
    assert dark[2] == dark[3]  # the drawing and the live chart


def _rgb(colour: str) -> list[int]:
    return [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]


@pytest.mark.parametrize("kind", ["full", "tags"])
@pytest.mark.parametrize("scripts", [True, False])
def test_it_prints_with_everything_open(
    browser: Browser, folder: Path, kind: str, scripts: bool
) -> None:
    with opened(browser, folder, kind, DESK if scripts else WITHOUT_SCRIPTS) as shown:
        if scripts:
            shown.whole()
        assert shown.page.pdf(format="A4").startswith(b"%PDF-")
        shown.page.emulate_media(media="print")
        assert shown.page.locator("#examples table").first.is_visible()
        assert shown.page.locator("#chart-forest .wide svg").is_visible()
        assert not shown.page.locator("form.controls").is_visible()
        assert not shown.page.locator("#chart-forest .live").is_visible()


TOO_WIDE = """(width) => Array.from(document.querySelectorAll('table'), (table) => {
  const cells = Array.from(table.querySelectorAll('th, td'));
  const right = Math.max(...[table, ...cells].map((each) => each.getBoundingClientRect().right));
  const cut = cells.filter((c) => c.scrollWidth > c.clientWidth + 1).map((c) => c.textContent);
  return [table.caption.textContent, right, cut];
}).filter(([, right, cut]) => right > width + 1 || cut.length)"""
"""Tables that paper of a width would cut, and text that stands out of its cell."""

SMALLEST = """() => Math.min(...Array.from(document.querySelectorAll('th, td, th small, td small'),
  (cell) => parseFloat(getComputedStyle(cell).fontSize)))"""


@pytest.mark.parametrize(
    "kind",
    ["gsm8k", "livecodebench strata", "many", "hostile", "models", "eight models", "long model"],
)
def test_paper_cuts_no_table(browser: Browser, folder: Path, kind: str) -> None:
    with opened(browser, folder, kind) as shown:
        shown.page.emulate_media(media="print")
        shown.value("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        for paper in (210, 215.9):  # A4 and US Letter, millimetres
            width = int((paper - 2 * 14) / 25.4 * 96)
            shown.page.set_viewport_size({"width": width, "height": 900})
            assert shown.value(f"({TOO_WIDE})({width})") == []
        assert shown.value(f"({SMALLEST})()") >= 5.5 / 72 * 96


@pytest.mark.parametrize(
    "kind", ["full", "hostile", "nothing found", "empty library", *made.COMPARISONS, "eight models"]
)
@pytest.mark.parametrize("options", [DESK, DARK, PHONE], ids=["light", "dark", "phone"])
def test_nobody_is_kept_out(browser: Browser, folder: Path, kind: str, options: Any) -> None:
    with opened(browser, folder, kind, options) as shown:
        shown.whole()
        shown.unfold()
        grave = _grave(Axe().run(shown.page).response)
        assert not grave, grave


def _grave(response: Any) -> list[tuple[str, str]]:
    """What axe-core finds that is serious or critical, with one place each."""
    return [
        (found["id"], found["nodes"][0]["html"][:300])
        for found in response["violations"]
        if found["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("kind", ["tags", "line breaks", "hostile"])
def test_no_element_is_made_of_the_data(browser: Browser, folder: Path, kind: str) -> None:
    """The live page has the elements that the parser saw, and those that its own script adds."""
    with opened(browser, folder, kind) as shown:
        before = len(Read(made.text(kind)).all("bdi"))
        shown.whole()
        assert shown.value("document.querySelectorAll('bdi').length") == before
        assert shown.value("document.querySelectorAll('img, iframe, i, u, object').length") == 0
        assert shown.value("document.querySelectorAll('b:not([aria-hidden])').length") == 0
        assert shown.value("document.querySelectorAll('script').length") == 3 + 4
        assert shown.value("document.title") == Read(made.text(kind)).all("title")[0].text
        document = made.document(kind)
        texts = shown.value("Array.from(document.querySelectorAll('bdi'), (e) => e.textContent)")
        assert {printable(d["name"]) for d in document["descriptors"]} <= set(texts)
        assert shown.said == []


def test_an_injected_script_would_not_run(browser: Browser, folder: Path) -> None:
    """Were escaping to fail, the policy is the second lock."""
    text = made.text("tags")
    broken = text.replace("</main>", "<script>document.title = 'run'</script></main>", 1)
    assert broken != text
    path = folder / "broken.html"
    path.write_text(broken, encoding="utf-8")
    page = browser.new_page()
    try:
        page.goto(path.as_uri())
        page.wait_for_load_state()
        assert page.title() != "run"
    finally:
        page.close()


def test_two_thousand_descriptors_are_smooth(
    browser: Browser, folder: Path, record_property: Any
) -> None:
    """Times are recorded, not asserted: machines differ."""
    with opened(browser, folder, "many") as shown:
        shown.whole()
        timed = """(act) => new Promise((done) => {
            const start = performance.now();
            act();
            requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
        })"""
        sort = shown.value(
            f"({timed})(() => document.querySelectorAll('#tested-table thead button')[4].click())"
        )
        search = shown.value(
            f"({timed})(() => {{ const box = document.getElementById('search');"
            " box.value = 'fact 1999';"
            " box.dispatchEvent(new Event('input', { bubbles: true })); })"
        )
        record_property("milliseconds to sort", sort)
        record_property("milliseconds to search", search)
        print(f"\n2,000 descriptors: sort {sort:.0f} ms, search {search:.0f} ms")
        rows = shown.page.locator("#tested-table tbody tr:not([hidden])").count()
        assert rows == sum(
            all(word in f"{d['name']}{d['reason']}".lower() for word in ("fact", "1999"))
            for d in made.document("many")["descriptors"]
        )
        assert 0 < rows < 20
        shown.page.locator("#tested-table tbody tr:visible").first.wait_for()
        grave = _grave(Axe().run(shown.page, context="#tested").response)
        assert not grave, grave
        assert shown.said == []
