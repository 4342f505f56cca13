"""Paragraph vectors: one vector a text, trained to predict the text's words (PV-DBOW).

Le & Mikolov 2014, section 2.3, by gensim. Ding et al. 2016 search neighbours of captions with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart.errors import BadInput
from tellapart.text.needing import need
from tellapart.text.vectors.words import EachEpoch, Floats, Progress, Texts, workers


@dataclass(frozen=True, slots=True)
class ParagraphOptions:
    """How paragraph vectors are trained.

    `negative` is the number of words sampled against each word, 0 for hierarchical softmax. The
    paper's 5 epochs leave gensim's vectors near random; they settle from 20. With `fast` all
    cores train at once: quicker, but the vectors differ from run to run.
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
    progress: Progress = lambda done, total: None,
) -> Floats:
    """One vector a text, [texts, dimensions], zero for a text without words.

    The same each time unless `options.fast`.
    """
    if not any(texts):
        raise BadInput("there are no words to train vectors on", allowed="captions with words")
    doc2vec = need("gensim.models.doc2vec", "text", "training paragraph vectors")
    model = doc2vec.Doc2Vec(
        dm=0,
        dbow_words=0,
        vector_size=options.dimensions,
        negative=options.negative,
        hs=int(options.negative == 0),
        min_count=options.min_count,
        sample=0,
        seed=options.seed % (1 << 32),
        workers=workers(options.fast),
        epochs=options.epochs,
    )
    tagged = _Tagged(texts, doc2vec.TaggedDocument)
    model.build_vocab(tagged)
    model.train(
        tagged,
        total_examples=len(texts),
        epochs=options.epochs,
        callbacks=[EachEpoch(options.epochs, progress)],
    )
    vectors = np.array(model.dv.vectors, np.float32)
    vectors[[place for place, words in enumerate(texts) if not words]] = 0
    return vectors


@dataclass(frozen=True, slots=True)
class _Tagged:
    """Texts as gensim wants them, once for each epoch."""

    texts: Texts
    document: Any

    def __iter__(self) -> Iterator[Any]:
        for place, words in enumerate(self.texts):
            yield self.document(words, [place])
