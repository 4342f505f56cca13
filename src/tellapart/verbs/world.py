"""The verb `world`: a corpus of drawn pictures whose truth is known."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput
from tellapart.options import Help, Overwrite, Seed
from tellapart.types import Progress, silent
from tellapart.verbs import Verb

if TYPE_CHECKING:
    from tellapart.corpus.corpus import Corpus
    from tellapart.corpus.world.painter import Painter
    from tellapart.corpus.world.scene import Scene


def world(
    out: Annotated[Path | str, Help("Folder to write the corpus to.")],
    *,
    scenes: Annotated[int, Help("How many pictures to draw.")] = 500,
    seed: Seed = 0,
    part: Annotated[
        str | None, Help("Use one half of all possible scenes: train or test (they share nothing).")
    ] = None,
    sprites: Annotated[
        Path | str | None, Help("Draw with the cut-outs in this folder: NAME.png (and NAME.txt).")
    ] = None,
    overwrite: Overwrite = False,
    progress: Progress = silent,
) -> Corpus:
    """Draw a corpus: pictures of a storybook world with five captions each.

    In Python: `part` restricts the scenes to one half of all possible ones; `train` and `test`
    never share content. `sprites` is a folder of cut-out pictures.
    """
    if scenes < 1:
        raise BadInput(f"a world of {scenes} scenes cannot be drawn", allowed="1 scene or more")
    if part not in (None, "train", "test"):
        raise BadInput(f"there is no part {part!r} of the world", allowed="train, test")
    from tellapart.corpus.corpus import make_corpus, write_corpus
    from tellapart.corpus.native import load_corpus
    from tellapart.corpus.world.world import painter_of, random_scenes
    from tellapart.files import whole_folder

    out = Path(out)
    painter = painter_of({"sprites": str(sprites)} if sprites else {})
    drafts = list(random_scenes(scenes, seed, painter, part))
    about = {
        "world": "sprites" if sprites else "storybook",
        "seed": seed,
        "scenes": scenes,
        "part": part or "any",
        **({"sprites": str(Path(sprites).resolve())} if sprites else {}),
    }
    with whole_folder(out, overwrite=overwrite) as partial:
        rows = _draw(drafts, painter, partial, progress)
        texts = _write(drafts, seed)
        write_corpus(make_corpus("world", partial, rows, texts, about=about), partial)
    return load_corpus(out)


def _draw(
    scenes: Sequence[Scene], painter: Painter, folder: Path, progress: Progress
) -> list[dict[str, Any]]:
    """Save the pictures in a folder; a row of the corpus for each."""
    from tellapart.corpus.world.painter import SIDE
    from tellapart.corpus.world.world import drawn

    (folder / "images").mkdir()
    rows = []
    for number, (scene, data) in enumerate(zip(scenes, drawn(scenes, painter), strict=True)):
        uri = f"images/{_name(number)}.png"
        (folder / uri).write_bytes(data)
        sha256 = hashlib.sha256(data).hexdigest()
        objects = sorted({thing.category for thing in scene.things})
        rows.append(
            {"id": _name(number), "uri": uri, "sha256": sha256, "width": SIDE, "height": SIDE,
             "objects": objects}
        )  # fmt: skip
        progress("drawing", number + 1, len(scenes))
    return rows


def _write(scenes: Sequence[Scene], seed: int) -> list[dict[str, str]]:
    """Five captions of each scene, as rows of the corpus."""
    from tellapart import seeds
    from tellapart.corpus.world.world import captions

    return [
        {"id": f"{_name(number)}-{k}", "image": _name(number), "text": text}
        for number, scene in enumerate(scenes)
        for k, text in enumerate(captions(scene, seeds.rng(seed, "captions", _name(number))))
    ]


def _name(number: int) -> str:
    """The id of a drawn picture."""
    return f"{number:06d}"


VERB = Verb(
    world,
    example="tellapart world my-world --scenes 2000 --seed 0",
    text=lambda corpus: f"{corpus}  ->  {corpus.root}",
    json=lambda corpus: {
        "corpus": str(corpus.root),
        "images": corpus.images.height,
        "captions": corpus.captions.height,
    },
)
