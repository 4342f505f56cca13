"""A vector for each caption: trained on the corpus, tf-idf, or given in a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import issparse

from tellapart.errors import BadInput
from tellapart.mine.mcic.captions import Captions
from tellapart.mine.mcic.keeping import Kept
from tellapart.mine.neighbours.distinct import Floats, Vectors
from tellapart.seeds import digest
from tellapart.tables import read_table
from tellapart.text.paragraphs import ParagraphOptions, train_paragraph_vectors
from tellapart.text.tfidf import tfidf

PARAGRAPHS, TFIDF = "paragraphs", "tf-idf"
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
        import hashlib

        parts = [self.vectors]
        if issparse(self.vectors):
            parts = [self.vectors.data, self.vectors.indices, self.vectors.indptr]
        found = hashlib.sha256()
        for part in parts:
            found.update(np.ascontiguousarray(part).data)
        return found.hexdigest()


def paragraph_vectors(
    captions: Captions, options: ParagraphOptions, progress: Progress
) -> CaptionVectors:
    """Paragraph vectors trained on the captions (PV-DBOW), kept in the cache."""
    name = f"PV-DBOW, {options.dimensions} dimensions, {options.epochs} epochs"
    kept = Kept.on("paragraphs", asdict(options), digest(captions.texts))
    found = kept.read("vectors")
    if found is None:
        vectors = train_paragraph_vectors(captions.words, options, progress)
        kept.write("vectors", vectors=vectors)
    else:
        vectors = found["vectors"]
    return CaptionVectors(name, vectors)


def other_vectors(captions: Captions, spec: str) -> CaptionVectors:
    """Vectors that need no training: `tf-idf`, or the path of a file."""
    if spec == TFIDF:
        return CaptionVectors(TFIDF, tfidf([" ".join(words) for words in captions.words]))
    path = Path(spec)
    if path.suffix not in (".npy", ".parquet"):
        raise BadInput(
            f"{spec} names no vectors",
            allowed=f"{PARAGRAPHS}, {TFIDF}, a file .npy (a row a caption, in the corpus's order) "
            "or .parquet (columns id and vector)",
        )
    rows = _from_npy(path) if path.suffix == ".npy" else _from_parquet(path, captions)
    if rows.ndim != 2 or len(rows) != len(captions):
        raise BadInput(
            f"{path.name} has the shape {rows.shape}",
            where=str(path),
            allowed=f"a row for each of the {len(captions):,} captions",
        )
    if not np.isfinite(rows).all():
        raise BadInput(f"{path.name} holds numbers that are not finite", where=str(path))
    return CaptionVectors(path.name, rows)


def _from_npy(path: Path) -> Floats:
    try:
        return np.asarray(np.load(path, allow_pickle=False), np.float32)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path.name} is no array of numbers: {error}", where=str(path)) from None


def _from_parquet(path: Path, captions: Captions) -> Floats:
    table = read_table(path)
    if not {"id", "vector"} <= set(table.columns):
        raise BadInput(
            f"{path.name} has the columns {', '.join(table.columns)}",
            where=str(path),
            allowed="id (of the caption) and vector (a list of numbers)",
        )
    wanted = pl.DataFrame({"id": captions.ids})
    joined = wanted.join(table.select(pl.col("id").cast(pl.String), "vector"), on="id", how="left")
    missing = joined.filter(pl.col("vector").is_null())["id"]
    if len(missing):
        raise BadInput(
            f"{path.name} has no vector for caption {missing[0]} and {len(missing) - 1:,} more",
            where=str(path),
            allowed="a row for each caption",
        )
    return np.array(joined["vector"].to_list(), np.float32)
