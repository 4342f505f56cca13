"""Category tables: words, the category each names, and its supercategory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tellapart.corpus.corpus import Corpus
from tellapart.corpus.world.lexicon import BACKGROUNDS
from tellapart.corpus.world.world import painter_of
from tellapart.errors import BadInput
from tellapart.text.inflect import plural
from tellapart.text.words import spans

WORLD_NOUNS = ("picture", "drawing", "view", "pair", "grass", "ground", *BACKGROUNDS)


@dataclass(frozen=True)
class Categories:
    """Single words that name categories; only words of one supercategory are exchanged."""

    name: str
    supercategory: Mapping[str, str]
    nouns: tuple[str, ...] = ()

    def mates(self, word: str) -> list[str]:
        """The other words of its supercategory."""
        return [
            w for w, s in self.supercategory.items() if s == self.supercategory[word] and w != word
        ]

    def found(self, caption: str) -> list[tuple[int, int, str, bool]]:
        """Category words in a caption: start, end, the word in the singular, is it plural."""
        forms = {w: (w, False) for w in self.supercategory}
        forms |= {plural(w): (w, True) for w in self.supercategory if plural(w) != w}
        return [(start, end, *forms[w]) for start, end, w in spans(caption) if w in forms]


def categories_for(corpus: Corpus) -> Categories:
    """The table that fits a corpus; the built-in world has its own."""
    if corpus.about.get("world"):
        known = painter_of(corpus.about).categories
        table = {name: c.supercategory for name, c in known.items() if " " not in name}
        synonyms = tuple(s for c in known.values() for s in c.synonyms)
        return Categories("world", table, (*table, *synonyms, *WORLD_NOUNS))
    raise BadInput(
        f"there is no table of categories for {corpus.name}",
        allowed="a corpus of the built-in world",
        todo="draw one with: tellapart world OUT",
    )
