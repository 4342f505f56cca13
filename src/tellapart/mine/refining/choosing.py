"""Which negatives are good enough to be refined: the best of each kind, and whole sentences.

Miranda et al. 2024, BiVLC, section 5.2, steps 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from tellapart.mine.refining.scaling import rows_by_kind
from tellapart.mine.refining.scored import Flags, Floats, Ints

QUESTION, NO_MARK, SAME, DUPLICATE = (
    "question",
    "no final mark",
    "same as its original",
    "duplicate",
)
FAULTS = (QUESTION, NO_MARK, SAME, DUPLICATE)
MARKS = r"[.!?][\"'”’)]*$"


def best(scaled: Floats, kind: Ints, kinds: int, keep: float) -> Flags:
    """The share `keep` of each kind whose negatives have the highest combined score.

    Combined is the mean of the two scaled scores of the negative; of equal ones those whose ids
    come first are taken.
    """
    combined = scaled[:, :, 1].mean(axis=0)
    chosen = np.zeros(len(kind), np.bool_)
    for rows in rows_by_kind(kind, kinds):
        number = math.ceil(round(keep * len(rows), 9))
        chosen[rows[np.argsort(-combined[rows], kind="stable")[:number]]] = True
    return chosen


def faults(captions: pl.Series, negatives: pl.Series) -> Sequence[str | None]:
    """What is wrong with each negative, None where nothing is; of equal ones the first is good.

    A final mark is missed where the original has one. Negatives are the same if nothing but
    capitals, white space and final marks sets them apart.
    """
    original, negative = pl.col("original").str.strip_chars(), pl.col("negative").str.strip_chars()
    plain = (pl.col("negative"), pl.col("original"))
    bare, bare_original = (_bare(one) for one in plain)
    own = (
        pl.when(negative.str.ends_with("?"))
        .then(pl.lit(QUESTION))
        .when(original.str.contains(MARKS) & ~negative.str.contains(MARKS))
        .then(pl.lit(NO_MARK))
        .when(bare == bare_original)
        .then(pl.lit(SAME))
    )
    table = pl.DataFrame({"original": captions, "negative": negatives})
    table = table.select(own.alias("fault"), bare.alias("bare"))
    first = pl.col("bare").is_first_distinct().over(pl.col("fault").is_null())
    repeated = pl.when(pl.col("fault").is_null() & ~first).then(pl.lit(DUPLICATE))
    return table.select(pl.coalesce("fault", repeated)).to_series().to_list()


def _bare(text: pl.Expr) -> pl.Expr:
    small = text.str.to_lowercase().str.replace_all(r"\s+", " ")
    return small.str.strip_chars(" .!?\"'“”‘’")
