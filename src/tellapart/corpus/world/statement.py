"""What a caption says, as data, and whether that is true of a scene."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from tellapart.corpus.world.geometry import holds
from tellapart.corpus.world.scene import Scene, Thing
from tellapart.text.inflect import plural


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun phrase; None for what it leaves open. Counts are exact: "a dog" is one dog."""

    category: str | None = None
    count: int | None = None
    colour: str | None = None
    size: str | None = None

    def fits(self, thing: Thing) -> bool:
        """Whether the phrase describes these things."""
        if self.category not in (None, thing.category, plural(thing.category)):
            return False
        said = (self.count, self.colour, self.size)
        are = (thing.count, thing.colour, thing.size)
        return all(s is None or s == a for s, a in zip(said, are, strict=True))


@dataclass(frozen=True, slots=True)
class OnlyClause:
    """Such as "only the cat is red": of all there is, just these mentions have the attribute."""

    attribute: str
    value: str
    mentions: tuple[int, ...]


Relation = tuple[int, str, int]
"""(index of a mention, name of the relation, index of a mention)."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The content of a caption. `exhaustive`: there is nothing beside what is mentioned."""

    mentions: tuple[Mention, ...]
    relations: tuple[Relation, ...] = ()
    background: str | None = None
    exhaustive: bool = False
    only: OnlyClause | None = None


def is_true(statement: Statement, scene: Scene) -> bool:
    """Whether some reading makes the statement true: each mention is another thing."""
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
