"""Importers on the published files themselves: the counts that their papers give."""

from __future__ import annotations

import time

import pytest

from tellapart.benchmark.benchmark import card_json
from tellapart.benchmark.published.options import GetOptions
from tellapart.mine.foil.items import PAPER
from tellapart.questions import Ask, questions
from tellapart.verbs.benchmarks.get import get
from tellapart.verbs.benchmarks.validate import validate


@pytest.fixture
def fetched(real_data, tmp_path):
    def fetch(name, file, **options):
        images = real_data / "coco" / "images"
        return get(name, [real_data / file], tmp_path / name, GetOptions(images=images, **options))

    return fetch


def test_coco_bison(fetched):
    begin = time.process_time()
    benchmark = fetched("bison", "bison/bison_annotations.cocoval2014.json.gz")
    assert time.process_time() - begin < 10
    card = card_json(benchmark)
    assert card["counts"] == {
        "items": 54_253, "images": 38_680, "captions": 45_218, "groups": 7_317,
        "kinds": {"bison": 54_253},
    }  # fmt: skip
    assert card["made"]["items_with_images"] == 734
    assert card["made"]["duplicates"]["items"] == 0


def test_sugarcrepe(fetched):
    card = card_json(fetched("sugarcrepe", "sugarcrepe"))
    assert card["counts"]["items"] == 7_511 and card["counts"]["images"] == 1_560
    assert card["counts"]["kinds"] == {
        "add-attribute": 692, "add-object": 2_062, "replace-attribute": 788,
        "replace-object": 1_652, "replace-relation": 1_406, "swap-attribute": 666,
        "swap-object": 245,
    }  # fmt: skip
    assert card["made"]["duplicates"]["of"] == {
        "sugarcrepe:replace_obj/469": "sugarcrepe:add_obj/434",
        "sugarcrepe:replace_obj/748": "sugarcrepe:replace_att/369",
        "sugarcrepe:replace_rel/482": "sugarcrepe:replace_att/327",
        "sugarcrepe:swap_obj/62": "sugarcrepe:swap_att/281",
        "sugarcrepe:swap_obj/143": "sugarcrepe:swap_att/479",
        "sugarcrepe:swap_obj/188": "sugarcrepe:swap_att/575",
    }
    assert card["made"]["items_with_images"] == 7_081
    assert all(file["as_published"] for file in card["made"]["files"])


def test_sugarcrepe_with_images_and_without_duplicates(fetched):
    benchmark = fetched("sugarcrepe", "sugarcrepe", only_with_images=True, drop_duplicates=True)
    places = [min(item.true)[1] for item in benchmark.items]
    assert 7_070 < len(benchmark.items) < 7_081
    assert 0.48 < sum(places) / len(places) < 0.52
    assert all(benchmark.picture(image).path.is_file() for image in benchmark.images)


def test_mcic_dev_is_shuffled(fetched):
    benchmark = fetched("mcic", "mcic/mc_mscoco_dev.txt.gz")
    assert len(benchmark.items) == 9_999 and len(benchmark.images) == 2_384
    places = [min(item.true)[1] for item in benchmark.items]
    assert all(0.18 < places.count(k) / 9_999 < 0.22 for k in range(5))
    in_source = [int(item.origin.notes["source_reference"]) for item in benchmark.items]
    assert in_source.count(0) / 9_999 < 0.175  # sorted alphabetically, the first is seldom true
    kept = fetched("mcic", "mcic/mc_mscoco_dev.txt.gz", keep_order=True, overwrite=True)
    assert [min(item.true)[1] for item in kept.items] == in_source


def test_foil_of_valse(fetched):
    benchmark = fetched("foil", "foil/valse_foil_it.json")
    assert len(benchmark.items) == 1_000 and benchmark.card.made["items_with_images"] == 108
    assert all("votes" in item.origin.notes and item.slot for item in benchmark.items)
    assert benchmark.card.made["foils_whose_word_was_not_found"] == 0
    # Shekhar et al. 2017, Table 2: a chance of 23.25 among nouns and 15.87 among content words.
    asked = [q for item in benchmark for q in questions(item, frozenset({Ask.NOUN}))]
    assert len(asked) == 998
    assert sum(1 / len(q.options) for q in asked) / len(asked) == pytest.approx(0.2868, abs=0.01)
    assert {item.kind for item in benchmark} == set(PAPER)
    assert "943 of the 1,000" in benchmark.card.verified
    assert validate(benchmark, look=False).good


def test_valse(fetched):
    assert len(fetched("valse", "foil/valse_foil_it.json").items) == 943
