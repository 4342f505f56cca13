"""Many tests at once: p-values that hold for all of them together."""

from __future__ import annotations

import numpy as np

from tellapart.stats.intervals import Floats


def holm(p: Floats) -> Floats:
    """Adjusted p-values (Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure).

    With those below 0.05 called real, the chance of even one false call is at most 5%, however the
    tests hang together.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return adjusted
