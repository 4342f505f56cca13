"""Word vectors and their file formats: fastText, word2vec and GloVe.

The format is recognized from a file's first bytes. Published files hold millions of words, a corpus
a few thousand: with `words`, only those are kept, whatever the file's size.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from tellapart.errors import BadInput, need
from tellapart.text.tfidf import word_counts
from tellapart.types import Floats, Floats32, Ints32

Texts = Sequence[Sequence[str]]
"""Texts as lists of words."""
FASTTEXT = (793712314).to_bytes(4, "little")
"""The first bytes of a binary fastText file."""
CHUNK = 1 << 22
MEANS = 8192
"""Texts whose means are made at a time, as double precision doubles memory."""
FORMS = (
    "fastText .vec or .bin, word2vec as text or binary, GloVe as text, each also with .gz: "
    "one row per word with its numbers, with or without a first line that counts both"
)


@dataclass(frozen=True, eq=False)
class MeanVectors:
    """One vector per text; zero for the rows in `unknown`, which have no word with a vector.

    `known` is the share of all words of the texts (each as often as it occurs) with a vector.
    """

    vectors: Floats32
    known: float
    unknown: Ints32


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors, [words, dimensions]; `name` identifies them on cards."""

    name: str
    words: tuple[str, ...]
    matrix: Floats32

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each word."""
        return {word: place for place, word in enumerate(self.words)}

    def mean_vectors(self, texts: Texts) -> MeanVectors:
        """The mean vector of each text's words; words without a vector are left out."""
        counts = word_counts(texts, self.places)
        with_vector = np.asarray(counts.sum(axis=1)).ravel()
        total = sum(len(words) for words in texts)
        sums = np.empty((len(texts), self.matrix.shape[1]), np.float32)
        for start in range(0, len(texts), MEANS):
            part = slice(start, start + MEANS)
            sums[part] = self._sums(counts[part]) / np.maximum(with_vector[part], 1)[:, None]
        unknown = np.flatnonzero(~sums.any(axis=1)).astype(np.int32)
        return MeanVectors(sums, float(with_vector.sum()) / max(1, total), unknown)

    def _sums(self, counts: Any) -> Floats:
        """Sums in double precision; only the vectors of words that occur are widened."""
        used, places = np.unique(counts.indices, return_inverse=True)
        shape = (counts.shape[0], len(used))
        mine = type(counts)((counts.data, places, counts.indptr), shape=shape)
        return np.asarray(mine @ self.matrix[used].astype(np.float64))


def read_vectors(path: Path | str, words: Collection[str] | None = None) -> WordVectors:
    """The vectors of a file, for all its words or for some.

    A word that is not in the file gets the vector of one that differs only in capitals. From
    fastText's binary files every word gets a vector, if necessary from its character n-grams.
    """
    path = Path(path)
    try:
        with _opened(path) as file:
            head = file.read(CHUNK)
        if head.startswith(FASTTEXT):
            return _from_fasttext(path, words)
        layout = _layout(head, path)
        with _opened(path) as file:
            return _read_rows(path, layout, file, words)
    except FileNotFoundError:
        raise BadInput(
            f"{path.name} does not exist", where=str(path.absolute()), todo="check the path"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise BadInput(f"{path.name} is not a complete gzip file", where=str(path)) from None
    except OSError as error:
        raise BadInput(f"cannot read {path.name}: {error.strerror}", where=str(path)) from None


def _opened(path: Path) -> BinaryIO:
    if path.name.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path))
    return path.open("rb", CHUNK)


@dataclass(frozen=True, slots=True)
class _Layout:
    """The format of the rows; `rows` is the number in the first line, if there is such a line."""

    dimensions: int
    rows: int | None
    binary: bool

    def numbers(self, row: bytes) -> Floats32:
        """The numbers of a row, from the part after the word."""
        if self.binary:
            return np.frombuffer(row, "<f4")
        return np.array([float(field) for field in row.split()], np.float32)


def _layout(head: bytes, path: Path) -> _Layout:
    first, _, rest = head.partition(b"\n")
    fields = first.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        rows, dimensions = map(int, fields)
        if dimensions and rows:
            second = rest.partition(b"\n")[0].split()
            return _Layout(dimensions, rows, not _are_numbers(second[-dimensions:], dimensions))
    elif len(fields) > 2 and _are_numbers(fields[1:], len(fields) - 1):
        return _Layout(len(fields) - 1, None, False)
    raise BadInput(f"{path.name} has no word vectors", where=str(path), allowed=FORMS)


def _are_numbers(fields: list[bytes], number: int) -> bool:
    try:
        return len([float(field) for field in fields]) == number
    except ValueError:
        return False


def _read_rows(
    path: Path, layout: _Layout, file: BinaryIO, words: Collection[str] | None
) -> WordVectors:
    wanted = None if words is None else set(words)
    exact: dict[str, Floats32] = {}
    other: dict[str, Floats32] = {}
    seen = 0
    for word, row in (_binary_rows if layout.binary else _text_rows)(file, layout):
        seen += 1
        into, key = (exact, word) if wanted is None or word in wanted else (other, word.lower())
        if key in into or (into is other and wanted is not None and key not in wanted):
            continue
        try:
            into[key] = layout.numbers(row)
        except ValueError:
            raise _bad_row(path, word, seen, layout) from None
        if len(into[key]) != layout.dimensions or not np.isfinite(into[key]).all():
            raise _bad_row(path, word, seen, layout)
    if layout.rows is not None and seen != layout.rows:
        raise BadInput(
            f"{path.name} ends after {seen:,} of {layout.rows:,} words",
            where=str(path),
            todo="download the file again",
        )
    rows = other | exact
    matrix = np.array([*rows.values()], np.float32).reshape(len(rows), layout.dimensions)
    return WordVectors(path.name, tuple(rows), matrix)


def _bad_row(path: Path, word: str, row: int, layout: _Layout) -> BadInput:
    return BadInput(
        f"the vector of {word!r} in {path.name} differs from the others in format",
        where=f"{path}, row {row:,}",
        allowed=f"{layout.dimensions} numbers",
    )


def _text_rows(file: BinaryIO, layout: _Layout) -> Iterator[tuple[str, bytes]]:
    """Words and the rest of each row; words in GloVe may contain spaces."""
    if layout.rows is not None:
        file.readline()
    for line in file:
        row = line.rstrip()
        if not row:
            continue
        word, _, numbers = row.partition(b" ")
        if numbers.count(b" ") >= layout.dimensions:
            word = row.rsplit(b" ", layout.dimensions)[0]
            numbers = row[len(word) + 1 :]
        yield word.decode(errors="replace"), numbers


def _binary_rows(file: BinaryIO, layout: _Layout) -> Iterator[tuple[str, bytes]]:
    """Words, a space, then four bytes for each number; some writers end rows with a line feed."""
    file.readline()
    size = 4 * layout.dimensions
    data, at = b"", 0
    for _ in range(layout.rows or 0):
        space = data.find(b" ", at)
        while space < 0 or len(data) < space + 1 + size:
            more = file.read(CHUNK)
            if not more:
                return
            data, at = data[at:] + more, 0
            space = data.find(b" ")
        yield (
            data[at:space].lstrip(b"\n").decode(errors="replace"),
            data[space + 1 : space + 1 + size],
        )
        at = space + 1 + size


def _from_fasttext(path: Path, words: Collection[str] | None) -> WordVectors:
    fasttext = need("gensim.models.fasttext", "text", "a binary file of fastText")
    try:
        model = fasttext.load_facebook_vectors(str(path))
    except Exception as error:  # gensim raises many kinds for broken files
        reason = str(error).partition("\n")[0]
        raise BadInput(
            f"{path.name} is not a complete fastText file: {reason}", where=str(path)
        ) from None
    chosen = tuple(model.index_to_key if words is None else dict.fromkeys(words))
    rows = [np.asarray(model[word], np.float32) for word in chosen]
    return WordVectors(path.name, chosen, np.array(rows, np.float32).reshape(-1, model.vector_size))
