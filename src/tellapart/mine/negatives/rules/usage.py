"""How a corpus uses its words: its nouns, and which words go together.

Several people describe each image. So a thing that most captions of its images name is absent if no
caption names it. And the rules only combine words that someone has combined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import combinations
from typing import Any

from tellapart.mine.negatives.phrases import (
    ING_NOUNS,
    NO_THINGS,
    PEOPLE,
    Phrase,
    Reading,
    kernel_of,
)
from tellapart.text.parses import Parse

WordPair = tuple[str, str]
FORMS = ("a", "bare", "plural", "other")
FEWEST = 15
"""How many captions must have a noun before it is inserted into another."""
SINGULAR = 0.01
"""The least share of singular uses; a noun that is never singular was misread (`zebra grazes`)."""
USED, BARE, MASS = 0.05, 0.25, 0.5
"""The least share of a noun's uses in a form to look right in it, bare, and to be a mass noun."""
IMPLIES, LIFT = 0.85, 3.0
"""A noun means an object if this share of its images shows it, and this many times the usual."""
SILENCE_TELLS = 0.4
"""The least mean share of captions that name a thing, over images where one does, for silence to
mean absence."""
SAME_IMAGES, ONE_CAPTION = 0.1, 0.35
"""The share of the rarer noun's images with both nouns, and the captions with both per image."""
USUAL = 0.1
"""The least use of a noun relative to the usual word for the same thing: not `lap top`."""
ATTESTED = 2
"""How many captions must have two words together before the rules combine them."""
LEAST_LIFT, ATTRIBUTE_LIFT = 0.3, 0.1
"""How often two words must occur together, relative to chance."""


@dataclass(slots=True)
class CorpusCounts:
    """Counts of captions, or of images where stated.

    Nouns are singular with their compounds (`tennis racket`), kernels without (`racket`); verbs,
    prepositions and attributes are as written, in lower case.
    """

    pictures: int = 0
    described: int = 0
    """images with a list of objects"""
    nouns: Counter[str] = field(default_factory=Counter)
    written: Counter[tuple[str, bool, str]] = field(default_factory=Counter)
    """(noun, is it plural, as written)"""
    forms: Counter[WordPair] = field(default_factory=Counter)
    """(noun, form of use), see `form_of`"""
    images: Counter[str] = field(default_factory=Counter)
    """noun: images with a caption that has it"""
    mention_shares: Counter[str] = field(default_factory=Counter)
    """noun: sum over images of the share of captions that have it, in thousandths"""
    together: Counter[WordPair] = field(default_factory=Counter)
    """(noun, noun) in alphabetical order: images with both"""
    shown: Counter[WordPair] = field(default_factory=Counter)
    """(noun, object): images that show the object and have a caption with the noun"""
    described_with: Counter[str] = field(default_factory=Counter)
    """noun: images with a caption that has it, among those with a list of objects"""
    objects: Counter[str] = field(default_factory=Counter)
    """object: images that show it"""
    beside: Counter[WordPair] = field(default_factory=Counter)
    """(noun, noun) in alphabetical order: captions with both"""
    attributes: Counter[WordPair] = field(default_factory=Counter)
    """(attribute, kernel)"""
    before: Counter[WordPair] = field(default_factory=Counter)
    """(kernel, preposition or verb): the subject of a relation"""
    behind: Counter[WordPair] = field(default_factory=Counter)
    """(preposition or verb, kernel): the object of a relation"""
    verbs: Counter[WordPair] = field(default_factory=Counter)
    """(verb, preposition)"""
    does: Counter[WordPair] = field(default_factory=Counter)
    """(kernel, verb)"""
    acts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(verb, preposition, kernel)"""
    links: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(kernel, preposition or verb, kernel); `person` stands for all people as subjects"""
    parts: Counter[WordPair] = field(default_factory=Counter)
    """(kernel, kernel) with `of` between"""
    joined: Counter[WordPair] = field(default_factory=Counter)
    """(noun, noun) with `and` between"""

    def to_json(self) -> dict[str, Any]:
        """Each counter as a list of keys and numbers, in order of the keys."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: sorted(value.items()) if isinstance(value, Counter) else value
            for name, value in own.items()
        }

    def add_json(self, part: Mapping[str, Any]) -> None:
        """Add the counts of other captions."""
        for name, value in part.items():
            known = getattr(self, name)
            if not isinstance(known, Counter):
                setattr(self, name, known + value)
                continue
            for key, number in value:
                known[tuple(key) if isinstance(key, list) else key] += number


def form_of(phrase: Phrase) -> str:
    """The grammatical form of a noun: `a`, bare, plural, or anything else."""
    if phrase.plural:
        return "plural"
    if phrase.determiner in ("a", "an"):
        return "a"
    return "other" if phrase.determiner else "bare"


def count_image(
    counts: CorpusCounts, captions: Sequence[tuple[Parse, Reading]], objects: Collection[str] | None
) -> None:
    """Count the captions of one image."""
    counts.pictures += 1
    mentions: Counter[str] = Counter()
    for parse, reading in captions:
        nouns = {phrase.noun for phrase in reading.phrases}
        mentions.update(nouns)
        counts.beside.update(combinations(sorted(nouns), 2))
        _count_phrases(counts, parse, reading)
        _count_relations(counts, parse, reading)
    counts.images.update(mentions.keys())
    for noun, captions_with in mentions.items():
        counts.mention_shares[noun] += 1000 * captions_with // len(captions)
    counts.together.update(combinations(sorted(mentions), 2))
    if objects is not None:
        counts.described += 1
        counts.objects.update(objects)
        counts.described_with.update(mentions.keys())
        counts.shown.update((noun, name) for noun in mentions for name in objects)


def _count_phrases(counts: CorpusCounts, parse: Parse, reading: Reading) -> None:
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


def _count_relations(counts: CorpusCounts, parse: Parse, reading: Reading) -> None:
    seen: set[int] = set()
    for relation in reading.relations:
        verb = parse.tokens[relation.verb].text.lower() if relation.verb >= 0 else ""
        name = relation.name if relation.last > relation.first else verb
        kernel = reading.phrases[relation.object].kernel
        counts.behind[name, kernel] += 1
        if relation.subject >= 0:
            subject = reading.phrases[relation.subject].kernel
            counts.before[subject, name] += 1
            counts.links[anybody(subject), name, kernel] += 1
            if verb and relation.verb not in seen:
                counts.does[subject, verb] += 1
                seen.add(relation.verb)
            if name == "of":
                counts.parts[subject, kernel] += 1
        if verb and name != verb:
            counts.verbs[verb, name] += 1
            counts.acts[verb, name, kernel] += 1


def anybody(kernel: str) -> str:
    """A kernel, or `person` for all that means people."""
    return "person" if kernel in PEOPLE or kernel == "people" else kernel


@dataclass(frozen=True)
class Nouns:
    """The nouns of a corpus, singular, with their compounds."""

    counts: CorpusCounts

    @cached_property
    def known(self) -> frozenset[str]:
        """Nouns of things that are known well enough to be inserted into captions."""
        numbers, forms = self.counts.nouns, self.counts.forms
        known = [
            noun
            for noun, number in numbers.items()
            if number >= FEWEST
            and names_a_thing(noun)
            and forms[noun, "plural"] <= (1 - SINGULAR) * number
        ]
        # A written plural belongs to one noun: `kites` to kite, not to a misreading.
        owner: dict[str, str] = {}
        for noun in sorted(known, key=lambda noun: (-numbers[noun], noun)):
            owner.setdefault(self.written(noun, True), noun)
        return frozenset(owner.values())

    @cached_property
    def by_kernel(self) -> Mapping[str, str]:
        """The noun that is used most for each kernel."""
        usual: dict[str, str] = {}
        for noun in sorted(self.known, key=lambda n: (-self.counts.nouns[n], n)):
            usual.setdefault(kernel_of(noun), noun)
        return usual

    @cached_property
    def _written(self) -> Mapping[tuple[str, bool], str]:
        best: dict[tuple[str, bool], tuple[int, str]] = {}
        for (noun, plural, text), number in sorted(self.counts.written.items()):
            if number > best.get((noun, plural), (1, ""))[0]:
                best[noun, plural] = (number, text)
        return {key: text for key, (_, text) in best.items()}

    def written(self, noun: str, plural: bool) -> str:
        """A noun as the corpus writes it most often."""
        return self._written.get((noun, plural), noun)

    def forms(self, noun: str) -> frozenset[str]:
        """The forms (`form_of`) in which a noun is used often enough to look right."""
        number, forms = self.counts.nouns[noun], self.counts.forms
        return frozenset(
            form
            for form in FORMS
            if forms[noun, form] >= max(FEWEST // 3, (BARE if form == "bare" else USED) * number)
        )

    def is_mass(self, noun: str) -> bool:
        """Whether a noun is mostly used without an article and in the singular: rice, cheese."""
        return self.counts.forms[noun, "bare"] > MASS * self.counts.nouns[noun]

    @cached_property
    def denotes(self) -> Mapping[str, frozenset[str]]:
        """The objects that a noun means, learned from images with lists of objects."""
        counts = self.counts
        objects: dict[str, set[str]] = {noun: {noun} for noun in counts.objects}
        for (noun, name), number in counts.shown.items():
            images = counts.described_with[noun]
            usual = counts.objects[name] / counts.described
            if images >= FEWEST // 3 and number >= max(IMPLIES, LIFT * usual) * images:
                objects.setdefault(noun, set()).add(name)
        return {noun: frozenset(names) for noun, names in objects.items()}

    def mention_rate(self, noun: str) -> float:
        """The mean share of captions that name a thing, over images where one of them does.

        Like `informativeness.TermMentions.rates`, it says whether captions would have mentioned
        something; but for nouns with their compounds, from the parse, not for words.
        """
        images = self.counts.images[noun]
        return self.counts.mention_shares[noun] / 1000 / images if images else 0.0

    @cached_property
    def deniable(self) -> frozenset[str]:
        """Nouns whose absence can be told from an image's objects or captions."""
        denotes, numbers = self.denotes, self.counts.nouns
        usual: dict[frozenset[str], int] = {}
        for noun in self.known & denotes.keys():
            usual[denotes[noun]] = max(usual.get(denotes[noun], 0), numbers[noun])
        return frozenset(
            noun
            for noun in self.known
            if kernel_of(noun) not in PEOPLE
            and (
                numbers[noun] >= USUAL * usual[denotes[noun]]
                if noun in denotes
                else self.mention_rate(noun) >= SILENCE_TELLS
            )
        )

    @cached_property
    def same_things(self) -> Mapping[str, frozenset[str]]:
        """For each noun, those that people use for the same thing.

        They share images (one person says couch, another sofa) but rarely captions, whereas two
        things that occur together share captions as well.
        """
        same: dict[str, set[str]] = {}
        for (one, other), images in self.counts.together.items():
            if self.counts.beside[one, other] >= ONE_CAPTION * images:
                continue
            if one in self.known and self.share_images(one, other) >= SAME_IMAGES:
                same.setdefault(one, set()).add(other)
                same.setdefault(other, set()).add(one)
        return {noun: frozenset(others) for noun, others in same.items()}

    def share_images(self, one: str, other: str) -> float:
        """The share of the images of the rarer of two things that have captions with both."""
        rarer = min(self.counts.images[one], self.counts.images[other])
        together = self.counts.together[min(one, other), max(one, other)]
        return together / rarer if rarer else 0.0


def names_a_thing(noun: str) -> bool:
    """Whether a noun names one kind of visible thing."""
    kernel = kernel_of(noun)
    if kernel.endswith("ing") and kernel not in ING_NOUNS:
        return False
    return kernel not in NO_THINGS and noun not in NO_THINGS


class Collocations:
    """The attested pairs of `CorpusCounts`, and attributes by kernel."""

    def __init__(self, counts: CorpusCounts) -> None:
        self.counts = counts
        self.behind, self.before, self.does, self.verbs, self.parts = map(
            attested, (counts.behind, counts.before, counts.does, counts.verbs, counts.parts)
        )
        self.acts = frozenset(act for act, number in counts.acts.items() if number >= ATTESTED)
        self.beside = frozenset(p for p, number in counts.beside.items() if number >= ATTESTED)
        self.attributes: dict[str, dict[str, int]] = {}
        for attribute, kernel in sorted(attested(counts.attributes, ATTRIBUTE_LIFT)):
            number = counts.attributes[attribute, kernel]
            self.attributes.setdefault(kernel, {})[attribute] = number

    def takes(self, kernel: str, attribute: str) -> bool:
        """Whether a kernel has an attribute somewhere."""
        return attribute in self.attributes.get(kernel, ())


def attested(pairs: Counter[WordPair], lift: float = LEAST_LIFT) -> frozenset[WordPair]:
    """Pairs seen more than once, and not much rarer than by chance.

    Parser errors are rare, but frequent words can meet by mistake, too.
    """
    first: Counter[str] = Counter()
    second: Counter[str] = Counter()
    for (one, other), number in pairs.items():
        first[one] += number
        second[other] += number
    least = lift / max(1, first.total())
    return frozenset(
        (one, other)
        for (one, other), number in pairs.items()
        if number >= ATTESTED and number >= least * first[one] * second[other]
    )
