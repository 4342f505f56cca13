"""A sheet: one benchmark with its runs, as columns with one row per item.

States, worths and margins are arrays of shape (items, runs); facts are names with a code for each
item. Filters, charts and comparisons read only these columns, so that they take milliseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from tellapart import registry
from tellapart.benchmark.benchmark import Benchmark
from tellapart.items import Item
from tellapart.measures.item_columns import COLUMNS, Breakdown, item_table
from tellapart.measures.measure import Measure, was_asked
from tellapart.measures.scores import asks_of
from tellapart.questions import Ask
from tellapart.reports.card import Thumbnail
from tellapart.reports.picks import RANKS, Ranks, State, verdict_measure, verdict_ranks
from tellapart.score.answers import (
    crossfitted_thresholds,
    judged_cells,
    option_columns,
    pattern_questions,
    pattern_scores,
)
from tellapart.score.run import Run
from tellapart.types import Bools, Floats, Ints

MOST_VALUES = 400
"""A fact with more distinct values than this is not offered as a filter, only in the search."""
KEPT = 64
"""Number of runs whose columns are cached, so that adding a run recomputes only its own."""
SHOWN = frozenset({Ask.CAPTION, Ask.IMAGE})
Margins = npt.NDArray[np.float32]
Address = Callable[[int], str]
"""The address of a picture, by its index among the benchmark's images."""
SORTS = {
    "order": "as in the benchmark",
    "margin": "margin of A, lowest first",
    "margin-high": "margin of A, highest first",
    "close": "margin of A, closest to zero first",
    "gap": "margin of A below that of B first",
    "disagreement": "most disagreement first",
    "wrong": "most often wrong first",
    "right": "most often right first",
}
PLACES = {"captions": "captions and ids", "changed": "words changed"}
WORD = r"[\p{L}\p{N}'’-]+"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A run on a sheet; `live` means that it is still running.

    A run on another version of the benchmark has `places`: each item's row in the other version, -1
    if it is not the same there.
    """

    label: str
    run: Run
    live: bool = False
    places: Ints | None = None

    def column(self, values: npt.NDArray[Any], absent: Any) -> npt.NDArray[Any]:
        """A column of the run's own benchmark, reordered to the sheet's items."""
        if self.places is None:
            return values
        found = values[self.places]
        found[self.places < 0] = absent
        return found


class Sheet:
    """One benchmark and its runs.

    `form` says what its cards show, `top` is the largest value of a unit, `sorts` and `places` are
    the available orders and places to search with their labels, `makes` is what can be created from
    its items.
    """

    form: ClassVar[str] = "grids"
    top: ClassVar[float] = 1.0
    sorts: ClassVar[Mapping[str, str]] = SORTS
    places: ClassVar[Mapping[str, str]] = PLACES
    makes: ClassVar[tuple[str, ...]] = ("subset", "study")

    def __init__(
        self, label: str, benchmark: Benchmark, contestants: Sequence[Contestant] = ()
    ) -> None:
        self.label, self.benchmark = label, benchmark
        self.contestants = tuple(contestants)
        self.measures: tuple[Measure, ...] = tuple(
            registry.measures.get(name) for name in benchmark.card.measures
        )
        self.more_facts: dict[str, pl.Series] = {}
        self._lock = threading.RLock()
        self._facts: dict[str, Breakdown] | None = None

    def __len__(self) -> int:
        return len(self.benchmark.items)

    @property
    def labels(self) -> list[str]:
        """The names of the runs."""
        return [one.label for one in self.contestants]

    def place_of(self, label: str) -> int | None:
        """The column of a run."""
        return self.labels.index(label) if label in self.labels else None

    @cached_property
    def judge(self) -> Measure | None:
        """The measure that decides whether an item is right; None if there are no measures."""
        return verdict_measure(self.measures) if self.measures else None

    @cached_property
    def asks(self) -> frozenset[Ask]:
        """The questions that cards show."""
        return asks_of(self.benchmark.card.measures) if self.measures else SHOWN

    @cached_property
    def ranks(self) -> Ranks:
        """The items' outcomes, shape (items, runs), as indices into `RANKS`."""
        unasked = RANKS.index(State.UNASKED)
        table = np.full((len(self), len(self.contestants)), unasked, np.uint8)
        for k, one in enumerate(self.contestants):
            if self.judge is not None:
                table[:, k] = one.column(_ranks(one.run, self.judge), unasked)
        return table

    @cached_property
    def asked(self) -> Bools:
        """Which run was asked which item, shape (items, runs)."""
        return np.asarray(self.ranks != RANKS.index(State.UNASKED))

    @cached_property
    def worth(self) -> tuple[Floats, Floats]:
        """The sum of each item's unit values, and the number of units: (items, runs) each."""
        shape = (len(self), len(self.contestants))
        value, units = np.zeros(shape), np.zeros(shape)
        for k, one in enumerate(self.contestants):
            if self.judge is not None:
                own_value, own_units = _worth(one.run, self.judge)
                value[:, k], units[:, k] = one.column(own_value, 0), one.column(own_units, 0)
        return value, units

    @cached_property
    def margins(self) -> Margins:
        """The smallest margin of right options over wrong ones; NaN without scores."""
        table = np.full((len(self), len(self.contestants)), np.nan, np.float32)
        asks = self.judge.asks if self.judge is not None else SHOWN
        for k, one in enumerate(self.contestants):
            if one.run.card.kind == "scorer" and one.run.scores.height:
                table[:, k] = one.column(_margins(one.run, asks), np.nan)
        return table

    @cached_property
    def groups(self) -> Ints:
        """The number of each item's group."""
        return self.benchmark.items.groups[1]

    @property
    def facts(self) -> dict[str, Breakdown]:
        """The facts by which items can be filtered, with their values; computed on first use."""
        with self._lock:
            if self._facts is None:
                self._facts = self._found_facts()
            return self._facts

    def _found_facts(self) -> dict[str, Breakdown]:
        table = item_table(self.benchmark).drop("item").with_columns(**self.more_facts)
        found = {}
        for name in ("kind", *(c for c in table.columns if c != "kind")):
            column = table[name]
            if column.dtype == pl.String and column.n_unique() > MOST_VALUES:
                continue
            one = _breakdown(name, column)
            alone = name == "group" and len(one.names) == len(
                self
            )  # every item is its own group: useless as a filter
            if len(one.names) > 1 and one.has_values and not alone:
                found[name] = one
        if "family" in found and np.array_equal(
            found["family"].code, found.get("kind", found["family"]).code
        ):
            del found["family"]
        return found

    @cached_property
    def text(self) -> pl.Series:
        """The captions of each item in lower case, one per line, followed by its id."""
        frame = self.benchmark.items.frame
        joined = frame["captions"].list.join("\n")
        return pl.select(
            pl.concat_str(joined, pl.lit("\n"), frame["id"]).str.to_lowercase()
        ).to_series()

    @cached_property
    def changed(self) -> pl.Series:
        """The words of each item that are not in all of its captions, in lower case."""
        captions = self.benchmark.items.frame.select(
            item=pl.int_range(pl.len(), dtype=pl.Int64), captions="captions"
        )
        lines = captions.explode("captions").with_columns(
            line=pl.int_range(pl.len(), dtype=pl.Int64)
        )
        words = lines.select(
            "item", "line", word=pl.col("captions").str.to_lowercase().str.extract_all(WORD)
        )
        distinct = words.explode("word").unique(["line", "word"], maintain_order=True)
        often = distinct.group_by("item", "word", maintain_order=True).len("lines")
        size = pl.DataFrame({"item": np.arange(len(self)), "size": self.benchmark.items.shape[1]})
        odd = often.join(size, on="item").filter(
            (pl.col("lines") < pl.col("size")) & pl.col("word").is_not_null()
        )
        joined = odd.group_by("item", maintain_order=True).agg(pl.col("word").str.join(" "))
        every = size.join(joined, on="item", how="left", maintain_order="left")
        padded = pl.concat_str(pl.lit(" "), pl.col("word").fill_null(""), pl.lit(" "))
        return every.select(padded).to_series()

    def searched(self, place: str) -> pl.Series:
        """The column to search, by its name in `places`."""
        return self.changed if place == "changed" else self.text

    def thumbnails(self, address: Address) -> Callable[[str], Thumbnail]:
        """A function that gives an image's thumbnail by the image's id."""

        def thumbnail(image: str) -> Thumbnail:
            if image not in self.benchmark.images:
                return Thumbnail(None, problem=f"image {image} is not listed in the benchmark")
            known = self.benchmark.images[image]
            if not self.benchmark.picture(image).is_there():
                return Thumbnail(None, problem=f"the file of image {image} is missing")
            place = self.benchmark.images.place_of(image)
            return Thumbnail(address(place), known.width or 0, known.height or 0)

        return thumbnail

    @property
    def short(self) -> str:
        """The start of the benchmark's hash, part of its pictures' addresses."""
        return self.benchmark.sha256[:12]

    def item(self, place: int) -> Item:
        """The item of a row."""
        return self.benchmark.items[place]

    def card_json(self) -> dict[str, Any]:
        """What the page needs to know about the benchmark."""
        card = self.benchmark.card
        return {
            "label": self.label,
            "about": card.about,
            "version": card.version,
            "verified": card.verified,
            "sha256": self.benchmark.sha256,
            "name": self.benchmark.name,
            "items": len(self),
            "images": len(self.benchmark.images),
            "shapes": sorted(self.benchmark.items.shapes),
            "measure": self.judge.name if self.judge else "",
            "form": self.form,
            "top": self.top,
            "sorts": self.sorts,
            "places": self.places,
            "makes": self.makes,
            "runs": [self.run_json(one) for one in self.contestants],
        }

    def run_json(self, one: Contestant) -> dict[str, Any]:
        """What the page needs to know about a run."""
        return {
            "label": one.label,
            "kind": one.run.card.kind,
            "items": one.run.size,
            "live": one.live,
            "scores": bool(one.run.scores.height),
            "failed": one.run.tally.failed,
            "folder": str(one.run.folder or ""),
        }

    def facts_json(self) -> list[dict[str, Any]]:
        """The facts with their values and how many items have each."""
        return [
            {
                "name": name,
                "about": COLUMNS.get(name, "noted when the items were made"),
                "values": one.names,
                "counts": np.bincount(one.code, minlength=len(one.names)).tolist(),
            }
            for name, one in self.facts.items()
        ]


def _breakdown(name: str, column: pl.Series) -> Breakdown:
    """A breakdown by a column; texts are coded by Polars, which is faster."""
    if column.dtype != pl.String or column.null_count():
        return Breakdown.of(name, column)
    names = column.unique().sort()
    code = column.replace_strict(names, pl.int_range(len(names), eager=True)).to_numpy()
    return Breakdown(name, tuple(names), code.astype(np.int64))


@lru_cache(maxsize=KEPT)
def _ranks(run: Run, judge: Measure) -> Ranks:
    return verdict_ranks(run, judge)


@lru_cache(maxsize=KEPT)
def _worth(run: Run, judge: Measure) -> tuple[Floats, Floats]:
    """For each item of the run's benchmark, the sum of its unit values and their number."""
    size = len(run.benchmark.items)
    if not was_asked(run, judge.asks):
        return np.zeros(size), np.zeros(size)
    found = judge.outcomes(run, "wrong")
    units = np.bincount(found.item, minlength=size).astype(float)
    return np.bincount(found.item, found.value, size).astype(float), units


@lru_cache(maxsize=KEPT)
def _margins(run: Run, asks: frozenset[Ask]) -> Margins:
    """For each item, the smallest margin over its questions; NaN if there is none."""
    found = np.full(len(run.benchmark.items), np.nan, np.float32)
    if asks & SHOWN:
        for pattern, scores in pattern_scores(run):
            asked = [
                q for ask in Ask if ask in asks & SHOWN
                for q in pattern_questions(run.benchmark.items, pattern, ask)
            ]  # fmt: skip
            for question in asked:
                columns = option_columns(pattern, question)
                right = [c for k, c in enumerate(columns) if k in question.right]
                wrong = [c for k, c in enumerate(columns) if k not in question.right]
                gap = scores[:, right].max(axis=1) - scores[:, wrong].max(axis=1)
                found[pattern.rows] = np.fmin(found[pattern.rows], gap.astype(np.float32))
    elif Ask.JUDGE in asks:
        cells = judged_cells(run)
        if len(cells.score) and not cells.failed.all():
            own = run.card.threshold
            level = crossfitted_thresholds(cells) if own is None else own
            gap = np.where(cells.true, cells.score - level, level - cells.score)
            np.fmin.at(found, cells.item, gap.astype(np.float32))
    return found
