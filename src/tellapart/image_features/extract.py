"""Computing the features of a corpus block by block, so that a killed job can resume."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadImage
from tellapart.files import read_json, resumable_folder, write_json
from tellapart.image_features.backbones import Backbone, backbone_of, check_grid
from tellapart.image_features.store import (
    HALF,
    INDEX_COLUMNS,
    REGIONS,
    WHOLE,
    FeatureCard,
    FeatureSpace,
    FeatureStore,
    load_store,
    write_store,
)
from tellapart.pictures import Picture
from tellapart.store.arrays import arrays_bytes
from tellapart.types import Floats32, Progress, silent
from tellapart.work.crew import Crew, ShardJob
from tellapart.work.folder import ShardFolder
from tellapart.work.shard import Shard, ShardResult

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

BATCH = 32
BLOCK = 8 * BATCH
"""Images per block; progress is saved after each block, and a block is never split."""
STATE, ROWS, SHARDS = "state.json", "rows.jsonl", "shards"

Boxes = list[tuple[float, float, float, float]]
"""Left, top, width, height of some regions as fractions of the picture."""


@dataclass(frozen=True, slots=True)
class FeaturePlan:
    """What to compute: cells per side of the grid, and boxes for the images that have some."""

    cells: int = 4
    boxes: dict[str, Boxes] = field(default_factory=dict)
    most_boxes: int = 36

    @property
    def layout(self) -> str:
        """The kind of regions, in words."""
        grid = f"cells {self.cells}x{self.cells}"
        return f"boxes, else {grid}" if self.boxes else grid

    @property
    def most(self) -> int:
        """The most regions that an image may have."""
        longest = max((len(boxes) for boxes in self.boxes.values()), default=0)
        return max(self.cells**2, min(longest, self.most_boxes))


@dataclass(frozen=True, slots=True)
class _Seen:
    """A picture after reading: its pixels, or why there are none."""

    sha256: str
    look: int
    pixels: PILImage | None
    error: BadImage | None = None


def extract(
    corpus: Corpus,
    out: Path,
    backbone: Backbone,
    plan: FeaturePlan = FeaturePlan(),  # noqa: B008 (frozen)
    *,
    skip_bad: bool = False,
    overwrite: bool = False,
    crew: Crew | None = None,
    progress: Progress = silent,
) -> FeatureStore:
    """Compute and write the features of all images of a corpus, in its order.

    A `crew` computes blocks elsewhere, each with a backbone that it loads by name.
    """
    images = corpus.images["id"].to_list()
    facts = backbone.facts
    space = FeatureSpace(
        facts.name, facts.weights, facts.preprocessing, plan.layout, facts.whole_width,
        facts.region_width, plan.most,
    )  # fmt: skip
    uris = corpus.images.select("id", "uri", "sha256").rows()
    job = seeds.digest("features", space.key, sorted(plan.boxes.items()), uris, skip_bad)
    todo = FeatureTask(facts.name, plan, skip_bad)
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        pictures = [corpus.picture(image) for image in images]
        shards = list(_shards(pictures))
        kept = ShardFolder(folder / SHARDS)
        if crew is not None:
            crew.do(kept, ShardJob(f"features of {corpus.name}", "images", todo, shards), progress)
        with _Work.opened(folder) as work, BlockMaker(todo, backbone) as make:
            for shard in shards[work.done // BLOCK :]:
                if crew is not None:
                    block = FeatureBlock.read(kept.path(shard.name))
                else:
                    block = make(shard.given)
                work.add(block, shard.size)
                progress("features", work.done, len(images))
        index = work.index()
        skipped = tuple(work.skipped)
        regions = int(index["regions"].sum())
        write_store(folder, FeatureCard(corpus.name, index.height, regions, space, skipped), index)
        for name in (STATE, ROWS):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(kept.folder, ignore_errors=True)
    return load_store(out)


def _shards(pictures: Sequence[Picture]) -> Iterator[Shard]:
    """Blocks of pictures, each named by its position and its inputs."""
    for begin in range(0, len(pictures), BLOCK):
        part = tuple(pictures[begin : begin + BLOCK])
        what = [(one.id, one.image.uri, one.image.sha256) for one in part]
        name = f"{begin // BLOCK:07d}-{seeds.digest('block', what)[:16]}.npz"
        yield Shard(name, len(part), part)


@dataclass(frozen=True, slots=True)
class FeatureBlock:
    """The features of a block: half-precision rows as bytes, facts about each image, bad images.

    Facts are the image's id, hash and perceptual hash, the number of its regions, and their boxes.
    """

    whole: bytes
    regions: bytes
    facts: tuple[tuple[str, str, int, int, list[float]], ...]
    skipped: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """As a file."""
        about = json.dumps([self.facts, self.skipped]).encode()
        parts = {"whole": self.whole, "regions": self.regions, "about": about}
        return arrays_bytes({name: np.frombuffer(data, np.uint8) for name, data in parts.items()})

    @classmethod
    def read(cls, path: Path) -> FeatureBlock:
        """From a file."""
        with np.load(path, allow_pickle=False) as file:
            whole, regions, about = (file[name].tobytes() for name in ("whole", "regions", "about"))
        facts, skipped = json.loads(about)
        return cls(whole, regions, tuple(tuple(one) for one in facts), tuple(skipped))


@dataclass(frozen=True, slots=True)
class FeatureTask:
    """The task of workers: a backbone by name, regions, and what to do about bad pictures."""

    backbone: str
    plan: FeaturePlan
    skip_bad: bool

    def open(self) -> Callable[[Sequence[Picture]], ShardResult]:
        """Load the backbone."""
        make = BlockMaker(self, backbone_of(self.backbone))
        return lambda pictures: ShardResult(make(pictures).to_bytes())


class BlockMaker:
    """Computes blocks; the next batch of pictures is read while one is processed."""

    def __init__(self, task: FeatureTask, backbone: Backbone) -> None:
        self.task, self.backbone = task, backbone
        self._pool = ThreadPoolExecutor(2)

    def __call__(self, pictures: Sequence[Picture]) -> FeatureBlock:
        """The features of some pictures."""
        whole, regions = bytearray(), bytearray()
        facts: list[tuple[str, str, int, int, list[float]]] = []
        skipped: list[str] = []
        batches = [pictures[k : k + BATCH] for k in range(0, len(pictures), BATCH)]
        waiting = [self._pool.submit(_read, picture) for picture in batches[0]]
        for number, batch in enumerate(batches):
            seen = [one.result() for one in waiting]
            if number + 1 < len(batches):
                waiting = [self._pool.submit(_read, picture) for picture in batches[number + 1]]
            bad = [one.error for one in seen if one.error is not None]
            if bad and not self.task.skip_bad:
                raise bad[0]
            skipped += [error.what for error in bad]
            good = [(p, s) for p, s in zip(batch, seen, strict=True) if s.pixels is not None]
            if good:
                described = self._described([p.id for p, _ in good], [s for _, s in good])
                whole += described.whole
                regions += described.regions
                facts += described.facts
        return FeatureBlock(bytes(whole), bytes(regions), tuple(facts), tuple(skipped))

    def _described(self, ids: list[str], seen: list[_Seen]) -> FeatureBlock:
        plan, backbone = self.task.plan, self.backbone
        whole, maps = backbone.describe([one.pixels for one in seen if one.pixels is not None])
        check_grid(plan.cells, maps.shape[1])
        cells = grid_cells(maps, plan.cells)
        regions, facts = bytearray(), []
        for k, image in enumerate(ids):
            boxes = plan.boxes.get(image, [])[: plan.most_boxes]
            rows = _crops(seen[k], boxes, backbone) if boxes else cells[k]
            regions += np.asarray(rows, HALF).tobytes()
            flat = [number for box in boxes for number in box]
            facts.append((image, seen[k].sha256, seen[k].look, len(rows), flat))
        return FeatureBlock(np.asarray(whole, HALF).tobytes(), bytes(regions), tuple(facts))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)


class _Work:
    """Growing files, and the record of how much of them is valid."""

    def __init__(self, folder: Path, state: dict[str, Any]) -> None:
        self.folder = folder
        self.done: int = state["done"]
        self.regions: int = state["regions"]
        self.skipped: list[str] = state["skipped"]
        self.files = {name: _cut(folder / name, state[name]) for name in (WHOLE, REGIONS, ROWS)}

    @classmethod
    def opened(cls, folder: Path) -> _Work:
        """The unfinished work, or new work."""
        new: dict[str, Any] = {"done": 0, "regions": 0, "skipped": []}
        new |= {WHOLE: 0, REGIONS: 0, ROWS: 0}
        path = folder / STATE
        return cls(folder, read_json(path) if path.exists() else new)

    def add(self, block: FeatureBlock, pictures: int) -> None:
        """Write a block, and record that it is done."""
        self.files[WHOLE].write(block.whole)
        self.files[REGIONS].write(block.regions)
        for image, sha256, look, regions, boxes in block.facts:
            row = (image, sha256, look, self.regions, regions, boxes)
            self.files[ROWS].write(json.dumps(row).encode() + b"\n")
            self.regions += regions
        self.skipped += block.skipped
        self.done += pictures
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())
        sizes = {name: file.tell() for name, file in self.files.items()}
        state = {"done": self.done, "regions": self.regions, "skipped": self.skipped, **sizes}
        write_json(self.folder / STATE, state)

    def index(self) -> pl.DataFrame:
        """One row for each finished image."""
        rows = [json.loads(line) for line in (self.folder / ROWS).read_bytes().splitlines()]
        return pl.DataFrame(rows, schema=INDEX_COLUMNS, orient="row")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for file in self.files.values():
            with suppress(OSError):  # a full disk was reported already, and valid data is synced
                file.close()


def _cut(path: Path, size: int) -> Any:
    """A file to append to, truncated to its valid part."""
    path.touch()
    os.truncate(path, size)
    file = path.open("ab")
    file.seek(0, io.SEEK_END)
    return file


def _read(picture: Picture) -> _Seen:
    try:
        data = picture.read()
        pixels = picture.open()
    except BadImage as error:
        return _Seen("", 0, None, error)
    return _Seen(hashlib.sha256(data).hexdigest(), look_of(pixels), pixels)


def look_of(pixels: PILImage) -> int:
    """A 64-bit perceptual hash of a picture; similar pictures differ in few bits.

    Each bit says whether a cell of 8 x 8 is darker than the one to its right (the difference hash
    of Krawetz 2013, "Kind of Like That").
    """
    from PIL import Image

    grey = np.asarray(pixels.convert("L").resize((9, 8), Image.Resampling.BOX), np.int16)
    return int.from_bytes(np.packbits(grey[:, 1:] > grey[:, :-1]).tobytes(), "big")


def grid_cells(maps: Floats32, cells: int) -> Floats32:
    """Means of the cells of maps (n, h, w, d): shape (n, cells * cells, d), row by row.

    Cells overlap by a row or column if the map cannot be divided evenly, as in torch's adaptive
    average pooling.
    """
    rows, columns = (_shares(size, cells) for size in maps.shape[1:3])
    pooled = np.einsum("ah,nhwd->nawd", rows, maps, optimize=True)
    pooled = np.einsum("bw,nawd->nabd", columns, pooled, optimize=True)
    return np.asarray(pooled.reshape(len(maps), cells * cells, -1), np.float32)


def _shares(size: int, cells: int) -> Floats32:
    shares = np.zeros((cells, size), np.float32)
    for cell in range(cells):
        begin, end = cell * size // cells, -(-(cell + 1) * size // cells)
        shares[cell, begin:end] = 1 / (end - begin)
    return shares


def _crops(seen: _Seen, boxes: Boxes, backbone: Backbone) -> Floats32:
    """The vectors of boxes in a picture, the means of their maps; a box has at least one pixel."""
    assert seen.pixels is not None
    width, height = seen.pixels.size
    parts = []
    for left, top, wide, high in boxes:
        x = max(0, min(int(left * width), width - 1))
        y = max(0, min(int(top * height), height - 1))
        right = min(width, max(x + 1, round((left + wide) * width)))
        bottom = min(height, max(y + 1, round((top + high) * height)))
        parts.append(seen.pixels.crop((x, y, right, bottom)))
    return np.asarray(backbone.describe(parts)[1].mean(axis=(1, 2)), np.float32)
