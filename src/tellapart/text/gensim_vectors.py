"""Vectors of words and of whole texts, trained on a corpus's own captions by gensim.

For words: fastText (Bojanowski et al. 2017), where a word's vector is the sum of its character
n-grams' vectors. For texts: paragraph vectors (Le & Mikolov 2014, section 2.3, PV-DBOW), trained to
predict a text's words; Ding et al. 2016 use them to search for neighbours of captions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart.errors import BadInput, need
from tellapart.text.word_vectors import Texts, WordVectors
from tellapart.types import Floats32, Progress, silent

TRAINING = "training vectors"
"""The name of the phase in progress reports."""
NGRAMS = 1 << 18
"""Buckets for character n-grams: gensim's two million take 800 MB, and captions have far fewer."""


@dataclass(frozen=True, slots=True)
class WordOptions:
    """How word vectors are trained (fastText's skip-gram with negative sampling).

    With `fast`, all cores train together: faster, but the vectors differ from run to run.
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
    progress: Progress = silent,
) -> WordVectors:
    """FastText vectors of all words of some texts; reproducible unless `options.fast`."""
    _check(texts)
    fasttext = need("gensim.models.fasttext", "text", "training word vectors")
    model = fasttext.FastText(window=options.window, sg=1, bucket=NGRAMS, **_settings(options))
    _train(model, texts, progress)
    matrix = np.array(model.wv.vectors, np.float32)
    return WordVectors("fasttext", tuple(model.wv.index_to_key), matrix)


@dataclass(frozen=True, slots=True)
class ParagraphOptions:
    """How paragraph vectors are trained.

    `negative` is the number of words sampled against each word, 0 for hierarchical softmax. With
    the paper's 5 epochs, gensim's vectors stay nearly random; they are stable from 20 on. With
    `fast`, all cores train together: faster, but the vectors differ from run to run.
    """

    dimensions: int = 256
    epochs: int = 20
    negative: int = 5
    min_count: int = 1
    seed: int = 0
    fast: bool = False


def train_paragraph_vectors(
    texts: Texts,
    options: ParagraphOptions = ParagraphOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Floats32:
    """One vector per text, [texts, dimensions], zero for a text without words.

    Reproducible unless `options.fast`.
    """
    model = _paragraph_model(texts, options, progress)
    vectors = np.array(model.dv.vectors, np.float32)
    vectors[[place for place, words in enumerate(texts) if not words]] = 0
    return vectors


@dataclass(frozen=True, slots=True, eq=False)
class ParagraphWords:
    """The output layer of trained paragraph vectors, from which a new text's vector is inferred.

    `outputs` has one row per word: the higher its inner product with a text's vector, the likelier
    the word is in the text. `counts` has the frequency of each word; negative words are sampled by
    counts to the power 0.75, `negative` of them for each word of a text.
    """

    words: tuple[str, ...]
    outputs: Floats32
    counts: Floats32
    negative: int


def train_paragraph_words(
    texts: Texts,
    options: ParagraphOptions = ParagraphOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> ParagraphWords:
    """Train the output layer for inferring vectors of new texts; needs negative sampling."""
    if not options.negative:
        raise BadInput("hierarchical softmax gives words no vectors", allowed="negative above 0")
    model = _paragraph_model(texts, options, progress)
    words = tuple(model.wv.index_to_key)
    counts = np.array([model.wv.get_vecattr(word, "count") for word in words], np.float32)
    return ParagraphWords(words, np.array(model.syn1neg, np.float32), counts, options.negative)


def _paragraph_model(texts: Texts, options: ParagraphOptions, progress: Progress) -> Any:
    _check(texts)
    doc2vec = need("gensim.models.doc2vec", "text", "training paragraph vectors")
    softmax = int(options.negative == 0)
    model = doc2vec.Doc2Vec(dm=0, dbow_words=0, hs=softmax, sample=0, **_settings(options))
    _train(model, _Tagged(texts, doc2vec.TaggedDocument), progress)
    return model


@dataclass(frozen=True, slots=True)
class _Tagged:
    """Texts in gensim's format, iterated once per epoch."""

    texts: Texts
    document: Any

    def __iter__(self) -> Iterator[Any]:
        for place, words in enumerate(self.texts):
            yield self.document(words, [place])


def _check(texts: Texts) -> None:
    if not any(texts):
        raise BadInput("there are no words to train vectors on", allowed="captions with words")


def _settings(options: WordOptions | ParagraphOptions) -> dict[str, Any]:
    """The settings shared by both kinds of vectors, under gensim's names."""
    return {
        "vector_size": options.dimensions,
        "epochs": options.epochs,
        "negative": options.negative,
        "min_count": options.min_count,
        "seed": options.seed % (1 << 32),
        # With more than one thread the order of updates is not fixed.
        "workers": os.cpu_count() or 1 if options.fast else 1,
    }


def _train(model: Any, texts: Any, progress: Progress) -> None:
    model.build_vocab(texts)
    each_epoch = EachEpoch(model.epochs, progress)
    model.train(
        texts, total_examples=model.corpus_count, epochs=model.epochs, callbacks=[each_epoch]
    )


class EachEpoch:
    """A gensim callback that reports each epoch."""

    def __init__(self, epochs: int, progress: Progress) -> None:
        self._done, self._epochs, self._progress = 0, epochs, progress

    def on_epoch_end(self, model: object) -> None:
        """Report one more epoch."""
        self._done += 1
        self._progress(TRAINING, self._done, self._epochs)

    def on_train_begin(self, model: object) -> None:
        """Nothing to do."""

    on_train_end = on_epoch_begin = on_train_begin
