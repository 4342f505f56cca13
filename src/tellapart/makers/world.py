"""`world:`: a caption of the built-in world is read and drawn.

A stand-in for an image generator whose truth is known. Like a real one it may get the caption wrong
(`error`), and its pictures may have a recognizable style (`look=synthetic`: softer, more colourful,
with a fine grain), which gives them away without reading anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tellapart import seeds
from tellapart.corpus.world.grammar import understand
from tellapart.corpus.world.lexicon import BACKGROUNDS, RELATIONS
from tellapart.corpus.world.painter import StorybookPainter, png_bytes
from tellapart.corpus.world.scene import Scene, Statement, Thing, is_true
from tellapart.corpus.world.world import arrange, part_of, random_thing, scene_of
from tellapart.errors import BadInput
from tellapart.makers.maker import ImageRequest, MadeImage, MakerInfo, maker_name

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

LOOKS = ("storybook", "synthetic")
ATTEMPTS = 400
GRAIN = 5.0
MOST, FURTHER = 3, 0.4
"""Without a source: the most things in a scene, and the share with an unmentioned thing."""


class WorldMaker:
    """Captions of the built-in world, drawn; with ?look=synthetic in a look of their own."""

    needs: Literal["caption", "picture", "boxes"] = "caption"
    batch = 16

    def __init__(self, error: float = 0.0, look: str = LOOKS[0]) -> None:
        if not 0 <= error <= 1:
            raise BadInput(f"error={error}", allowed="0 to 1: a share of the pictures")
        if look not in LOOKS:
            raise BadInput(f"look={look}", allowed=" or ".join(LOOKS))
        self.error, self.look = error, look
        options = {"error": error, "look": look}
        self.facts = MakerInfo(maker_name("world", options), options)
        self._painter = StorybookPainter()

    def make(self, requests: Sequence[ImageRequest]) -> list[MadeImage]:
        """Each caption drawn; captions that are not about the world are refused."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(self._make_one, requests))

    def _make_one(self, request: ImageRequest) -> MadeImage:
        statement = understand(request.caption)
        if statement is None:
            return MadeImage(refused="not a caption of the built-in world")
        rng = seeds.rng(request.seed, "world maker")
        source = scene_of(request.source) if request.source is not None else None
        # pictures of one part of the world stay in that part
        part = part_of(source) if source else None
        wrong = bool(rng.random() < self.error)
        for _ in range(ATTEMPTS):
            scene = self._scene(statement, source, rng)
            if scene is None:
                continue
            if wrong:
                scene = self._spoiled(scene, rng)
            if is_true(statement, scene) is not wrong and part in (None, part_of(scene)):
                picture = self._painter.paint(scene)
                if self.look == "synthetic":
                    picture = synthetic(picture, rng)
                return MadeImage(png_bytes(picture, scene), "png")
        return MadeImage(refused="no scene was found for it")

    def _scene(
        self, statement: Statement, source: Scene | None, rng: np.random.Generator
    ) -> Scene | None:
        """A scene with what the statement mentions.

        What it leaves open is copied from the scene of the request's source, or else drawn.
        """
        known = {thing.category: thing for thing in source.things} if source else {}
        things = []
        for place, mention in enumerate(statement.mentions):
            category = mention.category or self._category(rng)
            model = known.pop(category, None) or random_thing(rng, self._painter, category)
            told = {
                "colour": mention.colour, "size": mention.size, "count": mention.count,
            }  # fmt: skip
            only = statement.only
            if only and place in only.mentions:
                told[only.attribute] = only.value
            given: dict[str, Any] = {n: value for n, value in told.items() if value is not None}
            thing = replace(model, **given)
            if only and place not in only.mentions and getattr(thing, only.attribute) == only.value:
                thing = replace(thing, colour=str(rng.choice(self._painter.colours)))
            things.append(thing)
        if not statement.exhaustive:
            things += self._further(len(things), source, list(known.values()), rng)
        if len({thing.category for thing in things}) < len(things):
            return None
        relation = str(rng.choice(list(RELATIONS)))
        if statement.relations:
            first, relation, second = statement.relations[0]
            rest = [k for k in range(len(things)) if k not in (first, second)]
            things = [things[k] for k in (first, second, *rest)]
        background = statement.background or (source.background if source else "")
        background = background or str(rng.choice(list(BACKGROUNDS)))
        return arrange(background, things, relation, rng, self._painter)

    def _further(
        self, there: int, source: Scene | None, known: list[Thing], rng: np.random.Generator
    ) -> list[Thing]:
        """Unmentioned things: as many as the source had, or else sometimes one."""
        if source is None:
            one = random_thing(rng, self._painter, self._category(rng))
            return [one] if there < MOST and rng.random() < FURTHER else []
        order = [int(k) for k in rng.permutation(len(known))]
        return [known[k] for k in order[: max(0, len(source.things) - there)]]

    def _category(self, rng: np.random.Generator) -> str:
        return str(rng.choice(sorted(self._painter.categories)))

    def _spoiled(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """The scene with a detail of one thing changed, as generators do."""
        place = int(rng.integers(len(scene.things)))
        thing = scene.things[place]
        changed = (
            replace(thing, colour=str(rng.choice(self._painter.colours)))
            if rng.random() < 0.5
            else replace(thing, category=self._category(rng))
        )
        things = tuple(changed if k == place else one for k, one in enumerate(scene.things))
        return replace(scene, things=things)


def synthetic(picture: PILImage, rng: np.random.Generator) -> PILImage:
    """The picture in a generator's style: softer, more colourful, with a fine grain."""
    from PIL import Image, ImageEnhance, ImageFilter

    soft = ImageEnhance.Color(picture.filter(ImageFilter.GaussianBlur(0.9))).enhance(1.3)
    grain = rng.normal(0, GRAIN, (*soft.size[::-1], 3))
    return Image.fromarray(np.clip(np.asarray(soft) + grain, 0, 255).astype(np.uint8))
