"""The verb `study create`: a folder with a plan, the items and the keys of a study."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput
from tellapart.options import Help, Overwrite, Seed
from tellapart.verbs import Verb, open_corpus
from tellapart.verbs.study import check_installed

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.study.plan import Stage, StudyPlan, StudyRecipe

NUMBERS: dict[str, type] = {
    "judgements": int, "twice": float, "at_most": int, "checks": float, "gold": float,
    "minutes": float,
}  # fmt: skip
TEXTS = ("keep", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStudyOptions:
    """A recipe or questions, and what differs from them.

    Rules of stages take one value, or one for each stage, separated by commas.
    """

    recipe: Annotated[
        str, Help("As a paper did: bison, foil, bivlc, bivlc-baseline or mcic.", flag="--as")
    ] = ""
    ask: Annotated[str, Help("Or the question (tellapart list questions).")] = ""
    then: Annotated[
        tuple[str, ...], Help("Questions about what was chosen, separated by commas.")
    ] = ()
    judgements: Annotated[str | None, Help("Judgements of each item; 1,2 for two stages.")] = None
    twice: Annotated[str | None, Help("Judge this share of items twice, the rest once.")] = None
    keep: Annotated[str | None, Help("Who must agree: majority, all or first.")] = None
    stop: Annotated[str | None, Help("full, or decided: ask no more than is needed.")] = None
    at_most: Annotated[str | None, Help("Items that one person gets.")] = None
    checks: Annotated[str | None, Help("Share of attention checks.")] = None
    gold: Annotated[str | None, Help("Share of gold items.")] = None
    gold_from: Annotated[
        Benchmark | Path | str, Help("The benchmark that gold items are from.")
    ] = ""
    minutes: Annotated[str | None, Help("How long a task stays reserved for someone.")] = None
    once: Annotated[str, Help("What nobody sees twice: item, or question (about an item).")] = ""
    pairs: Annotated[
        bool, Help("Fixed pairs of people: what is judged twice is judged by the two of one.")
    ] = False
    prolific: Annotated[
        str, Help("Take people of Prolific: the id of the study there (in each of its links).")
    ] = ""
    places: Annotated[int, Help("How many people of Prolific may take part.")] = 0
    participants: Annotated[
        str, Help("Let in only those whose ids this file lists (one a line, or Prolific's).")
    ] = ""
    completion_code: Annotated[
        str, Help("What people take back to Prolific (default: a new one).")
    ] = ""
    training: Annotated[bool, Help("Begin with examples and explanations.")] = True
    name: Annotated[str, Help("The study's name, which people see.")] = ""
    on: Annotated[
        Corpus | Path | str, Help("Captions and queries: the corpus that has the pictures.")
    ] = ""
    images: Annotated[Path | None, Help("With --on: the folder that holds the pictures.")] = None
    limit: Annotated[
        int | None, Help("Captions and queries: only a random sample of this many.")
    ] = None
    seed: Seed = 0
    overwrite: Overwrite = False


@dataclass(frozen=True, slots=True)
class CreatedStudy:
    """A new study's folder and plan, and how many of its pictures are not there yet."""

    folder: Path
    plan: StudyPlan
    pictures: int
    missing_pictures: int

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "study": str(self.folder),
            "name": self.plan.name,
            "stages": [{"name": one.name, "ask": one.ask} for one in self.plan.stages],
            "missing_pictures": self.missing_pictures,
        }

    def __str__(self) -> str:
        asked = ", then ".join(stage.ask for stage in self.plan.stages)
        lines = [f"{self.plan.name}: {asked}  ->  {self.folder}"]
        if self.plan.prolific:
            lines.append(f"completion code for Prolific: {self.plan.completion_code}")
        return "\n".join([*lines, f"open it to people with: tellapart study serve {self.folder}"])

    def notes(self) -> list[str]:
        """What its owner should know."""
        notes = []
        if self.missing_pictures:
            missing = f"{self.missing_pictures:,} of {self.pictures:,}"
            notes.append(f"warning: {missing} pictures are not there yet")
        if any(stage.checks and not stage.gold for stage in self.plan.stages):
            notes.append("attention checks are on, gold is not: --gold-from BENCHMARK adds items "
                         "whose truth is known")  # fmt: skip
        return notes


def create_study(
    source: Annotated[
        Benchmark | Path | str,
        Help(
            "A benchmark, a folder with pairs.parquet, a captioner's results file, or what "
            "retrieve --per-query wrote."
        ),
    ],
    out: Annotated[Path | str, Help("Folder to write the study to.")],
    options: CreateStudyOptions = CreateStudyOptions(),  # noqa: B008 (frozen)
) -> CreatedStudy:
    """Set up a study of a benchmark's items, of pairs, or of captions.

    Options of stages take one value, or one for each stage, separated by commas.
    """
    check_installed()
    from tellapart.benchmark.benchmark import load_benchmark
    from tellapart.study.folder import ITEMS, StudySetup, missing_pictures, write_study
    from tellapart.study.plan import find_recipe

    recipe = find_recipe(options.recipe) if options.recipe else None
    source = _captions(source, options)
    setup = StudySetup(
        stages=_stages(recipe, options),
        name=options.name,
        seed=options.seed,
        once=options.once or (recipe.once if recipe else "item"),
        pairs=options.pairs,
        prolific=options.prolific,
        places=options.places,
        participants=_listed(options),
        completion_code=options.completion_code,
        gold=options.gold_from or None,
        training=options.training,
        overwrite=options.overwrite,
    )
    plan = write_study(source, out, setup)
    items = load_benchmark(Path(out) / ITEMS)
    return CreatedStudy(Path(out), plan, len(items.images), missing_pictures(items))


def _listed(options: CreateStudyOptions) -> tuple[str, ...]:
    from tellapart.study.participants import read_participant_ids

    return read_participant_ids(Path(options.participants)) if options.participants else ()


def _captions(
    source: Benchmark | Path | str, options: CreateStudyOptions
) -> Benchmark | Path | str:
    """Captions or queries as items; any other source as it is."""
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.reader import ReadOptions
    from tellapart.study.caption_items import is_caption_file, load_captions
    from tellapart.study.folder import PAIRS

    if isinstance(source, Benchmark) or Path(source).name == PAIRS:
        return source
    if not is_caption_file(Path(source)):
        if options.on or options.limit is not None:
            raise BadInput(
                "--on and --limit are for captions and queries",
                todo="take part of a benchmark with: tellapart subset",
            )
        return source
    corpus = open_corpus(options.on, ReadOptions(images=options.images)) if options.on else None
    return load_captions(Path(source), corpus, options.limit, options.seed)


def _stages(recipe: StudyRecipe | None, options: CreateStudyOptions) -> tuple[Stage, ...]:
    """The stages of a recipe, or of the questions asked, with what the options say instead."""
    from tellapart.study.plan import each_stage

    stages = recipe.stages if recipe else _asked(options)
    if recipe and options.gold_from:
        stages = tuple(replace(stage, gold=recipe.gold) for stage in stages)
    changes: list[dict[str, Any]] = [{} for _ in stages]
    for name in (*NUMBERS, *TEXTS):
        text = getattr(options, name)
        if text is None:
            continue
        flag = f"--{name.replace('_', '-')}"
        for change, value in zip(changes, each_stage(text, len(stages), flag), strict=True):
            change[name] = _read(value, NUMBERS.get(name, str), flag)
    return tuple(replace(stage, **change) for stage, change in zip(stages, changes, strict=True))


def _asked(options: CreateStudyOptions) -> tuple[Stage, ...]:
    from tellapart.study.plan import RECIPES, Stage

    if not options.ask:
        raise BadInput(
            "what shall people be asked?",
            allowed=f"--ask QUESTION, or --as {', '.join(RECIPES)}",
            todo="see the questions with: tellapart list questions",
        )
    return tuple(Stage(name, name) for name in (options.ask, *options.then))


def _read(text: str, kind: type, flag: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise BadInput(f"{flag} {text}", allowed="a number for each stage") from None


VERB = Verb(
    create_study,
    example="tellapart study create my-pairs my-study --as bison",
    notes=CreatedStudy.notes,
)
