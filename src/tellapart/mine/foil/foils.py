"""All foil captions of a corpus (steps 1 to 3), held as numbers and written out when needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tellapart.corpus.corpus import Corpus
from tellapart.mine.building import Progress
from tellapart.mine.categories import Categories, categories_for
from tellapart.mine.foil.candidates import Candidates, Rules, candidates, said, salient, shown
from tellapart.mine.foil.fitting import fitting
from tellapart.mine.foil.forms import Forms, plain_forms, usual_forms
from tellapart.mine.foil.judging import judge
from tellapart.mine.foil.mentions import Mentions, mentions, plain_mentions
from tellapart.mine.foil.numbers import told_number
from tellapart.mine.foil.options import FoilOptions
from tellapart.mine.foil.pairs import Pairs, pairs_for
from tellapart.mine.foil.words import Words, words_of
from tellapart.score.cache import default_folder
from tellapart.text.inflect import put
from tellapart.text.parsing.parse import parse
from tellapart.text.parsing.parsed import Ints, Parses


class Put(NamedTuple):
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
    pairs: Pairs
    images: list[str]
    image: Ints
    words: Words
    found: Mentions
    rules: Rules
    forms: Forms
    rows: Candidates
    parses: Parses | None
    plain: bool

    def put(self, row: int) -> Put:
        """A foil caption, written out."""
        mention = int(self.rows.mention[row])
        text = self.words.texts[int(self.found.caption[mention])]
        begin = int(self.words.begin[self.found.first[mention]])
        end = int(self.words.end[self.found.last[mention]])
        form = self.forms.of(int(self.rows.foil[row]), several=bool(self.found.plural[mention]))
        if self.plain:
            form = form.capitalize() if text[begin].isupper() else form
            return Put(text[:begin] + form + text[end:], begin, begin + len(form))
        changed = put(text, begin, end, form)
        behind = len(changed) - (len(text) - end)
        return Put(changed, behind - len(form), behind)

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
    rules = Rules(pairs.matrix(table), ~there, often, image)
    rows = candidates(found, rules, fits)
    return Foils(
        corpus, table, pairs, images, image, words, found, rules, forms, rows, parses, own.plain
    )
