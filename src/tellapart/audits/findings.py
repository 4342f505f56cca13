"""Findings about the items themselves, apart from what can be guessed.

Structure (duplicates, sorted options, marks on one side only, missing answers), overlap with
another corpus or benchmark, and FOIL's own two rules checked against a corpus.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from tellapart.attack.choices import CAPTIONS, IMAGES
from tellapart.audits.guessers import capital_first, edge_space, final_stop
from tellapart.audits.regression import contrasts
from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.benchmark.table import ItemTable, Pattern
from tellapart.corpus.coco import plain_id
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import read_corpus
from tellapart.errors import BadInput, UnknownName
from tellapart.files import read_json
from tellapart.mine.captions import bag_of_words
from tellapart.text.english import plural
from tellapart.text.tokens import tokens

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """A property of some items: how many of how many have it, and a few of their ids."""

    name: str
    count: int
    of: int
    says: str
    examples: tuple[str, ...] = ()

    @classmethod
    def about(cls, name: str, ids: Sequence[str] | pl.Series, of: int, says: str) -> Self:
        """A property of the items with these ids; the first few become examples."""
        return cls(name, len(ids), of, says, tuple(ids[:EXAMPLES]))

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self) | {"examples": list(self.examples)}


# Structure: findings that need nothing but the items.


def structure(benchmark: Benchmark) -> list[Finding]:
    """All findings that need nothing but the items, in a fixed order."""
    items = benchmark.items
    total = len(items)
    captions = pl.col("captions")
    plain = pl.element().str.replace_all(r"[\s\x1c-\x1f]+", " ").str.strip_chars(" ")
    distinct = captions.list.eval(plain).list.n_unique()
    equal = (distinct < captions.list.len()) | (
        pl.col("images").list.n_unique() < pl.col("images").list.len()
    )
    pairs = _caption_pairs(items)
    bags = [_by_text(pairs[side], bag_of_words) for side in ("right", "wrong")]
    same = pairs["id"].filter((bags[0] == bags[1]) & (pairs["right"] != pairs["wrong"]))
    no_answer = [p.rows for p in items.patterns if unanswerable(p)]
    return [
        Finding.about(
            "duplicates",
            items.where(~pl.col("content").is_first_distinct()).ids,
            total,
            "an earlier item asks the same (equal content)",
        ),
        Finding.about(
            "equal options", items.where(equal).ids, total, "two options of one item are the same"
        ),
        Finding.about(
            "same words",
            same.unique(maintain_order=True),
            total,
            "a wrong caption has the words of a right one, in another order (letters only)",
        ),
        *_order(items),
        *_marks(pairs),
        Finding.about(
            "no answer",
            items.ids[np.sort(np.concatenate([np.zeros(0, np.int64), *no_answer]))],
            total,
            "a question has no right option, or no wrong one",
        ),
        _unverified(benchmark),
    ]


def _caption_pairs(items: ItemTable) -> pl.DataFrame:
    """Right (or original) and wrong captions, pair by pair: the item's id and both texts."""
    parts = [pl.DataFrame(schema={"row": pl.Int64, "right": pl.String, "wrong": pl.String})]
    for pattern in items.patterns:
        captions = items.frame["captions"][pattern.rows]
        parts += [
            pl.DataFrame(
                {"row": pattern.rows, "right": captions.list.get(a), "wrong": captions.list.get(b)}
            )
            for a, b in contrasts(pattern, CAPTIONS)
        ]
    pairs = pl.concat(parts).sort("row", maintain_order=True)
    return pairs.with_columns(id=items.ids[pairs["row"]])


def _by_text(texts: pl.Series, cue: Callable[[str], float | str]) -> pl.Series:
    """A function's value for each text; it is called once for each distinct text."""
    distinct = texts.unique()
    return texts.replace_strict(distinct, pl.Series([cue(text) for text in distinct]))


def _order(items: ItemTable) -> Iterator[Finding]:
    """Whether captions are stored in alphabetical order, and the position of the right one."""
    captions = pl.col("captions")
    several = items.where(captions.list.len() > 1)
    if len(several):
        in_order = several.where(captions.list.sort() == captions).ids
        by_chance = sum(1 / math.factorial(size) for size in several.shape[1].tolist())
        says = f"captions are in alphabetical order (expected by chance: {by_chance:,.0f})"
        yield Finding.about("sorted options", in_order, len(several), says)
    for noun, side in (("caption", CAPTIONS), ("image", IMAGES)):
        places: Counter[int] = Counter()
        for pattern in items.patterns:
            sizes = (pattern.images, pattern.captions)
            if sizes[1 - side] == 1 < sizes[side] and len(pattern.true) == 1:
                (cell,) = pattern.true
                places[cell[side]] += len(pattern.rows)
        for place, times in sorted(places.items()):
            says = f"the right {noun} is at position {place}"
            yield Finding(f"{noun} place {place}", times, places.total(), says)


MARKS: tuple[tuple[str, str, Callable[[str], float]], ...] = (
    ("final stop", "end with a full stop", final_stop),
    ("capital", "start with a capital", capital_first),
    ("white space", "have white space at their ends", edge_space),
)


def _marks(pairs: pl.DataFrame) -> Iterator[Finding]:
    """Pairs of a right (or original) and a wrong caption where only one has a mark."""
    for name, says, has in MARKS if len(pairs) else ():
        right, wrong = _by_text(pairs["right"], has), _by_text(pairs["wrong"], has)
        for side, other, ids in (
            ("wrong", "right", pairs["id"].filter(wrong > right)),
            ("right", "wrong", pairs["id"].filter(right > wrong)),
        ):
            what = f"{side} captions {says} where the {other} one does not"
            yield Finding.about(f"{name}, {side} only", ids, len(pairs), what)


def unanswerable(pattern: Pattern) -> bool:
    """Whether a choice among captions, or among images, has no right or no wrong option."""
    captions, images = pattern.captions, pattern.images
    by_image = Counter(image for image, _ in pattern.true)
    by_caption = Counter(caption for _, caption in pattern.true)
    return (captions > 1 and any(by_image[k] in (0, captions) for k in range(images))) or (
        images > 1 and any(by_caption[k] in (0, images) for k in range(captions))
    )


def _unverified(benchmark: Benchmark) -> Finding:
    """Items that nobody checked, or that checkers did not confirm (notes: confirmed)."""
    total = len(benchmark.items)
    if not benchmark.card.verified:
        return Finding("unverified", total, total, "nobody verified the items, by the card")
    notes = pl.col("origin").struct.field("notes")
    doubted = benchmark.items.where(notes.str.json_path_match("$.confirmed") == "no").ids
    says = "people did not confirm the item"
    return Finding.about("unverified", doubted, total, says)


# Overlap: images that are also in another corpus or benchmark.


def open_other(where: Path | str) -> Corpus | Benchmark:
    """The benchmark or corpus at a path."""
    try:
        return load_benchmark(where)
    except (BadInput, UnknownName):
        return read_corpus(where)


def overlap(benchmark: Benchmark, other: Corpus | Benchmark) -> list[Finding]:
    """Shared images by id, and by sha256 if both sides have it."""
    own, others = _hashes(benchmark), _hashes(other)
    ids, hashes = set(map(plain_id, others)), set(others.values()) - {None, ""}
    same_id = [name for name in own if plain_id(name) in ids]
    hashed = [name for name, sha256 in own.items() if sha256 and hashes]
    same_hash = [name for name in hashed if own[name] in hashes]
    shared = pl.Series([*same_id, *same_hash], dtype=pl.String).implode()
    items = benchmark.items
    touched = items.where(pl.col("images").list.eval(pl.element().is_in(shared)).list.any()).ids
    by_hash = f"images have the sha256 of an image in {other.name}"
    if not hashed:
        by_hash = f"the sha256 of images is not known here, or not in {other.name}"
    return [
        Finding.about(
            "overlap by id", same_id, len(own), f"images have the id of an image in {other.name}"
        ),
        Finding.about("overlap by sha256", same_hash, len(hashed), by_hash),
        Finding.about(
            "overlap, items", touched, len(items), f"items show an image of {other.name}"
        ),
    ]


def _hashes(source: Corpus | Benchmark) -> dict[str, str | None]:
    """The sha256 of each image by its id, or None if unknown."""
    images = source.images.frame if isinstance(source, Benchmark) else source.images
    return dict(images.select("id", "sha256").iter_rows())


# FOIL's rules: targets that are salient, foils that are absent.


def replaced_words(benchmark: Benchmark) -> Iterator[tuple[str, str, str, str]]:
    """Item, image, target word and foil: from slots, or from the notes on the item's origin."""
    for item in benchmark.items:
        notes, slot = item.origin.notes, item.slot
        if slot is not None:
            target, foil = slot.target, slot.foil
        else:
            target = notes.get("classes") or notes.get("target", "")
            foil = notes.get("classes_foil") or notes.get("foil", "")
        for index, image in enumerate(item.images):
            false = slot is None or (index, slot.caption) not in item.true
            if target and foil and false:
                yield item.id, image, target.lower(), foil.lower()


def foil_rules(
    benchmark: Benchmark, corpus: Corpus, synonyms: Mapping[str, str] | None = None
) -> list[Finding]:
    """How many targets are not salient and how many foils are not absent; [] without targets.

    Shekhar et al. 2017, section 3: a target word is replaced only if it is in more than one
    caption of the image (salient), and only by a word whose category the image does not show
    (absent). `synonyms` maps words to categories; a word that is not a category itself also stands
    for categories that end with it (ball: sports ball).
    """
    replaced = list(replaced_words(benchmark))
    if not replaced:
        return []
    names = {plain_id(name): name for name in corpus.images["id"]}
    categories = set(corpus.images["objects"].drop_nulls().explode().drop_nulls())
    lone, unmentioned, shown, elsewhere = (list[str]() for _ in range(4))
    with_objects = 0
    for item, image_id, target, foil in replaced:
        image = names.get(plain_id(image_id))
        if image is None:
            elsewhere.append(item)
            continue
        times = sum(mentions(text, target) for text in corpus.texts_by_image.get(image, []))
        if times < 2:
            (lone if times else unmentioned).append(item)
        objects = corpus.objects(image)
        if objects is not None:
            with_objects += 1
            if named_by(foil, categories, synonyms or {}) & objects:
                shown.append(item)
    here = len(replaced) - len(elsewhere)
    rows = (
        ("target in one caption", lone, here, "target words are in only one caption of the "
         "image (FOIL requires two or more)"),
        ("target in no caption", unmentioned, here, "target words are in no caption of the image"),
        ("foil is shown", shown, with_objects, "foil words name an object that the image shows "
         "(FOIL requires an absent one)"),
        ("not in the corpus", elsewhere, len(replaced), "foils belong to an image that is not in "
         f"{corpus.name}"),
    )  # fmt: skip
    return [Finding.about(*row) for row in rows]


def mentions(caption: str, word: str) -> bool:
    """Whether a caption has a word or phrase, singular or plural.

    >>> mentions("Two dogs play.", "dog"), mentions("A hotdog.", "dog")
    (True, False)
    """
    padded = f" {' '.join(tokens(caption))} "
    forms = {" ".join(tokens(form)) for form in (word, plural(word))}
    return any(f" {form} " in padded for form in forms)


def named_by(word: str, categories: set[str], synonyms: Mapping[str, str]) -> set[str]:
    """The categories that a word names, singular or plural.

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
            allowed='{word: category, ...}, alone or as "inverse_synonym_dict" of an object',
        )
    return {word: category for word, category in data.items() if word}
