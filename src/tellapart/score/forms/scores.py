"""Tables of scores: a row a cell (item, image, caption, score), or a column a cell."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.models.model import ModelKind
from tellapart.score.forms.form import Form, Part, place_of

CELL_COLUMN = re.compile(r"(?:score|cell|s)?[ _]?(\d{1,9})[ ,_x](\d{1,9})", re.IGNORECASE)


class LongScores(Form):
    """item, image, caption, score: a row for each cell."""

    kind: ModelKind = "scorer"
    columns: ClassVar[tuple[str, ...]] = ("item", "image", "caption", "score")

    def needs(self, item: Item) -> list[str]:
        """Every cell of the grid."""
        return [f"{i},{j}" for i in range(len(item.images)) for j in range(len(item.captions))]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[Part]:
        """One cell."""
        i = place_of(row["image"], item.images, "image", item)
        j = place_of(row["caption"], item.captions, "caption", item)
        yield f"{i},{j}", (item.id, i, j, "", number(row["score"], item))


class WideScores(LongScores):
    """item and a column a cell, named by image and caption: 0,0 or s_0_1 or score_1_0."""

    columns: ClassVar[tuple[str, ...]] = ("item",)

    @classmethod
    def fits(cls, columns: list[str]) -> bool:
        """Whether there is a column that is named like a cell."""
        return "item" in columns and any(CELL_COLUMN.fullmatch(name) for name in columns)

    def wanted(self, columns: list[str]) -> list[str]:
        """The item and all cells."""
        return ["item", *(name for name in columns if CELL_COLUMN.fullmatch(name))]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[Part]:
        """All cells of an item; columns beyond its grid must be empty."""
        for name, value in row.items():
            match = CELL_COLUMN.fullmatch(name)
            if match is None or value is None or value == "":
                continue
            i, j = int(match.group(1)), int(match.group(2))
            if i >= len(item.images) or j >= len(item.captions):
                raise BadInput(
                    f"item {item.id} has no cell {name}",
                    allowed=f"{len(item.images)} images x {len(item.captions)} captions",
                )
            yield f"{i},{j}", (item.id, i, j, "", number(value, item))


def number(value: Any, item: Item) -> float:
    """A score, which must be a finite number."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise BadInput(f"a score of item {item.id} is {value!r}", allowed="a finite number")
    return found
