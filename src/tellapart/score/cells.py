"""Cells: which (image, text) pairs a scorer must see to answer the questions of some items.

A cell of the grid has the edit "": the unchanged caption. For FOIL's T2 and T3 the foil caption is
edited, and only when it is scored: "-3" leaves out the slot's content word 3 (counted from 0),
"=dog" puts a candidate into the slot. Answers by a model's own procedure have further edits: "!" is
its judgement of the caption, "~3" is content word 3 replaced by the model's preferred word, "?dog"
is how well a candidate fits the slot. Only this module knows the notation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tellapart.benchmark.table import ItemTable
from tellapart.items import Slot
from tellapart.questions import Ask
from tellapart.score.ways import AskedText, OwnWay
from tellapart.store.rows import Keys
from tellapart.text.english import drop, plural, put
from tellapart.types import Ints

GRID_ASKS = frozenset({Ask.CAPTION, Ask.IMAGE, Ask.JUDGE})
WORD_ASKS = frozenset({Ask.NOUN, Ask.WORD})
HASHED_AT_ONCE = 65_536
"""How many edited captions are built at a time for hashing."""


JUDGED = "!"
"""The edit of a model's own judgement."""
MARKS = {False: {Ask.MEND: "="}, True: {Ask.NOUN: "~", Ask.WORD: "~", Ask.MEND: "?"}}
"""The first character of edits, by a model's own procedure or not; "-" leaves out a word."""
OWN_WAYS = {Ask.NOUN: OwnWay.REPLACE, Ask.WORD: OwnWay.REPLACE, Ask.MEND: OwnWay.MEND}
"""The procedure of its own by which a model may answer a word question."""
NO_WAYS: frozenset[OwnWay] = frozenset()


def edit_expr(ask: Ask, option: pl.Expr, *, own: bool = False) -> pl.Expr:
    """The edit that an option of a word question stands for."""
    mark = MARKS[own].get(ask, "-")
    return pl.concat_str(pl.lit(mark), option.cast(pl.String))


def edited(caption: str, slot: Slot | None, edit: str) -> str:
    """A caption after an edit.

    >>> slot = Slot(0, 2, 5, "dog", "cat", candidates=("dog", "owl"))
    >>> edited("A cat sleeps.", slot, "=owl")
    'An owl sleeps.'
    """
    if edit == JUDGED:
        return AskedText(OwnWay.JUDGE, caption)
    if not edit:
        return caption
    assert slot is not None
    if edit.startswith("="):
        put_in = plural(edit[1:]) if slot.plural else edit[1:]
        return put(caption, slot.start, slot.end, put_in)
    if edit.startswith("-"):
        left_out = slot.words[int(edit[1:])]
        return drop(caption, left_out.start, left_out.end)
    if edit.startswith("~"):
        word = slot.words[int(edit[1:])]
        return AskedText(OwnWay.REPLACE, caption, (word.start, word.end))
    return AskedText(OwnWay.MEND, caption, (slot.start, slot.end), edit[1:])


def word_options(items: ItemTable, ask: Ask, *, own: bool = False) -> pl.DataFrame:
    """Every option of every T2 or T3 question: unit, item, image, caption, place, edit, is_right.

    A foil caption is asked about once for each image that it is false of. `unit` numbers the
    questions, `item` is the position of the item, `place` that of the option in its question. A
    question without a right or a wrong option is not asked. With `own`, the edits are those of a
    model's own procedure.
    """
    frame = items.frame.with_row_index("item")
    slots = frame.filter(pl.col("slot").struct.field("caption").is_not_null()).select(
        pl.col("item").cast(pl.Int32),
        pl.int_ranges(pl.col("images").list.len().cast(pl.Int32), dtype=pl.Int32).alias("image"),
        pl.col("true_cells").alias("true"),
        pl.col("slot").struct.unnest(),
    )
    # A caption that is true of an image has no foil there.
    asked = slots.explode("image").filter(~_is_true_cell()).with_row_index("unit")
    if ask is Ask.MEND:
        options = asked.select(
            "unit", "item", "image", "caption", "target", option="candidates"
        ).explode("option", empty_as_null=False)
        options = options.with_columns(is_right=pl.col("option") == pl.col("target"))
    else:
        options = asked.select(
            "unit", "item", "image", "caption", "words",
            slot_start="start", option=pl.int_ranges(pl.col("words").list.len()),
        ).explode("words", "option", empty_as_null=False)  # fmt: skip
        word = pl.col("words").struct
        if ask is Ask.NOUN:
            options = options.filter(word.field("noun"))
        options = options.with_columns(is_right=word.field("start") == pl.col("slot_start"))
    rights = pl.col("is_right").sum().over("unit")
    return options.filter((rights > 0) & (rights < pl.len().over("unit"))).select(
        (pl.col("unit").rle_id()).cast(pl.Int64).alias("unit"),
        "item",
        "image",
        "caption",
        pl.int_range(pl.len(), dtype=pl.Int32).over("unit").alias("place"),
        edit_expr(ask, pl.col("option"), own=own).alias("edit"),
        "is_right",
    )


def _is_true_cell() -> pl.Expr:
    """Whether the cell given by the columns `image` and `caption` is in `true`."""
    cells = pl.col("true").list.eval(
        pl.element().list.get(0).cast(pl.Int64) * (1 << 32) + pl.element().list.get(1)
    )
    return cells.list.contains(pl.col("image").cast(pl.Int64) * (1 << 32) + pl.col("caption"))


@dataclass(frozen=True, eq=False)
class CellTable:
    """All cells that the questions of some items need, item by item in a fixed order.

    One entry per cell: `item` is the position of its item, `image` and `caption` are positions in
    the item's grid, `edit` is the change to the caption. If any choice is asked, the whole grid is
    included, image by image, so that every measure that reads cells can be computed later; edits
    follow it. `begins` is the first cell of each item, with one more entry at the end.
    """

    items: ItemTable
    asks: frozenset[Ask]
    item: Ints
    image: Ints
    caption: Ints
    edit: pl.Series
    begins: Ints

    @classmethod
    def of(
        cls, items: ItemTable, asks: frozenset[Ask], ways: frozenset[OwnWay] = NO_WAYS
    ) -> CellTable:
        """The cells of some items, with those of a model's own procedures."""
        parts = [_grid_cells(items)] if asks & GRID_ASKS else []
        if OwnWay.JUDGE in ways and Ask.JUDGE in asks:
            parts.append(_grid_cells(items).with_columns(edit=pl.lit(JUDGED)))
        # Nouns are content words, so they need no further cells.
        needed = asks - {Ask.NOUN} if Ask.WORD in asks else asks
        for ask in (Ask.NOUN, Ask.WORD, Ask.MEND):
            if ask in needed:
                parts.append(word_options(items, ask).select(list(_COLUMNS)))
                if OWN_WAYS[ask] in ways:
                    parts.append(word_options(items, ask, own=True).select(list(_COLUMNS)))
        cells = pl.concat(parts) if parts else pl.DataFrame(schema=_COLUMNS)
        if len(parts) > 1:
            cells = cells.sort("item", maintain_order=True)
        item = cells["item"].to_numpy().astype(np.int64)
        counts = np.bincount(item, minlength=len(items))
        return cls(
            items,
            asks,
            item,
            cells["image"].to_numpy().astype(np.int64),
            cells["caption"].to_numpy().astype(np.int64),
            cells["edit"],
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        )

    def __len__(self) -> int:
        return len(self.item)

    @cached_property
    def _captions(self) -> tuple[pl.Series, Ints]:
        """All captions in one series, and where each item's captions begin."""
        sizes = self.items.shape[1]
        begins = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        return self.items.frame["captions"].explode(), begins

    def image_places(self) -> Ints:
        """The position of each cell's image among the images of all items, concatenated."""
        sizes = self.items.shape[0]
        places: Ints = (np.cumsum(sizes) - sizes)[self.item] + self.image
        return places

    def image_ids(self) -> pl.Series:
        """The id of each cell's image."""
        return self.items.frame["images"].explode()[self.image_places()]

    def texts(self, cells: Ints) -> list[str]:
        """The texts of some cells; faster if the cells of an item are adjacent."""
        captions, begins = self._captions
        plain = captions[begins[self.item[cells]] + self.caption[cells]].to_list()
        edits = self.edit[cells]
        item: int | None = None
        slot: Slot | None = None
        for place in (edits != "").arg_true():
            owner = int(self.item[cells[place]])
            if owner != item:  # adjacent cells share an item, so its slot is built once
                item, slot = owner, self.items[owner].slot
            plain[place] = edited(plain[place], slot, edits[place])
        return plain

    def text_keys(self) -> Keys:
        """The hash of each cell's text; unchanged captions are hashed once."""
        captions, begins = self._captions
        distinct = captions.unique(maintain_order=True)
        numbers = pl.int_range(len(distinct), eager=True)
        number = captions.replace_strict(distinct, numbers, return_dtype=pl.Int64).to_numpy()
        keys: Keys = text_keys(distinct)[number[begins[self.item] + self.caption]]
        changed = (self.edit != "").arg_true().to_numpy()
        for begin in range(0, len(changed), HASHED_AT_ONCE):
            part = changed[begin : begin + HASHED_AT_ONCE]
            keys[part] = text_keys(self.texts(part))
        return keys

    def frame(self) -> pl.DataFrame:
        """The cells in a run's format, without scores: item (its id), image, caption, edit."""
        return pl.DataFrame(
            {
                "item": self.items.ids[self.item],
                "image": pl.Series(self.image, dtype=pl.Int32),
                "caption": pl.Series(self.caption, dtype=pl.Int32),
                "edit": self.edit,
            }
        )


_COLUMNS = {"item": pl.Int32, "image": pl.Int32, "caption": pl.Int32, "edit": pl.String}


def _grid_cells(items: ItemTable) -> pl.DataFrame:
    images, captions = items.shape
    sizes = images * captions
    item = np.repeat(np.arange(len(items)), sizes)
    within = np.arange(len(item)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    image, caption = np.divmod(within, captions[item])
    places = {"item": item, "image": image, "caption": caption}
    return pl.DataFrame(places).cast(pl.Int32).with_columns(edit=pl.lit(""))


def text_hash(text: str) -> bytes:
    """The key of a text: 16 bytes that depend on the text alone."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def text_keys(texts: Sequence[str] | pl.Series) -> Keys:
    """The keys of some texts."""
    return np.frombuffer(bytearray().join(map(text_hash, texts)), np.uint64).reshape(-1, 2)
