"""What people get right: each answer, the majority, all of them, at least one.

Shekhar et al. 2017 (FOIL, section 4.4) give majority and unanimity, for the wrong word among the
foils that were rightly judged; Ding et al. 2016 (MCIC, section 4) also give at least one of three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tellapart import seeds
from tellapart.annotate.outcomes.gathering import Gathered, Judged, Judgement
from tellapart.stats.intervals import mean_interval

Right = Callable[[Judgement], bool]
WORD = "wrong word, of foils judged rightly"
HOW: dict[str, Callable[[list[bool]], bool]] = {
    "majority": lambda right: 2 * sum(right) > len(right),
    "unanimity": all,
    "at least one": any,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A share of tasks (or of single answers) with its interval at 95%."""

    stage: str
    about: str
    how: str
    value: float
    low: float
    high: float
    n: int


def figures(gathered: Gathered, seed: int = 0) -> list[Figure]:
    """Every figure that the known truth allows, stage by stage."""
    found: list[Figure] = []
    for stage in gathered.plan.stages:
        tasks = [
            task
            for task in gathered.of_stage(stage.name)
            if task.state == "closed" and task.said and task.matter.truth is not None
        ]
        for about, some in _parts(tasks):
            found += _of_part(gathered, stage.name, about, some, seed)
        found += _words(gathered, stage.name, tasks, seed)
    return found


def _parts(tasks: list[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    """All tasks; for FOIL also right captions and foils apart."""
    if not tasks:
        return
    yield "all", tasks
    if tasks[0].ask == "foil":
        yield "right captions", [task for task in tasks if not _is_foil(task)]
        yield "foils", [task for task in tasks if _is_foil(task)]


def _is_foil(task: Judged) -> bool:
    return task.matter.truth is not None and "wrong" in task.matter.truth.choices


def _of_part(
    gathered: Gathered, stage: str, about: str, tasks: list[Judged], seed: int
) -> Iterator[Figure]:
    rows = [[task.right(one) for one in task.said] for task in tasks]
    if not rows:
        return
    each = [(task, right) for task, row in zip(tasks, rows, strict=True) for right in row]
    yield _figure(gathered, (stage, about, "each answer"), each, seed)
    for how in _allowed(rows):
        decided = [(task, HOW[how](row)) for task, row in zip(tasks, rows, strict=True)]
        yield _figure(gathered, (stage, about, how), decided, seed)


def _allowed(rows: list[list[bool]]) -> list[str]:
    """Unanimity means something only where every task has the same number of judgements.

    Where asking stopped at a majority those who might have disagreed were never asked.
    """
    numbers = {len(row) for row in rows}
    if numbers == {1}:
        return []
    return list(HOW) if len(numbers) == 1 else ["majority"]


def _words(gathered: Gathered, stage: str, tasks: list[Judged], seed: int) -> Iterator[Figure]:
    """FOIL's T2: of the foils that a rule judges rightly, those whose word it finds."""
    foils = [t for t in tasks if t.matter.truth and t.matter.truth.words]
    for how in _allowed([[True] * len(task.said) for task in foils]) if foils else []:
        if how == "at least one":
            continue
        judged = [task for task in foils if HOW[how]([task.right(one) for one in task.said])]
        pointed = [
            (task, HOW[how]([task.points_right(one) for one in task.said])) for task in judged
        ]
        if pointed:
            yield _figure(
                gathered, (stage, "wrong word, of foils judged rightly", how), pointed, seed
            )


def _figure(
    gathered: Gathered, name: tuple[str, str, str], rows: list[tuple[Judged, bool]], seed: int
) -> Figure:
    values = np.array([right for _, right in rows], float)
    clusters = gathered.clusters([task for task, _ in rows])
    interval = mean_interval(values, clusters, seeds.rng(seed, "figures", *name))
    return Figure(*name, float(values.mean()), interval.low, interval.high, len(values))
