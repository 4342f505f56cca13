"""Options for judging captions and for retrieval; importing this module imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput
from tellapart.options import (
    Cache,
    CacheGb,
    Gather,
    Help,
    Seed,
    ShardShare,
    SkipBad,
    UseCache,
    Workers,
)
from tellapart.store.cache import SIZE_GB, default_folder

if TYPE_CHECKING:
    import numpy as np

    from tellapart.corpus.reader import ReadOptions

NATIVE = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D")
"""The default metrics: the usual ones that need nothing but this package."""
JUDGED, GIVEN = "judged", "references"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionOptions:
    """How to judge captions; `frequencies` is `judged`, `references` or a corpus's path."""

    metrics: Annotated[
        tuple[str, ...], Help("Names, separated by commas, or all (see: list caption-metrics).")
    ] = NATIVE
    references_used: Annotated[
        tuple[int, ...],
        Help("Also judge with this many random references per image: 1 or 1,2,3 or 1-5."),
    ] = ()
    repeats: Annotated[int, Help("How many times to draw random references.")] = 10
    frequencies: Annotated[
        str,
        Help(
            "Where CIDEr's document frequencies come from: judged (the references of the judged "
            "images, as in the COCO scripts), references (all of them), or the path of a corpus."
        ),
    ] = JUDGED
    judgements: Annotated[
        Path | None,
        Help(
            "Ratings of captions by people, to correlate metrics with (image, caption or "
            "caption_id, rating, rating_2, ...; or Flickr8k's ExpertAnnotations.txt)."
        ),
    ] = None
    prepare: Annotated[
        str,
        Help(
            "Prepare captions and references alike: mcic (letters only, lower case, 30 words, one "
            "token for all words seen fewer than five times)."
        ),
    ] = ""
    words_from: Annotated[
        Path | None,
        Help("With --prepare: the corpus in which to count words (default: the references)."),
    ] = None
    every_image: Annotated[bool, Help("Count a missing caption as an empty one.")] = False
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
        """Options for reading the references."""
        from tellapart.corpus.reader import ReadOptions

        return ReadOptions(
            image_column=self.image_column or "image",
            caption_column=self.caption_column,
            skip_bad=self.skip_bad,
        )

    def check(self) -> None:
        """Raise if an option makes no sense."""
        if min(self.resamples, self.permutations) < 1:
            raise BadInput(
                "intervals and tests need random draws", allowed="1 resample and 1 swap or more"
            )
        if min(self.references_used, default=1) < 1:
            used = min(self.references_used)
            raise BadInput(f"captions cannot be judged with {used} references", allowed="1 or more")
        if self.words_from is not None and not self.prepare:
            raise BadInput(
                "--words-from has no effect without --prepare", todo="add --prepare mcic"
            )
        if self.repeats < 1:
            raise BadInput(f"references cannot be drawn {self.repeats} times", allowed="1 or more")

    def rng(self, *what: str) -> np.random.Generator:
        """The generator for one step."""
        from tellapart import seeds

        return seeds.rng(self.seed, "captions", *what)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """How to retrieve.

    `sizes` are sizes of random collections of images, each drawn `draws` times; the whole corpus is
    always used as well. `cache` None means `TELLAPART_CACHE`, else `~/.cache/tellapart`, and `work`
    None its folder `retrieve`. `images` and the columns apply to a corpus that has not been read
    yet.
    """

    images: Annotated[Path | None, Help("Folder that holds the pictures.")] = None
    sizes: Annotated[
        tuple[int, ...], Help("Also use random collections of this many images: 100,1000.")
    ] = ()
    draws: Annotated[int, Help("How many collections of each size to draw.")] = 10
    limit: Annotated[int | None, Help("Only a random sample of this many images.")] = None
    per_query: Annotated[
        Path | None,
        Help("Also write each query's rank and first result: a .csv, .jsonl or .parquet file."),
    ] = None
    seed: Seed = 0
    batch_size: Annotated[int, Help("How many inputs the model gets at a time.")] = 64
    image_column: Annotated[str, Help("Tables: the column of images.")] = "image"
    caption_column: Annotated[str, Help("Tables: the column of captions.")] = "caption"
    cache: Cache = None
    use_cache: UseCache = True
    cache_gb: CacheGb = SIZE_GB
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False
    work: Annotated[
        Path | None,
        Help("Folder for unfinished shards; --shard on several machines needs a shared one."),
    ] = None
    skip_bad: SkipBad = False

    @property
    def cache_folder(self) -> Path | None:
        """The cache folder, or None for no cache."""
        return (self.cache or default_folder()) if self.use_cache else None

    @property
    def reading(self) -> ReadOptions:
        """Options for reading the corpus."""
        from tellapart.corpus.reader import ReadOptions

        return ReadOptions(
            images=self.images,
            image_column=self.image_column,
            caption_column=self.caption_column,
            skip_bad=self.skip_bad,
        )
