"""Choices as an attacker sees them: texts to choose among, and nothing of the picture.

A choice has two or more options, of which some are right. In a grid with several images the choice
is between the original caption and the others: which of them was made from which?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.benchmark.table import ItemTable, Pattern
from tellapart.corpus.coco import plain_id
from tellapart.types import Bools, Floats, Ints

FOLDS = 5
IMAGES, CAPTIONS = 0, 1
"""The side of a grid that is chosen among: the place of its index in a cell."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Options one after the other: option k is `texts[text[k]]` and belongs to `choice[k]`.

    Choices are numbered from 0 in the order of their options. Each has a row in `kind`, `group`
    (numbers from 0) and `item` (its place in the table), and in `images` (names, as `plain_id` has
    them): captions of these, and of all others of its group, say nothing about it.
    """

    texts: tuple[str, ...]
    text: Ints
    choice: Ints
    right: Bools
    kind: Ints
    kinds: tuple[str, ...]
    group: Ints
    item: Ints
    images: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.item)

    @cached_property
    def starts(self) -> Ints:
        """Where the options of each choice begin, and the end of the last."""
        sizes = np.bincount(self.choice, minlength=len(self))
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def sizes(self) -> Ints:
        """How many options each choice has."""
        return np.diff(self.starts)

    @cached_property
    def chance(self) -> Floats:
        """How often a guess is right, by choice."""
        shares: Floats = np.bincount(self.choice, self.right, len(self)) / self.sizes
        return shares

    def folds(self, seed: int, number: int = FOLDS) -> Ints:
        """The fold of each choice: groups are spread over folds at random, by the seed."""
        return group_folds(self.group, seed, number)

    def image_folds(self, fold: Ints) -> dict[str, int]:
        """The fold of each image, by that of its choices."""
        return {
            image: int(number)
            for number, images in zip(fold, self.images, strict=True)
            for image in images
        }

    def some(self, keep: Bools | Ints) -> Choices:
        """Some of the choices, in their order, with their own texts alone."""
        kept = np.flatnonzero(keep) if keep.dtype == bool else np.asarray(keep, np.int64)
        options = np.flatnonzero(np.isin(self.choice, kept))
        number = np.full(len(self), -1, np.int64)
        number[kept] = np.arange(len(kept))
        texts, text = np.unique(self.text[options], return_inverse=True)
        return Choices(
            tuple(self.texts[k] for k in texts.tolist()), text.astype(np.int64),
            number[self.choice[options]], self.right[options],
            self.kind[kept], self.kinds, self.group[kept], self.item[kept],
            tuple(self.images[k] for k in kept.tolist()),
        )  # fmt: skip

    def share_right(self, scores: Floats) -> Floats:
        """For each choice how right the best option is; options that tie share the answer."""
        best = np.maximum.reduceat(scores, self.starts[:-1])[self.choice]
        top = scores >= best
        ties = np.bincount(self.choice, top, len(self))
        shares: Floats = np.bincount(self.choice, top & self.right, len(self)) / ties
        return shares

    def margins(self, scores: Floats) -> Floats:
        """For each choice how far the best right option is ahead of the best wrong one."""
        low = np.full(len(scores), -np.inf)
        right = np.maximum.reduceat(np.where(self.right, scores, low), self.starts[:-1])
        wrong = np.maximum.reduceat(np.where(self.right, low, scores), self.starts[:-1])
        ahead: Floats = right - wrong
        return ahead


def group_folds(group: Ints, seed: int, number: int = FOLDS) -> Ints:
    """The fold of each row: groups stay whole and are spread over the folds by the seed."""
    groups = int(group.max(initial=-1)) + 1
    drawn = seeds.rng(seed, "attack", "folds").permutation(groups)
    fold: Ints = (drawn % number)[group]
    return fold


def caption_choices(items: ItemTable) -> Choices:
    """The choices among captions of some items, as their grids ask them."""
    return _choices(items, CAPTIONS)


def image_choices(items: ItemTable) -> Choices:
    """The choices among images of some items; their texts are the images' ids."""
    return _choices(items, IMAGES)


def _choices(items: ItemTable, side: int) -> Choices:
    tables: list[tuple[Ints, Ints, Ints, Bools]] = []
    begins = np.cumsum(items.shape[side]) - items.shape[side]
    for pattern in items.patterns:
        right = right_options(pattern, side)
        if right:
            size = (pattern.images, pattern.captions)[side]
            rows, options = len(pattern.rows), np.arange(size)
            mark = np.isin(options, list(right))
            tables.append(
                (
                    np.repeat(pattern.rows, size),
                    np.tile(options, rows),
                    (begins[pattern.rows][:, None] + options).ravel(),
                    np.tile(mark, rows),
                )
            )
    if not tables:
        return NO_CHOICES
    item, place, flat, right_one = (np.concatenate(column) for column in zip(*tables, strict=True))
    order = np.lexsort((place, item))
    item, flat, right_one = item[order], flat[order], right_one[order]
    asked, choice = np.unique(item, return_inverse=True)
    texts = items.frame[("images", "captions")[side]].explode()[flat]
    distinct = texts.unique(maintain_order=True)
    text = texts.replace_strict(distinct, np.arange(len(distinct)), return_dtype=pl.Int64)
    images = items.frame["images"].to_list()
    return Choices(
        tuple(distinct), text.to_numpy(), choice.astype(np.int64), right_one,
        items.kinds[1][asked], items.kinds[0], items.groups[1][asked], asked,
        tuple(tuple(map(plain_id, images[k])) for k in asked.tolist()),
    )  # fmt: skip


def right_options(pattern: Pattern, side: int) -> frozenset[int]:
    """The options of a grid that an attacker is to find; none where all or none are right."""
    sizes = (pattern.images, pattern.captions)
    if sizes[1 - side] == 1:
        right = frozenset(cell[side] for cell in pattern.true)
    else:
        right = frozenset({pattern.original[side]}) if pattern.original else frozenset()
    return right if 0 < len(right) < sizes[side] else frozenset()


def paired_choices(
    pairs: Sequence[tuple[str, str]],
    kind: Sequence[str],
    images: Sequence[str],
    group: Sequence[str] = (),
) -> Choices:
    """Choices between two texts, the right one first, as builders have them before items."""
    flat = [text for pair in pairs for text in pair]
    numbers: dict[str, int] = {}
    text = np.array([numbers.setdefault(one, len(numbers)) for one in flat], np.int64)
    kinds, code = np.unique(np.array(kind, str), return_inverse=True)
    _, groups = np.unique(np.array(group or images, str), return_inverse=True)
    rows = len(pairs)
    return Choices(
        tuple(numbers), text, np.repeat(np.arange(rows), 2), np.tile([True, False], rows),
        code.astype(np.int64), tuple(kinds.tolist()), groups.astype(np.int64), np.arange(rows),
        tuple((plain_id(image),) for image in images),
    )  # fmt: skip


NO_CHOICES = Choices(
    (), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, np.int64), (),
    np.zeros(0, np.int64), np.zeros(0, np.int64), (),
)  # fmt: skip
