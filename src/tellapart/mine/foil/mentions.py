"""Mentions: category words in captions, as nouns that can be replaced.

The paper replaces words wherever they occur, which produces "an cake and white cat" and "a
microwave mitt". Here a long name is one unit, and a word counts only if the parse has it as a noun
that does not modify another one (`plain_mentions` follows the paper).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import Self

import numpy as np

from tellapart.corpus.categories import Categories
from tellapart.text.english import plural
from tellapart.text.parses import Parse, Parses, Token
from tellapart.types import AnyInts, Bools

WORD = re.compile(r"\w+(?:-\w+)*|[^\w\s]")
"""A word, including hyphens, or a single mark (so that cat's begins with cat)."""
COLOURS = frozenset(
    """red orange yellow green blue purple pink brown black white grey gray tan gold silver violet
    beige turquoise teal maroon peach olive lavender colored coloured color colour""".split()
)
OPENS_PHRASE = ("DET", "NUM", "PRON", "CCONJ", "SCONJ", "PUNCT", "SYM", "SPACE", "INTJ")
"""Words that can precede any noun."""
ONE = frozenset("a an one another each every this that single lone".split())
BETWEEN = COLOURS | frozenset(
    """big small large little tiny huge young old baby adult mother fluffy woolly wooly shaggy
    medium-sized""".split()
)
"""Words that may come between an article and its noun."""
SINGULAR_VERBS = frozenset("is was has".split())


@dataclass(frozen=True, slots=True)
class CaptionWords:
    """The words of n texts in sequence; text k has the rows starts[k] to starts[k + 1].

    `word` are indices into `vocabulary`, which has each word in lower case; `begin` and `end` are
    offsets in the text. Unlike the words used for comparing captions (`MinedCaptions`), these
    include punctuation and offsets, since foils are written into the text.
    """

    texts: Sequence[str]
    starts: AnyInts
    begin: AnyInts
    end: AnyInts
    word: AnyInts
    vocabulary: dict[str, int]

    @property
    def owner(self) -> AnyInts:
        """For each word, the text that it is in."""
        return np.repeat(np.arange(len(self.texts)), np.diff(self.starts))

    def places_of(self, phrase: str) -> AnyInts:
        """Where a phrase begins, within one text."""
        ids = [self.vocabulary.get(match.group().lower(), -1) for match in WORD.finditer(phrase)]
        if min(ids, default=-1) < 0:
            return np.empty(0, np.int64)
        first = np.flatnonzero(self.word[: len(self.word) - len(ids) + 1] == ids[0])
        for ahead, one in enumerate(ids[1:], 1):
            first = first[self.word[first + ahead] == one]
        last = first + len(ids) - 1
        text = np.searchsorted(self.starts, first, side="right")
        begins: AnyInts = first[text == np.searchsorted(self.starts, last, side="right")]
        return begins


def words_of(texts: Sequence[str]) -> CaptionWords:
    """Split texts into words."""
    vocabulary: dict[str, int] = {}
    starts, begin, end, word = [0], [], [], []
    for text in texts:
        for match in WORD.finditer(text):
            begin.append(match.start())
            end.append(match.end())
            word.append(vocabulary.setdefault(match.group().lower(), len(vocabulary)))
        starts.append(len(begin))
    begins, ends, numbers = (np.array(column, np.int32) for column in (begin, end, word))
    return CaptionWords(texts, np.array(starts, np.int64), begins, ends, numbers, vocabulary)


@dataclass(frozen=True, slots=True)
class Mentions:
    """Category words in captions, one row each, in the order of the captions.

    `name` is the index in the table; `word` is the row of the category word among all words,
    `first` and `last` are the rows that a foil replaces.
    """

    caption: AnyInts
    name: AnyInts
    plural: Bools
    word: AnyInts
    first: AnyInts
    last: AnyInts

    def __len__(self) -> int:
        return len(self.caption)

    def keep(self, kept: Bools) -> Self:
        """Some of the rows."""
        return type(self)(*(getattr(self, column)[kept] for column in self.__slots__))


def plain_mentions(words: CaptionWords, table: Categories) -> Mentions:
    """Every occurrence of a word of the table, in the table's form.

    The paper's own foils were made this way, ignoring plurals and meanings.
    """
    name_of = np.full(len(words.vocabulary) + 1, -1, np.int32)
    for place, name in enumerate(table.names):
        name_of[words.vocabulary.get(name.word, -1)] = place
    name_of[-1] = -1
    return _mentions(words, name_of, np.zeros(len(name_of), np.bool_))


def mentions_in(words: CaptionWords, table: Categories) -> Mentions:
    """Category words in singular and plural, with long names as units.

    A word within another name (dog in hot dog) does not count; of two names that overlap (microwave
    oven) the longer one counts.
    """
    name_of = np.full(len(words.vocabulary) + 1, -1, np.int32)
    several = np.zeros(len(words.vocabulary) + 1, np.bool_)
    for place, name in enumerate(table.names):
        for form, is_plural in ((name.plural, True), (name.word, False)):
            word = words.vocabulary.get(form, -1)
            name_of[word], several[word] = place, is_plural
    name_of[-1] = -1
    single = _mentions(words, name_of, several)
    first, last = single.first.copy(), single.last.copy()
    many, gone = single.plural.copy(), np.zeros(len(single), np.bool_)
    for place, name in enumerate(table.names):
        # The longest last, so that it replaces those inside it.
        for phrase, is_plural in product(sorted(name.long, key=len), (False, True)):
            form = plural(phrase) if is_plural else phrase
            width = len(form.split())
            begin = _covered(single.word, words.places_of(form), width)
            mine = (begin >= 0) & (single.name == place)
            first[mine], last[mine] = begin[mine], begin[mine] + width - 1
            many[mine] = is_plural
            gone |= (begin >= 0) & (single.name != place)
    for form in {form for phrase in table.others for form in (phrase, plural(phrase))}:
        width = len(form.split())
        begin = _covered(single.word, words.places_of(form), width)
        gone |= (begin >= 0) & (last - first + 1 <= width)
    return Mentions(single.caption, single.name, many, single.word, first, last).keep(~gone)


def _mentions(words: CaptionWords, name_of: AnyInts, several: Bools) -> Mentions:
    rows = np.flatnonzero(name_of[words.word] >= 0)
    caption = np.searchsorted(words.starts, rows, side="right") - 1
    word = words.word[rows]
    return Mentions(caption, name_of[word], several[word], rows, rows, rows)


def _covered(rows: AnyInts, begins: AnyInts, width: int) -> AnyInts:
    """For each row, where the phrase of `width` words around it begins, -1 outside one."""
    if not len(begins):
        return np.full(len(rows), -1, np.int64)
    before = np.searchsorted(begins, rows, side="right") - 1
    start = begins[np.maximum(before, 0)]
    covered: AnyInts = np.where((before >= 0) & (rows < start + width), start, -1)
    return covered


class Binding(IntEnum):
    """How much the word before a mention restricts what can replace it."""

    FREE = 0
    MODIFIED = 1
    """After an adjective: only what goes with it."""
    BOUND = 2
    """After a noun (coffee table), or bare after a verb or a preposition (in bed)."""


def bindings(mentions: Mentions, words: CaptionWords, parses: Parses) -> tuple[Bools, AnyInts]:
    """For each mention, whether it is a noun that heads its phrase, and its `Binding`.

    Mentions that the parser tokenized differently (`cat/dog` as one token) do not count as nouns.
    """
    nouns = np.zeros(len(mentions), np.bool_)
    binding = np.zeros(len(mentions), np.int8)
    at = -1
    rows = zip(
        mentions.caption.tolist(),
        words.begin[mentions.first].tolist(),
        words.begin[mentions.word].tolist(),
        words.begin[mentions.last].tolist(),
        words.end[mentions.word].tolist(),
        strict=True,
    )
    for row, (caption, *begins, end) in enumerate(rows):
        if caption != at:
            at, parse = caption, parses[caption]
            tokens = {token.begin: token for token in parse}
        first, word, last = (tokens.get(begin) for begin in begins)
        if first and word and last and word.end == end and is_noun(parse, word, last):
            nouns[row] = True
            binding[row] = binding_of(parse, first, plural=bool(mentions.plural[row]))
    return nouns, binding


def is_noun(parse: Parse, token: Token, last: Token) -> bool:
    """Whether a category word is a noun and heads its phrase; `last` ends the name it is in.

    Small parsers often mistake nouns for something else (oven for an adjective, tie for a verb), so
    the word's context is used as well as its part of speech.
    """
    before = parse.tokens[token.place - 1] if token.place else None
    behind = parse.tokens[last.place + 1 : last.place + 3]
    if token.text.lower() in COLOURS and not _is_thing(parse, token, behind):
        return False
    if token.dep in ("compound", "amod", "nmod") and token.head > last.place:
        # "a zebra standing there" is often read as a kind of standing
        stands = token.head == last.place + 1 and behind[0].text.endswith("ing")
        return stands and (before is None or before.pos in ("DET", "ADJ", "NUM", "PRON"))
    if token.pos in ("VERB", "AUX"):
        return _may_be_noun(token, before, behind)
    if token.pos == "ADJ":
        joined = token.dep == "conj" and parse.head(token.place).pos == "ADJ"
        return token.dep not in ("acomp", "oprd") and not joined
    return True


def _may_be_noun(verb: Token, before: Token | None, behind: tuple[Token, ...]) -> bool:
    """Whether a word parsed as a verb is where a noun would be: the sink, a suit and tie."""
    if before is None:
        return False
    if before.pos in ("DET", "ADJ", "NUM") or before.tag == "PRP$":
        return True
    joined = before.pos in ("CCONJ", "PUNCT") and verb.tag in ("VB", "VBP")
    return joined and not (behind and behind[0].pos in ("DET", "PRON"))


def _is_thing(parse: Parse, token: Token, behind: tuple[Token, ...]) -> bool:
    """Whether a word that is also a colour names a thing: an orange, oranges."""
    if token.tag in ("NNS", "NNPS"):
        return True
    ahead = parse.tokens[max(0, token.place - 2) : token.place]
    if any(other.text.lower() in COLOURS for other in (*ahead, *behind)):
        return False
    if token.pos not in ("NOUN", "PROPN") or not ahead:
        return False
    listed = token.dep == "conj" and ahead[-1].pos in ("CCONJ", "PUNCT")
    return listed or ahead[-1].pos in ("DET", "NUM")


def binding_of(parse: Parse, first: Token, *, plural: bool) -> Binding:
    """How strongly a mention that begins with this token depends on the word before it."""
    if not first.place:
        return Binding.FREE
    before = parse.tokens[first.place - 1]
    if before.pos in OPENS_PHRASE:
        return Binding.FREE
    if before.pos == "ADJ" or before.dep == "amod":
        return Binding.MODIFIED
    if before.pos in ("NOUN", "PROPN"):
        return Binding.BOUND
    return Binding.FREE if plural else Binding.BOUND


def plurals_by_context(mentions: Mentions, words: CaptionWords, table: Categories) -> Bools:
    """Which mentions are plural; for invariable words (sheep, skis) by their context.

    After `a`, `that` or `one`, or before `is`, it is one sheep; otherwise there are several.
    """
    several = mentions.plural.copy()
    invariable = np.array([name.invariable for name in table.names])
    spelled = list(words.vocabulary)
    for row in np.flatnonzero(invariable[mentions.name]).tolist():
        start, end = (int(words.starts[mentions.caption[row] + k]) for k in (0, 1))
        first, last = int(mentions.first[row]), int(mentions.last[row])
        ahead = [spelled[k] for k in words.word[start:first].tolist()]
        behind = [spelled[k] for k in words.word[last + 1 : min(end, last + 2)].tolist()]
        while ahead and ahead[-1] in BETWEEN:
            ahead.pop()
        several[row] = ONE.isdisjoint(ahead[-1:]) and SINGULAR_VERBS.isdisjoint(behind)
    return several
