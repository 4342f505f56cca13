"""FOIL's three tasks: is the caption right (T1), which word is wrong (T2), what should it be (T3).

A chooser is asked directly; a scorer's answers follow from a procedure, named after the @
(`score/answers.py`, `score/word_answers.py`). In the paper a classifier decides T1 by its own
softmax, and its bias towards "correct" is the main finding (Blind: 86.20 on true captions, 25.04 on
foils); a fitted threshold favours neither side and hides the bias. `T1@own` is the first,
`T1@fitted` the second. A measure without a suffix uses the model's own procedure if it has one;
otherwise T1 is fitted, T2 goes by occlusion and T3 by substitution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from tellapart.measures.contestants import rule_for
from tellapart.measures.measure import Contrast, Measure, Outcomes, Resampling, answered
from tellapart.measures.ties import TIE_VALUES, TieRule
from tellapart.questions import Ask
from tellapart.score.answers import Way, decides, judged, judged_cells
from tellapart.score.run import Run
from tellapart.score.word_answers import WordWay, found_words, has_way, own_way
from tellapart.stats.intervals import Interval
from tellapart.stats.roc import auc, auc_difference, placements, untied_placements
from tellapart.types import Bools

FOIL = "Shekhar et al. 2017, FOIL it!, section 4"


@dataclass(frozen=True)
class JudgeMeasure(Measure):
    """T1: the share of captions rightly called true or foil, on all cells or on one class.

    `way` says whose decision counts: "own", "fitted", or empty for the one that the model has.
    """

    name: str
    about: str
    only: bool | None = None
    way: str = ""
    cites: str = FOIL
    asks: frozenset[Ask] = frozenset({Ask.JUDGE})

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """The run's verdict on each cell; empty if the model does not decide this way."""
        way = self.decided_by(run)
        if not way:
            return Outcomes.joined([])
        table = answered(run, self.asks) if run.card.kind == "chooser" else judged(run, way)
        if self.only is not None:
            table = table.filter(pl.Series(_is_true(run, table) == self.only))
        return Outcomes.of_answers(table, ties)

    def decided_by(self, run: Run) -> Way | None:
        """Choosers and models with a threshold decide by themselves; a scorer can be fitted."""
        chooser = run.card.kind == "chooser"
        own = chooser or decides(run)
        if self.way == "own" or (not self.way and own):
            return "own" if own else None
        return None if chooser else "fitted"

    @property
    def one_sided(self) -> bool:
        """Calling every caption true is perfect on the true ones."""
        return self.only is not None

    def about_side(self, side: str) -> Measure | None:
        """T1 judges captions."""
        return self if side == "caption" and not self.one_sided else None


def _is_true(run: Run, table: pl.DataFrame) -> Bools:
    """Whether the cell that each row is about is true."""
    items = run.benchmark.items
    row, image, caption = (table[name].to_numpy() for name in ("item", "image", "caption"))
    true = np.zeros(len(row), bool)
    pattern_of = np.zeros(len(items), np.int64)
    for number, pattern in enumerate(items.patterns):
        pattern_of[pattern.rows] = number
    for number, pattern in enumerate(items.patterns):
        here = pattern_of[row] == number
        for i, j in pattern.true:
            true |= here & (image == i) & (caption == j)
    return true


@dataclass(frozen=True)
class WordMeasure(Measure):
    """T2 and T3: the share of foil captions whose foil word is found, or rightly corrected."""

    name: str
    about: str
    ask: Ask
    way: WordWay | None = None
    cites: str = FOIL

    @property
    def asks(self) -> frozenset[Ask]:  # type: ignore[override]
        """The question that it reads."""
        return frozenset({self.ask})

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """The run's answer on each foil caption; empty if the model has no such procedure."""
        if self.way is None:
            return Outcomes.of_answers(answered(run, self.asks), ties)
        if run.card.kind == "chooser" or not has_way(run, self.way):
            return Outcomes.joined([])
        return Outcomes.of_answers(found_words(run, self.ask, self.way), ties)

    def decided_by(self, run: Run) -> str:
        """The name of the procedure; a chooser is asked directly."""
        if run.card.kind == "chooser":
            return "asked"
        return self.way or own_way(run, self.ask)


@dataclass(frozen=True)
class AucMeasure(Measure):
    """T1 without a threshold: how often a true caption scores above a foil, over all pairs."""

    name: str
    about: str
    cites: str = "Hanley & McNeil 1982; interval: Obuchowski 1997"
    asks: frozenset[Ask] = frozenset({Ask.JUDGE})
    by_item: ClassVar[bool] = False

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """For each true caption, the share of foils that it beats; the mean is the AUC."""
        if run.card.kind == "chooser":
            return Outcomes.joined([])
        cells = judged_cells(run)
        failed = cells.failed
        if not (cells.true & ~failed).any() or not (~cells.true & ~failed).any():
            return Outcomes.joined([])
        score = cells.losing_score
        true, foils = score[cells.true], score[~cells.true]
        strict, lenient = placements(true, foils, 0.0), placements(true, foils, 1.0)
        tied = lenient > strict
        left_out = np.zeros(len(true), bool)
        value = strict + TIE_VALUES[ties] * (lenient - strict)
        if ties == "drop":  # pairs that tie are left out, and captions that tie with every foil
            value = untied_placements(true, foils)
            left_out = np.isnan(value)
            value[left_out] = 0.0
        return Outcomes(
            cells.item[cells.true],
            value,
            tied,
            failed[cells.true],
            np.full(len(true), 0.5),
            left_out,
        )

    def interval(
        self, run: Run, ties: TieRule, outcomes: Outcomes, resampling: Resampling
    ) -> Interval:
        """Unlike the interval of a mean over true captions, this one lets foils vary, too."""
        if not resampling.whole:
            return super().interval(run, ties, outcomes, resampling)
        cells = judged_cells(run)
        score, yes, no = cells.losing_score, cells.true, ~cells.true
        tie = _tie_value(ties)
        return auc(score[yes], score[no], cells.group[yes], cells.group[no], tie)[1]

    def about_side(self, side: str) -> Measure | None:
        """T1 judges captions."""
        return self if side == "caption" else None

    def contrast(self, first: Run, second: Run, ties: TieRule) -> Contrast:
        """Both AUCs on the items that both runs cover; see `stats.roc.auc_difference`."""
        cells, other = judged_cells(first), judged_cells(second)
        places = second.benchmark.items.places_in(first.benchmark.items)
        order = np.argsort(places[other.item], kind="stable")
        both = np.isin(cells.item, places[other.item])
        item, true, score = cells.item[both], cells.true[both], cells.losing_score[both]
        other_score = other.losing_score[order]
        other_score = other_score[np.isin(places[other.item][order], item)]
        clusters = np.unique(first.benchmark.items.groups[1][item], return_inverse=True)[1]
        tied = [_tie_value(rule_for(run, ties)) for run in (first, second)]
        seen = auc_difference(score, other_score, true, clusters, *tied)
        naive = auc_difference(score, other_score, true, np.arange(len(item)), *tied)
        low, high = seen.interval()
        moved = np.bincount(clusters, score != other_score) > 0
        return Contrast(
            seen.first, seen.second, seen.difference, low, high, seen.p, naive.p, seen.error,
            clusters=len(moved), differing=int(moved.sum()), test="Obuchowski 1997, t",
            naive_test="DeLong 1988", method="Obuchowski 1997, t",
        )  # fmt: skip


def _tie_value(ties: TieRule) -> float | None:
    """The value of a true caption that ties with a foil; None leaves the pair out."""
    return None if ties == "drop" else TIE_VALUES[ties]


T1 = JudgeMeasure("T1", "share of captions rightly called true or foil")
T1_CORRECT = JudgeMeasure("T1-correct", "T1 on the true captions alone", True)
T1_FOIL = JudgeMeasure("T1-foil", "T1 on the foil captions alone", False)
T1_OWN, T1_CORRECT_OWN, T1_FOIL_OWN, T1_FITTED, T1_CORRECT_FITTED, T1_FOIL_FITTED = (
    replace(measure, name=f"{measure.name}@{way}", about=f"{measure.about}, {how}", way=way)
    for way, how in (
        ("own", "by the model's own decision"),
        ("fitted", "by a threshold fitted on other images"),
    )
    for measure in (T1, T1_CORRECT, T1_FOIL)
)
T1_AUC = AucMeasure("T1-AUC", "chance that a true caption scores above a foil (no threshold)")
T2_NOUNS = WordMeasure("T2-nouns", "foil word found among the caption's nouns", Ask.NOUN)
T2_CONTENT = WordMeasure("T2-content", "foil word found among its content words", Ask.WORD)
T3 = WordMeasure("T3", "foil word mended, among all target words", Ask.MEND)
_HOW: dict[WordWay, str] = {
    "occlusion": "by the caption that scores highest without it",
    "change": "by how much its absence changes the probability of the answer given",
    "replacement": "by the model's own proposals in its place",
    "substitution": "by the candidate with which the caption scores highest",
    "linear": "by a linear model over target words",
}


def _by(measure: WordMeasure, way: WordWay) -> WordMeasure:
    return replace(
        measure, name=f"{measure.name}@{way}", about=f"{measure.about}, {_HOW[way]}", way=way
    )


T2_NOUNS_OCCLUSION, T2_NOUNS_CHANGE, T2_NOUNS_REPLACEMENT = (
    _by(T2_NOUNS, way) for way in ("occlusion", "change", "replacement")
)
T2_CONTENT_OCCLUSION, T2_CONTENT_CHANGE, T2_CONTENT_REPLACEMENT = (
    _by(T2_CONTENT, way) for way in ("occlusion", "change", "replacement")
)
T3_SUBSTITUTION, T3_LINEAR = _by(T3, "substitution"), _by(T3, "linear")
