"""Cells: which (image, text) pairs a scorer must see to answer the questions of some items.

A cell of the grid has the edit "": the caption as it stands. For FOIL's T2 and T3 the foil caption
is edited, and only when it is scored: "-3" leaves out the slot's content word 3 (counted from 0),
"=dog" puts a candidate into the slot. What a model answers in a way of its own has edits of its
own: "!" its judgement of the caption, "~3" content word 3 replaced by what the model would rather
have, "?dog" how well a candidate would stand in the slot. This is the only place that knows this
notation.
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
"""How many edited captions are written out at a time to be hashed."""


JUDGED = "!"
"""The edit of a model's own judgement."""
MARKS = {False: {Ask.MEND: "="}, True: {Ask.NOUN: "~", Ask.WORD: "~", Ask.MEND: "?"}}
"""What edits begin with, in a model's own way or not; words are left out by "-"."""
OWN_WAYS = {Ask.NOUN: OwnWay.REPLACE, Ask.WORD: OwnWay.REPLACE, Ask.MEND: OwnWay.MEND}
"""The way of its own in which a model may answer a word question."""
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
    questions, `item` is the place of the item, `place` that of the option within its question. A
    question without a right or without a wrong option is not asked. `own`: the edits are those of a
    model's own way.
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
    """Whether the cell of the columns `image` and `caption` is among the cells in `true`."""
    cells = pl.col("true").list.eval(
        pl.element().list.get(0).cast(pl.Int64) * (1 << 32) + pl.element().list.get(1)
    )
    return cells.list.contains(pl.col("image").cast(pl.Int64) * (1 << 32) + pl.col("caption"))


@dataclass(frozen=True, eq=False)
class CellTable:
    """All cells that the questions of some items need, item by item in a fixed order.

    One entry a cell: `item` is the place of its item, `image` and `caption` are places in the
    item's grid, `edit` is what is done to the caption. Where any choice is asked the grid is
    there whole, image by image, so that every measure that reads cells can be had later; edits
    follow it. `begins` is the first cell of each item, with one more at the end.
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
        """The cells of some items, with those of a model's own ways."""
        parts = [_grid_cells(items)] if asks & GRID_ASKS else []
        if OwnWay.JUDGE in ways and Ask.JUDGE in asks:
            parts.append(_grid_cells(items).with_columns(edit=pl.lit(JUDGED)))
        # The nouns are among the content words: their cells are the same.
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
        """All captions one after another, and where each item's begin."""
        sizes = self.items.shape[1]
        begins = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        return self.items.frame["captions"].explode(), begins

    def image_places(self) -> Ints:
        """The place of each cell's image among the images of all items, one after another."""
        sizes = self.items.shape[0]
        places: Ints = (np.cumsum(sizes) - sizes)[self.item] + self.image
        return places

    def image_ids(self) -> pl.Series:
        """The id of each cell's image."""
        return self.items.frame["images"].explode()[self.image_places()]

    def texts(self, cells: Ints) -> list[str]:
        """The texts of some cells; those of one item are best asked for together."""
        captions, begins = self._captions
        plain = captions[begins[self.item[cells]] + self.caption[cells]].to_list()
        edits = self.edit[cells]
        item: int | None = None
        slot: Slot | None = None
        for place in (edits != "").arg_true():
            owner = int(self.item[cells[place]])
            if owner != item:  # neighbours share an item: its slot is built once
                item, slot = owner, self.items[owner].slot
            plain[place] = edited(plain[place], slot, edits[place])
        return plain

    def text_keys(self) -> Keys:
        """The hash of each cell's text; captions that stand as they are are hashed once."""
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
        """The cells as a run keeps them, without scores: item (its id), image, caption, edit."""
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
