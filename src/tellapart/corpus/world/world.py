"""Scenes at random, and the pictures that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tellapart import seeds
from tellapart.corpus.world.compose import random_scene
from tellapart.corpus.world.painter import (
    SCENE_KEY,
    Painter,
    SpritePainter,
    StorybookPainter,
    png_bytes,
)  # fmt: skip
from tellapart.corpus.world.scene import Scene
from tellapart.pictures import Picture


def painter_of(about: Mapping[str, Any]) -> Painter:
    """The painter that a world's card speaks of: our drawings, or a folder of cut-outs."""
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
    """The scene that a picture of the world carries; None for any other picture."""
    text = picture.metadata().get(SCENE_KEY)
    return Scene.from_json(text) if isinstance(text, str) else None
