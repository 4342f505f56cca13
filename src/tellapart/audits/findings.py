"""Findings on the items themselves, beside what can be guessed of them.

Their structure (duplicates, sorted options, marks on one side only, no answers), their overlap with
another corpus or benchmark, and FOIL's own two rules held against a corpus.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tellapart.audits.guessers import capital_first, edge_space, final_stop
from tellapart.audits.regression import caption_options
from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import read_corpus
from tellapart.errors import BadInput, UnknownName
from tellapart.files import read_json
from tellapart.items import Item
from tellapart.text.english import plural
from tellapart.text.tokens import tokens

EXAMPLES = 3
LETTERS = re.compile(r"[^\W\d_]+")
COCO = re.compile(r"(?:COCO_)?(?:train|val|test)\d{4}_")
SYNONYMS_FORM = '{word: category, ...}, alone or as "inverse_synonym_dict" of an object'


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know of the items: how many of how many, and a few of their ids."""

    name: str
    count: int
    of: int
    says: str
    examples: tuple[str, ...] = ()

    @classmethod
    def about(cls, name: str, ids: Sequence[str], of: int, says: str) -> Self:
        """What holds of some ids, of which the first few are examples."""
        return cls(name, len(ids), of, says, tuple(ids[:EXAMPLES]))

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self) | {"examples": list(self.examples)}


# Structure: what needs nothing but the items.


def structure(benchmark: Benchmark) -> list[Finding]:
    """All findings that need nothing but the items, in a fixed order."""
    items = benchmark.items
    return [
        _duplicates(items),
        _items_that("equal options", "two options of one item are the same", items, equal_options),
        _items_that(
            "same words",
            "a wrong caption has the words of a right one, in another order (letters only)",
            items,
            same_words,
        ),
        *_order(items),
        *_marks(items),
        _items_that(
            "no answer", "a question has no right option, or no wrong one", items, unanswerable
        ),
        _unverified(benchmark),
    ]


def _items_that(
    name: str, says: str, items: Iterable[Item], is_so: Callable[[Item], bool]
) -> Finding:
    every = list(items)
    found = [item.id for item in every if is_so(item)]
    return Finding.about(name, found, len(every), says)


def _duplicates(items: Sequence[Item]) -> Finding:
    seen: set[str] = set()
    found = []
    for item in items:
        if item.content in seen:
            found.append(item.id)
        seen.add(item.content)
    says = "the same is asked by an earlier item (equal content)"
    return Finding.about("duplicates", found, len(items), says)


def equal_options(item: Item) -> bool:
    """Whether two captions, or two images, are one and the same (white space aside)."""
    captions = {" ".join(caption.split()) for caption in item.captions}
    return len(captions) < len(item.captions) or len(set(item.images)) < len(item.images)


def bag_of_words(caption: str) -> tuple[str, ...]:
    """The words of a caption, letters only, lower case, in alphabetical order.

    >>> bag_of_words("On a bench, sitting!") == bag_of_words("sitting on a bench")
    True
    """
    return tuple(sorted(LETTERS.findall(caption.lower())))


def same_words(item: Item) -> bool:
    """Whether a right and a wrong caption have the same bag of words and are not the same."""
    bags = [bag_of_words(caption) for caption in item.captions]
    return any(
        bags[a] == bags[b] and item.captions[a] != item.captions[b]
        for a, b in caption_options(item)
    )


def _order(items: Sequence[Item]) -> Iterator[Finding]:
    """Are the captions stored in alphabetical order, and where does the right one stand?"""
    several = [item for item in items if len(item.captions) > 1]
    if several:
        found = [item.id for item in several if list(item.captions) == sorted(item.captions)]
        by_chance = sum(1 / math.factorial(len(item.captions)) for item in several)
        says = f"captions stand in alphabetical order (by chance: {by_chance:,.0f})"
        yield Finding.about("sorted options", found, len(several), says)
    for noun, places in (("caption", truth_places(items, 1)), ("image", truth_places(items, 0))):
        for place, times in sorted(places.items()):
            says = f"the right {noun} stands at place {place}"
            yield Finding(f"{noun} place {place}", times, places.total(), says)


def truth_places(items: Iterable[Item], side: int) -> Counter[int]:
    """Where the one right option stands, for items that show one image (side 1) or caption (0)."""
    places: Counter[int] = Counter()
    for item in items:
        shown, options = len(item.images), len(item.captions)
        if side == 0:
            shown, options = options, shown
        if shown == 1 and options > 1 and len(item.true) == 1:
            places[next(iter(item.true))[side]] += 1
    return places


MARKS: tuple[tuple[str, str, Callable[[str], float]], ...] = (
    ("final stop", "end with a full stop", final_stop),
    ("capital", "start with a capital", capital_first),
    ("white space", "have white space at their ends", edge_space),
)


def _marks(items: Sequence[Item]) -> Iterator[Finding]:
    """Pairs of a right (or original) and a wrong caption of which only one has a mark."""
    for name, says, has in MARKS:
        known: dict[str, bool] = {}
        ids: dict[bool, list[str]] = {True: [], False: []}
        total = 0
        for item in items:
            for right, wrong in caption_options(item):
                total += 1
                first, second = (
                    known.setdefault(text, bool(has(text)))
                    for text in (item.captions[right], item.captions[wrong])
                )
                if first != second:
                    ids[first].append(item.id)
        if not total:
            return
        for right_has in (False, True):
            who = "right captions" if right_has else "wrong captions"
            other = "wrong one does" if right_has else "right one does"
            side = "right" if right_has else "wrong"
            told = f"{who} {says} where the {other} not"
            yield Finding.about(f"{name}, {side} only", ids[right_has], total, told)


def unanswerable(item: Item) -> bool:
    """Whether a choice among its captions, or its images, has no right or no wrong option."""
    by_image = [{j for i, j in item.true if i == k} for k in range(len(item.images))]
    by_caption = [{i for i, j in item.true if j == k} for k in range(len(item.captions))]
    captions, images = len(item.captions), len(item.images)
    return (
        (captions > 1 and any(len(right) in (0, captions) for right in by_image))
        or (captions > 1 < images and any(len(right) in (0, images) for right in by_caption))
        or (captions == 1 < images and len(by_caption[0]) in (0, images))
    )


def _unverified(benchmark: Benchmark) -> Finding:
    """Items that nobody checked, or that those who did would not confirm (notes: confirmed)."""
    total, by = len(benchmark.items), benchmark.card.verified
    if not by:
        return Finding("unverified", total, total, "nobody verified the items, says the card")
    found = [i.id for i in benchmark.items if i.origin.notes.get("confirmed") == "no"]
    says = "people who were asked did not confirm the item"
    return Finding.about("unverified", found, total, says)


# Overlap: images that are also in another corpus or benchmark.


def plain_id(image_id: str) -> str:
    """An image's id without folder, ending, split name and leading zeros.

    COCO numbers its images through over all splits, so `COCO_val2014_000000000139.jpg`,
    `000000000139.jpg` and `139` are one image.

    >>> plain_id("val2014/COCO_val2014_000000000139.jpg"), plain_id("139"), plain_id("a/dog_01.png")
    ('139', '139', 'dog_01')
    """
    name = re.sub(r"\.(jpe?g|png|webp|gif|bmp|tiff?)$", "", image_id.rpartition("/")[2], flags=re.I)
    name = COCO.sub("", name)
    return (name.lstrip("0") or "0") if name.isdecimal() else name


def open_other(where: Path | str) -> Corpus | Benchmark:
    """A benchmark or a corpus at a path, whichever it is."""
    try:
        return load_benchmark(where)
    except (BadInput, UnknownName):
        return read_corpus(where)


def overlap(benchmark: Benchmark, other: Corpus | Benchmark) -> list[Finding]:
    """Shared images by id, and by sha256 where both sides know it."""
    rows = _images(other)
    ids = {plain_id(name) for name, _ in rows}
    hashes = {sha256 for _, sha256 in rows if sha256}
    own = _images(benchmark)
    same_id = [name for name, _ in own if plain_id(name) in ids]
    hashed = [(name, sha256) for name, sha256 in own if sha256] if hashes else []
    same_hash = [name for name, sha256 in hashed if sha256 in hashes]
    shared = {*same_id, *same_hash}
    touched = [item.id for item in benchmark.items if shared & set(item.images)]
    return [
        Finding.about(
            "overlap by id", same_id, len(own), f"images have the id of one in {other.name}"
        ),
        Finding.about(
            "overlap by sha256",
            same_hash,
            len(hashed),
            f"images have the sha256 of one in {other.name}"
            if hashed
            else f"the sha256 of images is not known here, or not in {other.name}",
        ),
        Finding.about(
            "overlap, items", touched, len(benchmark.items), f"items show an image of {other.name}"
        ),
    ]


def _images(source: Corpus | Benchmark) -> list[tuple[str, str | None]]:
    if isinstance(source, Benchmark):
        return [(image.id, image.sha256) for image in source.images.values()]
    return list(source.images.select("id", "sha256").iter_rows())


# FOIL's rules: targets that are salient, foils that are absent.


@dataclass(frozen=True, slots=True)
class ReplacedWord:
    """A target word and the foil that stands in its place, of one image."""

    item: str
    image: str
    target: str
    foil: str


def replaced_words(benchmark: Benchmark) -> Iterator[ReplacedWord]:
    """Targets and foils from slots, or from the maker's notes (classes and classes_foil)."""
    for item in benchmark.items:
        target, foil = _words(item)
        for index, image in enumerate(item.images):
            false = item.slot is None or (index, item.slot.caption) not in item.true
            if target and foil and false:
                yield ReplacedWord(item.id, image, target.lower(), foil.lower())


def _words(item: Item) -> tuple[str, str]:
    if item.slot is not None:
        return item.slot.target, item.slot.foil
    notes = item.origin.notes
    return (
        notes.get("classes") or notes.get("target", ""),
        notes.get("classes_foil") or notes.get("foil", ""),
    )


def foil_rules(
    benchmark: Benchmark, corpus: Corpus, synonyms: Mapping[str, str] | None = None
) -> list[Finding]:
    """How many targets are not salient and how many foils are not absent; [] without targets.

    Shekhar et al. 2017, section 3.1: a target word is replaced only if it is in more than one
    caption of the image (salient), and only by a word whose category it does not show (absent).
    `synonyms` says which category a word names; a word that is no category itself also stands
    for those whose last word it is (ball: sports ball).
    """
    replaced = list(replaced_words(benchmark))
    if not replaced:
        return []
    names = {plain_id(name): name for name in corpus.images["id"]}
    known = [(one, names[plain_id(one.image)]) for one in replaced if plain_id(one.image) in names]
    categories = {o for listed in corpus.images["objects"].drop_nulls() for o in listed}
    lone, absent_from_all, shown, with_objects = [], [], [], 0
    for one, image in known:
        times = sum(mentions(text, one.target) for text in corpus.texts_by_image.get(image, []))
        if times == 1:
            lone.append(one.item)
        elif times == 0:
            absent_from_all.append(one.item)
        objects = corpus.objects(image)
        if objects is not None:
            with_objects += 1
            if named_by(one.foil, categories, synonyms or {}) & objects:
                shown.append(one.item)
    rows = (
        ("target in one caption", lone, len(known), "target words are in only one caption of the "
         "image (FOIL asks for more than one)"),
        ("target in no caption", absent_from_all, len(known), "target words are in no caption of "
         "the image"),
        ("foil is shown", shown, with_objects, "foil words name an object that the image shows "
         "(FOIL asks for an absent one)"),
        ("not in the corpus", [one.item for one in replaced if plain_id(one.image) not in names],
         len(replaced), f"foils are of an image that {corpus.name} does not have"),
    )  # fmt: skip
    return [Finding.about(*row) for row in rows]


def mentions(caption: str, word: str) -> bool:
    """Whether a caption has a word (or words), in the singular or in the plural.

    >>> mentions("Two dogs play.", "dog"), mentions("A hotdog.", "dog")
    (True, False)
    """
    padded = f" {' '.join(tokens(caption))} "
    forms = {" ".join(tokens(form)) for form in (word, plural(word))}
    return any(f" {form} " in padded for form in forms)


def named_by(word: str, categories: set[str], synonyms: Mapping[str, str]) -> set[str]:
    """The categories that a word names, in the singular or in the plural.

    >>> sorted(named_by("ball", {"sports ball", "dog", "hot dog"}, {}))
    ['sports ball']
    >>> sorted(named_by("dog", {"sports ball", "dog", "hot dog"}, {}))
    ['dog']
    """
    whole = {name for name in categories if word in (name, plural(name))}
    if whole:
        return whole
    by_synonym = {category for one, category in synonyms.items() if word in (one, plural(one))}
    heads = {name: name.split()[-1] for name in categories}
    return by_synonym | {name for name, head in heads.items() if word in (head, plural(head))}


def read_synonyms(file: Path) -> dict[str, str]:
    """Words and the categories they name, from a JSON file."""
    data: Any = read_json(file)
    if isinstance(data, dict):
        data = data.get("inverse_synonym_dict", data)
    if not isinstance(data, dict) or not all(isinstance(v, str) for v in data.values()):
        raise BadInput(
            f"{file.name} does not say which category each word names",
            where=str(file),
            allowed=SYNONYMS_FORM,
        )
    return {word: category for word, category in data.items() if word}
