"""An attack on choices: how often a model is right that never looks, and what gives it away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.attack.choices import Choices, caption_choices
from tellapart.attack.features import FAMILIES, Features, option_features
from tellapart.attack.logit import logit_scores
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


@dataclass(frozen=True, slots=True)
class TextAttack:
    """What attackers get on a benchmark's captions.

    `hits` has for each attacker its figures over all choices (first) and by kind; `alone` how often
    a logit with one family of features is right. `share_right` and `margin` are the stronger
    attacker's on each item that asks for a caption (`items`: their places).
    """

    benchmark: str
    source: str
    captions: int
    seed: int
    hits: Mapping[str, tuple[Hit, ...]]
    alone: Mapping[str, float]
    items: Ints
    share_right: Floats
    margin: Floats

    @property
    def attacker(self) -> str:
        """The stronger attacker's name."""
        return max(self.hits, key=lambda name: self.hits[name][0].value)

    @property
    def overall(self) -> Hit:
        """The stronger attacker over all choices."""
        return self.hits[self.attacker][0]

    def carried_by(self) -> list[tuple[str, float]]:
        """Families of features that are above chance alone, the strongest first."""
        chance = self.overall.chance
        spread = 2 * np.sqrt(chance * (1 - chance) / max(self.overall.n, 1))
        return sorted(
            ((name, value) for name, value in self.alone.items() if value > chance + spread),
            key=lambda pair: -pair[1],
        )

    def to_card(self) -> dict[str, Any]:
        """What a card says: `text_alone`."""
        own = self.overall
        return {
            "value": round(100 * own.value, 2),
            "low": round(100 * own.low, 2),
            "high": round(100 * own.high, 2),
            "chance": round(100 * own.chance, 2),
            "n": own.n,
            "attacker": self.attacker,
            "source": f"{self.captions:,} captions, {self.source}",
        }

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            **self.to_card(),
            "seed": self.seed,
            "by_kind": {
                name: [
                    {
                        "kind": hit.kind, "value": hit.value, "low": hit.low, "high": hit.high,
                        "chance": hit.chance, "n": hit.n,
                    }
                    for hit in hits
                ]
                for name, hits in self.hits.items()
            },
            "alone": dict(self.alone),
        }  # fmt: skip

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
                f"statistics: {self.captions:,} captions, {self.source}",
            ]
        )


def attack_benchmark(
    benchmark: Benchmark,
    source: CaptionSource | None = None,
    *,
    seed: int = 0,
    trees: bool = True,
    resamples: int = RESAMPLES,
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
    fold = choices.folds(seed)
    features = crossfitted_features(choices, source, fold, progress)
    scores = {LOGIT: logit_scores(features, choices, fold)}
    progress("attack", 1, 3)
    if trees and trees_installed():
        scores[TREES] = tree_scores(features, choices, fold, seed)
    progress("attack", 2, 3)
    alone = {
        family: float(
            choices.share_right(
                logit_scores(features, choices, fold, frozenset({family}))
            ).mean()
        )
        for family in FAMILIES
        if family in {*features.families, "words"}
    }  # fmt: skip
    progress("attack", 3, 3)
    shares = {name: choices.share_right(own) for name, own in scores.items()}
    best = max(shares, key=lambda name: shares[name].mean())
    return TextAttack(
        benchmark.name,
        source.name,
        len(source.codes),
        seed,
        {name: tuple(_hits(choices, own, resamples)) for name, own in shares.items()},
        alone,
        choices.item,
        shares[best],
        choices.margins(scores[best]),
    )


def crossfitted_features(
    choices: Choices, source: CaptionSource, fold: Ints, progress: Progress = silent
) -> Features:
    """Features by captions of the source, without those of images in a choice's own fold."""
    fold_of = {
        image: int(number)
        for number, images in zip(fold, choices.images, strict=True)
        for image in images
    }
    folds = int(fold.max(initial=0)) + 1
    statistics = WordStatistics(source, source.folds(fold_of), folds)
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
