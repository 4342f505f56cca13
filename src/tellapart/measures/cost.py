"""What a fine-tune gained and what it cost: a model before and after, on the same tests.

The tests are near-miss benchmarks by their own measures, retrieval, zero-shot classification, and
cues that training may have taught: does the model prefer true captions even beside a picture of
another item (a text-only cue), and how well does one neuron on its vectors detect false captions or
edited pictures (Miranda et al. 2024, section 5.3)? Differences have paired intervals over groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.measures.contrast import paired_units
from tellapart.measures.retrieval import Collection, rank_both
from tellapart.measures.scores import asks_of, measures_of
from tellapart.measures.zero_shot import ClassFolder, classify
from tellapart.models.model import DualEncoder
from tellapart.score.engine import Settings, run_model
from tellapart.score.run import Run
from tellapart.text.table_text import aligned
from tellapart.types import Floats, Ints, Progress, silent

KS = (1, 5)
FOLDS, STEPS, RATE, WEIGHT = 5, 200, 0.5, 1e-3
"""The settings of the one neuron: folds over groups, steps, rate, decay."""
LEAST_GROUPS = 2 * FOLDS
"""Cues are measured on at least this many groups of items."""
CHANGED = 20
"""How many items with a changed answer to name."""


@dataclass(frozen=True, slots=True)
class CostRow:
    """A figure before and after, in percent, with the difference's interval.

    `sort` is near-miss, retrieval, zero-shot or cue; for a cue higher is worse, and chance is 50.
    """

    sort: str
    on: str
    measure: str
    before: float
    after: float
    low: float
    high: float
    n: int

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class ChangedItem:
    """An item that was answered rightly before or after, not both."""

    benchmark: str
    item: str
    kind: str
    captions: tuple[str, ...]
    now_right: bool


@dataclass(frozen=True)
class TuningCost:
    """One table, before and after; `notes` say what could not be measured."""

    before: str
    after: str
    rows: tuple[CostRow, ...]
    changed: tuple[ChangedItem, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """For `--json` and for the file kept beside the model."""
        return {
            "before": self.before,
            "after": self.after,
            "rows": [{**asdict(row), "change": row.change} for row in self.rows],
            "changed": [asdict(one) for one in self.changed],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [("", "on", "measure", "before", "after", "change", "95% interval", "n")]
        for row in self.rows:
            told = "" if row.low <= 0 <= row.high else " *"
            lines.append(
                (row.sort, row.on, row.measure, f"{row.before:.1f}", f"{row.after:.1f}",
                 f"{row.change:+.1f}{told}", f"[{row.low:+.1f}, {row.high:+.1f}]", f"{row.n:,}")
            )  # fmt: skip
        below = list(self.notes)
        if any("*" in line[5] for line in lines):
            below.insert(0, "* the interval excludes 0")
        table = aligned(lines, {0, 1, 2})
        return "\n".join([f"before: {self.before}", f"after:  {self.after}", table, *below])


def tuning_cost(
    before: Any,
    after: Any,
    benchmarks: Sequence[Benchmark] = (),
    corpora: Sequence[Corpus] = (),
    folders: Sequence[tuple[ClassFolder, Sequence[str]]] = (),
    progress: Progress = silent,
) -> TuningCost:
    """Run both models on all tests."""
    both = before, after
    for one in both:
        if not isinstance(one, DualEncoder):
            raise BadInput(f"{one.facts.name} is not a dual encoder", allowed="two dual encoders")
    rows: list[CostRow] = []
    changed: list[ChangedItem] = []
    notes: list[str] = []
    for bench in benchmarks:
        settings = Settings(asks_of(bench.card.measures))
        runs = [run_model(one, bench, settings, progress) for one in both]
        rows += _near_misses(bench, runs)
        pairs = _original_pairs(bench)
        count = len({item.group for item, *_ in pairs})
        if count >= LEAST_GROUPS:
            rows += _cues(bench, pairs, both)
        else:
            notes.append(
                f"no cues were measured on {bench.name}: {count} groups of items have an original "
                f"pair, and it takes at least {LEAST_GROUPS}"
            )
        changed += _changed(bench, runs)
    for corpus in corpora:
        rows += _retrieval(corpus, both)
    for folder, templates in folders:
        found = [classify(one, folder, templates, progress) for one in both]
        first, second = (one.first.astype(float) for one in found)
        groups = np.arange(len(first))
        rows.append(_row("zero-shot", folder.root.name, "top-1", first, second, groups))
    names = before.facts.name, after.facts.name
    return TuningCost(*names, tuple(rows), tuple(changed), tuple(notes))


def _row(sort: str, on: str, measure: str, before: Floats, after: Floats, groups: Ints) -> CostRow:
    """Means of two sets of values for the same units, and the interval of their difference."""
    low, high = paired_interval(after - before, groups)
    values = 100 * float(before.mean()), 100 * float(after.mean())
    return CostRow(sort, on, measure, *values, 100 * low, 100 * high, len(before))


def paired_interval(change: Floats, groups: Ints, resamples: int = 2_000) -> tuple[float, float]:
    """The 95% percentile interval of the mean difference, with groups of units resampled."""
    _, groups = np.unique(groups, return_inverse=True)
    sums, counts = np.bincount(groups, change), np.bincount(groups).astype(float)
    rng, means = seeds.rng(0, "paired interval"), []
    for _ in range(resamples):
        drawn = rng.integers(len(sums), size=len(sums))
        means.append(sums[drawn].sum() / counts[drawn].sum())
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _near_misses(bench: Benchmark, runs: list[Run]) -> Iterator[CostRow]:
    for measure in measures_of(runs[0]):
        places, units = paired_units(runs, measure, "wrong")
        if len(places) == 2:
            first, second = units.value[:, 0], units.value[:, 1]
            yield _row("near-miss", bench.name, measure.name, first, second, units.cluster)


def _changed(bench: Benchmark, runs: list[Run]) -> list[ChangedItem]:
    """A sample of items whose answer by the benchmark's first measure changed."""
    _, units = paired_units(runs, measures_of(runs[0])[0], "wrong")
    differ = np.flatnonzero(units.value[:, 0] != units.value[:, 1])
    some = np.sort(seeds.rng(0, "changed").permutation(differ)[:CHANGED])
    found = []
    for place in some.tolist():
        item = bench.items[int(units.item[place])]
        better = bool(units.value[place, 1] > units.value[place, 0])
        found.append(ChangedItem(bench.name, item.id, item.kind, item.captions, better))
    return found


def _retrieval(corpus: Corpus, both: Sequence[Any]) -> Iterator[CostRow]:
    """Recall at 1 and 5 in both directions; queries of one image form a group."""
    texts_by_image = corpus.texts_by_image
    ids = list(texts_by_image)
    texts = [text for image in ids for text in texts_by_image[image]]
    owner = np.array([k for k, image in enumerate(ids) for _ in texts_by_image[image]])
    pictures = [corpus.picture(image) for image in ids]
    n, m = np.arange(len(ids)), np.arange(len(texts))
    ranks = []
    for model in both:
        grid = _images(model, pictures) @ _texts(model, texts).T
        ranks.append(rank_both(Collection(owner, n, m, grid, None)))
    for way, groups, pair in zip(
        ("image to text", "text to image"), (n, owner), zip(*ranks, strict=True), strict=True
    ):
        for k in KS:
            first, second = ((one.ranks <= k).astype(float) for one in pair)
            yield _row("retrieval", corpus.name, f"R@{k} {way}", first, second, groups)


def _images(model: Any, pictures: Sequence[Any]) -> Floats:
    rows = [model.embed_images(pictures[k : k + 64]) for k in range(0, len(pictures), 64)]
    return np.concatenate(rows).astype(np.float64)


def _texts(model: Any, texts: Sequence[str]) -> Floats:
    rows = [model.embed_texts(texts[k : k + 256]) for k in range(0, len(texts), 256)]
    return np.concatenate(rows).astype(np.float64)


OriginalPair = tuple[Item, tuple[int, int], int]
"""An item, its original cell, and the number of a caption that is false of that image."""


def _original_pairs(bench: Benchmark) -> list[OriginalPair]:
    """Each false caption of the items that have an original pair."""
    return [
        (item, item.original, other)
        for item in bench
        if item.original is not None
        for other in range(len(item.captions))
        if (item.original[0], other) not in item.true
    ]


def _cues(
    bench: Benchmark, pairs: Sequence[OriginalPair], both: Sequence[Any]
) -> Iterator[CostRow]:
    """What works without matching picture and text."""
    groups = np.unique([item.group for item, *_ in pairs], return_inverse=True)[1]
    true = [item.captions[cell[1]] for item, cell, _ in pairs]
    false = [item.captions[other] for item, _, other in pairs]
    shown = [item.images[cell[0]] for item, cell, _ in pairs]
    names = sorted(set(shown))
    place = {name: k for k, name in enumerate(names)}
    mine = np.array([place[name] for name in shown])
    strange = np.array([place[shown[k]] for k in _of_another_group(groups)])
    edited = [_edited(item, other) for item, _, other in pairs]
    both_images = all(edited)
    blind, told, seen = [], [], []
    for model in both:
        right, wrong = _texts(model, true), _texts(model, false)
        images = _images(model, [bench.picture(name) for name in names])
        blind.append(((right - wrong) * images[strange]).sum(axis=1) > 0)
        told.append(_detected(right, wrong, groups))
        if both_images:
            others = _images(model, [bench.picture(str(name)) for name in edited])
            seen.append(_detected(images[mine], others, groups))
    named = [
        ("true caption beside another picture", blind),
        ("neuron tells false captions", told),
    ]
    for measure, pair in [*named, *([("neuron tells edited pictures", seen)] if seen else [])]:
        first, second = (one.astype(float) for one in pair)
        yield _row("cue", bench.name, measure, first, second, groups)


def _edited(item: Any, caption: int) -> str | None:
    """The picture that a false caption is true of, if the item has it."""
    return next((item.images[i] for i, j in sorted(item.true) if j == caption), None)


def _of_another_group(groups: Ints) -> list[int]:
    """For each pair, the position of a random pair from another group."""
    rng = seeds.rng(0, "another picture")
    order = rng.permutation(len(groups))
    after = {int(a): int(b) for a, b in zip(order, np.roll(order, -1), strict=True)}
    found = []
    for k in range(len(groups)):
        other = after[k]
        while groups[other] == groups[k]:
            other = after[other]
        found.append(other)
    return found


def _detected(natural: Floats, made: Floats, groups: Ints) -> Floats:
    """For each pair, whether one neuron finds the edited one more likely to be edited.

    The neuron (logistic regression on the vectors) is fitted on the other groups.
    """
    fold = seeds.rng(0, "folds").permutation(int(groups.max()) + 1)[groups] % FOLDS
    right = np.zeros(len(groups))
    for k in range(FOLDS):
        inside = fold != k
        x = np.concatenate([natural[inside], made[inside]])
        y = np.repeat([0.0, 1.0], inside.sum())
        middle, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
        x, weights, bias = (x - middle) / spread, np.zeros(x.shape[1]), 0.0
        for _ in range(STEPS):
            wrong = 1 / (1 + np.exp(-np.clip(x @ weights + bias, -30, 30))) - y
            weights -= RATE * (x.T @ wrong / len(y) + WEIGHT * weights)
            bias -= RATE * float(wrong.mean())
        scale = weights / spread
        right[~inside] = (made[~inside] - natural[~inside]) @ scale > 0
    return right
