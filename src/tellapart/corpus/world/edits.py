"""Edits that change scene, caption and picture together: one for each kind of near miss.

An edit is kept only if each caption, parsed back, is true of its own scene and false of the other.
Adding to a caption makes it more specific, and the shorter one would stay true of both scenes;
therefore both captions of the two `add` kinds say that there is nothing else ("just a dog and a
cat", "only the cat is red").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tellapart.corpus.world.grammar import Style, sentence, understand
from tellapart.corpus.world.lexicon import RELATIONS, SIZES, SYMMETRIC
from tellapart.corpus.world.painter import Painter
from tellapart.corpus.world.scene import (
    EDGE,
    Mention,
    OnlyClause,
    Relation,
    Scene,
    Statement,
    Thing,
    group_size,
    holds,
    is_true,
    place_beside_all,
)
from tellapart.corpus.world.world import arrange, part_of, true_relations

ATTEMPTS = 60
T = TypeVar("T")
Edited = tuple[Statement, Statement, Scene]
"""A statement about the scene, one about the edited scene, and the edited scene."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A caption of a scene, the scene with one detail changed, and its caption."""

    kind: str
    caption: str
    negative_caption: str
    negative_scene: Scene


@dataclass(frozen=True)
class EditContext:
    """The inputs of an edit: a scene, a random generator, and the means to draw another scene."""

    scene: Scene
    rng: np.random.Generator
    painter: Painter
    categories: Sequence[str]

    @property
    def coloured(self) -> bool:
        """Whether things have colours that captions can name."""
        return len(self.painter.colours) > 1

    def choice(self, options: Sequence[T]) -> T:
        """A random option."""
        return options[int(self.rng.integers(len(options)))]

    def others(self, options: Sequence[str], *taken: str) -> str | None:
        """A random option that is not taken, or None."""
        left = [option for option in options if option not in taken]
        return self.choice(left) if left else None

    def new_category(self, old: str | None = None) -> str | None:
        """A category not in the scene, usually of the old one's supercategory."""
        here = {thing.category for thing in self.scene.things}
        free = [name for name in self.categories if name not in here]
        known = self.painter.categories
        group = known[old].supercategory if old else ""
        near = [name for name in free if known[name].supercategory == group]
        pool = near if near and self.rng.random() < 0.7 else free
        return self.choice(pool) if pool else None

    def statement(self, *, colours: bool = False, sizes: bool = False) -> Statement:
        """A true statement about one or two things, with colours or sizes if requested."""
        order = [int(k) for k in self.rng.permutation(len(self.scene.things))][:2]
        tell_colours = colours or self.rng.random() < 0.6
        mentions = tuple(self._mention(k, tell_colours, sizes) for k in order)
        relations: tuple[Relation, ...] = ()
        if len(order) == 2 and (true := true_relations(self.scene, *order)):
            relations = ((0, self.choice(true), 1),) if self.rng.random() < 0.85 else ()
        background = self.scene.background if self.rng.random() < 0.4 else None
        return Statement(mentions, relations, background)

    def _mention(self, k: int, colour: bool, size: bool) -> Mention:
        thing = self.scene.things[k]
        tell_size = size or (thing.size != "medium" and self.rng.random() < 0.25)
        named = (thing.colour if colour else "") or None
        return Mention(thing.category, thing.count, named, thing.size if tell_size else None)

    def index_of(self, mention: Mention) -> int:
        """The index of the mentioned thing (categories in a scene are distinct)."""
        return [thing.category for thing in self.scene.things].index(mention.category or "")

    def with_things(self, changed: dict[int, Thing], *added: Thing) -> Scene:
        """The scene with some things changed and some added."""
        things = tuple(changed.get(k, thing) for k, thing in enumerate(self.scene.things))
        return replace(self.scene, things=(*things, *added))

    def in_place_of(self, thing: Thing, old: Thing) -> Thing:
        """A thing placed so that it stands where the old one stood."""
        width, height = group_size(thing.size, thing.count, self.painter.extent(thing.category))
        centre = (old.box[0] + old.box[2]) / 2
        left = min(max(centre - width / 2, EDGE), max(EDGE, 1 - EDGE - width))
        return thing.at((left, old.box[3] - height, left + width, old.box[3]))


def _with_mention(statement: Statement, index: int, mention: Mention) -> Statement:
    mentions = list(statement.mentions)
    mentions[index] = mention
    return replace(statement, mentions=tuple(mentions))


def replace_object(context: EditContext) -> Edited | None:
    """Replace a thing by one of another category."""
    before = context.statement()
    index = int(context.rng.integers(len(before.mentions)))
    mention = before.mentions[index]
    category = context.new_category(mention.category)
    if category is None:
        return None
    k = context.index_of(mention)
    old = context.scene.things[k]
    new = context.in_place_of(replace(old, category=category), old)
    after = _with_mention(before, index, replace(mention, category=category))
    return before, after, context.with_things({k: new})


def replace_attribute(context: EditContext) -> Edited | None:
    """Change a colour or size."""
    by_size = bool(context.rng.random() < 0.3) or not context.coloured
    before = context.statement(colours=not by_size, sizes=by_size)
    index = int(context.rng.integers(len(before.mentions)))
    mention = before.mentions[index]
    k = context.index_of(mention)
    old = context.scene.things[k]
    if by_size:
        size = {"small": "big", "big": "small"}.get(old.size)
        if size is None:  # medium and big are not clearly different
            return None
        new = context.in_place_of(replace(old, size=size), old)
        after = _with_mention(before, index, replace(mention, size=size))
        return before, after, context.with_things({k: new})
    colour = context.others(context.painter.colours, old.colour)
    after = _with_mention(before, index, replace(mention, colour=colour))
    return before, after, context.with_things({k: replace(old, colour=colour or old.colour)})


def replace_relation(context: EditContext) -> Edited | None:
    """Arrange the same things in another way."""
    before = context.statement()
    if not before.relations:
        return None
    a, b = (context.index_of(mention) for mention in before.mentions)
    things = context.scene.things
    boxes = things[a].box, things[b].box
    false = [name for name in RELATIONS if not holds(name, *boxes, a_in_front=a > b)]
    relation = context.choice(false)
    rest = [thing for k, thing in enumerate(things) if k not in (a, b)]
    scene = arrange(
        context.scene.background,
        [things[a], things[b], *rest],
        relation,
        context.rng,
        context.painter,
    )
    if scene is None:
        return None
    return before, replace(before, relations=((0, relation, 1),)), scene


def swap_object(context: EditContext) -> Edited | None:
    """Let two things swap places."""
    before = context.statement()
    if not before.relations or before.relations[0][1] in SYMMETRIC:
        return None
    a, b = (context.index_of(mention) for mention in before.mentions)
    first, second = context.scene.things[a], context.scene.things[b]
    changed = {a: context.in_place_of(second, first), b: context.in_place_of(first, second)}
    after = replace(before, mentions=before.mentions[::-1])
    return before, after, context.with_things(changed)


def swap_attribute(context: EditContext) -> Edited | None:
    """Let two things swap their colours or sizes."""
    by_size = bool(context.rng.random() < 0.25) or not context.coloured
    before = context.statement(colours=not by_size, sizes=by_size)
    if len(before.mentions) < 2:
        return None
    m, n = before.mentions
    a, b = context.index_of(m), context.index_of(n)
    first, second = context.scene.things[a], context.scene.things[b]
    if by_size:
        if {first.size, second.size} != {"small", "big"}:
            return None
        changed = {
            a: context.in_place_of(replace(first, size=second.size), first),
            b: context.in_place_of(replace(second, size=first.size), second),
        }
        swapped = replace(m, size=n.size), replace(n, size=m.size)
    else:
        if first.colour == second.colour:
            return None
        changed = {a: replace(first, colour=second.colour), b: replace(second, colour=first.colour)}
        swapped = replace(m, colour=n.colour), replace(n, colour=m.colour)
    return before, replace(before, mentions=swapped), context.with_things(changed)


def add_object(context: EditContext) -> Edited | None:
    """Add a thing where the caption said that there is nothing else."""
    if len(context.scene.things) > 2:
        return None
    before = replace(context.statement(), exhaustive=True)
    category = context.new_category()
    if category is None:
        return None
    new = Thing(category, context.choice(context.painter.colours), context.choice(list(SIZES)), 1)
    size = group_size(new.size, 1, context.painter.extent(category))
    box = place_beside_all(size, [thing.box for thing in context.scene.things], context.rng)
    if box is None:
        return None
    colour = new.colour if before.mentions[0].colour else ""
    after = replace(before, mentions=(*before.mentions, Mention(category, 1, colour or None)))
    return before, after, context.with_things({}, new.at(box))


def add_attribute(context: EditContext) -> Edited | None:
    """Give a second thing the colour (or size) that only one thing had."""
    before = context.statement()
    if len(before.mentions) < 2:
        return None
    has, gets = (int(k) for k in context.rng.permutation(2))
    k = context.index_of(before.mentions[gets])
    model = context.scene.things[context.index_of(before.mentions[has])]
    old = context.scene.things[k]
    if context.coloured:
        bare = tuple(replace(mention, colour=None) for mention in before.mentions)
        clause, new = OnlyClause("colour", model.colour, (has,)), replace(old, colour=model.colour)
    else:
        if {model.size, old.size} != {"small", "big"}:
            return None
        bare = tuple(replace(mention, size=None) for mention in before.mentions)
        clause = OnlyClause("size", model.size, (has,))
        new = context.in_place_of(replace(old, size=model.size), old)
    before = replace(before, mentions=bare, only=clause)
    after = replace(before, only=replace(clause, mentions=(0, 1)))
    return before, after, context.with_things({k: new})


def take_object(context: EditContext) -> Edited | None:
    """Remove a thing: the reverse of `add_object`."""
    alone = [k for k, thing in enumerate(context.scene.things) if thing.count == 1]
    if len(context.scene.things) < 2 or not alone:
        return None
    k = context.choice(alone)
    gone = context.scene.things[k]
    rest = tuple(thing for place, thing in enumerate(context.scene.things) if place != k)
    scene = replace(context.scene, things=rest)
    after = replace(replace(context, scene=scene).statement(), exhaustive=True)
    colour = gone.colour if after.mentions[0].colour else ""
    before = replace(after, mentions=(*after.mentions, Mention(gone.category, 1, colour or None)))
    return before, after, scene


def take_attribute(context: EditContext) -> Edited | None:
    """Leave a colour that two things share to only one: the reverse of `add_attribute`."""
    before = context.statement()
    if len(before.mentions) < 2 or not context.coloured:
        return None
    keeps, loses = (int(k) for k in context.rng.permutation(2))
    places = [context.index_of(before.mentions[one]) for one in (keeps, loses)]
    shared = {context.scene.things[k].colour for k in places}
    if len(shared) > 1:
        return None
    (colour,) = shared
    other = context.others(context.painter.colours, colour)
    changed = replace(context.scene.things[places[1]], colour=other or colour)
    bare = tuple(replace(mention, colour=None) for mention in before.mentions)
    before = replace(before, mentions=bare, only=OnlyClause("colour", colour, (0, 1)))
    after = replace(before, only=OnlyClause("colour", colour, (keeps,)))
    return before, after, context.with_things({places[1]: changed})


EDITS: dict[str, Callable[[EditContext], Edited | None]] = {
    "replace-object": replace_object,
    "replace-attribute": replace_attribute,
    "replace-relation": replace_relation,
    "swap-object": swap_object,
    "swap-attribute": swap_attribute,
    "add-object": add_object,
    "add-attribute": add_attribute,
}
BACKWARDS = {**EDITS, "add-object": take_object, "add-attribute": take_attribute}
"""The same kinds in reverse, so that the number of things does not give an edit away."""


def near_miss(kind: str, context: EditContext, *, backwards: bool = False) -> NearMiss | None:
    """A near miss of one kind, or None if the scene does not allow any.

    With `backwards`, the `add` kinds remove instead of adding.
    """
    edit = (BACKWARDS if backwards else EDITS)[kind]
    for _ in range(ATTEMPTS):
        edited = edit(context)
        if edited is None:
            continue
        before, after, scene = edited
        style = Style.draw(context.rng)
        texts = sentence(before, style), sentence(after, style)
        if part_of(scene) == part_of(context.scene) and _tells_apart(texts, (context.scene, scene)):
            return NearMiss(kind, *texts, scene)
    return None


def _tells_apart(texts: tuple[str, str], scenes: tuple[Scene, Scene]) -> bool:
    """Whether each caption, parsed back, is true of its own scene only."""
    read = [understand(text) for text in texts]
    return all(
        statement is not None and is_true(statement, scene) == (i == j)
        for i, statement in enumerate(read)
        for j, scene in enumerate(scenes)
    )
