"""The built-in world: captions are true, edits tell apart, and nothing depends on chance alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellapart as ta
from tellapart import seeds
from tellapart.corpus.world.edits import EDITS, EditContext, near_miss
from tellapart.corpus.world.grammar import Style, sentence, understand
from tellapart.corpus.world.lexicon import (
    BACKGROUNDS,
    CATEGORIES,
    COLOURS,
    OPPOSITE,
    RELATIONS,
    SIZES,
    SYMMETRIC,
)  # fmt: skip
from tellapart.corpus.world.painter import StorybookPainter, drawn_categories
from tellapart.corpus.world.scene import (
    Mention,
    OnlyClause,
    Scene,
    Statement,
    Thing,
    holds,
    is_true,
    place_pair,
)
from tellapart.corpus.world.world import captions, part_of, random_scene, random_scenes, scene_of
from tellapart.errors import BadInput
from tellapart.items import KINDS

PAINTER = StorybookPainter()
DOG = Thing("dog", "red", "big", 1, (0.1, 0.6, 0.3, 0.9))
CATS = Thing("cat", "blue", "small", 2, (0.5, 0.6, 0.8, 0.9))
SCENE = Scene("meadow", (DOG, CATS))


@pytest.mark.parametrize(
    ("caption", "truth"),
    [
        ("A red dog.", True),
        ("A blue dog.", False),
        ("A dog and two cats.", True),
        ("A dog and a cat.", False),
        ("A dog and three cats.", False),
        ("A big red dog is to the left of a pair of little cats in a meadow.", True),
        ("A dog is to the right of two cats.", False),
        ("Two cats are to the right of a dog.", True),
        ("In the snow, there is a red dog.", False),
        ("Just a red dog on the grass.", False),
        ("Just a red dog and two cats.", True),
        ("A dog left of two cats, and only the dog is red.", True),
        ("A dog left of two cats, and only the cats are red.", False),
        ("A dog left of two cats, and only the dog and the cats are red.", False),
        ("A drawing of two blue cats.", True),
        ("A zebra.", False),
        ("A red to the left of two cats.", True),  # a word left out leaves its place open
        ("A red zebra to the left of two.", False),
        ("In a, just a zebra and two cats.", False),
        ("In a meadow, just a red dog and two cats.", True),
    ],
)
def test_captions_are_read_as_a_person_would(caption, truth):
    statement = understand(caption)
    assert statement is not None
    assert is_true(statement, SCENE) is truth


def test_every_caption_of_the_world_is_true_of_its_picture(world):
    for image in world.images["id"]:
        scene = scene_of(world.picture(image))
        texts = world.texts_by_image[image]
        assert len(texts) == len(set(texts)) == 5
        for text in texts:
            assert is_true(understand(text), scene), (text, scene)


def test_the_scene_in_the_picture_file_reads_back(world):
    scene = scene_of(world.picture(world.images["id"][0]))
    assert Scene.from_json(scene.to_json()) == scene


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_changes_scene_and_caption_so_that_each_fits_its_own_alone(kind):
    made = 0
    for index, scene in enumerate(random_scenes(40, 5, PAINTER)):
        desk = EditContext(scene, seeds.rng(5, kind, index), PAINTER, drawn_categories())
        miss = near_miss(kind, desk)
        if miss is None:
            continue
        made += 1
        for text, true_of in ((miss.caption, scene), (miss.negative_caption, miss.negative_scene)):
            for other in (scene, miss.negative_scene):
                assert is_true(understand(text), other) is (other == true_of), (text, other)
        assert part_of(scene) == part_of(miss.negative_scene)
    assert made >= 12


def words(text: str) -> Counter[str]:
    return Counter(text.lower().rstrip(".").replace(",", "").split())


@pytest.mark.parametrize("kind", [k for k in KINDS if k.startswith("swap")])
def test_swaps_keep_all_words(kind):
    for index, scene in enumerate(random_scenes(30, 6, PAINTER)):
        miss = near_miss(
            kind, EditContext(scene, seeds.rng(6, kind, index), PAINTER, drawn_categories())
        )
        if miss is not None and kind == "swap-object":
            before, after = words(miss.caption), words(miss.negative_caption)
            verbs = Counter({"is": 1, "are": 1, "a": 2, "an": 2})
            assert not (before - after) - verbs and not (after - before) - verbs


def test_train_and_test_scenes_share_no_content():
    train = {scene.what() for scene in random_scenes(150, 1, PAINTER, "train")}
    test = {scene.what() for scene in random_scenes(150, 1, PAINTER, "test")}
    assert len(train) == len(test) == 150 and not train & test


def test_the_world_is_as_large_as_promised():
    assert set(drawn_categories()) == set(CATEGORIES)
    assert len(CATEGORIES) >= 48
    assert len({c.supercategory for c in CATEGORIES.values()}) >= 10
    assert len(COLOURS) >= 9 and len(SIZES) == 3 and len(RELATIONS) >= 8 and len(BACKGROUNDS) >= 6
    assert set(EDITS) == set(KINDS)


@given(
    relation=st.sampled_from(sorted(RELATIONS)),
    a=st.tuples(st.floats(0.06, 0.4), st.floats(0.06, 0.4)),
    b=st.tuples(st.floats(0.06, 0.4), st.floats(0.06, 0.4)),
    seed=st.integers(0, 10_000),
)
def test_things_placed_in_a_relation_stand_in_it_and_not_in_its_opposite(relation, a, b, seed):
    placed = place_pair(relation, a, b, seeds.rng(seed, "place"))
    if placed is None:
        return
    in_front = relation == "front"
    assert holds(relation, *placed, a_in_front=in_front)
    assert not holds(OPPOSITE[relation], *placed, a_in_front=in_front)
    if relation not in SYMMETRIC and relation not in ("front", "behind"):
        assert holds(OPPOSITE[relation], placed[1], placed[0], a_in_front=not in_front)
    for box in placed:
        assert box[0] >= 0 and box[2] <= 1 and box[1] >= 0 and box[3] <= 1


mentions = st.builds(
    Mention,
    st.sampled_from(sorted(CATEGORIES)),
    st.integers(1, 4),
    st.none() | st.sampled_from(sorted(COLOURS)),
    st.none() | st.sampled_from(sorted(SIZES)),
)


@given(
    named=st.lists(mentions, min_size=1, max_size=3, unique_by=lambda m: m.category),
    relation=st.none() | st.sampled_from(sorted(RELATIONS)),
    background=st.none() | st.sampled_from(sorted(BACKGROUNDS)),
    exhaustive=st.booleans(),
    only=st.booleans(),
    seed=st.integers(0, 5_000),
)
def test_what_the_grammar_writes_the_reader_understands(
    named, relation, background, exhaustive, only, seed
):
    relations = ((0, relation, 1),) if relation and len(named) > 1 else ()
    clause = OnlyClause("colour", "red", (0,)) if only else None
    said = Statement(tuple(named), relations, background, exhaustive, clause)
    assert understand(sentence(said, Style.draw(seeds.rng(seed, "style")))) == said


def test_a_thing_has_one_name_in_a_caption():
    said = Statement(
        (Mention("cup", 2), Mention("couch", 1)), only=OnlyClause("colour", "brown", (0,))
    )
    assert sentence(said, Style("seen", words=1, synonyms=True)) == (
        "Two mugs and a sofa can be seen, and only the mugs are brown."
    )


def test_the_same_seed_draws_the_same_bytes(tmp_path):
    one = ta.world(tmp_path / "one", scenes=4, seed=9)
    two = ta.world(tmp_path / "two", scenes=4, seed=9)
    other = ta.world(tmp_path / "three", scenes=4, seed=10)
    files = sorted(p.relative_to(one.root) for p in one.root.rglob("*") if p.is_file())
    assert len(files) == 7
    for name in files:
        assert (one.root / name).read_bytes() == (two.root / name).read_bytes()
    assert one.captions["text"].to_list() != other.captions["text"].to_list()


def test_captions_run_from_terse_to_detailed():
    first, last = 0, 0
    for index in range(60):
        rng = seeds.rng(0, "length", index)
        texts = captions(random_scene(rng, PAINTER, drawn_categories()), rng)
        first += len(texts[0])
        last += len(texts[-1])
    assert last > 1.5 * first


def test_a_world_without_scenes_or_of_an_unknown_part_is_refused(tmp_path):
    with pytest.raises(BadInput, match="a world of 0 scenes"):
        ta.world(tmp_path / "w", scenes=0)
    with pytest.raises(BadInput, match="no part 'dev'"):
        ta.world(tmp_path / "w", scenes=1, part="dev")
