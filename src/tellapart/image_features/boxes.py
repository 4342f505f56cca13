"""Boxes of objects, read from files, for regions that are crops of a picture."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput
from tellapart.files import can_be_written, read_json
from tellapart.image_features.extract import Boxes

CENTRED, CORNER = "bbox_cxcywh_norm", "box"
FAR = 1e6
"""Boxes begin and end within so many widths or heights of their picture."""
LabelledBox = tuple[str, tuple[float, float, float, float]]
"""The category of a box (empty if unknown), and its left, top, width and height."""


def read_boxes(path: Path) -> dict[str, Boxes]:
    """The boxes of each image, as fractions of the picture: left, top, width, height.

    Either COCO's instances (`images` with sizes, `annotations` with `bbox` in pixels), or an object
    of images whose `objects` have `box` (left, top, width, height) or `bbox_cxcywh_norm` (centre
    first), both as fractions.
    """
    found: dict[str, Boxes] = {}
    for image, listed in read_labelled_boxes(path).items():
        found[image] = [box for _, box in listed]
    return found


def read_labelled_boxes(path: Path) -> dict[str, list[LabelledBox]]:
    """The boxes of each image with their categories; see `read_boxes`."""
    data = read_json(path)
    if not isinstance(data, dict):
        raise _bad(path, "it is not an object")
    found: dict[str, list[LabelledBox]] = {}
    try:
        listed = _coco(data) if "annotations" in data else _by_image(data)
        for image, category, box in listed:
            if not can_be_written(image, category):
                raise _bad(path, f"image {image!a} has a name that is not Unicode")
            if len(box) != 4 or not all(map(_is_share, box)):
                raise _bad(path, f"image {image} has the box {reprlib.repr(box)}")
            left, top, width, height = map(float, box)
            if width > 0 and height > 0:
                found.setdefault(image, []).append((category, (left, top, width, height)))
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise _bad(path, f"{type(error).__name__}: {error}") from None
    return found


def _is_share(number: object) -> bool:
    """Whether something can be a share of a picture: a number, even if it leads out of it."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return abs(number) < FAR


def _coco(data: dict[str, Any]) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    sizes = {one["id"]: (one["width"], one["height"]) for one in data["images"]}
    names = {one["id"]: str(one["name"]) for one in data.get("categories", ())}
    for one in data["annotations"]:
        wide, high = sizes[one["image_id"]]
        x, y, width, height = one["bbox"]
        box = (x / wide, y / high, width / wide, height / high)
        yield str(one["image_id"]), names.get(one.get("category_id"), ""), box


def _by_image(data: dict[str, Any]) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    for image, what in data.items():
        for one in what["objects"]:
            category = str(one.get("category", ""))
            if CORNER in one:
                yield image, category, tuple(one[CORNER])
            else:
                x, y, width, height = one[CENTRED]
                yield image, category, (x - width / 2, y - height / 2, width, height)


def _bad(path: Path, why: str) -> BadInput:
    return BadInput(
        f"{path.name} is not a file of boxes: {why}",
        where=str(path),
        allowed="COCO's instances, or for each image a list `objects` whose members have `box`: "
        "left, top, width, height as fractions of the picture",
    )
