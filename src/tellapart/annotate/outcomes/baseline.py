"""The human baseline: people's answers as a run, to stand in the same tables as models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tellapart.annotate.outcomes.gathering import Gathered, Judged, Judgement
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput
from tellapart.questions import Ask, Question, questions
from tellapart.score.engine import versions
from tellapart.score.run import Run, RunCard, answers_frame, scores_frame

ALL = frozenset({Ask.CAPTION, Ask.IMAGE, Ask.JUDGE})
JUDGED = {"right": 0, "wrong": 1}
"""The options of `judge` are yes and no."""


def human_run(gathered: Gathered, benchmark: Benchmark, *, majority: bool = False) -> Run:
    """What people answered, each judgement a trial (or what most of them answered).

    An answer that no model could give ("both", "neither", a draw between people) is kept without a
    choice: it counts as wrong.
    """
    asked = {(q.item.id, q.id): q for item in benchmark.items for q in questions(item, ALL)}
    rows = []
    for task in gathered.tasks:
        question = asked.get((task.matter.item, task.matter.question))
        if question is not None and task.said:
            rows += list(_majority(task) if majority else _answers(task, question))
    if not rows:
        raise BadInput(
            "nobody has answered a question that models are asked",
            allowed="choose-caption, choose-image, best-of-five, which-image or foil",
        )
    card = RunCard(
        model="people (majority)" if majority else "people",
        kind="chooser",
        benchmark=benchmark.name,
        benchmark_sha256=benchmark.sha256,
        made_by=f"study {gathered.plan.name}",
        seed=gathered.plan.seed,
        versions=versions(),
        notes={"people": len({one.person for task in gathered.tasks for one in task.said})},
    )
    return Run(card, benchmark, scores_frame([]), answers_frame(rows))


def _answers(task: Judged, question: Question) -> Iterator[tuple[Any, ...]]:
    for trial, one in enumerate(task.said):
        order = list(one.order) or list(range(len(question.options)))
        yield _row(task, trial, order, one)


def _majority(task: Judged) -> Iterator[tuple[Any, ...]]:
    votes = Counter(one.choice for one in task.said).most_common(2)
    drawn = len(votes) > 1 and votes[0][1] == votes[1][1]
    choice = "draw" if drawn else votes[0][0]
    yield _row(task, 0, [], Judgement("", choice, None, ()))


def _row(task: Judged, trial: int, order: list[int], one: Judgement) -> tuple[Any, ...]:
    choice = JUDGED.get(one.choice, int(one.choice) if one.choice.isdigit() else None)
    return task.matter.item, task.matter.question, trial, order, choice, "answered", one.choice
