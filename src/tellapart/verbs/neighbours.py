"""The verb `neighbours`: the nearest captions of every caption, past what fits into memory."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput
from tellapart.options import Gather, Help, Overwrite, Seed, ShardShare, Workers
from tellapart.types import Progress, silent
from tellapart.verbs import OutFolder, Verb

if TYPE_CHECKING:
    from tellapart.mine.neighbours.disk_index import (
        DiskSearch,
        Effort,
        Rows,
        RowShard,
        VectorFiles,
    )
    from tellapart.work.crew import Crew
    from tellapart.work.folder import ShardFolder
    from tellapart.work.shard import Shard, ShardResult

CARD, SCHEMA = "neighbours.json", "tellapart-neighbours-1"
LEAST = 1 << 30
ASIDE = 640 << 20
"""Bytes that the program itself, the index's centres and a block of queries take."""
UNITS = {"M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourOptions:
    """How neighbours are sought; the result does not depend on `memory` or on who does the work."""

    vectors: Annotated[
        str,
        Help("A file of word vectors, sentences:NAME, or a model that embeds texts."),
    ] = "storybook"
    k: Annotated[int, Help("How many neighbours of each caption.", flag="--neighbours")] = 10
    memory: Annotated[str, Help("How much memory to use at most, such as 4G (1G or more).")] = "4G"
    seed: Seed = 0
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False
    overwrite: Overwrite = False

    def bytes(self) -> int:
        """The memory in bytes."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([MGT])B?", self.memory.strip().upper())
        size = int(float(match[1]) * UNITS[match[2]]) if match else 0
        if size < LEAST:
            raise BadInput(f"memory: {self.memory!r}", allowed="1G or more, such as 4G or 1500M")
        return size


@dataclass(frozen=True, slots=True)
class MinedNeighbours:
    """A folder of neighbours: one Parquet file for each shard of captions, and a card."""

    folder: Path
    card: dict[str, Any]

    def __str__(self) -> str:
        found = self.card
        return (
            f"the {found['k']} nearest of {found['distinct']:,} distinct captions "
            f"({found['captions']:,} in all), recall {found['recall']:.3f}  ->  {self.folder}"
        )

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"neighbours": str(self.folder), **self.card}


def neighbours(
    corpus: Annotated[Path | str, Help("A corpus: a folder, a Parquet table, COCO JSON, ...")],
    out: OutFolder,
    options: NeighbourOptions = NeighbourOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> MinedNeighbours:
    """Find the nearest captions of every caption, in a corpus of any size.

    Captions with the same text count as one, in the place of the first; captions of one image are
    not neighbours. A command that was stopped resumes where it was.

    In Python: files `near-*.parquet` have the columns row, id, near (rows of the corpus, best
    first) and similarity (cosines).
    """
    from tellapart.files import resumable_folder
    from tellapart.mine.caption_rows import SHARD, TextEncoder, caption_file
    from tellapart.seeds import digest
    from tellapart.work.crew import Crew, InThisProcess
    from tellapart.work.launchers import crew_of

    memory = options.bytes()
    if not 1 <= options.k <= 1000:
        raise BadInput(f"neighbours: {options.k}", allowed="1 to 1,000")
    out, source = Path(out), Path(corpus)
    if not source.exists():
        raise BadInput(f"there is no file or folder {source.name}", where=str(source))
    crew = crew_of(options.workers, options.shard, options.gather) or Crew(InThisProcess())
    there = [path for path in (source / "captions.parquet", source) if path.is_file()]
    stamp = [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in there[:1]]
    job = digest("neighbours", stamp, options.vectors, options.k, options.seed, SHARD)
    with resumable_folder(out, job, overwrite=options.overwrite) as folder:
        work = folder / "work"
        captions = caption_file(source, work)
        encoder = TextEncoder.of(options.vectors, work / "words")
        mine = _Mine(work, crew, options, memory, progress)
        files = mine.vectors(captions, encoder)
        search, effort = mine.search(files)
        kept = mine.near(captions, files, search, effort)
        card = {
            "schema": SCHEMA,
            "captions": captions.rows,
            "distinct": files.number,
            "k": options.k,
            "vectors": encoder.about,
            "width": files.width,
            "search": {**asdict(search.shape), **asdict(effort)} if effort else "exact",
            "recall": round(mine.recall(search, effort), 4),
            "seed": options.seed,
        }
        _write(folder, captions, kept, card)
        shutil.rmtree(work)
    return MinedNeighbours(out, card)


@dataclass(frozen=True, slots=True)
class _Mine:
    """The stages, each of shards that anyone may do; what is done once is written down."""

    folder: Path
    crew: Crew
    options: NeighbourOptions
    memory: int
    progress: Progress

    def _do(self, stage: str, unit: str, task: Any, shards: list[Shard]) -> ShardFolder:
        from tellapart.work.crew import ShardJob
        from tellapart.work.folder import ShardFolder

        kept = ShardFolder(self.folder / stage)
        if not all(map(kept.has, shards)):
            about = f"{stage} (of three: vectors, codes, near)"
            self.crew.do(kept, ShardJob(about, unit, task, shards), self.progress)
        return kept

    def vectors(self, captions: Any, encoder: Any) -> VectorFiles:
        """The vectors of all captions."""
        import numpy as np

        from tellapart.mine.caption_rows import VectorTask, row_shards
        from tellapart.mine.neighbours.disk_index import VectorFiles, first_of_each_text

        shards = captions.shards()
        kept = self._do("vectors", "captions", VectorTask(captions, encoder), shards)
        width = next(iter(kept.notes(shards)))["width"]
        rows = row_shards(captions, kept.folder, width)
        path = self.folder / "first.npy"
        first = (
            np.load(path, allow_pickle=False)
            if path.exists()
            else first_of_each_text(rows, max(LEAST, self.memory) // 4)
        )
        _keep(path, first)
        return VectorFiles(rows, first, self._room(rows[0], len(first)))

    def _room(self, shard: RowShard, captions: int) -> int:
        """Bytes for mapped vectors: what the program and a mark for each caption leave."""
        aside = ASIDE + captions
        least = aside + shard.rows * (4 * shard.width + 8)
        if self.memory < least:
            raise BadInput(
                f"memory: {self.options.memory} for {captions:,} vectors of {shard.width} numbers",
                allowed=f"{-(-least // (1 << 20))}M or more",
                todo="give the command again with more --memory: what is done is kept",
            )
        return self.memory - aside

    def search(self, files: VectorFiles) -> tuple[DiskSearch, Effort | None]:
        """The index of all vectors, and how much to look at; None for everything."""
        from tellapart.files import read_json, write_json
        from tellapart.mine.neighbours.disk_index import (
            EXACT_UP_TO,
            DiskSearch,
            Effort,
            IndexShape,
            merge,
            train_index,
        )
        from tellapart.work.shard import Shard

        shape = IndexShape.of(files.number, files.width)
        if files.number <= EXACT_UP_TO:
            return DiskSearch(files, shape, self.options.k), None
        trained, done = self.folder / "trained.faiss", self.folder / "merged.json"
        if not trained.exists():
            train_index(files, shape, self.options.seed, trained)
        shards = [
            Shard(f"{number:06d}.faiss", one.rows, number)
            for number, one in enumerate(files.shards)
        ]
        if not done.exists():
            kept = self._do("codes", "captions", CodeTask(replace(files), shape, trained), shards)
            parts = [kept.path(one.name) for one in shards]
            write_json(done, merge(trained, parts, self.folder).name)
        search = DiskSearch(files, shape, self.options.k, self.folder / read_json(done))
        path = self.folder / "effort.json"
        if not path.exists():
            write_json(path, asdict(search.effort(self.options.seed)))
        return search, Effort(**read_json(path))

    def near(
        self, captions: Any, files: VectorFiles, search: DiskSearch, effort: Effort | None
    ) -> ShardFolder:
        """The neighbours of all captions that stand for their text."""
        from tellapart.work.shard import Shard

        shards = [
            Shard(f"{number:06d}.npz", one.rows, number) for number, one in enumerate(files.shards)
        ]
        task = replace(search, files=replace(files))  # nothing that is open goes to workers
        return self._do("near", "captions", NearTask(task, effort), shards)

    def recall(self, search: DiskSearch, effort: Effort | None) -> float:
        """On another sample than the effort was chosen on."""
        from tellapart.mine.neighbours.disk_index import MEASURED_ON, recall

        if effort is None:
            return 1.0
        queries = search.files.sample(MEASURED_ON, self.options.seed, "recall")
        return recall(search.nearest(queries, effort), search.exact(queries))


@dataclass(frozen=True, slots=True)
class CodeTask:
    """What workers do next: codes of the vectors of a shard."""

    files: VectorFiles
    shape: Any
    trained: Path

    def open(self) -> Callable[[int], ShardResult]:
        """Nothing needs to be loaded before the first shard."""
        from tellapart.mine.neighbours.disk_index import coded
        from tellapart.work.shard import ShardResult

        def code(number: int) -> ShardResult:
            rows = self.files.kept_rows(number)
            made = coded(self.trained, self.shape, self.files.rows(rows), rows)
            return ShardResult(made)

        return code


@dataclass(frozen=True, slots=True)
class NearTask:
    """What workers do last: the neighbours of a shard's captions."""

    search: DiskSearch
    effort: Effort | None

    def open(self) -> Callable[[int], ShardResult]:
        """The index is opened by the first search."""
        from tellapart.store.arrays import arrays_bytes
        from tellapart.work.shard import ShardResult

        def near(number: int) -> ShardResult:
            rows: Rows = self.search.files.kept_rows(number)
            found = (
                self.search.all_exact(rows)
                if self.effort is None
                else self.search.nearest(rows, self.effort)
            )
            return ShardResult(
                arrays_bytes({"row": rows, "near": found[0], "similarity": found[1]})
            )

        return near


def _keep(path: Path, array: Any) -> None:
    import numpy as np

    from tellapart.files import whole_file

    if not path.exists():
        with whole_file(path) as partial, partial.open("wb") as file:
            np.save(file, array)


def _write(folder: Path, captions: Any, kept: ShardFolder, card: dict[str, Any]) -> None:
    """A table for each shard, then the card."""
    import numpy as np
    import polars as pl

    from tellapart.files import write_json, write_parquet

    for number, shard in enumerate(captions.shards()):
        with np.load(kept.path(f"{number:06d}.npz"), allow_pickle=False) as file:
            rows, near, similar = (file[name] for name in ("row", "near", "similarity"))
        ids = captions.part(*shard.given)["id"][(rows - shard.given[0]).tolist()]
        there = near >= 0
        ends = np.cumsum(there.sum(axis=1))[:-1]
        lists = {
            "near": np.split(near[there], ends),
            "similarity": np.split(similar[there], ends),
        }
        table = pl.DataFrame(
            {"row": rows, "id": ids, **{name: list(of) for name, of in lists.items()}},
            schema_overrides={
                "near": pl.List(pl.Int64), "similarity": pl.List(pl.Float32),
            },
        )  # fmt: skip
        write_parquet(folder / f"near-{number:06d}.parquet", table)
    write_json(folder / CARD, card)


VERB = Verb(
    neighbours,
    example="tellapart neighbours captions.parquet my-neighbours --vectors glove.6B.50d.txt",
    resumes=True,
)
