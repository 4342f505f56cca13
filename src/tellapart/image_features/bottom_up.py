"""Features computed by others: files of bottom-up attention (Anderson et al. 2018).

Three formats are read: the authors' TSV (base64 of float32, six columns), a folder with one `.npz`
or `.npy` file per image (common in captioning code), and HDF5 (`features`, `image_bb`, `pos_boxes`,
`image_id`, or one group per image). The result is a store like any other; its regions are the
file's, and the vector of the whole is their mean.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import struct
import sys
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadImage, BadInput, need
from tellapart.files import resumable_folder
from tellapart.image_features.extract import look_of
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
from tellapart.types import Floats32, Progress, silent

TSV = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
LAYOUT = "regions of a file"
HIGHEST = float(np.finfo(HALF).max)
NO_ARRAYS = (
    ValueError, TypeError, LookupError, ArithmeticError, OSError, RuntimeError, EOFError,
    MemoryError, SyntaxError, AttributeError, Warning, zipfile.BadZipFile, zlib.error, struct.error,
    tokenize.TokenError,
)  # fmt: skip
"""What NumPy and h5py raise for damaged files."""


@dataclass(frozen=True, slots=True)
class FileRegions:
    """The regions of one image: vectors (r, d), and corner boxes (r, 4) as fractions, if any."""

    image: str
    rows: Floats32
    boxes: Floats32


def read_regions(path: Path) -> Iterator[FileRegions]:
    """The images in a file or folder, one by one."""
    kind = path.suffix.lower()
    if path.is_dir():
        yield from _folder(path)
    elif kind == ".tsv":
        yield from _tsv(path)
    elif kind in (".h5", ".hdf5"):
        yield from _hdf5(path)
    else:
        raise BadInput(
            f"{path.name} is not a file of region features",
            where=str(path),
            allowed="a .tsv of bottom-up attention, an .h5 or .hdf5 file, or a folder of .npz or "
            ".npy files",
        )


def import_regions(
    corpus: Corpus,
    source: Path,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress = silent,
) -> FeatureStore:
    """Make a store for a corpus's images from a file; available pictures are hashed."""
    wanted = {_plain(image): image for image in corpus.images["id"]}
    job = seeds.digest("import", str(source), source.stat().st_size, corpus.images["id"].to_list())
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        rows: list[tuple[Any, ...]] = []
        first, width, most = 0, 0, 0
        with (folder / WHOLE).open("wb") as whole, (folder / REGIONS).open("wb") as regions:
            for one in read_regions(source):
                image = wanted.pop(_plain(one.image), None)
                if image is None:
                    continue
                _check(one, width, source)
                width, most = one.rows.shape[1], max(most, len(one.rows))
                whole.write(one.rows.mean(axis=0).astype(HALF).tobytes())
                regions.write(one.rows.astype(HALF).tobytes())
                boxes = one.boxes.reshape(-1).astype(float).tolist()
                rows.append((image, *_hashes(corpus, image), first, len(one.rows), boxes))
                first += len(one.rows)
                progress("features", len(rows), len(corpus))
        if wanted:
            raise BadInput(
                f"the file has no features for {len(wanted):,} images, such as "
                f"{next(iter(wanted.values()))}",
                where=str(source),
                allowed=f"features for all {len(corpus):,} images of {corpus.name}",
                todo="make a corpus of the images it has: tellapart corpus OUT CORPUS --ids FILE",
            )
        space = FeatureSpace(f"file:{source.name}", "", "", LAYOUT, width, width, most)
        index = pl.DataFrame(rows, schema=INDEX_COLUMNS, orient="row")
        write_store(folder, FeatureCard(corpus.name, len(rows), first, space), index)
    return load_store(out)


def _plain(image: str) -> str:
    """An id as files of features write it: without leading zeros or extension."""
    stem = image.rpartition("/")[2]
    stem = stem.rpartition(".")[0] or stem
    stem = stem.removeprefix("COCO_val2014_").removeprefix("COCO_train2014_")
    return stem.lstrip("0") or "0"


def _hashes(corpus: Corpus, image: str) -> tuple[str, int]:
    picture = corpus.picture(image)
    try:
        data = picture.read()
        return hashlib.sha256(data).hexdigest(), look_of(picture.open())
    except BadImage:  # the picture is not needed, since its features are known
        return picture.image.sha256 or seeds.digest("no picture", corpus.name, image), 0


def _check(one: FileRegions, width: int, source: Path) -> None:
    if one.rows.ndim != 2 or not one.rows.size or (width and one.rows.shape[1] != width):
        raise BadInput(
            f"image {one.image} has features of shape {one.rows.shape}",
            where=str(source),
            allowed=f"(regions, {width or 'numbers'})",
        )
    if not (np.isfinite(one.rows).all() and np.isfinite(one.boxes).all()):
        raise BadInput(f"image {one.image} has features that are not numbers", where=str(source))
    if np.abs(one.rows).max() > HIGHEST:
        raise BadInput(
            f"image {one.image} has features up to {np.abs(one.rows).max():g}",
            where=str(source),
            allowed=f"at most {HIGHEST:,.0f}, since features are stored in half precision",
        )


def _tsv(path: Path) -> Iterator[FileRegions]:
    csv.field_size_limit(sys.maxsize)
    with path.open(newline="", encoding="utf-8") as file:
        for number, fields in enumerate(_lines(file, path), 1):
            where = f"{path}, row {number}"
            if len(fields) != len(TSV):
                raise BadInput(
                    f"row {number} of {path.name} has {len(fields)} columns",
                    where=where,
                    allowed=", ".join(TSV),
                )
            row = dict(zip(TSV, fields, strict=True))
            try:
                count = int(row["num_boxes"])
                if count < 1:
                    raise ValueError(f"num_boxes is {count}")
                boxes = _decoded(row["boxes"]).reshape(count, 4)
                rows = _decoded(row["features"]).reshape(count, -1)
                size = np.array([float(row["image_w"]), float(row["image_h"])] * 2, np.float32)
                if not (size > 0).all():
                    raise ValueError(f"the picture's size is {row['image_w']} x {row['image_h']}")
            except (ValueError, binascii.Error) as error:
                raise BadInput(
                    f"row {number} of {path.name} is damaged: {error}", where=where
                ) from None
            yield FileRegions(row["image_id"], rows, np.asarray(boxes / size, np.float32))


def _lines(file: TextIO, path: Path) -> Iterator[list[str]]:
    """The rows of a table, cut into columns."""
    try:
        yield from csv.reader(file, delimiter="\t")
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadInput(
            f"{path.name} is not a table of region features: {error}", where=str(path)
        ) from None


def _decoded(text: str) -> Floats32:
    return np.frombuffer(base64.b64decode(text, validate=True), np.float32)


def _folder(path: Path) -> Iterator[FileRegions]:
    for file in sorted([*path.glob("*.npz"), *path.glob("*.npy")]):
        try:
            yield _of_arrays(file)
        except NO_ARRAYS as error:
            raise BadInput(
                f"{file.name} is not a complete array: {error}", where=str(file)
            ) from None


def _of_arrays(file: Path) -> FileRegions:
    """The regions in one file of arrays."""
    with warnings.catch_warnings(), file.open("rb") as opened:
        warnings.simplefilter("ignore")  # of headers that Python 2 wrote
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        loaded = np.load(opened, allow_pickle=False)
        named = {"feat": loaded} if file.suffix == ".npy" else dict(loaded)
        key = next((k for k in ("feat", "features", "x", "arr_0") if k in named), None)
        if key is None:
            raise BadInput(
                f"{file.name} has no features", where=str(file), allowed="feat, features, x, arr_0"
            )
        boxes = np.asarray(named.get("norm_bbox", np.empty((0, 4))), np.float32)
        rows = np.asarray(named[key], np.float32)
        return FileRegions(file.stem, rows.reshape(-1, rows.shape[-1]), boxes)


def _hdf5(path: Path) -> Iterator[FileRegions]:
    h5py = need("h5py", "h5", "reading HDF5")
    try:
        with h5py.File(path, "r") as file:
            if "pos_boxes" in file:
                ids = np.asarray(file["image_id"]).tolist()
                for image, (begin, end) in zip(ids, np.asarray(file["pos_boxes"]), strict=True):
                    rows = np.asarray(file["features"][begin:end], np.float32)
                    yield FileRegions(str(image), rows, np.empty((0, 4), np.float32))
                return
            for image, held in file.items():
                grouped = isinstance(held, h5py.Group)
                found = np.asarray(held["features"] if grouped else held, np.float32)
                found = found.reshape(-1, found.shape[-1])
                yield FileRegions(str(image), found, np.empty((0, 4), np.float32))
    except NO_ARRAYS as error:
        raise BadInput(
            f"{path.name} is not a complete HDF5 file: {error}", where=str(path)
        ) from None
