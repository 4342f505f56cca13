"""Metrics compared with people: how well a caption metric orders captions as raters did.

A judged caption is an image, a caption shown with it, and people's ratings. Each rating is its own
row, as in the published figures for Flickr8k-Expert (Anderson et al. 2016, SPICE; Hessel et al.
2021, CLIPScore: Kendall's tau-c with three ratings per pair as three rows). A caption that is one
of its image's references is left out, because a metric would find it there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput, Problems
from tellapart.files import read_table, read_text, require_columns, suffix
from tellapart.measures.captions.systems import IMAGE_COLUMNS, known_images
from tellapart.stats.rank_correlation import Correlation, rank_correlations
from tellapart.text.caption_metrics.metric import CaptionMetric, Material
from tellapart.types import Progress

RATING = "rating"
CAPTION_ID = "caption_id"
FLICKR = re.compile(r"[^\t]+\t[^\t]+#\d+(\t-?\d+(\.\d+)?)+")
FORM = (
    "a table with the columns image, caption (or caption_id, for references) and rating, "
    "rating_1, rating_2, ...; or lines of image, caption id and ratings separated by tabs"
)


@dataclass(frozen=True, slots=True)
class JudgedCaption:
    """A caption of an image with its ratings; `own` if it is one of the image's references."""

    image: str
    caption: str
    ratings: tuple[float, ...]
    own: bool


@dataclass(frozen=True, slots=True)
class MetricJudgement:
    """How a metric's scores of captions correlate with ratings by people."""

    metric: str
    tau_b: Correlation
    tau_c: Correlation
    spearman: Correlation
    captions: int
    ratings: int
    images: int


@dataclass(frozen=True, slots=True)
class Judgements:
    """The captions to correlate, and what was left out."""

    captions: tuple[JudgedCaption, ...]
    remarks: tuple[str, ...]


def read_judgements(
    path: Path, corpus: Corpus, *, image: str = "", caption: str = "caption", skip_bad: bool = False
) -> Judgements:
    """Read people's ratings of captions for the images of a corpus."""
    rows = _lines(path) if suffix(path) == "txt" else _rows(path, image, caption)
    given = list(rows)
    ids = known_images((row[0] for row in given), corpus)
    texts = dict(corpus.captions.select("id", "text").iter_rows())
    problems, judged = Problems(skip=skip_bad), list[JudgedCaption]()
    for number, (name, shown, by_id, ratings) in enumerate(given, 1):
        try:
            own_id = _lookup(ids, name, "image", "has no references")
            text = _lookup(texts, shown, "caption", "is not in the references") if by_id else shown
            own = text in corpus.texts_by_image[own_id]
            judged.append(JudgedCaption(own_id, text, _numbers(ratings), own))
        except BadInput as problem:
            problem.where = f"{path}, row {number}"
            problems.add(problem)
    problems.settle()
    used = tuple(one for one in judged if not one.own and one.ratings)
    if not used:
        raise BadInput(f"{path.name} has no captions to correlate", where=str(path), allowed=FORM)
    remarks = [f"left out: {problem.what}" for problem in list(problems)[:5]]
    left_out = sum(one.own for one in judged)
    if left_out:
        remarks.append(f"left out: {left_out:,} captions that are references of their own image")
    return Judgements(used, tuple(remarks))


def _lookup(known: dict[str, str], name: str, kind: str, lacks: str) -> str:
    if name not in known:
        raise BadInput(f"the {kind} {name!r:.80} {lacks}", todo="add its references")
    return known[name]


GivenRow = tuple[str, str, bool, Sequence[Any]]
"""Image, caption, whether that is an id, ratings."""


def _lines(path: Path) -> Iterator[GivenRow]:
    """Flickr8k's format: no header, captions by id."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        if not FLICKR.fullmatch(line.strip()):
            raise BadInput(
                f"line {number} is not an image, a caption id and ratings separated by tabs",
                where=f"{path}, line {number}",
                allowed=FORM,
            )
        image, caption, *ratings = line.strip().split("\t")
        yield image, caption, True, ratings


def _rows(path: Path, image: str, caption: str) -> Iterator[GivenRow]:
    table = read_table(path)
    usual = [name for name in IMAGE_COLUMNS if name in table.columns]
    image = image or (usual[0] if usual else IMAGE_COLUMNS[-1])
    by_id = caption not in table.columns and CAPTION_ID in table.columns
    shown = CAPTION_ID if by_id else caption
    require_columns(table, [image, shown], path)
    ratings = [name for name in table.columns if name.lower().startswith(RATING)]
    if not ratings:
        require_columns(table, [RATING], path)
    for row in table.select(image, shown, *ratings).iter_rows():
        yield str(row[0]), str(row[1] or ""), by_id, row[2:]


def _numbers(ratings: Iterable[Any]) -> tuple[float, ...]:
    """Ratings as numbers; empty cells are skipped."""
    try:
        numbers = tuple(float(one) for one in ratings if one not in (None, ""))
    except (TypeError, ValueError):
        raise BadInput(f"a rating is not a number: {list(ratings)!r:.80}") from None
    if not np.isfinite(numbers).all():
        raise BadInput(f"a rating is not finite: {list(ratings)!r:.80}")
    return numbers


def correlate(
    judged: Judgements,
    material: Material,
    metrics: Sequence[CaptionMetric],
    rng: np.random.Generator,
    progress: Progress,
) -> Iterator[MetricJudgement]:
    """Correlate each metric's scores with the ratings; `material` has the captions in order."""
    times = [len(one.ratings) for one in judged.captions]
    ratings = np.array([rating for one in judged.captions for rating in one.ratings])
    names = np.unique([one.image for one in judged.captions], return_inverse=True)[1]
    for done, metric in enumerate(metrics, 1):
        scores = np.repeat(metric.marks(material).each, times)
        found = rank_correlations(scores, ratings, np.repeat(names, times), rng)
        progress("judgements", done, len(metrics))
        yield MetricJudgement(
            metric.name, found.tau_b, found.tau_c, found.spearman, len(times), len(ratings),
            int(names.max()) + 1,
        )  # fmt: skip
