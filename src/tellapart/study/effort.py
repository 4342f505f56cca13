"""Assumptions about people, and how many judgements they call for.

People err independently, and an error picks each wrong option equally often. Results are exact sums
over all possible outcomes of an item's judgements; nothing is simulated.
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
    """Simulated people: how many, how many at a time, their habits and their seed.

    An error picks each wrong option equally often; `seconds` are reported to the server without
    waiting.
    """

    people: Annotated[int, Help("Number of simulated people.")] = 5
    at_once: Annotated[int, Help("How many of them work at a time.")] = 2
    error: Annotated[float, Help("Share of their answers that are wrong.")] = 0.1
    bias: Annotated[float, Help("Share of answers that pick the first option without looking.")] = (
        0.0
    )
    seconds: Annotated[float, Help("Seconds that they report per answer.")] = 8.0
    leaving: Annotated[float, Help("Probability of quitting at each task.")] = 0.0
    seed: Seed = 0

    def __post_init__(self) -> None:
        for name in ("error", "bias", "leaving"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise BadInput(f"{name} = {value} is not a share between 0 and 1", allowed="0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyEffort:
    """The assumptions of a study: people's error rate, and how much there is to judge."""

    error: Annotated[float, Help("Share of wrong answers per person.")] = 0.1
    options: Annotated[int, Help("Number of possible answers.")] = 4
    items: Annotated[int, Help("Number of items.")] = 1000
    at_most: Annotated[int, Help("Maximum number of items per person.")] = 100
    seconds: Annotated[float, Help("Seconds per judgement.")] = 8.0


@dataclass(frozen=True, slots=True)
class EffortRow:
    """The quality and cost of a number of judgements per item."""

    judgements: int
    majority: float
    unanimity: float
    at_least_one: float
    people: int
    hours: float


@dataclass(frozen=True, slots=True)
class EffortTable:
    """One row for each number of judgements, and the expected kappa of two people."""

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
            f"{aligned(lines, ())}\n\nfor {e.items:,} items with {e.options} possible answers and "
            f"{100 * e.error:.1f}% errors per person; expected Cohen's kappa of two people: "
            f"{self.kappa:.3f}"
        )


def plan_effort(
    effort: StudyEffort, judgements: tuple[int, ...] = (1, 2, 3, 5, 7, 9)
) -> EffortTable:
    """The quality and cost of each number of judgements."""
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
    """The probability that the right answer gets more than half of the judgements.

    >>> round(majority_right(0.1, 3), 4)
    0.972
    """
    return sum(
        comb(judgements, right) * (1 - error) ** right * error ** (judgements - right)
        for right in range(judgements + 1)
        if 2 * right > judgements
    )


def expected_kappa(error: float, options: int, alike: int = 2) -> float:
    """Cohen's kappa of two such people if the truth is uniform over `alike` options.

    >>> round(expected_kappa(0.1, 2), 4)
    0.64
    """
    wrong = error / (options - 1)
    # Two people agree if both are right, or if both make the same wrong choice.
    same = (1 - error) ** 2 + (options - 1) * wrong**2
    # Chance agreement follows from how often each option is chosen overall: `often` for options
    # that can be true, `wrong` for those that never are.
    often = (1 - error) / alike + wrong * (alike - 1) / alike
    by_chance = alike * often**2 + (options - alike) * wrong**2
    return (same - by_chance) / (1 - by_chance)


def _check(effort: StudyEffort, judgements: tuple[int, ...]) -> None:
    if not 0 <= effort.error < 1:
        raise BadInput(f"error = {effort.error}", allowed="0 or more, less than 1")
    if effort.options < 2:
        raise BadInput(f"{effort.options} possible answers", allowed="2 or more")
    if effort.items < 1 or effort.at_most < 1:
        raise BadInput("nothing to judge", allowed="at least 1 item, at least 1 per person")
    if not judgements or not all(1 <= one <= MOST_JUDGEMENTS for one in judgements):
        raise BadInput(f"{judgements} judgements", allowed=f"1 to {MOST_JUDGEMENTS}, such as 1,3,5")
