"""How captions are judged: by which metrics, with which references, on which images."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from tellapart.corpus.reader import ReadOptions
from tellapart.errors import BadInput
from tellapart.measures.captioning.fewer import Fewer
from tellapart.measures.captioning.judging import Effort
from tellapart.measures.captioning.systems import Columns
from tellapart.options import Cache, Help, Seed, SkipBad
from tellapart.registry import caption_metrics
from tellapart.text.caption_metrics.metric import CaptionMetric, metric_of

NATIVE = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr", "CIDEr-D")
"""Metrics that need nothing but this package: those that are taken unless others are named."""
ALL = "all"
JUDGED, GIVEN = "judged", "references"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionOptions:
    """How to judge captions.

    `metrics` are names, or `all` for every one that can run here. `references_used` asks for scores
    with fewer references. `frequencies` are CIDEr's document frequencies: of the references of the
    images that are `judged` (as in the COCO scripts), of all `references` given, or of the corpus
    at a path. `every_image`: an image that a system did not caption counts as an empty caption.
    """

    metrics: Annotated[
        tuple[str, ...], Help("Names, separated by commas, or all (see: list caption-metrics).")
    ] = NATIVE
    references_used: Annotated[
        tuple[int, ...],
        Help("Also with this many random references an image: 1 or 1,2,3 or 1-5."),
    ] = ()
    repeats: Annotated[int, Help("How often random references are drawn.")] = 10
    frequencies: Annotated[
        str,
        Help(
            "CIDEr's document frequencies: of the references of the images judged (as the "
            "COCO scripts do), of all references, or of the corpus at a path."
        ),
    ] = JUDGED
    every_image: Annotated[bool, Help("An image without a caption counts as an empty one.")] = False
    resamples: Annotated[int, Help("Bootstrap resamples for the intervals.")] = 2_000
    permutations: Annotated[int, Help("Random swaps for the tests.")] = 10_000
    seed: Seed = 0
    image_column: Annotated[
        str, Help("Tables: the column of images (default: image_id or image).")
    ] = ""
    caption_column: Annotated[str, Help("Tables: the column of captions.")] = "caption"
    cache: Cache = None
    skip_bad: SkipBad = False

    @property
    def fewer(self) -> Fewer:
        """How fewer references are drawn."""
        return Fewer(self.references_used, self.repeats, self.seed)

    @property
    def effort(self) -> Effort:
        """How much is drawn for intervals and tests."""
        return Effort(self.resamples, self.permutations, self.seed)

    @property
    def columns(self) -> Columns:
        """Which columns of the systems' tables are read."""
        return Columns(self.image_column, self.caption_column)

    @property
    def reading(self) -> ReadOptions:
        """How the references are read."""
        return ReadOptions(
            image_column=self.image_column or "image",
            caption_column=self.caption_column,
            skip_bad=self.skip_bad,
        )

    def check(self) -> None:
        """Raise where a number makes no sense."""
        if min(self.effort.resamples, self.effort.permutations) < 1:
            raise BadInput("no random draws tell nothing", allowed="at least 1 resample")
        self.fewer.check()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The metrics to judge by, and why others that were asked for are not among them."""

    metrics: tuple[CaptionMetric, ...]
    left_out: tuple[str, ...] = field(default=())


def choose(names: tuple[str, ...]) -> Chosen:
    """Metrics by their names; one that is named must be able to run, of `all` those that are."""
    if not names:
        raise BadInput("no metric was named", allowed=", ".join((*caption_metrics.names(), ALL)))
    found: dict[str, CaptionMetric] = {}
    left_out = []
    for name in caption_metrics.names() if ALL in names else names:
        metric = metric_of(name)
        problem = metric.lacking()
        if problem is None:
            found[metric.name] = metric
        elif ALL in names:
            todo = f" ({problem.todo})" if problem.todo else ""
            left_out.append(f"{name} is left out: {problem.what}{todo}")
        else:
            raise problem
    return Chosen(tuple(found.values()), tuple(left_out))
