"""MCIC: an image and five captions, four of them cunning decoys from other images.

Ding et al. 2016, section 3.2, asks for the nearest captions of other images. Taken one by one
that gives the target away: it is the one option that all others are near to. The plain way here is
fair: five images whose captions are near each other share one set of options, and the set is
asked once for each of the five images. Whatever an answer is that does not look at the image, it
is right exactly once in five.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.items import Item, Origin
from tellapart.mine.building import BuildOptions, Verifier, finish
from tellapart.mine.mcic.statistics import central_share
from tellapart.mine.neighbours.nearest import Neighbours
from tellapart.text.tfidf import tfidf
from tellapart.text.tokens import tokens

OPTIONS = 5
NEAR = 2_000
"""How many of the nearest captions a set is made from: those far away are no decoys."""


@dataclass(frozen=True)
class Captions:
    """One caption of each image, chosen at random, and which of them can stand together."""

    corpus: Corpus
    verifier: Verifier
    seed: int

    @cached_property
    def chosen(self) -> list[tuple[str, str, str]]:
        """(caption id, image, text), one an image, in an order that the seed gives."""
        rows = self.corpus.captions.rows_by_key("image", named=False)
        picked = []
        for image, captions in rows.items():
            rng = seeds.rng(self.seed, "mcic", image)
            caption_id, text = captions[int(rng.integers(len(captions)))]
            if self.verifier.may_fit(image, text):
                picked.append((caption_id, image, text))
        order = seeds.rng(self.seed, "mcic", "order of sets").permutation(len(picked))
        return [picked[int(k)] for k in order]

    def go_together(self, a: int, b: int) -> bool:
        """Two captions with other words, each false of the other's image as far as is known."""
        (_, image_a, text_a), (_, image_b, text_b) = self.chosen[a], self.chosen[b]
        return (
            sorted(tokens(text_a)) != sorted(tokens(text_b))
            and self.verifier.may_be_false(image_a, text_b)
            and self.verifier.may_be_false(image_b, text_a)
        )


def build(corpus: Corpus, out: Path, options: BuildOptions) -> Benchmark:
    """Sets of five near captions, each asked of the five images that they belong to."""
    captions = Captions(corpus, Verifier(corpus, options.verifier), options.seed)
    items = [item for one in _sets(captions, options) for item in _items(captions, one)]
    items = items[: options.items]
    how = {
        "neighbours": "cosine of tf-idf, exact",
        "options": "sets of five near captions of five images, asked once for each image",
        "central": central(items),
    }
    return finish("mcic", corpus, items, out, options, ("accuracy",), how)


def central(items: list[Item]) -> float:
    """How often the most central option is the true one: 1/5 where sets are whole."""
    texts = [text for item in items for text in item.captions]
    places = np.arange(len(texts)).reshape(-1, OPTIONS)
    truth = np.array([j for item in items for _, j in item.true], dtype=np.intp)
    first = np.array([np.roll(row, -j) for row, j in zip(places, truth, strict=True)])
    return central_share(texts, first.reshape(-1, OPTIONS))


def _sets(captions: Captions, options: BuildOptions) -> Iterator[list[int]]:
    """Greedily: a caption that is still free with the four nearest free ones that fit."""
    free = set(range(len(captions.chosen)))
    vectors = tfidf([text for _, _, text in captions.chosen])
    blocks = Neighbours(vectors).nearest(min(NEAR, len(captions.chosen) - 1))
    neighbours = (row for block in blocks for row in block.indices)
    for index, near in enumerate(neighbours):
        options.progress(index + 1, len(captions.chosen))
        if index not in free:
            continue
        members = [index]
        for k in map(int, near):
            if k in free and all(captions.go_together(k, member) for member in members):
                members.append(k)
            if len(members) == OPTIONS:
                free -= set(members)
                yield members
                break


def _items(captions: Captions, members: list[int]) -> Iterator[Item]:
    texts = [captions.chosen[k][2] for k in members]
    for place, k in enumerate(members):
        caption_id, image, _ = captions.chosen[k]
        rng = seeds.rng(captions.seed, "mcic", "order", caption_id)
        order = [int(position) for position in rng.permutation(OPTIONS)]
        true = (0, order.index(place))
        yield Item.built(
            "mcic",
            images=(image,),
            captions=tuple(texts[position] for position in order),
            true=frozenset({true}),
            original=true,
            kind="mcic",
            origin=Origin("tellapart build mcic", captions.corpus.name, caption_id, captions.seed),
        )
