"""FOIL-COCO: captions with one wrong word, as pairs with T1, T2 and T3 in one item.

Shekhar et al. 2017, sections 3 and 4. Read from the authors' files or from VALSE's selection of
1,000 test pairs with votes. T3 chooses among all target words of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tellapart.benchmark.published.fields import Row, json_entries, json_list, json_object, row_of
from tellapart.benchmark.published.gathering import Gathering
from tellapart.benchmark.published.importer import Importer
from tellapart.benchmark.published.options import GetOptions, Imported
from tellapart.benchmark.published.slots import find_slot
from tellapart.benchmark.published.valse import confirmed_words, votes_of
from tellapart.items import Slot
from tellapart.text.content_words import LexiconTagger

FORM = (
    '{"annotations": [{"id", "image_id", "caption", "foil", "target_word", "foil_word"}, ...], '
    '"images": [{"id", "file_name"}, ...]}; or VALSE\'s {id: {"image_file", "caption", "foil", '
    '"classes", "classes_foil", "mturk"}, ...}'
)
KIND = "replace-object"
MEASURES = (
    "T1", "T1-correct", "T1-foil", "T1-AUC", "T2-nouns", "T2-content", "T3", "accuracy",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """An original caption and its foil; one of the two may be missing (empty)."""

    file: Path
    where: str
    source_id: str
    image: str
    original: str
    foil: str
    target: str
    foil_word: str
    notes: dict[str, str]


def read(files: Sequence[Path], options: GetOptions) -> Imported:
    """The pairs of all files; a caption whose partner is not there is an item on its own."""
    gathering = Gathering("foil", files, options)
    pairs: list[Pair] = []
    for file in files:
        data = json_object(file, FORM)
        pairs += (
            _authors(gathering, data, file) if "annotations" in data else _valse(gathering, file)
        )
    foils = [pair for pair in pairs if pair.foil]
    targets = tuple(sorted({pair.target for pair in foils}))
    tagger = LexiconTagger.of("target and foil words", {*targets, *(p.foil_word for p in foils)})
    without = sum([_add(gathering, pair, targets, tagger) for pair in pairs])
    facts = {
        "pairs": sum(bool(pair.original) for pair in foils),
        "foils_without_original": sum(not pair.original for pair in foils),
        "originals_without_foil": len(pairs) - len(foils),
        "foils_whose_word_was_not_found": without,
        "target_words": len(targets),
        "nouns and content words by": tagger.name,
    }
    voted = [pair for pair in pairs if "votes" in pair.notes]
    confirmed = sum(pair.notes["confirmed"] == "yes" for pair in voted)
    return gathering.done(facts, confirmed_words(confirmed, len(voted)) if voted else "")


def _add(gathering: Gathering, pair: Pair, targets: tuple[str, ...], tagger: LexiconTagger) -> bool:
    """Add the item of a pair; whether it has a foil whose word was not found."""
    slot = None
    if pair.foil:
        place = find_slot(pair.foil, pair.original, pair.foil_word)
        if place is not None:
            start, end, plural = place
            words = tagger.content_words(pair.foil)
            foil = pair.foil[start:end]
            slot = Slot(0, start, end, pair.target, foil, plural, words, targets)
    captions = [caption for caption in (pair.foil, pair.original) if caption]
    with gathering.row(pair.where):
        if pair.foil and pair.original:
            gathering.add_choice(
                pair.file, pair.source_id, pair.image, captions, 1,
                kind=KIND, notes=pair.notes, slot=slot,
            )  # fmt: skip
        else:
            true = {(0, 0)} if pair.original else set()
            gathering.add(
                pair.file, pair.source_id, images=(pair.image,), captions=captions, true=true,
                kind=KIND, notes=pair.notes, slot=slot,
            )  # fmt: skip
    return bool(pair.foil) and slot is None


def _valse(gathering: Gathering, file: Path) -> list[Pair]:
    pairs = []
    for key, title, where, value in json_entries(file, FORM):
        with gathering.row(where):
            row = row_of(value, title, where)
            notes = votes_of(row).notes()
            pairs.append(
                Pair(
                    file,
                    where,
                    key,
                    gathering.coco(row.text("image_file"), file),
                    row.text("caption"),
                    row.text("foil"),
                    row.text("classes"),
                    row.text("classes_foil"),
                    notes,
                )
            )
    return pairs


@dataclass(frozen=True, slots=True)
class _Annotation:
    row: Row
    id: str
    image_id: int
    caption: str
    foil: bool


def _authors(gathering: Gathering, data: dict[str, object], file: Path) -> list[Pair]:
    names = _file_names(gathering, data, file)
    originals: dict[tuple[str, int], _Annotation] = {}
    foils: list[_Annotation] = []
    for title, where, value in json_list(data["annotations"], "annotations", file, FORM):
        with gathering.row(where):
            row = row_of(value, title, where)
            one = _Annotation(
                row, row.name("id"), row.whole("image_id"), row.text("caption"), row.truth("foil")
            )
            if one.foil:
                row.text("target_word"), row.text("foil_word"), _foil_number(row)
                foils.append(one)
            else:
                originals.setdefault((one.id, one.image_id), one)
    pairs = [_pair(gathering, f, originals.get((f.id, f.image_id)), names, file) for f in foils]
    used = {(foil.id, foil.image_id) for foil in foils}
    alone = [one for key, one in originals.items() if key not in used]
    return pairs + [_original(gathering, one, names, file) for one in alone]


def _pair(
    gathering: Gathering,
    foil: _Annotation,
    original: _Annotation | None,
    names: dict[int, str],
    file: Path,
) -> Pair:
    return Pair(
        file,
        foil.row.where,
        foil.id + _foil_number(foil.row),
        _image(gathering, foil.image_id, names, file),
        original.caption if original else "",
        foil.caption,
        foil.row.text("target_word"),
        foil.row.text("foil_word"),
        {"caption_id": foil.id},
    )


def _foil_number(row: Row) -> str:
    return "" if row.values.get("foil_id") is None else f"/{row.name('foil_id')}"


def _original(gathering: Gathering, one: _Annotation, names: dict[int, str], file: Path) -> Pair:
    image = _image(gathering, one.image_id, names, file)
    notes = {"caption_id": one.id}
    return Pair(file, one.row.where, f"{one.id}/original", image, one.caption, "", "", "", notes)


def _image(gathering: Gathering, image_id: int, names: dict[int, str], file: Path) -> str:
    part = "train2014" if "train" in file.name else "val2014"
    usual = f"COCO_{part}_{image_id:012d}.jpg"
    return gathering.image(names.get(image_id, usual), file, str(image_id))


def _file_names(gathering: Gathering, data: dict[str, object], file: Path) -> dict[int, str]:
    names: dict[int, str] = {}
    listed: Iterable[tuple[str, str, object]] = ()
    if "images" in data:
        listed = json_list(data["images"], "images", file, FORM)
    for title, where, value in listed:
        with gathering.row(where):
            row = row_of(value, title, where)
            names[row.whole("id")] = row.text("file_name")
    return names


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
