"""BiVLC with makers: candidates, who chooses, photographs with boxes; sets to train on."""

from __future__ import annotations

import json

import polars as pl
import pytest
from PIL import Image as Pillow

import tellapart as ta
from tellapart.benchmark.benchmark import load_benchmark
from tellapart.corpus.categories import coco_categories
from tellapart.errors import BadInput, UnknownName
from tellapart.items import KINDS
from tellapart.mine.photos.names import object_names
from tellapart.mine.photos.pairs import Photo, added, counted, mirrored, one_of_two
from tellapart.questions import Ask, questions
from tellapart.verbs.build.bivlc import BivlcOptions
from tellapart.verbs.build.trohn import TrohnOptions, read_settings

NAMES = object_names(coco_categories())


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return ta.world(tmp_path_factory.mktemp("hard") / "world", scenes=28)


def test_one_command_builds_all_seven_kinds_through_simulated_people(world, tmp_path):
    options = BivlcOptions(maker="world:?error=0.2", candidates=2, people=2)
    bench = ta.build("bivlc", world, tmp_path / "out", options)
    assert {item.kind for item in bench.items} == set(KINDS)
    steps = bench.card.made["steps"]
    assert list(steps) == ["captions", "with candidates", "chosen", "not ambiguous"]
    sizes = [sum(counts.values()) for counts in steps.values()]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == len(bench)
    oracle = ta.evaluate("oracle", bench, tmp_path / "runs")
    assert ta.measure(oracle).value(measure="Group") == 1.0  # people who never err leave no fault
    assert bench.card.verified.startswith("simulated")


def test_a_scorer_in_the_place_of_people_is_not_called_verified(world, tmp_path):
    options = BivlcOptions(maker="world:?error=0.5", candidates=2, auto="oracle", margin=0.5)
    bench = ta.build("bivlc", world, tmp_path / "out", options)
    assert bench.card.verified == "" and "not checked by people" in bench.card.made["chosen_by"]
    oracle = ta.evaluate("oracle", bench, tmp_path / "runs")
    assert ta.measure(oracle).value(measure="Group") == 1.0


def test_candidates_of_negatives_are_formatted_alike(tmp_path, world):
    rows = [
        f"{picture.path},{text},a red zeppelin" for picture, text in zip(
            world, ["a dog", "A CAT"], strict=False
        )
    ]  # fmt: skip
    (tmp_path / "pairs.csv").write_text("image,caption,negative_caption\n" + "\n".join(rows))
    negatives = ta.get("pairs", tmp_path / "pairs.csv", tmp_path / "negatives")
    place = tmp_path / "elsewhere"
    place.mkdir()
    options = BivlcOptions(maker=f"folder:{place}", candidates=1)
    with pytest.raises(BadInput, match="none of the 2 pictures"):
        ta.build("bivlc", negatives, tmp_path / "out", options)
    wanted = pl.read_csv(place / "wanted.csv")
    for key in wanted["key"]:
        Pillow.new("RGB", (8, 8), "red").save(place / f"{key}.png")
    bench = ta.build("bivlc", negatives, tmp_path / "out", options)
    texts = {text for item in bench.items for text in item.captions}
    assert texts == {"A dog.", "A cat.", "A red zeppelin."}


def photo(captions, *boxes) -> Photo:
    return Photo("7", captions, boxes, NAMES)


DOG, CAT = ("dog", (0.1, 0.4, 0.2, 0.3)), ("cat", (0.7, 0.4, 0.2, 0.3))


def test_left_and_right_are_read_off_the_boxes():
    (pair,) = mirrored(photo(["A dog and a cat."], DOG, CAT), 0, set())
    first, second = pair.about
    side = "left" if first == "dog" else "right"
    assert pair.captions[0] == f"The {first} is to the {side} of the {second}."
    assert [edit.mirror for edit in pair.edits] == [False, True]


@pytest.mark.parametrize(
    ("captions", "boxes"),
    [
        (["A dog and a cat beside a sign."], (DOG, CAT)),  # something to read
        (["Dogs and a cat."], (DOG, CAT)),  # more than the boxes show
        (["A dog and a cat."], (DOG, ("cat", (0.15, 0.4, 0.2, 0.3)))),  # not side by side
        (["A dog and a cat."], (DOG, CAT, ("stop sign", (0.4, 0.1, 0.3, 0.3)))),
        (["A dog."], (DOG, CAT)),  # no caption names the cat
        (["A dog and a cat.", "Two pets."], (DOG, CAT)),  # one caption of two names them
        (["A dog and a cat."], (DOG, ("cat", (0.9, 0.4, 0.1, 0.3)))),  # a sliver at the edge
        (["A dog and a man."], (DOG, ("person", (0.6, 0.5, 0.4, 0.3)))),  # an arm
        (["A dog and a chair."], (DOG, ("chair", CAT[1]), ("person", (0.65, 0.2, 0.3, 0.5)))),
    ],
)
def test_pictures_that_are_not_mirrored(captions, boxes):
    assert list(mirrored(photo(captions, *boxes), 0, set())) == []


def test_a_person_of_whom_enough_is_seen_is_mirrored():
    tall = ("person", (0.6, 0.2, 0.4, 0.8))
    assert len(list(mirrored(photo(["A dog and a man."], DOG, tall), 0, set()))) == 1


def test_two_of_a_sort_become_one():
    two = photo(["Two dogs run."], DOG, ("dog", (0.6, 0.4, 0.2, 0.2)))
    (pair,) = counted(two, 0, set())
    assert pair.captions == (
        "There are two dogs in the picture.", "There is one dog in the picture.",
    )  # fmt: skip
    assert pair.edits[1].erase == ((0.6, 0.4, 0.2, 0.2),)  # the smaller hole
    assert list(counted(photo(["Dogs."], *two.boxes), 0, set())) == []


def test_of_two_things_each_is_missing_once():
    (pair,) = one_of_two(photo(["A dog.", "A cat."], DOG, CAT), 0, set())
    assert pair.captions == ("A dog.", "A cat.")
    assert pair.edits[0].erase == (CAT[1],) and pair.edits[1].erase == (DOG[1],)


def test_a_caption_without_the_object_is_true_of_both_pictures():
    captions = ["A dog on grass.", "A dog and grass.", "Green grass in the sun."]
    (pair,) = added(photo(captions, DOG), 0, set())
    assert len(pair.true) == 3 and pair.captions[1] == "Green grass in the sun."


@pytest.mark.parametrize(
    "box",
    [
        (0.1, 0.1, 0.05, 0.05),  # too small
        (0.1, 0.1, 0.6, 0.6),  # too large
    ],
)
def test_boxes_that_cannot_go(box):
    captions = ["A dog on grass.", "A dog and grass.", "Green grass in the sun."]
    assert list(added(photo(captions, ("dog", box)), 0, set())) == []


def test_a_hole_that_takes_something_else_along_is_not_made():
    captions = ["A dog and a ball.", "A dog on grass.", "Green grass, a ball."]
    near = ("sports ball", (0.25, 0.5, 0.1, 0.1))
    why: set[str] = set()
    assert list(added(photo(captions, DOG, near), 0, why)) == []
    assert "it would take something else along" in why


def test_a_misspelt_name_is_a_name():
    captions = ["A stop sign.", "A red stop sign.", "A stop sighn by a wall."]
    assert list(added(photo(captions, ("stop sign", (0.3, 0.3, 0.2, 0.2))), 0, set())) == []


@pytest.fixture
def coco(tmp_path):
    """Two photographs, one of which must not be edited and shared."""
    images, captions, boxes = [], [], {}
    for number in (1, 2):
        Pillow.effect_noise((128, 96), 60).convert("RGB").save(tmp_path / f"{number:012d}.jpg")
        images.append({"id": number, "file_name": f"{number:012d}.jpg", "license": number})
        captions.append({"id": number, "image_id": number, "caption": "A dog and a cat."})
        boxes[str(number)] = {
            "objects": [{"category": name, "box": list(box)} for name, box in (DOG, CAT)]
        }
    licences = [{"id": 1, "name": "Attribution"}, {"id": 2, "name": "Attribution-NoDerivs License"}]
    data = {"images": images, "annotations": captions, "licenses": licences}
    (tmp_path / "captions.json").write_text(json.dumps(data))
    (tmp_path / "boxes.json").write_text(json.dumps(boxes))
    return tmp_path


def test_photographs_become_pairs_and_those_that_may_not_be_shared_are_not(coco):
    options = BivlcOptions(
        maker="photo:", kinds=("mirror",), boxes=coco / "boxes.json", images=coco
    )
    bench = ta.build("bivlc", coco / "captions.json", coco / "out", options)
    assert len(bench) == 2 and bench.card.made["no_derivatives"] == 1
    assert "MIT" in bench.card.made["maker"]["licence"]
    for item in bench.items:
        sizes = {bench.picture(name).open().size for name in item.images}
        assert sizes == {(128, 96)} and item.original in item.true
        asked = {q.id for q in questions(item, frozenset({Ask.CAPTION, Ask.IMAGE}))}
        assert asked == {"caption@0", "caption@1", "image@0", "image@1"}
    exported = load_benchmark(ta.export(bench, coco / "shared"))
    assert len(exported) == 1
    assert exported.card.made["left_out_for_their_licence"] == 1


def test_photographs_without_boxes_are_asked_for_them(coco):
    options = BivlcOptions(maker="photo:", images=coco)
    with pytest.raises(BadInput, match="the objects' boxes are missing"):
        ta.build("bivlc", coco / "captions.json", coco / "out", options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (BivlcOptions(auto="oracle"), "need a maker"),
        (BivlcOptions(maker="world:", auto="oracle", people=2), "exclude each other"),
        (BivlcOptions(maker="world:", candidates=0), "candidates: 0"),
    ],
)
def test_wrong_options_are_said(world, tmp_path, options, says):
    with pytest.raises(BadInput, match=says):
        ta.build("bivlc", world, tmp_path / "out", options)


def test_sets_to_train_on_are_split_by_image(world, tmp_path):
    ta.build("trohn-text", world, tmp_path / "text", TrohnOptions(items=80))
    put = ("maker=world:", "plausibility=blind", "grammar=blind", "scale=rank", "keep=1",
           "combine=mean", "similar=0", "bins_a_side=1", "within=all")  # fmt: skip
    made = ta.build("trohn-img", tmp_path / "text", tmp_path / "img", TrohnOptions(put=put))
    assert {tuple(map(len, (item.images, item.captions))) for item in made.items} == {(2, 2)}
    for name in ("text", "img"):
        parts = [load_benchmark(tmp_path / name / part) for part in ("train", "validation")]
        images = [{image for item in part.items for image in item.images} for part in parts]
        assert not images[0] & images[1]
        assert 0.1 < len(parts[1]) / (len(parts[0]) + len(parts[1])) < 0.35
        assert all(part.picture(image).is_there() for part in parts for image in part.images)


def test_settings_come_from_the_file_then_from_the_command(tmp_path):
    file = tmp_path / "my.yaml"
    file.write_text("keep: 0.5\nmaker: 'world:'\n")
    told = read_settings("trohn-img", TrohnOptions(settings=file, put=("keep=0.7",)))
    assert told["keep"] == 0.7 and told["maker"] == "world:" and told["bins_a_side"] == 50
    with pytest.raises(UnknownName, match="no setting called 'kep'"):
        read_settings("trohn-img", TrohnOptions(put=("kep=1",)))
    with pytest.raises(BadInput, match="keep: 'much'"):
        read_settings("trohn-img", TrohnOptions(put=("keep=much",)))
