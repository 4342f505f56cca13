"""A scorer's answers to FOIL's T2 and T3, by named procedures.

Shekhar et al. (2017, section 4.1) use different ones for classifiers and for captioners:

- `change` (T2, classifiers): the word whose absence most changes the probability of the answer
  given for the whole caption. With two answers, a change of one is a change of the other; its sign
  is ignored.
- `replacement` (T2, captioners): the word whose replacement by the model's preferred word gives the
  most probable caption.
- `linear` (T3, classifiers): the word that a linear model over target words finds most likely,
  given the image and the caption with the foil masked.
- `occlusion` (T2) and `substitution` (T3) work for any scorer: the word without which, or the
  candidate with which, the caption scores highest.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
import polars as pl

from tellapart.questions import Ask
from tellapart.score.answer_columns import TYPED
from tellapart.score.cells import word_options
from tellapart.score.run import Run
from tellapart.score.ways import OwnWay

WordWay = Literal["occlusion", "change", "replacement", "substitution", "linear"]
"""A procedure of T2 or T3."""
OWN: dict[WordWay, OwnWay] = {"replacement": OwnWay.REPLACE, "linear": OwnWay.MEND}
"""The procedures that a model must provide itself."""
WAYS: dict[Ask, tuple[WordWay, ...]] = {
    Ask.NOUN: ("replacement", "change", "occlusion"),
    Ask.WORD: ("replacement", "change", "occlusion"),
    Ask.MEND: ("linear", "substitution"),
}
"""The procedures of each question; the first that a model has is its own."""


def has_way(run: Run, way: WordWay) -> bool:
    """Whether a scorer's run has what a procedure needs."""
    if way in OWN:
        return OWN[way] in run.card.ways
    return way != "change" or run.card.threshold is not None


def own_way(run: Run, ask: Ask) -> WordWay:
    """The procedure by which a scorer answers: its own if it provides one."""
    return next(way for way in WAYS[ask] if has_way(run, way))


@lru_cache(maxsize=32)
def found_words(run: Run, ask: Ask, way: WordWay) -> pl.DataFrame:
    """The answers to T2 or T3 by a procedure: the option that it rates highest."""
    covered = pl.DataFrame({"item": np.flatnonzero(run.covered_rows)}).cast(pl.Int32)
    options = word_options(run.benchmark.items, ask, own=way in OWN)
    options = options.join(covered, on="item", how="semi")
    scores = run.scores.with_columns(
        item=pl.Series(run.benchmark.items.places_of(run.scores["item"]), dtype=pl.Int32)
    )
    place = ["item", "image", "caption"]
    scored = options.join(
        scores.filter(pl.col("edit") != ""),
        on=[*place, "edit"], how="left", maintain_order="left",
    )  # fmt: skip
    if way == "change":
        whole = scores.filter(pl.col("edit") == "").select(*place, whole="score")
        scored = scored.join(whole, on=place, how="left", maintain_order="left")
        scored = scored.with_columns(score=_changed(run).abs())
    failed = pl.col("score").is_null().any().over("unit")
    best = pl.col("score") == pl.col("score").max().over("unit")
    return _as_answers(scored.with_columns(failed=failed, chosen=best & ~failed))


def _changed(run: Run) -> pl.Expr:
    """How much the probability that the caption is right changes without a word.

    A model with threshold 0.5 gives probabilities, one with another threshold gives log-odds.
    """
    threshold = run.card.threshold
    assert threshold is not None
    if threshold == 0.5:
        return pl.col("score") - pl.col("whole")
    score, whole = (1 / (1 + (threshold - pl.col(name)).exp()) for name in ("score", "whole"))
    return score - whole


def _as_answers(scored: pl.DataFrame) -> pl.DataFrame:
    """Scored options as answers."""
    right = pl.col("chosen") & pl.col("is_right")
    return (
        scored.group_by("unit", maintain_order=True)
        .agg(
            pl.col("item", "image", "caption", "failed").first(),
            trial=pl.lit(0),
            options=pl.len(),
            best=pl.col("chosen").sum(),
            best_right=right.sum(),
            chosen=pl.col("place").filter("chosen"),
        )
        .with_columns(
            right=(pl.col("best_right") > 0) & (pl.col("best_right") == pl.col("best")),
            tied=(pl.col("best_right") > 0) & (pl.col("best_right") < pl.col("best")),
            share=pl.col("best_right") / pl.max_horizontal("best", 1),
            chance=1.0 / pl.col("options"),
        )
        .select(TYPED)
    )
