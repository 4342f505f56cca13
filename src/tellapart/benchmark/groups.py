"""Groups of dependent items: statistics resample whole groups, folds never split them.

Items that share an image are not independent, nor are items linked by a chain of others (Winoground
pairs, BISON's neighbours). Two crops of one picture (`7#crop=0,0,64,48` and another) share it.
Items that take turns at one set of captions are linked, too (see `turns`), and so are twins, which
a builder chose as each other's opposite (see `twins`).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tellapart.types import Ints

TWINS = "twins"
"""The note in the origin of items that were chosen together; it names their pair."""


def connected_groups(frame: pl.DataFrame) -> pl.Series:
    """The name of each item's group: the smallest image id it is connected to.

    `frame` has the columns of items (`ITEM_COLUMNS`).
    """
    sizes = frame["images"].list.len().cast(pl.Int64).to_numpy()
    names = frame["images"].explode().str.split("#crop=").list.get(0)
    distinct, code = codes(names)
    starts = np.cumsum(sizes) - sizes
    first = code[starts]
    # Neighbours within an item are linked; items with one image link nothing.
    inner = np.ones(len(code), bool)
    inner[starts] = False
    right = np.flatnonzero(inner)
    links = (turns(frame), twins(frame))
    label = components(
        np.concatenate([code[right - 1], *(first[one] for one, _ in links)]),
        np.concatenate([code[right], *(first[other] for _, other in links)]),
        len(distinct),
    )
    return pl.Series("group", pl.Series(distinct, dtype=pl.String)[label[first]])


def turns(frame: pl.DataFrame) -> tuple[Ints, Ints]:
    """Pairs of items with the same captions but different true ones; enough pairs to link them all.

    Fair sets have such items. A model that answers by the text alone gives all of them the same
    answer, right for one and wrong for the others, and a guesser fitted on one item of a set learns
    what is false in the next. Mere repetition links nothing, be it a single caption (BISON) or a
    pair with the same truth (FOIL's "riding a wave on top of a kite"): that is one question about
    several independently drawn images, and a sentence that many people wrote would otherwise put
    all its images into one group.
    """
    captions = frame["captions"]
    sizes = captions.list.len().cast(pl.Int64).to_numpy()
    several = np.flatnonzero(sizes > 1)
    if not len(several):
        return several, several
    # Sums of hashes find candidates with the same captions; comparing the texts decides.
    hashes = captions[several].explode().hash().to_numpy()
    begins = np.cumsum(sizes[several]) - sizes[several]
    may = several[pl.Series(np.add.reduceat(hashes, begins)).is_duplicated().to_numpy()]
    if not len(may):
        return may, may
    caption_of_cell = pl.element().list.get(1, null_on_oob=True)
    true = pl.col("true_cells").list.eval(caption_of_cell)
    alike = frame[may].select(
        texts=pl.col("captions").list.sort(),
        truth=pl.col("captions").list.gather(true, null_on_oob=True).list.sort().list.join("\n"),
        place=pl.Series(may),
    )
    linked = alike.filter(pl.col("truth").n_unique().over("texts") > 1)
    first = linked.select(pl.col("place").first().over("texts")).to_series()
    return first.to_numpy(), linked["place"].to_numpy()


def twins(frame: pl.DataFrame) -> tuple[Ints, Ints]:
    """Pairs of items with one note `twins`: what is true in one of them is false in the other.

    Builders keep fair items in such pairs. Apart, one would teach the opposite of what the other
    asks, and who learns from texts alone would be below chance where there is nothing to learn.
    """
    linked = named_twins(frame).select("place", first=pl.col("place").first().over("pair"))
    return linked["first"].to_numpy(), linked["place"].to_numpy()


def named_twins(frame: pl.DataFrame) -> pl.DataFrame:
    """The `place` of each item with the note `twins`, and the name of its `pair`."""
    notes = frame["origin"].struct.field("notes")
    places = notes.str.contains(f'"{TWINS}"', literal=True).fill_null(False).arg_true()
    named = {"place": places, "pair": notes[places].str.json_path_match(f"$.{TWINS}")}
    return pl.DataFrame(named).drop_nulls()


def without_twin(frame: pl.DataFrame) -> Ints:
    """The places of items whose twin is not there: text alone may say something about them."""
    lonely = named_twins(frame).filter(pl.len().over("pair") < 2)
    return lonely["place"].to_numpy()


def codes(names: pl.Series) -> tuple[tuple[str, ...], Ints]:
    """Distinct names in alphabetical order, and the index of each entry's name."""
    distinct = names.unique().sort()
    numbers = names.replace_strict(
        distinct, pl.int_range(len(distinct), eager=True), return_dtype=pl.Int64
    )
    return tuple(distinct), numbers.to_numpy()


def components(one: Ints, other: Ints, number: int) -> Ints:
    """The smallest number each number is connected to, by links between pairs of numbers.

    Hooks the larger root of each link under the smaller one, then shortcuts every number to its
    root, until nothing changes (Shiloach and Vishkin 1982).

    >>> components(np.array([4, 1]), np.array([2, 4]), 5).tolist()
    [0, 1, 1, 3, 1]
    """
    root = np.arange(number)
    while True:
        low, high = np.sort((root[one], root[other]), axis=0)
        if (low == high).all():
            return root
        np.minimum.at(root, high, low)
        while (root[root] != root).any():
            root = root[root]
