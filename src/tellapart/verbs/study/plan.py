"""The verb `study plan`: how many judgements are needed."""

from __future__ import annotations

from typing import Annotated

from tellapart.options import Help
from tellapart.study.effort import EffortTable, StudyEffort, plan_effort
from tellapart.verbs import Verb


def plan_study(
    options: StudyEffort = StudyEffort(),  # noqa: B008 (frozen)
    *,
    judgements: Annotated[tuple[int, ...], Help("Judgements per item.")] = (1, 2, 3, 5, 7, 9),
) -> EffortTable:
    """How many judgements are needed: what they give, how many people and hours they take."""
    return plan_effort(options, judgements)


VERB = Verb(plan_study, example="tellapart study plan --error 0.1 --items 2000")
