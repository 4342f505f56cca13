"""A few invented images with features and captions, for the tests of systems and of training."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl

from tellapart.benchmark.benchmark import Benchmark, Card
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.image_features.store import (
    HALF,
    INDEX_COLUMNS,
    REGIONS,
    WHOLE,
    FeatureCard,
    FeatureSpace,
    FeatureStore,
    load_store,
    write_store,
)
from tellapart.items import Grid, Item, Origin, Slot, Word

SPACE = FeatureSpace("pixels", "none", "", "boxes, else cells 2x2", 12, 12, 4)
THINGS = ("dog", "cat", "ball", "tree")
COLOURS = ("red", "blue", "green")


def captioned(root: Path, count: int = 24, name: str = "small", first: int = 0) -> Corpus:
    """Images that show a thing of a colour, with three captions each."""
    kinds = [(THINGS[k % 4], COLOURS[k // 4 % 3]) for k in range(first, first + count)]
    images = [{"id": f"{name}-{k}", "uri": f"{name}-{k}.png"} for k in range(count)]
    captions = [
        {"id": f"{name}-{k}-{n}", "image": f"{name}-{k}", "text": text}
        for k, (thing, colour) in enumerate(kinds)
        for n, text in enumerate(
            (
                f"a {colour} {thing}",
                f"The {thing} is {colour}.",
                f"there is a {colour} {thing} here",
            )
        )
    ]
    return make_corpus(name, root, images, captions)


def choices(corpus: Corpus, options: int = 3) -> Benchmark:
    """For each caption an item: its image, and captions of the images that come next."""
    items = []
    images = corpus.images["id"].to_list()
    own = corpus.texts_by_image
    for k, image in enumerate(images):
        others = [own[images[(k + n) % len(images)]] for n in range(1, options)]
        for n, text in enumerate(own[image]):
            order = list(np.roll(np.arange(options), k))
            grid = Grid.caption_choice(image, (text, *(one[n] for one in others)), order)
            items.append(Item.built("test", grid, kind="choice", origin=Origin("test")))
    card = Card(corpus.name)
    return Benchmark(card, corpus.root, items, {one: corpus.image(one) for one in images})


def foils(corpus: Corpus) -> Benchmark:
    """Each caption beside one with another thing: two in three times one that is never there."""
    items = []
    for image, texts in corpus.texts_by_image.items():
        for n, text in enumerate(texts):
            target = next(thing for thing in THINGS if thing in text)
            foil = THINGS[THINGS.index(target) - 1] if n == 0 else "bird"
            start, false = text.index(target), text.replace(target, foil)
            words = tuple(Word(m.start(), m.end(), m.group() == foil)
                          for m in re.finditer("[a-z]{3,}", false))  # fmt: skip
            slot = Slot(1, start, start + len(foil), target, foil, words=words,
                        candidates=(*THINGS, "bird"))  # fmt: skip
            grid = Grid.caption_choice(image, (text, false), (n % 2, 1 - n % 2), slot=slot)
            items.append(Item.built("test", grid, kind="thing", origin=Origin("test")))
    images = {one: corpus.image(one) for one in corpus.texts_by_image}
    card = Card(
        corpus.name, measures=("T1", "T1-correct", "T1-foil", "T2-nouns", "T2-content", "T3")
    )
    return Benchmark(card, corpus.root, items, images)


def features(corpus: Corpus, folder: Path, space: FeatureSpace = SPACE) -> FeatureStore:
    """Vectors that say what the captions say, with noise; images have 2 to 4 regions."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    meanings = rng.normal(size=(len(THINGS) + len(COLOURS), space.whole_width))
    whole, regions, rows, first = [], [], [], 0
    for k, image in enumerate(corpus.images["id"]):
        words = corpus.texts_by_image[image][0].split()
        seen = [meanings[THINGS.index(words[2])], meanings[len(THINGS) + COLOURS.index(words[1])]]
        noise = rng.normal(scale=0.3, size=(2 + k % 3, space.region_width))
        own = noise + np.resize(np.array(seen), noise.shape)
        whole.append(own.mean(axis=0))
        regions.append(own)
        rows.append((image, f"{k:064x}", k << 20, first, len(own), []))
        first += len(own)
    (folder / WHOLE).write_bytes(np.asarray(whole, HALF).tobytes())
    (folder / REGIONS).write_bytes(np.concatenate(regions).astype(HALF).tobytes())
    index = pl.DataFrame(rows, schema=INDEX_COLUMNS, orient="row")
    write_store(folder, FeatureCard(corpus.name, len(rows), first, space), index)
    return load_store(folder)
