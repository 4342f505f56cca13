"""A view in a real browser: from the overview to items, filters, one item, marks, uses, bundles."""

from __future__ import annotations

import functools
import http.server
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra 'view' is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
from tests.browser.conftest import CHROMIUM  # noqa: E402
from tests.browser.test_report_browser import evil_benchmark  # noqa: E402
from tests.browser.test_study_browser import until as wait_until  # noqa: E402

import tellapart as ta  # noqa: E402
from tellapart.measures.comparison import compare_runs  # noqa: E402
from tellapart.models.model import ChooserReply, ModelInfo  # noqa: E402
from tellapart.score.run import Run  # noqa: E402
from tellapart.verbs.runs.view import address_of, make_viewer  # noqa: E402
from tellapart.views.app import make_app  # noqa: E402
from tellapart.views.bundle import write_bundle  # noqa: E402
from tellapart.views.cards import cards_of  # noqa: E402
from tellapart.views.query import Query, ids_of, selected  # noqa: E402
from tellapart.views.summary import paired, summary  # noqa: E402
from tellapart.views.viewer import Viewer  # noqa: E402
from tellapart.web.host import served_app  # noqa: E402

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
playwright.expect.set_options(timeout=20_000)
expect = playwright.expect
A, B = "oracle?error=0.2", "storybook"
WRITTEN = "captions of world"
QUERIES = [
    "sheet=bivlc", f"sheet=bivlc&a={A}&ao=r&b={B}&bo=w", "sheet=bivlc&q=red",
    "sheet=bivlc&sort=wrong", f"sheet=bivlc&a={B}&sort=margin", "sheet=bivlc&sort=disagreement",
    f"sheet=bivlc&a={B}&sort=close&fact.kind=swap-object", "sheet=bison&q=two&sort=right",
    "sheet=bivlc&q=blue&in=changed", f"sheet=bison&a={A}&ao=wtmf",
    f"sheet=bivlc&a={A}&b={B}&sort=gap", f"sheet={WRITTEN}&a=echo&sort=margin",
    f"sheet={WRITTEN}&sort=spread", f"sheet={WRITTEN}&q=img&in=written&a=echo&b=markup&sort=gap",
]  # fmt: skip


@dataclass
class Seen:
    """A viewer, its address, and where things are made."""

    viewer: Viewer
    url: str
    root: Path

    def address(self, at: str = "") -> str:
        return address_of(self.url, self.viewer.key, at)

    def rows(self, query: str) -> list[int]:
        asked = Query.at(f"items?{query}")
        return selected(asked, self.viewer.sheet(asked.sheet)).tolist()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    root = tmp_path_factory.mktemp("view")
    corpus = ta.world(root / "world", scenes=40, seed=0)
    how = ta.BuildOptions(verifier="oracle")
    built = [ta.build(what, corpus, root / what, how) for what in ("bivlc", "bison")]
    ta.evaluate([A, B, "constant"], built, root / "runs")
    ta.evaluate(["chance"], evil_benchmark(root), root / "runs")
    write_results(corpus, root / "runs" / "written")
    options = ta.ViewOptions(out=root, references=root / "world")
    viewer = make_viewer([root / "runs"], options)
    with served_app(lambda url: make_app(viewer, url)) as url:
        yield Seen(viewer, url, root)


def write_results(corpus: ta.Corpus, folder: Path) -> None:
    """Two captioners' results: one repeats a reference, one has markup to say."""
    folder.mkdir()
    for name, choose in {"echo": lambda own: own[0], "markup": lambda own: "<img src=x>"}.items():
        rows = [{"image_id": k, "caption": choose(v)} for k, v in corpus.texts_by_image.items()]
        (folder / f"{name}.json").write_text(json.dumps(rows))


@pytest.fixture
def page(browser: Any, seen: Seen) -> Iterator[Any]:
    """A page of 1280 pixels that has not been anywhere; no request of it may leave the machine."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    problems: list[str] = []
    near = ("data:", "blob:", "http://127.0.0.1:", "http://localhost:")
    opened.on("request", lambda r: r.url.startswith(near) or problems.append(r.url))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    yield opened
    context.close()
    assert problems == []


def until(page: Any, true: str) -> None:
    """Wait for something in the page (the policy lets no page evaluate texts by itself)."""
    wait_until(lambda: bool(page.evaluate(true)))


DRAWN = "[...document.querySelectorAll('.rows img')].some((image) => image.naturalWidth)"
PARTS = ["", "items?sheet=bivlc", "items?sheet=bivlc&item=0", "compare?sheet=bivlc",
         f"items?sheet={WRITTEN}", f"compare?sheet={WRITTEN}"]  # fmt: skip
THERE = {"": ".runs", "c": ".versus", "i": ".rows .card"}


def count(page: Any, number: int) -> None:
    expect(page.locator("#count")).to_have_text(re.compile(rf"^{number:,} of "))


def test_from_the_overview_to_what_a_model_got_wrong(page: Any, seen: Seen) -> None:
    page.goto(seen.address())
    row = page.get_by_role("region", name="Runs on bivlc").locator("tr", has_text=B)
    value = next(iter(ta.measure(seen.root / "runs" / "bivlc", measures=["Group"]).only(
        model=B, kind="micro"))).value  # fmt: skip
    expect(row.locator("td").first).to_have_text(f"{100 * value:.1f}")
    assert "key=" not in page.url, "the secret leaves the address"
    assert page.evaluate("document.cookie") == "", "and scripts cannot read the session"
    row.get_by_role("link", name=f"What {B} got wrong").click()
    count(page, len(seen.rows(f"sheet=bivlc&a={B}&ao=w")))
    first = seen.rows(f"sheet=bivlc&a={B}&ao=w&sort=margin")[0]
    name = seen.viewer.sheet("bivlc").item(first).id
    expect(page.locator(".rows .card").first).to_have_attribute("aria-label", name)
    until(page, DRAWN)


def test_a_right_and_b_wrong_and_the_address_opens_again(page: Any, seen: Seen) -> None:
    page.goto(seen.address("items?sheet=bivlc"))
    count(page, len(seen.viewer.sheet("bivlc")))
    page.get_by_role("combobox", name="Model A").select_option(A)
    page.get_by_role("combobox", name="A was").select_option(label="right")
    page.get_by_role("combobox", name="Model B").select_option(B)
    page.get_by_role("combobox", name="B was").select_option(label="wrong")
    wanted = seen.rows(f"sheet=bivlc&a={A}&ao=r&b={B}&bo=w")
    count(page, len(wanted))
    assert 0 < len(wanted) < len(seen.viewer.sheet("bivlc"))
    behind = page.url.partition("#")[2]
    page.goto("about:blank")
    page.goto(seen.address(behind))
    count(page, len(wanted))
    assert page.get_by_role("combobox", name="B was").input_value() == "w"


def test_search_in_captions_and_in_changed_words(page: Any, seen: Seen) -> None:
    page.goto(seen.address("items?sheet=bivlc"))
    page.get_by_role("searchbox").fill("red")
    count(page, len(seen.rows("sheet=bivlc&q=red")))
    page.get_by_role("button", name="More filters").click()
    page.get_by_label("Search in").select_option("changed")
    changed = seen.rows("sheet=bivlc&q=red&in=changed")
    count(page, len(changed))
    for row in changed:
        first, second = seen.viewer.sheet("bivlc").item(row).captions
        assert any(
            "red" in word for word in set(first.lower().split()) ^ set(second.lower().split())
        )
    page.get_by_role("searchbox").fill("no such words at all")
    expect(page.get_by_text("No items match")).to_be_visible()


def test_an_items_heat_map_origin_and_neighbours(page: Any, seen: Seen) -> None:
    page.goto(seen.address("items?sheet=bivlc"))
    page.locator(".rows .open").first.click()
    dialog = page.get_by_role("dialog")
    item = seen.viewer.sheet("bivlc").item(0)
    expect(dialog.get_by_role("heading", name=item.id)).to_be_visible()
    map_ = dialog.locator(".maps figure", has_text=B)
    scores = ta.load_run(seen.root / "runs" / "bivlc" / "storybook").scores
    own = scores.filter(item=item.id).sort("image", "caption")["score"].to_list()
    shown = [float(text.split()[0]) for text in map_.locator("tbody td").all_inner_texts()]
    assert shown == pytest.approx(own, rel=1e-3)
    ticked = [k for k, text in enumerate(map_.locator("tbody td").all_inner_texts()) if "✓" in text]
    assert ticked == [2 * i + j for i, j in sorted(item.true)]
    expect(dialog.locator(".origin")).to_contain_text(item.origin.made_by)
    page.keyboard.press("ArrowRight")
    expect(
        dialog.get_by_role("heading", name=seen.viewer.sheet("bivlc").item(1).id)
    ).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_stars_and_notes_are_kept_beside_the_runs(page: Any, seen: Seen) -> None:
    page.goto(seen.address("items?sheet=bivlc"))
    items = [seen.viewer.sheet("bivlc").item(k).id for k in (0, 1)]
    for name in items:
        page.get_by_role("button", name=f"Star {name}").click()
        expect(page.get_by_role("button", name=f"Star {name}")).to_have_attribute(
            "aria-pressed", "true"
        )
    page.locator(".rows .open").first.click()
    page.get_by_label("Note").fill("odd <b>one</b>")
    page.get_by_label("Note").blur()
    expect(page.get_by_text("The note is saved.")).to_be_visible()
    kept = json.loads((seen.root / "runs" / "view-marks.json").read_text())["marks"]["bivlc"]
    assert kept == {items[0]: {"star": True, "note": "odd <b>one</b>"}, items[1]: {"star": True}}
    page.get_by_role("button", name="Close").click()
    page.get_by_label("starred").check()
    count(page, 2)


def test_the_filter_becomes_a_subset_a_study_a_table_and_a_figure(page: Any, seen: Seen) -> None:
    page.goto(seen.address(f"items?sheet=bison&a={B}&ao=w"))
    wanted = seen.rows(f"sheet=bison&a={B}&ao=w")
    count(page, len(wanted))
    page.get_by_role("button", name="Use these items").click()
    for what in ("subset", "study"):
        page.get_by_label(f"Name of the {what}").fill(f"wrong-{what}")
        page.get_by_role("button", name=f"Create the {what}").click()
        expect(page.locator(".outcome")).to_contain_text(f"wrong-{what}")
    made = ta.load_benchmark(seen.root / "wrong-subset")
    assert set(made.items.ids) == set(ids_of(seen.viewer.sheet("bison"), np.array(wanted)))
    assert (seen.root / "wrong-study" / "study.toml").exists()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV table").click()
    assert len(download.value.path().read_text().splitlines()) == len(wanted) + 1
    page.get_by_label("Name of the subset").fill("../outside")
    page.get_by_role("button", name="Create the subset").click()
    expect(page.locator(".outcome.bad")).to_be_visible()
    assert not (seen.root.parent / "outside").exists()


def test_compare_says_what_was_won_and_lost_and_the_difference(page: Any, seen: Seen) -> None:
    page.goto(seen.address(f"compare?sheet=bivlc&a={A}&b={B}"))
    found = paired(seen.viewer.sheet("bivlc"), np.arange(len(seen.viewer.sheet("bivlc"))), 0, 1)
    versus = page.locator(".versus")
    expect(versus.get_by_role("link", name=f"Won by {A}: {found['only_a']} items")).to_be_visible()
    told = f"{100 * found['difference']:+.1f} points".replace("-", "\N{MINUS SIGN}")
    expect(versus.locator(".difference b")).to_have_text(told)
    runs = [one.run for one in seen.viewer.sheet("bivlc").contestants[:2]]
    (pair,) = compare_runs(runs, measures=["Group"]).only(kind="micro").pairs
    assert pair.difference == pytest.approx(found["difference"])
    assert found["low"] == pytest.approx(pair.low, abs=0.06)
    versus.get_by_role("link", name=f"Won by {A}").click()
    count(page, found["only_a"])


class Slow:
    """A chooser that waits after some answers until it is let go on."""

    facts = ModelInfo("slow-chooser", {})
    kind = "chooser"

    def __init__(self) -> None:
        self.answered, self.go = threading.Event(), threading.Event()
        self.batches = 0

    def choose(self, asked: Any) -> list[ChooserReply]:
        self.batches += 1
        if self.batches == 3:
            self.answered.set()
            assert self.go.wait(60)
        return [ChooserReply(shown=0, text="the first") for _ in asked]


def test_a_run_under_way_is_shown_as_it_grows(page: Any, seen: Seen) -> None:
    model, bench = Slow(), seen.root / "bison"
    options = ta.EvaluateOptions(batch_size=8)
    job = threading.Thread(target=ta.evaluate, args=([model], bench, seen.root / "runs", options))
    job.start()
    try:
        assert model.answered.wait(60)
        page.goto(seen.address())
        expect(page.locator("#live")).to_contain_text("slow-chooser: questions")
        row = page.get_by_role("region", name="Runs on bison").locator("tr", has_text="slow-")
        expect(row).to_contain_text("running")
        expect(row).to_contain_text("n 16")
    finally:
        model.go.set()
        job.join(60)
    expect(row).to_contain_text(f"n {len(seen.viewer.sheet('bison'))}")
    expect(row).not_to_contain_text("running")
    expect(page.locator("#live")).to_be_hidden()


def test_by_keyboard_alone(page: Any, seen: Seen) -> None:
    page.goto(seen.address())
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.wait_for_selector(".runs")

    def tab_to(what: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({json.dumps(what)})"):
                return
        raise AssertionError(f"{what} cannot be reached")

    tab_to("nav a[href^='#items']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".rows .card")
    tab_to("input[type=search]")
    page.keyboard.type("other")
    until(page, "location.hash.includes('q=other')")
    tab_to(".rows .star")
    tab_to(".rows .open")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize(
    ("at", "scheme"), [*((at, "light") for at in PARTS), (PARTS[2], "dark"), (PARTS[3], "dark")]
)
def test_axe_finds_nothing_serious(page: Any, seen: Seen, at: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(seen.address(at))
    page.wait_for_selector(THERE[at[:1]])
    if "item=" in at:
        page.wait_for_selector("dialog .maps")
    found = axe.Axe().run(page).response["violations"]
    told = [(one["id"], [node["target"] for node in one["nodes"][:3]]) for one in found
            if one["impact"] in ("serious", "critical")]  # fmt: skip
    assert told == []


@pytest.mark.parametrize("at", PARTS)
def test_a_phone_shows_all_without_scrolling_sideways(page: Any, seen: Seen, at: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(seen.address(at))
    page.wait_for_selector(THERE[at[:1]])
    wide = page.evaluate(
        """() => [...document.querySelectorAll('body *')]
        .filter(e => !e.closest('.scroll, svg, .hidden, .skip, .rows .body'))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => e.outerHTML.slice(0, 90))"""
    )
    assert wide == [] and page.evaluate("document.documentElement.scrollWidth") == 390


def test_dark_and_light(page: Any, seen: Seen) -> None:
    page.goto(seen.address())
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(ground) != light


def test_markup_and_missing_pictures_are_harmless(page: Any, seen: Seen) -> None:
    page.goto(seen.address("items?sheet=%3Cu%3Emarkup%3C%2Fu%3E"))
    expect(page.locator(".rows .card")).to_have_count(4)
    expect(page.locator(".rows .absent")).to_contain_text(["the file of image gone is missing"])
    assert page.locator("main u, main .quote b:not(.number), main .quote i").count() == 0
    assert "<img src=x onerror=alert(1)>" in page.locator(".rows .quote").first.inner_text()


def test_what_captioners_wrote_is_shown_and_compared(page: Any, seen: Seen) -> None:
    page.goto(seen.address())
    page.get_by_role("link", name=f"What markup got wrong on {WRITTEN}").click()
    first = page.locator(".rows .card").first
    expect(first.locator(".written")).to_contain_text("<img src=x>")
    expect(first.locator(".truth")).to_have_count(0)
    expect(page.get_by_label("A was")).to_be_hidden()
    first.get_by_role("button", name=re.compile("^Open ")).click()
    expect(page.locator("dialog .lines li")).to_have_count(5)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Compare").click()
    expect(page.locator(".higher")).to_contain_text("echo higher: 40")
    page.get_by_role("link", name="echo higher").click()
    count(page, 40)


def test_without_the_secret_nothing_is_shown(browser: Any, seen: Seen) -> None:
    page = browser.new_page()
    page.goto(seen.url)
    expect(page.get_by_role("heading", name="Not signed in")).to_be_visible()
    page.close()


SAME = """async ([cards, texts]) => {
  const { inside } = await import('/shared/card.js');
  const plain = (node) => {
    const box = document.createElement('div');
    box.append(...(typeof node === 'string' ? [] : node));
    if (typeof node === 'string') box.innerHTML = node;
    for (const image of box.querySelectorAll('img')) {
      for (const name of ['src', 'data-picture', 'loading']) image.removeAttribute(name);
    }
    return box.innerHTML.replace(/>\\s+/g, '>').replace(/\\s+</g, '<').replace(/\\s+/g, ' ');
  };
  return cards.map((card, k) => [plain(inside(card)), plain(texts[k])]);
}"""


def test_the_browser_draws_the_card_that_reports_write(page: Any, seen: Seen) -> None:
    from tellapart.reports.page import card_html

    page.goto(seen.address())
    cards, texts = [], []
    for sheet in seen.viewer.library.sheets:
        some = cards_of(sheet, np.arange(3), lambda place: f"p{place}")
        cards += some
        texts += [card_html(card) for card in some]
    for drawn, written in page.evaluate(SAME, [cards, texts]):
        assert drawn == written


def test_a_notebook_may_show_the_view_in_a_frame_and_nobody_else(
    browser: Any, seen: Seen, tmp_path: Path
) -> None:
    with file_server(tmp_path) as notebook:
        origin = notebook.replace("127.0.0.1", "localhost")
        with served_app(lambda url: make_app(seen.viewer, url, frames=[origin])) as url:
            address = address_of(url, seen.viewer.key, "items?sheet=bivlc")
            (tmp_path / "n.html").write_text(
                f'<iframe src="{address}" width=900 height=600></iframe>'
            )
            page = browser.new_page()
            page.goto(f"{origin}/n.html")
            expect(page.frame_locator("iframe").locator(".rows .card").first).to_be_visible()
            page.goto(f"{notebook}/n.html")
            expect(page.frame_locator("iframe").locator(".rows")).to_have_count(0)
            page.close()


class file_server:  # noqa: N801
    """Any file server: Python's own, on any port."""

    def __init__(self, folder: Path) -> None:
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *words: Any) -> None:
                pass

        handler = functools.partial(Quiet, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self) -> str:
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()


ASK = """async (queries) => {
  const { BundleSource } = await import('./static/bundle.js');
  const source = await BundleSource.open();
  await source.about();
  const found = [];
  for (const text of queries) {
    const query = new URLSearchParams(text);
    const got = await source.items(query, 0, 1000);
    found.push({ places: got.cards.map((card) => card.place),
      summary: await source.summary(query, 'kind'), paired: await source.compare(query) });
  }
  return found;
}"""


def near(ours: Any, theirs: Any) -> None:
    """The same figures, as far as float32 and another quantile of Student's t go."""
    if isinstance(ours, dict):
        for name in set(ours) & set(theirs):
            near(ours[name], theirs[name])
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            near(one, other)
    elif isinstance(ours, float):
        assert theirs == pytest.approx(ours, abs=2e-3, rel=2e-3)
    else:
        assert ours == theirs


def test_a_bundle_finds_what_the_server_finds(page: Any, seen: Seen, tmp_path: Path) -> None:
    write_bundle(seen.viewer, tmp_path / "site", f"items?sheet=bivlc&a={B}&ao=w")
    asked = [text.replace("?", "%3F") for text in QUERIES]
    with file_server(tmp_path / "site") as url:
        page.goto(url)
        count(page, len(seen.rows(f"sheet=bivlc&a={B}&ao=w")))
        page.wait_for_function(
            "[...document.querySelectorAll('.rows img')].some(i => i.naturalWidth)"
        )
        found = page.evaluate(ASK, asked)
        page.goto(f"{url}/#items?sheet=bison")
        count(page, len(seen.viewer.sheet("bison")))
        page.get_by_role("button", name=re.compile("^Star ")).first.click()
        page.get_by_label("starred").check()
        count(page, 1)
    for text, theirs in zip(asked, found, strict=True):
        query = Query.at(f"items?{text}")
        sheet = seen.viewer.sheet(query.sheet)
        rows = selected(query, sheet)
        assert theirs["places"] == rows.tolist(), text
        near(json.loads(json.dumps(summary(sheet, rows, "kind"))), theirs["summary"])


def test_runs_are_named_as_everywhere(seen: Seen) -> None:
    labels = [one.label for one in seen.viewer.sheet("bivlc").contestants]
    assert labels == [A, B, "constant"]
    assert all(isinstance(one.run, Run) for one in seen.viewer.sheet("bivlc").contestants)
