"""Hard negative images: candidates for a negative caption, and the choice among them.

Miranda et al. 2024 (BiVLC), section 3.1: captions are formatted alike (step 1), several pictures
are made for each negative caption (step 2), people choose the best or none (step 3) and drop
ambiguous ones (step 4). A scorer can replace them by a stated rule; nobody has verified that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.world.edits import EditContext, NearMiss, near_miss
from tellapart.corpus.world.world import painter_of, scene_of
from tellapart.errors import BadInput
from tellapart.items import Grid, Item, Origin, drawn_order
from tellapart.makers.maker import ImageRequest
from tellapart.mine.shares import equal_shares
from tellapart.pictures import Picture
from tellapart.text.english import alike
from tellapart.types import Progress, silent

BY = "tellapart build bivlc"
SEED_BITS = (1 << 31) - 1
"""Every generator accepts seeds of 31 bits."""


@dataclass(frozen=True, slots=True)
class HardCaption:
    """A caption of an image, and a caption that differs in a detail and needs pictures."""

    id: str
    image: str
    caption: str
    negative: str
    kind: str

    def requests(self, candidates: int, seed: int, source: Picture) -> list[ImageRequest]:
        """One request per candidate; its seed follows from the caption and its number."""
        name = seeds.digest(self.image, self.caption, self.negative)[:12]
        return [
            ImageRequest(
                f"{name}-{k}",
                self.negative,
                seeds.number(seed, "candidate", self.negative, k) & SEED_BITS,
                source,
            )
            for k in range(candidates)
        ]

    def item(self, images: Sequence[str], source: str, seed: int) -> Item:
        """The original pair, the other caption, and candidates for it, in random order.

        Only the original pair is known to be true: people are to judge the candidates.
        """
        rng = seeds.rng(seed, "bivlc", "candidates", self.id)
        order = [int(k) for k in rng.permutation(len(images) + 1)]
        captions = drawn_order(rng)
        texts = (self.caption, self.negative)
        everything = (self.image, *images)
        cell = (order.index(0), captions.index(0))
        grid = Grid(
            tuple(everything[k] for k in order),
            tuple(texts[k] for k in captions),
            frozenset({cell}),
            cell,
        )
        origin = Origin(BY, source, self.id, seed)
        return Item.built("candidates", grid, kind=self.kind, origin=origin)


def hard_captions(negatives: Benchmark, kinds: Sequence[str]) -> Iterator[HardCaption]:
    """The pairs of captions of a benchmark: items with an image, a true caption and a false one."""
    for item in negatives.items:
        if len(item.images) != 1 or len(item.captions) != 2 or len(item.true) != 1:
            continue
        if kinds and item.kind not in kinds:
            continue
        ((_, place),) = item.true
        texts = alike(item.captions[place]), alike(item.captions[1 - place])
        yield HardCaption(item.id, item.images[0], *texts, item.kind)


def sample_captions(
    captions: Sequence[HardCaption], items: int | None, seed: int
) -> list[HardCaption]:
    """At most `items` captions, with equal shares of each kind as far as possible."""
    lots = [seeds.unit(seed, "hard", one.id, one.negative) for one in captions]
    return [captions[k] for k in equal_shares([one.kind for one in captions], lots, items)]


def near_misses(
    corpus: Corpus, kinds: Sequence[str], items: int | None, seed: int, progress: Progress = silent
) -> Iterator[tuple[str, NearMiss]]:
    """For each image of the built-in world, a near miss of the kind with the fewest so far.

    Every second one of the `add` kinds removes something instead, so that the original is as often
    the one with more in it as the other, and its caption as often the longer one.
    """
    painter = painter_of(corpus.about)
    categories = sorted(painter.categories)
    numbers = dict.fromkeys(kinds, 0)
    images = corpus.images["id"].to_list()
    for done, image in enumerate(images, 1):
        progress("near misses", done, len(images))
        if items is not None and sum(numbers.values()) >= items:
            return
        scene = scene_of(corpus.picture(image))
        if scene is None:
            raise BadInput(
                f"image {image} of {corpus.name} contains no scene",
                allowed="a corpus of the built-in world, a benchmark of negatives, or with "
                "--maker photo: photographs with boxes",
                todo="draw a world with: tellapart world OUT; or make negatives first: tellapart "
                "build negatives CORPUS NEGATIVES",
            )
        for kind in sorted(kinds, key=lambda k: (numbers[k], kinds.index(k))):
            rng = seeds.rng(seed, "bivlc", image, kind)
            context = EditContext(scene, rng, painter, categories)
            miss = near_miss(kind, context, backwards=numbers[kind] % 2 == 1)
            if miss is not None:
                numbers[kind] += 1
                yield image, miss
                break


def world_captions(
    corpus: Corpus, kinds: Sequence[str], items: int | None, seed: int, progress: Progress = silent
) -> Iterator[HardCaption]:
    """The captions of near misses of the built-in world."""
    for image, miss in near_misses(corpus, kinds, items, seed, progress):
        name = f"{image}-{miss.kind}"
        yield HardCaption(name, image, miss.caption, miss.negative_caption, miss.kind)


def by_kind(kinds: Iterable[str]) -> dict[str, int]:
    """How many there are of each kind, by name."""
    return dict(sorted(Counter(kinds).items()))


@dataclass(frozen=True, slots=True)
class AutoChoice:
    """A scorer's choice: items, and how many were left after each step, by kind."""

    items: list[Item]
    chosen: dict[str, int]
    clear: dict[str, int]


def choose_by_scores(
    candidates: Benchmark, scores: pl.DataFrame, margin: float, seed: int
) -> AutoChoice:
    """The best candidate of each item, if the scores are clear.

    The best candidate has the largest lead of the negative caption over the original caption; it
    is chosen if that lead is above `margin` (step 3), and the item stays if the original caption
    fits the original image better than the candidate by more than `margin` (step 4). `scores` has
    one row per cell: item, image, caption, score.
    """
    cells = {
        (item, image, caption): score
        for item, image, caption, score in scores.select(
            "item", "image", "caption", "score"
        ).iter_rows()
    }
    chosen: list[str] = []
    kept: list[Item] = []
    for item in candidates.items:
        assert item.original is not None  # candidates always have an original
        image, caption = item.original
        other = 1 - caption
        rated = [
            (cells[item.id, k, other] - cells[item.id, k, caption], -k)
            for k in range(len(item.images))
            if k != image
        ]
        best, place = max(rated)
        if not best > margin:
            continue
        chosen.append(item.kind)
        if cells[item.id, image, caption] - cells[item.id, -place, caption] > margin:
            kept.append(_square(item, -place, seed))
    return AutoChoice(kept, by_kind(chosen), by_kind(item.kind for item in kept))


def _square(item: Item, place: int, seed: int) -> Item:
    assert item.original is not None
    image, caption = item.original
    images = item.images[image], item.images[place]
    captions = item.captions[caption], item.captions[1 - caption]
    rng = seeds.rng(seed, "verified", *images)
    grid = Grid.square(images, captions, drawn_order(rng), drawn_order(rng))
    return Item.built("bivlc", grid, kind=item.kind, origin=item.origin)
