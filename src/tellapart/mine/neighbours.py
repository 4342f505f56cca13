"""Nearest neighbours of texts: exact, by cosine of tf-idf vectors, in blocks.

This is the plain way; word and paragraph vectors take the place of `tfidf` where they are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from tellapart.text.words import tokens

BLOCK = 512


def tfidf(texts: Sequence[str]) -> csr_matrix:
    """Rows of unit length, one a text; words weigh log(n / texts with the word) + 1."""
    vocabulary: dict[str, int] = {}
    rows, columns = [], []
    for row, text in enumerate(texts):
        for word in tokens(text):
            columns.append(vocabulary.setdefault(word, len(vocabulary)))
            rows.append(row)
    counts = csr_matrix(
        (np.ones(len(rows)), (rows, columns)), shape=(len(texts), max(1, len(vocabulary)))
    )
    having = np.bincount(counts.tocoo().col, minlength=counts.shape[1])
    weighted = counts.multiply(np.log(len(texts) / np.maximum(having, 1)) + 1).tocsr()
    norms = np.sqrt(weighted.multiply(weighted).sum(axis=1)).A1
    return csr_matrix(weighted.multiply(1 / np.maximum(norms, 1e-12)[:, None]))


def nearest(vectors: csr_matrix, number: int) -> Iterator[npt.NDArray[np.intp]]:
    """For each row the indices of the most similar other rows, best first; equal ones by index."""
    for start in range(0, vectors.shape[0], BLOCK):
        block = np.asarray((vectors[start : start + BLOCK] @ vectors.T).todense())
        block[np.arange(len(block)), start + np.arange(len(block))] = -np.inf
        keep = min(number, block.shape[1] - 1)
        # Rounded, so that equal similarities stay equal whatever the order of summation.
        yield from np.argsort(-block.round(9), axis=1, kind="stable")[:, :keep]
