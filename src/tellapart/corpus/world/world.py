"""Random worlds: scenes, true statements about them, and their pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.corpus.world.grammar import Style, sentence
from tellapart.corpus.world.lexicon import BACKGROUNDS, RELATIONS
from tellapart.corpus.world.painter import (
    SCENE_KEY,
    Painter,
    SpritePainter,
    StorybookPainter,
    png_bytes,
)
from tellapart.corpus.world.scene import (
    Mention,
    Scene,
    Statement,
    Thing,
    group_size,
    holds,
    is_true,
    place_beside_all,
    place_pair,
    place_single,
)
from tellapart.pictures import Picture

SIZE_SHARES = {"small": 0.34, "medium": 0.38, "big": 0.28}
COUNT_SHARES = {1: 0.7, 2: 0.15, 3: 0.09, 4: 0.06}


def part_of(scene: Scene) -> str:
    """`train` or `test`, by the scene's content: no content is ever in both."""
    return ("train", "test")[seeds.number(list(scene.what())) % 2]


def random_scene(
    rng: np.random.Generator, painter: Painter, categories: Sequence[str], part: str | None = None
) -> Scene:
    """A scene with one to three things, from the given part if any."""
    while True:
        scene = _try_scene(rng, painter, categories)
        if scene is not None and part in (None, part_of(scene)):
            return scene


def _try_scene(
    rng: np.random.Generator, painter: Painter, categories: Sequence[str]
) -> Scene | None:
    number = int(rng.choice([1, 2, 3], p=[0.1, 0.6, 0.3]))
    names = [str(name) for name in rng.choice(categories, size=number, replace=False)]
    things = [random_thing(rng, painter, name) for name in names]
    background = str(rng.choice(list(BACKGROUNDS)))
    relation = str(rng.choice(list(RELATIONS)))
    return arrange(background, things, relation, rng, painter)


def random_thing(rng: np.random.Generator, painter: Painter, category: str) -> Thing:
    """A thing of a category with random colour, size and count."""
    colour = str(rng.choice(painter.colours))
    size = str(rng.choice(list(SIZE_SHARES), p=list(SIZE_SHARES.values())))
    count = int(rng.choice(list(COUNT_SHARES), p=list(COUNT_SHARES.values())))
    return Thing(category, colour, size, count)


def arrange(
    background: str,
    things: Sequence[Thing],
    relation: str,
    rng: np.random.Generator,
    painter: Painter,
) -> Scene | None:
    """Place things such that the first has the relation to the second.

    None if they do not fit, or if the relation needs a thing that can support another.
    """
    sizes = [group_size(t.size, t.count, painter.extent(t.category)) for t in things]
    if len(things) == 1:
        return Scene(background, (things[0].at(place_single(sizes[0], rng)),))
    carrier = {"on": things[1], "under": things[0]}.get(relation)
    if carrier is not None and not (
        carrier.count == 1 and painter.categories[carrier.category].supports
    ):
        return None
    pair = place_pair(relation, sizes[0], sizes[1], rng)
    if pair is None:
        return None
    placed = [thing.at(box) for thing, box in zip(things, pair, strict=False)]
    for thing, size in zip(things[2:], sizes[2:], strict=True):
        box = place_beside_all(size, [t.box for t in placed], rng)
        if box is None:
            return None
        placed.append(thing.at(box))
    if relation == "front":  # things drawn later are in front
        placed[0], placed[1] = placed[1], placed[0]
    return Scene(background, tuple(placed))


def describe(
    scene: Scene, rng: np.random.Generator, things: Sequence[int], detail: float
) -> Statement:
    """A true statement about some things of a scene; `detail` in [0, 1] is how much it says."""
    mentions = tuple(_mention(scene.things[k], rng, detail) for k in things)
    relations: tuple[tuple[int, str, int], ...] = ()
    if len(things) > 1 and rng.random() < 0.35 + 0.65 * detail:
        true = true_relations(scene, things[0], things[1])
        if true:
            relations = ((0, str(rng.choice(true)), 1),)
    background = scene.background if rng.random() < 0.15 + 0.6 * detail else None
    exhaustive = len(things) == len(scene.things) and bool(rng.random() < 0.08)
    return Statement(mentions, relations, background, exhaustive)


def _mention(thing: Thing, rng: np.random.Generator, detail: float) -> Mention:
    colour = thing.colour if rng.random() < 0.3 + 0.65 * detail else None
    tell_size = thing.size != "medium" and rng.random() < 0.1 + 0.5 * detail
    return Mention(thing.category, thing.count, colour or None, thing.size if tell_size else None)


def true_relations(scene: Scene, a: int, b: int) -> list[str]:
    """The relations of one thing to another, without those that a more specific one implies."""
    boxes = scene.things[a].box, scene.things[b].box
    true = [name for name in RELATIONS if holds(name, *boxes, a_in_front=a > b)]
    implied = {"above": "on", "below": "under"}
    return [name for name in true if implied.get(name) not in true]


def captions(scene: Scene, rng: np.random.Generator, number: int = 5) -> list[str]:
    """Different true captions, from terse to detailed."""
    written: list[str] = []
    for _ in range(20 * number):
        detail = len(written) / max(1, number - 1)
        most = len(scene.things)
        count = min(most, 1 + int(rng.random() < 0.5 + 0.5 * detail) + int(rng.random() < detail))
        chosen = [int(k) for k in rng.permutation(most)[:count]]
        statement = describe(scene, rng, chosen, detail)
        text = sentence(statement, Style.draw(rng))
        if text not in written and is_true(statement, scene):
            written.append(text)
        if len(written) == number:
            break
    return written


def painter_of(about: Mapping[str, Any]) -> Painter:
    """The painter named in a world's card: our drawings, or a folder of cut-outs."""
    return SpritePainter(Path(about["sprites"])) if about.get("sprites") else StorybookPainter()


def random_scenes(
    number: int, seed: int, painter: Painter, part: str | None = None
) -> Iterator[Scene]:
    """Scenes with distinct content."""
    categories = sorted(painter.categories)
    seen: set[tuple[object, ...]] = set()
    for index in range(number):
        rng = seeds.rng(seed, "scene", index)
        while (scene := random_scene(rng, painter, categories, part)).what() in seen:
            pass
        seen.add(scene.what())
        yield scene


def drawn(scenes: Iterable[Scene], painter: Painter) -> Iterator[bytes]:
    """The scenes' PNG files in order; drawing runs on all cores (the rasteriser is native)."""
    with ThreadPoolExecutor() as pool:
        yield from pool.map(lambda scene: png_bytes(painter.paint(scene), scene), scenes)


def scene_of(picture: Picture) -> Scene | None:
    """The scene stored in a picture of the world; None for other pictures."""
    text = picture.metadata().get(SCENE_KEY)
    return Scene.from_json(text) if isinstance(text, str) else None
