"""The strict check of a negative caption: one edit, of the kind asked for, and in good form.

What all makers share: a negative that a language model wrote and one that a rule wrote pass the
same check, and what is refused is refused for a reason with a short name, so that reasons can be
counted. The kinds are SugarCrepe's (Hsieh et al. 2023); malformed replies are out as in
TROHN-Text (Miranda et al. 2024, section 5.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tellapart.mine.negatives.claims import ImageFacts, doubt_of
from tellapart.mine.negatives.edit import SourceCaption, WordDifference, difference, is_one_swap
from tellapart.text.parses import Parse
from tellapart.text.tokens import spans, tokens

REASONS = (
    "empty",
    "question",
    "no final mark",
    "several sentences",
    "no edit",
    "several edits",
    "long edit",
    "paraphrase",
    "other kind",
)
"""Why `problem_of` refuses, in the order in which it looks."""

LONGEST = 5
"""Words that an edit may take away or bring in; more is another sentence, not another detail."""

PartsOfSpeech = Callable[[str], frozenset[str]]
"""Which parts of speech (of Universal Dependencies) a word takes; none where nobody knows."""

NOUNS = frozenset({"NOUN", "PROPN"})
MODIFIERS = frozenset({"ADJ", "NUM", "ADV", "DET"})
RELATIONS = frozenset({"ADP", "VERB", "ADV", "PART", "SCONJ"})
PLACE_NOUNS = frozenset("top front back side middle edge corner bottom left right".split())
"""Nouns that belong to a relation: on top of, in front of, at the side of."""


def anything(word: str) -> frozenset[str]:
    """Knows no word, so that only the original's own words are held against a kind."""
    return frozenset()


@dataclass(frozen=True, slots=True)
class Original:
    """What the check asks of a true caption: its words, their parts of speech, its sentences."""

    words: list[str]
    tags: list[str]
    sentences: int

    @classmethod
    def of(cls, parse: Parse) -> Original:
        """Read it off a parse."""
        found = list(spans(parse.text))
        words = [word for _, _, word in found]
        return cls(words, _tags(parse, [end for _, end, _ in found]), _sentences(parse.text))


def problem_of(
    parse: Parse, negative: str, kind: str, parts_of_speech: PartsOfSpeech = anything
) -> str | None:
    """Why this is no negative of the kind asked for, as one of `REASONS`, or None."""
    return problem_with(Original.of(parse), negative, kind, parts_of_speech)


def problem_with(
    original: Original, negative: str, kind: str, parts_of_speech: PartsOfSpeech = anything
) -> str | None:
    """The same for a caption that is checked against more than once."""
    new = tokens(negative)
    malformed = _malformed(original, negative.strip(), new)
    if malformed:
        return malformed
    found = difference(original.words, new)
    if found is None:
        return "no edit"
    if kind.startswith("swap"):
        return _swap_problem(found, original.tags, kind)
    if sorted(found.was) == sorted(found.now):
        return "paraphrase"
    if set(found.was) & set(found.now):
        return "several edits"
    if max(len(found.was), len(found.now)) > LONGEST:
        return "long edit"
    fits = _FITS[kind](found, original.tags, [parts_of_speech(word) for word in found.now])
    return None if fits else "other kind"


def _malformed(original: Original, text: str, words: list[str]) -> str | None:
    if not words:
        return "empty"
    if text.endswith("?"):
        return "question"
    if not text.endswith((".", "!")):
        return "no final mark"
    return "several sentences" if _sentences(text) > original.sentences else None


def _sentences(text: str) -> int:
    """How many sentences a text may have, by its marks."""
    body = text.strip().rstrip(".!?")
    return 1 + sum(body.count(mark) for mark in (". ", "! ", "? ", "\n"))


def _tags(parse: Parse, ends: list[int]) -> list[str]:
    """The part of speech of each word; of a word in several tokens that of the last.

    A noun or participle that modifies another noun counts as its modifier: ADJ.
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


def _some(found: list[frozenset[str]], wanted: frozenset[str]) -> bool:
    """Whether one of the words takes a wanted part of speech, as far as anybody knows."""
    return any(not known or known & wanted for known in found)


def _replaces_object(found: WordDifference, tags: list[str], now: list[frozenset[str]]) -> bool:
    gone = tags[found.start : found.end]
    only_things = set(gone) <= NOUNS | {"ADJ", "DET"} and bool(gone) and gone[-1] in NOUNS
    return only_things and _some(now[-1:], NOUNS)


def _replaces_attribute(found: WordDifference, tags: list[str], now: list[frozenset[str]]) -> bool:
    gone = tags[found.start : found.end]
    return bool(gone) and set(gone) <= MODIFIERS and _some(now, MODIFIERS | {"VERB", "NOUN"})


def _replaces_relation(found: WordDifference, tags: list[str], now: list[frozenset[str]]) -> bool:
    gone = [
        tag
        for tag, word in zip(tags[found.start : found.end], found.was, strict=True)
        if word not in PLACE_NOUNS and tag not in ("DET", "AUX")
    ]
    return bool(gone) and set(gone) <= RELATIONS and _some(now, RELATIONS | {"ADJ"})


def _adds_object(found: WordDifference, tags: list[str], now: list[frozenset[str]]) -> bool:
    return not found.was and _some(now, NOUNS) and len(found.now) > 1


def _adds_attribute(found: WordDifference, tags: list[str], now: list[frozenset[str]]) -> bool:
    joined = {"with", "in", "on", "of", "at", "by"} & set(found.now)
    before_noun = found.end < len(tags) and tags[found.end] in NOUNS | {"ADJ", "NUM"}
    return not found.was and not joined and before_noun and _some(now, MODIFIERS | {"VERB", "NOUN"})


_FITS = {
    "replace-object": _replaces_object,
    "replace-attribute": _replaces_attribute,
    "replace-relation": _replaces_relation,
    "add-object": _adds_object,
    "add-attribute": _adds_attribute,
}


def _swap_problem(found: WordDifference, tags: list[str], kind: str) -> str | None:
    """A swap moves words and brings none; two runs of words change places, and no third."""
    if sorted(found.was) != sorted(found.now):
        return "other kind"
    runs = is_one_swap(found)
    if runs is None:
        return "several edits"
    first, second = (set(tags[start:end]) for start, end in runs)
    if kind == "swap-object":
        return None if first & NOUNS and second & NOUNS else "other kind"
    return None if first | second <= MODIFIERS | {"CCONJ"} else "other kind"


@dataclass(frozen=True, slots=True)
class Judge:
    """Knows the images' facts and which parts of speech the corpus's words take."""

    facts: Callable[[str], ImageFacts]
    parts_of_speech: PartsOfSpeech = anything

    def problem(self, source: SourceCaption, negative: str, kind: str) -> str | None:
        """Why a negative is refused: one of `REASONS` or of `DOUBTS`; None where it is good."""
        wrong = problem_of(source.parse, negative, kind, self.parts_of_speech)
        return wrong or doubt_of(source.parse, negative, kind, self.facts(source.image))
