"""The grammar: writes statements as sentences in a style, and parses sentences back.

The parser is tolerant: a missing word leaves its role open, so that captions with a word removed
(FOIL's T2) or inserted (T3) can be judged like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from tellapart.corpus.world.lexicon import (
    BACKGROUNDS,
    CATEGORIES,
    COLOURS,
    COUNTS,
    RELATIONS,
    SIZE_WORDS,
    noun,
)
from tellapart.corpus.world.scene import Mention, OnlyClause, Relation, Statement
from tellapart.text.english import article, plural
from tellapart.text.tokens import tokens

FORMS = ("plain", "there", "verb", "seen", "picture", "place-first")
PICTURES = ("picture", "drawing", "view")
SILENT = frozenset("and with is are there can be seen of in at to the on".split())
"""Words of the grammar that carry no content by themselves."""
MAX_PHRASE = 5


@dataclass(frozen=True, slots=True)
class Style:
    """All choices of wording that carry no content.

    A caption and its near miss share one style, so that they differ only in content.
    """

    form: str = "plain"
    words: int = 0
    synonyms: bool = False
    with_word: bool = False

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Style:
        """A random style."""
        return cls(
            form=str(rng.choice(FORMS, p=(0.3, 0.14, 0.18, 0.1, 0.1, 0.18))),
            words=int(rng.integers(1_000)),
            synonyms=bool(rng.random() < 0.2),
            with_word=bool(rng.random() < 0.5),
        )

    def pick(self, options: tuple[str, ...], what: int) -> str:
        """One of several wordings; `what` makes choices for different things independent."""
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
    """Whether the verb is "are"; in "there is a dog and a cat", the first noun decides."""
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
    """The relation with its second phrase, and the other mentions."""
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
    """The parts of a sentence, and the ways to combine them."""

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
        """The sentence in a style's form, or the plain form if the other lacks a part."""
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


def understand(caption: str) -> Statement | None:
    """The statement that a caption makes, or None if it has no content.

    >>> understand("Two red dogs are next to a cat.").relations
    ((0, 'next', 1),)
    """
    reader = _Reader()
    for kind, value in _parts(tokens(caption)):
        reader.take(kind, value)
    return reader.finish()


@dataclass
class _Reader:
    """Builds a statement from phrases, left to right."""

    mentions: list[Mention] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    background: str | None = None
    exhaustive: bool = False
    only: OnlyClause | None = None
    _open: Mention | None = None
    _pending: tuple[int, str] | None = None
    _only_mentions: list[int] | None = None
    _unknown: bool = False
    _only_name: str = ""

    def take(self, kind: str, value: object) -> None:
        """Process one part of the sentence."""
        if kind == "only":
            self._close()
            self.exhaustive = True
        elif kind == "only the":
            self._close()
            self._only_mentions = []
        elif self._only_mentions is not None:
            self._take_in_only_clause(kind, value)
        elif kind in ("count", "size", "colour", "category"):
            self._extend(kind, value)
        elif kind == "relation":
            self._close()
            if self.mentions:
                self._pending = (len(self.mentions) - 1, str(value))
        elif kind == "background":
            self._close()
            self.background = str(value)
        elif kind == "word" and self._open and (self._unknown or self._open.category is None):
            # Unknown words name a category that may or may not be in the scene.
            name = f"{self._open.category} {value}" if self._unknown else str(value)
            self._open, self._unknown = replace(self._open, category=name), True
        else:
            self._close()

    def _take_in_only_clause(self, kind: str, value: object) -> None:
        assert self._only_mentions is not None
        if kind in ("category", "word"):
            self._only_name = f"{self._only_name} {value}".strip()
            for k, mention in enumerate(self.mentions):
                if self._only_name in (mention.category, plural(mention.category or "")):
                    self._only_mentions.append(k)
            return
        self._only_name = ""
        if kind in ("colour", "size") and self._only_mentions:
            self.only = OnlyClause(kind, str(value), tuple(self._only_mentions))

    def _extend(self, part: str, value: object) -> None:
        if self._open is None or self._open.category is not None or part == "count":
            self._close()
            self._open = Mention()
        changed: dict[str, Any] = {part: value}
        self._open = replace(self._open, **changed)

    def _close(self) -> None:
        if self._open is None:
            return
        self.mentions.append(self._open)
        self._open, self._unknown = None, False
        if self._pending is not None:
            subject, relation = self._pending
            self.relations.append((subject, relation, len(self.mentions) - 1))
            self._pending = None

    def finish(self) -> Statement | None:
        """The whole statement."""
        self._close()
        if not self.mentions and self.background is None:
            return None
        return Statement(
            tuple(self.mentions), tuple(self.relations), self.background, self.exhaustive, self.only
        )


def _parts(words: list[str]) -> list[tuple[str, object]]:
    """The caption split into known phrases, preferring longer ones."""
    phrases = _phrases()
    parts: list[tuple[str, object]] = []
    at = 0
    while at < len(words):
        for length in range(min(MAX_PHRASE, len(words) - at), 0, -1):
            part = phrases.get(tuple(words[at : at + length]))
            if part is not None and not (part[0] == "opener" and at > 0):
                parts += [part] if part[0] != "opener" else []
                at += length
                break
        else:
            parts.append(("silent" if words[at] in SILENT else "word", words[at]))
            at += 1
    return parts


@cache
def _phrases() -> dict[tuple[str, ...], tuple[str, object]]:
    known: dict[tuple[str, ...], tuple[str, object]] = {}

    def learn(wording: str, kind: str, value: object) -> None:
        known[tuple(tokens(wording))] = (kind, value)

    for picture in PICTURES:
        learn(f"a {picture} of", "opener", None)
    learn("just", "only", None)
    learn("only", "only", None)
    learn("only the", "only the", None)
    learn("an", "count", 1)
    tables: dict[str, Mapping[Any, tuple[str, ...]]] = {
        "count": COUNTS,
        "size": SIZE_WORDS,
        "colour": {colour: (colour,) for colour in COLOURS},
        "relation": RELATIONS,
        "background": BACKGROUNDS,
    }
    for kind, table in tables.items():
        for value, wordings in table.items():
            for wording in wordings:
                learn(wording, kind, value)
    for category in CATEGORIES.values():
        for name in (category.name, *category.synonyms):
            learn(name, "category", category.name)
            learn(plural(name), "category", category.name)
    return known


def is_known_word(word: str) -> bool:
    """Whether the grammar uses a word in any of its phrases."""
    return word in SILENT or any(word in phrase for phrase in _phrases())
