"""What a maker of negatives is given, and what it gives back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl

from tellapart.corpus.corpus import Corpus
from tellapart.mine.building import Progress
from tellapart.mine.negatives.checks import Judge
from tellapart.mine.negatives.claims import ImageFacts, facts_of_parses
from tellapart.mine.negatives.edit import Negative, SourceCaption
from tellapart.mine.negatives.options import NegativesOptions
from tellapart.text.parses import Parses

SELDOM = 0.05
"""A part of speech that a word takes more seldom than this is the parser's mistake."""


@dataclass(frozen=True)
class NegativesTask:
    """Captions with their parses, in the corpus's order, and what is wanted of them.

    `items` is how many negatives are wanted in all (None: as many as there are); a maker for whom
    each costs something stops there.
    """

    corpus: Corpus
    parses: Parses
    options: NegativesOptions
    seed: int = 0
    items: int | None = None
    progress: Progress = lambda done, total: None

    def source(self, row: int) -> SourceCaption:
        """One caption by its place in the corpus."""
        caption, image, text = self.corpus.captions.row(row)
        return SourceCaption(caption, image, text, self.parses[row])

    def sources(self) -> Iterator[SourceCaption]:
        """All captions."""
        for (caption, image, text), parse in zip(
            self.corpus.captions.iter_rows(), self.parses, strict=True
        ):
            yield SourceCaption(caption, image, text, parse)

    @cached_property
    def rows_by_image(self) -> dict[str, list[int]]:
        """The places of each image's captions."""
        rows: dict[str, list[int]] = {}
        for row, image in enumerate(self.corpus.captions["image"]):
            rows.setdefault(image, []).append(row)
        return rows

    @cached_property
    def judge(self) -> Judge:
        """The judge that all negatives pass."""
        return Judge(self.facts, parts_of_speech(self.parses).__getitem__)

    def facts(self, image: str) -> ImageFacts:
        """What is known of an image."""
        rows = self.rows_by_image[image]
        return facts_of_parses([self.parses[row] for row in rows], self.corpus.objects(image))


@dataclass(frozen=True)
class NegativeSet:
    """Negatives in the order of their captions; how often each (kind, reason) was refused.

    `about` goes into the benchmark's card; `beside` are tables that are written into its folder.
    """

    negatives: list[Negative]
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    about: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, pl.DataFrame] = field(default_factory=dict)


class NegativeMaker(Protocol):
    """A way of making negatives."""

    def __call__(self, task: NegativesTask) -> NegativeSet:
        """The negatives of a task."""
        ...


class _Known(dict[str, frozenset[str]]):
    """Words that are not there take no known part of speech."""

    def __missing__(self, word: str) -> frozenset[str]:
        return frozenset()


def parts_of_speech(parses: Parses) -> _Known:
    """Which parts of speech each word takes in a corpus, leaving out what is seldom."""
    columns = parses.columns
    counts: dict[str, Counter[str]] = {}
    lemma_pos = columns.lemma.astype(np.int64) * len(columns.poses) + columns.pos
    codes, numbers = np.unique(lemma_pos, return_counts=True)
    for code, number in zip(codes.tolist(), numbers.tolist(), strict=True):
        lemma, pos = divmod(code, len(columns.poses))
        counts.setdefault(columns.lemmas[lemma].lower(), Counter())[columns.poses[pos]] += number
    return _Known(
        (lemma, frozenset(pos for pos, n in found.items() if n >= SELDOM * found.total()))
        for lemma, found in counts.items()
    )
