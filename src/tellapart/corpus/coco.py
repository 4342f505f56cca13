"""COCO captions and objects, and finding picture files under the names of COCO's releases."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.corpus.reader import ReadOptions, file_head, name_of, picture_folder
from tellapart.errors import BadInput, Problems
from tellapart.files import can_be_written, read_json, suffix
from tellapart.remote import names_below

USUAL_PREFIXES = ("", "COCO_val2014_", "COCO_train2014_")
"""Prefixes before the image id in the names of COCO's picture files, by release."""
LONGEST_ID = 18
"""Maximum number of digits in an image id; COCO's have six."""
COCO_NAME = re.compile(r"(?:COCO_(?:train|val|test)20\d\d_)?(\d{12})\.jpg", re.IGNORECASE)
SPLIT_PREFIX = re.compile(r"(?:COCO_)?(?:train|val|test)\d{4}_")
PICTURE_SUFFIX = re.compile(r"\.(jpe?g|png|webp|gif|bmp|tiff?)$", re.IGNORECASE)
LARGEST_SIDE = 2**31 - 1
OBJECT_FORMS = (
    'COCO instances, {"images": [...], "annotations": [...], "categories": [...]}; '
    '{image id: [category, ...]}; {image id: {"objects": [{"category": category}, ...]}}'
)


class CocoReader:
    """Reads COCO captions, plain or gzipped."""

    about = 'COCO captions: a JSON object with "images" and "annotations" (.json)'

    def fits(self, path: Path) -> bool:
        """Whether this is a JSON object that starts with COCO's keys."""
        if suffix(path) != "json" or not path.is_file():
            return False
        start = file_head(path).lstrip()
        return start.startswith("{") and ('"annotations"' in start or '"images"' in start)

    def read(self, path: Path, options: ReadOptions) -> Corpus:
        """Read a captions file; pictures are searched for in `options.images`."""
        problems = Problems(skip=options.skip_bad)
        data = read_json(path)
        images = _CocoRows(data, "images", ("id", "file_name"), path)
        annotations = _CocoRows(data, "annotations", ("id", "image_id", "caption"), path)
        root = picture_folder(path, options)
        listed = listing(root) if options.images else {}
        corpus = make_corpus(
            name_of(path),
            root,
            [_image_row(row, where, listed) for where, row in images.good(problems)],
            (_caption_row(row, where) for where, row in annotations.good(problems)),
            problems=problems,
            about={"format": "coco", "file": path.name},
        )
        return with_objects(corpus, options.objects)


def _image_row(row: Mapping[str, Any], where: str, listed: Mapping[str, str]) -> dict[str, Any]:
    file_name, image_id = row["file_name"], str(row["id"])
    return {
        "id": image_id,
        "uri": find(file_name, image_id, listed) or file_name,
        "width": row.get("width") or None,
        "height": row.get("height") or None,
        "where": where,
    }


def _caption_row(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "image": str(row["image_id"]),
        "text": row["caption"],
        "where": where,
    }


class _CocoRows:
    """One list of a COCO file; its rows are checked for required keys."""

    def __init__(self, data: object, name: str, keys: tuple[str, ...], path: Path) -> None:
        rows = data.get(name) if isinstance(data, dict) else None
        if not isinstance(rows, list):
            if not isinstance(data, dict):
                problem = f"{path.name} contains {_kind(data)}, not an object"
            elif name not in data:
                present = ", ".join(list(data)[:8]) or "none"
                problem = f'{path.name} has no "{name}"; its keys are: {present}'
            else:
                problem = f'"{name}" in {path.name} is {_kind(rows)}, not a list'
            allowed = f'a JSON object with a list "{name}"'
            raise BadInput(problem, where=str(path), allowed=allowed)
        self.name, self.keys, self.path, self.rows = name, keys, path, rows

    def good(self, problems: Problems) -> Iterator[tuple[str, dict[str, Any]]]:
        """The valid rows with their locations; invalid ones are added to the problems."""
        for number, row in enumerate(self.rows, 1):
            where = f"{self.path}, {self.name}, row {number}"
            problem = self._problem(row, number)
            if problem is None:
                yield where, row
            else:
                problem.where = where
                problems.add(problem)

    def _problem(self, row: object, number: int) -> BadInput | None:
        title = f'row {number} of "{self.name}"'
        keys = ", ".join(f'"{key}"' for key in self.keys)
        if not isinstance(row, dict):
            return BadInput(
                f"{title} is {_kind(row)}, not an object", allowed=f"an object with {keys}"
            )
        for key in self.keys:
            if key not in row:
                return BadInput(f'{title} has no "{key}"', allowed=f"an object with {keys}")
            if key.endswith("id") and type(row[key]) not in (int, str):
                allowed = "a whole number or text"
                return BadInput(f'"{key}" in {title} is {_kind(row[key])}', allowed=allowed)
        if not isinstance(row.get("file_name", ""), str):
            return BadInput(f'"file_name" in {title} is {_kind(row["file_name"])}', allowed="text")
        for key in ("width", "height"):
            side = row.get(key)
            if side is not None and not (type(side) is int and 0 <= side <= LARGEST_SIDE):
                return BadInput(f'"{key}" in {title} is {side!r}', allowed="a number of pixels")
        return None


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value"}
    return names.get(type(value), f"the number {value}")


def with_objects(corpus: Corpus, file: Path | None) -> Corpus:
    """The corpus with the objects listed in a file; images not in the file are unchanged."""
    if file is None:
        return corpus
    named = read_objects(file)
    ids = corpus.images["id"]
    if not any(image_id in named for image_id in ids):
        raise BadInput(
            f"{file.name} lists none of the images of {corpus.name}",
            where=str(file),
            allowed=f"image ids of the corpus, such as {ids[0]!r}",
            todo="check that the two files belong together",
        )
    lists = [
        named.get(image_id, known)
        for image_id, known in corpus.images.select("id", "objects").iter_rows()
    ]
    column = pl.Series("objects", lists, dtype=pl.List(pl.String))
    return replace(corpus, images=corpus.images.with_columns(column))


def read_objects(file: Path) -> dict[str, list[str]]:
    """The distinct objects in each image, sorted, by image id; see `OBJECT_FORMS`."""
    data = read_json(file)
    if not isinstance(data, dict):
        raise BadInput(
            f"{file.name} contains {_kind(data)}, not an object",
            where=str(file),
            allowed=OBJECT_FORMS,
        )
    if isinstance(data.get("annotations"), list) or "categories" in data:
        return _instances(data, file)
    return {image_id: _names(listed, image_id, file) for image_id, listed in data.items()}


def _names(listed: object, image_id: str, file: Path) -> list[str]:
    inner = listed.get("objects") if isinstance(listed, dict) else listed
    if isinstance(inner, list):
        names: list[Any] = [
            part.get("category") if isinstance(part, dict) else part for part in inner
        ]
        if all(isinstance(name, str) and can_be_written(name) for name in names):
            return sorted(set(names))
    raise BadInput(
        f"the objects of image {image_id} in {file.name} are not a list of names",
        where=f"{file}, key {image_id}",
        allowed=OBJECT_FORMS,
    )


def _instances(data: dict[str, Any], file: Path) -> dict[str, list[str]]:
    problems = Problems()
    categories = _CocoRows(data, "categories", ("id", "name"), file).good(problems)
    names = {row["id"]: _category(row["name"], where) for where, row in categories}
    # An image that is listed but has no annotations shows none of the categories.
    listed = _CocoRows(data, "images", ("id",), file).good(problems) if "images" in data else ()
    shown: dict[str, set[str]] = {str(row["id"]): set() for _, row in listed}
    for where, row in _CocoRows(data, "annotations", ("image_id", "category_id"), file).good(
        problems
    ):
        if row["category_id"] in names:
            shown.setdefault(str(row["image_id"]), set()).add(names[row["category_id"]])
        else:
            what = f"the category {row['category_id']!r} is not among the categories"
            problems.add(BadInput(what, where=where, allowed="ids that are listed"))
    if len(problems):
        raise next(iter(problems))
    return {image_id: sorted(categories) for image_id, categories in shown.items()}


def _category(name: object, where: str) -> str:
    if isinstance(name, str) and can_be_written(name):
        return name
    raise BadInput(f"the name of a category is {name!a:.60}", where=where, allowed="text")


def listing(folder: Path) -> dict[str, str]:
    """The paths of the files in a folder and its direct subfolders, by file name and by path."""
    there = names_below(folder)
    if there is not None:
        near = sorted(
            (one for one in there if one.count("/") < 2), key=lambda one: ("/" in one, one)
        )
        return {one.rpartition("/")[2]: one for one in reversed(near)} | {one: one for one in near}
    inside = sorted(os.scandir(folder), key=lambda entry: entry.name)
    places = {entry.name: entry.name for entry in inside if not entry.is_dir()}
    for subfolder in (entry for entry in inside if entry.is_dir()):
        for name in sorted(entry.name for entry in os.scandir(subfolder)):
            path = f"{subfolder.name}/{name}"
            places[path] = path
            places.setdefault(name, path)
    return places


def coco_id(file_name: str) -> str | None:
    """The COCO image id in one of COCO's usual file names; None for other names.

    >>> coco_id("val2014/COCO_val2014_000000000139.jpg"), coco_id("000000000139.jpg"), coco_id("a")
    ('139', '139', None)
    """
    match = COCO_NAME.fullmatch(file_name.rpartition("/")[2])
    return str(int(match.group(1))) if match else None


def plain_id(image_id: str) -> str:
    """An image's id without folder, ending, split name and leading zeros.

    COCO's numbers are unique across all splits, so `COCO_val2014_000000000139.jpg`,
    `000000000139.jpg` and `139` are the same image.

    >>> plain_id("val2014/COCO_val2014_000000000139.jpg"), plain_id("139"), plain_id("a/dog_01.png")
    ('139', '139', 'dog_01')
    """
    name = PICTURE_SUFFIX.sub("", image_id.rpartition("/")[2])
    name = SPLIT_PREFIX.sub("", name)
    return (name.lstrip("0") or "0") if name.isdecimal() else name


def usual_names(file_name: str, image_id: str) -> Iterable[str]:
    """Possible names of an image's file: the source's, and COCO's usual ones."""
    yield file_name
    yield file_name.rpartition("/")[2]
    if image_id.isdecimal() and len(image_id) <= LONGEST_ID:
        number = int(image_id)
        for prefix in USUAL_PREFIXES:
            yield f"{prefix}{number:012d}.jpg"
        yield f"{number}.jpg"


def find(file_name: str, image_id: str, listed: Mapping[str, str]) -> str | None:
    """The path of an image's file in a `listing`; None if it is not there."""
    return next((listed[name] for name in usual_names(file_name, image_id) if name in listed), None)


READER = CocoReader()
