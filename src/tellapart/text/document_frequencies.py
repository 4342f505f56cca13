"""In how many images' references an n-gram occurs: what CIDEr weighs n-grams by."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.tables import whole_file
from tellapart.text.ngram_counts import NGramCounts
from tellapart.text.ngram_index import NGramIndex
from tellapart.text.references import ReferenceSets
from tellapart.text.sentences import Ids, Sentences, Starts

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DocumentFrequencies:
    """`counts[k - 1][id]` documents have that n-gram of length k; there are `documents` of them.

    A document is all references of one image.
    """

    index: NGramIndex
    counts: tuple[Ids, ...]
    documents: int

    @classmethod
    def of(cls, references: Sequence[Sequence[str]], n: int = 4) -> DocumentFrequencies:
        """From the tokenised references of each image.

        >>> found = DocumentFrequencies.of([["a dog", "a cat"], ["a dog"]], n=2)
        >>> dict(zip(found.index.words, found.counts[0].tolist(), strict=True))
        {'a': 2, 'dog': 2, 'cat': 1}
        """
        many = np.fromiter(map(len, references), np.int64, len(references))
        starts = np.concatenate([[0], np.cumsum(many)])
        grams = NGramCounts.of(Sentences.of(list(chain.from_iterable(references))), n)
        return cls.of_counts(grams, starts)

    @classmethod
    def of_counts(cls, grams: NGramCounts, starts: Starts) -> DocumentFrequencies:
        """Document k is the sentences `range(starts[k], starts[k + 1])` of `grams`."""
        from tellapart.text._kernels_cider import count_documents

        counts = [
            count_documents(grams.ids, grams.starts, starts, grams.n, k, size)
            for k, size in enumerate(grams.index.sizes)
        ]
        return cls(grams.index, tuple(counts), len(starts) - 1)

    @classmethod
    def of_sets(cls, sets: ReferenceSets, n: int = 4) -> DocumentFrequencies:
        """From the references of each candidate."""
        return cls.of_counts(sets.ngrams(n), sets.starts)

    def rarity(self, index: NGramIndex) -> list[Floats]:
        """log(documents / documents with it) of each n-gram of an index; unknown ones have 1."""
        if index is self.index:
            counts = list(self.counts)
        else:
            places = self.index.places(index)
            counts = [
                np.where(place < 0, 0, np.append(count, 0)[place])
                for place, count in zip(places, self.counts, strict=False)
            ]
        whole = np.log(float(max(1, self.documents)))
        return [whole - np.log(np.maximum(1, count)) for count in counts]

    def save(self, path: Path | str) -> None:
        """Write to one file."""
        words = np.frombuffer("\n".join(self.index.words).encode(), np.uint8)
        arrays = {f"keys{k}": keys for k, keys in enumerate(self.index.keys, 2)}
        arrays |= {f"counts{k}": counts for k, counts in enumerate(self.counts, 1)}
        with whole_file(Path(path)) as partial, partial.open("wb") as out:
            np.savez_compressed(out, words=words, documents=self.documents, **arrays)

    @classmethod
    def load(cls, path: Path | str) -> DocumentFrequencies:
        """Read what `save` wrote."""
        try:
            with np.load(path) as held:
                n = sum(name.startswith("counts") for name in held)
                words = tuple(held["words"].tobytes().decode().split("\n"))
                keys = tuple(held[f"keys{k}"] for k in range(2, n + 1))
                counts = tuple(held[f"counts{k}"] for k in range(1, n + 1))
                return cls(NGramIndex(words, keys), counts, int(held["documents"]))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise BadInput(
                "these are no document frequencies", where=os.fspath(path), todo="make them anew"
            ) from error
