"""Studies as the papers ran them: which questions, how often, and who must agree."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.annotate.plan import Stage
from tellapart.errors import BadInput, UnknownName


@dataclass(frozen=True, slots=True)
class Recipe:
    """A study's stages; `once` is what nobody sees twice (see `Plan`)."""

    about: str
    stages: tuple[Stage, ...]
    once: str = "item"


RECIPES = {
    "bison": Recipe(
        "pick a caption, then two others verify it (Hu et al. 2019, section 4.1)",
        (
            Stage("pick", "pick-caption", judgements=1, keep="first"),
            Stage("verify", "which-image", judgements=2, keep="all"),
        ),
    ),
    "foil": Recipe(
        "right or wrong, and which word, by three people (Shekhar et al. 2017, section 4)",
        (Stage("judge", "foil", judgements=3),),
    ),
    "bivlc": Recipe(
        "the best of four pictures, some twice, then what is ambiguous (Miranda et al. 2024, 3.1)",
        (
            Stage("best", "best-image", twice=0.1, keep="first"),
            Stage("filter", "first-second-both", judgements=1, keep="first"),
        ),
    ),
    "bivlc-baseline": Recipe(
        "each of an item's four queries by one person (Miranda et al. 2024, section 4)",
        (Stage("choose", "choose-both-ways", judgements=1),),
        once="question",
    ),
    "mcic": Recipe(
        "the best of five captions by three people, six items each (Ding et al. 2016, 3.4)",
        (Stage("best", "best-of-five", judgements=3, at_most=6),),
    ),
}


def find_recipe(name: str) -> Recipe:
    """A recipe by its name."""
    if name not in RECIPES:
        raise UnknownName("recipe", name, RECIPES)
    return RECIPES[name]


def each_stage(text: str, stages: int, option: str) -> list[str]:
    """One value for all stages, or one for each, separated by commas.

    >>> each_stage("1,2", 2, "--judgements"), each_stage("3", 2, "--judgements")
    (['1', '2'], ['3', '3'])
    """
    values = [value.strip() for value in text.split(",")]
    if len(values) not in (1, stages):
        raise BadInput(
            f"{option} {text} has {len(values)} values", allowed=f"1, or {stages}: one a stage"
        )
    return values * stages if len(values) == 1 else values
