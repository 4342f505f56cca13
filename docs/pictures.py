"""The gallery's pictures, made again: `make pictures`, or `python docs/pictures.py [WORK]`.

A demo is made on the built-in world and its pages are looked at in Chromium, so every picture shows
what the program really does, and nothing in it is anybody's but ours.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import tellapart as ta
from tellapart.models.names import load

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
ITEMS = {
    "bison": ("bison", ""),
    "foil": ("foil", ""),
    "mcic": ("mcic", ""),
    "bivlc": ("bivlc", "replace-relation"),
    "swap": ("bivlc", "swap-attribute"),
}
"""Items that storybook gets wrong: the picture's name, the benchmark, the kind."""


def save(shot: bytes, name: str) -> None:
    """A screenshot as a small file."""
    with Image.open(BytesIO(shot)) as picture:
        picture.convert("RGB").save(IMAGES / f"{name}.webp", quality=82, method=6)


def demo(work: Path) -> Path:
    """A demo with a larger gallery in its report, made once."""
    if not (work / "demo" / "report.html").exists():
        ta.demo(work / "demo")
    report = work / "gallery.html"
    if not report.exists():
        runs = [ta.load_run(path.parent) for path in sorted(work.glob("demo/runs/*/*/run.json"))]
        shown = [run for run in runs if run.card.model in ("storybook", "oracle", "blind")]
        ta.report(shown, report, ta.ReportOptions(title="Storybook on drawn pictures", gallery=400))
    return report


def items(page: Page, report: Path) -> None:
    """One card for each sort of item, and the top of the report."""
    page.goto(report.as_uri())
    page.wait_for_timeout(500)
    save(page.screenshot(), "report")
    for name, (benchmark, kind) in ITEMS.items():
        address = f"{report.as_uri()}#gallery?benchmark={benchmark}&outcome=wrong&model=storybook"
        page.goto("about:blank")
        page.goto(f"{address}&kind={kind}" if kind else address)
        # The page ignores values that it does not know; the pictures would then show any item.
        assert page.locator("select[name=outcome]").input_value() == "wrong"
        card = page.locator(".card:visible").first
        card.scroll_into_view_if_needed()
        page.wait_for_timeout(300)
        save(card.screenshot(), f"item-{name}")


@contextmanager
def started(*words: str, line: str) -> Iterator[str]:
    """A command that serves pages, until it is left; the address in a line of its output."""
    command = [sys.executable, "-m", "tellapart", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(said for said in process.stdout if line in said).split()[-1]
        finally:
            process.terminate()


VIEWS = {
    "view-overview": ("overview", (1280, 760), "light"),
    "view-items": ("items?sheet=bivlc&a=storybook&ao=w&sort=margin", (1280, 860), "light"),
    "view-item": ("items?sheet=bivlc&a=storybook&ao=w&sort=margin", (1280, 1250), "light"),
    "view-compare": ("compare?sheet=bivlc&a=storybook&b=oracle", (1280, 860), "light"),
    "view-items-dark": ("items?sheet=bison&a=storybook&ao=w&sort=margin", (1280, 700), "dark"),
    "view-items-phone": ("items?sheet=mcic&a=storybook&ao=w&sort=margin", (390, 844), "light"),
    "view-captions": ("items?sheet=captions&a=random&b=nearest&sort=gap", (1280, 800), "light"),
}
"""Places in a view by the picture's name, each with the window and the colours."""


def captioners(work: Path) -> list[Path]:
    """Results of two captioners: each picture gets the caption of another.

    One takes the picture that storybook finds most similar, the other any.
    """
    corpus = ta.read_corpus(work / "demo" / "world")
    ids = list(corpus.texts_by_image)[:240]
    rows = np.asarray(load("storybook").embed_images([corpus.picture(one) for one in ids]))
    alike = rows @ rows.T
    np.fill_diagonal(alike, -1)
    chosen = {"nearest": alike.argmax(1), "random": np.roll(np.arange(len(ids)), 1)}
    files = []
    for name, others in chosen.items():
        texts = [corpus.texts_by_image[ids[other]][0] for other in others]
        written = [{"image_id": one, "caption": text} for one, text in zip(ids, texts, strict=True)]
        files.append(work / f"{name}.json")
        files[-1].write_text(json.dumps(written), encoding="utf-8")
    return files


def views(browser: Any, work: Path) -> None:
    """The view of the demo and of two captioners' results."""
    runs, captions = [work / "demo" / "runs"], captioners(work)
    world = work / "demo" / "world"
    for paths, mine in ((runs, False), (captions, True)):
        more = ["--references", str(world)] if mine else []
        with started("view", *map(str, paths), *more, "--no-open", line="view: ") as address:
            for name, (place, (width, height), scheme) in VIEWS.items():
                if ("captions" in name) is mine:
                    size = {"width": width, "height": height}
                    page = browser.new_page(viewport=size, color_scheme=scheme)
                    page.goto(f"{address}&{place}")
                    settled(page)
                    if name == "view-item":
                        page.locator(".card").first.click()
                        page.wait_for_timeout(1500)
                    save(page.screenshot(), name)
                    page.close()


def settled(page: Page) -> None:
    """Wait until a view has drawn its items with their pictures."""
    page.locator("main .card, main section").first.wait_for()
    page.wait_for_timeout(2500)
    # What text alone gives away is computed meanwhile.
    page.wait_for_function("!document.body.innerText.includes('guessing')", timeout=120_000)
    page.wait_for_timeout(500)


def study(browser: Any, work: Path) -> None:
    """A task as a person sees it, on a screen and on a phone, and the owner's page."""
    folder = work / "study"
    options = ta.BisonOptions(for_study=True, items=30, overwrite=True)
    ta.build("bison", work / "demo" / "world", work / "pairs", options)
    ta.create_study(
        work / "pairs",
        folder,
        ta.CreateStudyOptions(recipe="bison", training=False, name="Which one?", overwrite=True),
    )
    ta.simulate_study(folder, ta.Crowd(people=2, leaving=0.05))
    with started("study", "serve", str(folder), "--port", "8765", line="/owner#") as owner:
        links = [one.link for one in ta.invite_people(folder, people=2).links]
        for link, size, name in (
            (links[0], DESKTOP, "study-task"),
            (links[1], PHONE, "study-phone"),
        ):
            page = browser.new_page(viewport=size)
            page.goto(link)
            page.get_by_role("button").first.wait_for()
            agree(page)
            save(page.screenshot(), name)
            page.close()
        page = browser.new_page(viewport=DESKTOP)
        page.goto(owner)
        page.wait_for_timeout(2500)
        save(page.screenshot(), "study-owner")
        page.close()


def agree(page: Page) -> None:
    """Go through consent and instructions to the first task."""
    for _ in range(6):
        page.wait_for_timeout(700)
        if page.locator("main img").count() > 1:
            page.wait_for_timeout(700)
            return
        box = page.locator("input[type=checkbox]:visible")
        if box.count():
            box.first.check()
        page.locator("main button:visible").first.click()


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description="Make the gallery's pictures.")
    parser.add_argument("work", type=Path, nargs="?", default=DOCS.parent / "build" / "pictures")
    work = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)
    report = demo(work)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=DESKTOP, device_scale_factor=1)
        items(page, report)
        views(browser, work)
        study(browser, work)
        browser.close()
    print(f"{len(list(IMAGES.glob('*.webp')))} pictures in {IMAGES}")


if __name__ == "__main__":
    main()
