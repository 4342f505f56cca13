"""The items of a benchmark as columns: one row per item.

Hashes, groups, checks and questions are computed on whole columns, so that a benchmark of millions
of items takes little more memory than its text. `ItemTable` is a sequence of items: indexing and
iterating build `Item` objects one at a time and do not keep them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import polars as pl

from tellapart.benchmark.columns import frame_of, item_frame, item_of, plain_frame
from tellapart.benchmark.groups import codes, connected_groups, turns
from tellapart.errors import BadInput
from tellapart.items import Cell, Item, check_item, content_of
from tellapart.types import Bools, Ints

MASK_BITS = 63
"""The truth of grids with up to this many cells fits into the bits of one number."""

HASHED_AT_ONCE = 16_384
"""How many items are converted to text at a time for hashing, to limit memory."""

CONTROL = {chr(code): f"\\u{code:04x}" for code in range(0x20)} | {
    "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
}  # fmt: skip
ESCAPES = {'"': '\\"', "\\": "\\\\", **CONTROL}
"""Characters that JSON escapes inside a string."""

PLAIN_NOTES = r'^\{("[^"\\]*": "[^"\\]*"(, )?)*\}$'
"""Notes that match are certainly a JSON object; others have to be parsed."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Items with the same grid, truth and original pair, and so with the same questions.

    `rows` are their rows in the table.
    """

    images: int
    captions: int
    true: frozenset[Cell]
    original: Cell | None
    rows: Ints

    def column(self, image: int, caption: int) -> int:
        """The cell's index when the grid is flattened row by row."""
        return image * self.captions + caption


class ItemTable(Sequence[Item]):
    """Items as a Polars frame with `ITEM_COLUMNS`; `source` is the file to name in errors."""

    def __init__(self, frame: pl.DataFrame, source: Path | None = None) -> None:
        self.frame, self._source = frame, source

    @classmethod
    def of(cls, items: Iterable[Item]) -> ItemTable:
        """A table of items."""
        if isinstance(items, ItemTable):
            return items
        return cls(frame_of(items))

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]]) -> ItemTable:
        """A table from plain columns, with the origin's fields as columns of their own."""
        return cls(item_frame(plain_frame(columns)))

    @classmethod
    def joined(cls, tables: Iterable[ItemTable]) -> ItemTable:
        """The items of several tables, one after another."""
        return cls(pl.concat([table.frame for table in tables], rechunk=True))

    def __len__(self) -> int:
        return self.frame.height

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> ItemTable: ...

    def __getitem__(self, place: int | slice) -> Item | ItemTable:
        if isinstance(place, slice):
            return self.rows(np.arange(len(self))[place])
        return self._view(int(place), self.frame.row(int(place)))

    def __iter__(self) -> Iterator[Item]:
        for place, row in enumerate(self.frame.iter_rows()):
            yield self._view(place, row)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(other) != len(self):
            return False
        return all(map(lambda a, b: a == b, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<ItemTable: {len(self):,} items>"

    def _view(self, place: int, row: tuple[Any, ...]) -> Item:
        try:
            return item_of(row)
        except (TypeError, ValueError, IndexError, RecursionError) as error:
            raise self._no_item(place, error) from None

    def _no_item(self, place: int, error: Exception) -> BadInput:
        return BadInput(
            f"row {place + 1} of items.parquet is not an item: {error}",
            where=str(self._source or "items.parquet"),
            allowed="rows as tellapart wrote them",
            todo="build or import the benchmark again",
        )

    def rows(self, places: Ints) -> ItemTable:
        """The items of some rows, in the given order."""
        return ItemTable(self.frame[places], self._source)

    def where(self, keep: pl.Expr | pl.Series) -> ItemTable:
        """The items for which a condition on columns holds."""
        return ItemTable(self.frame.filter(keep), self._source)

    def with_images(self, names: Iterable[str]) -> ItemTable:
        """The items whose images are all among the given ones."""
        known = list(names)
        return self.where(pl.col("images").list.eval(pl.element().is_in(known)).list.all())

    @property
    def ids(self) -> pl.Series:
        """The ids."""
        return self.frame["id"]

    @cached_property
    def place(self) -> dict[str, int]:
        """The row of each id."""
        return {name: k for k, name in enumerate(self.ids)}

    def places_of(self, ids: pl.Series) -> Ints:
        """The rows of the items with some ids."""
        # Fast path: ids are nearly always in item order, each repeated several times.
        run = ids.rle_id() if len(ids) else ids.cast(pl.UInt32, strict=False)
        if len(ids) and int(run[-1]) + 1 == len(self):
            first = ids.filter(run.diff().fill_null(1) > 0)
            if first.equals(self.ids):
                return run.cast(pl.Int64).to_numpy()
        numbers = pl.int_range(len(self), eager=True)
        return ids.replace_strict(self.ids, numbers, return_dtype=pl.Int64).to_numpy()

    def places_in(self, other: ItemTable) -> Ints:
        """The row of each item in another table that has all of them."""
        return np.arange(len(self)) if self is other else other.places_of(self.ids)

    @property
    def by_id(self) -> Mapping[str, Item]:
        """Items by id, each built when requested."""
        return _ById(self)

    @cached_property
    def shape(self) -> tuple[Ints, Ints]:
        """How many images and how many captions each item has."""
        sizes = self.frame.select(pl.col("images", "captions").list.len().cast(pl.Int64))
        return sizes["images"].to_numpy(), sizes["captions"].to_numpy()

    @property
    def shapes(self) -> frozenset[tuple[int, int]]:
        """The distinct sizes of grids: (images, captions)."""
        return frozenset((p.images, p.captions) for p in self.patterns)

    @cached_property
    def kinds(self) -> tuple[tuple[str, ...], Ints]:
        """The kinds in alphabetical order, and the index of each item's kind."""
        return codes(self.frame["kind"])

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], Ints]:
        """The groups in alphabetical order, and the index of each item's group."""
        return codes(self.frame["group"])

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The items by pattern, in the order of first occurrence."""
        images, captions = self.shape
        if not len(self):
            return ()
        original = self.frame["original"].cast(pl.List(pl.Int64))
        keys = pl.DataFrame(
            {
                "images": images,
                "captions": captions,
                "truth": _truth_keys(self.frame["true_cells"], images * captions, captions),
                "first": original.list.get(0, null_on_oob=True).fill_null(-1),
                "second": original.list.get(1, null_on_oob=True).fill_null(-1),
            }
        )
        groups = keys.with_row_index("row").group_by(
            "images", "captions", "truth", "first", "second", maintain_order=True
        ).agg("row")  # fmt: skip
        found = []
        for row in groups.iter_rows(named=True):
            rows = np.array(row["row"], np.int64)
            example = self.frame["true_cells"][int(rows[0])]
            true = frozenset((int(cell[0]), int(cell[1])) for cell in example.to_list())
            pair = (row["first"], row["second"]) if row["first"] >= 0 else None
            found.append(Pattern(row["images"], row["captions"], true, pair, rows))
        return tuple(found)

    def has(self, pattern: Pattern, rows: Bools) -> Pattern:
        """A pattern restricted to the marked items."""
        kept = pattern.rows[rows[pattern.rows]]
        return Pattern(pattern.images, pattern.captions, pattern.true, pattern.original, kept)

    @cached_property
    def sha256(self) -> str:
        """The hash of ids, contents and kinds, independent of the items' order."""
        ordered = self.frame.select("id", "content", "kind")
        if not ordered["id"].is_sorted() or ordered["id"].is_duplicated().any():
            ordered = ordered.sort("id", "content", "kind")
        text = pl.concat_str(
            pl.lit("["), _quoted(pl.col("id")), pl.lit(","), _quoted(pl.col("content")),
            pl.lit(","), _quoted(pl.col("kind")), pl.lit("]"),
        )  # fmt: skip
        hashed = hashlib.sha256(b"[[")
        for begin in range(0, ordered.height, HASHED_AT_ONCE):
            part = ordered[begin : begin + HASHED_AT_ONCE].select(text.str.join(",")).item()
            hashed.update((("," if begin else "") + part).encode())
        hashed.update(b"]]")
        return hashed.hexdigest()

    def contents(self) -> pl.Series:
        """The hash of what each item asks, from its columns (see `items.content_of`)."""
        slow = self.frame["slot"].struct.field("caption").is_not_null().to_numpy()
        for column in ("images", "captions"):
            lists = self.frame[column]
            # Sorting equal texts is ambiguous; the slow way decides which comes first.
            slow = slow | (lists.list.n_unique() != lists.list.len()).to_numpy()
        texts = pl.Series([None], dtype=pl.String).new_from_index(0, len(self))
        for pattern in self.patterns:
            rows = pattern.rows[~slow[pattern.rows]]
            if len(rows):
                texts[rows] = _asked_json(self.frame[rows], pattern)
        hashed = [text and hashlib.sha256(text.encode()).hexdigest() for text in texts]
        for place in np.flatnonzero(slow).tolist():
            hashed[place] = content_of(self[place])
        return pl.Series("content", hashed, pl.String)

    def connected_groups(self) -> pl.Series:
        """The name of each item's group, from its images and captions."""
        return connected_groups(self.frame)

    def grouped(self) -> ItemTable:
        """The same items, with their groups computed."""
        return ItemTable(self.frame.with_columns(self.connected_groups()), self._source)

    def taking_turns(self) -> ItemTable:
        """The same items, regrouped if some take turns at one set of captions.

        Files of version 0.1 have groups by shared images only. Other groups stay as written, so
        that `validate` can check them.
        """
        return self.grouped() if len(turns(self.frame)[0]) else self

    def faulty(self) -> list[tuple[int, BadInput]]:
        """Invalid items, with the reason (see `items.check_item`).

        Columns show which items may be invalid; only these are checked one by one.
        """
        found = []
        for place in np.flatnonzero(self._suspects()).tolist():
            try:
                check_item(self[place])
            except BadInput as problem:
                found.append((place, problem))
        return found

    def unlisted(self, images: pl.Series) -> dict[int, str]:
        """The rows of items with an image that is not listed, and the first such image of each."""
        distinct = self.frame["images"].explode().unique()
        missing = distinct.filter(~distinct.is_in(images.implode())).to_list()
        if not missing:
            return {}
        odd = pl.col("images").list.eval(pl.element().filter(pl.element().is_in(missing)))
        rows = self.frame.select(odd.list.first().alias("name")).with_row_index()
        return dict(rows.filter(pl.col("name").is_not_null()).iter_rows())

    def _suspects(self) -> Bools:
        images, captions = self.shape
        suspect = (images == 0) | (captions == 0)
        owner = np.repeat(np.arange(len(self)), np.maximum(captions, 1))
        blank = self.frame["captions"].explode().str.contains(r"^[\s\x1c-\x1f]*$").fill_null(True)
        suspect[owner[blank.to_numpy()]] = True
        cells, owner = _flat_cells(self.frame["true_cells"])
        image, caption = cells
        outside = (image < 0) | (caption < 0)
        outside |= (image >= images[owner]) | (caption >= captions[owner])
        suspect[owner[outside]] = True
        marked = self.frame.select(
            pl.col("original").is_not_null() | pl.col("slot").struct.field("caption").is_not_null()
        ).to_series()
        # Originals and slots are checked on columns by `_odd_marks`.
        return np.asarray(suspect | (marked.to_numpy() & self._odd_marks()))

    def _odd_marks(self) -> Bools:
        """Which items have an original pair that is not true, or a slot that does not fit."""
        slot = pl.col("slot").struct
        caption = pl.col("captions").list.get(slot.field("caption"), null_on_oob=True)
        length = slot.field("end") - slot.field("start")
        stands = caption.str.slice(slot.field("start"), length)
        candidates = slot.field("candidates")
        fits = (
            (slot.field("caption") >= 0)
            & (slot.field("start") >= 0)
            & (length >= 0)
            & (stands.str.to_lowercase() == slot.field("foil").str.to_lowercase())
            & ((candidates.list.len() == 0) | candidates.list.contains(slot.field("target")))
        )
        slot_is_good = slot.field("caption").is_null() | fits.fill_null(False)
        good = self.frame.select(slot_is_good).to_series().to_numpy().copy()
        for pattern in self.patterns:
            if pattern.original is not None and pattern.original not in pattern.true:
                good[pattern.rows] = False
        return np.asarray(~good)

    def check_form(self) -> None:
        """Raise unless every row can be read as an item.

        Types and missing values of the columns have been checked before (see `parquet.typed`).
        """
        slot = pl.col("slot").struct
        notes = pl.col("origin").struct.field("notes")
        original = pl.col("original")
        parts = [slot.field(name).is_not_null() for name in ("start", "end", "words", "candidates")]
        suspects = self.frame.select(
            (
                (original.is_not_null() & (original.list.len() < 2))
                | (slot.field("caption").is_not_null() & ~pl.all_horizontal(parts))
                | ~((notes == "{}") | notes.str.contains(PLAIN_NOTES))
            ).fill_null(True)
        ).to_series()
        odd = suspects.to_numpy()
        cells = self.frame["true_cells"]
        if not (cells.explode().list.len().drop_nulls() == 2).all():
            odd = odd | cells.list.eval(pl.element().list.len() != 2).list.any().to_numpy()
        for place in np.flatnonzero(odd).tolist():
            self[place]


class _ById(Mapping[str, Item]):
    """Looks up items in a table by id."""

    def __init__(self, table: ItemTable) -> None:
        self._table = table

    def __getitem__(self, item_id: str) -> Item:
        return self._table[self._table.place[item_id]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.place)

    def __len__(self) -> int:
        return len(self._table.place)


def _quoted(text: pl.Expr) -> pl.Expr:
    """Texts as JSON strings."""
    escaped = text.str.replace_many(list(ESCAPES), list(ESCAPES.values()))
    return pl.concat_str(pl.lit('"'), escaped, pl.lit('"'))


def _asked_json(frame: pl.DataFrame, pattern: Pattern) -> pl.Series:
    """The text that `content_of` hashes, for items of one pattern without a slot."""
    sides = [
        _sorted_side(frame[name], size)
        for name, size in (("images", pattern.images), ("captions", pattern.captions))
    ]
    orders = pl.DataFrame({"images": sides[0][1], "captions": sides[1][1]})
    distinct = orders.unique()
    written = [_cells_json(pattern.true, *row) for row in distinct.iter_rows()]
    cells = orders.join(
        distinct.with_columns(cells=pl.Series(written, dtype=pl.String)),
        on=["images", "captions"], how="left", maintain_order="left",
    )["cells"]  # fmt: skip
    return pl.select(
        pl.concat_str(
            pl.lit("[["), sides[0][0], pl.lit("],["), sides[1][0], pl.lit("],"), cells,
            pl.lit(",null,[]]"),
        )
    ).to_series()  # fmt: skip


def _sorted_side(lists: pl.Series, size: int) -> tuple[pl.Series, pl.Series]:
    """The texts of each list, sorted, quoted and joined; and the order that sorts them."""
    if size > 2:
        frame = lists.alias("texts").to_frame()
        order = pl.element().arg_sort().cast(pl.String)
        both = frame.select(
            texts=pl.col("texts").list.eval(_quoted(pl.element().sort())).list.join(","),
            order=pl.col("texts").list.eval(order).list.join(","),
        )
        return both["texts"], both["order"]
    # One or two texts are by far the most common, and much faster without lists.
    columns = [lists.list.get(k).alias(str(k)) for k in range(size)]
    frame = pl.DataFrame(columns)
    plain = not any(column.str.contains(r'["\\\x00-\x1f]').any() for column in columns)
    quote = (lambda text: pl.concat_str(pl.lit('"'), text, pl.lit('"'))) if plain else _quoted
    if size == 1:
        return frame.select(quote(pl.col("0"))).to_series(), pl.repeat("0", len(lists), eager=True)
    low, high = pl.min_horizontal("0", "1"), pl.max_horizontal("0", "1")
    both = frame.select(
        texts=pl.concat_str(quote(low), pl.lit(","), quote(high)),
        order=pl.when(pl.col("0") <= pl.col("1")).then(pl.lit("0,1")).otherwise(pl.lit("1,0")),
    )
    return both["texts"], both["order"]


def _cells_json(true: frozenset[Cell], images: str, captions: str) -> str:
    rows, columns = (list(map(int, order.split(","))) for order in (images, captions))
    return json.dumps([[int((i, j) in true) for j in columns] for i in rows], separators=(",", ":"))


def _flat_cells(true: pl.Series) -> tuple[tuple[Ints, Ints], Ints]:
    """All true cells of all items: images and captions, and the item of each."""
    sizes = true.list.len().to_numpy()
    owner = np.repeat(np.arange(len(true)), sizes)
    flat = true.filter(pl.Series(sizes > 0)).explode().cast(pl.List(pl.Int64))
    if not len(flat):
        none = np.zeros(0, np.int64)
        return (none, none), owner
    return (flat.list.get(0).to_numpy(), flat.list.get(1).to_numpy()), owner


def _truth_keys(true: pl.Series, cells: Ints, captions: Ints) -> pl.Series:
    """A key of each item's true cells: equal keys mean equal cells, within one size of grid."""
    if len(cells) and int(cells.max()) > MASK_BITS:
        return pl.Series([str(sorted(map(tuple, one))) for one in true.to_list()])
    (image, caption), owner = _flat_cells(true)
    inside = (image >= 0) & (caption >= 0) & (caption < captions[owner])
    place = np.where(inside, image * captions[owner] + caption, MASK_BITS)
    mask = np.zeros(len(true), np.uint64)
    np.bitwise_or.at(mask, owner, np.uint64(1) << place.astype(np.uint64))
    return pl.Series(mask)
