"""The grammar: a statement becomes a sentence, in a style."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.corpus.world.lexicon import BACKGROUNDS, COUNTS, RELATIONS, SIZE_WORDS, noun
from tellapart.corpus.world.statement import Mention, OnlyClause, Statement
from tellapart.text.inflect import article

FORMS = ("plain", "there", "verb", "seen", "picture", "place-first")
PICTURES = ("picture", "drawing", "view")


@dataclass(frozen=True, slots=True)
class Style:
    """Every choice of words that carries no content.

    A caption and its near miss are written in one style, so that they differ in content alone.
    """

    form: str = "plain"
    words: int = 0
    synonyms: bool = False
    with_word: bool = False

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Style:
        """A style at random."""
        return cls(
            form=str(rng.choice(FORMS, p=(0.3, 0.14, 0.18, 0.1, 0.1, 0.18))),
            words=int(rng.integers(1_000)),
            synonyms=bool(rng.random() < 0.2),
            with_word=bool(rng.random() < 0.5),
        )

    def pick(self, options: tuple[str, ...], what: int) -> str:
        """One of some wordings; `what` makes the choices for different things independent."""
        first_is_usual = (self.words // (what + 1)) % 3 < 2
        return options[0] if first_is_usual else options[(self.words // 7 + what) % len(options)]


def sentence(statement: Statement, style: Style) -> str:
    """The caption.

    >>> dog, cat = Mention("dog", 1, "red"), Mention("cat", 2)
    >>> sentence(Statement((dog, cat), ((0, "left", 1),), "meadow"), Style("verb", words=1))
    'A red dog is to the left of two cats in a meadow.'
    """
    phrases = [noun_phrase(mention, style) for mention in statement.mentions]
    related, extra = _related(statement, phrases, style)
    place = style.pick(BACKGROUNDS[statement.background], 5) if statement.background else ""
    frame = _Frame(phrases[0], related, extra, place, several=_several(statement, style))
    if statement.exhaustive:
        text = frame.exhaustive(("just", "only")[style.words % 2], style.form == "place-first")
    else:
        text = frame.filled(style)
    if statement.only:
        text += _only_clause(statement.only, statement.mentions, style)
    return text[0].upper() + text[1:] + "."


def _several(statement: Statement, style: Style) -> bool:
    """Whether the verb is "are": for "there is a dog and a cat" the first noun decides."""
    first_is_one = (statement.mentions[0].count or 1) == 1
    listed = len(statement.mentions) > 1 and not statement.relations
    return not first_is_one or (listed and style.form not in ("there", "place-first"))


def noun_phrase(mention: Mention, style: Style) -> str:
    """Such as "a big red dog" or "three cats"."""
    count = mention.count or 1
    size = style.pick(SIZE_WORDS[mention.size], 2) if mention.size else ""
    name = noun(mention.category or "thing", count, int(style.synonyms))
    described = " ".join(word for word in (size, mention.colour or "", name) if word)
    number = COUNTS[count][0] if style.words % 4 else COUNTS[count][-1]
    if number == "a":
        number = article(described)
    return f"{number} {described}"


def _related(statement: Statement, phrases: list[str], style: Style) -> tuple[str, str]:
    """The relation with its second phrase, and what is mentioned beside."""
    if not statement.relations:
        return "", _list(phrases[1:])
    _, relation, _ = statement.relations[0]
    wording = style.pick(RELATIONS[relation], 4)
    joiner = ", with " if style.with_word and not statement.exhaustive else " and "
    extra = "".join(joiner + phrase for phrase in phrases[2:])
    return f" {wording} {phrases[1]}", extra


def _list(phrases: list[str]) -> str:
    """The rest of an enumeration: " and a cat", ", a cat and a ball"."""
    return "".join(", " + phrase for phrase in phrases[:-1]) + (
        f" and {phrases[-1]}" if phrases else ""
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """The parts of a sentence, and the ways to put them together."""

    subject: str
    related: str
    extra: str
    place: str
    several: bool

    @property
    def body(self) -> str:
        return self.subject + self.related + self.extra

    @property
    def behind(self) -> str:
        return f" {self.place}" if self.place else ""

    def exhaustive(self, word: str, place_first: bool) -> str:
        """Such as "just a dog and a cat": there is nothing else."""
        if place_first and self.place:
            return f"{self.place}, {word} {self.body}"
        return f"{word} {self.body}{self.behind}"

    def filled(self, style: Style) -> str:
        """The sentence in a style's form; a form that lacks its part falls back to the plain."""
        verb = "are" if self.several else "is"
        match style.form:
            case "place-first" if self.place and self.related:
                return f"{self.place}, {self.subject} {verb}{self.related}{self.extra}"
            case "place-first" if self.place:
                return f"{self.place}, there {verb} {self.body}"
            case "there":
                return f"there {verb} {self.body}{self.behind}"
            case "seen":
                return self._with_verb("can be seen")
            case "verb" if self.related or self.place not in ("", "at night"):
                return self._with_verb(verb)
            case "picture":
                return f"a {PICTURES[style.words % len(PICTURES)]} of {self.body}{self.behind}"
        return self.body + self.behind

    def _with_verb(self, verb: str) -> str:
        if self.related:
            return f"{self.subject} {verb}{self.related}{self.extra}{self.behind}"
        return f"{self.subject}{self.extra} {verb}{self.behind}"


def _only_clause(only: OnlyClause, mentions: tuple[Mention, ...], style: Style) -> str:
    meant = [mentions[m] for m in only.mentions]
    named = [noun(m.category or "thing", m.count or 1, int(style.synonyms)) for m in meant]
    several = len(named) > 1 or (mentions[only.mentions[0]].count or 1) > 1
    listed = " and ".join(f"the {name}" for name in named)
    return f", and only {listed} {'are' if several else 'is'} {only.value}"
