"""References of each candidate, and document frequencies of n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from tellapart.errors import BadInput
from tellapart.files import whole_file
from tellapart.text._numba import Array, in_threads, kernel
from tellapart.text.caption_metrics.ngrams import NGramCounts, NGramIndex
from tellapart.text.caption_metrics.sentences import Sentences, with_other_spaces
from tellapart.types import Floats, Ints, Ints32


@dataclass(frozen=True, slots=True)
class ReferenceSets:
    """Sentence k is candidate k; its references are `range(starts[k], starts[k + 1])`.

    References come after all candidates in `sentences`. In `spaced` only plain spaces separate
    words: for the COCO scripts, 1 1/2, which has a no-break space, is one word for ROUGE-L and two
    for BLEU and CIDEr.
    """

    sentences: Sentences
    starts: Ints
    spaced: Sentences
    _counts: dict[int, NGramCounts] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> ReferenceSets:
        """From candidates and a non-empty list of references for each; all tokenised."""
        if len(candidates) != len(references):
            raise BadInput(
                f"{len(candidates):,} candidates but {len(references):,} lists of references",
                allowed="one list of references for each candidate",
            )
        starts = len(candidates) + set_starts(references)
        every = [*candidates, *chain.from_iterable(references)]
        sentences = spaced = Sentences.of(every)
        if odd := with_other_spaces(every):
            spaced = sentences.with_sentences(odd, [every[k].split(" ") for k in odd])
        return cls(sentences, starts, spaced)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def ngrams(self, n: int) -> NGramCounts:
        """How often each sentence has each n-gram of up to `n` words; counted once."""
        if n not in self._counts:
            self._counts[n] = NGramCounts.of(self.sentences, n)
        return self._counts[n]


def set_starts(references: Sequence[Sequence[str]]) -> Ints:
    """Where each list of references starts in their concatenation; raises if one is empty."""
    for k, own in enumerate(references):
        if isinstance(own, str) or not len(own):
            what = "are a single text" if isinstance(own, str) else "are missing"
            raise BadInput(
                f"the references of candidate {k} {what}", allowed="a list of one text or more"
            )
    sizes = np.fromiter(map(len, references), np.int64, len(references))
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


@dataclass(frozen=True, slots=True)
class OverlapScores:
    """A score for each candidate, and their mean (0 if there are none)."""

    corpus: float
    sentences: Floats

    @classmethod
    def of(cls, sentences: Floats) -> OverlapScores:
        """The scores with their mean."""
        return cls(float(sentences.mean()) if len(sentences) else 0.0, sentences)


@dataclass(frozen=True, slots=True)
class DocumentFrequencies:
    """`counts[k - 1][id]` of the `documents` have that n-gram of length k.

    A document is all references of one image. CIDEr weights n-grams by how few documents have them.
    """

    index: NGramIndex
    counts: tuple[Ints32, ...]
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
    def of_counts(cls, grams: NGramCounts, starts: Ints) -> DocumentFrequencies:
        """Document k is the sentences `range(starts[k], starts[k + 1])` of `grams`."""
        counts = [np.zeros(size, np.int32) for size in grams.index.sizes]

        def count(begin: int, end: int) -> None:
            for k in range(begin, end):
                count_documents(grams.ids, grams.starts, starts, grams.n, k, counts[k])

        in_threads(count, grams.n, least=1)
        return cls(grams.index, tuple(counts), len(starts) - 1)

    @property
    def rarest(self) -> float:
        """The rarity of an n-gram that is in at most one document."""
        return float(np.log(max(1, self.documents)))

    def rarity(self, index: NGramIndex) -> Floats:
        """log(documents / max(1, documents with it)) of each n-gram of an index.

        All lengths are concatenated (see `NGramIndex.firsts`).
        """
        known = self.up_to(index.n)
        counts = list(known.counts)
        if index is not known.index:
            places = known.index.places(index)
            counts = [  # -1 takes the 0 at the end
                np.append(count, 0)[place] for place, count in zip(places, counts, strict=True)
            ]
        return self.rarest - np.log(np.maximum(1, np.concatenate(counts)))

    def up_to(self, n: int) -> DocumentFrequencies:
        """The frequencies of n-grams of up to `n` words."""
        if n > self.index.n:
            raise BadInput(
                f"these document frequencies cover n-grams of up to {self.index.n} words, not {n}"
            )
        if n == self.index.n:
            return self
        index = NGramIndex(self.index.words, self.index.keys[: n - 1])
        return DocumentFrequencies(index, self.counts[:n], self.documents)

    def save(self, path: Path | str) -> None:
        """Write to a file."""
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
            raise BadInput("the file of document frequencies does not exist", where=str(path))
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
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
                "the file has no document frequencies", where=str(path), todo="compute them again"
            ) from None


@kernel
def count_documents(
    ids: Array, starts: Array, documents: Array, n: int, k: int, counts: Array
) -> None:
    """Count the documents with each n-gram of length k + 1; a document is a run of sentences."""
    # the last document in which each n-gram was seen: one number each instead of a set per document
    seen = np.full(counts.size, -1, np.int32)
    for d in range(documents.size - 1):
        for s in range(documents[d], documents[d + 1]):
            for i in range(starts[s * n + k], starts[s * n + k + 1]):
                if seen[ids[i]] != d:
                    seen[ids[i]] = d
                    counts[ids[i]] += 1
