"""Draw a corpus: scenes at random, their pictures and five captions each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tellapart import seeds
from tellapart.corpus.corpus import Corpus, make_corpus, write_corpus
from tellapart.corpus.native import load_corpus
from tellapart.corpus.world.compose import captions, random_scene
from tellapart.corpus.world.painter import (
    SCENE_KEY,
    SIDE,
    Painter,
    SpritePainter,
    StorybookPainter,
    png_bytes,
)  # fmt: skip
from tellapart.corpus.world.scene import Scene
from tellapart.errors import BadInput
from tellapart.pictures import Picture
from tellapart.tables import whole_folder

Progress = Callable[[int, int], None]
"""Told how many of how many are done."""


def silent(done: int, total: int) -> None:
    """A progress that shows nothing."""


def world(
    out: Path | str,
    *,
    scenes: int = 500,
    seed: int = 0,
    part: str | None = None,
    sprites: Path | str | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Corpus:
    """Draw a corpus into a folder and return it.

    `part` keeps to one half of all possible scenes: `train` and `test` never share content.
    `sprites` is a folder of cut-out pictures to draw with (see `sprites.py`).
    """
    if scenes < 1:
        raise BadInput(f"a world of {scenes} scenes cannot be drawn", allowed="1 scene or more")
    if part not in (None, "train", "test"):
        raise BadInput(f"there is no part {part!r} of the world", allowed="train, test")
    out = Path(out)
    painter = painter_of({"sprites": str(sprites)} if sprites else {})
    made = list(random_scenes(scenes, seed, painter, part))
    with whole_folder(out, overwrite=overwrite) as partial:
        (partial / "images").mkdir()
        names = [f"{number:06d}" for number in range(scenes)]
        rows = []
        for done, (name, data) in enumerate(zip(names, _drawn(made, painter), strict=True), 1):
            uri = f"images/{name}.png"
            (partial / uri).write_bytes(data)
            sha256 = hashlib.sha256(data).hexdigest()
            objects = sorted({thing.category for thing in made[done - 1].things})
            rows.append(
                {"id": name, "uri": uri, "sha256": sha256, "width": SIDE, "height": SIDE,
                 "objects": objects}
            )  # fmt: skip
            progress(done, scenes)
        texts = [
            {"id": f"{name}-{k}", "image": name, "text": text}
            for name, scene in zip(names, made, strict=True)
            for k, text in enumerate(captions(scene, seeds.rng(seed, "captions", name)))
        ]
        about = {
            "world": "sprites" if sprites else "storybook",
            "seed": seed,
            "scenes": scenes,
            "part": part or "any",
            **({"sprites": str(Path(sprites).resolve())} if sprites else {}),
        }
        write_corpus(make_corpus("world", partial, rows, texts, about=about), partial)
    return load_corpus(out)


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


def _drawn(scenes: Iterable[Scene], painter: Painter) -> Iterator[bytes]:
    """The scenes' PNG files in order; drawing runs on all cores (the rasteriser is native)."""
    with ThreadPoolExecutor() as pool:
        yield from pool.map(lambda scene: png_bytes(painter.paint(scene), scene), scenes)


def scene_of(picture: Picture) -> Scene | None:
    """The scene that a picture of the world carries; None for any other picture."""
    text = picture.metadata().get(SCENE_KEY)
    return Scene.from_json(text) if isinstance(text, str) else None
