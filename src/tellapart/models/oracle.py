"""`oracle`: reads the world's truth, with a chosen rate of error."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tellapart import seeds
from tellapart.corpus.world.reading import understand
from tellapart.corpus.world.scene import Scene
from tellapart.corpus.world.statement import Statement, is_true
from tellapart.corpus.world.world import scene_of
from tellapart.errors import BadImage, BadInput
from tellapart.models.model import Floats
from tellapart.models.names import facts
from tellapart.pictures import Picture

_understand = lru_cache(maxsize=100_000)(understand)


class Oracle:
    """Knows the truth about pictures of the built-in world (error=0.1: is wrong in 10% of cells).

    It reads the caption, and the scene that the picture file carries; what it judges is the
    caption's truth, not what the benchmark says about it.
    """

    def __init__(self, error: float = 0.0, seed: int = 0) -> None:
        if not 0 <= error <= 1:
            raise BadInput(f"error={error} is not a rate", allowed="0 to 1")
        self.error, self.seed = error, seed
        self.facts = facts("oracle", error=error, seed=seed)
        self._scenes: dict[str, Scene] = {}

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """1 where the caption is true, 0 where it is false; turned round in cells of error."""
        pairs = zip(pictures, texts, strict=True)
        return np.array([float(self._judge(picture, text)) for picture, text in pairs])

    def _judge(self, picture: Picture, text: str) -> bool:
        statement: Statement | None = _understand(text)
        truth = statement is not None and is_true(statement, self._scene(picture))
        errs = seeds.unit("oracle", self.seed, picture.id, text) < self.error
        return truth != errs

    def _scene(self, picture: Picture) -> Scene:
        key = str(picture.path)
        if key not in self._scenes:
            scene = scene_of(picture)
            if scene is None:
                raise BadImage(
                    f"image {picture.id} is not a picture of the built-in world",
                    where=str(picture.path),
                    allowed="for oracle: pictures drawn by `tellapart world`",
                )
            self._scenes[key] = scene
        return self._scenes[key]
