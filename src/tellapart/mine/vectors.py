"""Vectors of captions and of images: trained on the corpus, made from words, or from a file.

An image's vector is made from all its captions together (BISON: Hu et al. 2019, section 4.1); a
caption's from its own words (MCIC: Ding et al. 2016, section 3.2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import csr_matrix, issparse

from tellapart.errors import BadInput
from tellapart.files import read_table, require_columns
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.neighbours.exact import Vectors
from tellapart.models.sentence_vectors import SentenceModel
from tellapart.score.encoder import embed_texts
from tellapart.seeds import digest
from tellapart.store.arrays import ArrayShelf
from tellapart.text.gensim_vectors import (
    ParagraphOptions,
    WordOptions,
    train_paragraph_vectors,
    train_word_vectors,
)
from tellapart.text.tfidf import tfidf_of_words
from tellapart.text.word_vectors import FORMS, WordVectors, read_vectors
from tellapart.types import Floats, Floats32, Progress

AUTO, FASTTEXT, PARAGRAPHS, TFIDF, SENTENCES = (
    "auto", "fasttext", "paragraphs", "tf-idf", "sentences:",
)  # fmt: skip
ENOUGH = 20_000
"""Fewer captions than this are too few to train word vectors."""
MANY = 50_000
"""From this many captions on, tf-idf, which needs exact search, takes too long."""
NOT_REPEATABLE = " (on all cores: not reproducible)"


@dataclass(frozen=True, slots=True, eq=False)
class MinedVectors:
    """Vectors, one row per caption or image; `about` goes into the card."""

    rows: Vectors
    about: dict[str, Any]

    def only(self, places: npt.NDArray[np.integer]) -> MinedVectors:
        """Some of the rows."""
        return MinedVectors(self.rows[places], self.about)

    def cosines(self, one: npt.NDArray[np.integer], other: npt.NDArray[np.integer]) -> Floats:
        """The cosine of each row in `one` with the corresponding row in `other`."""
        left, right = self.rows[one], self.rows[other]
        both = [(left, right), (left, left), (right, right)]
        if issparse(self.rows):
            products = [np.asarray(a.multiply(b).sum(axis=1)).ravel() for a, b in both]
        else:
            products = [np.einsum("ij,ij->i", a, b, dtype=np.float64) for a, b in both]
        lengths = np.sqrt(products[1] * products[2])
        return np.asarray(products[0] / np.where(lengths > 0, lengths, 1))

    @property
    def unknown(self) -> npt.NDArray[np.intp]:
        """Rows that are zero: no word of the text has a vector."""
        squares = self.rows.multiply(self.rows) if issparse(self.rows) else self.rows**2
        return np.flatnonzero(np.asarray(squares.sum(axis=1)).ravel() == 0)

    @property
    def sha256(self) -> str:
        """A hash of the numbers."""
        rows = self.rows
        hashed = hashlib.sha256()
        for part in (rows.data, rows.indices, rows.indptr) if issparse(rows) else (rows,):
            hashed.update(np.ascontiguousarray(part).data)
        return hashed.hexdigest()


# Images


@dataclass(frozen=True, slots=True)
class VectorTraining:
    """What vectors trained on the corpus depend on, besides its words."""

    seed: int
    fast: bool
    progress: Progress


def image_vectors(captions: MinedCaptions, spec: str, training: VectorTraining) -> MinedVectors:
    """The vectors of images that `spec` names; see the options of `build bison`."""
    if spec == AUTO:
        spec = FASTTEXT if len(captions) >= ENOUGH and find_spec("gensim") else TFIDF
    if spec == TFIDF:
        about = {"vectors": "tf-idf over all words of all captions"}
        return MinedVectors(tfidf_of_words(captions.image_documents()), about)
    if spec == PARAGRAPHS:
        return _image_paragraphs(captions, training)
    if spec.startswith(SENTENCES):
        return _mean_sentences(captions, spec.removeprefix(SENTENCES), training.progress)
    if spec == FASTTEXT:
        words, about = _trained_words(captions, training)
    elif Path(spec).is_file():
        words = _read_words(Path(spec), captions)
        about = {"vectors": f"mean of {words.name} over all words of all captions"}
    else:
        raise BadInput(
            f"{spec} names no vectors",
            allowed=f"auto, fasttext, tf-idf, paragraphs, {SENTENCES}NAME, or a file: {FORMS}",
        )
    means = words.mean_vectors(captions.image_documents())
    counts = {
        "dimensions": words.matrix.shape[1],
        "words_with_a_vector": len(words.words),
        "share_of_words_found": round(means.known, 4),
    }
    return MinedVectors(means.vectors, about | counts)


def _trained_words(
    captions: MinedCaptions, training: VectorTraining
) -> tuple[WordVectors, dict[str, Any]]:
    options = WordOptions(seed=training.seed, fast=training.fast)

    def train() -> dict[str, Any]:
        words = train_word_vectors(captions.words, options, training.progress)
        return {"words": np.array(words.words), "matrix": words.matrix}

    arrays = _cached(train, FASTTEXT, asdict(options), _gensim(), _images_hash(captions))
    about = {
        "vectors": "mean of fastText vectors trained on the captions, over all words of all "
        "captions" + NOT_REPEATABLE * options.fast,
        "training": asdict(options),
    }
    return WordVectors(FASTTEXT, tuple(arrays["words"].tolist()), arrays["matrix"]), about


def _image_paragraphs(captions: MinedCaptions, training: VectorTraining) -> MinedVectors:
    options = ParagraphOptions(seed=training.seed, fast=training.fast)

    def train() -> dict[str, Any]:
        documents = captions.image_documents()
        return {"rows": train_paragraph_vectors(documents, options, training.progress)}

    key = ("paragraphs of images", asdict(options), _gensim(), _images_hash(captions))
    rows = _cached(train, *key)["rows"]
    about = {
        "vectors": "PV-DBOW, an image's captions together being one paragraph"
        + NOT_REPEATABLE * options.fast,
        "training": asdict(options),
    }
    return MinedVectors(rows, about)


def _mean_sentences(captions: MinedCaptions, name: str, progress: Progress) -> MinedVectors:
    rows = _sentence_rows(captions, SentenceModel(name), progress)
    ones = np.ones(len(captions), np.float32)
    of_image = csr_matrix((ones, (captions.image_of, np.arange(len(captions)))))
    about = {"vectors": f"mean of the sentence vectors of all captions by {name}"}
    return MinedVectors(of_image @ rows, {**about, "dimensions": rows.shape[1]})


def _images_hash(captions: MinedCaptions) -> str:
    return digest(captions.texts, captions.image_of.tolist())


# Captions


def chosen_spec(captions: MinedCaptions, spec: str) -> str:
    """The meaning of `auto`: paragraph vectors if there are too many captions for tf-idf."""
    if spec != AUTO:
        return spec
    return PARAGRAPHS if len(captions) >= MANY and find_spec("gensim") else TFIDF


def paragraph_vectors(
    captions: MinedCaptions, options: ParagraphOptions, progress: Progress
) -> MinedVectors:
    """Paragraph vectors trained on the captions (PV-DBOW), cached."""
    loss = f"{options.negative} negative samples" if options.negative else "hierarchical softmax"
    name = f"PV-DBOW, {options.dimensions} dimensions, {options.epochs} epochs, {loss}"
    name += ", on all cores (not reproducible)" if options.fast else ""

    def train() -> dict[str, Any]:
        return {"vectors": train_paragraph_vectors(captions.words, options, progress)}

    key = ("paragraphs", asdict(options), _gensim(), digest(captions.texts))
    return MinedVectors(_cached(train, *key)["vectors"], {"vectors": name})


def caption_vectors(captions: MinedCaptions, spec: str, progress: Progress) -> MinedVectors:
    """Vectors of captions that are not trained here; see the options of `build mcic`."""
    if spec == TFIDF:
        return MinedVectors(tfidf_of_words(captions.words), {"vectors": TFIDF})
    if spec.startswith(SENTENCES):
        model = SentenceModel(spec.removeprefix(SENTENCES))
        about = {"vectors": f"sentence vectors by {model.name}"}
        return MinedVectors(_sentence_rows(captions, model, progress), about)
    path = Path(spec)
    if path.suffix in (".npy", ".parquet"):
        return MinedVectors(vectors_in_file(path, captions.ids), {"vectors": path.name})
    if path.is_file():
        words = _read_words(path, captions)
        about = {"vectors": f"mean of the word vectors {words.name}"}
        return MinedVectors(words.mean_vectors(captions.words).vectors, about)
    raise BadInput(
        f"{spec} names no vectors",
        allowed=f"{AUTO}, {PARAGRAPHS}, {TFIDF}, {SENTENCES}NAME, a .npy file (one row per "
        "caption, in the corpus's order), a .parquet file (columns id and vector), or word "
        f"vectors: {FORMS}",
    )


def vectors_in_file(path: Path, ids: Sequence[str]) -> Floats32:
    """A row for each caption: from a .npy file in order, or from a .parquet file by id."""
    try:
        array = np.load(path, allow_pickle=False) if path.suffix == ".npy" else _listed(path, ids)
        rows = np.asarray(array, np.float32)
    except (OSError, ValueError) as error:
        reason = f"{path.name} is not a table of vectors of one length: {error}"
        raise BadInput(reason, where=str(path)) from None
    if rows.ndim != 2 or len(rows) != len(ids):
        raise BadInput(
            f"{path.name} has the shape {rows.shape}",
            where=str(path),
            allowed=f"a row for each of the {len(ids):,} captions",
        )
    if not np.isfinite(rows).all():
        raise BadInput(f"{path.name} has numbers that are not finite", where=str(path))
    return rows


def _listed(path: Path, ids: Sequence[str]) -> list[list[float]]:
    table = read_table(path)
    require_columns(table, ["id", "vector"], path)
    wanted = pl.DataFrame({"id": list(ids)})
    listed = table.select(pl.col("id").cast(pl.String), "vector").unique("id", keep="first")
    joined = wanted.join(listed, on="id", how="left", maintain_order="left")
    missing = joined.filter(pl.col("vector").is_null())["id"]
    if len(missing):
        more = f" and {len(missing) - 1:,} others" if len(missing) > 1 else ""
        raise BadInput(
            f"{path.name} has no vector for caption {missing[0]}{more}",
            where=str(path),
            allowed="a row for each caption",
        )
    vectors: list[list[float]] = joined["vector"].to_list()
    return vectors


# Both


def _sentence_rows(captions: MinedCaptions, model: SentenceModel, progress: Progress) -> Floats32:
    def encode() -> dict[str, Any]:
        return {"vectors": embed_texts(model, captions.texts, progress)}

    key = ("sentences", model.fingerprint, digest(captions.texts))
    rows: Floats32 = _cached(encode, *key)["vectors"]
    return rows


def _read_words(path: Path, captions: MinedCaptions) -> WordVectors:
    return read_vectors(path, {word for words in captions.words for word in words})


def _gensim() -> str:
    return version("gensim") if find_spec("gensim") else ""


def _cached(compute: Callable[[], dict[str, Any]], *key: Any) -> dict[str, Any]:
    """The cached result for the same captions and settings, or a new computation."""
    shelf = ArrayShelf.on(*key)
    arrays = shelf.read("vectors")
    if arrays is None:
        arrays = compute()
        shelf.write("vectors", **arrays)
    return dict(arrays)
