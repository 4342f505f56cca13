"""Writing and reading files of training pairs in the formats of other trainers.

There are three formats. A table for open_clip: `filepath,title,neg_title` (NegCLIP's columns) and,
if there are negative pictures, `neg_filepath`. Shards for webdataset: tar files with `KEY.jpg`,
`KEY.txt`, `KEY.neg.txt`, `KEY.neg.jpg` and `KEY.json`. Parquet for `datasets`, with BiVLC's
columns: image, caption, negative_caption, negative_image, with pictures inside. Reading lists the
contents; pictures are read one by one when needed.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.benchmark.image_files import ending_of
from tellapart.errors import BadInput
from tellapart.files import (
    TABLE_KINDS,
    json_of,
    read_json,
    read_table,
    suffix,
    whole_file,
    write_parquet,
)
from tellapart.items import Image
from tellapart.parquet import schema_of, try_parquet, whole_parquet
from tellapart.pictures import Picture
from tellapart.training.tuning.pairs import PairRow, TrainingPairs, make_pairs

PICTURE_ENDINGS = ("jpg", "jpeg", "png", "webp")
CAPTIONS = ("title", "caption")
FALSE_CAPTIONS = ("neg_title", "negative_caption", "neg_caption")
PICTURES = ("filepath", "image")
FALSE_PICTURES = ("neg_filepath", "negative_image", "neg_image")
FORMAT = tarfile.USTAR_FORMAT
SHARD_ROWS = 1_000
"""Rows per shard or Parquet file."""


def shards_of(path: Path) -> list[Path]:
    """The tar files at a path: one, those of a folder, or those matching a pattern with stars."""
    if path.is_dir():
        return sorted(path.glob("*.tar"))
    if path.suffix == ".tar":
        found = sorted(path.parent.glob(path.name))
        return found or [path]
    return []


def read_pair_files(path: Path) -> TrainingPairs | None:
    """The pairs in a table or in shards; None for a table of something else."""
    shards = shards_of(path)
    if shards:
        if not shards[0].exists():
            raise BadInput(
                f"there is no file {path.name}",
                where=str(path),
                allowed="shards by name or with stars: 'shards/train-*.tar'",
                todo="check the path",
            )
        return _of_shards(path, shards)
    if suffix(path) not in TABLE_KINDS:
        return None
    return _of_parquet(path) if suffix(path) == "parquet" else _of_table(path)


def _column(names: list[str], wanted: tuple[str, ...]) -> str | None:
    return next((one for one in wanted if one in names), None)


def _of_table(path: Path) -> TrainingPairs | None:
    """Rows of paths, which are relative to the table's folder."""
    table = read_table(path)
    names = table.columns
    image, title = _column(names, PICTURES[:1]), _column(names, CAPTIONS[:1])
    if image is None or title is None:
        return None
    false, other = _column(names, FALSE_CAPTIONS), _column(names, FALSE_PICTURES)
    pictures: dict[str, Picture] = {}
    rows: list[PairRow] = []

    def picture(value: object) -> str | None:
        if value is None or not str(value):
            return None
        uri = str(value)
        pictures.setdefault(uri, Picture(Image(uri, uri), path.parent))
        return uri

    for number, row in enumerate(table.iter_rows(named=True), 1):
        shown, text = picture(row[image]), row[title]
        if shown is None or not isinstance(text, str):
            raise BadInput(
                f"row {number} has no {image if shown is None else title}",
                where=str(path),
                allowed=f"a path in {image} and text in {title}",
            )
        told = (row.get(false) or None) if false else None
        rows.append(
            (shown, text, told and str(told), picture(row.get(other)) if other else None,
             str(row.get("kind") or ""), str(row.get("origin") or path.name))
        )  # fmt: skip
    return make_pairs(path.stem, rows, pictures, _about(path))


def _of_parquet(path: Path) -> TrainingPairs | None:
    """Rows with pictures inside; only texts are read now."""
    try_parquet(path, path, (), SHARD_ROWS)
    with whole_parquet(path):
        schema = schema_of(path)
        names = list(schema)
        image, title = _column(names, PICTURES), _column(names, CAPTIONS)
        if image is None or title is None or not isinstance(schema[image], pl.Binary | pl.Struct):
            return _of_table(path)
        false, other = _column(names, FALSE_CAPTIONS), _column(names, FALSE_PICTURES)
        if false is None:
            return None
        read = [n for n in (title, false, "kind", "origin", "image_id", "neg_image_id")
                if n in names]  # fmt: skip
        there = pl.col(other).is_not_null() if other else pl.lit(False)
        table = pl.scan_parquet(path).select(*read, there=there).collect()
    pictures: dict[str, Picture] = {}

    def picture(column: str, number: int, known: object) -> str:
        name = str(known or f"{path.stem}-{number}-{column}")
        uri = f"{path.name}#column={column}&row={number}"
        pictures.setdefault(name, Picture(Image(name, uri), path.parent))
        return name

    rows: list[PairRow] = [
        (picture(image, k, row.get("image_id")), row[title], row[false],
         picture(str(other), k, row.get("neg_image_id")) if row["there"] else None,
         str(row.get("kind") or ""), str(row.get("origin") or path.name))
        for k, row in enumerate(table.iter_rows(named=True))
    ]  # fmt: skip
    return make_pairs(path.stem, rows, pictures, _about(path))


def _of_shards(path: Path, shards: list[Path]) -> TrainingPairs:
    """Rows of tar files: reads their headers and texts, and the offset of each picture."""
    pictures: dict[str, Picture] = {}
    rows: list[PairRow] = []
    root = shards[0].parent
    for shard in shards:
        for key, found in _samples(shard):
            shown, title = found.get("image"), found.get("txt")
            if shown is None or title is None:
                raise BadInput(
                    f"the sample {key} has no {'picture' if shown is None else 'caption'}",
                    where=str(shard),
                    allowed="KEY.jpg (or .png, .webp) and KEY.txt",
                )
            facts = json_of(found.get("json") or "{}", f"the sample {key}", str(shard))
            if not isinstance(facts, dict):
                raise BadInput(f"the facts of the sample {key} are no object", where=str(shard))
            names = {}
            for part, known in (("image", "image_id"), ("neg.image", "neg_image_id")):
                if part in found:
                    name = names[part] = str(facts.get(known) or f"{shard.stem}/{key}.{part}")
                    uri = f"{shard.relative_to(root).as_posix()}#bytes={found[part]}"
                    pictures.setdefault(name, Picture(Image(name, uri), root))
            rows.append(
                (names["image"], title, found.get("neg.txt"), names.get("neg.image"),
                 str(facts.get("kind") or ""), str(facts.get("origin") or shard.name))
            )  # fmt: skip
    name = path.stem if path.suffix == ".tar" and len(shards) == 1 else root.name
    return make_pairs(name, rows, pictures, _about(shards[0]))


def _samples(shard: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Members that share a key: texts as text, pictures as OFFSET,SIZE."""
    try:
        with tarfile.open(shard) as archive:
            key, found = "", dict[str, str]()
            for member in archive:
                folder, slash, file = member.name.rpartition("/")
                stem, _, ending = file.partition(".")
                if not member.isfile():
                    continue
                if folder + slash + stem != key and found:
                    yield key, found
                    found = {}
                key = folder + slash + stem
                negative, last = ending.rpartition(".")[0], ending.rpartition(".")[2].lower()
                begins = f"{negative}." if negative else ""
                if last in PICTURE_ENDINGS:
                    found[f"{begins}image"] = f"{member.offset_data},{member.size}"
                elif last in ("txt", "json"):
                    read = archive.extractfile(member)
                    assert read is not None
                    found[f"{begins}{last}"] = read.read().decode("utf-8")
            if found:
                yield key, found
    except (OSError, tarfile.TarError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{shard.name} is not a complete shard: {error}",
            where=str(shard),
            allowed="an uncompressed tar file, as webdataset writes it",
        ) from None


def _about(path: Path) -> dict[str, Any]:
    """The metadata that the export wrote beside its files, if any."""
    for folder in (path.parent, path.parent.parent):
        if (folder / "pairs.json").is_file():
            told = read_json(folder / "pairs.json")
            about = told.get("about", {}) if isinstance(told, dict) else None
            if not isinstance(about, dict):
                raise BadInput(
                    "pairs.json does not say what the pairs are about",
                    where=str(folder / "pairs.json"),
                    todo="export the pairs again, or remove the file",
                )
            return about
    return {}


def write_pair_table(pairs: TrainingPairs, path: Path) -> None:
    """Write `filepath,title,neg_title` and, if there are such pictures, `neg_filepath`."""
    seen = pairs.rows["neg_image"].is_not_null().any()
    heads = ["filepath", "title", "neg_title", *(["neg_filepath"] if seen else []), "kind",
             "origin"]  # fmt: skip
    text = io.StringIO()
    written = csv.writer(text, lineterminator="\n")
    written.writerow(heads)
    for image, title, false, other, kind, origin in pairs.rows.iter_rows():
        paths = [_relative(pairs.pictures[one], path) if one else "" for one in (image, other)]
        written.writerow([paths[0], title, false or "", *paths[1 : 1 + seen], kind, origin])
    with whole_file(path) as partial:
        partial.write_text(text.getvalue(), encoding="utf-8")


def _relative(picture: Picture, path: Path) -> str:
    """The picture's path relative to the table; raises if it is inside another file."""
    if "#" in picture.image.uri and not picture.path.name.endswith(picture.image.uri):
        raise BadInput(
            f"image {picture.id} is inside another file, so a table cannot name it",
            where=picture.image.uri,
            todo="export shards or Parquet: --form webdataset, --form huggingface",
        )
    return Path(os.path.relpath(picture.path, path.parent.resolve())).as_posix()


def write_shards(pairs: TrainingPairs, folder: Path, begin: str) -> list[Path]:
    """Write tar files of `SHARD_ROWS` rows each; the same pairs give the same bytes."""
    written = []
    for number, start in enumerate(range(0, len(pairs), SHARD_ROWS)):
        path = folder / f"{begin}-{number:06d}.tar"
        with (
            whole_file(path) as partial,
            tarfile.open(partial, "w", format=tarfile.USTAR_FORMAT) as out,
        ):
            for k, row in enumerate(pairs.rows[start : start + SHARD_ROWS].iter_rows(), start):
                for name, data in _members(pairs, f"{k:08d}", row):
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    out.addfile(member, io.BytesIO(data))
        written.append(path)
    return written


def _members(pairs: TrainingPairs, key: str, row: tuple[Any, ...]) -> Iterator[tuple[str, bytes]]:
    image, title, false, other, kind, origin = row
    facts = {"image_id": image, "neg_image_id": other, "kind": kind, "origin": origin}
    shown = pairs.pictures[image].read()
    yield f"{key}.{ending_of(shown)}", shown
    yield f"{key}.txt", title.encode()
    if false is not None:
        yield f"{key}.neg.txt", false.encode()
    if other is not None:
        data = pairs.pictures[other].read()
        yield f"{key}.neg.{ending_of(data)}", data
    yield f"{key}.json", json.dumps({k: v for k, v in facts.items() if v}).encode()


def write_pair_parquet(pairs: TrainingPairs, folder: Path, begin: str) -> list[Path]:
    """Write Parquet files of `SHARD_ROWS` rows each, with pictures as in `datasets`."""
    stored = pl.Struct({"bytes": pl.Binary, "path": pl.String})
    written = []

    def cell(image: str | None) -> dict[str, Any] | None:
        if image is None:
            return None
        data = pairs.pictures[image].read()
        return {"bytes": data, "path": f"{Path(image).stem}.{ending_of(data)}"}

    count = -(-len(pairs) // SHARD_ROWS)
    for number in range(count):
        rows = pairs.rows[number * SHARD_ROWS : (number + 1) * SHARD_ROWS]
        table = rows.select(
            pl.Series("image", [cell(one) for one in rows["image"]], dtype=stored),
            caption="title",
            negative_caption="neg_title",
            kind="kind",
            origin="origin",
            image_id="image",
            neg_image_id="neg_image",
        )
        if rows["neg_image"].is_not_null().any():
            others = [cell(one) for one in rows["neg_image"]]
            table = table.with_columns(pl.Series("negative_image", others, dtype=stored))
        path = folder / f"{begin}-{number:05d}-of-{count:05d}.parquet"
        write_parquet(path, table)
        written.append(path)
    return written
