"""The strict check of a negative caption: one edit, of the requested kind, and in good form.

Negatives from language models and from rules pass the same check, and each rejection has a short
reason, so that reasons can be counted. The kinds are SugarCrepe's (Hsieh et al. 2023); malformed
replies are rejected as in TROHN-Text (Miranda et al. 2024, section 5.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from tellapart.errors import need
from tellapart.text.english import article
from tellapart.text.parses import Parse, Parses
from tellapart.text.tokens import FUNCTION_WORDS, spans, tokens

REASONS = (
    "empty", "question", "no final mark", "several sentences", "no edit", "several edits",
    "long edit", "paraphrase", "other kind",
)  # fmt: skip
"""The reasons of `problem_of`, in the order in which it checks."""
LONGEST = 5
"""The most words that an edit may remove or add; more makes another sentence."""
SELDOM = 0.05
"""A part of speech rarer than this for a word counts as a parser error."""
PartsOfSpeech = Callable[[str], frozenset[str]]
"""Maps a word to its parts of speech (Universal Dependencies); empty if it is unknown."""
NOUNS = frozenset({"NOUN", "PROPN"})
MODIFIERS = frozenset({"ADJ", "NUM", "ADV", "DET"})
RELATIONS = frozenset({"ADP", "VERB", "ADV", "PART", "SCONJ"})
RELATION_NOUNS = frozenset("top front back side middle edge corner bottom left right".split())
"""Nouns that are part of a relation: on top of, in front of, at the side of."""
SAME = {
    "an": "a", "are": "is", "were": "was", "have": "has", "do": "does",
    "her": "his", "its": "his", "their": "his",
    "him": "it", "them": "it", "she": "it", "he": "it", "they": "it",
    "herself": "itself", "himself": "itself", "themselves": "itself",
}  # fmt: skip
"""Words that change along with an edit for grammar and are not edits themselves."""
UNFINISHED = frozenset(
    """a an the and or of with to at by for from into onto his her their its is are was were while
    that which very two three""".split()
)
"""Words that no caption ends with."""
MAY_DOUBLE = frozenset("that had is".split())
"""Words that may follow themselves."""
EITHER_ARTICLE = frozenset("suv ufo u i ewe historic historical herb herbs".split())
"""Words that people say after `a` as well as after `an`, or letter by letter."""
SINGULARS, PLURALS = (
    frozenset("woman man child".split()),
    frozenset("women men children people".split()),
)
"""Nouns of one and of several that are mistaken for each other."""
NUMBERS = frozenset("two three four five six several many both".split())
Run = tuple[int, int]
"""A run of words of the original: [start, end)."""


def anything(word: str) -> frozenset[str]:
    """Knows no words, so that only the original's own words are compared with a kind."""
    return frozenset()


def is_fluent(text: str) -> bool:
    """Whether a caption is finished, has no word twice in a row, and articles and numbers fit.

    >>> is_fluent("A close up of a cat."), is_fluent("A close up of of a cat."), is_fluent("On a")
    (True, False, False)
    >>> is_fluent("A man and a women."), is_fluent("An man."), is_fluent("Two woman.")
    (False, False, False)
    """
    words = tokens(text)
    if not words or words[-1] in UNFINISHED:
        return False
    return all(_goes_with(one, two) for one, two in pairwise(words))


def _goes_with(word: str, following: str) -> bool:
    """Whether a word may stand before another, as far as doubled words, articles, numbers tell."""
    if word == following:
        return word in MAY_DOUBLE
    if word in NUMBERS:
        return following not in SINGULARS
    if word not in ("a", "an"):
        return True
    spoken = following.isalpha() and not set("aeiouy").isdisjoint(following)
    fits = not spoken or following in EITHER_ARTICLE or article(following) == word
    return fits and following not in PLURALS


@dataclass(frozen=True, slots=True)
class Original:
    """What the check needs of a true caption: words, parts of speech, number of sentences."""

    words: list[str]
    tags: list[str]
    sentences: int

    @classmethod
    def of(cls, parse: Parse) -> Original:
        """From a parse."""
        places = list(spans(parse.text))
        words = [word for _, _, word in places]
        return cls(words, _tags(parse, [end for _, end, _ in places]), _sentences(parse.text))


def problem_of(
    parse: Parse, negative: str, kind: str, parts_of_speech: PartsOfSpeech = anything
) -> str | None:
    """Why this is not a negative of the requested kind, as one of `REASONS`, or None."""
    return problem_with(Original.of(parse), negative, kind, parts_of_speech)


def problem_with(
    original: Original, negative: str, kind: str, parts_of_speech: PartsOfSpeech = anything
) -> str | None:
    """The same for a caption that is used in several checks."""
    new, text = tokens(negative), negative.strip()
    if not new:
        return "empty"
    if text.endswith("?"):
        return "question"
    if not text.endswith((".", "!")):
        return "no final mark"
    if _sentences(text) > original.sentences:
        return "several sentences"
    edit = difference(original.words, new)
    if edit is None:
        return "no edit"
    if kind.startswith("swap"):
        return _swap_problem(edit, original.tags, kind)
    if sorted(edit.was) == sorted(edit.now):
        return "paraphrase"
    if set(edit.was) & set(edit.now):
        return "several edits"
    if max(len(edit.was), len(edit.now)) > LONGEST:
        return "long edit"
    parts = [parts_of_speech(word) for word in edit.now]
    return None if _fits(kind, edit, original.tags, parts) else "other kind"


def _sentences(text: str) -> int:
    """How many sentences a text may have, by its punctuation."""
    body = text.strip().rstrip(".!?")
    return 1 + sum(body.count(mark) for mark in (". ", "! ", "? ", "\n"))


def _tags(parse: Parse, ends: list[int]) -> list[str]:
    """The part of speech of each word; for a word of several tokens, that of the last.

    A noun or participle that modifies another noun counts as ADJ.
    """
    tags: list[str] = []
    tokens_left = iter(parse.tokens)
    token = next(tokens_left, None)
    for end in ends:
        tag = "X"
        while token is not None and token.begin < end:
            tag = "ADJ" if token.dep in ("amod", "compound", "nmod") else token.pos
            token = next(tokens_left, None)
        tags.append(tag)
    return tags


def _any_has(words: list[frozenset[str]], wanted: frozenset[str]) -> bool:
    """Whether one of the words can have a wanted part of speech; unknown words can."""
    return any(not parts or parts & wanted for parts in words)


def _fits(kind: str, edit: WordDifference, tags: list[str], now: list[frozenset[str]]) -> bool:
    """Whether an edit is of a kind, by the words removed and the words added (`now`)."""
    gone = tags[edit.start : edit.end]
    if kind == "replace-object":
        only_things = set(gone) <= NOUNS | {"ADJ", "DET"} and bool(gone) and gone[-1] in NOUNS
        return only_things and _any_has(now[-1:], NOUNS)
    if kind == "replace-attribute":
        return bool(gone) and set(gone) <= MODIFIERS and _any_has(now, MODIFIERS | {"VERB", "NOUN"})
    if kind == "replace-relation":
        gone = [
            tag
            for tag, word in zip(gone, edit.was, strict=True)
            if word not in RELATION_NOUNS and tag not in ("DET", "AUX")
        ]
        return bool(gone) and set(gone) <= RELATIONS and _any_has(now, RELATIONS | {"ADJ"})
    if edit.was:
        return False
    if kind == "add-object":
        return _any_has(now, NOUNS) and len(edit.now) > 1
    joined = {"with", "in", "on", "of", "at", "by"} & set(edit.now)
    before_noun = edit.end < len(tags) and tags[edit.end] in NOUNS | {"ADJ", "NUM"}
    return not joined and before_noun and _any_has(now, MODIFIERS | {"VERB", "NOUN"})


def _swap_problem(edit: WordDifference, tags: list[str], kind: str) -> str | None:
    """A swap adds no words; exactly two runs of words change places."""
    if sorted(edit.was) != sorted(edit.now):
        return "other kind"
    runs = is_one_swap(edit)
    if runs is None:
        return "several edits"
    first, second = (set(tags[start:end]) for start, end in runs)
    if kind == "swap-object":
        return None if first & NOUNS and second & NOUNS else "other kind"
    return None if first | second <= MODIFIERS | {"CCONJ"} else "other kind"


def parts_of_speech(parses: Parses) -> PartsOfSpeech:
    """The parts of speech of each word in a corpus, without rare ones."""
    columns = parses.columns
    counts: dict[str, Counter[str]] = {}
    lemma_pos = columns.lemma.astype(np.int64) * len(columns.poses) + columns.pos
    codes, numbers = np.unique(lemma_pos, return_counts=True)
    for code, number in zip(codes.tolist(), numbers.tolist(), strict=True):
        lemma, pos = divmod(code, len(columns.poses))
        counts.setdefault(columns.lemmas[lemma].lower(), Counter())[columns.poses[pos]] += number
    usual = {
        lemma: frozenset(pos for pos, n in times.items() if n >= SELDOM * times.total())
        for lemma, times in counts.items()
    }
    return lambda word: usual.get(word, frozenset())


@dataclass(frozen=True, slots=True)
class WordDifference:
    """Words [start, end) of the original: what they were and what they are now."""

    start: int
    end: int
    was: tuple[str, ...]
    now: tuple[str, ...]


def difference(old: Sequence[str], new: Sequence[str]) -> WordDifference | None:
    """The shortest run of words outside which two captions agree, or None if they are equal.

    >>> difference("an apple on a plate".split(), "a red apple on a plate".split())
    WordDifference(start=1, end=1, was=(), now=('red',))
    """
    before, after = [SAME.get(w, w) for w in old], [SAME.get(w, w) for w in new]
    if before == after:
        return None
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and before[start] == after[start]:
        start += 1
    behind = 0
    while behind < shorter - start and before[-1 - behind] == after[-1 - behind]:
        behind += 1
    end = len(before) - behind
    return WordDifference(
        start, end, tuple(before[start:end]), tuple(after[start : len(after) - behind])
    )


def is_one_swap(edit: WordDifference) -> tuple[Run, Run] | None:
    """The two runs of words that changed places, or None if anything else changed.

    >>> is_one_swap(difference("a cat on a red mat".split(), "a red mat on a cat".split()))
    ((1, 2), (4, 6))
    """
    was, now = edit.was, edit.now
    for first in range(1, len(was)):
        if was[:first] != now[-first:]:
            continue
        for second in range(1, len(was) - first + 1):
            middle = slice(first, len(was) - second)
            moved = now[second : len(now) - first]
            if was[-second:] == now[:second] and was[middle] == moved:
                return (edit.start, edit.start + first), (edit.end - second, edit.end)
    return None


def edited(original: str, negative: str) -> tuple[str, str]:
    """The words removed and the words added, or the two that changed places.

    >>> edited("A cat on a red mat.", "A red mat on a cat."), edited("A cat.", "A big cat.")
    (('cat', 'red mat'), ('', 'big'))
    """
    old = tokens(original)
    edit = difference(old, tokens(negative))
    if edit is None:
        return "", ""
    runs = is_one_swap(edit)
    if runs is None:
        return " ".join(edit.was), " ".join(edit.now)
    first, second = (" ".join(old[start:end]) for start, end in runs)
    return first, second


def is_reworded(was: str, now: str) -> bool:
    """Whether words were replaced by other forms of themselves, as models often do.

    >>> is_reworded("sitting", "sits"), is_reworded("sitting", "stands"), is_reworded("", "big")
    (True, False, False)
    """
    before, after = (
        [word for word in tokens(text) if word not in FUNCTION_WORDS] for text in (was, now)
    )
    if not before or len(before) != len(after):
        return False
    return all(_bases(old) & _bases(new) for old, new in zip(before, after, strict=True))


@cache
def _bases(word: str) -> frozenset[str]:
    """The base forms that a word may have."""
    lemminflect = need("lemminflect", "text", "finding base forms")
    lemmas: dict[str, tuple[str, ...]] = lemminflect.getAllLemmas(word)
    return frozenset({word, *(base for bases in lemmas.values() for base in bases)})
