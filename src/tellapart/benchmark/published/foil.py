"""FOIL-COCO: captions with one wrong word, as pairs with T1, T2 and T3 in one item.

Shekhar et al. 2017, sections 3 and 4. Read from the authors' files or from VALSE's selection of
1,000 test pairs with votes. T2 chooses among the nouns and content words that spaCy finds in the
foil caption (the paper does not say how they were found), T3 among all target words in the files.
An item's kind is the supercategory of its target, as in the paper's Table 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tellapart.benchmark.published.fields import SourceRow, entry_rows, json_object, list_rows
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.benchmark.published.votes import VALSE, confirmed_words
from tellapart.corpus.categories import coco_categories
from tellapart.errors import BadInput, TellapartError
from tellapart.items import Grid, Slot, Word
from tellapart.store.cache import default_folder
from tellapart.text.content_words import LexiconTagger, content_words
from tellapart.text.english import plural
from tellapart.text.parse import parse
from tellapart.text.spacy_pipeline import find_pipeline
from tellapart.text.tokens import spans

FORM = (
    '{"annotations": [{"id", "image_id", "caption", "foil", "target_word", "foil_word"}, ...], '
    '"images": [{"id", "file_name"}, ...]}; or VALSE\'s {id: {"image_file", "caption", "foil", '
    '"classes", "classes_foil", "mturk"}, ...}'
)
KIND = "replace-object"
"""The kind if the target is not one of COCO's words, or there is no foil."""
MEASURES = (
    "T1", "T1-correct", "T1-foil", "T1-AUC", "T2-nouns", "T2-content", "T3", "accuracy",
)  # fmt: skip
WordPlace = tuple[int, int, bool]
"""Start, end, and whether the word is in the plural there."""


@dataclass(frozen=True, slots=True)
class FoilPair:
    """An original caption and its foil; one of the two may be missing (empty)."""

    row: SourceRow
    source_id: str
    image: str
    original: str
    foil: str
    target: str
    foil_word: str
    notes: Mapping[str, str]


def read(collector: ItemCollector) -> None:
    """Add the pairs of all files; a caption without its partner is an item of its own."""
    pairs: list[FoilPair] = []
    for file in collector.files:
        data = json_object(file, FORM)
        pairs += (_authors if "annotations" in data else _valse)(collector, file, data)
    foils = [pair for pair in pairs if pair.foil]
    targets = tuple(sorted({pair.target for pair in foils}))
    words, found_by = _content_words(foils, {*targets, *(pair.foil_word for pair in foils)})
    slots = [_slot(pair, targets, words) for pair in pairs]
    for pair, slot in zip(pairs, slots, strict=True):
        try:
            _add(collector, pair, slot)
        except BadInput as problem:
            collector.note(pair.row, problem)
    collector.facts |= {
        "pairs": sum(bool(pair.original) for pair in foils),
        "foils_without_original": sum(not pair.original for pair in foils),
        "originals_without_foil": len(pairs) - len(foils),
        "foils_whose_word_was_not_found": len(foils) - sum(slot is not None for slot in slots),
        "target_words": len(targets),
        "nouns_and_content_words_by": found_by,
    }
    voted = [pair for pair in pairs if "votes" in pair.notes]
    if voted:
        confirmed = sum(pair.notes["confirmed"] == "yes" for pair in voted)
        collector.verified = confirmed_words(confirmed, len(voted))


ContentWords = Mapping[str, tuple[Word, ...]]
"""The content words of each foil caption."""


def _content_words(foils: Sequence[FoilPair], nouns: set[str]) -> tuple[ContentWords, str]:
    """The content words and their source: spaCy, or if it is missing, the words of the pairs."""
    texts = list(dict.fromkeys(pair.foil for pair in foils))
    try:
        pipeline = find_pipeline()
    except TellapartError as problem:
        tagger = LexiconTagger.of("target and foil words", nouns)
        why = f"only {tagger.name}, so that T2-nouns is asked for few items: {problem.what}"
        return {text: tagger.content_words(text) for text in texts}, why
    parses = parse(texts, cache=default_folder())
    words = (content_words(parsed) for parsed in parses)
    return dict(zip(texts, words, strict=True)), pipeline.name


def _slot(pair: FoilPair, targets: tuple[str, ...], words: ContentWords) -> Slot | None:
    """The slot of the foil word; None without a foil, or if its word was not found."""
    place = find_slot(pair.foil, pair.original, pair.foil_word) if pair.foil else None
    if place is None:
        return None
    start, end, in_plural = place
    # The foil word counts as a noun, whatever the tagger says.
    others = [word for word in words[pair.foil] if word.end <= start or word.start >= end]
    every = sorted([*others, Word(start, end, True)], key=lambda word: word.start)
    foil = pair.foil[start:end]
    return Slot(0, start, end, pair.target, foil, in_plural, tuple(every), targets)


def _add(collector: ItemCollector, pair: FoilPair, slot: Slot | None) -> None:
    row, source_id, image, notes = pair.row, pair.source_id, pair.image, pair.notes
    kind = _supercategories().get(pair.target.lower(), KIND)
    captions = [caption for caption in (pair.foil, pair.original) if caption]
    if len(captions) == 2:
        collector.add_choice(row, source_id, image, captions, 1, kind=kind, notes=notes, slot=slot)
        return
    true = {(0, 0)} if pair.original else set()
    grid = Grid((image,), tuple(captions), frozenset(true), slot=slot)
    collector.add(row, source_id, grid, kind=kind, notes=notes)


@cache
def _supercategories() -> dict[str, str]:
    """The supercategory of each of COCO's words."""
    return {name.word: name.supercategory for name in coco_categories().names}


def _valse(collector: ItemCollector, file: Path, data: Mapping[str, object]) -> list[FoilPair]:
    pairs: list[FoilPair] = []

    def add(collector: ItemCollector, row: SourceRow) -> None:
        notes = VALSE.notes(row)
        image = collector.coco(row, row.text("image_file"))
        caption, foil = row.text("caption"), row.text("foil")
        target, foil_word = row.text("classes"), row.text("classes_foil")
        pairs.append(FoilPair(row, row.key, image, caption, foil, target, foil_word, notes))

    collector.each(entry_rows(file, data), add)
    return pairs


def _authors(collector: ItemCollector, file: Path, data: Mapping[str, object]) -> list[FoilPair]:
    names: dict[int, str] = {}
    originals: dict[tuple[str, int], SourceRow] = {}
    foils: list[tuple[tuple[str, int], SourceRow]] = []

    def add_name(collector: ItemCollector, row: SourceRow) -> None:
        names[row.whole("id")] = row.text("file_name")

    def add(collector: ItemCollector, row: SourceRow) -> None:
        key = (row.name("id"), row.whole("image_id"))
        row.text("caption")
        if row.truth("foil"):
            row.text("target_word"), row.text("foil_word"), _foil_number(row)
            foils.append((key, row))
        else:
            originals.setdefault(key, row)

    if "images" in data:
        collector.each(list_rows(file, FORM, data["images"], "images"), add_name)
    collector.each(list_rows(file, FORM, data["annotations"], "annotations"), add)

    def pair(key: tuple[str, int], row: SourceRow, foil: bool) -> FoilPair:
        caption_id, image_id = key
        part = "train2014" if "train" in file.name else "val2014"
        usual = f"COCO_{part}_{image_id:012d}.jpg"
        original = originals.get(key)
        return FoilPair(
            row,
            caption_id + (_foil_number(row) if foil else "/original"),
            collector.image(file, names.get(image_id, usual), str(image_id)),
            original.text("caption") if original else "",
            row.text("caption") if foil else "",
            row.text("target_word") if foil else "",
            row.text("foil_word") if foil else "",
            {"caption_id": caption_id},
        )

    pairs = [pair(key, row, foil=True) for key, row in foils]
    used = {key for key, _ in foils}
    return pairs + [pair(key, r, foil=False) for key, r in originals.items() if key not in used]


def _foil_number(row: SourceRow) -> str:
    return f"/{row.name('foil_id')}" if row.has("foil_id") else ""


def find_slot(foil: str, original: str, word: str) -> WordPlace | None:
    """The place of the foil word in the foil caption; None if it is unclear.

    If the word occurs more than once, the occurrence that is not in the original caption counts.

    >>> find_slot("a train station with a bus", "a bus station with a bus", "train")
    (2, 7, False)
    >>> find_slot("a bus at a bus stop", "a car at a bus stop", "bus")
    (2, 5, False)
    """
    places = list(_places(foil, word.strip().lower()))
    if not original:
        return places[0] if len(places) == 1 else None
    begin, end = _changed(foil.lower(), original.lower())
    return next((place for place in places if place[0] < end and place[1] > begin), None)


def _places(caption: str, word: str) -> Iterator[WordPlace]:
    many = plural(word)
    if " " in word:
        for match in re.finditer(rf"\b({re.escape(word)}|{re.escape(many)})\b", caption, re.I):
            yield match.start(), match.end(), match.group().lower() != word
        return
    for start, _, stands in spans(caption):
        bare = re.sub("['’]s$", "", stands)
        if bare in (word, many):
            yield start, start + len(bare), bare != word


def _changed(text: str, other: str) -> tuple[int, int]:
    """The part of a text that differs from another text, extended to whole words."""
    begin = _shared(text, other)
    end = len(text) - _shared(text[begin:][::-1], other[begin:][::-1])
    while begin > 0 and text[begin - 1].isalnum():
        begin -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return begin, end


def _shared(text: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((k for k, (one, two) in pairs if one != two), min(len(text), len(other)))


IMPORTER = Importer(
    name="foil",
    about="FOIL-COCO: is the caption right, which word is wrong, what should it be (JSON)",
    read=read,
    endings=("json",),
    page="https://foilunitn.github.io",
    licence="see its page; the original captions are COCO's, CC BY 4.0; VALSE's selection is MIT",
    citation="Ravi Shekhar, Sandro Pezzelle, Yauhen Klimovich, Aurelie Herbelot, Moin Nabi, Enver "
    "Sangineto, Raffaella Bernardi: FOIL it! Find One mismatch between Image and Language caption. "
    "ACL 2017",
    measures=MEASURES,
)
