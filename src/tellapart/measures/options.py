"""How captions are judged and retrieval is measured; importing this imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput
from tellapart.options import Cache, CacheGb, Help, Seed, SkipBad, UseCache
from tellapart.store.cache import SIZE_GB, default_folder

if TYPE_CHECKING:
    import numpy as np

    from tellapart.corpus.reader import ReadOptions

NATIVE = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D")
"""The usual caption metrics that need nothing but this package: the default."""
JUDGED, GIVEN = "judged", "references"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionOptions:
    """How to judge captions; `frequencies` is `judged`, `references` or a corpus's path."""

    metrics: Annotated[
        tuple[str, ...], Help("Names, separated by commas, or all (see: list caption-metrics).")
    ] = NATIVE
    references_used: Annotated[
        tuple[int, ...],
        Help("Also with this many random references an image: 1 or 1,2,3 or 1-5."),
    ] = ()
    repeats: Annotated[int, Help("How often random references are drawn.")] = 10
    frequencies: Annotated[
        str,
        Help(
            "CIDEr's document frequencies: of the references of the images judged (as the "
            "COCO scripts do), of all references, or of the corpus at a path."
        ),
    ] = JUDGED
    judgements: Annotated[
        Path | None,
        Help(
            "What people gave to captions (image, caption or caption_id, rating, rating_2, ...; or "
            "Flickr8k's ExpertAnnotations.txt): how well each metric's scores correlate with it."
        ),
    ] = None
    prepare: Annotated[
        str,
        Help(
            "Prepare captions and references alike: mcic (letters only, in lower case, 30 words, "
            "words seen fewer than five times made one)."
        ),
    ] = ""
    words_from: Annotated[
        Path | None,
        Help("With --prepare: the corpus that words are counted in (default: the references)."),
    ] = None
    every_image: Annotated[bool, Help("An image without a caption counts as an empty one.")] = False
    resamples: Annotated[int, Help("Bootstrap resamples for the intervals.")] = 2_000
    permutations: Annotated[int, Help("Random swaps for the tests.")] = 10_000
    seed: Seed = 0
    image_column: Annotated[
        str, Help("Tables: the column of images (default: image_id or image).")
    ] = ""
    caption_column: Annotated[str, Help("Tables: the column of captions.")] = "caption"
    cache: Cache = None
    skip_bad: SkipBad = False

    @property
    def reading(self) -> ReadOptions:
        """How the references are read."""
        from tellapart.corpus.reader import ReadOptions

        return ReadOptions(
            image_column=self.image_column or "image",
            caption_column=self.caption_column,
            skip_bad=self.skip_bad,
        )

    def check(self) -> None:
        """Raise where a number makes no sense."""
        if min(self.resamples, self.permutations) < 1:
            raise BadInput(
                "intervals and tests need random draws", allowed="1 resample and 1 swap or more"
            )
        if min(self.references_used, default=1) < 1:
            used = min(self.references_used)
            raise BadInput(f"no caption is judged by {used} references", allowed="1 or more")
        if self.words_from is not None and not self.prepare:
            raise BadInput("words are counted for nothing", todo="add --prepare mcic")
        if self.repeats < 1:
            raise BadInput(f"references cannot be drawn {self.repeats} times", allowed="1 or more")

    def rng(self, *what: str) -> np.random.Generator:
        """The generator for one step."""
        from tellapart import seeds

        return seeds.rng(self.seed, "captions", *what)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """How to retrieve.

    `sizes` are numbers of images to draw as collections, each `draws` times; the whole corpus is
    always asked.
    `cache` None means `TELLAPART_CACHE`, else `~/.cache/tellapart`. `images` and the columns are
    for a corpus that is still to be read.
    """

    images: Annotated[Path | None, Help("Folder that holds the pictures.")] = None
    sizes: Annotated[
        tuple[int, ...], Help("Also on random collections of this many images: 100,1000.")
    ] = ()
    draws: Annotated[int, Help("How often a collection of each of these sizes is drawn.")] = 10
    limit: Annotated[int | None, Help("Only a random sample of this many images.")] = None
    per_query: Annotated[
        Path | None,
        Help("Also write every query's rank and what was found first: a .csv, .jsonl or .parquet."),
    ] = None
    seed: Seed = 0
    batch_size: Annotated[int, Help("How many inputs the model gets at a time.")] = 64
    image_column: Annotated[str, Help("Tables: the column of images.")] = "image"
    caption_column: Annotated[str, Help("Tables: the column of captions.")] = "caption"
    cache: Cache = None
    use_cache: UseCache = True
    cache_gb: CacheGb = SIZE_GB
    skip_bad: SkipBad = False

    @property
    def cache_folder(self) -> Path | None:
        """The folder of the cache, None where none is used."""
        return (self.cache or default_folder()) if self.use_cache else None

    @property
    def reading(self) -> ReadOptions:
        """How the corpus is read."""
        from tellapart.corpus.reader import ReadOptions

        return ReadOptions(
            images=self.images,
            image_column=self.image_column,
            caption_column=self.caption_column,
            skip_bad=self.skip_bad,
        )
