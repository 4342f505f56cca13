"""The captions of a corpus as arrays: whose each is, and what it says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tellapart.corpus.corpus import Corpus
from tellapart.text.tokens import tokens

Ints = npt.NDArray[np.int32]
LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, eq=False)
class Captions:
    """Caption k has the id `ids[k]`, the text `texts[k]` and belongs to `images[image_of[k]]`.

    Images are numbered in the order of their first captions.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    images: tuple[str, ...]
    image_of: Ints

    @classmethod
    def of(cls, corpus: Corpus) -> Captions:
        """All captions of a corpus, in its order."""
        table = corpus.captions
        names = table["image"].to_list()
        images = tuple(dict.fromkeys(names))
        return cls(tuple(table["id"]), tuple(table["text"]), images, numbered(names))

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def words(self) -> list[list[str]]:
        """Each caption as its words: what vectors and BLEU are made from."""
        return [tokens(text) for text in self.texts]

    @cached_property
    def bags(self) -> Ints:
        """Captions with the same bag of words have the same number."""
        return numbered([bag_of_words(text) for text in self.texts])

    @cached_property
    def lengths(self) -> Ints:
        """How many characters each caption has, white space at its ends aside."""
        return np.array([len(text.strip()) for text in self.texts], np.int32)

    @cached_property
    def per_image(self) -> Ints:
        """How many captions each image has."""
        return np.bincount(self.image_of, minlength=len(self.images)).astype(np.int32)

    def only(self, places: npt.NDArray[np.integer]) -> Captions:
        """Some of the captions, with the images that are left numbered anew."""
        kept, image_of = np.unique(self.image_of[places], return_inverse=True)
        return Captions(
            tuple(self.ids[k] for k in places),
            tuple(self.texts[k] for k in places),
            tuple(self.images[k] for k in kept),
            image_of.astype(np.int32),
        )


def bag_of_words(text: str) -> str:
    """The words of a caption, letters only, in lower case and alphabetical order.

    >>> bag_of_words("On a bench, sitting!") == bag_of_words("sitting on a bench")
    True
    """
    return " ".join(sorted(LETTERS.findall(text.lower())))


def numbered(values: Iterable[str]) -> Ints:
    """Equal values get equal numbers, in the order in which they come.

    >>> numbered(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    known: dict[str, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Lists of numbers one behind another, sorted and without repetition.

    List k is `values[starts[k]:starts[k + 1]]`; `times` says how often each value was given.
    """

    starts: npt.NDArray[np.int64]
    values: Ints
    times: Ints

    @classmethod
    def of(
        cls, lists: npt.NDArray[np.integer], values: npt.NDArray[np.integer], number: int
    ) -> Lists:
        """So many lists, from pairs of a list and a value.

        >>> found = Lists.of(np.array([1, 0, 1, 1]), np.array([5, 2, 3, 5]), 2)
        >>> found.starts.tolist(), found.values.tolist(), found.times.tolist()
        ([0, 1, 3], [2, 3, 5], [1, 1, 2])
        """
        base = int(values.max(initial=0)) + 1
        keys, times = np.unique(lists.astype(np.int64) * base + values, return_counts=True)
        sizes = np.bincount(keys // base, minlength=number)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(starts, (keys % base).astype(np.int32), times.astype(np.int32))

    @property
    def lists(self) -> npt.NDArray[np.int64]:
        """For each value the list that it is in."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
