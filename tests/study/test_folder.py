"""Setting a study up: its folder, its sources, its training examples."""

from __future__ import annotations

import json
import stat

import polars as pl
import pytest
from PIL import Image as Pillow
from tests.study.conftest import pairs_of

from tellapart.errors import BadInput, TellapartError
from tellapart.study import questions
from tellapart.study.folder import StudySetup, load_source, read_training, write_study
from tellapart.study.keys import read_keys
from tellapart.study.plan import Stage
from tellapart.study.study import opened_study

WHICH = StudySetup((Stage("ask", "which-image"),))


def write_pairs(folder, rows):
    folder.mkdir()
    pl.DataFrame(rows).write_parquet(folder / "pairs.parquet")
    images = sorted({row[name] for row in rows for name in ("target", "decoy")})
    uris = {"id": images, "uri": [f"{i}.png" for i in images]}
    empty = {"sha256": pl.String, "width": pl.Int32, "height": pl.Int32}
    table = pl.DataFrame(uris).with_columns(pl.lit(None, t).alias(n) for n, t in empty.items())
    table.write_parquet(folder / "images.parquet")


PAIR = {
    "pair": "7-9",
    "target": "7",
    "decoy": "9",
    "captions": ["A dog.", "A red dog."],
    "caption_ids": ["1", "2"],
}


def test_a_folder_has_all_that_a_study_needs_and_its_keys_are_the_owners_alone(tmp_path):
    write_study(pairs_of(3), tmp_path / "s", WHICH)
    names = {path.name for path in (tmp_path / "s").iterdir()}
    assert names == {"study.toml", "keys.json", "items", "training", "training.json"}
    assert stat.S_IMODE((tmp_path / "s" / "keys.json").stat().st_mode) == 0o600
    assert len(read_keys(tmp_path / "s").owner) >= 32


def test_keys_do_not_show_in_a_message(tmp_path):
    write_study(pairs_of(3), tmp_path / "s", WHICH)
    keys = read_keys(tmp_path / "s")
    assert keys.owner not in repr(keys) and keys.pseudonyms not in str(keys)


def test_pairs_become_items_with_a_target(tmp_path):
    write_pairs(tmp_path / "p", [PAIR])
    (item,) = load_source(tmp_path / "p").items
    assert item.images == ("7", "9") and item.captions == ("A dog.", "A red dog.")
    assert item.true == {(0, 0), (0, 1)} and item.origin.notes == {"captions": "1,2"}
    write_study(tmp_path / "p", tmp_path / "s", StudySetup((Stage("pick", "pick-caption"),)))
    with opened_study(tmp_path / "s") as study:
        assert study.content.items.images["7"].uri == "../../p/7.png"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"captions": "A dog."}, "captions are not lists"),
        ({"captions": []}, "has no captions"),
        ({"captions": ["A dog.", " "]}, "is empty"),
    ],
)
def test_bad_pairs_are_named(tmp_path, change, said):
    write_pairs(tmp_path / "p", [{**PAIR, **change}])
    with pytest.raises(TellapartError, match=said):
        load_source(tmp_path / "p")


def test_a_question_that_fits_no_item_is_refused_and_nothing_is_left(tmp_path):
    options = StudySetup((Stage("ask", "best-of-five"),))
    with pytest.raises(BadInput, match="no item of hand-made fits the question best-of-five"):
        write_study(pairs_of(3), tmp_path / "s", options)
    with pytest.raises(BadInput, match="needs gold items"):
        write_study(pairs_of(3), tmp_path / "s", StudySetup((Stage("a", "which-image", gold=0.1),)))
    assert not list(tmp_path.iterdir())


def test_a_changed_rule_or_seed_is_refused_once_the_study_has_begun(tmp_path):
    write_study(pairs_of(3), tmp_path / "s", WHICH)
    with opened_study(tmp_path / "s"):
        pass
    path = tmp_path / "s" / "study.toml"
    text = path.read_text()
    for before, after, said in (
        ("judgements = 3", "judgements = 5", "judgements"),
        ("seed = 0", "seed = 1", "seed"),
        ('keep = "majority"', 'keep = "all"', "keep"),
    ):
        path.write_text(text.replace(before, after))
        with pytest.raises(BadInput, match=said), opened_study(tmp_path / "s"):
            pass
    path.write_text(
        text.replace("at_most = 0", "at_most = 9").replace("minutes = 20.0", "minutes = 5")
    )
    with opened_study(tmp_path / "s") as study:
        assert study.plan.stages[0].at_most == 9


def test_training_examples_can_be_edited_and_mistakes_are_named(tmp_path):
    write_study(pairs_of(3), tmp_path / "s", WHICH)
    path = tmp_path / "s" / "training.json"
    entries = json.loads(path.read_text())
    with opened_study(tmp_path / "s") as study:
        assert study.stages[0].training == 3
    entries[0]["explanation"] = "Because."
    path.write_text(json.dumps(entries[:1]))
    with opened_study(tmp_path / "s") as study:
        assert study.stages[0].training == 1
        (matter,) = read_training(study.plan, tmp_path / "s")["ask"]
        assert matter.explanation == "Because."
    for change, said in (
        ({"right": ["7"]}, "0, 1, both, neither"),
        ({"stage": "asks"}, "no stage 'asks'"),
        ({"images": []}, "2 images"),
        ({"captions": []}, "not an example for which-image"),
        ({"explanation": 3}, "explanation = 3"),
    ):
        path.write_text(json.dumps([{**entries[0], **change}]))
        with pytest.raises(BadInput, match=said), opened_study(tmp_path / "s"):
            pass


@pytest.mark.parametrize("name", questions.types.names())
def test_examples_of_every_type_can_be_drawn_and_are_answered_by_their_keys(name, tmp_path):
    from tellapart.study.folder import write_training
    from tellapart.study.plan import StudyPlan

    plan = StudyPlan("x", "x", (Stage("ask", name),))
    write_training(plan, tmp_path)
    matters = read_training(plan, tmp_path)["ask"]
    assert len(matters) >= 2
    for matter in matters:
        for image in matter.images:
            with Pillow.open(tmp_path / image) as picture:
                assert not picture.info.get("tellapart-scene")
        assert matter.truth is not None and matter.explanation
        if name == "foil" and "wrong" in matter.truth.choices:
            assert len(matter.truth.words) == 1


def test_a_study_that_is_none_says_how_to_make_one(tmp_path):
    with pytest.raises(BadInput, match="is not a study"), opened_study(tmp_path):
        pass
