"""Boxes of objects, read from files: where regions are crops of a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput
from tellapart.files import read_json
from tellapart.image_features.extract import Boxes

CENTRED, CORNER = "bbox_cxcywh_norm", "box"


def read_boxes(path: Path) -> dict[str, Boxes]:
    """The boxes of each image, as fractions of the picture: left, top, width, height.

    Either COCO's instances (`images` with sizes, `annotations` with `bbox` in pixels), or an object
    of images whose `objects` have `box` (left, top, width, height) or `bbox_cxcywh_norm` (centre
    first), both as fractions.
    """
    data = read_json(path)
    if not isinstance(data, dict):
        raise _bad(path, "it is not an object")
    found: dict[str, Boxes] = {}
    try:
        listed = _coco(data) if "annotations" in data else _by_image(data)
        for image, box in listed:
            if not all(isinstance(number, int | float) for number in box) or len(box) != 4:
                raise _bad(path, f"image {image} has the box {box!r}")
            left, top, width, height = box
            if width > 0 and height > 0:
                found.setdefault(image, []).append((left, top, width, height))
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise _bad(path, f"{type(error).__name__}: {error}") from None
    return found


def _coco(data: dict[str, Any]) -> Iterator[tuple[str, tuple[float, ...]]]:
    sizes = {one["id"]: (one["width"], one["height"]) for one in data["images"]}
    for one in data["annotations"]:
        wide, high = sizes[one["image_id"]]
        x, y, width, height = one["bbox"]
        yield str(one["image_id"]), (x / wide, y / high, width / wide, height / high)


def _by_image(data: dict[str, Any]) -> Iterator[tuple[str, tuple[float, ...]]]:
    for image, what in data.items():
        for one in what["objects"]:
            if CORNER in one:
                yield image, tuple(one[CORNER])
            else:
                x, y, width, height = one[CENTRED]
                yield image, (x - width / 2, y - height / 2, width, height)


def _bad(path: Path, why: str) -> BadInput:
    return BadInput(
        f"{path.name} is not a file of boxes: {why}",
        where=str(path),
        allowed="COCO's instances, or for each image a list `objects` whose members have `box`: "
        "left, top, width, height as fractions of the picture",
    )
