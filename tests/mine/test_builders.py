"""The builders: what each promises of its items."""

from __future__ import annotations

from collections import Counter

import pytest

import tellapart as ta
from tellapart.corpus.world.lexicon import CATEGORIES
from tellapart.errors import BadInput, UnknownName
from tellapart.items import KINDS
from tellapart.text.english import plural
from tellapart.text.tokens import tokens
from tellapart.verbs.build.bison import bison
from tellapart.verbs.build.bivlc import BivlcOptions


def test_bison_asks_of_two_images_a_caption_of_one(world, benchmarks):
    for item in benchmarks["bison"].items:
        ((place, _),) = item.true
        target, decoy = item.images[place], item.images[1 - place]
        assert item.captions[0] in world.texts_by_image[target]
        assert item.captions[0] not in world.texts_by_image[decoy]


@pytest.mark.parametrize("what", ["bison", "bivlc", "foil"])
def test_pitfall_7_the_truth_is_at_no_fixed_place(benchmarks, what):
    places = Counter(item.original for item in benchmarks[what].items)
    assert len(places) > 1
    assert max(places.values()) < 0.75 * sum(places.values())


def test_mcic_options_are_near_captions_and_the_truth_is_at_every_place(world, benchmarks):
    places = Counter()
    for item in benchmarks["mcic"].items:
        ((_, place),) = item.true
        places[place] += 1
        assert len(item.captions) == 5
        assert item.captions[place] in world.texts_by_image[item.images[0]]
        bags = {tuple(sorted(tokens(text))) for text in item.captions}
        assert len(bags) == 5
    assert set(places) == set(range(5))


def test_pitfall_4_mcic_cannot_be_guessed_from_the_options_alone(benchmarks):
    """Each set of options is asked once for each of its captions."""
    sets: dict[frozenset[str], list[str]] = {}
    for item in benchmarks["mcic"].items:
        ((_, place),) = item.true
        sets.setdefault(frozenset(item.captions), []).append(item.captions[place])
    for options, answers in sets.items():
        assert Counter(answers) == Counter(options)


def test_foils_replace_one_salient_word_by_an_absent_one_of_its_supercategory(world, benchmarks):
    for item in benchmarks["foil"].items:
        image = item.images[0]
        slot = item.slot
        original, foil = item.captions[1 - slot.caption], item.captions[slot.caption]
        differing = [(a, b) for a, b in zip(tokens(original), tokens(foil), strict=True) if a != b]
        content = [pair for pair in differing if pair[0] not in ("a", "an")]
        assert len(content) == 1
        name = next(n for n in CATEGORIES if slot.foil.lower() in (n, plural(n)))
        assert CATEGORIES[name].supercategory == CATEGORIES[slot.target].supercategory
        assert name not in world.objects(image)
        forms = {slot.target, plural(slot.target)}
        mentions = sum(bool(forms & set(tokens(t))) for t in world.texts_by_image[image])
        assert mentions >= 2
        shown = world.objects(image) - {slot.target}
        assert slot.target in slot.candidates and not shown & set(slot.candidates)


def test_bivlc_has_all_kinds_in_equal_shares(benchmarks):
    kinds = Counter(item.kind for item in benchmarks["bivlc"].items)
    assert set(kinds) == set(KINDS)
    # every second add-attribute takes away, which needs two things of one colour: few of 60 have
    kinds.pop("add-attribute")
    assert max(kinds.values()) - min(kinds.values()) <= 2


def test_bivlc_keeps_to_the_kinds_asked_for(world, tmp_path):
    options = BivlcOptions(items=8, kinds=("swap-object",))
    made = ta.build("bivlc", world, tmp_path / "b", options)
    assert {item.kind for item in made.items} == {"swap-object"} and len(made.items) == 8
    with pytest.raises(UnknownName, match="no kind of near miss called 'swap-objects'"):
        options = BivlcOptions(kinds=("swap-objects",))
        ta.build("bivlc", world, tmp_path / "c", options)
    assert not (tmp_path / "c").exists()


def captions_file(tmp_path, rows):
    path = tmp_path / "captions.csv"
    path.write_text("image,caption\n" + "".join(f"{i},{c}\n" for i, c in rows))
    return path


ALONE = ta.BuildOptions(look=False)
"""Captions alone: there are no pictures."""


def test_a_build_whose_pictures_are_all_missing_is_an_error(tmp_path):
    rows = [(f"{a}.jpg", f"A {a} on the grass.") for a in ("dog", "cat", "horse", "sheep", "bird")]
    path = captions_file(tmp_path, rows)
    for what in ("bison", "mcic", "negatives"):
        with pytest.raises(
            BadInput, match="none of the 5 pictures of captions was found"
        ) as caught:
            ta.build(what, path, tmp_path / what)
        assert "bird.jpg" in caught.value.where or "dog.jpg" in caught.value.where
        assert "--images" in caught.value.todo and not (tmp_path / what).exists()
    (tmp_path / "horse.jpg").write_bytes(b"one is there")
    assert len(ta.build("mcic", path, tmp_path / "mcic").items) == 5


def test_pitfall_19_builders_work_on_any_captions_and_say_that_nobody_verified(tmp_path):
    animals = ["dog", "cat", "horse", "sheep", "bird", "cow"]
    path = captions_file(tmp_path, [(f"{a}.jpg", f"A {a} on the grass.") for a in animals])
    pairs = ta.build("bison", path, tmp_path / "bison", ALONE)
    mcic = ta.build("mcic", path, tmp_path / "mcic", ALONE)
    assert len(pairs.items) == 10 and len(mcic.items) == 5
    assert pairs.card.verified == "" and "not verified" in ta.validate(pairs, look=False).remarks[0]


def test_too_small_a_corpus_ends_in_a_clear_reason(tmp_path):
    path = captions_file(tmp_path, [("a.jpg", "A dog.")])
    for what in ("bison", "mcic"):
        with pytest.raises(BadInput, match=f"{what} has no items: "):
            ta.build(what, path, tmp_path / what, ALONE)


def test_foil_needs_objects_and_bivlc_needs_scenes(tmp_path):
    path = captions_file(tmp_path, [("a.jpg", "A dog."), ("b.jpg", "A cat.")])
    with pytest.raises(BadInput, match="has no list of objects"):
        ta.build("foil", path, tmp_path / "foil", ALONE)
    with pytest.raises(BadInput, match=r"missing|no scene"):
        ta.build("bivlc", path, tmp_path / "bivlc", ALONE)
    assert not (tmp_path / "bivlc").exists()


def test_a_folder_in_the_way_is_told_before_anything_is_built(world, tmp_path):
    (tmp_path / "kept").write_text("mine")
    done: list[int] = []
    with pytest.raises(BadInput, match="already exists"):
        bison(world, tmp_path, progress=lambda phase, number, total: done.append(number))
    assert not done and (tmp_path / "kept").read_text() == "mine"


def test_options_of_another_builder_are_refused(world, tmp_path):
    with pytest.raises(BadInput, match="BivlcOptions are not options of this builder"):
        ta.build("bison", world, tmp_path / "b", BivlcOptions())
    assert not (tmp_path / "b").exists()
