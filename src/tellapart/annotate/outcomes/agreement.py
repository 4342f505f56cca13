"""How much people agree: raw, Cohen by pairs of people, Fleiss, Krippendorff, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tellapart import seeds
from tellapart.annotate.outcomes.gathering import Gathered, Judged
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
from tellapart.types import Ints

SCALES = ("rate-correctness", "rate-detail")
"""Questions whose answers are steps of a scale."""
COHEN = "Cohen's kappa"
NOTHING = "none"
"""The fixed answer that nothing fits."""
MOST_PAIRS = 50
"""So many pairs of people are listed at most; a crowd has thousands with two items each."""


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


def agreements(gathered: Gathered, seed: int = 0) -> list[AgreementRow]:
    """Every coefficient that the judgements allow, stage by stage."""
    return [
        row
        for stage in gathered.plan.stages
        for about, coded in _codings(gathered.of_stage(stage.name))
        for row in _rows(gathered, stage.name, about, coded, seed)
    ]


Coded = list[tuple[Judged, dict[str, int]]]
"""Tasks with the category that each person put them into."""


def _codings(tasks: list[Judged]) -> Iterator[tuple[str, Coded]]:
    """What counts as the same answer: the answer itself, or whether anything fits at all.

    Miranda et al. 2024 (BiVLC, section 3.1) compare "some image or none", because several images
    may fit.
    """
    judged = [task for task in tasks if len(task.said) > 1]
    named = [{one.person: _category(task, one.choice) for one in task.said} for task in judged]
    code = {name: k for k, name in enumerate(sorted({n for row in named for n in row.values()}))}
    yield (
        "answer",
        [
            (task, {person: code[name] for person, name in row.items()})
            for task, row in zip(judged, named, strict=True)
        ],
    )
    if NOTHING in code:
        yield (
            "some or none",
            [(t, {o.person: int(o.choice == NOTHING) for o in t.said}) for t in judged],
        )


def _category(task: Judged, choice: str) -> str:
    """The category of an answer: fixed ones by name, things that were drawn by a hash.

    A task may keep the target always at the same place; called by its place it would be what
    everyone chooses, and agreement beyond chance would vanish though people agree.
    """
    form = task.question.form(task.matter)
    things = {
        option.key: seeds.digest(option.text, option.image and task.matter.images[option.image])
        for option in form.options
    }
    return f"thing {sorted(things.values()).index(things[choice])}" if choice in things else choice


def _rows(
    gathered: Gathered, stage: str, about: str, coded: Coded, seed: int
) -> Iterator[AgreementRow]:
    if not coded:
        return
    clusters = gathered.clusters([task for task, _ in coded])
    by_place = _by_place(coded)
    full = (by_place != MISSING).sum(axis=1) == by_place.shape[1]
    every: list[tuple[str, Callable[..., Agreement], Ratings, Ints]] = [
        ("raw agreement", raw_agreement, by_place, clusters),
        ("Fleiss' kappa", fleiss_kappa, by_place[full], clusters[full]),
        ("Krippendorff's alpha", krippendorff_alpha, by_place, clusters),
    ]
    if coded[0][0].ask in SCALES:
        every.append(("Krippendorff's alpha, ordinal", ordinal_alpha, by_place, clusters))
    for measure, coefficient, ratings, groups in every:
        yield from _row(stage, about, measure, "all", coefficient, ratings, groups, seed)
    kappas = []
    for pair in _pairs(coded):
        ratings = np.array([[codes.get(one, MISSING) for one in pair] for _, codes in coded])
        name = " and ".join(pair)
        for row in _row(stage, about, COHEN, name, cohen_kappa, ratings, clusters, seed):
            kappas.append(row)
            yield row
    if len(kappas) > 1:
        yield _mean(kappas)


def _row(
    stage: str,
    about: str,
    measure: str,
    people: str,
    coefficient: Callable[..., Agreement],
    ratings: Ratings,
    clusters: Ints,
    seed: int,
) -> Iterator[AgreementRow]:
    """One row, or none where the coefficient is not defined (too few judgements, or all alike)."""
    rng = seeds.rng(seed, "agreement", stage, about, measure, people)
    try:
        found = coefficient(ratings, clusters, rng)
    except BadInput:
        return
    yield AgreementRow(stage, about, measure, people, found.value, found.low, found.high, found.n)


def _by_place(coded: Coded) -> Ratings:
    """First, second, ... judgement of each task, whoever gave it."""
    most = max(len(codes) for _, codes in coded)
    rows = [[*codes.values()] + [MISSING] * (most - len(codes)) for _, codes in coded]
    return np.array(rows)


def _pairs(coded: Coded) -> list[tuple[str, str]]:
    """People who judged at least two tasks together, those with most first."""
    together = Counter(pair for _, codes in coded for pair in combinations(sorted(codes), 2))
    return [pair for pair, tasks in together.most_common(MOST_PAIRS) if tasks > 1]


def _mean(rows: list[AgreementRow]) -> AgreementRow:
    """The mean over pairs; its interval treats pairs as the sample (a normal one)."""
    values = np.array([row.value for row in rows])
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    mean = float(values.mean())
    return AgreementRow(
        rows[0].stage, rows[0].about, "mean of Cohen's kappas", f"{len(rows)} pairs", mean,
        mean - float(half), mean + float(half), sum(row.items for row in rows),
    )  # fmt: skip
