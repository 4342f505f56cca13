"""A vector for each image, from what its captions say (Hu et al. 2019, section 4.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, issparse

from tellapart.errors import BadInput
from tellapart.mine.captions import Captions
from tellapart.mine.keeping import Kept
from tellapart.mine.neighbours.exact import Vectors
from tellapart.models.sentence_vectors import SentenceModel
from tellapart.score.encoder import embed_texts
from tellapart.seeds import digest
from tellapart.text.vectors.files import FORMS, read_vectors
from tellapart.text.vectors.paragraphs import ParagraphOptions, train_paragraph_vectors
from tellapart.text.vectors.tfidf import tfidf_of_words
from tellapart.text.vectors.words import WordOptions, WordVectors, train_word_vectors

ENOUGH = 20_000
"""Fewer captions than this say too little to train word vectors on."""
SENTENCES = "sentences:"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class ImageVectors:
    """One row an image; `about` goes into the card."""

    vectors: Vectors
    about: dict[str, Any]

    @property
    def unknown(self) -> npt.NDArray[np.intp]:
        """Images without a vector: their rows are zero."""
        squares = self.vectors.multiply(self.vectors) if issparse(self.vectors) else self.vectors**2
        return np.flatnonzero(np.asarray(squares.sum(axis=1)).ravel() == 0)

    @property
    def sha256(self) -> str:
        """A hash of the numbers."""
        made = self.vectors
        found = hashlib.sha256()
        for part in (made.data, made.indices, made.indptr) if issparse(made) else (made,):
            found.update(np.ascontiguousarray(part).data)
        return found.hexdigest()


@dataclass(frozen=True, slots=True)
class Training:
    """What vectors that are trained on the corpus depend on, beside its words."""

    seed: int
    fast: bool
    progress: Progress


def documents(captions: Captions) -> list[list[str]]:
    """For each image all words of all its captions."""
    found: list[list[str]] = [[] for _ in captions.images]
    for image, words in zip(captions.image_of.tolist(), captions.words, strict=True):
        found[image] += words
    return found


def image_vectors(captions: Captions, spec: str, training: Training) -> ImageVectors:
    """The vectors that `spec` names; see `BisonOptions.vectors`."""
    if spec == "auto":
        spec = "fasttext" if len(captions) >= ENOUGH and find_spec("gensim") else "tf-idf"
    if spec == "tf-idf":
        name = "tf-idf over all words of all captions"
        return ImageVectors(tfidf_of_words(documents(captions)), {"vectors": name})
    if spec == "paragraphs":
        return _paragraphs(captions, training)
    if spec.startswith(SENTENCES):
        return _sentences(captions, spec.removeprefix(SENTENCES), training)
    about: dict[str, Any]
    if spec == "fasttext":
        words, about = _trained(captions, training)
    elif Path(spec).is_file():
        words = read_vectors(spec, {word for words in captions.words for word in words})
        about = {"vectors": f"mean of {words.name} over all words of all captions"}
    else:
        raise BadInput(
            f"{spec} names no vectors",
            allowed=f"auto, fasttext, tf-idf, paragraphs, {SENTENCES}NAME, or a file: {FORMS}",
        )
    means = words.mean_vectors(documents(captions))
    about |= {
        "dimensions": words.matrix.shape[1],
        "words_with_a_vector": len(words.words),
        "share_of_words_found": round(means.known, 4),
    }
    return ImageVectors(means.vectors, about)


def _trained(captions: Captions, training: Training) -> tuple[WordVectors, dict[str, Any]]:
    options = WordOptions(seed=training.seed, fast=training.fast)

    def train() -> dict[str, Any]:
        made = train_word_vectors(captions.words, options, training.progress)
        return {"words": np.array(made.words), "matrix": made.matrix}

    found = _kept("fasttext", asdict(options), captions, train)
    about = {
        "vectors": "mean of fastText vectors trained on the captions, over all words of all "
        "captions" + NOT_REPEATABLE * options.fast,
        "training": asdict(options),
    }
    return WordVectors("fasttext", tuple(found["words"].tolist()), found["matrix"]), about


def _paragraphs(captions: Captions, training: Training) -> ImageVectors:
    options = ParagraphOptions(seed=training.seed, fast=training.fast)

    def train() -> dict[str, Any]:
        return {"rows": train_paragraph_vectors(documents(captions), options, training.progress)}

    found = _kept("paragraphs of images", asdict(options), captions, train)
    about = {
        "vectors": "PV-DBOW, an image's captions together being one paragraph"
        + NOT_REPEATABLE * options.fast,
        "training": asdict(options),
    }
    return ImageVectors(found["rows"], about)


def _sentences(captions: Captions, name: str, training: Training) -> ImageVectors:
    model = SentenceModel(name)

    def encode() -> dict[str, Any]:
        watch = lambda _, done, total: training.progress(done, total)  # noqa: E731
        return {"rows": embed_texts(model, captions.texts, watch)}

    rows = _kept("sentences", {"model": model.fingerprint}, captions, encode)["rows"]
    ones = np.ones(len(captions), np.float32)
    of_image = csr_matrix((ones, (captions.image_of, np.arange(len(captions)))))
    about = {"vectors": f"mean of the sentence vectors of all captions by {name}"}
    return ImageVectors(of_image @ rows, about | {"dimensions": rows.shape[1]})


NOT_REPEATABLE = " (on all cores: another run gives others)"


def _kept(
    what: str, options: dict[str, Any], captions: Captions, make: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What was made before from the same captions in the same way, or what is made now."""
    by = version("gensim") if find_spec("gensim") else ""
    kept = Kept.on(what, options, by, digest(captions.texts, captions.image_of.tolist()))
    found = kept.read("vectors")
    if found is None:
        found = make()
        kept.write("vectors", **found)
    return dict(found)
