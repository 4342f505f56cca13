"""In how many images' references an n-gram occurs: what CIDEr weighs n-grams by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.tables import whole_file
from tellapart.text.overlap.counts import NGramCounts
from tellapart.text.overlap.index import NGramIndex
from tellapart.text.overlap.references import ReferenceSets, set_starts
from tellapart.text.overlap.sentences import Ids, Sentences, Starts

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
        starts = set_starts(references)
        grams = NGramCounts.of(Sentences.of(list(chain.from_iterable(references))), n)
        return cls.of_counts(grams, starts)

    @classmethod
    def of_counts(cls, grams: NGramCounts, starts: Starts) -> DocumentFrequencies:
        """Document k is the sentences `range(starts[k], starts[k + 1])` of `grams`."""
        from tellapart.text._numba import in_threads
        from tellapart.text.overlap.kernels_cider import count_documents

        counts = [np.zeros(size, np.int32) for size in grams.index.sizes]

        def count(begin: int, end: int) -> None:
            for k in range(begin, end):
                count_documents(grams.ids, grams.starts, starts, grams.n, k, counts[k])

        in_threads(count, grams.n, least=1)
        return cls(grams.index, tuple(counts), len(starts) - 1)

    @classmethod
    def of_sets(cls, sets: ReferenceSets, n: int = 4) -> DocumentFrequencies:
        """From the references of each candidate."""
        return cls.of_counts(sets.ngrams(n), sets.starts)

    @property
    def rarest(self) -> float:
        """The rarity of an n-gram that is in no document, or in one."""
        return float(np.log(max(1, self.documents)))

    def rarity(self, index: NGramIndex) -> Floats:
        """log(documents / documents with it) of each n-gram of an index, at least 1 having it.

        Those of all lengths in one row (see `NGramIndex.firsts`).
        """
        held = self.up_to(index.n)
        counts = list(held.counts)
        if index is not held.index:
            places = held.index.places(index)
            counts = [  # -1 takes the 0 at the end
                np.append(count, 0)[place] for place, count in zip(places, counts, strict=True)
            ]
        return self.rarest - np.log(np.maximum(1, np.concatenate(counts)))

    def up_to(self, n: int) -> DocumentFrequencies:
        """Those of n-grams of up to `n` words."""
        if n > self.index.n:
            raise BadInput(
                f"these document frequencies know n-grams of up to {self.index.n} words, not of {n}"
            )
        if n == self.index.n:
            return self
        index = NGramIndex(self.index.words, self.index.keys[: n - 1])
        return DocumentFrequencies(index, self.counts[:n], self.documents)

    def save(self, path: Path | str) -> None:
        """Write to one file."""
        words = "\n".join(self.index.words).encode("utf-8", "surrogatepass")
        arrays: dict[str, Any] = {f"keys{k}": keys for k, keys in enumerate(self.index.keys, 2)}
        arrays |= {f"counts{k}": counts for k, counts in enumerate(self.counts, 1)}
        arrays |= {"words": np.frombuffer(words, np.uint8), "documents": self.documents}
        with whole_file(Path(path)) as partial, partial.open("wb") as out:
            np.savez_compressed(out, **arrays)

    @classmethod
    def load(cls, path: Path | str) -> DocumentFrequencies:
        """Read what `save` wrote."""
        if not Path(path).is_file():
            raise BadInput("there are no document frequencies", where=str(path))
        try:
            with np.load(path) as held:
                arrays = dict(held)
            n = sum(name.startswith("counts") for name in arrays)
            text = arrays["words"].tobytes().decode("utf-8", "surrogatepass")
            words = tuple(text.split("\n")) if text else ()
            index = NGramIndex(words, tuple(arrays[f"keys{k}"] for k in range(2, n + 1)))
            counts = tuple(arrays[f"counts{k}"] for k in range(1, n + 1))
            if index.sizes != [len(count) for count in counts]:
                raise ValueError("lengths differ")
            return cls(index, counts, int(arrays["documents"]))
        except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, BadZipFile):
            raise BadInput(
                "these are no document frequencies", where=str(path), todo="make them anew"
            ) from None
