"""Small n-gram language models with interpolated Witten-Bell smoothing.

Witten & Bell (1991), The zero-frequency problem: the weight of the shorter history is the share of
distinct continuations, so that there is nothing to tune and no probability is zero.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart.types import AnyInts, Floats

SENTENCE_START, SENTENCE_END = "<s>", "</s>"
BITS = 21
START, END, UNKNOWN = (1 << BITS) - 3, (1 << BITS) - 2, (1 << BITS) - 1
MOST_WORDS = START
"""Three word numbers must fit into 63 bits; rarer words than this limit share one number."""


class NGramModel:
    """Probabilities of words given the n - 1 words before them."""

    def __init__(self, sentences: Iterable[Sequence[str]], order: int = 3) -> None:
        self.order = order
        self._counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        vocabulary = {SENTENCE_END}
        for sentence in sentences:
            vocabulary.update(sentence)
            padded = [SENTENCE_START] * (order - 1) + list(sentence) + [SENTENCE_END]
            for end in range(order - 1, len(padded)):
                for length in range(order):
                    self._counts[tuple(padded[end - length : end])][padded[end]] += 1
        self._totals = {history: sum(c.values()) for history, c in self._counts.items()}
        self._uniform = 1.0 / (len(vocabulary) + 1)

    def log_probability(self, sentence: Sequence[str]) -> float:
        """Natural logarithm of the sentence's probability, its end included."""
        padded = [SENTENCE_START] * (self.order - 1) + list(sentence) + [SENTENCE_END]
        first = self.order - 1
        return sum(
            math.log(self._probability(padded[end], tuple(padded[end - first : end])))
            for end in range(first, len(padded))
        )

    def mean_log_probability(self, sentence: Sequence[str]) -> float:
        """`log_probability` per word, so that short captions have no advantage."""
        return self.log_probability(sentence) / (len(sentence) + 1)

    def _probability(self, word: str, history: tuple[str, ...]) -> float:
        lower = self._probability(word, history[1:]) if history else self._uniform
        total = self._totals.get(history, 0)
        if not total:
            return lower
        counts = self._counts[history]
        distinct = len(counts)
        return (counts.get(word, 0) + distinct * lower) / (total + distinct)


class _Counts:
    """How often each history was followed by each word."""

    def __init__(self, history: AnyInts, word: AnyInts) -> None:
        self.keys, self.times = np.unique((history << BITS) | word, return_counts=True)
        of = self.keys >> BITS
        self.histories, self.distinct = np.unique(of, return_counts=True)
        self.total = np.bincount(np.searchsorted(self.histories, of), weights=self.times)

    def smoothed(self, history: AnyInts, word: AnyInts, lower: Floats) -> Floats:
        """The probability of a word after a history, given its probability after a shorter one."""
        times = _looked_up(self.keys, self.times, (history << BITS) | word)
        total = _looked_up(self.histories, self.total, history)
        distinct = _looked_up(self.histories, self.distinct, history)
        known: Floats = np.where(
            total > 0, (times + distinct * lower) / np.maximum(total + distinct, 1), lower
        )
        return known


class Trigrams:
    """Probabilities of words given the two words before them: `NGramModel` of order 3 on numbers.

    It handles millions of windows at a time: words are numbers from 0, and queries are single words
    after two others, so that texts that differ in one position are compared by the few windows
    around it. Counts are sorted arrays of keys rather than dicts, so that a million lookups are one
    call.

    `word` holds the words of all texts in sequence, text k at starts[k] to starts[k + 1]. With
    `between`, a word is predicted from the word before it and the word after it instead.
    """

    def __init__(self, word: AnyInts, starts: AnyInts, *, between: bool = False) -> None:
        self._between = between
        before, last, now = self._windows(np.minimum(word, MOST_WORDS - 1), starts).T
        nothing = np.zeros(len(now), np.int64)
        self._orders = (
            _Counts(nothing, now),
            _Counts(last, now),
            _Counts((before << BITS) | last, now),
        )
        self._uniform = 1.0 / (len(self._orders[0].keys) + 1 + (0 if len(now) else 1))

    def log_probabilities(self, windows: AnyInts) -> Floats:
        """The natural logarithm of p(w | u, v) for each row (u, v, w), shape (n, 3)."""
        rows = np.minimum(windows, UNKNOWN).astype(np.int64)
        key = (rows[:, 0] << 2 * BITS) | (rows[:, 1] << BITS) | rows[:, 2]
        key, back = np.unique(key, return_inverse=True)
        word = key & ((1 << BITS) - 1)
        history = key >> BITS
        one, two, three = self._orders
        p = np.full(len(key), self._uniform)
        p = one.smoothed(np.zeros(len(key), np.int64), word, p)
        p = two.smoothed(history & ((1 << BITS) - 1), word, p)
        p = three.smoothed(history, word, p)
        logs: Floats = np.log(p)[back]
        return logs

    def mean_log_probabilities(self, word: AnyInts, starts: AnyInts) -> Floats:
        """The mean over the words of each text, its end included, as in `NGramModel`."""
        text, logs = self.text_log_probabilities(word, starts)
        number = len(starts) - 1
        means: Floats = np.bincount(text, logs, number) / np.bincount(text, minlength=number)
        return means

    def text_log_probabilities(self, word: AnyInts, starts: AnyInts) -> tuple[AnyInts, Floats]:
        """The text and log-probability of each predicted word, in no particular order."""
        lengths = np.diff(starts)
        text = np.repeat(np.arange(len(lengths)), lengths)
        if not self._between:
            text = np.concatenate([text, np.arange(len(lengths))])
        return text, self.log_probabilities(self._windows(np.minimum(word, UNKNOWN), starts))

    def _windows(self, word: AnyInts, starts: AnyInts) -> AnyInts:
        """The two words from which each word is predicted, and the word itself, shape (n, 3)."""
        padded, place = _padded(word, starts)
        if self._between:
            place = place[: len(word)]
            return np.stack([padded[place - 1], padded[place + 1], padded[place]], 1)
        return np.stack([padded[place - 2], padded[place - 1], padded[place]], 1)


def _padded(word: AnyInts, starts: AnyInts) -> tuple[AnyInts, AnyInts]:
    """The texts with two starts before and an end after each, and the positions to predict."""
    texts = len(starts) - 1
    lengths = np.diff(starts)
    padded = np.full(len(word) + 3 * texts, START, np.int64)
    shift = np.repeat(3 * np.arange(texts) + 2, lengths)
    places = np.arange(len(word)) + shift
    padded[places] = word
    ends = starts[1:] + 3 * np.arange(texts) + 2
    padded[ends] = END
    return padded, np.concatenate([places, ends])


def _looked_up(keys: AnyInts, values: npt.NDArray[Any], wanted: AnyInts) -> Floats:
    """The value of each wanted key, 0 if it is missing."""
    if not len(keys):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    numbers: Floats = np.where(keys[place] == wanted, values[place], 0).astype(np.float64)
    return numbers
