"""What a study is: its stages, its rules and its texts, as frozen values that were checked."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.annotate import questions
from tellapart.annotate.questions.question import Following, QuestionType
from tellapart.annotate.verdicts import KEEPS
from tellapart.errors import BadInput, UnknownName

STOPS = ("full", "decided")
ONCE = ("item", "question")


@dataclass(frozen=True, slots=True)
class Stage:
    """One question, asked of every item (or of what the stage before has chosen).

    `judgements` are wanted for each item; with `twice` above 0 it is one for each item, and two for
    that share of them. `stop` is `full` (all that are wanted are asked for) or `decided` (none more
    than are needed to know what becomes of the item). `keep` says who must agree for an item to
    go on: a `majority`, `all`, or whoever was `first`. `checks` and `gold` are the shares of
    attention checks and gold items in what a person sees; `at_most` limits the items of one person
    (0: no limit). `minutes` is how long a task stays reserved for someone who does not answer.
    """

    name: str
    ask: str
    judgements: int = 3
    twice: float = 0.0
    stop: str = "full"
    keep: str = "majority"
    at_most: int = 0
    checks: float = 0.0
    gold: float = 0.0
    minutes: float = 20.0
    instructions: str = ""

    @property
    def question(self) -> QuestionType:
        """The question type."""
        found: QuestionType = questions.types.get(self.ask)
        return found


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole study: what `study.toml` says.

    `once` is what nobody sees twice: an `item`, or only the same `question` about it. `prolific`
    lets people in by Prolific's links, of `prolific_study` only where that is given;
    `completion_code` is what they take back there.
    """

    id: str
    name: str
    stages: tuple[Stage, ...]
    seed: int = 0
    once: str = "item"
    prolific: bool = False
    prolific_study: str = ""
    completion_code: str = ""
    contact: str = ""
    consent: str = ""
    thanks: str = ""


def check_plan(plan: Plan, where: str) -> None:
    """Raise `BadInput` where a plan cannot be carried out."""
    if not plan.stages:
        raise BadInput("a study needs a stage", where=where, allowed="one [[stage]] or more")
    names = [stage.name for stage in plan.stages]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"two stages are called {name!r}", where=where, allowed="each name once")
    _one_of("once", plan.once, ONCE, where)
    if not -(2**63) <= plan.seed < 2**63:
        raise BadInput(f"seed = {plan.seed}", where=where, allowed="a whole number of 64 bits")
    for stage in plan.stages:
        _check_stage(stage, f"{where}, stage {stage.name}")
    for stage in plan.stages[1:]:
        if not isinstance(stage.question, Following):
            raise BadInput(
                f"{stage.ask} cannot be asked of what an earlier stage chose",
                where=f"{where}, stage {stage.name}",
                todo="make it the first stage, or a study of its own",
            )


def _check_stage(stage: Stage, where: str) -> None:
    if not stage.name or len(stage.name) > 60:
        raise BadInput(f"name = {stage.name!r}", where=where, allowed="1 to 60 letters")
    try:
        _ = stage.question
    except UnknownName as error:
        error.where = where
        raise
    _one_of("stop", stage.stop, STOPS, where)
    _one_of("keep", stage.keep, KEEPS, where)
    _within("judgements", stage.judgements, 1, 1000, where)
    _within("at_most", stage.at_most, 0, 10**9, where)
    _within("minutes", stage.minutes, 0.05, 60 * 24 * 30, where)
    _within("twice", stage.twice, 0, 1, where)
    _within("checks", stage.checks, 0, 0.5, where)
    _within("gold", stage.gold, 0, 0.5, where)


def _one_of(name: str, value: str, allowed: tuple[str, ...], where: str) -> None:
    if value not in allowed:
        raise BadInput(f"{name} = {value!r}", where=where, allowed=" or ".join(allowed))


def _within(name: str, value: float, low: float, high: float, where: str) -> None:
    if not low <= value <= high:
        raise BadInput(f"{name} = {value}", where=where, allowed=f"{low:g} to {high:g}")
