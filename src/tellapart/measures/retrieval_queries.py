"""Retrieval query by query: each query's rank, and the wrong answer that scored highest.

Analyses read it: how recall falls with the size of the collection, and how many answers that count
as wrong are in fact right (Hu et al. 2019, BISON, Table 1 of the short paper).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tellapart.errors import BadInput
from tellapart.files import read_table, require_columns
from tellapart.measures.retrieval import DIRECTIONS, Collection, Ranks
from tellapart.types import Ints

COLUMNS = ("query", "direction", "image", "caption", "rank", "found_image", "found_caption")


def nearest_wrong(found: Collection) -> tuple[Ints, Ints]:
    """For each image its best wrong caption, for each caption its best wrong image.

    The first of equals; -1 if there is no wrong one.
    """
    n, m = len(found.image), len(found.owner)
    of_images = np.full(n, -1)
    of_texts, best = np.full(m, -1), np.full(m, -np.inf)
    number = np.empty(n, np.int64)
    for images, block in found.chunks():
        scores = block.astype(float, copy=True)
        number[:] = -1
        number[images] = np.arange(len(images))
        at = np.flatnonzero(number[found.owner] >= 0)
        scores[number[found.owner[at]], at] = -np.inf
        top = scores.argmax(axis=1)
        known = scores[np.arange(len(images)), top] > -np.inf
        of_images[images[known]] = top[known]
        rows = scores.argmax(axis=0)
        values = scores[rows, np.arange(m)]
        higher = values > best
        of_texts[higher], best[higher] = images[rows[higher]], values[higher]
    return of_images, of_texts


def query_table(
    found: Collection, images: Sequence[str], captions: Sequence[str], ranks: tuple[Ranks, Ranks]
) -> pl.DataFrame:
    """One row per query: the query, its rank, and the first result.

    With rank 1 the first result is right; otherwise it is the wrong answer that scored highest.
    `image` and `caption` are a right pair, one of which is the query.
    """
    wrong_captions, wrong_images = nearest_wrong(found)
    first = {int(owner): k for k, owner in reversed(list(enumerate(found.owner)))}
    rows = []
    for k, rank in enumerate(ranks[0].ranks.tolist()):
        own = first[k]
        caption = (
            captions[own] if rank == 1 or wrong_captions[k] < 0 else captions[wrong_captions[k]]
        )
        rows.append((f"i2t-{k}", DIRECTIONS[0], images[k], captions[own], rank, images[k], caption))
    for k, rank in enumerate(ranks[1].ranks.tolist()):
        own = int(found.owner[k])
        at = own if rank == 1 or wrong_images[k] < 0 else int(wrong_images[k])
        rows.append(
            (f"t2i-{k}", DIRECTIONS[1], images[own], captions[k], rank, images[at], captions[k])
        )
    return pl.DataFrame(rows, schema=list(COLUMNS), orient="row")


def read_queries(path: Path) -> pl.DataFrame:
    """Read what `retrieve --per-query` wrote."""
    table = read_table(path)
    require_columns(table, COLUMNS, path)
    texts = [name for name in COLUMNS if name != "rank"]
    ranks = table["rank"].cast(pl.Int64, strict=False)
    if ranks.null_count() or (ranks < 1).any():
        raise BadInput("a rank is not a whole number of 1 or more", where=str(path))
    if table["query"].is_duplicated().any():
        raise BadInput("a query has two rows", where=str(path))
    return table.select(*(pl.col(name).cast(pl.String) for name in texts), ranks)
