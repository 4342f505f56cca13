"""An attack on choices: how often a model is right that never looks, and what gives it away.

An attack on captions reads them and sees no picture (`attack_benchmark`); one on pictures sees them
and reads no caption (`picture_attack.py`). Both are the same attackers on other features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from tellapart import seeds
from tellapart.attack.choices import Choices, caption_choices
from tellapart.attack.features import (
    FAMILIES,
    FREQUENCY,
    LENGTH,
    LIKENESS,
    MARKS,
    WORDS,
    Features,
    option_features,
)
from tellapart.attack.logit import logit_scores
from tellapart.attack.readers import NO_READERS, Readers
from tellapart.attack.statistics import CaptionSource, WordStatistics
from tellapart.attack.trees import tree_scores, trees_installed
from tellapart.benchmark.benchmark import Benchmark
from tellapart.stats.intervals import RESAMPLES, mean_interval
from tellapart.text.table_text import aligned, percent
from tellapart.types import Floats, Ints, Progress, silent

LOGIT, TREES = "logit", "trees"
ALL = "all"
FEW = 50
"""Fewer choices than that teach an attacker nothing."""
MANY = 2_000
"""With so many choices the truth of one hardly touches what is learned from all others."""
PLAIN = (MARKS, LENGTH, WORDS, FREQUENCY, LIKENESS)
"""The plainest explanations first: a stop on true captions alone is a mark, though it is also a
character more; a word in false ones alone is a word, though n-grams miss it too."""


@dataclass(frozen=True, slots=True)
class Hit:
    """How often an attacker is right on the choices of one kind; ties are shared."""

    kind: str
    value: float
    low: float
    high: float
    chance: float
    n: int

    @property
    def interval(self) -> str:
        """Both ends, in percent."""
        return f"{percent(self.low)} - {percent(self.high)}"

    def percents(self) -> dict[str, Any]:
        """The figures in percent, as cards have them."""
        shares = {name: getattr(self, name) for name in ("value", "low", "high", "chance")}
        return {**{name: round(100 * share, 2) for name, share in shares.items()}, "n": self.n}

    def __str__(self) -> str:
        return (
            f"{percent(self.value)}% ({self.interval}, chance {percent(self.chance)}, "
            f"n = {self.n:,})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class TextAttack:
    """What attackers get on a benchmark's captions.

    `hits` has for each attacker its figures over all choices (first) and by kind; `alone` how often
    a logit with one family of features is right. `scores` are the stronger attacker's, one for each
    option of `choices`; `share_right` and `margin` say for each choice (of the item at the place
    `items`) how right it is and how far the truth is ahead. `source` says what it learned from,
    `readers` which models read for it, `sha256` which items these are.
    """

    benchmark: str
    source: str
    captions: int
    seed: int
    hits: Mapping[str, tuple[Hit, ...]]
    alone: Mapping[str, float]
    choices: Choices
    scores: Floats
    sha256: str = ""
    readers: str = ""

    @property
    def items(self) -> Ints:
        """The place of each choice's item."""
        return self.choices.item

    @property
    def share_right(self) -> Floats:
        """How right the stronger attacker is on each choice."""
        return self.choices.share_right(self.scores)

    @property
    def margin(self) -> Floats:
        """How far the truth is ahead in each choice, by the stronger attacker."""
        return self.choices.margins(self.scores)

    @property
    def learned_from(self) -> str:
        """What the attackers learned from, in words."""
        source = f"{self.captions:,} captions, {self.source}" if self.captions else self.source
        return f"{source}; read by {self.readers}" if self.readers else source

    @property
    def attacker(self) -> str:
        """The stronger attacker's name."""
        return max(self.hits, key=lambda name: self.hits[name][0].value)

    @property
    def overall(self) -> Hit:
        """The stronger attacker over all choices."""
        return self.hits[self.attacker][0]

    def of_kind(self, kind: str) -> Hit | None:
        """The stronger attacker on a kind."""
        return next((hit for hit in self.hits[self.attacker] if hit.kind == kind), None)

    def carried_by(self) -> list[tuple[str, float]]:
        """Families of features that are above chance alone, the strongest first.

        Between families that are as strong the plainer explanation is first (`PLAIN`).
        """
        chance = self.overall.chance
        spread = 2 * np.sqrt(chance * (1 - chance) / max(self.overall.n, 1))
        plain = {name: place for place, name in enumerate(PLAIN)}
        return sorted(
            ((name, value) for name, value in self.alone.items() if value > chance + spread),
            key=lambda pair: (-round(pair[1], 2), plain.get(pair[0], len(PLAIN))),
        )

    def to_card(self) -> dict[str, Any]:
        """What a card says, as `made["text_alone"]`: in percent, overall and by kind."""
        return {
            **self.overall.percents(),
            "attacker": self.attacker,
            "source": self.learned_from,
            "kinds": {hit.kind: hit.percents() for hit in self.hits[self.attacker][1:]},
            "items_sha256": self.sha256,
        }

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            **self.to_card(),
            "seed": self.seed,
            "by_kind": {
                name: [{"kind": hit.kind, **hit.percents()} for hit in hits]
                for name, hits in self.hits.items()
            },
            "alone": {name: round(100 * value, 2) for name, value in self.alone.items()},
        }

    def __str__(self) -> str:
        heads = ("attacker", "kind", "score", "95% interval", "chance", "n")
        rows = [heads]
        for name, hits in self.hits.items():
            for hit in hits if name == self.attacker else hits[:1]:
                rows.append(
                    (name, hit.kind, percent(hit.value), hit.interval, percent(hit.chance),
                     f"{hit.n:,}")
                )  # fmt: skip
        carried = ", ".join(f"{name} {percent(value)}" for name, value in self.carried_by())
        return "\n".join(
            [
                aligned(rows, range(2)),
                f"features alone: {carried or 'none is above chance'}",
                f"learned from: {self.learned_from}",
            ]
        )


@dataclass(frozen=True, slots=True)
class Attackers:
    """How attackers are run: folds and trees by the seed, intervals from so many resamples.

    `readers` are models that read, whose features come beside counts.
    """

    seed: int = 0
    trees: bool = True
    resamples: int = RESAMPLES
    readers: Readers = NO_READERS

    def run(
        self,
        choices: Choices,
        features: Sequence[Features],
        fold: Ints,
        progress: Progress = silent,
    ) -> tuple[dict[str, tuple[Hit, ...]], dict[str, float], Floats]:
        """Figures by attacker, figures of families alone, and the stronger one's scores.

        `features` are one table, or one for each fold that is attacked.
        """
        parts = (
            [(features[0], None)]
            if len(features) == 1
            else [(own, [number]) for number, own in enumerate(features)]
        )

        def by_logit(families: frozenset[str] | None = None) -> Floats:
            by_part = [logit_scores(own, choices, fold, families, only) for own, only in parts]
            total: Floats = np.sum(by_part, axis=0)
            return total

        def by_trees() -> Floats:
            by_part = [tree_scores(own, choices, fold, self.seed, only) for own, only in parts]
            total: Floats = np.sum(by_part, axis=0)
            return total

        own_words = [WORDS] if features[0].words.shape[1] else []
        families = [one for one in FAMILIES if one in {*features[0].families, *own_words}]
        # The limit is set around both threads: each sets it again, and must find it so.
        with threadpool_limits(limits=1), ThreadPoolExecutor(1) as beside:
            trees = beside.submit(by_trees) if self.trees and trees_installed() else None
            scores = {LOGIT: by_logit()}
            progress("attack", 1, 3)
            alone = {
                family: float(choices.share_right(by_logit(frozenset({family}))).mean())
                for family in families
            }
            progress("attack", 2, 3)
            if trees is not None:
                scores[TREES] = trees.result()
        progress("attack", 3, 3)
        shares = {name: choices.share_right(one) for name, one in scores.items()}
        best = max(shares, key=lambda name: shares[name].mean())
        hits = {name: tuple(_hits(choices, one, self.resamples)) for name, one in shares.items()}
        return hits, alone, scores[best]


def attack_benchmark(
    benchmark: Benchmark,
    source: CaptionSource | None = None,
    attackers: Attackers = Attackers(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> TextAttack | None:
    """Attack the captions of a benchmark; None where no item asks for one.

    `source` are captions to learn from; without it the true captions of the benchmark's other
    images.
    """
    choices = caption_choices(benchmark.items)
    if not len(choices):
        return None
    source = source or CaptionSource.of_items(benchmark.items)
    attack = attack_choices(choices, source, benchmark.name, attackers, progress)
    return replace(attack, sha256=benchmark.sha256)


def attack_choices(
    choices: Choices,
    source: CaptionSource,
    name: str,
    attackers: Attackers = Attackers(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> TextAttack:
    """Attack choices among texts with what the captions of a source say.

    With a language model, of many choices a sample.
    """
    readers = attackers.readers
    choices = readers.sample(choices, attackers.seed)
    fold = choices.folds(attackers.seed)
    features = independent_features(choices, source, fold, readers, progress)
    hits, alone, scores = attackers.run(choices, features, fold, progress)
    return TextAttack(
        name, source.name, len(source.codes), attackers.seed, hits, alone, choices, scores,
        readers=readers.told,
    )  # fmt: skip


def independent_features(
    choices: Choices,
    source: CaptionSource,
    fold: Ints,
    readers: Readers = NO_READERS,
    progress: Progress = silent,
) -> list[Features]:
    """Features that owe nothing to the truth of the choices that are attacked.

    Captions of the benchmark's images are left out where the source has more others. Else (the
    benchmark's own captions) each fold is attacked with captions of the others alone: those of its
    own images help neither its features nor, through the features of other choices, the weights. It
    takes a table of features for each fold; with many choices one caption has no such weight, and
    one table serves all.
    """

    def table(known: CaptionSource, own_fold: Ints) -> Features:
        counted = crossfitted_features(choices, known, own_fold)
        return readers.with_columns(counted, choices, known, own_fold, progress)

    inside = source.folds(dict.fromkeys(chain.from_iterable(choices.images), 0)) >= 0
    if 2 * inside.sum() <= len(inside):
        return [table(source.some(~inside), np.zeros_like(fold))]
    if len(choices) > MANY:
        return [table(source, fold)]
    own = source.folds(choices.image_folds(fold))
    numbers = range(int(fold.max(initial=0)) + 1)
    return [table(source.some(own != k), fold) for k in numbers]


def crossfitted_features(choices: Choices, source: CaptionSource, fold: Ints) -> Features:
    """Features by captions of the source, without those of images in a choice's own fold."""
    folds = int(fold.max(initial=0)) + 1
    statistics = WordStatistics(source, source.folds(choices.image_folds(fold)), folds)
    return option_features(choices, statistics, fold)


def _hits(choices: Choices, share: Floats, resamples: int) -> list[Hit]:
    hits = [_hit(ALL, share, choices, np.arange(len(choices)), resamples)]
    if len(choices.kinds) > 1:
        for code, kind in enumerate(choices.kinds):
            rows = np.flatnonzero(choices.kind == code)
            if len(rows):
                hits.append(_hit(kind, share, choices, rows, resamples))
    return hits


def _hit(kind: str, share: Floats, choices: Choices, rows: Ints, resamples: int) -> Hit:
    own = share[rows]
    rng = seeds.rng(0, "attack", "interval", kind)
    interval = mean_interval(own, choices.group[rows], rng, resamples)
    return Hit(
        kind, float(own.mean()), interval.low, interval.high,
        float(choices.chance[rows].mean()), len(rows),
    )  # fmt: skip
