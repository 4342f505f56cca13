"""The verb `study create`: a folder with a plan, the items and the keys of a study."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tellapart.annotate.extras import sample_matters
from tellapart.annotate.keys import new_token, write_keys
from tellapart.annotate.pinning import pin_pictures
from tellapart.annotate.plan import Plan, Stage, check_plan
from tellapart.annotate.sources import load_source
from tellapart.annotate.studyfile import NAME, write_plan
from tellapart.annotate.texts import CONSENT, THANKS
from tellapart.annotate.training import write_training
from tellapart.benchmark.benchmark import Benchmark, write_benchmark
from tellapart.errors import BadInput
from tellapart.tables import whole_folder

ITEMS, GOLD = "items", "gold"
"""The folders within a study that hold its own copies of benchmarks' tables."""


@dataclass(frozen=True, slots=True)
class CreateOptions:
    """How a study is set up; what is not here can be edited in its file.

    `gold` is a benchmark with known truth whose items are put in between (see `Stage.gold`).
    `training` draws the question's own examples, which people practise with first.
    """

    stages: tuple[Stage, ...]
    name: str = ""
    seed: int = 0
    once: str = "item"
    prolific: bool = False
    completion_code: str = ""
    gold: Benchmark | Path | str | None = None
    training: bool = True
    overwrite: bool = False


def create(source: Benchmark | Path | str, out: Path | str, options: CreateOptions) -> Plan:
    """Set up a study of a benchmark's items, or of pairs, in a folder; returns its plan."""
    items = _loaded(source)
    gold = None if options.gold is None else _loaded(options.gold)
    code = options.completion_code or (_code() if options.prolific else "")
    plan = Plan(
        id=new_token()[:12],
        name=options.name or items.name,
        stages=tuple(map(_with_instructions, options.stages)),
        seed=options.seed,
        once=options.once,
        prolific=options.prolific,
        completion_code=code,
        consent=CONSENT,
        thanks=THANKS,
    )
    check_plan(plan, "the options given")
    _check_content(plan, items, gold)
    with whole_folder(Path(out), overwrite=options.overwrite) as partial:
        for name, benchmark in ((ITEMS, items), (GOLD, gold)):
            if benchmark is not None:
                (partial / name).mkdir()
                write_benchmark(pin_pictures(benchmark), partial / name)
        write_plan(plan, partial / NAME)
        if options.training:
            write_training(plan, partial)
        write_keys(partial)
    return plan


def _loaded(source: Benchmark | Path | str) -> Benchmark:
    return source if isinstance(source, Benchmark) else load_source(source)


def _with_instructions(stage: Stage) -> Stage:
    return stage if stage.instructions else replace(stage, instructions=stage.question.instructions)


def _check_content(plan: Plan, items: Benchmark, gold: Benchmark | None) -> None:
    """Every stage must have something to ask."""
    for place, stage in enumerate(plan.stages):
        if not any(True for _ in sample_matters(plan.stages[: place + 1], items.items)):
            raise BadInput(
                f"no item of {items.name} can be asked {stage.ask}",
                allowed=stage.question.needs,
                todo="choose another question (see them with: tellapart list questions)",
            )
        known = (m for item in gold.items for m in stage.question.matters(item)) if gold else ()
        if stage.gold and not any(matter.truth is not None for matter in known):
            raise BadInput(
                f"stage {stage.name} wants gold items and there are none for {stage.ask}",
                allowed="a benchmark with known truth that the question can be asked of",
                todo="name one with --gold-from, or leave out --gold",
            )


def _code() -> str:
    letters = [letter for letter in new_token().upper() if letter.isalnum()]
    return "".join(letters[:8])
