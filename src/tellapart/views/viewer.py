"""A viewer: what the routes work with. The library as it is now, marks, thumbnails, overviews."""

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
"""The longest sides of pictures in the list and of an item seen by itself, in pixels."""
KEPT = 64
"""How many results of queries are kept, so that scrolling on asks for nothing again."""
REST = 10
"""Looking for changes may take one part in this many of the time."""


def picture_name(sheet: Sheet, place: int, side: int) -> str:
    """The name of a picture's address: its benchmark, its place among the images, its size."""
    return f"{sheet.short}-{place}-{side}.webp"


Doing = Callable[[Sheet, frozenset[str], Path], str]
"""Makes something of some items at a path, and says what."""


@dataclass(frozen=True, slots=True)
class Doings:
    """What can be made of the items of a query: given by the verb, which may call other verbs.

    What is made goes below `out`.
    """

    make: dict[str, Doing]
    out: Path


class Viewer:
    """Everything behind the page; safe to use from several threads."""

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
        """The sheet of a name, or an error that says which there are."""
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
        """A picture of a benchmark that was loaded, by its place among the images, as WebP."""
        sheet = next((one for one in self.library.sheets if one.short == short), None)
        known = sheet is not None and 0 <= place < len(sheet.benchmark.images)
        if sheet is None or not known or side not in self.pictures:
            raise BadImage("there is no such picture")
        benchmark = sheet.benchmark
        return self.pictures[side].read(benchmark.picture(benchmark.images.ids[place]))

    def make(self, what: str, query: Query, name: str) -> str:
        """Make something (a subset, a study) of the items of a query."""
        sheet = self.sheet(query.sheet)
        known = [one for one in sheet.makes if one in self.doings.make]
        if what not in known:
            raise UnknownName("thing to make", what, known)
        rows = self.rows(query)
        if not len(rows):
            raise BadInput("no item is like this", todo="choose another filter")
        ids = frozenset(ids_of(sheet, rows))
        return self.doings.make[what](sheet, ids, self.doings.out / name)

    def look(self) -> int:
        """Look for runs that are new, gone or under way; the number of the library's version."""
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
        """Work out, beside the server, what pages will ask for first."""

        def work() -> None:
            for sheet in self.library.sheets:
                for what in ("ranks", "margins", "facts", "worth"):
                    getattr(sheet, what)
                for place in sheet.places:
                    sheet.searched(place)

        threading.Thread(target=work, daemon=True).start()

    def check(self) -> None:
        """Raise where there is nothing to see."""
        if not self.library.sheets:
            raise BadInput(
                "there is nothing to see",
                where="; ".join(self.library.problems[:3]),
                allowed="benchmarks, runs, or folders of them",
                todo="make a run with: tellapart evaluate MODEL --on BENCH --out RUNS",
            )
