"""BiVLC: two images and two captions that differ by a detail, asked both ways.

Miranda et al. 2024, section 3. On the built-in world the negative image is drawn from the edited
scene; the maker of images is the seam where a diffusion model goes for photographs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tellapart import seeds
from tellapart.benchmark.benchmark import (
    Benchmark,
    Card,
    load_benchmark,
    make_benchmark,
    write_benchmark,
)  # fmt: skip
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.world.edits import EditContext, NearMiss, near_miss
from tellapart.corpus.world.painter import SIDE, png_bytes
from tellapart.corpus.world.scene import Scene
from tellapart.corpus.world.world import painter_of, scene_of
from tellapart.errors import BadInput, UnknownName
from tellapart.items import KINDS, Image, Item, Origin
from tellapart.mine.building import BuildOptions, own_options
from tellapart.tables import whole_folder

MEASURES = ("Group", "I2T", "T2I", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")


@dataclass(frozen=True, slots=True)
class BivlcOptions:
    """Which kinds of near miss; none named means all."""

    kinds: tuple[str, ...] = ()


def build(corpus: Corpus, out: Path, options: BuildOptions) -> Benchmark:
    """One near miss an image, of the kinds in turn; negative images are drawn into OUT."""
    kinds = _kinds(options)
    painter = painter_of(corpus.about)
    items: list[Item] = []
    images = {image_id: corpus.image(image_id) for image_id in corpus.images["id"]}
    with whole_folder(out, overwrite=options.overwrite) as partial:
        (partial / "images").mkdir()
        for image_id, miss in _near_misses(corpus, kinds, options):
            name = f"{image_id}-{miss.kind}"
            data = png_bytes(painter.paint(miss.negative_scene), miss.negative_scene)
            uri = f"images/{name}.png"
            (partial / uri).write_bytes(data)
            sha256 = hashlib.sha256(data).hexdigest()
            images[name] = Image(name, uri, sha256, SIDE, SIDE)
            items.append(_item(corpus, image_id, name, miss, options.seed))
        card = Card(
            name=options.name or "bivlc",
            about=f"bivlc items built from {corpus.name}",
            measures=MEASURES,
            made={
                "by": "tellapart build bivlc",
                "corpus": corpus.name,
                "corpus_about": dict(corpus.about),
                "seed": options.seed,
                "kinds": list(kinds),
                "images": "drawn from the edited scenes",
            },
            verified="by construction: each caption is true of its own scene alone",
            skipped=corpus.skipped,
        )
        made = make_benchmark(card, corpus.root, items, images.values())
        write_benchmark(made, partial)
    return load_benchmark(out)


def _kinds(options: BuildOptions) -> tuple[str, ...]:
    kinds = own_options(options, BivlcOptions).kinds or KINDS
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownName("kind of near miss", kind, KINDS)
    return kinds


def _near_misses(
    corpus: Corpus, kinds: tuple[str, ...], options: BuildOptions
) -> Iterator[tuple[str, NearMiss]]:
    """For each image in turn a near miss of the kind that there are fewest of so far."""
    painter = painter_of(corpus.about)
    categories = sorted(painter.categories)
    made = dict.fromkeys(kinds, 0)
    images = corpus.images["id"].to_list()
    for done, image_id in enumerate(images, 1):
        options.progress(done, len(images))
        if options.items is not None and sum(made.values()) >= options.items:
            return
        scene = _scene(corpus, image_id)
        for kind in sorted(kinds, key=lambda k: (made[k], kinds.index(k))):
            rng = seeds.rng(options.seed, "bivlc", image_id, kind)
            miss = near_miss(kind, EditContext(scene, rng, painter, categories))
            if miss is not None:
                made[kind] += 1
                yield image_id, miss
                break


def _scene(corpus: Corpus, image_id: str) -> Scene:
    scene = scene_of(corpus.picture(image_id))
    if scene is None:
        raise BadInput(
            f"image {image_id} of {corpus.name} carries no scene",
            allowed="a corpus of the built-in world (negative images of photographs need a "
            "text-to-image model)",
            todo="draw one with: tellapart world OUT",
        )
    return scene


def _item(corpus: Corpus, image: str, negative: str, miss: NearMiss, seed: int) -> Item:
    order = seeds.rng(seed, "bivlc", "order", image).integers(2, size=2).tolist()
    images = (image, negative) if order[0] == 0 else (negative, image)
    captions = (miss.caption, miss.negative_caption)
    captions = captions if order[1] == 0 else captions[::-1]
    original = (order[0], order[1])
    return Item.built(
        "bivlc",
        images=images,
        captions=captions,
        true=frozenset({original, (1 - order[0], 1 - order[1])}),
        original=original,
        kind=miss.kind,
        origin=Origin("tellapart build bivlc", corpus.name, image, seed),
    )
