"""FOIL's three tasks: is the caption right (T1), which word is wrong (T2), what should it be (T3).

A scorer does T1 by a threshold on its scores, fitted on other images than those that it is
applied to; T2 by occlusion (the word whose absence makes the caption fit best); T3 by substitution
(the candidate that makes it fit best). A chooser is asked outright.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.measures.outcomes import Outcomes, choices_made, grid_scores
from tellapart.measures.ties import Bools, Floats, TieRule
from tellapart.questions import Ask, Question, questions
from tellapart.score.run import Run

FOIL = "Shekhar et al. 2017, FOIL it!, section 4"
FOLDS = 5
TIE_VALUES = {"wrong": 0.0, "half": 0.5, "right": 1.0, "drop": 0.0}


@dataclass(frozen=True, slots=True)
class Cells:
    """Every single (image, caption) cell of a run's items: what T1 judges."""

    item: np.typing.NDArray[np.intp]
    score: Floats
    true: Bools
    group: np.typing.NDArray[np.intp]


def judged_cells(run: Run) -> Cells:
    """The cells of all covered items; NaN where a score is missing."""
    flat, begins = grid_scores(run)
    items, truths, groups, places = [], [], [], []
    numbers: dict[str, int] = {}
    for index, item in enumerate(run.benchmark.items):
        if item.id not in run.covered:
            continue
        group = numbers.setdefault(item.group, len(numbers))
        for i in range(len(item.images)):
            for j in range(len(item.captions)):
                items.append(index)
                truths.append((i, j) in item.true)
                groups.append(group)
                places.append(begins[index] + i * len(item.captions) + j)
    where = np.array(places, dtype=np.intp)
    return Cells(
        np.array(items, dtype=np.intp),
        flat[where],
        np.array(truths, dtype=bool),
        np.array(groups, dtype=np.intp),
    )


def fitted_threshold(scores: Floats, true: Bools) -> float:
    """The threshold above which "true" is said as often as captions are true.

    Such a threshold leans to neither side: a model that knows nothing is right on half of the true
    captions and on half of the foils. Thresholds lie halfway between neighbouring scores; where
    all scores are the same it is that score, and everything ties.
    """
    values, counts = np.unique(scores, return_counts=True)
    if len(values) == 1:
        return float(values[0])
    said_true = len(scores) - np.cumsum(counts)[:-1]
    cut = int(np.abs(said_true - true.sum()).argmin())
    return float((values[cut] + values[cut + 1]) / 2)


def crossfitted_thresholds(cells: Cells) -> Floats:
    """For each cell the threshold that was fitted without its group's fold."""
    order = seeds.rng(0, "T1 folds").permutation(int(cells.group.max()) + 1)
    fold = order[cells.group] % FOLDS
    found = np.empty(len(cells.score))
    scored = ~np.isnan(cells.score)
    for k in range(FOLDS):
        train = scored & (fold != k)
        train = train if train.any() else scored  # all in one fold: nothing else to fit on
        found[fold == k] = fitted_threshold(cells.score[train], cells.true[train])
    return found


@dataclass(frozen=True)
class JudgeMeasure:
    """T1: the share of captions rightly called true or foil, on all cells or on one sort."""

    name: str
    about: str
    only: bool | None = None
    cites: str = FOIL
    asks: frozenset[Ask] = frozenset({Ask.JUDGE})

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """What the run said of each cell."""
        if run.card.kind == "chooser":
            return asked_outcomes(run, self.asks, self._counts)
        cells = judged_cells(run)
        if not len(cells.item):
            return Outcomes.joined([])
        failed = np.isnan(cells.score)
        score = np.where(failed, 0.0, cells.score)
        threshold = crossfitted_thresholds(cells) if not failed.all() else np.zeros(len(score))
        tied = (score == threshold) & ~failed
        value = ((score > threshold) == cells.true).astype(float)
        value = np.where(tied, TIE_VALUES[ties], np.where(failed, 0.0, value))
        keep = np.ones(len(score), dtype=bool) if self.only is None else cells.true == self.only
        left_out = tied & (ties == "drop")
        chance = np.full(len(score), 0.5)
        return Outcomes(
            cells.item[keep], value[keep], tied[keep], failed[keep], chance[keep], left_out[keep]
        )

    def _counts(self, question: Question) -> bool:
        truth = (question.image, question.caption) in question.item.true
        return self.only is None or truth == self.only


@dataclass(frozen=True)
class WordMeasure:
    """T2 and T3: the share of foil captions whose foil word is found, or rightly mended."""

    name: str
    about: str
    ask: Ask
    cites: str = FOIL

    @property
    def asks(self) -> frozenset[Ask]:
        """The one question that it reads."""
        return frozenset({self.ask})

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """What the run answered about each foil caption."""
        if run.card.kind == "chooser":
            return asked_outcomes(run, self.asks, lambda question: True)
        rows = self._options(run)
        if not rows.height:
            return Outcomes.joined([])
        scores = run.scores.filter(pl.col("edit") != "")
        keys = ["item", "image", "caption", "edit"]
        found = rows.join(scores, on=keys, how="left", maintain_order="left")
        best = pl.col("score").max().over("unit")
        found = found.with_columns(at_best=pl.col("score") == best)
        units = found.group_by("unit", maintain_order=True).agg(
            pl.col("index").first(),
            options=pl.len(),
            failed=pl.col("score").is_null().any(),
            right=(pl.col("at_best") & pl.col("is_right")).sum(),
            at_best=pl.col("at_best").sum(),
        )
        return _word_outcomes(units, ties)

    def _options(self, run: Run) -> pl.DataFrame:
        """Every option of every question: unit, index, item, image, caption, edit, is_right."""
        sign = "=" if self.ask is Ask.MEND else "-"
        rows = [
            (
                unit,
                index,
                item.id,
                question.image,
                question.caption,
                f"{sign}{option}",
                k in question.right,
            )
            for unit, (index, item, question) in enumerate(
                (index, item, question)
                for index, item in enumerate(run.benchmark.items)
                if item.id in run.covered
                for question in questions(item, self.asks)
            )
            for k, option in enumerate(question.options)
        ]
        schema = {
            "unit": pl.Int64, "index": pl.Int64, "item": pl.String, "image": pl.Int32,
            "caption": pl.Int32, "edit": pl.String, "is_right": pl.Boolean,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")


def _word_outcomes(units: pl.DataFrame, ties: TieRule) -> Outcomes:
    right, at_best = units["right"].to_numpy(), units["at_best"].to_numpy()
    failed = units["failed"].to_numpy()
    tied = (right > 0) & (at_best > right) & ~failed
    broken = {
        "wrong": np.zeros(len(right)),
        "half": right / np.maximum(at_best, 1),
        "right": np.ones(len(right)),
        "drop": np.zeros(len(right)),
    }[ties]
    value = np.where(tied, broken, (right > 0).astype(float))
    return Outcomes(
        units["index"].to_numpy().astype(np.intp),
        np.where(failed, 0.0, value),
        tied,
        failed,
        1.0 / units["options"].to_numpy(),
        tied & (ties == "drop"),
    )


def asked_outcomes(run: Run, asks: frozenset[Ask], counts: Callable[[Question], bool]) -> Outcomes:
    """A chooser's answers to single questions, each a unit; trials count by their mean."""
    made = choices_made(run)
    rows: list[tuple[int, float, bool, float]] = []
    for index, item in enumerate(run.benchmark.items):
        if item.id not in run.covered:
            continue
        for question in questions(item, asks):
            if not counts(question):
                continue
            answers = [choice for _, choice in made.get((item.id, question.id), [])]
            value = float(np.mean([c in question.right for c in answers])) if answers else 0.0
            failed = not answers or None in answers
            rows.append((index, value, failed, len(question.right) / len(question.options)))
    if not rows:
        return Outcomes.joined([])
    item_index, value_, failed_, chance = (np.array(column) for column in zip(*rows, strict=True))
    none = np.zeros(len(rows), dtype=bool)
    return Outcomes(
        item_index.astype(np.intp), value_.astype(float), none, failed_.astype(bool), chance, none
    )


@dataclass(frozen=True)
class AucMeasure:
    """T1 without a threshold: how often a true caption scores above a foil, over all pairs."""

    name: str
    about: str
    cites: str = "Hanley & McNeil 1982; interval: Obuchowski 1997"
    asks: frozenset[Ask] = frozenset({Ask.JUDGE})

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """For a true caption the share of foils that it beats: their mean is the AUC."""
        if run.card.kind == "chooser":
            return Outcomes.joined([])
        from tellapart.stats.roc import placements

        cells = judged_cells(run)
        failed = np.isnan(cells.score)
        if not (cells.true & ~failed).any() or not (~cells.true & ~failed).any():
            return Outcomes.joined([])
        # A missing score loses against everything, on either side.
        score = np.where(failed, np.where(cells.true, -np.inf, np.inf), cells.score)
        mine, foils = score[cells.true], score[~cells.true]
        strict, lenient = placements(mine, foils, 0.0), placements(mine, foils, 1.0)
        value = strict + TIE_VALUES[ties] * (lenient - strict)
        tied = lenient > strict
        left_out = tied & (strict == 0) & (lenient == 1) & (ties == "drop")
        chance = np.full(len(mine), 0.5)
        return Outcomes(cells.item[cells.true], value, tied, failed[cells.true], chance, left_out)


T1 = JudgeMeasure("T1", "share of captions rightly called true or foil")
T1_CORRECT = JudgeMeasure("T1-correct", "T1 on the true captions alone", True)
T1_FOIL = JudgeMeasure("T1-foil", "T1 on the foil captions alone", False)
T1_AUC = AucMeasure("T1-AUC", "chance that a true caption scores above a foil (no threshold)")
T2_NOUNS = WordMeasure("T2-nouns", "foil word found among the caption's nouns", Ask.NOUN)
T2_CONTENT = WordMeasure("T2-content", "foil word found among its content words", Ask.WORD)
T3 = WordMeasure("T3", "foil word mended, among all target words", Ask.MEND)
