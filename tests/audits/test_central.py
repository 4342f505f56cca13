"""The guess that takes the middle of the options."""

from __future__ import annotations

import numpy as np

from tellapart.audits.central import CENTRAL
from tellapart.audits.sheet import sheet_of
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark
from tellapart.items import Image, Item, Origin
from tellapart.measures.choice import ACCURACY


def asked(options: list[tuple[str, ...]]) -> Benchmark:
    """Items whose first option is true."""
    items = [
        Item.imported(
            "test", str(k), images=(str(k),), captions=captions, true=frozenset({(0, 0)}),
            kind="mcic", origin=Origin("test"),
        )
        for k, captions in enumerate(options)
    ]  # fmt: skip
    images = [Image(str(k), f"{k}.jpg") for k in range(len(items))]
    return make_benchmark(Card("mcic"), images=images, items=items, root=None)  # type: ignore[arg-type]


def test_pitfall_4_a_caption_that_all_decoys_were_chosen_for_is_found():
    near = ("a red dog runs", "a red cat runs", "a blue dog runs", "a red dog sits")
    sheet = sheet_of(asked([near]))
    scores = CENTRAL.scores(sheet)
    assert np.argmax(scores) == 0
    run = sheet.run("middle", scores)
    assert ACCURACY.outcomes(run, "half").value.tolist() == [1.0]


def test_two_options_are_equally_near_and_each_item_is_for_itself():
    sheet = sheet_of(asked([("a dog", "a red dog"), ("two cats", "a dog and two cats")]))
    first, second, third, fourth = CENTRAL.scores(sheet)
    assert first == second and third == fourth and first != third
