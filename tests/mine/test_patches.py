"""Patches painted over elsewhere, so that paint does not tell which picture lacks a thing."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tellapart.corpus.categories import coco_categories
from tellapart.mine.photos.geometry import area, grown, overlap
from tellapart.mine.photos.names import object_names
from tellapart.mine.photos.pairs import Photo, added, counted
from tellapart.mine.photos.patches import detail_of, free_patches, patch_like, plainest_patch

NAMES = object_names(coco_categories())
DOG = (0.1, 0.4, 0.2, 0.3)
EVEN = np.ones((30, 40))


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
    assert "no room for a patch elsewhere" in why


def test_the_patch_has_about_as_much_detail_as_the_thing():
    detail = np.zeros((40, 40))
    detail[:, :20] = 1  # the left half, with the thing
    detail[:10, 20:] = 3
    detail[30:, 20:] = 1
    thing = (0.05, 0.4, 0.2, 0.2)
    for lot in (0.0, 0.3, 0.6, 0.99):
        patch = patch_like(thing, [(0.0, 0.0, 0.5, 1.0)], [], detail, lot)
        assert patch is not None
        seen = _sum(detail, grown(patch))
        assert seen == pytest.approx(_sum(detail, grown(thing)), rel=0.1)


def _sum(detail, box) -> float:
    """The slow way: every block, by the share of it within the box."""
    rows, columns = detail.shape
    return sum(
        detail[i, j] * overlap(box, (j / columns, i / rows, 1 / columns, 1 / rows)) * rows * columns
        for i in range(rows)
        for j in range(columns)
    )


def test_places_without_any_thing_come_first():
    rest = [("sports ball", (0.4 + k / 10, 0.0, 0.1, 0.6)) for k in range(6)]
    for lot in np.linspace(0, 1, 9):
        patch = patch_like((0.0, 0.0, 0.2, 0.3), [], rest, EVEN, lot)
        assert patch is not None
        assert all(overlap(grown(patch), box) == 0 for _, box in rest)


def half_plain() -> np.ndarray:
    """Detail everywhere but on the right."""
    detail = np.ones((40, 40))
    detail[:, 26:] = 0
    return detail


def test_the_plainest_place_is_found():
    patch = plainest_patch(DOG, [], [], half_plain())
    assert patch is not None and grown(patch)[0] >= 26 / 40
    assert plainest_patch((0.0, 0.0, 0.9, 0.9), [], [], half_plain()) is None


def test_beside_peoples_captions_the_patch_is_where_nothing_can_be_named():
    own = ["A dog on grass.", "A dog and grass.", "Green grass with a bin in the sun."]
    for captions, plain in ((own, True), (["A dog and a cat.", "A cat."], False)):
        boxes = [("dog", DOG), ("cat", (0.1, 0.0, 0.3, 0.3))]
        (pair,) = [
            one
            for one in added(Photo("7", captions, boxes, NAMES, half_plain), 0, set())
            if one.about == ("dog",)
        ]
        assert (grown(pair.edits[0].erase[0])[0] >= 26 / 40) == plain


def test_lots_draw_among_patches_that_are_alike():
    drawn = {patch_like(DOG, [], [], EVEN, lot) for lot in np.linspace(0, 1, 9)}
    assert len(drawn) > 3 and None not in drawn


def test_detail_is_what_jpeg_would_have_to_keep():
    flat, noise = Image.new("L", (64, 48), 90), Image.effect_noise((64, 48), 80)
    assert detail_of(flat).shape == (6, 8) and not detail_of(flat).any()
    assert (detail_of(noise) > 20).all()
    half = flat.copy()
    half.paste(noise.crop((0, 0, 32, 48)), (32, 0))
    assert not detail_of(half)[:, :4].any() and detail_of(half)[:, 4:].all()


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
