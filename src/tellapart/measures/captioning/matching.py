"""Systems and references brought together: the images that are judged, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tellapart.corpus.coco import coco_id
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.measures.captioning.systems import Written


@dataclass(frozen=True, slots=True)
class Judged:
    """The images that every system answered, in the corpus's order, with what was written of each.

    `captions[s][k]` is what system s wrote of image k, `references[k]` what people wrote of it.
    """

    systems: tuple[str, ...]
    images: tuple[str, ...]
    captions: tuple[tuple[str, ...], ...]
    references: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]


def bring_together(
    systems: Sequence[Written], corpus: Corpus, *, skip_bad: bool = False, every: bool = False
) -> Judged:
    """The images with references that all systems answered.

    With `every`, all images that have references: one without a caption counts as an empty one.
    """
    systems = [_known(system, corpus, skip_bad) for system in systems]
    references = corpus.texts_by_image
    remarks = [f"{s.name}: left out: {what}" for s in systems for what in s.skipped[:5]]
    more = {s.name: len(s.skipped) - 5 for s in systems if len(s.skipped) > 5}
    remarks += [f"{name}: left out: ... and {n:,} more" for name, n in more.items()]
    if every:
        images = list(references)
        remarks += [
            f"{s.name} has no caption for {missing:,} images; they count as empty captions"
            for s in systems
            if (missing := sum(image not in s.captions for image in images))
        ]
    else:
        images = [image for image in references if all(image in s.captions for s in systems)]
        remarks += _coverage(systems, len(references), len(images))
    if not images:
        raise BadInput(
            "there is no image that all systems answered",
            where=", ".join(s.name for s in systems),
            todo="give the systems one by one",
        )
    written = tuple(tuple(s.captions.get(image, "") for image in images) for s in systems)
    remarks += [
        f"{s.name}: {empty:,} captions are empty, and score 0"
        for s, own in zip(systems, written, strict=True)
        if (empty := sum(not text.strip() for text in own)) and not every
    ]
    own = tuple(tuple(references[image]) for image in images)
    return Judged(_names(systems), tuple(images), written, own, tuple(remarks))


def _coverage(systems: Sequence[Written], known: int, judged: int) -> list[str]:
    """Which images are judged, and which answers stay out because another system has none."""
    said = [] if judged == known else [f"judged on {judged:,} of {known:,} images with references"]
    return said + [
        f"{s.name}: {extra:,} of its captions are of images that another system has none for"
        for s in systems
        if (extra := len(s.captions) - judged)
    ]


def _names(systems: Sequence[Written]) -> tuple[str, ...]:
    """The systems' names; the second of one name gets a number."""
    made: list[str] = []
    for place, system in enumerate(systems, 1):
        made.append(system.name if system.name not in made else f"{system.name} #{place}")
    return tuple(made)


def _known(system: Written, corpus: Corpus, skip_bad: bool) -> Written:
    """A system's captions by the corpus's own ids; ones without references are an error."""
    references = corpus.texts_by_image
    by_file = _by_file(corpus) if any(i not in references for i in system.captions) else {}
    found: dict[str, str] = {}
    unknown: list[str] = []
    for image, caption in system.captions.items():
        own = image if image in references else by_file.get(image) or coco_id(image)
        if own not in references:
            unknown.append(image)
        elif own in found:
            raise BadInput(
                f"image {own} has two captions in {system.name}, under two names",
                allowed="one caption for each image",
            )
        else:
            found[own] = caption
    if unknown and (not skip_bad or not found):
        raise BadInput(
            f"{len(unknown):,} of the {len(system.captions):,} images of {system.name} have no "
            f"references: {', '.join(unknown[:5])}{', ...' if len(unknown) > 5 else ''}",
            where=str(corpus),
            allowed="images that the references are of, by id or by file name: "
            + ", ".join(list(references)[:3]),
            todo="give the references of these images too"
            + ("" if not found else ", or carry on without them with --skip-bad (skip_bad=True)"),
        )
    gone = (f"image {image} has no references" for image in unknown)
    return replace(system, captions=found, skipped=(*system.skipped, *gone))


def _by_file(corpus: Corpus) -> Mapping[str, str]:
    """Images by the names of their files; a name that two images have says nothing."""
    found: dict[str, str] = {}
    for image, uri in corpus.images.select("id", "uri").iter_rows():
        for name in {uri, uri.rpartition("/")[2]}:
            found[name] = "" if name in found else image
    return found
