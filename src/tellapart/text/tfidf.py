"""Texts as counts of words, plain or weighted by rarity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from tellapart.text.tokens import tokens
from tellapart.types import Floats

Places = npt.NDArray[np.integer]


def word_counts(
    texts: Iterable[Sequence[str]], vocabulary: dict[str, int], *, grow: bool = False
) -> csr_matrix:
    """How often each word of the vocabulary is in each text (texts are lists of words).

    Other words are left out, or with `grow` get the next number.
    """
    columns: list[int] = []
    ends = [0]
    for words in texts:
        if grow:
            columns += [vocabulary.setdefault(word, len(vocabulary)) for word in words]
        else:
            columns += [vocabulary[word] for word in words if word in vocabulary]
        ends.append(len(columns))
    shape = (len(ends) - 1, max(1, len(vocabulary)))
    counts = csr_matrix((np.ones(len(columns)), columns, ends), shape=shape)
    counts.sum_duplicates()
    return counts


def idf(counts: csr_matrix) -> Floats:
    """For each word, log(n / texts with the word) + 1."""
    having = np.bincount(counts.indices, minlength=counts.shape[1])
    weights: Floats = np.log(max(1, counts.shape[0]) / np.maximum(having, 1)) + 1
    return weights


def tfidf(texts: Sequence[str]) -> csr_matrix:
    """Unit-length rows, one per text: counts of its words, each times its idf."""
    return tfidf_of_words([tokens(text) for text in texts])


def tfidf_of_words(texts: Iterable[Sequence[str]]) -> csr_matrix:
    """The same for texts given as lists of words."""
    counts = word_counts(texts, {}, grow=True)
    weighted = counts.multiply(idf(counts)[None, :]).tocsr()
    norms = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return csr_matrix(weighted.multiply(1 / np.maximum(norms, 1e-12)[:, None]))


def nearness_to_others(texts: Sequence[str], text: Places, group: Places) -> Floats:
    """For each member of a group, the mean cosine (tf-idf) with the group's other members.

    Member k is `texts[text[k]]` in group `group[k]` (0, 1, ...); a single member gets 0.

    >>> texts = ["a dog", "a red dog", "a blue dog", "two cats"]
    >>> near = nearness_to_others(texts, np.array([0, 1, 2, 3]), np.array([0, 0, 0, 1]))
    >>> near.argmax(), near[3]
    (np.int64(0), np.float64(0.0))
    """
    vectors = tfidf(texts)[text]
    number = len(group)
    members = csr_matrix((np.ones(number), (group, np.arange(number))))
    sums = (members @ vectors)[group]
    squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
    near = np.asarray(vectors.multiply(sums).sum(axis=1)).ravel() - squares
    others = np.asarray(members.sum(axis=1)).ravel()[group] - 1
    # Rounded so that equally near members tie, whatever the order of summation.
    means: Floats = np.round(np.maximum(near, 0) / np.maximum(others, 1), 9)
    return means
