"""A question on the page: a task as one person sees it, and the meaning of their answer.

The order of options is drawn for each person. People may have to point at a word of a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.study.questions.question import (
    Matter,
    Option,
    PersonAnswer,
    QuestionType,
    ShownPart,
    TaskForm,
)

WORD = re.compile(r"\w+(?:['’-]\w+)*")
PictureAddress = Callable[[int], str]
"""Maps a picture's index in the matter to the address that the page loads it from."""


def draw_order(form: TaskForm, seed: int, *path: Any) -> list[int]:
    """A random order of the options that are not fixed."""
    places = range(len(form.options))
    return sorted(places, key=lambda place: seeds.unit(seed, "options", *path, place))


def view(
    question: QuestionType, matter: Matter, order: list[int], source: PictureAddress
) -> dict[str, Any]:
    """What the page receives: texts, addresses of pictures, options in order; never the truth.

    Options are named by their position ("1", "2", ...), so that names reveal nothing; fixed options
    have names of their own.
    """
    form = question.form(matter)
    options = _in_order(form, order)
    prompt = form.prompt
    if matter.check:
        name, label = next((n, lab) for n, lab, option, _ in options if option.key == matter.check)
        prompt = f"This one checks that you are reading: please choose “{label or name}”."

    def content(part: ShownPart | Option) -> dict[str, str | None]:
        return {"text": part.text, "image": None if part.image is None else source(part.image)}

    return {
        "type": question.name,
        "prompt": prompt,
        "shown": [{"label": part.label, **content(part)} for part in form.shown],
        "options": [
            {"value": value, "label": label, **content(option), "fixed": fixed}
            for value, label, option, fixed in options
        ],
        "word": _word_view(form),
        **({"layout": question.layout} if question.layout else {}),
    }


def read_answer(
    question: QuestionType, matter: Matter, order: list[int], value: str, word: int | None
) -> PersonAnswer:
    """A person's choice in terms of the matter's keys; raises `BadInput` if it is invalid."""
    form = question.form(matter)
    named = {name: option.key for name, _, option, _ in _in_order(form, order)}
    if value not in named:
        raise BadInput(f"there is no option {value[:40]!r}", allowed=", ".join(named))
    key = named[value]
    if form.word is None or form.word.when != key:
        if word is not None:
            raise BadInput("this choice does not ask for a word", allowed="no word")
        return PersonAnswer(key)
    words = len(word_spans(form.word.text))
    if word is None or not 0 <= word < words:
        raise BadInput(f"{word!r} is not the number of a word", allowed=f"0 to {words - 1}")
    return PersonAnswer(key, word)


def shown_value(form: TaskForm, order: list[int], key: str) -> str:
    """The name that the option with this key had on a person's page."""
    return next(name for name, _, option, _ in _in_order(form, order) if option.key == key)


def is_right(matter: Matter, answer: PersonAnswer) -> bool | None:
    """Whether an answer is right; None if the truth is unknown."""
    if matter.check:
        return answer.choice == matter.check
    return matter.truth.fits(answer) if matter.truth is not None else None


def _in_order(form: TaskForm, order: list[int]) -> list[tuple[str, str, Option, bool]]:
    """(name, label, option, fixed) in the page's order."""
    moving = [
        (str(place + 1), form.places[place] if form.places else "", form.options[k], False)
        for place, k in enumerate(order)
    ]
    return moving + [(option.key, option.label, option, True) for option in form.fixed]


def _word_view(form: TaskForm) -> dict[str, Any] | None:
    asked = form.word
    if asked is None:
        return None
    return {
        "when": asked.when,
        "prompt": asked.prompt,
        "hint": asked.hint,
        "pieces": [{"text": text, "word": place} for text, place in pieces(asked.text)],
    }


def word_spans(text: str) -> list[tuple[int, int]]:
    """The positions of the words in a text; a person's answer is an index into this list.

    >>> word_spans("A dog's toy.")
    [(0, 1), (2, 7), (8, 11)]
    """
    return [match.span() for match in WORD.finditer(text)]


def pieces(text: str) -> Iterator[tuple[str, int | None]]:
    """The text split into words with their indices, and what is between them with None.

    The page gets pieces, not offsets, because browsers count characters differently from Python.

    >>> list(pieces("A dog."))
    [('A', 0), (' ', None), ('dog', 1), ('.', None)]
    """
    end = 0
    for place, (start, stop) in enumerate(word_spans(text)):
        if start > end:
            yield text[end:start], None
        yield text[start:stop], place
        end = stop
    if end < len(text):
        yield text[end:], None
