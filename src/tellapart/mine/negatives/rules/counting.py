"""Counts over a corpus that the word lists are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from tellapart.mine.negatives.phrases import Phrase, Reading
from tellapart.text.parsing.parse import Parse

Pair = tuple[str, str]
Read = tuple[Parse, Reading]


def _counter() -> Counter[str]:
    return Counter()


def _pairs() -> Counter[Pair]:
    return Counter()


@dataclass(slots=True)
class Counts:
    """How often what was seen: in captions, or in images where it says so.

    Nouns are in the singular with their compounds (`tennis racket`), kernels without (`racket`);
    verbs, prepositions and attributes are as written, in lower case.
    """

    pictures: int = 0
    described: int = 0
    """images of which somebody said what they show"""
    nouns: Counter[str] = field(default_factory=_counter)
    written: Counter[tuple[str, bool, str]] = field(default_factory=Counter)
    """(noun, is it plural, as written)"""
    forms: Counter[Pair] = field(default_factory=_pairs)
    """(noun, how it is used), see `form_of`"""
    images: Counter[str] = field(default_factory=_counter)
    """noun: images of which some caption has it"""
    telling: Counter[str] = field(default_factory=_counter)
    """noun: sum over images of the share of captions that have it, in thousandths"""
    together: Counter[Pair] = field(default_factory=_pairs)
    """(noun, noun) in order of the alphabet: images with both"""
    shown: Counter[Pair] = field(default_factory=_pairs)
    """(noun, object): images with a caption that has the noun, which show the object"""
    speaking: Counter[str] = field(default_factory=_counter)
    """noun: images with a caption that has it, among those that are described"""
    objects: Counter[str] = field(default_factory=_counter)
    """object: images that show it"""
    beside: Counter[Pair] = field(default_factory=_pairs)
    """(noun, noun) in order of the alphabet: captions with both"""
    attributes: Counter[Pair] = field(default_factory=_pairs)
    """(attribute, kernel)"""
    before: Counter[Pair] = field(default_factory=_pairs)
    """(kernel, preposition or verb): what stands in a relation"""
    behind: Counter[Pair] = field(default_factory=_pairs)
    """(preposition or verb, kernel): what it stands in relation to"""
    verbs: Counter[Pair] = field(default_factory=_pairs)
    """(verb, preposition)"""
    does: Counter[Pair] = field(default_factory=_pairs)
    """(kernel, verb)"""
    acts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(verb, preposition, kernel)"""
    parts: Counter[Pair] = field(default_factory=_pairs)
    """(kernel, kernel) with `of` between"""
    joined: Counter[Pair] = field(default_factory=_pairs)
    """(noun, noun) with `and` between"""


FORMS = ("a", "bare", "plural", "other")


def form_of(phrase: Phrase) -> str:
    """How a noun is used, as far as grammar cares: `a`, bare, plural, or anything else."""
    if phrase.plural:
        return "plural"
    if phrase.determiner in ("a", "an"):
        return "a"
    return "other" if phrase.determiner else "bare"


def count_image(counts: Counts, captions: Sequence[Read], objects: Collection[str] | None) -> None:
    """Count the captions of one image."""
    counts.pictures += 1
    told: Counter[str] = Counter()
    for parse, reading in captions:
        nouns = {phrase.noun for phrase in reading.phrases}
        told.update(nouns)
        counts.beside.update(combinations(sorted(nouns), 2))
        _count_phrases(counts, parse, reading)
        _count_relations(counts, parse, reading)
    counts.images.update(told.keys())
    for noun, captions_with in told.items():
        counts.telling[noun] += 1000 * captions_with // len(captions)
    counts.together.update(combinations(sorted(told), 2))
    if objects is not None:
        counts.described += 1
        counts.objects.update(objects)
        counts.speaking.update(told.keys())
        counts.shown.update((noun, name) for noun in told for name in objects)


def _count_phrases(counts: Counts, parse: Parse, reading: Reading) -> None:
    tokens = parse.tokens
    for phrase in reading.phrases:
        counts.nouns[phrase.noun] += 1
        counts.forms[phrase.noun, form_of(phrase)] += 1
        text = parse.text[tokens[phrase.core].begin : tokens[phrase.head].end].lower()
        counts.written[phrase.noun, phrase.plural, text] += 1
        for place in phrase.attributes:
            counts.attributes[tokens[place].text.lower(), phrase.kernel] += 1
    for first, second in reading.joined:
        counts.joined[reading.phrases[first].noun, reading.phrases[second].noun] += 1


def _count_relations(counts: Counts, parse: Parse, reading: Reading) -> None:
    seen: set[int] = set()
    for relation in reading.relations:
        verb = parse.tokens[relation.verb].text.lower() if relation.verb >= 0 else ""
        name = relation.name if relation.last > relation.first else verb
        kernel = reading.phrases[relation.object].kernel
        counts.behind[name, kernel] += 1
        if relation.subject >= 0:
            subject = reading.phrases[relation.subject].kernel
            counts.before[subject, name] += 1
            if verb and relation.verb not in seen:
                counts.does[subject, verb] += 1
                seen.add(relation.verb)
            if name == "of":
                counts.parts[subject, kernel] += 1
        if verb and name != verb:
            counts.verbs[verb, name] += 1
            counts.acts[verb, name, kernel] += 1
