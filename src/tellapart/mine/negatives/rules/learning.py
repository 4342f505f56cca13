"""Reading a corpus image by image, and learning the word lists from it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import polars as pl

from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reading import read_corpus
from tellapart.mine.categories import categories_for
from tellapart.mine.negatives.making import Task
from tellapart.mine.negatives.phrases import Reading, read
from tellapart.mine.negatives.rules.counting import Counts, count_image
from tellapart.mine.negatives.rules.lists import Lists
from tellapart.score.cache import default_folder
from tellapart.text.parsing.parse import Parse, Parses, parse
from tellapart.text.parsing.parsed import CODED, PLACES

Captions = list[tuple[int, Parse, Reading]]
"""The captions of an image: each one's row, parse and reading."""


@contextmanager
def without_collecting() -> Iterator[None]:
    """Nothing here makes cycles, and looking for them among a corpus's words takes its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def lists_for(task: Task) -> Lists:
    """The word lists of the task's own captions, or of the corpus that its options name."""
    own = task.options
    if own.lists_from is None:
        return learn(task.corpus, task.parses)
    corpus = _knowing_objects(read_corpus(own.lists_from), task.corpus)
    texts = corpus.captions["text"].to_list()
    cache = own.cache or default_folder()
    return learn(corpus, parse(texts, model=own.parser, cache=cache, progress=task.progress))


def _knowing_objects(corpus: Corpus, other: Corpus) -> Corpus:
    """A corpus with the objects that another one lists for the same images."""
    known = other.images.select("id", known="objects")
    images = corpus.images.join(known, on="id", how="left", maintain_order="left")
    images = images.with_columns(pl.coalesce("objects", "known").alias("objects")).drop("known")
    return replace(corpus, images=images)


def learn(corpus: Corpus, parses: Parses) -> Lists:
    """The word lists of a corpus."""
    counts = Counts()
    with without_collecting():
        for image, captions in read_images(corpus, parses):
            count_image(counts, [caption[1:] for caption in captions], corpus.objects(image))
    sorts = {
        word: name.supercategory
        for name in categories_for(corpus).names
        for word in (name.word, name.category)
    }
    return Lists.of(corpus.name, counts, sorts)


def read_images(corpus: Corpus, parses: Parses) -> Iterator[tuple[str, Captions]]:
    """Each image with its captions read, in the order of the images' first captions."""
    rows: dict[str, list[int]] = {}
    for row, image in enumerate(corpus.captions["image"]):
        rows.setdefault(image, []).append(row)
    ordered = iter(_in_order(parses, [row for several in rows.values() for row in several]))
    for image, several in rows.items():
        yield (
            image,
            [(row, parse, read(parse)) for row, parse in zip(several, ordered, strict=False)],
        )


def _in_order(parses: Parses, rows: list[int]) -> Parses:
    """The parses of some texts in another order: views are made fastest one after the other."""
    columns, order = parses.columns, np.array(rows, np.int64)
    lengths = np.diff(columns.starts)[order]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    moved = np.arange(starts[-1]) + np.repeat(columns.starts[order] - starts[:-1], lengths)
    named = {name: getattr(columns, name)[moved] for name in (*PLACES, *CODED)}
    return Parses([parses.texts[row] for row in rows], replace(columns, starts=starts, **named))
