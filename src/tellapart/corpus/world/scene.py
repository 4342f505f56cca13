"""Scenes: typed data about what a picture shows, from which it is drawn and described."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from tellapart.corpus.world.lexicon import SIZES

Box = tuple[float, float, float, float]
"""(left, top, right, bottom) as shares of the picture's side; y grows downwards."""


@dataclass(frozen=True, slots=True)
class Thing:
    """Some equal things side by side: "two small red dogs". `box` is what they cover."""

    category: str
    colour: str
    size: str
    count: int
    box: Box = (0.0, 0.0, 0.0, 0.0)

    def at(self, box: Box) -> Thing:
        """The same things in another place."""
        left, top, right, bottom = (round(edge, 4) for edge in box)
        return replace(self, box=(left, top, right, bottom))


@dataclass(frozen=True, slots=True)
class Scene:
    """A background and things, drawn in this order: later ones in front."""

    background: str
    things: tuple[Thing, ...]

    def to_json(self) -> str:
        """One line of JSON, which the picture file carries."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Scene:
        """The scene that `to_json` wrote."""
        data = json.loads(text)
        return cls(data["background"], tuple(_thing(row) for row in data["things"]))

    def what(self) -> tuple[Any, ...]:
        """The scene without places: what train and test scenes must not share."""
        return (
            self.background,
            *sorted((t.category, t.colour, t.size, t.count) for t in self.things),
        )


def _thing(row: dict[str, Any]) -> Thing:
    return Thing(row["category"], row["colour"], row["size"], row["count"], tuple(row["box"]))


def group_size(size: str, count: int, extent: Box) -> tuple[float, float]:
    """Width and height that `count` copies cover: a row, or two rows of two for four."""
    side = SIZES[size]
    width, height = side * (extent[2] - extent[0]), side * (extent[3] - extent[1])
    columns, rows = columns_and_rows(count)
    return width * columns + _gap(side) * (columns - 1), height * rows + _gap(side) * (rows - 1)


def columns_and_rows(count: int) -> tuple[int, int]:
    """How copies are arranged."""
    return (2, 2) if count == 4 else (count, 1)


def copies(thing: Thing, extent: Box) -> list[tuple[float, float]]:
    """The upper left corner of each copy's own box."""
    side = SIZES[thing.size]
    width, height = side * (extent[2] - extent[0]), side * (extent[3] - extent[1])
    columns, rows = columns_and_rows(thing.count)
    step_x, step_y = width + _gap(side), height + _gap(side)
    left, top = thing.box[0], thing.box[1]
    return [(left + c * step_x, top + r * step_y) for r in range(rows) for c in range(columns)]


def _gap(side: float) -> float:
    return 0.08 * side
