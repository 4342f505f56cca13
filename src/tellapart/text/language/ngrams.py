"""A small n-gram language model with interpolated Witten-Bell smoothing.

Witten & Bell (1991), The zero-frequency problem: the weight of the shorter history is the share
of distinct continuations, so that nothing needs tuning and nothing has probability zero.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

START, END = "<s>", "</s>"


class NGramModel:
    """Probabilities of words given the n - 1 words before them."""

    def __init__(self, sentences: Iterable[Sequence[str]], order: int = 3) -> None:
        self.order = order
        self._counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        vocabulary = {END}
        for sentence in sentences:
            vocabulary.update(sentence)
            padded = [START] * (order - 1) + list(sentence) + [END]
            for end in range(order - 1, len(padded)):
                for length in range(order):
                    self._counts[tuple(padded[end - length : end])][padded[end]] += 1
        self._totals = {history: sum(c.values()) for history, c in self._counts.items()}
        self._uniform = 1.0 / (len(vocabulary) + 1)

    def log_probability(self, sentence: Sequence[str]) -> float:
        """Natural logarithm of the sentence's probability, its end included."""
        padded = [START] * (self.order - 1) + list(sentence) + [END]
        first = self.order - 1
        return sum(
            math.log(self._probability(padded[end], tuple(padded[end - first : end])))
            for end in range(first, len(padded))
        )

    def mean_log_probability(self, sentence: Sequence[str]) -> float:
        """`log_probability` per word, so that short captions are not preferred for being short."""
        return self.log_probability(sentence) / (len(sentence) + 1)

    def _probability(self, word: str, history: tuple[str, ...]) -> float:
        lower = self._probability(word, history[1:]) if history else self._uniform
        total = self._totals.get(history, 0)
        if not total:
            return lower
        counts = self._counts[history]
        distinct = len(counts)
        return (counts.get(word, 0) + distinct * lower) / (total + distinct)
