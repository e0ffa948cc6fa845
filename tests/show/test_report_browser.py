"""The report in a real browser: it stays alone, sorts and filters, works by keyboard, has words for
every picture, and can be read by day, by night, on a phone and on paper. Names never run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import jumar as jm
import own_logs
from jumar.show.outputs import report_page
from results import HALF, HOSTILE, RUN, TAME, Color, chosen_by_test, contrast, named, one_step_log
from test_examples import commands

pytestmark = pytest.mark.slow

CONTRAST = 4.5  # of ordinary text, by the Web Content Accessibility Guidelines, level AA


def written(folder: Path, result) -> str:
    path = folder / "report.html"
    path.write_text(report_page(result.assessment, RUN), "utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """A page with 13 nodes, some rules that change and some that do not."""
    return written(tmp_path_factory.mktemp("tame"), named(TAME, "a schedule"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> str:
    return written(tmp_path_factory.mktemp("hostile"), named(HOSTILE, HOSTILE[0]))


@pytest.fixture(scope="module")
def window(browser):
    """Pages share it, as each window of its own would be a process more."""
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture
def visit(window):
    """Opens a page; the test fails if it complains, asks for anything or opens a dialog."""
    pages, complaints, requests = [], [], []

    def open_(address: str, viewport: dict[str, int] | None = None, color_scheme: str = "light"):
        page = window.new_page()
        page.emulate_media(color_scheme=color_scheme)
        if viewport:
            page.set_viewport_size(viewport)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url.partition("#")[0]))
        page.goto(address)
        pages.append((page, address))
        return page

    yield open_
    for page, address in pages:
        assert set(requests) == {address}
        page.close()
    assert complaints == []


def cells(page, column: int) -> list[str]:
    """The values of a column in the rows that are shown, numbers as they are compared."""
    return page.eval_on_selector_all(
        "#decisions tbody tr:not([hidden])",
        f"rows => rows.map(r => r.cells[{column}].dataset.value ?? r.cells[{column}].innerText)",
    )


# ---------------------------------------------------------------- alone and whole


def test_a_page_about_one_history_state_counts_in_the_singular(visit, tmp_path):
    page = visit(written(tmp_path, jm.improve(one_step_log(30, 3), HALF, discount=0.9, n_wedge=20)))
    page.get_by_text("The one situation of the log").click()
    assert page.get_by_role("status").inner_text() == "1 of 1 situation"


# ---------------------------------------------------------------- the table


def test_every_column_sorts_both_ways(visit, address):
    page = visit(address)
    heads = page.locator("#decisions thead th")
    assert heads.count() == 7
    assert len(cells(page, 0)) == 6
    page.get_by_role("button", name="Show all").click()
    rows = len(cells(page, 0))
    assert rows > 8
    for column in range(heads.count()):
        head = heads.nth(column)
        numeric = head.get_attribute("data-type") == "number"
        for direction in ("ascending", "descending"):
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == direction
            found = cells(page, column)
            assert len(found) == rows
            if numeric:
                values = [float(text) for text in found]
                assert values == sorted(values, reverse=direction == "descending")
            elif column < 2:  # names with two digits at the end
                assert found == sorted(found, reverse=direction == "descending")
            else:  # in sentences, letters and numbers are compared as the browser's language does
                pairs = [list(pair) for pair in pairwise(found)]
                signs = page.evaluate(
                    """pairs => pairs.map(([a, b]) =>
                         new Intl.Collator(undefined, {numeric: true}).compare(a, b))""",
                    pairs,
                )
                assert all(sign <= 0 if direction == "ascending" else sign >= 0 for sign in signs)
        assert page.locator("#decisions th[aria-sort]").count() == 1


def test_numbers_are_sorted_as_numbers(visit, tmp_path):
    """Seen 9, 100 and 20 times: as text, 100 would come first."""
    log = jm.Episodes(
        ("a", "b", "c"), ("keep", "repair"), [0] * 9 + [1] * 100 + [2] * 20, [0, 1] * 64 + [0],
        [0.0] * 129, list(range(130)), [-1] * 129, [True] * 129,
    )  # fmt: skip
    behavior = jm.Controller.uniform(log.observations, log.actions)
    page = visit(written(tmp_path, jm.improve(log, behavior, discount=0.9, n_wedge=20)))
    page.get_by_text("The 3 situations of the log").click()
    page.get_by_role("button", name="times seen").click()
    assert cells(page, 2) == ["9", "20", "100"]
    page.get_by_role("button", name="times seen").click()
    assert cells(page, 2) == ["100", "20", "9"]


def test_words_find_rows_and_the_count_is_announced(visit, address):
    page = visit(address)
    status = page.get_by_role("status")
    assert re.fullmatch(r"6 of \d+ situations", status.inner_text())  # the rest is folded
    page.get_by_role("button", name="Show all").click()
    changed = len(cells(page, 0))
    assert not page.get_by_role("button", name="Show all").is_visible()
    page.get_by_label("only what changes").uncheck()
    everything = len(cells(page, 0))
    assert 0 < changed <= everything  # what does not change is folded at first
    assert status.inner_text() == f"{everything} of {everything} situations"
    assert status.get_attribute("aria-live") == "polite"
    page.get_by_role("searchbox", name="Find").fill("NAME 03  name 07")
    shown = page.locator("#decisions tbody tr:visible").all_inner_texts()
    assert 0 < len(shown) < everything
    assert all("name" in text and "03" in text and "07" in text for text in shown)
    assert status.inner_text() == f"{len(shown)} of {everything} situations"
    page.get_by_role("searchbox", name="Find").fill("no such word")
    assert status.inner_text() == f"0 of {everything} situations"


def test_only_what_changes_can_be_shown(visit, tmp_path):
    """Of two situations one changes: what was seen seldom stays."""
    deal = np.random.default_rng(1).permutation(90)
    worn, action = np.repeat([0, 1], [60, 30])[deal], np.tile([0, 1], 45)[deal]
    log = jm.Episodes(
        ("good", "worn"), ("keep", "repair"), worn, action, 1.0 + 2 * action * (worn == 0),
        list(range(91)), [-1] * 90, [True] * 90,
    )  # fmt: skip
    behavior = jm.Controller.uniform(log.observations, log.actions)
    page = visit(written(tmp_path, jm.improve(log, behavior, discount=0.9, n_wedge=20)))
    page.get_by_label("only what changes").check()
    assert cells(page, 0) == ["good"]
    assert page.get_by_role("status").inner_text() == "1 of 2 situations"
    page.get_by_label("only what changes").uncheck()
    assert cells(page, 0) == ["good", "worn"]


# ---------------------------------------------------------------- keyboard


def focus(page) -> str:
    return page.evaluate(
        "(e => e.id || e.tagName + ' ' + e.innerText.trim())(document.activeElement)"
    )


def test_everything_is_reached_by_keys(visit, address):
    page = visit(address)
    page.keyboard.press("Tab")
    assert focus(page) == "A To the answer"
    reached = []
    while "filter" not in reached and len(reached) < 60:
        page.keyboard.press("Tab")
        reached.append(focus(page))
    assert reached[-1] == "filter"
    page.keyboard.type("name 03")
    assert len(cells(page, 0)) < 169
    page.keyboard.press("Tab")
    assert focus(page) == "only-changed"
    head = page.locator("#decisions thead th").first
    while not focus(page).startswith("BUTTON") and len(reached) < 70:
        page.keyboard.press("Tab")
        reached.append(focus(page))
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "descending"


def test_what_has_the_focus_can_be_seen(visit, address):
    page = visit(address)
    for selector in ("#filter", "#decisions th button", "summary", "nav a"):
        page.locator(selector).first.focus()
        page.keyboard.press("Shift")  # the browser shows the focus to those who use keys
        width = page.locator(selector).first.evaluate("e => getComputedStyle(e).outlineWidth")
        assert float(width.removesuffix("px")) >= 1, selector


# ---------------------------------------------------------------- light and dark


def colors(page, selector: str) -> Iterator[tuple[str, Color, Color]]:
    """Text and colours of every element that is found, the background being the nearest one."""
    found = page.eval_on_selector_all(
        selector,
        """elements => elements.map(e => {
             let back = e;
             while (back && getComputedStyle(back).backgroundColor === 'rgba(0, 0, 0, 0)')
               back = back.parentElement;
             return [e.innerText ?? '', getComputedStyle(e).color,
                     back ? getComputedStyle(back).backgroundColor : 'rgb(255, 255, 255)'];
           })""",
    )
    for text, *pair in found:
        yield text, *(tuple(map(float, re.findall(r"[\d.]+", c)[:3])) for c in pair)


def test_text_can_be_read_by_day_and_by_night(visit, address):
    places = [
        "body", ".soft", ".kind", ".lead", ".state", ".mark", ".warning", "a", "th", "td",
        "figcaption", ".answer dt", ".answer dd", "summary", "ul.assumed li", "code",
    ]  # fmt: skip
    backgrounds = set()
    for scheme in ("light", "dark"):
        page = visit(address, color_scheme=scheme)
        ((_, _, back),) = colors(page, "body")
        backgrounds.add(back)
        seen = 0
        for place in places:
            for text, color, behind in colors(page, place):
                assert contrast(color, behind) >= CONTRAST, (scheme, place, text[:40])
                seen += 1
        assert seen > 100
        # words in other states, which this page happens not to have
        for kind in ("passed", "look", "failed"):
            page.evaluate(
                "k => document.querySelector('.answer dd').insertAdjacentHTML('beforeend',"
                " `<span class='state ${k}'>x</span>`)",
                kind,
            )
        for verdict in ("adopt", "adopt-if", "trial", "keep", "do-not-rely"):
            page.evaluate(
                "v => { document.querySelector('.answer').className = 'answer ' + v }", verdict
            )
            for _, color, behind in colors(page, ".state"):
                assert contrast(color, behind) >= CONTRAST, (scheme, verdict)
    assert len(backgrounds) == 2


# ---------------------------------------------------------------- narrow, printed, without script


@pytest.mark.parametrize("which", ["address", "hostile"])
def test_a_narrow_screen_does_not_scroll_sideways(visit, request, which):
    page = visit(request.getfixturevalue(which), viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    # a card says what each of its values is
    label = (
        page.locator("#decisions td")
        .nth(2)
        .evaluate("e => getComputedStyle(e, '::before').content")
    )
    assert "today" in label


def test_what_was_tested_is_a_table_and_on_a_phone_a_card_for_each_controller(visit, tmp_path):
    address = written(tmp_path, chosen_by_test(one_step_log(50, 50)))
    for scheme in ("light", "dark"):
        page = visit(address, color_scheme=scheme)
        page.locator("#tests > summary").click()
        table = page.get_by_role("table", name="2 of 3 passed.")
        assert table.get_by_role("rowheader").count() == 3
        assert table.get_by_role("columnheader").count() == 5
        for text, color, behind in colors(page, "#tested th, #tested td, #tested span"):
            assert contrast(color, behind) >= CONTRAST, (scheme, text)
    page = visit(address, viewport={"width": 400, "height": 800})
    page.locator("#tests > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    cells = page.locator("#tested tbody tr").nth(1).locator("th, td")
    lefts = [cells.nth(i).bounding_box()["x"] for i in range(cells.count())]
    assert len(lefts) == 5
    assert len(set(lefts)) == 1  # one below the other
    labels = page.eval_on_selector_all(
        "#tested tbody tr:nth-child(2) td",
        "es => es.map(e => getComputedStyle(e, '::before').content)",
    )
    assert [label.strip('": ') for label in labels] == [
        "effective episodes",
        "gain on the other half",
        "at least",
        "result",
    ]


def test_the_drawing_is_never_so_small_that_it_cannot_be_read(visit, address):
    for width in (400, 1200):
        page = visit(address, viewport={"width": width, "height": 800})
        page.locator("#picture > summary").click()
        drawn, natural = page.locator("#picture .jumar-drawing").evaluate(
            "e => [e.getBoundingClientRect().width, Number(e.getAttribute('width'))]"
        )
        assert drawn >= 0.74 * natural


def pdf_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def test_on_paper_is_what_is_open(visit, address):
    """A reader who wants a part on paper opens it first; so the paper is short by default."""
    page = visit(address)
    assert page.locator("details:not([open])").count() > 3
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF-")
    short = pdf_pages(pdf)
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
    assert pdf_pages(page.pdf(format="A4")) > short
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 717, "height": 1000})  # A4 between its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 717
    ((_, color, behind),) = colors(page, "body")
    assert (color, behind) == ((0, 0, 0), (255, 255, 255))
    assert not page.locator(".tools").is_visible()
    assert not page.locator("nav").is_visible()


def test_without_script_everything_is_there(visit, browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert not page.locator(".tools").is_visible()
    assert page.locator("#decisions tbody tr").first.is_visible()
    assert page.locator("#decisions thead button").count() == 0
    for section in ("answer", "changes", "why", "sure", "next"):
        assert page.locator(f"#{section} h2").is_visible()
    for section in ("words", "again"):
        assert page.locator(f"#{section} summary").is_visible()
    page.locator("#picture > summary").click()  # folding needs no script
    assert page.locator("#picture .jumar-drawing").is_visible()
    context.close()


# ---------------------------------------------------------------- examples, as they open

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN = {"pumps": "pumps.csv", "calls": "calls.jsonl", "clinic": "clinic.csv"}
SCREEN = 800  # pixels of height
MOST_SCREENS = 6
MOST_SHEETS = 4


def typed(folder: Path, *words: str) -> int:
    command = [sys.executable, "-m", "jumar", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


@pytest.fixture(scope="module", params=["voicemail", "bridge", "trial", *OWN])
def example(request, tmp_path_factory) -> str:
    """The page of an example, made by its commands."""
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    if name in OWN:
        getattr(own_logs, name)(folder / OWN[name])
        assert typed(folder, "init", OWN[name], "--yes") == 0
        assert typed(folder, "improve", "-o", "out") == 0
    else:
        first, _ = commands((EXAMPLES / name / "README.md").read_text())
        assert typed(EXAMPLES.parent, *first[1:-1], str(folder / "out")) == 0
    return (folder / "out" / "report.html").as_uri()


def test_an_example_is_short_on_every_screen_and_on_paper(visit, example):
    for width in (400, 1200):
        for scheme in ("light", "dark"):
            page = visit(example, {"width": width, "height": SCREEN}, scheme)
            height = page.evaluate("document.documentElement.scrollHeight")
            assert height < MOST_SCREENS * SCREEN, (width, scheme, height / SCREEN)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            # the answer, what it brings, what can be lost and what to do now are in sight
            for part in ("#answer h2", "#doubts", "#answer dt:text('Next step')"):
                assert page.locator(part).is_visible()
    assert pdf_pages(page.pdf(format="A4")) <= MOST_SHEETS
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.set_viewport_size({"width": 400, "height": SCREEN})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_bars_of_why_are_in_view_on_a_phone(visit, example):
    page = visit(example, {"width": 400, "height": SCREEN})
    page.evaluate("document.querySelectorAll('#why details').forEach(d => d.open = true)")
    for bar in page.locator("#why .bar").all():
        box = bar.bounding_box()
        assert box["width"] >= 60
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 400
    hidden = page.eval_on_selector_all(
        "#why .scroll", "es => es.filter(e => e.scrollWidth > e.clientWidth).length"
    )
    assert hidden == 0  # nothing must be moved sideways to be seen


def test_where_nothing_is_to_be_relied_on_nothing_is_green_and_there_is_no_bar(visit, tmp_path):
    """The rule says 50 : 50, the log 9 : 1."""
    result = jm.improve(one_step_log(900, 100), HALF, discount=0.9)
    assert result.assessment.verdict.word == "do-not-rely"
    for scheme in ("light", "dark"):
        page = visit(written(tmp_path, result), color_scheme=scheme)
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        for red, green, blue in {color for _, color, _ in colors(page, "main *")}:
            assert green <= max(red, blue) + 8
        assert page.locator(".before-after, .bar").count() == 0
        red = page.evaluate("getComputedStyle(document.querySelector('#answer')).borderLeftColor")
        r, g, b = map(int, re.findall(r"\d+", red)[:3])
        assert r > 150 > max(g, b)


# ---------------------------------------------------------------- for those who do not see


def test_every_picture_has_words(visit, tmp_path):
    page = visit(written(tmp_path, chosen_by_test(one_step_log(50, 50))))
    silent = page.evaluate(
        """() => [...document.querySelectorAll('img, svg')].filter(e => {
             if (e.closest('[aria-hidden=true]')) return false;
             const named = (e.getAttribute('aria-labelledby') ?? '').split(' ')
               .map(id => document.getElementById(id)?.textContent ?? '').join('');
             return !(e.getAttribute('alt') || e.getAttribute('aria-label') || named);
           }).length"""
    )
    assert silent == 0
    pictures = page.evaluate("""() => [...document.querySelectorAll('svg[role=img]')].map(
        e => [e.closest('[id]').id, e.getAttribute('aria-label')])""")
    places, labels = zip(*pictures, strict=True)
    assert places == ("answer", "picture")
    assert labels[0].startswith("An episode is worth")


def test_headings_are_in_order_and_tables_have_heads(visit, address):
    page = visit(address)
    levels = page.eval_on_selector_all(
        "h1, h2, h3, h4, h5, h6", "hs => hs.map(h => Number(h.tagName[1]))"
    )
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("table:not(:has(th))").count() == 0
    assert page.locator("main").count() == page.locator("header").count() == 1
    assert page.get_attribute("html", "lang") == "en"
    ids = page.eval_on_selector_all("[id]", "es => es.map(e => e.id)")
    assert len(ids) == len(set(ids))


# ---------------------------------------------------------------- names are text


def test_hostile_names_are_read_as_they_are_and_run_nothing(visit, hostile):
    page = visit(hostile)
    page.mouse.move(300, 300)
    page.get_by_role("searchbox", name="Find").fill("<script>alert(1)</script>")
    assert cells(page, 0)
    for head in page.locator("#decisions thead button").all():
        head.click()
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert page.locator("h1").inner_text() == "<script>alert(1)</script>"
    handlers = page.evaluate(
        "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])"
        ".filter(a => a.name.startsWith('on') || /javascript:/i.test(a.value)).length"
    )
    assert handlers == 0


def test_a_program_that_got_into_the_page_would_not_run(browser, address, tmp_path):
    """As if escaping had failed: the policy of the page itself stops it."""
    text = Path(address.removeprefix("file://")).read_text("utf-8")
    assert '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';' in text
    attacks = (
        "<script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"
        "<svg onload='window.hit = 3'></svg>"
        "<iframe srcdoc='<script>parent.hit = 4</script>'></iframe>"
        "<script src='data:text/javascript,window.hit=5'></script>"
        "<form action='https://example.invalid'><button id=send>go</button></form>"
    )
    attacked = tmp_path / "attacked.html"
    attacked.write_text(text.replace("<main>", f"<main>{attacks}"), "utf-8")
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(attacked.as_uri())
    page.locator("#send").click(no_wait_after=True)
    page.wait_for_timeout(200)
    assert page.evaluate("window.hit") is None
    assert not any(url.startswith("http") for url in asked)
    assert page.locator("#decisions th button").count() == 7  # while its own program does
    page.close()
