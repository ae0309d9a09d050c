"""The site as it is built: what is on its pages, and what a browser makes of them, opened as files.

Only where ``make install-site`` was run. A small site is built for the purpose: two chapters
and all that is not a chapter. ``COURSE_SITE=build/site/html`` tests the whole one instead.
"""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect, sync_playwright

from course_utils.project import all_chapters
from support.answers import ROOT
from support.kept_back import found_in, squeezed
from support.lab import needed_browser

# Chapter 02 has as_strided, formulas, call-outs and pictures; 00 is where one begins.
CHAPTERS = "00 02"
WIDTHS, THEMES = (390, 900, 1400), ("light", "dark")
SECTION = "chapters/02_storage_and_strides/3-view-or-copy.html"
# A page of each kind.
PAGES = (
    "index.html",
    "chapters/index.html",
    "chapters/02_storage_and_strides/index.html",
    SECTION,
    "indexes/names.html",
    "indexes/terms.html",
    "indexes/then-and-now.html",
    "authors/architecture.html",
    "authors/library.html",
    "instructors/command.html",
)
# What axe-core looks at, in a narrow window and dark, and in a wide window and light. To look at a
# long list takes it a quarter of a minute, and shows no more than a short one.
EXAMINED = ("index.html", SECTION, "indexes/then-and-now.html", "authors/architecture.html")
# What axe-core has rules for beyond the standard is not asked for.
STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder of a built site."""
    if importlib.util.find_spec("myst_nb") is None:
        reason = "the site's packages are not installed (make install-site)"
        if os.environ.get("COURSE_REQUIRE_SITE") == "1":
            pytest.fail(f"{reason}, and COURSE_REQUIRE_SITE=1 asks for them")
        pytest.skip(reason)
    if os.environ.get("COURSE_SITE"):
        return Path(os.environ["COURSE_SITE"]).resolve()
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "PYTHONPATH": "site", "COURSE_SITE_CHAPTERS": CHAPTERS}
    done = subprocess.run(
        [sys.executable, "-m", "course_site", "--folder", str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


# Where an element says what is loaded for it.
LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}
# What is not read as words. A formula of a statement may read like a line of its solution.
SILENT = ("script", "style", "math")


class Page(HTMLParser):
    """What a page says, links to, loads and can be linked to at."""

    def __init__(self, path: Path):
        super().__init__()
        self.words, self.links, self.loaded, self.ids, self.silent = [], [], [], set(), 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.silent += tag in SILENT
        self.ids.add(given.get("id"))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if LOADED.get(tag) in given:
            self.loaded.append(given[LOADED[tag]])
        if tag == "img" and "alt" not in given:
            self.loaded.append(f"picture without alt: {given['src']}")

    def handle_endtag(self, tag):
        self.silent -= tag in SILENT

    def handle_data(self, data):
        if not self.silent:
            self.words.append(data)


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Page]:
    paths = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path.relative_to(site).as_posix(): Page(path) for path in paths}


def shown_chapters(site):
    on_site = {path.name for path in (site / "chapters").iterdir()}
    return [chapter for chapter in all_chapters(ROOT) if chapter.name in on_site]


def test_nothing_that_is_kept_back_is_on_a_page_or_in_the_search(site, pages):
    texts = {name: squeezed("".join(page.words)) for name, page in pages.items()}
    texts["searchindex.js"] = squeezed((site / "searchindex.js").read_text(encoding="utf-8"))
    assert shown_chapters(site)
    for chapter in shown_chapters(site):
        assert found_in(texts, chapter) == []


def test_no_source_of_a_page_is_published(site):
    assert not [*site.rglob("*.ipynb"), *site.rglob("_sources/*")]


def test_every_link_leads_somewhere(site, pages):
    broken = []
    for name, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            path = (site / name).parent / unquote(target) if target else site / name
            path = path.resolve()
            there = pages.get(path.relative_to(site.resolve()).as_posix())
            if not path.exists() or (anchor and there and unquote(anchor) not in there.ids):
                broken.append(f"{name}: {link}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for name, page in pages.items():
        for address in page.loaded:
            assert not re.match(r"(?:[a-z]+:)?//|picture without", address), f"{name}: {address}"
    for path in (site / "_static").glob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", path.read_text("utf-8"))


def test_pictures_have_words(site):
    page = (site / SECTION).read_text(encoding="utf-8")
    alts = re.findall(r'<img (?:class="course-picture[^"]*" )?alt="([^"]*)"', page)
    assert alts
    assert all(len(alt.split()) > 4 and "_images" not in alt for alt in alts)


def test_formulas_and_diagrams_are_drawn_beforehand(site):
    chapter = "".join(
        path.read_text(encoding="utf-8")
        for path in (site / "chapters" / "02_storage_and_strides").glob("*.html")
    )
    assert "<math " in chapter
    assert r"\text{position}" not in chapter
    diagrams = (site / "authors" / "architecture.html").read_text(encoding="utf-8")
    assert diagrams.count('role="img" aria-label="Diagram') == 4, "two, for two themes"
    assert "flowchart LR" not in diagrams


@pytest.fixture(scope="module")
def browser():
    executable = needed_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, site):
    """Opens pages of the site from its files; at the end nothing may have gone wrong in any."""
    wrong, contexts = [], []

    def listen(page):
        page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
        page.on("requestfailed", lambda request: wrong.append(f"{page.url}: {request.url}"))
        page.on(
            "console",
            lambda said: (
                said.type in ("error", "warning") and wrong.append(f"{page.url}: {said.text}")
            ),
        )
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:", "blob:"))
                or wrong.append(f"{page.url} asks for {request.url}")
            ),
        )

    def opened(name, theme="light", width=1400):
        context = browser.new_context(
            viewport={"width": width, "height": 1000}, color_scheme=theme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        listen(page)
        page.goto((site / name).as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_each_width_in_each_theme(open_page, name, theme):
    page = open_page(name, theme)
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert over <= 0, f"{over} pixels too wide at {width}"
        assert page.locator("h1").is_visible()


@pytest.mark.parametrize(("theme", "width"), [("light", 1400), ("dark", 390)])
@pytest.mark.parametrize("name", EXAMINED)
def test_a_page_can_be_read_by_everybody(open_page, name, theme, width):
    """Contrast, alt texts, names of what can be pressed: axe-core finds nothing to object to."""
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(name, theme, width)
    # Without preloading: it would read style sheets in a way that a page opened as a file may not.
    options = {"runOnly": {"type": "tag", "values": STANDARD}, "preload": False}
    told = [
        f"{rule['id']}: {node['target']} {node.get('failureSummary', '')}"
        for rule in Axe().run(page, options=options).response["violations"]
        for node in rule["nodes"][:3]
    ]
    assert not told, "\n".join(told)


def test_search_finds_a_name_without_a_network(open_page):
    page = open_page("index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("as_strided")
    page.keyboard.press("Enter")
    taught = page.locator(".taught a").first
    expect(taught).to_have_attribute("href", re.compile("02_storage_and_strides/5-"))
    hit = page.locator('#search-results a[href*="02_storage_and_strides/5-"]')
    expect(hit.first).to_be_visible()
    expect(page.locator("#search-results .kind-chapter").first).to_contain_text("02 storage")
    hit.first.click()
    expect(page.locator("article")).to_contain_text("as_strided")


def test_a_fold_opens_and_a_prediction_is_asked_for_first(open_page):
    page = open_page(SECTION)
    fold = page.locator("details.hide.below-input").first
    output = fold.locator(".output").first
    expect(output).to_be_hidden()
    fold.locator("summary").click()
    expect(output).to_be_visible()
    hint = page.locator("details", has=page.get_by_text("Hint", exact=False)).first
    hint.locator("summary").click()
    expect(hint.locator("p").first).to_be_visible()


def test_the_map_leads_to_a_chapter(open_page):
    page = open_page("index.html")
    page.locator('svg.map-wide a[data-chapter="02"]').click()
    expect(page.locator("h1")).to_contain_text("Storage and strides")
