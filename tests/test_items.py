"""Items: ids, contents, and the rules that every item keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.items import Grid, Item, Origin, Slot, check_item, content_of, drawn_order
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
        ({"true": frozenset({(3, 0)})}, r"the true cell \(3, 0\) of item test:x is outside"),
        ({"original": (1, 0)}, "is not a true cell"),
        ({"slot": Slot(0, 0, 2, "a", "zz")}, "has the foil 'zz', but the caption has 'ca'"),
        ({"slot": Slot(0, 0, 2, "a", "ca", candidates=("b",))}, "not among its candidates"),
    ],
)
def test_bad_items_are_named(change, message):
    with pytest.raises(BadInput, match=message):
        check_item(replace(grid_item("x", 2, 2, {(0, 0)}), **change))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_the_true_option_stays_true_wherever_the_order_puts_it(order):
    images = Grid.image_choice(("target", "x", "y"), ("A dog.", "A dog runs."), order)
    assert {images.images[i] for i, _ in images.true} == {"target"}
    assert {j for _, j in images.true} == {0, 1} and images.original in images.true
    captions = Grid.caption_choice("1", ("x", "true", "y"), order, right=1)
    assert [captions.captions[j] for _, j in captions.true] == ["true"]
    slot = Slot(2, 0, 1, "x", "y")
    foil = Grid.caption_choice("1", ("x", "true", "y"), order, right=1, slot=slot)
    assert foil.slot is not None and foil.captions[foil.slot.caption] == "y"


@pytest.mark.parametrize("across", [(0, 1), (1, 0)])
@pytest.mark.parametrize("down", [(0, 1), (1, 0)])
def test_a_square_keeps_its_pairs_together(across, down):
    grid = Grid.square(("a", "b"), ("of a", "of b"), across, down)
    pairs = {(grid.images[i], grid.captions[j]) for i, j in grid.true}
    assert pairs == {("a", "of a"), ("b", "of b")}
    i, j = grid.original
    assert (grid.images[i], grid.captions[j]) == ("a", "of a")
    assert Grid.square(("a", "b"), ("x", "y"), across, down, original=False).original is None


def test_two_options_are_put_into_both_orders():
    orders = {drawn_order(seeds.rng(0, "coin", k)) for k in range(20)}
    assert orders == {(0, 1), (1, 0)}
