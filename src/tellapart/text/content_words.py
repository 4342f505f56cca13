"""Which words of a caption are content words, and which of those are nouns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tellapart.items import Word
from tellapart.text.english import plural
from tellapart.text.parses import Parse
from tellapart.text.tokens import FUNCTION_WORDS, spans

NOUNS = ("NOUN", "PROPN")
CONTENT = (*NOUNS, "VERB", "ADJ", "ADV")
"""Parts of speech of content words; auxiliaries, numbers and function words do not count."""


@dataclass(frozen=True)
class LexiconTagger:
    """Content words are all words outside a closed list; nouns are those of a given list."""

    name: str
    nouns: frozenset[str]

    @classmethod
    def of(cls, name: str, nouns: Iterable[str]) -> LexiconTagger:
        """A tagger that knows these nouns and their plurals."""
        known = list(nouns)
        return cls(name, frozenset(known) | frozenset(plural(word) for word in known))

    def content_words(self, caption: str) -> tuple[Word, ...]:
        """Every word that is not in the closed list.

        >>> tagger = LexiconTagger.of("two nouns", ["dog", "cat"])
        >>> [w.noun for w in tagger.content_words("Two dogs chase the cat.")]
        [True, False, True]
        """
        return tuple(
            Word(start, end, word in self.nouns)
            for start, end, word in spans(caption)
            if word not in FUNCTION_WORDS
        )


def content_words(parsed: Parse) -> tuple[Word, ...]:
    """The nouns, verbs, adjectives and adverbs of a parsed text."""
    return tuple(
        Word(token.begin, token.end, token.pos in NOUNS) for token in parsed if token.pos in CONTENT
    )
