"""How many judgements are needed: what majorities of people with a given error rate get right.

People err independently, and an error takes each of the wrong options equally often. Exact sums
over all ways in which an item's judgements can fall; nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import ceil, comb
from typing import Any

from tellapart.errors import BadInput
from tellapart.text.table_text import aligned

MOST_JUDGEMENTS = 15


@dataclass(frozen=True, slots=True)
class StudyEffort:
    """What is known or guessed beforehand.

    `error` is the share of wrong answers of one person, `options` the number of possible answers,
    `items` how many there are, `at_most` how many one person judges, `seconds` how long one takes.
    """

    error: float
    options: int = 4
    items: int = 1000
    at_most: int = 100
    seconds: float = 8.0


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What so many judgements of each item give and cost."""

    judgements: int
    majority: float
    unanimity: float
    at_least_one: float
    people: int
    hours: float


@dataclass(frozen=True, slots=True)
class PlanTable:
    """The plan: a row for each number of judgements, and the kappa that two people would reach."""

    effort: StudyEffort
    kappa: float
    rows: tuple[PlanRow, ...]

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


def plan_effort(effort: StudyEffort, judgements: tuple[int, ...] = (1, 2, 3, 5, 7, 9)) -> PlanTable:
    """What each number of judgements gives and costs."""
    _check(effort, judgements)
    rows = []
    for number in judgements:
        right = 1 - effort.error
        people = max(number, ceil(effort.items * number / effort.at_most))
        rows.append(
            PlanRow(
                number,
                majority_right(effort.error, number),
                right**number,
                1 - effort.error**number,
                people,
                effort.items * number * effort.seconds / 3600,
            )
        )
    return PlanTable(effort, expected_kappa(effort.error, effort.options), tuple(rows))


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
    for problem in _problems(effort, judgements):
        raise problem


def _problems(effort: StudyEffort, judgements: tuple[int, ...]) -> Iterator[BadInput]:
    if not 0 <= effort.error < 1:
        yield BadInput(f"error = {effort.error}", allowed="0 or more, less than 1")
    if effort.options < 2:
        yield BadInput(f"{effort.options} possible answers", allowed="2 or more")
    if effort.items < 1 or effort.at_most < 1:
        yield BadInput("nothing to judge", allowed="at least 1 item, at least 1 for each person")
    if not judgements or not all(1 <= one <= MOST_JUDGEMENTS for one in judgements):
        yield BadInput(f"{judgements} judgements", allowed=f"1 to {MOST_JUDGEMENTS}, such as 1,3,5")
