"""Items: ids, contents, and the rules that every item keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tellapart.errors import BadInput
from tellapart.items import Item, Origin, Slot, check_item, content_of
from tests.conftest import grid_item


def test_the_same_grid_in_another_order_is_the_same_content():
    one = grid_item("x", 2, 2, {(0, 0), (1, 1)}, image_ids=["a", "b"])
    other = replace(one, images=("b", "a"), true=frozenset({(1, 0), (0, 1)}))
    flipped = replace(one, captions=one.captions[::-1], true=frozenset({(0, 1), (1, 0)}))
    assert content_of(one) == content_of(other) == content_of(flipped)


def test_another_truth_is_another_content():
    one = grid_item("x", 2, 1, {(0, 0)})
    assert content_of(one) != content_of(replace(one, true=frozenset({(1, 0)})))


def test_built_items_are_named_by_content_and_imported_ones_by_their_source():
    parts = {
        "images": ("a",), "captions": ("A dog.",), "true": frozenset({(0, 0)}),
        "kind": "bison", "origin": Origin("test"),
    }  # fmt: skip
    built = Item.built("bison", **parts)
    assert built.id == f"bison-{built.content[:12]}"
    assert Item.imported("coco-bison", "17", **parts).id == "coco-bison:17"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"captions": ()}, "has no captions"),
        ({"captions": ("ok", " ")}, "caption 1 of item test:x is empty"),
        ({"captions": ("ok", 7)}, "caption 1 of item test:x is int, not text"),
        ({"true": frozenset({(3, 0)})}, r"the true cell \(3, 0\) of item test:x lies outside"),
        ({"original": (1, 0)}, "is not a true cell"),
        ({"slot": Slot(0, 0, 2, "a", "zz")}, "says that the foil is 'zz', the caption has 'ca'"),
        ({"slot": Slot(0, 0, 2, "a", "ca", candidates=("b",))}, "not among its candidates"),
    ],
)
def test_bad_items_are_named(change, message):
    with pytest.raises(BadInput, match=message):
        check_item(replace(grid_item("x", 2, 2, {(0, 0)}), **change))
