"""A viewer: the objects behind the routes: library, marks, thumbnails, overviews."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.errors import BadImage, BadInput, UnknownName
from tellapart.types import Ints
from tellapart.views.library import Library, Loader
from tellapart.views.marks import ItemMarks
from tellapart.views.overview import Overviews
from tellapart.views.query import Query, ids_of, selected
from tellapart.views.sheet import Sheet
from tellapart.web.thumbnails import Thumbnails

LIST, LARGE = 480, 1600
"""The longest side of pictures in pixels, in the list and for a single item."""
KEPT = 64
"""How many query results are cached, so that scrolling does not repeat queries."""
REST = 10
"""At most one part in this many of the time is spent on looking for changes."""


def picture_name(sheet: Sheet, place: int, side: int) -> str:
    """The file name in a picture's address: benchmark, index among the images, size."""
    return f"{sheet.short}-{place}-{side}.webp"


Doing = Callable[[Sheet, frozenset[str], Path], str]
"""Creates something from some items at a path, and returns a description of it."""


@dataclass(frozen=True, slots=True)
class Doings:
    """What can be created from the items of a query; given by the verb, which may call other verbs.

    Results are written below `out`.
    """

    make: dict[str, Doing]
    out: Path


class Viewer:
    """Everything behind the page; thread-safe."""

    def __init__(self, loader: Loader, marks: ItemMarks, doings: Doings | None = None) -> None:
        self.loader, self.marks = loader, marks
        self.doings = doings or Doings({}, Path())
        self.key = secrets.token_urlsafe(24)
        self.session = secrets.token_urlsafe(24)
        self.library: Library = loader.load()
        self.version = 1
        self.overviews = Overviews()
        self.pictures = {LIST: Thumbnails(LIST), LARGE: Thumbnails(LARGE)}
        self._results: OrderedDict[Any, Ints] = OrderedDict()
        self._lock, self._looking = threading.Lock(), threading.Lock()
        self._look_again = 0.0

    def sheet(self, label: str) -> Sheet:
        """A sheet by name; the error for an unknown name lists the known ones."""
        sheet = self.library.sheet(label)
        if sheet is None:
            raise UnknownName("benchmark", label, [one.label for one in self.library.sheets])
        return sheet

    def rows(self, query: Query) -> Ints:
        """The rows of a query, in its order."""
        sheet = self.sheet(query.sheet)
        marked = self.marks.changes if query.starred or query.noted else 0
        key = (id(sheet), query, marked)
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        name = sheet.benchmark.name
        rows = selected(query, sheet, self.marks.starred(name), self.marks.noted(name))
        with self._lock:
            self._results[key] = rows
            while len(self._results) > KEPT:
                self._results.popitem(last=False)
        return rows

    def ids(self, query: Query) -> list[str]:
        """The ids of the items of a query, in its order."""
        return ids_of(self.sheet(query.sheet), self.rows(query)).to_list()

    def picture(self, short: str, place: int, side: int) -> bytes:
        """A picture of a loaded benchmark as WebP, by its index among the images."""
        sheet = next((one for one in self.library.sheets if one.short == short), None)
        known = sheet is not None and 0 <= place < len(sheet.benchmark.images)
        if sheet is None or not known or side not in self.pictures:
            raise BadImage("there is no such picture")
        benchmark = sheet.benchmark
        return self.pictures[side].read(benchmark.picture(benchmark.images.ids[place]))

    def make(self, what: str, query: Query, name: str) -> str:
        """Create something (a subset, a study) from the items of a query."""
        sheet = self.sheet(query.sheet)
        known = [one for one in sheet.makes if one in self.doings.make]
        if what not in known:
            raise UnknownName("thing to make", what, known)
        rows = self.rows(query)
        if not len(rows):
            raise BadInput("no items match", todo="choose another filter")
        ids = frozenset(ids_of(sheet, rows))
        return self.doings.make[what](sheet, ids, self.doings.out / name)

    def look(self) -> int:
        """Check for new, removed and running runs; returns the library's version number."""
        if time.monotonic() < self._look_again or not self._looking.acquire(blocking=False):
            return self.version
        try:
            began = time.monotonic()
            if self.loader.changed():
                self.library = self.loader.load()
                self.version += 1
                with self._lock:
                    self._results.clear()
            took = time.monotonic() - began
            self._look_again = time.monotonic() + max(1.0, REST * took)
        finally:
            self._looking.release()
        return self.version

    def warm(self) -> None:
        """Compute in the background what pages will request first."""

        def work() -> None:
            for sheet in self.library.sheets:
                for what in ("ranks", "margins", "facts", "worth"):
                    getattr(sheet, what)
                for place in sheet.places:
                    sheet.searched(place)

        threading.Thread(target=work, daemon=True).start()

    def check(self) -> None:
        """Raise if there is nothing to show."""
        if not self.library.sheets:
            raise BadInput(
                "there is nothing to show",
                where="; ".join(self.library.problems[:3]),
                allowed="benchmarks, runs, or folders of them",
                todo="create a run with: tellapart evaluate MODEL --on BENCH --out RUNS",
            )
