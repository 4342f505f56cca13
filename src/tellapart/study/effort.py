"""What is known or guessed of people beforehand, and how many judgements that calls for.

People err independently, and an error takes each of the wrong options equally often. Exact sums
over all ways in which an item's judgements can fall; nothing is simulated.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil, comb
from typing import Annotated, Any

from tellapart.errors import BadInput
from tellapart.options import Help, Seed
from tellapart.text.table_text import aligned

MOST_JUDGEMENTS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Simulated people: how many, how many at once, their habits and their seed.

    An error takes each wrong option equally often; `seconds` are told to the server, nobody waits.
    """

    people: Annotated[int, Help("How many simulated people.")] = 5
    at_once: Annotated[int, Help("How many of them work at a time.")] = 2
    error: Annotated[float, Help("Share of their answers that are wrong.")] = 0.1
    bias: Annotated[float, Help("Share that go to the first option unseen.")] = 0.0
    seconds: Annotated[float, Help("How long they say an answer takes.")] = 8.0
    leaving: Annotated[float, Help("Chance to walk away at each task.")] = 0.0
    seed: Seed = 0

    def __post_init__(self) -> None:
        for name in ("error", "bias", "leaving"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise BadInput(f"{name} = {value} is not a share", allowed="0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyEffort:
    """What a study is about to ask of people: their errors, and how much there is to judge."""

    error: Annotated[float, Help("Share of wrong answers of one person.")] = 0.1
    options: Annotated[int, Help("How many answers are possible.")] = 4
    items: Annotated[int, Help("How many items there are.")] = 1000
    at_most: Annotated[int, Help("Items that one person judges at most.")] = 100
    seconds: Annotated[float, Help("How long one judgement takes.")] = 8.0


@dataclass(frozen=True, slots=True)
class EffortRow:
    """What a number of judgements of each item gives and costs."""

    judgements: int
    majority: float
    unanimity: float
    at_least_one: float
    people: int
    hours: float


@dataclass(frozen=True, slots=True)
class EffortTable:
    """A row for each number of judgements, and the kappa that two people would reach."""

    effort: StudyEffort
    kappa: float
    rows: tuple[EffortRow, ...]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def __str__(self) -> str:
        heads = ("judgements", "majority right", "all right", "at least one", "people", "hours")
        lines: list[tuple[str, ...]] = [heads]
        for row in self.rows:
            shares = (row.majority, row.unanimity, row.at_least_one)
            percents = [f"{100 * share:.1f}" for share in shares]
            lines.append((str(row.judgements), *percents, f"{row.people:,}", f"{row.hours:,.1f}"))
        e = self.effort
        return (
            f"{aligned(lines, ())}\n\nfor {e.items:,} items, {e.options} answers each, people who "
            f"err in {100 * e.error:.1f}%; Cohen's kappa of two of them is {self.kappa:.3f}"
        )


def plan_effort(
    effort: StudyEffort, judgements: tuple[int, ...] = (1, 2, 3, 5, 7, 9)
) -> EffortTable:
    """What each number of judgements gives and costs."""
    _check(effort, judgements)
    rows = tuple(
        EffortRow(
            judgements=number,
            majority=majority_right(effort.error, number),
            unanimity=(1 - effort.error) ** number,
            at_least_one=1 - effort.error**number,
            people=max(number, ceil(effort.items * number / effort.at_most)),
            hours=effort.items * number * effort.seconds / 3600,
        )
        for number in judgements
    )
    return EffortTable(effort, expected_kappa(effort.error, effort.options), rows)


def majority_right(error: float, judgements: int) -> float:
    """The chance that the right answer has more than half of the judgements.

    >>> round(majority_right(0.1, 3), 4)
    0.972
    """
    return sum(
        comb(judgements, right) * (1 - error) ** right * error ** (judgements - right)
        for right in range(judgements + 1)
        if 2 * right > judgements
    )


def expected_kappa(error: float, options: int, alike: int = 2) -> float:
    """Cohen's kappa of two such people when the truth is equally often one of `alike` options.

    >>> round(expected_kappa(0.1, 2), 4)
    0.64
    """
    wrong = error / (options - 1)
    same = (1 - error) ** 2 + (options - 1) * wrong**2
    often = (1 - error) / alike + wrong * (alike - 1) / alike
    by_chance = alike * often**2 + (options - alike) * wrong**2
    return (same - by_chance) / (1 - by_chance)


def _check(effort: StudyEffort, judgements: tuple[int, ...]) -> None:
    if not 0 <= effort.error < 1:
        raise BadInput(f"error = {effort.error}", allowed="0 or more, less than 1")
    if effort.options < 2:
        raise BadInput(f"{effort.options} possible answers", allowed="2 or more")
    if effort.items < 1 or effort.at_most < 1:
        raise BadInput("nothing to judge", allowed="at least 1 item, at least 1 for each person")
    if not judgements or not all(1 <= one <= MOST_JUDGEMENTS for one in judgements):
        raise BadInput(f"{judgements} judgements", allowed=f"1 to {MOST_JUDGEMENTS}, such as 1,3,5")
