"""Scores of texts alone: each distinct text once, batches of like length, kept in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart.models.language.model import TextScorer
from tellapart.models.model import Facts
from tellapart.score.cache import SIZE_GB, open_shelf
from tellapart.score.computing import Limits
from tellapart.score.encoding import Encoder
from tellapart.score.plan import numbered, text_keys

Progress = Callable[[int, int], None]
BATCH, AT_ONCE = 64, 1024


@dataclass(frozen=True, slots=True)
class _Rows:
    """A text scorer as the engine's encoder knows models: a row of one number a text."""

    scorer: TextScorer

    @property
    def facts(self) -> Facts:
        """Those of the scorer."""
        return self.scorer.facts

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return np.asarray(self.scorer.score_texts(texts)).reshape(-1, 1)


def score_texts(
    scorer: TextScorer,
    texts: Sequence[str],
    *,
    cache: Path | None = None,
    batch_size: int = BATCH,
    progress: Progress = lambda done, total: None,
) -> npt.NDArray[np.float64]:
    """One score a text, to the precision of float32.

    With a cache, and a scorer whose weights are known, a job that was stopped goes on where it was.
    """
    keys, first, number = numbered(text_keys(texts))
    some = [texts[k] for k in first.tolist()]
    order = np.array(sorted(range(len(some)), key=lambda k: (len(some[k]), some[k])), np.int64)
    kept = cache is not None and bool(scorer.facts.weights)
    shelf = open_shelf(cache, scorer.facts, SIZE_GB) if kept and cache is not None else None
    encoder = Encoder(_Rows(scorer), Limits(batch_size), shelf)
    at_once = batch_size * max(1, AT_ONCE // batch_size)
    asker = encoder.asker("texts")
    scores = np.empty(len(first))
    try:
        for begin in range(0, len(order), at_once):
            part = order[begin : begin + at_once]
            rows = encoder.texts(asker, [some[k] for k in part.tolist()], keys[part], begin)
            scores[part] = rows[:, 0]
            progress(begin + len(part), len(order))
    finally:
        if shelf is not None:
            shelf.close()
    return scores[number]
