"""Every system judged by every metric: scores with intervals, and pairs of systems with a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tellapart import seeds
from tellapart.measures.captioning.matching import Judged
from tellapart.measures.captioning.results import CaptionPair, CaptionScore
from tellapart.stats.differences import holm
from tellapart.stats.totals import Swapped, interval_of, resampled_totals
from tellapart.text.caption_metrics.metric import CaptionMetric, Marks, Material
from tellapart.types import Floats

Table = tuple[tuple[Marks, ...], ...]
"""What each metric (outer) makes of each system (inner)."""
Couple = tuple[int, int]
SAME = 1e-12
"""Scores of a caption nearer than this are level."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is drawn at random, and from which seed."""

    resamples: int = 2_000
    permutations: int = 10_000
    seed: int = 0

    def rng(self, *what: str) -> np.random.Generator:
        """The generator for one step."""
        return seeds.rng(self.seed, "captions", *what)


def judge(
    materials: Sequence[Material], metrics: Sequence[CaptionMetric], progress: Progress
) -> Table:
    """All marks; one material a system."""
    table = []
    for metric in metrics:
        row = []
        for k, material in enumerate(materials, 1):
            row.append(metric.marks(material))
            progress(metric.name, k, len(materials))
        table.append(tuple(row))
    return tuple(table)


@dataclass(frozen=True, slots=True)
class Drawn:
    """All marks, and their features summed over resampled images: the same images for all."""

    table: Table
    totals: Floats
    begins: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, table: Table, effort: Effort) -> Drawn:
        """Resample once for all metrics and systems."""
        columns = [marks.features for row in table for marks in row]
        ends = iter(np.cumsum([0, *(c.shape[1] for c in columns)]).tolist())
        begins = tuple(tuple(next(ends) for _ in row) for row in table)
        every = np.concatenate(columns, axis=1)
        return cls(table, resampled_totals(every, effort.rng("images"), effort.resamples), begins)

    def scores(self, m: int, s: int) -> Floats:
        """A system's score by a metric, one a resample."""
        marks, begin = self.table[m][s], self.begins[m][s]
        return marks.statistic(self.totals[:, begin : begin + marks.features.shape[1]])


def scores_of(
    judged: Judged, metrics: Sequence[CaptionMetric], drawn: Drawn
) -> Iterator[CaptionScore]:
    """One score a metric and system."""
    images = len(judged.images)
    for m, metric in enumerate(metrics):
        for s, system in enumerate(judged.systems):
            value, low, high = drawn.table[m][s].overall, None, None
            if images > 1:
                low, high = interval_of(drawn.scores(m, s), images)
            yield CaptionScore(system, metric.name, value, low, high, images, metric.scale)


def pairs_of(
    judged: Judged, metrics: Sequence[CaptionMetric], drawn: Drawn, effort: Effort
) -> Iterator[CaptionPair]:
    """Every two systems by every metric, with Holm's correction over the pairs of a metric."""
    couples = list(combinations(range(len(judged.systems)), 2))
    if not couples or len(judged.images) < 2:
        return
    for m, metric in enumerate(metrics):
        pairs = [_pair(judged, metric, drawn, m, couple, effort) for couple in couples]
        adjusted = holm(np.array([pair.p for pair in pairs]))
        for pair, p in zip(pairs, adjusted, strict=True):
            yield replace(pair, p_holm=float(p))


def _pair(
    judged: Judged, metric: CaptionMetric, drawn: Drawn, m: int, couple: Couple, effort: Effort
) -> CaptionPair:
    one, other = couple
    first, second = drawn.table[m][one], drawn.table[m][other]
    names = judged.systems[one], judged.systems[other]
    resampled = drawn.scores(m, one) - drawn.scores(m, other)
    low, high = interval_of(resampled, len(judged.images))
    rng = effort.rng("swaps", metric.name, *names)
    swapped = Swapped.of(first.features - second.features, rng, effort.permutations)
    after = first.statistic(second.features.sum(axis=0) + swapped.gaps)
    after = after - first.statistic(first.features.sum(axis=0) - swapped.gaps)
    difference, each = first.overall - second.overall, first.each - second.each
    p = swapped.p(after, difference)
    return CaptionPair(
        metric.name, *names, first.overall, second.overall, difference, low, high, p, p,
        won=int((each > SAME).sum()), lost=int((each < -SAME).sum()), images=len(each),
        scale=metric.scale, exact=swapped.exact,
    )  # fmt: skip
