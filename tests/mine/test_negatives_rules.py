"""Negatives by rules: reading captions, the word lists, what each kind does and leaves alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from tests.mine.small_captions import small_corpus

import tellapart as ta
from tellapart.corpus.corpus import Corpus
from tellapart.items import KINDS
from tellapart.mine.agreement import disagreements
from tellapart.mine.negatives.checks import is_fluent, problem_of
from tellapart.mine.negatives.claims import facts_of
from tellapart.mine.negatives.negative import Edit, Negative, NegativesTask, SourceCaption, changed
from tellapart.mine.negatives.phrases import kernel_of, read
from tellapart.mine.negatives.rules import ADDED, RULES, alternatives, drawn, make
from tellapart.mine.negatives.rules.alternatives import similar
from tellapart.mine.negatives.rules.attributes import (
    CONTRARIES,
    NEW_COLOURS,
    SORT,
    contrary_attributes,
)
from tellapart.mine.negatives.rules.context import CaptionContext, WordLists, learn
from tellapart.mine.negatives.rules.relations import base_of, form_of_verb
from tellapart.mine.negatives.rules.usage import CorpusCounts, Nouns, attested, count_image
from tellapart.models.names import load
from tellapart.text.english import alike
from tellapart.text.parse import parse
from tellapart.text.tokens import tokens
from tellapart.verbs.build.negatives import NegativesOptions

pytest.importorskip("spacy", reason="spacy is not installed")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    return small_corpus(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def task(corpus) -> NegativesTask:
    return NegativesTask(
        corpus, parse(corpus.captions["text"].to_list()), NegativesOptions(), seed=3
    )


@pytest.fixture(scope="module")
def lists(task) -> WordLists:
    return learn(task.corpus, task.parses)


@pytest.fixture(scope="module")
def made(task, lists) -> list[Negative]:
    return make(task, lists).negatives


def edits(
    kind: str, lists: WordLists, captions: list[str], objects: set[str] | None = None
) -> dict[str, str]:
    """What a rule makes of the first of some captions of an image: the negatives by what is new."""
    context = context_of(lists, captions, objects)
    rule = ADDED.get(kind, RULES[kind])
    return {edit.now: changed(captions[0], edit.changes) for edit in rule(context)}


def pairs(
    kind: str, lists: WordLists, captions: list[str], objects: set[str] | None = None
) -> dict[tuple[str, str], tuple[str, str]]:
    """The true and the false caption by the true and the false detail."""
    return {
        (edit.was, edit.now): (changed(captions[0], edit.truth), changed(captions[0], edit.changes))
        for edit in RULES[kind](context_of(lists, captions, objects))
    }


def context_of(
    lists: WordLists, captions: list[str], objects: set[str] | None = None
) -> CaptionContext:
    """The first of some captions of an image, as the rules get it."""
    read_captions = [(one, read(one)) for one in parse(captions)]
    known = None if objects is None else frozenset(objects)
    facts = facts_of(read_captions, known, lists.nouns.denotes)
    first, reading = read_captions[0]
    source = SourceCaption("c", "i", first.text, first)
    return CaptionContext(source, reading, facts, lists, read_captions)


# --- reading -------------------------------------------------------------------------------------


def test_a_caption_is_read_as_phrases_and_relations():
    parses = parse(
        [
            "A big red double decker bus is parked in front of two tennis courts.",
            "A black and white cat sits on the man's hat.",
            "The bus is red.",
        ]
    )
    bus, cat, red = (read(one) for one in parses)
    assert [(p.noun, p.kernel, p.plural) for p in bus.phrases] == [
        ("double decker bus", "bus", False),
        ("tennis court", "court", True),
    ]
    words = [parses[0].tokens[k].text for k in bus.phrases[0].attributes]
    assert words == ["big", "red"]
    (relation,) = bus.relations
    assert (relation.name, relation.subject, relation.object) == ("in front of", 0, 1)
    assert [parses[1].tokens[k].text for k in cat.phrases[0].attributes] == ["black", "white"]
    assert [p.determiner for p in cat.phrases] == ["a", "'s"]
    assert [(red.phrases[p].noun, parses[2].tokens[t].text) for p, t in red.predicates] == [
        ("bus", "red")
    ]


def test_some_words_name_a_thing_only_together():
    assert kernel_of("stop sign") == "sign" and kernel_of("hot dog") == "hot dog"


# --- what is learnt ------------------------------------------------------------------------------


def counted(*images: tuple[list[str], list[str]]) -> CorpusCounts:
    counts = CorpusCounts()
    for objects, captions in images:
        count_image(counts, [(one, read(one)) for one in parse(captions)], objects)
    return counts


def test_counts_are_those_of_a_hand_count():
    counts = counted(
        (["cat"], ["A black cat on a mat.", "Two cats sitting on a mat."]),
        (["dog"], ["A black dog and a cat."]),
    )
    assert (counts.nouns["cat"], counts.images["cat"], counts.pictures) == (3, 2, 2)
    assert counts.forms["cat", "plural"] == 1 and counts.forms["cat", "a"] == 2
    assert counts.attributes["black", "cat"] == 1 and counts.attributes["two", "cat"] == 1
    assert counts.behind["on", "mat"] == 2 and counts.before["cat", "on"] == 2
    assert counts.does["cat", "sitting"] == 1 and counts.acts["sitting", "on", "mat"] == 1
    assert counts.joined["dog", "cat"] == 1 and counts.beside["cat", "dog"] == 1
    assert counts.mention_shares["cat"] == 2000 and counts.shown["cat", "dog"] == 1
    assert counts.written["cat", True, "cats"] == 1


def test_words_for_one_thing_share_images_but_not_captions():
    names = [(["couch"], ["A couch in a room.", "A sofa in a room."]) for _ in range(15)]
    pairs = [(["cup"], ["A cup and a bowl on a table."]) for _ in range(15)]
    nouns = Nouns(counted(*names, *pairs))
    assert nouns.same_things["couch"] == {"sofa"}
    assert "bowl" not in nouns.same_things.get("cup", ())


def test_nouns_speak_of_the_objects_that_their_images_show():
    seen = [(["couch"], ["A sofa in a room."]) for _ in range(6)]
    others = [(["dog"], ["A dog in a room."]) for _ in range(30)]
    denotes = Nouns(counted(*seen, *others)).denotes
    assert denotes["sofa"] == {"couch"} and "room" not in denotes


def test_what_is_seldom_and_by_chance_is_not_attested():
    pairs = Counter({("red", "bus"): 40, ("red", "car"): 40, ("blue", "car"): 40})
    pairs |= {("blue", "bus"): 2, ("green", "bus"): 1}
    found = attested(pairs)
    assert ("red", "bus") in found
    assert ("blue", "bus") not in found and ("green", "bus") not in found


def test_similar_kernels_share_contexts(lists):
    table = similar(lists.counts, list(lists.nouns.by_kernel), 2)
    assert next(table.ranked("cat"))[0] in ("dog", "horse", "cow")
    assert next(table.ranked("cup"))[0] in ("bowl", "bottle")
    assert list(table.ranked("unheard-of")) == []


def test_alternatives_are_of_the_noun_s_sort(lists):
    assert {one.noun for one in lists.alternatives.alternatives("cat")} == {"dog", "horse", "cow"}
    assert {one.noun for one in lists.alternatives.alternatives("bus")} <= {"car", "truck"}
    joined = {one.noun: one.same_sort for one in lists.alternatives.companions("bus")}
    assert joined == {"car": True, "truck": True}


def test_attributes_that_exclude_each_other_are_of_one_sort_and_mutual():
    for word, others in CONTRARIES.items():
        for other, close in others.items():
            assert other in close and word not in close
            if SORT[word] != "colour" or word in NEW_COLOURS:
                assert word in CONTRARIES[other]
    assert "orange" not in CONTRARIES["red"] and "blue" in CONTRARIES["red"]


def test_verbs_change_in_kind():
    assert (
        form_of_verb("stand", "sitting") == "standing" and form_of_verb("sit", "stands") == "sits"
    )
    assert base_of("laying") == "lie" and form_of_verb("run", "seated") == "running"


# --- WordNet -------------------------------------------------------------------------------------

SENSES = ["entity", "object", "whole", "artifact", "tool", "unit", "vehicle", "car", "bus", "fruit"]


def wordnet_files(folder):
    """A chain of six general senses, vehicle below it with car and bus, fruit beside vehicle."""
    lines, places, at = [], {}, 0
    above = dict(zip(SENSES[1:7], SENSES[:6], strict=True))
    above |= {"car": "vehicle", "bus": "vehicle", "fruit": "unit"}
    for name in SENSES:
        pointer = f"001 @ {places[above[name]]:08d} n 0000" if name in above else "000"
        line = f"{at:08d} 03 n 01 {name} 0 {pointer} | a gloss\n"
        places[name] = at
        lines.append(line)
        at += len(line)
    (folder / "data.noun").write_text("".join(lines))
    index = [f"{name} n 1 1 @ 1 0 {places[name]:08d}  \n" for name in SENSES]
    (folder / "index.noun").write_text("  1 a licence\n" + "".join(index))


def test_wordnet_tells_sorts_and_more_general_words(tmp_path, monkeypatch):
    wordnet_files(tmp_path)
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    net = alternatives.load_wordnet(["car", "bus", "vehicle", "fruit", "unheard-of"])
    assert net is not None and set(net.above) == {"car", "bus", "vehicle", "fruit"}
    assert net.same_sort("car", "bus") and not net.same_sort("car", "fruit")
    assert net.related("car", "vehicle") and not net.related("car", "bus")


def test_without_wordnet_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    monkeypatch.setattr(alternatives, "FOLDERS", ())
    assert alternatives.load_wordnet(["car"]) is None


# --- the kinds -----------------------------------------------------------------------------------


def test_objects_are_replaced_by_absent_ones_in_their_form(lists):
    captions = ["A black cat sitting on a red chair.", "a cat near a dog"]
    found = edits("replace-object", lists, captions, {"cat", "chair", "horse"})
    assert found["cow"] == "A black cow sitting on a red chair."
    assert "dog" not in found and "horse" not in found
    several = edits("replace-object", lists, ["Two buses are parked under a tree."], {"bus"})
    assert several["car"] == "Two cars are parked under a tree."


def test_without_objects_only_things_that_captions_would_name_are_put_in(lists):
    captions = ["A black cat sitting on a red chair.", "a cat on a chair"]
    assert "cow" in edits("replace-object", lists, captions)
    counts = lists.counts
    counts.mention_shares["cow"], kept = 0, counts.mention_shares["cow"]
    try:
        assert "cow" not in edits("replace-object", lists, captions)
    finally:
        counts.mention_shares["cow"] = kept


def test_gender_is_changed_with_its_pronouns_and_only_where_all_agree(lists):
    man = ["A man holding his bat on a field.", "A man with a bat", "the man holds a bat"]
    assert edits("replace-object", lists, man, {"person", "baseball bat"})["woman"] == (
        "A woman holding her bat on a field."
    )
    for other in ("a woman with a bat", "two people", "a bearded man", "a man on skis", "a person"):
        assert "woman" not in edits("replace-object", lists, [*man, other], {"person"})


def test_attributes_are_replaced_by_ones_that_exclude_them(lists):
    captions = ["A red bus parked on a road.", "A red bus near a tree."]
    found = edits("replace-attribute", lists, captions)
    assert found["blue"] == "A blue bus parked on a road." and "orange" not in found
    assert "blue" not in edits("replace-attribute", lists, [*captions, "a bus under a blue sky"])
    assert not edits("replace-attribute", lists, [*captions, "two buses on a road"])


def test_counts_need_two_captions_that_agree(lists):
    two = ["Two buses are parked under a tree.", "two buses near a tree"]
    assert edits("replace-attribute", lists, two)["three"] == (
        "Three buses are parked under a tree."
    )
    assert not edits("replace-attribute", lists, two[:1])
    assert not edits("replace-attribute", lists, [*two, "three buses"])


def test_counts_are_left_alone_where_a_caption_leaves_them_open(lists):
    two = ["Two buses are parked under a tree.", "two buses near a tree"]
    assert not edits("replace-attribute", lists, [*two, "several buses"])
    assert not edits("replace-attribute", lists, [*two, *["a tree"] * 3]), "two of five captions"


def test_what_one_caption_alone_says_is_not_replaced(lists):
    """FOIL's rule of salience; an image's only caption is believed."""
    other = "a photo of something"
    for kind, caption, second, new in (
        ("replace-object", "A cat sitting on a chair.", "a cat", "cow"),
        ("replace-attribute", "A red bus parked on a road.", "a red bus", "blue"),
        ("replace-relation", "A cat is on a bench.", "a cat on top of a bench", "under"),
        ("replace-relation", "A cat sitting on a bench.", "a cat sits", "standing"),
    ):
        assert new in edits(kind, lists, [caption]), "the only caption"
        assert new in edits(kind, lists, [caption, second, other]), "two captions agree"
        assert new not in edits(kind, lists, [caption, other]), kind


def test_half_of_the_captions_must_say_what_is_replaced(lists):
    red, other = "A red bus parked on a road.", "a photo of something"
    assert not edits("replace-attribute", lists, [red, "a red bus", *[other] * 3]), "two of five"
    assert edits("replace-attribute", lists, [red, *["a red bus"] * 2, *[other] * 2])


def test_a_posture_that_another_caption_contradicts_is_not_replaced(lists):
    captions = ["A cat sitting on a bench.", "a cat sits", "a cat sitting"]
    assert "standing" in edits("replace-relation", lists, captions)
    assert not edits("replace-relation", lists, [*captions, "a cat is standing there"])
    assert not edits("replace-relation", lists, [*captions, "the face of a cat"]), "partly seen"


def test_captions_that_others_doubt_have_no_negatives(task, made):
    doubted = {
        caption
        for _, rows in task.corpus.captions.group_by("image", maintain_order=True)
        for caption, doubt in zip(rows["id"], disagreements(rows["text"].to_list()), strict=True)
        if doubt
    }
    assert len(doubted) > 20
    assert doubted.isdisjoint(negative.caption for negative in made)


def test_an_attribute_that_another_caption_contradicts_is_not_replaced(lists):
    captions = ["A red bus parked on a road.", "A red bus near a tree."]
    assert not edits("replace-attribute", lists, [*captions, "an orange bus"])


def test_captions_that_are_not_fluent_are_not_used():
    assert is_fluent("A dog on a lawn.")
    assert not is_fluent("A close up of of a cat.") and not is_fluent("A dog sitting on the")


def test_captions_with_a_wrong_article_or_number_are_not_fluent():
    for fluent in ("An old man in an urban area.", "A man and an SUV.", "A women's room, two men."):
        assert is_fluent(fluent), fluent
    for wrong in ("People in a urban area.", "An man sitting.", "A man and a women.", "Two woman."):
        assert not is_fluent(wrong), wrong


def test_the_posture_of_several_is_left_alone(lists):
    one = edits("replace-relation", lists, ["A cat sitting on a bench next to a wall."])
    several = edits("replace-relation", lists, ["Cats sitting on a bench next to a wall."])
    assert "standing" in one
    assert not any(base_of(new) for new in several)


def test_the_colour_of_what_has_another_colour_inside_is_left_alone(lists):
    colours = Counter(
        {(colour, thing): 9 for colour in ("white", "blue") for thing in ("cake", "sink", "vase")}
    )
    counts = replace(lists.counts, attributes=lists.counts.attributes + colours)
    known = WordLists.of("coloured", counts, {})
    assert edits("replace-attribute", known, ["A white vase on a bench."])
    for thing in ("cake", "sink"):
        assert not edits("replace-attribute", known, [f"A white {thing} on a bench."]), thing


def test_who_changes_roles_is_named_by_two_captions(lists):
    own = "A man in a red shirt standing next to a woman."
    assert edits("swap-object", lists, [own])
    assert edits("swap-object", lists, [own, "a man and a woman", "two people"])
    assert not edits("swap-object", lists, [own, "a man standing there", "two people"])


def test_what_one_of_several_people_wears_is_left_alone(lists):
    captions = ["A man in a red shirt holding a bat."]
    assert "blue" in edits("replace-attribute", lists, captions)
    assert not edits("replace-attribute", lists, [*captions, "a man and a woman"])


def test_relations_are_replaced_where_the_corpus_has_them(lists):
    found = edits("replace-relation", lists, ["A cat is on a bench next to a wall."])
    assert found["next to"] == "A cat is next to a bench next to a wall."
    assert found["under"] == "A cat is under a bench next to a wall."
    said = ["A cat is on a bench next to a wall.", "a cat beneath a bench"]
    assert "under" not in edits("replace-relation", lists, said)
    stands = edits("replace-relation", lists, ["A cat sitting on a bench."])
    assert stands["standing"] == "A cat standing on a bench."
    both = ["A cat sitting on a bench.", "it stands there"]
    assert "standing" not in edits("replace-relation", lists, both)


def test_the_sides_of_a_one_way_relation_change_places(lists):
    found = edits("swap-object", lists, ["A red bus parked in front of a blue car."])
    assert found == {"car": "A blue car parked in front of a red bus."}
    assert not edits("swap-object", lists, ["A red bus parked next to a blue car."])
    assert not edits("swap-object", lists, ["A bus and a car on a road."])
    assert not edits("swap-object", lists, ["A cat is in front of a dog."])


def test_those_who_do_different_things_change_roles(lists):
    own = "A man with a bat standing next to a woman in a blue shirt."
    found = edits("swap-object", lists, [own])
    assert found == {"woman": "A woman with a bat standing next to a man in a blue shirt."}
    assert not edits("swap-object", lists, ["A man standing next to a woman."])
    assert not edits("swap-object", lists, [own, "a man in a blue shirt"])
    held = "A man holding a bat {} a woman."
    assert edits("swap-object", lists, [held.format("next to")])
    assert not edits("swap-object", lists, [held.format("for")]), "both may hold it"


def test_attributes_change_places_unless_a_caption_says_so(lists):
    caption = "A red bus parked in front of a blue car."
    found = edits("swap-attribute", lists, [caption])
    assert found == {"blue": "A blue bus parked in front of a red car."}
    assert not edits("swap-attribute", lists, [caption, "a blue bus"])


def test_an_absent_companion_is_added(lists):
    captions = ["A red bus parked on a road.", "a bus near a tree"]
    found = edits("add-object", lists, captions, {"bus", "car"})
    assert found == {"a truck": "A red bus and a truck parked on a road."}
    assert not edits("add-object", lists, ["A bus is parked on a road."], {"bus"})


def test_an_attribute_is_added_that_excludes_what_another_caption_says(lists):
    captions = ["A bus parked next to a tree.", "a red bus"]
    assert edits("add-attribute", lists, captions)["blue"] == "A blue bus parked next to a tree."
    assert not edits("add-attribute", lists, captions[:1])
    assert not edits("add-attribute", lists, ["A bus parked next to a tree is green.", "a red bus"])


def test_a_thing_that_another_caption_has_there_stands_against_one_that_is_not_there(lists):
    captions = ["A cat looking up.", "a black cat sits on a desk", "A cat on a desk."]
    found = pairs("add-object", lists, captions, {"cat", "desk"})
    assert found["a desk", "a bed"] == (
        "A cat on a desk looking up.",
        "A cat on a bed looking up.",
    )
    turned = [text.replace("desk", "bed") for text in captions]
    assert ("a bed", "a desk") in pairs("add-object", lists, turned, {"cat", "bed"})
    # The bed is there; the desk is named already, or in no caption that says where the cat is.
    assert ("a desk", "a bed") not in pairs("add-object", lists, captions, {"cat", "desk", "bed"})
    named = ["A desk.", "A desk on a road."]
    for others in (["A cat looking up on a desk.", *captions[1:]], [captions[0], *named]):
        assert not pairs("add-object", lists, others, {"cat", "desk"})
    assert not pairs("add-object", lists, captions[:2], {"cat", "desk"}), "one person alone says so"


def test_a_detail_is_none_that_readers_take_for_the_other_or_for_another_things(lists):
    chair = ["A cat looking up.", "a black cat sits on a chair", "A cat on a chair."]
    found = pairs("add-object", lists, chair, {"cat", "chair"})
    assert ("a chair", "a bed") not in found, "seats of which people say either"
    # At the end the bed would be where the wall is.
    bed = ["A cat next to a wall.", "a black cat sits on a bed", "A cat on a bed."]
    assert not pairs("add-object", lists, bed, {"cat", "bed"})


def test_people_do_not_get_what_was_said_of_something_else(lists):
    captions = ["A man smiling.", "A man holding a bat on a field.", "A bat."]
    assert ("a bat", "a kite") in pairs("add-object", lists, captions, {"bat"})
    assert not pairs("add-object", lists, ["A man who holds hands.", *captions[1:]], {"bat"})
    woman = ["A man smiling.", "A woman holding a bat on a field.", "a man and a woman", "A bat."]
    for others in (woman, ["Two men smiling.", *captions[1:]]):
        assert not pairs("add-object", lists, others, {"bat"})


def test_an_attribute_of_two_other_captions_stands_against_one_that_excludes_it(lists):
    captions = ["A bus parked next to a tree.", "a red bus", "The red bus on a road."]
    found = pairs("add-attribute", lists, captions)
    assert found["red", "blue"] == (
        "A red bus parked next to a tree.",
        "A blue bus parked next to a tree.",
    )
    turned = [text.replace("red", "blue") for text in captions]
    assert ("blue", "red") in pairs("add-attribute", lists, turned)
    assert not pairs("add-attribute", lists, captions[:2]), "one person alone may see it so"
    misread = "A man in red vest riding bus on street."
    for other in ("a red and white bus", "two red buses", "the bus is red", misread):
        assert not pairs("add-attribute", lists, [captions[0], other, other])
    white = [captions[0], "a white bus", "The white bus on a road."]
    assert ("white", "red") in pairs("add-attribute", lists, white)
    assert not pairs("add-attribute", lists, [*white, "a gray bus"]), "others see it otherwise"
    assert not pairs("add-attribute", lists, ["Buses parked next to a tree.", *captions[1:]])


def test_nothing_is_small_beside_a_caption_that_does_not_say_so(tmp_path):
    sizes = [
        (["bus"], [f"A {size} bus parked on a road.", f"a {size} bus"])
        for size in ("small", "large") * 8
    ]
    corpus = small_corpus(tmp_path, *sizes)
    lists = learn(corpus, parse(corpus.captions["text"].to_list()))
    captions = ["A bus parked next to a tree.", "a small bus", "The small bus parked on a road."]
    contrary = [found[1:3] for found in contrary_attributes(context_of(lists, captions))]
    assert ("small", "large") in contrary
    assert not pairs("add-attribute", lists, captions)


def test_what_an_attribute_is_made_of_says_it_as_well(lists):
    captions = ["A cup on a table.", "A white cup.", "a cup of wood"]
    assert "wooden" not in edits("add-attribute", lists, captions)


# --- all of it -----------------------------------------------------------------------------------


def test_all_kinds_come_out_and_pass_the_check_of_all(task, made):
    parses = dict(zip(task.corpus.captions["id"], task.parses, strict=True))
    kinds = Counter(negative.kind for negative in made)
    assert set(kinds) == set(KINDS)
    for negative in made:
        assert problem_of(parses[negative.caption], alike(negative.text), negative.kind) is None


def test_neither_caption_of_the_add_kinds_is_told_by_its_length(task, lists):
    method = NegativesOptions(kinds=("add-object", "add-attribute"), per_caption=8)
    found = make(replace(task, method=method), lists).negatives
    texts = dict(zip(task.corpus.captions["id"], task.corpus.captions["text"], strict=True))
    assert {negative.kind for negative in found} == set(method.kinds)
    for negative in found:
        words, others = negative.original.split(), negative.text.split()
        assert len(words) == len(others) and abs(len(negative.was) - len(negative.now)) <= 3
        assert negative.notes == {
            "detail": "true against false",
            "caption": texts[negative.caption],
        }
    told = Counter((negative.was, negative.now) for negative in found)
    both_ways = sum(n for (was, now), n in told.items() if (now, was) in told)
    assert both_ways > 0.75 * sum(told.values())


def test_a_language_model_is_asked_for_false_details_alone(task):
    assert task.details == "both"
    assert replace(task, method=NegativesOptions(by="llm:hf:some")).details == "added"


def test_details_can_be_added_as_sugarcrepe_does(task, lists):
    method = NegativesOptions(kinds=("add-object", "add-attribute"), details="added")
    found = make(replace(task, method=method), lists).negatives
    texts = dict(zip(task.corpus.captions["id"], task.corpus.captions["text"], strict=True))
    assert {negative.kind for negative in found} == set(method.kinds)
    for negative in found:
        assert (negative.original, negative.was) == (texts[negative.caption], "")
        assert len(negative.text) > len(negative.original) and not negative.notes


def test_no_object_is_put_in_that_the_image_shows_or_a_caption_names(corpus, made):
    for negative in made:
        if negative.kind in ("replace-object", "add-object"):
            noun = negative.now.removeprefix("a ").removeprefix("an ")
            assert noun not in (corpus.objects(negative.image) or ())
            words = {w for text in corpus.texts_by_image[negative.image] for w in tokens(text)}
            assert not {noun, f"{noun}s"} & words


def test_no_attribute_is_put_in_that_a_caption_has(corpus, made):
    for negative in made:
        if negative.kind in ("replace-attribute", "add-attribute"):
            words = {w for text in corpus.texts_by_image[negative.image] for w in tokens(text)}
            assert negative.now not in words


def test_captions_in_another_order_get_the_same_negatives(task, lists, made):
    turned = task.corpus.captions.reverse()
    corpus = Corpus("small", task.corpus.root, task.corpus.images, turned)
    again = make(
        NegativesTask(corpus, parse(turned["text"].to_list()), NegativesOptions(), 3), lists
    )
    assert sorted(map(repr, again.negatives)) == sorted(map(repr, made))


def test_edits_are_drawn_by_their_weights():
    choice = [Edit((), "", "often", 3.0), Edit((), "", "seldom", 1.0)]
    first = Counter(next(drawn(choice, 0, k)).now for k in range(2000))
    assert first["often"] == pytest.approx(1500, abs=100)
    for k in range(20):
        assert sorted(edit.now for edit in drawn(choice, 0, k)) == ["often", "seldom"]


def test_every_caption_is_accounted_for(task, lists):
    told = make(task, lists)
    captions = defaultdict(set)
    for negative in told.negatives:
        captions[negative.kind].add(negative.caption)
    for kind in KINDS:
        without = sum(n for (of, _), n in told.refused.items() if of == kind)
        assert len(captions[kind]) + without == task.corpus.captions.height


# --- against a known truth -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn_world(tmp_path_factory) -> Corpus:
    """Enough pictures for the rules to learn the world's words."""
    return ta.world(tmp_path_factory.mktemp("world") / "world", scenes=120, seed=5)


def test_by_the_truth_of_the_world_every_negative_is_false_of_its_picture(drawn_world):
    """The rules see captions and objects, the oracle sees the scene that was drawn.

    Its reader knows no number above four.
    """
    parses = parse(drawn_world.captions["text"].to_list())
    found = make(NegativesTask(drawn_world, parses, NegativesOptions(), seed=1)).negatives
    found = [n for n in found if n.now not in ("five", "six")]
    kinds = Counter(negative.kind for negative in found)
    assert set(kinds) >= {"replace-object", "replace-attribute", "swap-attribute", "add-attribute"}
    oracle = load("oracle")
    for negative in found:
        picture = drawn_world.picture(negative.image)
        true, false = oracle.score_pairs([picture, picture], [negative.original, negative.text])
        assert true > 0.5 > false, negative
