"""Negatives: the task, the edits that make them, and their items.

An item is one image and two captions; both have the same form, so that form gives nothing away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import polars as pl

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.items import KINDS, Grid, Item, Origin
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.negatives import NegativesMethod
from tellapart.mine.negatives.phrases import Reading, read
from tellapart.mine.shares import equal_shares
from tellapart.store.cache import default_folder
from tellapart.text.english import alike, article
from tellapart.text.parse import parse
from tellapart.text.parses import Parse, Parses
from tellapart.types import Progress, silent
from tellapart.work.stages import StagedCrew

ARTICLE = re.compile(r"\b([Aa]n?)(\s+)$")


@dataclass(frozen=True, slots=True)
class SourceCaption:
    """A caption to edit: its image, its text and its parse."""

    caption: str
    image: str
    text: str
    parse: Parse


@dataclass(frozen=True, slots=True)
class Negative:
    """A caption that is false of its image, and the true one that it was made from.

    `was` and `now` are the words replaced or exchanged, without articles that changed along with
    them. `notes` are the maker's own facts and go into the item's origin.
    """

    caption: str
    image: str
    kind: str
    original: str
    text: str
    was: str = ""
    now: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)


class Change(NamedTuple):
    """text[start:end] is replaced by `text`; with start == end, text is added."""

    start: int
    end: int
    text: str


class Edit(NamedTuple):
    """Changes that belong together; `was` and `now` are the words concerned.

    `weight` is the edit's relative chance among others for the same caption. `truth` are changes
    that insert a true detail where `changes` insert a false one: then the caption with the true
    detail is the original.
    """

    changes: tuple[Change, ...]
    was: str
    now: str
    weight: float = 1.0
    truth: tuple[Change, ...] = ()


def changed(text: str, changes: Sequence[Change]) -> str:
    """The text after all changes, which must not overlap; a/an and the first capital are adjusted.

    >>> changed("A dog on an old bed.", [Change(2, 5, "owl"), Change(12, 16, "")])
    'An owl on a bed.'
    """
    first = next((k for k, letter in enumerate(text) if letter.isalpha()), 0)
    parts: list[str] = []
    done = 0
    for start, end, new in sorted(changes):
        before = text[done:start]
        behind = new or text[end:].lstrip()
        match = ARTICLE.search(before) if behind[:1].isalpha() else None
        if match:
            right = article(behind)
            right = right.capitalize() if match.group(1)[0] == "A" else right
            before = before[: match.start()] + right + match.group(2)
        parts += (before, new)
        done = end
    parts.append(text[done:])
    new_text = "".join(parts)
    if text[first : first + 1].isupper() and new_text[first : first + 1].islower():
        new_text = new_text[:first] + new_text[first].upper() + new_text[first + 1 :]
    return new_text


@dataclass(frozen=True)
class NegativesTask:
    """Captions with their parses, in the corpus's order, and the negatives wanted.

    `items` is the total number wanted (None: as many as possible); a maker that pays for each stops
    there. A `crew` may do what rules do, some images at a time.
    """

    corpus: Corpus
    parses: Parses
    method: NegativesMethod
    seed: int = 0
    items: int | None = None
    progress: Progress = silent
    crew: StagedCrew | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of negatives wanted."""
        return self.method.kinds or KINDS

    @property
    def details(self) -> str:
        """What the add kinds insert, one of `DETAILS`; a language model is asked for one detail."""
        return self.method.details if self.method.by == "rules" else "added"

    def source(self, row: int) -> SourceCaption:
        """A caption by its position in the corpus."""
        caption, image, text = self.corpus.captions.row(row)
        return SourceCaption(caption, image, text, self.parses[row])


def parses_of(
    corpus: Corpus, method: NegativesMethod, progress: Progress, crew: StagedCrew | None = None
) -> Parses:
    """The parses of a corpus's captions, through the cache."""
    texts, cache = corpus.captions["text"].to_list(), method.cache or default_folder()
    return parse(texts, model=method.parser, cache=cache, progress=progress, crew=crew)


def rows_by_image(corpus: Corpus) -> dict[str, list[int]]:
    """The positions of each image's captions, images in the order of their first captions."""
    captions = MinedCaptions.of(corpus)
    return dict(zip(captions.images, captions.of_images, strict=True))


ReadCaptions = list[tuple[int, Parse, Reading]]
"""The captions of an image: each one's row, parse and reading."""


def read_images(corpus: Corpus, parses: Parses) -> Iterator[tuple[str, ReadCaptions]]:
    """Each image with its captions read, in the order of the images' first captions."""
    rows = rows_by_image(corpus)
    ordered = iter(parses.rows([row for several in rows.values() for row in several]))
    for image, several in rows.items():
        parsed = zip(several, ordered, strict=False)
        yield image, [(row, parse, read(parse)) for row, parse in parsed]


@dataclass(frozen=True)
class NegativeSet:
    """Negatives in the order of their captions; how often each (kind, reason) was rejected.

    `about` goes into the benchmark's card; `beside` are tables to write into its folder.
    """

    negatives: list[Negative]
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    about: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def distinct(self, corpus: Corpus) -> Iterator[Negative]:
        """Negatives that are not captions of the image word for word, each once.

        Two people may have written the same caption, which then gets the same negative.
        """
        captions = {
            image: {alike(text).lower() for text in texts}
            for image, texts in corpus.texts_by_image.items()
        }
        seen: set[tuple[str, str, str]] = set()
        for negative in self.negatives:
            text = alike(negative.text).lower()
            key = (negative.image, alike(negative.original).lower(), text)
            if text in captions[negative.image]:
                self.refused[negative.kind, "said elsewhere"] += 1
            elif key in seen:
                self.refused[negative.kind, "made already"] += 1
            else:
                seen.add(key)
                yield negative

    def to_json(self) -> dict[str, Any]:
        """The negatives and what was refused, for the file of a shard."""
        refused = [[*key, number] for key, number in sorted(self.refused.items())]
        return {"negatives": [asdict(one) for one in self.negatives], "refused": refused}

    def add_json(self, made: Mapping[str, Any]) -> None:
        """Add what a shard's file has."""
        self.negatives.extend(Negative(**one) for one in made["negatives"])
        for kind, reason, number in made["refused"]:
            self.refused[kind, reason] += number

    def refusals(self) -> dict[str, dict[str, int]]:
        """How often each kind was rejected, by reason."""
        refused: dict[str, dict[str, int]] = {}
        for (kind, reason), number in sorted(self.refused.items()):
            refused.setdefault(kind, {})[reason] = number
        return refused


def sample(negatives: Iterable[Negative], items: int | None, seed: int) -> Sequence[Negative]:
    """As many as wanted, drawn by the seed, with equal shares of kinds as far as possible."""
    every = list(negatives)
    lots = [seeds.unit(seed, "negatives", n.caption, n.kind, n.text) for n in every]
    return [every[place] for place in equal_shares([n.kind for n in every], lots, items)]


def place_of_truth(negative: Negative, seed: int) -> int:
    """At which place the original stands, by the seed."""
    return seeds.number(seed, "negatives", "order", negative.caption, negative.text) % 2


def negative_item(
    corpus: Corpus, negative: Negative, *, as_written: bool, seed: int, place: int | None = None
) -> Item:
    """The item of a negative and its original, which stands at `place`, or where the seed says."""
    place = place_of_truth(negative, seed) if place is None else place
    both = (negative.original, negative.text)
    if not as_written:
        both = (alike(both[0]), alike(both[1]))
    notes = {"was": negative.was, "now": negative.now, **negative.notes}
    return Item.built(
        "negatives",
        Grid.caption_choice(negative.image, both, (place, 1 - place)),
        kind=negative.kind,
        origin=Origin("tellapart build negatives", corpus.name, negative.caption, seed, notes),
    )
