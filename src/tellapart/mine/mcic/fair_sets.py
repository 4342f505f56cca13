"""Fair sets: five images whose captions are near each other share one set of options.

Ding et al. 2016, section 3.2, asks for the nearest captions of other images. Taken one by one that
gives the target away: it is the one option that all others are near to. A fair set is asked once
for each of its five images. Whatever an answer is that does not look at the image, it is right
exactly once in five.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tellapart import seeds
from tellapart.items import Item, Origin
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.mcic.items import MADE_BY, mcic_item
from tellapart.mine.neighbours.nearest import Neighbours
from tellapart.mine.statistics import central_share
from tellapart.mine.verifier import Verifier
from tellapart.text.tfidf import tfidf_of_words
from tellapart.types import Progress

OPTIONS = 5
NEAR = 2_000
"""How many of the nearest captions a set is made from: those far away are no decoys."""


@dataclass(frozen=True, eq=False)
class FairSets:
    """Sets of captions, one of each image, that can stand together as options."""

    captions: MinedCaptions
    verifier: Verifier
    seed: int

    @cached_property
    def chosen(self) -> MinedCaptions:
        """One caption of each image, drawn at random, in an order that the seed gives."""
        captions, drawn = self.captions, []
        for image, places in zip(captions.images, captions.of_images, strict=True):
            rng = seeds.rng(self.seed, "mcic", image)
            place = places[int(rng.integers(len(places)))]
            if self.verifier.may_fit(image, captions.texts[place]):
                drawn.append(place)
        order = seeds.rng(self.seed, "mcic", "order of sets").permutation(len(drawn))
        return captions.only(np.array(drawn, np.int64)[order])

    def items(self, corpus: str, progress: Progress) -> Iterator[Item]:
        """The items of all sets, each set asked of the images that its captions belong to."""
        for members in self._sets(progress):
            texts = [self.chosen.texts[k] for k in members]
            for place, k in enumerate(members):
                caption = self.chosen.ids[k]
                order = seeds.rng(self.seed, "mcic", "order", caption).permutation(OPTIONS).tolist()
                options = [texts[position] for position in order]
                origin = Origin(MADE_BY, corpus, caption, self.seed)
                yield mcic_item(self._image(k), options, order.index(place), origin)

    def _sets(self, progress: Progress) -> Iterator[list[int]]:
        """Greedily: a caption that is still free with the four nearest free ones that fit."""
        number = len(self.chosen)
        free = set(range(number))
        blocks = Neighbours(tfidf_of_words(self.chosen.words)).nearest(min(NEAR, number - 1))
        for index, near in enumerate(row for block in blocks for row in block.indices):
            progress("fair sets", index + 1, number)
            if index not in free:
                continue
            members = [index]
            for k in map(int, near):
                if k in free and all(self._go_together(k, member) for member in members):
                    members.append(k)
                if len(members) == OPTIONS:
                    free -= set(members)
                    yield members
                    break

    def _go_together(self, a: int, b: int) -> bool:
        """Two captions with other words, each false of the other's image as far as is known."""
        words, texts = self.chosen.words, self.chosen.texts
        return (
            sorted(words[a]) != sorted(words[b])
            and self.verifier.may_be_false(self._image(a), texts[b])
            and self.verifier.may_be_false(self._image(b), texts[a])
        )

    def _image(self, caption: int) -> str:
        return self.chosen.images[int(self.chosen.image_of[caption])]


def central(items: Sequence[Item]) -> float:
    """How often the most central option is the true one: 1/5 where sets are whole."""
    texts = [text for item in items for text in item.captions]
    places = np.arange(len(texts)).reshape(-1, OPTIONS)
    truth = np.array([j for item in items for _, j in item.true], dtype=np.intp)
    first = np.array([np.roll(row, -j) for row, j in zip(places, truth, strict=True)])
    return central_share(texts, first.reshape(-1, OPTIONS))
