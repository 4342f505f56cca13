"""`build bivlc`: two images and two captions that differ by a detail, asked both ways.

Miranda et al. 2024, section 3. On the built-in world the negative image is drawn from the edited
scene, one near miss an image; the maker of images is the seam where a diffusion model goes for
photographs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput, UnknownName
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs.build import (
    BuildOptions,
    CorpusArgument,
    OutArgument,
    builder_card,
    builder_verb,
    source_corpus,
)

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.corpus.world.edits import NearMiss
    from tellapart.items import Item

MEASURES = ("Group", "I2T", "T2I", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")


@dataclass(frozen=True, slots=True, kw_only=True)
class BivlcOptions(BuildOptions):
    """Which kinds of near miss; none named means all."""

    kinds: Annotated[
        tuple[str, ...], Help("Kinds of near miss, separated by commas (default: all).")
    ] = ()

    def checked_kinds(self) -> tuple[str, ...]:
        """The kinds that are meant, where all of them exist."""
        from tellapart.items import KINDS

        for kind in self.kinds:
            if kind not in KINDS:
                raise UnknownName("kind of near miss", kind, KINDS)
        return self.kinds or KINDS


def bivlc(
    corpus: CorpusArgument,
    out: OutArgument,
    options: BivlcOptions = BivlcOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """Two images and two captions that differ by a detail, asked both ways."""
    from tellapart.benchmark.benchmark import load_benchmark, make_benchmark, write_benchmark
    from tellapart.benchmark.image_files import with_copies
    from tellapart.corpus.world.painter import SIDE, png_bytes
    from tellapart.corpus.world.world import painter_of
    from tellapart.files import whole_folder
    from tellapart.items import Image

    kinds = options.checked_kinds()
    source = source_corpus(corpus, out, options)
    painter = painter_of(source.about)
    items: list[Item] = []
    images = {image_id: source.image(image_id) for image_id in source.images["id"]}
    with whole_folder(Path(out), overwrite=options.overwrite) as partial:
        (partial / "images").mkdir()
        for image_id, miss in _near_misses(source, kinds, options, progress):
            name = f"{image_id}-{miss.kind}"
            data = png_bytes(painter.paint(miss.negative_scene), miss.negative_scene)
            uri = f"images/{name}.png"
            (partial / uri).write_bytes(data)
            images[name] = Image(name, uri, hashlib.sha256(data).hexdigest(), SIDE, SIDE)
            items.append(_item(source, image_id, name, miss, options.seed))
        how = {"kinds": list(kinds), "images": "drawn from the edited scenes"}
        card = replace(
            builder_card("bivlc", source, options, how, MEASURES, items=items),
            verified="by construction: each caption is true of its own scene alone",
        )
        made = make_benchmark(card, source.root, items, images.values())
        write_benchmark(with_copies(made, partial) if options.copy_images else made, partial)
    return load_benchmark(out)


def _near_misses(
    corpus: Corpus, kinds: tuple[str, ...], options: BivlcOptions, progress: Progress
) -> Iterator[tuple[str, NearMiss]]:
    """For each image in turn a near miss of the kind that there are fewest of so far."""
    from tellapart import seeds
    from tellapart.corpus.world.edits import EditContext, near_miss
    from tellapart.corpus.world.world import painter_of, scene_of

    painter = painter_of(corpus.about)
    categories = sorted(painter.categories)
    numbers = dict.fromkeys(kinds, 0)
    images = corpus.images["id"].to_list()
    for done, image_id in enumerate(images, 1):
        progress("near misses", done, len(images))
        if options.items is not None and sum(numbers.values()) >= options.items:
            return
        scene = scene_of(corpus.picture(image_id))
        if scene is None:
            raise BadInput(
                f"image {image_id} of {corpus.name} carries no scene",
                allowed="a corpus of the built-in world (negative images of photographs need a "
                "text-to-image model)",
                todo="draw one with: tellapart world OUT",
            )
        for kind in sorted(kinds, key=lambda k: (numbers[k], kinds.index(k))):
            rng = seeds.rng(options.seed, "bivlc", image_id, kind)
            miss = near_miss(kind, EditContext(scene, rng, painter, categories))
            if miss is not None:
                numbers[kind] += 1
                yield image_id, miss
                break


def _item(corpus: Corpus, image: str, negative: str, miss: NearMiss, seed: int) -> Item:
    from tellapart import seeds
    from tellapart.items import Grid, Item, Origin

    coins = seeds.rng(seed, "bivlc", "order", image).integers(2, size=2).tolist()
    orders = [(coin, 1 - coin) for coin in coins]
    captions = (miss.caption, miss.negative_caption)
    grid = Grid.square((image, negative), captions, *orders)
    origin = Origin("tellapart build bivlc", corpus.name, image, seed)
    return Item.built("bivlc", grid, kind=miss.kind, origin=origin)


VERB = builder_verb(bivlc, "tellapart build bivlc my-world my-bivlc --kinds swap-object")
