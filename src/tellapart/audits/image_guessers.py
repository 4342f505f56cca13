"""Guessers that see pictures and no caption: file size, brightness, and a detector.

BiVLC (Miranda et al. 2024, section 5) shows that telling natural from synthetic images can replace
understanding them; here simple statistics of the files do so, without a network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from tellapart.attack.choices import CAPTIONS, IMAGES
from tellapart.audits.guessers import Guesser, text_scores
from tellapart.audits.regression import crossfitted, option_pairs
from tellapart.audits.sheet import GuessSheet
from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.table import ItemTable
from tellapart.errors import BadImage
from tellapart.pictures import Picture
from tellapart.score.engine import sample
from tellapart.types import Floats, Progress

STATISTICS = (
    "log bytes", "log pixels", "log bytes a pixel", "log width by height", "brightness",
    "contrast", "saturation", "warmth", "sharpness",
)  # fmt: skip
SIDE = 256
"""Pictures are scaled down to at most this side before their pixels are averaged."""


@dataclass(frozen=True, slots=True)
class PictureStatistics:
    """Statistics by image, the items whose images all have them, and why others are missing."""

    statistics: Mapping[str, Floats]
    items: ItemTable
    remark: str


def picture_statistics(benchmark: Benchmark, limit: int, progress: Progress) -> PictureStatistics:
    """Open the pictures of at most `limit` items; items with a missing one are left out."""
    there = [name for name in benchmark.images if benchmark.picture(name).path.exists()]
    whole = benchmark.items.with_images(there)
    chosen = sample(whole, limit, 0)
    names = sorted(chosen.frame["images"].explode().unique())
    by_image: dict[str, Floats] = {}
    for done, name in enumerate(names, 1):
        try:
            by_image[name] = statistics(benchmark.picture(name))
        except BadImage:
            continue
        finally:
            progress("pictures", done, len(names))
    items = chosen.with_images(by_image)
    total, missing = len(benchmark.items), len(benchmark.items) - len(whole)
    remark = ""
    if not len(items):
        remark = f"pictures not found ({missing:,} of {total:,} items lack one)"
    elif len(items) < total:
        remark = (
            f"{len(items):,} of {total:,} items "
            f"({missing:,} lack a picture, at most {limit:,} are opened)"
        )
    return PictureStatistics(by_image, items, remark)


def statistics(picture: Picture) -> Floats:
    """The numbers of `STATISTICS` for one picture; brightness and the like are from 0 to 1."""
    from PIL import Image as Pillow

    stored = picture.read()
    opened = picture.open()
    width, height = opened.size
    opened.thumbnail((SIDE, SIDE), Pillow.Resampling.BILINEAR)
    pixels = np.asarray(opened, dtype=float) / 255
    red, green, blue = np.moveaxis(pixels, 2, 0)  # three times faster than max and min over an axis
    brightest = np.maximum(np.maximum(red, green), blue)
    darkest = np.minimum(np.minimum(red, green), blue)
    grey = pixels.mean(axis=2)
    steps = [np.abs(np.diff(grey, axis=axis)) for axis in (0, 1) if grey.shape[axis] > 1]
    return np.array(
        [
            np.log(len(stored)),
            np.log(width * height),
            np.log(len(stored) / (width * height)),
            np.log(width / height),
            grey.mean(),
            grey.std(),
            (brightest - darkest).mean(),
            (red - blue).mean(),
            np.mean([step.mean() for step in steps]) if steps else 0.0,
        ]
    )


def image_guessers(looked: PictureStatistics, sheet: GuessSheet) -> list[Guesser]:
    """Each statistic in both directions, and all together if there is a right image."""
    singles = [
        ("file size", "the smaller file", "the larger file", "log bytes"),
        ("size", "fewer pixels", "more pixels", "log pixels"),
        ("brightness", "the darker image", "the brighter image", "brightness"),
    ]
    guessers = [
        Guesser(family, low, high, "image", _single(looked, STATISTICS.index(which)))
        for family, low, high, which in singles
    ]
    if len(option_pairs(sheet, IMAGES)):
        name = "all image statistics together (logistic regression)"
        scores = partial(image_scores, looked)
        guessers.append(Guesser("image statistics", name, "", "image", scores))
    return guessers


def _single(looked: PictureStatistics, column: int) -> Callable[[GuessSheet], Floats]:
    return lambda sheet: -features(looked, sheet)[:, column]


def features(looked: PictureStatistics, sheet: GuessSheet) -> Floats:
    """The statistics of each cell's image, one row per cell."""
    rows = [looked.statistics[name] for name in sheet.cells.image_ids()]
    return np.array(rows).reshape(-1, len(STATISTICS))


def image_scores(looked: PictureStatistics, sheet: GuessSheet) -> Floats:
    """How much an image looks like the right or original ones, cross-fitted over groups."""
    return crossfitted(features(looked, sheet), option_pairs(sheet, IMAGES), sheet.fold)


def detectors(looked: PictureStatistics, sheet: GuessSheet) -> list[Guesser]:
    """A guesser of whole grids that judges images and captions separately, original or edited.

    The score of a cell is the product of both: an image that looks original is matched with the
    caption that reads like an original. Their contents are never compared.
    """
    if not len(option_pairs(sheet, IMAGES)) or not len(option_pairs(sheet, CAPTIONS)):
        return []
    return [
        Guesser(
            "detectors",
            "original or edited, by image and by text detector",
            "",
            "both",
            lambda s: image_scores(looked, s) * text_scores(s),
        )
    ]
