"""Word vectors: the mean over the words of a text, and training on a corpus's own captions.

Bojanowski et al. 2017 (fastText): a word's vector is the sum of those of its character n-grams.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.text.needing import need
from tellapart.text.vectors.tfidf import word_counts

Floats = npt.NDArray[np.float32]
Texts = Sequence[Sequence[str]]
"""Texts as lists of words."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Means:
    """One vector a text; zero for the rows in `unknown`, which have no word with a vector.

    `known` is the share of all words of the texts (each as often as it occurs) with a vector.
    """

    vectors: Floats
    known: float
    unknown: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors, [words, dimensions]; `name` is what a card calls them."""

    name: str
    words: tuple[str, ...]
    matrix: Floats

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each word."""
        return {word: place for place, word in enumerate(self.words)}

    def mean_vectors(self, texts: Texts) -> Means:
        """The mean vector of each text's words; words without a vector are left out."""
        counts = word_counts(texts, self.places)
        found = np.asarray(counts.sum(axis=1)).ravel()
        total = sum(len(words) for words in texts)
        sums = np.empty((len(texts), self.matrix.shape[1]), np.float32)
        wide = self.matrix.astype(np.float64)
        for start in range(0, len(texts), 8192):  # in blocks: double precision takes twice the room
            part = slice(start, start + 8192)
            sums[part] = (counts[part] @ wide) / np.maximum(found[part], 1)[:, None]
        unknown = np.flatnonzero(~sums.any(axis=1)).astype(np.int32)
        return Means(sums, float(found.sum()) / max(1, total), unknown)


NGRAMS = 1 << 18
"""Places for character n-grams: gensim's two million take 800 MB, and captions have far fewer."""


@dataclass(frozen=True, slots=True)
class WordOptions:
    """How word vectors are trained (fastText's skip-gram with negative sampling).

    With `fast` all cores train at once: quicker, but the vectors differ from run to run.
    """

    dimensions: int = 100
    epochs: int = 5
    window: int = 5
    negative: int = 5
    min_count: int = 1
    seed: int = 0
    fast: bool = False


def train_word_vectors(
    texts: Texts,
    options: WordOptions = WordOptions(),  # noqa: B008 (frozen)
    progress: Progress = lambda done, total: None,
) -> WordVectors:
    """FastText vectors of all words of some texts; the same each time unless `options.fast`."""
    if not any(texts):
        raise BadInput("there are no words to train vectors on", allowed="captions with words")
    fasttext = need("gensim.models.fasttext", "text", "training word vectors")
    model = fasttext.FastText(
        vector_size=options.dimensions,
        window=options.window,
        negative=options.negative,
        min_count=options.min_count,
        sg=1,
        bucket=NGRAMS,
        seed=options.seed % (1 << 32),
        workers=workers(options.fast),
        epochs=options.epochs,
    )
    model.build_vocab(texts)
    model.train(
        texts,
        total_examples=model.corpus_count,
        epochs=options.epochs,
        callbacks=[EachEpoch(options.epochs, progress)],
    )
    matrix = np.array(model.wv.vectors, np.float32)
    return WordVectors("fasttext", tuple(model.wv.index_to_key), matrix)


def workers(fast: bool) -> int:
    """How many threads train: with more than one the order of updates is not fixed."""
    return max(1, os.cpu_count() or 1) if fast else 1


class EachEpoch:
    """What gensim calls while it trains: reports each epoch."""

    def __init__(self, epochs: int, progress: Progress) -> None:
        self._done, self._epochs, self._progress = 0, epochs, progress

    def on_epoch_end(self, model: object) -> None:
        """One more epoch is done."""
        self._done += 1
        self._progress(self._done, self._epochs)

    def on_train_begin(self, model: object) -> None:
        """Nothing to do."""

    on_train_end = on_epoch_begin = on_train_begin
