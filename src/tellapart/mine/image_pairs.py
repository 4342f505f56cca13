"""Pairs of similar images, and the caption for each question (BISON).

Hu et al. 2019, section 4.1: the target's decoys are the images whose captions are most similar to
its own. A verifier chooses a caption that is true of the target alone, or the most informative one
is proposed, or people pick one of the target's captions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.files import write_json, write_parquet
from tellapart.items import Grid, Item, Origin, drawn_order
from tellapart.mine.captions import MinedCaptions, numbered
from tellapart.mine.informativeness import Informativeness
from tellapart.mine.neighbours.exact import Similarities
from tellapart.mine.neighbours.nearest import Neighbours, NeighbourTask, Search
from tellapart.mine.vectors import MinedVectors
from tellapart.mine.verifier import Verifier
from tellapart.seeds import digest
from tellapart.store.arrays import ArrayShelf
from tellapart.text.tokens import FUNCTION_WORDS
from tellapart.types import Ints32, Progress
from tellapart.work.crew import ShardJob
from tellapart.work.shard import Shard
from tellapart.work.stages import StagedCrew

MADE_BY = "tellapart build bison"
PART = 2048
"""How many images are searched and cached together, and how many pairs are compared together."""
TRIES = 10
"""With a verifier, this many neighbours are tried for each decoy."""
SCHEMA = "tellapart-pairs-1"
COLUMNS: dict[str, Any] = {
    "pair": pl.String, "target": pl.String, "decoy": pl.String, "similarity": pl.Float64,
    "captions": pl.List(pl.String), "caption_ids": pl.List(pl.String),
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class NearImages:
    """An image and its neighbours, nearest first."""

    image: int
    decoys: Ints32
    similarities: Similarities


@dataclass(frozen=True, eq=False)
class NearestImages:
    """Finds the images nearest to each image.

    Images with identical captions, and copies of one picture (if the corpus has hashes), are never
    paired. Images without a vector are left out.
    """

    corpus: Corpus
    captions: MinedCaptions
    vectors: MinedVectors
    number: int
    search: Search
    crew: StagedCrew | None = None

    def each(self, progress: Progress, *, in_random_order: bool = False) -> Iterator[NearImages]:
        """Every image with its neighbours, in the corpus's order or in a seeded random order."""
        order = np.arange(len(self.known), dtype=np.int32)
        if in_random_order:
            order = seeds.rng(self.search.seed, "bison", "targets").permutation(order)
        parts = [order[start : start + PART] for start in range(0, len(order), PART)]
        self._in_shards(parts, progress)
        for start, part in zip(range(0, len(order), PART), parts, strict=True):
            indices, similarities = self._cached(part)
            for target, near, similar in zip(part, indices, similarities, strict=True):
                exist = near >= 0
                yield NearImages(int(self.known[target]), self.known[near[exist]], similar[exist])
            progress("nearest images", start + len(part), len(order))

    def for_card(self) -> dict[str, Any]:
        """The card's description of the search."""
        search = "exact"
        if self._neighbours.method == "approximate":
            recall = self._neighbours.recall(self.number)
            search = f"approximate, recall@{self.number} {recall:.3f} on a sample"
        return {
            "neighbours": "cosine",
            "search": search,
            "images_without_a_vector": len(self.captions.images) - len(self.known),
        }

    def _in_shards(self, parts: Sequence[Ints32], progress: Progress) -> None:
        """Have a crew find the neighbours of all images."""
        if self.crew is None:
            return
        shards = [Shard(self._file(part), len(part), part) for part in parts]
        task = NeighbourTask.of(self._neighbours, self.number)
        self.crew.do("neighbours", ShardJob("nearest images", "images", task, shards), progress)

    def _file(self, part: Ints32) -> str:
        return f"near-{digest(self._hash, part.tolist(), self.number)[:32]}.npz"

    def _cached(self, part: Ints32) -> tuple[Ints32, Similarities]:
        made = self.crew.read("neighbours", self._file(part)) if self.crew else None
        if made is not None:
            return made["indices"], made["similarities"]
        kept = ArrayShelf.on("nearest images", self._hash, digest(part.tolist()), self.number)
        arrays = kept.read("near")
        if arrays is None:
            arrays = self._neighbours.nearest_arrays(self.number, part)
            kept.write("near", **arrays)
        return arrays["indices"], arrays["similarities"]

    @cached_property
    def known(self) -> Ints32:
        """The images that have a vector."""
        every = np.arange(len(self.captions.images), dtype=np.int32)
        return np.setdiff1d(every, self.vectors.unknown).astype(np.int32)

    @cached_property
    def _pictures(self) -> Ints32:
        """A number for each image; copies of one picture share it."""
        hashes = dict(self.corpus.images.select("id", "sha256").iter_rows())
        return numbered([hashes[image] or f"of {image}" for image in self.captions.images])

    @cached_property
    def _neighbours(self) -> Neighbours:
        texts = self.captions.texts
        same = numbered("\n".join(sorted(texts[k] for k in own)) for own in self.captions.of_images)
        exclude = (self._pictures[self.known], same[self.known])
        return Neighbours(self.vectors.rows[self.known], exclude, self.search)

    @cached_property
    def _hash(self) -> str:
        return digest(
            self.captions.texts,
            self.captions.image_of.tolist(),
            self._pictures.tolist(),
            self.vectors.sha256,
            self._neighbours.method,
            self.search.seed,
        )


@dataclass(frozen=True, slots=True)
class ImagePair:
    """Two images, one of them the target."""

    target: int
    decoy: int
    similarity: float

    def ways(self, directions: str) -> tuple[ImagePair, ...]:
        """The pair as questions: once, or with each image as the target in turn."""
        turned = ImagePair(self.decoy, self.target, self.similarity)
        return (self,) if directions == "one" else (self, turned)


def image_pairs(targets: Iterable[NearImages], directions: str) -> Iterator[ImagePair]:
    """Each pair once, or once in each direction."""
    seen: set[tuple[int, int]] = set()
    for one in targets:
        for decoy, similarity in zip(one.decoys.tolist(), one.similarities.tolist(), strict=True):
            for way in ImagePair(one.image, decoy, similarity).ways(directions):
                if (way.target, way.decoy) not in seen:
                    seen.add((way.target, way.decoy))
                    yield way


@dataclass(frozen=True, slots=True)
class CaptionedPair:
    """A pair with the caption of its question, and the caption's score."""

    pair: ImagePair
    caption: int
    score: float

    def item(self, captions: MinedCaptions, source: str, seed: int) -> Item:
        """The pair as an item."""
        target, decoy = captions.images[self.pair.target], captions.images[self.pair.decoy]
        notes = {
            "caption": captions.ids[self.caption],
            "similarity": f"{self.pair.similarity:.4f}",
            "telling": f"{self.score:.3f}",
        }
        origin = Origin(MADE_BY, source, target, seed, notes)
        return _item(origin, seed, (target, decoy), (captions.texts[self.caption],), "bison")


@dataclass(slots=True)
class PairCounts:
    """Counts of pairs in each direction: all, and those that no caption distinguishes."""

    pairs: int = 0
    dropped: int = 0


@dataclass(frozen=True, eq=False)
class MostInformative:
    """The most informative caption; pairs are dropped if none has a score of `least`."""

    captions: MinedCaptions
    directions: str
    least: float
    counts: PairCounts = field(default_factory=PairCounts)

    tries = 1

    @property
    def rule(self) -> str:
        """For the card."""
        return (
            "the most informative one: the sum over its content words of max(0, log(q / p)), "
            "where q and p are the probabilities that a caption of the target, or of the decoy, "
            "has the word, estimated from their captions and from how captions of one image agree "
            f"throughout the corpus; at least {self.least}"
        )

    def captioned(self, targets: Iterable[NearImages]) -> Iterator[CaptionedPair]:
        """Pairs with their captions."""
        pairs = image_pairs(targets, self.directions)
        while some := list(islice(pairs, PART)):
            places, scores = self._informativeness.scores(
                np.array([pair.target for pair in some], np.int32),
                np.array([pair.decoy for pair in some], np.int32),
            )
            best = scores.argmax(axis=1)
            for row, pair in enumerate(some):
                caption, score = int(places[row, best[row]]), float(scores[row, best[row]])
                self.counts.pairs += 1
                if score >= self.least:
                    yield CaptionedPair(pair, caption, score)
                else:
                    self.counts.dropped += 1

    @cached_property
    def _informativeness(self) -> Informativeness:
        return Informativeness(self.captions)


@dataclass(frozen=True, eq=False)
class HardestVerified:
    """The hardest caption that a verifier finds true of the target alone.

    The hardest has the fewest content words that are missing from the decoy's captions. If none is
    true of the target alone, the next neighbour is tried.
    """

    captions: MinedCaptions
    directions: str
    neighbours: int
    verifier: Verifier
    counts: PairCounts = field(default_factory=PairCounts)

    tries = TRIES
    rule = (
        "true of the target alone by the verifier; of several, the one with the fewest content "
        "words that are missing from the decoy's captions"
    )

    def captioned(self, targets: Iterable[NearImages]) -> Iterator[CaptionedPair]:
        """Pairs with their captions."""
        known: dict[tuple[int, int], CaptionedPair | None] = {}
        for one in targets:
            decoys = 0
            for pair in image_pairs([one], "one"):
                for way in pair.ways(self.directions):
                    key = (way.target, way.decoy)
                    if key not in known:
                        known[key] = self._hardest(way)
                        self.counts.pairs += 1
                        self.counts.dropped += known[key] is None
                        yield from filter(None, [known[key]])
                decoys += known[pair.target, pair.decoy] is not None
                if decoys == self.neighbours:
                    break

    def _hardest(self, pair: ImagePair) -> CaptionedPair | None:
        captions = self.captions
        target, decoy = captions.images[pair.target], captions.images[pair.decoy]
        of_decoy = {w for k in captions.of_images[pair.decoy] for w in captions.words[k]}
        known = FUNCTION_WORDS | of_decoy
        by_new_words = sorted(
            (len(set(captions.words[k]) - known), k) for k in captions.of_images[pair.target]
        )
        for new_words, caption in by_new_words:
            text = captions.texts[caption]
            if self.verifier.may_fit(target, text) and self.verifier.may_be_false(decoy, text):
                return CaptionedPair(pair, caption, float(new_words))
        return None


def _item(
    origin: Origin, seed: int, images: tuple[str, str], captions: tuple[str, ...], kind: str
) -> Item:
    """An item of target and decoy; the seed decides the target's position."""
    order = drawn_order(seeds.rng(seed, "bison", *images))
    return Item.built("bison", Grid.image_choice(images, captions, order), kind=kind, origin=origin)


# Pairs for a study. In its first stage, a person sees both images and the target's captions and
# picks one that is true of the target alone, or none; in the second, two others see images and
# caption and say which image it describes.


def study_rows(pairs: Sequence[ImagePair], captions: MinedCaptions) -> list[dict[str, Any]]:
    """Pairs as rows of `pairs.parquet`, with all captions of the target, each text once."""
    rows = []
    for pair in pairs:
        target, decoy = captions.images[pair.target], captions.images[pair.decoy]
        distinct: dict[str, str] = {}
        for place in captions.of_images[pair.target]:
            distinct.setdefault(captions.texts[place], captions.ids[place])
        similarity, texts = round(float(pair.similarity), 6), list(distinct)
        cells = (f"{target}|{decoy}", target, decoy, similarity, texts, list(distinct.values()))
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return rows


def study_item(row: dict[str, Any], source: str, seed: int) -> Item:
    """A row as an item; until people have judged the captions, all count as true."""
    origin = Origin(MADE_BY, source, row["target"], seed)
    images = (row["target"], row["decoy"])
    return _item(origin, seed, images, tuple(row["captions"]), "pair")


def write_pairs(folder: Path, name: str, rows: list[dict[str, Any]], facts: dict[str, Any]) -> None:
    """Write `pairs.parquet` and its card `pairs.json`."""
    images = {image for row in rows for image in (row["target"], row["decoy"])}
    counts = {"pairs": len(rows), "images": len(images)}
    write_parquet(folder / "pairs.parquet", pl.DataFrame(rows, schema=COLUMNS))
    write_json(folder / "pairs.json", {"schema": SCHEMA, "name": name, **counts, **facts})
