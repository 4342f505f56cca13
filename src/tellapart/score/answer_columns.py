"""The columns of all answers, whatever was asked and whoever answered.

- `item`: the position of the item in the benchmark; `image`, `caption`: what is shown (-1 for the
  side of the options); `trial`: the number of the trial (-1 if a chooser was never asked);
- `options`: how many there are; `chosen`: the options chosen (several if scores tie, none if the
  answer failed);
- `right`: a right option was chosen and no wrong one; `tied`: right and wrong options tie;
  `share`: the share of right options among those chosen, the expected value of a random tie-break;
- `failed`: there is no answer, which counts as wrong; `chance`: the chance of a random right pick.
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
"""The columns that identify a question of one type."""
