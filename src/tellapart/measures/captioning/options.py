"""How captions are judged: by which metrics, with which references, on which images."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tellapart.corpus.reader import DEFAULTS, ReadOptions
from tellapart.errors import BadInput
from tellapart.measures.captioning.fewer import Fewer
from tellapart.measures.captioning.judging import Effort
from tellapart.measures.captioning.systems import Columns
from tellapart.registry import caption_metrics
from tellapart.text.caption_metrics.metric import CaptionMetric, metric_of

NATIVE = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr", "CIDEr-D")
"""Metrics that need nothing but this package: those that are taken unless others are named."""
ALL = "all"
JUDGED, GIVEN = "judged", "references"


@dataclass(frozen=True, slots=True)
class CaptionOptions:
    """How to judge captions.

    `metrics` are names, or `all` for every one that can run here. `fewer` asks for scores with
    fewer references. `frequencies` are CIDEr's document frequencies: of the references of the
    images that are `judged` (as in the COCO scripts), of all `references` given, or of the corpus
    at a path. `every_image`: an image that a system did not caption counts as an empty caption.
    """

    metrics: tuple[str, ...] = NATIVE
    fewer: Fewer = Fewer()  # noqa: RUF009 (frozen)
    frequencies: str = JUDGED
    every_image: bool = False
    effort: Effort = Effort()  # noqa: RUF009 (frozen)
    columns: Columns = Columns()  # noqa: RUF009 (frozen)
    reading: ReadOptions = DEFAULTS
    skip_bad: bool = False
    cache: Path | None = None

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
