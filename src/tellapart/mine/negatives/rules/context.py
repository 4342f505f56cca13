"""The input of a rule: a read caption, facts about its image, and the corpus's word lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl

from tellapart.corpus.categories import categories_for
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import read_corpus
from tellapart.mine.negatives.claims import ImageFacts, Shows
from tellapart.mine.negatives.negative import (
    Change,
    NegativesTask,
    SourceCaption,
    parses_of,
)
from tellapart.mine.negatives.phrases import WORN, Phrase, Reading, Relation
from tellapart.mine.negatives.rules.alternatives import Alternatives
from tellapart.mine.negatives.rules.shards import caption_parts, count, counted_by
from tellapart.mine.negatives.rules.usage import (
    SILENCE_TELLS,
    Collocations,
    CorpusCounts,
    Nouns,
)
from tellapart.text.parses import Parse, Parses

SELDOM_TOGETHER = 0.1
"""Two things are alternatives only if at most this share of the rarer's images has both."""
AGREED = 2
"""How many captions must say a detail, since one person may be wrong (FOIL's rule of salience)."""


def most_of(captions: int) -> int:
    """How many captions of so many must say what is replaced: half of them, and two or more.

    >>> [most_of(captions) for captions in (1, 2, 3, 4, 5)]
    [1, 2, 2, 2, 3]
    """
    return min(captions, max(AGREED, (captions + 1) // 2))


NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CaptionContext:
    """One caption with everything that rules need.

    `readings` are all captions of the image; `refused` counts why edits were not made.
    """

    source: SourceCaption
    reading: Reading
    facts: ImageFacts
    lists: WordLists
    readings: Sequence[tuple[Parse, Reading]] = ()
    refused: Counter[str] = field(default_factory=Counter)

    def word(self, token: int) -> str:
        """A token as written, in lower case."""
        return self.source.parse.tokens[token].text.lower()

    def name(self, relation: Relation) -> str:
        """The preposition, or without one the verb as written."""
        return relation.name if relation.last > relation.first else self.word(relation.verb)

    def put(self, first: int, last: int, text: str) -> Change:
        """The change that replaces tokens first to last by a text."""
        tokens = self.source.parse.tokens
        return Change(tokens[first].begin, tokens[last].end, text)

    def doubts(self, doubt: str | None) -> bool:
        """Whether there is a doubt; if so, it is counted."""
        if doubt:
            self.refused[doubt] += 1
        return bool(doubt)

    def is_salient(self, says: Callable[[Parse, Reading], bool]) -> bool:
        """Whether so many captions of the image say a detail that its picture surely shows it.

        FOIL (Shekhar et al. 2017, section 3) replaces a word only if several captions have it. Half
        of them must; where an image has one caption, it is enough.
        """
        enough = most_of(len(self.readings))
        times = sum(says(parse, reading) for parse, reading in self.readings)
        return enough <= 1 or times >= enough or not self.doubts("said seldom")

    def is_named(self, phrase: Phrase) -> bool:
        """Whether a thing is salient, by this name or another for the same thing."""
        names = {phrase.kernel, phrase.noun, *self.lists.nouns.same_things.get(phrase.noun, NONE)}
        return self.is_salient(
            lambda _, reading: any(
                one.kernel in names or one.noun in names for one in reading.phrases
            )
        )

    def absent(self, noun: str, beside: str) -> bool:
        """Whether an image surely does not show a thing.

        By its list of objects if the noun names one; otherwise, if its captions would name the
        thing if it were there, and it rarely occurs with what is there.
        """
        facts, nouns = self.facts, self.lists.nouns
        if self.doubts(facts.doubt(Shows(noun))):
            return False
        if not nouns.same_things.get(noun, NONE).isdisjoint(facts.nouns):
            return not self.doubts("mentioned")
        if facts.objects is not None and noun in nouns.denotes:
            return True
        named = nouns.mention_rate(noun) >= SILENCE_TELLS
        apart = nouns.share_images(noun, beside) <= SELDOM_TOGETHER
        return not self.doubts(None if named and apart else "may be there")

    def is_one(self, phrase: Phrase) -> bool:
        """Whether the image has one such thing, as far as its captions say."""
        if phrase.kernel in WORN and not self.facts.alone:
            return False
        return phrase.kernel not in self.facts.several

    def collocates(self, number: int) -> Collocates:
        """What a noun must go with to replace a phrase."""
        phrases, needed = self.reading.phrases, Collocates([], [], [], [], [])
        for relation in self.reading.relations:
            if relation.object == number:
                needed.behind.append(self.name(relation))
                if relation.name == "of" and relation.subject >= 0:
                    needed.parts.append(phrases[relation.subject].kernel)
            elif relation.subject == number:
                needed.before.append(self.name(relation))
                if relation.verb >= 0:
                    needed.does.append(self.word(relation.verb))
        known = self.lists.nouns.known
        needed.beside.extend(
            phrase.noun for k, phrase in enumerate(phrases) if k != number and phrase.noun in known
        )
        return needed

    def fits(self, collocates: Collocates, noun: str, kernel: str) -> bool:
        """Whether the corpus has a noun with everything it would be used with."""
        pairs = self.lists.collocations
        return (
            all((name, kernel) in pairs.behind for name in collocates.behind)
            and all((kernel, name) in pairs.before for name in collocates.before)
            and all((kernel, verb) in pairs.does for verb in collocates.does)
            and all((whole, kernel) in pairs.parts for whole in collocates.parts)
            and all((min(noun, one), max(noun, one)) in pairs.beside for one in collocates.beside)
        )


class Collocates(NamedTuple):
    """What a noun must go with to replace a phrase.

    Names of relations to it, names of relations from it, its verbs, kernels that it is a part of,
    nouns beside it.
    """

    behind: list[str]
    before: list[str]
    does: list[str]
    parts: list[str]
    beside: list[str]


@dataclass(frozen=True, slots=True)
class WordLists:
    """Word lists learned from a corpus for the rules; `name` is the corpus's."""

    name: str
    counts: CorpusCounts
    nouns: Nouns
    collocations: Collocations
    alternatives: Alternatives

    @classmethod
    def of(cls, name: str, counts: CorpusCounts, sorts: Mapping[str, str]) -> WordLists:
        """The lists from counts; `sorts` maps objects' names to supercategories."""
        nouns = Nouns(counts)
        return cls(name, counts, nouns, Collocations(counts), Alternatives(nouns, sorts))

    @property
    def about(self) -> dict[str, str]:
        """The card's description of the lists."""
        net = self.alternatives.wordnet
        sorts = "a table of categories, else WordNet" if net else "a table of categories"
        return {
            "word_lists_from": f"{self.name}: {self.counts.pictures:,} images, "
            f"{self.counts.described:,} of them with a list of objects",
            "sorts_of_things_by": f"{sorts}, else the words that they go with",
        }


def lists_for(task: NegativesTask) -> WordLists:
    """The word lists of the task's own captions, or of the corpus that its method names."""
    if task.method.lists_from is None:
        return learn(task.corpus, task.parses, task)
    corpus = read_corpus(task.method.lists_from)
    # The task's corpus may list objects of the same images.
    known = task.corpus.images.select("id", known="objects")
    images = corpus.images.join(known, on="id", how="left", maintain_order="left")
    images = images.with_columns(pl.coalesce("objects", "known").alias("objects")).drop("known")
    corpus = replace(corpus, images=images)
    parses = parses_of(corpus, task.method, task.progress, task.crew)
    return learn(corpus, parses, task)


def learn(corpus: Corpus, parses: Parses, task: NegativesTask | None = None) -> WordLists:
    """The word lists of a corpus; the crew of a task may count its words."""
    if task is not None and task.crew is not None:
        counts = counted_by(task.crew, caption_parts(corpus, parses), task.method, task.progress)
    else:
        counts = count(corpus, parses)
    sorts = {
        word: name.supercategory
        for name in categories_for(corpus).names
        for word in (name.word, name.category)
    }
    return WordLists.of(corpus.name, counts, sorts)
