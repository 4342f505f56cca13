"""Scored negatives: a table with a row a negative, checked and in the order of ids.

| column | what |
|---|---|
| `id`, `kind` | which negative, of which kind |
| `plausibility`, `negative_plausibility` | one score of the original caption and of the negative |
| `grammar`, `negative_grammar` | the other score of both |
| `group` | optional: what must not be torn apart, such as the image (default: each row alone) |
| `caption`, `negative_caption` | optional: the texts, without which nothing malformed is found |
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tellapart.errors import BadInput
from tellapart.tables import require_columns

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]

SCORES = ("plausibility", "grammar")
NUMBERS = tuple(name for score in SCORES for name in (score, f"negative_{score}"))
TEXTS = ("caption", "negative_caption")


@dataclass(frozen=True, eq=False)
class Scored:
    """Scored negatives, sorted by id.

    `scores` has the shape (2, n, 2): by score, by row, the original's and the negative's. `kind`
    and `group` are places among `kinds` and among the groups in alphabetical order, so that no
    result depends on the order in which rows came.
    """

    table: pl.DataFrame
    kinds: tuple[str, ...]
    kind: Ints
    group: Ints
    scores: Floats

    def __len__(self) -> int:
        return self.table.height

    @property
    def has_texts(self) -> bool:
        """Whether the captions themselves are known."""
        return set(TEXTS) <= set(self.table.columns)


def scored(table: pl.DataFrame, where: Path) -> Scored:
    """Check a table of scored negatives; `where` is what errors call it."""
    require_columns(table, ["id", "kind", *NUMBERS], where)
    if not table.height:
        raise BadInput("there is no negative in the table", where=str(where))
    table = table.with_columns(pl.col("id", "kind").cast(pl.String))
    table = table.with_columns(_number(table, name, where) for name in NUMBERS).sort("id")
    twice = table.filter(pl.col("id") == pl.col("id").shift(1))
    if twice.height:
        raise BadInput(
            f"the id {twice['id'][0]!r} is there twice", where=str(where), allowed="every id once"
        )
    kinds, kind = _codes(table["kind"])
    group = _codes(table["group"].cast(pl.String))[1] if "group" in table.columns else None
    pairs = [[table[name].to_numpy(), table[f"negative_{name}"].to_numpy()] for name in SCORES]
    return Scored(
        table,
        tuple(kinds),
        kind,
        np.arange(table.height) if group is None else group,
        np.asarray(pairs).transpose(0, 2, 1),
    )


def _number(table: pl.DataFrame, name: str, where: Path) -> pl.Series:
    """A column as numbers, every one of them finite."""
    try:
        numbers = table[name].cast(pl.Float64, strict=False)
    except pl.exceptions.PolarsError:
        numbers = pl.Series(name, [None] * table.height, pl.Float64)
    bad = (~numbers.is_finite().fill_null(False)).arg_true()
    if len(bad):
        row = int(bad[0])
        raise BadInput(
            f"{name} of the negative {table['id'][row]!r} is {table[name][row]!r}"
            + (f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""),
            where=f"{where}, row {row + 1}",
            allowed="a number",
            todo="leave out the rows that could not be scored, or score them",
        )
    return numbers


def _codes(names: pl.Series) -> tuple[list[str], Ints]:
    """The distinct names in alphabetical order, and the place of each row's name among them."""
    distinct = names.unique().sort()
    places = pl.DataFrame({"name": distinct}).with_row_index("place")
    found = pl.DataFrame({"name": names}).join(
        places, on="name", how="left", nulls_equal=True, maintain_order="left"
    )
    return distinct.to_list(), found["place"].to_numpy().astype(np.int64)
