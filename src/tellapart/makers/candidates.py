"""Candidates: pictures that a maker makes one by one, each saved as soon as it is made.

A folder holds `images/KEY.png` (or `.jpg`) for each picture and `refused/KEY.json` for each
refusal. Each file is written whole, so that a killed job resumes with the first missing picture;
since a picture depends on its request alone, the outcome is the same bytes.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tellapart.errors import BadInput, DiskFull, TellapartError
from tellapart.files import read_json, whole_file, write_json
from tellapart.items import Image
from tellapart.makers.maker import ImageMaker, ImageRequest, MadeImage, MakerFailed, Preparing
from tellapart.types import Progress, silent

IMAGES, REFUSED = "images", "refused"
SUFFIXES = ("png", "jpg")
WRITERS = 4


@dataclass(frozen=True)
class Candidates:
    """The results of some requests, by their keys: images, or the reason of a refusal."""

    images: dict[str, Image]
    refused: dict[str, str]


def make_candidates(
    maker: ImageMaker, requests: Sequence[ImageRequest], folder: Path, progress: Progress = silent
) -> Candidates:
    """Make the pictures that are not in the folder yet, and return all of them.

    If the maker fails, the error says how many pictures were made.
    """
    (folder / IMAGES).mkdir(parents=True, exist_ok=True)
    (folder / REFUSED).mkdir(exist_ok=True)
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
