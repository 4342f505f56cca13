"""The plan of a study: stages, rules and texts, the file `study.toml`, and the papers' recipes."""

from __future__ import annotations

import json
import tomllib
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tellapart.errors import BadInput, UnknownName
from tellapart.files import read_text, write_text
from tellapart.study import questions
from tellapart.study.questions.question import Following, QuestionType

PLAN_FILE = "study.toml"
STOPS = ("full", "decided")
KEEPS = ("majority", "all", "first")
ONCE = ("item", "question")
RANGES: dict[str, tuple[float, float]] = {
    "judgements": (1, 1000), "at_most": (0, 10**9), "minutes": (0.05, 60 * 24 * 30),
    "twice": (0, 1), "checks": (0, 0.5), "gold": (0, 0.5),
}  # fmt: skip
"""Allowed ranges of a stage's rules."""
MOST_PLACES = 1_000_000
MOST_SURVEYED = 10_000
HEAD = """\
# Written by `tellapart study create`. Texts (consent, instructions, thanks, contact), at_most,
# minutes, checks, gold and the settings for Prolific may be edited at any time, and so may
# training.json; the server reads them when it starts. The rest is fixed once the study has begun.
"""
CONSENT = """\
You are invited to take part in a study about pictures and captions. You will see pictures and short
texts and answer questions about them.

- Taking part is voluntary. You can stop at any time, without giving a reason.
- We store your answers, how long each took, and nothing else about you. If you came here from a
  platform, your id there is stored in a form that cannot be traced back to you without our key.
- You can have everything that is stored about you deleted at any time, from the menu of this page.
- The answers, without anything that points to you, may be published for research.
"""
THANKS = """\
Thank you! That was all. You can close this page now.
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """One question about every item (or about what the previous stage has chosen).

    `judgements` is the number per item; with `twice` above 0, each item gets one, and that share of
    them two. `stop` is `full` (collect all judgements) or `decided` (stop as soon as the outcome is
    certain). `keep` says who must agree for an item to be kept: a `majority`, `all`, or only the
    `first` person. `checks` and `gold` are the shares of attention checks and gold items in what a
    person sees; `at_most` limits the items per person (0: no limit). `minutes` is how long a task
    stays reserved for a person who does not answer.
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
        question: QuestionType = questions.types.get(self.ask)
        return question


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A whole study: the content of `study.toml`.

    `once` is what nobody sees twice: an `item`, or only the same `question` about it. `prolific`
    admits people by the links of `prolific_study`, at most `places` of them; both must be set. They
    take `completion_code` back to Prolific. With `pairs`, people work in fixed pairs in the order
    in which they joined: items judged twice are judged by the two people of one pair. With
    `survey`, items are dealt into surveys of that many, and one person answers every question about
    the items of a survey: first which caption fits, then which image.
    """

    id: str
    name: str
    stages: tuple[Stage, ...]
    seed: int = 0
    once: str = "item"
    pairs: bool = False
    survey: int = 0
    prolific: bool = False
    prolific_study: str = ""
    places: int = 0
    completion_code: str = ""
    contact: str = ""
    consent: str = ""
    thanks: str = ""

    @property
    def takes_prolific(self) -> bool:
        """Whether Prolific participants are admitted, which needs the study's id and places."""
        return self.prolific and bool(self.prolific_study) and self.places > 0


def check_plan(plan: StudyPlan, where: str) -> None:
    """Raise `BadInput` if a plan is invalid."""
    if not plan.stages:
        raise BadInput("a study needs a stage", where=where, allowed="one [[stage]] or more")
    names = [stage.name for stage in plan.stages]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"two stages are called {name!r}", where=where, allowed="each name once")
    _check_choice(plan, "once", ONCE, where)
    if not -(2**63) <= plan.seed < 2**63:
        raise BadInput(f"seed = {plan.seed}", where=where, allowed="a whole number of 64 bits")
    if not 0 <= plan.places <= MOST_PLACES:
        raise BadInput(f"places = {plan.places}", where=where, allowed=f"0 to {MOST_PLACES:,}")
    for stage in plan.stages:
        _check_stage(stage, f"{where}, stage {stage.name}")
    if plan.pairs and not any(stage.twice or stage.judgements == 2 for stage in plan.stages):
        raise BadInput(
            "pairs of people have nothing to judge together",
            where=where,
            allowed="a stage with two judgements per item, or with some items judged twice",
            todo="give --judgements 2 or --twice 0.1, or omit --pairs",
        )
    if plan.survey:
        _check_surveys(plan, where)
    for stage in plan.stages[1:]:
        if not isinstance(stage.question, Following):
            raise BadInput(
                f"{stage.ask} cannot be asked about the choice of an earlier stage",
                where=f"{where}, stage {stage.name}",
                todo="make it the first stage, or a study of its own",
            )


def _check_surveys(plan: StudyPlan, where: str) -> None:
    if not 1 <= plan.survey <= MOST_SURVEYED:
        raise BadInput(
            f"survey = {plan.survey}", where=where, allowed=f"0 (none) to {MOST_SURVEYED:,} items"
        )
    stage = plan.stages[0]
    if len(plan.stages) > 1 or stage.judgements != 1 or stage.twice or plan.pairs:
        raise BadInput(
            "surveys are answered by one person each, in one stage",
            where=where,
            allowed="one stage with one judgement per question",
            todo="give --judgements 1, or --survey 0",
        )
    if plan.once != "question":
        raise BadInput(
            f"once = {plan.once!r} keeps a person from answering all questions about an item",
            where=where,
            allowed="question",
            todo="give --once question, or --survey 0",
        )


def _check_stage(stage: Stage, where: str) -> None:
    if not stage.name or len(stage.name) > 60:
        raise BadInput(f"name = {stage.name!r}", where=where, allowed="1 to 60 letters")
    try:
        _ = stage.question
    except UnknownName as error:
        error.where = where
        raise
    for rule, choices in (("stop", STOPS), ("keep", KEEPS)):
        _check_choice(stage, rule, choices, where)
    for rule, (low, high) in RANGES.items():
        value = getattr(stage, rule)
        if not low <= value <= high:
            raise BadInput(f"{rule} = {value}", where=where, allowed=f"{low:g} to {high:g}")


def _check_choice(
    rules: StudyPlan | Stage, name: str, choices: tuple[str, ...], where: str
) -> None:
    value = getattr(rules, name)
    if value not in choices:
        raise BadInput(f"{name} = {value!r}", where=where, allowed=" or ".join(choices))


T = TypeVar("T", StudyPlan, Stage)
TOML_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "text"),
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
}
"""For each field type, the allowed TOML types and their name in errors."""


def write_plan(plan: StudyPlan, path: Path) -> None:
    """Write a plan as TOML."""
    parts = [HEAD, *_lines(plan, skip="stages")]
    for stage in plan.stages:
        parts += ["\n[[stage]]\n", *_lines(stage)]
    write_text(path, "".join(parts))


def read_plan(path: Path) -> StudyPlan:
    """Read and check a plan; errors say what is allowed."""
    try:
        data = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path.name} is not TOML: {error}", where=str(path)) from None
    stages = data.pop("stage", [])
    if not isinstance(stages, list) or not all(isinstance(one, dict) for one in stages):
        raise BadInput("the stages are not tables", where=str(path), allowed="[[stage]]")
    read = tuple(_from_toml(Stage, one, f"{path}, stage {n}") for n, one in enumerate(stages, 1))
    plan = _from_toml(StudyPlan, {**data, "stages": read}, str(path))
    check_plan(plan, str(path))
    return plan


def _lines(value: StudyPlan | Stage, skip: str = "") -> list[str]:
    named = {field.name: getattr(value, field.name) for field in fields(value)}
    return [f"{name} = {_literal(one)}\n" for name, one in named.items() if name != skip]


def _literal(value: Any) -> str:
    """A value in TOML, which has the syntax of JSON except for multi-line texts."""
    if isinstance(value, str) and "\n" in value:
        return '"""\n' + "\n".join(_literal(line)[1:-1] for line in value.split("\n")) + '"""'
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _from_toml(sort: type[T], values: dict[str, Any], where: str) -> T:
    known = {field.name: field for field in fields(sort)}
    for name, value in values.items():
        if name not in known:
            error = UnknownName("setting", name, known)
            error.where = where
            raise error
        wanted = str(known[name].type)
        types, called = TOML_TYPES.get(wanted, ((object,), ""))
        # True is an int in Python, but not a number in a plan
        if not isinstance(value, types) or isinstance(value, bool) != (wanted == "bool"):
            raise BadInput(f"{name} = {value!r}", where=where, allowed=called)
    missing = [n for n, f in known.items() if f.default is MISSING and n not in values]
    if missing:
        raise BadInput(f"{missing[0]} is not set", where=where)
    return sort(**values)


@dataclass(frozen=True, slots=True)
class StudyRecipe:
    """A study's stages; `once` is what nobody sees twice (see `StudyPlan`).

    Recipes that measure human performance have attention checks, and this share of `gold` items if
    a benchmark to take them from is given. `survey` is the number of items that one person answers
    whole.
    """

    about: str
    stages: tuple[Stage, ...]
    once: str = "item"
    gold: float = 0.0
    survey: int = 0


CHECKED = 0.05
"""The usual share of attention checks, and of gold items."""


RECIPES = {
    "bison": StudyRecipe(
        "pick a caption, then two others verify it (Hu et al. 2019, section 4.1)",
        (
            Stage("pick", "pick-caption", judgements=1, keep="first"),
            Stage("verify", "which-image", judgements=2, keep="all"),
        ),
    ),
    "foil": StudyRecipe(
        "right or wrong, and which word, by three people (Shekhar et al. 2017, section 4)",
        (Stage("judge", "foil", judgements=3, checks=CHECKED),),
        gold=CHECKED,
    ),
    "bivlc": StudyRecipe(
        "the best of four pictures, some twice, then what is ambiguous (Miranda et al. 2024, 3.1)",
        (
            Stage("best", "best-image", twice=0.1, keep="first"),
            Stage("filter", "first-second-both", judgements=1, keep="first"),
        ),
    ),
    "bivlc-baseline": StudyRecipe(
        "25 items a person, all four queries of each, captions first (Miranda et al. 2024, 4)",
        (Stage("choose", "choose-both-ways", judgements=1, at_most=100, checks=CHECKED),),
        once="question",
        gold=CHECKED,
        survey=25,
    ),
    "mcic": StudyRecipe(
        "the best of five captions by three people, six items each (Ding et al. 2016, 3.4)",
        (Stage("best", "best-of-five", judgements=3, at_most=6, checks=0.1),),
        gold=CHECKED,
    ),
}


def find_recipe(name: str) -> StudyRecipe:
    """A recipe by its name."""
    if name not in RECIPES:
        raise UnknownName("recipe", name, RECIPES)
    return RECIPES[name]


def each_stage(text: str, stages: int, option: str) -> list[str]:
    """One value for all stages, or one per stage, separated by commas.

    >>> each_stage("1,2", 2, "--judgements"), each_stage("3", 2, "--judgements")
    (['1', '2'], ['3', '3'])
    """
    values = [value.strip() for value in text.split(",")]
    if len(values) not in (1, stages):
        raise BadInput(
            f"{option} {text} has {len(values)} values", allowed=f"1, or {stages}: one per stage"
        )
    return values * stages if len(values) == 1 else values
