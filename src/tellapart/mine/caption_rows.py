"""Captions in shards, read a shard at a time, and the vectors of each: nothing is in memory whole.

A corpus in the toolkit's own form and a Parquet table are read where they are; any other form is
read whole first, and written down as the former.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tellapart.errors import BadInput
from tellapart.files import require_columns, write_json, write_parquet
from tellapart.mine.neighbours.disk_index import RowShard
from tellapart.parquet import schema_of, try_parquet, whole_parquet
from tellapart.text.tokens import tokens
from tellapart.text.word_vectors import FORMS, MEANS, WordVectors, read_vectors
from tellapart.types import Floats32
from tellapart.work.shard import Shard, ShardResult

SHARD = 65_536
"""Captions of a shard."""
BATCH = 256
"""Texts that an encoder is given at a time."""
SENTENCES = "sentences:"
COLUMNS = {"id": ("id", "caption_id"), "image": ("image_id", "image"), "text": ("text", "caption")}


@dataclass(frozen=True, slots=True)
class CaptionFile:
    """Captions in a Parquet file: the columns of their ids, images and texts (no id: the row)."""

    path: Path
    rows: int
    image: str
    text: str
    id: str = ""

    @classmethod
    def of(cls, path: Path) -> CaptionFile:
        """A table whose columns have one of the usual names."""
        with whole_parquet(path):
            schema = schema_of(path)
        found = {
            what: next((name for name in names if name in schema), "")
            for what, names in COLUMNS.items()
        }
        require_columns(
            pl.DataFrame(schema=schema),
            [found[what] or names[-1] for what, names in COLUMNS.items() if what != "id"],
            path,
        )
        names = [name for name in found.values() if name]
        try_parquet(path, path, names, SHARD)
        with whole_parquet(path):
            rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
        if not rows:
            raise BadInput(f"{path.name} has no captions", where=str(path))
        return cls(path, rows, **found)

    def part(self, first: int, rows: int) -> pl.DataFrame:
        """Some captions: id, image, text."""
        names = [name for name in (self.id, self.image, self.text) if name]
        with whole_parquet(self.path):
            table = pl.scan_parquet(self.path).select(names).slice(first, rows).collect()
        own = table[self.id] if self.id else pl.int_range(first, first + rows, eager=True)
        part = pl.DataFrame(
            {"id": own.cast(pl.String), "image": table[self.image], "text": table[self.text]}
        )
        if part["text"].dtype != pl.String or part.null_count().sum_horizontal().item():
            raise BadInput(
                f"rows {first:,} to {first + rows - 1:,} of {self.path.name} lack an image or text",
                where=str(self.path),
                allowed="an image and a text in each row",
            )
        return part

    def shards(self) -> list[Shard]:
        """The shards, named by their places."""
        return [
            Shard(f"{first // SHARD:06d}.rows", min(SHARD, self.rows - first),
                  (first, min(SHARD, self.rows - first)))
            for first in range(0, self.rows, SHARD)
        ]  # fmt: skip


Encode = Callable[[Sequence[str]], Iterator[tuple[Any, Floats32]]]
"""Texts become rows of numbers, some at a time: their places, and a row for each."""


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """What makes vectors: a file of word vectors, a sentence encoder, or a model that embeds.

    `words` is where the vectors of a file were put, so that each worker need not read it all.
    """

    spec: str
    words: Path | None = None

    @classmethod
    def of(cls, spec: str, folder: Path) -> TextEncoder:
        """The encoder that is named; a folder keeps what workers need of it."""
        path = Path(spec)
        if not path.is_file():
            return cls(spec)
        if not (folder / "words.json").exists():
            vectors = read_vectors(path)
            folder.mkdir(parents=True, exist_ok=True)
            np.save(folder / "words.npy", vectors.matrix)
            write_json(folder / "words.json", [vectors.name, list(vectors.words)])
        return cls(spec, folder)

    def open(self) -> Encode:
        """Load it."""
        if self.words is not None:
            name, words = json.loads((self.words / "words.json").read_text("utf-8"))
            matrix = np.load(self.words / "words.npy", mmap_mode="r", allow_pickle=False)
            known = WordVectors(name, tuple(words), matrix)

            def means(texts: Sequence[str]) -> Iterator[tuple[Any, Floats32]]:
                for start in range(0, len(texts), MEANS):
                    part = texts[start : start + MEANS]
                    made = known.mean_vectors([tokens(text) for text in part]).vectors
                    yield slice(start, start + len(part)), made

            return means
        model = self._model()

        def encode(texts: Sequence[str]) -> Iterator[tuple[Any, Floats32]]:
            # Texts of one length go together: less of a batch is filling.
            order = sorted(range(len(texts)), key=lambda k: (len(texts[k]), texts[k]))
            for start in range(0, len(order), BATCH):
                places = order[start : start + BATCH]
                made = model.embed_texts([texts[k] for k in places])
                yield places, np.asarray(made, np.float32)

        return encode

    def _model(self) -> Any:
        from tellapart.models.names import load
        from tellapart.models.sentence_vectors import SentenceModel

        if self.spec.startswith(SENTENCES):
            return SentenceModel(self.spec.removeprefix(SENTENCES))
        model = load(self.spec)
        if not hasattr(model, "embed_texts"):
            raise BadInput(
                f"{self.spec} makes no vectors of texts",
                allowed=f"{SENTENCES}NAME, a model with embed_texts, or word vectors: {FORMS}",
            )
        return model

    @property
    def about(self) -> str:
        """For the card."""
        return f"mean of the word vectors {Path(self.spec).name}" if self.words else self.spec


@dataclass(frozen=True, slots=True)
class VectorTask:
    """What workers do first: vectors of unit length, and numbers for texts and images."""

    captions: CaptionFile
    encoder: TextEncoder

    def open(self) -> Callable[[tuple[int, int]], ShardResult]:
        """Load the encoder."""
        encode = self.encoder.open()

        def vectors(part: tuple[int, int]) -> ShardResult:
            table = self.captions.part(*part)
            file = RowsInMemory(len(table))
            for places, rows in encode(table["text"].to_list()):
                file.room(rows.shape[1])[places] = _unit(rows)
            return ShardResult(
                file.ended(_numbers(table["text"]), _numbers(table["image"])), {"width": file.width}
            )

        return vectors


class RowsInMemory:
    """The content of a `RowShard` file while it is made: vectors are in memory once."""

    def __init__(self, rows: int) -> None:
        self.rows, self.width = rows, 0
        self._data = bytearray()

    def room(self, width: int) -> Floats32:
        """Where the vectors go: a row for each."""
        if not self.width:
            self.width = width
            self._data = bytearray(self.rows * (4 * width + 16))
        vectors = np.frombuffer(self._data, np.float32, self.rows * width)
        return vectors.reshape(self.rows, width)

    def ended(self, texts: npt.NDArray[np.uint64], images: npt.NDArray[np.uint64]) -> bytearray:
        """The content, with the numbers of texts and images."""
        start = 4 * self.rows * self.width
        self._data[start : start + 8 * self.rows] = texts.tobytes()
        self._data[start + 8 * self.rows :] = images.tobytes()
        return self._data


def _unit(rows: Floats32) -> Floats32:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _numbers(texts: pl.Series) -> npt.NDArray[np.uint64]:
    """A number for each text: two of a billion texts share one by chance once in 37 such sets."""
    values = (hashlib.blake2b(str(text).encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(values), np.uint64)


def row_shards(captions: CaptionFile, folder: Path, width: int) -> list[RowShard]:
    """The files of vectors, all made."""
    return [RowShard(folder / one.name, one.given[0], one.size, width) for one in captions.shards()]


def caption_file(source: Path, folder: Path) -> CaptionFile:
    """The captions of a corpus, where they are, or written down in a folder."""
    own = source / "captions.parquet"
    if own.is_file():
        return CaptionFile.of(own)
    if source.is_file() and source.suffix.lower() == ".parquet":
        return CaptionFile.of(source)
    from tellapart.corpus.reader import read_corpus

    written = folder / "captions.parquet"
    if not written.exists():
        write_parquet(written, read_corpus(source).captions)
    return CaptionFile.of(written)
