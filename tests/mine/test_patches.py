"""Patches painted over elsewhere, so that paint does not tell which picture lacks a thing."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tellapart.corpus.categories import coco_categories
from tellapart.makers import photo as maker
from tellapart.mine.photos.geometry import area, grown, overlap
from tellapart.mine.photos.names import object_names
from tellapart.mine.photos.pairs import Photo, added, counted
from tellapart.mine.photos.patches import (
    PLAIN,
    brightness_of,
    deviation,
    free_patches,
    plainest_patch,
)

NAMES = object_names(coco_categories())
DOG = (0.1, 0.4, 0.2, 0.3)
EVEN = np.ones((30, 40, 2))


def test_a_patch_is_as_large_as_the_thing_and_apart_from_it():
    patches = free_patches(DOG, [], [])
    assert patches
    for patch in patches:
        assert patch[2:] == DOG[2:]
        assert overlap(grown(patch), grown(DOG)) == pytest.approx(0)


def test_a_patch_takes_nothing_along_that_a_caption_names():
    cat = (0.5, 0.1, 0.4, 0.6)
    for patch in free_patches(DOG, [cat], []):
        assert overlap(grown(patch), cat) <= 0.1 * area(cat) + 1e-9


def test_a_patch_leaves_no_half_of_anything_and_covers_few_people():
    ball, man = (0.6, 0.5, 0.1, 0.1), (0.7, 0.1, 0.2, 0.8)
    for patch in free_patches(DOG, [], [("sports ball", ball), ("person", man)]):
        share = overlap(grown(patch), ball) / area(ball)
        assert share <= 0.1 + 1e-9 or share >= 0.9 - 1e-9
        assert overlap(grown(patch), man) <= 0.3 * area(grown(patch)) + 1e-9


def test_a_patch_of_another_shape_is_taken_if_none_has_the_things_own():
    tall = (0.0, 0.0, 0.2, 0.6)
    fence = [(k / 10, 0.55, 0.1, 0.45) for k in range(10)]
    patches = free_patches(tall, fence, [])
    assert patches
    for patch in patches:
        assert patch[3] < 0.6 and area(patch) == pytest.approx(area(tall))


def test_where_no_room_is_there_is_no_pair():
    dog, everywhere = ("dog", (0.1, 0.2, 0.2, 0.6)), ("cat", (0.32, 0.0, 0.68, 1.0))
    captions = ["A dog and a cat.", "A dog on grass.", "A cat on grass."]
    why: set[str] = set()
    assert list(added(Photo("7", captions, [dog, everywhere], NAMES), 0, why)) == []
    assert "no plain place for a patch elsewhere" in why


def test_places_without_any_thing_come_first():
    rest = [("sports ball", (0.4 + k / 10, 0.0, 0.1, 0.6)) for k in range(6)]
    brightness = checked(0.0, 0.0, 1.0, 0.3, lower=False)  # plainer where the balls are
    patch = plainest_patch((0.0, 0.0, 0.2, 0.3), [], rest, brightness)
    assert patch is not None
    assert all(overlap(grown(patch), box) == 0 for _, box in rest)


def picture(
    left: float, top: float, right: float, bottom: float, contrast: int = 60
) -> Image.Image:
    """Grey, with stripes outside of a plain part."""
    grey = np.full((320, 400), 128, np.uint8)
    grey[:, ::2] += np.uint8(contrast)
    grey[int(320 * top) : int(320 * bottom), int(400 * left) : int(400 * right)] = 90
    return Image.fromarray(grey)


def checked(*plain: float, lower: bool = True) -> np.ndarray:
    return brightness_of(picture(*plain, contrast=100 if lower else 60))


def test_the_plainest_place_is_found():
    patch = plainest_patch(DOG, [], [], checked(0.65, 0.0, 1.0, 1.0))
    assert patch is not None and grown(patch)[0] >= 0.65
    assert plainest_patch((0.0, 0.0, 0.9, 0.9), [], [], EVEN) is None


def test_where_no_place_is_plain_there_is_no_patch():
    assert plainest_patch(DOG, [], [], checked(0.65, 0.0, 0.8, 0.2)) is None
    assert plainest_patch(DOG, [], [], brightness_of(picture(0.65, 0.0, 0.8, 0.2, 60))) is not None


def test_the_deviation_of_a_box_is_that_of_its_pixels():
    noise = Image.effect_noise((400, 320), 90)
    noise.paste(20, (0, 0, 200, 320))
    brightness, box = brightness_of(noise), (0.22, 0.22, 0.26, 0.36)  # grown: whole blocks
    left, top, width, height = grown(box)
    pixels = np.asarray(noise.crop((
        round(400 * left), round(320 * top), round(400 * (left + width)),
        round(320 * (top + height)),
    )), float)  # fmt: skip
    assert deviation(brightness, box) == pytest.approx(pixels.std(), rel=1e-6)
    assert deviation(brightness, (0.1, 0.1, 0.2, 0.2)) == pytest.approx(0, abs=1e-4)
    assert 0 < deviation(EVEN * [128, 128**2 + PLAIN**2], DOG) == pytest.approx(PLAIN)


def test_a_thing_goes_from_a_larger_hole_if_nothing_else_goes_along():
    captions = ["A dog on grass.", "A dog and grass.", "Green grass in the sun."]
    for cat, larger in (((0.32, 0.1, 0.05, 0.3), False), ((0.6, 0.1, 0.3, 0.3), True)):
        boxes = [("dog", DOG), ("cat", cat)]
        near = Photo("7", [*captions, "A cat."], boxes, NAMES)
        pairs = [one for one in added(near, 0, set()) if one.about == ("dog",)]
        assert [one.edits[1].growth > 0 for one in pairs] == [larger]


def test_the_plainest_paint_is_kept(monkeypatch):
    """A stand-in for the network: it leaves a remnant unless the hole is larger."""
    from tellapart.makers import migan

    def fill(source, hole):
        wide = np.asarray(hole).mean() > 255 * 0.4
        return Image.new("RGB", source.size, "grey") if wide else source

    monkeypatch.setattr(migan, "fill", fill)
    source = picture(0, 0, 0, 0).convert("RGB")
    box = (0.25, 0.25, 0.5, 0.5)
    assert maker.erase(source, [box], [0.02]) == source
    assert maker.erase(source, [box], [0.02, 0.1]) == Image.new("RGB", source.size, "grey")
    plain, busy = Image.new("RGB", source.size, "grey"), source
    monkeypatch.setattr(
        migan, "fill", lambda _, hole: busy if np.asarray(hole).mean() > 255 * 0.4 else plain
    )
    assert maker.erase(source, [box], [0.02, 0.1]) == plain


@pytest.mark.parametrize(
    ("rule", "captions", "boxes"),
    [
        (counted, ["Two dogs run."], [DOG, (0.6, 0.4, 0.2, 0.2)]),
        (added, ["A dog on grass.", "A dog and grass.", "Green grass in the sun."], [DOG]),
    ],
)
def test_both_pictures_have_paint_and_the_fuller_pair_is_the_original(rule, captions, boxes):
    (pair,) = rule(Photo("7", captions, [("dog", box) for box in boxes], NAMES), 0, set())
    (patch,), (gone,) = (edit.erase for edit in pair.edits)
    assert gone in boxes and area(patch) == pytest.approx(area(gone))
    assert all(overlap(grown(patch), box) <= 0.1 * area(box) for box in boxes)
    assert pair.original == (0, 0)
