"""Captioning systems: their captions, and the images on which they can be judged together.

A results file is a JSON list of {"image_id": ..., "caption": ...}; a table has a column of images
and one of captions. Each image has one caption. An empty caption is a valid (poor) answer; a
missing caption, NaN or a number is an error in the file. Nothing is left out without a remark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tellapart.corpus.coco import coco_id
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import name_of
from tellapart.errors import BadInput, Problems
from tellapart.files import can_be_written, read_json, read_table, require_columns, suffix

TEXT_TABLES = ("csv", "tsv")
IMAGE_COLUMNS = ("image_id", "image")
LONGEST = 20_000
"""The most characters of a caption; one of 3,000 words has fewer."""
FORM = '[{"image_id": 42, "caption": "A dog."}, ...]'


@dataclass(frozen=True, slots=True)
class SystemCaptions:
    """A system's captions by image id; `skipped` says what `skip_bad` left out."""

    name: str
    captions: Mapping[str, str]
    skipped: tuple[str, ...] = ()


def read_system(
    path: Path | str,
    image_column: str = "",
    caption_column: str = "caption",
    *,
    skip_bad: bool = False,
) -> SystemCaptions:
    """Read a system's captions, plain or gzipped.

    The columns apply to tables; `image_column` defaults to image_id or image.
    """
    path = Path(path)
    if suffix(path) == "json":
        rows = _json_rows(path)
    else:
        rows = _table_rows(path, image_column, caption_column)
    problems, captions = Problems(skip=skip_bad), dict[str, str]()
    for number, row in enumerate(rows, 1):
        try:
            image, caption = _image(row), _caption(row)
            if image in captions:
                raise BadInput(
                    f"image {image} has two captions: {captions[image]!r:.80} and {caption!r:.80}",
                    allowed="one caption for each image",
                    todo="remove all but one from the file",
                )
            captions[image] = caption
        except BadInput as problem:
            problem.where = f"{path}, row {number}"
            problems.add(problem)
    problems.settle()
    if not captions:
        raise BadInput(f"{path.name} has no captions", where=str(path), allowed=FORM)
    return SystemCaptions(name_of(path), captions, tuple(p.what for p in problems))


def _json_rows(path: Path) -> Iterable[Any]:
    rows = read_json(path)
    if not isinstance(rows, list):
        what = "an object" if isinstance(rows, dict) else type(rows).__name__
        raise BadInput(
            f"{path.name} is {what}, not a list of captions",
            where=str(path),
            allowed=f"{FORM}, or a table (.csv .tsv .jsonl .parquet)",
            todo="give a results file here, and captions by people with --references",
        )
    return rows


def _table_rows(path: Path, image: str, caption: str) -> Iterable[Any]:
    table = read_table(path)
    usual = [name for name in IMAGE_COLUMNS if name in table.columns]
    image = image or (usual[0] if usual else IMAGE_COLUMNS[-1])
    require_columns(table, [image, caption], path)
    # In these formats an empty cell stands for an empty text.
    blank = "" if suffix(path) in TEXT_TABLES else None
    for row in table.select(image, caption).iter_rows():
        yield {"image_id": row[0], "caption": blank if row[1] is None else row[1]}


def _image(row: Any) -> str:
    if not isinstance(row, dict) or "image_id" not in row or "caption" not in row:
        raise BadInput(f"a row is {row!r:.80}", allowed='{"image_id": 42, "caption": "A dog."}')
    image = row["image_id"]
    if isinstance(image, bool) or not isinstance(image, int | str) or image == "":
        raise BadInput(
            f"an image is {type(image).__name__} ({image!r:.60})",
            allowed="the image's id, text or a whole number",
        )
    return _whole(str(image), "the id of an image")


def _whole(text: str, what: str) -> str:
    if not can_be_written(text):  # JSON may hold halves of characters
        raise BadInput(
            f"{what} has a character that is not Unicode: {text[:60]!a}",
            allowed="text that UTF-8 can encode",
            todo="correct it, or remove the row",
        )
    return text


def _caption(row: Mapping[str, Any]) -> str:
    caption = row["caption"]
    if isinstance(caption, str):
        if len(caption) > LONGEST:
            raise BadInput(
                f"the caption of image {row['image_id']} has {len(caption):,} characters: "
                f"{caption[:60]!r} ...",
                allowed=f"at most {LONGEST:,}: the tokeniser needs seconds for more",
                todo="correct it, or remove the row",
            )
        return _whole(caption, f"the caption of image {row['image_id']}")
    kind = f"{type(caption).__name__} ({caption!r:.60})"
    if caption is None or (isinstance(caption, float) and math.isnan(caption)):
        kind = "missing" if caption is None else "NaN"
    raise BadInput(
        f"the caption of image {row['image_id']} is {kind}, not text",
        allowed="text; an empty caption is an empty text and scores 0",
    )


@dataclass(frozen=True, slots=True)
class JudgedImages:
    """The images that every system captioned, in the corpus's order, with their captions.

    `captions[s][k]` is system s's caption of image k; `references[k]` are people's captions of it.
    """

    systems: tuple[str, ...]
    images: tuple[str, ...]
    captions: tuple[tuple[str, ...], ...]
    references: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]


def bring_together(
    systems: Sequence[SystemCaptions],
    corpus: Corpus,
    *,
    skip_bad: bool = False,
    every: bool = False,
) -> JudgedImages:
    """The images with references that all systems captioned.

    With `every`, all images that have references; a missing caption counts as an empty one.
    """
    systems = [_by_corpus_id(system, corpus, skip_bad) for system in systems]
    references = corpus.texts_by_image
    remarks = [f"{s.name}: left out: {what}" for s in systems for what in s.skipped[:5]]
    more = {s.name: len(s.skipped) - 5 for s in systems if len(s.skipped) > 5}
    remarks += [f"{name}: left out: ... and {n:,} more" for name, n in more.items()]
    if every:
        images = list(references)
        remarks += [
            f"{s.name} has no caption for {missing:,} images, which count as empty captions"
            for s in systems
            if (missing := sum(image not in s.captions for image in images))
        ]
    else:
        images = [image for image in references if all(image in s.captions for s in systems)]
        remarks += _coverage(systems, len(references), len(images))
    if not images:
        raise BadInput(
            "no image has a caption from every system",
            where=", ".join(s.name for s in systems),
            todo="judge the systems one by one",
        )
    written = tuple(tuple(s.captions.get(image, "") for image in images) for s in systems)
    remarks += [
        f"{s.name}: {empty:,} captions are empty and score 0"
        for s, own in zip(systems, written, strict=True)
        if (empty := sum(not text.strip() for text in own)) and not every
    ]
    own = tuple(tuple(references[image]) for image in images)
    return JudgedImages(_names(systems), tuple(images), written, own, tuple(remarks))


def _coverage(systems: Sequence[SystemCaptions], known: int, judged: int) -> list[str]:
    """Which images are judged, and which captions stay out because another system has none."""
    whole = [] if judged == known else [f"judged on {judged:,} of {known:,} images with references"]
    return whole + [
        f"{s.name}: {extra:,} of its captions are for images that another system did not caption"
        for s in systems
        if (extra := len(s.captions) - judged)
    ]


def _names(systems: Sequence[SystemCaptions]) -> tuple[str, ...]:
    """The systems' names; repeated names get a number."""
    names: list[str] = []
    for place, system in enumerate(systems, 1):
        names.append(system.name if system.name not in names else f"{system.name} #{place}")
    return tuple(names)


def _by_corpus_id(system: SystemCaptions, corpus: Corpus, skip_bad: bool) -> SystemCaptions:
    """A system's captions by the corpus's own ids; images without references are an error."""
    references = corpus.texts_by_image
    own_ids = known_images(system.captions, corpus)
    captions: dict[str, str] = {}
    unknown: list[str] = []
    for image, caption in system.captions.items():
        own = own_ids.get(image)
        if own is None:
            unknown.append(image)
        elif own in captions:
            raise BadInput(
                f"image {own} has two captions in {system.name}, under two names",
                allowed="one caption for each image",
            )
        else:
            captions[own] = caption
    if unknown and (not skip_bad or not captions):
        raise BadInput(
            f"{len(unknown):,} of the {len(system.captions):,} images of {system.name} have no "
            f"references: {', '.join(unknown[:5])}{', ...' if len(unknown) > 5 else ''}",
            where=str(corpus),
            allowed="images that have references, by id or by file name: "
            + ", ".join(list(references)[:3]),
            todo="add references for these images"
            + ("" if not captions else ", or leave the images out with --skip-bad (skip_bad=True)"),
        )
    gone = (f"image {image} has no references" for image in unknown)
    return replace(system, captions=captions, skipped=(*system.skipped, *gone))


def known_images(names: Iterable[str], corpus: Corpus) -> dict[str, str]:
    """The ids of images with references, by any name for them (id, file, COCO's file name)."""
    references, given = corpus.texts_by_image, list(dict.fromkeys(names))
    by_file = _by_file(corpus) if any(name not in references for name in given) else {}
    ids = {
        name: name if name in references else by_file.get(name) or coco_id(name) for name in given
    }
    return {name: own for name, own in ids.items() if own is not None and own in references}


def _by_file(corpus: Corpus) -> Mapping[str, str]:
    """Images by file name; a name that two images share is left out."""
    by_name: dict[str, str] = {}
    for image, uri in corpus.images.select("id", "uri").iter_rows():
        for name in {uri, uri.rpartition("/")[2]}:
            by_name[name] = "" if name in by_name else image
    return by_name
