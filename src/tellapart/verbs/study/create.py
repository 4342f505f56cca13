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
    """A recipe or questions, and changes to them.

    Rules of stages take one value, or one per stage, separated by commas.
    """

    recipe: Annotated[
        str,
        Help("Use a paper's procedure: bison, foil, bivlc, bivlc-baseline or mcic.", flag="--as"),
    ] = ""
    ask: Annotated[str, Help("Or the question to ask (see: tellapart list questions).")] = ""
    then: Annotated[
        tuple[str, ...], Help("Follow-up questions about what was chosen, separated by commas.")
    ] = ()
    judgements: Annotated[str | None, Help("Judgements per item; 1,2 for two stages.")] = None
    twice: Annotated[str | None, Help("Judge this share of items twice, the rest once.")] = None
    keep: Annotated[str | None, Help("Who must agree: majority, all or first.")] = None
    stop: Annotated[str | None, Help("full, or decided: stop as soon as an item is decided.")] = (
        None
    )
    at_most: Annotated[str | None, Help("Maximum number of items per person.")] = None
    checks: Annotated[str | None, Help("Share of attention checks.")] = None
    gold: Annotated[str | None, Help("Share of gold items.")] = None
    gold_from: Annotated[Benchmark | Path | str, Help("Benchmark to take gold items from.")] = ""
    minutes: Annotated[
        str | None, Help("Minutes for which a task stays reserved for a person.")
    ] = None
    once: Annotated[str, Help("What nobody sees twice: item, or question (about an item).")] = ""
    pairs: Annotated[
        bool,
        Help("Fixed pairs of people: items judged twice are judged by the two people of one pair."),
    ] = False
    survey: Annotated[
        int | None,
        Help("Deal items into surveys of this many (0: none); one person answers a whole survey."),
    ] = None
    prolific: Annotated[
        str, Help("Recruit on Prolific: the study's id there (it is part of each Prolific link).")
    ] = ""
    places: Annotated[int, Help("How many Prolific participants may take part.")] = 0
    participants: Annotated[
        str, Help("Admit only the ids in this file (one per line, or a Prolific export).")
    ] = ""
    completion_code: Annotated[str, Help("Completion code for Prolific (default: a new one).")] = ""
    training: Annotated[bool, Help("Start with training examples and explanations.")] = True
    name: Annotated[str, Help("Name of the study, shown to participants.")] = ""
    on: Annotated[
        Corpus | Path | str, Help("For captions and queries: the corpus with the pictures.")
    ] = ""
    images: Annotated[Path | None, Help("With --on: folder with the pictures.")] = None
    limit: Annotated[
        int | None, Help("For captions and queries: use only a random sample of this many.")
    ] = None
    seed: Seed = 0
    overwrite: Overwrite = False


@dataclass(frozen=True, slots=True)
class CreatedStudy:
    """A new study's folder and plan, and how many of its pictures are missing."""

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
        """Warnings and hints for the owner."""
        notes = []
        if self.missing_pictures:
            missing = f"{self.missing_pictures:,} of {self.pictures:,}"
            notes.append(f"warning: {missing} pictures are missing")
        if any(stage.checks and not stage.gold for stage in self.plan.stages):
            notes.append("attention checks are on, gold is not: --gold-from BENCHMARK adds items "
                         "whose truth is known")  # fmt: skip
        return notes


def create_study(
    source: Annotated[
        Benchmark | Path | str,
        Help(
            "A benchmark, a folder with pairs.parquet, a captioner's results file, or the output "
            "of retrieve --per-query."
        ),
    ],
    out: Annotated[Path | str, Help("Folder to write the study to.")],
    options: CreateStudyOptions = CreateStudyOptions(),  # noqa: B008 (frozen)
) -> CreatedStudy:
    """Create a study of a benchmark's items, of pairs, or of captions.

    Options of stages take one value, or one per stage, separated by commas.
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
        survey=_survey(recipe, options),
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


def _survey(recipe: StudyRecipe | None, options: CreateStudyOptions) -> int:
    if options.survey is not None:
        return options.survey
    return recipe.survey if recipe else 0


def _listed(options: CreateStudyOptions) -> tuple[str, ...]:
    from tellapart.study.participants import read_participant_ids

    return read_participant_ids(Path(options.participants)) if options.participants else ()


def _captions(
    source: Benchmark | Path | str, options: CreateStudyOptions
) -> Benchmark | Path | str:
    """Captions or queries as items; other sources unchanged."""
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.reader import ReadOptions
    from tellapart.study.caption_items import is_caption_file, load_captions
    from tellapart.study.folder import PAIRS

    if isinstance(source, Benchmark) or Path(source).name == PAIRS:
        return source
    if not is_caption_file(Path(source)):
        if options.on or options.limit is not None:
            raise BadInput(
                "--on and --limit are only for captions and queries",
                todo="take part of a benchmark with: tellapart subset",
            )
        return source
    corpus = open_corpus(options.on, ReadOptions(images=options.images)) if options.on else None
    return load_captions(Path(source), corpus, options.limit, options.seed)


def _stages(recipe: StudyRecipe | None, options: CreateStudyOptions) -> tuple[Stage, ...]:
    """The stages of the recipe or questions, with the options applied."""
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
            "no question was given",
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
