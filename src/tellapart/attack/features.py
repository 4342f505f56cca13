"""Features of options: what a text-only model may know about each, in named families."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from tellapart.attack.choices import Choices
from tellapart.attack.statistics import LONGEST, NEARBY, WordCodes, WordPairCounts, WordStatistics
from tellapart.text.tfidf import tfidf
from tellapart.types import AnyInts, Floats, Ints

N_GRAMS = "n-grams"
TOGETHER = "words that go together"
FREQUENCY = "word frequency"
LENGTH = "length"
MARKS = "marks and capitals"
LIKENESS = "likeness to the other options"
WORDS = "words"
ENCODER = "sentence encoder"
LANGUAGE_MODEL = "language model"
IMAGE_STATISTICS = "image statistics"
IMAGE_ENCODER = "image encoder"
OTHER_MARKS = re.compile(r"[^\w .,]")
FAMILIES = (
    N_GRAMS, TOGETHER, FREQUENCY, LENGTH, MARKS, LIKENESS, WORDS, ENCODER, LANGUAGE_MODEL,
    IMAGE_STATISTICS, IMAGE_ENCODER,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Features:
    """One row an option: dense features with their names and families, and its words, sparse."""

    dense: Floats
    names: tuple[str, ...]
    families: tuple[str, ...]
    words: csr_matrix

    def with_columns(self, dense: Floats, names: Sequence[str], family: str) -> Features:
        """The same with further dense features of one family."""
        return Features(
            np.concatenate([self.dense, dense], axis=1),
            (*self.names, *names),
            (*self.families, *[family] * dense.shape[1]),
            self.words,
        )

    def some(self, options: Ints) -> Features:
        """The features of some options, in this order."""
        return Features(self.dense[options], self.names, self.families, self.words[options])


def option_features(choices: Choices, statistics: WordStatistics, fold: Ints) -> Features:
    """All features that need nothing but the statistics of other images' captions.

    `fold` is the fold of each choice, as the statistics know it.
    """
    # Words that the source lacks have numbers of their own: that it has a word might be the truth's
    # own doing, where the source has the true captions too.
    codes = WordCodes.of(choices.texts, dict(statistics.source.vocabulary), grow=True)
    by_option = [_form(choices), _likeness(choices, codes)]
    columns, names, families = _merged(by_option)
    counted = np.zeros((len(choices.text), 0))
    for number in range(statistics.folds):
        options = np.flatnonzero(fold[choices.choice] == number)
        if not len(options):
            continue
        texts, place = np.unique(choices.text[options], return_inverse=True)
        keep = np.zeros(len(codes), bool)
        keep[texts] = True
        table = _counted(_known(codes.some(keep), statistics, number), statistics, number)
        if not counted.shape[1]:
            counted = np.zeros((len(choices.text), len(table)))
        counted[options] = np.stack([column for _, _, column in table], axis=1)[place]
        counted_names = tuple(name for name, _, _ in table)
        counted_families = tuple(family for _, family, _ in table)
    return Features(
        np.concatenate([counted, columns], axis=1),
        (*counted_names, *names),
        (*counted_families, *families),
        _words(choices, codes),
    )


Column = tuple[str, str, Floats]
"""Name, family and values."""


def _merged(columns: Sequence[Sequence[Column]]) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    flat = [column for part in columns for column in part]
    return (
        np.stack([values for _, _, values in flat], axis=1),
        tuple(name for name, _, _ in flat),
        tuple(family for _, family, _ in flat),
    )


def _known(codes: WordCodes, statistics: WordStatistics, fold: int) -> WordCodes:
    """The same texts; words that no caption outside the fold has are one, the unknown one."""
    times = statistics.times(fold)
    unknown = len(times) - 1
    word = np.minimum(codes.word, unknown)
    return WordCodes(np.where(times[word] > 0, word, unknown), codes.starts)


def _counted(codes: WordCodes, statistics: WordStatistics, fold: int) -> list[Column]:
    """Features of texts from counts of other images' captions."""
    columns: list[Column] = []
    for name, model in zip(
        ("after two words", "between two"), statistics.models(fold), strict=True
    ):
        text, logs = model.text_log_probabilities(codes.word, codes.starts)
        columns += _reduced(f"{name}: log-probability", N_GRAMS, text, logs, len(codes))
    ordered = {
        "next to each other": (statistics.next_to, (1,)),
        "with one between": (statistics.one_between, (2,)),
        "nearby": (statistics.nearby, range(NEARBY[0], NEARBY[1] + 1)),
    }
    for name, (counts, gaps) in ordered.items():
        columns += _paired(name, N_GRAMS, codes, counts, gaps, fold, ordered=True)
    for name, counts in {
        "in one caption": statistics.in_caption,
        "in one image": statistics.in_image,
    }.items():
        columns += _paired(name, TOGETHER, codes, counts, range(1, LONGEST), fold, ordered=False)
    frequency = statistics.frequency(fold)[codes.word]
    columns += _reduced("log-frequency", FREQUENCY, codes.text, frequency, len(codes))
    unknown = (codes.word == len(statistics.source.vocabulary)).astype(float)
    columns.append(("unknown words", FREQUENCY, _sums(codes.text, unknown, len(codes))))
    return columns


def _paired(
    name: str,
    family: str,
    codes: WordCodes,
    counts: WordPairCounts,
    gaps: Sequence[int],
    fold: int,
    *,
    ordered: bool,
) -> list[Column]:
    texts, logs = [np.zeros(0, np.int64)], [np.zeros(0)]
    for text, first, second in codes.pairs(gaps):
        apart = np.full(len(text), True) if ordered else first != second
        texts.append(text[apart])
        logs.append(counts.surprise(first[apart], second[apart], fold))
    return _reduced(name, family, np.concatenate(texts), np.concatenate(logs), len(codes))


def _reduced(name: str, family: str, text: AnyInts, values: Floats, number: int) -> list[Column]:
    """Sum, mean and the least of some values by text; 0 where there are none."""
    sums = _sums(text, values, number)
    times = np.bincount(text, minlength=number)
    order = np.argsort(text, kind="stable")
    least = np.zeros(number)
    if len(text):
        sorted_text = text[order]
        begins = np.flatnonzero(np.r_[True, sorted_text[1:] != sorted_text[:-1]])
        least[sorted_text[begins]] = np.minimum.reduceat(values[order], begins)
    return [
        (f"{name}, sum", family, sums),
        (f"{name}, mean", family, sums / np.maximum(times, 1)),
        (f"{name}, least", family, least),
    ]


def _sums(text: AnyInts, values: Floats, number: int) -> Floats:
    sums: Floats = np.bincount(text, values, number).astype(float)
    return sums


def _form(choices: Choices) -> list[Column]:
    """Length, marks and capitals of each option, as its text is stored."""
    texts = choices.texts
    of_texts: list[tuple[str, str, list[float]]] = [
        ("characters", LENGTH, [len(text.strip()) for text in texts]),
        ("words", LENGTH, [len(text.split()) for text in texts]),
        ("final stop", MARKS, [text.rstrip().endswith(".") for text in texts]),
        ("commas", MARKS, [text.count(",") for text in texts]),
        ("other marks", MARKS, [len(OTHER_MARKS.findall(text)) for text in texts]),
        ("capitals", MARKS, [sum(c.isupper() for c in text) for text in texts]),
        ("first letter is a capital", MARKS, [text[:1].isupper() for text in texts]),
        ("white space at its ends", MARKS, [text != text.strip() for text in texts]),
        ("two blanks", MARKS, ["  " in text.strip() for text in texts]),
        ("digits", MARKS, [sum(c.isdigit() for c in text) for text in texts]),
    ]  # fmt: skip
    return [
        (name, family, np.array(values, float)[choices.text]) for name, family, values in of_texts
    ]


def _likeness(choices: Choices, codes: WordCodes) -> list[Column]:
    """How near each option is to the others, and what its own words and theirs have in common.

    Of two options each is as near to the other, so that only the words that they do not share can
    tell them apart.
    """
    vectors = tfidf(choices.texts)[choices.text]
    pairs_first, pairs_second = ordered_pairs(choices)
    cosine = np.asarray(vectors[pairs_first].multiply(vectors[pairs_second]).sum(axis=1)).ravel()
    cosine = np.round(cosine, 9)
    near = _reduced("cosine", LIKENESS, pairs_first, cosine, len(choices.text))
    most = _reduced("", LIKENESS, pairs_first, -cosine, len(choices.text))[2][2]
    present = _presence(codes)[choices.text]
    members = csr_matrix(
        (np.ones(len(choices.text)), (choices.choice, np.arange(len(choices.text))))
    )
    shared = (members @ present)[choices.choice]
    # How many other options have each word of this one: 0 for a word of its own.
    others = present.multiply(shared)
    others.data -= 1
    total = np.asarray(others.sum(axis=1)).ravel()
    words = np.maximum(np.diff(present.indptr), 1)
    others = others.tocsr()
    others.eliminate_zeros()
    own = words - np.diff(others.indptr)
    count = (choices.sizes - 1)[choices.choice]
    return [
        near[1],
        near[2],
        ("cosine, most", LIKENESS, -most),
        ("words that others have, share", LIKENESS, total / words / count),
        ("words of its own", LIKENESS, own.astype(float)),
    ]


def ordered_pairs(choices: Choices) -> tuple[Ints, Ints]:
    """All ordered pairs of different options of one choice."""
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for size in np.unique(choices.sizes).tolist():
        begins = choices.starts[:-1][choices.sizes == size]
        for a in range(size):
            for b in range(size):
                if a != b:
                    first.append(begins + a)
                    second.append(begins + b)
    return np.concatenate(first), np.concatenate(second)


def _presence(codes: WordCodes) -> csr_matrix:
    """Which words each text has, 0 or 1."""
    words = int(codes.word.max(initial=0)) + 1
    table = csr_matrix(
        (np.ones(len(codes.word)), (codes.text, codes.word)), shape=(len(codes), words)
    )
    table.sum_duplicates()
    table.data[:] = 1.0
    return table


def _words(choices: Choices, codes: WordCodes) -> csr_matrix:
    """Single words and pairs of neighbours in each option that two or more texts have."""
    text, first, second = next(iter(codes.pairs((1,))), (codes.text[:0],) * 3)
    base = int(codes.word.max(initial=0)) + 1
    keys = np.concatenate([codes.word, (first + 1) * base + second])
    rows = np.concatenate([codes.text, text])
    _, column, times = np.unique(keys, return_inverse=True, return_counts=True)
    often = times[column] > 1
    kept, column = np.unique(column[often], return_inverse=True)
    shape = (len(codes), max(len(kept), 1))
    table = csr_matrix((np.ones(len(column)), (rows[often], column)), shape=shape)
    return csr_matrix(table[choices.text])
