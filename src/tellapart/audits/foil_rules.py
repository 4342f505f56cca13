"""FOIL's own two rules, held against a corpus.

Shekhar et al. 2017, section 3.1: a target word is replaced only if it is in more than one caption
of the image (salient), and only by a word whose category the image does not show (absent).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.audits.overlap import plain_id
from tellapart.audits.structure import EXAMPLES, Finding
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.tables import read_json
from tellapart.text.inflect import plural
from tellapart.text.words import tokens

FORMS = '{word: category, ...}, alone or as "inverse_synonym_dict" of an object'


@dataclass(frozen=True, slots=True)
class Replaced:
    """A target word and the foil that stands in its place, of one image."""

    item: str
    image: str
    target: str
    foil: str


def replaced_words(benchmark: Benchmark) -> Iterator[Replaced]:
    """Targets and foils from slots, or from the maker's notes (classes and classes_foil)."""
    for item in benchmark.items:
        target, foil = _words(item)
        for index, image in enumerate(item.images):
            false = item.slot is None or (index, item.slot.caption) not in item.true
            if target and foil and false:
                yield Replaced(item.id, image, target.lower(), foil.lower())


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
    return [
        Finding(n, len(found), of, says, tuple(found[:EXAMPLES])) for n, found, of, says in rows
    ]


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
            allowed=FORMS,
        )
    return {word: category for word, category in data.items() if word}
