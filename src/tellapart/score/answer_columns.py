"""The columns that all answers have, whatever was asked and whoever answered.

- `item`: the place of the item in the benchmark; `image`, `caption`: what is shown (-1 for what is
  chosen among); `trial`: which time it was asked (-1 for a question that a chooser never was);
- `options`: how many there are; `chosen`: those that were chosen (several where scores tie, none
  where the answer failed);
- `right`: a right option was chosen and no wrong one; `tied`: right and wrong options score alike;
  `share`: the share of right options among those chosen, as ties broken by a coin would give it;
- `failed`: there is no answer, which counts as wrong; `chance`: of a random pick to be right.
"""

from __future__ import annotations

from typing import Any

import polars as pl

ANSWER_TABLE: dict[str, Any] = {
    "item": pl.Int64,
    "image": pl.Int32,
    "caption": pl.Int32,
    "trial": pl.Int32,
    "options": pl.Int32,
    "chosen": pl.List(pl.Int32),
    "right": pl.Boolean,
    "tied": pl.Boolean,
    "share": pl.Float64,
    "failed": pl.Boolean,
    "chance": pl.Float64,
}
TYPED = [pl.col(name).cast(kind) for name, kind in ANSWER_TABLE.items()]
QUESTION = ("item", "image", "caption")
"""The columns that name a question of one sort."""
