"""Foils: captions in which one word is replaced by another of its supercategory.

Shekhar et al. 2017, section 3. Steps 1 and 2: COCO's 73 words give 472 target-foil pairs, 256 for
training and 216 for testing, at random within each supercategory. Step 3: a target is replaced only
if more than one caption of the image has it, and only by a word whose category is not among the
objects of the image.

Beyond the paper, a foil must fit its context: `coffee table` does not become `coffee bed`, nor
`a cup of tea` `a fork of tea`. A word before a mention must have been seen before the foil, too,
unless it goes with all sorts of things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from tellapart import seeds
from tellapart.corpus.categories import Categories, categories_for
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput, UnknownName
from tellapart.files import read_table, require_columns
from tellapart.mine.agreement import disagreements
from tellapart.mine.foil import BOTH_WAYS, PAPER, FoilMethod
from tellapart.mine.foil.mentions import (
    Binding,
    CaptionWords,
    Mentions,
    bindings,
    mentions_in,
    plain_mentions,
    plurals_by_context,
    words_of,
)
from tellapart.store.cache import default_folder
from tellapart.text.english import plural, put
from tellapart.text.parse import parse
from tellapart.text.parses import Parses
from tellapart.types import AnyInts, Bools, Progress, silent
from tellapart.work.stages import StagedCrew

TRAIN, ALL = 256, 472
"""The paper's pairs for training, and all of them."""
PARTS = ("train", "test")
TargetFoil = tuple[str, str]
Forms = list[tuple[str, str]]
"""The singular and plural form of each name."""
BLOCK = 1 << 16
"""How many mentions are compared with all foils at a time."""
SORTS = 3
"""An adjective used with words of this many supercategories fits all words."""
OF = 0.05
"""A word is a measure (cup of) if at least this share of its mentions is followed by `of`."""
RARE = 3
"""Fewer mentions than this are too few to learn usage from."""


class FoilCaption(NamedTuple):
    """A caption with the foil at text[start:end]."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Foils:
    """Foil captions as numbers, one row each, and all that they are made of.

    Row k replaces the mention `mention[k]` by the name `foil[k]`. `images` are ids, `image_of` the
    index of each caption's image among them.
    """

    corpus: Corpus
    table: Categories
    pairs: FoilPairs
    images: list[str]
    image_of: AnyInts
    words: CaptionWords
    mentions: Mentions
    rules: FoilRules
    forms: Forms
    mention: AnyInts
    foil: AnyInts
    parses: Parses | None
    plain: bool

    def written(self, row: int) -> FoilCaption:
        """A foil caption, written out."""
        mention = int(self.mention[row])
        text = self.words.texts[int(self.mentions.caption[mention])]
        begin = int(self.words.begin[self.mentions.first[mention]])
        end = int(self.words.end[self.mentions.last[mention]])
        form = self.forms[int(self.foil[row])][int(self.mentions.plural[mention])]
        if self.plain:
            form = form.capitalize() if text[begin].isupper() else form
            return FoilCaption(text[:begin] + form + text[end:], begin, begin + len(form))
        changed = put(text, begin, end, form)
        behind = len(changed) - (len(text) - end)
        return FoilCaption(changed, behind - len(form), behind)

    def source(self, row: int) -> tuple[str, str]:
        """The image and the caption that a foil is made from."""
        caption = int(self.caption[row])
        return self.images[int(self.image_of[caption])], self.words.texts[caption]

    def __len__(self) -> int:
        return len(self.mention)

    @cached_property
    def caption(self) -> AnyInts:
        """For each foil, the caption that it is made from."""
        return self.mentions.caption[self.mention]

    @cached_property
    def caption_ids(self) -> list[str]:
        """The ids of all captions."""
        return self.corpus.captions["id"].to_list()

    @cached_property
    def target(self) -> AnyInts:
        """For each foil, the name that it replaces."""
        return self.mentions.name[self.mention]


def make_foils(
    corpus: Corpus,
    method: FoilMethod,
    seed: int,
    progress: Progress = silent,
    crew: StagedCrew | None = None,
) -> Foils:
    """Steps 1 to 3: pairs of words, salient targets, absent foils; a crew may parse captions."""
    method = method.resolved(world=bool(corpus.about.get("world")))
    objects = corpus.images["objects"].explode().drop_nulls().unique().to_list()
    table = categories_for(corpus, method.categories).with_objects(objects)
    pairs = pairs_for(table, method.split, method.part, seed)
    images = corpus.images["id"].to_list()
    place = {image: k for k, image in enumerate(images)}
    image_of = np.array([place[image] for image in corpus.captions["image"]], np.int64)
    present = shown(corpus, images, table, needed=method.absence == "objects")
    texts = corpus.captions["text"].to_list()
    words = words_of(texts)
    parses = surroundings = None
    if method.parser != "none":
        parses = parse(
            texts, model=method.parser, cache=default_folder(), progress=progress, crew=crew
        )
    if method.plain:
        mentions = plain_mentions(words, table)
        forms: Forms = [(name.word, name.word) for name in table.names]
    else:
        mentions = mentions_in(words, table)
        present |= mentioned(words, image_of, len(images), table)
        if parses is not None:
            nouns, binding = bindings(mentions, words, parses)
            mentions = mentions.keep(nouns)
            surroundings = Surroundings.of(mentions, binding[nouns], words, table)
        mentions = replace(mentions, plural=plurals_by_context(mentions, words, table))
        forms = usual_forms(mentions, words, table)
    often = salient(mentions, image_of, len(table.names), method.mentions)
    if parses is not None and not method.plain:
        often &= agreed(texts, image_of)[mentions.caption]
    rules = FoilRules(pairs.matrix(table), ~present, often)
    mention, foil = replacements(mentions, image_of, rules, surroundings)
    return Foils(
        corpus, table, pairs, images, image_of, words, mentions, rules, forms, mention, foil,
        parses, method.plain,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FoilPairs:
    """The pairs that are used, and where they come from."""

    used: frozenset[TargetFoil]
    facts: dict[str, Any]

    def matrix(self, table: Categories) -> Bools:
        """Whether a target (row) may be replaced by a foil (column)."""
        allowed = np.zeros((len(table.names), len(table.names)), np.bool_)
        for target, foil in self.used:
            allowed[table.place[target], table.place[foil]] = True
        return allowed


def pairs_for(table: Categories, split: str, part: str, seed: int) -> FoilPairs:
    """The pairs of one part of the paper's split, all of them (`none`), or those of a file."""
    every = table.pairs()
    if split == "none":
        return FoilPairs(frozenset(every), {"split": "none", "pairs": len(every)})
    if part not in PARTS:
        raise UnknownName("part of the pairs", part, PARTS)
    if split == PAPER:
        parts = split_pairs(table, seed)
        facts = {"split": f"paper's way, seed {seed}", "part": part}
    elif split == BOTH_WAYS:
        parts = split_pairs(table, seed, both_ways=True)
        facts = {"split": f"both ways, seed {seed}", "part": part}
    else:
        parts = read_pairs(Path(split), every)
        facts = {"split": Path(split).name, "part": part}
    counts = {f"pairs_in_{name}": sum(p == name for p in parts.values()) for name in PARTS}
    used = frozenset(pair for pair, of in parts.items() if of in ("", part))
    if not used:
        raise BadInput(f"no pair of {split} is for {part}", allowed="at least one pair")
    return FoilPairs(used, {**facts, "pairs": len(used), **counts})


def split_pairs(table: Categories, seed: int, *, both_ways: bool = False) -> dict[TargetFoil, str]:
    """`train` or `test` for each pair: 256 : 216 overall, as close as possible in each group.

    Every supercategory gives the integer part of its share to training; the missing pairs come one
    each from those with the largest remainders. With `both_ways`, a pair and its reverse are in the
    same part: otherwise, whoever knows that `dog` becomes `cat` in one part knows that a `cat` in
    the other is not a foil.
    """
    groups: dict[str, list[TargetFoil]] = {name: [] for name in table.supercategories}
    for target, foil in table.pairs():
        if not both_ways or target < foil:
            groups[table.names[table.place[target]].supercategory].append((target, foil))
    total = sum(map(len, groups.values()))
    exact = {name: len(pairs) * TRAIN / ALL for name, pairs in groups.items()}
    quota = {name: int(share) for name, share in exact.items()}
    missing = round(total * TRAIN / ALL) - sum(quota.values())
    by_remainder = sorted(groups, key=lambda name: quota[name] - exact[name])
    for name in by_remainder[:missing]:
        quota[name] += 1
    split: dict[TargetFoil, str] = {}
    for name, pairs in groups.items():
        order = seeds.rng(seed, "foil", "split", name).permutation(len(pairs)).tolist()
        for rank, k in enumerate(order):
            split[pairs[k]] = "train" if rank < quota[name] else "test"
    if both_ways:
        split |= {(foil, target): part for (target, foil), part in split.items()}
    return split


def read_pairs(file: Path, known: list[TargetFoil]) -> dict[TargetFoil, str]:
    """Pairs from a table with the columns target and foil, and optionally split (train or test)."""
    table = read_table(file)
    require_columns(table, ("target", "foil"), file)
    pairs: dict[TargetFoil, str] = {}
    for number, row in enumerate(table.iter_rows(named=True), 1):
        where = f"{file}, row {number}"
        pair = (str(row["target"]).strip().lower(), str(row["foil"]).strip().lower())
        of = str(row.get("split") or "").strip().lower()
        if pair not in known:
            raise BadInput(
                f"{pair[0]}::{pair[1]} is not a pair of the categories",
                where=where,
                allowed="two words of one supercategory that name different categories",
            )
        if of not in ("", *PARTS):
            raise BadInput(f"the split {of!r} is unknown", where=where, allowed="train, test")
        if pairs.get(pair, of) != of:
            raise BadInput(f"{pair[0]}::{pair[1]} is in both parts", where=where)
        pairs[pair] = of
    return pairs


@dataclass(frozen=True, slots=True)
class FoilRules:
    """What may be replaced by what.

    `pairs` (target, foil) are those of the split, `absent` (image, foil) marks what an image
    neither shows nor has in its captions, `salient` marks the mentions that may be replaced.
    """

    pairs: Bools
    absent: Bools
    salient: Bools


def salient(mentions: Mentions, image_of: AnyInts, names: int, least: int) -> Bools:
    """Which mentions have a word that is in at least `least` captions of the image."""
    captions = np.unique(mentions.caption * names + mentions.name)
    of_image = image_of[captions // names] * names + captions % names
    known, times = np.unique(of_image, return_counts=True)
    mine = np.searchsorted(known, image_of[mentions.caption] * names + mentions.name)
    enough: Bools = times[mine] >= least
    return enough


def agreed(texts: Sequence[str], image_of: AnyInts) -> Bools:
    """Which captions are fluent, and say nothing that the others of their image cast doubt on."""
    sound = np.zeros(len(texts), np.bool_)
    order = np.argsort(image_of, kind="stable")
    bounds = np.flatnonzero(np.diff(image_of[order])) + 1
    for rows in np.split(order, bounds):
        sound[rows] = [not doubt for doubt in disagreements([texts[row] for row in rows])]
    return sound


def shown(corpus: Corpus, images: list[str], table: Categories, *, needed: bool) -> Bools:
    """Which categories (columns) the images (rows) show, by their objects.

    An image without a list of objects is an error if objects are `needed`.
    """
    listed = [corpus.objects(image) for image in images]
    unknown = [image for image, objects in zip(images, listed, strict=True) if objects is None]
    if unknown and needed:
        others = f" (and {len(unknown) - 1:,} other images have none)" if len(unknown) > 1 else ""
        raise BadInput(
            f"image {unknown[0]} of {corpus.name} has no list of objects{others}",
            allowed="a corpus with objects: FOIL must know which words would be true",
            todo="give a file of objects with --objects, or decide by captions alone with "
            "--absence captions",
        )
    columns: dict[str, list[int]] = {}
    for place, name in enumerate(table.names):
        columns.setdefault(name.category, []).append(place)
    seen = {object_ for objects in listed for object_ in objects or ()}
    if seen and not seen & columns.keys():
        raise BadInput(
            f"none of the objects of {corpus.name} is a category of the table {table.name}",
            allowed=f"objects named like the categories, such as {next(iter(columns))!r}; "
            f"the names are {', '.join(sorted(seen)[:5])}",
            todo="give a table of categories with --categories",
        )
    there = np.zeros((len(images), len(table.names)), np.bool_)
    for row, objects in enumerate(listed):
        for object_ in objects or ():
            there[row, columns.get(object_, [])] = True
    return there


def mentioned(words: CaptionWords, image_of: AnyInts, images: int, table: Categories) -> Bools:
    """Which categories (columns) the captions of images (rows) mention, by any word for them."""
    there = np.zeros((images, len(table.names)), np.bool_)
    of_image = image_of[words.owner]
    for place, name in enumerate(table.names):
        forms = {form for w in (name.word, *name.synonyms) for form in (w, plural(w))}
        single = np.zeros(len(words.vocabulary), np.bool_)
        single[[words.vocabulary[form] for form in forms if form in words.vocabulary]] = True
        there[of_image[single[words.word]], place] = True
        for phrase in (form for form in forms if " " in form):
            there[of_image[words.places_of(phrase)], place] = True
    return there


def replacements(
    mentions: Mentions, image_of: AnyInts, rules: FoilRules, surroundings: Surroundings | None
) -> tuple[AnyInts, AnyInts]:
    """Mention and foil of every foil caption that the rules allow."""
    mention, foil = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for begin in range(0, len(mentions), BLOCK):
        rows = slice(begin, begin + BLOCK)
        good = rules.pairs[mentions.name[rows]] & rules.absent[image_of[mentions.caption[rows]]]
        good &= rules.salient[rows, None]
        if surroundings is not None:
            good &= surroundings.fits(rows)
        row, column = np.nonzero(good)
        mention.append(row + begin)
        foil.append(column)
    return np.concatenate(mention), np.concatenate(foil)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The words before and after the mentions of a corpus."""

    before: AnyInts
    """For each mention, the vocabulary index of the word before, -1 at the start of a caption."""
    measured: Bools
    """Which mentions measure something: a measure followed by `of`."""
    binding: AnyInts
    """How strongly each mention depends on the word before it (`Binding`)."""
    seen: Bools
    """Whether a word (row) has been seen before a name (column)."""
    general: Bools
    """Which words go with all sorts of things."""
    measures: Bools
    """Which names are measures."""

    @classmethod
    def of(
        cls, mentions: Mentions, binding: AnyInts, words: CaptionWords, table: Categories
    ) -> Self:
        """Learn from the mentions of a corpus what fits where."""
        names = len(table.names)
        inside = mentions.first > words.starts[mentions.caption]
        before = np.where(inside, words.word[np.maximum(mentions.first - 1, 0)], -1)
        ahead = mentions.last + 1 < words.starts[mentions.caption + 1]
        behind = np.where(ahead, words.word[np.minimum(mentions.last + 1, len(words.word) - 1)], -1)
        with_of = behind == words.vocabulary.get("of", -2)
        seen = np.zeros((len(words.vocabulary) + 1, names), np.bool_)
        seen[before, mentions.name] = True
        sorts = np.array([name.supercategory for name in table.names])
        number = np.sum([seen[:, sorts == one].any(axis=1) for one in np.unique(sorts)], axis=0)
        times = np.bincount(mentions.name, minlength=names)
        measures = np.bincount(mentions.name[with_of], minlength=names) >= np.maximum(2, OF * times)
        measured = with_of & measures[mentions.name]
        return cls(before, measured, binding, seen, number >= SORTS, measures)

    def fits(self, rows: slice) -> Bools:
        """Which foils (columns) fit some mentions (rows)."""
        binding, before = self.binding[rows, None], self.before[rows]
        seen = self.seen[before] & (before >= 0)[:, None]
        modified = (binding == Binding.MODIFIED) & (seen | self.general[before, None])
        good: Bools = (binding == Binding.FREE) | modified | ((binding == Binding.BOUND) & seen)
        return good & (self.measures | ~self.measured[rows, None])


def usual_forms(mentions: Mentions, words: CaptionWords, table: Categories) -> Forms:
    """The most common form of each category: a phone is a cell phone, a tv a TV.

    So targets and foils have the same lengths overall, and a foil is not given away by being
    shorter.
    """
    counted: list[Counter[str]] = [Counter() for _ in table.names]
    # At the start of a caption, a word's capital is due to its position.
    inside = mentions.first > words.starts[mentions.caption]
    some = mentions.keep(~mentions.plural & inside)
    begins, ends = words.begin[some.first].tolist(), words.end[some.last].tolist()
    rows = zip(some.caption.tolist(), some.name.tolist(), begins, ends, strict=True)
    for caption, name, begin, end in rows:
        text = words.texts[caption]
        if not text.isupper():
            counted[name][text[begin:end]] += 1
    forms = []
    for category, times in zip(table.names, counted, strict=True):
        often = [form for form, number in times.items() if number >= RARE]
        commonest = min(often, key=lambda form: (-times[form], form), default="")
        default = category.category if category.category in category.long else category.word
        one = category.one or commonest or default
        forms.append((one, category.several or plural(one)))
    return forms
