"""People's ratings of captions, and the tasks that everyone got wrong.

Mean ratings are used in captioning studies (Hu et al. 2019, section 3). Tasks on which everyone
contradicts the truth are worth a look: FOIL's Figure 3 shows two (Shekhar et al. 2017, section 5);
often it is the caption that is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy  # its submodules load on first use, which takes longer than most commands

from tellapart.study.questions.question import JudgedTask
from tellapart.types import Ints


@dataclass(frozen=True, slots=True)
class MeanRating:
    """The mean rating of a stage, with a 95% interval over groups that share images."""

    stage: str
    value: float
    low: float
    high: float
    captions: int
    ratings: int


@dataclass(frozen=True, slots=True)
class MissedTask:
    """A task that everyone got wrong: their answers, and the right ones."""

    stage: str
    item: str
    question: str
    images: tuple[str, ...]
    captions: tuple[str, ...]
    said: tuple[str, ...]
    right: tuple[str, ...]


def mean_rating(stage: str, tasks: Sequence[JudgedTask], clusters: Ints) -> MeanRating | None:
    """The mean over all ratings; None if there are none.

    The standard error is that of a ratio of totals over clusters (Cochran 1977, section 2.11), the
    interval Student's t. With one cluster, the interval is the whole scale.
    """
    rows = [(float(one.choice), group) for task, group in zip(tasks, clusters.tolist(), strict=True)
            for one in task.judgements if one.choice.isdigit()]  # fmt: skip
    if not rows:
        return None
    values, groups = (np.array(column) for column in zip(*rows, strict=True))
    mean = float(values.mean())
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], values - mean)
    judged = sum(bool(task.judgements) for task in tasks)
    if len(sums) < 2:
        return MeanRating(stage, mean, 1.0, 5.0, judged, len(values))
    error = float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(values))
    wide = float(-scipy.special.stdtrit(len(sums) - 1, 0.025)) * error
    return MeanRating(stage, mean, mean - wide, mean + wide, judged, len(values))


def rating_table(tasks: Sequence[JudgedTask]) -> pl.DataFrame:
    """One row per task: image, caption, mean, and `rating_1`, `rating_2`, ... in order.

    `captions --judgements` and `analyse ratings` read it. If the task shows no picture, the image
    is the item's, if it has one.
    """
    judged = [task for task in tasks if task.judgements]
    most = max((len(task.judgements) for task in judged), default=0)
    columns: dict[str, list[object]] = {"item": [], "image": [], "caption": [], "mean": []}
    columns |= {f"rating_{k + 1}": [] for k in range(most)}
    for task in judged:
        given = [int(one.choice) for one in task.judgements if one.choice.isdigit()]
        columns["item"].append(task.matter.item)
        columns["image"].append(next(iter(task.matter.images), ""))
        columns["caption"].append(task.matter.captions[0])
        columns["mean"].append(float(np.mean(given)) if given else None)
        for k in range(most):
            columns[f"rating_{k + 1}"].append(given[k] if k < len(given) else None)
    return pl.DataFrame(columns)


def missed_by_all(tasks: Sequence[JudgedTask]) -> list[MissedTask]:
    """Tasks with two judgements or more, all of them wrong."""
    return [
        MissedTask(
            task.stage, task.matter.item, task.matter.question, task.matter.images,
            task.matter.captions, tuple(one.choice for one in task.judgements),
            tuple(sorted(task.matter.truth.choices)),
        )
        for task in tasks
        if task.matter.truth is not None
        and len(task.judgements) > 1
        and not any(task.right(one) for one in task.judgements)
    ]  # fmt: skip
