"""The verb `study create`: a folder with a plan, the items and the keys of a study."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tellapart.annotate.keys import new_token, write_keys
from tellapart.annotate.plan import Plan, Stage, check_plan
from tellapart.annotate.studyfile import NAME, write_plan
from tellapart.annotate.texts import CONSENT, THANKS
from tellapart.benchmark.benchmark import Benchmark, load_benchmark, write_benchmark
from tellapart.errors import BadInput
from tellapart.tables import whole_folder

ITEMS = "items"
"""The folder within a study that holds its own copy of the benchmark's tables."""


@dataclass(frozen=True, slots=True)
class CreateOptions:
    """How a study is set up; `stages` with everything else that may be edited in its file."""

    stages: tuple[Stage, ...]
    name: str = ""
    seed: int = 0
    once: str = "item"
    prolific: bool = False
    completion_code: str = ""
    overwrite: bool = False
    more: dict[str, str] = field(default_factory=dict)


def create(source: Benchmark | Path | str, out: Path | str, options: CreateOptions) -> Plan:
    """Set up a study of a benchmark's items in a folder; returns its plan."""
    items = source if isinstance(source, Benchmark) else load_benchmark(source)
    plan = Plan(
        id=new_token()[:12],
        name=options.name or items.name,
        stages=tuple(map(_with_texts, options.stages)),
        seed=options.seed,
        once=options.once,
        prolific=options.prolific,
        completion_code=options.completion_code or ("" if not options.prolific else _code()),
        consent=CONSENT,
        thanks=THANKS,
    )
    check_plan(plan, "the options given")
    first = plan.stages[0].question
    if not any(True for item in items.items for _ in first.matters(item)):
        raise BadInput(
            f"no item of {items.name} can be asked {first.name}",
            allowed=first.needs,
            todo="choose another question (list them with: tellapart list questions)",
        )
    with whole_folder(Path(out), overwrite=options.overwrite) as partial:
        (partial / ITEMS).mkdir()
        write_benchmark(items, partial / ITEMS)
        write_plan(plan, partial / NAME)
        write_keys(partial)
    return plan


def _with_texts(stage: Stage) -> Stage:
    from dataclasses import replace

    if stage.instructions:
        return stage
    return replace(stage, instructions=stage.question.instructions)


def _code() -> str:
    return new_token().replace("-", "").replace("_", "")[:8].upper()
