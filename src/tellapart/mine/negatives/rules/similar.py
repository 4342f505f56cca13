"""Which nouns a corpus uses alike: by the attributes, relations and verbs that they go with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tellapart.mine.negatives.rules.counting import Counts


@dataclass(frozen=True)
class Similar:
    """Cosines between the contexts of kernels, as a square table."""

    kernels: Sequence[str]
    cosines: npt.NDArray[np.float64]

    def ranked(self, kernel: str) -> Iterator[tuple[str, float]]:
        """Other kernels, the most similar first; none where the kernel is not known."""
        place = int(np.searchsorted(self.kernels, kernel))
        if place == len(self.kernels) or self.kernels[place] != kernel:
            return
        row = self.cosines[place]
        for other in np.argsort(-row, kind="stable").tolist():
            if other != place and row[other] > 0:
                yield self.kernels[other], float(row[other])


def similar(counts: Counts, kernels: Sequence[str], fewest: int) -> Similar:
    """Compare kernels by their contexts, weighted by positive pointwise mutual information.

    A context seen fewer than `fewest` times with a kernel is left out. Bullinaria and Levy 2007
    found this weighting with the cosine to be the best of the simple ones.
    """
    kernels = sorted(kernels)
    place = {kernel: k for k, kernel in enumerate(kernels)}
    contexts: dict[tuple[str, str], int] = {}
    cells = [
        (place[kernel], contexts.setdefault(context, len(contexts)), number)
        for kernel, context, number in _contexts(counts)
        if number >= fewest and kernel in place
    ]
    rows, columns, numbers = np.array(cells, np.int64).reshape(-1, 3).T
    shape = (len(kernels), max(1, len(contexts)))
    of_kernel = np.bincount(rows, numbers, shape[0])
    of_context = np.bincount(columns, numbers, shape[1])
    surprise = np.log(numbers * numbers.sum() / (of_kernel[rows] * of_context[columns]))
    kept = surprise > 0
    table = sparse.csr_matrix((surprise[kept], (rows[kept], columns[kept])), shape=shape)
    lengths = np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
    scaled = sparse.diags(1 / np.where(lengths > 0, lengths, 1)) @ table
    return Similar(kernels, (scaled @ scaled.T).toarray())


def _contexts(counts: Counts) -> Iterator[tuple[str, tuple[str, str], int]]:
    """(kernel, context, how often)."""
    for (attribute, kernel), number in sorted(counts.attributes.items()):
        yield kernel, ("is", attribute), number
    for (kernel, name), number in sorted(counts.before.items()):
        yield kernel, ("before", name), number
    for (name, kernel), number in sorted(counts.behind.items()):
        yield kernel, ("behind", name), number
    for (kernel, verb), number in sorted(counts.does.items()):
        yield kernel, ("does", verb), number
