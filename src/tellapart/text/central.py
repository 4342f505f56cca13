"""How near each of several texts is to the others, by the words that they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from tellapart.text.vectors.tfidf import tfidf

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.integer]


def nearness_to_others(texts: Sequence[str], text: Places, group: Places) -> Floats:
    """For each member of a group the mean cosine (tf-idf) with the group's other members.

    Member k is `texts[text[k]]` and in group `group[k]` (0, 1, ...); a lone one gets 0.

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
    # Rounded: members that are equally near must tie, whatever the order of summation.
    means: Floats = np.round(np.maximum(near, 0) / np.maximum(others, 1), 9)
    return means
