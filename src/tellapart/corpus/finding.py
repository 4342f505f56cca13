"""Finding picture files in a folder, COCO's under each of the names that its releases use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

USUAL_NAMES = ("{:012d}.jpg", "COCO_val2014_{:012d}.jpg", "COCO_train2014_{:012d}.jpg")
"""What COCO's picture files are called, by image id, in its releases."""

LONGEST_ID = 18
"""Digits of an image id; COCO's have six."""

COCO_NAME = re.compile(r"(?:COCO_(?:train|val|test)20\d\d_)?(\d{12})\.jpg", re.IGNORECASE)


def listing(folder: Path) -> dict[str, str]:
    """Where each file of a folder and of its subfolders lies, by its name and by its path."""
    found: dict[str, str] = {}
    inside = sorted(os.scandir(folder), key=lambda entry: entry.name)
    found.update((entry.name, entry.name) for entry in inside if not entry.is_dir())
    for subfolder in (entry for entry in inside if entry.is_dir()):
        for name in sorted(entry.name for entry in os.scandir(subfolder)):
            path = f"{subfolder.name}/{name}"
            found[path] = path
            found.setdefault(name, path)
    return found


def coco_id(file_name: str) -> str | None:
    """The id of the COCO picture that a file name is one of the usual names of.

    >>> coco_id("val2014/COCO_val2014_000000000139.jpg"), coco_id("000000000139.jpg"), coco_id("a")
    ('139', '139', None)
    """
    match = COCO_NAME.fullmatch(file_name.rpartition("/")[2])
    return str(int(match.group(1))) if match else None


def usual_names(file_name: str, image_id: str) -> Iterable[str]:
    """What the file of an image may be called: as its source has it, or as COCO does."""
    yield file_name
    yield file_name.rpartition("/")[2]
    if image_id.isdecimal() and len(image_id) <= LONGEST_ID:
        number = int(image_id)
        yield from (name.format(number) for name in (*USUAL_NAMES, "{}.jpg"))


def find(file_name: str, image_id: str, found: Mapping[str, str]) -> str | None:
    """Where the file of an image lies in a `listing`; None where it is not there."""
    return next((found[name] for name in usual_names(file_name, image_id) if name in found), None)
