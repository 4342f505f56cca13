"""What captions of other images say: how often words occur, follow one another, go together.

Counted once for all images, and again for each fold of them, so that what a fold's own captions
added can be taken away: a choice is never attacked with captions of its own image.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from scipy.sparse import csr_matrix

from tellapart import seeds
from tellapart.benchmark.table import ItemTable
from tellapart.corpus.coco import plain_id
from tellapart.corpus.corpus import Corpus
from tellapart.text.ngram_model import Trigrams
from tellapart.text.tokens import tokens
from tellapart.types import Bools, Floats, Ints

LONGEST = 40
"""Words of a caption beyond that are left out: a text of thousands has millions of pairs."""
COMMON = 100
"""The most frequent words go with everything: they are left out of an image's own words."""
NEARBY = (3, 5)
"""Gaps of words that stand near one another, beside the two that are counted by themselves."""
SHRINK = 1.0
"""Times that a pair is taken to have been seen as expected: rare pairs say little."""


@dataclass(frozen=True, eq=False)
class WordCodes:
    """Texts as numbers of words, one after the other: text k is at starts[k] to starts[k + 1]."""

    word: Ints
    starts: Ints

    @classmethod
    def of(cls, texts: Iterable[str], vocabulary: dict[str, int], *, grow: bool = False) -> Self:
        """Texts by a vocabulary; unknown words get the next number each, or all of them one."""
        flat: list[int] = []
        starts = [0]
        unknown = len(vocabulary)
        for text in texts:
            words = tokens(text)[:LONGEST]
            if grow:
                flat += [vocabulary.setdefault(word, len(vocabulary)) for word in words]
            else:
                flat += [vocabulary.get(word, unknown) for word in words]
            starts.append(len(flat))
        return cls(np.array(flat, np.int64), np.array(starts, np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """How many words each text has."""
        return np.diff(self.starts)

    @cached_property
    def text(self) -> Ints:
        """The text of each word."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def some(self, keep: Bools) -> WordCodes:
        """Some of the texts."""
        lengths = self.lengths[keep]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return WordCodes(self.word[np.repeat(keep, self.lengths)], starts)

    def pairs(self, gaps: Iterable[int]) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Text, word and the word `gap` places behind it, for each gap."""
        text = self.text
        for gap in gaps:
            first = np.flatnonzero(text[:-gap] == text[gap:]) if gap < len(text) else text[:0]
            if not len(first) and gap > 1:
                return
            yield text[first], self.word[first], self.word[first + gap]


@dataclass(frozen=True, eq=False)
class CaptionSource:
    """Captions that statistics come from; caption k is of the image with the number image[k]."""

    name: str
    codes: WordCodes
    image: Ints
    images: Mapping[str, int]
    vocabulary: dict[str, int]

    @classmethod
    def of_texts(cls, name: str, images: Sequence[str], texts: Sequence[str]) -> Self:
        """Captions with the image of each."""
        numbers: dict[str, int] = {}
        image = [numbers.setdefault(plain_id(one), len(numbers)) for one in images]
        vocabulary: dict[str, int] = {}
        codes = WordCodes.of(texts, vocabulary, grow=True)
        return cls(name, codes, np.array(image, np.int64), numbers, vocabulary)

    @classmethod
    def of_corpus(cls, corpus: Corpus) -> Self:
        """All captions of a corpus."""
        return cls.of_corpora([corpus])[0]

    @classmethod
    def of_corpora(
        cls, corpora: Sequence[Corpus], shares: Sequence[float] = (1.0,), seed: int = 0
    ) -> list[Self]:
        """The captions of corpora, or parts of them without common images, by their shares.

        An image that several corpora have counts with its captions in the first of them.
        """
        bounds = np.cumsum(shares)
        images: list[list[str]] = [[] for _ in shares]
        texts: list[list[str]] = [[] for _ in shares]
        owner: dict[str, tuple[int, int]] = {}
        for number, corpus in enumerate(corpora):
            for name, text in corpus.captions.select("image", "text").iter_rows():
                image = plain_id(name)
                if image not in owner:
                    lot = seeds.unit(seed, "caption source", image) if len(shares) > 1 else 0.0
                    owner[image] = (number, int(np.searchsorted(bounds[:-1], lot, "right")))
                first, part = owner[image]
                if first == number:
                    images[part].append(image)
                    texts[part].append(text)
        names = " and ".join(corpus.name for corpus in corpora)
        return [
            cls.of_texts(names if len(shares) == 1 else f"{share:.0%} of {names}", *columns)
            for share, *columns in zip(shares, images, texts, strict=True)
        ]

    @classmethod
    def of_items(cls, items: ItemTable) -> Self:
        """The true captions of items, each once for each image that it is true of."""
        seen: dict[tuple[str, str], None] = {}
        for images, captions, cells in items.frame.select(
            "images", "captions", "true_cells"
        ).iter_rows():
            for i, j in cells:
                seen[images[i], captions[j]] = None
        return cls.of_texts(
            "true captions of the benchmark's other images",
            [image for image, _ in seen],
            [text for _, text in seen],
        )

    def texts(self) -> list[str]:
        """The captions as they were counted: words in lower case, without marks."""
        words = np.array(list(self.vocabulary) or [""], object)
        return [
            " ".join(words[self.codes.word[a:b]]) for a, b in pairwise(self.codes.starts.tolist())
        ]

    def some(self, keep: Bools) -> CaptionSource:
        """The same with some of the captions."""
        return CaptionSource(
            self.name, self.codes.some(keep), self.image[keep], self.images, self.vocabulary
        )

    def folds(self, fold_of: Mapping[str, int]) -> Ints:
        """The fold of each caption's image, -1 where no choice has the image."""
        own = np.full(len(self.images), -1, np.int64)
        for name, number in self.images.items():
            own[number] = fold_of.get(name, -1)
        return own[self.image]


class WordPairCounts:
    """How often two words stand together, in all captions and in those of each fold."""

    def __init__(
        self, first: Ints, second: Ints, fold: Ints, words: int, folds: int, *, ordered: bool
    ) -> None:
        self.ordered = ordered
        self.total = _pair_table(first, second, words)
        self.by_fold = [
            _pair_table(first[fold == k], second[fold == k], words) for k in range(folds)
        ]
        left, right = (_fold_counts(side, fold, words, folds) for side in (first, second))
        self.margins = (left, right) if ordered else (left + right,) * 2

    def surprise(self, first: Ints, second: Ints, fold: int) -> Floats:
        """The logarithm of how often pairs stand together, over how often they would by chance.

        A pair that is expected n times and was seen m times has log((m + 1) / (n + 1)).
        """
        if not self.ordered:
            first, second = np.minimum(first, second), np.maximum(first, second)
        if not len(first):
            return np.zeros(0)
        seen = np.asarray(self.total[first, second]).ravel()
        if self.by_fold[fold].nnz:
            seen = seen - np.asarray(self.by_fold[fold][first, second]).ravel()
        left, right = (counts[:, -1] - counts[:, fold] for counts in self.margins)
        expected = left[first].astype(float) * right[second] / max(float(left.sum()), 1.0)
        logs: Floats = np.log((seen + SHRINK) / (expected + SHRINK))
        return logs


def _pair_table(first: Ints, second: Ints, words: int) -> csr_matrix:
    ones = np.ones(len(first), np.int32)
    pairs = (first.astype(np.int32), second.astype(np.int32))
    table = csr_matrix((ones, pairs), shape=(words + 1, words + 1))
    table.sum_duplicates()
    return table


def _fold_counts(word: Ints, fold: Ints, words: int, folds: int) -> Ints:
    """How often each word occurs in each fold, and in all captions (the last column)."""
    columns = folds + 1
    inside = fold >= 0
    counts = np.bincount(word[inside] * columns + fold[inside], minlength=(words + 1) * columns)
    table = counts.reshape(words + 1, columns)
    table[:, -1] = np.bincount(word, minlength=words + 1)
    return table.astype(np.int64)


class WordStatistics:
    """Counts of a source, with the captions of each fold of choices taken away."""

    def __init__(self, source: CaptionSource, fold: Ints, folds: int) -> None:
        self.source, self.fold, self.folds = source, fold, folds
        codes, words = source.codes, len(source.vocabulary)
        self.counts = _fold_counts(codes.word, fold[codes.text], words, folds)
        self.next_to = self._ordered((1,))
        self.one_between = self._ordered((2,))
        self.nearby = self._ordered(range(NEARBY[0], NEARBY[1] + 1))
        self.in_caption = self._unordered(codes, fold)
        self.in_image = self._of_images()
        self._models: dict[int, tuple[Trigrams, Trigrams]] = {}

    def _ordered(self, gaps: Iterable[int]) -> WordPairCounts:
        text, first, second = _joined(self.source.codes.pairs(gaps))
        words = len(self.source.vocabulary)
        return WordPairCounts(first, second, self.fold[text], words, self.folds, ordered=True)

    def _unordered(self, codes: WordCodes, fold: Ints) -> WordPairCounts:
        text, first, second = _joined(codes.pairs(range(1, LONGEST)))
        apart = first != second
        low, high = np.minimum(first, second)[apart], np.maximum(first, second)[apart]
        words = len(self.source.vocabulary)
        return WordPairCounts(low, high, fold[text[apart]], words, self.folds, ordered=False)

    def _of_images(self) -> WordPairCounts:
        """Words of different captions of one image: what is in a picture beside a thing."""
        source = self.source
        often = self.counts[:, -1]
        common = np.zeros(len(often), bool)
        common[np.argsort(-often, kind="stable")[:COMMON]] = True
        key = source.image[source.codes.text] * len(often) + source.codes.word
        key = np.unique(key[~common[source.codes.word]])
        image, word = key // len(often), key % len(often)
        starts = np.searchsorted(image, np.arange(len(source.images) + 1))
        fold = np.full(len(source.images), -1, np.int64)
        fold[source.image] = self.fold
        return self._unordered(WordCodes(word, starts.astype(np.int64)), fold)

    def models(self, fold: int) -> tuple[Trigrams, Trigrams]:
        """Words after the two before them, and words between their neighbours."""
        key = fold if (self.fold == fold).any() else -2
        if key not in self._models:
            codes = self.source.codes.some(self.fold != fold)
            self._models = {
                key: (
                    Trigrams(codes.word, codes.starts),
                    Trigrams(codes.word, codes.starts, between=True),
                )
            }
        return self._models[key]

    def times(self, fold: int) -> Ints:
        """How often captions outside a fold have each word; the last number is 0, for others."""
        return self.counts[:, -1] - self.counts[:, fold]

    def frequency(self, fold: int) -> Floats:
        """The logarithm of each word's share; the last number stands for unknown words."""
        times = self.times(fold)
        logs: Floats = np.log((times + 1) / (times.sum() + len(times)))
        return logs


def _joined(parts: Iterable[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    none = np.zeros(0, np.int64)  # where no text is long enough
    columns = list(zip((none, none, none), *parts, strict=True))
    text, first, second = (np.concatenate(column) for column in columns)
    return text, first, second
