"""A study's folder: the plan, its own copy of the items, training examples and keys.

A study is created from a benchmark, or from pairs of images for which people pick a caption
(`pairs.parquet` and `images.parquet`, written by `tellapart build bison --for-study`). A pair
becomes an item: the target, the decoy, and the target's captions, all true of it; people decide
what is true of the decoy.

Pictures are pinned by their hashes when the study is created: if one is replaced later, for
example by a link to a file outside, it is not shown. A missing picture has no hash and can still
be added.

`training.json` lists training examples for each stage, drawn for a new study; it may be edited.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import (
    Benchmark,
    Card,
    load_benchmark,
    make_benchmark,
    write_benchmark,
)
from tellapart.benchmark.images import IMAGE_COLUMNS, ImageTable
from tellapart.corpus.world.lexicon import COUNTS, SIZES
from tellapart.corpus.world.painter import StorybookPainter
from tellapart.corpus.world.scene import Scene, Thing
from tellapart.corpus.world.world import arrange
from tellapart.errors import BadImage, BadInput
from tellapart.files import read_json, read_table, require_columns, whole_folder, write_json
from tellapart.items import Grid, Image, Item, Origin
from tellapart.parquet import typed
from tellapart.pictures import Picture
from tellapart.study.keys import new_token, write_keys
from tellapart.study.participants import ALLOWED_ID, PLATFORM_ID, write_participants
from tellapart.study.plan import (
    CONSENT,
    PLAN_FILE,
    THANKS,
    Stage,
    StudyPlan,
    check_plan,
    read_plan,
    write_plan,
)
from tellapart.study.questions.page import word_spans
from tellapart.study.questions.question import Matter, Scenery, TrainingExample, Truth
from tellapart.study.tasks import StudyContent, sample_matters

ITEMS, GOLD = "items", "gold"
"""Folders within a study with its own copies of benchmarks' tables."""
PAIRS = "pairs.parquet"
COLUMNS = ("pair", "target", "decoy", "captions", "caption_ids")
TRAINING_FILE = "training.json"
TRAINING_FOLDER = "training"
TEXTS = ("stage", "explanation")
LISTS = {"images": str, "captions": str, "right": str, "words": int}
THREADS = 4


@dataclass(frozen=True, slots=True)
class StudySetup:
    """How a study is set up; other settings can be edited in its plan file.

    `gold` is a benchmark with known truth whose items are interspersed (see `Stage.gold`).
    `prolific` is the id of the Prolific study whose participants are admitted, at most `places` of
    them, and only `participants` if these are listed. `training` draws the question's own examples,
    with which people practise first.
    """

    stages: tuple[Stage, ...]
    name: str = ""
    seed: int = 0
    once: str = "item"
    pairs: bool = False
    survey: int = 0
    prolific: str = ""
    places: int = 0
    participants: tuple[str, ...] = ()
    completion_code: str = ""
    gold: Benchmark | Path | str | None = None
    training: bool = True
    overwrite: bool = False


def write_study(source: Benchmark | Path | str, out: Path | str, setup: StudySetup) -> StudyPlan:
    """Create a study of a benchmark's items, or of pairs, in a folder; returns its plan."""
    items = load_source(source)
    gold = None if setup.gold is None else load_source(setup.gold)
    code = setup.completion_code
    if setup.prolific and not code:
        code = "".join(letter for letter in new_token().upper() if letter.isalnum())[:8]
    plan = StudyPlan(
        id=new_token()[:12],
        name=setup.name or items.name,
        stages=tuple(
            replace(one, instructions=one.instructions or one.question.instructions)
            for one in setup.stages
        ),
        seed=setup.seed,
        once=setup.once,
        pairs=setup.pairs,
        survey=setup.survey,
        prolific=bool(setup.prolific),
        prolific_study=setup.prolific,
        places=setup.places,
        completion_code=code,
        consent=CONSENT,
        thanks=THANKS,
    )
    check_plan(plan, "the options given")
    _check_platform(setup)
    _check_content(plan, items, gold)
    with whole_folder(Path(out), overwrite=setup.overwrite) as partial:
        for name, benchmark in ((ITEMS, items), (GOLD, gold)):
            if benchmark is not None:
                (partial / name).mkdir()
                write_benchmark(pin_pictures(benchmark), partial / name)
        write_plan(plan, partial / PLAN_FILE)
        if setup.training:
            write_training(plan, partial)
        keys = write_keys(partial)
        if setup.participants:
            write_participants(partial, keys, setup.participants)
    return plan


def _check_platform(setup: StudySetup) -> None:
    """Raise unless a study on Prolific has the study's id and the number of places."""
    if not setup.prolific:
        if setup.places or setup.participants:
            raise BadInput(
                "places and participants are only for studies on Prolific",
                todo="give the study's id there with --prolific STUDY_ID, or omit them",
            )
        return
    if not PLATFORM_ID.fullmatch(setup.prolific):
        raise BadInput(
            f"--prolific {setup.prolific[:80]} is not the id of a Prolific study",
            allowed=ALLOWED_ID,
            todo="copy it from the study's address there (it is not secret)",
        )
    if not setup.places:
        raise BadInput(
            "the number of Prolific participants is missing",
            allowed="--places 1 or more",
            todo="give the study's number of places there",
        )


def _check_content(plan: StudyPlan, items: Benchmark, gold: Benchmark | None) -> None:
    """Raise unless every stage has something to ask."""
    for place, stage in enumerate(plan.stages):
        if not any(True for _ in sample_matters(plan.stages[: place + 1], items.items)):
            raise BadInput(
                f"no item of {items.name} fits the question {stage.ask}",
                allowed=stage.question.needs,
                todo="choose another question (see them with: tellapart list questions)",
            )
        golds = (m for item in (gold.items if gold else ()) for m in stage.question.matters(item))
        if stage.gold and not any(matter.truth is not None for matter in golds):
            raise BadInput(
                f"stage {stage.name} needs gold items, but there are none for {stage.ask}",
                allowed="a benchmark with known truth whose items fit the question",
                todo="name one with --gold-from, or omit --gold",
            )


def read_content(folder: Path) -> StudyContent:
    """Read and check the content of a study's folder."""
    if not (folder / PLAN_FILE).exists():
        raise BadInput(
            f"{folder} is not a study",
            allowed=f"a folder with a {PLAN_FILE}",
            todo="create one with: tellapart study create BENCH OUT --ask which-image",
        )
    plan = read_plan(folder / PLAN_FILE)
    gold = load_benchmark(folder / GOLD) if (folder / GOLD).exists() else None
    return StudyContent(plan, load_benchmark(folder / ITEMS), gold, read_training(plan, folder))


def load_source(source: Benchmark | Path | str) -> Benchmark:
    """A benchmark, loaded by folder or name if needed, or made from a folder with pairs."""
    if isinstance(source, Benchmark):
        return source
    folder = Path(source)
    if folder.name == PAIRS:
        folder = folder.parent
    if (folder / PAIRS).exists() and not (folder / "benchmark.json").exists():
        return _load_pairs(folder)
    return load_benchmark(folder)


def _load_pairs(folder: Path) -> Benchmark:
    pairs = read_table(folder / PAIRS)
    require_columns(pairs, COLUMNS, folder / PAIRS)
    if not isinstance(pairs.schema["captions"], pl.List):
        raise BadInput("captions are not lists", where=str(folder / PAIRS), allowed="lists of text")
    images = read_table(folder / "images.parquet")
    require_columns(images, list(IMAGE_COLUMNS), folder / "images.parquet")
    known = ImageTable(typed(images, IMAGE_COLUMNS, folder / "images.parquet"))
    items = [_pair_item(row) for row in pairs.select(COLUMNS).iter_rows(named=True)]
    card = Card("pairs", about="pairs of images for which people pick a caption", measures=())
    return make_benchmark(card, folder, items, known)


def _pair_item(row: dict[str, Any]) -> Item:
    captions = tuple(row["captions"] or ())
    ids = ",".join(map(str, row["caption_ids"] or ()))
    return Item.imported(
        "pair",
        str(row["pair"]),
        Grid.image_choice((str(row["target"]), str(row["decoy"])), captions, (0, 1)),
        kind="pair",
        origin=Origin("tellapart build bison", source_id=str(row["pair"]), notes={"captions": ids}),
    )


def pin_pictures(benchmark: Benchmark) -> Benchmark:
    """The same benchmark, with the hash of every picture's bytes."""
    with ThreadPoolExecutor(THREADS) as threads:
        pinned = threads.map(_pinned, map(benchmark.picture, benchmark.images))
        return replace(benchmark, images=ImageTable.of(pinned))


def missing_pictures(benchmark: Benchmark) -> int:
    """How many of a study's pictures were missing when it was created."""
    return benchmark.images.frame["sha256"].null_count()


def _pinned(picture: Picture) -> Image:
    if picture.image.sha256:
        return picture.image
    try:
        return replace(picture.image, sha256=picture.stored_sha256())
    except BadImage:
        return picture.image


def write_training(plan: StudyPlan, folder: Path) -> None:
    """Draw the examples of every stage's question into an unfinished folder."""
    entries = [
        _draw_example(example, f"{stage.name}-{k}", stage, folder)
        for stage in plan.stages
        for k, example in enumerate(stage.question.examples, 1)
    ]
    write_json(folder / TRAINING_FILE, entries)


def read_training(plan: StudyPlan, folder: Path) -> dict[str, list[Matter]]:
    """The examples by stage name; a study may have none."""
    examples: dict[str, list[Matter]] = {stage.name: [] for stage in plan.stages}
    path = folder / TRAINING_FILE
    if not path.exists():
        return examples
    entries = read_json(path)
    if not isinstance(entries, list):
        raise BadInput(f"{TRAINING_FILE} is not a list", where=str(path))
    for number, entry in enumerate(entries, 1):
        where = f"{path}, example {number}"
        _check_example(entry, where)
        if entry["stage"] not in examples:
            raise BadInput(
                f"there is no stage {entry['stage']!r}", where=where, allowed=", ".join(examples)
            )
        stage = next(one for one in plan.stages if one.name == entry["stage"])
        known = examples[stage.name]
        known.append(_read_example(entry, stage, len(known) + 1, where))
    return examples


def _draw_example(
    example: TrainingExample, name: str, stage: Stage, folder: Path
) -> dict[str, Any]:
    (folder / TRAINING_FOLDER).mkdir(exist_ok=True)
    painter, images = StorybookPainter(), []
    for k, scenery in enumerate(example.pictures, 1):
        uri = f"{TRAINING_FOLDER}/{name}-{k}.png"
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
    """A thing from a description such as "two small red dog"."""
    *before, category = text.split()
    numbers = {word: count for count, words in COUNTS.items() for word in words}
    count = next((numbers[word] for word in before if word in numbers), 1)
    size = next((word for word in before if word in SIZES), "medium")
    colour = next(word for word in before if word not in numbers and word not in SIZES)
    return Thing(category, colour, size, count)


def _check_example(entry: Any, where: str) -> None:
    if not isinstance(entry, dict) or {*entry} != {*TEXTS, *LISTS}:
        raise BadInput("not an example", where=where, allowed=", ".join((*TEXTS, *LISTS)))
    for name, value in entry.items():
        parts = [value] if name in TEXTS else value
        if not isinstance(parts, list) or not all(
            isinstance(one, LISTS.get(name, str)) for one in parts
        ):
            raise BadInput(f"{name} = {value!r}", where=where, allowed="the original format")


def _read_example(entry: dict[str, Any], stage: Stage, number: int, where: str) -> Matter:
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
        problem = f"this is not an example for {stage.ask}"
        raise BadInput(problem, where=where, allowed=stage.question.needs) from None
    keys = [option.key for option in (*form.options, *form.fixed)]
    images = [part.image for part in form.shown] + [option.image for option in form.options]
    needed = max((image + 1 for image in images if image is not None), default=0)
    if needed > len(matter.images):
        raise BadInput("a picture is missing", where=where, allowed=f"{needed} images")
    wrong = [key for key in entry["right"] if key not in keys]
    if wrong or not entry["right"]:
        raise BadInput(f"right = {entry['right']}", where=where, allowed=", ".join(keys))
    return matter
