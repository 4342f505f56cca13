"""Every question type keeps one contract; then what is particular to each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations

import pytest
from tests.conftest import grid_item

from tellapart.errors import BadInput
from tellapart.items import Item, Origin, Slot
from tellapart.study import questions
from tellapart.study.questions.page import (
    draw_order,
    is_right,
    pieces,
    read_answer,
    view,
    word_spans,
)
from tellapart.study.questions.question import (
    Following,
    KeptTask,
    Matter,
    PersonAnswer,
    QuestionType,
    Truth,
)

NAMES = questions.types.names()


def shapes() -> Iterator[Item]:
    yield grid_item("bison", 2, 1, {(1, 0)})
    yield grid_item("bivlc", 2, 2, {(0, 0), (1, 1)}, original=(0, 0))
    yield grid_item("mcic", 1, 5, {(0, 3)})
    yield grid_item("pair", 2, 5, {(0, j) for j in range(5)}, original=(0, 0))
    yield grid_item("four", 4, 1, set())
    yield grid_item("candidates", 5, 2, {(0, 0)}, original=(0, 0))
    yield foil_item()


def foil_item() -> Item:
    captions = ("A dog on a couch.", "A cat on a couch.")
    return Item.imported(
        "test", "foil", images=("i0",), captions=captions, true=frozenset({(0, 0)}), kind="x",
        origin=Origin("test"), slot=Slot(1, 2, 5, "dog", "cat"),
    )  # fmt: skip


def matters_of(question: QuestionType) -> list[Matter]:
    return [matter for item in shapes() for matter in question.matters(item)]


def only(name: str, item: Item) -> list[Matter]:
    return list(questions.types.get(name).matters(item))


@pytest.mark.parametrize("name", NAMES)
def test_every_type_says_what_it_is(name):
    question = questions.types.get(name)
    assert question.name == name and question.about and question.needs
    assert len(question.instructions) > 100 and question.examples
    assert questions.types.describe(name) == question.about


@pytest.mark.parametrize("name", NAMES)
def test_every_type_asks_something_and_stores_it_whole(name):
    matters = matters_of(questions.types.get(name))
    assert matters
    for matter in matters:
        assert Matter.from_json(json.loads(json.dumps(matter.to_json()))) == matter
    keys = [matter.key for matter in matters]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_can_be_chosen_in_every_order_and_means_the_same(name):
    question = questions.types.get(name)
    for matter in matters_of(question):
        form = question.form(matter)
        keys = {option.key for option in (*form.options, *form.fixed)}
        for order in map(list, list(permutations(range(len(form.options))))[:6]):
            shown = view(question, matter, order, str)["options"]
            values = [option["value"] for option in shown]
            assert len(set(values)) == len(values)
            meant = [_answer(question, matter, order, value).choice for value in values]
            assert set(meant) == keys
            for option, key in zip(shown, meant, strict=True):
                own = next(o for o in (*form.options, *form.fixed) if o.key == key)
                assert option["text"] == own.text
                assert option["image"] == (None if own.image is None else str(own.image))


def _answer(question: QuestionType, matter: Matter, order: list[int], value: str) -> PersonAnswer:
    asked = question.form(matter).word
    return read_answer(question, matter, order, value, 0 if asked and asked.when == value else None)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_never_tells_the_item_the_images_or_the_truth(name):
    question = questions.types.get(name)
    for matter in matters_of(question):
        order = draw_order(question.form(matter), 0, "someone")
        told = json.dumps(view(question, matter, order, "/x/{}".format))
        assert matter.item not in told and "truth" not in told
        assert not any(image in told for image in matter.images if len(image) > 2)


@pytest.mark.parametrize("name", NAMES)
def test_a_truth_is_one_of_the_answers(name):
    question = questions.types.get(name)
    for matter in matters_of(question):
        if matter.truth is None:
            continue
        form = question.form(matter)
        assert matter.truth.choices <= {option.key for option in (*form.options, *form.fixed)}
        word = min(matter.truth.words, default=None)
        assert is_right(matter, PersonAnswer(min(matter.truth.choices), word)) is True


@pytest.mark.parametrize("value", ["0", "9", "", "1 ", "nothing", "-1", "1.0", "ⅷ", "x" * 10_000])
@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_was_not_offered_is_refused(name, value):
    question = questions.types.get(name)
    matter = matters_of(question)[0]
    order = draw_order(question.form(matter), 0, 1)
    with pytest.raises(BadInput, match="no option"):
        read_answer(question, matter, order, value, None)


def test_which_image_knows_first_second_both_and_neither():
    truths = {
        frozenset({(0, 0)}): "0",
        frozenset({(1, 0)}): "1",
        frozenset({(0, 0), (1, 0)}): "both",
        frozenset(): "neither",
    }
    for true, key in truths.items():
        (matter,) = only("which-image", grid_item("x", 2, 1, set(true)))
        assert matter.truth == Truth(frozenset({key}))


def test_picking_shows_the_target_first_whichever_place_it_has_in_the_item():
    item = grid_item("x", 2, 3, {(1, 0), (1, 2)}, original=(1, 0))
    (matter,) = only("pick-caption", item)
    assert matter.images == ("x-i1", "x-i0") and matter.truth is None
    assert matter.captions == ("caption 0 of x", "caption 2 of x")
    (following,) = questions.types.get("which-image").follow(matter, "1")
    assert following.captions == ("caption 2 of x",) and following.images == matter.images
    assert following.truth == Truth(frozenset({"0"}))


def test_the_foil_word_is_known_by_its_place():
    right, wrong = only("foil", foil_item())
    assert right.truth == Truth(frozenset({"right"}))
    assert wrong.truth == Truth(frozenset({"wrong"}), frozenset({1}))
    question = questions.types.get("foil")
    assert is_right(wrong, read_answer(question, wrong, [], "wrong", 1))
    assert not is_right(wrong, read_answer(question, wrong, [], "wrong", 2))
    assert not is_right(wrong, read_answer(question, wrong, [], "right", None))
    for value, word in (("wrong", None), ("wrong", 5), ("wrong", -1), ("right", 1)):
        with pytest.raises(BadInput):
            read_answer(question, wrong, [], value, word)


def test_the_best_of_four_leads_to_the_original_against_the_chosen_one():
    (matter,) = only("best-image", grid_item("x", 5, 2, {(0, 0)}, original=(0, 0)))
    form = questions.types.get("best-image").form(matter)
    assert [option.image for option in form.options] == [0, 1, 2, 3]
    assert form.shown[0].text == "caption 1 of x"
    (following,) = questions.types.get("first-second-both").follow(matter, "2")
    assert following.images == ("x-i0", "x-i3") and following.captions == ("caption 0 of x",)
    assert not only("best-image", grid_item("x", 3, 2, {(0, 0)})), "no original, no edited caption"
    assert not only("best-image", grid_item("x", 2, 2, {(0, 0)}, original=(0, 0)))
    (plain,) = only("best-image", grid_item("y", 4, 1, set()))
    assert len(questions.types.get("best-image").form(plain).options) == 4
    assert not list(questions.types.get("first-second-both").follow(plain, "2"))


def test_a_question_about_two_images_is_asked_of_no_other_number():
    for images in (1, 3):
        item = grid_item("x", images, 2, {(0, 0)}, original=(0, 0))
        assert not only("first-second-both", item) and not only("pick-caption", item)


def test_what_people_see_beside_the_options_is_what_it_is_called():
    def shown(name: str, item: Item) -> list[tuple[str, int | None, str]]:
        matter = only(name, item)[0]
        form = questions.types.get(name).form(matter)
        return [(part.label, part.image, part.text) for part in form.shown]

    pair = grid_item("x", 2, 3, {(0, 0), (0, 2)}, original=(0, 0))
    assert shown("pick-caption", pair) == [("Target", 0, ""), ("The other picture", 1, "")]
    one = grid_item("y", 1, 2, {(0, 0)})
    assert shown("rate-correctness", one) == [
        ("Picture", 0, ""), ("Caption", None, "caption 0 of y"),
    ]  # fmt: skip
    assert shown("choose-caption", grid_item("z", 2, 2, {(0, 0)})) == [("Picture", 0, "")]
    assert shown("foil", foil_item()) == [
        ("Picture", 0, ""), ("Caption", None, "A dog on a couch."),
    ]  # fmt: skip


def test_a_persons_verdict_is_a_models_yes_or_no():
    question = questions.types.get("foil")
    assert [question.model_option(one) for one in ("right", "wrong", "?")] == [0, 1, None]


def test_bivlc_filters_by_the_original_caption():
    (matter,) = only("first-second-both", grid_item("x", 2, 2, {(0, 0), (1, 1)}, original=(1, 1)))
    assert matter.captions == ("caption 1 of x",) and matter.truth == Truth(frozenset({"1"}))


def test_baselines_ask_what_runs_ask():
    item = grid_item("x", 2, 2, {(0, 0), (1, 1)})
    asked = [m.question for name in ("choose-caption", "choose-image") for m in only(name, item)]
    assert asked == ["caption@0", "caption@1", "image@0", "image@1"]
    assert not only("best-of-five", item)
    (best,) = only("best-of-five", grid_item("y", 1, 5, {(0, 3)}))
    assert best.question == "caption@0" and best.truth == Truth(frozenset({"3"}))


def test_detail_is_rated_without_the_image():
    for matter in only("rate-detail", grid_item("x", 2, 2, {(0, 0)})):
        assert not matter.images and "image" not in str(matter.to_json()["captions"])


def test_only_types_that_follow_can_be_later_stages():
    following = {name for name in NAMES if isinstance(questions.types.get(name), Following)}
    assert following == {"which-image", "first-second-both"}


def test_pieces_put_together_are_the_text():
    for text in ("A dog's toy.", "", "...", "Ein süßer Hund – “wirklich”!", "a  b\n", "日本 の"):
        assert "".join(piece for piece, _ in pieces(text)) == text
        assert len([place for _, place in pieces(text) if place is not None]) == len(
            word_spans(text)
        )


def test_orders_are_drawn_by_seed_and_use_every_place():
    question = questions.types.get("best-of-five")
    (matter,) = only("best-of-five", grid_item("y", 1, 5, {(0, 3)}))
    form = question.form(matter)
    assert draw_order(form, 3, "a") == draw_order(form, 3, "a") != draw_order(form, 4, "a")
    places = {draw_order(form, 0, person).index(3) for person in range(60)}
    assert places == {0, 1, 2, 3, 4}


def test_a_verified_square_is_shuffled_and_keeps_its_pairs():
    source = grid_item("x", 2, 2, {(0, 0), (1, 1)}, original=(0, 0))
    matter = Matter("x", "best-image", ("made", "photo"), ("negative", "positive"))
    places = set()
    for seed in range(20):
        kept = KeptTask(matter, "0", source, Origin("test"), seed)
        item = questions.types.get("best-image").make_item(kept)
        places.add(item.original)
        assert {(item.images[i], item.captions[j]) for i, j in item.true} == {
            ("photo", "positive"),
            ("made", "negative"),
        }
        i, j = item.original
        assert (item.images[i], item.captions[j]) == ("photo", "positive")
    assert len(places) == 4
