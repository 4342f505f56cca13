"""Measures of choice: accuracy, consistency, and BiVLC's I2T, T2I and Group with their parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tellapart.benchmark.table import Pattern
from tellapart.measures.measure import Measure, Outcomes, answered
from tellapart.measures.ties import (
    OptionCells,
    TieRule,
    all_right,
    chance_for_chooser,
    chance_for_scorer,
)  # fmt: skip
from tellapart.questions import Ask, Question
from tellapart.score.answer_columns import QUESTION
from tellapart.score.answers import (
    covered_patterns,
    option_columns,
    pattern_questions,
    pattern_scores,
)  # fmt: skip
from tellapart.score.run import Run
from tellapart.types import Floats

BIVLC = "Miranda et al. 2024, BiVLC, section 3.2 and appendix C (after Thrush et al. 2022)"
SIDES = {"caption": Ask.CAPTION, "image": Ask.IMAGE}


@dataclass(frozen=True)
class ChoiceMeasure(Measure):
    """The share of choice questions answered rightly.

    With `together`, all questions of an item must be right and the item is the unit; otherwise
    each question is a unit. `side` keeps the questions about the original (`+1`) or the edited
    (`-1`) image or caption.
    """

    name: str
    about: str
    asks: frozenset[Ask]
    cites: str
    together: bool = False
    side: int = 0
    grid: tuple[int, int] | None = None

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """The run's answers, unit by unit."""
        if not self.together:
            table = answered(run, self.asks)
            return Outcomes.of_answers(table.filter(self._counted(run, table)), ties)
        if run.card.kind == "scorer":
            return Outcomes.joined(self._scored_together(run, ties))
        return Outcomes.joined(self._chosen_together(run))

    def about_side(self, side: str) -> Measure | None:
        """The measure for one side; for "both" only if it reads whole 2 x 2 grids."""
        if side == "both":
            return self if self.grid == (2, 2) else None
        asks = frozenset({SIDES[side]})
        if self.asks == asks:
            return self
        return replace(self, asks=asks) if asks < self.asks and not self.together else None

    def _counted(self, run: Run, table: pl.DataFrame) -> pl.Series:
        """Which answers count: those of the right grid, about the right side."""
        items = run.benchmark.items
        row = table["item"].to_numpy()
        counted = np.ones(len(row), bool)
        if self.grid is not None:
            images, captions = items.shape
            counted &= (images[row] == self.grid[0]) & (captions[row] == self.grid[1])
        if self.side:
            original = items.frame["original"].cast(pl.List(pl.Int64))
            first = original.list.get(0, null_on_oob=True).fill_null(-2).to_numpy()[row]
            second = original.list.get(1, null_on_oob=True).fill_null(-2).to_numpy()[row]
            image, caption = table["image"].to_numpy(), table["caption"].to_numpy()
            of_original = np.where(image >= 0, image == first, caption == second)
            counted &= (first >= 0) & (of_original == (self.side > 0))
        return pl.Series(counted)

    def _questions(self, run: Run, pattern: Pattern) -> list[Question]:
        if self.grid not in (None, (pattern.images, pattern.captions)):
            return []
        items = run.benchmark.items
        return [
            q for ask in Ask if ask in self.asks for q in pattern_questions(items, pattern, ask)
        ]

    def _scored_together(self, run: Run, ties: TieRule) -> Iterator[Outcomes]:
        """Items whose questions must all be right; ties among shared cells need the scores."""
        for pattern, scores in pattern_scores(run):
            choices = _option_cells(pattern, self._questions(run, pattern))
            if choices:
                yield _scored(pattern, scores, choices, ties)

    def _chosen_together(self, run: Run) -> Iterator[Outcomes]:
        """Trial by trial: right if all questions were; a trial that lacks one does not count."""
        table = answered(run, self.asks)
        turn = pl.int_range(pl.len()).over(QUESTION)
        turns = table.filter(pl.col("trial") >= 0).with_columns(turn=turn).group_by("item", "turn")
        by_turn = turns.agg(pl.len().alias("questions"), pl.col("right").all())
        failed = dict(table.group_by("item").agg(pl.col("failed").any()).iter_rows())
        level = chance_for_scorer if run.card.scored_cells else chance_for_chooser
        for pattern in covered_patterns(run):
            choices = _option_cells(pattern, self._questions(run, pattern))
            if not choices:
                continue
            whole = by_turn.filter(pl.col("questions") == len(choices))
            mean = dict(whole.group_by("item").agg(pl.col("right").mean()).iter_rows())
            rows = pattern.rows.tolist()
            value = np.array([mean.get(row, 0.0) for row in rows])
            no_answer = np.array([failed.get(row, True) or row not in mean for row in rows])
            none = np.zeros(len(value), bool)
            chance = np.full(len(value), level(choices))
            yield Outcomes(pattern.rows, value, none, no_answer, chance, none)


def _option_cells(pattern: Pattern, asked: list[Question]) -> tuple[OptionCells, ...]:
    """Questions as columns of the pattern's grid."""
    cells = []
    for question in asked:
        columns = option_columns(pattern, question)
        right = tuple(c for place, c in enumerate(columns) if place in question.right)
        wrong = tuple(c for place, c in enumerate(columns) if place not in question.right)
        cells.append(OptionCells(right, wrong))
    return tuple(cells)


def _scored(
    pattern: Pattern, scores: Floats, choices: tuple[OptionCells, ...], ties: TieRule
) -> Outcomes:
    used = sorted({cell for choice in choices for cell in (*choice.right, *choice.wrong)})
    failed = np.asarray(np.isnan(scores[:, used]).any(axis=1))
    value, tied = all_right(np.where(np.isnan(scores), 0.0, scores), choices, ties)
    tied &= ~failed
    chance = np.full(len(scores), chance_for_scorer(choices))
    return Outcomes(
        pattern.rows, np.where(failed, 0.0, value), tied, failed, chance, tied & (ties == "drop")
    )


@dataclass(frozen=True)
class ConsistencyMeasure(Measure):
    """The share of questions whose trials all got the same answer, right or wrong."""

    name: str = "consistency"
    about: str = "share of questions answered alike in every order of the options (choosers)"
    cites: str = "Zheng et al. 2024, Large language models are not robust multiple choice selectors"
    asks: frozenset[Ask] = frozenset({Ask.CAPTION, Ask.IMAGE})

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """One unit per question that was asked more than once; empty for scorers."""
        if run.card.kind != "chooser":
            return Outcomes.joined([])
        asked = answered(run, self.asks).filter(pl.col("trial") >= 0)
        units = (
            asked.group_by(QUESTION, maintain_order=True)
            .agg(
                pl.col("failed").any(),
                pl.col("options").first(),
                trials=pl.len(),
                alike=pl.col("chosen").list.first().n_unique() == 1,
            )
            .filter(pl.col("trials") > 1)
        )
        failed = units["failed"].to_numpy()
        no_ties = np.zeros(len(failed), bool)
        trials = units["trials"].to_numpy().astype(np.int64)
        return Outcomes(
            units["item"].to_numpy(),
            (units["alike"].to_numpy() & ~failed).astype(float),
            no_ties,
            failed,
            units["options"].to_numpy().astype(float) ** (1 - trials),
            no_ties,
        )


CONSISTENCY = ConsistencyMeasure()

_TO_TEXT, _TO_IMAGE = frozenset({Ask.CAPTION}), frozenset({Ask.IMAGE})
_BOTH = _TO_TEXT | _TO_IMAGE
_TWO = (2, 2)

ACCURACY = ChoiceMeasure(
    "accuracy",
    "share of choices that are right (BISON, MCIC, SugarCrepe, FOIL pairs)",
    _BOTH,
    "Hu et al. 2019, BISON, section 4.3; Ding et al. 2016, MCIC, section 3.1",
)
I2T = ChoiceMeasure("I2T", "both images get their own caption", _TO_TEXT, BIVLC, True, 0, _TWO)
T2I = ChoiceMeasure("T2I", "both captions get their own image", _TO_IMAGE, BIVLC, True, 0, _TWO)
GROUP = ChoiceMeasure("Group", "I2T and T2I together", _BOTH, BIVLC, True, 0, _TWO)
IPOS2T = ChoiceMeasure(
    "Ipos2T", "the original image gets its caption", _TO_TEXT, BIVLC, False, 1, _TWO
)
INEG2T = ChoiceMeasure(
    "Ineg2T", "the edited image gets its caption", _TO_TEXT, BIVLC, False, -1, _TWO
)
TPOS2I = ChoiceMeasure(
    "Tpos2I", "the original caption gets its image", _TO_IMAGE, BIVLC, False, 1, _TWO
)
TNEG2I = ChoiceMeasure(
    "Tneg2I", "the edited caption gets its image", _TO_IMAGE, BIVLC, False, -1, _TWO
)
