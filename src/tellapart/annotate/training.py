"""Training examples: drawn for a new study, then read from its folder, where they can be edited.

`training.json` lists, for each stage, pictures (files in the study's folder), captions, the right
keys, the places of the wrong word, and an explanation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tellapart import seeds
from tellapart.annotate.plan import Plan, Stage
from tellapart.annotate.questions.question import Example, Matter, Scenery, Truth
from tellapart.annotate.questions.words import word_spans
from tellapart.corpus.world.compose import arrange
from tellapart.corpus.world.lexicon import COUNTS, SIZES
from tellapart.corpus.world.painter import StorybookPainter
from tellapart.corpus.world.scene import Scene, Thing
from tellapart.errors import BadInput
from tellapart.tables import read_json, write_json

NAME = "training.json"
FOLDER = "training"
TEXTS = ("stage", "explanation")
LISTS = {"images": str, "captions": str, "right": str, "words": int}


def write_training(plan: Plan, folder: Path) -> None:
    """Draw the examples of every stage's question into a folder that is being made."""
    entries = [
        _written(example, f"{stage.name}-{k}", stage, folder)
        for stage in plan.stages
        for k, example in enumerate(stage.question.examples, 1)
    ]
    write_json(folder / NAME, entries)


def read_training(plan: Plan, folder: Path) -> dict[str, list[Matter]]:
    """The examples by the name of their stage; a study may have none."""
    found: dict[str, list[Matter]] = {stage.name: [] for stage in plan.stages}
    path = folder / NAME
    if not path.exists():
        return found
    entries = read_json(path)
    if not isinstance(entries, list):
        raise BadInput(f"{NAME} is not a list", where=str(path))
    for number, entry in enumerate(entries, 1):
        where = f"{path}, example {number}"
        _check(entry, where)
        if entry["stage"] not in found:
            raise BadInput(
                f"there is no stage {entry['stage']!r}", where=where, allowed=", ".join(found)
            )
        stage = next(one for one in plan.stages if one.name == entry["stage"])
        found[stage.name].append(_matter(entry, stage, len(found[stage.name]) + 1, where))
    return found


def _written(example: Example, name: str, stage: Stage, folder: Path) -> dict[str, Any]:
    (folder / FOLDER).mkdir(exist_ok=True)
    painter, images = StorybookPainter(), []
    for k, scenery in enumerate(example.pictures, 1):
        uri = f"{FOLDER}/{name}-{k}.png"
        painter.paint(_scene(scenery, painter)).save(folder / uri)
        images.append(uri)
    words = [
        place
        for caption in example.captions[:1]
        for place, (start, end) in enumerate(word_spans(caption))
        if caption[start:end] == example.word
    ]
    return {
        "stage": stage.name,
        "images": images,
        "captions": list(example.captions),
        "right": list(example.right),
        "words": words,
        "explanation": example.explanation,
    }


def _scene(scenery: Scenery, painter: StorybookPainter) -> Scene:
    things = [_thing(text) for text in scenery.things]
    for attempt in range(100):
        rng = seeds.rng(0, "training", scenery.background, list(scenery.things), attempt)
        scene = arrange(scenery.background, things, scenery.relation, rng, painter)
        if scene is not None:
            return scene
    raise BadInput(f"{', '.join(scenery.things)} do not fit into one picture")


def _thing(text: str) -> Thing:
    """A thing from words such as "two small red dog"."""
    *before, category = text.split()
    numbers = {word: count for count, words in COUNTS.items() for word in words}
    count = next((numbers[word] for word in before if word in numbers), 1)
    size = next((word for word in before if word in SIZES), "medium")
    colour = next(word for word in before if word not in numbers and word not in SIZES)
    return Thing(category, colour, size, count)


def _check(entry: Any, where: str) -> None:
    if not isinstance(entry, dict) or {*entry} != {*TEXTS, *LISTS}:
        raise BadInput("not an example", where=where, allowed=", ".join((*TEXTS, *LISTS)))
    bad = [name for name in TEXTS if not isinstance(entry[name], str)]
    bad += [n for n, sort in LISTS.items() if not _list_of(entry[n], sort)]
    if bad:
        raise BadInput(f"{bad[0]} = {entry[bad[0]]!r}", where=where, allowed="as it was written")


def _list_of(value: Any, sort: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, sort) for one in value)


def _matter(entry: dict[str, Any], stage: Stage, number: int, where: str) -> Matter:
    matter = Matter(
        f"training-{number}",
        "training",
        tuple(entry["images"]),
        tuple(entry["captions"]),
        Truth(frozenset(entry["right"]), frozenset(entry["words"])),
        explanation=entry["explanation"],
    )
    try:
        form = stage.question.form(matter)
    except (IndexError, ValueError):
        raise BadInput(
            f"this is no example for {stage.ask}",
            where=where,
            allowed=stage.question.needs,
        ) from None
    keys = [option.key for option in (*form.options, *form.fixed)]
    shown = [one.image for one in form.shown] + [one.image for one in form.options]
    needed = max((image + 1 for image in shown if image is not None), default=0)
    if needed > len(matter.images):
        raise BadInput("a picture is missing", where=where, allowed=f"{needed} images")
    wrong = [key for key in entry["right"] if key not in keys]
    if wrong or not entry["right"]:
        raise BadInput(f"right = {entry['right']}", where=where, allowed=", ".join(keys))
    return matter
