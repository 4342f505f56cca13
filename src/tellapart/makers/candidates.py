"""Candidates: pictures that a maker makes one by one, each saved as soon as it is made.

A folder holds `images/KEY.png` (or `.jpg`) for each picture and `refused/KEY.json` for each
refusal. Each file is written whole, so that a killed job resumes with the first missing picture;
since a picture depends on its request alone, the outcome is the same bytes, also where a crew makes
them in shards (`shards/`).
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput, DiskFull, TellapartError
from tellapart.files import read_json, whole_file, write_json
from tellapart.items import Image
from tellapart.makers.maker import (
    ImageMaker,
    ImageRequest,
    MadeImage,
    MakerFailed,
    Preparing,
    load_maker,
)
from tellapart.seeds import digest
from tellapart.types import Progress, silent
from tellapart.work.crew import Crew, ShardJob
from tellapart.work.folder import ShardFolder
from tellapart.work.shard import Shard, ShardResult
from tellapart.work.stages import no_shards

IMAGES, REFUSED, SHARDS = "images", "refused", "shards"
SUFFIXES = ("png", "jpg")
WRITERS = 4
BATCHES = 8
"""Batches of a shard."""


@dataclass(frozen=True)
class Candidates:
    """The results of some requests, by their keys: images, or the reason of a refusal."""

    images: dict[str, Image]
    refused: dict[str, str]


def make_candidates(
    maker: ImageMaker,
    requests: Sequence[ImageRequest],
    folder: Path,
    progress: Progress = silent,
    source: MakerCrew | None = None,
) -> Candidates:
    """Make the pictures that are not in the folder yet, and return all of them.

    If the maker fails, the error says how many pictures were made. A crew makes all of them.
    """
    (folder / IMAGES).mkdir(parents=True, exist_ok=True)
    (folder / REFUSED).mkdir(exist_ok=True)
    if source is not None:
        _make_in_shards(source, maker, requests, folder, progress)
    there = _existing_keys(folder)
    missing = [one for one in requests if one.key not in there]
    done = len(requests) - len(missing)
    if missing and isinstance(maker, Preparing):
        maker.prepare(requests)
    with ThreadPoolExecutor(WRITERS) as writers:
        for start in range(0, len(missing), maker.batch):
            batch = missing[start : start + maker.batch]
            try:
                made = maker.make(batch)
            except (BadInput, DiskFull):
                raise
            except TellapartError as error:
                raise _broken_off(error, done, len(requests)) from error
            _check_number(maker, batch, made)
            jobs = [
                writers.submit(_write, folder, one.key, result)
                for one, result in zip(batch, made, strict=True)
            ]
            for job in jobs:
                job.result()
            done += len(batch)
            progress("images", done, len(requests))
    return _gathered(folder, (one.key for one in requests))


@dataclass(frozen=True, slots=True)
class MakerCrew:
    """Who makes the pictures, and the maker's name, by which each worker loads it."""

    crew: Crew
    maker: str


@dataclass(frozen=True, slots=True)
class MakeTask:
    """What workers do: the pictures of some requests."""

    maker: str

    def open(self) -> Callable[[Sequence[ImageRequest]], ShardResult]:
        """Load the maker."""
        maker = load_maker(self.maker)

        def make(requests: Sequence[ImageRequest]) -> ShardResult:
            every: list[MadeImage] = []
            for start in range(0, len(requests), maker.batch):
                batch = requests[start : start + maker.batch]
                made = maker.make(batch)
                _check_number(maker, batch, made)
                every += made
            heads = [[one.key, made.suffix, made.refused, len(made.data)]
                     for one, made in zip(requests, every, strict=True)]  # fmt: skip
            head = json.dumps(heads).encode()
            return ShardResult(b"".join([head, b"\n", *(made.data for made in every)]))

        return make


def _make_in_shards(
    by: MakerCrew,
    maker: ImageMaker,
    requests: Sequence[ImageRequest],
    folder: Path,
    progress: Progress,
) -> None:
    """Have a crew make all pictures, and write them where they belong."""
    if isinstance(maker, Preparing):
        raise no_shards(f"the work of {maker.facts.name}", "a maker that makes each by itself")
    kept = ShardFolder(folder / SHARDS)
    shards = list(_shards(requests, BATCHES * maker.batch))
    by.crew.do(kept, ShardJob("pictures", "images", MakeTask(by.maker), shards), progress)
    there = _existing_keys(folder)
    for shard in shards:
        heads, _, data = kept.path(shard.name).read_bytes().partition(b"\n")
        for key, suffix, refused, size in json.loads(heads):
            if key not in there:
                _write(folder, key, MadeImage(data[:size], suffix, refused))
            data = data[size:]
    shutil.rmtree(folder / SHARDS)


def _shards(requests: Sequence[ImageRequest], size: int) -> Iterator[Shard]:
    for start in range(0, len(requests), size):
        part = tuple(requests[start : start + size])
        what = digest("pictures", [_facts(one) for one in part])
        yield Shard(f"{start // size:06d}-{what[:16]}.pictures", len(part), part)


def _facts(request: ImageRequest) -> list[Any]:
    """All that a picture depends on, as values for hashing."""
    source, edit = request.source, request.edit
    image = [source.image.uri, source.image.sha256] if source else None
    return [request.key, request.caption, request.seed, image, edit.facts() if edit else None]


def _check_number(
    maker: ImageMaker, batch: Sequence[ImageRequest], made: Sequence[MadeImage]
) -> None:
    if len(made) != len(batch):
        raise MakerFailed(
            f"{maker.facts.name} returned {len(made)} pictures for {len(batch)} requests",
            todo="fix the maker: it must return one picture or refusal per request, in order",
        )


def _broken_off(error: TellapartError, done: int, total: int) -> MakerFailed:
    kept = f"run the same command again: the {done:,} of {total:,} pictures made so far are kept"
    todo = f"{error.todo}; then {kept}" if error.todo else kept
    return MakerFailed(error.what, where=error.where, allowed=error.allowed, todo=todo)


def _write(folder: Path, key: str, made: MadeImage) -> None:
    if made.refused:
        write_json(folder / REFUSED / f"{key}.json", {"refused": made.refused})
        return
    with whole_file(folder / IMAGES / f"{key}.{made.suffix}") as partial:
        partial.write_bytes(made.data)


def _existing_keys(folder: Path) -> set[str]:
    files = [*(folder / IMAGES).iterdir(), *(folder / REFUSED).iterdir()]
    return {path.stem for path in files if not path.name.startswith(".")}


def _gathered(folder: Path, keys: Iterable[str]) -> Candidates:
    images: dict[str, Image] = {}
    refused: dict[str, str] = {}
    for key in keys:
        path = next((p for s in SUFFIXES if (p := folder / IMAGES / f"{key}.{s}").is_file()), None)
        if path is None:
            refused[key] = str(read_json(folder / REFUSED / f"{key}.json")["refused"])
        else:
            images[key] = _image(key, path)
    return Candidates(images, refused)


def _image(key: str, path: Path) -> Image:
    from PIL import Image as Pillow

    data = path.read_bytes()
    with Pillow.open(io.BytesIO(data)) as picture:
        width, height = picture.size
    sha256 = hashlib.sha256(data).hexdigest()
    return Image(key, f"{IMAGES}/{path.name}", sha256, width, height)
