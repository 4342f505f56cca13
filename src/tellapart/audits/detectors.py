"""Detectors: original or edited, one head on frozen pictures and one on frozen captions.

Miranda et al. 2024 (BiVLC), section 5.3 and appendix E: a sigmoid neuron on each of two frozen
encoders says whether a picture, or a caption, is natural or synthetic. Used for retrieval, the pair
must fail; otherwise surface appearance may pass for understanding. Here the heads are ridge
logistic regressions, each fitted on groups of images other than those it judges.

Two rules turn the heads into a retrieval system. By the paper's rule, the image must be detected
correctly, and then the caption more likely to be of the same class is taken (chance 12.5% for I2T
and for T2I, not the 25% printed in the paper). By the other, the image and the caption most likely
to be edited are matched (chance 50% of whole grids): this needs no threshold and finds differences
in appearance that the first rule misses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tellapart import registry, seeds
from tellapart.audits.image_guessers import PictureStatistics
from tellapart.audits.sheet import FOLDS, folds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.table import ItemTable
from tellapart.errors import BadInput
from tellapart.files import read_table, require_columns
from tellapart.image_features.backbones import Backbone, backbone_of
from tellapart.models.model import ModelInfo
from tellapart.models.names import ModelName, load
from tellapart.models.sentence_vectors import PackagedSentences
from tellapart.pictures import Picture
from tellapart.score.encoder import open_encoder
from tellapart.score.plan import distinct_images
from tellapart.stats.intervals import mean_interval
from tellapart.store.cache import default_folder
from tellapart.text.table_text import aligned, percent
from tellapart.types import Bools, Floats, Floats32, Ints, Progress, silent

SHIPPED = "storybook"
FEWEST = 30
"""The fewest grids that heads can be fitted on."""
CHANCES = {"text": 0.5, "image": 0.5, "I2T": 0.125, "T2I": 0.125, "Group": 0.0625, "matched": 0.5}
HEADS = {
    "text": "texts detected", "image": "images detected", "I2T": "I2T", "T2I": "T2I",
    "Group": "Group", "matched": "matched",
}  # fmt: skip
STEPS = 30


@dataclass(frozen=True)
class Detections:
    """The probability that each image and caption of a grid is edited, one row per grid."""

    original_image: Floats
    edited_image: Floats
    original_text: Floats
    edited_text: Floats

    def right(self) -> dict[str, Floats]:
        """The share of each grid that is right, by detection and by both rules."""
        images = _is_edited(self.edited_image) & ~_is_edited(self.original_image)
        texts = _is_edited(self.edited_text) & ~_is_edited(self.original_text)
        image_order = self.edited_image > self.original_image
        text_order = self.edited_text > self.original_text
        i2t, t2i = images & text_order, texts & image_order
        ties = (self.edited_image == self.original_image) | (self.edited_text == self.original_text)
        return {
            "text": _share(~_is_edited(self.original_text), _is_edited(self.edited_text)),
            "image": _share(~_is_edited(self.original_image), _is_edited(self.edited_image)),
            "I2T": i2t.astype(float),
            "T2I": t2i.astype(float),
            "Group": (i2t & t2i).astype(float),
            # two wrong detections still match: the two most likely edited are paired
            "matched": np.where(ties, 0.5, (image_order == text_order).astype(float)),
        }


def _is_edited(probability: Floats) -> Bools:
    said: Bools = probability > 0.5
    return said


def _share(*right: Bools) -> Floats:
    share: Floats = np.mean([one.astype(float) for one in right], axis=0)
    return share


@dataclass(frozen=True, slots=True)
class DetectorRow:
    """The detectors' score on one kind (`micro`: on all items)."""

    kind: str
    measure: str
    value: float
    low: float
    high: float
    n: int

    @property
    def chance(self) -> float:
        """The score of random detectors by the same rule."""
        return CHANCES[self.measure]


@dataclass(frozen=True, slots=True)
class DetectorReport:
    """The pair of detectors on a benchmark, by kind, with the encoder they used."""

    encoder: str
    rows: tuple[DetectorRow, ...]

    def row(self, measure: str, kind: str = "micro") -> DetectorRow:
        """The score by one measure on one kind."""
        return next(one for one in self.rows if (one.measure, one.kind) == (measure, kind))

    @property
    def kinds(self) -> list[str]:
        """All kinds, `micro` first."""
        return list(dict.fromkeys(one.kind for one in self.rows))

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        rows = [
            {"kind": r.kind, "measure": r.measure, "value": r.value, "low": r.low, "high": r.high,
             "chance": r.chance, "n": r.n}
            for r in self.rows
        ]  # fmt: skip
        return {"encoder": self.encoder, "rows": rows}

    def __str__(self) -> str:
        lines: list[tuple[str, ...]] = [("kind", *HEADS.values(), "95% interval", "n")]
        for kind in self.kinds:
            matched = self.row("matched", kind)
            values = [percent(self.row(measure, kind).value) for measure in HEADS]
            interval = f"{percent(matched.low)} - {percent(matched.high)}"
            lines.append(("all" if kind == "micro" else kind, *values, interval, f"{matched.n:,}"))
        lines.append(("chance", *(percent(CHANCES[measure]) for measure in HEADS), "", ""))
        return (
            f"{aligned(lines, {0})}\nHeads on {self.encoder}. I2T, T2I and Group by the paper's "
            "rule; matched: the image and the caption most likely to be edited go together."
        )

    def verdict(self) -> list[str]:
        """Whether appearance gives grids away, by either rule, in words."""
        matched = self.row("matched")
        above = [
            f"{HEADS[name]} {_score_text(self.row(name))}"
            for name in ("matched", "I2T", "T2I", "Group")
            if self.row(name).low > CHANCES[name]
        ]
        seen = ", ".join(
            f"{HEADS[name]} {_score_text(self.row(name))}" for name in ("image", "text")
        )
        if not above:
            return [
                f"the pair of detectors is at chance by both rules: matched {_score_text(matched)}"
            ]
        lines = [
            f"guessable by two detectors that never compare image and caption: {', '.join(above)}"
        ]
        lines.append(f"what the detectors see: {seen}")
        worst = [
            f"{kind} {percent(self.row('matched', kind).value)}"
            for kind in self.kinds[1:]
            if self.row("matched", kind).low > matched.chance
        ]
        if worst and len(worst) < len(self.kinds) - 1:
            lines.append(f"kinds that the detectors match: {', '.join(worst)}")
        return lines


def _score_text(row: DetectorRow) -> str:
    interval = f"{percent(row.low)} - {percent(row.high)}, chance {percent(row.chance)}"
    return f"{percent(row.value)}% ({interval})"


def report_of(
    encoder: str, right: Mapping[str, Floats], kinds: Sequence[str], clusters: Ints, resamples: int
) -> DetectorReport:
    """Means with intervals over clusters, for all kinds together and for each."""
    rows = []
    names = np.array(kinds)
    for kind in ("micro", *sorted(set(kinds))):
        here = np.ones(len(names), bool) if kind == "micro" else names == kind
        own = np.unique(clusters[here], return_inverse=True)[1]
        for measure, values in right.items():
            rng = seeds.rng(0, "detectors", measure, kind)
            interval = mean_interval(values[here], own, rng, resamples=resamples)
            mean = float(values[here].mean())
            rows.append(
                DetectorRow(kind, measure, mean, interval.low, interval.high, int(here.sum()))
            )
    return DetectorReport(encoder, tuple(rows))


def read_detections(file: Path) -> Detections:
    """A table of both detectors' outputs in the format that BiVLC's authors publish.

    Columns `text_pred`, `img_pred` and `label` (0 for natural, 1 for synthetic): blocks of natural
    pairs, each followed by the synthetic pairs of the same grids in the same order.
    """
    table = read_table(file)
    require_columns(table, ("text_pred", "img_pred", "label"), file)
    try:
        numbers = table.select("text_pred", "img_pred", "label").cast(pl.Float64)
    except pl.exceptions.PolarsError:
        raise BadInput(f"{file.name} has a value that is not a number", where=str(file)) from None
    text, image, label = (column.to_numpy() for column in numbers.iter_columns())
    ends = [0, *(np.flatnonzero(np.diff(label)) + 1).tolist(), len(label)]
    runs = [np.arange(a, b) for a, b in pairwise(ends)]
    natural, synthetic = runs[0::2], runs[1::2]
    if [len(run) for run in natural] != [len(run) for run in synthetic] or label[0] != 0:
        raise BadInput(
            f"{file.name} does not pair natural with synthetic rows",
            where=str(file),
            allowed="blocks of label 0, each followed by as many rows of label 1",
        )
    first, second = np.concatenate(natural), np.concatenate(synthetic)
    return Detections(image[first], image[second], text[first], text[second])


class BackboneEncoder:
    """A backbone as an encoder of pictures alone."""

    def __init__(self, backbone: Backbone) -> None:
        self._backbone = backbone
        facts = backbone.facts
        name = f"backbone {facts.name}"
        self.facts = ModelInfo(
            name, weights=facts.weights, preprocessing=facts.preprocessing, dtype="float32"
        )

    def embed_images(self, pictures: Sequence[Picture]) -> Floats32:
        """One row per picture."""
        return self._backbone.describe([picture.open() for picture in pictures])[0]


def frozen_encoder(encoder: Any) -> Any:
    """A model that embeds pictures, given as an object or by the name of a model or backbone."""
    if not isinstance(encoder, str):
        return encoder
    scheme = ModelName.parse(encoder).scheme
    if scheme in registry.backbones.names() and scheme not in registry.models.names():
        return BackboneEncoder(backbone_of(encoder))
    return load(encoder)


def detect(
    benchmark: Benchmark,
    looked: PictureStatistics,
    encoder: Any = "",
    *,
    resamples: int,
    progress: Progress = silent,
) -> DetectorReport | None:
    """Fit the heads on the 2 x 2 grids whose pictures are available; None if they are too few.

    `encoder` names a frozen model for both sides, or a backbone for pictures. Without one, pictures
    are encoded by the built-in model and by statistics of their files, captions by the sentence
    encoder if one is installed, else by the built-in model.
    """
    grids = _squares(looked.items)
    if grids.n < FEWEST:
        return None
    model = frozen_encoder(encoder or SHIPPED)
    reader = model if hasattr(model, "embed_texts") and encoder else None
    reader = reader or PackagedSentences.installed() or load(SHIPPED)
    pictures = [benchmark.picture(name) for name in grids.images]
    seen, number = distinct_images(pictures, by_content=True, progress=progress)
    with open_encoder(model, cache=default_folder(), progress=progress) as embedding:
        rows, _ = embedding.embed_images(seen)
    image = np.asarray(rows, float)[np.asarray(number)]
    image = np.hstack([image, np.array([looked.statistics[name] for name in grids.images])])
    with open_encoder(reader, cache=default_folder(), progress=progress) as embedding:
        text = np.asarray(embedding.embed_texts(grids.texts), float)
    sides = [_crossfitted(rows, grids.fold) for rows in (image, text)]
    n = grids.n
    detections = Detections(sides[0][:n], sides[0][n:], sides[1][:n], sides[1][n:])
    names = model.facts.name, reader.facts.name
    told = names[0] if names[0] == names[1] else f"{names[0]} and {names[1]}"
    return report_of(told, detections.right(), grids.kinds, grids.clusters, resamples)


@dataclass(frozen=True, slots=True)
class _Squares:
    """2 x 2 grids: images and texts, first the originals of all grids, then the edited ones."""

    images: list[str]
    texts: list[str]
    kinds: list[str]
    clusters: Ints
    fold: Ints

    @property
    def n(self) -> int:
        return len(self.kinds)


def _squares(items: ItemTable) -> _Squares:
    """All 2 x 2 grids; if neither pair is marked as the original, the first counts as it."""
    first: list[tuple[str, str]] = []
    second: list[tuple[str, str]] = []
    kinds, groups = [], []
    for item in items:
        if len(item.images) != 2 or len(item.captions) != 2:
            continue
        cell = item.original or min(item.true)
        if (1 - cell[0], 1 - cell[1]) not in item.true:
            continue
        first.append((item.images[cell[0]], item.captions[cell[1]]))
        second.append((item.images[1 - cell[0]], item.captions[1 - cell[1]]))
        kinds.append(item.kind)
        groups.append(item.group)
    both = [*first, *second]
    clusters = np.unique(np.array(groups, str), return_inverse=True)[1]
    fold = folds(groups) if groups else np.zeros(0, np.int64)
    return _Squares([one[0] for one in both], [one[1] for one in both], kinds, clusters, fold)


def _crossfitted(rows: Floats, fold: Ints) -> Floats:
    """The probability that each row is edited, by heads fitted on the other folds."""
    n = len(fold)
    label = np.repeat([0.0, 1.0], n)
    both = np.tile(fold, 2)
    scale = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    found = np.full(2 * n, 0.5)
    for k in range(FOLDS):
        train, here = both != k, both == k
        if here.any() and train.any():
            weights = fit_head(scaled[train], label[train])
            found[here] = probability(scaled[here], weights)
    # equal pictures must tie, whatever the order of additions
    rounded: Floats = np.round(found, 9)
    return rounded


def probability(rows: Floats, weights: Floats) -> Floats:
    """A head's probabilities for some rows; the last weight is the bias."""
    told: Floats = 1 / (1 + np.exp(-np.clip(rows @ weights[:-1] + weights[-1], -30, 30)))
    return told


def fit_head(rows: Floats, label: Floats) -> Floats:
    """A logistic regression by Newton's method, with a ridge that grows with the columns."""
    wide = np.hstack([rows, np.ones((len(rows), 1))])
    ridge = np.full(wide.shape[1], max(1.0, rows.shape[1] / 10))
    ridge[-1] = 1e-6
    weights = np.zeros(wide.shape[1])
    for _ in range(STEPS):
        told = probability(rows, weights)
        slope = wide.T @ (label - told) - ridge * weights
        curve = (wide * (told * (1 - told))[:, None]).T @ wide + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-7:
            break
    return weights
