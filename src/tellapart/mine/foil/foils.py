"""Which foils fit a place, by what the corpus itself has there.

`coffee table` becomes no `coffee bed`, `a cup of tea` no `fork of tea`: a word that stands before a
mention must have been seen before the foil, unless it goes with all sorts of things.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.mine.building import Progress
from tellapart.mine.categories import Categories, Name, categories_for
from tellapart.mine.foil.mentions import (
    Binding,
    Mentions,
    Words,
    judge,
    mentions,
    plain_mentions,
    told_number,
    words_of,
)
from tellapart.mine.foil.options import FoilOptions
from tellapart.mine.foil.pairs import FoilPairs, pairs_for
from tellapart.store.cache import default_folder
from tellapart.text.english import plural, put
from tellapart.text.parse import parse
from tellapart.text.parses import Ints, Parses
from tellapart.types import Bools

SORTS = 3
"""An adjective that goes with words of so many supercategories goes with all."""
OF = 0.05
"""The share of a word's mentions with `of` behind it from which on it is a measure (cup of)."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands before and behind the mentions of a corpus."""

    before: Ints
    """For each mention the word before it (in the vocabulary), -1 at the start of a caption."""
    measured: Bools
    """Which mentions measure something: `of` stands behind a name that is a measure."""
    place: Ints
    seen: Bools
    """Whether a word (row) has been seen before a name (column)."""
    general: Bools
    """Which words go with all sorts of things."""
    measures: Bools
    """Which names are measures."""

    def fits(self, rows: slice) -> Bools:
        """For some mentions (rows of the result) which foils (columns) fit."""
        place, before = self.place[rows, None], self.before[rows]
        seen = self.seen[before] & (before >= 0)[:, None]
        modified = (place == Binding.MODIFIED) & (seen | self.general[before, None])
        good: Bools = (place == Binding.FREE) | modified | ((place == Binding.BOUND) & seen)
        return good & (self.measures | ~self.measured[rows, None])


def fitting(found: Mentions, place: Ints, words: Words, table: Categories) -> Surroundings:
    """Learn from the mentions of a corpus what fits where."""
    inside = found.first > words.starts[found.caption]
    before = np.where(inside, words.word[np.maximum(found.first - 1, 0)], -1)
    ahead = found.last + 1 < words.starts[found.caption + 1]
    behind = np.where(ahead, words.word[np.minimum(found.last + 1, len(words.word) - 1)], -1)
    with_of = behind == words.vocabulary.get("of", -2)
    seen = np.zeros((len(words.vocabulary) + 1, len(table.names)), np.bool_)
    seen[before, found.name] = True
    sorts = np.array([table.supercategories.index(name.supercategory) for name in table.names])
    number = np.zeros(len(seen), np.int32)
    for sort in range(len(table.supercategories)):
        number += seen[:, sorts == sort].any(axis=1)
    names = len(table.names)
    times = np.bincount(found.name, minlength=names)
    measures = np.bincount(found.name[with_of], minlength=names) >= np.maximum(2, OF * times)
    measured = with_of & measures[found.name]
    return Surroundings(before, measured, place, seen, number >= SORTS, measures)


BLOCK = 1 << 16
"""Mentions that are held against all foils at a time."""


@dataclass(frozen=True, slots=True)
class Replacements:
    """Foil captions, one row each: the mention that is replaced, and the name that replaces it."""

    mention: Ints
    foil: Ints

    def __len__(self) -> int:
        return len(self.mention)


@dataclass(frozen=True, slots=True)
class FoilRules:
    """What may be replaced by what.

    `pairs` (target, foil) are those of the split, `absent` (image, foil) is what an image neither
    shows nor has in its captions, `salient` are the mentions that may be replaced; `image` says
    of each caption which image it is of.
    """

    pairs: Bools
    absent: Bools
    salient: Bools
    image: Ints


def salient(found: Mentions, image: Ints, names: int, least: int) -> Bools:
    """Which mentions are of a word that at least so many captions of the image have.

    `image` says for each caption which image it is of.
    """
    captions = np.unique(found.caption * names + found.name)
    of_image = image[captions // names] * names + captions % names
    known, times = np.unique(of_image, return_counts=True)
    mine = np.searchsorted(known, image[found.caption] * names + found.name)
    enough: Bools = times[mine] >= least
    return enough


def shown(corpus: Corpus, images: list[str], table: Categories, *, needed: bool) -> Bools:
    """Which categories (columns) the images (rows) show, by their objects.

    Where nobody says what an image shows, that is an error if objects are `needed`.
    """
    listed = [corpus.objects(image) for image in images]
    unknown = [image for image, objects in zip(images, listed, strict=True) if objects is None]
    if unknown and needed:
        raise BadInput(
            f"nobody says which objects image {unknown[0]} of {corpus.name} shows"
            + (f" (nor {len(unknown) - 1:,} other images)" if len(unknown) > 1 else ""),
            allowed="a corpus with objects: FOIL must know which words would be true",
            todo="give a file of objects with --objects, or let the captions alone decide with "
            "--absence captions",
        )
    columns: dict[str, list[int]] = {}
    for place, name in enumerate(table.names):
        columns.setdefault(name.category, []).append(place)
    seen = {object_ for objects in listed for object_ in objects or ()}
    if seen and not seen & columns.keys():
        raise BadInput(
            f"none of the objects of {corpus.name} is a category of the table {table.name}",
            allowed=f"objects called as the categories are, such as {next(iter(columns))!r}; "
            f"they are called {', '.join(sorted(seen)[:5])}",
            todo="give a table of categories with --categories",
        )
    there = np.zeros((len(images), len(table.names)), np.bool_)
    for row, objects in enumerate(listed):
        for object_ in objects or ():
            there[row, columns.get(object_, [])] = True
    return there


def said(words: Words, image: Ints, images: int, table: Categories) -> Bools:
    """Which categories (columns) captions of the images (rows) mention, by any word for them."""
    there = np.zeros((images, len(table.names)), np.bool_)
    of_image = image[words.owner]
    for place, name in enumerate(table.names):
        forms = {form for w in (name.word, *name.synonyms) for form in (w, plural(w))}
        single = np.zeros(len(words.vocabulary), np.bool_)
        single[[words.vocabulary[form] for form in forms if form in words.vocabulary]] = True
        there[of_image[single[words.word]], place] = True
        for phrase in (form for form in forms if " " in form):
            there[of_image[words.places_of(phrase)], place] = True
    return there


def candidates(found: Mentions, rules: FoilRules, fitting: Surroundings | None) -> Replacements:
    """Every foil caption that the rules allow."""
    mention, foil = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for begin in range(0, len(found), BLOCK):
        rows = slice(begin, begin + BLOCK)
        good = rules.pairs[found.name[rows]] & rules.absent[rules.image[found.caption[rows]]]
        good &= rules.salient[rows, None]
        if fitting is not None:
            good &= fitting.fits(rows)
        row, column = np.nonzero(good)
        mention.append(row + begin)
        foil.append(column)
    return Replacements(np.concatenate(mention), np.concatenate(foil))


RARE = 3
"""Fewer mentions than that say nothing about how people write."""


@dataclass(frozen=True, slots=True)
class Forms:
    """For each name what stands for it in the singular and in the plural."""

    one: tuple[str, ...]
    several: tuple[str, ...]

    def of(self, name: int, *, several: bool) -> str:
        """The form of a name in a number."""
        return (self.several if several else self.one)[name]


def plain_forms(table: Categories) -> Forms:
    """The words as the table has them."""
    words = tuple(name.word for name in table.names)
    return Forms(words, words)


def usual_forms(found: Mentions, words: Words, table: Categories) -> Forms:
    """The commonest way to write each category: a phone is a cell phone, a tv a TV.

    So what is replaced and what replaces it are alike in length over all: a foil is not known by
    its being shorter.
    """
    counted: list[Counter[str]] = [Counter() for _ in table.names]
    first, last = words.begin[found.first].tolist(), words.end[found.last].tolist()
    inside = (found.first > words.starts[found.caption]).tolist()
    singular = (~found.plural).tolist()
    rows = zip(found.caption.tolist(), found.name.tolist(), first, last, strict=True)
    for row, (caption, name, begin, end) in enumerate(rows):
        if singular[row] and inside[row]:
            text = words.texts[caption]
            if not text.isupper():
                counted[name][text[begin:end]] += 1
    one = [
        name.one or _commonest(times) or _default(name)
        for name, times in zip(table.names, counted, strict=True)
    ]
    several = [name.several or plural(form) for name, form in zip(table.names, one, strict=True)]
    return Forms(tuple(one), tuple(several))


def _commonest(times: Counter[str]) -> str:
    """The form that occurs most; equal ones by the alphabet, rare ones never."""
    often = [form for form, number in times.items() if number >= RARE]
    return min(often, key=lambda form: (-times[form], form), default="")


def _default(name: Name) -> str:
    return name.category if name.category in name.long else name.word


class FoilCaption(NamedTuple):
    """A caption with the foil at text[start:end]."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Foils:
    """Foil captions as rows of `rows`, and all that they are made of.

    `images` are ids, `image` the place of each caption's image among them.
    """

    corpus: Corpus
    table: Categories
    pairs: FoilPairs
    images: list[str]
    image: Ints
    words: Words
    found: Mentions
    rules: FoilRules
    forms: Forms
    rows: Replacements
    parses: Parses | None
    plain: bool

    def put(self, row: int) -> FoilCaption:
        """A foil caption, written out."""
        mention = int(self.rows.mention[row])
        text = self.words.texts[int(self.found.caption[mention])]
        begin = int(self.words.begin[self.found.first[mention]])
        end = int(self.words.end[self.found.last[mention]])
        form = self.forms.of(int(self.rows.foil[row]), several=bool(self.found.plural[mention]))
        if self.plain:
            form = form.capitalize() if text[begin].isupper() else form
            return FoilCaption(text[:begin] + form + text[end:], begin, begin + len(form))
        changed = put(text, begin, end, form)
        behind = len(changed) - (len(text) - end)
        return FoilCaption(changed, behind - len(form), behind)

    def source(self, row: int) -> tuple[str, str]:
        """The image and the caption that a foil is made from."""
        caption = int(self.caption[row])
        return self.images[int(self.image[caption])], self.words.texts[caption]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def caption(self) -> Ints:
        """For each foil the caption that it is made from."""
        return self.found.caption[self.rows.mention]

    @cached_property
    def caption_ids(self) -> list[str]:
        """The ids of all captions."""
        return self.corpus.captions["id"].to_list()

    @cached_property
    def target(self) -> Ints:
        """For each foil the name that it replaces."""
        return self.found.name[self.rows.mention]


def make_foils(
    corpus: Corpus,
    own: FoilOptions,
    seed: int,
    progress: Progress = lambda done, total: None,
) -> Foils:
    """Steps 1 to 3: pairs of words, salient targets, absent foils."""
    own = own.settled(world=bool(corpus.about.get("world")))
    objects = corpus.images["objects"].explode().drop_nulls().unique().to_list()
    table = categories_for(corpus, own.categories).knowing(objects)
    pairs = pairs_for(table, own.split, own.part, seed)
    images = corpus.images["id"].to_list()
    place = {image: k for k, image in enumerate(images)}
    image = np.array([place[one] for one in corpus.captions["image"]], np.int64)
    there = shown(corpus, images, table, needed=own.absence == "objects")
    texts = corpus.captions["text"].to_list()
    words = words_of(texts)
    parses = None
    if own.parser != "none":
        parses = parse(texts, model=own.parser, cache=default_folder(), progress=progress)
    fits = None
    if own.plain:
        found, forms = plain_mentions(words, table), plain_forms(table)
    else:
        found = mentions(words, table)
        there |= said(words, image, len(images), table)
        if parses is not None:
            good, places = judge(found, words, parses)
            found = found.keep(good)
            fits = fitting(found, places[good], words, table)
        found = found.with_plural(told_number(found, words, table))
        forms = usual_forms(found, words, table)
    often = salient(found, image, len(table.names), own.mentions)
    rules = FoilRules(pairs.matrix(table), ~there, often, image)
    rows = candidates(found, rules, fits)
    return Foils(
        corpus, table, pairs, images, image, words, found, rules, forms, rows, parses, own.plain
    )
