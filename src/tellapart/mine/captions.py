"""The captions of a corpus as arrays: their images, texts and splits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.text.tokens import tokens
from tellapart.types import Ints, Ints32

LETTERS = re.compile(r"[^\W\d_]+")
EXAMPLE = "train:0.8,dev:0.1,test:0.1 (shares of the images), or dev:2000,test:2000,train:rest"


@dataclass(frozen=True, eq=False)
class MinedCaptions:
    """Caption k has the id `ids[k]`, the text `texts[k]` and belongs to `images[image_of[k]]`.

    Images are numbered in the order of their first captions.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    images: tuple[str, ...]
    image_of: Ints32

    @classmethod
    def of(cls, corpus: Corpus) -> MinedCaptions:
        """All captions of a corpus, in its order."""
        table = corpus.captions
        names = table["image"].to_list()
        images = tuple(dict.fromkeys(names))
        return cls(tuple(table["id"]), tuple(table["text"]), images, numbered(names))

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def words(self) -> list[list[str]]:
        """Each caption as its words, for vectors, BLEU and statistics."""
        return [tokens(text) for text in self.texts]

    @cached_property
    def of_images(self) -> list[list[int]]:
        """For each image, the positions of its captions."""
        places: list[list[int]] = [[] for _ in self.images]
        for place, image in enumerate(self.image_of.tolist()):
            places[image].append(place)
        return places

    @cached_property
    def per_image(self) -> Ints32:
        """How many captions each image has."""
        return np.bincount(self.image_of, minlength=len(self.images)).astype(np.int32)

    @cached_property
    def text_numbers(self) -> Ints32:
        """Captions with the same text have the same number."""
        return numbered(self.texts)

    @cached_property
    def bags(self) -> Ints32:
        """Captions with the same bag of words have the same number."""
        return numbered([bag_of_words(text) for text in self.texts])

    @cached_property
    def image_bags(self) -> SortedLists:
        """The bags of words of each image's captions."""
        return SortedLists.of(self.image_of, self.bags, len(self.images))

    @cached_property
    def lengths(self) -> Ints32:
        """How many characters each caption has, without surrounding white space."""
        return np.array([len(text.strip()) for text in self.texts], np.int32)

    def image_documents(self) -> list[list[str]]:
        """For each image, all words of all its captions."""
        return [[w for place in places for w in self.words[place]] for places in self.of_images]

    def only(self, places: npt.NDArray[np.integer]) -> MinedCaptions:
        """Some of the captions, with their images renumbered."""
        kept, image_of = np.unique(self.image_of[places], return_inverse=True)
        return MinedCaptions(
            tuple(self.ids[k] for k in places),
            tuple(self.texts[k] for k in places),
            tuple(self.images[k] for k in kept),
            image_of.astype(np.int32),
        )

    def splits(self, spec: str, seed: int) -> dict[str, Ints32]:
        """The captions of each split that `spec` names, as `split_images` splits the images.

        Without a spec, all captions are one unnamed split.
        """
        if not spec:
            return {"": np.arange(len(self), dtype=np.int32)}
        names, split = split_images(self.images, spec, seed)
        of_caption = split[self.image_of]
        return {n: np.flatnonzero(of_caption == k).astype(np.int32) for k, n in enumerate(names)}


def bag_of_words(text: str) -> str:
    """The words of a caption: letters only, lower case, in alphabetical order.

    >>> bag_of_words("On a bench, sitting!") == bag_of_words("sitting on a bench")
    True
    """
    return " ".join(sorted(LETTERS.findall(text.lower())))


def numbered(values: Iterable[str]) -> Ints32:
    """Equal values get equal numbers, in order of first occurrence.

    >>> numbered(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    known: dict[str, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class SortedLists:
    """Concatenated lists of numbers, each sorted and without repetition.

    List k is `values[starts[k]:starts[k + 1]]`; `times` says how often each value was given.
    """

    starts: Ints
    values: Ints32
    times: Ints32

    @classmethod
    def of(
        cls, lists: npt.NDArray[np.integer], values: npt.NDArray[np.integer], number: int
    ) -> SortedLists:
        """A number of lists, from pairs of a list and a value.

        >>> lists = SortedLists.of(np.array([1, 0, 1, 1]), np.array([5, 2, 3, 5]), 2)
        >>> lists.starts.tolist(), lists.values.tolist(), lists.times.tolist()
        ([0, 1, 3], [2, 3, 5], [1, 1, 2])
        """
        base = int(values.max(initial=0)) + 1
        keys, times = np.unique(lists.astype(np.int64) * base + values, return_counts=True)
        sizes = np.bincount(keys // base, minlength=number)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(starts, (keys % base).astype(np.int32), times.astype(np.int32))

    @property
    def lists(self) -> Ints:
        """For each value, the list that it is in."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def split_images(images: tuple[str, ...], spec: str, seed: int) -> tuple[list[str], Ints32]:
    """The names of the splits, and for each image the number of its split (-1 for none).

    A split by caption would put an image on both sides (Ding et al. 2016, footnote 2).

    >>> names, number = split_images(tuple("abcde"), "dev:2,train:rest", 0)
    >>> names, sorted(number.tolist())
    (['dev', 'train'], [0, 0, 1, 1, 1])
    """
    total = len(images)
    sizes = _split_sizes(spec, total)
    # Each image draws its own number, so that most stay in their split when others are added.
    lots = [seeds.unit(seed, "mcic", "split", image) for image in images]
    order = np.argsort(lots)
    number = np.full(total, -1, np.int32)
    first = 0
    for k, size in enumerate(sizes.values()):
        number[order[first : first + size]] = k
        first += size
    return list(sizes), number


def _split_sizes(spec: str, total: int) -> dict[str, int]:
    """How many images each split gets; shares are rounded so that every image is used."""
    parts = [part.partition(":") for part in spec.split(",") if part.strip()]
    shares: dict[str, float] = {}
    rest = ""
    for name, _, text in ((n.strip(), mark, t.strip()) for n, mark, t in parts):
        if not name.isidentifier() or name in shares:
            raise BadInput(f"a split cannot be called {name!r}", allowed=f"a name once: {EXAMPLE}")
        try:
            shares[name] = 0.0 if text == "rest" else float(text)
        except ValueError:
            shares[name] = -1.0
        if not 0 <= shares[name] <= total or (text == "rest" and rest):
            raise BadInput(f"the split {name} cannot have {text!r} of the images", allowed=EXAMPLE)
        rest = name if text == "rest" else rest
    sizes = _rounded_shares(shares, total)
    if rest:
        sizes[rest] = total - sum(sizes.values())
    if min(sizes.values(), default=0) < 1 or sum(sizes.values()) > total:
        raise BadInput(
            f"{total:,} images cannot be split into {spec}",
            allowed=f"at least one image in each, and not more than exist: {EXAMPLE}",
        )
    return sizes


def _rounded_shares(shares: dict[str, float], total: int) -> dict[str, int]:
    """Shares of at most 1 as numbers of images, by cumulative rounding; others unchanged."""
    sizes, reached, assigned = {}, 0.0, 0
    for name, share in shares.items():
        if share > 1 or share == 0:
            sizes[name] = int(share)
            continue
        reached += share
        sizes[name] = round(reached * total) - assigned
        assigned += sizes[name]
    return sizes
