"""Files that hold a vector for each caption."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tellapart.errors import BadInput
from tellapart.tables import read_table, require_columns
from tellapart.types import Floats32


def given_vectors(path: Path, ids: Sequence[str]) -> Floats32:
    """A row for each caption: those of a .npy file in their order, of a .parquet by their id."""
    rows = _from_npy(path) if path.suffix == ".npy" else _from_parquet(path, ids)
    if rows.ndim != 2 or len(rows) != len(ids):
        raise BadInput(
            f"{path.name} has the shape {rows.shape}",
            where=str(path),
            allowed=f"a row for each of the {len(ids):,} captions",
        )
    if not np.isfinite(rows).all():
        raise BadInput(f"{path.name} holds numbers that are not finite", where=str(path))
    return rows


def _from_npy(path: Path) -> Floats32:
    try:
        return np.asarray(np.load(path, allow_pickle=False), np.float32)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path.name} is no array of numbers: {error}", where=str(path)) from None


def _from_parquet(path: Path, ids: Sequence[str]) -> Floats32:
    table = read_table(path)
    require_columns(table, ["id", "vector"], path)
    wanted = pl.DataFrame({"id": list(ids)})
    given = table.select(pl.col("id").cast(pl.String), "vector").unique("id", keep="first")
    joined = wanted.join(given, on="id", how="left", maintain_order="left")
    missing = joined.filter(pl.col("vector").is_null())["id"]
    if len(missing):
        more = f" and {len(missing) - 1:,} others" if len(missing) > 1 else ""
        raise BadInput(
            f"{path.name} has no vector for caption {missing[0]}{more}",
            where=str(path),
            allowed="a row for each caption",
        )
    try:
        return np.array(joined["vector"].to_list(), np.float32)
    except ValueError as error:
        reason = f"vectors of {path.name} differ in length: {error}"
        raise BadInput(reason, where=str(path)) from None
