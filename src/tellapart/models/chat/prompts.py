"""What a chat model is asked, in our own words: one wording for each sort of question."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from string import ascii_uppercase

from tellapart import seeds
from tellapart.models.model import Asked
from tellapart.pictures import Picture
from tellapart.questions import Ask

LETTER = "Reply with the letter alone."
WORDING = {
    Ask.CAPTION: "Look closely at this picture. Exactly which of these captions is true of it?",
    Ask.IMAGE: 'Look closely at these pictures. Of which one is this caption true: "{caption}"',
    Ask.JUDGE: 'Look closely at this picture. Is every word of this caption true of it: "{caption}"'
    " Reply with yes or no alone.",
    Ask.NOUN: 'Look closely at this picture. One noun of this caption is wrong: "{caption}"'
    " Which noun is it?",
    Ask.WORD: 'Look closely at this picture. One word of this caption is wrong: "{caption}"'
    " Which word is it?",
    Ask.MEND: 'Look closely at this picture. In the caption "{caption}" the word "{foil}" is wrong.'
    " Which word belongs in its place?",
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """Texts and pictures in the order in which they are sent, and what may be replied.

    `answers` are letters (or yes and no) in the order of the options as shown; `options` is what
    stands behind each.
    """

    parts: tuple[str | Picture, ...]
    answers: tuple[str, ...]
    options: tuple[str, ...]


def prompt_of(asked: Asked) -> Prompt:
    """The prompt of a question, its options lettered in the order in which they are shown."""
    question, item = asked.question, asked.item
    caption = item.captions[question.caption] if question.caption >= 0 else ""
    foil = item.slot.foil if item.slot is not None else ""
    text = WORDING[question.ask].replace("{caption}", caption).replace("{foil}", foil)
    if question.ask is Ask.JUDGE:
        answers = tuple(str(question.options[k]) for k in asked.order)
        return Prompt((text, asked.pictures[question.image]), answers, answers)
    answers = letters(len(asked.order))
    if question.ask is Ask.IMAGE:
        shown = [asked.pictures[int(question.options[k])] for k in asked.order]
        pictures = [
            part
            for letter, picture in zip(answers, shown, strict=True)
            for part in (f"Picture {letter}:", picture)
        ]
        return Prompt((text, *pictures, LETTER), answers, ("",) * len(answers))
    options = option_texts(asked)
    lines = [f"{letter}. {option}" for letter, option in zip(answers, options, strict=True)]
    asks = "\n".join([text, *lines, LETTER])
    return Prompt((asked.pictures[question.image], asks), answers, options)


def option_texts(asked: Asked) -> tuple[str, ...]:
    """The options as shown; a word that a caption has twice is numbered."""
    question, item = asked.question, asked.item
    if question.ask is Ask.CAPTION:
        return tuple(item.captions[int(question.options[k])] for k in asked.order)
    if question.ask is Ask.MEND:
        return tuple(str(question.options[k]) for k in asked.order)
    assert item.slot is not None
    caption, words = item.captions[item.slot.caption], item.slot.words
    spelled = [caption[words[int(o)].start : words[int(o)].end] for o in question.options]
    twice = {word for word, count in Counter(spelled).items() if count > 1}
    numbered = [
        f"{word} (number {spelled[: k + 1].count(word)})" if word in twice else word
        for k, word in enumerate(spelled)
    ]
    return tuple(numbered[k] for k in asked.order)


def letters(count: int) -> tuple[str, ...]:
    """A, B, ... Z, AA, AB, ...

    >>> letters(3), letters(28)[-2:]
    (('A', 'B', 'C'), ('AA', 'AB'))
    """
    singles = list(ascii_uppercase)
    return tuple((singles + [a + b for a in singles for b in singles])[:count])


def wording() -> str:
    """The hash of all that is said, for the run."""
    return seeds.digest({str(ask): text for ask, text in WORDING.items()}, LETTER)
