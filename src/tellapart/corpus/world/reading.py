"""Reading captions back: what does this sentence say about the world?

The reader is tolerant: a word that was left out leaves its place open, so that captions with a
word taken away (FOIL's T2) or put in (T3) can be judged like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tellapart.corpus.world import lexicon
from tellapart.corpus.world.grammar import PICTURES
from tellapart.corpus.world.statement import Mention, OnlyClause, Relation, Statement
from tellapart.text.inflect import plural
from tellapart.text.words import tokens

SILENT = frozenset("and with is are there can be seen of in at to the on".split())
"""Words of the grammar that say nothing about a scene by themselves."""
MAX_PHRASE = 5


def understand(caption: str) -> Statement | None:
    """The statement that a caption makes, or None where it speaks of nothing.

    >>> understand("Two red dogs are next to a cat.").relations
    ((0, 'next', 1),)
    """
    reader = _Reader()
    for kind, value in _parts(tokens(caption)):
        reader.take(kind, value)
    return reader.finish()


@dataclass
class _Reader:
    """Puts phrases together from left to right."""

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
        """One part of the sentence."""
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
        elif kind == "word" and self._open is not None and self._takes_name():
            # Unknown words are the name of a category that the scene may or may not have.
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

    def _takes_name(self) -> bool:
        return self._unknown or (self._open is not None and self._open.category is None)

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
    """The caption cut into known phrases, the longest first."""
    phrases = _phrases()
    parts: list[tuple[str, object]] = []
    at = 0
    while at < len(words):
        for length in range(min(MAX_PHRASE, len(words) - at), 0, -1):
            found = phrases.get(tuple(words[at : at + length]))
            if found is not None and not (found[0] == "opener" and at > 0):
                parts += [found] if found[0] != "opener" else []
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
    for number, wordings in lexicon.COUNTS.items():
        for wording in wordings:
            learn(wording, "count", number)
    for size, wordings in lexicon.SIZE_WORDS.items():
        for wording in wordings:
            learn(wording, "size", size)
    for colour in lexicon.COLOURS:
        learn(colour, "colour", colour)
    for relation, wordings in lexicon.RELATIONS.items():
        for wording in wordings:
            learn(wording, "relation", relation)
    for background, wordings in lexicon.BACKGROUNDS.items():
        for wording in wordings:
            learn(wording, "background", background)
    for category in lexicon.CATEGORIES.values():
        for name in (category.name, *category.synonyms):
            learn(name, "category", category.name)
            learn(plural(name), "category", category.name)
    return known


def is_known_word(word: str) -> bool:
    """Whether the grammar uses a word in any of its phrases."""
    return word in SILENT or any(word in phrase for phrase in _phrases())
