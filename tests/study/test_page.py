"""Questions on a page, word by word: what is shown, what an answer means, the shares."""

from __future__ import annotations

import pytest
from tests.conftest import grid_item

from tellapart.errors import BadInput
from tellapart.items import Item, Origin, Slot, Word
from tellapart.questions import Ask
from tellapart.questions import questions as asked
from tellapart.study.questions.page import is_right, read_answer, shown_value, view
from tellapart.study.questions.question import (
    RULES,
    JudgedTask,
    Judgement,
    Matter,
    Option,
    PersonAnswer,
    QuestionType,
    ShownPart,
    TaskForm,
    Truth,
    WordAsked,
    numbered,
    right_shares,
    rules_for,
    which_picture,
)


class Odd(QuestionType):
    """Three pictures, a fixed answer, and a word to point at for whoever says so."""

    name, about, layout = "odd", "which is the odd one", "scale"

    def form(self, matter: Matter) -> TaskForm:
        return TaskForm(
            "Which is it?", (ShownPart("Caption", matter.captions[0]), ShownPart("Photo", image=3)),
            numbered(images=3), (Option("none", "None of them"),), ("left", "middle", "right"),
            WordAsked("none", "Which word?", "A cat's toy."),
        )  # fmt: skip


MATTER = Matter("item", "q", ("a", "b", "c", "d"), ("A cat's toy.",), Truth(frozenset({"1"})))


def test_a_page_shows_options_by_place_and_the_rest_as_it_is():
    told = view(Odd(), MATTER, [2, 0, 1], "/{}".format)
    assert told == {
        "type": "odd",
        "prompt": "Which is it?",
        "shown": [
            {"label": "Caption", "text": "A cat's toy.", "image": None},
            {"label": "Photo", "text": "", "image": "/3"},
        ],
        "options": [
            {"value": "1", "label": "left", "text": "", "image": "/2", "fixed": False},
            {"value": "2", "label": "middle", "text": "", "image": "/0", "fixed": False},
            {"value": "3", "label": "right", "text": "", "image": "/1", "fixed": False},
            {"value": "none", "label": "None of them", "text": "", "image": None, "fixed": True},
        ],
        "word": {
            "when": "none", "prompt": "Which word?", "hint": "Now point at the word.",
            "pieces": [
                {"text": "A", "word": 0}, {"text": " ", "word": None},
                {"text": "cat's", "word": 1}, {"text": " ", "word": None},
                {"text": "toy", "word": 2}, {"text": ".", "word": None},
            ],
        },
        "layout": "scale",
    }  # fmt: skip


@pytest.mark.parametrize(("check", "name"), [("2", "left"), ("none", "None of them")])
def test_a_check_names_the_option_as_the_page_does(check, name):
    matter = Matter("item", "q", MATTER.images, MATTER.captions, check=check)
    prompt = view(Odd(), matter, [2, 0, 1], str)["prompt"]
    assert prompt == f"This one checks that you are reading: please choose “{name}”."
    assert is_right(matter, PersonAnswer(check)) is True
    assert is_right(matter, PersonAnswer("0")) is False


def test_an_answer_is_read_in_the_order_of_its_page():
    for value, key in (("1", "2"), ("2", "0"), ("3", "1")):
        assert read_answer(Odd(), MATTER, [2, 0, 1], value, None) == PersonAnswer(key)
        assert shown_value(Odd().form(MATTER), [2, 0, 1], key) == value
    assert read_answer(Odd(), MATTER, [2, 0, 1], "none", 2) == PersonAnswer("none", 2)
    assert read_answer(Odd(), MATTER, [2, 0, 1], "none", 0) == PersonAnswer("none", 0)
    for word in (None, -1, 3):
        with pytest.raises(BadInput, match="is not the number of a word") as caught:
            read_answer(Odd(), MATTER, [2, 0, 1], "none", word)
        assert caught.value.allowed == "0 to 2"
    with pytest.raises(BadInput, match="does not ask for a word"):
        read_answer(Odd(), MATTER, [2, 0, 1], "1", 0)
    with pytest.raises(BadInput) as caught:
        read_answer(Odd(), MATTER, [2, 0, 1], "x" * 90, None)
    assert "x" * 40 in str(caught.value) and "x" * 41 not in str(caught.value)
    assert caught.value.allowed == "1, 2, 3, none"


def test_a_truth_with_words_wants_the_word_where_one_is_given():
    words = Truth(frozenset({"wrong"}), frozenset({3}))
    assert words.fits(PersonAnswer("wrong", 3)) and not words.fits(PersonAnswer("wrong", 2))
    assert words.fits(PersonAnswer("wrong")) and not words.fits(PersonAnswer("right", 3))
    assert Truth(frozenset({"a"})).fits(PersonAnswer("a", 7))
    assert is_right(Matter("i", "q", (), ()), PersonAnswer("a")) is None


def judged(number: int, *choices: str, truth: Truth | None = Truth(frozenset({"0"}))):  # noqa: B008
    judgements = tuple(Judgement(f"p{k}", one, None, ()) for k, one in enumerate(choices))
    matter = Matter(f"i{number}", "q", (), (), truth)
    return JudgedTask(number, None, "s", "a", matter, "closed", True, None, judgements)


def test_rules_count_a_task_as_right():
    got = {name: [rule([True] * k + [False] * (4 - k)) for k in range(5)]
           for name, rule in RULES.items()}  # fmt: skip
    assert got == {
        "majority": [False, False, False, True, True],
        "unanimity": [False, False, False, False, True],
        "at least one": [False, True, True, True, True],
    }


def test_rules_have_a_meaning_only_where_several_answered_and_all_alike():
    assert rules_for([judged(0, "0"), judged(1, "1")]) == [] == rules_for([])
    assert rules_for([judged(0, "0", "1")]) == ["majority", "unanimity", "at least one"]
    assert rules_for([judged(0, "0", "1"), judged(1, "0", "1", "1")]) == ["majority"]


def test_shares_of_right_answers_leave_out_what_nobody_knows():
    tasks = [judged(0, "0", "1"), judged(1, "0", "0"), judged(2, "0", "0", truth=None)]
    shares = {one.how: [right for _, right in one.rows] for one in right_shares("all", tasks)}
    assert shares == {
        "each answer": [True, False, True, True], "majority": [False, True],
        "unanimity": [False, True], "at least one": [True, True],
    }  # fmt: skip
    assert [task.id for task, _ in next(iter(right_shares("all", tasks))).rows] == [0, 0, 1, 1]
    assert list(right_shares("all", tasks[2:])) == []
    assert not tasks[2].right(tasks[2].judgements[0])


def test_a_word_is_pointed_at_rightly_only_with_the_right_choice():
    task = judged(0, "0", truth=Truth(frozenset({"0"}), frozenset({1})))
    assert task.points_right(Judgement("p", "0", 1, ()))
    assert not task.points_right(Judgement("p", "0", 2, ()))
    assert not task.points_right(Judgement("p", "1", 1, ()))
    assert not judged(0, "0", truth=None).points_right(Judgement("p", "0", 1, ()))


def test_pictures_are_as_many_as_their_places_or_all():
    matter = Matter("i", "q", ("a", "b", "c"), ("caption",))
    assert [one.image for one in which_picture(matter).options] == [0, 1, 2]
    two = which_picture(matter, Option("both"), places=("first", "second"))
    assert [one.image for one in two.options] == [0, 1] and two.fixed[0].key == "both"
    assert [(one.key, one.text) for one in numbered(captions=("x", "y"))] == [
        ("0", "x"),
        ("1", "y"),
    ]
    assert Odd().model_option("12") == 12 and Odd().model_option("none") is None
    assert Odd().block(matter) == 0
    for not_given in (lambda: Odd().matters(grid_item("x", 1, 1, set())),
                      lambda: QuestionType().form(matter)):  # fmt: skip
        with pytest.raises(NotImplementedError):
            not_given()


def slotted(true: set[tuple[int, int]]) -> Item:
    words = (Word(2, 5, True), Word(6, 10, False), Word(11, 14, True))
    slot = Slot(1, 2, 5, "dog", "cat", words=words, candidates=("cow", "dog", "owl"))
    return Item.imported(
        "test", "x", images=("i", "j"), captions=("A dog sees you.", "A cat sees you."),
        true=frozenset(true), kind="k", origin=Origin("test"), slot=slot,
    )  # fmt: skip


def test_every_question_of_a_foil_has_its_options_and_the_right_ones():
    every = frozenset(Ask)
    found = {one.id: (one.options, set(one.right)) for one in asked(slotted({(0, 0)}), every)}
    assert found == {
        "caption@0": ((0, 1), {0}),
        "image@0": ((0, 1), {0}),
        "judge@0,0": (("yes", "no"), {0}),
        "judge@0,1": (("yes", "no"), {1}),
        "judge@1,0": (("yes", "no"), {1}),
        "judge@1,1": (("yes", "no"), {1}),
        "noun@0,1": ((0, 2), {0}),
        "noun@1,1": ((0, 2), {0}),
        "word@0,1": ((0, 1, 2), {0}),
        "word@1,1": ((0, 1, 2), {0}),
        "mend@0,1": (("cow", "dog", "owl"), {1}),
        "mend@1,1": (("cow", "dog", "owl"), {1}),
    }
    second = asked(slotted({(0, 0), (1, 1)}), frozenset({Ask.MEND, Ask.NOUN}))
    assert [one.id for one in second] == ["noun@0,1", "mend@0,1"], "not where the foil is true"
    assert [one.id for one in asked(grid_item("y", 1, 2, {(0, 0)}), every)] == [
        "caption@0", "judge@0,0", "judge@0,1",
    ]  # fmt: skip
    assert list(asked(slotted({(0, 0)}), frozenset())) == []
