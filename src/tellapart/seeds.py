"""All randomness and hashes: one seed, and a path of names that says what it is for."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np


def digest(*parts: Any) -> str:
    """The sha256 of JSON-like values, the same on every machine and in every process."""
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def number(*parts: Any) -> int:
    """A 64-bit integer that depends only on `parts`."""
    return int(digest(*parts)[:16], 16)


def unit(*parts: Any) -> float:
    """A number in [0, 1) that depends only on `parts` (53 bits, so that ties do not occur)."""
    return float(number(*parts) >> 11) / float(1 << 53)


def rng(seed: int, *path: Any) -> np.random.Generator:
    """The generator for one purpose under one seed.

    Different purposes get independent streams, so that adding a random step does not change the
    numbers of any other step.

    >>> rng(0, "world", 3).integers(100) == rng(0, "world", 3).integers(100)
    np.True_
    """
    return np.random.default_rng([seed & 0xFFFFFFFFFFFFFFFF, number(*path)])
