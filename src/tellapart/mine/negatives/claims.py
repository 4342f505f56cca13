"""Claims: what a negative says about its image beyond its original, and whether it may be true.

A negative must be false of its image. The image's captions and objects rule out most negatives that
would be true; people must judge the rest. This module checks what captions do say; whether they
would have said it (`informativeness`) matters when a rule adds a noun that no caption has
(`rules.context.CaptionContext.absent`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from tellapart.errors import need
from tellapart.mine.negatives.checks import WordDifference, difference, is_one_swap
from tellapart.mine.negatives.phrases import GROUPS, PEOPLE, Reading, kernel_of, read
from tellapart.text.parses import Parse, Token
from tellapart.text.tokens import FUNCTION_WORDS, spans, tokens


@dataclass(frozen=True, slots=True)
class Shows:
    """The image shows such a thing."""

    noun: str


@dataclass(frozen=True, slots=True)
class Has:
    """A thing in the image has an attribute."""

    noun: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Stands:
    """Something is in a relation, a preposition or a verb as written, to a thing."""

    relation: str
    noun: str


Claim = Shows | Has | Stands

DOUBTS = ("mentioned", "shown", "said elsewhere", "symmetrical")
"""Why a negative may be true of its image."""
SYMMETRICAL = frozenset(
    """and or with near by beside along alongside next together touching facing meeting kissing
    hugging matching between among amongst around versus against like while""".split()
)
"""Symmetric relations: the things they join can change places and the caption stays true."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What an image's captions say, and what it shows (None if unknown).

    `words` are all words, as written and in their base forms; `nouns` counts captions with a noun
    or its kernel; `several` are kernels that a caption has in the plural; `attributes` counts
    captions that give a kernel an attribute; `relations` are (preposition or verb, kernel),
    `statements` the same with the kernel before, if there is one; `alone` means that no caption
    mentions more than one person. `denotes` maps a word to the names of the objects that it means.
    """

    words: frozenset[str]
    nouns: Mapping[str, int]
    several: frozenset[str]
    attributes: Mapping[str, Counter[str]]
    relations: frozenset[tuple[str, str]]
    statements: frozenset[tuple[str, str, str]] = frozenset()
    alone: bool = True
    objects: frozenset[str] | None = None
    denotes: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def doubt(self, claim: Claim) -> str | None:
        """Why a claim may be true, as one of `DOUBTS`, or None if nothing suggests it."""
        noun, kernel = claim.noun, kernel_of(claim.noun)
        if isinstance(claim, Has):
            said = claim.attribute in self.attributes.get(kernel, ())
            return "said elsewhere" if said else None
        if isinstance(claim, Stands):
            return "said elsewhere" if (claim.relation, kernel) in self.relations else None
        if noun in self.nouns or kernel in self.nouns or kernel in self.words:
            return "mentioned"
        shown = self.objects and not self.objects.isdisjoint(self.denotes.get(noun, (noun,)))
        return "shown" if shown else None


def facts_of(
    captions: Iterable[tuple[Parse, Reading]],
    objects: frozenset[str] | None = None,
    denotes: Mapping[str, frozenset[str]] | None = None,
) -> ImageFacts:
    """The facts in the captions of one image."""
    words: set[str] = set()
    nouns: Counter[str] = Counter()
    several: set[str] = set()
    attributes: dict[str, Counter[str]] = {}
    statements: set[tuple[str, str, str]] = set()
    alone = True
    for parse, reading in captions:
        words.update(token.text.lower() for token in parse.tokens)
        words.update(token.lemma.lower() for token in parse.tokens)
        kernels = Counter(phrase.kernel for phrase in reading.phrases)
        nouns.update(kernels.keys() | {phrase.noun for phrase in reading.phrases})
        several.update(kernel for kernel, number in kernels.items() if number > 1)
        several.update(phrase.kernel for phrase in reading.phrases if phrase.plural)
        alone = alone and _one_person(reading)
        for kernel, attribute in attributes_in(parse, reading):
            attributes.setdefault(kernel, Counter())[attribute] += 1
        statements.update(_statements(parse, reading))
    relations = frozenset((name, kernel) for _, name, kernel in statements)
    return ImageFacts(
        frozenset(words), nouns, frozenset(several), attributes, relations,
        frozenset(statements), alone, objects, denotes or {},
    )  # fmt: skip


def _one_person(reading: Reading) -> bool:
    """Whether a caption mentions at most one person."""
    people = 0
    for phrase in reading.phrases:
        if phrase.kernel in GROUPS:
            return False
        if phrase.kernel in PEOPLE:
            people += 1 + phrase.plural
    return people < 2


def attributes_in(parse: Parse, reading: Reading) -> set[tuple[str, str]]:
    """(kernel, attribute), before the noun or as a predicate."""
    tokens = parse.tokens
    before = {
        (phrase.kernel, tokens[place].text.lower())
        for phrase in reading.phrases
        for place in phrase.attributes
    }
    behind = {
        (reading.phrases[place].kernel, tokens[attribute].text.lower())
        for place, attribute in reading.predicates
    }
    return before | behind


def _statements(parse: Parse, reading: Reading) -> Iterator[tuple[str, str, str]]:
    """(kernel before or nothing, preposition or verb, kernel)."""
    for relation in reading.relations:
        kernel = reading.phrases[relation.object].kernel
        subject = reading.phrases[relation.subject].kernel if relation.subject >= 0 else ""
        if relation.last > relation.first:
            yield subject, relation.name, kernel
        if relation.verb >= 0:
            yield subject, parse.tokens[relation.verb].text.lower(), kernel


def facts_of_parses(parses: Iterable[Parse], objects: frozenset[str] | None = None) -> ImageFacts:
    """The facts in the unread captions of one image."""
    return facts_of([(parse, read(parse)) for parse in parses], objects)


def doubt_of(parse: Parse, negative: str, kind: str, facts: ImageFacts) -> str | None:
    """Why a negative may be true, as one of `DOUBTS`, or None if nothing suggests it."""
    edit = difference(tokens(parse.text), tokens(negative))
    if edit is None:
        return "said elsewhere"
    if kind == "swap-object" and _symmetrical(edit):
        return "symmetrical"
    doubts = (facts.doubt(claim) for claim in _claims(parse, edit, kind))
    return next((doubt for doubt in doubts if doubt), None)


def _symmetrical(edit: WordDifference) -> bool:
    """Whether only a symmetric relation stands between the exchanged words."""
    runs = is_one_swap(edit)
    if runs is None:
        return False
    (_, start), (end, _) = runs
    between = edit.was[start - edit.start : end - edit.start]
    content = [word for word in between if word not in ("a", "the", "to", "is", "some")]
    return not content or bool(SYMMETRICAL & set(content[-1:]))


def _claims(parse: Parse, edit: WordDifference, kind: str) -> Iterator[Claim]:
    new = [word for word in edit.now if word not in FUNCTION_WORDS]
    if kind.endswith("object") and not kind.startswith("swap"):
        for word in new:
            yield Shows(base(word))
        if len(new) > 1:
            yield Shows(" ".join((*new[:-1], base(new[-1]))))
    elif kind == "swap-attribute":
        runs = is_one_swap(edit)
        for here, there in (runs, runs[::-1]) if runs else ():
            for token in _words(parse)[there[0] : there[1]]:
                yield Has(_noun_behind(parse, here[1]), token.text.lower())
    elif kind.endswith("attribute"):
        for word in new:
            yield Has(_noun_behind(parse, edit.end), word)
    elif kind == "replace-relation":
        for word in edit.now:
            yield Stands(word, _noun_behind(parse, edit.end))
        yield Stands(" ".join(edit.now), _noun_behind(parse, edit.end))


def _words(parse: Parse) -> list[Token]:
    """The last token of each word, with words as in `words.tokens`."""
    ends = {token.end: token for token in parse.tokens}
    return [ends.get(end, parse.tokens[0]) for _, end, _ in spans(parse.text)]


def _noun_behind(parse: Parse, word: int) -> str:
    """The first head of a noun phrase at or after a word, in the singular."""
    for token in _words(parse)[word:]:
        if token.pos in ("NOUN", "PROPN") and token.dep not in ("compound", "amod"):
            return token.lemma.lower()
    return ""


@cache
def base(noun: str) -> str:
    """A noun in the singular.

    >>> base("knives")
    'knife'
    """
    lemminflect = need("lemminflect", "text", "finding base forms")
    lemmas: tuple[str, ...] = lemminflect.getLemma(noun, "NOUN")
    return lemmas[0] if lemmas else noun
