"""The campaign on hard negatives: another hand says the same; all of it in small."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from soak.hard_negatives import (
    HANDS,
    Cell,
    NegativesPlan,
    by_another,
    campaign,
    first_image,
    table_text,
)
from tests.models.small import one_thread
from tests.training.small_pairs import near_misses

from tellapart.corpus.world.grammar import understand


def test_another_hand_says_the_same_of_the_false_caption_alone(tmp_path):
    bench = near_misses(tmp_path, 21)
    other = 0
    for item in bench:
        changed = by_another(item)
        place = item.original[1]
        assert changed.captions[place] == item.captions[place] and changed.true == item.true
        both = [understand(one.captions[1 - place]) for one in (item, changed)]
        assert both[0] == both[1]
        other += changed.captions != item.captions
        asked = first_image(changed)
        assert asked.images == (item.images[item.original[0]],) and asked.true == {(0, place)}
    assert other > len(bench) / 2


def test_a_cell_has_the_difference_of_each_seed_beside_the_interval():
    cell = Cell(52.0, 1.0, -0.5, 2.5, (3.0, -1.0))
    assert str(cell) == "52.0 (+1.0 [-0.5, +2.5]; seeds +3.0 -1.0)"
    assert cell.to_json() == [52.0, 1.0, -0.5, 2.5, 3.0, -1.0]


@pytest.mark.campaign
def test_every_model_has_every_figure_by_both_hands(tmp_path):
    plan = NegativesPlan(
        seeds=1, base=30, pairs=20, items=12, base_changes=("epochs=1", "batch=16"), batch=4,
        epochs=1, learned=True,
    )  # fmt: skip
    with one_thread():
        found = campaign(plan, tmp_path)
    for hand in HANDS:
        assert set(found[hand]) == {"base", "plain", "texts", "images"}
        assert found[hand]["plain"]["Group"].difference == 0
        assert "Tpos2I of trained pairs" in found[hand]["images"]
        assert "Ineg2T" in table_text(found[hand])
