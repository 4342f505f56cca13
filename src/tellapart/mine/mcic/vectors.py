"""A vector for each caption: trained on the corpus, made of its words, or given in a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from tellapart.errors import BadInput
from tellapart.mine.captions import Captions
from tellapart.mine.mcic.vectors_given import given_vectors
from tellapart.mine.neighbours.exact import Vectors
from tellapart.models.sentence_vectors import SentenceModel
from tellapart.score.encoder import embed_texts
from tellapart.seeds import digest
from tellapart.store.arrays import ArrayShelf
from tellapart.text.gensim_vectors import ParagraphOptions, train_paragraph_vectors
from tellapart.text.tfidf import tfidf_of_words
from tellapart.text.word_vectors import FORMS, read_vectors

AUTO, PARAGRAPHS, TFIDF, SENTENCES = "auto", "paragraphs", "tf-idf", "sentences:"
MANY = 50_000
"""From so many captions on tf-idf, which is compared exactly, takes longer than it is worth."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class CaptionVectors:
    """Vectors, one a caption, and what a card calls them."""

    name: str
    vectors: Vectors

    def only(self, places: Any) -> CaptionVectors:
        """Those of some captions."""
        return CaptionVectors(self.name, self.vectors[places])

    @property
    def sha256(self) -> str:
        """A hash of the numbers."""
        made = self.vectors
        found = hashlib.sha256()
        for part in (made.data, made.indices, made.indptr) if issparse(made) else (made,):
            found.update(np.ascontiguousarray(part).data)
        return found.hexdigest()


def chosen_spec(captions: Captions, spec: str) -> str:
    """What `auto` stands for: paragraph vectors where there are too many captions for tf-idf."""
    if spec != AUTO:
        return spec
    return PARAGRAPHS if len(captions) >= MANY and find_spec("gensim") else TFIDF


def paragraph_vectors(
    captions: Captions, options: ParagraphOptions, progress: Progress
) -> CaptionVectors:
    """Paragraph vectors trained on the captions (PV-DBOW), kept in the cache."""
    loss = f"{options.negative} negative samples" if options.negative else "hierarchical softmax"
    name = f"PV-DBOW, {options.dimensions} dimensions, {options.epochs} epochs, {loss}"
    name += ", on all cores (another run gives others)" if options.fast else ""

    def train() -> Vectors:
        return train_paragraph_vectors(captions.words, options, progress)

    by = version("gensim") if find_spec("gensim") else ""
    kept = ArrayShelf.on("paragraphs", asdict(options), by, digest(captions.texts))
    return CaptionVectors(name, _kept(kept, train))


def other_vectors(captions: Captions, spec: str, progress: Progress) -> CaptionVectors:
    """Vectors that are not trained here; see `McicOptions.vectors`."""
    if spec == TFIDF:
        return CaptionVectors(TFIDF, tfidf_of_words(captions.words))
    if spec.startswith(SENTENCES):
        model = SentenceModel(spec.removeprefix(SENTENCES))
        kept = ArrayShelf.on("sentences", model.fingerprint, digest(captions.texts))
        watch = lambda _, done, total: progress(done, total)  # noqa: E731
        rows = _kept(kept, lambda: embed_texts(model, captions.texts, watch))
        return CaptionVectors(f"sentence vectors by {model.name}", rows)
    path = Path(spec)
    if path.suffix in (".npy", ".parquet"):
        return CaptionVectors(path.name, given_vectors(path, captions.ids))
    if path.is_file():
        words = read_vectors(path, {word for words in captions.words for word in words})
        means = words.mean_vectors(captions.words)
        return CaptionVectors(f"mean of the word vectors {words.name}", means.vectors)
    raise BadInput(
        f"{spec} names no vectors",
        allowed=f"{AUTO}, {PARAGRAPHS}, {TFIDF}, {SENTENCES}NAME, a file .npy (a row a caption, in "
        f"the corpus's order) or .parquet (columns id and vector), or one of word vectors: {FORMS}",
    )


def _kept(kept: ArrayShelf, make: Callable[[], Vectors]) -> Vectors:
    """What was made before, or what is made now."""
    found = kept.read("vectors")
    if found is not None:
        return found["vectors"]
    vectors = make()
    kept.write("vectors", vectors=vectors)
    return vectors
