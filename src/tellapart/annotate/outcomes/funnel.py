"""How many items each stage kept."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.annotate.outcomes.gathering import Gathered


@dataclass(frozen=True, slots=True)
class Step:
    """A stage: tasks that came to it, those that are decided, kept, dropped, and judgements."""

    stage: str
    ask: str
    came: int
    decided: int
    kept: int
    dropped: int
    judgements: int


def funnel(gathered: Gathered) -> list[Step]:
    """The stages in order; what a stage kept comes to the next."""
    steps = []
    for stage in gathered.plan.stages:
        tasks = gathered.of_stage(stage.name)
        decided = [task for task in tasks if task.state == "closed"]
        kept = sum(bool(task.kept) for task in decided)
        said = sum(len(task.said) for task in tasks)
        steps.append(
            Step(stage.name, stage.ask, len(tasks), len(decided), kept, len(decided) - kept, said)
        )
    return steps
