"""The verb `caption`: a captioner captions every image, in the format that `captions` judges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadImage, BadInput
from tellapart.models.caption_writer import Decoding
from tellapart.options import Gather, Help, Overwrite, ShardShare, SkipBad, Workers
from tellapart.types import Progress, silent
from tellapart.verbs import Verb, open_benchmark, skipped_notes

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.models.caption_writer import CaptionWriter
    from tellapart.pictures import Picture
    from tellapart.score.job import ModelWork
    from tellapart.store.records import Journal
    from tellapart.work.shard import Shard, ShardResult

SHOWN = 5
"""How many captions are printed."""
BATCHES = 8
"""Batches of a shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCaptionsOptions(Decoding):
    """How captions are written, and for which images."""

    images: Annotated[Path | None, Help("Folder with the corpus's pictures.")] = None
    limit: Annotated[int | None, Help("Only a random sample of this many images.")] = None
    batch_size: Annotated[int, Help("How many images the captioner processes together.")] = 64
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False
    skip_bad: SkipBad = False
    overwrite: Overwrite = False


@dataclass(frozen=True, slots=True)
class WrittenCaptions:
    """A captioner's captions by image id, in the corpus's order."""

    model: str
    corpus: str
    file: Path
    captions: dict[str, str]
    skipped: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Rows of COCO's results format; ids that are whole numbers are written as numbers."""
        return [
            {"image_id": int(image) if _is_number(image) else image, "caption": text}
            for image, text in self.captions.items()
        ]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "model": self.model, "corpus": self.corpus, "file": str(self.file),
            "captions": len(self.captions), "skipped": list(self.skipped),
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [f"  {image}: {text}" for image, text in list(self.captions.items())[:SHOWN]]
        more = len(self.captions) - SHOWN
        lines += [f"  ... and {more:,} more"] if more > 0 else []
        head = f"{self.model} on {self.corpus}: {len(self.captions):,} captions  ->  {self.file}"
        return "\n".join([head, *lines])


def caption(
    model: Annotated[Any, Help("A captioner: trained:FOLDER or hf:NAME?head=caption.")],
    on: Annotated[
        Benchmark | Corpus | Path | str,
        Help("A corpus, a benchmark, or a plain folder of pictures.", flag="--on"),
    ],
    out: Annotated[Path | str, Help("The results file to write: NAME.json.", flag="--out")],
    options: WriteCaptionsOptions = WriteCaptionsOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> WrittenCaptions:
    """Have a captioner write a caption for every image.

    The file has COCO's results format; judge it with `tellapart captions`. If the command is
    stopped or killed, run it again to continue where it left off.

    In Python a model may also be an object with `write_captions`.
    """
    from tellapart.files import write_json
    from tellapart.models.caption_writer import writes_captions
    from tellapart.models.names import load
    from tellapart.score.job import work_on
    from tellapart.work.launchers import crew_of

    out = Path(out)
    _check(out, options)
    crew = crew_of(options.workers, options.shard, options.gather)
    options = replace(options, workers="", shard="", gather=False)  # they change no caption
    corpus, images = _images(on, options)
    writer = writes_captions(load(model) if isinstance(model, str) else model)
    job = ["caption", corpus.name, images, str(options), out.name]
    with work_on(out.parent, job) as work:
        desk = work.desk(writer, model, crew)
        desk.begin()
        journal = desk.journal("captions")
        try:
            pictures = [corpus.picture(image) for image in images]
            if crew is not None:
                skipped = _in_shards(desk, pictures, journal, options, progress)
            else:
                skipped = _write(writer, pictures, journal, options, progress)
        finally:
            journal.close()
        captions = {image: journal.known[image] for image in images if image in journal.known}
        if not captions:
            raise BadInput(f"no picture of {corpus.name} can be read", where=skipped[0])
        done = WrittenCaptions(writer.facts.name, corpus.name, out, captions, tuple(skipped))
        write_json(out, done.rows())
    return done


def _check(out: Path, options: WriteCaptionsOptions) -> None:
    options.check()
    if out.suffix != ".json":
        raise BadInput(f"{out.name} is not a valid name for a results file", allowed="NAME.json")
    if out.exists() and not options.overwrite:
        raise BadInput(
            f"{out} already exists",
            allowed="a file that does not exist yet",
            todo="choose another name, or replace it with --overwrite (overwrite=True)",
        )
    if options.batch_size < 1:
        raise BadInput(f"a batch size of {options.batch_size}", allowed="1 or more")
    if options.limit is not None and options.limit < 1:
        raise BadInput(f"a limit of {options.limit} images", allowed="1 or more")


def _images(
    on: Benchmark | Corpus | Path | str, options: WriteCaptionsOptions
) -> tuple[Corpus, list[str]]:
    """The corpus, and the ids of the images to caption."""
    from tellapart import seeds
    from tellapart.benchmark.benchmark import Benchmark, is_benchmark
    from tellapart.benchmark.captions import corpus_of
    from tellapart.benchmark.image_files import pictures_in
    from tellapart.corpus.corpus import Corpus
    from tellapart.corpus.folder import read_pictures
    from tellapart.corpus.reader import ReadOptions

    if isinstance(on, Benchmark) or (not isinstance(on, Corpus) and is_benchmark(on)):
        benchmark = pictures_in(open_benchmark(on), options.images)
        corpus = corpus_of(benchmark, uncaptioned=True)
    elif isinstance(on, Corpus):
        corpus = on
    else:
        reading = ReadOptions(images=options.images, skip_bad=options.skip_bad)
        corpus = read_pictures(on, reading)
    ids = corpus.images["id"].to_list()
    if options.limit is not None and options.limit < len(ids):
        drawn = seeds.rng(options.seed, "caption").permutation(len(ids))[: options.limit]
        ids = [ids[int(k)] for k in sorted(drawn)]
    return corpus, ids


def _write(
    writer: CaptionWriter,
    pictures: list[Picture],
    journal: Journal,
    options: WriteCaptionsOptions,
    progress: Progress,
) -> list[str]:
    """Write captions into the journal batch by batch; returns the problems of skipped pictures.

    Batches are the same on a fresh start and on resuming, because floating-point sums may depend
    on what is computed together.
    """
    skipped: list[str] = []
    for start in range(0, len(pictures), options.batch_size):
        batch, bad = _readable(pictures[start : start + options.batch_size], options)
        skipped += bad
        if any(picture.id not in journal.known for picture in batch):
            journal.add(_captions(writer, batch, options))
        progress("captions", min(start + options.batch_size, len(pictures)), len(pictures))
    return skipped


def _readable(
    batch: Sequence[Picture], options: WriteCaptionsOptions
) -> tuple[list[Picture], list[str]]:
    """The pictures that are written of, and what is wrong with the others."""
    if not options.skip_bad:
        return list(batch), []
    bad = {picture.id: why for picture in batch if (why := _trouble(picture))}
    return [picture for picture in batch if picture.id not in bad], list(bad.values())


def _captions(
    writer: CaptionWriter, batch: Sequence[Picture], options: WriteCaptionsOptions
) -> dict[str, str]:
    texts = writer.write_captions(batch, options)
    return dict(zip((picture.id for picture in batch), texts, strict=True))


@dataclass(frozen=True, slots=True)
class CaptionTask:
    """What workers do: captions of some pictures, in the batches that one process would make."""

    model: Any
    options: WriteCaptionsOptions

    def open(self) -> Callable[[Sequence[Picture]], ShardResult]:
        """Load the captioner."""
        from tellapart.models.caption_writer import writes_captions
        from tellapart.models.names import load
        from tellapart.work.shard import ShardResult

        writer = writes_captions(load(self.model) if isinstance(self.model, str) else self.model)

        def write(pictures: Sequence[Picture]) -> ShardResult:
            captions: dict[str, str] = {}
            skipped: list[str] = []
            for start in range(0, len(pictures), self.options.batch_size):
                part = pictures[start : start + self.options.batch_size]
                batch, bad = _readable(part, self.options)
                skipped += bad
                captions |= _captions(writer, batch, self.options) if batch else {}
            return ShardResult(json.dumps([captions, skipped]).encode())

        return write


def _in_shards(
    desk: ModelWork,
    pictures: list[Picture],
    journal: Journal,
    options: WriteCaptionsOptions,
    progress: Progress,
) -> list[str]:
    """Captions into the journal, by a crew; returns what was skipped."""
    from tellapart.work.crew import ShardJob
    from tellapart.work.folder import ShardFolder

    assert desk.crew is not None
    shards = list(_shards(pictures, BATCHES * options.batch_size))
    kept = ShardFolder(desk.folder / "shards")
    task = CaptionTask(desk.source, options)
    desk.crew.do(kept, ShardJob("captions", "images", task, shards), progress)
    skipped: list[str] = []
    for shard in shards:
        captions, bad = json.loads(kept.path(shard.name).read_bytes())
        journal.known |= captions
        skipped += bad
    return skipped


def _shards(pictures: list[Picture], size: int) -> Iterator[Shard]:
    from tellapart.seeds import digest
    from tellapart.store.records import SUFFIX
    from tellapart.work.shard import Shard

    for start in range(0, len(pictures), size):
        part = tuple(pictures[start : start + size])
        what = digest("captions", [(one.id, one.image.uri, one.image.sha256) for one in part])
        yield Shard(f"{start // size:06d}-{what[:16]}{SUFFIX}", len(part), part)


def _trouble(picture: Picture) -> str:
    try:
        picture.open()
    except BadImage as error:
        return error.what
    return ""


def _is_number(image: str) -> bool:
    return image.isascii() and image.isdigit() and str(int(image)) == image


VERB = Verb(
    caption,
    example="tellapart caption hf:org/name?head=caption --on my-photos --out captions.json",
    notes=lambda done: skipped_notes(done.skipped),
    resumes=True,
)
