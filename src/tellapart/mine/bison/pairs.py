"""Pairs of similar images: each target with the images whose captions are most like its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.mine.bison.vectors import ImageVectors
from tellapart.mine.captions import Captions, Ints, numbered
from tellapart.mine.keeping import Kept
from tellapart.mine.neighbours.exact import Similarities
from tellapart.mine.neighbours.nearest import Neighbours, Search
from tellapart.seeds import digest

PART = 8192
"""Images whose neighbours are sought, and kept, together."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """An image and those near it, best first."""

    image: int
    decoys: Ints
    similarities: Similarities


@dataclass(frozen=True, eq=False)
class Nearest:
    """Finds the images nearest to each image.

    Never together are images with the very same captions, and copies of one picture (where the
    corpus knows the hashes). Images without a vector are left out.
    """

    captions: Captions
    vectors: ImageVectors
    number: int
    search: Search
    pictures: Ints

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        captions: Captions,
        vectors: ImageVectors,
        number: int,
        search: Search,
    ) -> Nearest:
        """For the images of a corpus."""
        hashes = dict(corpus.images.select("id", "sha256").iter_rows())
        pictures = numbered([hashes[image] or f"of {image}" for image in captions.images])
        return cls(captions, vectors, number, search, pictures)

    def each(self, progress: Progress, *, in_random_order: bool = False) -> Iterator[Target]:
        """Every image with those near it, in the corpus's order or in one that the seed gives."""
        order = np.arange(len(self.known), dtype=np.int32)
        if in_random_order:
            order = seeds.rng(self.search.seed, "bison", "targets").permutation(order)
        for start in range(0, len(order), PART):
            part = order[start : start + PART]
            indices, similarities = self._kept(part)
            for target, near, similar in zip(part, indices, similarities, strict=True):
                there = near >= 0
                yield Target(int(self.known[target]), self.known[near[there]], similar[there])
            progress(start + len(part), len(order))

    def for_card(self) -> dict[str, Any]:
        """How neighbours were found."""
        search = "exact"
        if self._neighbours.method == "approximate":
            recall = self._neighbours.recall(self.number)
            search = f"approximate, recall@{self.number} {recall:.3f} on a sample"
        return {
            "neighbours": "cosine",
            "search": search,
            "images_without_a_vector": len(self.captions.images) - len(self.known),
        }

    def _kept(self, part: Ints) -> tuple[Ints, Similarities]:
        kept = Kept.on("nearest images", self._hash, digest(part.tolist()), self.number)
        found = kept.read("near")
        if found is None:
            blocks = list(self._neighbours.nearest(self.number, part))
            found = {
                "indices": np.concatenate([block.indices for block in blocks]),
                "similarities": np.concatenate([block.similarities for block in blocks]),
            }
            kept.write("near", **found)
        return found["indices"], found["similarities"]

    @cached_property
    def known(self) -> Ints:
        """The images that have a vector."""
        every = np.arange(len(self.captions.images), dtype=np.int32)
        return np.setdiff1d(every, self.vectors.unknown).astype(np.int32)

    @cached_property
    def _neighbours(self) -> Neighbours:
        said: list[list[str]] = [[] for _ in self.captions.images]
        for image, text in zip(self.captions.image_of.tolist(), self.captions.texts, strict=True):
            said[image].append(text)
        same = numbered(["\n".join(sorted(texts)) for texts in said])
        exclude = (self.pictures[self.known], same[self.known])
        return Neighbours(self.vectors.vectors[self.known], exclude, self.search)

    @cached_property
    def _hash(self) -> str:
        return digest(
            self.captions.texts,
            self.captions.image_of.tolist(),
            self.pictures.tolist(),
            self.vectors.sha256,
            self._neighbours.method,
            self.search.seed,
        )
