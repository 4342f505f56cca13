"""A view as a folder of files that any file server can serve; the browser does the rest.

It has `index.html` with its scripts; `data/` with an overview, `data/K/` with the columns of the
K-th benchmark (names, ranks and facts as JSON, numbers as little-endian float32), its captions for
the search, and its cards and items in pages; and `pictures/` with thumbnails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.errors import BadImage, BadInput
from tellapart.files import whole_folder
from tellapart.reports.picks import RANKS
from tellapart.types import Progress, silent
from tellapart.views.cards import cards_of, item_details
from tellapart.views.sheet import Sheet
from tellapart.views.viewer import LIST, Viewer, picture_name

PAGE = 50
"""Cards per file; sorted lists need cards from many files, so files are small."""
MOST_ITEMS = 100_000
"""A browser filters up to this many items with ease; benchmarks may have more."""
AT_ONCE = 2
HIDDEN = ("folder",)
"""Entries of a run's card that are private."""


def write_bundle(
    viewer: Viewer, out: Path, at: str = "", *, overwrite: bool = False, progress: Progress = silent
) -> int:
    """Write a view into a folder, completely or not at all; returns the number of items."""
    sheets = viewer.library.sheets
    total = sum(len(sheet) for sheet in sheets)
    done = 0
    with whole_folder(out, overwrite=overwrite) as partial:
        _write_page(partial, at)
        data = partial / "data"
        data.mkdir()
        _json(data / "about.json", _about(viewer))
        _json(data / "overview.json", [viewer.overviews.of(sheet, wait=True) for sheet in sheets])
        for number, sheet in enumerate(sheets):
            folder = data / str(number)
            folder.mkdir()
            _write_columns(sheet, folder)
            for size in _write_pages(sheet, folder):
                done += size
                progress("items", done, total)
        _write_pictures(viewer, partial / "pictures", progress)
    return total


def _write_page(folder: Path, at: str) -> None:
    for package, name in (("tellapart.views", "static"), ("tellapart.web", "shared")):
        target = folder / name
        target.mkdir()
        for file in files(package).joinpath("static").iterdir():
            if file.is_file():
                (target / file.name).write_bytes(file.read_bytes())
    page = (folder / "static" / "view.html").read_text(encoding="utf-8")
    marked = page.replace('<html lang="en">', '<html lang="en" data-bundle>', 1)
    (folder / "static" / "view.html").unlink()
    (folder / "index.html").write_text(marked, encoding="utf-8")
    _json(folder / "at.json", {"at": at.lstrip("#")})


def _about(viewer: Viewer) -> dict[str, Any]:
    sheets = []
    for sheet in viewer.library.sheets:
        card = sheet.card_json()
        card["runs"] = [{k: v for k, v in run.items() if k not in HIDDEN} for run in card["runs"]]
        sheets.append(card)
    marks = {s.label: viewer.marks.of(s.benchmark.name) for s in viewer.library.sheets}
    return {
        "version": 1, "sheets": sheets, "problems": [], "make": [], "out": "", "marks": marks,
    }  # fmt: skip


def _write_columns(sheet: Sheet, folder: Path) -> None:
    letters = np.array([str(state) for state in RANKS])
    ranks = ["".join(letters[column].tolist()) for column in sheet.ranks.T]
    columns = {
        "ids": sheet.benchmark.items.ids.to_list(),
        "groups": sheet.groups.tolist(),
        "ranks": ranks,
        "page": PAGE,
    }
    _json(folder / "columns.json", columns)
    facts = sheet.facts_json()
    codes = {name: fact.code.tolist() for name, fact in sheet.facts.items()}
    _json(folder / "facts.json", {"facts": facts, "codes": codes})
    value, units = sheet.worth
    numbers = np.stack([sheet.margins.T, value.T, units.T]).astype("<f4")
    (folder / "numbers.bin").write_bytes(numbers.tobytes())
    texts = {place: sheet.searched(place).to_list() for place in sheet.places}
    _json(folder / "text.json", texts)


def _write_pages(sheet: Sheet, folder: Path) -> Iterator[int]:
    def address(place: int) -> str:
        return f"pictures/{picture_name(sheet, place, LIST)}"

    for begin in range(0, len(sheet), PAGE):
        rows = np.arange(begin, min(begin + PAGE, len(sheet)))
        number = begin // PAGE
        _json(folder / f"cards-{number}.json", cards_of(sheet, rows, address))
        _json(
            folder / f"items-{number}.json",
            [item_details(sheet, int(row), address) for row in rows],
        )
        yield len(rows)


def _write_pictures(viewer: Viewer, folder: Path, progress: Progress) -> None:
    folder.mkdir()
    jobs = [
        (sheet, place)
        for sheet in viewer.library.sheets
        for place in range(len(sheet.benchmark.images))
    ]

    def write(job: tuple[Sheet, int]) -> None:
        sheet, place = job
        try:
            data = viewer.picture(sheet.short, place, LIST)
        except (BadImage, BadInput):
            return  # the card shows that there is no picture
        (folder / picture_name(sheet, place, LIST)).write_bytes(data)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done, _ in enumerate(pool.map(write, jobs), 1):
            progress("pictures", done, len(jobs))


def _json(path: Path, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text, encoding="utf-8")
