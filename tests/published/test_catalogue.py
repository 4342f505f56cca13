"""Every benchmark of the catalogue, on a made file of the layout that its source documents."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart import registry
from tellapart.benchmark.published.catalogue import FOLDER, layouts
from tellapart.benchmark.source_order import source_order
from tellapart.cli.main import app
from tellapart.verbs.runs.measure import measure

PAIR = {"caption": "A dog.", "negative_caption": "A cat."}
BOX = {"image_id": 7, "x": 1, "y": 2, "width": 30, "height": 40}
SVO = {
    "sentence": "A girl walks.", "pos_triplet": "girl,walk,grass", "neg_triplet": "boy,walk,grass",
    "pos_url": "http://a.b/1.jpg", "neg_url": "http://a.b/2.jpg", "pos_image_id": 11,
    "neg_image_id": 12, "subj_neg": True, "verb_neg": False, "obj_neg": False,
}  # fmt: skip
NATURAL = {
    "Index": 0, "Image_0": "a.jpg", "Image_1": "b.jpg", "Question_0": "Is it wet?",
    "Question_1": "Is it dry?", "Image_0_Question_0": "Yes", "Image_1_Question_0": "No",
    "Image_0_Question_1": "No", "Image_1_Question_1": "Yes", "Question_Type": "yes_no",
    "Source": "Flickr30K",
}  # fmt: skip
WINO = {"id": 5, "image_0": "ex_5_img_0", "image_1": "ex_5_img_1", "caption_0": "a b",
        "caption_1": "b a", "tag": "Swap", "collapsed_tag": "Object"}  # fmt: skip
ARO = {"image_path": "7.jpg", "bbox_x": 0, "bbox_y": 0, "bbox_w": 8, "bbox_h": 9,
       "true_caption": "a on b", "false_caption": "b on a", "relation_name": "on"}  # fmt: skip
VALSE = {"image_file": "7.jpg", "caption": "A dog.", "foil": "A cat.",
         "linguistic_phenomena": "existence",
         "mturk": {"caption": 3, "foil": 0, "other": 0}}  # fmt: skip
COLA = ["https://x.y/vg_gqa_images/1.jpg", "red cup", "https://x.y/vg_gqa_images/2.jpg", "blue cup"]

# name: the file, what it holds, and for each item its id, kind, images, captions and true cells in
# the source's order
MADE: dict[str, tuple[str, Any, list[tuple[str, str, list[str], list[str], set]]]] = {
    "sugarcrepe-pp": (
        "swap_att.json",
        [{"id": 3, "filename": "000000000139.jpg", **PAIR, "caption2": "There is a dog."}],
        [("swap_att/3", "swap-attribute", ["139"], ["A dog.", "There is a dog.", "A cat."],
          {(0, 0), (0, 1)})],
    ),
    "vl-checklist": (
        "vg/color.json",
        [["VG_100K/1.jpg", {"POS": ["red car", "a car"], "NEG": ["blue car"]}]],
        [("vg-color/0", "color", ["VG_100K/1.jpg"], ["red car", "blue car"], {(0, 0)})],
    ),
    "svo-probes": (
        "svo_probes.csv", [SVO],
        [("0", "subject", ["11", "12"], ["A girl walks."], {(0, 0)})],
    ),
    "eqben": (
        "ann.json",
        {"v1": {"man": [{"image0": "eqbenag/1.jpg", "image1": "eqbenag/2.jpg",
                         "caption0": ["A man sits.", "He sits."], "caption1": ["A man runs."]}]}},
        [("ann/0", "eqbenag", ["eqbenag/1.jpg", "eqbenag/2.jpg"], ["A man sits.", "A man runs."],
          {(0, 0), (1, 1)})],
    ),
    "colorswap": (
        "test.json",
        [{"id": 0, "caption_1": "a red cat, a blue dog", "caption_2": "a blue cat, a red dog",
          "image_1": "images/img_0_1.png", "image_2": "images/img_0_2.png",
          "image_source": "midjourney", "caption_source": "human"}],
        [("test/0", "colour-swap", ["images/img_0_1.png", "images/img_0_2.png"],
          ["a red cat, a blue dog", "a blue cat, a red dog"], {(0, 0), (1, 1)})],
    ),
    "crepe": (
        "syst_vg_hard_negs_seen_compounds_in_cc12m.csv",
        [{**BOX, "caption": "red cup", "valid_hard_negs_atom": "['blue cup', \"cup's red\"]",
          "valid_hard_negs_comp": "[]"}],
        [("syst_vg_hard_negs_seen_compounds_in_cc12m/0/atom", "systematicity-atom",
          ["7.jpg#crop=1,2,30,40"], ["red cup", "blue cup", "cup's red"], {(0, 0)})],
    ),
    "whats-up": (
        "controlled_images_dataset.json",
        [{"image_path": "data/controlled_images/a.jpg", "caption_options": ["on", "under", "left",
                                                                           "right"]}],
        [("controlled_images_dataset/0", "controlled-images-dataset",
          ["data/controlled_images/a.jpg"], ["on", "under", "left", "right"], {(0, 0)})],
    ),
    "naturalbench": (
        "train.parquet", [NATURAL, {**NATURAL, "Index": 1, "Question_Type": "multiple_choice"}],
        [("0", "yes-no", ["a.jpg", "b.jpg"], ["Is it wet? Yes.", "Is it dry? Yes."],
          {(0, 0), (1, 1)})],
    ),
    "mmvp-vlm": (
        "Questions.csv",
        [{"Question ID": 1, "Type": "State and Condition", "Statement": "an open door"},
         {"Question ID": 2, "Type": "State and Condition", "Statement": "a shut door"}],
        [("1-2", "state-and-condition", ["State and Condition/1.jpg", "State and Condition/2.jpg"],
          ["a photo of an open door", "a photo of a shut door"], {(0, 0), (1, 1)})],
    ),
    "negbench": (
        "COCO_val_mcq_llama3.1_rephrased.csv",
        [{"image_path": "data/coco/000000000139.jpg", "caption_0": "No cat.", "caption_1": "A cat.",
          "caption_2": "A dog and no cat.", "caption_3": "A bus.", "correct_answer": 2,
          "correct_answer_template": "hybrid"}],
        [("COCO_val_mcq_llama3.1_rephrased/0", "hybrid", ["139"],
          ["No cat.", "A cat.", "A dog and no cat.", "A bus."], {(0, 2)})],
    ),
    "cola": (
        "COLA_multiobjects_matching_benchmark.json", [COLA],
        [("0", "multi-objects", [COLA[0], COLA[2]], ["red cup", "blue cup"], {(0, 0), (1, 1)})],
    ),
    "winoground": (
        "examples.jsonl", [WINO],
        [("5", "object", ["ex_5_img_0", "ex_5_img_1"], ["a b", "b a"], {(0, 0), (1, 1)})],
    ),
    "aro": (
        "visual_genome_relation.json", [ARO],
        [("relation/0", "aro-relation", ["7.jpg#crop=0,0,8,9"], ["a on b", "b on a"], {(0, 0)})],
    ),
    "valse": (
        "existence.json", {"e_1": VALSE},
        [("existence/e_1", "existence", ["7.jpg"], ["A dog.", "A cat."], {(0, 0)})],
    ),
}  # fmt: skip


def write(desk, name: str, rows: Any):
    path = desk.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".csv"):
        pl.DataFrame(rows).write_csv(path)
    elif name.endswith(".parquet"):
        pl.DataFrame(rows).write_parquet(path)
    elif name.endswith(".jsonl"):
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        path.write_text(json.dumps(rows))
    return path


def as_in_source(item) -> tuple[list[str], list[str], set[tuple[int, int]]]:
    """What an item shows and what is true of it, in the order of the source."""
    order = source_order(item)
    images = [item.images[order.here("images", k)] for k in range(len(item.images))]
    captions = [item.captions[order.here("captions", k)] for k in range(len(item.captions))]
    return images, captions, {(order.images[i], order.captions[j]) for i, j in item.true}


def test_every_file_of_the_catalogue_is_registered_tested_and_cites_its_source():
    known = layouts()
    assert sorted(known) == sorted(MADE) and len(known) == len(list(FOLDER.glob("*.yaml"))) == 14
    for name, layout in known.items():
        importer = registry.importers.get(name)
        assert importer.name == name and importer.citation == layout.citation
        assert "https://" in layout.source and layout.licence and layout.chance


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_documented_layout_becomes_items(desk, name, seed):
    file, rows, expected = MADE[name]
    bench = desk.get(name, write(desk, file, rows), seed=seed)
    assert len(bench.items) == len(expected)
    for item, (source_id, kind, images, captions, true) in zip(bench.items, expected, strict=True):
        assert item.id == f"{name}:{source_id}" and item.kind == kind
        assert as_in_source(item) == (images, captions, true)


@pytest.mark.parametrize("name", MADE)
def test_the_stated_chance_is_the_chance(desk, name):
    file, rows, _ = MADE[name]
    bench = desk.get(name, write(desk, file, rows))
    (run,) = ta.evaluate(["chance"], on=bench, out=desk.folder / "runs")
    found = {r.measure: r.chance for r in measure(run).rows if r.kind == "micro"}
    options = len(bench.items[0].captions)
    for measured, level in layouts()[name].chance.items():
        wanted = 100 / options if level == "1 / options" else level
        assert 100 * found[measured] == pytest.approx(wanted, abs=0.005), measured
    assert bench.card.made["chance"] == layouts()[name].chance


SAME = {
    "sugarcrepe-pp": [{"id": 1, "filename": "a.jpg", "caption": "A dog.", "caption2": "Dog.",
                       "negative_caption": " A dog."}],
    "vl-checklist": [["1.jpg", {"POS": ["red car"], "NEG": ["red car"]}]],
    "eqben": [{"image0": "a/1.jpg", "image1": "a/2.jpg", "caption0": "A man.",
               "caption1": "A man."}],
    "crepe": [{**BOX, "caption": "red cup", "hard_negs": "['red cup']"}],
    "valse": {"e_1": {**VALSE, "foil": "A dog. "}},
    "cola": [[*COLA[:3], "red cup"]],
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_rows_whose_caption_equals_its_negative_are_named(desk, name):
    file, rows, _ = MADE[name]
    both = {**rows, **SAME[name]} if isinstance(SAME[name], dict) else [*SAME[name]]
    error = desk.error(name, write(desk, file, both))
    assert error.startswith(f"two captions of {name}:") and "are the same: '" in error
    assert "row 1" in error or 'key "e_1"' in error or 'key "0"' in error


def test_pictures_of_an_address_are_found_by_their_last_part(desk):
    desk.picture("pics/1.jpg")
    desk.picture("pics/2.jpg", colour="blue")
    file = write(desk, "COLA_multiobjects_matching_benchmark.json", [COLA])
    bench = desk.get("cola", file, images=desk.folder / "pics")
    assert bench.card.made["images"] == {"found": 2, "missing": 0}
    assert bench.picture(COLA[0]).open().size == (8, 6)


def test_questions_that_are_not_yes_or_no_are_left_out_and_counted(desk):
    file, rows, _ = MADE["naturalbench"]
    path, out = write(desk, file, rows), desk.folder / "nb"
    result = CliRunner().invoke(app, ["get", "naturalbench", str(out), "--from", str(path)])
    assert result.exit_code == 0 and "1 rows of other types: left out" in result.stderr
    assert ta.load_benchmark(out).card.made["rows_of_other_sorts"] == 1


def test_both_forms_of_whats_up_are_read(desk):
    file = write(desk, "coco_qa_two_obj.json", [[139, "A left of B", "A right of B"]])
    (item,) = desk.get("whats-up", file).items
    assert as_in_source(item) == (["139.jpg"], ["A left of B", "A right of B"], {(0, 0)})


def test_rows_of_crepe_that_have_no_negatives_are_counted(desk):
    file, rows, _ = MADE["crepe"]
    assert desk.get("crepe", write(desk, file, rows)).card.made["rows_without_negatives"] == 1
