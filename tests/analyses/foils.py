"""Foils with planted truth: how right a run is depends on what the test says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tellapart.benchmark.benchmark import Benchmark
from tellapart.items import Item, Origin, Slot
from tellapart.score.run import Run, RunCard, answers_frame, scores_frame
from tests.conftest import benchmark_of

PAIRS = [("dog", "cat", "animal"), ("cow", "owl", "animal"), ("cup", "jar", "kitchen"),
         ("fork", "spoon", "kitchen"), ("bus", "car", "vehicle"), ("boat", "train", "vehicle"),
         ("sheep", "goat", "animal"), ("bowl", "plate", "kitchen"), ("bike", "truck", "vehicle"),
         ("horse", "zebra", "animal")]  # fmt: skip


def foil_item(name: str, pair: int, words: int, place: int = 2) -> Item:
    """A caption of some length with the foil at a place (from 1)."""
    target, foil, category = PAIRS[pair]
    rest = ["thing"] * (words - 1)
    before = " ".join(rest[: place - 1])
    start = len(before) + 1 if before else 0
    captions = [" ".join([*rest[: place - 1], word, *rest[place - 1 :]]) for word in (target, foil)]
    return Item.imported(
        "test", name, images=(name,), captions=tuple(captions), true=frozenset({(0, 0)}),
        original=(0, 0), kind=category, origin=Origin("test"),
        slot=Slot(1, start, start + len(foil), target, foil, words=(), candidates=()),
    )  # fmt: skip


def foil_bench(items: int, seed: int = 0, pairs: int = len(PAIRS)) -> Benchmark:
    """Items with random pairs, lengths of 5 to 15 words and places of the foil."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(items):
        words = int(rng.integers(5, 16))
        place = int(rng.integers(1, words + 1))
        made.append(foil_item(f"{k:05}", int(rng.integers(pairs)), words, place))
    return benchmark_of(made, ("accuracy",))


def answered(bench: Benchmark, logit: Callable[[Item], float], name: str, seed: int = 1) -> Run:
    """A scorer's run that is right with the chance that a logit gives."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in bench.items:
        right = rng.random() < 1 / (1 + np.exp(-logit(item)))
        rows += [(item.id, 0, 0, "", float(right)), (item.id, 0, 1, "", float(not right))]
    card = RunCard(name, "scorer", bench.name, bench.sha256)
    return Run(card, bench, scores_frame(rows), answers_frame([]))
