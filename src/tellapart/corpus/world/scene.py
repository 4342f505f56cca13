"""Scenes: what a picture shows, how its things relate, and which statements are true of it.

A relation is a fact about the picture, not a label: `holds` derives it from the boxes, with wide
margins, so that people would agree. Standing on a thing also counts as being above it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from tellapart.corpus.world.lexicon import SIZES
from tellapart.text.english import plural

Box = tuple[float, float, float, float]
"""(left, top, right, bottom) as shares of the picture's side; y grows downwards."""
TOUCH, NEAR, FAR = 0.02, 0.08, 0.34
EDGE = 0.03
GROUND = (0.80, 0.95)
"""The range of the lower edges of things on the ground."""
Size = tuple[float, float]
Relation = tuple[int, str, int]
"""(index of a mention, name of the relation, index of a mention)."""


@dataclass(frozen=True, slots=True)
class Thing:
    """Equal things side by side, such as "two small red dogs"; `box` is the area they cover."""

    category: str
    colour: str
    size: str
    count: int
    box: Box = (0.0, 0.0, 0.0, 0.0)

    def at(self, box: Box) -> Thing:
        """The same things at another place."""
        left, top, right, bottom = (round(edge, 4) for edge in box)
        return replace(self, box=(left, top, right, bottom))


@dataclass(frozen=True, slots=True)
class Scene:
    """A background and things in drawing order: later ones are in front."""

    background: str
    things: tuple[Thing, ...]

    def to_json(self) -> str:
        """One line of JSON, which is stored in the picture file."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Scene:
        """The scene that `to_json` wrote."""
        data = json.loads(text)
        things = (Thing(**(row | {"box": tuple(row["box"])})) for row in data["things"])
        return cls(data["background"], tuple(things))

    def what(self) -> tuple[Any, ...]:
        """The scene's content without positions, which train and test scenes must not share."""
        return (
            self.background,
            *sorted((t.category, t.colour, t.size, t.count) for t in self.things),
        )


def group_size(size: str, count: int, extent: Box) -> tuple[float, float]:
    """Width and height of `count` copies: in one row, or four in two rows of two."""
    side = SIZES[size]
    width, height = side * (extent[2] - extent[0]), side * (extent[3] - extent[1])
    columns, rows = columns_and_rows(count)
    return width * columns + _gap(side) * (columns - 1), height * rows + _gap(side) * (rows - 1)


def columns_and_rows(count: int) -> tuple[int, int]:
    """Columns and rows in which copies are arranged."""
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


def holds(relation: str, a: Box, b: Box, a_in_front: bool) -> bool:
    """Whether `a` stands in the relation to `b`."""
    beside = _share(a[1], a[3], b[1], b[3]) >= 0.3
    stacked = _share(a[0], a[2], b[0], b[2]) >= 0.3
    left_gap, right_gap = b[0] - a[2], a[0] - b[2]
    side_gap = max(left_gap, right_gap)
    above_gap, below_gap = b[1] - a[3], a[1] - b[3]
    overlap = stacked and beside and side_gap < -TOUCH and max(above_gap, below_gap) < -TOUCH
    return {
        "left": beside and left_gap >= 0,
        "right": beside and right_gap >= 0,
        "next": beside and 0 <= side_gap <= NEAR,
        "far": beside and side_gap >= FAR,
        "above": stacked and above_gap >= -TOUCH,
        "below": stacked and below_gap >= -TOUCH,
        "on": stacked and abs(above_gap) <= TOUCH,
        "under": stacked and abs(below_gap) <= TOUCH,
        "front": overlap and a_in_front,
        "behind": overlap and not a_in_front,
    }[relation]


def _share(a0: float, a1: float, b0: float, b1: float) -> float:
    """The share of the shorter interval that lies within the other."""
    shorter = min(a1 - a0, b1 - b0)
    return (min(a1, b1) - max(a0, b0)) / shorter if shorter > 0 else 0.0


def place_pair(relation: str, a: Size, b: Size, rng: np.random.Generator) -> tuple[Box, Box] | None:
    """Boxes of two things such that `a` has the relation to `b`; None if they do not fit."""
    if relation in ("right", "below", "under", "behind"):
        mirrored = {"right": "left", "below": "above", "under": "on", "behind": "front"}[relation]
        placed = place_pair(mirrored, b, a, rng)
        return (placed[1], placed[0]) if placed else None
    if relation in ("left", "next", "far"):
        return _side_by_side(relation, a, b, rng)
    if relation in ("above", "on"):
        return _stacked(relation, a, b, rng)
    return _overlapping(a, b, rng)


def _side_by_side(
    relation: str, a: Size, b: Size, rng: np.random.Generator
) -> tuple[Box, Box] | None:
    low, high = {"left": (0.12, 0.28), "next": (0.02, 0.05), "far": (0.38, 0.6)}[relation]
    room = 1 - 2 * EDGE - a[0] - b[0]
    if room < low:
        return None
    gap = rng.uniform(low, min(high, room))
    start = EDGE + rng.uniform(0, room - gap)
    foot = rng.uniform(*GROUND)
    feet = foot, min(0.97, max(GROUND[0] - 0.02, foot + rng.uniform(-0.03, 0.03)))
    if relation != "left" and rng.random() < 0.5:  # "next to" and "far from" have no direction
        right, left = _on_ground(start + b[0] + gap, feet[0], a), _on_ground(start, feet[1], b)
        return right, left
    return _on_ground(start, feet[0], a), _on_ground(start + a[0] + gap, feet[1], b)


def _stacked(relation: str, a: Size, b: Size, rng: np.random.Generator) -> tuple[Box, Box] | None:
    if relation == "on":
        foot, gap = rng.uniform(*GROUND), -0.008
    else:
        foot, gap = rng.uniform(0.88, 0.96), rng.uniform(0.10, 0.2)
    top = foot - b[1] - gap - a[1]
    if top < EDGE or a[0] > (1.2 if relation == "on" else 3) * b[0]:
        return None
    half = max(a[0], b[0]) / 2
    if half > 0.5 - EDGE:
        return None
    centre = rng.uniform(EDGE + half, 1 - EDGE - half)
    shift = rng.uniform(-0.1, 0.1) * min(a[0], b[0])
    upper = (centre - a[0] / 2 + shift, top, centre + a[0] / 2 + shift, top + a[1])
    return _inside(upper), _on_ground(centre - b[0] / 2, foot, b)


def _overlapping(front: Size, back: Size, rng: np.random.Generator) -> tuple[Box, Box] | None:
    """Boxes of one thing in front of another: it hides about a third of it and stands lower."""
    foot = rng.uniform(0.78, 0.86)
    hidden = rng.uniform(0.36, 0.44) * min(front[0], back[0])
    width = front[0] + back[0] - hidden
    if width > 1 - 2 * EDGE or front[1] > 1.6 * back[1] or back[1] > 2.2 * front[1]:
        return None
    start = rng.uniform(EDGE, 1 - EDGE - width)
    step = min(rng.uniform(0.05, 0.08), 0.45 * min(front[1], back[1]))
    front_foot = foot + step
    if rng.random() < 0.5:
        return _on_ground(start, front_foot, front), _on_ground(start + width - back[0], foot, back)
    return _on_ground(start + width - front[0], front_foot, front), _on_ground(start, foot, back)


def place_single(size: Size, rng: np.random.Generator) -> Box:
    """A box for a single thing."""
    room = max(0.0, 1 - 2 * EDGE - size[0])
    return _on_ground(EDGE + rng.uniform(0, room), rng.uniform(*GROUND), size)


def place_beside_all(size: Size, taken: Sequence[Box], rng: np.random.Generator) -> Box | None:
    """A free box for one more thing, on the ground or in the air; None if there is none."""
    for _ in range(60):
        left = rng.uniform(EDGE, max(EDGE, 1 - EDGE - size[0]))
        foot = rng.uniform(size[1] + EDGE, 0.96)
        box = _on_ground(left, foot, size)
        if box[2] <= 1 - EDGE + 1e-9 and all(_apart(box, other) for other in taken):
            return box
    return None


def _apart(a: Box, b: Box) -> bool:
    margin = 0.03
    return (
        a[2] + margin <= b[0]
        or b[2] + margin <= a[0]
        or a[3] + margin <= b[1]
        or b[3] + margin <= a[1]
    )


def _on_ground(left: float, foot: float, size: Size) -> Box:
    return left, foot - size[1], left + size[0], foot


def _inside(box: Box) -> Box:
    shift = max(0.0, EDGE - box[0]) - max(0.0, box[2] - (1 - EDGE))
    return box[0] + shift, box[1], box[2] + shift, box[3]


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun phrase; None means unspecified. Counts are exact: "a dog" is one dog."""

    category: str | None = None
    count: int | None = None
    colour: str | None = None
    size: str | None = None

    def fits(self, thing: Thing) -> bool:
        """Whether the phrase describes these things."""
        if self.category not in (None, thing.category, plural(thing.category)):
            return False
        return (
            self.count in (None, thing.count)
            and self.colour in (None, thing.colour)
            and self.size in (None, thing.size)
        )


@dataclass(frozen=True, slots=True)
class OnlyClause:
    """Such as "only the cat is red": of all things, only these mentions have the attribute."""

    attribute: str
    value: str
    mentions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """The content of a caption. `exhaustive` means that there is nothing else."""

    mentions: tuple[Mention, ...]
    relations: tuple[Relation, ...] = ()
    background: str | None = None
    exhaustive: bool = False
    only: OnlyClause | None = None


def is_true(statement: Statement, scene: Scene) -> bool:
    """Whether any assignment of mentions to different things makes the statement true."""
    if statement.background not in (None, scene.background):
        return False
    if statement.exhaustive and len(statement.mentions) != len(scene.things):
        return False
    if len(statement.mentions) > len(scene.things):
        return False
    readings = permutations(range(len(scene.things)), len(statement.mentions))
    return any(_reading_is_true(statement, scene, reading) for reading in readings)


def _reading_is_true(statement: Statement, scene: Scene, reading: tuple[int, ...]) -> bool:
    things = scene.things
    if not all(m.fits(things[k]) for m, k in zip(statement.mentions, reading, strict=True)):
        return False
    for i, relation, j in statement.relations:
        a, b = reading[i], reading[j]
        if not holds(relation, things[a].box, things[b].box, a_in_front=a > b):
            return False
    if statement.only is None:
        return True
    having = {
        k
        for k, t in enumerate(things)
        if getattr(t, statement.only.attribute) == statement.only.value
    }
    return having == {reading[m] for m in statement.only.mentions}
