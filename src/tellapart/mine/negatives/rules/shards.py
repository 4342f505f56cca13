"""Captions in shards for the rules: some images with their captions, which a worker counts.

A shard is made of whole images, in the order of their first captions. Its results are added up in
that order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tellapart._version import __version__
from tellapart.corpus.corpus import Corpus
from tellapart.items import no_garbage_collection
from tellapart.mine.negatives import NegativesMethod
from tellapart.mine.negatives.negative import read_images, rows_by_image
from tellapart.mine.negatives.rules.usage import CorpusCounts, count_image
from tellapart.seeds import digest
from tellapart.text.parses import Parses
from tellapart.text.spacy_pipeline import find_pipeline
from tellapart.types import Progress
from tellapart.work.crew import ShardJob
from tellapart.work.shard import Shard, ShardResult
from tellapart.work.stages import StagedCrew

IMAGES = 2048
"""Images of a shard."""


@dataclass(frozen=True, slots=True)
class CaptionPart:
    """Some images of a corpus with the parses of their captions."""

    corpus: Corpus
    parses: Parses

    def shard(self, number: int) -> Shard:
        """As a shard, whose file is named by the content."""
        objects = self.corpus.images.select("id", "objects").rows()
        what = digest("caption part", self.corpus.captions.rows(), objects)
        return Shard(f"{number:06d}-{what[:16]}.json", self.corpus.captions.height, self)


def caption_parts(corpus: Corpus, parses: Parses) -> list[Shard]:
    """All captions of a corpus in shards."""
    parts = enumerate(_parts(corpus, parses))
    return [part.shard(number) for number, part in parts]


def _parts(corpus: Corpus, parses: Parses) -> Iterator[CaptionPart]:
    captions = rows_by_image(corpus)
    place = {image: row for row, image in enumerate(corpus.images["id"])}
    images = list(captions)
    for start in range(0, len(images), IMAGES):
        some = images[start : start + IMAGES]
        rows = sorted(row for image in some for row in captions[image])
        part = replace(
            corpus,
            images=corpus.images[[place[image] for image in some]],
            captions=corpus.captions[rows],
        )
        yield CaptionPart(part, parses.rows(rows))


def stage_of(what: str, method: NegativesMethod, *parts: Any) -> str:
    """The name of a stage, by all that its results depend on besides the captions."""
    return (
        f"{what}-{digest(what, __version__, find_pipeline(method.parser).fingerprint, *parts)[:16]}"
    )


def count(corpus: Corpus, parses: Parses) -> CorpusCounts:
    """The counts of a corpus."""
    counts = CorpusCounts()
    with no_garbage_collection():
        for image, captions in read_images(corpus, parses):
            count_image(counts, [caption[1:] for caption in captions], corpus.objects(image))
    return counts


@dataclass(frozen=True, slots=True)
class CountTask:
    """What workers do: the counts of some images."""

    def open(self) -> Callable[[CaptionPart], ShardResult]:
        """Nothing needs to be loaded."""
        return lambda part: ShardResult(
            json.dumps(count(part.corpus, part.parses).to_json()).encode()
        )


def counted_by(
    crew: StagedCrew, shards: Sequence[Shard], method: NegativesMethod, progress: Progress
) -> CorpusCounts:
    """The counts of a corpus, by a crew."""
    stage = stage_of("counts", method)
    job = ShardJob("words of captions", "captions", CountTask(), shards)
    crew.do(stage, job, progress)
    total = CorpusCounts()
    for shard in shards:
        total.add_json(json.loads(crew.kept(stage).path(shard.name).read_bytes()))
    return total
