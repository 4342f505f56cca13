"""Agreement between people: raw, Cohen's by pairs, Fleiss', Krippendorff's, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.stats.agreement import (
    MISSING,
    Agreement,
    Ratings,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    ordinal_alpha,
    raw_agreement,
)
from tellapart.study.questions.question import JudgedTask, QuestionType
from tellapart.types import Ints

COHEN = "Cohen's kappa"
NOTHING = "none"
"""The fixed answer that nothing fits."""
MOST_PAIRS = 50
"""Maximum number of listed pairs; a crowd has thousands with two common items each."""


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """One coefficient of one stage; `about` says what counted as the same answer."""

    stage: str
    about: str
    measure: str
    people: str
    value: float
    low: float
    high: float
    items: int


def agreement_rows(
    stage: str, question: QuestionType, tasks: Sequence[JudgedTask], clusters: Ints, seed: int
) -> Iterator[AgreementRow]:
    """All coefficients that are defined for the judgements of a stage's tasks.

    Tasks have two judgements or more; tasks of one cluster are resampled together.
    """
    for about, categories in _codings(question, tasks):
        kappas = []
        for measure, people, coefficient, ratings, groups in _coefficients(
            categories, clusters, question.ordinal
        ):
            path = (stage, about, measure, people)
            try:
                value = coefficient(ratings, groups, seeds.rng(seed, "agreement", *path))
            except BadInput:  # undefined: too few judgements, or all the same
                continue
            row = AgreementRow(*path, value.value, value.low, value.high, value.n)
            kappas += [row] if measure == COHEN else []
            yield row
        if len(kappas) > 1:
            yield _mean(kappas)


Categories = list[dict[str, int]]
"""For each task, the category that each person chose."""


def _codings(
    question: QuestionType, tasks: Sequence[JudgedTask]
) -> Iterator[tuple[str, Categories]]:
    """What counts as the same answer: the answer itself, or whether anything fits.

    Miranda et al. 2024 (BiVLC, section 3.1) compare "some image or none", because several images
    may fit.
    """
    named = [
        {one.person: _category(question, task, one.choice) for one in task.judgements}
        for task in tasks
    ]
    code = {name: k for k, name in enumerate(sorted({n for row in named for n in row.values()}))}
    yield "answer", [{person: code[name] for person, name in row.items()} for row in named]
    if NOTHING in code:
        yield (
            "some or none",
            [{one.person: int(one.choice == NOTHING) for one in t.judgements} for t in tasks],
        )


def _category(question: QuestionType, task: JudgedTask, choice: str) -> str:
    """The category of an answer: fixed options by name, others by the rank of their hash.

    A task may always have the target at the same position. If options were named by position,
    everyone would choose the same category, and agreement beyond chance would vanish although
    people agree.
    """
    things = {
        option.key: seeds.digest(option.text, option.image and task.matter.images[option.image])
        for option in question.form(task.matter).options
    }
    return f"thing {sorted(things.values()).index(things[choice])}" if choice in things else choice


Coefficient = tuple[str, str, Callable[..., Agreement], Ratings, Ints]
"""The measure, whose agreement it is, the function, and its inputs: ratings and clusters."""


def _coefficients(categories: Categories, clusters: Ints, ordinal: bool) -> Iterator[Coefficient]:
    by_place = _by_place(categories)
    full = (by_place != MISSING).sum(axis=1) == by_place.shape[1]
    yield "raw agreement", "all", raw_agreement, by_place, clusters
    yield "Fleiss' kappa", "all", fleiss_kappa, by_place[full], clusters[full]
    yield "Krippendorff's alpha", "all", krippendorff_alpha, by_place, clusters
    if ordinal:
        yield "Krippendorff's alpha, ordinal", "all", ordinal_alpha, by_place, clusters
    for pair in _pairs(categories):
        ratings = np.array([[row.get(one, MISSING) for one in pair] for row in categories])
        yield COHEN, " and ".join(pair), cohen_kappa, ratings, clusters


def _by_place(categories: Categories) -> Ratings:
    """The first, second, ... judgement of each task, regardless of who gave it."""
    most = max(map(len, categories))
    rows = [[*row.values()] + [MISSING] * (most - len(row)) for row in categories]
    return np.array(rows)


def _pairs(categories: Categories) -> list[tuple[str, str]]:
    """Pairs of people with at least two common tasks, those with the most first."""
    together = Counter(pair for row in categories for pair in combinations(sorted(row), 2))
    return [pair for pair, tasks in together.most_common(MOST_PAIRS) if tasks > 1]


def _mean(rows: list[AgreementRow]) -> AgreementRow:
    """The mean over pairs, with a normal interval within -1 and 1 that takes them as the sample."""
    values = np.array([row.value for row in rows])
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    mean = float(values.mean())
    return AgreementRow(
        rows[0].stage, rows[0].about, "mean of Cohen's kappas", f"{len(rows)} pairs", mean,
        max(mean - float(half), -1.0), min(mean + float(half), 1.0),
        sum(row.items for row in rows),
    )  # fmt: skip
