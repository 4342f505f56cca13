"""A study in a real browser: every question by mouse and by keyboard, a phone, bad connections."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the extra 'study' is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
import uvicorn  # noqa: E402
from tests.browser.conftest import CHROMIUM  # noqa: E402
from tests.browser.test_report_browser import EVIL  # noqa: E402

from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark  # noqa: E402
from tellapart.items import Item, Origin  # noqa: E402
from tellapart.study.export import judgement_table  # noqa: E402
from tellapart.study.folder import StudySetup, write_study  # noqa: E402
from tellapart.study.people import invite  # noqa: E402
from tellapart.study.plan import (  # noqa: E402
    PLAN_FILE,
    Stage,
    read_plan,
    write_plan,
)
from tellapart.study.server.app import make_app  # noqa: E402
from tellapart.study.study import open_study  # noqa: E402

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

SOURCES = {
    "pick-caption": "pairs", "which-image": "bison", "foil": "foil", "best-image": "four",
    "first-second-both": "bison", "choose-caption": "bivlc", "choose-image": "bivlc",
    "best-of-five": "mcic", "rate-correctness": "foil", "rate-detail": "foil",
}  # fmt: skip
playwright.expect.set_options(timeout=20_000)
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@dataclass
class Served:
    """A study behind a real server on this machine, which can be stopped and started again."""

    folder: Path
    port: int

    def __post_init__(self) -> None:
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.study = open_study(self.folder)
        config = uvicorn.Config(
            make_app(self.study, self.url), port=self.port, log_level="error", access_log=False
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        until(lambda: self.server.started)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.study.close()

    def link(self, note: str = "") -> str:
        made = self.study.database.submit(lambda conn: invite(conn, self.study, 1, note)).result()
        return f"{self.url}/#{made[0].token}"

    def answers(self, role: str = "item") -> pl.DataFrame:
        table = self.study.database.read(lambda conn: judgement_table(conn, self.study)).result()
        return table.filter(pl.col("role") == role)


def until(true: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def sources(benchmarks: dict[str, Benchmark]) -> dict[str, Benchmark]:
    """A benchmark for each sort of question: those of the world, pairs, and four images each."""
    bison = benchmarks["bison"]

    def made(name: str, items: list[Item]) -> Benchmark:
        return make_benchmark(Card(name, measures=()), bison.root, items, bison.images.values())

    images = list(bison.images)
    pairs = [
        Item.imported(
            "pair", str(k), images=item.images,
            captions=tuple(f"{item.captions[0]} ({j})" for j in range(5)),
            true=frozenset((0, j) for j in range(5)), kind="pair", origin=Origin("test"),
        )
        for k, item in enumerate(bison.items[:6])
    ]  # fmt: skip
    four = [
        Item.imported(
            "four", str(k), images=tuple(images[4 * k : 4 * k + 4]), captions=("A picture.",),
            true=frozenset({(k, 0)}), kind="four", origin=Origin("test"),
        )
        for k in range(4)
    ]  # fmt: skip
    return {**benchmarks, "pairs": made("pairs", pairs), "four": made("four", four)}


@pytest.fixture
def serve(tmp_path: Path, sources: dict[str, Benchmark]) -> Iterator[Callable[..., Served]]:
    """Start a study of one question; everything is stopped at the end."""
    running: list[Served] = []

    def start(ask: str = "which-image", *, training: bool = False, **more: Any) -> Served:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        source = more.pop("source", None) or sources[SOURCES[ask]]
        folder = tmp_path / more.pop("name", ask)
        setup = StudySetup((Stage(ask, ask, at_most=20, **more),), training=training)
        write_study(source, folder, setup)
        running.append(Served(folder, port))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@contextmanager
def opened(browser: Any, size: dict[str, int] = DESKTOP, **more: Any) -> Iterator[Any]:
    """A page in a fresh context; an error in it fails the test."""
    context = browser.new_context(viewport=size, color_scheme="light", **more)
    context.set_default_timeout(20_000)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    yield page
    context.close()
    assert problems == []


def begin(page: Any, served: Served) -> None:
    """From the personal link to the first task."""
    page.goto(served.link())
    page.get_by_role("button", name="I agree and want to take part").click()
    page.get_by_role("button", name="Start").click()
    ready(page)


def ready(page: Any) -> None:
    """Wait until all pictures of the task are there."""
    page.wait_for_selector("form.task")
    playwright.expect(page.locator(".picture.loading, .picture.broken")).to_have_count(0)


def at_task(page: Any, place: int) -> None:
    """Wait until the page says that this is the task with this number."""
    playwright.expect(page.locator("#count")).to_have_text(re.compile(rf"^{place} of"))
    ready(page)


def serious(page: Any) -> list[str]:
    """What axe-core finds that would stop someone."""
    found = axe.Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found
            if v["impact"] in ("serious", "critical")]  # fmt: skip


@pytest.mark.usefixtures("plugins")
def test_a_question_of_ones_own_draws_its_part_of_the_page(browser, serve, sources):
    served = serve("made-up", judgements=1, source=sources["bivlc"])
    with opened(browser) as page:
        begin(page, served)
        assert "You do not see the picture." in page.locator("form.task.made-up").inner_text()
        page.keyboard.press("3")
        page.keyboard.press("Enter")
        at_task(page, 2)
    assert served.answers()["choice"].to_list() == ["unsure"]


@pytest.mark.parametrize("ask", SOURCES)
def test_each_question_is_answered_by_mouse_and_by_keyboard(browser, serve, ask):
    served = serve(ask, judgements=1)
    with opened(browser) as page:
        begin(page, served)
        assert serious(page) == []
        page.locator("label.option").first.locator(".words").click()
        page.get_by_role("button", name="Next").click()
        at_task(page, 2)
        page.keyboard.press("2")
        if ask == "foil":
            page.locator(".word").nth(1).click()
        page.keyboard.press("Enter")
        until(lambda: served.answers().height == 2)
    first, second = served.answers().sort("number").iter_rows(named=True)
    drawn = {"pick-caption", "which-image", "best-image", "first-second-both", "choose-caption",
             "choose-image", "best-of-five"}  # fmt: skip
    if ask in drawn:
        assert [int(first["choice"]), int(second["choice"])] == [
            first["order"][0],
            second["order"][1],
        ]
    else:
        fixed = {"foil": ["right", "wrong"]}.get(ask, ["1", "2"])
        assert [first["choice"], second["choice"]] == fixed
    assert second["word"] == (1 if ask == "foil" else None)
    assert first["milliseconds"] < 60_000


def test_keyboard_alone_is_enough_and_an_answer_can_be_taken_back(browser, serve):
    served = serve("which-image", judgements=1)
    with opened(browser) as page:
        page.goto(served.link())
        for name in ("I agree and want to take part", "Start"):
            wanted = page.get_by_role("button", name=name)
            wanted.wait_for()
            while not wanted.evaluate("button => button === document.activeElement"):
                page.keyboard.press("Tab")
            page.keyboard.press("Enter")
        ready(page)
        page.keyboard.press("1")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        until(lambda: served.answers().height == 1)
        (given,) = served.answers().iter_rows(named=True)
        assert int(given["choice"]) == given["order"][1]
        at_task(page, 2)
        page.keyboard.press("Backspace")
        page.get_by_text("This is an earlier answer of yours").wait_for()
        assert page.locator("input:checked").get_attribute("value") == "2"
        page.keyboard.press("3")
        page.keyboard.press("Enter")
        until(lambda: served.answers()["choice"].to_list() == ["both"])
        assert served.answers()["revisions"].to_list() == [1]
        at_task(page, 2)


def test_practice_tells_what_is_right_and_counts_for_nothing(browser, serve):
    served = serve("foil", training=True, judgements=1)
    with opened(browser) as page:
        begin(page, served)
        assert "Practice 1 of" in page.locator("#count").inner_text()
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        feedback = page.locator(".feedback")
        feedback.wait_for()
        assert len(feedback.inner_text()) > 20
        assert page.locator(".option.right").count() == 1
        assert serious(page) == []
        page.keyboard.press("Enter")
        page.get_by_text("Practice 2 of").wait_for()
    assert served.answers().height == 0 and served.answers("training").height == 1


def test_a_phone_shows_the_task_without_sideways_scrolling(browser, serve):
    for ask in ("which-image", "best-of-five", "foil"):
        served = serve(ask, judgements=1)
        with opened(browser, PHONE, has_touch=True, is_mobile=True) as page:
            begin(page, served)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= PHONE["width"], ask
            send = page.get_by_role("button", name="Next")
            assert send.bounding_box()["y"] + send.bounding_box()["height"] <= PHONE["height"]
            page.locator("label.option").first.locator(".words").tap()
            send.tap()
            until(lambda served=served: served.answers().height == 1)


def test_next_is_in_view_on_a_small_screen_with_five_captions(browser, serve, benchmarks):
    mcic = benchmarks["mcic"]
    long = "with a good many more words than most captions have, so that it fills two whole lines"
    items = [
        Item.imported(
            "test", str(k), images=item.images, true=item.true, kind="mcic",
            captions=tuple(f"{caption.rstrip('.')} {long}." for caption in item.captions),
            origin=Origin("test"),
        )
        for k, item in enumerate(mcic.items)
    ]  # fmt: skip
    wordy = make_benchmark(Card("wordy", measures=()), mcic.root, items, mcic.images.values())
    for source in (mcic, wordy):
        served = serve("best-of-five", source=source, name=source.name)
        with opened(browser) as page:
            begin(page, served)
            box = page.get_by_role("button", name="Next").bounding_box()
            assert page.locator(".option").count() == 5
            assert box["y"] >= 0 and box["y"] + box["height"] <= DESKTOP["height"]
            assert page.evaluate("scrollY") == 0
            if source is mcic:
                last = page.locator(".option").last.bounding_box()
                assert last["y"] + last["height"] <= box["y"], "all captions are in view, too"


def test_pictures_enlarge_and_escape_closes_them(browser, serve):
    with opened(browser) as page:
        begin(page, serve("which-image"))
        small = page.locator(".option img").first.bounding_box()["height"]
        page.locator(".magnify").first.click()
        large = page.locator("dialog.enlarged img")
        large.wait_for()
        until(lambda: large.bounding_box()["height"] > small)
        page.keyboard.press("Escape")
        playwright.expect(page.locator("dialog")).to_have_count(0)
        assert page.locator("input:checked").count() == 0


def test_on_a_slow_network_nothing_is_answered_before_the_pictures_are_there(browser, serve):
    served = serve("which-image", judgements=1)
    held: list[Any] = []
    gone: list[bool] = []
    with opened(browser) as page:
        page.route("**/images/**", lambda route: route.continue_() if gone else held.append(route))
        page.goto(served.link())
        page.get_by_role("button", name="I agree and want to take part").click()
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector("form.task")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        assert "Loading the pictures" in page.locator("#hint").inner_text()
        gone.append(True)
        for route in held:
            route.continue_()
        ready(page)
        page.keyboard.press("Enter")
        until(lambda: served.answers().height == 1)


def test_the_next_pictures_are_loaded_ahead(browser, serve):
    with opened(browser) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        begin(page, serve("which-image"))
        until(lambda: sum("/images/" in one for one in asked) == 4)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        at_task(page, 2)


def test_a_lost_connection_loses_nothing_and_the_page_goes_on_by_itself(browser, serve):
    served = serve("which-image", judgements=1)
    with opened(browser) as page:
        begin(page, served)
        page.context.set_offline(True)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.get_by_text("No connection").wait_for()
        assert served.answers().height == 0
        page.context.set_offline(False)
        at_task(page, 2)
        assert served.answers().height == 1
        assert not page.locator("#connection").is_visible()


def test_an_answer_given_offline_survives_closing_the_page(browser, serve):
    served = serve("which-image", judgements=1)
    with opened(browser) as page:
        begin(page, served)
        page.context.set_offline(True)
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        page.get_by_text("No connection").wait_for()
        context = page.context
        page.close()
        context.set_offline(False)
        again = context.new_page()
        again.goto(served.url)
        at_task(again, 2)
        assert served.answers().height == 1


def test_a_server_that_is_started_again_finds_people_where_they_were(browser, serve):
    served = serve("which-image", judgements=1)
    with opened(browser) as page:
        begin(page, served)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        at_task(page, 2)
        served.stop()
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.get_by_text("No connection").wait_for()
        served.start()
        at_task(page, 3)
        assert served.answers().height == 2


def test_captions_are_text_and_never_markup(browser, serve, benchmarks):
    bison = benchmarks["bison"]
    item = bison.items[0]
    evil = Item.imported(
        "evil", "1", images=item.images, captions=(EVIL,), true=item.true, kind="evil",
        origin=Origin("test"),
    )  # fmt: skip
    source = make_benchmark(Card(EVIL, measures=()), bison.root, [evil], bison.images.values())
    with opened(browser) as page:
        begin(page, serve("which-image", source=source))
        assert page.locator("blockquote").inner_text() == EVIL
        assert page.locator("#study").inner_text() == EVIL


def test_names_notes_and_free_texts_are_text_and_never_markup(browser, serve):
    """In everything that an owner writes and people, or the owner, see."""
    served = serve("which-image", judgements=1)
    served.stop()
    plan = read_plan(served.folder / PLAN_FILE)
    stage = replace(plan.stages[0], instructions=f"{EVIL} **{EVIL}**", at_most=1)
    texts = {name: f"{name} {EVIL}" for name in ("name", "consent", "thanks", "contact")}
    write_plan(replace(plan, stages=(stage,), **texts), served.folder / PLAN_FILE)
    served.start()
    link = served.link(EVIL)
    with opened(browser) as page:
        page.goto(link)
        agree = page.get_by_role("button", name="I agree and want to take part")
        agree.wait_for()
        assert page.locator(".prose").inner_text() == texts["consent"]
        assert page.locator("#study").inner_text() == texts["name"] == page.title()
        agree.click()
        page.get_by_role("button", name="Start").wait_for()
        assert page.locator(".prose").inner_text() == f"{EVIL} {EVIL}"
        page.get_by_role("button", name="Start").click()
        ready(page)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.get_by_text(texts["thanks"]).wait_for()
        assert page.locator("img[src=x]").count() == 0
    with opened(browser) as page:
        page.goto(f"{served.url}/owner#{served.study.keys.owner}")
        page.get_by_role("button", name="Exclude").wait_for()
        assert EVIL in page.locator("#people").inner_text()
        assert page.locator("img[src=x]").count() == 0


def test_no_address_carries_a_secret_and_no_request_a_referrer(browser, serve):
    """Neither to the server, nor to another site that a link leads to, nor into the history."""
    served = serve("which-image", judgements=1)
    link, owners = served.link(), f"{served.url}/owner#{served.study.keys.owner}"
    secrets = [one.partition("#")[2] for one in (link, owners)]
    with opened(browser) as page:
        asked: list[Any] = []
        page.on("request", lambda request: asked.append(request))  # noqa: PLW0108 (wants attributes)
        page.goto(link)
        page.get_by_role("button", name="I agree and want to take part").click()
        page.get_by_role("button", name="Start").click()
        ready(page)
        assert page.evaluate("location.hash + document.referrer") == ""
        page.goto(owners)
        page.get_by_role("button", name="Create links").wait_for()
        assert page.evaluate("location.hash + document.referrer") == ""
        assert len(asked) > 8
        for request in asked:
            url = request.url.partition("#")[0]
            assert not any(secret in url for secret in secrets), url
            assert "referer" not in request.all_headers()


def test_people_can_pause_read_the_instructions_again_and_delete_everything(browser, serve):
    served = serve("which-image", judgements=1)
    with opened(browser) as page:
        begin(page, served)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        until(lambda: served.answers().height == 1)
        page.get_by_role("button", name="Menu").click()
        assert serious(page) == []
        page.get_by_role("button", name="Instructions").click()
        assert "caption" in page.locator("dialog .prose").inner_text()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Menu").click()
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Continue now").click()
        ready(page)
        page.get_by_role("button", name="Menu").click()
        page.get_by_role("button", name="Delete everything about me").click()
        page.get_by_role("button", name="Delete everything", exact=True).click()
        page.get_by_role("heading", name="Deleted").wait_for()
    assert served.answers().height == 0


def test_the_last_page_thanks_and_gives_the_code(browser, serve, benchmarks):
    bison = benchmarks["bison"]
    few = make_benchmark(Card("few"), bison.root, bison.items[:1], bison.images.values())
    served = serve("which-image", source=few, judgements=1)
    with opened(browser) as page:
        begin(page, served)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Done").wait_for()
        assert serious(page) == []


def test_a_link_that_is_not_known_says_what_to_do(browser, serve):
    served = serve("which-image")
    with opened(browser) as page:
        page.goto(f"{served.url}/#{'x' * 32}")
        page.get_by_text("This link does not work").wait_for()
        assert page.url == f"{served.url}/"


def test_the_owner_sees_progress_and_people_and_can_exclude_and_invite(browser, serve):
    served = serve("which-image", judgements=1)
    with opened(browser) as page:
        begin(page, served)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        until(lambda: served.answers().height == 1)
    with opened(browser) as page:
        page.goto(f"{served.url}/owner#{served.study.keys.owner}")
        page.get_by_role("button", name="Exclude").wait_for()
        assert page.url == f"{served.url}/owner"
        assert "1 of" in page.locator("#stages").inner_text()
        judged = served.answers()["item"][0]
        item = served.study.content.items.by_id[judged]
        row = page.locator("#items tbody tr").first
        assert judged in row.inner_text() and item.captions[0] in row.inner_text()
        picture = row.locator("img").first
        until(lambda: picture.evaluate("image => image.naturalWidth") > 0)
        assert row.locator("img").count() == len(item.images)
        heads = page.locator("#items thead")
        assert "Right answer" not in heads.inner_text()
        page.get_by_label("show right answers").check()
        until(lambda: "Right answer" in heads.inner_text())
        assert serious(page) == []
        page.get_by_role("button", name="Exclude").click()
        page.get_by_role("button", name="Restore").wait_for()
        page.locator("#many").fill("3")
        page.get_by_role("button", name="Create links").click()
        links = page.get_by_label("Personal links", exact=True).last
        links.wait_for()
        assert len(links.input_value().splitlines()) == 3


def test_the_owners_page_stays_shut_without_the_owners_token(browser, serve):
    served = serve("which-image")
    with opened(browser) as page:
        begin(page, served)
        page.goto(f"{served.url}/owner")
        page.get_by_text("Not signed in").wait_for()
