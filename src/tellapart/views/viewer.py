"""A viewer: what the routes work with. The library as it is now, marks, thumbnails, overviews."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.errors import BadImage, BadInput, UnknownName
from tellapart.types import Ints
from tellapart.views.library import Library, Loader
from tellapart.views.overview import Overviews
from tellapart.views.query import Query, ids_of, selected
from tellapart.views.sheet import Sheet
from tellapart.web.thumbnails import Thumbnails

LIST, LARGE = 480, 1600
"""The longest sides of pictures in the list and of an item seen by itself, in pixels."""
KEPT = 64
"""How many results of queries are kept, so that scrolling on asks for nothing again."""


@dataclass(frozen=True, slots=True)
class Doings:
    """What can be done with the items of a query: given by the verb, which may call other verbs."""

    subset: Callable[[Sheet, frozenset[str], Path], str] | None = None
    study: Callable[[Sheet, frozenset[str], Path], str] | None = None
    out: Path = Path()


class Viewer:
    """Everything behind the page; safe to use from several threads."""

    def __init__(self, loader: Loader, doings: Doings | None = None) -> None:
        self.loader, self.doings = loader, doings or Doings()
        self.key = secrets.token_urlsafe(24)
        self.session = secrets.token_urlsafe(24)
        self.library: Library = loader.load()
        self.overviews = Overviews()
        self.pictures = {LIST: Thumbnails(LIST), LARGE: Thumbnails(LARGE)}
        self._results: OrderedDict[Any, Ints] = OrderedDict()
        self._lock = threading.Lock()

    def sheet(self, label: str) -> Sheet:
        """The sheet of a name, or an error that says which there are."""
        sheet = self.library.sheet(label)
        if sheet is None:
            raise UnknownName("benchmark", label, [one.label for one in self.library.sheets])
        return sheet

    def rows(self, query: Query) -> Ints:
        """The rows of a query, in its order."""
        sheet = self.sheet(query.sheet)
        key = (id(sheet), query)
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        rows = selected(query, sheet)
        with self._lock:
            self._results[key] = rows
            while len(self._results) > KEPT:
                self._results.popitem(last=False)
        return rows

    def ids(self, query: Query) -> list[str]:
        """The ids of the items of a query, in its order."""
        return ids_of(self.sheet(query.sheet), self.rows(query)).to_list()

    def picture(self, number: int, place: int, side: int) -> bytes:
        """A picture of a sheet by its place among the images, as WebP."""
        sheets = self.library.sheets
        if not (0 <= number < len(sheets)) or side not in self.pictures:
            raise BadImage("there is no such picture")
        benchmark = sheets[number].benchmark
        if not 0 <= place < len(benchmark.images):
            raise BadImage("there is no such picture")
        picture = benchmark.picture(benchmark.images.ids[place])
        return self.pictures[side].read(picture)

    def warm(self) -> None:
        """Work out what first pages need."""
        if not self.library.sheets:
            raise BadInput(
                "there is nothing to see",
                where="; ".join(self.library.problems[:3]),
                allowed="benchmarks, runs, or folders of them",
                todo="make a run with: tellapart evaluate MODEL --on BENCH --out RUNS",
            )
