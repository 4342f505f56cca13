"""Foil captions by rule: salient targets, absent foils.

Shekhar et al. 2017, section 3, step 3: a target is replaced only where more than one caption of the
image has it, and only by a word whose category is not among the objects of the image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.mine.categories import Categories
from tellapart.mine.foil.fitting import Fitting
from tellapart.mine.foil.mentions import Flags, Mentions
from tellapart.mine.foil.words import Words
from tellapart.text.inflect import plural
from tellapart.text.parsing.parsed import Ints

BLOCK = 1 << 16
"""Mentions that are held against all foils at a time."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Foil captions, one row each: the mention that is replaced, and the name that replaces it."""

    mention: Ints
    foil: Ints

    def __len__(self) -> int:
        return len(self.mention)


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be replaced by what.

    `pairs` (target, foil) are those of the split, `absent` (image, foil) is what an image neither
    shows nor has in its captions, `salient` are the mentions that may be replaced; `image` says
    of each caption which image it is of.
    """

    pairs: Flags
    absent: Flags
    salient: Flags
    image: Ints


def salient(found: Mentions, image: Ints, names: int, least: int) -> Flags:
    """Which mentions are of a word that at least so many captions of the image have.

    `image` says for each caption which image it is of.
    """
    captions = np.unique(found.caption * names + found.name)
    of_image = image[captions // names] * names + captions % names
    known, times = np.unique(of_image, return_counts=True)
    mine = np.searchsorted(known, image[found.caption] * names + found.name)
    enough: Flags = times[mine] >= least
    return enough


def shown(corpus: Corpus, images: list[str], table: Categories, *, needed: bool) -> Flags:
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


def said(words: Words, image: Ints, images: int, table: Categories) -> Flags:
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


def candidates(found: Mentions, rules: Rules, fitting: Fitting | None) -> Candidates:
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
    return Candidates(np.concatenate(mention), np.concatenate(foil))
