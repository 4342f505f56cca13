"""Answers: a run's answers to every question, as one table for each type of question.

Scorers and choosers share the same columns (`answer_columns.py`), which measures, comparisons and
reports read.

A scorer's answer follows from its cells: the option that scores highest; for T1 the side of a
threshold (the model's own, or one fitted on other images), or the model's own verdict; for T2 and
T3 see `word_answers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.benchmark.table import ItemTable, Pattern
from tellapart.questions import Ask, Question, questions
from tellapart.score.answer_columns import ANSWER_TABLE, QUESTION, TYPED
from tellapart.score.cells import JUDGED, word_options
from tellapart.score.run import Run
from tellapart.score.ways import OwnWay
from tellapart.score.word_answers import found_words, own_way
from tellapart.types import Bools, Floats, Ints

FOLDS = 5
"""Each T1 threshold is fitted on the folds that it is not applied to."""


@lru_cache(maxsize=32)
def answers(run: Run, ask: Ask) -> pl.DataFrame:
    """The answers to all questions of one type about the items that a run covers.

    They are ordered by item, then by question as in `questions`, then by trial.
    """
    if run.card.kind == "chooser":
        return _chooser_answers(run, ask)
    if ask is Ask.JUDGE:
        return judged(run, "own" if decides(run) else "fitted")
    if ask in (Ask.CAPTION, Ask.IMAGE):
        return _picked(run, ask)
    return found_words(run, ask, own_way(run, ask))


# Scorers: the grid


@lru_cache(maxsize=16)
def grid_scores(run: Run, edit: str = "") -> tuple[Floats, Ints]:
    """All cells of all items in one array (NaN if missing), and where each item begins.

    With an edit, the scores of captions edited in that way.
    """
    images, captions = run.benchmark.items.shape
    begins = np.concatenate([[0], np.cumsum(images * captions)]).astype(np.int64)
    flat = np.full(int(begins[-1]), np.nan)
    plain = run.scores.filter(pl.col("edit") == edit)
    if plain.height:
        row = run.benchmark.items.places_of(plain["item"])
        place = (
            begins[row] + plain["image"].to_numpy() * captions[row] + plain["caption"].to_numpy()
        )
        flat[place] = plain["score"].to_numpy()
    return flat, begins


def pattern_scores(run: Run) -> Iterator[tuple[Pattern, Floats]]:
    """For each pattern of covered items, their grids as rows (NaN if missing)."""
    flat, begins = grid_scores(run)
    for pattern in covered_patterns(run):
        cells = np.arange(pattern.images * pattern.captions)
        yield pattern, flat[begins[pattern.rows][:, None] + cells]


def covered_patterns(run: Run) -> Iterator[Pattern]:
    """The patterns of the items that a run covers."""
    items = run.benchmark.items
    for pattern in items.patterns:
        covered = items.has(pattern, run.covered_rows)
        if len(covered.rows):
            yield covered


def pattern_questions(items: ItemTable, pattern: Pattern, ask: Ask) -> list[Question]:
    """The questions that every item of a pattern has."""
    return list(questions(items[int(pattern.rows[0])], frozenset({ask})))


def option_columns(pattern: Pattern, question: Question) -> list[int]:
    """The columns of the flattened grid that a question's options stand for."""
    if question.ask is Ask.CAPTION:
        return [pattern.column(question.image, int(j)) for j in question.options]
    return [pattern.column(int(i), question.caption) for i in question.options]


def _picked(run: Run, ask: Ask) -> pl.DataFrame:
    """Choices among captions or images: the cell that scores highest."""
    parts = []
    for pattern, scores in pattern_scores(run):
        for number, question in enumerate(pattern_questions(run.benchmark.items, pattern, ask)):
            options = scores[:, option_columns(pattern, question)]
            failed = np.asarray(np.isnan(options).any(axis=1))
            best = options == options.max(axis=1, keepdims=True)  # a NaN is equal to nothing
            best[failed] = False
            parts.append(_answered(question, pattern.rows, number, best, failed))
    return _ordered(parts)


def _answered(
    question: Question, rows: Ints, number: int, best: Bools, failed: Bools
) -> pl.DataFrame:
    """The answers of many items to one question: `best` marks the options chosen by each."""
    right = sorted(question.right)
    chosen, chosen_right = best.sum(axis=1), best[:, right].sum(axis=1)
    share = np.divide(chosen_right, chosen, out=np.zeros(len(rows)), where=chosen > 0)
    return pl.DataFrame(
        {
            "item": rows,
            "number": np.full(len(rows), number),
            "image": np.full(len(rows), question.image),
            "caption": np.full(len(rows), question.caption),
            "trial": np.zeros(len(rows), np.int32),
            "options": np.full(len(rows), len(question.options)),
            "chosen": _option_lists(best, chosen),
            "right": (chosen_right > 0) & (chosen_right == chosen),
            "tied": (chosen_right > 0) & (chosen_right < chosen),
            "share": share,
            "failed": failed,
            "chance": np.full(len(rows), len(right) / len(question.options)),
        }
    )


def _option_lists(best: Bools, chosen: Ints) -> pl.Series:
    """For each row, the positions that are marked."""
    row, place = np.nonzero(best)
    if (chosen == 1).all():  # by far the most common case, and fast
        return pl.Series(place.astype(np.int32)).reshape((-1, 1)).cast(pl.List(pl.Int32))
    lists = pl.DataFrame({"row": row, "place": place.astype(np.int32)}).group_by("row").agg("place")
    every = pl.DataFrame({"row": np.arange(len(best))}).join(
        lists, on="row", how="left", maintain_order="left"
    )
    return every["place"].fill_null([])


def _ordered(parts: list[pl.DataFrame]) -> pl.DataFrame:
    if not parts:
        return pl.DataFrame(schema=ANSWER_TABLE)
    return (
        pl.concat(parts).sort("item", "number", maintain_order=True)
        .select(TYPED)
    )  # fmt: skip


# Scorers: T1


@dataclass(frozen=True, slots=True)
class JudgedCells:
    """Every (image, caption) cell of a run's items: what T1 judges.

    `score` is NaN if missing; `group` numbers the groups of items that share images.
    """

    item: Ints
    image: Ints
    caption: Ints
    score: Floats
    true: Bools
    group: Ints

    @property
    def failed(self) -> Bools:
        """Which cells have no score."""
        return np.isnan(self.score)

    @property
    def losing_score(self) -> Floats:
        """The scores, with missing ones set so that they lose, on either side."""
        return np.where(self.failed, np.where(self.true, -np.inf, np.inf), self.score)


@lru_cache(maxsize=16)
def judged_cells(run: Run, edit: str = "") -> JudgedCells:
    """The cells of all covered items, item by item."""
    items = run.benchmark.items
    flat, begins = grid_scores(run, edit)
    true = np.zeros(len(flat), bool)
    for pattern in items.patterns:
        for cell in pattern.true:
            true[begins[pattern.rows] + pattern.column(*cell)] = True
    sizes = np.diff(begins)
    item = np.repeat(np.arange(len(items)), sizes)
    within = np.arange(len(flat)) - begins[item]
    image, caption = np.divmod(within, items.shape[1][item])
    kept = run.covered_rows[item]
    item = item[kept]
    # Groups are numbered as they first occur among the covered items.
    _, first, code = np.unique(items.groups[1][item], return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))
    return JudgedCells(item, image[kept], caption[kept], flat[kept], true[kept], number[code])


def fitted_threshold(scores: Floats, true: Bools) -> float:
    """The threshold above which "true" is said as often as captions are true.

    Such a threshold favours neither side: if half of the captions are true, a model that knows
    nothing is right on half of the true captions and on half of the foils. It lies halfway between
    neighbouring scores; if all scores are equal it is that score, and everything ties.
    """
    values, counts = np.unique(scores, return_counts=True)
    if len(values) == 1:
        return float(values[0])
    called_true = len(scores) - np.cumsum(counts)[:-1]
    cut = int(np.abs(called_true - true.sum()).argmin())
    return float((values[cut] + values[cut + 1]) / 2)


def crossfitted_thresholds(cells: JudgedCells) -> Floats:
    """For each cell, the threshold fitted without its group's fold."""
    order = seeds.rng(0, "T1 folds").permutation(int(cells.group.max()) + 1)
    fold = order[cells.group] % FOLDS
    thresholds = np.empty(len(cells.score))
    scored = ~cells.failed
    for k in range(FOLDS):
        train = scored & (fold != k)
        train = train if train.any() else scored  # one fold has everything: no other to fit on
        thresholds[fold == k] = fitted_threshold(cells.score[train], cells.true[train])
    return thresholds


Way = Literal["own", "fitted"]
"""Whose threshold decides T1: the model's own, or one fitted on other images."""


def decides(run: Run) -> bool:
    """Whether a scorer decides by itself which captions are right."""
    return run.card.threshold is not None or OwnWay.JUDGE in run.card.ways


@lru_cache(maxsize=16)
def judged(run: Run, way: Way) -> pl.DataFrame:
    """A scorer's answers to T1; by its own decision only if it makes one."""
    in_its_way = way == "own" and OwnWay.JUDGE in run.card.ways
    cells = judged_cells(run, JUDGED if in_its_way else "")
    failed = cells.failed
    if not len(failed):
        return pl.DataFrame(schema=ANSWER_TABLE)
    score = np.where(failed, 0.0, cells.score)
    if way == "own":
        bound = 0.0 if in_its_way else run.card.threshold
        assert bound is not None
        threshold = np.full(len(score), bound)
    else:
        threshold = np.zeros(len(score)) if failed.all() else crossfitted_thresholds(cells)
    tied = (score == threshold) & ~failed
    best = np.stack([score >= threshold, score <= threshold], axis=1) & ~failed[:, None]
    right = ((score > threshold) == cells.true) & ~tied & ~failed
    # A fitted threshold says "true" as often as captions are true, so chance must do the same.
    often = float(cells.true.mean()) if way == "fitted" else 0.5
    return pl.DataFrame(
        {
            "item": cells.item,
            "image": cells.image,
            "caption": cells.caption,
            "trial": np.zeros(len(score), np.int32),
            "options": np.full(len(score), 2),
            "chosen": _option_lists(best, best.sum(axis=1)),
            "right": right,
            "tied": tied,
            "share": np.where(tied, 0.5, right),
            "failed": failed,
            "chance": np.where(cells.true, often, 1 - often),
        }
    ).select(TYPED)


# Choosers


def asked_questions(items: ItemTable, ask: Ask, covered: Bools) -> pl.DataFrame:
    """The questions of one type: item, image, caption, options, right (the right options)."""
    if ask not in (Ask.CAPTION, Ask.IMAGE, Ask.JUDGE):
        options = word_options(items, ask)
        options = options.filter(pl.Series(covered[options["item"].to_numpy()]))
        return options.group_by("unit", maintain_order=True).agg(
            pl.col(QUESTION).first(),
            options=pl.len(),
            right=pl.col("place").filter("is_right"),
        ).drop("unit")  # fmt: skip
    parts = []
    for every in items.patterns:
        pattern = items.has(every, covered)
        if not len(pattern.rows):
            continue
        for number, question in enumerate(pattern_questions(items, pattern, ask)):
            parts.append(
                pl.DataFrame({"item": pattern.rows}).with_columns(
                    number=pl.lit(number),
                    image=pl.lit(question.image, pl.Int32),
                    caption=pl.lit(question.caption, pl.Int32),
                    options=pl.lit(len(question.options)),
                    right=pl.lit(sorted(question.right), pl.List(pl.Int32)),
                )
            )
    if not parts:
        return pl.DataFrame(schema={**dict.fromkeys(QUESTION, pl.Int64), "options": pl.Int32,
                                    "right": pl.List(pl.Int32)})  # fmt: skip
    return pl.concat(parts).sort("item", "number", maintain_order=True).drop("number")


def _chooser_answers(run: Run, ask: Ask) -> pl.DataFrame:
    """A chooser's answers; a question of a covered item without an answer has failed."""
    asked = asked_questions(run.benchmark.items, ask, run.covered_rows).with_columns(
        pl.col("item").cast(pl.Int64), pl.col("image", "caption").cast(pl.Int32)
    )
    replies = run.answers.filter(pl.col("question").str.starts_with(f"{ask}@"))
    shown = pl.col("question").str.split("@").list.get(1).str.split(",").list.eval(
        pl.element().cast(pl.Int32)
    )  # fmt: skip
    first, last = shown.list.get(0), shown.list.get(-1)
    replies = replies.select(
        pl.Series("item", run.benchmark.items.places_of(replies["item"])),
        image=pl.lit(-1, pl.Int32) if ask is Ask.IMAGE else first,
        caption=pl.lit(-1, pl.Int32) if ask is Ask.CAPTION else last,
        trial="trial",
        choice="choice",
    ).sort("trial", maintain_order=True)
    joined = asked.join(replies, on=list(QUESTION), how="left", maintain_order="left_right")
    correct = pl.col("right").list.contains(pl.col("choice")).fill_null(False)
    return joined.select(
        *QUESTION,
        pl.col("trial").fill_null(-1),
        "options",
        pl.when(pl.col("choice").is_null()).then(pl.lit([], pl.List(pl.Int32)))
        .otherwise(pl.concat_list("choice")).alias("chosen"),
        correct.alias("right"),
        pl.lit(False).alias("tied"),
        correct.cast(pl.Float64).alias("share"),
        pl.col("choice").is_null().alias("failed"),
        (pl.col("right").list.len() / pl.col("options")).alias("chance"),
    ).select(TYPED)  # fmt: skip
