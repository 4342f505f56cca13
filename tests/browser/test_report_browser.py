"""The report in a real browser: filters, theme, width, and no request but for the page itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import CHROMIUM
from tests.conftest import as_contestants

import tellapart as ta
from tellapart.benchmark.benchmark import Card, make_benchmark, save_benchmark
from tellapart.items import Image, Item, Origin
from tellapart.measures.ties import check_rule
from tellapart.reports.gallery import Gallery, chosen_items, make_gallery
from tellapart.reports.options import ReportOptions
from tellapart.reports.results import StepCounter, measure_runs
from tellapart.score.run import Run
from tellapart.types import silent
from tellapart.verbs.runs.report import report
from tellapart.web import shared_text

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

EVIL = "</script><img src=x onerror=alert(1)> <b>x</b>{{7*7}}"
MODELS = ["oracle?error=0.2", "chance", "constant"]


def evil_benchmark(root: Path) -> Any:
    """Items whose captions are markup; one picture is missing."""
    items = [
        Item.built("x", images=("000000" if k else "gone", f"00000{k + 1}"),
                   captions=(f"{EVIL} {k}", f"<i>other</i> {k}"), true=frozenset({(0, 0), (1, 1)}),
                   kind="replace-object", origin=Origin("hand"))
        for k in range(4)
    ]  # fmt: skip
    images = [Image(f"00000{k}", f"images/00000{k}.png") for k in range(5)]
    card = Card("<u>markup</u>", measures=("Group", "I2T", "T2I"))
    made = make_benchmark(card, root / "world", items, [*images, Image("gone", "gone.png")])
    return save_benchmark(made, root / "markup")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    root = tmp_path_factory.mktemp("browser")
    corpus = ta.world(root / "world", scenes=24, seed=0)
    options = ta.BuildOptions(verifier="oracle")
    built = [ta.build(what, corpus, root / what, options) for what in ("bison", "foil", "bivlc")]
    found = ta.evaluate(MODELS, built, root / "runs")
    found += ta.evaluate(["chance", "constant"], evil_benchmark(root), root / "runs")
    return as_contestants(found, chance="random", constant="level")


@pytest.fixture(scope="module")
def gallery(runs: list[Run]) -> Gallery:
    """The same cards as in the page, to count against."""
    steps = StepCounter(0, silent)
    benchmarks = measure_runs(runs, check_rule("wrong"), False, steps)
    return make_gallery(benchmarks, chosen_items(benchmarks, 60), steps)


@pytest.fixture(scope="module")
def path(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    return report(runs, out, ReportOptions(title=f"Report {EVIL}", gallery=60))


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Any]:
    """The page at 1280 pixels in the light; fails on any request and any error."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    problems: list[str] = []
    address = path.as_uri()
    allowed = ("data:", address)
    opened.on("request", lambda r: r.url.startswith(allowed) or problems.append(r.url))
    opened.on("console", lambda m: m.type == "error" and problems.append(m.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    opened.goto(address)
    yield opened
    context.close()
    assert problems == []


def shown(page: Any) -> int:
    """How many cards can be seen; the count in words must say the same."""
    count: int = page.locator(".card:visible").count()
    assert page.locator("#count").inner_text().startswith(f"{count} of ")
    return count


def choose(page: Any, **wanted: str) -> None:
    for name, label in wanted.items():
        page.select_option(f"select[name={name}]", label=label)


def test_all_items_and_pictures_are_there(page: Any, gallery: Gallery) -> None:
    assert shown(page) == len(gallery.cards) == 60
    images = page.locator(".card img")
    thumbnails = [shot.thumbnail for card in gallery.cards for shot in card.card.shots]
    assert images.count() == sum(thumbnail.place is not None for thumbnail in thumbnails)
    assert page.locator(".absent").count() == sum(t.place is None for t in thumbnails) == 1
    page.locator("#gallery").scroll_into_view_if_needed()
    drawn = page.evaluate(
        "Promise.all([...document.images].map(i => i.decode().then(() => i.naturalWidth > 0)))"
    )
    assert all(drawn)


def test_filters_show_what_python_counts(page: Any, gallery: Gallery) -> None:
    cards = gallery.cards
    choose(page, benchmark="bivlc")
    assert shown(page) == sum(card.benchmark == "bivlc" for card in cards)
    choose(page, kind="swap-object")
    assert shown(page) == sum(
        card.benchmark == "bivlc" and card.item.kind == "swap-object" for card in cards
    )
    page.click("text=Show all")
    assert shown(page) == len(cards)
    places = {model: k for k, model in enumerate(gallery.models)} | {"text-only (blind)": -1}
    for outcome, code in (("right", "r"), ("wrong", "w"), ("tie", "t")):
        choose(page, outcome=outcome)
        for model, place in places.items():
            choose(page, model=model)
            assert shown(page) == sum(card.codes[place] == code for card in cards)
        choose(page, model="any model")
        assert shown(page) == sum(code in card.codes[:-1] for card in cards)
        choose(page, model="every model")
        assert shown(page) == sum(set(card.codes[:-1]) == {code} for card in cards)


def test_a_model_alone_shows_what_it_was_asked(page: Any, gallery: Gallery) -> None:
    choose(page, model="oracle?error=0.2")
    assert shown(page) == sum(card.codes[0] != "-" for card in gallery.cards) < 60


def test_kinds_of_other_benchmarks_cannot_be_chosen(page: Any) -> None:
    choose(page, kind="swap-object")
    choose(page, benchmark="bison")
    assert page.locator("select[name=kind]").input_value() == ""
    assert page.locator("select[name=kind] option", has_text="swap-object").is_disabled()
    assert shown(page) > 0


def test_the_address_keeps_the_filters(page: Any, gallery: Gallery) -> None:
    choose(page, benchmark="bivlc", outcome="wrong", model="random")
    count, address = shown(page), page.url
    assert "benchmark=bivlc" in address
    page.goto("about:blank")
    page.goto(address)
    assert shown(page) == count == sum(
        card.benchmark == "bivlc" and card.codes[1] == "w" for card in gallery.cards
    )  # fmt: skip
    page.evaluate("location.hash = '#gallery?benchmark=foil'")
    page.wait_for_function("document.querySelector('select[name=benchmark]').value === 'foil'")
    assert shown(page) == sum(card.benchmark == "foil" for card in gallery.cards)


def test_nothing_found_says_so(page: Any) -> None:
    choose(page, benchmark="bison", outcome="right", model="level")
    assert shown(page) == 0
    assert page.locator("#nothing").is_visible()


def test_filters_can_be_reached_and_changed_by_keyboard(page: Any) -> None:
    page.locator("select[name=benchmark]").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("select[name=benchmark]").input_value() == "bison"
    reached = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.name || document.activeElement.type"))
    assert reached == ["kind", "outcome", "model", "reset"]
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('select[name=benchmark]').value === ''")
    assert shown(page) == 60


def test_markup_shows_as_text(page: Any) -> None:
    assert page.locator("h1").inner_text() == f"Report {EVIL}"
    choose(page, benchmark="<u>markup</u>")
    quotes = page.locator(".card:visible .quote").all_text_contents()
    assert len(quotes) == 8
    assert f"1 {EVIL} 0" in quotes
    assert page.locator(".card b:not(.number)", has_text="x").count() == 0
    assert page.locator("main u").count() == 0


def test_the_button_switches_between_light_and_dark(page: Any) -> None:
    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = background()
    button = page.get_by_role("button", name="Dark colours")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    dark = background()
    assert dark != light
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert background() == light
    page.emulate_media(color_scheme="dark")
    assert background() == light, "a choice stands against the system's"
    page.reload()
    assert background() == dark


def test_paper_is_light_and_has_no_filters(page: Any) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#filters").is_visible()
    assert not page.locator("#theme").is_visible()


def test_items_stand_side_by_side_on_paper_and_none_is_left_out(page: Any) -> None:
    page.emulate_media(media="print")
    style = "getComputedStyle(document.querySelector('{}')).{}"
    assert page.evaluate(style.format("#items .cards, .cards", "columnCount")) == "2"
    assert page.evaluate(style.format(".card", "contentVisibility")) == "visible"


def test_colours_on_paper_are_those_of_the_light(page: Any) -> None:
    style = shared_text("static", "palette.css")
    page.set_content(f"<style>{style} p {{ color: var(--series-1) }}</style><p>A series</p>")

    def colour(**how: str) -> Any:
        page.emulate_media(**how)
        return page.evaluate("getComputedStyle(document.querySelector('p')).color")

    light = colour(media="screen", color_scheme="light")
    assert colour(media="screen", color_scheme="dark") != light
    assert colour(media="print", color_scheme="dark") == light


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.add_style_tag(content=".card { content-visibility: visible !important; }")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # Only what scrolls by itself may stick out.
    outside = page.evaluate(
        """() => [...document.querySelectorAll('main *')]
        .filter(e => !e.closest('.scroll') && !e.closest('svg') && !e.classList.contains('hidden'))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert outside == []


def test_headings_are_in_order_and_fields_have_labels(page: Any) -> None:
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert page.locator("main").count() == page.locator("header").count() == 1
    assert page.evaluate("[...document.querySelectorAll('select')].every(s => s.labels.length)")
    assert page.evaluate("[...document.querySelectorAll('[role=img]')].every(e => e.ariaLabel)")


CONTRAST = """() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
  };
  const low = {};
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest('svg, script, .hidden') || !e.offsetParent) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low[e.tagName + '.' + e.className] = ratio;
  }
  return low;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    low = page.evaluate(CONTRAST)
    assert low == {}, json.dumps(low)
